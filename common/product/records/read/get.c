/*
 * Reads of single records, the most frequent call. Concurrent gets of one tick of the loop share
 * one statement (id = any(...)) if they would run the same statement for the same caller.
 * PostgreSQL serves this several times faster than one round trip for each. A shape is a prepared
 * pair of statements with its plan, cached with the model. A batch collects ids until the end of
 * the tick and then runs in a task of its own, so that it outlives any waiter. Its rows live until
 * the last waiter has written its record.
 */
#include "records/read/get.h"

#include "base/clock.h"
#include "base/panic.h"
#include "records/read/columns.h"
#include "records/read/expand.h"
#include "records/rules/error.h"
#include "records/rules/rls.h"
#include "records/rules/statement.h"

#define SHAPES_MAX     4096  /* per model */
#define BATCH_LIMIT_MS 10000 /* longer than the statement timeout, which ends the wait earlier */

struct get_shape {
    const struct entity *entity;
    struct columns plan;
    struct sql *one;          /* id = $1::bigint */
    struct sql *many;         /* id = any($1::bigint[]) */
    bool has_row_rule;        /* the row rule's parameters follow */
    struct list open_batches; /* batches of this tick that accept more ids */
};

struct get_batch {
    struct task task;
    struct arena *arena;   /* contains the batch itself */
    int refs;              /* one until its coroutine has ended, and one for each waiter */
    struct model *model;   /* held, because it contains the shape */
    struct rights *rights; /* held; NULL if no row rule applies: then any caller may join */
    int64_t user_id;
    int64_t group_scope;
    struct db db; /* a copy: the project may be freed before the batch ends, its server is not */
    struct get_shape *shape;
    struct list link; /* in shape->open_batches */
    struct loop_hook hook;
    struct sql_params params;
    int64_t ids[GET_BATCH_IDS];
    size_t row_of[GET_BATCH_IDS];
    size_t count;
    struct list waiters;
    int rc;
    struct rows rows;
};

struct get_waiter {
    struct await await;
    struct list link; /* in batch->waiters */
    struct get_batch *batch;
    size_t slot;
};

static struct get_stats stats;

void get_stats(struct get_stats *ret_stats)
{
    *ret_stats = stats;
}

/* --- shapes --- */

static struct sql *make_statement(struct records_ctx *ctx, struct get_shape *get, bool many)
{
    struct strbuf text;
    struct sql_params params;

    strbuf_init(&text, ctx->model->arena, RECORDS_SQL_BYTES);
    sql_params_init(&params, ctx->task->arena);
    (void)sql_params_add(&params, P_NULL); /* $1: the ids, set when the batch runs */
    strbuf_str(&text, STR("select "));
    columns_sql(ctx, &get->plan, "t", &text, &params);
    strbuf_printf(&text,
                  " from {p}.%.*s t where t.id = %s",
                  STR_ARG(get->entity->table),
                  many ? "any($1::bigint[])" : "$1::bigint");
    (void)rls_put_where(ctx, get->entity, ACT_READ, "t", &text, &params);
    get->has_row_rule = params.count > 1;
    return sql_dynamic(ctx, "records.get", &text, params.count, SQL_MANY);
}

/* Finds or makes the shape of a get. NULL if the model already caches SHAPES_MAX statements. */
static struct get_shape *find_shape(struct records_ctx *ctx, const struct entity *entity)
{
    struct {
        char kind;
        char public_only, all_rows, scoped;
        int64_t entity;
        uint64_t fields;
    } __attribute__((packed)) key = {
        .kind = 'g',
        .public_only = ctx->public_only,
        .all_rows = !ctx->public_only && caller_has_all_rows(ctx->caller),
        .scoped = !ctx->public_only && ctx->caller->group_scope != 0,
        .entity = entity->id,
        .fields = ctx->public_only ? 0 : caller_field_key(ctx->caller, entity),
    };
    struct str name = {(const char *)&key, sizeof(key)};
    struct get_shape *get = map_get(ctx->model->statements, name);

    if (get != NULL || map_size(ctx->model->statements) >= SHAPES_MAX)
        return get;
    get = ARENA_NEW(ctx->model->arena, get);
    get->entity = entity;
    list_init(&get->open_batches);
    int rc = columns_plan(ctx, entity, STR_NONE, &get->plan);
    MUST(rc == 0); /* without a selection nothing can be refused */
    get->one = make_statement(ctx, get, false);
    get->many = make_statement(ctx, get, true);
    (void)map_put(ctx->model->statements, name, get);
    return get;
}

/* --- batches --- */

static void batch_unref(struct get_batch *batch)
{
    struct model *model = batch->model;
    struct rights *rights = batch->rights;

    if (--batch->refs > 0)
        return;
    arena_free(batch->arena);
    rights_unref(rights);
    model_unref(model);
}

static void batch_on_ended(void *arg)
{
    batch_unref(arg);
}

static void batch_find_rows(struct get_batch *batch)
{
    for (size_t i = 0; i < batch->count; i++)
        batch->row_of[i] = SIZE_MAX;
    for (size_t row = 0; row < batch->rows.count; row++) {
        int64_t id = rows_i64(&batch->rows, row, COLUMNS_ID);
        for (size_t i = 0; i < batch->count; i++)
            if (batch->ids[i] == id)
                batch->row_of[i] = row;
    }
}

static void run_batch(struct task *task, void *arg)
{
    struct get_batch *batch = arg;
    bool single = batch->count == 1;
    struct list *node;

    batch->params.items[0] = single ? P_I64(batch->ids[0]) : P_I64S(batch->ids, batch->count);
    stats.statements++;
    batch->rc = db_query(task,
                         &batch->db,
                         single ? batch->shape->one : batch->shape->many,
                         batch->params.items,
                         batch->params.count,
                         &batch->rows);
    if (batch->rc == 0)
        batch_find_rows(batch);
    while ((node = list_shift(&batch->waiters)) != NULL)
        await_done(&LIST_ITEM(node, struct get_waiter, link)->await, 0);
    /* The task's memory must last until its coroutine has ended. */
    batch->hook.fn = batch_on_ended;
    loop_at_tick_end(&batch->hook);
}

static void batch_on_turn_end(void *arg)
{
    struct get_batch *batch = arg;

    list_remove(&batch->link);
    batch->task.arena = batch->arena;
    batch->task.deadline_ms = clock_mono_ms() + BATCH_LIMIT_MS;
    task_start(&batch->task, run_batch, batch);
}

static struct get_batch *new_batch(struct records_ctx *ctx, struct get_shape *get)
{
    struct arena *arena = arena_new(0);
    struct get_batch *batch = ARENA_NEW(arena, batch);

    batch->arena = arena;
    batch->task.project = ctx->task->project;
    batch->refs = 1;
    batch->model =
        model_ref((struct model *)ctx->model); /* counting does not change the snapshot */
    batch->db = *ctx->db;
    batch->shape = get;
    list_init(&batch->waiters);
    sql_params_init(&batch->params, arena);
    (void)sql_params_add(&batch->params, P_NULL);
    if (get->has_row_rule) {
        batch->user_id = ctx->caller->user_id;
        batch->group_scope = ctx->caller->group_scope;
        if (ctx->caller->rights != NULL)
            batch->rights = rights_ref((struct rights *)ctx->caller->rights);
        rls_bind(ctx, &batch->params, get->one->arity - 1);
    }
    list_append(&get->open_batches, &batch->link);
    batch->hook = (struct loop_hook){.fn = batch_on_turn_end, .arg = batch};
    loop_at_tick_end(&batch->hook);
    return batch;
}

static bool batch_may_join(const struct get_batch *batch, const struct records_ctx *ctx)
{
    if (batch->db.server != ctx->db->server || batch->db.schema != ctx->db->schema)
        return false;
    return !batch->shape->has_row_rule ||
           (batch->rights == ctx->caller->rights && batch->user_id == ctx->caller->user_id &&
            batch->group_scope == ctx->caller->group_scope);
}

/* The index of an id in a batch; adds the id if it is new. */
static size_t batch_take_slot(struct get_batch *batch, int64_t id)
{
    for (size_t i = 0; i < batch->count; i++)
        if (batch->ids[i] == id)
            return i;
    batch->ids[batch->count] = id;
    return batch->count++;
}

static void
batch_join(struct records_ctx *ctx, struct get_shape *get, int64_t id, struct get_waiter *waiter)
{
    struct get_batch *batch = NULL;

    LIST_FOR (node, &get->open_batches) {
        struct get_batch *open = LIST_ITEM(node, struct get_batch, link);
        if (batch_may_join(open, ctx)) {
            batch = open;
            break;
        }
    }
    if (batch == NULL)
        batch = new_batch(ctx, get);
    waiter->batch = batch;
    waiter->slot = batch_take_slot(batch, id);
    batch->refs++;
    list_append(&batch->waiters, &waiter->link);
    if (batch->count == GET_BATCH_IDS)
        list_remove(&batch->link); /* the batch still runs at the end of the tick */
}

/* --- waiting --- */

static void batch_on_abandon(struct await *await)
{
    list_remove(&CONTAINER_OF(await, struct get_waiter, await)->link);
}

AWAITS static int waiter_write(struct records_ctx *ctx,
                               const struct get_waiter *waiter,
                               struct strbuf *out,
                               int64_t *ret_version)
{
    const struct get_batch *batch = waiter->batch;
    size_t row;

    TRY(records_db_result(ctx, batch->shape->entity, batch->rc));
    row = batch->row_of[waiter->slot];
    if (row == SIZE_MAX)
        return records_fail_not_found(ctx);
    TRY(columns_write_answer(ctx, &batch->shape->plan, &batch->rows, row, out));
    TRY(records_check_size(ctx, out));
    *ret_version = rows_i64(&batch->rows, row, COLUMNS_VERSION);
    return 0;
}

/* The result of the batch was too large, or the server too busy: each get runs a statement of its
 * own. */
static bool batch_is_too_large(const struct get_batch *batch)
{
    return batch->count > 1 && (batch->rc == DB_TOO_LARGE || batch->rc == DB_BUSY);
}

/* co: reads all readable fields, outside of transactions. Returns GET_NOT_BATCHED if the model
 * caches no more statements or the batch was too large. */
AWAITS static int get_batched(struct records_ctx *ctx,
                              const struct entity *entity,
                              int64_t id,
                              struct strbuf *out,
                              int64_t *ret_version)
{
    struct get_shape *get = find_shape(ctx, entity);
    struct get_waiter waiter;

    if (get == NULL)
        return GET_NOT_BATCHED;
    stats.gets++;
    await_init(&waiter.await);
    waiter.await.abandon = batch_on_abandon;
    batch_join(ctx, get, id, &waiter);
    int rc = await_wait(ctx->task, &waiter.await, 0);
    ctx->task->db_us += waiter.batch->task.db_us;
    if (rc == 0 && batch_is_too_large(waiter.batch))
        rc = GET_NOT_BATCHED;
    else if (rc == 0)
        rc = waiter_write(ctx, &waiter, out, ret_version);
    batch_unref(waiter.batch);
    return rc;
}

/* --- one --- */

/* co: runs a statement of its own, for a selection, for expansions, or inside a transaction. */
AWAITS static int get_single(struct records_ctx *ctx,
                             const struct entity *entity,
                             int64_t id,
                             const struct records_query *query,
                             struct strbuf *out,
                             int64_t *ret_version)
{
    struct arena *arena = ctx->task->arena;
    struct columns plan;
    struct strbuf text;
    struct sql_params params;
    struct rows rows;

    TRY(columns_plan(ctx, entity, query->fields, &plan));
    TRY(expand_plan(ctx, query->expand, &plan));
    sql_start(arena, &text, &params);
    strbuf_str(&text, STR("select "));
    columns_sql(ctx, &plan, "t", &text, &params);
    strbuf_printf(&text, " from {p}.%.*s t where t.id = ", STR_ARG(entity->table));
    sql_bind(&text, &params, P_I64(id), "bigint");
    (void)rls_put_where(ctx, entity, ACT_READ, "t", &text, &params);
    struct sql *sql = sql_dynamic(ctx, "records.get", &text, params.count, SQL_OPT);
    TRY(records_db_result(
        ctx, entity, db_query(ctx->task, ctx->db, sql, params.items, params.count, &rows)));
    if (rows.count == 0)
        return records_fail_not_found(ctx);
    TRY(expand_load(ctx, &plan, &rows));
    TRY(columns_write_answer(ctx, &plan, &rows, 0, out));
    *ret_version = rows_i64(&rows, 0, COLUMNS_VERSION);
    return records_check_size(ctx, out);
}

int records_get(struct records_ctx *ctx,
                const struct entity *entity,
                int64_t id,
                const struct records_query *query,
                struct strbuf *out,
                int64_t *ret_version)
{
    const struct records_query all = {.fields = STR_NONE};

    if (query == NULL)
        query = &all;
    if (query->fields.ptr == NULL && query->expand.ptr == NULL && ctx->db->lease == NULL) {
        int rc = get_batched(ctx, entity, id, out, ret_version);
        if (rc != GET_NOT_BATCHED)
            return rc;
    }
    return get_single(ctx, entity, id, query, out, ret_version);
}
