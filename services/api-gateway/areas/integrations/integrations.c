/* /integrations: third-party APIs, as a project describes them. */
#include "areas/integrations/integrations.h"

#include <errno.h>

#include "base/secret_mask.h"
#include "integrations_sql.h"
#include "json/jr_off_thread.h"
#include "keys/sealed_aad.h"
#include "limit.h"
#include "loop/work.h"

static const struct field row_fields[] = {
    {.name = "id", .type = FIELD_I64, .required = true},
    {.name = "name", .type = FIELD_STR, .required = true, .example = "\"crm\""},
    {.name = "description", .type = FIELD_STR, .required = true, .nullable = true},
    {.name = "base_url",
     .type = FIELD_STR,
     .required = true,
     .example = "\"https://api.example.com/v1\""},
    {.name = "scheme", .type = FIELD_STR, .required = true, .values = integration_schemes},
    {.name = "operation_count", .type = FIELD_I64, .required = true},
    {.name = "version", .type = FIELD_I64, .required = true},
    {.name = "created_at", .type = FIELD_TIME, .required = true},
    {.name = "updated_at", .type = FIELD_TIME, .required = true},
};
static const struct schema integration_row_schema = SCHEMA_OUT("IntegrationRow", row_fields);

/* --- drafts --- */

/* A whole integration that has been checked. */
struct integration_draft {
    int64_t id;
    struct integration_in in;
    struct str auth, operations;      /* JSON */
    struct str sealed, secret_origin; /* the client secret and its host; STR_NONE = none */
};

static void draft_put(json_t *doc, const char *member, json_t *value)
{
    (void)json_object_set_new(doc, member, value);
}

/* The body, with defaults for the members that it leaves out. */
static json_t *body_add_defaults(struct req *r, const json_t *body)
{
    json_t *doc = jr_attach(r->task.arena, json_copy((json_t *)body));

    if (json_object_get(doc, "auth") == NULL)
        draft_put(doc, "auth", json_pack("{s:s}", "scheme", "none"));
    if (json_object_get(doc, "operations") == NULL)
        draft_put(doc, "operations", json_array());
    return doc;
}

/* The reading of a body into a draft, by integration_create_schema or integration_update_schema. */
struct draft_reading {
    struct arena *arena;
    const struct schema *schema;
    json_t *doc; /* changed: addresses are percent-encoded */
    struct integration_draft *draft;
    struct schema_errors *errors;
};

/* Prints the draft's auth, without the client secret, and its operations. */
static void draft_print(struct draft_reading *drafting)
{
    struct arena *arena = drafting->arena;
    struct integration_draft *draft = drafting->draft;
    json_t *auth = jr_attach(arena, json_copy(json_object_get(drafting->doc, "auth")));

    (void)json_object_del(auth, "client_secret");
    draft->auth = jr_print(arena, auth);
    if (!jr_print_within(arena,
                         json_object_get(drafting->doc, "operations"),
                         INTEGRATION_BYTES_MAX,
                         &draft->operations))
        schema_error_add(arena,
                         drafting->errors,
                         STR("operations"),
                         PROBLEM_TOO_LONG,
                         "may have at most %d bytes as JSON",
                         INTEGRATION_BYTES_MAX);
}

/* Runs on the loop, or on a thread while the request waits. */
static void draft_run(void *arg)
{
    struct draft_reading *drafting = arg;
    struct integration_in *in = &drafting->draft->in;

    integration_escape(drafting->arena, drafting->doc);
    if (!schema_decode(drafting->arena, drafting->schema, drafting->doc, in, drafting->errors))
        return;
    if (drafting->schema == &integration_create_schema &&
        integration_check(drafting->arena, in, drafting->errors))
        draft_print(drafting);
}

/* co: Reads a body by `schema`. A body of integration_create_schema, which is a whole integration,
 * is also checked and printed. A large body is read on a thread, because its templates may have
 * thousands of expressions. */
AWAITS static int
draft_read(struct req *r, const struct schema *schema, json_t *doc, struct integration_draft *draft)
{
    struct schema_errors *errors = ARENA_NEW(r->task.arena, errors);
    struct draft_reading drafting = {r->task.arena, schema, doc, draft, errors};

    if (jr_is_large(doc)) {
        int rc = work_run(&r->task, WORK_PARSE, draft_run, &drafting);
        if (rc == -EAGAIN)
            return fail(r, PROBLEM_TOO_MANY_REQUESTS_IN_FLIGHT, NULL);
        TRY(rc);
    } else {
        draft_run(&drafting);
    }
    return errors->count > 0 ? fail_fields(r, errors) : 0;
}

static void client_secret_seal(struct req *r, struct integration_draft *draft, struct str secret)
{
    const struct integration_auth *auth = draft->in.auth.value;
    const struct project *project = r->scope->project;
    struct str place = aad_integration(r->task.arena, project->number, draft->id);

    draft->sealed = aead_seal(r->task.arena, &project->data_key, secret, place);
    draft->secret_origin = integration_origin(r->task.arena, auth->token_url.value);
}

/* Seals the client secret of the body, if the body has one. */
static int secret_seal_new(struct req *r, struct integration_draft *draft)
{
    const struct integration_auth *auth = draft->in.auth.value;
    struct str secret = auth->client_secret.value;

    if (secret_classify(secret, STR_NONE) != SECRET_NEW)
        return fail_field(r, "auth.client_secret", PROBLEM_VALIDATION_FAILED, SECRET_MASK_WRONG);
    if (secret.len)
        client_secret_seal(r, draft, secret);
    return 0;
}

static int integration_name_taken(struct req *r, int rc)
{
    struct schema_errors *errors = ARENA_NEW(r->task.arena, errors);

    if (rc != DB_UNIQUE)
        return rc > 0 ? fail_db(r, rc) : rc;
    schema_error_add(r->task.arena, errors, STR("name"), PROBLEM_UNIQUE_VIOLATION, "is taken");
    return fail_with(
        r, PROBLEM_UNIQUE_VIOLATION, STR("Another integration has this name."), errors);
}

/* --- endpoints --- */

AWAITS static int integrations_list(struct req *r)
{
    return reply_page(r, "id", SQL_INTEGRATIONS_LIST());
}

AWAITS static int integrations_get(struct req *r)
{
    struct rows rows;
    int64_t id;

    TRY(req_id(r, "id", &id));
    TRY(sql_one(r, &rows, SQL_INTEGRATION_GET(.id = id)));
    return reply_row(r, 200, &rows);
}

static int reply_created_integration(struct req *r, const struct rows *rows, const json_t *skipped)
{
    struct jw w = resp_json(r);

    jw_obj(&w);
    rows_json_members(&w, rows, 0);
    if (skipped != NULL) {
        jw_lit(&w, "skipped");
        jw_json(&w, skipped);
    }
    jw_obj_end(&w);
    return reply_json(r, 201);
}

static const struct limit integrations_limit = {
    "integrations", "A project", "integrations", INTEGRATIONS_MAX};

int integration_create(struct req *r, const json_t *body, const json_t *skipped)
{
    struct integration_draft draft = {0};
    struct db_call count = db_call(SQL_INTEGRATIONS_COUNT());
    struct rows rows;

    TRY(draft_read(r, &integration_create_schema, body_add_defaults(r, body), &draft));
    TRY(sql_begin(r));
    TRY(limit_check(r, &integrations_limit, 0, &count, 1));
    TRY(sql_one(r, &rows, SQL_INTEGRATION_NEXT()));
    draft.id = sql_integration_next_row(&rows, 0).id;
    TRY(secret_seal_new(r, &draft));
    int rc = db_query(&r->task,
                      r->scope->db,
                      SQL_INTEGRATION_ADD(.id = draft.id,
                                          .name = draft.in.name.value,
                                          .description = draft.in.description.value,
                                          .base_url = draft.in.base_url.value,
                                          .auth = draft.auth,
                                          .sealed = draft.sealed,
                                          .client_bound = draft.secret_origin,
                                          .operations = draft.operations),
                      NULL);
    if (rc != 0)
        return integration_name_taken(r, rc);
    TRY(gateway_commit(r,
                       gateway_audit(r, "integrations.create", "integration", draft.id, STR_NONE)));
    TRY(sql_one(r, &rows, SQL_INTEGRATION_GET(.id = draft.id)));
    resp_header_printf(
        r, "Location", "%.*s/integrations/%lld", STR_ARG(gateway_base_url(r)), (long long)draft.id);
    return reply_created_integration(r, &rows, skipped);
}

AWAITS static int integrations_create(struct req *r)
{
    json_t *body;

    TRY(req_json_any(r, &body));
    return integration_create(r, body, NULL);
}

/* --- changes --- */

/* Adds the stored member when the body has none. */
static int member_keep_stored(struct req *r, json_t *doc, const char *member, struct str stored)
{
    struct jr_error error;
    json_t *value;

    if (json_object_get(doc, member) != NULL)
        return 0;
    if (jr_parse_stored(r->task.arena, stored, &value, &error) != 0)
        return fail_internal(r, -EBADMSG);
    (void)json_object_set(doc, member, value);
    return 0;
}

static int integration_merge(struct req *r,
                             const struct sql_integration_lock_row *stored,
                             const json_t *body,
                             json_t **ret_doc)
{
    json_t *doc = jr_attach(r->task.arena, json_copy((json_t *)body));

    if (json_object_get(doc, "name") == NULL)
        draft_put(doc, "name", json_stringn(stored->name.ptr, stored->name.len));
    if (json_object_get(doc, "base_url") == NULL)
        draft_put(doc, "base_url", json_stringn(stored->base_url.ptr, stored->base_url.len));
    if (json_object_get(doc, "description") == NULL && stored->description.ptr != NULL)
        draft_put(
            doc, "description", json_stringn(stored->description.ptr, stored->description.len));
    TRY(member_keep_stored(r, doc, "auth", stored->auth));
    TRY(member_keep_stored(r, doc, "operations", stored->operations));
    *ret_doc = doc;
    return 0;
}

/* The stored secret stays, unless the body has a new secret or null, or a scheme without a secret.
 * The stored secret is kept only for the host that it was given for. */
static int secret_keep_stored(struct req *r,
                              const struct sql_integration_lock_row *stored,
                              struct integration_draft *draft)
{
    const struct integration_auth *auth = draft->in.auth.value;
    struct str origin = integration_origin(r->task.arena, auth->token_url.value);
    bool keeps = !auth->client_secret.set ||
                 secret_classify(auth->client_secret.value, STR(SECRET_MASK)) == SECRET_SAME;

    if (!keeps || stored->sealed.ptr == NULL)
        return auth->client_secret.null ? 0 : secret_seal_new(r, draft);
    if (integration_scheme_of(auth) != SCHEME_OAUTH2_CODE)
        return 0;
    if (!str_eq(origin, stored->client_bound))
        return fail_field(
            r,
            "auth.client_secret",
            PROBLEM_REQUIRED,
            "is required again: token_url has another host than the stored secret was given for");
    draft->sealed = stored->sealed;
    draft->secret_origin = stored->client_bound;
    return 0;
}

AWAITS static int integrations_update(struct req *r)
{
    struct arena *arena = r->task.arena;
    struct integration_draft draft = {0};
    struct rows rows;
    json_t *body;
    json_t *doc;

    TRY(req_id(r, "id", &draft.id));
    TRY(req_json_any(r, &body));
    TRY(draft_read(r, &integration_update_schema, body, &draft));
    TRY(sql_begin(r));
    TRY(sql_one(r, &rows, SQL_INTEGRATION_LOCK(.id = draft.id)));
    const struct sql_integration_lock_row stored = sql_integration_lock_row(arena, &rows, 0);
    TRY(integration_merge(r, &stored, body, &doc));
    TRY(draft_read(r, &integration_create_schema, doc, &draft));
    TRY(secret_keep_stored(r, &stored, &draft));
    int rc = db_query(&r->task,
                      r->scope->db,
                      SQL_INTEGRATION_SAVE(.id = draft.id,
                                           .name = draft.in.name.value,
                                           .description = draft.in.description.value,
                                           .base_url = draft.in.base_url.value,
                                           .auth = draft.auth,
                                           .sealed = draft.sealed,
                                           .client_bound = draft.secret_origin,
                                           .operations = draft.operations),
                      NULL);
    if (rc != 0)
        return integration_name_taken(r, rc);
    TRY(gateway_commit(r,
                       gateway_audit(r, "integrations.update", "integration", draft.id, STR_NONE)));
    TRY(sql_one(r, &rows, SQL_INTEGRATION_GET(.id = draft.id)));
    return reply_row(r, 200, &rows);
}

static int integration_refuse_in_use(struct req *r, const struct rows *users)
{
    struct strbuf list;

    strbuf_init(&list, r->task.arena, 16384);
    for (size_t i = 0; i < users->count; i++) {
        const struct sql_integration_users_row user = sql_integration_users_row(users, i);
        strbuf_printf(
            &list, "%s%.*s (%lld)", i > 0 ? ", " : "", STR_ARG(user.name), (long long)user.id);
    }
    return fail(r,
                PROBLEM_IN_USE,
                "Enabled workflows use this integration: %.*s.",
                STR_ARG(strbuf_view(&list)));
}

AWAITS static int integrations_delete(struct req *r)
{
    struct rows rows;
    int64_t id;

    TRY(req_id(r, "id", &id));
    TRY(sql_begin(r));
    TRY(sql_one(r, &rows, SQL_INTEGRATION_LOCK(.id = id)));
    TRY(sql_all(r, &rows, SQL_INTEGRATION_USERS(.id = id)));
    if (rows.count)
        return integration_refuse_in_use(r, &rows);
    TRY(sql_one(r, &rows, SQL_INTEGRATION_REMOVE(.id = id)));
    TRY(gateway_commit(r, gateway_audit(r, "integrations.delete", "integration", id, STR_NONE)));
    return reply_empty(r, 204);
}

static const struct route integrations_routes[] = {
    {
        .method = HTTP_GET_M,
        .path = "/integrations",
        .id = "integrations_list",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_INTEGRATIONS_READ,
        .query = page_query,
        .success = {200, &integration_row_schema, .list = true},
        .run = integrations_list,
        .summary = "List integrations, without their operations",
    },
    {
        .method = HTTP_GET_M,
        .path = "/integrations/{id}",
        .id = "integrations_get",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_INTEGRATIONS_READ,
        .success = {200, &integration_out_schema},
        .extra_statuses = {404},
        .run = integrations_get,
        .summary = "Get an integration with its operations",
    },
    {
        .method = HTTP_POST_M,
        .path = "/integrations",
        .id = "integrations_create",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_INTEGRATIONS_CREATE,
        .body = &integration_create_schema,
        .success = {201, &integration_out_schema},
        .extra_statuses = {409},
        .run = integrations_create,
        .summary = "Create an integration, which describes a third-party API",
    },
    {
        .method = HTTP_PUT_M,
        .path = "/integrations/{id}",
        .id = "integrations_update",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_INTEGRATIONS_UPDATE,
        .body = &integration_update_schema,
        .success = {200, &integration_out_schema},
        .extra_statuses = {404, 409},
        .run = integrations_update,
        .guard = integrations_get,
        .summary = "Change an integration",
        .doc = "The credentials of connections are sent only to the host that they were given "
               "for: when base_url or token_url gets another host, the connections need their "
               "credentials again.",
    },
    {
        .method = HTTP_DELETE_M,
        .path = "/integrations/{id}",
        .id = "integrations_delete",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_INTEGRATIONS_DELETE,
        .success = {204},
        .extra_statuses = {404, 409},
        .run = integrations_delete,
        .guard = integrations_get,
        .summary = "Delete an integration that no enabled workflow uses, with its connections",
    },
};
ROUTES(integrations, "Integrations");
