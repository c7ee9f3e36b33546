/*
 * ReadData: records as an array, with the filters of the list API. What the author wrote as JSON
 * becomes the list's own parameters, so that one engine reads both.
 */
#include "steps/data.h"
#include "json/jr.h"

#define ITEMS_MAX                                                                                  \
    128 /* filter conditions and the other parameters; the engine takes 50 conditions */

struct reading {
    struct step_call *call;
    struct query query;
};

/* --- filters --- */

/* Names on the way to a value: filter[or][0][price][gte]. */
struct keys {
    struct str items[QUERY_KEYS_MAX];
    size_t count;
};

static bool push(struct keys *keys, struct str key)
{
    if (keys->count == QUERY_KEYS_MAX)
        return false;
    keys->items[keys->count++] = key;
    return true;
}

static int add(struct reading *in, const char *name, const struct keys *keys, struct str value)
{
    if (in->query.count == ITEMS_MAX)
        return step_fail(in->call, "too_long", "filter: there are more than 50 conditions");
    struct query_item *item = &in->query.items[in->query.count++];
    *item = (struct query_item){.name = str_from(name), .value = value};
    for (size_t i = 0; keys != NULL && i < keys->count; i++)
        item->keys[item->key_count++] = keys->items[i];
    return 0;
}

static bool scalar_text(struct step_call *call, const json_t *value, struct str *ret_text)
{
    if (json_is_string(value))
        *ret_text = (struct str){json_string_value(value), json_string_length(value)};
    else if (json_is_number(value) || json_is_boolean(value))
        *ret_text = jr_print(call->task->arena, value);
    else
        return false;
    return true;
}

static int fail_value(struct reading *in, const struct keys *keys)
{
    struct str name = keys->count ? keys->items[0] : STR("filter");

    return step_fail(in->call,
                     "type_mismatch",
                     "filter.%.*s: expected a text, a number or a boolean",
                     STR_ARG(name));
}

static int add_list(struct reading *in, const struct keys *keys, const json_t *list)
{
    size_t count = json_array_size(list);
    struct str *texts = ARENA_ARRAY(in->call->task->arena, texts, count + 1); /* NULL is no list */

    for (size_t i = 0; i < count; i++) {
        if (!scalar_text(in->call, json_array_get(list, i), &texts[i]))
            return fail_value(in, keys);
    }
    TRY(add(in, "filter", keys, STR("")));
    in->query.items[in->query.count - 1].list = texts;
    in->query.items[in->query.count - 1].list_count = count;
    return 0;
}

static int fail_depth(struct reading *in)
{
    return step_fail(in->call, "invalid_query", "filter: groups are nested too deep");
}

/* One comparison of a field; `keys` ends with the field's name. */
static int add_test(struct reading *in, struct keys keys, struct str op, const json_t *value)
{
    struct str text;

    if (json_is_null(value)) {
        bool is_ne = str_is(op, "ne");
        if (!is_ne && !str_is(op, "eq"))
            return fail_value(in, &keys);
        return push(&keys, STR("null"))
                   ? add(in, "filter", &keys, is_ne ? STR("false") : STR("true"))
                   : fail_depth(in);
    }
    if (!push(&keys, op))
        return fail_depth(in);
    if (json_is_array(value))
        return add_list(in, &keys, value);
    return scalar_text(in->call, value, &text) ? add(in, "filter", &keys, text)
                                               : fail_value(in, &keys);
}

static int add_field(struct reading *in, struct keys keys, const json_t *value)
{
    const char *name;
    size_t len;
    json_t *item;

    if (!json_is_object(value))
        return add_test(in, keys, json_is_array(value) ? STR("in") : STR("eq"), value);
    json_object_keylen_foreach((json_t *)value, name, len, item)
        TRY(add_test(in, keys, (struct str){name, len}, item));
    return 0;
}

/* NOLINTBEGIN(misc-no-recursion): not deeper than QUERY_KEYS_MAX */
static int add_group(struct reading *in, struct keys keys, const json_t *group)
{
    const char *name;
    size_t len;
    json_t *item;

    if (!json_is_object(group))
        return step_fail(in->call, "type_mismatch", "filter: expected an object");
    json_object_keylen_foreach((json_t *)group, name, len, item)
    {
        struct str key = {name, len};
        struct keys inner = keys;
        if (!push(&inner, key))
            return fail_depth(in);
        if (!json_is_array(item) || (!str_is(key, "or") && !str_is(key, "and"))) {
            TRY(add_field(in, inner, item));
            continue;
        }
        for (size_t i = 0; i < json_array_size(item); i++) {
            struct keys slot = inner;
            if (!push(&slot, arena_printf(in->call->task->arena, "%zu", i)))
                return fail_depth(in);
            TRY(add_group(in, slot, json_array_get(item, i)));
        }
    }
    return 0;
}
/* NOLINTEND(misc-no-recursion) */

/* --- parameters --- */

/* NULL for one that is left out or null. */
static int optional(struct reading *in, const char *name, json_t **ret_value)
{
    TRY(step_param(in->call, name, false, ret_value));
    data_input(in->call, name, *ret_value);
    if (*ret_value != NULL && json_is_null(*ret_value))
        *ret_value = NULL;
    return 0;
}

/* "id,name" or ["id", "name"]. */
static int add_names(struct reading *in, const char *name)
{
    struct str text;
    json_t *value;

    TRY(optional(in, name, &value));
    if (value == NULL)
        return 0;
    if (!json_is_array(value)) {
        if (!scalar_text(in->call, value, &text))
            return step_fail(in->call, "type_mismatch", "%s: expected names", name);
        return add(in, name, NULL, text);
    }
    struct strbuf out;
    strbuf_init(&out, in->call->task->arena, (size_t)64 << 10);
    for (size_t i = 0; i < json_array_size(value); i++) {
        if (!scalar_text(in->call, json_array_get(value, i), &text))
            return step_fail(in->call, "type_mismatch", "%s: expected names", name);
        strbuf_printf(&out, "%s%.*s", i > 0 ? "," : "", STR_ARG(text));
    }
    return add(in, name, NULL, strbuf_view(&out));
}

static int add_number(struct reading *in, const char *name)
{
    struct str text;
    json_t *value;

    TRY(optional(in, name, &value));
    if (value == NULL)
        return 0;
    if (!scalar_text(in->call, value, &text))
        return step_fail(in->call, "type_mismatch", "%s: expected a number", name);
    return add(in, name, NULL, text);
}

static int read_list_params(struct reading *in)
{
    json_t *filter;

    TRY(optional(in, "filter", &filter));
    if (filter != NULL)
        TRY(add_group(in, (struct keys){.count = 0}, filter));
    TRY(add_names(in, "sort"));
    TRY(add_names(in, "fields"));
    TRY(add_number(in, "limit"));
    TRY(add_number(in, "page"));
    return add(in, "count", NULL, STR("false"));
}

/* --- reading --- */

AWAITS static int read_list(struct step_call *call, struct data_step *data)
{
    struct reading in = {.call = call};
    json_t *page;

    in.query.items = ARENA_ARRAY(call->task->arena, in.query.items, ITEMS_MAX);
    TRY(read_list_params(&in));
    TRY(data_check(call, data, records_list(&data->ctx, data->entity, &in.query, &data->out)));
    TRY(data_read_out(call, data, &page));
    call->output = step_own(call, json_pack("{s:O}", "data", json_object_get(page, "items")));
    return 0;
}

/* The record, or none: a missing one is no failure, and no other is read instead. */
AWAITS static int read_one(struct step_call *call, struct data_step *data)
{
    struct reading in = {.call = call};
    int64_t version;
    json_t *value;
    int64_t id;

    call->output = step_own(call, json_pack("{s:[]}", "data"));
    TRY(step_param(call, "id", false, &value));
    data_input(call, "id", value);
    if (json_is_null(value))
        return 0;
    TRY(step_param_id(call, "id", &id));
    in.query.items = ARENA_ARRAY(call->task->arena, in.query.items, ITEMS_MAX);
    TRY(add_names(&in, "fields"));
    int rc = records_get(&data->ctx, data->entity, id, &in.query, &data->out, &version);
    if (rc == RECORDS_FAILED && str_is(str_from(data->ctx.error.code), "not_found"))
        return 0;
    TRY(data_check(call, data, rc));
    TRY(data_read_out(call, data, &value));
    data_put_one(call, value);
    return 0;
}

int step_read_data(struct step_call *call)
{
    struct data_step data;

    TRY(data_open(call, ACT_READ, &data));
    if (json_object_get(call->step->params, "id") != NULL)
        return read_one(call, &data);
    return read_list(call, &data);
}
