#pragma once
/*
 * Changes of an entity's records between two positions (live/live.h), as they are shown to any
 * number of listeners: one statement reads them all, with what the row rules of all need and with
 * every filter tested on the record before and after. Results as those of records.h.
 */
#include "live/live.h"
#include "records/records.h"

/* A filter under the rules of a caller: relations on the way lead where that caller may go. */
struct changes_test {
    const struct caller *caller;
    const struct records_filter *filter;
};
#define CHANGES_TESTS 64 /* of one statement */

/* The changes behind `from` up to the snapshot `upto`, of the rows from `first` to `last`. */
struct changes_span {
    const struct live_position *from;
    struct str upto;
    int64_t first, last;
};

/* Rows of the log with the record as it was after each; borrowed from the task's arena. */
struct changes {
    const struct columns *plan; /* every field */
    struct rows rows;
    size_t extra; /* the first column behind the record */
};

/* One of them, as it concerns everybody. */
struct record_change {
    int64_t seq, record_id, created_by;
    enum live_kind kind;
    bool before, after; /* the record was there, is there */
    struct record_grants {
        const int64_t *items; /* live_grantee(), sorted */
        size_t count;
    } granted_before, granted_after;
    const int64_t *owner_groups; /* of who made the record; sorted */
    size_t owner_group_count;
    struct str tests_before, tests_after; /* '1' or '0' a test */
};

/* co: ctx->caller is the system. Tests that the callers may not make (any more) fail it. */
AWAITS int changes_read(struct records_ctx *ctx,
                        const struct entity *entity,
                        const struct changes_span *span,
                        const struct changes_test *tests,
                        size_t test_count,
                        struct changes *ret_changes) MUSTCHECK;
const struct entity *changes_entity(const struct changes *changes);
int64_t changes_seq(const struct changes *changes, size_t row);
int64_t changes_id(const struct changes *changes, size_t row);
/* any: of the record's values, about. */
size_t changes_bytes(const struct changes *changes, size_t row);
/* any: arena-owned. */
struct record_change changes_get(struct arena *arena, const struct changes *changes, size_t row);
/* any: does the caller's row rule let it see a record that is granted so? */
bool change_seen(const struct caller *caller,
                 const struct entity *entity,
                 const struct record_change *change,
                 const struct record_grants *granted);
/* any: the record after the change as `caller` is shown it; relations to many records of which
 * some may be hidden are left out. */
void changes_json(const struct changes *changes,
                  size_t row,
                  const struct caller *caller,
                  struct jw *w);
/* any: 0, or RECORDS_FAILED: the caller may not use this filter on the entity. */
int changes_check(struct records_ctx *ctx,
                  const struct entity *entity,
                  const struct records_filter *filter) MUSTCHECK;
/* any: equal for callers who are shown the same of the entity's records. */
uint64_t changes_view(const struct caller *caller, const struct entity *entity);
