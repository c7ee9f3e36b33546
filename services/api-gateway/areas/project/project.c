/* {base_url}/: the project's own name, origins and settings. */
#include "areas/access/access.h"
#include "fetch/fetch.h"
#include "project/project_settings.h"

static int reply_project(struct req *r)
{
    struct jw w = resp_json(r);

    jw_obj(&w);
    project_json_members(&w, r->scope->project);
    jw_obj_end(&w);
    return reply_json(r, 200);
}

/* co: Reads the project from the database again: this process's copy may be outdated. */
AWAITS static int reload_project(struct req *r)
{
    const struct model *model;
    int rc = project_reload_model(&r->task, r->scope->project, &model);

    if (rc == PROJECT_NOT_FOUND)
        return fail(r, PROBLEM_NOT_FOUND, "There is no such project.");
    return rc > 0 ? fail_db(r, DB_UNAVAILABLE) : rc;
}

/* Reloads the project, because If-Match of a later PUT is compared with the ETag of this answer. */
AWAITS static int project_read(struct req *r)
{
    TRY(reload_project(r));
    return reply_project(r);
}

/* This service sends requests to the issuer, so an address that it must not call is refused here.
 */
static void
check_issuer(struct arena *arena, const struct project_patch *in, struct schema_errors *errors)
{
    const struct project_settings_patch *settings = in->settings.value;

    if (settings && settings->oidc_issuer.value.len &&
        fetch_url_check(settings->oidc_issuer.value) != 0)
        schema_error_add(arena,
                         errors,
                         STR("settings.oidc_issuer"),
                         PROBLEM_PATTERN,
                         "must be a public http or https URL");
}

static struct str project_changed_members(struct req *r, const struct project_patch *in)
{
    const struct changed_member members[] = {
        {"name", in->name.set},
        {"allowed_origins", in->allowed_origins.set},
        {"settings", in->settings.set},
    };
    return gateway_changed_detail(r, members, ARRAY_LEN(members));
}

/* co: Refuses sign-in settings with which no administrator could sign in. */
AWAITS static int check_admins(struct req *r, const struct project_patch *in)
{
    const struct project_settings_patch *change = in->settings.value;
    struct project_settings next = r->scope->project->settings;

    if (!change || !(change->require_confirmed_email.set || change->oidc_issuer.set))
        return 0;
    project_settings_merge(&next, in);
    return access_check_admins_if(r, next.require_confirmed_email, next.oidc_issuer);
}

AWAITS static int project_update(struct req *r)
{
    struct schema_errors *errors = ARENA_NEW(r->task.arena, errors);
    struct project_patch in;
    struct db_call audit;

    TRY(req_json(r, &project_schema, &in));
    TRY(reload_project(r)); /* masked secrets and the audit detail need the stored settings */
    (void)project_patch_check(r->task.arena, &in, &r->scope->project->settings, errors);
    check_issuer(r->task.arena, &in, errors);
    TRY(sql_check(r, project_patch_check_locale(&r->task, r->scope->project, &in, errors)));
    TRY(sql_check(r, project_patch_check_logo(&r->task, r->scope->project, &in, errors)));
    if (errors->count)
        return fail_fields(r, errors);
    TRY(check_admins(r, &in));
    audit = gateway_audit(r, "project.update", "project", 0, project_changed_members(r, &in));
    TRY(sql_begin(r));
    TRY(sql_check(
        r,
        project_settings_save(
            &r->task, gateway_directory(), r->scope->project, r->scope->db, &in, &audit)));
    TRY(sql_commit(r));
    gateway_raise_epoch(r);
    return reply_project(r);
}

/* Makes every gateway read the project's settings, including the allowed origins, again. */
AWAITS static int project_clear_cors(struct req *r)
{
    gateway_raise_epoch(r);
    return reply_empty(r, 204);
}

static const struct route project_routes[] = {
    {
        .method = HTTP_GET_M,
        .path = "/",
        .id = "project_read",
        .auth = AUTH_ADMIN,
        .success = {200, &project_out_schema},
        .run = project_read,
        .summary = "Read the project and its settings",
        .doc = "The path is the project's base URL with a trailing slash.",
    },
    {
        .method = HTTP_PUT_M,
        .path = "/",
        .id = "project_update",
        .auth = AUTH_ADMIN,
        .body = &project_schema,
        .success = {200, &project_out_schema},
        .extra_statuses = {409},
        .run = project_update,
        .summary = "Change name, allowed origins and settings",
        .doc = "Members that are left out keep their value; null restores the default.",
    },
    {
        .method = HTTP_POST_M,
        .path = "/cors/clear-cache",
        .id = "project_clear_cors",
        .auth = AUTH_ADMIN,
        .success = {204},
        .run = project_clear_cors,
        .summary = "Make every gateway read the allowed origins again",
    },
};
ROUTES(project, "Project");
