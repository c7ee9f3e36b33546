/*
 * CORS (Fetch standard). Allowed origins are the project's allowed_origins. Callers authenticate
 * with a bearer token or a key, never with cookies, so credentials are not allowed and '*' is safe.
 */
#include "app/admission.h"
#include "project/redirect.h"
#include "stages/stages.h"

#define CORS_MAX_AGE "600"
#define CORS_REQUEST_HEADERS                                                                       \
    "authorization, content-type, x-api-key, if-match, if-none-match, x-group-id, x-lock-token, "  \
    "x-request-id, idempotency-key, traceparent, range, if-range, tus-resumable, upload-length, "  \
    "upload-metadata, upload-offset, x-http-method-override, last-event-id"
#define CORS_RESPONSE_HEADERS                                                                      \
    "etag, location, x-request-id, ratelimit-limit, ratelimit-remaining, ratelimit-reset, "        \
    "retry-after, accept-ranges, content-range, content-disposition, content-location, "           \
    "tus-resumable, upload-offset, upload-length, upload-metadata, upload-expires"

static bool origin_allowed(const struct project *project, struct str origin)
{
    for (size_t i = 0; i < project->settings.allowed_origin_count; i++) {
        struct str allowed = project->settings.allowed_origins[i];
        if (str_is(allowed, "*") || redirect_url_is_same(allowed, origin))
            return true;
    }
    return false;
}

AWAITS static int origin_check(struct req *r, struct str slug, struct str origin, bool *ret_allowed)
{
    struct project *project = r->scope->project;

    *ret_allowed = false;
    if (!project) {
        int rc = admission_find_project(r, gateway_directory(), slug, &project);
        if (rc)
            return rc == PROJECT_NOT_FOUND || rc == PROJECT_UNAVAILABLE ? 0 : rc;
    }
    *ret_allowed = origin_allowed(project, origin);
    return 0;
}

/* Adds the headers by which tus clients learn versions, extensions and the size limit (tus 1.0). */
static void tus_options(struct req *r)
{
    const struct app_conf *conf = (const struct app_conf *)(const void *)daemon_app()->conf;

    if (!str_ends(r->path, STR("/files/tus")))
        return;
    resp_header(r, "Tus-Resumable", STR("1.0.0"));
    resp_header(r, "Tus-Version", STR("1.0.0"));
    resp_header(r, "Tus-Extension", STR("creation,termination,expiration"));
    resp_header_printf(r, "Tus-Max-Size", "%zu", conf->upload_bytes);
}

int cors_run(struct req *r, struct str slug, struct str allow)
{
    struct str origin = req_header(r, "origin");
    bool allowed = false;

    if (origin.len) {
        TRY(origin_check(r, slug, origin, &allowed));
        resp_header(r, "Vary", STR("Origin"));
    }
    if (allowed) {
        resp_header(r, "Access-Control-Allow-Origin", origin);
        resp_header(r, "Access-Control-Expose-Headers", STR(CORS_RESPONSE_HEADERS));
    }
    if (!allow.ptr)
        return 0;
    resp_header(r, "Allow", allow);
    tus_options(r);
    if (allowed) {
        resp_header(r, "Access-Control-Allow-Methods", allow);
        resp_header(r, "Access-Control-Allow-Headers", STR(CORS_REQUEST_HEADERS));
        resp_header(r, "Access-Control-Max-Age", STR(CORS_MAX_AGE));
    }
    return reply_empty(r, 204);
}
