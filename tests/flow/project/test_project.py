"""{base_url}/: the project's name, origins and settings."""
import pytest
from groundwork.soon import settle

MASK = "********"


def test_read(project):
    seen = project.admin.get("/", expect=200).json()
    assert seen["project_id"] == project.id and seen["name"] == f"Test {project.id}"
    assert seen["allowed_origins"] == []
    settings = seen["settings"]
    assert settings["access_token_seconds"] == 3600 and settings["password_min_length"] == 8
    assert settings["oidc_client_secret"] is None and settings["default_row_level_security"] is True


def test_warnings_say_what_does_not_work(project):
    """A project without a page to link to sends no mails with links, and its administrators see a warning."""
    seen = project.admin.get("/", expect=200).json()["warnings"]
    assert len(seen) == 1 and "settings.auth_page_url" in seen[0]
    for settings in ({"auth_page_url": "https://app.example.com/"}, {"redirect_urls": ["https://app.example.com/"]}):
        assert project.admin.put("/", {"settings": settings}, expect=200).json()["warnings"] == []
        assert project.admin.get("/", expect=200).json()["warnings"] == []
        gone = {"settings": dict.fromkeys(settings)}
        assert project.admin.put("/", gone, expect=200).json()["warnings"] == seen


def test_merge(project):
    url = "https://issuer.example.com"
    changed = project.admin.put(
        "/",
        {
            "name": "Renamed",
            "allowed_origins": ["https://app.example.com"],
            "settings": {"oidc_issuer": url, "oidc_client_id": "id", "oidc_client_secret": "hush", "rate_read": 900},
        },
        expect=200,
    ).json()
    assert changed["name"] == "Renamed" and changed["settings"]["oidc_client_secret"] == MASK
    kept = project.admin.patch("/", {"settings": {"rate_read": None, "oidc_client_secret": MASK}}, expect=200).json()
    assert kept["name"] == "Renamed" and kept["allowed_origins"] == ["https://app.example.com"]
    assert kept["settings"]["rate_read"] == 0 and kept["settings"]["oidc_issuer"] == url
    assert kept["settings"]["oidc_client_secret"] == MASK
    gone = project.admin.put("/", {"allowed_origins": None, "settings": {"oidc_client_secret": None}}, expect=200)
    assert gone.json()["settings"]["oidc_client_secret"] is None and gone.json()["allowed_origins"] == []
    assert "hush" not in gone.text


def test_with_and_without_slash(project):
    project.admin.put("", {"name": "One"}, expect=200)
    project.admin.put("/", {"name": "Two"}, expect=200)
    assert project.admin.get("/", expect=200).json()["name"] == "Two"
    assert project.admin.get("", expect=200).json() == project.admin.get("/", expect=200).json()
    assert project.operator.get(f"/{project.id}", expect=200).json()["name"] == "Two"
    assert "DELETE" not in project.admin.delete("/", expect=405).headers["Allow"]


@pytest.mark.parametrize(
    "body, field",
    [
        ({"name": ""}, "name"),
        ({"name": "x" * 201}, "name"),
        ({"project_id": "other"}, "project_id"),
        ({"allowed_origins": ["https://a.example.com/path"]}, "allowed_origins[0]"),
        ({"allowed_origins": ["https://A.example.com"]}, "allowed_origins[0]"),
        ({"allowed_origins": "*"}, "allowed_origins"),
        ({"settings": {"password_min_length": 7}}, "settings.password_min_length"),
        ({"settings": {"access_token_seconds": 0}}, "settings.access_token_seconds"),
        ({"settings": {"rate_sign_in_account": 0}}, "settings.rate_sign_in_account"),
        ({"settings": {"redirect_urls": ["nowhere"]}}, "settings.redirect_urls[0]"),
        ({"settings": {"redirect_urls": ["myapp://cb", "https://*.example.com/cb"]}}, "settings.redirect_urls[1]"),
        ({"settings": {"redirect_urls": ["javascript://x/%0aalert(1)"]}}, "settings.redirect_urls[0]"),
        ({"settings": {"auth_page_url": "https://*.example.com/"}}, "settings.auth_page_url"),
        ({"settings": {"redirect_urls": ["https://a.example/" + "a" * 2031]}}, "settings.redirect_urls[0]"),
        ({"settings": {"oidc_issuer": "http://169.254.169.254"}}, "settings.oidc_issuer"),
        ({"settings": {"oidc_issuer": "https://user:pass@example.com"}}, "settings.oidc_issuer"),
        ({"settings": {"surprise": 1}}, "settings.surprise"),
    ],
)
def test_bad_settings(shared_project, body, field):
    answer = shared_project.admin.put("/", body, expect=400).json()
    assert answer["errors"][0]["field"] == field
    assert shared_project.admin.get("/", expect=200).json()["name"] == f"Test {shared_project.id}"


def test_administrators_only(project, anonymous):
    user = project.user()
    for method, path in [("GET", "/"), ("PUT", "/"), ("POST", "/cors/clear-cache")]:
        assert anonymous.request(method, path, json={}, expect=401).json()["code"] == "unauthorized"
        assert user.request(method, path, json={}, expect=403).json()["code"] == "admin_required"


def test_never_with_a_key(project):
    key = project.key(["svc_users:read"])
    for method, path in [("GET", "/"), ("PUT", "/"), ("POST", "/cors/clear-cache"), ("POST", "/auth/v1/keys/rotate")]:
        assert key.request(method, path, json={}, expect=403).json()["code"] == "admin_required"


def test_origins_take_effect(project, anonymous):
    origin = "https://app.example.com"
    path = "/auth/v1/.well-known/jwks.json"
    assert "Access-Control-Allow-Origin" not in anonymous.get(path, headers={"Origin": origin}).headers
    project.admin.put("/", {"allowed_origins": [origin]}, expect=200)
    project.admin.post("/cors/clear-cache", expect=204)
    settle()
    answer = anonymous.get(path, headers={"Origin": origin}, expect=200)
    assert answer.headers["Access-Control-Allow-Origin"] == origin
    assert "Access-Control-Allow-Origin" not in anonymous.get(path, headers={"Origin": "https://b.example"}).headers


def test_changes_are_audited(project, db):
    project.admin.put("/", {"settings": {"oidc_client_secret": "canary-secret"}}, expect=200)
    with db.cursor() as cursor:
        cursor.execute(f"select actor_kind, action, detail::text from {project.schema(db)}.audit_log")
        rows = cursor.fetchall()
    assert ("user", "project.update", '{"changed": ["settings"]}') in rows
    assert not any("canary-secret" in row[2] for row in rows)


def test_pages_can_read_refusals_of_every_kind(project, anonymous):
    """Refusals carry the CORS header too: without it a browser shows the page a network error in place of the answer."""
    origin = "https://a.example"
    project.admin.put("/", {"allowed_origins": [origin]}, expect=200)
    settle()
    refusals = [
        ("GET", "/users/me", 401), ("GET", "/nothing/here", 404), ("DELETE", "/permissions", 405),
        ("POST", "/auth/v1/token", 400),
    ]
    for method, path, status in refusals:
        answer = anonymous.request(method, path, headers={"Origin": origin}, expect=status)
        assert answer.headers.get("Access-Control-Allow-Origin") == origin, (method, path)
        assert answer.headers["X-Request-Id"] == answer.json()["request_id"]
        other = anonymous.request(method, path, headers={"Origin": "https://b.example"}, expect=status)
        assert "Access-Control-Allow-Origin" not in other.headers
