#pragma once
/* What a step's action calls when it writes or sends. */
#include "base/result.h"

struct step_call;

/* co: opens call->tx: the job's lease is locked by our token. The step's history row and its outbox
 * rows go into the same transaction. 0 or STEP_GONE. */
AWAITS int step_begin(struct step_call *call) MUSTCHECK;
/* co: commits "sent" with call->input as the history row, before anything leaves the process. 0 or
 * STEP_GONE. */
AWAITS int step_sent(struct step_call *call) MUSTCHECK;
