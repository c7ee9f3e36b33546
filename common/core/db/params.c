/*
 * Parameters on the wire: everything as text in PostgreSQL's input syntax (so that $n::type decides
 * the type), bytea as binary.
 */
#include <string.h>

#include "base/clock.h"
#include "base/num.h"
#include "base/panic.h"
#include "db/conn_private.h"
#include "db/db.h"
#include "db/params_private.h"

static bool has_nul(struct str text)
{
    return text.ptr && text.len > 0 && memchr(text.ptr, 0, text.len) != NULL;
}

bool params_valid(const struct db_param *params, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (params[i].kind == PARAM_STR && has_nul(params[i].str))
            return false;
        if (params[i].kind != PARAM_STRS)
            continue;
        const struct str *items = params[i].list.items;
        for (size_t k = 0; k < params[i].list.count; k++)
            if (has_nul(items[k]))
                return false;
    }
    return true;
}

static const char *encode_f64(struct arena *arena, double value)
{
    if (value != value)
        return "NaN";
    if (value - value != 0)
        return value > 0 ? "Infinity" : "-Infinity";
    char *text = arena_alloc(arena, 33);
    text[num_print_f64(text, value)] = '\0';
    return text;
}

static const char *encode_i64(struct arena *arena, int64_t value)
{
    char *text = arena_alloc(arena, 24);
    text[num_print_i64(text, value)] = '\0';
    return text;
}

static const char *encode_i64s(struct arena *arena, const int64_t *items, size_t count)
{
    char *text = arena_alloc(arena, count * 21 + 3);
    size_t at = 0;

    text[at++] = '{';
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            text[at++] = ',';
        at += num_print_i64(text + at, items[i]);
    }
    text[at++] = '}';
    text[at] = '\0';
    return text;
}

/* Quotes every item; inside quotes only '"' and '\' need an escape. */
static const char *encode_strs(struct arena *arena, const struct str *items, size_t count)
{
    size_t bytes = 3;
    size_t at = 0;

    for (size_t i = 0; i < count; i++)
        bytes += items[i].ptr ? items[i].len * 2 + 3 : 5;
    char *text = arena_alloc(arena, bytes);
    text[at++] = '{';
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            text[at++] = ',';
        if (!items[i].ptr) {
            memcpy(text + at, "NULL", 4);
            at += 4;
            continue;
        }
        text[at++] = '"';
        for (size_t k = 0; k < items[i].len; k++) {
            char c = items[i].ptr[k];
            if (c == '"' || c == '\\')
                text[at++] = '\\';
            text[at++] = c;
        }
        text[at++] = '"';
    }
    text[at++] = '}';
    text[at] = '\0';
    return text;
}

static const char *encode_time(struct arena *arena, int64_t wall_ms)
{
    return clock_format(arena_alloc(arena, CLOCK_TEXT_BYTES), wall_ms);
}

static const char *params_encode_one(struct arena *arena, const struct db_param *param)
{
    switch (param->kind) {
    case PARAM_NULL:
        return NULL;
    case PARAM_I64:
        return encode_i64(arena, param->i64);
    case PARAM_F64:
        return encode_f64(arena, param->f64);
    case PARAM_BOOL:
        return param->boolean ? "t" : "f";
    case PARAM_STR:
        return param->str.ptr ? arena_cstr(arena, param->str) : NULL;
    case PARAM_TIME:
        return encode_time(arena, param->i64);
    case PARAM_BYTES:
        return param->str.ptr;
    case PARAM_I64S:
        return encode_i64s(arena, param->list.items, param->list.count);
    case PARAM_STRS:
        return encode_strs(arena, param->list.items, param->list.count);
    }
    PANIC("no such kind of parameter: %d", (int)param->kind);
}

struct db_call db_call_new(struct arena *arena,
                           const struct sql *sql,
                           const struct db_param *params,
                           size_t param_count)
{
    struct db_param *own = ARENA_ARRAY(arena, own, param_count);

    if (param_count > 0)
        memcpy(own, params, param_count * sizeof(*own));
    return db_call(sql, own, param_count);
}

static struct db_param
params_named(const struct sql *sql, size_t param, const struct db_named *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(sql->names[param], values[i].name) == 0)
            return values[i].value;
    PANIC("%s: there is no value for :%s", sql->name, sql->names[param]);
}

struct db_call db_call_named(struct arena *arena,
                             const struct sql *sql,
                             const struct db_named *values,
                             size_t count)
{
    struct db_param *params = ARENA_ARRAY(arena, params, sql->arity);

    for (size_t i = 0; i < sql->arity; i++)
        params[i] = params_named(sql, i, values, count);
    return db_call(sql, params, sql->arity);
}

void params_encode(struct arena *arena,
                   const struct db_param *params,
                   size_t count,
                   struct wire *ret_wire)
{
    *ret_wire = (struct wire){.count = (int)count};
    if (count == 0)
        return;
    ret_wire->values = arena_alloc(arena, count * sizeof(char *));
    ret_wire->lengths = arena_alloc(arena, count * sizeof(int));
    ret_wire->formats = arena_alloc(arena, count * sizeof(int));
    for (size_t i = 0; i < count; i++) {
        bool bytes = params[i].kind == PARAM_BYTES;
        ret_wire->values[i] = params_encode_one(arena, &params[i]);
        ret_wire->lengths[i] = bytes ? (int)params[i].str.len : 0;
        ret_wire->formats[i] = bytes;
    }
}
