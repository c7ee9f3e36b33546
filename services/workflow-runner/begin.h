#pragma once
/* Starts the jobs of one tick a few at a time. */
#include "job.h"

/* any: Runs the job of a tick when its turn has come, so that many projects do not demand the same
 * resources at the same time. */
void begin_enqueue(struct queue_item *item);
/* any: The job has ended: gives its place to the next job. Ignores a job that holds no place. */
void begin_ended(struct job *job);
/* any: While `hold` is true at most two jobs begin at a time, because ticks are being made. */
void begin_hold(bool hold);
