#pragma once
/*
 * One job that this process has claimed: an item of the queue with the values of its row. The job
 * belongs to this process as long as its row carries our token. Every write checks the token, and
 * code that finds another token stops at once (JOB_LOST).
 */
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/backoff.h"
#include "base/list.h"
#include "loop/loop.h"
#include "loop/task.h"
#include "project/project.h"
#include "queue/queue.h"
#include "workflow/definition.h"

/* The pause before an operation that is refused for the moment is tried again. */
#define JOB_PAUSE ((struct backoff){.first_ms = 50, .most_ms = 1000})

struct job {
    struct queue_item item; /* its .project is NULL until run.c has found the project; its
                               .task.arena is the job's own arena, or the step's during a step */
    struct list begin_link; /* in the list of jobs that wait, or that have just begun (begin.c) */
    int64_t begun_ms;       /* mono */
    int64_t workflow_id;
    int64_t root; /* start of its chain of events: an outbox row's id, or minus a job's id */
    int version, run, attempt, depth;
    bool resumed;           /* the job has run before: read its history first */
    bool orphan;            /* its workflow was deleted while the job was being made */
    bool disabled;          /* its workflow is not enabled, and the job has not begun yet */
    struct str resume_step; /* key of the step at which a retry begins; empty = the first step */
    struct str trigger_kind, trigger_event, trigger_entity; /* may be empty */
    int64_t trigger_id, trigger_entity_id;                  /* 0 = none */
    struct str trigger_data;                                /* JSON text, STR_NONE = none */
    bool has_large_data; /* the trigger's data is larger than a claim returns: job_budget_acquire()
                            reads it */
    int64_t trigger_at_ms; /* time of the event or the tick */
    struct str traceparent;
    int64_t claimed_ms; /* time of the claim by the database's clock, from which the times in the
                           history are counted */
};

/* any: The current time by the database's clock, in wall-clock milliseconds. */
int64_t job_now_ms(const struct job *job);
/* any: Fills the struct from the row that claimed the job (runner_claim.sql, or runner_schedule.sql
 * for a tick). */
void job_read(struct queue_item *item);
