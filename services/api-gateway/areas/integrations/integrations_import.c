/* POST /integrations/import: creates an integration from an OpenAPI 3 document. */
#include "areas/integrations/integrations.h"

#include <errno.h>

#include "base/utf8.h"
#include "integrations/openapi_import.h"
#include "json/members.h"
#include "json/skim.h"
#include "loop/shares.h"
#include "loop/work.h"
#include "stages/refusals.h"

#define IMPORTS_MAX         4 /* of a process; each may allocate OPENAPI_BYTES_MAX */
#define IMPORTS_WAITING     32
#define IMPORT_BYTES        ((size_t)16 << 20) /* of a body with a large document */
#define NAME_SHOWN_BYTES    64
#define OTHER_MEMBERS_BYTES ((size_t)64 << 10) /* of the other members of such a body */

struct import_in {
    struct in_json document;
    struct in_str name, base_url;
    struct in_obj auth;
    struct in_strs operations;
};

static const struct field import_fields[] = {
    {.name = "document",
     FIELD_AT(struct import_in, document),
     .type = FIELD_MAP,
     .required = true,
     .doc =
         "OpenAPI 3.0 or 3.1 as JSON, with $ref only within the document. A body of more than 1 MB "
         "must name the operations to import in the member \"operations\"",
     .example = "{\"openapi\": \"3.0.3\", \"info\": {\"title\": \"crm\", \"version\": \"1\"}, "
                "\"servers\": [{\"url\": \"https://api.example.com\"}], \"paths\": {\"/users\": "
                "{\"get\": {\"operationId\": \"listUsers\", \"responses\": {}}}}}"},
    {.name = "name",
     FIELD_AT(struct import_in, name),
     .type = FIELD_STR,
     .max = 64,
     .doc = "When left out: the document's title",
     .example = "\"crm\""},
    {.name = "base_url",
     FIELD_AT(struct import_in, base_url),
     .type = FIELD_STR,
     .max = 2048,
     .doc = "When left out: the document's first server",
     .example = "\"https://api.example.com/v1\""},
    {.name = "auth",
     FIELD_AT(struct import_in, auth),
     .type = FIELD_OBJ,
     .sub = &integration_auth_schema,
     .doc = "When left out: one of the document's securitySchemes"},
    {.name = "operations",
     FIELD_AT(struct import_in, operations),
     .type = FIELD_STRS,
     .min = 1,
     .max = INTEGRATION_OPERATIONS_MAX,
     .doc = "Names of the operations to import; when left out: all",
     .example = "[\"listUsers\"]"},
};
static const struct schema import_schema =
    SCHEMA("IntegrationImport", struct import_in, import_fields);

static const struct field skipped_fields[] = {
    {.name = "operation", .type = FIELD_STR, .required = true, .example = "\"uploadPhoto\""},
    {.name = "reason",
     .type = FIELD_STR,
     .required = true,
     .example = "\"its body is neither JSON nor a form\""},
};
static const struct schema skipped_schema = SCHEMA_OUT("IntegrationSkipped", skipped_fields);

static const struct field imported_fields[] = {
    {.name = "id", .type = FIELD_I64, .required = true},
    {.name = "name", .type = FIELD_STR, .required = true, .example = "\"crm\""},
    {.name = "description", .type = FIELD_STR, .required = true, .nullable = true},
    {.name = "base_url", .type = FIELD_STR, .required = true},
    {.name = "auth", .type = FIELD_OBJ, .required = true, .sub = &integration_auth_schema},
    {.name = "operations",
     .type = FIELD_LIST,
     .required = true,
     .sub = &integration_operation_schema},
    {.name = "version", .type = FIELD_I64, .required = true},
    {.name = "created_at", .type = FIELD_TIME, .required = true},
    {.name = "updated_at", .type = FIELD_TIME, .required = true},
    {.name = "skipped",
     .type = FIELD_LIST,
     .required = true,
     .sub = &skipped_schema,
     .doc = "What an integration cannot express: operations that were left out, and what was left "
            "out of imported operations"},
};
static const struct schema imported_schema = SCHEMA_OUT("IntegrationImported", imported_fields);

static struct shares *import_budget(void)
{
    static struct shares budget;

    if (budget.config.limit == 0)
        shares_init(&budget,
                    &(struct shares_config){
                        .name = "imports",
                        .limit = (uint64_t)IMPORTS_MAX * OPENAPI_BYTES_MAX,
                        .per_owner = (uint64_t)IMPORTS_MAX / 2 * OPENAPI_BYTES_MAX,
                        .waiting = IMPORTS_WAITING,
                    });
    return &budget;
}

/* One import. It runs on a thread, because a document may have thousands of operations. */
struct import_work {
    struct arena *arena; /* for this import alone, freed on a thread */
    struct str text;     /* a large body; STR_NONE = `params` is filled already */
    const char *reason;  /* why the text is not valid JSON; NULL = it is */
    struct openapi_options params;
    struct in_strs only_operations;
    json_t *body, *skipped;
    struct schema_errors *errors;
    bool is_valid;
};

/* Fills the options from a body. `document` is the text of the document of a large body; `body`
 * then has an empty object in place of the document. STR_NONE: `body` has the document itself. */
static bool import_decode(struct arena *arena,
                          struct import_work *work,
                          const json_t *body,
                          struct str document)
{
    struct import_in in;

    if (json_is_string(json_object_get(body, "document"))) {
        schema_error_add(arena,
                         work->errors,
                         STR("document"),
                         PROBLEM_TYPE_MISMATCH,
                         "must be an object, not a text: convert YAML to JSON first");
        return false;
    }
    if (!schema_decode(arena, &import_schema, body, &in, work->errors))
        return false;
    if (in.auth.value != NULL)
        integration_check_auth(arena, in.auth.value, work->errors);
    if (document.ptr != NULL && in.operations.count == 0)
        schema_error_add(arena,
                         work->errors,
                         STR("operations"),
                         PROBLEM_REQUIRED,
                         "is required in a body of more than 1 MB: name the operations to import");
    work->only_operations = in.operations;
    work->params = (struct openapi_options){
        .document = document.ptr == NULL ? in.document.value : NULL,
        .text = document,
        .name = in.name.value,
        .base_url = in.base_url.value,
        .auth = in.auth.value != NULL ? json_object_get(body, "auth") : NULL,
        .chosen_names = in.operations.set ? &work->only_operations : NULL,
    };
    return work->errors->count == 0;
}

/* Reads the options from a large body, without making a JSON tree of its document. */
static bool import_read_text(struct import_work *work)
{
    struct json_members members = json_members_of(work->text);
    struct json_member member;
    json_t *body = jr_attach(work->arena, json_object());
    struct str document = STR_NONE;
    struct jr_error error;
    size_t left = OTHER_MEMBERS_BYTES;
    json_t *value;

    if (skim_parse(work->arena, work->text, NULL, 0, &work->reason) != 0)
        return false;
    while (json_members_next(&members, &member)) {
        struct str text = member.value;
        if (json_key_is(work->arena, member.key, "document")) {
            document = text;
            text = str_starts(text, STR("{"))    ? STR("{}")
                   : str_starts(text, STR("\"")) ? STR("\"\"")
                                                 : STR("null");
        }
        size_t bytes = member.key.len + text.len;
        if (bytes > left) {
            schema_error_add(work->arena,
                             work->errors,
                             utf8_cut(member.key, NAME_SHOWN_BYTES),
                             PROBLEM_OUT_OF_RANGE,
                             "is too large: the members other than document may have 64 KB");
            return false;
        }
        struct str name = json_text_decode(work->arena, member.key);
        if (jr_parse(work->arena, text, &value, &error) != 0 ||
            json_object_getn(body, name.ptr, name.len) != NULL) {
            work->reason = "a value outside of document is out of range, or a key is there twice";
            return false;
        }
        left -= bytes;
        (void)json_object_setn(body, name.ptr, name.len, value);
    }
    return import_decode(work->arena, work, body, document);
}

static void import_run(void *arg)
{
    struct import_work *work = arg;

    work->is_valid =
        (work->text.ptr == NULL || import_read_text(work)) &&
        openapi_import(work->arena, &work->params, &work->body, &work->skipped, work->errors);
}

static void import_free(void *arena)
{
    arena_free(arena);
}

AWAITS static int import_reply(struct req *r, const struct import_work *work)
{
    if (work->reason != NULL)
        return fail(r, PROBLEM_INVALID_JSON, "The body is not valid JSON: %s.", work->reason);
    return work->is_valid ? integration_create(r, work->body, work->skipped)
                          : fail_fields(r, work->errors);
}

/* co: Runs the import on a thread and answers. -EAGAIN: too much work is queued. -ECANCELED when
 * the client has left before a thread began: the result is not needed then. */
AWAITS static int import_on_thread(struct req *r, struct import_work *work)
{
    work->arena = arena_new(0);
    int rc = work_run(&r->task, WORK_PARSE, import_run, work);

    if (rc == 0)
        rc = import_reply(r, work);
    work_post(import_free, work->arena);
    return rc;
}

AWAITS static int import_within_budget(struct req *r, struct import_work *work)
{
    struct share *share;
    int rc = shares_acquire(
        &r->task, import_budget(), share_owner_of(&r->task), OPENAPI_BYTES_MAX, 0, &share);

    if (rc == 0) {
        rc = import_on_thread(r, work);
        shares_release(import_budget(), share, OPENAPI_BYTES_MAX);
    }
    return rc == -EAGAIN ? refusal(r,
                                   REFUSE_BUSY,
                                   "Too many documents of the project are being imported; try "
                                   "again.")
                         : rc;
}

AWAITS static int integrations_import(struct req *r)
{
    struct import_work work = {.errors = ARENA_NEW(r->task.arena, work.errors)};
    struct str type = req_header(r, "content-type");
    struct str text;
    json_t *body;

    if (type.len > 0 && memmem(type.ptr, type.len, "yaml", 4) != NULL)
        return fail(r,
                    PROBLEM_UNSUPPORTED_MEDIA_TYPE,
                    "Convert YAML to JSON first, and send it as the member document of an "
                    "application/json body.");
    TRY(req_json_unparsed(r, &text));
    if (req_json_is_large(r, text)) {
        work.text = text;
    } else {
        TRY(req_json_any(r, &body));
        if (!import_decode(r->task.arena, &work, body, STR_NONE))
            return fail_fields(r, work.errors);
    }
    return import_within_budget(r, &work);
}

static const struct route integrations_import_routes[] = {
    {
        .method = HTTP_POST_M,
        .path = "/integrations/import",
        .id = "integrations_import",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_INTEGRATIONS_CREATE,
        .body = &import_schema,
        .body_max = IMPORT_BYTES,
        .large_as_text = true,
        .success = {201, &imported_schema},
        .extra_statuses = {409},
        .run = integrations_import,
        .class = CLASS_HEAVY,
        .summary = "Create an integration from an OpenAPI document",
        .doc =
            "Parameters keep their names; members of JSON bodies and forms become parameters. "
            "What an integration cannot express (cookies, uploads, other servers) is left out and "
            "listed in skipped. Convert YAML and Swagger 2.0 to OpenAPI 3 as JSON first. Reading "
            "the document may take 500,000 steps (each operation, parameter, reference and value "
            "that is tried or compared is a step) and 16 MB of memory. A document that takes "
            "more, or has more than 200 operations, gets 400: name the operations that you need "
            "in the member \"operations\". From a body of 1 to 16 MB only these operations are "
            "read.",
    },
};
ROUTES(integrations_import, "Integrations");
