#pragma once
/*
 * Changes of an entity's records between two positions of the log of changes (live/live.h), to be
 * shown to any number of listeners. One statement reads all changes. Each change has what the row
 * rules of all listeners need, and the result of every filter on the record before and after.
 * Results as in records.h.
 */
#include "live/live.h"
#include "records/records.h"

/* A filter, tested under the rules of a caller: a path through relations sees only records that the
 * caller may see. */
struct changes_test {
    const struct caller *caller;
    const struct records_filter *filter;
};
#define CHANGES_TESTS 64 /* in one statement */

/* The changes that are visible in the snapshot `upto` but not in `from`, with seq from `first` to
 * `last`. */
struct changes_span {
    const struct live_position *from;
    struct str upto;
    int64_t first, last;
};

/* Rows of the log, each with the record after the change; borrowed from the task's arena. */
struct changes {
    const struct columns *plan; /* all fields */
    struct rows rows;
    size_t extra_column; /* index of the first column after the record */
};

/* One change, independent of the listener. */
struct record_change {
    int64_t seq, record_id, created_by;
    enum live_kind kind;
    bool existed_before,
        exists_after; /* whether the record existed before, and exists after the change */
    struct record_grants {
        const int64_t *items; /* live_grantee(), sorted */
        size_t count;
    } granted_before, granted_after;
    const int64_t *owner_groups; /* groups of the record's creator; sorted */
    size_t owner_group_count;
    struct str tests_before, tests_after; /* one '1' or '0' for each test */
};

/* co: reads changes. ctx->caller must be the system. Fails when the caller of a test may not use
 * its filter, or no longer may. */
AWAITS int changes_read(struct records_ctx *ctx,
                        const struct entity *entity,
                        const struct changes_span *span,
                        const struct changes_test *tests,
                        size_t test_count,
                        struct changes *ret_changes) MUSTCHECK;
/* any: the entity, and seq and record id of a row. */
const struct entity *changes_entity(const struct changes *changes);
int64_t changes_seq(const struct changes *changes, size_t row);
int64_t changes_id(const struct changes *changes, size_t row);
/* any: approximate size of the record's values, in bytes. */
size_t changes_bytes(const struct changes *changes, size_t row);
/* any: decodes one change. Its arrays are in `arena`, its texts are borrowed from the rows. */
struct record_change changes_get(struct arena *arena, const struct changes *changes, size_t row);
/* any: whether the caller's row rule allows a record that has these grants. */
bool change_is_visible(const struct caller *caller,
                       const struct entity *entity,
                       const struct record_change *change,
                       const struct record_grants *granted);
/* any: writes the record after the change as `caller` may see it. Leaves out relations to many
 * records if the caller might not see some of these records. */
void changes_json(const struct changes *changes,
                  size_t row,
                  const struct caller *caller,
                  struct jw *w);
/* any: returns 0, or RECORDS_FAILED if the caller may not use this filter on the entity. */
int changes_check_filter(struct records_ctx *ctx,
                         const struct entity *entity,
                         const struct records_filter *filter) MUSTCHECK;
/* any: a number that is equal for callers that see the same of the entity's records. */
uint64_t changes_view_key(const struct caller *caller, const struct entity *entity);
