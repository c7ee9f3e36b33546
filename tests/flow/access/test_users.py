"""/users and /users/me: accounts, managed by administrators and by their owners."""
import pytest

from groundwork.project import ADMIN_EMAIL, PASSWORD
from groundwork.soon import settle, await_status

NEW_PASSWORD = "another horse battery"


def user_id(client):
    return client.user["id"]


def codes(response):
    return {(error["field"], error["code"]) for error in response.json().get("errors", [])}


# --- life of an account ---


def test_create_read_update_delete(project):
    admin = project.admin
    answer = admin.post("/users", {"email": "Ada@Example.org", "password": PASSWORD, "metadata": {"a": 1}}, expect=201)
    made = answer.json()
    assert made["email"] == "ada@example.org" and made["status"] == "active" and made["email_confirmed_at"]
    assert made["role_ids"] == [project.role_named("Standard User")["id"]]
    assert answer.headers["Location"].endswith(f"/users/{made['id']}")
    assert admin.get(f"/users/{made['id']}", expect=200).json() == made
    assert "password" not in answer.text.replace(PASSWORD, "")
    changed = admin.put(f"/users/{made['id']}", {"email": "countess@example.org"}, expect=200).json()
    assert changed["email"] == "countess@example.org" and changed["metadata"] == {"a": 1}
    assert admin.patch(f"/users/{made['id']}", {"metadata": {"b": 2}}, expect=200).json()["metadata"] == {"b": 2}
    admin.delete(f"/users/{made['id']}", expect=204)
    admin.get(f"/users/{made['id']}", expect=404)
    admin.delete(f"/users/{made['id']}", expect=404)


def test_list_filters(project):
    admin = project.admin
    for number in range(3):
        admin.post("/users", {"email": f"u{number}@example.org", "password": PASSWORD}, expect=201)
    admin.post("/users", {"email": "invited@example.org"}, expect=201)
    assert admin.get("/users", expect=200).json()["total_items"] == 5
    found = admin.get("/users", params={"status": "invited"}, expect=200).json()["items"]
    assert [user["email"] for user in found] == ["invited@example.org"]
    found = admin.get("/users", params={"email": "U1@example.org"}, expect=200).json()["items"]
    assert [user["email"] for user in found] == ["u1@example.org"]
    role = project.role_named("Admin User")["id"]
    found = admin.get("/users", params={"role_id": role}, expect=200).json()["items"]
    assert [user["email"] for user in found] == [ADMIN_EMAIL]
    for part, count in (("U1@", 1), ("@example.ORG", 5), ("u", 3), ("", 5), ("%", 0), ("_", 0), ("u1%", 0)):
        body = admin.get("/users", params={"email_contains": part, "limit": 2}, expect=200).json()
        assert body["total_items"] == count and all(part.lower() in user["email"] for user in body["items"])
    assert admin.get("/users", params={"email_contains": "u", "status": "invited"}, expect=200).json()["items"] == []
    group, member = admin.post("/groups", {"name": "g"}, expect=201).json()["id"], admin.get("/users", params={"email": "u2@example.org"}).json()["items"][0]["id"]
    admin.post(f"/groups/{group}/members", {"user_ids": [member]}, expect=200)
    found = admin.get("/users", params={"group_id": group, "email_contains": "example"}, expect=200).json()["items"]
    assert [user["id"] for user in found] == [member]
    for wrong in ({"group_id": 0}, {"group_id": "x"}):
        admin.get("/users", params=wrong, expect=400)
    page = admin.get("/users", params={"limit": 2, "page": 2, "sort": "-email", "count": "false"}, expect=200).json()
    assert len(page["items"]) == 2 and page["total_items"] == -1 and page["has_next_page"]
    emails = [user["email"] for user in page["items"]]
    assert emails == sorted(emails, reverse=True)
    admin.get("/users", params={"status": "retired"}, expect=400)
    admin.get("/users", params={"sort": "password_hash"}, expect=400)
    admin.get("/users", params={"nope": "1"}, expect=400)


def test_an_address_is_taken_once_whatever_its_case(project):
    project.admin.post("/users", {"email": "a@example.org"}, expect=201)
    taken = project.admin.post("/users", {"email": "A@EXAMPLE.ORG"}, expect=409)
    assert taken.json()["code"] == "unique_violation" and codes(taken) == {("email", "unique_violation")}
    other = project.admin.post("/users", {"email": "b@example.org"}, expect=201).json()
    project.admin.put(f"/users/{other['id']}", {"email": "a@example.org"}, expect=409)


def test_an_invited_user_cannot_sign_in_until_it_has_a_password(project):
    made = project.admin.post("/users", {"email": "new@example.org"}, expect=201).json()
    assert made["status"] == "invited" and made["email_confirmed_at"] is None
    body = {"email": "new@example.org", "password": ""}
    assert project.client().post("/auth/v1/token", body).status_code in (400, 401)
    project.client().post("/auth/v1/token", {**body, "password": PASSWORD}, expect=401)
    project.admin.put(f"/users/{made['id']}", {"password": PASSWORD}, expect=200)
    confirmed = project.admin.post(f"/users/{made['id']}/confirm", expect=200).json()
    assert confirmed["status"] == "active" and confirmed["email_confirmed_at"]
    project.client().sign_in("new@example.org", PASSWORD)


@pytest.mark.parametrize("body, field", [
    ({}, "email"),
    ({"email": "nobody"}, "email"),
    ({"email": None}, "email"),
    ({"email": "a@example.org", "password": "short"}, "password"),
    ({"email": "a@example.org", "password": "x" * 1025}, "password"),
    ({"email": "a@example.org", "password": 7}, "password"),
    ({"email": "a" * 300 + "@example.org"}, "email"),
    ({"email": "a@example.org", "role_ids": [999999]}, "role_ids"),
    ({"email": "a@example.org", "role_ids": ["1"]}, "role_ids[0]"),
    ({"email": "a@example.org", "role_ids": 1}, "role_ids"),
    ({"email": "a@example.org", "metadata": []}, "metadata"),
])
def test_bad_bodies(shared_project, body, field):
    refused = shared_project.admin.post("/users", body, expect=400)
    assert field in {error["field"] for error in refused.json()["errors"]}, refused.text


@pytest.mark.parametrize("member", ["id", "created_at", "updated_at", "is_admin", "permissions", "role", "roles",
                                    "confirmed", "email_confirmed_at", "project_id", "tenant_id", "password_hash"])
def test_a3_a4_members_that_nobody_sets(shared_project, member):
    """A3, A4: mass assignment."""
    admin = shared_project.admin
    refused = admin.post("/users", {"email": "x@example.org", member: 424242}, expect=400)
    assert codes(refused) <= {(member, "read_only"), (member, "unknown_field")} and codes(refused)
    admin.put(f"/users/{user_id(admin)}", {member: 424242}, expect=400)
    admin.put("/users/me", {member: 424242}, expect=400)


@pytest.mark.parametrize("path", ["/users/0", "/users/-1", "/users/abc", "/users/9223372036854775808",
                                  "/users/99999999999999999999", "/users/1e3", "/users/1.0", "/users/%31%00"])
def test_ids_that_are_none(shared_project, path):
    assert shared_project.admin.get(path).status_code in (400, 404)
    assert shared_project.admin.delete(path).status_code in (400, 404)


def test_a_confirmation_is_of_one_address(project):
    admin = project.admin
    made = admin.post("/users", {"email": "first@example.org", "password": PASSWORD}, expect=201).json()
    path = f"/users/{made['id']}"
    same = admin.put(path, {"email": "FIRST@example.org", "metadata": {"a": 1}}, expect=200).json()
    assert same["email_confirmed_at"] == made["email_confirmed_at"]
    changed = admin.put(path, {"email": "second@example.org"}, expect=200).json()
    assert changed["email_confirmed_at"] is None and changed["status"] == "active"
    assert admin.post(f"{path}/confirm", expect=200).json()["email_confirmed_at"]
    for status in ("unconfirmed", "invited"):
        assert admin.put(path, {"status": status}, expect=200).json()["email_confirmed_at"] is None
        assert admin.post(f"{path}/confirm", expect=200).json()["status"] == "active"
    assert admin.put(path, {"status": "suspended"}, expect=200).json()["email_confirmed_at"]


def test_the_last_administrator_keeps_a_confirmed_address(project):
    project.admin.put("/", {"settings": {"require_confirmed_email": True}}, expect=200)
    settle()
    path = f"/users/{user_id(project.admin)}"
    assert project.admin.put(path, {"email": "other@example.org"}, expect=409).json()["code"] == "last_administrator"
    project.admin.put(path, {"email": ADMIN_EMAIL.upper(), "metadata": {}}, expect=200)
    second = {"email": "second@example.org", "password": PASSWORD, "role_ids": [project.role_named("Admin User")["id"]]}
    made = project.admin.post("/users", second, expect=201).json()
    project.admin.put(path, {"email": "other@example.org"}, expect=409)
    project.admin.post(f"/users/{made['id']}/confirm", expect=200)
    assert project.admin.put(path, {"email": "other@example.org"}, expect=200).json()["email_confirmed_at"] is None


# --- the caller's own account ---


def test_me_is_the_caller(project):
    user = project.user()
    me = user.get("/users/me", expect=200).json()
    assert me["id"] == user_id(user) and me["email"] == user.user["email"]
    key = project.key(["svc_files:read"], client=project.admin)
    assert key.get("/users/me", expect=200).json()["email"] == ADMIN_EMAIL
    key.put("/users/me", {"metadata": {}}, expect=403)


def test_a4_me_changes_nothing_but_password_and_metadata(project):
    user = project.user()
    for body in ({"role_ids": [project.role_named("Admin User")["id"]]}, {"status": "invited"},
                 {"email": "admin2@example.org"}, {"is_admin": True}, {"permissions": ["svc_users:read"]}):
        user.put("/users/me", body, expect=400)
    assert user.put("/users/me", {"metadata": {"theme": "dark"}}, expect=200).json()["metadata"] == {"theme": "dark"}
    user.put(f"/users/{user_id(user)}", {"metadata": {}}, expect=403)


def test_password_change_needs_the_old_one_and_ends_other_sessions(project):
    user = project.user()
    email = user.user["email"]
    other = project.client().sign_in(email, PASSWORD)
    user.put("/users/me", {"password": NEW_PASSWORD}, expect=400)
    user.put("/users/me", {"password": NEW_PASSWORD, "current_password": "wrong horse battery"}, expect=400)
    user.put("/users/me", {"password": "short", "current_password": PASSWORD}, expect=400)
    user.put("/users/me", {"password": NEW_PASSWORD, "current_password": PASSWORD}, expect=200)
    user.get("/users/me", expect=200)
    await_status(lambda: other.get("/users/me"), 401)
    other.post("/auth/v1/refresh", {"refresh_token": other.refresh_token}, expect=401)
    project.client().post("/auth/v1/token", {"email": email, "password": PASSWORD}, expect=401)
    project.client().sign_in(email, NEW_PASSWORD)


ACCOUNT = "/auth/v1/user"


def test_data_is_merged_as_clients_of_gotrue_expect(project):
    user = project.user()
    body = '{"data": {"theme": "dark", "n": 12345678901234567.25, "gone": {"a": null}}}'
    shown = user.request("PUT", ACCOUNT, data=body, headers={"Content-Type": "application/json"}, expect=200).json()
    me = user.get("/users/me", expect=200).json()
    assert shown == user.get(ACCOUNT, expect=200).json() == {member: me[member] for member in shown}
    shown = user.put(ACCOUNT, {"data": {"theme": "light", "gone": None, "never": None}, "code_challenge": None,
                               "code_challenge_method": None, "email": user.user["email"].upper()}, expect=200)
    assert shown.json()["metadata"] == {"theme": "light", "n": 12345678901234567.25}
    assert "12345678901234567.25" in shown.text
    for body in ({"data": None}, {"data": {}}, {}):
        assert user.put(ACCOUNT, body, expect=200).json()["metadata"] == {"theme": "light", "n": 12345678901234567.25}


def test_the_account_has_the_rules_of_me(project):
    user = project.user()
    for body in ({"role_ids": [project.role_named("Admin User")["id"]]}, {"status": "invited"}, {"email": "admin2@example.org"},
                 {"phone": "+4915112345678"}, {"is_admin": True}, {"metadata": {"theme": "dark"}}, {"data": []}):
        refused = user.put(ACCOUNT, body, expect=400).json()
        assert refused["error_code"] == refused["code"] == "validation_failed", body
        assert refused["errors"][0]["field"] == next(iter(body))
    assert user.get(ACCOUNT, expect=200).json()["email"] == user.user["email"]
    project.key(["svc_users:update"]).put(ACCOUNT, {"data": {}}, expect=403)
    project.client().put(ACCOUNT, {"data": {}}, expect=401)


def test_the_password_of_an_account(project):
    user = project.user()
    email = user.user["email"]
    other = project.client().sign_in(email, PASSWORD)
    user.put(ACCOUNT, {"password": NEW_PASSWORD}, expect=400)
    user.put(ACCOUNT, {"password": NEW_PASSWORD, "current_password": "wrong horse battery"}, expect=400)
    user.put(ACCOUNT, {"password": "short", "current_password": PASSWORD}, expect=400)
    user.put(ACCOUNT, {"password": NEW_PASSWORD, "current_password": PASSWORD, "data": {"changed": True}}, expect=200)
    assert user.get(ACCOUNT, expect=200).json()["metadata"] == {"changed": True}
    await_status(lambda: other.get("/users/me"), 401)
    project.client().sign_in(email, NEW_PASSWORD)


def test_what_is_merged_stays_small(project):
    user = project.user()
    user.put(ACCOUNT, {"data": {"a": "x" * 10000}}, expect=200)
    refused = user.put(ACCOUNT, {"data": {"b": "x" * 10000}}, expect=400).json()
    assert [(e["field"], e["code"]) for e in refused["errors"]] == [("data", "too_long")]
    user.put(ACCOUNT, {"data": {"a": None, "b": "x" * 10000}}, expect=200)


def test_a_password_set_by_an_administrator_ends_all_sessions(project):
    user = project.user()
    project.admin.put(f"/users/{user_id(user)}", {"password": NEW_PASSWORD}, expect=200)
    await_status(lambda: user.get("/users/me"), 401)
    project.client().sign_in(user.user["email"], NEW_PASSWORD)


def test_t10_passwords_are_exact_but_for_their_form(project):
    for number, password in enumerate(["p" * 72 + "A", "pässwörd-ä-ñ-✓", " leading and trailing ", "p" * 200]):
        email = f"exact{number}@example.org"
        project.admin.post("/users", {"email": email, "password": password}, expect=201)
        project.client().sign_in(email, password)
        for near in (password[:-1], password + "x", password.swapcase(), password.strip() + "!"):
            project.client().post("/auth/v1/token", {"email": email, "password": near}, expect=401)
    composed, decomposed = "pa\u00e4ssword", "paa\u0308ssword"
    project.admin.post("/users", {"email": "form@example.org", "password": composed}, expect=201)
    project.client().sign_in("form@example.org", decomposed)


# --- suspended and deleted (A9) ---


def test_a9_a_suspended_user_is_out_at_once_and_back_when_active_again(project):
    user = project.user()
    key = project.key(["svc_files:read"], client=project.user_with("svc_api_keys:create", "svc_files:read"))
    owner = key.get("/users/me", expect=200).json()["id"]
    project.admin.put(f"/users/{user_id(user)}", {"status": "suspended"}, expect=200)
    project.admin.put(f"/users/{owner}", {"status": "suspended"}, expect=200)
    await_status(lambda: user.get("/users/me"), 401)
    await_status(lambda: key.get("/users/me"), 401)
    user.post("/auth/v1/refresh", {"refresh_token": user.refresh_token}, expect=401)
    refused = project.client().post("/auth/v1/token", {"email": user.user["email"], "password": PASSWORD})
    assert refused.status_code == 403 and refused.json()["code"] == "user_suspended"
    wrong = project.client().post("/auth/v1/token", {"email": user.user["email"], "password": "wrong"})
    assert wrong.status_code == 401, "the state of an account is revealed without the password"
    project.admin.put(f"/users/{user_id(user)}", {"status": "active"}, expect=200)
    await_status(lambda: user.get("/users/me"), 401)
    project.client().sign_in(user.user["email"], PASSWORD)


def test_a9_a_deleted_user_is_gone_with_keys_and_sessions(project):
    user = project.user_with("svc_api_keys:create", "svc_files:read")
    key = project.key(["svc_files:read"], client=user)
    key.get("/users/me", expect=200)
    project.admin.delete(f"/users/{user_id(user)}", expect=204)
    await_status(lambda: user.get("/users/me"), 401)
    await_status(lambda: key.get("/users/me"), 401)
    user.post("/auth/v1/refresh", {"refresh_token": user.refresh_token}, expect=401)
    project.client().post("/auth/v1/token", {"email": user.user["email"], "password": PASSWORD}, expect=401)


def test_a9_the_address_of_a_deleted_user_starts_anew(project):
    user = project.user()
    project.admin.delete(f"/users/{user_id(user)}", expect=204)
    again = project.user(email=user.user["email"])
    assert user_id(again) != user_id(user)
    await_status(lambda: user.get("/users/me"), 401)


# --- the last administrator ---


def test_the_last_administrator_stays(project):
    me = user_id(project.admin)
    standard = project.role_named("Standard User")["id"]
    for change in ({"role_ids": []}, {"role_ids": [standard]}, {"status": "suspended"}, {"status": "invited"}):
        refused = project.admin.put(f"/users/{me}", change, expect=409)
        assert refused.json()["code"] == "last_administrator"
    assert project.admin.delete(f"/users/{me}", expect=409).json()["code"] == "last_administrator"
    project.admin.get("/users/me", expect=200)


def test_an_administrator_may_go_while_another_stays(project):
    other = project.administrator()
    project.admin.put(f"/users/{user_id(other)}", {"status": "suspended"}, expect=200)
    project.admin.delete(f"/users/{user_id(project.admin)}", expect=409)
    project.admin.put(f"/users/{user_id(other)}", {"status": "active"}, expect=200)
    other = project.client().sign_in(other.user["email"], PASSWORD)
    other.delete(f"/users/{user_id(project.admin)}", expect=204)
    other.delete(f"/users/{user_id(other)}", expect=409)


def sql(db, project, text, *params):
    with db.cursor() as cursor:
        cursor.execute(text.replace("{p}", project.schema(db)), params)
    db.commit()


def test_an_administrator_who_cannot_sign_in_does_not_count(project, db):
    """An administrator does not count without a password or an identity of the project's issuer, or unconfirmed when
    confirmation is required."""
    me = f"/users/{user_id(project.admin)}"
    other = user_id(project.administrator())
    issuer = "https://issuer.example.org"
    project.admin.put("/", {"settings": {"oidc_issuer": issuer, "oidc_client_id": "id"}}, expect=200)

    def stays(code=409):
        answer = project.admin.put(me, {"status": "suspended"}, expect=code)
        assert code == 200 or answer.json()["code"] == "last_administrator"

    sql(db, project, "update {p}.users set password_hash = null where id = %s", other)
    stays()
    project.admin.delete(me, expect=409)
    sql(db, project, "insert into {p}.identities (user_id, issuer, subject) values (%s, 'https://old.example.org', 's')", other)
    stays()
    sql(db, project, "update {p}.identities set issuer = %s", issuer)
    sql(db, project, "update {p}.users set email_confirmed_at = null where id = %s", other)
    project.admin.put("/", {"settings": {"require_confirmed_email": True}}, expect=200)
    settle()
    stays()
    project.admin.put(me, {"metadata": {"still": "possible"}}, expect=200)
    project.admin.put("/", {"settings": {"require_confirmed_email": None}}, expect=200)
    settle()
    stays(200)


def test_settings_leave_an_administrator_who_can_sign_in(project, db):
    issuer = "https://issuer.example.org"
    project.admin.put("/", {"settings": {"oidc_issuer": issuer, "oidc_client_id": "id"}}, expect=200)
    sql(db, project, "update {p}.users set email_confirmed_at = null")
    refused = project.admin.put("/", {"settings": {"require_confirmed_email": True}}, expect=409)
    assert refused.json()["code"] == "last_administrator"
    sql(db, project, "insert into {p}.identities (user_id, issuer, subject) values (%s, %s, 's')",
        user_id(project.admin), issuer)
    sql(db, project, "update {p}.users set email_confirmed_at = now(), password_hash = null")
    for change in ({"oidc_issuer": None}, {"oidc_issuer": "https://other.example.org"}):
        assert project.admin.put("/", {"settings": change}, expect=409).json()["code"] == "last_administrator"
    project.admin.put("/", {"settings": {"require_confirmed_email": True, "sign_up": True}}, expect=200)


def test_two_administrators_cannot_remove_each_other_at_once(project):
    """The check withstands concurrent requests, because it locks rows and does not count in advance."""
    import concurrent.futures

    for _ in range(3):
        first, second = project.admin, project.administrator()
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            one = pool.submit(first.put, f"/users/{user_id(second)}", {"status": "suspended"})
            two = pool.submit(second.put, f"/users/{user_id(first)}", {"status": "suspended"})
            statuses = sorted((one.result().status_code, two.result().status_code))
        assert statuses[0] == 200 and statuses[1] in (401, 403, 409), statuses
        survivor = first if one.result().status_code == 200 else second
        gone = second if survivor is first else first
        survivor.delete(f"/users/{user_id(gone)}", expect=204)
        project.admin = survivor


# --- no caller gives itself or others more rights than it holds (A4, A5) ---


def test_a5_a_user_manager_gives_only_roles_it_holds(project):
    project.entity("orders")
    manager = project.user_with("svc_users:read", "svc_users:create", "svc_users:update", "orders:read")
    own = manager.user["role_ids"]
    reader = project.role(permissions=["orders:read"])["id"]
    writer = project.role(permissions=["orders:update"])["id"]
    system = project.role(permissions=["svc_roles:update"])["id"]
    administrator = project.role_named("Admin User")["id"]
    made = manager.post("/users", {"email": "n@example.org", "password": PASSWORD, "role_ids": [reader]}, expect=201)
    for role in (writer, system, administrator):
        for path in (f"/users/{made.json()['id']}", f"/users/{user_id(manager)}"):
            manager.put(path, {"role_ids": own + [role]}, expect=403)
        manager.post("/users", {"email": f"r{role}@example.org", "role_ids": [role]}, expect=403)
    assert project.admin.get(f"/users/{user_id(manager)}").json()["role_ids"] == own


def test_a4_a_user_manager_cannot_touch_accounts_above_it(project):
    """A caller that could change an administrator's password or address could become administrator."""
    manager = project.user_with("svc_users:read", "svc_users:update", "svc_users:delete")
    above = project.user(permissions=["svc_roles:update"])
    for target in (user_id(project.admin), user_id(above)):
        for change in ({"password": NEW_PASSWORD}, {"email": "mine@example.org"}, {"status": "suspended"},
                       {"role_ids": []}, {"metadata": {"x": 1}}):
            manager.put(f"/users/{target}", change, expect=403)
        manager.delete(f"/users/{target}", expect=403)
        manager.post(f"/users/{target}/confirm", expect=403)
    project.client().sign_in(ADMIN_EMAIL, PASSWORD)


def test_a5_a_manager_without_default_permissions_cannot_create_holders_of_them(project):
    """A request without role_ids gives the default roles, so the caller must hold their permissions too."""
    manager = project.user_with("svc_users:create", "svc_users:read")
    manager.post("/users", {"email": "default@example.org", "password": PASSWORD}, expect=403)
    assert project.admin.get("/users", params={"email": "default@example.org"}).json()["total_items"] == 0


def test_a5_field_rules_are_part_of_what_a_role_gives(project):
    """A caller who sees only some fields cannot take or give a role that sees all fields."""
    project.entity("orders")
    open_role = project.role(permissions=["orders:read"])["id"]
    limited = project.role(permissions=["orders:read", "svc_users:update", "svc_users:create", "svc_users:read"],
                           field_access=[{"entity": "orders", "action": "read", "fields": ["name"]}])["id"]
    manager = project.user(role_ids=[limited])
    manager.put(f"/users/{user_id(manager)}", {"role_ids": [limited, open_role]}, expect=403)
    manager.post("/users", {"email": "o@example.org", "role_ids": [open_role]}, expect=403)
    manager.post("/users", {"email": "l@example.org", "role_ids": [limited]}, expect=201)


def test_a2_unknown_roles_look_the_same_to_everybody(project):
    manager = project.user_with("svc_users:create")
    refused = manager.post("/users", {"email": "q@example.org", "role_ids": [424242]}, expect=400)
    assert codes(refused) == {("role_ids", "foreign_key_violation")}


# --- addresses of all scripts ---


def test_addresses_of_all_scripts(project):
    """One spelling is stored, and every spelling signs in; invisible characters are refused."""
    made = project.admin.post("/users", {"email": "Jos\u00c9@B\u00dccher.example", "password": PASSWORD}, expect=201).json()
    assert made["email"] == "jos\u00e9@b\u00fccher.example"
    for email in ("jos\u00e9@b\u00fccher.example", "JOS\u00c9@B\u00dcCHER.example", "jose\u0301@bu\u0308cher.example"):
        project.client().sign_in(email, PASSWORD)
        assert project.admin.get("/users", params={"email": email}, expect=200).json()["total_items"] == 1
    project.admin.post("/users", {"email": "jose\u0301@b\u00fccher.example"}, expect=409)
    for email in ("a\u200b@example.org", "a@ex\u202eample.org", "a\u00a0b@example.org"):
        project.admin.post("/users", {"email": email}, expect=400)


def test_blanks_around_an_address_are_nothing(project, anonymous):
    made = project.admin.post("/users", {"email": " ada@example.org\n", "password": PASSWORD}, expect=201).json()
    assert made["email"] == "ada@example.org"
    for typed in ("ada@example.org ", "\tADA@example.org", "\u00a0ada@example.org"):
        for member in ("email", "username"):
            anonymous.post("/auth/v1/token", {member: typed, "password": PASSWORD}, expect=200)
        assert project.admin.get("/users", params={"email": typed}, expect=200).json()["total_items"] == 1
        project.admin.post("/users", {"email": typed}, expect=409)
        project.admin.put(f"/users/{made['id']}", {"email": typed}, expect=200)
        anonymous.post("/auth/v1/recover", {"email": typed}, expect=202)
    project.client().sign_in("ada@example.org", PASSWORD).put("/auth/v1/user", {"email": " Ada@example.org "}, expect=200)
    project.admin.post("/users", {"email": "a da@example.org"}, expect=400)
    project.admin.post("/users", {"email": " "}, expect=400)


U_LABELS, A_LABELS = "ada@m\u00fcnchen.example", "ada@xn--mnchen-3ya.example"


def rename(db, project, user, email):
    """Stores the address as an old account may have it."""
    with db.cursor() as cursor:
        cursor.execute(f"update {project.schema(db)}.users set email = %s where id = %s", (email, user))
    db.commit()


@pytest.mark.parametrize("kept", [U_LABELS, A_LABELS])
def test_a_domain_in_both_spellings_is_one_account(project, anonymous, db, kept):
    made = project.admin.post("/users", {"email": A_LABELS, "password": PASSWORD}, expect=201).json()
    assert made["email"] == U_LABELS
    rename(db, project, made["id"], kept)
    for typed in (U_LABELS, A_LABELS, "Ada@MU\u0308NCHEN.example"):
        anonymous.post("/auth/v1/token", {"email": typed, "password": PASSWORD}, expect=200)
        assert project.admin.get("/users", params={"email": typed}, expect=200).json()["total_items"] == 1
        assert project.admin.post("/users", {"email": typed}, expect=409).json()["errors"][0]["field"] == "email"
        user = project.admin.put(f"/users/{made['id']}", {"email": typed}, expect=200).json()
        assert user["email"] == kept and user["email_confirmed_at"]  # the address is the same, so it stays confirmed
    other = project.admin.post("/users", {"email": "other@example.org"}, expect=201).json()
    for typed in (U_LABELS, A_LABELS):
        project.admin.put(f"/users/{other['id']}", {"email": typed}, expect=409)
    own = project.client().sign_in(A_LABELS, PASSWORD)
    for typed in (U_LABELS, A_LABELS):
        own.put("/auth/v1/user", {"email": typed}, expect=200)
        change = {"email": typed, "password": PASSWORD}
        own.post("/auth/v1/email-change", change, expect=400)


def test_two_accounts_of_before_are_each_found_under_its_own_spelling(project, anonymous, db):
    passwords = {U_LABELS: "the first password", A_LABELS: "the second password"}
    for number, (email, password) in enumerate(passwords.items()):
        made = project.admin.post("/users", {"email": f"n{number}@example.org", "password": password}, expect=201).json()
        rename(db, project, made["id"], email)
    for email, password in passwords.items():
        anonymous.post("/auth/v1/token", {"email": email, "password": password}, expect=200)
    users = project.admin.get("/users", params={"email": A_LABELS}, expect=200).json()["items"]
    assert {user["email"] for user in users} == set(passwords)


def test_spellings_of_an_address_are_one_account_to_guessers(project, anonymous):
    project.admin.put("/", {"settings": {"rate_sign_in_account": 4, "rate_sign_in_address": 1000}}, expect=200)
    project.admin.post("/users", {"email": "\u00e4\u00f6\u00fc@example.org", "password": PASSWORD}, expect=201)
    settle()
    spellings = [a + o + u for a in ("\u00e4", "\u00c4", "a\u0308") for o in ("\u00f6", "\u00d6") for u in ("\u00fc", "\u00dc")]
    codes = [anonymous.post("/auth/v1/token", {"email": f"{name}@example.org", "password": "guess"}).status_code
             for name in spellings]
    assert set(codes) == {401, 429} and codes.count(401) <= 8, codes


def test_the_callers_rights_in_one_answer(project):
    project.entity("orders")
    admin = project.admin.get("/users/me", expect=200).json()
    every = {item["name"] for item in project.admin.get("/permissions", params={"limit": 500}).json()["items"]}
    assert set(admin["permissions"]) == every and admin["is_admin"] and admin["api_access"] and admin["field_access"] == []
    role = project.role(permissions=["orders:read", "orders:update", "svc_files:read"], api_access=True,
                        field_access=[{"entity": "orders", "action": "update", "fields": ["price"]}])
    user = project.user(role_ids=[role["id"]])
    me = user.get("/users/me", expect=200).json()
    assert set(me["permissions"]) == {"orders:read", "orders:update", "svc_files:read"}
    assert me["field_access"] == [{"entity": "orders", "action": "update", "fields": ["price"]}]
    assert not me["is_admin"] and me["api_access"]
    key = project.key(["orders:read", "svc_roles:read"]).get("/users/me", expect=200).json()
    assert set(key["permissions"]) == {"orders:read", "svc_roles:read"} and not key["is_admin"]
