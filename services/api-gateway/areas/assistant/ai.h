#pragma once
/*
 * The assistant's files. What asks a model does so in this order: ai_config_load(),
 * ai_model_choose(), ai_place_take(), a transaction with ai_usage_reserve(), the request, and
 * however that ends ai_usage_settle_later().
 */
#include "app.h"
#include "assistant/model_server.h"

#define AI_MODEL_MAX    200 /* characters of a model's name */
#define AI_PROMPT_BYTES ((size_t)512 * 1024)
#define AI_REQUEST_MS   300000 /* an answer takes no longer */

/* What the project says; texts are the request's. */
struct ai_config {
    struct model_server server;
    struct str default_model, system_prompt;
    struct sql_strs models; /* that may be asked for; none = all that there are */
    int64_t user_daily_tokens, project_daily_tokens, max_output_tokens;
    int64_t user_answers, project_answers; /* that are made at once */
    int64_t updated_ms;
    bool tools;              /* models may have them called */
    struct str output_limit; /* the member that limits an answer; STR_NONE = it is learnt */
};
/* co: 409 when no endpoint is set. */
AWAITS int ai_config_load(struct req *r, struct ai_config *ret_config) MUSTCHECK;
/* any: the first of the two that names one, or the project's; 400 when it may not be asked for. */
int ai_model_choose(struct req *r,
                    const struct ai_config *config,
                    const struct in_str *given,
                    struct str otherwise,
                    struct str *ret_model) MUSTCHECK;
/* any: may it be asked for? */
bool ai_model_allowed(const struct ai_config *config, struct str model);
/* any: what a model server's failure is to a caller: 400, 429, 502, or a negative. */
int ai_server_check(struct req *r, int rc, const struct model_refusal *refusal) MUSTCHECK;

/* --- ai_limits.c --- */

/* One of the answers that this process has memory for, as a request holds it until its end. */
struct ai_hold {
    struct share *place;
};
/* any: 429 when there is none. */
int ai_place_take(struct req *r, struct ai_hold **ret_hold) MUSTCHECK;
/* any: it outlives the request: returns owned. */
struct share *ai_place_keep(struct ai_hold *hold);
/* any: accepts NULL. */
void ai_place_free(struct share *place);
/* any: once in each worker. */
void ai_limits_start(void);
/* any: the database is closed next: nothing is begun or settled from now on. */
void ai_limits_stop(void);
bool ai_limits_stopped(void);
/* any: before that, requests that are passed on are cut off and settled, which takes background
 * tasks (ai_completions.c). */
void ai_completions_stop(void);

/* What was reserved for one answer. */
struct ai_bill {
    int64_t project, user_id;
    struct str model, day;
    /* Its row among the answers that are made, of all gateways: a lease, which holds what was
     * reserved. When nobody renews it, the project's next question gives that back. */
    int64_t running;
};
/* co, in a transaction that ends soon: reserves what the answer may take; 429 when the day's tokens
 * are used, or as many answers are made as may be. */
AWAITS int ai_usage_reserve(struct req *r,
                            const struct ai_config *config,
                            struct str model,
                            size_t prompt_bytes,
                            struct ai_bill *ret_bill) MUSTCHECK;
/* co: it is still being made; every AI_RENEW_MS. */
#define AI_RENEW_MS 10000
AWAITS int ai_running_renew(struct task *task, struct project *project, int64_t running) MUSTCHECK;
/* any: the statement that writes what it came to, and that it is over; borrows the bill. */
struct db_call ai_usage_settle_call(struct arena *arena,
                                    const struct ai_bill *bill,
                                    int64_t prompt,
                                    int64_t answer);
/* any: runs it, whatever happens to the task that asked. Copies. */
void ai_usage_settle_later(const struct ai_bill *bill, int64_t prompt, int64_t answer);
