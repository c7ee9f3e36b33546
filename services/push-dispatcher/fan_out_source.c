/* Writes devices that are records. */
#include "fan_out_source.h"

#include "dispatch_fan_out_sql.h"

enum { PAGE = 500, TOKEN_BYTES = 4096 };

bool fan_out_has_source(const struct send *send)
{
    return send->providers->has_fcm && send->providers->source.entity_id != 0 &&
           send->request.audience.provider != PUSH_WEB;
}

/* Returns the condition that the audience puts on records. *ret_some is false if no record can meet
 * it. */
static struct str source_filter(struct arena *arena,
                                const struct push_audience *audience,
                                const struct push_source *source,
                                int64_t entity_id,
                                bool *ret_some)
{
    *ret_some = true;
    switch (audience->kind) {
    case PUSH_TO_ALL:
        return STR("and $2::bigint[] is null");
    case PUSH_TO_USERS:
        *ret_some = source->owner_field_id != 0;
        return arena_printf(
            arena, "and t.f_%lld = any($2::bigint[])", (long long)source->owner_field_id);
    default: /* a record's devices: the record itself is the device */
        *ret_some = entity_id == source->entity_id;
        return STR("and t.id = any($2::bigint[])");
    }
}

/* Names of tables and columns are made of ids, which never change. */
static struct sql
source_statement(struct arena *arena, const struct push_source *source, struct str filter)
{
    long long token = source->token_field_id;
    struct str text = arena_printf(
        arena,
        "select t.id, t.f_%lld::text from {p}.e_%lld t where t.id > $1::bigint"
        " and octet_length(t.f_%lld::text) between 1 and %d %.*s order by t.id limit %d",
        token,
        (long long)source->entity_id,
        token,
        TOKEN_BYTES,
        STR_ARG(filter),
        PAGE);

    return (struct sql){
        .name = "fan_out.source_page",
        .text = arena_cstr(arena, text),
        .hash = str_hash(text),
        .arity = 2,
        .kind = SQL_MANY,
        .heavy = true, /* the owner's column may have no index */
    };
}

/* Reads a page of records. The page is empty when the send has no source. When the entity or column
 * of the source is gone, the page is also empty, and *ret_code is INVALID_SOURCE. */
AWAITS static int source_read_page(struct task *task,
                                   struct send *send,
                                   int64_t entity_id,
                                   struct rows *ret_rows,
                                   struct str *ret_code)
{
    const struct push_audience *audience = &send->request.audience;
    const struct push_source *source = &send->providers->source;
    struct db_param who = P_NULL;
    bool some;

    *ret_rows = (struct rows){0};
    *ret_code = STR_NONE;
    if (!fan_out_has_source(send))
        return 0;
    struct str filter = source_filter(task->arena, audience, source, entity_id, &some);
    if (!some)
        return 0;
    if (audience->kind == PUSH_TO_USERS)
        who = P_I64S(audience->users, audience->nusers);
    if (audience->kind == PUSH_TO_OWNER)
        who = P_I64S(&audience->owner_record_id, 1);
    struct sql sql = source_statement(task->arena, source, filter);
    int rc = db_query(
        task, &send->item.project->db, &sql, PARAMS(P_I64(send->fan_out_after), who), ret_rows);
    if (rc == DB_SCHEMA) {
        *ret_rows = (struct rows){0};
        *ret_code = STR("INVALID_SOURCE");
        return 0;
    }
    return rc;
}

int fan_out_source_page(
    struct task *task, struct send *send, int64_t entity_id, int next_stage, struct rows *ret_rows)
{
    struct arena *arena = task->arena;
    struct rows read;
    struct str code;

    TRY(source_read_page(task, send, entity_id, &read, &code));
    int64_t *records = ARENA_ARRAY(arena, records, read.count + 1);
    struct str *tokens = ARENA_ARRAY(arena, tokens, read.count + 1);
    for (size_t i = 0; i < read.count; i++) {
        records[i] = rows_i64(&read, i, 0);
        tokens[i] = rows_str(&read, i, 1);
    }
    bool last = read.count < PAGE;
    return db_query(task,
                    &send->item.project->db,
                    SQL_FAN_OUT_SOURCE(.id = send->item.id,
                                       .token = send->item.token,
                                       .records = sql_i64s(records, read.count),
                                       .tokens = sql_strs(tokens, read.count),
                                       .key_id = send->key_id,
                                       .error = code,
                                       .next = last ? next_stage : send->fan_out_stage,
                                       .after = last ? 0 : records[read.count - 1]),
                    ret_rows);
}
