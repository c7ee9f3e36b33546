/*
 * One round of a hub: checks what listeners may still follow, sends new changes to the listeners
 * that are up to date, then sends the other listeners what they have missed.
 */
#include "areas/live/hub.h"

#include "base/clock.h"
#include "realtime_sql.h"

#define LISTEN_MS       60000 /* between two calls of live_log_keep() */
#define RIGHTS_CHECK_MS 60000 /* between two checks of rights, even if the epoch is the same */
#define BEAT_MS         15000
#define PAGES_MAX       8 /* of one group, before other groups are read */

/* --- new listeners --- */

static void hub_greet(const struct hub_round *round, struct hub_subscriber *listener)
{
    struct arena *arena = round->task->arena;
    struct str position = live_position_print(arena, &round->hub->current.position);

    if (listener->position_is_malformed)
        hub_send(listener, hub_event_reset(arena, position, NULL, "position"));
    listener->position_is_malformed = false;
    hub_send(listener, hub_event_hello(arena, position));
}

static void hub_greet_all(const struct hub_round *round, struct list *listeners)
{
    struct list *link;

    while ((link = list_shift(listeners)) != NULL) {
        list_append(&round->hub->current.listeners, link);
        hub_greet(round, LIST_ITEM(link, struct hub_subscriber, link));
    }
}

/* New listeners join the group that is up to date. The next read of that group begins at or before
 * the positions where their streams began, so that it contains every change committed since. */
static void hub_admit(struct hub *hub)
{
    struct list *link;

    while ((link = list_shift(&hub->new_listeners)) != NULL) {
        list_append(&hub->current.listeners, link);
        LIST_ITEM(link, struct hub_subscriber, link)->is_new = hub->has_new_listeners = true;
    }
}

static void hub_greet_new(const struct hub_round *round)
{
    struct hub *hub = round->hub;

    if (!hub->has_new_listeners)
        return;
    hub->has_new_listeners = false;
    LIST_FOR (link, &hub->current.listeners) {
        struct hub_subscriber *listener = LIST_ITEM(link, struct hub_subscriber, link);
        if (listener->is_new)
            hub_greet(round, listener);
        listener->is_new = false;
    }
}

/* --- reading --- */

/* co: Reads and sends until there is nothing more, PAGES_MAX pages at most. */
AWAITS static int hub_read_group(const struct hub_round *round,
                                 struct hub_group *group,
                                 struct str upto,
                                 bool *ret_more)
{
    int rc = 0;

    group->is_reading = true;
    *ret_more = true;
    for (int page = 0; rc == 0 && *ret_more && page < PAGES_MAX; page++)
        rc = hub_deliver(round, group, upto, ret_more);
    group->is_reading = false;
    return rc;
}

/* co: Reads the group hub->current. Runs also after each read of a late group. */
AWAITS static int hub_read_current(const struct hub_round *round)
{
    struct hub *hub = round->hub;
    bool more = false;

    TRY(hub_read_group(round, &hub->current, STR_NONE, &more));
    hub->needs_round = hub->needs_round || more;
    hub->was_busy = hub->was_busy && !more && list_empty(&hub->late_groups);
    return 0;
}

/* co: Reads the late groups up to the position of hub->current. The listeners of a group that has
 * reached this position join hub->current, whose position has not changed, because only this
 * coroutine moves it. */
AWAITS static int hub_read_late_groups(const struct hub_round *round)
{
    struct hub *hub = round->hub;

    while (!list_empty(&hub->late_groups)) {
        struct hub_group *group = LIST_ITEM(hub->late_groups.next, struct hub_group, link);
        bool more = false;
        /* A group that was created in this round may have a later position than `current`, and
         * `current` may be in the middle of a page. In both cases the next round reads `current`
         * first. */
        if (group->created_round == hub->rounds || hub->current.position.upto.len > 0) {
            hub->needs_round = true;
            return 0;
        }
        struct str upto = arena_dup(round->task->arena, hub->current.position.since);
        TRY(hub_read_group(round, group, upto, &more));
        if (more) {
            list_remove(&group->link);
            list_append(&hub->late_groups, &group->link);
            hub->needs_round = true;
        } else {
            hub_greet_all(round, &group->listeners);
            hub_group_free(group);
        }
        TRY(hub_read_current(round));
        if (more)
            return 0;
    }
    return 0;
}

/* --- time --- */

static void
listeners_dismiss_expired(const struct hub_round *round, struct list *listeners, int64_t now_ms)
{
    LIST_FOR (link, listeners) {
        struct hub_subscriber *listener = LIST_ITEM(link, struct hub_subscriber, link);
        if (listener->caller.ends_ms <= now_ms)
            hub_dismiss(listener, round->task->arena, "token_expired");
    }
}

AWAITS static void hub_send_beat(const struct hub_round *round)
{
    struct hub *hub = round->hub;
    int64_t now_ms = clock_mono_ms();

    if (now_ms - hub->beat_ms < BEAT_MS)
        return;
    hub->beat_ms = now_ms;
    struct str position = live_position_print(round->task->arena, &hub->current.position);
    hub_group_send(round->task, &hub->current, hub_event_beat(round->task->arena, position));
}

AWAITS static int hub_renew_logging(const struct hub_round *round)
{
    struct hub *hub = round->hub;
    int64_t now_ms = clock_mono_ms();

    if (hub->log_renewed_ms != 0 && now_ms - hub->log_renewed_ms < LISTEN_MS)
        return 0;
    TRY(live_log_keep(round->task, gateway_directory(), round->project));
    hub->log_renewed_ms = now_ms;
    return 0;
}

static bool hub_rights_are_due(const struct hub_round *round)
{
    const struct hub *hub = round->hub;

    return hub->epoch != round->project->epoch || hub->model_version != round->model->version ||
           clock_mono_ms() - hub->rights_checked_ms >= RIGHTS_CHECK_MS;
}

int hub_round(struct task *task, struct hub *hub)
{
    struct hub_round round = {.task = task, .hub = hub};

    hub->rounds++;
    TRY(project_find_number(task, gateway_directory(), hub->number, &round.project));
    TRY(hub_renew_logging(&round));
    project_hold(task->arena, round.project);
    round.model = round.project->model;
    if (hub_rights_are_due(&round))
        TRY(hub_check_rights(&round));
    int64_t now_ms = clock_wall_ms();
    listeners_dismiss_expired(&round, &hub->current.listeners, now_ms);
    listeners_dismiss_expired(&round, &hub->new_listeners, now_ms);
    if (hub->current.position.upto.len == 0)
        hub_admit(hub);
    TRY(hub_read_current(&round));
    if (hub->current.position.upto.len == 0)
        hub_greet_new(&round);
    TRY(hub_work_poll(&round));
    TRY(hub_read_late_groups(&round));
    hub_send_beat(&round);
    return 0;
}
