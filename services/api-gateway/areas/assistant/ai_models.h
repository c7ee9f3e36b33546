#pragma once
/* The models of projects' servers, remembered for a moment, a few dozen projects at most. */
#include "areas/assistant/ai.h"

/* co: the project's configuration, and the models that may be asked for; 409 without an endpoint,
 * else what ai_server_check() says. Arena-owned. */
AWAITS int ai_models_find(struct req *r,
                          struct ai_config *ret_config,
                          struct model_names *ret_names) MUSTCHECK;
/* any: nothing is remembered. */
void ai_models_stop(void);
