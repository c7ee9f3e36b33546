#pragma once
/* The models of projects' model servers, cached for half a minute, for at most 64 projects. */
#include "areas/assistant/ai.h"

/* co: Loads the project's settings, and the models that the project allows, from the cache or the
 * server. 409 without an endpoint, else as ai_server_check(). Arena-owned. */
AWAITS int ai_models_load(struct req *r,
                          struct ai_config *ret_config,
                          struct model_names *ret_names) MUSTCHECK;
