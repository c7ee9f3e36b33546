/*
 * The contents of a send, with templates and user values, and a device's token: the payload is JSON
 * with the same texts.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/panic.h"
#include "json/jr.h"
#include "push/payload.h"
#include "push/request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static json_t *object_of(struct arena *arena, struct str text)
{
    struct jr_error ignored;
    json_t *root = NULL;

    MUST(jr_parse(arena, text, &root, &ignored) == 0 && json_is_object(root));
    return root;
}

static void check_data(const json_t *data, const struct push_message *message)
{
    MUST(str_eq(jr_str(data, "notification_id"), message->notification_id));
    for (size_t i = 0; i < message->ndata; i++) {
        const char *name = message->data[i].name.ptr;
        struct str value = jr_str(data, name);
        MUST(json_is_string(json_object_get(data, name)));
        MUST(str_eq(value, message->data[i].value) || strcmp(name, "click_action") == 0 ||
             strcmp(name, "category") == 0 || strcmp(name, "buttons") == 0 ||
             strcmp(name, "notification_id") == 0);
    }
}

static void check(struct arena *arena, struct push_message *message, struct str token)
{
    message->notification_id = STR("AAAA");
    message->sent_ms = 1700000000000;
    struct str rest = push_fcm_body_end(arena, message);
    const json_t *fcm =
        json_object_get(object_of(arena, push_fcm_body(arena, rest, token)), "message");
    const json_t *web = object_of(arena, push_web_payload(arena, message));
    const json_t *notification = json_object_get(fcm, "notification");

    MUST(str_eq(jr_str(fcm, "token"), token));
    MUST(str_eq(jr_str(notification, "title"), message->title));
    MUST(str_eq(jr_str(notification, "body"), message->body));
    MUST(str_eq(jr_str(web, "title"), message->title));
    check_data(json_object_get(fcm, "data"), message);
    check_data(json_object_get(web, "data"), message);
    MUST(push_fcm_bytes(arena, message) <= rest.len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *arena = arena_new(0);
    struct push_request request;
    struct str code = STR_NONE;
    struct str text = {(const char *)data, size};

    if (push_request_read(arena, text, &request, &code) == 0)
        check(arena,
              &request.message,
              request.message.title.len > 0 ? request.message.title : STR("t"));
    else
        MUST(code.len > 0);
    arena_free(arena);
    return 0;
}
