"""The page for a project's users at /auth/ui/: its files and policy, what it shows, the way back to the application, links in mails."""
import base64
import hashlib
import secrets
import urllib.parse

import pytest

from groundwork.client import Client
from groundwork.mail import Mailbox
from groundwork.pictures import draw_image, encode_image
from groundwork.project import PASSWORD, Project
from groundwork.soon import settle

PAGE = "<!doctype html><title>sign in</title>"
PUBLIC = "https://api.example.com"
BACK = "https://app.example.com/signed-in?from=page"
CALLBACK = "/auth/v1/google/callback"
PNG = encode_image(draw_image(60, 40), "PNG")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("auth")
    (folder / "assets").mkdir()
    (folder / "auth.html").write_text(PAGE)
    (folder / "index.html").write_text("the console")
    (folder / "theme.js").write_text("theme")
    (folder / "assets/auth-abc.js").write_text("script")
    return folder


@pytest.fixture(scope="module")
def gateway(start_gateway, session_gateway, folder):
    """A gateway with the page's files and a public URL. It has one worker, so that settings apply immediately."""
    return start_gateway("gateway-page", WORKERS=1, CONSOLE=str(folder), PUBLIC_URL=PUBLIC)


@pytest.fixture(scope="module")
def site(gateway, servers, recorder):
    made = Project(gateway, Client(f"{gateway.url}/org", token=servers.operator_token, recorder=recorder), recorder)
    made.admin.put("/", {"settings": {"rate_sign_in_account": 100000, "rate_sign_in_address": 100000}}, expect=200)
    return made


@pytest.fixture
def app(site):
    """The site, with an application that it may return to."""
    site.admin.put("/", {"settings": {"redirect_urls": [BACK, "myapp://in"]}}, expect=200)
    yield site
    site.admin.put("/", {"settings": {"redirect_urls": None}}, expect=200)


def own_page(site):
    return f"{PUBLIC}/org/{site.id}/auth/ui/"


# --- files -----------------------------------------------------------------------------------------


def test_the_page_and_its_files(site):
    anyone = site.client()
    page = anyone.get("/auth/ui/?redirect_to=x&anything=1", expect=200)
    assert page.text == PAGE and page.headers["Content-Type"] == "text/html; charset=utf-8" and page.headers["Cache-Control"] == "no-cache"
    anyone.get("/auth/ui/", headers={"If-None-Match": page.headers["ETag"]}, expect=304)
    script = anyone.get("/auth/ui/assets/auth-abc.js", expect=200)
    assert script.text == "script" and script.headers["Cache-Control"] == "public, max-age=31536000, immutable"
    assert anyone.get("/auth/ui/theme.js", expect=200).headers["Cache-Control"] == "no-cache"
    for missing in ("assets/gone.js", "sign-in", "a/b/c", "..%2findex.html", "auth.html.br"):
        assert anyone.get(f"/auth/ui/{missing}").status_code in (400, 404)
    assert anyone.post("/auth/ui/", {}, expect=405).headers["Allow"] == "GET, HEAD, OPTIONS"


def test_without_the_final_slash_the_query_stays(site):
    answer = site.client().get("/auth/ui?redirect_to=a%2Fb&x=1", allow_redirects=False, expect=308)
    assert answer.headers["Location"] == "ui/?redirect_to=a%2Fb&x=1"


def test_headers(site):
    headers = site.client().get("/auth/ui/", expect=200).headers
    policy = dict(rule.split(" ", 1) for rule in headers["Content-Security-Policy"].split("; "))
    assert policy["default-src"] == policy["frame-ancestors"] == policy["base-uri"] == policy["form-action"] == "'none'"
    assert {policy[name] for name in ("script-src", "style-src", "img-src", "connect-src")} == {"'self'"}
    assert policy["require-trusted-types-for"] == "'script'"
    assert headers["Referrer-Policy"] == "no-referrer" and headers["X-Content-Type-Options"] == "nosniff"
    assert "Set-Cookie" not in headers


def test_an_unknown_project_has_no_page(gateway):
    for path in ("/auth/ui/", "/auth/v1/settings"):
        assert Client(f"{gateway.url}/org/not-there").get(path, expect=404).json()["code"] == "not_found"


def test_off_and_not_built(start_gateway, session_gateway, shared_project, folder):
    base = f"/org/{shared_project.id}/auth/ui/"
    Client(start_gateway("page_off", WORKERS=1, CONSOLE="off").url).get(base, expect=404)
    own = Client(start_gateway("page_own", WORKERS=1, CONSOLE="off", AUTH_UI=str(folder)).url)
    assert own.get(base, expect=200).text == PAGE
    own.get("/console", expect=404)
    page = Client(session_gateway.url).get(base, expect=200)
    assert "make console" in page.text and page.headers["Cache-Control"] == "no-store"


# --- what the page shows ---------------------------------------------------------------------------


def test_settings_show_nothing_secret(site):
    shown = site.client().get("/auth/v1/settings", expect=200).json()
    assert shown == {"name": f"Test {site.id}", "accent_color": None, "logo_file_id": None, "password_min_length": 8, "magic_link": True,
                     "provider": None, "sign_up": False, "page_url": own_page(site)}
    site.admin.put("/", {"settings": {"accent_color": "#1F5fd0", "sign_up": True, "oidc_issuer": "https://accounts.google.com",
                                      "oidc_client_id": "id", "oidc_client_secret": "hush"}}, expect=200)
    answer = site.client().get("/auth/v1/settings", expect=200)
    assert (answer.json()["accent_color"], answer.json()["provider"], answer.json()["sign_up"]) == ("#1F5fd0", "Google", True)
    assert "hush" not in answer.text
    site.admin.put("/", {"settings": {"oidc_issuer": "https://login.example.org/tenant/v2"}}, expect=200)
    assert site.client().get("/auth/v1/settings", expect=200).json()["provider"] == "login.example.org"
    cleared = site.admin.put("/", {"settings": {"accent_color": None, "sign_up": None, "oidc_issuer": None, "oidc_client_secret": None}}, expect=200)
    assert cleared.json()["settings"]["accent_color"] is None


@pytest.mark.parametrize("color", ["red", "#fff", "#12345g", "#1234567", "1234567", "#12345;", "", "url(x)"])
def test_an_accent_color_is_six_digits(site, color):
    refused = site.admin.put("/", {"settings": {"accent_color": color}}, expect=400).json()
    assert refused["errors"][0]["field"] == "settings.accent_color"


def test_a_logo_is_a_public_picture(site):
    def upload(name, content, kind, is_public):
        return site.admin.post(f"/files?is_public={is_public}", files={"file": (name, content, kind)}, expect=201).json()["items"][0]["id"]

    logo = upload("logo.png", PNG, "image/png", "true")
    for bad in (upload("logo.png", PNG, "image/png", "false"), upload("logo.txt", b"text", "text/plain", "true"), 999999):
        refused = site.admin.put("/", {"settings": {"logo_file_id": bad}}, expect=400).json()
        assert refused["errors"][0]["field"] == "settings.logo_file_id"
    site.admin.put("/", {"settings": {"logo_file_id": logo}}, expect=200)
    assert site.client().get("/auth/v1/settings", expect=200).json()["logo_file_id"] == logo
    site.client().get(f"/files/{logo}/public", expect=200)
    assert site.admin.put("/", {"settings": {"logo_file_id": None}}, expect=200).json()["settings"]["logo_file_id"] is None


@pytest.mark.parametrize("bad", ["https://evil.example/", f"{BACK}/", BACK.replace("https", "http"), "https://app.example.com.evil.example/signed-in?from=page",
                                 "https://app.example.com@evil.example/signed-in?from=page", "javascript:alert(1)", "//app.example.com/signed-in?from=page",
                                 "data:text/html,x", " ", BACK + "#x", "MYAPP://in"])
def test_other_addresses_are_refused(app, bad):
    assert app.client().get("/auth/v1/settings", params={"redirect_to": bad}, expect=400).json()["code"] == "redirect_not_allowed"
    user = app.client().sign_in(app.admin_email if hasattr(app, "admin_email") else app.admin.user["email"], PASSWORD)
    assert user.post("/auth/v1/redirect", {"redirect_to": bad}, expect=400).json()["code"] in ("redirect_not_allowed", "validation_failed")


# --- the way back ----------------------------------------------------------------------------------


def pass_on(user, redirect_to=BACK, **body):
    url = user.post("/auth/v1/redirect", {"redirect_to": redirect_to, **body}, expect=200).json()["url"]
    return url, {name: value for name, value in urllib.parse.parse_qsl(urllib.parse.urlsplit(url).query) if name in ("code", "state")}


def test_a_session_is_passed_on_once(app):
    app.client().get("/auth/v1/settings", params={"redirect_to": BACK}, expect=200)
    user = app.user()
    url, sent = pass_on(user)
    assert url.startswith(f"{BACK}&code=") and len(sent["code"]) == len(sent["state"]) == 43
    tokens = app.client().post(CALLBACK, sent, expect=200).json()
    assert tokens["user"]["id"] == user.user["id"] and tokens["is_new_user"] is False
    app.client(token=tokens["access_token"]).get("/users/me", expect=200)
    assert app.client().post(CALLBACK, sent, expect=400).json()["code"] == "flow_state_invalid"
    assert pass_on(app.user(), "myapp://in")[0].startswith("myapp://in?code=")


def test_the_page_s_session_ends(app, db):
    user = app.user()
    _, sent = pass_on(user)
    app.client().post(CALLBACK, sent, expect=200)
    with db.cursor() as cursor:
        cursor.execute(f"select count(*) from {app.schema(db)}.sessions where user_id = %s and revoked_at is null", (user.user["id"],))
        assert cursor.fetchone() == (1,)
    db.commit()


def test_the_code_needs_its_verifier(app):
    verifier = secrets.token_urlsafe(32)
    challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
    for wrong in ({}, {"code_verifier": "x" * 43}):
        _, sent = pass_on(app.user(), code_challenge=challenge)
        assert app.client().post(CALLBACK, {**sent, **wrong}, expect=400).json()["code"] == "flow_state_invalid"
    _, sent = pass_on(app.user(), code_challenge=challenge)
    app.client().post(CALLBACK, {**sent, "code_verifier": verifier}, expect=200)
    app.user().post("/auth/v1/redirect", {"redirect_to": BACK, "code_challenge": "short"}, expect=400)


def test_the_code_belongs_to_its_state_and_project(app, shared_project):
    (_, one), (_, two) = pass_on(app.user()), pass_on(app.user())
    app.client().post(CALLBACK, {"code": one["code"], "state": two["state"]}, expect=400)
    app.client().post(CALLBACK, {"state": one["state"], "code": "x"}, expect=400)
    _, sent = pass_on(app.user())
    shared_project.client().post(CALLBACK, sent, expect=400)
    app.client().post(CALLBACK, {**sent, "iss": "https://accounts.google.com"}, expect=400)


def test_nothing_is_passed_on_after_the_session_or_the_account_has_ended(app):
    user = app.user()
    _, sent = pass_on(user)
    user.post("/auth/v1/logout", expect=204)
    assert app.client().post(CALLBACK, sent, expect=400).json()["code"] == "flow_state_invalid"
    other = app.user()
    _, sent = pass_on(other)
    app.admin.put(f"/users/{other.user['id']}", {"status": "suspended"}, expect=200)
    assert app.client().post(CALLBACK, sent).status_code in (400, 403)
    key = app.key([])
    assert key.post("/auth/v1/redirect", {"redirect_to": BACK}).status_code in (401, 403)


# --- links in mails --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def mailbox():
    own = Mailbox()
    yield own
    own.close()


@pytest.fixture(scope="module")
def mailer(start_runner, mailbox):
    return start_runner(SMTP_URL=mailbox.url, MAIL_FROM="Service <service@example.org>", MAIL_RETRY_MS=200, MAIL_TIMEOUT_MS=600000)


def text_of(mailbox, email, number=1):
    return mailbox.wait(email, number)[number - 1].get_body(("plain",)).get_content()


def test_a_fresh_project_mails_links_to_its_page(site, mailbox, mailer):
    assert site.admin.get("/", expect=200).json()["warnings"] == []
    email = "invited@people.example"
    user = site.admin.post("/users", {"email": email, "send_invite": True}, expect=201).json()
    assert f"{own_page(site)}#type=invite&token=" in text_of(mailbox, email)
    kind, token = mailbox.token(email)
    site.client().post("/auth/v1/verify", {"type": kind, "token": token, "password": PASSWORD}, expect=200)
    site.client().post("/auth/v1/recover", {"email": email}, headers={"Host": "evil.example"}, expect=202)
    assert f"{own_page(site)}#type=recovery&token=" in text_of(mailbox, email, 2)
    site.admin.put(f"/users/{user['id']}", {"status": "unconfirmed"}, expect=200)
    site.admin.post(f"/users/{user['id']}/send-confirmation", expect=202)
    assert f"{own_page(site)}#type=confirmation&token=" in text_of(mailbox, email, 3)


def test_a_link_carries_where_the_page_continues(site, mailbox, mailer):
    user = site.user(email="continues@people.example")
    page = f"{own_page(site)}?redirect_to=https%3A%2F%2Fapp.example.com%2F&code_challenge=x"
    site.client().post("/auth/v1/magic-link", {"email": user.user["email"], "redirect_to": page}, expect=202)
    assert f"{page}#type=magic_link&token=" in text_of(mailbox, user.user["email"])
    user.post("/auth/v1/email-change", {"email": "changed@people.example", "password": PASSWORD}, expect=202)
    assert f"{own_page(site)}#type=email_change&token=" in text_of(mailbox, "changed@people.example")


@pytest.mark.parametrize("tail", ["#type=magic_link&token=x", "x", "../../other/auth/ui/", "?a=b#c", "?a=<b>", "?a=b c", "@evil.example/"])
def test_only_a_query_may_follow_the_page(site, tail):
    body = {"email": f"{secrets.token_hex(4)}@people.example", "redirect_to": own_page(site) + tail}  # limits count by address
    assert site.client().post("/auth/v1/recover", body, expect=400).json()["code"] == "redirect_not_allowed"


def test_the_page_of_another_project_or_host_is_refused(site, shared_project):
    for other in (own_page(shared_project), own_page(site).replace("api.example.com", "evil.example"), f"{site.base_url}/auth/ui/"):
        site.client().post("/auth/v1/recover", {"email": f"{secrets.token_hex(4)}@people.example", "redirect_to": other}, expect=400)


def test_a_project_s_own_page_comes_first(site, mailbox, mailer):
    user = site.user(email="own@people.example")
    site.admin.put("/", {"settings": {"auth_page_url": "https://app.example.com/mail"}}, expect=200)
    settle()
    site.client().post("/auth/v1/recover", {"email": user.user["email"]}, expect=202)
    assert "https://app.example.com/mail#type=recovery" in text_of(mailbox, user.user["email"])
    site.admin.put("/", {"settings": {"auth_page_url": None}}, expect=200)


def test_without_a_public_url_a_request_s_host_is_no_page(start_gateway, folder, servers, recorder):
    gateway = start_gateway("page_hostless", WORKERS=1, CONSOLE=str(folder))
    own = Project(gateway, Client(f"{gateway.url}/org", token=servers.operator_token, recorder=recorder), recorder)
    assert "GROUNDWORK_PUBLIC_URL" in own.admin.get("/", expect=200).json()["warnings"][0]
    shown = own.client().get("/auth/v1/settings", expect=200).json()
    assert shown["page_url"] is None and shown["magic_link"] is False
    own.client().post("/auth/v1/recover", {"email": "a@b.example", "redirect_to": f"{own.base_url}/auth/ui/"}, expect=400)
    own.admin.post("/users", {"email": "x@people.example", "send_invite": True}, expect=409)
