/*
 * /docs: the specification of this project, made from its current model and the route tables
 * (docs_cache.h). /docs/client.ts: the typed client of this project. /docs/ui: a viewer whose files
 * are read from the directory GROUNDWORK_UI_DIR (`make ui` builds such a directory).
 */
#include "app.h"
#include "areas/project/docs_cache.h"
#include "crypto/digest.h"
#include "openapi/openapi.h"
#include "static_files.h"

#define HEAD_BYTES_MAX 16384U
#define CLIENT_TYPE    "text/typescript"

static const struct field documentation_fields[] = {
    {.name = "data_model_documentation",
     .type = FIELD_MAP,
     .required = true,
     .doc = "OpenAPI 3.0.3 document of all entities"},
    {.name = "module_documentation",
     .type = FIELD_MAP,
     .required = true,
     .doc = "OpenAPI documents of the platform's modules, by module"},
};
static const struct schema documentation_schema = SCHEMA_OUT("Documentation", documentation_fields);

/* The parts of the answer before, between and after the two bodies. */
struct docs_frame {
    struct str begin, middle, end;
};

/* Replaces the closing brace of a head by a comma: the body adds its members to the same object. */
static void head_open_object(struct strbuf *out)
{
    out->len--;
    strbuf_char(out, ',');
}

static struct docs_frame docs_frame(struct req *r)
{
    struct str base_url = gateway_base_url(r);
    struct strbuf begin;
    struct strbuf middle;
    struct jw w;

    strbuf_init(&begin, r->task.arena, HEAD_BYTES_MAX);
    strbuf_cstr(&begin, "{\"data_model_documentation\":");
    jw_init(&w, &begin);
    openapi_model_head(&w, r->scope->model, base_url);
    head_open_object(&begin);
    strbuf_init(&middle, r->task.arena, HEAD_BYTES_MAX);
    strbuf_cstr(&middle, ",\"module_documentation\":{\"platform\":");
    jw_init(&w, &middle);
    openapi_platform_head(&w, base_url);
    head_open_object(&middle);
    return (struct docs_frame){strbuf_view(&begin), strbuf_view(&middle), STR("}}")};
}

/* co: Sends a body without its first `skipped` bytes, which the first chunk contains. */
AWAITS static int send_body(struct req *r, const struct docs_body *text, size_t skipped)
{
    for (size_t i = 0; i < text->count; i++) {
        struct str chunk = text->chunks[i];
        if (i == 0)
            chunk = (struct str){chunk.ptr + skipped, chunk.len - skipped};
        TRY(resp_stream_write(r, chunk));
        TRY(task_yield_if_due(&r->task));
    }
    return 0;
}

static struct str
docs_etag(struct req *r, const struct docs_body *model, const struct docs_body *platform)
{
    struct str text = arena_printf(r->task.arena,
                                   "%016llx%016llx%016llx%016llx%lld %.*s",
                                   (unsigned long long)model->fingerprint[0],
                                   (unsigned long long)model->fingerprint[1],
                                   (unsigned long long)platform->fingerprint[0],
                                   (unsigned long long)platform->fingerprint[1],
                                   (long long)r->scope->model->version,
                                   STR_ARG(gateway_base_url(r)));
    struct str hex = digest_sha256_hex(r->task.arena, text);

    return arena_printf(r->task.arena, "\"%.32s\"", hex.ptr);
}

AWAITS static int docs_get(struct req *r)
{
    const struct docs_body *model;
    const struct docs_body *platform;
    struct docs_frame frame;

    TRY(docs_body_of(r, DOCS_MODEL, &model));
    TRY(docs_body_platform(r, &platform));
    r->no_store = false;
    resp_header(r, "Cache-Control", STR("private, no-cache"));
    if (resp_etag(r, docs_etag(r, model, platform)))
        return reply_empty(r, 304);
    frame = docs_frame(r);
    TRY(resp_stream_begin(r, 200, STR("application/json")));
    TRY(resp_stream_write(r, frame.begin));
    TRY(send_body(r, model, 1)); /* the head has already opened the object */
    TRY(resp_stream_write(r, frame.middle));
    TRY(send_body(r, platform, 1));
    TRY(resp_stream_write(r, frame.end));
    TRY(resp_stream_end(r));
    return 200;
}

/* The ETag begins with the model version, which does not depend on the caller's rights. A client
 * compares this part with the version that the client was made from. */
AWAITS static int docs_client(struct req *r)
{
    const struct docs_body *module;
    struct str etag;

    TRY(docs_body_of(r, DOCS_CLIENT, &module));
    etag = arena_printf(r->task.arena,
                        "\"%lld-%016llx%016llx\"",
                        (long long)r->scope->model->version,
                        (unsigned long long)module->fingerprint[0],
                        (unsigned long long)module->fingerprint[1]);
    r->no_store = false;
    resp_header(r, "Cache-Control", STR("private, no-cache"));
    if (resp_etag(r, etag))
        return reply_empty(r, 304);
    TRY(resp_stream_begin(r, 200, STR(CLIENT_TYPE "; charset=utf-8")));
    TRY(send_body(r, module, 0));
    TRY(resp_stream_end(r));
    return 200;
}

/* --- the viewer --- */

#define UI_POLICY                                                                                  \
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "              \
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
#define UI_CACHE "public, max-age=300"

/* The only files of the directory that are served, and the page. */
static const char *const ui_files[] = {
    "swagger-ui.css", "swagger-ui-bundle.js", "viewer.css", "viewer.js", "favicon-32x32.png"};

static const char ui_missing[] =
    "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>API documentation</title>\n"
    "<h1>The documentation viewer is not installed</h1>\n"
    "<p>Run <code>make ui</code> in the source tree, then start the gateway with "
    "<code>GROUNDWORK_UI_DIR</code> naming the directory <code>build/ui</code>.</p>\n"
    "<p><code>GET /docs</code> returns the documents themselves.</p>\n</html>\n";

static struct static_folder ui_folder(void)
{
    const struct app_conf *conf = (const struct app_conf *)(const void *)daemon_app()->conf;

    return (struct static_folder){conf->ui_dir, UI_POLICY, "index.html"};
}

AWAITS static int docs_ui(struct req *r)
{
    struct static_folder folder = ui_folder();

    return static_page_send(r, &folder, UI_CACHE, ui_missing);
}

AWAITS static int docs_ui_asset(struct req *r)
{
    struct static_folder folder = ui_folder();
    struct str name = req_param(r, "asset");

    for (size_t i = 0; i < ARRAY_LEN(ui_files); i++) {
        if (!str_is(name, ui_files[i]))
            continue;
        int status = static_file_send(r, &folder, name, UI_CACHE);
        if (status != 0)
            return status;
    }
    return fail(r, PROBLEM_NOT_FOUND, NULL);
}

static const struct route docs_routes[] = {
    {
        .method = HTTP_GET_M,
        .path = "/docs",
        .id = "docs_get",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_DOCUMENTATION_READ,
        .headers = HEADER_IF_NONE_MATCH,
        .success = {200, &documentation_schema},
        .own_answer_limit = true, /* DOCS_CACHE_BYTES */
        .run = docs_get,
        .summary = "Get the specification of this project",
        .doc =
            "Describes the current data model and the platform's routes. Fields that the caller's "
            "roles hide are left out.",
    },
    {
        .method = HTTP_GET_M,
        .path = "/docs/client.ts",
        .id = "docs_client",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_DOCUMENTATION_READ,
        .headers = HEADER_IF_NONE_MATCH,
        .success = {200, .content_type = CLIENT_TYPE},
        .own_answer_limit = true, /* DOCS_CACHE_BYTES */
        .run = docs_client,
        .summary = "Get the typed client of this project",
        .doc =
            "A TypeScript module without dependencies, with the types of the current data model. "
            "Fields that the caller's roles hide are left out. The ETag begins with the model's "
            "version.",
    },
    {
        .method = HTTP_GET_M,
        .path = "/docs/ui",
        .id = "docs_ui",
        .auth = AUTH_PUBLIC,
        .success = {200, .content_type = "text/html"},
        .run = docs_ui,
        .hidden = true,
        .summary = "Interactive viewer of the specification",
    },
    {
        .method = HTTP_GET_M,
        .path = "/docs/ui/{asset}",
        .id = "docs_ui_asset",
        .auth = AUTH_PUBLIC,
        .success = {200, .content_type = "application/octet-stream"},
        .extra_statuses = {304, 404},
        .run = docs_ui_asset,
        .hidden = true,
        .summary = "A file of the viewer",
    },
};
ROUTES(docs, "Documentation");
