/* Releases rows: another process can claim them at once, and the claim does not count as an
 * attempt. */
#include "log/log.h"
#include "loop/background.h"
#include "queue/queue_private.h"

#define RELEASE_MS 2000

struct release {
    struct queue_project *project;
    int64_t *ids, *tokens;
    size_t count;
    bool begun;
};

static void release_run(struct task *task, void *arg)
{
    struct release *release = arg;
    struct queue_project *own = release->project;
    struct queue *queue = own->queue;
    struct project *project;

    struct db_call calls[] = {
        {0},
        QUEUE_CALL(task->arena,
                   queue->kind->release,
                   {"ids", P_I64S(release->ids, release->count)},
                   {"tokens", P_I64S(release->tokens, release->count)}),
    };
    int rc = project_find_number(task, queue->config.directory, own->number, &project);
    if (rc == 0)
        rc = queue_batch(task, &project->db, calls, ARRAY_LEN(calls));
    own->releases_running--;
    if (rc != 0) /* the rows can be claimed again when their leases end */
        log_warn("queue.release_failed",
                 L_CSTR("queue", queue->kind->name),
                 L_I64("project", own->number),
                 L_I64("items", (int64_t)release->count),
                 L_RESULT("rc", rc));
    else
        queue->stats.released += release->count;
    if (release->begun)
        lease_check(own);
    if (rc != 0)
        queue_join(own);
    else if (queue_is_draining(queue))
        queue_notify(queue, project);
    else
        queue_project_due(queue, own->number);
}

static void release_start(struct queue_project *project, bool begun, int first, int last)
{
    struct background *background = background_new(RELEASE_MS);
    struct arena *arena = background_arena(background);
    struct release *release = ARENA_NEW(arena, release);
    size_t most = project->counts[QUEUE_CLAIMED] + queue_project_used_slots(project);

    *release = (struct release){.project = project, .begun = begun};
    release->ids = ARENA_ARRAY(arena, release->ids, most);
    release->tokens = ARENA_ARRAY(arena, release->tokens, most);
    project->releases_running++;
    for (int state = first; state <= last; state++) {
        LIST_FOR (node, &project->items[state]) {
            struct queue_item *item = LIST_ITEM(node, struct queue_item, link);
            release->ids[release->count] = item->id;
            release->tokens[release->count++] = item->token;
            if (!begun)
                queue_item_free(item);
        }
    }
    background_start(background, release_run, release);
}

void release_claimed(struct queue_project *project)
{
    if (project->counts[QUEUE_CLAIMED] > 0)
        release_start(project, false, QUEUE_CLAIMED, QUEUE_CLAIMED);
}

void release_begun(struct queue_project *project)
{
    if (project->counts[QUEUE_RUNNING] + project->counts[QUEUE_RELEASING] > 0)
        release_start(project, true, QUEUE_RUNNING, QUEUE_RELEASING);
}
