#pragma once
/*
 * What all writers share. A write is: read the body (write_read), check the
 * records it refers to (targets_check), run statements, write the events for listeners
 * (write_events) in the same transaction. Statements that need no company run on ctx->db alone, all
 * others in write_transaction().
 */
#include "project/events.h"
#include "records/read/columns.h"
#include "records/rules/error.h"
#include "records/rules/statement.h"

/* Two results never leave write_transaction(): DB_CONFLICT, which it repeats, and WRITE_COMMITTED:
 * the transaction was committed with its last statement. */

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
/* any: the same inside write_transaction(): DB_CONFLICT for what is repeated. */
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
/* co: the answer is the record of the first row, from `start` of `out` on whatever stood there; as
 * columns_answer(). */
AWAITS int write_record(struct records_ctx *ctx,
                        const struct columns *plan,
                        const struct rows *rows,
                        struct strbuf *out,
                        size_t start) MUSTCHECK;

typedef int (*write_fn)(struct records_ctx *ctx,
                        const struct entity *entity,
                        struct db *tx,
                        void *arg);
/* co: runs fn in a transaction and commits: in the caller's open one (without commit), or in one of
 * its own, repeated as db_again() says on conflicts. fn must be repeatable. Listeners are
 * notified after the commit when `notify`; in the caller's transaction that is the caller's job. */
AWAITS int write_transaction(struct records_ctx *ctx,
                             const struct entity *entity,
                             write_fn fn,
                             void *arg,
                             bool notify) MUSTCHECK;

/* any: notifies whoever takes events of records, after the commit. */
void write_notify(const struct records_ctx *ctx);

/* any: "and not locked by another": appends the condition on the row named `alias`. */
void write_unlocked(const struct records_ctx *ctx,
                    const struct entity *entity,
                    const char *alias,
                    struct strbuf *sql,
                    struct sql_params *params);
/* any: tells the triggers that keep the past of records who writes: appends a condition that always
 * holds. */
void write_signed(const struct records_ctx *ctx, struct strbuf *sql, struct sql_params *params);
/* any: SHA-256 of a lock token as a parameter; no token gives bytes that no lock has. */
struct db_param write_token_hash(struct arena *arena, struct str token);

/* Records that were changed, and where their payloads come from. */
struct write_events {
    enum event_kind event;
    const int64_t *ids;
    size_t count;
    const struct rows *rows; /* deleted ones: rows of write_payload_plan(), in the order of ids */
    const struct columns *plan; /* with it `rows` are as the caller is shown them; read again when
                                   that is not everything. NULL = rows of write_payload_plan() */
    bool last; /* nothing comes after: outside of a caller's transaction this one is committed */
};
/* any: somebody listens to this event of the entity. */
static inline bool write_listens(const struct entity *entity, enum event_kind event)
{
    return (entity->events & event_info(event)->bit) != 0;
}
/* any: all fields, as the system sees them: what listeners get whoever made the change. */
int write_payload_plan(struct records_ctx *ctx,
                       const struct entity *entity,
                       struct records_ctx *ret_system,
                       struct columns *ret_plan) MUSTCHECK;
/* any: what the outbox row of a change says of its origin; record and payload are the caller's. */
struct outbox_row
write_outbox_row(const struct records_ctx *ctx, const struct entity *entity, enum event_kind event);
/* co: adds the outbox rows to the transaction; nothing when nobody listens. WRITE_COMMITTED when
 * that was its end. */
AWAITS int write_events(struct records_ctx *ctx,
                        const struct entity *entity,
                        struct db *tx,
                        const struct write_events *events) MUSTCHECK;
