#pragma once
/*
 * Requests to a project's model server, with what this process has learned about the server. A
 * request whose max_tokens or stream_options the server refuses is sent again without that member.
 * When the repetition succeeds, later requests for the model leave the member out, until the server
 * refuses one of them. The last refusal is stored for administrators (GET /ai/config).
 */
#include "areas/assistant/ai.h"

/* A request. Its texts are borrowed for the call. */
struct ai_request {
    int64_t project;
    const struct model_server *server;
    struct str model;        /* STR_NONE = the request lists the models */
    struct str output_limit; /* as in struct ai_config */
    struct str body;         /* ai_request_send() replaces it with the body that was sent */
};

/* co: Sends the request, and repeats it without refused members. Results as of model_request(). */
AWAITS int ai_request_send(struct task *task,
                           struct ai_request *asking,
                           struct fetch_stream **ret_stream,
                           struct model_refusal *ret_refusal) MUSTCHECK;
/* any: Stores a refusal for administrators, in the background. A refusal that cannot be stored is
 * only logged. Copies its arguments. */
void ai_refusal_store(const struct ai_request *asking, const struct model_refusal *refusal);
/* any: Stores, in the same way, an error that came with status 200 in place of an answer. */
void ai_error_store(const struct ai_request *asking, const json_t *error);
