/* /ai/config: the model server, and the limits of its use. /ai/models. */
#include "areas/assistant/ai.h"
#include "areas/assistant/ai_models.h"

#include <errno.h>

#include "ai_config_sql.h"
#include "base/secret_mask.h"
#include "integrations/integration.h"
#include "json/jr.h"
#include "keys/sealed_aad.h"
#include "project/unseal.h"

#define MODELS_MAX 100

static const char *const output_limits[] = {"max_tokens", "max_completion_tokens", NULL};

struct config_in {
    struct in_str endpoint, api_key, default_model, system_prompt, output_limit;
    struct in_strs models;
    struct in_i64 user_answers, project_answers;
    struct in_i64 user_daily_tokens, project_daily_tokens, max_output_tokens, stall_seconds;
    struct in_bool tools;
};

/* clang-format off */
#define LIMIT(member, least, most, text, sample)                                                   \
    {.name = #member, FIELD_AT(struct config_in, member), .type = FIELD_I64, .nullable = true,     \
     .has_min = true, .min = (least), .has_max = true, .max = (most), .doc = (text),               \
     .example = (sample)}
/* clang-format on */

static const struct field config_fields[] = {
    {.name = "endpoint",
     FIELD_AT(struct config_in, endpoint),
     .type = FIELD_STR,
     .nullable = true,
     .max = 2048,
     .doc = "Base URL of a server that speaks OpenAI's protocol, without /chat/completions; null "
            "turns the assistant off",
     .example = "\"https://api.openai.com/v1\""},
    {.name = "api_key",
     FIELD_AT(struct config_in, api_key),
     .type = FIELD_STR,
     .nullable = true,
     .write_only = true,
     .max = 4096,
     .doc =
         "Stored encrypted and never returned; \"********\" keeps the stored key. The key is sent "
         "only to the host of the endpoint: set the key again when you change that host",
     .example = "\"sk-secret\""},
    {.name = "default_model",
     FIELD_AT(struct config_in, default_model),
     .type = FIELD_STR,
     .nullable = true,
     .min = 1,
     .max = AI_MODEL_MAX,
     .example = "\"gpt-4o-mini\""},
    {.name = "models",
     FIELD_AT(struct config_in, models),
     .type = FIELD_STRS,
     .nullable = true,
     .max = MODELS_MAX,
     .doc = "Allowed models; empty: all models of the server",
     .example = "[\"gpt-4o-mini\"]"},
    {.name = "system_prompt",
     FIELD_AT(struct config_in, system_prompt),
     .type = FIELD_STR,
     .nullable = true,
     .max = 20000,
     .doc = "Sent to the model before each conversation",
     .example = "\"You help the people of a bookshop.\""},
    LIMIT(user_answers, 1, 100, "Concurrent answers for a user; 4 by default", "2"),
    LIMIT(project_answers, 1, 1000, "Concurrent answers for all users; 32 by default", "10"),
    LIMIT(user_daily_tokens,
          0,
          1e12,
          "Tokens of a user, of prompts and answers, in a UTC day; 200000 by default",
          "50000"),
    LIMIT(project_daily_tokens,
          0,
          1e12,
          "Tokens of all users in a UTC day; 2000000 by default",
          "500000"),
    LIMIT(max_output_tokens, 1, 100000, "Tokens of one answer; 4096 by default", "1024"),
    LIMIT(
        stall_seconds, 1, 120, "Seconds in which the server may send nothing; 60 by default", "30"),
    {.name = "output_limit",
     FIELD_AT(struct config_in, output_limit),
     .type = FIELD_STR,
     .nullable = true,
     .values = output_limits,
     .doc = "Request member that limits the length of an answer; null: max_tokens, or "
            "max_completion_tokens for a model whose server refuses max_tokens",
     .example = "\"max_completion_tokens\""},
    {.name = "tools",
     FIELD_AT(struct config_in, tools),
     .type = FIELD_BOOL,
     .nullable = true,
     .doc =
         "Whether models in conversations may read and search records and the documentation, with "
         "the caller's rights, and propose workflows to start; false by default",
     .example = "false"},
};
static const struct schema config_schema =
    SCHEMA("AiConfigUpdate", struct config_in, config_fields);

static const struct field refusal_fields[] = {
    {.name = "at", .type = FIELD_TIME, .required = true},
    {.name = "status",
     .type = FIELD_I64,
     .required = true,
     .doc = "HTTP status; 200: the error came in place of the answer, or of the answer's rest",
     .example = "401"},
    {.name = "model",
     .type = FIELD_STR,
     .required = true,
     .nullable = true,
     .doc = "null: the request was for the list of models",
     .example = "\"gpt-4o-mini\""},
    {.name = "message",
     .type = FIELD_STR,
     .required = true,
     .nullable = true,
     .doc =
         "First 300 bytes of the server's message; null: there is none, or it contains the API key",
     .example = "\"Incorrect API key provided\""},
};
static const struct schema refusal_schema = SCHEMA_OUT("AiRefusal", refusal_fields);

static const struct field config_out_fields[] = {
    {.name = "endpoint", .type = FIELD_STR, .required = true, .nullable = true},
    {.name = "api_key",
     .type = FIELD_STR,
     .required = true,
     .nullable = true,
     .doc = "\"********\" when a key is stored"},
    {.name = "default_model", .type = FIELD_STR, .required = true, .nullable = true},
    {.name = "models", .type = FIELD_STRS, .required = true},
    {.name = "system_prompt", .type = FIELD_STR, .required = true, .nullable = true},
    {.name = "user_answers", .type = FIELD_I64, .required = true},
    {.name = "project_answers", .type = FIELD_I64, .required = true},
    {.name = "user_daily_tokens", .type = FIELD_I64, .required = true},
    {.name = "project_daily_tokens", .type = FIELD_I64, .required = true},
    {.name = "max_output_tokens", .type = FIELD_I64, .required = true},
    {.name = "stall_seconds", .type = FIELD_I64, .required = true},
    {.name = "tools", .type = FIELD_BOOL, .required = true},
    {.name = "output_limit",
     .type = FIELD_STR,
     .required = true,
     .nullable = true,
     .values = output_limits},
    {.name = "last_refusal",
     .type = FIELD_OBJ,
     .required = true,
     .nullable = true,
     .is_volatile = true,
     .sub = &refusal_schema,
     .doc = "Last refusal of the model server. The caller of the refused request received the "
            "message only of a 400 or 422"},
    {.name = "updated_at", .type = FIELD_TIME, .required = true, .nullable = true},
};
static const struct schema config_out_schema = SCHEMA_OUT("AiConfig", config_out_fields);

static const struct field model_fields[] = {
    {.name = "id", .type = FIELD_STR, .required = true, .example = "\"gpt-4o-mini\""},
    {.name = "is_default", .type = FIELD_BOOL, .required = true},
};
static const struct schema model_schema = SCHEMA_OUT("AiModel", model_fields);
static const struct field models_fields[] = {
    {.name = "items", .type = FIELD_LIST, .required = true, .sub = &model_schema},
    PAGE_WHOLE_FIELDS,
};
static const struct schema models_schema = SCHEMA_OUT("AiModels", models_fields);

/* --- settings for requests to models --- */

static struct str config_aad(struct req *r)
{
    return aad_setting(r->task.arena, r->scope->project->number, STR("ai"), STR("config"));
}

int ai_config_load(struct req *r, struct ai_config *ret_config)
{
    struct rows rows;

    TRY(sql_one(r, &rows, SQL_AI_CONFIG_USE()));
    const struct sql_ai_config_use_row row = sql_ai_config_use_row(r->task.arena, &rows, 0);
    if (row.endpoint.len == 0)
        return fail(r,
                    PROBLEM_CONFLICT,
                    "The project has no assistant: set its endpoint with PUT /ai/config.");
    *ret_config = (struct ai_config){
        .server = {.endpoint = row.endpoint, .stall_ms = row.stall_seconds * 1000},
        .default_model = row.default_model,
        .system_prompt = row.system_prompt,
        .models = row.models,
        .user_answers = row.user_answers,
        .project_answers = row.project_answers,
        .user_daily_tokens = row.user_daily_tokens,
        .project_daily_tokens = row.project_daily_tokens,
        .max_output_tokens = row.max_output_tokens,
        .updated_ms = row.updated_at,
        .tools = row.tools,
        .output_limit = row.output_limit,
    };
    if (row.sealed.ptr == NULL)
        return 0;
    int rc = data_key_open(
        &r->task, r->scope->project, row.sealed, config_aad(r), &ret_config->server.key);
    return rc > 0 ? fail_internal(r, -EBADMSG) : rc;
}

bool ai_model_is_allowed(const struct ai_config *config, struct str model)
{
    for (size_t i = 0; i < config->models.count; i++)
        if (str_eq(config->models.items[i], model))
            return true;
    return config->models.count == 0;
}

int ai_model_choose(struct req *r,
                    const struct ai_config *config,
                    const struct in_str *given,
                    struct str otherwise,
                    struct str *ret_model)
{
    struct str model = given->value.len > 0 ? given->value : otherwise;

    *ret_model = model.len > 0 ? model : config->default_model;
    if (ret_model->len == 0)
        return fail_field(
            r, "model", PROBLEM_REQUIRED, "is required: the project has no default_model");
    if (!ai_model_is_allowed(config, *ret_model))
        return fail_field(
            r, "model", PROBLEM_OUT_OF_RANGE, "must be one of the models that the project allows");
    return 0;
}

/* Addresses that fetch() refuses, that are unreachable and that time out get the same text.
 * Otherwise callers could scan ports (fetch.h). */
int ai_server_check(struct req *r, int rc, const struct model_refusal *refusal)
{
    if (rc <= 0)
        return rc;
    if (rc == ASSISTANT_REFUSED && refusal->status == 429)
        return fail(
            r, PROBLEM_RATE_LIMITED, "The model server has too many requests; try again later.");
    if (rc == ASSISTANT_REFUSED && model_is_bad_request(refusal))
        return fail(
            r,
            PROBLEM_BAD_REQUEST,
            "The model server refused the request: %.*s",
            STR_ARG(refusal->message.len > 0 ? refusal->message : STR("it gives no reason")));
    if (rc == ASSISTANT_REFUSED)
        return fail(r,
                    PROBLEM_PROVIDER_ERROR,
                    "The model server answered with status %ld.",
                    refusal->status);
    if (rc == FETCH_BUSY)
        return fail(r,
                    PROBLEM_TOO_MANY_REQUESTS_IN_FLIGHT,
                    "Too many requests wait to be sent; try again later.");
    if (rc == ASSISTANT_BAD || rc == FETCH_TOO_LARGE)
        return fail(r, PROBLEM_PROVIDER_ERROR, "The model server's answer cannot be read.");
    return fail(r,
                PROBLEM_PROVIDER_ERROR,
                "The model server did not answer in time, or its address is not allowed.");
}

/* --- endpoints --- */

AWAITS static int ai_config_get(struct req *r)
{
    struct rows rows;

    TRY(sql_one(r, &rows, SQL_AI_CONFIG_GET()));
    return reply_row(r, 200, &rows);
}

/* Checks what the schema cannot express, and removes the slashes at the end of the endpoint. */
static int config_check(struct req *r, struct config_in *in)
{
    struct str *endpoint = &in->endpoint.value;

    for (size_t i = 0; i < in->models.count; i++)
        if (in->models.items[i].len == 0 || in->models.items[i].len > AI_MODEL_MAX)
            return fail_field(r, "models", PROBLEM_PATTERN, "must be names of 1 to 200 characters");
    if (in->endpoint.null || !in->endpoint.set)
        return 0;
    while (endpoint->len > 0 && endpoint->ptr[endpoint->len - 1] == '/')
        endpoint->len--;
    *endpoint = fetch_url_escape(r->task.arena, *endpoint);
    const char *fault = integration_url_fault(*endpoint, false);
    if (fault)
        return fail_field(r, "endpoint", PROBLEM_PATTERN, "%s", fault);
    return 0;
}

static void config_put_text(json_t *doc, const char *member, const struct in_str *in)
{
    if (in->set)
        (void)json_object_set_new(
            doc, member, in->null ? json_null() : json_stringn(in->value.ptr, in->value.len));
}

static void config_put_number(json_t *doc, const char *member, const struct in_i64 *in)
{
    if (in->set)
        (void)json_object_set_new(doc, member, in->null ? json_null() : json_integer(in->value));
}

/* The members that the body sets, to be merged into the stored document. */
static struct str config_doc(struct req *r, const struct config_in *in)
{
    json_t *doc = jr_attach(r->task.arena, json_object());
    json_t *models = json_array();

    config_put_text(doc, "endpoint", &in->endpoint);
    config_put_text(doc, "default_model", &in->default_model);
    config_put_text(doc, "system_prompt", &in->system_prompt);
    config_put_text(doc, "output_limit", &in->output_limit);
    config_put_number(doc, "user_answers", &in->user_answers);
    config_put_number(doc, "project_answers", &in->project_answers);
    config_put_number(doc, "user_daily_tokens", &in->user_daily_tokens);
    config_put_number(doc, "project_daily_tokens", &in->project_daily_tokens);
    config_put_number(doc, "max_output_tokens", &in->max_output_tokens);
    config_put_number(doc, "stall_seconds", &in->stall_seconds);
    if (in->tools.set)
        (void)json_object_set_new(
            doc, "tools", in->tools.null ? json_null() : json_boolean(in->tools.value));
    for (size_t i = 0; i < in->models.count; i++)
        (void)json_array_append_new(models,
                                    json_stringn(in->models.items[i].ptr, in->models.items[i].len));
    if (in->models.set)
        (void)json_object_set(doc, "models", in->models.null ? json_null() : models);
    json_decref(models);
    return jr_print(r->task.arena, doc);
}

/* The stored key is kept only for the host that it was given for. */
static int config_key(struct req *r,
                      const struct config_in *in,
                      const struct rows *stored,
                      struct str *ret_sealed,
                      bool *ret_keeps)
{
    struct arena *arena = r->task.arena;
    const struct sql_ai_config_lock_row row =
        stored->count > 0 ? sql_ai_config_lock_row(stored, 0) : (struct sql_ai_config_lock_row){0};
    enum secret_input meant =
        secret_classify(in->api_key.value, row.has_key ? STR(SECRET_MASK) : STR_NONE);

    *ret_sealed = STR_NONE;
    *ret_keeps = !in->api_key.set || meant == SECRET_SAME;
    if (meant == SECRET_WRONG_MASK)
        return fail_field(r, "api_key", PROBLEM_VALIDATION_FAILED, SECRET_MASK_WRONG);
    if (*ret_keeps && row.has_key && in->endpoint.value.len > 0 &&
        !str_eq(integration_origin(arena, in->endpoint.value),
                integration_origin(arena, row.endpoint)))
        return fail_field(
            r,
            "api_key",
            PROBLEM_REQUIRED,
            "is required again: endpoint has another host than the stored key was given for");
    if (!*ret_keeps && in->api_key.value.len > 0)
        *ret_sealed =
            aead_seal(arena, &r->scope->project->data_key, in->api_key.value, config_aad(r));
    return 0;
}

AWAITS static int ai_config_update(struct req *r)
{
    struct config_in in;
    struct str sealed;
    struct rows rows;
    bool keeps;

    TRY(req_json(r, &config_schema, &in));
    TRY(config_check(r, &in));
    TRY(sql_begin(r));
    TRY(sql_all(r, &rows, SQL_AI_CONFIG_LOCK()));
    TRY(config_key(r, &in, &rows, &sealed, &keeps));
    TRY(sql_exec(
        r, NULL, SQL_AI_CONFIG_PUT(.doc = config_doc(r, &in), .sealed = sealed, .keeps = keeps)));
    const struct changed_member members[] = {
        {"endpoint", in.endpoint.set},
        {"api_key", in.api_key.set},
        {"default_model", in.default_model.set},
        {"models", in.models.set},
        {"system_prompt", in.system_prompt.set},
        {"output_limit", in.output_limit.set},
        {"user_answers", in.user_answers.set},
        {"project_answers", in.project_answers.set},
        {"user_daily_tokens", in.user_daily_tokens.set},
        {"project_daily_tokens", in.project_daily_tokens.set},
        {"max_output_tokens", in.max_output_tokens.set},
        {"stall_seconds", in.stall_seconds.set},
        {"tools", in.tools.set},
    };
    TRY(gateway_commit(r,
                       gateway_audit(r,
                                     "ai_config.update",
                                     "ai_config",
                                     0,
                                     gateway_changed_detail(r, members, ARRAY_LEN(members)))));
    return ai_config_get(r);
}

AWAITS static int ai_models_list(struct req *r)
{
    struct ai_config config;
    struct model_names names;
    struct jw w;

    TRY(ai_models_load(r, &config, &names));
    w = resp_json(r);
    jw_obj(&w);
    jw_lit(&w, "items");
    jw_arr(&w);
    for (size_t i = 0; i < names.count; i++) {
        jw_obj(&w);
        JW_STR(&w, "id", names.items[i]);
        JW_BOOL(&w, "is_default", str_eq(names.items[i], config.default_model));
        jw_obj_end(&w);
    }
    jw_arr_end(&w);
    page_whole_json(&w, names.count);
    jw_obj_end(&w);
    return reply_json(r, 200);
}

static const struct route ai_config_routes[] = {
    {
        .method = HTTP_GET_M,
        .path = "/ai/config",
        .id = "ai_config_get",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_AI_CONFIG_READ,
        .success = {200, &config_out_schema},
        .run = ai_config_get,
        .summary = "Get the model server and the limits of the assistant",
    },
    {
        .method = HTTP_PUT_M,
        .path = "/ai/config",
        .id = "ai_config_update",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_AI_CONFIG_UPDATE,
        .body = &config_schema,
        .success = {200, &config_out_schema},
        .run = ai_config_update,
        .summary = "Set up the assistant",
        .doc = "null resets a limit to its default, and removes any other value.",
    },
    {
        .method = HTTP_GET_M,
        .path = "/ai/models",
        .id = "ai_models_list",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_AI_CHAT_READ,
        .success = {200, &models_schema},
        .extra_statuses = {409, 429, 502},
        .run = ai_models_list,
        .summary = "List the models that the project allows",
        .doc = "The list may be up to 30 seconds older than the model server's.",
    },
};
ROUTES(ai_config, "Assistant");
