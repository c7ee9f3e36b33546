#pragma once
/* Jobs of one tick begin together, as many as there is room for. */
#include "job.h"

/* any: runs the job of a tick when its turn has come: what many projects need at once is not asked
 * for all at once. */
void begin_in_turn(struct queue_item *item);
/* any: it ended. */
void begin_ended(struct job *job);
/* any: while ticks are being made hardly anything begins. */
void begin_hold(bool hold);
