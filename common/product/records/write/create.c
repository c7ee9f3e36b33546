/*
 * Creates one record. Without consumers, a single INSERT returns the record; with consumers, the
 * INSERT and the outbox row are one round trip. A record with links, or whose event needs the
 * stored record, takes a transaction. A record is never visible without its links and its event.
 */
#include "project/events.h"
#include "project/project.h"
#include "records/read/columns.h"
#include "records/records.h"
#include "records/rules/error.h"
#include "records/rules/statement.h"
#include "records/write/body.h"
#include "records/write/create_event.h"
#include "records/write/links.h"
#include "records/write/log.h"
#include "records/write/targets.h"
#include "records/write/write.h"

struct create {
    const json_t *body;
    struct strbuf *out;
    size_t out_start;
    struct write_row row;
    struct columns plan;
    bool has_links;
    int64_t id;
    int64_t version;
};

static struct db_call create_insert_call(struct records_ctx *ctx,
                                         const struct entity *entity,
                                         const struct create *create)
{
    struct arena *arena = ctx->task->arena;
    const struct write_row *row = &create->row;
    struct sql_params params;
    struct strbuf sql;

    sql_start(arena, &sql, &params);
    strbuf_printf(&sql, "insert into {p}.%.*s as t (created_by", STR_ARG(entity->table));
    for (size_t i = 0; i < row->count; i++)
        strbuf_printf(&sql, ", %.*s", STR_ARG(row->values[i].field->column));
    strbuf_str(&sql, STR(") values ("));
    sql_bind(&sql, &params, write_author_param(ctx), "bigint");
    for (size_t i = 0; i < row->count; i++) {
        strbuf_str(&sql, STR(", "));
        sql_bind(&sql, &params, row->values[i].param, field_sql_type(row->values[i].field));
    }
    strbuf_str(&sql, STR(") returning "));
    columns_sql(ctx, &create->plan, "t", &sql, &params);
    return write_call(ctx, "items.create", &sql, &params, true);
}

/* co: Stores the id and version, and makes the record the answer. */
AWAITS static int
create_set_answer(struct records_ctx *ctx, struct create *create, const struct rows *rows)
{
    create->id = rows_i64(rows, 0, COLUMNS_ID);
    create->version = rows_i64(rows, 0, COLUMNS_VERSION);
    return write_answer_record(ctx, &create->plan, rows, create->out, create->out_start);
}

/* Writes the links and reads the record again: the INSERT returned the record without links. */
AWAITS static int create_add_links(struct records_ctx *ctx,
                                   const struct entity *entity,
                                   struct db *tx,
                                   struct create *create)
{
    const struct link_rows of = {&create->row, &create->id, 1};
    struct write_calls calls;

    write_calls_init(&calls, ctx->task->arena);
    links_calls(ctx, entity, &of, false, &calls);
    write_calls_add(&calls, write_select_call(ctx, &create->plan, &create->id, 1));
    TRY(write_tx_db(ctx, entity, db_batch(ctx->task, tx, calls.items, calls.count, NULL)));
    return create_set_answer(ctx, create, &calls.items[calls.count - 1].rows);
}

AWAITS static int create_in_transaction(struct records_ctx *ctx,
                                        const struct entity *entity,
                                        struct db *tx,
                                        void *arg)
{
    struct create *create = arg;
    struct db_call call = create_insert_call(ctx, entity, create);

    TRY(write_tx_db(ctx, entity, write_run(ctx, tx, &call)));
    TRY(create_set_answer(ctx, create, &call.rows));
    if (create->has_links)
        TRY(create_add_links(ctx, entity, tx, create));
    if (ctx->model->live) {
        struct db_call log = live_created_call(ctx->task->arena, entity, &create->id, 1);
        TRY(write_tx_db(ctx, entity, write_run(ctx, tx, &log)));
    }
    const struct write_events events = {
        .event = EVENT_CREATED,
        .ids = &create->id,
        .count = 1,
        .rows = create->has_links ? NULL : &call.rows,
        .plan = &create->plan,
        .ends_transaction = true,
    };
    return write_events(ctx, entity, tx, &events);
}

AWAITS static int
create_run(struct records_ctx *ctx, const struct entity *entity, struct create *create)
{
    bool listens = entity_has_consumer(entity, EVENT_CREATED);
    bool logs = ctx->model->live;
    struct db_call calls[3];
    size_t count = 1;
    bool together = false;

    create->row = (struct write_row){.errors = &ctx->error.fields};
    write_body_read(ctx, entity, create->body, WRITE_CREATE, &create->row);
    TRY(records_fail_findings(ctx, PROBLEM_VALIDATION_FAILED));
    TRY(targets_check(ctx, entity, &create->row, 1, false));
    TRY(records_fail_findings(ctx, PROBLEM_VALIDATION_FAILED));
    TRY(columns_plan(ctx, entity, STR_NONE, &create->plan));
    for (size_t i = 0; i < create->row.link_count; i++)
        create->has_links = create->has_links || create->row.links[i].id_count > 0;
    if (listens && !create->has_links && ctx->db->lease == NULL)
        TRY(create_event_call(ctx, entity, &create->row, &together, &calls[1]));
    if (create->has_links || (listens && !together))
        return write_transaction(ctx, entity, create_in_transaction, create, listens || logs);

    calls[0] = create_insert_call(ctx, entity, create);
    count += together;
    if (logs)
        calls[count++] = log_created_call(ctx, entity);
    TRY(write_db(ctx, entity, db_batch(ctx->task, ctx->db, calls, count, NULL)));
    if (count > 1 && ctx->db->lease == NULL)
        write_notify(ctx);
    return create_set_answer(ctx, create, &calls[0].rows);
}

int records_create(struct records_ctx *ctx,
                   const struct entity *entity,
                   const json_t *body,
                   struct strbuf *out,
                   int64_t *ret_id,
                   int64_t *ret_version)
{
    struct create create = {.body = body, .out = out, .out_start = out != NULL ? out->len : 0};

    TRY(create_run(ctx, entity, &create));
    TRY(records_check_size(ctx, out));
    *ret_id = create.id;
    *ret_version = create.version;
    return 0;
}
