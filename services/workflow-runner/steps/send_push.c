/*
 * SendPushNotification: hands sends to the push dispatcher and waits up to 30 s for their end. Rows
 * in push_sends are the hand-over, and a step that is run again finds its own rows. The step makes
 * one send, or with [*] one send for each row of the list. Ten sends are under way at a time. Sends
 * that are left when the wait is over are handed over without waiting for them.
 */
#include "app.h"
#include "base/backoff.h"
#include "base/clock.h"
#include "bus/bus.h"
#include "catalog/status.h"
#include "json/jr.h"
#include "runner_push_sql.h"
#include "step.h"
#include "steps/send_push_rules.h"

#define WAIT_MS        30000
#define BEFORE_STEP_MS 200  /* the wait ends this long before the step's time does */
#define BEFORE_ROWS_MS 1000 /* the same with [*], when many sends may be left to hand over */
#define POLL_FIRST_MS  50
#define POLL_LAST_MS   1000
#define ROWS_MAX       1000
#define ROWS_AT_ONCE   10
#define REQUESTS_BYTES ((size_t)8 << 20) /* of the requests of all rows together */

static const char *const members[] = {"title",
                                      "body",
                                      "template_type",
                                      "image_url",
                                      "click_action",
                                      "category",
                                      "buttons",
                                      "data",
                                      "audience"};

struct push_step {
    struct str request; /* JSON text */
    int64_t id;         /* 0 = not handed over yet */
    enum status status;
    struct str result;
    bool ended;
};

struct push_sending {
    struct step_call *call;
    struct push_step *sends;
    size_t count, handed_count, under_way_count;
    bool by_row;
    json_t *first; /* the first request */
    int64_t until_ms;
};

/* --- requests --- */

/* Whether a parameter is itself a list (buttons, users), which one send takes as a whole. */
static bool takes_list(const struct step_call *call, const char *member)
{
    const json_t *audience = json_object_get(call->step->params, "audience");

    return str_is(str_from(member), "buttons") ||
           (str_is(str_from(member), "audience") && str_is(jr_str(audience, "kind"), "users"));
}

static bool push_is_text(const char *member)
{
    return !str_is(str_from(member), "buttons") && !str_is(str_from(member), "data") &&
           !str_is(str_from(member), "audience");
}

/* Counts the rows of the list of [*]. *ret_rows is SIZE_MAX when no parameter has a [*]. */
static int count_rows(struct step_call *call, size_t *ret_rows)
{
    size_t total = SIZE_MAX;

    for (size_t i = 0; i < ARRAY_LEN(members); i++) {
        size_t rows;
        if (takes_list(call, members[i]))
            continue;
        TRY(step_param_rows(call, members[i], &rows));
        if (rows == SIZE_MAX)
            continue;
        if (total != SIZE_MAX && rows != total)
            return step_fail(call,
                             PROBLEM_TEMPLATE_UNRESOLVED,
                             "%s: [*] has %zu rows, but the [*] of an earlier parameter has %zu",
                             members[i],
                             rows,
                             total);
        total = rows;
    }
    *ret_rows = total;
    if (total != SIZE_MAX && total > ROWS_MAX)
        return step_fail(
            call, PROBLEM_TOO_LONG, "[*] has %zu rows; a step sends at most %d", total, ROWS_MAX);
    return 0;
}

/* Makes a value a text: a number or a boolean from an expression is printed as JSON, and null
 * becomes an empty text. */
static int push_as_text(struct step_call *call, const char *place, const char *name, json_t **value)
{
    struct str text = STR("");

    if (json_is_string(*value))
        return 0;
    if (json_is_object(*value) || json_is_array(*value))
        return step_fail(call, PROBLEM_TYPE_MISMATCH, "%s%s: expected a text", place, name);
    if (!json_is_null(*value))
        text = jr_print(call->task->arena, *value);
    *value = step_own_json(call, json_stringn(text.ptr, text.len));
    return 0;
}

static int texts_of_data(struct step_call *call, json_t *data)
{
    const char *name;
    json_t *value;

    json_object_foreach(data, name, value)
    {
        TRY(push_as_text(call, "data.", name, &value));
        (void)json_object_set(data, name, value);
    }
    return 0;
}

/* Fills in the members of the audience that default to values of the trigger. */
static int fill_audience(struct step_call *call, json_t *audience)
{
    struct str kind = jr_str(audience, "kind");
    const json_t *trigger = json_object_get(call->context, "trigger");

    if (str_is(kind, "user") && !send_push_has_value(json_object_get(audience, "user_id"))) {
        json_t *user = json_object_get(json_object_get(trigger, "data"), "user_id");
        if (user != NULL)
            (void)json_object_set(audience, "user_id", user);
    }
    if (str_is(kind, "entity") &&
        !send_push_has_value(json_object_get(audience, "owner_entity_id")))
        (void)json_object_set_new(audience, "owner_entity_id", json_integer(call->job->trigger_id));
    if (str_is(kind, "user") && !send_push_has_value(json_object_get(audience, "user_id")))
        return step_fail(
            call,
            PROBLEM_REQUIRED,
            "audience.user_id: is required, because the trigger's data has no user_id");
    return 0;
}

AWAITS static int
push_read_request(struct step_call *call, bool by_row, size_t row, json_t *request)
{
    for (size_t i = 0; i < ARRAY_LEN(members); i++) {
        json_t *value;
        if (by_row && !takes_list(call, members[i]))
            TRY(step_param_row(call, members[i], row, &value));
        else
            TRY(step_param(call, members[i], false, &value));
        if (value != NULL && push_is_text(members[i]))
            TRY(push_as_text(call, "", members[i], &value));
        if (value != NULL)
            /* Only the first level is changed below. A deep copy would lose how numbers were
             * written. */
            (void)json_object_set_new(request, members[i], json_copy(value));
    }
    TRY(fill_audience(call, json_object_get(request, "audience")));
    return texts_of_data(call, json_object_get(request, "data"));
}

/* Reads all requests before the first send, so that a bad template fails the step without a send.
 */
AWAITS static int read_requests(struct push_sending *in)
{
    struct send_push_cache last = {0};
    struct step_call *call = in->call;
    size_t left = REQUESTS_BYTES;
    size_t rows = 0;

    TRY(count_rows(call, &rows));
    in->by_row = rows != SIZE_MAX;
    in->count = in->by_row ? rows : 1;
    in->sends = ARENA_ARRAY(call->task->arena, in->sends, in->count);
    json_t *requests = step_own_json(call, json_array());
    call->input = in->by_row ? step_own_json(call, json_pack("{s:O}", "rows", requests)) : NULL;
    for (size_t i = 0; i < in->count; i++) {
        json_t *request = step_own_json(call, json_object());
        if (!in->by_row)
            call->input = request;
        (void)json_array_append(requests, request);
        TRY(push_read_request(call, in->by_row, i, request));
        TRY(send_push_rules(call, &last, request));
        in->sends[i].request = jr_print(call->task->arena, request);
        if (in->sends[i].request.len > left)
            return step_fail(
                call, PROBLEM_TOO_LONG, "The requests of all rows together are too long.");
        left -= in->sends[i].request.len;
    }
    in->first = json_array_get(requests, 0);
    return 0;
}

/* --- sending --- */

/* co: Finds out why nothing was handed over. */
AWAITS static int find_push_refusal(struct push_sending *in)
{
    struct step_call *call = in->call;
    struct rows rows;

    int rc = db_query(call->task,
                      &call->job->item.project->db,
                      SQL_PUSH_SENDS_ROOM(.most = PUSH_SENDS_MAX),
                      &rows);
    if (rc < 0)
        return rc;
    if (rc > 0 || sql_push_sends_room_row(&rows, 0).room)
        return STEP_STOP;
    return step_fail(call,
                     PROBLEM_RATE_LIMITED,
                     "The project has %d notifications that wait to be sent, which is the maximum.",
                     PUSH_SENDS_MAX);
}

/* co: Hands over the next `count` sends. One notification covers all of them. */
AWAITS static int push_hand_over(struct push_sending *in, size_t count)
{
    struct step_call *call = in->call;
    const struct job *job = call->job;
    int64_t *indexes = ARENA_ARRAY(call->task->arena, indexes, count);
    struct str *requests = ARENA_ARRAY(call->task->arena, requests, count);
    struct rows rows;

    for (size_t i = 0; i < count; i++) {
        indexes[i] = (int64_t)(in->handed_count + i);
        requests[i] = in->sends[in->handed_count + i].request;
    }
    int rc = db_query(call->task,
                      &job->item.project->db,
                      SQL_PUSH_HAND_OVER(.job_id = job->item.id,
                                         .token = job->item.token,
                                         .seq = call->seq,
                                         .key = call->step->key,
                                         .indexes = sql_i64s(indexes, count),
                                         .requests = sql_strs(requests, count),
                                         .most = PUSH_SENDS_MAX),
                      &rows);
    if (rc < 0)
        return rc;
    if (rc == 0 && rows.count == 0)
        return find_push_refusal(in);
    if (rc > 0 || rows.count != count)
        return STEP_STOP;
    for (size_t i = 0; i < count; i++) {
        const struct sql_push_hand_over_row row = sql_push_hand_over_row(&rows, i);
        in->sends[row.row_index].id = row.id;
    }
    bus_notify(runner_bus(),
               BUS_PUSH,
               &(struct bus_notification){.project = job->item.project->number,
                                          .partition = job->item.project->partition,
                                          .kind = "push.queued",
                                          .row_id = in->sends[in->handed_count].id,
                                          .depth = (unsigned)job->depth,
                                          .traceparent = job->traceparent});
    in->handed_count += count;
    in->under_way_count += count;
    return 0;
}

static bool is_end(enum status status)
{
    return status == STATUS_SEND_SUCCEEDED || status == STATUS_SEND_PARTIAL ||
           status == STATUS_SEND_FAILED;
}

/* co: Polls the sends under way and records which of them have ended. */
AWAITS static int poll_sends(struct push_sending *in)
{
    struct step_call *call = in->call;
    int64_t *ids = ARENA_ARRAY(call->task->arena, ids, in->under_way_count);
    struct rows rows;
    size_t count = 0;

    for (size_t i = 0; i < in->handed_count; i++) {
        if (!in->sends[i].ended)
            ids[count++] = in->sends[i].id;
    }
    int rc = db_query(call->task,
                      &call->job->item.project->db,
                      SQL_PUSH_POLL(.ids = sql_i64s(ids, count)),
                      &rows);
    if (rc != 0)
        return rc < 0 ? rc : 0;
    for (size_t i = 0; i < rows.count; i++) {
        const struct sql_push_poll_row row = sql_push_poll_row(&rows, i);
        struct push_step *send = &in->sends[row.row_index];
        send->status = status_read(STATUS_OF_SEND, row.status);
        send->result = row.result;
        send->ended = is_end(send->status);
        in->under_way_count -= send->ended;
    }
    return 0;
}

/* co: Sends until all have ended or the wait is over, and then hands over the rest. */
AWAITS static int send_all(struct push_sending *in)
{
    struct task *task = in->call->task;
    struct backoff pause = {.first_ms = POLL_FIRST_MS, .most_ms = POLL_LAST_MS};

    while (in->handed_count < in->count || in->under_way_count > 0) {
        size_t left = in->count - in->handed_count;
        size_t capacity =
            ROWS_AT_ONCE > in->under_way_count ? ROWS_AT_ONCE - in->under_way_count : 0;
        if (left > 0 && capacity > 0) {
            TRY(push_hand_over(in, left < capacity ? left : capacity));
            pause.tries = 0;
        }
        TRY(poll_sends(in));
        int64_t pause_ms = backoff_next(&pause);
        if (clock_mono_ms() + pause_ms >= in->until_ms)
            break;
        if (in->under_way_count == 0)
            continue;
        TRY(task_sleep(task, pause_ms));
    }
    return in->handed_count < in->count ? push_hand_over(in, in->count - in->handed_count) : 0;
}

/* --- results --- */

static const char *const counters[] = {"delivered", "failed", "unregistered"};

/* The status as a text, "pending" for STATUS_NONE. */
static json_t *status_word(enum status ended)
{
    struct str text = ended == STATUS_NONE ? STR("pending") : status_text(ended);

    return json_stringn(text.ptr, text.len);
}

/* The result of a send: delivered, failed, unregistered and delivery_error as the dispatcher
 * counted them, the send's id and its status. */
static json_t *send_data(struct step_call *call, const struct push_step *send)
{
    struct jr_error error;
    json_t *counts = NULL;

    if (send->result.ptr == NULL ||
        jr_parse(call->task->arena, send->result, &counts, &error) != 0 || !json_is_object(counts))
        counts = step_own_json(call, json_object());
    json_t *data = step_own_json(call, json_deep_copy(counts));
    for (size_t i = 0; i < ARRAY_LEN(counters); i++)
        (void)json_object_set_new(data, counters[i], json_integer(jr_i64(counts, counters[i], 0)));
    (void)json_object_set_new(data, "send_log_id", json_integer(send->id));
    (void)json_object_set_new(
        data, "delivery_status", status_word(send->ended ? send->status : STATUS_NONE));
    return data;
}

/* STATUS_NONE while a send is under way, then the status that all sends have, else Partial. */
static enum status common_status(const struct push_sending *in)
{
    bool open = false;
    bool failed = false;
    bool succeeded = false;

    for (size_t i = 0; i < in->count; i++) {
        enum status status = in->sends[i].status;
        open = open || !in->sends[i].ended;
        failed = failed || status != STATUS_SEND_SUCCEEDED;
        succeeded = succeeded || status != STATUS_SEND_FAILED;
    }
    if (open)
        return STATUS_NONE;
    if (!failed)
        return STATUS_SEND_SUCCEEDED;
    return succeeded ? STATUS_SEND_PARTIAL : STATUS_SEND_FAILED;
}

/* The sums over all sends, and the result of each send. */
static json_t *rows_data(struct push_sending *in)
{
    struct step_call *call = in->call;
    json_t *data = step_own_json(call, json_object());
    json_t *sends = json_array();
    int64_t sums[ARRAY_LEN(counters)] = {0};

    for (size_t i = 0; i < in->count; i++) {
        json_t *one = send_data(call, &in->sends[i]);
        for (size_t k = 0; k < ARRAY_LEN(counters); k++)
            sums[k] += jr_i64(one, counters[k], 0);
        if (json_object_get(data, "delivery_error") == NULL)
            (void)json_object_set(data, "delivery_error", json_object_get(one, "delivery_error"));
        (void)json_array_append(sends, one);
    }
    for (size_t k = 0; k < ARRAY_LEN(counters); k++)
        (void)json_object_set_new(data, counters[k], json_integer(sums[k]));
    (void)json_object_set_new(
        data, "send_log_id", in->count > 0 ? json_integer(in->sends[0].id) : json_null());
    (void)json_object_set_new(data, "delivery_status", status_word(common_status(in)));
    (void)json_object_set_new(data, "sends", sends);
    return data;
}

static int report_sends(struct push_sending *in)
{
    struct step_call *call = in->call;
    const json_t *audience = json_object_get(call->step->params, "audience");
    json_t *data = in->by_row ? rows_data(in) : send_data(call, &in->sends[0]);

    (void)json_object_set(data, "audience_kind", json_object_get(audience, "kind"));
    if (json_object_get(in->first, "title") != NULL)
        (void)json_object_set(data, "title", json_object_get(in->first, "title"));
    if (json_object_get(in->first, "body") != NULL)
        (void)json_object_set(data, "body", json_object_get(in->first, "body"));
    call->output = step_own_json(call, json_deep_copy(data));
    (void)json_object_set(call->output, "data", data);
    if (in->count > 0 && common_status(in) == STATUS_SEND_FAILED)
        return step_fail(call, PROBLEM_PUSH_FAILED, "The notification reached no device.");
    return 0;
}

int step_send_push(struct step_call *call)
{
    struct push_sending in = {.call = call};

    TRY(read_requests(&in));
    in.until_ms = clock_mono_ms() + WAIT_MS;
    int64_t last = call->task->deadline_ms - (in.by_row ? BEFORE_ROWS_MS : BEFORE_STEP_MS);
    if (in.until_ms > last)
        in.until_ms = last;
    TRY(send_all(&in));
    return report_sends(&in);
}
