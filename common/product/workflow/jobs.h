#pragma once
/*
 * Jobs as rows: how jobs are created. The runner (services/workflow-runner) does the rest. A job is
 * durable when its row is committed. The notification only makes the job start at once.
 */
#include <jansson.h>

#include "bus/bus.h"
#include "project/project.h"

/* The parameters of a job that is started by hand or over its route. */
struct job_start {
    int64_t workflow_id;       /* 0 when `route` is given */
    struct str route;          /* of an enabled api trigger, lower case; empty with workflow_id */
    struct str data;           /* trigger data as JSON text, STR_NONE = none */
    int64_t trigger_id;        /* query parameter `id` */
    struct str trigger_entity; /* query parameter `entity_name` */
    int64_t actor_id, actor_key_id; /* user and API key of the caller; actor_key_id 0 = the caller
                                       used an access token */
    int depth;
    int64_t queued_max; /* limit of queued jobs of the project */
    struct str traceparent;
};
/* any: Returns the statement that queues the job. Its row has job_id (null: too many jobs are
 * queued) and workflow_id. There is no row when no enabled workflow matches. The statement's
 * parameters live in the arena. */
struct db_call job_start_call(struct arena *arena, const struct job_start *start);
/* any: Notifies the runners of a queued job. Call this after the commit. */
void jobs_notify_queued(struct directory *directory, const struct project *project, int64_t job_id);
/* any: Notifies every runner that a job was cancelled. This is only a hint: the fencing token of
 * the job decides. Without Redis nothing is sent. */
void jobs_notify_cancel(struct directory *directory, const struct project *project, int64_t job_id);
#define JOBS_CANCEL_CHANNEL "groundwork:jobs:cancel" /* message: "<project number>:<job id>" */
