#pragma once
/*
 * Limits on the number of resources of a kind that a project, or one owner in it, may have. Each
 * area declares its limits next to its handlers. Transactions that add resources of one kind and
 * owner count one after the other.
 */
#include "app.h"

struct limit {
    const char *kind;    /* the table that holds the resources */
    const char *holder;  /* beginning of the refusal: "A project" */
    const char *members; /* end of the refusal: "menus" */
    int most;
};

/* co: Call it in an open transaction. Waits until every other transaction that has locked this
 * limit of `owner` has ended, then locks the limit until the transaction ends. `owner`: the number
 * of the resource or user whose resources are counted, 0 = the project. Returns 0, a negative, or
 * the status that was put. */
AWAITS int limit_lock(struct req *r, const struct limit *limit, int64_t owner) MUSTCHECK;
/* co: Call it in an open transaction, before `more` resources are written, or with `more` = 0 after
 * they were written. Locks as limit_lock() does and runs `count` in the same round trip; the first
 * column of its row is the number of existing resources. `count` keeps its rows. Puts 409 when
 * there would be too many resources. */
AWAITS int limit_check(struct req *r,
                       const struct limit *limit,
                       int64_t owner,
                       struct db_call *count,
                       size_t more) MUSTCHECK;
