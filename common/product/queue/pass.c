/* Work without leases: one pass of a project at a time. */
#include "loop/background.h"
#include "queue/queue_private.h"

#define PASS_MS 15000

/* --- pauses --- */

void pass_unpause(struct queue_project *project)
{
    if (!project->paused)
        return;
    project->paused = false;
    loop_timer_stop(&project->pause);
}

static void on_pause_end(void *arg)
{
    struct queue_project *project = arg;

    project->paused = false;
    queue_join(project);
}

void queue_pause(struct queue *queue, int64_t number, int64_t ms)
{
    struct queue_project *project = queue_project(queue, number);

    pass_unpause(project);
    project->paused = true;
    loop_timer_init(&project->pause, on_pause_end, project);
    loop_timer_start(&project->pause, ms);
}

void queue_resume(struct queue *queue, int64_t number)
{
    struct queue_project *project = turns_find(&queue->turns, number);

    if (project == NULL || !project->paused)
        return;
    pass_unpause(project);
    queue_join(project);
}

/* --- a pass --- */

static void pass_run(struct task *task, void *arg)
{
    struct queue_project *own = arg;
    struct queue *queue = own->queue;
    const struct queue_kind *kind = queue->kind;
    struct project *project;
    bool more = false;

    int rc = project_find_number(task, queue->config.directory, own->number, &project);
    bool gone = rc == PROJECT_NOT_FOUND;
    if (rc == 0)
        rc = kind->pass(task, queue, project, &more);
    bool refused = rc != 0 && !gone;
    queue->stats.done += rc == 0;
    queue_slots_return(own, 1);
    queue_lane_done(own, LANE_FRESH, refused || more);
    if (refused)
        turns_retry(&queue->turns);
    else
        queue_join(own);
    queue_pump(queue);
    queue_check_drained(queue);
}

void pass_start(struct queue_project *project)
{
    int64_t limit_ms = project->queue->kind->pass_ms;

    project->lanes[LANE_FRESH].state = LANE_CLAIMING; /* work that arrives now needs another pass */
    background_run(limit_ms > 0 ? limit_ms : PASS_MS, pass_run, project);
}
