/* Texts and parameters of dynamic statements. */
#include "records/rules/statement.h"

#include <string.h>

#include "base/panic.h"
#include "base/rand.h"

void sql_params_init(struct sql_params *params, struct arena *arena)
{
    *params = (struct sql_params){.arena = arena};
}

void sql_start(struct arena *arena, struct strbuf *ret_sql, struct sql_params *ret_params)
{
    strbuf_init(ret_sql, arena, RECORDS_SQL_BYTES);
    sql_params_init(ret_params, arena);
}

unsigned sql_params_add(struct sql_params *params, struct db_param param)
{
    ARENA_PUSH(params->arena, params->items, params->count, params->cap, param);
    return (unsigned)params->count;
}

void sql_bind(struct strbuf *sql,
              struct sql_params *params,
              struct db_param param,
              const char *type)
{
    strbuf_char(sql, '$');
    strbuf_i64(sql, sql_params_add(params, param));
    strbuf_str(sql, STR("::"));
    strbuf_cstr(sql, type);
}

/* Callers determine much of a text, and statements are found by their hash alone. Therefore the
 * hash is keyed, so that a caller cannot construct a collision (multiply and fold, eight bytes a
 * step). */
static uint64_t statement_fold(uint64_t a, uint64_t b)
{
    __extension__ typedef unsigned __int128 wide;
    wide product = (wide)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint64_t text_hash(struct str text, uint64_t extra)
{
    static uint64_t keys[2];
    if (keys[0] == 0) {
        rand_bytes(keys, sizeof(keys));
        keys[0] |= 1;
        keys[1] |= 1;
    }
    uint64_t hash = statement_fold(extra ^ keys[0], text.len ^ keys[1]);
    for (; text.len > 0;) {
        uint64_t word = 0;
        size_t take = text.len < sizeof(word) ? text.len : sizeof(word);
        memcpy(&word, text.ptr, take);
        hash = statement_fold(hash ^ word ^ keys[0], keys[1] ^ (hash >> 32)) + word;
        text.ptr += take;
        text.len -= take;
    }
    return statement_fold(hash ^ keys[1], keys[0]);
}

struct sql *sql_dynamic(struct records_ctx *ctx,
                        const char *name,
                        struct strbuf *text,
                        size_t arity,
                        enum sql_kind kind)
{
    struct sql *sql = ARENA_NEW(text->arena, sql);

    MUST(!text->overflow);
    sql->name = name;
    sql->hash = text_hash(strbuf_view(text), (uint64_t)ctx->model->version);
    sql->text = strbuf_cstring(text);
    sql->arity = (unsigned)arity;
    sql->kind = kind;
    return sql;
}

const char *field_sql_type(const struct model_field *field)
{
    return model_type_info(field->type)->sql;
}

struct str field_collation(const struct records_ctx *ctx, const struct model_field *field)
{
    bool is_text = strcmp(field_sql_type(field), "text") == 0;

    return is_text && ctx->project != NULL
               ? arena_dup(ctx->task->arena, ctx->project->settings.collation)
               : STR("");
}

void sql_put_collation(struct strbuf *sql, struct str collation)
{
    if (collation.len > 0)
        strbuf_printf(sql, " collate \"%.*s\"", STR_ARG(collation));
}
