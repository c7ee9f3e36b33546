"""Sessions of users: their list, and their end by an administrator or by the user."""
import pytest

from groundwork.project import PASSWORD
from groundwork.soon import await_status

FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"
MINE = "/users/me/sessions"


def sessions_of(user):
    return f"/users/{user.user['id']}/sessions"


def items(client, path, **params):
    return client.get(path, params=params, expect=200).json()["items"]


def current(client):
    """The id of the client's session."""
    found = [each["id"] for each in items(client, MINE) if each["is_current"]]
    assert len(found) == 1, found
    return found[0]


def sign_in(project, user, agent=FIREFOX):
    client = project.client()
    client.session.headers["User-Agent"] = agent
    return client.sign_in(user.user["email"], PASSWORD)


def is_refused(client):
    """The access token and the refresh token of an ended session are refused."""
    await_status(lambda: client.get("/users/me"), 401)
    refused = client.post("/auth/v1/refresh", {"refresh_token": client.refresh_token}, expect=401).json()
    assert refused["code"] == "session_expired"


def last_audit(project):
    """The newest entry about ended sessions: the ids of its actor and of its user, and its detail."""
    entry = items(project.admin, "/audit-log", action="users.end_sessions", target="user")[0]
    return entry["actor_id"], int(entry["target_id"]), entry["detail"]


# --- the list ---


def test_sessions_are_listed_by_their_last_use(project):
    user = project.user()
    second, third = sign_in(project, user), sign_in(project, user, agent="curl/8.0")
    shown = items(project.admin, sessions_of(user))
    assert [each["id"] for each in shown] == [current(third), current(second), current(user)]
    assert [each["user_agent"] for each in shown[:2]] == ["curl/8.0", FIREFOX]
    assert {each["address"] for each in shown} == {"127.0.0.1"} and not any(each["is_current"] for each in shown)
    assert all(each["created_at"] <= each["last_used_at"] < each["expires_at"] for each in shown)
    second.post("/auth/v1/refresh", {"refresh_token": second.refresh_token}, expect=200)
    assert [each["id"] for each in items(second, MINE)] == [current(second), current(third), current(user)]
    page = project.admin.get(sessions_of(user), params={"limit": 1, "page": 2, "sort": "id"}, expect=200).json()
    assert ([each["id"] for each in page["items"]], page["total_items"], page["has_next_page"]) == ([current(second)], 3, True)


def test_sessions_that_have_ended_are_not_listed(project, db):
    user = project.user()
    second, third = sign_in(project, user), sign_in(project, user)
    expired = current(third)
    second.post("/auth/v1/logout", params={"scope": "local"}, expect=204)
    with db.cursor() as cursor:
        cursor.execute(f"update {project.schema(db)}.sessions set expires_at = now() where id = %s", (expired,))
    db.commit()
    assert [each["id"] for each in items(project.admin, sessions_of(user))] == [current(user)]
    project.admin.delete(f"{sessions_of(user)}/{expired}", expect=404)
    user.delete(f"{MINE}/{expired}", expect=404)


# --- the end ---


def test_an_administrator_ends_one_session(project):
    user = project.user()
    second = sign_in(project, user)
    ended = current(second)
    project.admin.delete(f"{sessions_of(user)}/{ended}", expect=204)
    assert last_audit(project) == (project.admin.user["id"], user.user["id"], {"session_id": ended})
    is_refused(second)
    assert [each["id"] for each in items(user, MINE)] == [current(user)]
    project.admin.delete(f"{sessions_of(user)}/{ended}", expect=404)


def test_an_administrator_ends_all_sessions(project):
    user = project.user(permissions=["svc_api_keys:create"])
    key = project.key([], client=user)
    second = sign_in(project, user)
    project.admin.delete(sessions_of(user), expect=204)
    assert last_audit(project) == (project.admin.user["id"], user.user["id"], {"sessions": 2})
    is_refused(user)
    is_refused(second)
    assert items(project.admin, sessions_of(user)) == []
    key.get("/users/me", expect=200)
    sign_in(project, user).get("/users/me", expect=200)


def test_nothing_to_end_is_no_change(project):
    user = project.user()
    project.admin.delete(sessions_of(user), expect=204)
    before = project.admin.get("/audit-log", expect=200).json()["total_items"]
    project.admin.delete(sessions_of(user), expect=204)
    assert project.admin.get("/audit-log", expect=200).json()["total_items"] == before


def test_a_user_ends_own_sessions(project):
    user = project.user()
    second = sign_in(project, user)
    ended = current(second)
    user.delete(f"{MINE}/{ended}", expect=204)
    assert last_audit(project) == (user.user["id"], user.user["id"], {"session_id": ended})
    is_refused(second)
    user.delete(f"{MINE}/{ended}", expect=404)
    user.delete(f"{MINE}/{current(user)}", expect=204)
    is_refused(user)


# --- rights ---


def test_a_session_of_another_user_is_none(project):
    user, other = project.user(), project.user()
    theirs = current(other)
    user.delete(f"{MINE}/{theirs}", expect=404)
    project.admin.delete(f"{MINE}/{theirs}", expect=404)
    project.admin.delete(f"{sessions_of(user)}/{theirs}", expect=404)
    assert current(other) == theirs


def test_who_may_see_and_end_sessions(project):
    user, plain = project.user(), project.user()
    one = f"{sessions_of(user)}/{current(user)}"
    reader, editor = project.user_with("svc_users:read"), project.user_with("svc_users:update")
    for caller in (plain, project.key([]), editor):
        caller.get(sessions_of(user), expect=403)
    for caller in (plain, project.key([]), reader):
        caller.delete(one, expect=403)
        caller.delete(sessions_of(user), expect=403)
    assert len(items(reader, sessions_of(user))) == len(items(project.key(["svc_users:read"]), sessions_of(user))) == 1
    for method, path in (("GET", MINE), ("DELETE", f"{MINE}/{current(user)}")):
        project.key(["svc_users:read", "svc_users:update"]).request(method, path, expect=403)
        project.client().request(method, path, expect=401)


@pytest.mark.parametrize("path", [sessions_of, lambda user: f"{sessions_of(user)}/{current(user)}"], ids=["all", "one"])
def test_rights_that_the_caller_does_not_hold_protect_sessions(project, path):
    editor = project.user_with("svc_users:read", "svc_users:update")
    editor.delete(path(project.admin), expect=403)
    editor.delete(path(project.user_with("svc_files:read")), expect=403)
    editor.delete(path(project.user_with("svc_users:read")), expect=204)
    assert current(project.admin)


def test_users_that_are_none(project):
    user = project.user()
    one = f"{sessions_of(user)}/{current(user)}"
    project.admin.delete(f"/users/{user.user['id']}", expect=204)
    project.admin.get(sessions_of(user), expect=404)
    project.admin.delete(sessions_of(user), expect=404)
    project.admin.delete(one, expect=404)
    for wrong in ("0", "x", "99999999999999999999"):
        project.admin.get(f"/users/{wrong}/sessions", expect=404)
        project.admin.delete(f"{MINE}/{wrong}", expect=404)
