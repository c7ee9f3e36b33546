/* Push payloads have category, buttons and token where iOS, Android and browsers look for them.
 * FCM's bodies match FCM's schema, when the schema's file exists next to the repository. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "unit.h"

#include "json/jr.h"
#include "push/payload.h"
#include "push/webpush_encrypt.h"

#define SCHEMA "../shared/reference/data/fcm-send-request.schema.json"
#define SENT   INT64_C(1760000000123)

static struct arena *arena;

static int setup(void **state UNUSED)
{
    arena = arena_new(0);
    return 0;
}

static int teardown(void **state UNUSED)
{
    arena_free(arena);
    return 0;
}

static const struct push_button buttons[] = {
    {STR_INIT("yes"), STR_INIT("I'm \"in\""), STR_INIT("app://yes")},
    {STR_INIT("no"), STR_INIT("N\xc3\xb6"), {NULL, 0}},
};
static const struct push_datum some_data[] = {
    {STR_INIT("order"), STR_INIT("42")},
    {STR_INIT("notification_id"), STR_INIT("forged")},
    {STR_INIT("category"), STR_INIT("forged")},
    {STR_INIT("empty"), STR_INIT("")},
};

static struct push_message message_full(void)
{
    return (struct push_message){
        .title = STR("Order \"4\""),
        .body = STR("Ready\nnow \xf0\x9f\x8d\x89"),
        .image_url = STR("https://ex.test/i.png"),
        .click_action = STR("https://ex.test/o/1"),
        .category = STR("order"),
        .buttons = buttons,
        .nbuttons = ARRAY_LEN(buttons),
        .data = some_data,
        .ndata = ARRAY_LEN(some_data),
        .notification_id = STR("TOKEN"),
        .ttl_s = 3600,
        .sent_ms = SENT,
    };
}

static struct push_message message_bare(void)
{
    return (struct push_message){
        .title = STR("t"), .body = STR("b"), .notification_id = STR("TOKEN")};
}

static json_t *parsed(struct str text)
{
    struct jr_error error;
    json_t *root = NULL;
    if (jr_parse(arena, text, &root, &error) != 0)
        fail_msg("%s: %.*s", error.text, STR_ARG(text));
    return root;
}

static json_t *fcm(const struct push_message *message)
{
    return parsed(push_fcm_body(arena, push_fcm_body_end(arena, message), STR("dev\"ice:1")));
}

/* Returns the member at a path "a.b.c". */
static const json_t *at(const json_t *root, const char *path)
{
    struct str rest = str_from(path);
    while (rest.ptr && root)
        root = json_object_get(root, arena_cstr(arena, str_split(&rest, '.')));
    return root;
}

static const char *text_at(const json_t *root, const char *path)
{
    const char *text = json_string_value(at(root, path));
    return text ? text : "(none)";
}

/* --- FCM's schema: the parts of JSON Schema that it uses --- */

static bool valid(const json_t *schema, const json_t *defs, const json_t *value);

static bool valid_object(const json_t *schema, const json_t *defs, const json_t *value)
{
    const json_t *others = json_object_get(schema, "additionalProperties");
    const char *name = NULL;
    json_t *member = NULL;

    json_object_foreach((json_t *)(uintptr_t)value, name, member)
    {
        const json_t *known = json_object_get(json_object_get(schema, "properties"), name);
        if (!known && json_is_false(others)) {
            print_message("unknown: %s\n", name);
            return false;
        }
        if (!valid(known ? known : others, defs, member)) {
            print_message("in: %s\n", name);
            return false;
        }
    }
    return true;
}

static bool valid_array(const json_t *items, const json_t *defs, const json_t *value)
{
    for (size_t i = 0; i < json_array_size(value); i++)
        if (!valid(items, defs, json_array_get(value, i)))
            return false;
    return true;
}

static bool valid(const json_t *schema, const json_t *defs, const json_t *value)
{
    const char *reference = json_string_value(json_object_get(schema, "$ref"));
    const json_t *choices = json_object_get(schema, "enum");
    struct str type = jr_str(schema, "type");

    if (reference) {
        assert_int_equal(strncmp(reference, "#/$defs/", 8), 0);
        return valid(json_object_get(defs, reference + 8), defs, value);
    }
    if (choices) {
        bool found = false;
        for (size_t i = 0; i < json_array_size(choices); i++)
            found |= json_equal(json_array_get(choices, i), value);
        return found;
    }
    if (str_is(type, "object"))
        return json_is_object(value) && valid_object(schema, defs, value);
    if (str_is(type, "array"))
        return json_is_array(value) && valid_array(json_object_get(schema, "items"), defs, value);
    if (str_is(type, "string"))
        return json_is_string(value);
    if (str_is(type, "number"))
        return json_is_number(value);
    if (str_is(type, "boolean"))
        return json_is_boolean(value);
    assert_int_equal(type.len, 0); /* {}: anything */
    return true;
}

TEST_WITH(test_schema, setup, teardown)
{
    struct push_message messages[] = {message_full(), message_bare(), message_bare()};

    json_t *schema = json_load_file(SCHEMA, 0, NULL);
    if (!schema)
        skip();
    const json_t *defs = json_object_get(schema, "$defs");
    messages[2].buttons = buttons;
    messages[2].nbuttons = 1;
    messages[2].click_action = STR("app://x");
    for (size_t i = 0; i < ARRAY_LEN(messages); i++)
        assert_true(valid(schema, defs, fcm(&messages[i])));
    /* the check itself finds errors */
    assert_false(valid(schema, defs, parsed(STR("{\"message\":{\"token\":1}}"))));
    assert_false(valid(schema, defs, parsed(STR("{\"message\":{\"data\":{\"a\":1}}}"))));
    assert_false(valid(schema, defs, parsed(STR("{\"message\":{\"tokens\":\"a\"}}"))));
    assert_false(
        valid(schema, defs, parsed(STR("{\"message\":{\"android\":{\"priority\":\"x\"}}}"))));
    json_decref(schema);
}

/* --- positions of members --- */

TEST_WITH(test_fcm, setup, teardown)
{
    struct push_message message = message_full();
    const json_t *root = at(fcm(&message), "message");

    assert_string_equal(text_at(root, "token"), "dev\"ice:1");
    assert_string_equal(text_at(root, "notification.title"), "Order \"4\"");
    assert_string_equal(text_at(root, "notification.body"), "Ready\nnow \xf0\x9f\x8d\x89");
    assert_string_equal(text_at(root, "notification.image"), "https://ex.test/i.png");
    /* iOS */
    assert_string_equal(text_at(root, "apns.payload.aps.category"), "order");
    assert_int_equal(json_integer_value(at(root, "apns.payload.aps.mutable-content")), 1);
    assert_string_equal(text_at(root, "apns.fcm_options.image"), "https://ex.test/i.png");
    assert_string_equal(text_at(root, "apns.headers.apns-push-type"), "alert");
    assert_string_equal(text_at(root, "apns.headers.apns-expiration"), "1760003600");
    /* Android */
    assert_string_equal(text_at(root, "android.ttl"), "3600s");
    assert_string_equal(text_at(root, "data.category"), "order");
    const json_t *list = parsed(str_from(text_at(root, "data.buttons")));
    assert_int_equal(json_array_size(list), 2);
    assert_string_equal(text_at(json_array_get(list, 0), "id"), "yes");
    assert_string_equal(text_at(json_array_get(list, 0), "label"), "I'm \"in\"");
    assert_string_equal(text_at(json_array_get(list, 0), "click_action"), "app://yes");
    assert_int_equal(json_object_size(json_array_get(list, 1)), 2);
    /* browsers that FCM serves */
    assert_string_equal(text_at(root, "webpush.headers.TTL"), "3600");
    assert_string_equal(text_at(root, "webpush.fcm_options.link"), "https://ex.test/o/1");
    list = at(root, "webpush.notification.actions");
    assert_string_equal(text_at(json_array_get(list, 1), "action"), "no");
    assert_string_equal(text_at(json_array_get(list, 1), "title"), "N\xc3\xb6");
    /* every platform */
    assert_string_equal(text_at(root, "data.notification_id"), "TOKEN");
    assert_string_equal(text_at(root, "data.click_action"), "https://ex.test/o/1");
    assert_string_equal(text_at(root, "data.order"), "42");
    assert_string_equal(text_at(root, "data.empty"), "");
    assert_int_equal(json_object_size(at(root, "data")), 6);
}

TEST_WITH(test_fcm_bare, setup, teardown)
{
    struct push_message message = message_bare();
    const json_t *root = at(fcm(&message), "message");

    assert_int_equal(json_object_size(at(root, "notification")), 2);
    assert_int_equal(json_object_size(at(root, "data")), 1);
    assert_int_equal(json_object_size(at(root, "apns.payload.aps")), 1); /* sound */
    assert_int_equal(json_object_size(at(root, "webpush")), 0);
    assert_null(at(root, "apns.fcm_options"));
    assert_null(at(root, "android.ttl"));

    message.click_action = STR("app://o/1"); /* not a link for browsers */
    root = at(fcm(&message), "message");
    assert_null(at(root, "webpush.fcm_options"));
    assert_string_equal(text_at(root, "data.click_action"), "app://o/1");
    /* without a category, the send's own data of that name stays */
    const struct push_datum own[] = {{STR("category"), STR("mine")}};
    message.data = own;
    message.ndata = 1;
    assert_string_equal(text_at(at(fcm(&message), "message"), "data.category"), "mine");
}

TEST_WITH(test_web, setup, teardown)
{
    struct push_message message = message_full();
    const json_t *root = parsed(push_web_payload(arena, &message));

    assert_string_equal(text_at(root, "title"), "Order \"4\"");
    assert_string_equal(text_at(root, "image"), "https://ex.test/i.png");
    assert_string_equal(text_at(root, "click_action"), "https://ex.test/o/1");
    assert_string_equal(text_at(root, "category"), "order");
    const json_t *list = at(root, "actions");
    assert_int_equal(json_array_size(list), 2);
    assert_string_equal(text_at(json_array_get(list, 0), "action"), "yes");
    assert_string_equal(text_at(json_array_get(list, 0), "title"), "I'm \"in\"");
    assert_int_equal(json_object_size(json_array_get(list, 0)), 2);
    assert_string_equal(text_at(root, "data.notification_id"), "TOKEN");
    assert_string_equal(text_at(root, "data.order"), "42");
    assert_int_equal(json_object_size(at(root, "data")), 4);

    message = message_bare();
    root = parsed(push_web_payload(arena, &message));
    assert_int_equal(json_object_size(root), 3);
    assert_null(at(root, "actions"));
}

/* A text of any length is written whole. The limit of a provider is checked before the send. */
TEST_WITH(test_large, setup, teardown)
{
    struct push_message message = message_bare();
    char *text = arena_alloc(arena, 100000);

    memset(text, '"', 100000);
    message.body = (struct str){text, 100000};
    assert_int_equal(json_string_length(at(fcm(&message), "message.notification.body")), 100000);
    struct str web = push_web_payload(arena, &message);
    assert_true(web.len > WEBPUSH_TEXT_MAX);
    assert_int_equal(json_string_length(at(parsed(web), "body")), 100000);
}

/* Returns the size of a part of FCM's body without the headers, which are for FCM itself. */
static size_t part_bytes(const json_t *part)
{
    json_t *shown = jr_attach(arena, json_copy((json_t *)part));

    (void)json_object_del(shown, "headers");
    return jr_print(arena, shown).len;
}

/* push_fcm_bytes() counts the JSON that every device gets, and the larger one of the additional
 * parts for iPhones and for browsers. */
TEST_WITH(test_fcm_bytes, setup, teardown)
{
    static const struct push_datum own[] = {{STR_INIT("category"), STR_INIT("mine")},
                                            {STR_INIT("a"), STR_INIT("\"\n")}};
    struct push_message messages[] = {message_bare(), message_full(), message_bare()};

    messages[2].category = STR("rsvp");
    messages[2].data = own;
    messages[2].ndata = ARRAY_LEN(own);
    for (size_t i = 0; i < ARRAY_LEN(messages); i++) {
        const json_t *root = at(fcm(&messages[i]), "message");
        json_t *all = jr_attach(arena, json_object());
        (void)json_object_set(all, "notification", json_object_get(root, "notification"));
        (void)json_object_set(all, "data", json_object_get(root, "data"));
        size_t apns = part_bytes(at(root, "apns"));
        size_t webpush = part_bytes(at(root, "webpush"));
        assert_int_equal(push_fcm_bytes(arena, &messages[i]),
                         jr_print(arena, all).len + (apns > webpush ? apns : webpush));
    }
}

TEST_WITH(test_data_names, setup, teardown)
{
    static const char *const bad[] = {
        "", "from", "message_type", "google", "google.c.a", "gcm", "gcm.notification.title"};
    static const char *const good[] = {"From", "messageType", "order", "a.b", "notification_id"};

    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_false(push_data_name_ok(str_from(bad[i])));
    for (size_t i = 0; i < ARRAY_LEN(good); i++)
        assert_true(push_data_name_ok(str_from(good[i])));
}
