/*
 * Writes the event of a new record in the same round trip as its INSERT. All values are known
 * before the INSERT, except the id, which is the last one of the sequence on this connection, and
 * the times, which are now() of the transaction. PostgreSQL builds the payload from the same
 * parameters with the same types, so the payload equals the stored record.
 */
#include "records/write/create_event.h"

#include "base/secret_mask.h"
#include "records/read/columns.h"
#include "records/rules/statement.h"
#include "records/write/body.h"
#include "records/write/write.h"

#define FIELDS_MAX 50 /* a PostgreSQL function takes at most 100 arguments, two for each field */
#define TIME_TEXT  "'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"'"

static void create_event_put_id(const struct entity *entity, struct strbuf *sql)
{
    strbuf_printf(sql, "currval('{p}.%.*s_id_seq'::regclass)", STR_ARG(entity->table));
}

static void create_event_put_system(struct records_ctx *ctx,
                                    const struct model_field *field,
                                    struct strbuf *sql,
                                    struct sql_params *params)
{
    if (str_is(field->name, "id"))
        create_event_put_id(field->entity, sql);
    else if (str_is(field->name, "created_by"))
        sql_bind(sql, params, write_author_param(ctx), "bigint");
    else
        strbuf_str(sql, STR("to_char(now() at time zone 'utc', " TIME_TEXT ")"));
}

static void create_event_put_value(const struct value *value,
                                   const char *type,
                                   struct strbuf *sql,
                                   struct sql_params *params)
{
    bool null = value->param.kind == PARAM_NULL;

    switch (value->field->type) {
    case TYPE_SECRET:
        sql_bind(sql, params, null ? P_NULL : P_CSTR(SECRET_MASK), "text");
        return;
    case TYPE_DATETIME:
        strbuf_str(sql, STR("to_char("));
        sql_bind(sql, params, value->param, type);
        strbuf_str(sql, STR(" at time zone 'utc', " TIME_TEXT ")"));
        return;
    default:
        sql_bind(sql, params, value->param, type);
    }
}

/* Returns true when the stored value follows from the parameter; a decimal's scale does not. */
static bool create_event_is_known(const struct model_field *field, const struct write_row *row)
{
    if (field->system || field->is_many)
        return true;
    return field->type != TYPE_DECIMAL && row_value(row, field) != NULL;
}

static void put_payload(struct records_ctx *ctx,
                        const struct columns *plan,
                        const struct write_row *row,
                        struct strbuf *sql,
                        struct sql_params *params)
{
    strbuf_str(sql, STR("jsonb_build_object("));
    for (size_t i = 0; i < plan->count; i++) {
        const struct model_field *field = plan->fields[i];
        if (i > 0)
            strbuf_str(sql, STR(", "));
        sql_bind(sql, params, P_STR(field->name), "text");
        strbuf_str(sql, STR(", "));
        if (field->system)
            create_event_put_system(ctx, field, sql, params);
        else if (field->is_many)
            strbuf_str(sql, STR("'[]'::jsonb"));
        else
            create_event_put_value(row_value(row, field), field_sql_type(field), sql, params);
    }
    strbuf_char(sql, ')');
}

/* A NULL `plan` gives an empty payload. */
static struct db_call create_event_call_of(struct records_ctx *ctx,
                                           const struct entity *entity,
                                           const struct columns *plan,
                                           const struct write_row *row)
{
    const struct outbox_row event = write_outbox_row(ctx, entity, EVENT_CREATED);
    const struct db_call call = events_outbox_call(ctx->task->arena, &event);
    struct sql_params params;
    struct strbuf sql;

    sql_start(ctx->task->arena, &sql, &params);
    for (size_t i = 0; i < OUTBOX_PARAMS; i++)
        (void)sql_params_add(&params, call.params[i]);
    strbuf_str(&sql, events_outbox_head());
    create_event_put_id(entity, &sql);
    strbuf_str(&sql, STR(", "));
    if (plan == NULL)
        strbuf_str(&sql, STR("'{}'"));
    else
        put_payload(ctx, plan, row, &sql, &params);
    return write_call(ctx, "items.announce", &sql, &params, true);
}

int create_event_call(struct records_ctx *ctx,
                      const struct entity *entity,
                      const struct write_row *row,
                      bool *ret_known,
                      struct db_call *ret_call)
{
    struct records_ctx system;
    struct columns plan;

    if (entity_has_only_search(entity, EVENT_CREATED)) {
        *ret_known = true;
        *ret_call = create_event_call_of(ctx, entity, NULL, row);
        return 0;
    }
    TRY(write_payload_plan(ctx, entity, &system, &plan));
    *ret_known = plan.count <= FIELDS_MAX;
    for (size_t i = 0; i < plan.count; i++)
        *ret_known = *ret_known && create_event_is_known(plan.fields[i], row);
    if (*ret_known)
        *ret_call = create_event_call_of(ctx, entity, &plan, row);
    return 0;
}
