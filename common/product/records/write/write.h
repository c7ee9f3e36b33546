#pragma once
/*
 * Functions that all writers share. A write reads the body (write_body_read()), checks the records
 * that the body refers to (targets_check()), runs statements, and writes the events for consumers
 * (write_events()) in the same transaction. A write of a single statement or batch runs on ctx->db
 * directly; all others run in write_transaction().
 */
#include "project/events.h"
#include "records/read/columns.h"
#include "records/rules/error.h"
#include "records/rules/statement.h"

/* Two results of a write_fn are for write_transaction(): on DB_CONFLICT it repeats its own
 * transaction; WRITE_COMMITTED says that the last statement already committed the transaction. */

/* any: Makes a call from the text of a statement and its parameters; `name` is for logs. `writes`
 * sends the statement to a write connection. Arena-owned. */
struct db_call write_call(struct records_ctx *ctx,
                          const char *name,
                          struct strbuf *text,
                          const struct sql_params *params,
                          bool writes);
/* co: Runs one call on `db` and fills call->rows. Results as of db_query(). */
AWAITS int write_run(struct records_ctx *ctx, struct db *db, struct db_call *call) MUSTCHECK;
/* any: Maps a database result like records_db_result(), and a value that is too long for an index
 * to validation_failed. */
int write_db(struct records_ctx *ctx, const struct entity *entity, int rc) MUSTCHECK;
/* any: Maps a database result inside a write_fn: like write_db(), but DB_CONFLICT stays DB_CONFLICT
 * when write_transaction() can repeat the transaction. */
int write_tx_db(struct records_ctx *ctx, const struct entity *entity, int rc) MUSTCHECK;

/* any: Maps the DB_CONFLICT of write_tx_db() like records_db_result() when there is no transaction
 * to repeat; returns every other result unchanged. */
int write_settle_conflict(struct records_ctx *ctx, const struct entity *entity, int rc) MUSTCHECK;
/* any: Returns the caller's user id for created_by of new rows; null for callers without a user. */
struct db_param write_author_param(const struct records_ctx *ctx);
/* any: Returns the call that reads records by their ids with the columns of `plan`. The statement
 * has no row rule: the caller must have written or checked the records before. */
struct db_call write_select_call(struct records_ctx *ctx,
                                 const struct columns *plan,
                                 const int64_t *ids,
                                 size_t count);
/* co: Makes the record of the first row the answer: replaces the content of `out` from `start` on,
 * or of ctx->values. Results as of columns_write_answer(). */
AWAITS int write_answer_record(struct records_ctx *ctx,
                               const struct columns *plan,
                               const struct rows *rows,
                               struct strbuf *out,
                               size_t start) MUSTCHECK;

typedef int (*write_fn)(struct records_ctx *ctx,
                        const struct entity *entity,
                        struct db *tx,
                        void *arg);
/* co: Runs `fn` in the caller's open transaction, without a commit, or in a transaction of its own,
 * which it commits and on conflicts repeats as often as db_should_retry() allows. `fn` must be
 * repeatable. With `notify`, consumers are notified after the commit; in the caller's transaction
 * this is the caller's job. */
AWAITS int write_transaction(struct records_ctx *ctx,
                             const struct entity *entity,
                             write_fn fn,
                             void *arg,
                             bool notify) MUSTCHECK;

/* any: Notifies the consumers of record events. Call it after the commit. */
void write_notify(const struct records_ctx *ctx);

/* any: Appends the condition that the row named `alias` has no lock, or the lock whose token the
 * caller presents. */
void write_put_lock_rule(const struct records_ctx *ctx,
                         const struct entity *entity,
                         const char *alias,
                         struct strbuf *sql,
                         struct sql_params *params);
/* any: Passes the caller's user to the triggers that write the history of records, by appending a
 * condition that is always true and sets groundwork.actor. */
void write_put_actor(const struct records_ctx *ctx, struct strbuf *sql, struct sql_params *params);
/* any: Returns the SHA-256 of a lock token as a parameter. Without a token the parameter is empty
 * and matches no lock. */
struct db_param write_token_hash(struct arena *arena, struct str token);

/* Changed records and the source of their payloads. */
struct write_events {
    enum event_kind event;
    const int64_t *ids;
    size_t count;
    /* The rows of the records; NULL = read them. Of deleted records these are rows of
     * write_payload_plan(), in the order of `ids`. */
    const struct rows *rows;
    /* Plan of `rows` when `rows` are what the caller is shown: the records are read again unless
     * the plan has all fields. NULL = `rows` are of write_payload_plan(). */
    const struct columns *plan;
    bool ends_transaction; /* no statement follows: commits the transaction unless it is the
                              caller's */
};
/* any: Returns true when this event of the entity has a consumer. */
static inline bool entity_has_consumer(const struct entity *entity, enum event_kind event)
{
    return (entity->events & event_info(event)->bit) != 0;
}
/* any: Plans the payload of an event: all fields as the system sees them, regardless of the caller.
 * *ret_system is a copy of `ctx` with the system as its caller. 0 or RECORDS_FAILED. */
int write_payload_plan(struct records_ctx *ctx,
                       const struct entity *entity,
                       struct records_ctx *ret_system,
                       struct columns *ret_plan) MUSTCHECK;
/* any: Returns an outbox row that has the origin of a change. The caller adds record_id and
 * payload. */
struct outbox_row
write_outbox_row(const struct records_ctx *ctx, const struct entity *entity, enum event_kind event);
/* co: Writes the outbox rows in the transaction; does nothing when the event has no consumer.
 * Returns WRITE_COMMITTED when it also committed the transaction. */
AWAITS int write_events(struct records_ctx *ctx,
                        const struct entity *entity,
                        struct db *tx,
                        const struct write_events *events) MUSTCHECK;
