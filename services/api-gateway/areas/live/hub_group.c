/* Groups of listeners that are at the same position. */
#include "areas/live/hub.h"

#include <stdlib.h>

#include "base/panic.h"

void hub_group_move(struct hub_group *group, const struct live_position *position)
{
    struct arena *arena = arena_new(256);

    group->position = (struct live_position){
        .since = arena_dup(arena, position->since),
        .upto = position->upto.len > 0 ? arena_dup(arena, position->upto) : STR_NONE,
        .after_seq = position->upto.len > 0 ? position->after_seq : 0,
    };
    arena_free(group->arena);
    group->arena = arena;
}

struct hub_group *hub_group_new(struct hub *hub)
{
    struct hub_group *group = calloc(1, sizeof(*group));

    MUST(group != NULL);
    list_init(&group->listeners);
    group->created_round = hub->rounds;
    list_append(&hub->late_groups, &group->link);
    return group;
}

void hub_group_free(struct hub_group *group)
{
    list_remove(&group->link);
    arena_free(group->arena);
    free(group);
}

void hub_group_send(struct task *task, struct hub_group *group, struct http_chunk *chunk)
{
    LIST_FOR (link, &group->listeners) {
        task_pause_if_due(task);
        http_feed_send(&LIST_ITEM(link, struct hub_subscriber, link)->feed, chunk);
    }
    http_chunk_unref(chunk);
}
