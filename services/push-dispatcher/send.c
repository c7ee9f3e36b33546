/* Runs a send from its claim to its end. */
#include "send.h"

#include "base/clock.h"
#include "dispatch_claim_sql.h"
#include "dispatch_send_sql.h"
#include "fan_out.h"
#include "log/log.h"
#include "measure.h"
#include "push/tap_token.h"
#include "push/webpush_encrypt.h"
#include "sender.h"

/* Number of recorded devices after which a crashed send is claimed like the other sends. */
#define PROVEN_DEVICES 500

void send_from_row(struct queue_item *item)
{
    struct send *send = CONTAINER_OF(item, struct send, item);
    const struct sql_claimed_send_row row = sql_claimed_send_row(&item->rows, 0);

    send->request_text = row.request;
    send->category = row.category;
    send->started_ms = row.started_at;
    send->key_id = row.key_id.value;
    send->fan_out_stage = row.fan_out;
    send->fan_out_after = row.fan_out_after;
    send->quarantined = row.quarantined;
    if (row.cancelled || row.quarantined)
        send->stop = SEND_CANCELLED;
    if (row.fan_out == 0 && row.fan_out_after == 0)
        measure_send_wait(clock_wall_ms() - row.created_at);
}

void send_stop(struct send *send, enum send_stop stop)
{
    if (stop > send->stop)
        send->stop = stop;
}

enum send_stop send_check_stop(struct send *send)
{
    if (queue_item_is_lost(&send->item))
        send_stop(send, SEND_LOST);
    else if (queue_item_is_releasing(&send->item) ||
             (send->item.crashed_count && send->recorded >= PROVEN_DEVICES))
        send_stop(send, SEND_RELEASED);
    return send->stop;
}

/* --- the message --- */

/* Returns the key that the row names, so that every process signs the same id. */
static const struct aead_key *tap_key_of_send(const struct send *send)
{
    const struct project *project = send->item.project;

    for (size_t i = 0; i < project->data_key_count; i++) {
        if ((int64_t)project->data_keys[i].id == send->key_id)
            return &project->data_keys[i];
    }
    return &project->data_key;
}

static void send_make_payloads(struct send *send)
{
    struct arena *arena = send->item.arena;
    struct push_message *message = &send->request.message;
    const struct tap tap = {
        .project = send->item.project->number,
        .category = send->category,
        .send = send->item.id,
    };

    message->category = send->category;
    message->notification_id = tap_token_sign(arena, tap_key_of_send(send), &tap, send->started_ms);
    message->sent_ms = send->started_ms;
    send->fcm_bytes = push_fcm_bytes(arena, message);
    send->fcm_rest = push_fcm_body_end(arena, message);
    send->web_payload = push_web_payload(arena, message);
}

/* --- its parts, one for each provider --- */

struct send_part {
    struct send *send;
    enum push_provider provider;
};

AWAITS static int send_run_part(struct task *task, void *arg)
{
    const struct send_part *part = arg;
    struct send *send = part->send;

    if (part->provider == PUSH_WEB ? send->web_payload.len > WEBPUSH_TEXT_MAX
                                   : send->fcm_bytes > PUSH_FCM_BYTES_MAX)
        return sender_fail_pending(task, send, part->provider, STR("PAYLOAD_TOO_LARGE"));
    return sender_run(task, send, part->provider);
}

AWAITS static int send_run_parts(struct task *task, struct send *send)
{
    struct send_part parts[PUSH_PROVIDERS] = {{send, PUSH_FCM}, {send, PUSH_WEB}};
    struct task_call calls[PUSH_PROVIDERS];

    for (size_t i = 0; i < PUSH_PROVIDERS; i++)
        calls[i] = (struct task_call){.fn = send_run_part, .arg = &parts[i]};
    return task_all(task, calls, PUSH_PROVIDERS);
}

/* --- its end --- */

/* Ends a send without pending rows. `code` is the error of a send that has no devices. */
AWAITS static int send_end(struct task *task, struct send *send, struct str code)
{
    struct rows rows;

    TRY(db_query(task,
                 &send->item.project->db,
                 SQL_SEND_END(.code = code, .id = send->item.id, .token = send->item.token),
                 &rows));
    if (rows.count == 0)
        send_stop(send, SEND_LOST);
    else
        measure_send_end(sql_send_end_row(&rows, 0).status);
    return 0;
}

AWAITS static int send_end_cancelled(struct task *task, struct send *send)
{
    struct str code = send->quarantined ? STR("QUARANTINED") : STR("CANCELLED");

    TRY(sender_fail_pending(task, send, PUSH_FCM, code));
    TRY(sender_fail_pending(task, send, PUSH_WEB, code));
    return send_end(task, send, code);
}

AWAITS static int send_release(struct task *task, const struct send *send)
{
    return db_query(task,
                    &send->item.project->db,
                    SQL_SEND_RELEASE(.id = send->item.id, .token = send->item.token),
                    NULL);
}

static bool has_provider(const struct send *send)
{
    enum push_provider only = send->request.audience.provider;

    return (only != PUSH_WEB && providers_has(send->providers, PUSH_FCM)) ||
           (only != PUSH_FCM && providers_has(send->providers, PUSH_WEB));
}

AWAITS static int send_do(struct task *task, struct send *send)
{
    struct str code;

    if (push_request_read(task->arena, send->request_text, &send->request, &code) != 0)
        return send_end(task, send, code);
    TRY(providers_get(task, send->item.project, &send->providers));
    if (!has_provider(send) && send->fan_out_after == 0 && send->fan_out_stage == 0)
        return send_end(task, send, STR("NO_PROVIDER"));
    if (send->key_id == 0)
        send->key_id = (int64_t)send->item.project->data_key.id;
    int rc = fan_out_run(task, send);
    if (rc == FAN_OUT_BAD_AUDIENCE)
        return send_end(task, send, STR("INVALID_AUDIENCE"));
    if (rc != 0 || send->stop != SEND_CONTINUES)
        return rc;
    send_make_payloads(send);
    TRY(send_run_parts(task, send));
    return send->stop == SEND_CONTINUES ? send_end(task, send, STR("NO_DEVICE")) : 0;
}

enum queue_outcome send_run(struct task *task, struct queue_item *item)
{
    struct send *send = CONTAINER_OF(item, struct send, item);
    int rc = send_check_stop(send) == SEND_CONTINUES ? send_do(task, send) : 0;

    if (rc == 0 && send->stop == SEND_CANCELLED)
        rc = send_end_cancelled(task, send);
    if (rc == 0 && send->stop == SEND_RELEASED)
        rc = send_release(task, send);
    providers_release(send->providers);
    if (rc != 0) /* the send is due again when its lease ends */
        log_warn("send.failed", L_I64("send", item->id), L_RESULT("rc", rc), L_AT(&task->site, rc));
    if (rc != 0 || send->stop == SEND_LOST)
        return QUEUE_UNKNOWN;
    return send->stop == SEND_RELEASED ? QUEUE_RELEASED : QUEUE_DONE;
}
