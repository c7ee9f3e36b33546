/* GET /console: the console, a page for administrators (services/console). Its files are read from
 * the directory that GROUNDWORK_CONSOLE names. */
#include "app.h"
#include "static_files.h"

#define MOUNT STR("/console/")
/* Scripts and styles come from this folder alone. The two hashes are the style attributes
 * "display: contents" and "display: contents;", which the component library writes. Trusted Types
 * limit the code that can write markup. */
#define CONSOLE_POLICY                                                                             \
    "default-src 'none'; script-src 'self'; style-src 'self'; style-src-attr 'unsafe-hashes' "     \
    "'sha256-iaOezIDcQIoxCULa6FBKKuLUu09R7kG+Mlu+JVfU3Rw=' "                                       \
    "'sha256-tcbDxjMo+xKqM21aCGYbs/QAJqB7yUXC06oPWDapBgc='; img-src 'self' data: blob:; "          \
    "font-src 'self'; connect-src 'self'; worker-src 'self'; frame-src 'self'; base-uri 'none'; "  \
    "form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'; "             \
    "trusted-types svelte-trusted-html console"

static const char console_missing[] =
    "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>Groundwork console</title>\n"
    "<h1>The console is not built</h1>\n"
    "<p>Run <code>make console</code> in the source tree, then start the gateway with "
    "<code>GROUNDWORK_CONSOLE</code> naming the directory <code>build/console</code>.</p>\n"
    "</html>\n";

AWAITS static int console_get(struct req *r)
{
    const struct app_conf *conf = (const struct app_conf *)(const void *)daemon_app()->conf;
    struct static_folder folder = {conf->console, CONSOLE_POLICY, "index.html"};
    struct str name = STR_NONE;

    if (str_is(conf->console, "off"))
        return fail(r, PROBLEM_NOT_FOUND, NULL);
    if (str_starts(r->path, MOUNT))
        name = (struct str){r->path.ptr + MOUNT.len, r->path.len - MOUNT.len};
    int status = static_file_send(r, &folder, name, static_cache_of(name));
    if (status != 0)
        return status;
    /* A missing asset is never the page: a tab that is older than an upgrade must see the 404. */
    if (str_starts(name, STR("assets/")))
        return fail(r, PROBLEM_NOT_FOUND, NULL);
    /* Any other path is an address in the console, whose script reads the path. */
    return static_page_send(r, &folder, "no-cache", console_missing);
}

static const struct route console_routes[] = {
    {
        .method = HTTP_GET_M,
        .path = "/console",
        .subtree = true,
        .id = "console_get",
        .auth = AUTH_PUBLIC,
        .open_query = true, /* the console's script reads the query */
        .success = {200, .content_type = "text/html"},
        .extra_statuses = {304, 404},
        .run = console_get,
        .hidden = true,
        .summary = "The console",
    },
};
const struct route_table console_table = {"", console_routes, ARRAY_LEN(console_routes), "Console"};
