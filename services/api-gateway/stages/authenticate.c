/* Credentials of a request: a bearer token, or an API key in the Authorization or x-api-key header.
 * Identifies the caller by them. */
#include "stages/refusals.h"
#include "stages/stages.h"

#include "base/num.h"
#include "http/query.h"
#include "stages/realtime_ticket.h"
#include "stages_sql.h"

struct credentials {
    struct str bearer; /* a user's access token */
    struct str key;    /* ak_... */
};

static bool is_key(struct str text)
{
    return str_starts(text, STR("ak_"));
}

static bool is_header_single(const struct req *r, const char *name)
{
    unsigned seen = 0;

    for (size_t i = 0; i < r->header_count; i++)
        seen += str_ieq(r->headers[i].name, str_from(name));
    return seen <= 1;
}

bool authorization_bearer(struct str header, struct str *ret_credentials)
{
    const struct str scheme = STR("Bearer ");

    if (header.len <= scheme.len || !str_ieq((struct str){header.ptr, scheme.len}, scheme))
        return false;
    *ret_credentials = str_trim((struct str){header.ptr + scheme.len, header.len - scheme.len});
    return true;
}

/* Two different credentials are a mistake or an attack: never pick one of them. */
static int read_credentials(struct req *r, struct credentials *ret)
{
    struct str authorization = req_header(r, "authorization");
    struct str key = req_header(r, "x-api-key");

    *ret = (struct credentials){STR_NONE, key};
    if (!is_header_single(r, "authorization") || !is_header_single(r, "x-api-key"))
        return refusal(r, REFUSE_CREDENTIALS_TWICE, "Credentials are given more than once.");
    if (!authorization.ptr)
        return 0;
    if (!authorization_bearer(authorization, &authorization))
        return refusal(
            r, REFUSE_CREDENTIALS, "Send credentials as 'Authorization: Bearer <token>'.");
    if (key.ptr && !str_eq(key, authorization))
        return refusal(
            r, REFUSE_CREDENTIALS_TWICE, "The Authorization and x-api-key headers disagree.");
    if (is_key(authorization))
        ret->key = authorization;
    else
        ret->bearer = authorization;
    return 0;
}

AWAITS static int load_rights(struct req *r, struct caller *caller)
{
    int rc = project_rights(
        &r->task, r->scope->project, caller->user_id, caller->key_id, &caller->rights);

    if (rc < 0)
        return rc;
    if (rc == RIGHTS_NOT_FOUND || (rc == 0 && !caller->rights->active))
        return refusal(r, REFUSE_TOKEN, "The account of this credential may not sign in.");
    if (rc > 0)
        return refusal(r, REFUSE_AWAY, "The caller's rights cannot be read right now.");
    return 0;
}

/* X-Group-Id requests the records of a group's members. The caller must be a member of the group,
 * or hold one of its roles. */
AWAITS static int check_group(struct req *r)
{
    struct str header = req_header(r, "x-group-id");
    struct caller *caller = r->scope->caller;
    struct rows found;
    int64_t group_id;

    if (!header.ptr)
        return 0;
    if (!num_parse_i64(header, &group_id) || group_id < 1)
        return refusal(r, REFUSE_GROUP_ID, "X-Group-Id must be a group's id.");
    if (!caller_can(caller, PERM_SVC_GROUP_DATA_READ))
        return refusal(r, REFUSE_FORBIDDEN, "This needs the permission svc_group_data:read.");
    TRY(sql_all(r,
                &found,
                SQL_GROUP_REACHABLE(.id = group_id,
                                    .user_id = caller->user_id,
                                    .role_ids = sql_i64s(caller->rights->role_ids,
                                                         caller->rights->role_count))));
    if (!found.count && !caller_has_all_rows(caller))
        return refusal(r, REFUSE_FORBIDDEN, "The caller does not belong to this group.");
    caller->group_scope = group_id;
    return 0;
}

/* Identifies the caller by a ticket in the query. The first check of a request uses the ticket up;
 * further checks of the same request take the caller from r->scope->ticket_caller. */
AWAITS static int read_ticket(struct req *r, struct caller *caller, bool *ret_taken)
{
    const struct query *query;
    bool found;

    *ret_taken = false;
    if (!r->route->takes_ticket)
        return 0;
    TRY(req_query(r, &query));
    struct str ticket = query_get(query, "ticket");
    if (!ticket.ptr)
        return 0;
    if (!r->scope->ticket_caller) {
        TRY(realtime_ticket_use(r, ticket, caller, &found));
        if (!found)
            return refusal(r, REFUSE_TOKEN, "The ticket is unknown, was used or has expired.");
        r->scope->ticket_caller = caller;
    } else {
        *caller = *r->scope->ticket_caller;
    }
    *ret_taken = true;
    return 0;
}

int authenticate_run(struct req *r)
{
    struct caller *caller = ARENA_NEW(r->task.arena, caller);
    struct credentials given;
    bool ticket = false;

    r->scope->caller = caller;
    if (r->route->auth == AUTH_PUBLIC)
        return 0;
    TRY(read_credentials(r, &given));
    if (!given.bearer.ptr && !given.key.ptr)
        TRY(read_ticket(r, caller, &ticket));
    if (ticket)
        return load_rights(r, caller);
    if (!given.bearer.ptr && !given.key.ptr) {
        if (r->route->auth == AUTH_OPTIONAL)
            return 0;
        return refusal(r, REFUSE_CREDENTIALS, "This endpoint needs an access token or an API key.");
    }
    if (given.key.ptr)
        TRY(auth_apikey_check(r, given.key, caller));
    else
        TRY(auth_token_check(r, given.bearer, caller));
    TRY(load_rights(r, caller));
    return check_group(r);
}
