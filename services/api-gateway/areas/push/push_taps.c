/* POST /push/action-events: an app reports that its user tapped a button. */
#include "areas/push/push.h"
#include "base/clock.h"
#include "base/num.h"
#include "push/tap_token.h"
#include "push_taps_sql.h"

enum { BODY_BYTES = 16384, TOKEN_MAX = 1024, ACTION_MAX = 1024 };

struct tap_in {
    struct in_str notification_id, category, action_id, received_at, responded_at;
    struct in_json data;
};

static const struct field in_fields[] = {
    {.name = "notification_id",
     FIELD_AT(struct tap_in, notification_id),
     .type = FIELD_STR,
     .required = true,
     .min = 1,
     .max = TOKEN_MAX,
     .doc = "data.notification_id of the notification; it is the credential of this request"},
    {.name = "category",
     FIELD_AT(struct tap_in, category),
     .type = FIELD_STR,
     .required = true,
     .min = 1,
     .max = ACTION_MAX,
     .example = "\"rsvp\""},
    {.name = "action_id",
     FIELD_AT(struct tap_in, action_id),
     .type = FIELD_STR,
     .required = true,
     .min = 1,
     .max = ACTION_MAX,
     .example = "\"yes\""},
    {.name = "received_at",
     FIELD_AT(struct tap_in, received_at),
     .type = FIELD_TIME,
     .nullable = true,
     .doc = "When the device received the notification"},
    {.name = "responded_at",
     FIELD_AT(struct tap_in, responded_at),
     .type = FIELD_TIME,
     .nullable = true,
     .doc = "When the button was tapped"},
    {.name = "data",
     FIELD_AT(struct tap_in, data),
     .type = FIELD_MAP,
     .nullable = true,
     .doc = "Added to the trigger's data, except for names that the trigger's data already has"},
};
static const struct schema in_schema = SCHEMA("PushActionEvent", struct tap_in, in_fields);

static const struct field out_fields[] = {
    {.name = "received",
     .type = FIELD_BOOL,
     .doc = "true: the tap is recorded, and workflows that listen to it start"},
    {.name = "duplicate",
     .type = FIELD_BOOL,
     .doc = "true: the tap was reported before, and no workflow starts"},
};
static const struct schema out_schema = SCHEMA_OUT("PushActionReceived", out_fields);

/* Every refused tap gets the same answer, so that a caller without a valid token learns nothing. */
static int tap_refuse(struct req *r)
{
    return fail(r,
                PROBLEM_TOKEN_INVALID,
                "The notification_id is not valid for this category and action, or has expired.");
}

/* Reloads the project when the token names a newer data key than this process knows, because
 * another process may already sign with that key. */
static void reload_if_key_unknown(struct req *r, struct str token)
{
    const struct project *project = r->scope->project;
    uint32_t id;

    if (!tap_token_key_id(r->task.arena, token, &id))
        return;
    for (size_t i = 0; i < project->data_key_count; i++)
        if (project->data_keys[i].id == id)
            return;
    if (id > project->data_key.id)
        (void)gateway_refresh_project(r);
}

AWAITS static int tap_verify(struct req *r, const struct tap_in *in, int64_t *ret_send)
{
    const struct project *project = r->scope->project;
    const struct tap claim = {.project = project->number, .category = in->category.value};

    reload_if_key_unknown(r, in->notification_id.value);
    int rc = tap_token_verify(r->task.arena,
                              project->data_keys,
                              project->data_key_count,
                              &claim,
                              in->notification_id.value,
                              clock_wall_ms(),
                              ret_send);
    return rc > 0 ? tap_refuse(r) : rc;
}

static int reply_flag(struct req *r, const char *word)
{
    struct jw w = resp_json(r);

    jw_obj(&w);
    JW_BOOL(&w, word, true);
    jw_obj_end(&w);
    return reply_json(r, 202);
}

static void tap_put_text(struct jw *w, const char *name, const struct in_str *in)
{
    jw_lit(w, name);
    if (in->value.len)
        jw_str(w, in->value);
    else
        jw_null(w);
}

static bool is_reserved_member(const char *name)
{
    static const char *const reserved_members[] = {"notification_id",
                                                   "category",
                                                   "action_id",
                                                   "target_user_id",
                                                   "received_at",
                                                   "responded_at"};

    for (size_t i = 0; i < ARRAY_LEN(reserved_members); i++)
        if (str_is(str_from(name), reserved_members[i]))
            return true;
    return false;
}

/* The trigger data of the workflows that the tap starts. */
static struct str tap_payload(struct req *r, const struct tap_in *in, int64_t user_id)
{
    struct strbuf text;
    const char *name;
    json_t *value;
    struct jw w;

    strbuf_init(&text, r->task.arena, (size_t)BODY_BYTES * 8);
    jw_init(&w, &text);
    jw_obj(&w);
    tap_put_text(&w, "notification_id", &in->notification_id);
    tap_put_text(&w, "category", &in->category);
    tap_put_text(&w, "action_id", &in->action_id);
    if (user_id)
        JW_I64(&w, "target_user_id", user_id);
    else
        JW_NULL(&w, "target_user_id");
    tap_put_text(&w, "received_at", &in->received_at);
    tap_put_text(&w, "responded_at", &in->responded_at);
    if (in->data.set && !in->data.null)
        json_object_foreach(in->data.value, name, value)
        {
            if (is_reserved_member(name))
                continue;
            jw_key(&w, str_from(name));
            jw_json(&w, value);
        }
    jw_obj_end(&w);
    return strbuf_view(&text);
}

/* co: Records a tap once for each send and action, even when requests report the tap concurrently.
 */
AWAITS static int tap_record(struct req *r, const struct tap_in *in, int64_t send, int64_t user_id)
{
    struct arena *arena = r->task.arena;
    bool has_data = in->data.set && !in->data.null;
    int64_t added;

    TRY(sql_begin(r));
    TRY(sql_exec(r,
                 &added,
                 SQL_PUSH_TAP_ADD(.send_id = send,
                                  .action_id = in->action_id.value,
                                  .category = in->category.value,
                                  .received_at = in->received_at.value,
                                  .responded_at = in->responded_at.value,
                                  .data = has_data ? jr_print(arena, in->data.value) : STR_NONE)));
    if (!added)
        return reply_flag(r, "duplicate");
    struct db_call event =
        events_outbox_call(arena,
                           &(struct outbox_row){.event = EVENT_PUSH_ACTION_TAKEN,
                                                .record_id = user_id,
                                                .payload = tap_payload(r, in, user_id)});
    TRY(sql_batch(r, &event, 1));
    TRY(sql_commit(r));
    if (event.rows.affected)
        events_notify(gateway_directory(), r->scope->project);
    return reply_flag(r, "received");
}

AWAITS static int push_action_events(struct req *r)
{
    int64_t user_id = 0;
    int64_t send = 0;
    struct tap_in in;
    struct rows rows;

    TRY(req_json(r, &in_schema, &in));
    TRY(tap_verify(r, &in, &send));
    TRY(sql_all(r,
                &rows,
                SQL_PUSH_TAP_SEND(.send_id = send,
                                  .category = in.category.value,
                                  .action_id = in.action_id.value)));
    if (!rows.count)
        return tap_refuse(r);
    const struct sql_push_tap_send_row row = sql_push_tap_send_row(&rows, 0);
    if (!row.known)
        return tap_refuse(r);
    if (row.reported)
        return reply_flag(r, "duplicate");
    if (!num_parse_i64(row.target_user, &user_id))
        user_id = 0;
    return tap_record(r, &in, send, user_id);
}

static const struct route push_taps_routes[] = {
    {
        .method = HTTP_POST_M,
        .path = "/push/action-events",
        .id = "push_action_events",
        .auth = AUTH_PUBLIC,
        .body = &in_schema,
        .body_max = BODY_BYTES,
        .success = {202, &out_schema},
        .extra_statuses = {401},
        .run = push_action_events,
        .summary = "Report that a button was tapped",
        .doc = "The notification_id is the only credential, valid for an hour after the send. "
               "Starts the workflows that listen to PushActionTaken of the category, once for "
               "each notification and action.",
    },
};
ROUTES(push_taps, "Push");
