/* Jobs as rows: starts by hand or over a route, and their notifications. */
#include "workflow/jobs.h"

#include "base/num.h"
#include "job_start_sql.h"
#include "redis/redis.h"

#define NUMBER_BYTES 24

struct db_call job_start_call(struct arena *arena, const struct job_start *start)
{
    struct str entity = start->trigger_entity.len ? start->trigger_entity : STR_NONE;
    struct str trace = start->traceparent.len ? start->traceparent : STR_NONE;

    return db_call_new(arena,
                       start->route.len > 0 ? &SQL_JOB_START_ROUTE : &SQL_JOB_START_WORKFLOW,
                       SQL_JOB_START_ARGS(.id = start->workflow_id,
                                          .route = start->route.len > 0 ? start->route : STR_NONE,
                                          .trigger_id = start->trigger_id,
                                          .trigger_entity = entity,
                                          .trigger_data = start->data,
                                          .actor_id = some_id(start->actor_id),
                                          .actor_key_id = some_id(start->actor_key_id),
                                          .depth = start->depth,
                                          .trace = trace,
                                          .queued_max = start->queued_max));
}

void jobs_notify_queued(struct directory *directory, const struct project *project, int64_t job_id)
{
    bus_notify(directory_bus(directory),
               BUS_JOB,
               &(struct bus_notification){
                   .project = project->number,
                   .partition = project->partition,
                   .kind = "job.queued",
                   .row_id = job_id,
               });
}

void jobs_notify_cancel(struct directory *directory, const struct project *project, int64_t job_id)
{
    struct redis *redis = directory_redis(directory);
    char text[2 * NUMBER_BYTES];

    if (!redis)
        return;
    size_t len = num_print_i64(text, project->number);
    text[len++] = ':';
    len += num_print_i64(text + len, job_id);
    redis_post(redis,
               REDIS_ARGS(STR("PUBLISH"), STR(JOBS_CANCEL_CHANNEL), ((struct str){text, len})));
}
