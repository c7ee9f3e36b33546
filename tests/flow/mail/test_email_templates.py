"""/email-templates: texts, shell, preview, test mail, reset."""
import pytest

TYPES = ["confirmation", "invite", "recovery", "magic_link", "email_change", "added_to_tenant"]


def test_list_and_get(shared_project):
    listed = shared_project.admin.get("/email-templates", expect=200).json()
    assert [each["type"] for each in listed["items"]] == TYPES and listed["total_items"] == 6
    assert shared_project.admin.get("/email-templates", params={"limit": 4, "page": 2}, expect=200).json()["items"] == listed["items"][4:]
    for each in listed["items"]:
        assert shared_project.admin.get(f"/email-templates/{each['type']}", expect=200).json() == each
        assert not each["is_custom"] and each["updated_at"] is None and "{{ link }}" in each["body_html"]
    for path in ("/email-templates/nothing", "/email-templates/INVITE"):
        shared_project.admin.get(path, expect=404)
        shared_project.admin.put(path, {"subject": "x"}, expect=404)
        shared_project.admin.delete(path, expect=404)


def test_change_and_reset(project):
    before = project.admin.get("/email-templates/invite", expect=200)
    changed = project.admin.put("/email-templates/invite", {"subject": "Hi {{ email }}", "sender_name": "Desk"}, expect=200).json()
    assert changed["is_custom"] and changed["updated_at"] and changed["subject"] == "Hi {{ email }}" and changed["sender_name"] == "Desk"
    assert changed["body_html"] == before.json()["body_html"]
    assert project.admin.put("/email-templates/invite", {"sender_name": None}, expect=200).json()["sender_name"] is None
    project.admin.put("/email-templates/invite", {"subject": "x"}, headers={"If-Match": before.headers["ETag"]}, expect=412)
    project.admin.delete("/email-templates/invite", expect=204)
    assert project.admin.get("/email-templates/invite", expect=200).json() == before.json()
    actions = [entry["action"] for entry in project.admin.get("/audit-log", expect=200).json()["items"]]
    assert actions[:2] == ["email_templates.reset", "email_templates.update"]


@pytest.mark.parametrize("body", [
    {"subject": ""}, {"subject": None, "body_html": 3}, {"subject": "a\r\nBcc: x@example.org"}, {"subject": "{{ content }}"}, {"subject": "{{ link"},
    {"body_html": "no way in"}, {"body_html": "{{ link }}{{ secret }}"}, {"body_text": "{{ $svc.secrets.KEY }}"},
    {"sender_name": "a\nb"}, {"sender_name": "x" * 101}, {"type": "recovery"}, {"body_html": "x" * 200001 + "{{ link }}"},
    {"body_html": "{{ link }}" * 101},
])
def test_bad_templates(shared_project, body):
    shared_project.admin.put("/email-templates/invite", body, expect=400)
    assert not shared_project.admin.get("/email-templates/invite", expect=200).json()["is_custom"]


def test_shell(project):
    before = project.admin.get("/email-templates/shell", expect=200).json()
    assert not before["is_custom"] and "prefers-color-scheme" in before["body_html"]
    for html in ("", "nothing", "{{ content }}{{ content }}", "{{ content }}{{ token }}", "{{ content"):
        project.admin.put("/email-templates/shell", {"body_html": html}, expect=400)
    project.admin.put("/email-templates/shell", {"body_html": "<b>{{ project_name }}</b>{{ content }}!"}, expect=200)
    shown = project.admin.post("/email-templates/invite/preview", {"body_html": "<p>{{ link }}</p>"}, expect=200).json()
    assert shown["html"] == f"<b>Test {project.id}</b><p>https://app.example.com/welcome#type=sample&amp;token=sample</p>!"
    assert shown["text"] == "https://app.example.com/welcome#type=sample&token=sample\n"
    project.admin.delete("/email-templates/shell", expect=204)
    assert project.admin.get("/email-templates/shell", expect=200).json() == before


def test_values_never_become_markup(project):
    project.admin.put("/", {"name": "<script>alert(1)</script>\" onload='x'"}, expect=200)
    for kind in TYPES:
        shown = project.admin.post(f"/email-templates/{kind}/preview", {}, expect=200).json()
        assert "<script" not in shown["html"] and "onload='" not in shown["html"]
        assert "{{" not in shown["html"] + shown["subject"] + shown["text"]
        assert "<script>alert(1)</script>" in shown["subject"]


def test_a_test_goes_to_the_caller_alone(site, mailbox):
    site.admin.put("/", {"name": "Shop"}, expect=200)
    admin = site.administrator("tester@people.example")
    admin.post("/email-templates/recovery/test", {"to": "other@people.example"}, expect=400)
    admin.post("/email-templates/recovery/test", {"subject": "Draft for {{ email }}", "body_text": "Text {{ token }}"}, expect=202)
    message = mailbox.wait("tester@people.example")[0]
    assert message["subject"] == "Draft for tester@people.example" and message["from"].addresses[0].display_name == "Shop"
    text, html = message.iter_parts()
    assert text.get_content().strip() == "Text sample" and "Shop" in html.get_content()
    statuses = [admin.post("/email-templates/recovery/test", {}).status_code for _ in range(6)]
    assert statuses[-1] == 429 and set(statuses) == {202, 429}


def test_mails_use_the_projects_own(site, mailbox):
    site.admin.put("/email-templates/magic_link", {"subject": "Ins Netz, {{ email }}", "body_html": "<a href=\"{{ link }}\">rein</a>",
                                                   "body_text": "Zeichen: {{ token }}", "sender_name": "Der Laden"}, expect=200)
    email = site.user(email="own@people.example").user["email"]
    site.client().post("/auth/v1/magic-link", {"email": email}, expect=202)
    message = mailbox.wait(email)[0]
    assert message["subject"] == f"Ins Netz, {email}" and message["from"].addresses[0].display_name == "Der Laden"
    token = message.get_body(("plain",)).get_content().strip().removeprefix("Zeichen: ")
    site.client().post("/auth/v1/verify", {"type": "magic_link", "token": token}, expect=200)


def test_a_preview_opens_once_as_a_page_of_its_own(project, db):
    """A preview for a frame opens once, within half a minute and without credentials. The page runs no scripts and loads nothing."""
    def made():
        return project.admin.post("/email-templates/invite/preview", {"body_html": '<p style="color:red">{{ link }}</p>'}, expect=200).json()

    shown, nobody = made(), project.client()
    assert shown["url"].startswith(f"{project.base_url}/mail/previews/")
    path = shown["url"][len(project.base_url):]
    answer = nobody.get(path, expect=200)
    assert answer.text == shown["html"] and answer.headers["Content-Type"] == "text/html; charset=utf-8"
    assert answer.headers["Content-Security-Policy"] == (
        "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'")
    assert answer.headers["Cache-Control"] == "no-store" and answer.headers["Referrer-Policy"] == "no-referrer"
    for wrong in (path, path + "x", "/mail/previews/none"):
        nobody.get(wrong, expect=404)
    late = made()["url"][len(project.base_url):]
    with db.cursor() as cursor:
        cursor.execute(f"update {project.schema(db)}.mail_previews set expires_at = now() - interval '1 second'")
    nobody.get(late, expect=404)
    paths = [made()["url"][len(project.base_url):] for _ in range(51)]
    nobody.get(paths[0], expect=404)
    nobody.get(paths[-1], expect=200)
    with db.cursor() as cursor:
        cursor.execute(f"select count(*) from {project.schema(db)}.mail_previews")
        assert cursor.fetchone()[0] <= 50, "previews that are not opened use limited space"
