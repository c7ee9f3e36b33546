#pragma once
/* The models of projects' servers, remembered for a moment, a few dozen projects at most. */
#include "areas/assistant/ai.h"

/* co: as model_list(), arena-owned. */
AWAITS int ai_models_known(struct task *task,
                           const struct ai_config *config,
                           struct model_names *ret_names) MUSTCHECK;
/* any: nothing is remembered. */
void ai_models_stop(void);
