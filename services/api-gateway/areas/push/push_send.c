/* POST /push/test: an administrator sends a notification. */
#include "areas/push/push.h"

#include <errno.h>

#include "bus/bus.h"
#include "push/payload.h"
#include "push/request.h"
#include "push/send_rules.h"
#include "push/tap_token.h"
#include "push/webpush_encrypt.h"
#include "push_sends_sql.h"

enum { USERS_MAX = 10000, DATA_MAX = 100, DATA_BYTES = 4096, REQUEST_BYTES = 1 << 20 };

struct test_in {
    struct in_str template_type;
    struct push_content_in content;
    struct in_json data;
    struct in_i64 target_user_id;
    struct in_ids target_user_ids;
    struct in_str owner_entity_name;
    struct in_i64 owner_entity_id;
    struct in_str provider;
};

static const struct field in_fields[] = {
    {.name = "template_type",
     FIELD_AT(struct test_in, template_type),
     .type = FIELD_STR,
     .nullable = true,
     .max = PUSH_ID_MAX,
     .doc = "A stored template; members of this request override those of the template"},
    PUSH_CONTENT_MEMBERS(struct test_in),
    {.name = "data",
     FIELD_AT(struct test_in, data),
     .type = FIELD_MAP,
     .nullable = true,
     .doc = "Data for the app: text values only; the name from, the name message_type, and names "
            "that begin with google or gcm are reserved",
     .example = "{\"dinner\":\"8\"}"},
    {.name = "target_user_id",
     FIELD_AT(struct test_in, target_user_id),
     .type = FIELD_I64,
     .nullable = true,
     .has_min = true,
     .min = 1,
     .doc = "Send to the devices of this user"},
    {.name = "target_user_ids",
     FIELD_AT(struct test_in, target_user_ids),
     .type = FIELD_IDS,
     .nullable = true,
     .min = 1,
     .max = USERS_MAX,
     .doc = "Send to the devices of these users"},
    {.name = "owner_entity_name",
     FIELD_AT(struct test_in, owner_entity_name),
     .type = FIELD_STR,
     .nullable = true,
     .max = 48,
     .doc = "With owner_entity_id: send to the devices of this record"},
    {.name = "owner_entity_id",
     FIELD_AT(struct test_in, owner_entity_id),
     .type = FIELD_I64,
     .nullable = true,
     .has_min = true,
     .min = 1},
    {.name = "provider",
     FIELD_AT(struct test_in, provider),
     .type = FIELD_STR,
     .nullable = true,
     .values = push_providers,
     .doc = "Send through this provider only"},
};
static const struct schema in_schema = SCHEMA("PushTest", struct test_in, in_fields);

static const struct field out_fields[] = {
    {.name = "queued", .type = FIELD_BOOL, .required = true},
    {.name = "send_log_id", .type = FIELD_I64, .required = true},
};
static const struct schema out_schema = SCHEMA_OUT("PushQueued", out_fields);

/* --- audience --- */

enum target { TO_ALL, TO_USER, TO_USERS, TO_RECORD };

static int read_target(struct req *r, const struct test_in *in, enum target *ret_target)
{
    bool user = in->target_user_id.set && !in->target_user_id.null;
    bool users = in->target_user_ids.set && !in->target_user_ids.null;
    bool entity = in->owner_entity_name.value.len > 0;
    bool record = in->owner_entity_id.set && !in->owner_entity_id.null;

    if (entity != record)
        return fail_field(r,
                          entity ? "owner_entity_id" : "owner_entity_name",
                          PROBLEM_REQUIRED,
                          "is required: owner_entity_name and owner_entity_id belong together");
    if (user + users + entity > 1)
        return fail_field(r,
                          users ? "target_user_ids" : "owner_entity_name",
                          PROBLEM_PATTERN,
                          "cannot be combined with another target");
    for (size_t i = 0; i < in->target_user_ids.count; i++)
        if (in->target_user_ids.items[i] < 1)
            return fail_field(
                r, "target_user_ids", PROBLEM_OUT_OF_RANGE, "must have only ids, from 1");
    *ret_target = user ? TO_USER : users ? TO_USERS : entity ? TO_RECORD : TO_ALL;
    return 0;
}

static int put_audience(struct req *r, struct jw *w, const struct test_in *in, enum target target)
{
    static const char *const kinds[] = {"all", "user", "users", "entity"};
    int64_t entity_id = 0;

    if (target == TO_RECORD)
        TRY(push_owner_entity(r, in->owner_entity_name.value, &entity_id));
    jw_lit(w, "audience");
    jw_obj(w);
    JW_CSTR(w, "kind", kinds[target]);
    if (target == TO_USER)
        JW_I64(w, "user_id", in->target_user_id.value);
    if (target == TO_USERS) {
        jw_lit(w, "user_ids");
        jw_arr(w);
        for (size_t i = 0; i < in->target_user_ids.count; i++)
            jw_i64(w, in->target_user_ids.items[i]);
        jw_arr_end(w);
    }
    if (target == TO_RECORD) {
        JW_STR(w, "owner_entity_name", in->owner_entity_name.value);
        /* The id of the record, under the name that SendPushNotification steps use. */
        JW_I64(w, "owner_entity_id", in->owner_entity_id.value);
    }
    if (in->provider.value.len)
        JW_STR(w, "provider", in->provider.value);
    jw_obj_end(w);
    return 0;
}

/* --- content --- */

static int check_data(struct req *r, const struct in_json *data)
{
    struct schema_errors *errors = ARENA_NEW(r->task.arena, errors);
    struct arena *arena = r->task.arena;
    const char *name;
    json_t *value;

    if (!data->set || data->null)
        return 0;
    if (json_object_size(data->value) > DATA_MAX || jr_print(arena, data->value).len > DATA_BYTES)
        return fail_field(
            r, "data", PROBLEM_TOO_LONG, "must have at most 100 members and %d bytes", DATA_BYTES);
    json_object_foreach(data->value, name, value)
    {
        struct str field = arena_printf(arena, "data.%s", name);
        if (!json_is_string(value))
            schema_error_add(arena, errors, field, PROBLEM_TYPE_MISMATCH, "expected a text");
        else if (!push_data_name_ok(str_from(name)))
            schema_error_add(
                arena, errors, field, PROBLEM_PATTERN, "is a name that the provider reserves");
    }
    return errors->count ? fail_fields(r, errors) : 0;
}

/* The content to send: the request's members merged with the template. */
struct merged_content {
    struct push_template texts;
    struct sql_strs buttons; /* ids of the buttons in `texts` */
};

static void text_override(struct str *to, const struct in_str *in)
{
    if (in->value.len)
        *to = in->value;
}

AWAITS static int read_template(struct req *r, struct str type, struct push_template *ret_template)
{
    bool found = false;

    TRY(sql_check(r, push_template_find(&r->task, r->scope->db, type, &found, ret_template)));
    if (!found)
        return fail(r, PROBLEM_UNPROCESSABLE, "There is no such template.");
    if (!ret_template->is_active)
        return fail(r, PROBLEM_UNPROCESSABLE, "The template is not active.");
    return 0;
}

/* Reads the buttons' ids from a list that was checked when it was stored or received. */
static int test_button_ids(struct req *r, struct str buttons, struct sql_strs *ret_ids)
{
    struct jr_error error;
    json_t *list;

    *ret_ids = (struct sql_strs){0};
    if (!buttons.ptr)
        return 0;
    if (jr_parse_stored(r->task.arena, buttons, &list, &error) != 0)
        return ERROR(-EBADMSG);
    size_t count = json_array_size(list);
    struct str *ids = ARENA_ARRAY(r->task.arena, ids, count + 1);
    for (size_t i = 0; i < count; i++)
        ids[i] = jr_str(json_array_get(list, i), "id");
    *ret_ids = sql_strs(ids, count);
    return 0;
}

AWAITS static int read_content(struct req *r, const struct test_in *in, struct merged_content *ret)
{
    struct push_template *texts = &ret->texts;

    TRY(push_content_check(r, &in->content));
    TRY(check_data(r, &in->data));
    if (in->template_type.value.len)
        TRY(read_template(r, in->template_type.value, texts));
    text_override(&texts->title, &in->content.title);
    text_override(&texts->body, &in->content.body);
    text_override(&texts->image_url, &in->content.image_url);
    text_override(&texts->click_action, &in->content.click_action);
    text_override(&texts->category, &in->content.category);
    if (in->content.buttons.set)
        texts->buttons = push_buttons_json(r, &in->content.buttons);
    if (!texts->title.len || !texts->body.len)
        return fail_field(r,
                          texts->title.len ? "body" : "title",
                          PROBLEM_REQUIRED,
                          "is required, in the request or in the template");
    return test_button_ids(r, texts->buttons, &ret->buttons);
}

AWAITS static int test_check_group(struct req *r, const struct merged_content *content)
{
    struct str refusal;

    TRY(sql_check(
        r,
        push_group_check(
            &r->task, r->scope->db, content->texts.category, content->buttons, &refusal)));
    return refusal.ptr ? fail(r, PROBLEM_UNPROCESSABLE, "%.*s", STR_ARG(refusal)) : 0;
}

static void test_put_text(struct jw *w, const char *name, struct str text)
{
    if (text.len)
        JW_STR(w, name, text);
}

static int put_request(struct req *r,
                       const struct test_in *in,
                       const struct merged_content *content,
                       enum target target,
                       struct str *ret_text)
{
    const struct push_template *texts = &content->texts;
    struct strbuf text;
    struct jw w;

    strbuf_init(&text, r->task.arena, REQUEST_BYTES);
    jw_init(&w, &text);
    jw_obj(&w);
    test_put_text(&w, "title", texts->title);
    test_put_text(&w, "body", texts->body);
    test_put_text(&w, "image_url", texts->image_url);
    test_put_text(&w, "click_action", texts->click_action);
    test_put_text(&w, "category", texts->category);
    if (content->buttons.count) {
        jw_lit(&w, "buttons");
        jw_raw(&w, texts->buttons);
    }
    if (in->data.set && !in->data.null) {
        jw_lit(&w, "data");
        jw_json(&w, in->data.value);
    }
    TRY(put_audience(r, &w, in, target));
    jw_obj_end(&w);
    *ret_text = strbuf_view(&text);
    return 0;
}

/* Refuses a notification above the limit of the named provider, or above the limits of both
 * providers when the request names none: no device could receive it. */
static int check_size(struct req *r, const struct test_in *in, struct str request)
{
    struct arena *arena = r->task.arena;
    struct push_request read;
    struct str code;

    if (push_request_read(arena, request, &read, &code) != 0)
        return ERROR(-EBADMSG);
    read.message.notification_id = arena_printf(arena, "%0*d", TAP_TOKEN_BYTES, 0);
    const size_t max[] = {[PUSH_FCM] = PUSH_FCM_BYTES_MAX, [PUSH_WEB] = WEBPUSH_TEXT_MAX};
    const size_t bytes[] = {[PUSH_FCM] = push_fcm_bytes(arena, &read.message),
                            [PUSH_WEB] = push_web_payload(arena, &read.message).len};
    bool any = in->provider.value.len == 0;
    enum push_provider named = any ? PUSH_FCM : push_provider_find(in->provider.value);
    if (bytes[named] > max[named] && !(any && bytes[PUSH_WEB] <= max[PUSH_WEB]))
        return fail_field(
            r,
            "body",
            PROBLEM_TOO_LONG,
            "the notification has %zu bytes with the members that are added to it; the "
            "provider accepts %zu",
            bytes[named],
            max[named]);
    return 0;
}

static int fail_sends_full(struct req *r)
{
    resp_header(r, "Retry-After", STR("10"));
    return fail(
        r,
        PROBLEM_RATE_LIMITED,
        "The project has %d sends that have not ended, which is the limit; try again later.",
        PUSH_SENDS_MAX);
}

AWAITS static int push_test(struct req *r)
{
    struct merged_content content = {0};
    enum target target = TO_ALL;
    struct test_in in;
    struct str request;
    struct rows rows;

    TRY(req_json(r, &in_schema, &in));
    TRY(read_target(r, &in, &target));
    TRY(read_content(r, &in, &content));
    TRY(test_check_group(r, &content));
    TRY(put_request(r, &in, &content, target, &request));
    TRY(check_size(r, &in, request));
    TRY(push_register_project(r));
    TRY(sql_begin(r));
    TRY(sql_all(r,
                &rows,
                SQL_PUSH_SEND_ADD(.source = target == TO_ALL ? STR("Broadcast") : STR("Test"),
                                  .category = content.texts.category,
                                  .request = request,
                                  .most = PUSH_SENDS_MAX)));
    if (rows.count == 0)
        return fail_sends_full(r);
    int64_t id = sql_push_send_add_row(&rows, 0).id;
    TRY(gateway_commit(r, gateway_audit(r, "push_sends.create", "push_send", id, STR_NONE)));
    bus_notify(directory_bus(gateway_directory()),
               BUS_PUSH,
               &(struct bus_notification){.project = r->scope->project->number,
                                          .partition = r->scope->project->partition,
                                          .kind = "push.queued",
                                          .row_id = id,
                                          .traceparent = gateway_traceparent(r)});
    struct jw w = resp_json(r);
    jw_obj(&w);
    JW_BOOL(&w, "queued", true);
    JW_I64(&w, "send_log_id", id);
    jw_obj_end(&w);
    return reply_json(r, 202);
}

static const struct route push_send_routes[] = {
    {
        .method = HTTP_POST_M,
        .path = "/push/test",
        .id = "push_test",
        .auth = AUTH_ADMIN,
        .body = &in_schema,
        .success = {202, &out_schema},
        .extra_statuses = {422},
        .run = push_test,
        .summary = "Send a notification",
        .doc =
            "Sends to the devices of a user, of several users or of a record; without a target, to "
            "every live device of the project. GET /push/send-logs/{id} shows the result. FCM "
            "accepts 4,096 bytes and web push 3,993 bytes of JSON: texts, data, buttons, and the "
            "names and notification_id that are added to them. 422: the template cannot be "
            "used, the category's button group is unknown or disabled, or a button is not an "
            "action of the group; the answer then lists the group's actions.",
    },
};
ROUTES(push_send, "Push");
