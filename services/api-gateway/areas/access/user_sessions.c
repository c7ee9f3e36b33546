/* Live sessions of users: lists them and ends them, for administrators and for the users
 * themselves. */
#include "areas/access/users.h"
#include "users_sql.h"

static const struct field session_fields[] = {
    {.name = "id", .type = FIELD_I64, .required = true},
    {.name = "created_at", .type = FIELD_TIME, .required = true, .doc = "When the user signed in"},
    {.name = "last_used_at",
     .type = FIELD_TIME,
     .required = true,
     .doc = "When the session last got an access token: at sign-in, or for a refresh token"},
    {.name = "expires_at",
     .type = FIELD_TIME,
     .required = true,
     .doc = "When the session ends at the latest"},
    {.name = "address",
     .type = FIELD_STR,
     .required = true,
     .nullable = true,
     .doc = "Network address of the last use",
     .example = "\"203.0.113.7\""},
    {.name = "user_agent",
     .type = FIELD_STR,
     .required = true,
     .nullable = true,
     .doc = "The header User-Agent of the sign-in"},
    {.name = "is_current",
     .type = FIELD_BOOL,
     .required = true,
     .doc = "Whether the request was made in this session"},
};
static const struct schema session_schema = SCHEMA_OUT("UserSession", session_fields);

/* --- reading --- */

AWAITS static int reply_sessions(struct req *r, int64_t user_id)
{
    return reply_page(
        r,
        "-last_used_at",
        SQL_USER_SESSIONS(.user_id = user_id, .current_id = r->scope->caller->session_id));
}

AWAITS static int user_sessions_list(struct req *r)
{
    struct rows user;
    int64_t id;

    TRY(req_id(r, "id", &id));
    TRY(sql_one(r, &user, SQL_USER_GET(.id = id)));
    return reply_sessions(r, id);
}

AWAITS static int my_sessions_list(struct req *r)
{
    return reply_sessions(r, r->scope->caller->user_id);
}

AWAITS static int need_session(struct req *r, int64_t user_id)
{
    struct rows session;
    int64_t id;

    TRY(req_id(r, "session_id", &id));
    return sql_one(r, &session, SQL_USER_SESSION(.user_id = user_id, .id = id));
}

AWAITS static int user_session_guard(struct req *r)
{
    int64_t id;

    TRY(users_guard(r));
    TRY(req_id(r, "id", &id));
    return need_session(r, id);
}

AWAITS static int my_session_guard(struct req *r)
{
    return need_session(r, r->scope->caller->user_id);
}

/* --- ending --- */

/* Audits and commits the end of sessions. The raised epoch makes all processes forget tokens of
 * these sessions, and dismisses their streams. */
AWAITS static int finish_end(struct req *r, int64_t user_id, struct str detail)
{
    TRY(gateway_commit(r, gateway_audit(r, "users.end_sessions", "user", user_id, detail)));
    gateway_raise_epoch(r);
    return reply_empty(r, 204);
}

/* Ends the session {session_id} in the open transaction, and commits. */
AWAITS static int end_session(struct req *r, int64_t user_id)
{
    struct rows ended;
    int64_t id;

    TRY(req_id(r, "session_id", &id));
    TRY(sql_one(r, &ended, SQL_USER_SESSION_END(.user_id = user_id, .id = id)));
    return finish_end(
        r, user_id, arena_printf(r->task.arena, "{\"session_id\":%lld}", (long long)id));
}

AWAITS static int user_sessions_end_one(struct req *r)
{
    struct rows user;
    int64_t id;

    TRY(req_id(r, "id", &id));
    TRY(users_lock(r, id, &user));
    return end_session(r, id);
}

AWAITS static int user_sessions_end(struct req *r)
{
    struct rows user;
    struct rows ended;
    int64_t id;

    TRY(req_id(r, "id", &id));
    TRY(users_lock(r, id, &user));
    TRY(sql_all(r, &ended, SQL_USER_SESSIONS_END(.user_id = id, .id = 0)));
    if (ended.count)
        return finish_end(r, id, arena_printf(r->task.arena, "{\"sessions\":%zu}", ended.count));
    TRY(sql_commit(r));
    return reply_empty(r, 204);
}

AWAITS static int my_sessions_end(struct req *r)
{
    TRY(sql_begin(r));
    return end_session(r, r->scope->caller->user_id);
}

static const struct route user_sessions_routes[] = {
    {
        .method = HTTP_GET_M,
        .path = "/users/{id}/sessions",
        .id = "user_sessions_list",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_USERS_READ,
        .query = page_query,
        .success = {200, &session_schema, .list = true},
        .extra_statuses = {404},
        .run = user_sessions_list,
        .summary = "List a user's live sessions",
        .doc = "The session that was used last comes first.",
    },
    {
        .method = HTTP_DELETE_M,
        .path = "/users/{id}/sessions",
        .id = "user_sessions_end",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_USERS_UPDATE,
        .success = {204},
        .extra_statuses = {404},
        .run = user_sessions_end,
        .guard = users_guard,
        .summary = "End all sessions of a user",
        .doc = "Access and refresh tokens of the sessions are refused within a second, and their "
               "streams end. The user may sign in again, and the user's API keys keep working.",
    },
    {
        .method = HTTP_DELETE_M,
        .path = "/users/{id}/sessions/{session_id}",
        .id = "user_sessions_end_one",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_USERS_UPDATE,
        .success = {204},
        .extra_statuses = {404},
        .run = user_sessions_end_one,
        .guard = user_session_guard,
        .summary = "End a session of a user",
    },
    {
        .method = HTTP_GET_M,
        .path = "/users/me/sessions",
        .id = "my_sessions_list",
        .auth = AUTH_USER,
        .query = page_query,
        .success = {200, &session_schema, .list = true},
        .run = my_sessions_list,
        .summary = "List the caller's own live sessions",
        .doc = "The session that was used last comes first.",
    },
    {
        .method = HTTP_DELETE_M,
        .path = "/users/me/sessions/{session_id}",
        .id = "my_sessions_end",
        .auth = AUTH_USER,
        .success = {204},
        .extra_statuses = {404},
        .run = my_sessions_end,
        .guard = my_session_guard,
        .class = CLASS_AUTH,
        .summary = "End a session of the caller",
        .doc = "POST /auth/v1/logout?scope=others ends all sessions but the caller's current one.",
    },
};
ROUTES(user_sessions, "Users");
