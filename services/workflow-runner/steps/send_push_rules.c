/* Applies templates and groups of buttons to requests of SendPushNotification. */
#include "steps/send_push_rules.h"

#include <errno.h>

#include "json/jr.h"

bool send_push_has_value(const json_t *value)
{
    return value != NULL && !json_is_null(value) &&
           !(json_is_string(value) && json_string_length(value) == 0);
}

/* --- the template --- */

AWAITS static int
find_template(struct step_call *call, struct send_push_cache *last, struct str type)
{
    bool found = false;

    if (last->type.ptr && str_eq(last->type, type))
        return 0;
    int rc =
        push_template_find(call->task, &call->job->item.project->db, type, &found, &last->texts);
    if (rc != 0)
        return rc < 0 ? rc : STEP_STOP;
    if (!found)
        return step_fail(call, PROBLEM_UNPROCESSABLE, "There is no template %.*s.", STR_ARG(type));
    if (!last->texts.is_active)
        return step_fail(
            call, PROBLEM_UNPROCESSABLE, "The template %.*s is not active.", STR_ARG(type));
    last->type = type;
    return 0;
}

static void
fill_missing_text(struct step_call *call, json_t *request, const char *name, struct str text)
{
    if (text.len && !send_push_has_value(json_object_get(request, name)))
        (void)json_object_set(request, name, step_own_json(call, json_stringn(text.ptr, text.len)));
}

static int fill_buttons(struct step_call *call, json_t *request, struct str buttons)
{
    struct jr_error error;
    json_t *list;

    if (!buttons.ptr || send_push_has_value(json_object_get(request, "buttons")))
        return 0;
    if (jr_parse_stored(call->task->arena, buttons, &list, &error) != 0)
        return ERROR(-EBADMSG);
    (void)json_object_set(request, "buttons", list);
    return 0;
}

AWAITS static int
fill_from_template(struct step_call *call, struct send_push_cache *last, json_t *request)
{
    struct str type = jr_str(request, "template_type");

    if (type.len) {
        TRY(find_template(call, last, arena_dup(call->task->arena, type)));
        fill_missing_text(call, request, "title", last->texts.title);
        fill_missing_text(call, request, "body", last->texts.body);
        fill_missing_text(call, request, "image_url", last->texts.image_url);
        fill_missing_text(call, request, "click_action", last->texts.click_action);
        fill_missing_text(call, request, "category", last->texts.category);
        TRY(fill_buttons(call, request, last->texts.buttons));
    }
    (void)json_object_del(request, "template_type");
    for (const char *const *name = (const char *const[]){"title", "body", NULL}; *name; name++)
        if (!send_push_has_value(json_object_get(request, *name)))
            return step_fail(
                call, PROBLEM_REQUIRED, "%s: is required, in the step or in its template", *name);
    return 0;
}

/* --- the group --- */

static int
send_push_button_ids(struct step_call *call, const json_t *buttons, struct sql_strs *ret_ids)
{
    size_t count = json_array_size(buttons);
    struct str *ids = ARENA_ARRAY(call->task->arena, ids, count + 1);

    if (send_push_has_value(buttons) && !json_is_array(buttons))
        return step_fail(call, PROBLEM_TYPE_MISMATCH, "buttons: expected an array");
    for (size_t i = 0; i < count; i++)
        ids[i] = jr_str(json_array_get(buttons, i), "id");
    *ret_ids = sql_strs(ids, count);
    return 0;
}

AWAITS static int
send_push_check_group(struct step_call *call, struct send_push_cache *last, const json_t *request)
{
    struct arena *arena = call->task->arena;
    const json_t *buttons = json_object_get(request, "buttons");
    struct str category = jr_str(request, "category");
    struct sql_strs ids = {0};
    struct str refusal;

    TRY(send_push_button_ids(call, buttons, &ids));
    struct str text = ids.count ? jr_print(arena, buttons) : STR("");
    if (!category.len ||
        (last->category.ptr && str_eq(last->category, category) && str_eq(last->buttons, text)))
        return 0;
    int rc = push_group_check(call->task, &call->job->item.project->db, category, ids, &refusal);
    if (rc != 0)
        return rc < 0 ? rc : STEP_STOP;
    if (refusal.ptr)
        return step_fail(call, PROBLEM_UNPROCESSABLE, "%.*s", STR_ARG(refusal));
    last->category = arena_dup(arena, category);
    last->buttons = text;
    return 0;
}

int send_push_rules(struct step_call *call, struct send_push_cache *last, json_t *request)
{
    TRY(fill_from_template(call, last, request));
    return send_push_check_group(call, last, request);
}
