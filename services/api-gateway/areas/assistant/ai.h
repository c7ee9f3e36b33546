#pragma once
/*
 * Shared by the files of the assistant. A handler that asks a model calls ai_config_load(),
 * ai_model_choose() and ai_slot_take(), then ai_usage_reserve() in a transaction, then sends the
 * request. However the request ends, the handler books the request's tokens with
 * ai_usage_settle_later() or ai_usage_settle_call().
 */
#include "app.h"
#include "assistant/model_server.h"

#define AI_MODEL_MAX  200    /* characters of a model's name */
#define AI_REQUEST_MS 300000 /* time limit of an answer */

/* The assistant's settings of a project. The texts live as long as the request. */
struct ai_config {
    struct model_server server;
    struct str default_model, system_prompt;
    struct sql_strs models; /* allowed models; none = all models of the server */
    int64_t user_daily_tokens, project_daily_tokens, max_output_tokens;
    int64_t user_answers, project_answers; /* limits of concurrent answers */
    int64_t updated_ms;
    bool tools;              /* models may call tools */
    struct str output_limit; /* member that limits an answer; STR_NONE: see ai_request.h */
};
/* co: Reads the settings and opens the sealed API key. 409 when no endpoint is set. Returns 0, a
 * negative, or the status that was put. */
AWAITS int ai_config_load(struct req *r, struct ai_config *ret_config) MUSTCHECK;
/* any: Chooses the model: `given`, else `otherwise`, else the project's default. 400 when none of
 * them names a model, or the project does not allow the model. *ret_model is borrowed. */
int ai_model_choose(struct req *r,
                    const struct ai_config *config,
                    const struct in_str *given,
                    struct str otherwise,
                    struct str *ret_model) MUSTCHECK;
/* any: Tells whether the project's settings allow the model. */
bool ai_model_is_allowed(const struct ai_config *config, struct str model);
/* any: Puts the problem for the result `rc` of a request to the model server: 400, 429, 502 or 503.
 * Returns that status; a `rc` of 0 or below is returned as it is. `refusal` is read only when `rc`
 * is ASSISTANT_REFUSED. */
int ai_server_check(struct req *r, int rc, const struct model_refusal *refusal) MUSTCHECK;

/* --- ai_limits.c --- */

/* A request's slot among the concurrent answers of this process. The slot bounds their memory. */
struct ai_slot_hold {
    struct share *slot;
};
/* any: Takes a slot, which is released when the request's arena ends. 429 when no slot is free. */
int ai_slot_take(struct req *r, struct ai_slot_hold **ret_hold) MUSTCHECK;
/* any: Takes the slot out of the hold, so that the slot outlives the request. The caller owns the
 * result and releases it with ai_slot_release(). */
struct share *ai_slot_detach(struct ai_slot_hold *hold);
/* any: Releases a slot. Accepts NULL. */
void ai_slot_release(struct share *share);
/* any: Returns whether the process is ending: no answer is begun and no usage is settled any
 * longer, because the database will be closed. */
bool ai_limits_are_stopped(void);

/* The reservation for one answer. */
struct ai_reservation {
    int64_t project, user_id;
    struct str model, day;
    /* Id of the answer's row in ai_running, which all gateways share. The row is a lease that holds
     * the reserved tokens. When the lease expires, the project's next question releases them. */
    int64_t running_id;
};
/* co: Begins the lease and reserves the tokens that the answer may use. `prompt_bytes`: size of the
 * request. Call it in a transaction that ends soon, because the project's other questions wait for
 * its end. 429 when the day's tokens are used up or too many answers are being made. */
AWAITS int ai_usage_reserve(struct req *r,
                            const struct ai_config *config,
                            struct str model,
                            size_t prompt_bytes,
                            struct ai_reservation *ret_bill) MUSTCHECK;
#define AI_RENEW_MS 10000
/* co: Renews the lease `running`. Call it every AI_RENEW_MS while the answer is being made. 0, a
 * DB_*, or a negative. */
AWAITS int ai_running_renew(struct task *task, struct project *project, int64_t running) MUSTCHECK;
/* any: Returns the statement that books the used tokens and ends the lease. Borrows the bill. */
struct db_call ai_usage_settle_call(struct arena *arena,
                                    const struct ai_reservation *bill,
                                    int64_t prompt,
                                    int64_t answer);
/* any: Runs the statement of ai_usage_settle_call() in the background, also when the caller's task
 * is cancelled. Copies the bill. */
void ai_usage_settle_later(const struct ai_reservation *bill, int64_t prompt, int64_t answer);
