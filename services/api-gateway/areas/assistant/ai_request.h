#pragma once
/*
 * Requests to a project's model server, with what this process has learned about the server. When
 * the server refuses max_tokens, the request is sent again with max_completion_tokens in its place;
 * when it refuses stream_options, without stream_options. When the repetition succeeds, later
 * requests for the model are changed in the same way, until the server refuses one of them. The
 * last refusal is stored for administrators (GET /ai/config).
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

/* co: Sends the request, and repeats it with refused members changed. Results as of
 * model_request(). */
AWAITS int ai_request_send(struct task *task,
                           struct ai_request *asking,
                           struct fetch_stream **ret_stream,
                           struct model_refusal *ret_refusal) MUSTCHECK;
/* any: Stores a refusal for administrators, in the background. A refusal that cannot be stored is
 * only logged. Copies its arguments. */
void ai_refusal_store(const struct ai_request *asking, const struct model_refusal *refusal);
/* any: Stores, as ai_refusal_store() does, an error that a model server sent with status 200 in
 * place of an answer. */
void ai_error_store(const struct ai_request *asking, const json_t *error);
