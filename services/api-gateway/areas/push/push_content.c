/* The content of a notification, as a member of request bodies. */
#include "areas/push/push.h"
#include "base/ascii.h"

#include <string.h>

enum { BUTTONS_BYTES = 65536 };

const char *const push_providers[] = {"fcm", "web_push", NULL};

static const struct field button_fields[] = {
    {.name = "id",
     FIELD_AT(struct push_button_in, id),
     .type = FIELD_STR,
     .required = true,
     .min = 1,
     .max = PUSH_ID_MAX,
     .doc = "An action of the category, if the app has synced the category",
     .example = "\"yes\""},
    {.name = "label",
     FIELD_AT(struct push_button_in, label),
     .type = FIELD_STR,
     .required = true,
     .min = 1,
     .max = 100,
     .example = "\"Coming\""},
    {.name = "click_action",
     FIELD_AT(struct push_button_in, click_action),
     .type = FIELD_STR,
     .nullable = true,
     .max = PUSH_URL_MAX},
};
const struct schema push_button_schema = SCHEMA("PushButton", struct push_button_in, button_fields);

bool push_id_is_valid(struct str id)
{
    for (size_t i = 0; i < id.len; i++)
        if (id.ptr[i] <= ' ' || id.ptr[i] > '~' || ascii_is_in(id.ptr[i], "/\\\""))
            return false;
    return id.len > 0 && id.len <= PUSH_ID_MAX;
}

int push_content_check(struct req *r, const struct push_content_in *in)
{
    const struct push_button_in *buttons = in->buttons.items;
    struct schema_errors *errors = ARENA_NEW(r->task.arena, errors);
    struct arena *arena = r->task.arena;

    if (in->category.set && !in->category.null && !push_id_is_valid(in->category.value))
        schema_error_add(arena,
                         errors,
                         STR("category"),
                         PROBLEM_PATTERN,
                         "must be printable ASCII without spaces, slashes, backslashes and quotes");
    for (size_t i = 0; i < in->buttons.count; i++) {
        struct str field = arena_printf(arena, "buttons[%zu].id", i);
        bool twice = false;
        for (size_t k = 0; k < i; k++)
            twice |= str_eq(buttons[k].id.value, buttons[i].id.value);
        if (twice)
            schema_error_add(
                arena, errors, field, PROBLEM_UNIQUE_VIOLATION, "must be unique in the list");
        else if (!push_id_is_valid(buttons[i].id.value))
            schema_error_add(
                arena,
                errors,
                field,
                PROBLEM_PATTERN,
                "must be printable ASCII without spaces, slashes, backslashes and quotes");
    }
    return errors->count ? fail_fields(r, errors) : 0;
}

struct str push_buttons_json(struct req *r, const struct in_list *buttons)
{
    const struct push_button_in *items = buttons->items;
    struct strbuf text;
    struct jw w;

    if (buttons->count == 0)
        return STR_NONE;
    strbuf_init(&text, r->task.arena, BUTTONS_BYTES);
    jw_init(&w, &text);
    jw_arr(&w);
    for (size_t i = 0; i < buttons->count; i++) {
        jw_obj(&w);
        JW_STR(&w, "id", items[i].id.value);
        JW_STR(&w, "label", items[i].label.value);
        if (items[i].click_action.value.len)
            JW_STR(&w, "click_action", items[i].click_action.value);
        jw_obj_end(&w);
    }
    jw_arr_end(&w);
    return strbuf_view(&text);
}
