/* Helpers of app.h that handlers of all areas use. */
#include "app.h"
#include "http/multipart.h"

#define TRACE_CHARS  55 /* version 00: "00-<trace id>-<parent id>-<flags>" */
#define TRACE_ID_AT  3
#define TRACE_ID_LEN 32
#define PARENT_AT    36
#define PARENT_LEN   16
#define FLAGS_AT     53

void gateway_hold_model(struct req *r)
{
    r->scope->model = model_ref(r->scope->project->model);
    model_attach(r->task.arena, r->scope->project->model);
}

bool gateway_refresh_project(struct req *r)
{
    struct project *project = r->scope->project;
    struct caller *caller = r->scope->caller;
    const struct model *model;
    bool changed = false;
    int rc = r->scope->db_failure == DB_SCHEMA ? project_reload_model(&r->task, project, &model)
                                               : project_epoch_recheck(&r->task, project, &changed);

    if (rc != 0)
        return false;
    if (project->model->version > r->scope->model->version)
        gateway_hold_model(r);
    else if (!changed)
        return false;
    return !caller->rights ||
           project_rights(&r->task, project, caller->user_id, caller->key_id, &caller->rights) == 0;
}

int gateway_refresh_rights(struct req *r)
{
    struct caller *caller = r->scope->caller;

    (void)gateway_refresh_project(r);
    if (!caller->rights)
        return 0;
    return project_rights(
        &r->task, r->scope->project, caller->user_id, caller->key_id, &caller->rights);
}

int gateway_rights_check(struct req *r, int rc)
{
    if (rc <= 0 || rc == RIGHTS_NOT_FOUND)
        return rc < 0 ? rc : 0;
    return fail(r, PROBLEM_DEPENDENCY_UNAVAILABLE, "Rights cannot be read right now; try again.");
}

int gateway_entity(struct req *r, const struct entity **ret_entity)
{
    const struct entity *entity = model_entity(r->scope->model, req_param(r, "entity"));

    r->scope->may_be_stale = !entity && !r->scope->is_rechecked;
    if (!entity)
        return fail(r, PROBLEM_NOT_FOUND, "There is no such entity.");
    *ret_entity = entity;
    return 0;
}

/* --- the caller's trace context (W3C Trace Context, section 3.2), checked before use --- */

/* Accepts lower-case digits only. */
static bool is_hex(struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        if ((c < '0' || c > '9') && (c < 'a' || c > 'f'))
            return false;
    }
    return true;
}

static bool is_zero(struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] != '0')
            return false;
    }
    return true;
}

static bool traceparent_is_id(struct str text)
{
    return is_hex(text) && !is_zero(text);
}

/* Later versions may append fields after another '-'. The version ff is invalid. */
static bool is_traceparent(struct str text)
{
    if (text.len < TRACE_CHARS)
        return false;

    struct str version = {text.ptr, 2};
    bool longer = text.len > TRACE_CHARS;
    if (!is_hex(version) || str_is(version, "ff"))
        return false;
    if (longer && (str_is(version, "00") || text.ptr[TRACE_CHARS] != '-'))
        return false;
    return text.ptr[TRACE_ID_AT - 1] == '-' && text.ptr[PARENT_AT - 1] == '-' &&
           text.ptr[FLAGS_AT - 1] == '-' &&
           traceparent_is_id((struct str){text.ptr + TRACE_ID_AT, TRACE_ID_LEN}) &&
           traceparent_is_id((struct str){text.ptr + PARENT_AT, PARENT_LEN}) &&
           is_hex((struct str){text.ptr + FLAGS_AT, 2});
}

struct str gateway_traceparent(struct req *r)
{
    struct str found = STR_NONE;

    for (size_t i = 0; i < r->header_count; i++) {
        if (!str_ieq(r->headers[i].name, STR("traceparent")))
            continue;
        if (found.ptr)
            return STR_NONE; /* the header was sent twice: trust neither value */
        found = r->headers[i].value;
    }
    if (!is_traceparent(found))
        return STR_NONE;
    if (str_starts(found, STR("00")))
        return found;
    return arena_printf(r->task.arena, "00%.*s", TRACE_CHARS - 2, found.ptr + 2);
}

/* --- changes --- */

struct db_call gateway_audit(
    struct req *r, const char *action, const char *target, int64_t target_id, struct str detail)
{
    return audit_call(
        r->task.arena, r->scope->caller, action, target, target_id, detail, r->request_id);
}

int gateway_commit(struct req *r, struct db_call audit)
{
    TRY(sql_batch(r, &audit, 1));
    return sql_commit(r);
}

void gateway_roll_back(struct req *r)
{
    if (r->scope->db != &r->scope->project->db)
        db_rollback(r->scope->db);
    r->scope->db = &r->scope->project->db;
}

struct str gateway_changed_detail(struct req *r, const struct changed_member *members, size_t count)
{
    struct strbuf text;
    struct jw w;

    strbuf_init(&text, r->task.arena, 512);
    jw_init(&w, &text);
    jw_obj(&w);
    jw_lit(&w, "changed");
    jw_arr(&w);
    for (size_t i = 0; i < count; i++)
        if (members[i].set)
            jw_cstr(&w, members[i].name);
    jw_arr_end(&w);
    jw_obj_end(&w);
    return strbuf_view(&text);
}

void gateway_raise_epoch(struct req *r)
{
    project_epoch_raise(&r->task, gateway_directory(), r->scope->project);
}

int gateway_multipart_check(struct req *r, const struct multipart *multipart, int rc)
{
    if (rc != MULTIPART_INVALID)
        return gateway_upload_check(r, rc);
    return fail(r,
                PROBLEM_BAD_REQUEST,
                "The upload is not valid multipart/form-data: %s.",
                multipart_reason(multipart));
}

int gateway_upload_check(struct req *r, int rc)
{
    const struct app_conf *conf = (const struct app_conf *)(const void *)daemon_app()->conf;

    switch (rc) {
    case MULTIPART_TOO_LARGE:
    case REQ_BODY_TOO_LARGE:
        return fail(r,
                    PROBLEM_PAYLOAD_TOO_LARGE,
                    "An upload may have at most %zu bytes.",
                    conf->upload_bytes);
    case REQ_BODY_TIMEOUT:
        return fail(r, PROBLEM_REQUEST_TIMEOUT, "The upload arrived too slowly.");
    case REQ_BODY_REFUSED:
        return fail(r,
                    PROBLEM_TOO_MANY_REQUESTS_IN_FLIGHT,
                    "Too many uploads from your address are on their way; try again.");
    case REQ_BODY_MALFORMED:
        return fail(
            r, PROBLEM_BAD_REQUEST, "The upload ended early, or is not compressed correctly.");
    default:
        return rc;
    }
}
