#pragma once
/*
 * Jobs as rows: how they come to be. What happens to them afterwards is the runner's
 * (services/workflow-runner). A job is durable when its row is committed; the notification
 * only makes it start at once.
 */
#include <jansson.h>

#include "bus/bus.h"
#include "project/project.h"

/* What starts a job by hand or over its route. */
struct job_start {
    int64_t workflow_id;            /* or */
    struct str route;               /* lower case: enabled api trigger */
    struct str data;                /* JSON text of the trigger data, STR_NONE = none */
    int64_t trigger_id;             /* ?id= */
    struct str trigger_entity;      /* ?entity_name= */
    int64_t actor_id, actor_key_id; /* the caller; its key, 0 = a token */
    int depth;
    int64_t queued_max; /* jobs of the project that may wait */
    struct str traceparent;
};
/* any: the one statement that queues it and returns job_id (null: too many wait), workflow_id, or
 * no row when there is no such enabled workflow. Parameters live in the arena. */
struct db_call job_start_call(struct arena *arena, const struct job_start *start);
/* any: notifies the runners, after the commit. */
void jobs_notify(struct directory *directory, const struct project *project, int64_t job_id);
/* any: notifies every runner that a job was cancelled (hint: the fencing token is the truth). */
void jobs_cancel_hint(struct directory *directory, const struct project *project, int64_t job_id);
#define JOBS_CANCEL_CHANNEL "groundwork:jobs:cancel" /* "<project number>:<job id>" */
