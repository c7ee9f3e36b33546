/*
 * SendPushNotification: hands a send to the push dispatcher and waits up to 30 s for its end. The
 * row in push_sends is the hand-over; a step that is run again finds its own.
 */
#include "app.h"
#include "base/clock.h"
#include "bus/bus.h"
#include "runner_push_sql.h"
#include "step.h"
#include "json/jr.h"

#define WAIT_MS        30000
#define BEFORE_STEP_MS 200
#define LOOK_FIRST_MS  50
#define LOOK_LAST_MS   1000

static const char *const members[] = {"title",
                                      "body",
                                      "template_type",
                                      "image_url",
                                      "click_action",
                                      "category",
                                      "buttons",
                                      "data",
                                      "audience"};

static bool is_given(const json_t *value)
{
    return value != NULL && !json_is_null(value) &&
           !(json_is_string(value) && json_string_length(value) == 0);
}

static int check_data(struct step_call *call, const json_t *data)
{
    const char *name;
    json_t *value;

    json_object_foreach((json_t *)data, name, value)
    {
        if (!json_is_string(value))
            return step_fail(call, "type_mismatch", "data.%s: expected a text", name);
    }
    return 0;
}

/* What the audience leaves to the trigger is filled in. */
static void fill_audience(struct step_call *call, json_t *audience)
{
    struct str kind = jr_str(audience, "kind");
    const json_t *trigger = json_object_get(call->context, "trigger");

    if (str_is(kind, "user") && !is_given(json_object_get(audience, "user_id"))) {
        json_t *user = json_object_get(json_object_get(trigger, "data"), "user_id");
        if (user != NULL)
            (void)json_object_set(audience, "user_id", user);
    }
    if (str_is(kind, "entity") && !is_given(json_object_get(audience, "owner_entity_id")))
        (void)json_object_set_new(audience, "owner_entity_id", json_integer(call->job->trigger_id));
}

static int read_request(struct step_call *call)
{
    json_t *request = step_own(call, json_object());

    call->input = request;
    for (size_t i = 0; i < ARRAY_LEN(members); i++) {
        json_t *value;
        TRY(step_param(call, members[i], false, &value));
        if (value != NULL)
            (void)json_object_set_new(request, members[i], json_deep_copy(value));
    }
    fill_audience(call, json_object_get(request, "audience"));
    if (!is_given(json_object_get(request, "template_type"))) {
        if (!is_given(json_object_get(request, "title")))
            return step_fail(call, "required", "title: is required without a template");
        if (!is_given(json_object_get(request, "body")))
            return step_fail(call, "required", "body: is required without a template");
    }
    return check_data(call, json_object_get(request, "data"));
}

AWAITS static int hand_over(struct step_call *call, int64_t *ret_send)
{
    const struct job *job = call->job;
    struct rows rows;

    int rc = db_query(call->task,
                      &job->project->db,
                      &SQL_PUSH_HAND_OVER,
                      PARAMS(P_I64(job->id),
                             P_I64(job->token),
                             P_I64(call->seq),
                             P_STR(call->step->key),
                             P_STR(jr_print(call->task->arena, call->input))),
                      &rows);
    if (rc < 0)
        return rc;
    if (rc > 0 || rows.count == 0)
        return STEP_GONE;
    *ret_send = rows_i64(&rows, 0, 0);
    bus_ring(runner_bus(),
             BUS_PUSH,
             &(struct bus_bell){.project = job->project->number,
                                .partition = job->project->partition,
                                .kind = "push.queued",
                                .row_id = *ret_send,
                                .depth = (unsigned)job->depth,
                                .traceparent = job->traceparent});
    return 0;
}

static bool ended(struct str status)
{
    return str_is(status, "Succeeded") || str_is(status, "Partial") || str_is(status, "Failed");
}

/* co: until the send ended or the wait is over; *ret_look is the last look at it. */
AWAITS static int wait_for_end(struct step_call *call, int64_t send, struct rows *ret_look)
{
    int64_t until = clock_mono_ms() + WAIT_MS;
    int64_t pause = LOOK_FIRST_MS;

    if (until > call->task->deadline_ms - BEFORE_STEP_MS)
        until = call->task->deadline_ms - BEFORE_STEP_MS;
    for (;;) {
        int rc = db_query(
            call->task, &call->job->project->db, &SQL_PUSH_LOOK, PARAMS(P_I64(send)), ret_look);
        if (rc < 0)
            return rc;
        if (rc == 0 && (ret_look->count == 0 || ended(rows_str(ret_look, 0, 0))))
            return 0;
        if (clock_mono_ms() + pause >= until)
            return 0;
        TRY(task_sleep(call->task, pause));
        pause = pause * 2 < LOOK_LAST_MS ? pause * 2 : LOOK_LAST_MS;
    }
}

static int report(struct step_call *call, int64_t send, const struct rows *look)
{
    struct arena *arena = call->task->arena;
    struct str status = look->count ? rows_str(look, 0, 0) : STR_NONE;
    struct str result = look->count ? rows_str(look, 0, 1) : STR_NONE;
    const json_t *audience = json_object_get(call->input, "audience");
    struct jr_error error;
    json_t *counts = NULL;
    json_t *data;

    if (result.ptr == NULL || jr_parse(arena, result, &counts, &error) != 0)
        counts = step_own(call, json_object());
    data = step_own(call, json_deep_copy(counts)); /* delivered, failed, unregistered,
                                                      delivery_error as the dispatcher counted */
    (void)json_object_set_new(data, "send_log_id", json_integer(send));
    (void)json_object_set_new(data,
                              "delivery_status",
                              ended(status) ? json_stringn(status.ptr, status.len)
                                            : json_string("pending"));
    (void)json_object_set(data, "audience_kind", json_object_get(audience, "kind"));
    if (json_object_get(call->input, "title") != NULL)
        (void)json_object_set(data, "title", json_object_get(call->input, "title"));
    if (json_object_get(call->input, "body") != NULL)
        (void)json_object_set(data, "body", json_object_get(call->input, "body"));
    call->output = step_own(call, json_deep_copy(data));
    (void)json_object_set(call->output, "data", data);
    if (str_is(status, "Failed"))
        return step_fail(call, "push_failed", "The notification reached no device.");
    return 0;
}

int step_send_push(struct step_call *call)
{
    struct rows look = {0};
    int64_t send;

    TRY(read_request(call));
    TRY(hand_over(call, &send));
    TRY(wait_for_end(call, send, &look));
    return report(call, send, &look);
}
