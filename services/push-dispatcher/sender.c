/* Sends to many devices concurrently. */
#include "sender.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/panic.h"
#include "deliver.h"
#include "dispatch_send_sql.h"
#include "queue_sql.h"

enum {
    PAGE = 500,
    PAGE_BYTES = 256 << 10, /* of tokens; the last token may go beyond it */
    FAIL_PAGE = 5000,
    WINDOW_PARTS = 5, /* results are recorded when a fifth of the window has ended */
    RECORD_MS = 20,   /* a result is recorded at most this long after it came */
    POLL_MS = 1000,   /* how often the send's row is checked */
};

struct push_sender {
    struct task *task;
    struct send *send;
    enum push_provider provider;
    struct providers *providers; /* held */
    size_t window;
    struct list free, busy, ended;
    size_t busy_count, ended_count, alive_count;
    int64_t first_ended_ms; /* mono: when the oldest unrecorded result came */
    int64_t polled_ms;      /* mono: when the send's row was last checked */
    struct await *awaited;
    struct arena *scratch, *page;
    struct rows rows; /* the current page */
    size_t next_row;  /* index of the page's next row */
    int64_t after_target;
    bool is_last_page; /* the current page is the last one */
};

/* --- slots --- */

static void sender_wake(struct push_sender *sender)
{
    if (sender->awaited != NULL && !sender->awaited->done)
        await_done(sender->awaited, 0);
}

static void on_abandoned(struct await *await UNUSED)
{
}

/* Called at the end of the loop's tick, when the coroutine has left its stack. */
static void on_coroutine_left(void *arg)
{
    struct delivery *delivery = arg;

    delivery->has_coroutine = false;
    delivery->sender->alive_count--;
    sender_wake(delivery->sender);
}

/* Releases the slot of a device that is finished, and keeps its outcome for sender_record(). */
static void delivery_done(struct delivery *delivery)
{
    struct push_sender *sender = delivery->sender;

    window_leave(&delivery->providers->window, sender->provider, &delivery->slot);
    providers_release(delivery->providers);
    delivery->providers = NULL;
    list_remove(&delivery->link);
    sender->busy_count--;
    if (delivery->outcome == PUSH_RETRY) { /* the row stays pending, as if it had not begun */
        list_append(&sender->free, &delivery->link);
    } else {
        if (sender->ended_count++ == 0)
            sender->first_ended_ms = clock_mono_ms();
        list_append(&sender->ended, &delivery->link);
    }
    sender_wake(sender);
}

/* co: Waits for the next device. Returns false when the sender has none left, or when the coroutine
 * is cancelled before it has been given one. */
AWAITS static bool delivery_wait_device(struct task *task, struct delivery *delivery)
{
    await_init(&delivery->next_device);
    delivery->next_device.abandon = on_abandoned;
    delivery->is_parked = true;
    int rc = await_wait(task, &delivery->next_device, 0);
    delivery->is_parked = false;
    if (rc == -ECANCELED && delivery->next_device.done)
        rc = delivery->next_device.rc;
    return rc == 0;
}

/* Handles many devices one after the other, because a coroutine for each device would return its
 * stack and fetch one again each time. */
static void delivery_main(struct task *task, void *arg)
{
    struct delivery *delivery = arg;

    do {
        if (delivery->sender->provider == PUSH_FCM)
            deliver_fcm(task, delivery);
        else
            deliver_web(task, delivery);
        delivery_done(delivery);
    } while (delivery_wait_device(task, delivery));
    delivery->left_hook = (struct loop_hook){.fn = on_coroutine_left, .arg = delivery};
    loop_at_tick_end(&delivery->left_hook);
}

static void delivery_start(struct delivery *delivery)
{
    struct push_sender *sender = delivery->sender;

    if (delivery->is_parked) {
        delivery->is_parked = false;
        await_done(&delivery->next_device, 0);
        return;
    }
    MUST(!delivery->has_coroutine);
    delivery->has_coroutine = true;
    sender->alive_count++;
    delivery->task = (struct task){
        .arena = delivery->arena, .log = sender->task->log, .project = sender->task->project};
    task_start_as(&delivery->task, push_provider_name(sender->provider), delivery_main, delivery);
}

/* Returns a free delivery or a new one. No more are allocated than are used at the same time. */
static struct delivery *delivery_take(struct push_sender *sender)
{
    struct list *node = list_shift(&sender->free);
    struct delivery *delivery;

    if (node != NULL)
        return LIST_ITEM(node, struct delivery, link);
    delivery = calloc(1, sizeof(*delivery));
    MUST(delivery != NULL);
    list_init(&delivery->link);
    return delivery;
}

static void delivery_begin(struct push_sender *sender,
                           const struct sql_deliveries_page_row *row,
                           struct window_slot slot)
{
    struct delivery *delivery = delivery_take(sender);

    if (delivery->arena == NULL)
        delivery->arena = arena_new(0);
    arena_reset(delivery->arena);
    delivery->sender = sender;
    delivery->send = sender->send;
    delivery->providers = providers_hold(sender->providers);
    delivery->slot = slot;
    delivery->token = arena_dup(delivery->arena, row->token);
    delivery->target_id = row->target_id;
    delivery->is_registered = row->device;
    delivery->read_at_ms = row->read_at;
    delivery->is_idle = false;
    delivery->prepared = NULL;
    delivery->tries = 0;
    list_append(&sender->busy, &delivery->link);
    sender->busy_count++;
    delivery_start(delivery);
}

/* Fails a row that has no token, because its device was deleted after the row was written. */
static void sender_skip_row(struct push_sender *sender, const struct sql_deliveries_page_row *row)
{
    struct delivery *delivery = delivery_take(sender);

    delivery->sender = sender;
    delivery->target_id = row->target_id;
    delivery->is_registered = false;
    delivery->tries = 0;
    delivery_set_outcome(delivery, PUSH_FAILED, STR("NO_DEVICE"));
    if (sender->ended_count++ == 0)
        sender->first_ended_ms = clock_mono_ms();
    list_append(&sender->ended, &delivery->link);
}

/* --- rows --- */

AWAITS static int sender_refresh_providers(struct push_sender *sender)
{
    struct providers *now;

    TRY(providers_get(sender->task, sender->send->item.project, &now));
    providers_release(sender->providers);
    sender->providers = now;
    return 0;
}

static size_t page_bytes(const struct push_sender *sender)
{
    size_t bytes = 0;

    for (size_t i = 0; i < sender->rows.count; i++)
        bytes += sql_deliveries_page_row(&sender->rows, i).token.len;
    return bytes;
}

/* Reads the next page of rows. Reads the credentials again with each page, because the provider may
 * have been removed. */
AWAITS static int sender_read_page(struct push_sender *sender)
{
    const struct queue_item *item = &sender->send->item;

    arena_reset(sender->page);
    sender->task->arena = sender->page;
    int rc = db_query(sender->task,
                      &item->project->db,
                      SQL_DELIVERIES_PAGE(.id = item->id,
                                          .provider = sender->provider,
                                          .after = sender->after_target,
                                          .count = PAGE,
                                          .bytes = PAGE_BYTES),
                      &sender->rows);
    sender->task->arena = sender->scratch;
    if (rc != 0)
        return rc;
    sender->next_row = 0;
    sender->is_last_page = sender->rows.count < PAGE && page_bytes(sender) < PAGE_BYTES;
    if (sender->rows.count == 0)
        return 0;
    sender->after_target = sql_deliveries_page_row(&sender->rows, sender->rows.count - 1).target_id;
    return sender_refresh_providers(sender);
}

static const char *const outcome_statuses[] = {
    [PUSH_DELIVERED] = "delivered", [PUSH_UNREGISTERED] = "unregistered", [PUSH_FAILED] = "failed"};

static void outcome_count(enum push_provider provider, enum push_outcome outcome)
{
    struct deliver_stats *stats = deliver_stats();

    stats->delivered[provider] += outcome == PUSH_DELIVERED;
    stats->unregistered[provider] += outcome == PUSH_UNREGISTERED;
    stats->failed[provider] += outcome == PUSH_FAILED;
}

/* Records all results that have ended up to now, in one statement. */
AWAITS static int sender_record(struct push_sender *sender)
{
    struct arena *arena = sender->scratch;
    const struct queue_item *item = &sender->send->item;
    size_t n = sender->ended_count;
    int64_t *targets = ARENA_ARRAY(arena, targets, n);
    struct str *statuses = ARENA_ARRAY(arena, statuses, n);
    struct str *codes = ARENA_ARRAY(arena, codes, n);
    int64_t *tries = ARENA_ARRAY(arena, tries, n);
    int64_t *dead = ARENA_ARRAY(arena, dead, n);
    size_t ndead = 0;
    int64_t read_at_ms = INT64_MAX; /* when the oldest of the dead tokens was read */
    size_t i = 0;
    struct list recorded;
    struct list *node;

    list_init(&recorded);
    while ((node = list_shift(&sender->ended)) != NULL) {
        const struct delivery *delivery = LIST_ITEM(node, struct delivery, link);
        targets[i] = delivery->target_id;
        statuses[i] = str_from(outcome_statuses[delivery->outcome]);
        codes[i] =
            delivery->code[0] != '\0' ? arena_dup(arena, str_from(delivery->code)) : STR_NONE;
        tries[i++] = delivery->tries;
        if (delivery->outcome == PUSH_UNREGISTERED && delivery->is_registered) {
            dead[ndead++] = delivery->target_id;
            if (delivery->read_at_ms < read_at_ms)
                read_at_ms = delivery->read_at_ms;
        }
        outcome_count(sender->provider, delivery->outcome);
        list_append(&recorded, node);
    }
    struct db_call calls[] = {
        db_call(SQL_PLAN_BY_KEY()),
        db_call(SQL_DELIVERIES_RECORD(.id = item->id,
                                      .token = item->token,
                                      .targets = sql_i64s(targets, n),
                                      .statuses = sql_strs(statuses, n),
                                      .codes = sql_strs(codes, n),
                                      .tries = sql_i64s(tries, n),
                                      .provider = sender->provider,
                                      .dead = sql_i64s(dead, ndead),
                                      .read_at = ndead > 0 ? read_at_ms : 0)),
    };
    int rc = db_batch(sender->task, &item->project->db, calls, ARRAY_LEN(calls), NULL);
    while ((node = list_shift(&recorded)) != NULL)
        list_append(&sender->free, node);
    sender->ended_count -= n;
    if (!list_empty(&sender->ended)) /* ended during the statement */
        sender->first_ended_ms = clock_mono_ms();
    sender->polled_ms = clock_mono_ms();
    if (rc != 0)
        return rc;
    sender->send->recorded += n;
    if (calls[1].rows.count == 0)
        send_stop(sender->send, SEND_LOST);
    else if (sql_deliveries_record_row(&calls[1].rows, 0).cancelled)
        send_stop(sender->send, SEND_CANCELLED);
    arena_reset(sender->scratch);
    return 0;
}

AWAITS static int sender_poll_send(struct push_sender *sender)
{
    const struct queue_item *item = &sender->send->item;
    struct rows rows;

    TRY(db_query(sender->task,
                 &item->project->db,
                 SQL_SEND_LOOK(.id = item->id, .token = item->token),
                 &rows));
    if (rows.count == 0)
        send_stop(sender->send, SEND_LOST);
    else if (sql_send_look_row(&rows, 0).cancelled)
        send_stop(sender->send, SEND_CANCELLED);
    sender->polled_ms = clock_mono_ms();
    arena_reset(sender->scratch);
    return 0;
}

int sender_fail_pending(struct task *task,
                        struct send *send,
                        enum push_provider provider,
                        struct str code)
{
    const struct queue_item *item = &send->item;
    int64_t after = 0;

    while (true) {
        struct db_call calls[] = {
            db_call(SQL_PLAN_BY_KEY()),
            db_call(SQL_DELIVERIES_FAIL(.id = item->id,
                                        .token = item->token,
                                        .provider = provider,
                                        .after = after,
                                        .count = FAIL_PAGE,
                                        .code = code)),
        };
        TRY(db_batch(task, &item->project->db, calls, ARRAY_LEN(calls), NULL));
        const struct rows rows = calls[1].rows;
        if (rows.count == 0) {
            send_stop(send, SEND_LOST);
            return 0;
        }
        after = sql_deliveries_fail_row(&rows, 0).last;
        if (after == 0)
            return 0;
    }
}

/* --- the loop of a sender --- */

static bool is_record_due(const struct push_sender *sender)
{
    if (sender->ended_count == 0)
        return false;
    return sender->busy_count == 0 ||
           sender->ended_count >= (sender->window + WINDOW_PARTS - 1) / WINDOW_PARTS ||
           clock_mono_ms() - sender->first_ended_ms >= RECORD_MS;
}

/* co: Waits until a device has ended, or a result must be recorded, or the send's row must be
 * checked. Returns 0 or -ECANCELED. With `to_the_end` only an ended device or coroutine ends the
 * wait, and it returns 0. */
AWAITS static int wait_for_results(struct push_sender *sender, bool to_the_end)
{
    int64_t pause_ms = sender->ended_count > 0 ? RECORD_MS : POLL_MS;
    struct await await;

    await_init(&await);
    await.abandon = to_the_end ? NULL : on_abandoned;
    sender->awaited = &await;
    int rc = await_wait(sender->task, &await, to_the_end ? 0 : pause_ms);
    sender->awaited = NULL;
    return rc == -ETIMEDOUT || to_the_end ? 0 : rc;
}

static void deliveries_cancel(struct push_sender *sender, bool all)
{
    LIST_FOR (node, &sender->busy) {
        struct delivery *delivery = LIST_ITEM(node, struct delivery, link);
        if (all || delivery->is_idle)
            task_cancel(&delivery->task);
    }
}

/* co: Waits until no device of the sender is under way. Requests in flight are answered first,
 * unless their results are useless: after an error, or when the send is lost. */
AWAITS static void sender_wait_idle(struct push_sender *sender, int rc)
{
    while (sender->busy_count > 0) {
        bool at_once = rc != 0 || send_check_stop(sender->send) == SEND_LOST;
        deliveries_cancel(sender, at_once);
        rc = wait_for_results(sender, at_once);
    }
}

static void parked_coroutines_dismiss(const struct list *deliveries)
{
    LIST_FOR (node, deliveries) {
        struct delivery *delivery = LIST_ITEM(node, struct delivery, link);
        if (!delivery->is_parked)
            continue;
        delivery->is_parked = false;
        await_done(&delivery->next_device, -ECANCELED);
    }
}

/* co: Ends all coroutines of the sender and waits for them. No device may be under way. */
AWAITS static void coroutines_dismiss(struct push_sender *sender)
{
    parked_coroutines_dismiss(&sender->free);
    parked_coroutines_dismiss(&sender->ended);
    while (sender->alive_count > 0)
        (void)wait_for_results(sender, true);
}

/* Takes a slot for one device. A sender with no device under way needs none, so that every send
 * makes progress. */
static bool slot_take(struct push_sender *sender, struct window_slot *ret_slot)
{
    const struct queue_item *item = &sender->send->item;
    const struct share_owner send = {.project = item->project->number, .part = item->id};

    return window_enter(&sender->providers->window, sender->provider, send, ret_slot) ||
           sender->busy_count == 0;
}

static void deliveries_begin(struct push_sender *sender)
{
    struct window_slot slot;

    while (sender->next_row < sender->rows.count &&
           sender->busy_count + sender->ended_count < sender->window) {
        const struct sql_deliveries_page_row row =
            sql_deliveries_page_row(&sender->rows, sender->next_row);
        if (row.token.ptr == NULL)
            sender_skip_row(sender, &row);
        else if (slot_take(sender, &slot))
            delivery_begin(sender, &row, slot);
        else
            return;
        sender->next_row++;
    }
}

/* co: Runs until the last row is recorded, the send stops, or the provider is not configured. */
AWAITS static int sender_loop(struct push_sender *sender)
{
    while (send_check_stop(sender->send) == SEND_CONTINUES) {
        if (sender->next_row == sender->rows.count && !sender->is_last_page)
            TRY(sender_read_page(sender));
        if (!providers_has(sender->providers, sender->provider))
            return 0;
        deliveries_begin(sender);
        if (sender->busy_count + sender->ended_count == 0 && sender->is_last_page)
            return 0;
        if (is_record_due(sender))
            TRY(sender_record(sender));
        else
            TRY(wait_for_results(sender, false));
        if (clock_mono_ms() - sender->polled_ms >= POLL_MS)
            TRY(sender_poll_send(sender));
    }
    return 0;
}

AWAITS static int sender_end(struct push_sender *sender, int rc)
{
    sender_wait_idle(sender, rc);
    if (rc == 0 && sender->ended_count > 0 && sender->send->stop != SEND_LOST)
        rc = sender_record(sender);
    if (rc == 0 && sender->send->stop == SEND_CONTINUES &&
        !providers_has(sender->providers, sender->provider))
        rc = sender_fail_pending(sender->task, sender->send, sender->provider, STR("NO_PROVIDER"));
    return rc;
}

static void sender_init(struct push_sender *sender)
{
    list_init(&sender->free);
    list_init(&sender->busy);
    list_init(&sender->ended);
    sender->scratch = arena_new(0);
    sender->page = arena_new(0);
    sender->polled_ms = clock_mono_ms();
}

static void free_deliveries(struct list *deliveries)
{
    struct list *node;

    while ((node = list_shift(deliveries)) != NULL) {
        struct delivery *delivery = LIST_ITEM(node, struct delivery, link);
        if (delivery->arena != NULL)
            arena_free(delivery->arena);
        free(delivery);
    }
}

/* Frees the sender. No device is under way. Devices without a recorded result are sent to again. */
static void sender_free(struct push_sender *sender)
{
    free_deliveries(&sender->free);
    free_deliveries(&sender->ended);
    arena_free(sender->page);
    arena_free(sender->scratch);
    providers_release(sender->providers);
}

int sender_run(struct task *task, struct send *send, enum push_provider provider)
{
    const struct app_conf *conf = dispatcher_conf();
    struct push_sender sender = {
        .task = task,
        .send = send,
        .provider = provider,
        .providers = providers_hold(send->providers),
        .window = (size_t)(provider == PUSH_FCM ? conf->fcm_requests : conf->web_push_requests),
    };
    struct arena *own = task->arena;

    sender_init(&sender);
    task->arena = sender.scratch;
    int rc = sender_end(&sender, sender_loop(&sender));
    coroutines_dismiss(&sender);
    task->arena = own;
    sender_free(&sender);
    return rc;
}
