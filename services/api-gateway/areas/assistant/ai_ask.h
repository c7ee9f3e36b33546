#pragma once
/*
 * Asking a project's model server, with what this process has learnt of the server: a request whose
 * max_tokens or stream_options the server refuses is sent again without it. When that succeeds,
 * requests for the model go without it from then on, until one is refused. What a server refuses at
 * last is noted for administrators (GET /ai/config).
 */
#include "areas/assistant/ai.h"

/* Texts live as long as what asks. */
struct ai_asking {
    int64_t project;
    const struct model_server *server;
    struct str model;        /* STR_NONE = its list of models is asked for */
    struct str output_limit; /* as in struct ai_config */
    struct str body;         /* changed to what was sent */
};

/* co: as model_ask(). */
AWAITS int ai_ask(struct task *task,
                  struct ai_asking *asking,
                  struct fetch_stream **ret_stream,
                  struct model_refusal *ret_refusal) MUSTCHECK;
/* any: notes a refusal for administrators, later and as far as that can be done. Copies. */
void ai_refusal_note(const struct ai_asking *asking, const struct model_refusal *refusal);
/* any: the same of an error that came in place of an answer, with status 200. */
void ai_error_note(const struct ai_asking *asking, const json_t *error);
