#pragma once
/*
 * One claimed job in this process: an item of the queue with what its row says. It belongs to us as
 * long as its row carries our token; every write is guarded by it, and whoever finds the token gone
 * stops at once (JOB_LOST).
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

/* Between tries of what is refused for the moment. */
#define JOB_PAUSE ((struct backoff){.first_ms = 50, .most_ms = 1000})

struct job {
    struct queue_item item; /* its .project is NULL until run.c has found it; .task.arena is the
                               job's own, during a step one of the step's */
    struct list turn; /* of a tick: waits for its turn to begin, or has just begun (begin.c) */
    int64_t begun_ms; /* mono */
    int64_t workflow_id;
    int64_t root; /* of its chain of events; itself below 0 when no event began it */
    int version, run, attempt, depth;
    bool resumed;           /* it ran before: read its history first */
    bool orphan;            /* its workflow was deleted while it was made */
    bool disabled;          /* its workflow is not enabled, and it has not begun yet */
    struct str resume_step; /* a retry begins here; empty = start */
    struct str trigger_kind, trigger_event, trigger_entity; /* may be empty */
    int64_t trigger_id, trigger_entity_id;                  /* 0 = none */
    struct str trigger_data;                                /* JSON text, STR_NONE = none */
    bool large; /* trigger_data is more than a claim brings: read when there is room for it */
    int64_t trigger_at_ms; /* of an event or a tick: when it was */
    struct str traceparent;
    int64_t
        claimed_ms; /* the database's clock at the claim, so that times in the history are its */
};

/* any: now by the database's clock (wall ms). */
int64_t job_now_ms(const struct job *job);
/* any: the row that claimed it (runner_claim.sql) into the struct. */
void job_read(struct queue_item *item);

/* --- running (run.c) --- */
