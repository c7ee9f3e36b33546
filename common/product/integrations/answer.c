/* Answers of other APIs. */
#include "integrations/answer.h"

#include "base/panic.h"
#include "json/jr_beside.h"
#include "workflow/template.h"

#define MAPPED_ITEMS_MAX 10000

json_t *answer_read(struct task *task, struct str body)
{
    struct jr_error error;
    json_t *value = NULL;

    if (body.len == 0)
        return json_null();
    if (jr_parse_beside(task, task->arena, body, false, &value, &error) == 0)
        return value;
    if (memchr(body.ptr, 0, body.len) == NULL)
        value = json_stringn(body.ptr, body.len);
    if (value == NULL)
        return json_null();
    jr_own(task->arena, value);
    return value;
}

int answer_pick(
    struct arena *arena, struct str path, json_t *answer, json_t **ret_part, struct str *ret_reason)
{
    const struct template_context context = {.root = answer};
    struct reference *reference;

    *ret_part = answer;
    if (path.len == 0)
        return 0;
    TRY(reference_parse_path(arena, path, &reference, ret_reason));
    return reference_eval(arena, reference, &context, ret_part, ret_reason);
}

/* --- maps --- */

struct answer_slot {
    const char *name;
    struct reference *reference;
};

/* What an item has not, is null. */
static json_t *
map_item(struct arena *arena, const struct answer_slot *slots, size_t count, json_t *item)
{
    const struct template_context context = {.root = item};
    json_t *mapped = json_object();
    struct str ignored;

    for (size_t i = 0; i < count; i++) {
        json_t *value = NULL;
        if (reference_eval(arena, slots[i].reference, &context, &value, &ignored) != 0)
            value = json_null();
        MUST(json_object_set_nocheck(mapped, slots[i].name, value) == 0);
    }
    return mapped;
}

int answer_map(struct arena *arena,
               const struct integration_response *response,
               json_t *answer,
               json_t **ret_value,
               struct str *ret_reason)
{
    const char *name;
    json_t *path;
    json_t *part;
    size_t count = 0;

    TRY(answer_pick(arena, response->results_path.value, answer, &part, ret_reason));
    *ret_value = part;
    if (json_object_size(response->map.value) == 0)
        return 0;
    struct answer_slot *slots = ARENA_ARRAY(arena, slots, json_object_size(response->map.value));
    json_object_foreach(response->map.value, name, path)
    {
        struct str text = {json_string_value(path), json_string_length(path)};
        TRY(reference_parse_path(arena, text, &slots[count].reference, ret_reason));
        slots[count++].name = name;
    }
    if (!json_is_array(part)) {
        *ret_value = map_item(arena, slots, count, part);
        jr_own(arena, *ret_value);
        return 0;
    }
    if (json_array_size(part) > MAPPED_ITEMS_MAX) {
        *ret_reason = arena_printf(arena, "it has more than %d items", MAPPED_ITEMS_MAX);
        return TEMPLATE_TOO_LARGE;
    }
    *ret_value = json_array();
    for (size_t i = 0; i < json_array_size(part); i++)
        MUST(json_array_append_new(*ret_value,
                                   map_item(arena, slots, count, json_array_get(part, i))) == 0);
    jr_own(arena, *ret_value);
    return 0;
}
