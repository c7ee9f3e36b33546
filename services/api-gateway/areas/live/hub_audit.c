/*
 * The audit log in streams of changes. The entries of a page are sent before the page's changes. A
 * page has the entries that are visible in the snapshot at its end and not in the snapshot at its
 * beginning. So a position covers entries as it covers changes, and a client that reconnects
 * neither misses an entry nor receives an entry twice.
 */
#include "areas/live/hub.h"

#include "realtime_sql.h"

#define ENTRIES_MAX 200 /* per page */

static bool wants_audit(const struct hub_subscriber *listener)
{
    return !listener->is_gone && (listener->work & 1U << HUB_AUDIT);
}

static bool group_wants_audit(const struct hub_group *group)
{
    LIST_FOR (link, &group->listeners)
        if (wants_audit(LIST_ITEM(link, struct hub_subscriber, link)))
            return true;
    return false;
}

static bool audit_text_matches(struct str wanted, struct str is)
{
    return wanted.len == 0 || str_eq(wanted, is);
}

static bool audit_entry_matches(const struct hub_audit *audit,
                                const struct sql_realtime_audit_row *entry)
{
    return (audit->actor == 0 || (entry->actor_id.set && entry->actor_id.value == audit->actor)) &&
           audit_text_matches(audit->kind, entry->actor_kind) &&
           audit_text_matches(audit->action, entry->action) &&
           audit_text_matches(audit->target, entry->target) &&
           audit_text_matches(audit->target_id, entry->target_id);
}

AWAITS static void audit_send_entry(const struct hub_round *round,
                                    const struct hub_group *group,
                                    struct str position,
                                    const struct sql_realtime_audit_row *entry)
{
    struct http_chunk *chunk = hub_event_audit(round->task->arena, position, entry->doc);

    LIST_FOR (link, &group->listeners) {
        struct hub_subscriber *listener = LIST_ITEM(link, struct hub_subscriber, link);
        /* This may run other tasks, but no listener leaves the list until the round has ended. */
        task_pause_if_due(round->task);
        if (wants_audit(listener) && audit_entry_matches(&listener->audit, entry))
            http_feed_send(&listener->feed, chunk);
    }
    http_chunk_unref(chunk);
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
    if (group->position.after_seq > 0 || !group_wants_audit(group))
        return 0;
    TRY(db_query(round->task,
                 &round->project->db,
                 SQL_REALTIME_AUDIT(.since = position.since,
                                    .upto = position.upto,
                                    .behind = -group->position.after_seq,
                                    .most = ENTRIES_MAX),
                 &rows));
    for (size_t i = 0; i < rows.count; i++) {
        const struct sql_realtime_audit_row entry = sql_realtime_audit_row(&rows, i);
        position.after_seq = -entry.id;
        audit_send_entry(round, group, live_position_print(arena, &position), &entry);
    }
    if (rows.count > 0)
        hub_group_move(group, &position);
    round->hub->was_busy = round->hub->was_busy || rows.count > 0;
    *ret_more = rows.count == ENTRIES_MAX;
    return 0;
}
