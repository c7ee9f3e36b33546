#pragma once
/*
 * Internal to records/: what all writers share. A write is: read the body (write_read), check the
 * records it refers to (targets_check), run statements, tell the listeners (write_events) in the
 * same transaction. Statements that need no company run on ctx->db alone, all others in
 * write_transaction().
 */
#include "records/columns.h"
#include "records/error.h"
#include "records/rls.h"
#include "records/value.h"

/* A transaction met a deadlock or a serialisation failure: write_transaction() repeats it; or it
 * was committed with its last statement. Never leave it. */
enum { WRITE_CONFLICT = 3, WRITE_COMMITTED };

/* --- bodies (body.c) --- */
enum write_mode { WRITE_CREATE, WRITE_UPDATE, WRITE_UPSERT };

/* A checked body. Pointers live in ctx->task->arena. */
struct write_row {
    struct value *values; /* of columns, in the entity's order; a create has all of them */
    bool *given;          /* parallel: named in the body, not a default */
    size_t count;
    struct value *links; /* many relations that the body names */
    size_t link_count;
    struct schema_errors *errors; /* findings of this row; never NULL */
};
/* any: checks `body` against the entity and the caller's field rule. Findings go to row->errors,
 * which the caller sets (zeroed) before. */
void write_read(struct records_ctx *ctx,
                const struct entity *entity,
                const json_t *body,
                enum write_mode mode,
                struct write_row *row);
/* any: the value of a field in a checked row; NULL when it has none. */
const struct value *write_value(const struct write_row *row, const struct model_field *field);

/* --- the order of rows (order.c) --- */
/* any: the places of `rows` in the order in which all writers take the records that have these
 * values of `key`, so that those who meet wait for each other and never in a circle; equal ones as
 * they came. As they came altogether when `key` is NULL. Arena-owned. */
size_t *write_order(struct arena *arena,
                    const struct write_row *rows,
                    size_t count,
                    const struct model_field *key);

/* any: both rows have the same value of a unique field, and one that counts: null never does. */
bool write_same(const struct write_row *one,
                const struct write_row *other,
                const struct model_field *field);

/* --- references (targets.c) --- */
/* co: adds a finding to every row that refers to a record which does not exist for this caller. One
 * row alone leaves to its foreign keys what they can tell: relations to one record of an entity
 * without a row rule. With `all`, for rows that are written together, everything is asked for. */
AWAITS int targets_check(struct records_ctx *ctx,
                         const struct entity *entity,
                         struct write_row *rows,
                         size_t count,
                         bool all) MUSTCHECK;

/* --- many relations (links.c) --- */
/* A growing list of statements for db_batch. */
struct write_calls {
    struct arena *arena;
    struct db_call *items;
    size_t count, cap;
};
void write_calls_init(struct write_calls *calls, struct arena *arena);
void write_calls_add(struct write_calls *calls, struct db_call call);

/* The rows whose links are written, with their ids; id 0 leaves a row out. */
struct links_of {
    struct write_row *rows;
    const int64_t *ids;
    size_t count;
};
/* any: adds the statements that write the links of rows, one for each relation. With `replace` what
 * was linked before goes, except links to records that the caller cannot see. */
void links_calls(struct records_ctx *ctx,
                 const struct entity *entity,
                 const struct links_of *of,
                 bool replace,
                 struct write_calls *calls);

/* --- statements and transactions (write.c) --- */
/* any: a statement of `text` and its parameters as a call; `writes` sends it to a write
 * connection. */
struct db_call write_call(struct records_ctx *ctx,
                          const char *name,
                          struct strbuf *text,
                          const struct sql_params *params,
                          bool writes);
/* co: runs one call on `db`. */
AWAITS int write_run(struct records_ctx *ctx, struct db *db, struct db_call *call) MUSTCHECK;
/* any: records_db() for writers: a column whose type changed is a changed model, too. */
int write_db(struct records_ctx *ctx, const struct entity *entity, int rc) MUSTCHECK;
/* any: the same inside write_transaction(): WRITE_CONFLICT for what is repeated. */
int write_tx_db(struct records_ctx *ctx, const struct entity *entity, int rc) MUSTCHECK;

/* any: the same when there is no transaction to repeat after all. */
int write_settle(struct records_ctx *ctx, const struct entity *entity, int rc) MUSTCHECK;
/* any: the caller as created_by of new rows; null for the system. */
struct db_param write_author(const struct records_ctx *ctx);
/* any: reads the record as the plan shows it; no row rule, for what the caller just wrote. */
struct db_call write_select_call(struct records_ctx *ctx,
                                 const struct columns *plan,
                                 const int64_t *ids,
                                 size_t count);
/* co: appends the record of the first row to `out`; as columns_json(). */
AWAITS int write_record(struct records_ctx *ctx,
                        const struct columns *plan,
                        const struct rows *rows,
                        struct strbuf *out) MUSTCHECK;

typedef int (*write_fn)(struct records_ctx *ctx, const struct entity *entity, struct db *tx, void *arg);
/* co: runs fn in a transaction and commits: in the caller's open one (without commit), or in one of
 * its own, repeated as db_again() says on conflicts. fn must be repeatable. The bell is rung after
 * the commit when `ring`; in the caller's transaction that is the caller's job. */
AWAITS int write_transaction(
    struct records_ctx *ctx, const struct entity *entity, write_fn fn, void *arg, bool ring) MUSTCHECK;

/* any: "and not locked by another": appends the condition on the row named `alias`. */
void write_unlocked(const struct records_ctx *ctx,
                    const struct entity *entity,
                    const char *alias,
                    struct strbuf *sql,
                    struct sql_params *params);
/* any: SHA-256 of a lock token as a parameter; no token gives bytes that no lock has. */
struct db_param write_token_hash(struct arena *arena, struct str token);

/* --- events --- */
/* Records that were changed, and where their payloads come from. */
struct write_events {
    enum model_event event;
    const int64_t *ids;
    size_t count;
    const struct rows *rows; /* deleted ones: rows of write_payload_plan(), in the order of ids */
    const struct columns *plan; /* with it `rows` are as the caller is shown them; read again when
                                   that is not everything. NULL = rows of write_payload_plan() */
    bool last; /* nothing comes after: outside of a caller's transaction this one is committed */
};
/* any: somebody listens to this event of the entity. */
static inline bool write_listens(const struct entity *entity, enum model_event event)
{
    return (entity->events & event) != 0;
}
/* any: all fields, as the system sees them: what listeners are told whoever made the change. */
int write_payload_plan(struct records_ctx *ctx,
                       const struct entity *entity,
                       struct records_ctx *ret_system,
                       struct columns *ret_plan) MUSTCHECK;
/* co: adds the outbox rows to the transaction; nothing when nobody listens. WRITE_COMMITTED when
 * that was its end. */
AWAITS int write_events(struct records_ctx *ctx,
                        const struct entity *entity,
                        struct db *tx,
                        const struct write_events *events) MUSTCHECK;

/* any: the outbox row of a record without links whose INSERT stands before it in the same batch.
 * *ret_known is false when its payload cannot be told before the record is stored. */
int announce_call(struct records_ctx *ctx,
                  const struct entity *entity,
                  const struct write_row *row,
                  bool *ret_known,
                  struct db_call *ret_call) MUSTCHECK;

/* any: adds the statements that remove grants and locks of records that are gone (delete.c). */
void write_forget_calls(struct records_ctx *ctx,
                        const struct entity *entity,
                        const int64_t *ids,
                        size_t count,
                        struct write_calls *calls);

/* --- why a statement touched no row (explain.c) --- */
/* co: fails with not_found, forbidden, precondition_failed or locked, as the row is for this
 * caller; 0 when nothing speaks against the write (any more). */
AWAITS int write_explain(struct records_ctx *ctx,
                         const struct entity *entity,
                         struct db *db,
                         int64_t id,
                         enum perm_action action,
                         int64_t expect_version) MUSTCHECK;

/* --- bulk (bulk.c), also for imports --- */
struct bulk_result {
    int64_t id; /* 0 = failed */
    bool updated;
    struct records_error error; /* of a failed item */
};
struct bulk_outcome {
    struct bulk_result *results; /* an item each, in ctx->task->arena */
    size_t count;
    int64_t created, updated, failed;
};
/* co: records_bulk() without its text. */
AWAITS int bulk_write(struct records_ctx *ctx,
                      const struct entity *entity,
                      const struct records_bulk *in,
                      struct bulk_outcome *ret_outcome) MUSTCHECK;
/* any: 0, or 400 when on_conflict is not one readable unique field; *ret_key is that field. */
int upsert_key(struct records_ctx *ctx,
               const struct entity *entity,
               const struct records_bulk *in,
               const struct model_field **ret_key) MUSTCHECK;
/* co: upserts rows in one transaction, all or nothing. Fills id and updated of each result; when it
 * fails, *ret_failed is the row that was refused, or `count` when none is to blame. */
AWAITS int upsert_rows(struct records_ctx *ctx,
                       const struct entity *entity,
                       const struct model_field *key,
                       struct write_row *rows,
                       size_t count,
                       struct bulk_result *results,
                       size_t *ret_failed) MUSTCHECK;
