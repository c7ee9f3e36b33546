/* Sends to many devices concurrently. */
#include "lane.h"

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
    PARTS = 5,      /* of the window; results are recorded when one part has ended */
    RECORD_MS = 20, /* after which a result is recorded in any case */
    LOOK_MS = 1000, /* how often the send's row is checked */
};

struct lane {
    struct task *task;
    struct send *send;
    enum push_provider provider;
    struct providers *providers; /* held */
    size_t window;
    struct list free, busy, ended;
    size_t busy_count, ended_count, alive_count;
    int64_t first_ended_ms; /* mono: when the oldest unrecorded result came */
    int64_t looked_ms;      /* mono: when the send's row was last checked */
    struct await *waiting;
    struct arena *scratch, *page;
    struct rows rows; /* the current page */
    size_t next;      /* index of the page's next row */
    int64_t after;
    bool last; /* the current page is the last one */
};

/* --- slots --- */

static void wake(struct lane *lane)
{
    if (lane->waiting != NULL && !lane->waiting->done)
        await_done(lane->waiting, 0);
}

static void on_abandoned(struct await *await UNUSED)
{
}

/* Called at the end of the loop's tick, when the coroutine has left its stack. */
static void on_left(void *arg)
{
    struct delivery *delivery = arg;

    delivery->alive = false;
    delivery->lane->alive_count--;
    wake(delivery->lane);
}

/* Releases the slot of a device that is finished, and keeps its outcome for lane_record(). */
static void delivery_done(struct delivery *delivery)
{
    struct lane *lane = delivery->lane;

    window_leave(&delivery->providers->window, lane->provider, &delivery->place);
    providers_release(delivery->providers);
    delivery->providers = NULL;
    list_remove(&delivery->link);
    lane->busy_count--;
    if (delivery->outcome == PUSH_RETRY) { /* the row stays pending, as if it had not begun */
        list_append(&lane->free, &delivery->link);
    } else {
        if (lane->ended_count++ == 0)
            lane->first_ended_ms = clock_mono_ms();
        list_append(&lane->ended, &delivery->link);
    }
    wake(lane);
}

/* co: Waits for the next device. Returns false when the lane has none left, or when the coroutine
 * is cancelled before it has been given one. */
AWAITS static bool next_device(struct task *task, struct delivery *delivery)
{
    await_init(&delivery->next);
    delivery->next.abandon = on_abandoned;
    delivery->parked = true;
    int rc = await_wait(task, &delivery->next, 0);
    delivery->parked = false;
    if (rc == -ECANCELED && delivery->next.done)
        rc = delivery->next.rc;
    return rc == 0;
}

/* Handles many devices one after the other, because a coroutine for each device would return its
 * stack and fetch one again each time. */
static void delivery_main(struct task *task, void *arg)
{
    struct delivery *delivery = arg;

    do {
        if (delivery->lane->provider == PUSH_FCM)
            deliver_fcm(task, delivery);
        else
            deliver_web(task, delivery);
        delivery_done(delivery);
    } while (next_device(task, delivery));
    delivery->left = (struct loop_hook){.fn = on_left, .arg = delivery};
    loop_at_turn_end(&delivery->left);
}

static void delivery_go(struct delivery *delivery)
{
    struct lane *lane = delivery->lane;

    if (delivery->parked) {
        delivery->parked = false;
        await_done(&delivery->next, 0);
        return;
    }
    MUST(!delivery->alive);
    delivery->alive = true;
    lane->alive_count++;
    delivery->task = (struct task){
        .arena = delivery->arena, .log = lane->task->log, .tenant = lane->task->tenant};
    task_start_as(&delivery->task, push_provider_name(lane->provider), delivery_main, delivery);
}

/* Returns a free delivery or a new one. No more are allocated than are used at the same time. */
static struct delivery *take_free(struct lane *lane)
{
    struct list *node = list_shift(&lane->free);
    struct delivery *delivery;

    if (node != NULL)
        return LIST_ITEM(node, struct delivery, link);
    delivery = calloc(1, sizeof(*delivery));
    MUST(delivery != NULL);
    list_init(&delivery->link);
    return delivery;
}

static void
begin(struct lane *lane, const struct sql_deliveries_page_row *row, struct window_place place)
{
    struct delivery *delivery = take_free(lane);

    if (delivery->arena == NULL)
        delivery->arena = arena_new(0);
    arena_reset(delivery->arena);
    delivery->lane = lane;
    delivery->send = lane->send;
    delivery->providers = providers_hold(lane->providers);
    delivery->place = place;
    delivery->token = arena_dup(delivery->arena, row->token);
    delivery->target = row->target_id;
    delivery->device = row->device;
    delivery->read_at_ms = row->read_at;
    delivery->idle = false;
    delivery->prepared = NULL;
    delivery->tries = 0;
    list_append(&lane->busy, &delivery->link);
    lane->busy_count++;
    delivery_go(delivery);
}

/* Fails a row that has no token, because its device was deleted after the row was written. */
static void lane_skip(struct lane *lane, const struct sql_deliveries_page_row *row)
{
    struct delivery *delivery = take_free(lane);

    delivery->lane = lane;
    delivery->target = row->target_id;
    delivery->device = false;
    delivery->tries = 0;
    deliver_ended(delivery, PUSH_FAILED, STR("NO_DEVICE"));
    if (lane->ended_count++ == 0)
        lane->first_ended_ms = clock_mono_ms();
    list_append(&lane->ended, &delivery->link);
}

/* --- rows --- */

AWAITS static int look_at_providers(struct lane *lane)
{
    struct providers *now;

    TRY(providers_get(lane->task, lane->send->item.project, &now));
    providers_release(lane->providers);
    lane->providers = now;
    return 0;
}

static size_t page_bytes(const struct lane *lane)
{
    size_t bytes = 0;

    for (size_t i = 0; i < lane->rows.count; i++)
        bytes += sql_deliveries_page_row(&lane->rows, i).token.len;
    return bytes;
}

/* Reads the next page of rows. Reads the credentials again with each page, because the provider may
 * have been removed. */
AWAITS static int lane_read_page(struct lane *lane)
{
    const struct queue_item *item = &lane->send->item;

    arena_reset(lane->page);
    lane->task->arena = lane->page;
    int rc = db_query(lane->task,
                      &item->project->db,
                      SQL_DELIVERIES_PAGE(.id = item->id,
                                          .provider = lane->provider,
                                          .after = lane->after,
                                          .count = PAGE,
                                          .bytes = PAGE_BYTES),
                      &lane->rows);
    lane->task->arena = lane->scratch;
    if (rc != 0)
        return rc;
    lane->next = 0;
    lane->last = lane->rows.count < PAGE && page_bytes(lane) < PAGE_BYTES;
    if (lane->rows.count == 0)
        return 0;
    lane->after = sql_deliveries_page_row(&lane->rows, lane->rows.count - 1).target_id;
    return look_at_providers(lane);
}

static const char *const states[] = {
    [PUSH_DELIVERED] = "delivered", [PUSH_UNREGISTERED] = "unregistered", [PUSH_FAILED] = "failed"};

static void count(enum push_provider provider, enum push_outcome outcome)
{
    struct deliver_stats *stats = deliver_stats();

    stats->delivered[provider] += outcome == PUSH_DELIVERED;
    stats->unregistered[provider] += outcome == PUSH_UNREGISTERED;
    stats->failed[provider] += outcome == PUSH_FAILED;
}

/* Records all results that have ended up to now, in one statement. */
AWAITS static int lane_record(struct lane *lane)
{
    struct arena *arena = lane->scratch;
    const struct queue_item *item = &lane->send->item;
    size_t n = lane->ended_count;
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
    while ((node = list_shift(&lane->ended)) != NULL) {
        const struct delivery *delivery = LIST_ITEM(node, struct delivery, link);
        targets[i] = delivery->target;
        statuses[i] = str_from(states[delivery->outcome]);
        codes[i] =
            delivery->code[0] != '\0' ? arena_dup(arena, str_from(delivery->code)) : STR_NONE;
        tries[i++] = delivery->tries;
        if (delivery->outcome == PUSH_UNREGISTERED && delivery->device) {
            dead[ndead++] = delivery->target;
            if (delivery->read_at_ms < read_at_ms)
                read_at_ms = delivery->read_at_ms;
        }
        count(lane->provider, delivery->outcome);
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
                                      .provider = lane->provider,
                                      .dead = sql_i64s(dead, ndead),
                                      .read_at = ndead > 0 ? read_at_ms : 0)),
    };
    int rc = db_batch(lane->task, &item->project->db, calls, ARRAY_LEN(calls), NULL);
    while ((node = list_shift(&recorded)) != NULL)
        list_append(&lane->free, node);
    lane->ended_count -= n;
    if (!list_empty(&lane->ended)) /* ended during the statement */
        lane->first_ended_ms = clock_mono_ms();
    lane->looked_ms = clock_mono_ms();
    if (rc != 0)
        return rc;
    lane->send->recorded += n;
    if (calls[1].rows.count == 0)
        send_stop(lane->send, SEND_LOST);
    else if (sql_deliveries_record_row(&calls[1].rows, 0).cancelled)
        send_stop(lane->send, SEND_CANCELLED);
    arena_reset(lane->scratch);
    return 0;
}

AWAITS static int look_at_send(struct lane *lane)
{
    const struct queue_item *item = &lane->send->item;
    struct rows rows;

    TRY(db_query(lane->task,
                 &item->project->db,
                 SQL_SEND_LOOK(.id = item->id, .token = item->token),
                 &rows));
    if (rows.count == 0)
        send_stop(lane->send, SEND_LOST);
    else if (sql_send_look_row(&rows, 0).cancelled)
        send_stop(lane->send, SEND_CANCELLED);
    lane->looked_ms = clock_mono_ms();
    arena_reset(lane->scratch);
    return 0;
}

int lane_fail(struct task *task, struct send *send, enum push_provider provider, struct str code)
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

/* --- the loop of a lane --- */

static bool to_record(const struct lane *lane)
{
    if (lane->ended_count == 0)
        return false;
    return lane->busy_count == 0 || lane->ended_count >= (lane->window + PARTS - 1) / PARTS ||
           clock_mono_ms() - lane->first_ended_ms >= RECORD_MS;
}

/* co: Waits until a device has ended, or a result must be recorded, or the send's row must be
 * checked. Returns 0 or -ECANCELED. With `to_the_end` only an ended device or coroutine ends the
 * wait, and it returns 0. */
AWAITS static int wait_for_results(struct lane *lane, bool to_the_end)
{
    int64_t pause_ms = lane->ended_count > 0 ? RECORD_MS : LOOK_MS;
    struct await await;

    await_init(&await);
    await.abandon = to_the_end ? NULL : on_abandoned;
    lane->waiting = &await;
    int rc = await_wait(lane->task, &await, to_the_end ? 0 : pause_ms);
    lane->waiting = NULL;
    return rc == -ETIMEDOUT || to_the_end ? 0 : rc;
}

static void cancel(struct lane *lane, bool all)
{
    LIST_FOR (node, &lane->busy) {
        struct delivery *delivery = LIST_ITEM(node, struct delivery, link);
        if (all || delivery->idle)
            task_cancel(&delivery->task);
    }
}

/* co: Waits until no device of the lane is under way. Requests in flight are answered first, unless
 * their results are useless: after an error, or when the send is lost. */
AWAITS static void wait_for_busy(struct lane *lane, int rc)
{
    while (lane->busy_count > 0) {
        bool at_once = rc != 0 || send_stopped(lane->send) == SEND_LOST;
        cancel(lane, at_once);
        rc = wait_for_results(lane, at_once);
    }
}

static void dismiss_parked(const struct list *deliveries)
{
    LIST_FOR (node, deliveries) {
        struct delivery *delivery = LIST_ITEM(node, struct delivery, link);
        if (!delivery->parked)
            continue;
        delivery->parked = false;
        await_done(&delivery->next, -ECANCELED);
    }
}

/* co: Ends all coroutines of the lane and waits for them. No device may be under way. */
AWAITS static void dismiss(struct lane *lane)
{
    dismiss_parked(&lane->free);
    dismiss_parked(&lane->ended);
    while (lane->alive_count > 0)
        (void)wait_for_results(lane, true);
}

/* Takes a slot for one device. A lane with no device under way needs none, so that every send makes
 * progress. */
static bool enter(struct lane *lane, struct window_place *ret_place)
{
    const struct queue_item *item = &lane->send->item;
    const struct share_owner send = {.project = item->project->number, .part = item->id};

    return window_enter(&lane->providers->window, lane->provider, send, ret_place) ||
           lane->busy_count == 0;
}

static void begin_some(struct lane *lane)
{
    struct window_place place;

    while (lane->next < lane->rows.count && lane->busy_count + lane->ended_count < lane->window) {
        const struct sql_deliveries_page_row row = sql_deliveries_page_row(&lane->rows, lane->next);
        if (row.token.ptr == NULL)
            lane_skip(lane, &row);
        else if (enter(lane, &place))
            begin(lane, &row, place);
        else
            return;
        lane->next++;
    }
}

/* co: Runs until the last row is recorded, the send stops, or the provider is not configured. */
AWAITS static int go_on(struct lane *lane)
{
    while (send_stopped(lane->send) == SEND_GOES_ON) {
        if (lane->next == lane->rows.count && !lane->last)
            TRY(lane_read_page(lane));
        if (!providers_has(lane->providers, lane->provider))
            return 0;
        begin_some(lane);
        if (lane->busy_count + lane->ended_count == 0 && lane->last)
            return 0;
        if (to_record(lane))
            TRY(lane_record(lane));
        else
            TRY(wait_for_results(lane, false));
        if (clock_mono_ms() - lane->looked_ms >= LOOK_MS)
            TRY(look_at_send(lane));
    }
    return 0;
}

AWAITS static int lane_end(struct lane *lane, int rc)
{
    wait_for_busy(lane, rc);
    if (rc == 0 && lane->ended_count > 0 && lane->send->stop != SEND_LOST)
        rc = lane_record(lane);
    if (rc == 0 && lane->send->stop == SEND_GOES_ON &&
        !providers_has(lane->providers, lane->provider))
        rc = lane_fail(lane->task, lane->send, lane->provider, STR("NO_PROVIDER"));
    return rc;
}

static void lane_prepare(struct lane *lane)
{
    list_init(&lane->free);
    list_init(&lane->busy);
    list_init(&lane->ended);
    lane->scratch = arena_new(0);
    lane->page = arena_new(0);
    lane->looked_ms = clock_mono_ms();
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

/* Frees the lane. No device is under way. Devices without a recorded result are sent to again. */
static void lane_clear(struct lane *lane)
{
    free_deliveries(&lane->free);
    free_deliveries(&lane->ended);
    arena_free(lane->page);
    arena_free(lane->scratch);
    providers_release(lane->providers);
}

int lane_run(struct task *task, struct send *send, enum push_provider provider)
{
    const struct app_conf *conf = dispatcher_conf();
    struct lane lane = {
        .task = task,
        .send = send,
        .provider = provider,
        .providers = providers_hold(send->providers),
        .window = (size_t)(provider == PUSH_FCM ? conf->fcm_requests : conf->web_push_requests),
    };
    struct arena *own = task->arena;

    lane_prepare(&lane);
    task->arena = lane.scratch;
    int rc = lane_end(&lane, go_on(&lane));
    dismiss(&lane);
    task->arena = own;
    lane_clear(&lane);
    return rc;
}
