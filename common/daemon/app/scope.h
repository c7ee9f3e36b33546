#pragma once
/*
 * What a request asks of whom: the part of it that is no HTTP. Zeroed when the request arrives
 * (http_config.scope_bytes) and filled by the service's stages, each member before what needs it.
 */
#include "http/req.h"

struct scope {
    struct project *project;
    const struct model *model;     /* the project's, as of this request */
    const struct entity *entity;   /* of {entity}, on routes of records */
    const struct caller *ticketed; /* who a ticket stood for that this request has used up */
    struct caller *caller;         /* who asks, with the rights of now */
    struct db *db;                 /* the project's database, or its open transaction (reply.h) */
    int (*begun)(
        struct req *r); /* AWAITS: what the first transaction begins with; NULL = nothing */
    int db_failure;     /* the DB_* behind the answer, 0 = none */
    bool behind;        /* what was refused is there for all that, if what is known is old */
    bool current;       /* it is not: the handler asked, and runs again */
    struct ddl_preview *preview; /* a change of the model is only looked at: what was found */
};
