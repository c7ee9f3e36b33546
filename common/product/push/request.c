/* Reads the request of a send. */
#include "push/request.h"

#include "base/num.h"
#include "json/jr.h"

static const char *const provider_names[] = {[PUSH_FCM] = "fcm", [PUSH_WEB] = "web_push"};

const char *push_provider_name(enum push_provider provider)
{
    return provider_names[provider];
}

enum push_provider push_provider_find(struct str name)
{
    for (enum push_provider i = PUSH_FCM; i <= PUSH_WEB; i++) {
        if (str_is(name, provider_names[i]))
            return i;
    }
    return 0;
}

/* Returns an id, given as a number or as the text that a template made of it; 0 = no id. */
static int64_t request_read_id(const json_t *value)
{
    int64_t id = 0;

    if (json_is_integer(value))
        id = json_integer_value(value);
    else if (!json_is_string(value) ||
             !num_parse_i64((struct str){json_string_value(value), json_string_length(value)}, &id))
        return 0;
    return id > 0 ? id : 0;
}

/* Reads a list of ids or one id: the expression of a workflow's step can have either. */
static bool
request_read_users(struct arena *arena, const json_t *list, struct push_audience *audience)
{
    size_t count = json_is_array(list) ? json_array_size(list) : 1;

    if (count > PUSH_USERS_MAX)
        return false;
    int64_t *users = ARENA_ARRAY(arena, users, count);
    for (size_t i = 0; i < count; i++) {
        users[i] = request_read_id(json_is_array(list) ? json_array_get(list, i) : list);
        if (users[i] == 0)
            return false;
    }
    audience->kind = PUSH_TO_USERS;
    audience->users = users;
    audience->nusers = count;
    return true;
}

static bool request_read_owner(const json_t *object, struct push_audience *audience)
{
    const json_t *record = json_object_get(object, "owner_record_id");

    audience->kind = PUSH_TO_OWNER;
    audience->owner_entity_id = request_read_id(json_object_get(object, "owner_entity_id"));
    audience->owner_entity_name = jr_str(object, "owner_entity_name");
    audience->owner_record_id = request_read_id(record);
    if (record == NULL) { /* written by a workflow's step: owner_entity_id has the record's id */
        audience->owner_record_id = audience->owner_entity_id;
        audience->owner_entity_id = 0;
    }
    return audience->owner_record_id != 0 &&
           (audience->owner_entity_id != 0 || audience->owner_entity_name.len > 0);
}

static bool
request_read_audience(struct arena *arena, const json_t *object, struct push_audience *audience)
{
    struct str kind = jr_str(object, "kind");
    struct str provider = jr_str(object, "provider");

    if (provider.len > 0) {
        audience->provider = push_provider_find(provider);
        if (audience->provider == 0)
            return false;
    }
    audience->kind = PUSH_TO_ALL;
    if (str_is(kind, "user"))
        return request_read_users(arena, json_object_get(object, "user_id"), audience);
    if (str_is(kind, "users"))
        return request_read_users(arena, json_object_get(object, "user_ids"), audience);
    if (str_is(kind, "entity"))
        return request_read_owner(object, audience);
    return str_is(kind, "all");
}

static bool
request_read_buttons(struct arena *arena, const json_t *list, struct push_message *message)
{
    size_t count = json_array_size(list);
    struct push_button *buttons = ARENA_ARRAY(arena, buttons, count);

    if (count > PUSH_BUTTONS_MAX)
        return false;
    for (size_t i = 0; i < count; i++) {
        const json_t *button = json_array_get(list, i);
        buttons[i] = (struct push_button){
            .id = jr_str(button, "id"),
            .label = jr_str(button, "label"),
            .click_action = jr_str(button, "click_action"),
        };
        if (buttons[i].id.len == 0)
            return false;
    }
    message->buttons = buttons;
    message->nbuttons = count;
    return true;
}

static bool request_read_data(struct arena *arena, json_t *object, struct push_message *message)
{
    size_t count = json_object_size(object);
    struct push_datum *data = ARENA_ARRAY(arena, data, count);
    const char *name;
    json_t *value;
    size_t i = 0;

    if (count > PUSH_DATA_MAX)
        return false;
    json_object_foreach(object, name, value)
    {
        if (!json_is_string(value) || !push_data_name_ok(str_from(name)))
            return false;
        data[i++] = (struct push_datum){
            .name = str_from(name),
            .value = {json_string_value(value), json_string_length(value)},
        };
    }
    message->data = data;
    message->ndata = count;
    return true;
}

static int request_fail(struct str *ret_code, const char *code)
{
    *ret_code = str_from(code);
    return PUSH_REQUEST_BAD;
}

int push_request_read(struct arena *arena,
                      struct str json,
                      struct push_request *ret_request,
                      struct str *ret_code)
{
    struct push_request request = {0};
    struct jr_error ignored;
    json_t *root;

    if (jr_parse_stored(arena, json, &root, &ignored) != 0 || !json_is_object(root))
        return request_fail(ret_code, "INVALID_REQUEST");
    request.message = (struct push_message){
        .title = jr_str(root, "title"),
        .body = jr_str(root, "body"),
        .image_url = jr_str(root, "image_url"),
        .click_action = jr_str(root, "click_action"),
        .category = jr_str(root, "category"),
    };
    if (request.message.title.len == 0 && request.message.body.len == 0)
        return request_fail(ret_code, "NO_TEXT");
    if (!request_read_buttons(arena, json_object_get(root, "buttons"), &request.message))
        return request_fail(ret_code, "INVALID_BUTTONS");
    if (!request_read_data(arena, json_object_get(root, "data"), &request.message))
        return request_fail(ret_code, "INVALID_DATA");
    if (!request_read_audience(arena, json_object_get(root, "audience"), &request.audience))
        return request_fail(ret_code, "INVALID_AUDIENCE");
    *ret_request = request;
    return 0;
}
