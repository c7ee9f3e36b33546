/* Requests to model servers. */
#include "areas/assistant/ai_request.h"

#include "ai_config_sql.h"
#include "loop/background.h"

#define FACT_SLOTS 256 /* a fact whose slot another fact takes is learned again */
#define STORE_MS   5000

/* --- learned quirks --- */

/* Each process learns separately, at the cost of one refused request. */
static struct fact {
    unsigned long long key;
    unsigned quirks;
} facts[FACT_SLOTS];

/* A hash of project, server and model. */
static unsigned long long fact_key(const struct ai_request *asking)
{
    struct str project = {(const char *)&asking->project, sizeof(asking->project)};
    unsigned long long key = str_hash_chunk(STR_HASH_NONE, project);

    key = str_hash_chunk(key, asking->server->endpoint);
    key = str_hash_chunk(key, STR("\n"));
    return str_hash_chunk(key, asking->model);
}

/* The quirks that the project's settings do not decide. */
static unsigned learnable_quirks(const struct ai_request *asking)
{
    return asking->output_limit.len > 0 ? MODEL_NO_STREAM_OPTIONS
                                        : MODEL_NO_STREAM_OPTIONS | MODEL_NO_MAX_TOKENS;
}

static unsigned known_quirks(const struct ai_request *asking, unsigned long long key)
{
    const struct fact *fact = &facts[key % FACT_SLOTS];
    unsigned said = str_is(asking->output_limit, "max_completion_tokens") ? MODEL_NO_MAX_TOKENS : 0;

    return said | (fact->key == key ? fact->quirks & learnable_quirks(asking) : 0);
}

/* --- refusals for administrators --- */

struct refusal_record {
    int64_t project;
    struct str model, message;
    long status;
};

AWAITS static void refusal_store_run(struct task *task, void *arg)
{
    const struct refusal_record *noting = arg;
    struct project *project;

    task->project = noting->project;
    if (project_find_number(task, gateway_directory(), noting->project, &project) != 0)
        return;
    struct db_call call = db_call(SQL_AI_REFUSAL_PUT(.status = noting->status,
                                                     .model = noting->model,
                                                     .message = noting->message));
    if (db_batch(task, &project->db, &call, 1, NULL) != 0)
        log_debug("ai.refusal_unnoted", L_I64("project", noting->project));
}

void ai_refusal_store(const struct ai_request *asking, const struct model_refusal *refusal)
{
    if (ai_limits_are_stopped())
        return;
    struct background *background = background_new(STORE_MS);
    struct arena *arena = background_arena(background);
    struct refusal_record *noting = ARENA_NEW(arena, noting);
    *noting = (struct refusal_record){.project = asking->project, .status = refusal->status};
    if (asking->model.len > 0)
        noting->model = arena_dup(arena, asking->model);
    if (refusal->message.len > 0)
        noting->message = arena_dup(arena, refusal->message);
    background_start(background, refusal_store_run, noting);
}

void ai_error_store(const struct ai_request *asking, const json_t *error)
{
    ai_refusal_store(asking,
                     &(struct model_refusal){
                         .status = 200, .message = model_error_message(asking->server, error)});
}

/* --- requests --- */

/* Repeats a refused request as long as the refusal names a quirk that changes the body. */
int ai_request_send(struct task *task,
                    struct ai_request *asking,
                    struct fetch_stream **ret_stream,
                    struct model_refusal *ret_refusal)
{
    unsigned long long key = fact_key(asking);
    struct fact *fact = &facts[key % FACT_SLOTS];
    unsigned quirks = known_quirks(asking, key);
    struct str body = model_body_without(task->arena, asking->body, quirks);
    struct str sent;
    int rc;

    do {
        asking->body = sent = body;
        rc = model_request(task, asking->server, sent, ret_stream, ret_refusal);
        if (rc == ASSISTANT_REFUSED) {
            quirks |= ret_refusal->quirks & learnable_quirks(asking);
            body = model_body_without(task->arena, sent, quirks);
        }
    } while (body.ptr != sent.ptr);
    if (rc == 0 && quirks != known_quirks(asking, key))
        *fact = (struct fact){key, quirks};
    if (rc == ASSISTANT_REFUSED) {
        if (fact->key == key && model_is_bad_request(ret_refusal))
            *fact = (struct fact){0};
        ai_refusal_store(asking, ret_refusal);
    }
    return rc;
}
