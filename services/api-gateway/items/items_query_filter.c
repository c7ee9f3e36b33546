/* Filters in request bodies: the filter of the list route as an object. */
#include "items/items_query.h"

#include "app.h"

#define BODY_CONDITIONS 100

/* The filter of a body while it is read. The member names on the path to a value make the keys of
 * its condition. */
struct body_filter {
    struct req *r;
    struct records_condition items[BODY_CONDITIONS];
    size_t count;
};

struct body_keys {
    struct str items[QUERY_KEYS_MAX];
    size_t count;
};

/* NOLINTBEGIN(misc-no-recursion): at most QUERY_KEYS_MAX deep */

static int add_filter(struct body_filter *in, struct body_keys keys, const json_t *value);

static int
add_member(struct body_filter *in, struct body_keys keys, struct str key, const json_t *value)
{
    if (keys.count == QUERY_KEYS_MAX || in->count == BODY_CONDITIONS)
        return fail_field(
            in->r, "filter", PROBLEM_OUT_OF_RANGE, "is nested too deep or has too many conditions");
    keys.items[keys.count++] = key;
    return add_filter(in, keys, value);
}

static struct str items_scalar_text(const struct body_filter *in, const json_t *value)
{
    return json_is_string(value) ? (struct str){json_string_value(value), json_string_length(value)}
                                 : jr_print(in->r->task.arena, value);
}

static bool items_takes_list(const struct body_keys *keys)
{
    enum filter_op op = keys->count ? filter_op_find(keys->items[keys->count - 1]) : OP_COUNT;
    enum operator_operand takes = op < OP_COUNT ? filter_operator(op)->operand : TAKES_NONE;

    return takes == TAKES_LIST || takes == TAKES_PAIR;
}

/* Reads an array of scalars, which some operators take. Any other value is refused, because a
 * delete must never misread a filter. */
static int items_read_list(struct body_filter *in,
                           const struct body_keys *keys,
                           const json_t *value,
                           struct records_condition *condition)
{
    size_t count = json_array_size(value);
    struct str *texts = ARENA_ARRAY(in->r->task.arena, texts, count);
    json_t *member;
    size_t i;

    if (!items_takes_list(keys) || !count)
        return fail_field(
            in->r,
            "filter",
            PROBLEM_TYPE_MISMATCH,
            "must have a list with in, nin and between only, and the list must not be empty");
    json_array_foreach(value, i, member)
    {
        if (json_is_object(member) || json_is_array(member) || json_is_null(member))
            return fail_field(in->r,
                              "filter",
                              PROBLEM_TYPE_MISMATCH,
                              "lists must contain only texts, numbers or booleans");
        texts[i] = items_scalar_text(in, member);
    }
    condition->list = texts;
    condition->list_count = count;
    return 0;
}

static int add_condition(struct body_filter *in, const struct body_keys *keys, const json_t *value)
{
    struct records_condition condition =
        items_condition_read(in->r->task.arena, keys->items, keys->count);

    if (json_is_array(value))
        TRY(items_read_list(in, keys, value, &condition));
    if (in->count == BODY_CONDITIONS)
        return fail_field(in->r, "filter", PROBLEM_OUT_OF_RANGE, "has too many conditions");
    if (json_is_null(value))
        return fail_field(
            in->r, "filter", PROBLEM_TYPE_MISMATCH, "must not contain null: write {\"null\":true}");
    if (!json_is_array(value))
        condition.value = items_scalar_text(in, value);
    in->items[in->count++] = condition;
    return 0;
}

static int add_filter(struct body_filter *in, struct body_keys keys, const json_t *value)
{
    const char *key;
    json_t *member;
    size_t i;

    if (json_is_object(value)) {
        if (!json_object_size(value))
            return fail_field(in->r, "filter", PROBLEM_REQUIRED, "must not have an empty object");
        json_object_foreach((json_t *)value, key, member)
            TRY(add_member(in, keys, str_from(key), member));
        return 0;
    }
    if (json_is_array(value) && json_array_size(value) &&
        json_is_object(json_array_get(value, 0))) {
        json_array_foreach(value, i, member)
            TRY(add_member(in, keys, arena_printf(in->r->task.arena, "%zu", i), member));
        return 0;
    }
    return add_condition(in, &keys, value);
}

/* NOLINTEND(misc-no-recursion) */

int items_filter_body(struct req *r, const json_t *value, struct records_filter *ret_filter)
{
    struct body_filter *read = ARENA_NEW(r->task.arena, read);

    read->r = r;
    TRY(add_filter(read, (struct body_keys){.count = 0}, value));
    *ret_filter = (struct records_filter){read->items, read->count};
    return 0;
}
