#pragma once
/* Functions that an action calls before it writes or sends. */
#include "base/result.h"

struct step_call;

/* co: Opens call->tx, in which the job's lease is locked by our token. The step's history row and
 * its outbox rows are written in the same transaction. 0, STEP_STOP, or a negative. */
AWAITS int step_begin(struct step_call *call) MUSTCHECK;
/* co: Commits a history row with the status `sent` and call->input, before anything leaves the
 * process. 0, STEP_STOP, or a negative. */
AWAITS int step_sent(struct step_call *call) MUSTCHECK;
