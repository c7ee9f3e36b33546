/* Hubs: created with the first listener of a project, freed with the last one. */
#include "areas/live/hub.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/num.h"
#include "base/panic.h"
#include "http/resp.h"
#include "http/server.h"
#include "live/live.h"
#include "live_sql.h"
#include "loop/background.h"
#include "metrics/metrics.h"
#include "realtime_sql.h"
#include "redis/redis.h"

#define POLL_MS          1000 /* without a doorbell */
#define POLL_NO_REDIS_MS 150  /* without a doorbell, while Redis is unavailable */
#define TICK_MS          100  /* between checks of the epoch */
#define MORE_MS          5    /* before a round that has more to read */
#define BUSY_DELAY_MS    20   /* after a round that sent something, to read more at once */
#define ROUND_LIMIT_MS   20000
#define QUEUED_MAX       ((size_t)512 * 1024) /* more unsent bytes end a feed */

static struct {
    struct directory *directory;
    struct list hubs;
    struct shares slots;
    bool stopped;
} live;

/* --- listeners --- */

static void hub_free_if_empty(struct hub *hub)
{
    if (hub->listeners > 0 || hub->is_running)
        return;
    loop_timer_stop(&hub->timer);
    LIST_FOR (link, &hub->late_groups)
        hub_group_free(LIST_ITEM(link, struct hub_group, link));
    MUST(map_size(hub->tests) == 0);
    map_free(hub->tests);
    arena_free(hub->current.arena);
    arena_free(hub->shapes_arena);
    hub_work_clear(hub);
    list_remove(&hub->link);
    free(hub);
}

static void listener_free(struct hub_subscriber *listener)
{
    struct hub *hub = listener->hub;

    list_remove(&listener->link);
    for (size_t i = 0; i < listener->watch_count; i++)
        hub_test_unref(listener->watches[i].test);
    rights_unref((struct rights *)listener->caller.rights);
    arena_free(listener->arena);
    shares_release(&live.slots, listener->share, 1);
    free(listener);
    hub->listeners--;
}

/* A running round may be using the listener, so hub_round_end() frees it then. */
static void on_feed_closed(void *arg)
{
    struct hub_subscriber *listener = arg;
    struct hub *hub = listener->hub;

    listener->is_gone = true;
    if (hub->is_running)
        return;
    listener_free(listener);
    hub_free_if_empty(hub);
}

void hub_dismiss(struct hub_subscriber *listener, struct arena *arena, const char *code)
{
    if (listener->is_gone)
        return;
    hub_send(listener, hub_event_end(arena, code));
    http_feed_close(&listener->feed);
    listener->is_gone = true;
}

static void listeners_remove_gone(struct list *listeners)
{
    LIST_FOR (link, listeners) {
        struct hub_subscriber *listener = LIST_ITEM(link, struct hub_subscriber, link);
        if (listener->is_gone)
            listener_free(listener);
    }
}

/* --- rounds --- */

static void hub_round_end(struct hub *hub)
{
    hub->is_running = false;
    listeners_remove_gone(&hub->current.listeners);
    listeners_remove_gone(&hub->new_listeners);
    LIST_FOR (link, &hub->late_groups) {
        struct hub_group *group = LIST_ITEM(link, struct hub_group, link);
        listeners_remove_gone(&group->listeners);
        if (list_empty(&group->listeners))
            hub_group_free(group);
    }
    const struct redis *redis = directory_redis(live.directory);
    bool up = redis && redis_up(redis);
    int64_t now_ms = clock_mono_ms();
    hub->poll_due_ms = now_ms + (up ? POLL_MS : POLL_NO_REDIS_MS);
    hub->busy_until_ms = hub->was_busy ? now_ms + BUSY_DELAY_MS : 0;
    if (!live.stopped)
        loop_timer_start(&hub->timer,
                         !hub->needs_round ? TICK_MS
                         : hub->was_busy   ? BUSY_DELAY_MS
                                           : MORE_MS);
    hub_free_if_empty(hub);
}

static void listeners_dismiss(struct list *listeners, struct arena *arena)
{
    LIST_FOR (link, listeners)
        hub_dismiss(LIST_ITEM(link, struct hub_subscriber, link), arena, "not_found");
}

AWAITS static void hub_run(struct task *task, void *arg)
{
    struct hub *hub = arg;

    hub->needs_round = false;
    hub->was_busy = false;
    task->project = hub->number;
    int rc = hub_round(task, hub);
    if (rc == PROJECT_NOT_FOUND) {
        listeners_dismiss(&hub->current.listeners, task->arena);
        listeners_dismiss(&hub->new_listeners, task->arena);
        LIST_FOR (link, &hub->late_groups)
            listeners_dismiss(&LIST_ITEM(link, struct hub_group, link)->listeners, task->arena);
    } else if (rc != 0 && rc != -ECANCELED) {
        hub->needs_round = hub->needs_round || rc == -ETIMEDOUT || rc == -EAGAIN ||
                           rc == DB_SCHEMA; /* the next round continues where this one ended */
        log_debug("live.round_failed", L_I64("project", hub->number), L_RESULT("rc", rc));
    }
    hub_round_end(hub);
}

static void hub_on_timer(void *arg)
{
    struct hub *hub = arg;

    if (hub->is_running || live.stopped)
        return;
    if (!hub->needs_round && clock_mono_ms() < hub->poll_due_ms &&
        clock_mono_ms() < hub->work_due_ms &&
        directory_epoch(live.directory, hub->number) == hub->epoch) {
        loop_timer_start(&hub->timer, TICK_MS);
        return;
    }
    hub->is_running = true;
    background_run(ROUND_LIMIT_MS, hub_run, hub);
}

static void hub_wake(struct hub *hub)
{
    int64_t rest_ms = hub->busy_until_ms - clock_mono_ms();

    hub->needs_round = true;
    if (!hub->is_running && !live.stopped)
        loop_timer_start(&hub->timer, rest_ms > 0 ? rest_ms : 0);
}

static struct hub *hub_find(int64_t number)
{
    LIST_FOR (link, &live.hubs) {
        struct hub *hub = LIST_ITEM(link, struct hub, link);
        if (hub->number == number)
            return hub;
    }
    return NULL;
}

static void on_doorbell(struct str payload, void *arg UNUSED)
{
    struct hub *hub;
    int64_t number;

    if (!payload.ptr) { /* reconnected: messages may have been lost */
        LIST_FOR (link, &live.hubs)
            hub_wake(LIST_ITEM(link, struct hub, link));
        return;
    }
    if (num_parse_i64(payload, &number) && (hub = hub_find(number)) != NULL)
        hub_wake(hub);
}

static struct hub *hub_new(int64_t number)
{
    struct hub *hub = calloc(1, sizeof(*hub));

    MUST(hub != NULL);
    hub->number = number;
    hub->epoch = -1;
    hub->model_version = -1;
    list_init(&hub->current.link);
    list_init(&hub->current.listeners);
    list_init(&hub->new_listeners);
    list_init(&hub->late_groups);
    hub->tests = map_new();
    loop_timer_init(&hub->timer, hub_on_timer, hub);
    list_append(&live.hubs, &hub->link);
    return hub;
}

/* --- start and stop --- */

static void hub_start(struct directory *directory, const struct app_conf *conf)
{
    live.directory = directory;
    live.stopped = false;
    list_init(&live.hubs);
    shares_init(&live.slots,
                &(struct shares_config){
                    .name = "live_listeners",
                    .limit = (uint64_t)conf->live_listeners,
                    .per_owner = SHARES_ANY,
                    .leave_room = true,
                });
    if (directory_redis(directory))
        redis_subscribe(directory_redis(directory), LIVE_CHANNEL, on_doorbell, NULL);
}

/* Lets no further round begin. The feeds end when the HTTP server stops. */
static void hub_stop(void)
{
    if (!live.directory)
        return;
    live.stopped = true;
    LIST_FOR (link, &live.hubs)
        loop_timer_stop(&LIST_ITEM(link, struct hub, link)->timer);
}

const struct area_life hub_life = {.start = hub_start, .drain = hub_stop, .stop = hub_stop};

/* --- new listeners --- */

struct share *hub_acquire_slot(struct req *r)
{
    struct share *share;

    return shares_try(&live.slots, share_owner_of(&r->task), 1, &share) == 0 ? share : NULL;
}

/* Puts the listener into a late group at the position `text`, or into hub->new_listeners when
 * `text` is no valid position. *ret_print: the fingerprint in `text`, otherwise the listener's
 * current fingerprint. */
static void hub_add_listener(struct hub *hub,
                             struct hub_subscriber *listener,
                             struct str text,
                             struct hub_fingerprint *ret_print)
{
    struct live_position position;

    *ret_print = listener->fingerprint;
    if (!text.ptr || !hub_fingerprint_cut(&text, ret_print) ||
        !live_position_parse(text, &position)) {
        *ret_print = listener->fingerprint;
        listener->position_is_malformed = text.ptr != NULL;
        list_append(&hub->new_listeners, &listener->link);
        return;
    }
    LIST_FOR (link, &hub->late_groups) {
        struct hub_group *group = LIST_ITEM(link, struct hub_group, link);
        bool same = str_eq(group->position.since, position.since) &&
                    str_eq(group->position.upto, position.upto) &&
                    group->position.after_seq == position.after_seq;
        if (same && !group->is_reading) {
            list_append(&group->listeners, &listener->link);
            return;
        }
    }
    struct hub_group *group = hub_group_new(hub);
    hub_group_move(group, &position);
    list_append(&group->listeners, &listener->link);
}

/* Sends a reset when the caller now sees other records or fields than at its last event. Changes
 * that it has missed are sent as its present rights allow. */
static void hub_send_reset_if_changed(struct req *r,
                                      struct hub_subscriber *listener,
                                      struct str position,
                                      struct hub_fingerprint was)
{
    struct hub_fingerprint print;

    if (was.visible == listener->fingerprint.visible && was.shape == listener->fingerprint.shape)
        return;
    const char *reason = was.visible != listener->fingerprint.visible ? "rights" : "model";
    (void)hub_fingerprint_cut(&position, &print);
    hub_send(listener, hub_event_reset(r->task.arena, position, NULL, reason));
}

int hub_group_members_hash(struct req *r, int64_t *ret_members)
{
    const struct caller *caller = r->scope->caller;
    struct rows rows;

    *ret_members = 0;
    if (caller->group_scope == 0)
        return 0;
    TRY(sql_all(r,
                &rows,
                SQL_REALTIME_GROUP(.id = caller->group_scope,
                                   .user_id = caller->user_id,
                                   .role_ids = sql_i64s(caller->rights->role_ids,
                                                        caller->rights->role_count))));
    if (rows.count > 0)
        *ret_members = sql_realtime_group_row(&rows, 0).members;
    return 0;
}

int hub_begin_logging(struct req *r, struct str *ret_begin)
{
    struct project *project = r->scope->project;
    struct rows rows;

    *ret_begin = STR_NONE;
    if (hub_find(project->number))
        return 0;
    TRY(sql_check(r, live_log_keep(&r->task, gateway_directory(), project)));
    TRY(sql_one(r, &rows, SQL_LIVE_NOW()));
    *ret_begin = sql_live_now_row(&rows, 0).now;
    return 0;
}

static void listener_copy_audit(struct hub_subscriber *listener, const struct hub_audit *audit)
{
    size_t bytes = audit->kind.len + audit->action.len + audit->target.len + audit->target_id.len;

    listener->audit = (struct hub_audit){.actor = audit->actor};
    if (bytes == 0)
        return;
    listener->arena = arena_new(256);
    listener->audit.kind = arena_dup(listener->arena, audit->kind);
    listener->audit.action = arena_dup(listener->arena, audit->action);
    listener->audit.target = arena_dup(listener->arena, audit->target);
    listener->audit.target_id = arena_dup(listener->arena, audit->target_id);
}

int hub_subscribe(struct req *r, const struct hub_options *options, struct share *share)
{
    size_t bytes = sizeof(struct hub_subscriber) + options->count * sizeof(struct hub_watch);
    struct hub_subscriber *listener = calloc(1, bytes);
    struct hub *hub = hub_find(r->scope->project->number);
    struct live_position begin;
    struct hub_fingerprint was;

    MUST(listener != NULL);
    if (!hub) {
        MUST(live_position_parse(options->begin_position, &begin));
        hub = hub_new(r->scope->project->number);
        hub_group_move(&hub->current, &begin);
    }
    hub->listeners++;
    list_init(&listener->link);
    listener->hub = hub;
    listener->share = share;
    listener->caller = *r->scope->caller;
    listener->caller.rights = rights_ref((struct rights *)r->scope->caller->rights);
    listener->work = options->work;
    listener_copy_audit(listener, &options->audit);
    if (options->work)
        hub->work_due_ms = 0;
    listener->watch_count = options->count;
    for (size_t i = 0; i < options->count; i++)
        listener->watches[i] = (struct hub_watch){
            .entity_id = options->entities[i]->id,
            .test = hub_test_get(hub, &listener->caller, options->entities[i], options->filter),
        };
    listener->feed =
        (struct http_feed){.on_closed = on_feed_closed, .arg = listener, .queued_max = QUEUED_MAX};
    listener->group_members_hash = options->members;
    hub_fingerprint_update(listener, r->scope->model);
    resp_header(r, "X-Accel-Buffering", STR("no")); /* proxies must not buffer events */
    if (!http_feed_begin(r, STR("text/event-stream"), &listener->feed)) {
        listener_free(listener);
        hub_free_if_empty(hub);
        return -ECANCELED;
    }
    if (listener->caller.group_scope != 0) /* `members` was read before an await: check again */
        hub->epoch = -1;
    hub_add_listener(hub, listener, options->position, &was);
    hub_wake(hub);
    hub_send_reset_if_changed(
        r, listener, options->position, was); /* last: it may free the listener */
    return 200;
}
