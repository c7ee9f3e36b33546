/* /secrets: named values for workflows. Values can be written but not read. */
#include "app.h"
#include "base/ascii.h"

#include "base/secret_mask.h"
#include "base/utf8.h"
#include "json/jr.h"
#include "limit.h"
#include "model_change_sql.h"
#include "project/unseal.h"
#include "secrets_sql.h"
#include "workflow/definition.h"
#include "workflow/secrets.h"

#define SECRETS_MAX    1000
#define NAME_BYTES_MAX 64
#define VALUE_MAX      16384 /* characters */
#define VALUE_LEAST    4     /* characters: a shorter value cannot be masked */
#define HOSTS_MAX      50
#define HOST_BYTES_MAX 253
#define NAMED_MAX      10 /* workflows that a refusal names */

struct secret_in {
    struct in_str name;
    struct in_str value;
    struct in_strs hosts;
};

#define VALUE_FIELD                                                                                \
    {                                                                                              \
        .name = "value", FIELD_AT(struct secret_in, value), .type = FIELD_STR, .required = true,   \
        .min = 1, .max = VALUE_MAX, .write_only = true, .example = "\"key-5f2c\"",                 \
        .doc = "At least 4 characters, not counting white space around them: a shorter value "     \
               "could not be masked in histories without masking everything"                       \
    }
#define HOSTS_DOC                                                                                  \
    "Hosts to which CallAnApi may send the secret, as written in the URL, without port; for any "  \
    "other host the step fails before anything is sent. null = any host. Recommended for every "   \
    "key of a single service"
#define HOSTS_FIELD                                                                                \
    {                                                                                              \
        .name = "allowed_hosts", FIELD_AT(struct secret_in, hosts), .type = FIELD_STRS,            \
        .nullable = true, .min = 1, .max = HOSTS_MAX, .example = "[\"api.stripe.com\"]",           \
        .doc = HOSTS_DOC                                                                           \
    }

static const struct field create_fields[] = {
    {.name = "name",
     FIELD_AT(struct secret_in, name),
     .type = FIELD_STR,
     .required = true,
     .max = NAME_BYTES_MAX,
     .doc = "A letter or _, then letters, digits and _; {{ $svc.secrets.NAME }} refers to it",
     .example = "\"MAIL_KEY\""},
    VALUE_FIELD,
    HOSTS_FIELD,
};
static const struct field update_fields[] = {VALUE_FIELD, HOSTS_FIELD};
static const struct schema create_schema = SCHEMA("SecretCreate", struct secret_in, create_fields);
static const struct schema update_schema = SCHEMA("SecretUpdate", struct secret_in, update_fields);

static const struct field out_fields[] = {
    {.name = "name", .type = FIELD_STR, .required = true, .example = "\"MAIL_KEY\""},
    {.name = "version",
     .type = FIELD_I64,
     .required = true,
     .doc = "Raised whenever the value is replaced"},
    {.name = "allowed_hosts",
     .type = FIELD_STRS,
     .required = true,
     .nullable = true,
     .example = "[\"api.stripe.com\"]",
     .doc = HOSTS_DOC},
    {.name = "created_at", .type = FIELD_TIME, .required = true},
    {.name = "updated_at", .type = FIELD_TIME, .required = true},
};
static const struct schema out_schema = SCHEMA_OUT("Secret", out_fields);

/* --- helpers --- */

static bool is_secret_name(struct str name)
{
    return name.len > 0 && name.len <= NAME_BYTES_MAX && !ascii_is(name.ptr[0], ASCII_DIGIT) &&
           ascii_has_only(name, ASCII_ALNUM, "_");
}

static struct str secret_seal(struct req *r, struct str name, struct str value)
{
    struct arena *arena = r->task.arena;

    return aead_seal(arena,
                     &r->scope->project->data_key,
                     value,
                     aad_secret(arena, r->scope->project->number, name));
}

/* Returns the audit call. A secret's name needs no escaping in JSON. */
static struct db_call secret_audit(struct req *r, const char *action, struct str name)
{
    struct str detail = arena_printf(r->task.arena, "{\"name\":\"%.*s\"}", STR_ARG(name));

    return gateway_audit(r, action, "secret", 0, detail);
}

/* Checks a host as in a URL: a name, or an IP address, IPv6 in brackets. */
static bool is_host_valid(struct str host)
{
    bool address = host.len > 2 && host.ptr[0] == '[' && host.ptr[host.len - 1] == ']';

    return ascii_has_only(host, ASCII_LOWER | ASCII_DIGIT, address ? "-.:[]" : "-.") &&
           host.len > 0 && host.len <= HOST_BYTES_MAX && host.ptr[0] != '.' &&
           host.ptr[host.len - 1] != '.';
}

/* Checks what the schema of a body cannot express. Makes the hosts lower case. */
static int secrets_check_value(struct req *r, struct secret_in *in)
{
    struct schema_errors *errors = ARENA_NEW(r->task.arena, errors);

    if (utf8_length(secrets_trim(in->value.value)) < VALUE_LEAST)
        schema_error_add(
            r->task.arena,
            errors,
            STR("value"),
            PROBLEM_OUT_OF_RANGE,
            "must have at least %d characters, not counting white space around them: a shorter "
            "value could not be masked in histories without masking everything",
            VALUE_LEAST);
    if (secret_classify(in->value.value, STR_NONE) != SECRET_NEW)
        schema_error_add(r->task.arena,
                         errors,
                         STR("value"),
                         PROBLEM_VALIDATION_FAILED,
                         "%s",
                         "has " SECRET_MASK " in it, which histories show in place of a secret");
    for (size_t i = 0; i < in->hosts.count; i++) {
        struct str *host = &in->hosts.items[i];
        *host = arena_lower(r->task.arena, *host);
        if (!is_host_valid(*host))
            schema_error_add(r->task.arena,
                             errors,
                             arena_printf(r->task.arena, "allowed_hosts[%zu]", i),
                             PROBLEM_PATTERN,
                             "must be a host name or an address, without scheme, port and path");
    }
    if (in->hosts.set && !in->hosts.null && in->hosts.count == 0)
        schema_error_add(r->task.arena,
                         errors,
                         STR("allowed_hosts"),
                         PROBLEM_OUT_OF_RANGE,
                         "must have at least one host; null allows all hosts");
    return errors->count ? fail_fields(r, errors) : 0;
}

static int fail_no_secret(struct req *r)
{
    return fail(r, PROBLEM_NOT_FOUND, "There is no such secret.");
}

/* --- list, create, replace --- */

AWAITS static int secrets_list(struct req *r)
{
    return reply_page(r, "name", SQL_SECRETS_LIST());
}

AWAITS static int secrets_get(struct req *r)
{
    struct str name = req_param(r, "name");
    struct rows rows;

    if (!is_secret_name(name))
        return fail_no_secret(r);
    TRY(sql_all(r, &rows, SQL_SECRET_GET(.name = name)));
    return rows.count ? reply_row(r, 200, &rows) : fail_no_secret(r);
}

static int fail_name_taken(struct req *r)
{
    struct schema_errors *errors = ARENA_NEW(r->task.arena, errors);

    schema_error_add(r->task.arena, errors, STR("name"), PROBLEM_UNIQUE_VIOLATION, "is taken");
    return fail_with(r, PROBLEM_UNIQUE_VIOLATION, STR("A secret of this name exists."), errors);
}

static const struct limit secrets_limit = {"secrets", "A project", "secrets", SECRETS_MAX};

AWAITS static int secrets_create(struct req *r)
{
    struct secret_in in;
    struct db_call count = db_call(SQL_SECRETS_COUNT());
    struct rows rows;

    TRY(req_json(r, &create_schema, &in));
    if (!is_secret_name(in.name.value))
        return fail_field(
            r, "name", PROBLEM_PATTERN, "must be a letter or _, then letters, digits and _");
    TRY(secrets_check_value(r, &in));
    TRY(sql_begin(r));
    TRY(limit_check(r, &secrets_limit, 0, &count, 1));
    TRY(sql_all(r,
                &rows,
                SQL_SECRET_ADD(.name = in.name.value,
                               .sealed = secret_seal(r, in.name.value, in.value.value),
                               .allowed_hosts = sql_strs(in.hosts.items, in.hosts.count))));
    if (!rows.count)
        return fail_name_taken(r);
    TRY(gateway_commit(r, secret_audit(r, "secrets.create", in.name.value)));
    resp_header_printf(r, "Location", "%.*s/%.*s", STR_ARG(r->path), STR_ARG(in.name.value));
    return reply_row(r, 201, &rows);
}

AWAITS static int secrets_update(struct req *r)
{
    struct str name = req_param(r, "name");
    struct secret_in in;
    struct rows rows;

    TRY(req_json(r, &update_schema, &in));
    if (!is_secret_name(name))
        return fail_no_secret(r);
    TRY(secrets_check_value(r, &in));
    TRY(sql_begin(r));
    TRY(sql_all(r,
                &rows,
                SQL_SECRET_SET(.name = name,
                               .sealed = secret_seal(r, name, in.value.value),
                               .allowed_hosts = sql_strs(in.hosts.items, in.hosts.count),
                               .set_hosts = in.hosts.set)));
    if (!rows.count)
        return fail_no_secret(r);
    TRY(gateway_commit(r, secret_audit(r, "secrets.update", name)));
    return reply_row(r, 200, &rows);
}

/* --- delete --- */

/* Returns whether a workflow's definition uses the secret. A definition that can no longer be read
 * counts as using it. */
static bool has_secret_use(struct arena *arena, struct str text, struct str name)
{
    struct schema_errors errors = {0};
    struct definition_secret *used;
    struct definition definition;
    struct jr_error error;
    json_t *doc;

    if (jr_parse(arena, text, &doc, &error) != 0 ||
        !definition_parse(arena, doc, &definition, &errors))
        return true;
    size_t count = definition_secrets(arena, &definition, &used);
    for (size_t i = 0; i < count; i++) {
        if (str_eq(used[i].name, name))
            return true;
    }
    return false;
}

AWAITS static int secrets_check_unused(struct req *r, const struct rows *mentions, struct str name)
{
    struct strbuf list;
    size_t users = 0;

    strbuf_init(&list, r->task.arena, (size_t)NAMED_MAX * 1024);
    for (size_t i = 0; i < mentions->count; i++) {
        const struct sql_secret_mentions_row workflow = sql_secret_mentions_row(mentions, i);
        TRY(task_yield_if_due(&r->task));
        if (!has_secret_use(r->task.arena, workflow.doc, name) || users++ >= NAMED_MAX)
            continue;
        strbuf_printf(&list,
                      "%s%.*s (%lld)",
                      users > 1 ? ", " : "",
                      STR_ARG(workflow.name),
                      (long long)workflow.id);
    }
    if (users == 0)
        return 0;
    if (users > NAMED_MAX)
        strbuf_printf(&list, " and %zu more", users - NAMED_MAX);
    return fail(
        r, PROBLEM_IN_USE, "Enabled workflows use this secret: %.*s.", STR_ARG(strbuf_view(&list)));
}

AWAITS static int secrets_delete(struct req *r)
{
    struct str name = req_param(r, "name");
    struct rows rows;

    if (!is_secret_name(name))
        return fail_no_secret(r);
    TRY(sql_begin(r));
    /* Workflows are saved under this lock, so none that uses the secret can appear before the
     * commit. */
    TRY(sql_one(r, &rows, SQL_MODEL_LOCK()));
    TRY(sql_all(r, &rows, SQL_SECRET_MENTIONS(.name = name)));
    TRY(secrets_check_unused(r, &rows, name));
    TRY(sql_all(r, &rows, SQL_SECRET_REMOVE(.name = name)));
    if (!rows.count)
        return fail_no_secret(r);
    TRY(gateway_commit(r, secret_audit(r, "secrets.delete", name)));
    return reply_empty(r, 204);
}

static const struct route secrets_routes[] = {
    {
        .method = HTTP_GET_M,
        .path = "/secrets",
        .id = "secrets_list",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_SECRETS_READ,
        .query = page_query,
        .success = {200, &out_schema, .list = true},
        .run = secrets_list,
        .summary = "List the names of secrets; values are never returned",
    },
    {
        .method = HTTP_POST_M,
        .path = "/secrets",
        .id = "secrets_create",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_SECRETS_CREATE,
        .body = &create_schema,
        .success = {201, &out_schema},
        .extra_statuses = {409},
        .run = secrets_create,
        .summary = "Store a secret",
    },
    {
        .method = HTTP_GET_M,
        .path = "/secrets/{name}",
        .id = "secrets_get",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_SECRETS_READ,
        .success = {200, &out_schema},
        .extra_statuses = {404},
        .run = secrets_get,
        .summary = "Get a secret; its value is never returned",
    },
    {
        .method = HTTP_PUT_M,
        .path = "/secrets/{name}",
        .id = "secrets_update",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_SECRETS_UPDATE,
        .body = &update_schema,
        .success = {200, &out_schema},
        .extra_statuses = {404},
        .run = secrets_update,
        .guard = secrets_get,
        .summary = "Replace a secret's value",
        .doc = "When left out, allowed_hosts does not change: a caller can change it only together "
               "with the value.",
    },
    {
        .method = HTTP_DELETE_M,
        .path = "/secrets/{name}",
        .id = "secrets_delete",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_SECRETS_DELETE,
        .success = {204},
        .extra_statuses = {404, 409},
        .run = secrets_delete,
        .guard = secrets_get,
        .summary = "Delete a secret that no enabled workflow uses",
    },
};
ROUTES(secrets, "Secrets");
