/*
 * The audit log in streams of changes. The entries of a page are sent before its changes: those
 * that the snapshot at the end of the page has and the snapshot at its beginning has not. So a
 * position covers entries as it covers changes, and a client that reconnects neither misses an
 * entry nor receives one twice.
 */
#include "areas/live/hub.h"

#include "realtime_sql.h"

#define ENTRIES_MAX 200 /* per page */

static bool hears_audit(const struct hub_listener *listener)
{
    return !listener->gone && (listener->work & 1U << HUB_AUDIT);
}

static bool anybody_hears(const struct hub_group *group)
{
    LIST_FOR (link, &group->listeners)
        if (hears_audit(LIST_ITEM(link, struct hub_listener, link)))
            return true;
    return false;
}

static bool audit_is(struct str wanted, struct str is)
{
    return wanted.len == 0 || str_eq(wanted, is);
}

static bool audit_is_wanted(const struct hub_audit *audit,
                            const struct sql_realtime_audit_row *entry)
{
    return (audit->actor == 0 || (entry->actor_id.set && entry->actor_id.value == audit->actor)) &&
           audit_is(audit->kind, entry->actor_kind) && audit_is(audit->action, entry->action) &&
           audit_is(audit->target, entry->target) && audit_is(audit->target_id, entry->target_id);
}

AWAITS static void send_entry(const struct hub_round *round,
                              const struct hub_group *group,
                              struct str position,
                              const struct sql_realtime_audit_row *entry)
{
    struct http_piece *piece = hub_event_audit(round->task->arena, position, entry->doc);

    LIST_FOR (link, &group->listeners) {
        struct hub_listener *listener = LIST_ITEM(link, struct hub_listener, link);
        /* This may run other tasks, but no listener leaves the list until the round has ended. */
        task_pause_if_due(round->task);
        if (hears_audit(listener) && audit_is_wanted(&listener->audit, entry))
            http_feed_send(&listener->feed, piece);
    }
    http_piece_unref(piece);
}

int hub_audit_deliver(const struct hub_round *round,
                      struct hub_group *group,
                      struct str upto,
                      bool *ret_more)
{
    struct arena *arena = round->task->arena;
    struct live_position position = {.since = arena_dup(arena, group->position.since),
                                     .upto = arena_dup(arena, upto)};
    struct rows rows;

    *ret_more = false;
    if (group->position.behind > 0 || !anybody_hears(group))
        return 0;
    TRY(db_query(round->task,
                 &round->project->db,
                 SQL_REALTIME_AUDIT(.since = position.since,
                                    .upto = position.upto,
                                    .behind = -group->position.behind,
                                    .most = ENTRIES_MAX),
                 &rows));
    for (size_t i = 0; i < rows.count; i++) {
        const struct sql_realtime_audit_row entry = sql_realtime_audit_row(&rows, i);
        position.behind = -entry.id;
        send_entry(round, group, live_position_print(arena, &position), &entry);
    }
    if (rows.count > 0)
        hub_group_move(group, &position);
    round->hub->busy = round->hub->busy || rows.count > 0;
    *ret_more = rows.count == ENTRIES_MAX;
    return 0;
}
