#pragma once
/*
 * Context of a request that does not depend on HTTP. Zeroed when the request arrives
 * (http_config.scope_bytes), then filled by the stages of the service, each member before the
 * stages that need it.
 */
#include "http/req.h"

struct scope {
    struct project *project;
    const struct model *model;          /* the project's model, as this request sees it */
    const struct entity *entity;        /* named by {entity}, on routes of records */
    const struct caller *ticket_caller; /* owner of the ticket that this request has used up */
    struct caller *caller;              /* the authenticated caller, with current rights */
    struct db *db; /* the project's database, or its open transaction (reply.h) */
    /* AWAITS: runs first in transactions of sql_begin(); NULL = nothing. */
    int (*begin_hook)(struct req *r);
    int db_failure;    /* the DB_* error that led to the answer, 0 = none */
    bool may_be_stale; /* the refusal may be due to stale cached data: recheck, then run again */
    bool is_rechecked; /* the cached data has been rechecked, and the handler runs again */
    struct ddl_preview *preview; /* collects findings of a dry run of a model change; else NULL */
};
