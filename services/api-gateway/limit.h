#pragma once
/*
 * How many resources of a kind a project, or the owner of some of them, may have. Each area
 * declares its limits beside its handlers; writers of one kind and owner count one after the other.
 */
#include "app.h"

struct limit {
    const char *kind;    /* the table that holds the resources */
    const char *holder;  /* as the refusal begins: "A project" */
    const char *members; /* as the refusal ends: "menus" */
    int most;
};

/* co: in an open transaction: waits until every other transaction that has locked this limit of
 * `owner` is over. `owner`: the number of the resource or user whose resources are counted, 0 = the
 * project. The lock ends with the transaction. 0, a negative, or the status that was put. */
AWAITS int limit_lock(struct req *r, const struct limit *limit, int64_t owner) MUSTCHECK;
/* co: in an open transaction, before `more` resources are written (0: after they were): locks as
 * limit_lock() does and runs `count` in the same round trip; the first column of its row is the
 * number of resources that are there. `count` keeps its rows. 409 when there would be too many. */
AWAITS int limit_check(struct req *r,
                       const struct limit *limit,
                       int64_t owner,
                       struct db_call *count,
                       size_t more) MUSTCHECK;
