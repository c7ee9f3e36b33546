#pragma once
/*
 * Records: all reads and writes of rows of user-defined entities. Every statement contains the row
 * rule and the field rule. The gateway's item routes and workflow steps use these functions, which
 * know nothing of HTTP. All calls are co.
 *
 * Results: 0, -ECANCELED, -ETIMEDOUT, or RECORDS_FAILED with the reason in ctx->error. Its code is
 * one of catalog/problem.h, so that a gateway can answer with it and a workflow can store it.
 * Outside of a transaction also RECORDS_SCHEMA: the database has another model than ctx->model, and
 * nothing was done. The gateway repeats such handlers; other callers use records_should_repeat().
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/result.h"
#include "base/strbuf.h"
#include "json/schema.h"
#include "project/project.h"
#include "records/csv.h"
#include "records/query.h"
#include "rights/rights.h"

struct records_error {
    enum problem code; /* PROBLEM_NOT_FOUND, PROBLEM_UNIQUE_VIOLATION, ... */
    struct str detail;
    struct schema_errors fields; /* findings for validation_failed, unique_violation, ... */
};

/* Context of one or several calls. All pointers are borrowed. */
struct records_ctx {
    struct task *task;
    struct directory *directory;
    struct project *project;
    struct db *db; /* &project->db or an open transaction */
    const struct model *model;
    const struct caller *caller;
    struct str lock_token;  /* value of X-Lock-Token, may be empty */
    int depth;              /* event depth, for outbox rows */
    int64_t root;           /* outbox rows: event that began the job's chain of events */
    struct str traceparent; /* W3C trace context, for outbox rows; may be empty */
    bool public_only;       /* public route: only public fields of public_read entities */
    bool is_reloaded;       /* set by records_should_repeat() */
    bool can_repeat;        /* `db` is a transaction that the caller can repeat from its beginning:
                            DB_CONFLICT and RECORDS_SCHEMA are returned to the caller */
    json_t *values; /* an array: list, get, create and update append records as values to it and not
                       to `out`, which may be NULL then */
    size_t values_bytes; /* approximate limit of the text in `values`; above it output_too_large */
    struct records_error error;
};

/* co: decides after a call whether to repeat it. *rc is the call's result. Returns true if *rc is
 * the first RECORDS_SCHEMA and the model was read again into ctx->model and *entity. A later
 * RECORDS_SCHEMA, or a model that cannot be read or no longer has the entity, becomes
 * RECORDS_FAILED in *rc. */
AWAITS bool records_should_repeat(struct records_ctx *ctx, const struct entity **entity, int *rc);

/* co: read a page of records, one record, or an aggregate, and append the answer to `out` as JSON.
 * *ret_version: the record's version (for ETag). records_get() uses only fields and expand of
 * `query`; NULL = all fields. */
AWAITS int records_list(struct records_ctx *ctx,
                        const struct entity *entity,
                        const struct records_query *query,
                        struct strbuf *out) MUSTCHECK;
AWAITS int records_get(struct records_ctx *ctx,
                       const struct entity *entity,
                       int64_t id,
                       const struct records_query *query,
                       struct strbuf *out,
                       int64_t *ret_version) MUSTCHECK;
AWAITS int records_aggregate(struct records_ctx *ctx,
                             const struct entity *entity,
                             const struct records_aggregate *query,
                             struct strbuf *out) MUSTCHECK;
/* co: write one record. `body` is the JSON object of the request. expect_version: If-Match, 0 =
 * any. records_create() and records_update() append the written record to `out`. */
AWAITS int records_create(struct records_ctx *ctx,
                          const struct entity *entity,
                          const json_t *body,
                          struct strbuf *out,
                          int64_t *ret_id,
                          int64_t *ret_version) MUSTCHECK;
AWAITS int records_update(struct records_ctx *ctx,
                          const struct entity *entity,
                          int64_t id,
                          const json_t *body,
                          int64_t expect_version,
                          struct strbuf *out,
                          int64_t *ret_version) MUSTCHECK;
AWAITS int records_delete(struct records_ctx *ctx,
                          const struct entity *entity,
                          int64_t id,
                          int64_t expect_version) MUSTCHECK;

struct records_bulk {
    const json_t *items; /* array */
    bool upsert;
    const struct model_field *const *on_conflict; /* unique fields that identify a record */
    size_t on_conflict_count;
    bool atomic; /* all or nothing, default true; if false, an upsert in the caller's transaction
                    refuses single items only by its own checks, and fails as a whole when the
                    database refuses an item */
};
struct records_bulk_result {
    int64_t id; /* 0 = failed */
    bool updated;
    struct records_error error; /* if the item failed */
};
struct records_bulk_outcome {
    struct records_bulk_result *results; /* one per item, in ctx->task->arena */
    size_t count;
    int64_t created, updated, failed;
};
/* co: creates or upserts several records. */
AWAITS int records_bulk_write(struct records_ctx *ctx,
                              const struct entity *entity,
                              const struct records_bulk *in,
                              struct records_bulk_outcome *ret_outcome) MUSTCHECK;
/* co: as records_bulk_write(), and writes {"created","updated","failed","results":[...]} to
 * `out`. */
AWAITS int records_bulk(struct records_ctx *ctx,
                        const struct entity *entity,
                        const struct records_bulk *in,
                        struct strbuf *out) MUSTCHECK;
/* co: deletes the records with these ids or, if `filter` is not NULL, those that match the filter.
 * Fails if the filter matches more than max_affected records. Writes
 * {"deleted":<number>,"not_found":[<id>...]}. */
AWAITS int records_delete_many(struct records_ctx *ctx,
                               const struct entity *entity,
                               const int64_t *ids,
                               size_t id_count,
                               const struct records_filter *filter,
                               int64_t max_affected,
                               struct strbuf *out) MUSTCHECK;

/* co: records_lock() locks a record for ttl_seconds and writes the lock with its token to `out`.
 * records_unlock() ends the lock. */
AWAITS int records_lock(struct records_ctx *ctx,
                        const struct entity *entity,
                        int64_t id,
                        int64_t ttl_seconds,
                        struct strbuf *out) MUSTCHECK;
AWAITS int records_unlock(struct records_ctx *ctx, const struct entity *entity, int64_t id)
    MUSTCHECK;

/* The row rule's decisions about one record, by the same conditions as in reads and writes. */
struct records_row_right {
    bool exists;        /* if false, the other members are empty */
    bool readable;      /* the caller may know of the record */
    bool allowed;       /* the caller may perform the action */
    int64_t created_by; /* owner; 0 = none */
};
/* co: evaluates the row rule. action: ACT_READ, ACT_UPDATE or ACT_DELETE. Field rules and
 * permissions are not checked. */
AWAITS int records_row_right(struct records_ctx *ctx,
                             const struct entity *entity,
                             enum perm_action action,
                             int64_t id,
                             struct records_row_right *ret_right) MUSTCHECK;

/* co: passes all matching rows to `sink` in constant memory, as CSV in the style `csv` or, if `csv`
 * is NULL, as JSON Lines. */
typedef int (*records_sink_fn)(struct str chunk, void *arg); /* AWAITS; non-zero ends the export */
AWAITS int records_export(struct records_ctx *ctx,
                          const struct entity *entity,
                          const struct records_query *query,
                          const struct csv_style *csv,
                          records_sink_fn sink,
                          void *arg) MUSTCHECK;

/* any: for code that reads a query: adds a finding to ctx->error.fields and continues. Finish with
 * records_fail_findings(). */
void records_finding_add(struct records_ctx *ctx,
                         struct str field,
                         enum problem finding,
                         const char *format,
                         ...) PRINTF_LIKE(4, 5);
/* any: returns 0 without findings, else RECORDS_FAILED with `code` and a detail that counts the
 * findings. */
int records_fail_findings(struct records_ctx *ctx, enum problem code) MUSTCHECK;
