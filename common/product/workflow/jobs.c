/* Jobs as rows: started by hand or over a route; their bells and hints. */
#include "workflow/jobs.h"

#include "base/num.h"
#include "job_start_sql.h"
#include "redis/redis.h"

#define START_PARAMS 9
#define NUMBER_BYTES 24

struct db_call job_start_call(struct arena *arena, const struct job_start *start)
{
    struct db_param *params = ARENA_ARRAY(arena, params, START_PARAMS);
    bool by_route = start->route.len > 0;

    params[0] = by_route ? P_STR(start->route) : P_I64(start->workflow_id);
    params[1] = P_I64(start->trigger_id);
    params[2] = start->trigger_entity.len ? P_STR(start->trigger_entity) : P_NULL;
    params[3] = P_STR(start->data);
    params[4] = start->actor_id ? P_I64(start->actor_id) : P_NULL;
    params[5] = start->actor_key_id ? P_I64(start->actor_key_id) : P_NULL;
    params[6] = P_I64(start->depth);
    params[7] = start->traceparent.len ? P_STR(start->traceparent) : P_NULL;
    params[8] = P_I64(start->queued_max);
    return (struct db_call){
        .sql = by_route ? &SQL_JOB_START_ROUTE : &SQL_JOB_START_WORKFLOW,
        .params = params,
        .param_count = START_PARAMS,
    };
}

void jobs_ring(struct directory *directory, const struct project *project, int64_t job_id)
{
    bus_ring(directory_bus(directory),
             BUS_JOB,
             &(struct bus_bell){
                 .project = project->number,
                 .partition = project->partition,
                 .kind = "job.queued",
                 .row_id = job_id,
             });
}

void jobs_cancel_hint(struct directory *directory, const struct project *project, int64_t job_id)
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
