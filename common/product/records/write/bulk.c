/*
 * Writes many records in one call: all items are checked first, then the valid items are written
 * together (bulk_insert.c, upsert.c).
 */
#include "records/write/bulk.h"
#include "records/records.h"
#include "records/rules/error.h"
#include "records/write/body.h"
#include "records/write/targets.h"
#include "records/write/upsert.h"
#include "records/write/write.h"

/* --- checks --- */

struct str bulk_path(struct arena *arena, size_t index, struct str name)
{
    if (name.len == 0)
        return arena_printf(arena, "items[%zu]", index);
    return arena_printf(arena, "items[%zu].%.*s", index, STR_ARG(name));
}

/* Adds the findings of an item to those of the request, under the item's path. */
static void
bulk_add_item_findings(struct records_ctx *ctx, size_t index, const struct schema_errors *errors)
{
    for (size_t i = 0; i < errors->count && i < ARRAY_LEN(errors->items); i++) {
        const struct schema_error *error = &errors->items[i];
        struct str path = bulk_path(ctx->task->arena, index, error->field);
        schema_error_add_code(ctx->task->arena,
                              &ctx->error.fields,
                              path,
                              error->code,
                              "%.*s",
                              STR_ARG(error->message));
    }
}

static int bulk_fail_invalid(struct records_ctx *ctx, const struct write_row *rows, size_t count)
{
    struct strbuf list;
    size_t invalid = 0;

    strbuf_init(&list, ctx->task->arena, (size_t)BULK_MAX * 8);
    for (size_t i = 0; i < count; i++) {
        if (rows[i].errors->count == 0)
            continue;
        strbuf_printf(&list, "%s%zu", invalid++ > 0 ? ", " : "", i);
        bulk_add_item_findings(ctx, i, rows[i].errors);
    }
    return records_fail(ctx,
                        PROBLEM_VALIDATION_FAILED,
                        "%zu of %zu items are invalid: %.*s",
                        invalid,
                        count,
                        STR_ARG(strbuf_view(&list)));
}

void bulk_refuse_item(struct records_ctx *ctx, struct bulk *bulk, size_t item)
{
    bulk->out.results[bulk->index[item]].error = ctx->error;
    bulk->ids[item] = 0;
    ctx->error = (struct records_error){0};
}

AWAITS static int
bulk_check_rows(struct records_ctx *ctx, const struct entity *entity, struct bulk *bulk)
{
    enum write_mode mode = bulk->request->upsert ? WRITE_UPSERT : WRITE_CREATE;

    for (size_t i = 0; i < bulk->count; i++) {
        struct write_row *row = &bulk->rows[i];
        row->errors = ARENA_NEW(ctx->task->arena, row->errors);
        TRY(task_yield_if_due(ctx->task));
        write_body_read(ctx, entity, json_array_get(bulk->request->items, i), mode, row);
        bulk->index[i] = i;
        if (bulk->key == NULL || row->errors->count > 0)
            continue;
        const struct value *value = row_value(row, bulk->key);
        if (value == NULL || value->param.kind == PARAM_NULL)
            schema_error_add(
                ctx->task->arena, row->errors, bulk->key->name, PROBLEM_REQUIRED, "is required");
    }
    return 0;
}

/* Keeps the items without findings. An item with findings gets its failure as its result. */
static void bulk_drop_invalid(struct records_ctx *ctx, struct bulk *bulk)
{
    size_t kept_count = 0;

    for (size_t i = 0; i < bulk->count; i++) {
        if (bulk->rows[i].errors->count == 0) {
            bulk->rows[kept_count] = bulk->rows[i];
            bulk->index[kept_count++] = i;
            continue;
        }
        ctx->error.fields = *bulk->rows[i].errors;
        (void)!records_fail_findings(ctx, PROBLEM_VALIDATION_FAILED);
        bulk_refuse_item(ctx, bulk, i);
    }
    bulk->count = kept_count;
}

AWAITS static int
bulk_prepare_items(struct records_ctx *ctx, const struct entity *entity, struct bulk *bulk)
{
    struct arena *arena = ctx->task->arena;
    bool invalid = false;

    bulk->count = json_array_size(bulk->request->items);
    bulk->rows = ARENA_ARRAY(arena, bulk->rows, bulk->count);
    bulk->ids = ARENA_ARRAY(arena, bulk->ids, bulk->count);
    bulk->index = ARENA_ARRAY(arena, bulk->index, bulk->count);
    bulk->out = (struct records_bulk_outcome){.count = bulk->count};
    bulk->out.results = ARENA_ARRAY(arena, bulk->out.results, bulk->count);
    TRY(bulk_check_rows(ctx, entity, bulk));
    TRY(targets_check(ctx, entity, bulk->rows, bulk->count, true));
    for (size_t i = 0; i < bulk->count; i++)
        invalid = invalid || bulk->rows[i].errors->count > 0;
    if (invalid && bulk->atomic)
        return bulk_fail_invalid(ctx, bulk->rows, bulk->count);
    if (invalid)
        bulk_drop_invalid(ctx, bulk);
    return 0;
}

/* --- writing --- */

bool bulk_is_general(enum problem code)
{
    return code == PROBLEM_DEPENDENCY_UNAVAILABLE || code == PROBLEM_TIMEOUT ||
           code == PROBLEM_OUTCOME_UNKNOWN || code == PROBLEM_INTERNAL ||
           code == PROBLEM_TOO_MANY_REQUESTS_IN_FLIGHT;
}

/* Upserts items of which some may fail: each in a transaction of its own. A failure that is not
 * about an item (bulk_is_general()) is given to all following items. */
AWAITS static int
bulk_upsert_each(struct records_ctx *ctx, const struct entity *entity, struct bulk *bulk)
{
    size_t failed;
    int rc = 0;

    for (size_t i = 0; i < bulk->count; i++) {
        struct records_bulk_result *result = &bulk->out.results[bulk->index[i]];
        bool general = rc != 0 && bulk_is_general(ctx->error.code);
        if (rc == RECORDS_FAILED && !general)
            ctx->error = (struct records_error){0};
        if (!general)
            rc = upsert_rows(ctx, entity, bulk->key, &bulk->rows[i], 1, result, &failed);
        if (rc == RECORDS_SCHEMA && i > 0)
            rc = records_fail_schema(ctx);
        if (rc < 0 || rc == RECORDS_SCHEMA)
            return rc;
        if (rc == RECORDS_FAILED)
            result->error = ctx->error;
        bulk->ids[i] = result->id;
    }
    ctx->error = (struct records_error){0};
    return 0;
}

/* Upserts all items or none. The failure of an atomic request names the item that failed. */
AWAITS static int
bulk_upsert_all(struct records_ctx *ctx, const struct entity *entity, struct bulk *bulk)
{
    struct arena *arena = ctx->task->arena;
    struct records_bulk_result *results = ARENA_ARRAY(arena, results, bulk->count);
    size_t failed = bulk->count;

    int rc = upsert_rows(ctx, entity, bulk->key, bulk->rows, bulk->count, results, &failed);
    if (rc == RECORDS_FAILED && failed < bulk->count && bulk->atomic) {
        struct schema_errors found = ctx->error.fields;
        ctx->error.fields = (struct schema_errors){0};
        bulk_add_item_findings(ctx, failed, &found);
        ctx->error.detail =
            arena_printf(arena, "items[%zu]: %.*s", failed, STR_ARG(ctx->error.detail));
    }
    if (rc != 0)
        return rc;
    for (size_t i = 0; i < bulk->count; i++) {
        bulk->ids[i] = results[i].id;
        bulk->out.results[bulk->index[i]].updated = results[i].updated;
    }
    return 0;
}

AWAITS static int
bulk_write_rows(struct records_ctx *ctx, const struct entity *entity, struct bulk *bulk)
{
    if (bulk->count == 0)
        return 0;
    bool is_one = bulk->atomic || ctx->db->lease != NULL; /* a refusal rolls all back */
    if (bulk->key != NULL)
        return is_one ? bulk_upsert_all(ctx, entity, bulk) : bulk_upsert_each(ctx, entity, bulk);
    bool notify = entity_has_consumer(entity, EVENT_CREATED) || ctx->model->live;
    return write_transaction(ctx, entity, bulk_insert, bulk, notify);
}

static void bulk_count_outcome(struct bulk *bulk)
{
    struct records_bulk_outcome *out = &bulk->out;

    for (size_t i = 0; i < bulk->count; i++)
        out->results[bulk->index[i]].id = bulk->ids[i];
    for (size_t i = 0; i < out->count; i++) {
        const struct records_bulk_result *result = &out->results[i];
        out->failed += result->id == 0;
        out->updated += result->id != 0 && result->updated;
        out->created += result->id != 0 && !result->updated;
    }
}

int records_bulk_write(struct records_ctx *ctx,
                       const struct entity *entity,
                       const struct records_bulk *in,
                       struct records_bulk_outcome *ret_outcome)
{
    struct bulk bulk = {.request = in, .atomic = in->atomic};

    if (!json_is_array(in->items))
        return records_fail_field(ctx,
                                  PROBLEM_VALIDATION_FAILED,
                                  STR("items"),
                                  PROBLEM_TYPE_MISMATCH,
                                  "expected a list of records");
    if (json_array_size(in->items) > BULK_MAX)
        return records_fail_field(ctx,
                                  PROBLEM_VALIDATION_FAILED,
                                  STR("items"),
                                  PROBLEM_TOO_LONG,
                                  "must be at most %d items",
                                  BULK_MAX);
    if (in->upsert)
        TRY(upsert_key(ctx, entity, in, &bulk.key));
    TRY(bulk_prepare_items(ctx, entity, &bulk));
    TRY(bulk_write_rows(ctx, entity, &bulk));
    bulk_count_outcome(&bulk);
    *ret_outcome = bulk.out;
    return 0;
}

/* --- answer --- */

static void bulk_put_error(struct jw *w, const struct records_error *error)
{
    jw_lit(w, "error");
    jw_obj(w);
    JW_CSTR(w, "code", problem_code(error->code));
    JW_STR(w, "detail", error->detail);
    jw_lit(w, "errors");
    jw_arr(w);
    for (size_t i = 0; i < error->fields.count && i < ARRAY_LEN(error->fields.items); i++) {
        const struct schema_error *found = &error->fields.items[i];
        jw_obj(w);
        JW_STR(w, "field", found->field);
        JW_CSTR(w, "code", found->code);
        JW_STR(w, "message", found->message);
        jw_obj_end(w);
    }
    jw_arr_end(w);
    jw_obj_end(w);
}

int records_bulk(struct records_ctx *ctx,
                 const struct entity *entity,
                 const struct records_bulk *in,
                 struct strbuf *out)
{
    struct records_bulk_outcome outcome = {0};
    struct jw w;

    TRY(records_bulk_write(ctx, entity, in, &outcome));
    jw_init(&w, out);
    jw_obj(&w);
    JW_I64(&w, "created", outcome.created);
    JW_I64(&w, "updated", outcome.updated);
    JW_I64(&w, "failed", outcome.failed);
    jw_lit(&w, "results");
    jw_arr(&w);
    for (size_t i = 0; i < outcome.count; i++) {
        const struct records_bulk_result *result = &outcome.results[i];
        jw_obj(&w);
        JW_I64(&w, "index", (int64_t)i);
        if (result->id != 0)
            JW_I64(&w, "id", result->id);
        else
            bulk_put_error(&w, &result->error);
        jw_obj_end(&w);
    }
    jw_arr_end(&w);
    jw_obj_end(&w);
    return records_check_size(ctx, out);
}
