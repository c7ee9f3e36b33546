#pragma once
/*
 * Records: everything that reads or writes rows of user-defined entities, with row rule
 * and field rule in every statement. Used by the gateway's item routes and by workflow steps alike;
 * knows no HTTP. All calls are co.
 *
 * Results: 0, -ECANCELED, -ETIMEDOUT, or RECORDS_FAILED with ctx->error saying what (a problem
 * code of catalog/problem.h, so that a gateway can answer with it and a workflow can store it);
 * outside of a transaction also RECORDS_SCHEMA: the model is not the database's any more, and
 * nothing was done. Handlers of the gateway begin again by themselves; others ask records_again().
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

/* Context of one call or several: borrowed pointers, filled by the caller. */
struct records_ctx {
    struct task *task;
    struct directory *directory;
    struct project *project;
    struct db *db; /* &project->db or an open transaction */
    const struct model *model;
    const struct caller *caller;
    struct str lock_token;  /* X-Lock-Token, may be empty */
    int depth;              /* event depth, for outbox rows */
    int64_t root;           /* of a job: what began its chain of events, for outbox rows */
    struct str traceparent; /* W3C trace context, for outbox rows; may be empty */
    bool public_only;       /* public route: only public fields of public_read entities */
    bool reloaded;          /* records_again() */
    bool repeats;           /* `db` is a transaction that the caller makes again from its beginning:
                               DB_CONFLICT and RECORDS_SCHEMA come back to it */
    json_t *values;         /* an array: records are appended to it, as values, instead of to `out`,
                               which may be NULL then (list, get, create, update) */
    size_t values_bytes;    /* about as much text may be in them; beyond it: output_too_large */
    struct records_error error;
};

/* co: after a call: whether to make it again. Its result was RECORDS_SCHEMA for the first time, and
 * ctx->model and *entity are those of now; else that becomes RECORDS_FAILED. */
AWAITS bool records_again(struct records_ctx *ctx, const struct entity **entity, int *rc);

/* Answers are JSON text appended to `out`. *ret_version is the record's version (for ETag). */
AWAITS int records_list(struct records_ctx *ctx,
                        const struct entity *entity,
                        const struct records_query *query,
                        struct strbuf *out) MUSTCHECK;
/* query NULL = all fields; of it fields and expand are used. */
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
AWAITS int records_create(struct records_ctx *ctx,
                          const struct entity *entity,
                          const json_t *body,
                          struct strbuf *out,
                          int64_t *ret_id,
                          int64_t *ret_version) MUSTCHECK;
/* expect_version: If-Match, 0 = any. */
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
    const struct model_field *const *on_conflict; /* unique fields */
    size_t on_conflict_count;
    bool atomic; /* all or nothing, default true; else an upsert in the caller's transaction refuses
                    items by checks alone, and fails as a whole where the database refuses one */
};
struct records_bulk_result {
    int64_t id; /* 0 = failed */
    bool updated;
    struct records_error error; /* of a failed item */
};
struct records_bulk_outcome {
    struct records_bulk_result *results; /* an item each, in ctx->task->arena */
    size_t count;
    int64_t created, updated, failed;
};
AWAITS int records_bulk_write(struct records_ctx *ctx,
                              const struct entity *entity,
                              const struct records_bulk *in,
                              struct records_bulk_outcome *ret_outcome) MUSTCHECK;
/* The same; writes {"created","updated","failed","results":[...]}. */
AWAITS int records_bulk(struct records_ctx *ctx,
                        const struct entity *entity,
                        const struct records_bulk *in,
                        struct strbuf *out) MUSTCHECK;
/* ids or, when it is not NULL, a filter; max_affected guards the filter. Writes
 * {"deleted","not_found"}. */
AWAITS int records_delete_many(struct records_ctx *ctx,
                               const struct entity *entity,
                               const int64_t *ids,
                               size_t id_count,
                               const struct records_filter *filter,
                               int64_t max_affected,
                               struct strbuf *out) MUSTCHECK;

AWAITS int records_lock(struct records_ctx *ctx,
                        const struct entity *entity,
                        int64_t id,
                        int64_t ttl_seconds,
                        struct strbuf *out) MUSTCHECK;
AWAITS int records_unlock(struct records_ctx *ctx, const struct entity *entity, int64_t id)
    MUSTCHECK;

/* What the row rule says of one record: by the conditions of reads and writes, nothing else. */
struct records_row_right {
    bool exists;        /* the others are empty without */
    bool readable;      /* the caller may know of it */
    bool allowed;       /* and may do what was asked for */
    int64_t created_by; /* whose it is */
};
/* action: ACT_READ, ACT_UPDATE or ACT_DELETE. Field rules and permissions are not looked at. */
AWAITS int records_row_right(struct records_ctx *ctx,
                             const struct entity *entity,
                             enum perm_action action,
                             int64_t id,
                             struct records_row_right *ret_right) MUSTCHECK;

/* Streams all matching rows through `sink`, in constant memory: as CSV in the style of `csv`, as
 * JSON Lines when it is NULL. */
typedef int (*records_sink_fn)(struct str piece, void *arg); /* AWAITS; non-zero stops */
AWAITS int records_export(struct records_ctx *ctx,
                          const struct entity *entity,
                          const struct records_query *query,
                          const struct csv_style *csv,
                          records_sink_fn sink,
                          void *arg) MUSTCHECK;

/* any: for readers: adds a finding to ctx->error.fields and goes on; finish with
 * records_fail_found(). */
void records_finding(struct records_ctx *ctx,
                     struct str field,
                     enum problem finding,
                     const char *format,
                     ...) PRINTF_LIKE(4, 5);
/* any: 0 without findings, else RECORDS_FAILED with `code` and a detail that counts them. */
int records_fail_found(struct records_ctx *ctx, enum problem code) MUSTCHECK;
