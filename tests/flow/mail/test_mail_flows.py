"""Links in mails: invitations, confirmation, recovery, magic links, change of address."""
import itertools
import json
import socket

import pytest

from groundwork.deadline import until
from groundwork.project import PASSWORD
from groundwork.records import execute, rows
from groundwork.soon import settle

_numbers = itertools.count(1)
OTHER = "another horse battery"


def address(name="ann"):
    return f"{name}{next(_numbers)}@people.example"


def verify(site, link, expect=200, **body):
    return site.client().post("/auth/v1/verify", {"type": link[0], "token": link[1], **body}, expect=expect)


def sign_in(site, email, password, expect=200):
    return site.client().post("/auth/v1/token", {"email": email, "password": password}, expect=expect)


def test_settings_change_while_a_mail_is_asked_for(project, db, servers):
    """A request keeps the page that it read, even if changes of the project replace the page before the mail is stored."""
    page = "https://app.example.com/" + "p" * 200
    project.admin.put("/", {"settings": {"auth_page_url": page}}, expect=200)
    body = json.dumps({"email": "slow@people.example"}).encode()
    (number,), = rows(db, "select number from platform.projects where slug = %s", project.id)
    with servers.connect() as other, socket.create_connection(("127.0.0.1", project.gateway.port), timeout=60) as caller:
        execute(other, "insert into platform.mail_projects (number) values (%s)", number)  # the request waits for this row
        caller.sendall(f"POST /org/{project.id}/auth/v1/magic-link HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
                       f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode())
        settle()
        project.admin.put("/", {"name": "Before the page is read"}, expect=200)
        settle()
        caller.sendall(body)
        until(lambda: rows(db, "select 1 from pg_stat_activity where wait_event_type = 'Lock' and query like 'insert into platform.mail_projects%%'"),
              "the request waits for the row")
        project.admin.put("/", {"name": "After the page was read"}, expect=200)
        settle()
        other.rollback()
        assert caller.recv(100).startswith(b"HTTP/1.1 202")
    (content,), = rows(db, f"select content from {project.schema(db)}.mails")
    assert content["page"] == page


def test_invite_set_a_password_and_be_signed_in(site, mailbox):
    email = address()
    made = site.admin.post("/users", {"email": email, "send_invite": True}, expect=201).json()
    assert made["status"] == "invited"
    message = mailbox.wait(email)[0]
    assert message["subject"] == f"You are invited to Test {site.id}" and message["to"] == email
    assert message["from"].addresses[0].addr_spec == "service@example.org"
    text, html = message.iter_parts()
    assert "https://app.example.com/welcome#type=invite&token=" in text.get_content()
    assert "color-scheme" in html.get_content()
    link = mailbox.token(email)
    refused = verify(site, link, expect=400).json()
    assert refused["errors"][0] == {"field": "password", "code": "required", "message": "is required"}
    verify(site, link, password="short", expect=400)
    tokens = verify(site, link, password=PASSWORD).json()
    assert tokens["user"]["id"] == made["id"] and tokens["user"]["status"] == "active" and tokens["user"]["email_confirmed_at"]
    site.client(token=tokens["access_token"]).get("/users/me", expect=200)
    sign_in(site, email, PASSWORD)
    assert verify(site, link, password=PASSWORD, expect=401).json()["code"] == "token_invalid"


def test_an_invitation_is_sent_again_until_it_is_taken(site, mailbox):
    email = address()
    user = site.admin.post("/users", {"email": email}, expect=201).json()
    site.admin.post(f"/users/{user['id']}/send-invite", expect=202)
    site.admin.post(f"/users/{user['id']}/send-invite", expect=202)
    mailbox.wait(email, 2)
    verify(site, mailbox.token(email, 2), password=PASSWORD)
    site.admin.post(f"/users/{user['id']}/send-invite", expect=409)
    # the other invitation is no longer valid: it would replace the password
    first = [part for part in mailbox.messages_to(email)][0].get_body(("plain",)).get_content()
    token = first.split("token=")[1].split()[0].rstrip(")")
    verify(site, ("invite", token), password=OTHER, expect=401)
    sign_in(site, email, PASSWORD)


def test_added_with_a_password(site, mailbox):
    email = address()
    site.admin.post("/users", {"email": email, "password": PASSWORD, "send_invite": True}, expect=201)
    text = mailbox.wait(email)[0].get_body(("plain",)).get_content()
    assert "token" not in text and "https://app.example.com/welcome" in text


def test_confirmation(site, mailbox):
    email = address()
    user = site.admin.post("/users", {"email": email, "password": PASSWORD}, expect=201).json()
    site.admin.post(f"/users/{user['id']}/send-confirmation", expect=409)
    changed = site.admin.put(f"/users/{user['id']}", {"status": "unconfirmed"}, expect=200).json()
    assert changed["email_confirmed_at"] is None
    sign_in(site, email, PASSWORD, expect=403)
    site.admin.post(f"/users/{user['id']}/send-confirmation", expect=202)
    tokens = verify(site, mailbox.token(email)).json()
    assert tokens["user"]["status"] == "active" and tokens["user"]["email_confirmed_at"]
    sign_in(site, email, PASSWORD)
    site.admin.post("/users/424242/send-confirmation", expect=404)
    site.admin.post("/users/424242/send-invite", expect=404)


@pytest.mark.parametrize("state", ["email_confirmed_at = null, status = 'unconfirmed'", "status = 'unconfirmed'"])
def test_confirmation_of_an_unconfirmed_address(site, mailbox, servers, state):
    """The second state was stored by releases that kept the confirmation of an unconfirmed user."""
    email = address()
    user = site.admin.post("/users", {"email": email, "password": PASSWORD}, expect=201).json()
    with servers.connect() as db, db.cursor() as cursor:
        cursor.execute(f"update {site.schema(db)}.users set {state} where id = %s", (user["id"],))
        db.commit()
    sign_in(site, email, PASSWORD, expect=403)
    site.admin.post(f"/users/{user['id']}/send-confirmation", expect=202)
    tokens = verify(site, mailbox.token(email)).json()
    assert tokens["user"]["status"] == "active" and tokens["user"]["email_confirmed_at"]
    sign_in(site, email, PASSWORD)


def test_a_project_that_wants_addresses_confirmed(site, mailbox):
    """A password that an administrator sets does not confirm that the user reads the address."""
    site.admin.put("/", {"settings": {"require_confirmed_email": True}}, expect=200)
    settle()
    try:
        email = address()
        made = site.admin.post("/users", {"email": email, "password": PASSWORD, "send_invite": True}, expect=201).json()
        assert made["status"] == "unconfirmed" and made["email_confirmed_at"] is None
        assert sign_in(site, email, PASSWORD, expect=403).json()["code"] == "email_not_confirmed"
        link = mailbox.token(email)
        assert link[0] == "confirmation"
        verify(site, link)
        sign_in(site, email, PASSWORD)
        vouched = site.admin.post("/users", {"email": address(), "password": PASSWORD}, expect=201).json()
        site.admin.post(f"/users/{vouched['id']}/confirm", expect=200)
        sign_in(site, vouched["email"], PASSWORD)
    finally:
        site.admin.put("/", {"settings": {"require_confirmed_email": None}}, expect=200)
        settle()


def test_recovery_ends_sessions_and_other_links(site, mailbox):
    user = site.user(email=address())
    email = user.user["email"]
    anonymous = site.client()
    assert anonymous.post("/auth/v1/recover", {"email": email.upper()}, expect=202).content == b""
    anonymous.post("/auth/v1/magic-link", {"email": email}, expect=202)
    mailbox.wait(email, 2)
    links = {}
    for message in mailbox.messages_to(email):
        found = message.get_body(("plain",)).get_content().split("#type=")[1].split("&token=")
        links[found[0]] = (found[0], found[1].split()[0].rstrip(")"))
    verify(site, ("magic_link", links["recovery"][1]), expect=401)
    verify(site, links["recovery"], expect=400)
    verify(site, links["recovery"], password=OTHER)
    verify(site, links["magic_link"], expect=401)
    sign_in(site, email, PASSWORD, expect=401)
    sign_in(site, email, OTHER)
    anonymous.post("/auth/v1/refresh", {"refresh_token": user.refresh_token} if hasattr(user, "refresh_token") else {"refresh_token": "x"}, expect=401)


def test_a_magic_link_signs_in_once(site, mailbox):
    user = site.user(email=address())
    email = user.user["email"]
    site.client().post("/auth/v1/magic-link", {"email": email}, expect=202)
    link = mailbox.token(email)
    assert verify(site, link).json()["user"]["email"] == email
    verify(site, link, expect=401)
    verify(site, (link[0], link[1][:-1] + "A"), expect=401)
    verify(site, (link[0], ""), expect=401)


def test_a_strangers_account_is_taken_over_whole(site, mailbox, servers):
    """An attacker signs up with the address of another person: when its owner signs in by a link, the attacker's password and session end."""
    stranger = site.user(email=address())
    email = stranger.user["email"]
    with servers.connect() as db, db.cursor() as cursor:
        cursor.execute(f"update {site.schema(db)}.users set email_confirmed_at = null where id = %s", (stranger.user["id"],))
        db.commit()
    site.client().post("/auth/v1/magic-link", {"email": email}, expect=202)
    owner = site.client(token=verify(site, mailbox.token(email)).json()["access_token"])
    sign_in(site, email, PASSWORD, expect=401)
    stranger.get("/users/me", expect=401)
    assert owner.get("/users/me", expect=200).json()["email"] == email


def test_who_has_no_account_gets_no_mail_and_the_same_answer(site, mailbox, servers):
    known = site.user(email=address()).user["email"]
    gone = site.user(email=address()).user
    site.admin.put(f"/users/{gone['id']}", {"status": "suspended"}, expect=200)
    answers = []
    for email in (known, gone["email"], "nobody@people.example"):
        for path in ("/auth/v1/recover", "/auth/v1/magic-link"):
            answer = site.client().post(path, {"email": email}, expect=202)
            answers.append((answer.status_code, answer.content, sorted(set(answer.headers) - {"Date", "X-Request-Id"})))
    assert all(answer == answers[0] for answer in answers)
    mailbox.wait(known, 2)
    with servers.connect() as db, db.cursor() as cursor:
        cursor.execute(f"select recipient, status, code, content from {site.schema(db)}.mails where recipient <> %s", (known,))
        rows = cursor.fetchall()
    assert len(rows) == 4 and {row[1:] for row in rows} == {("dropped", "no_account", None)}
    assert not mailbox.messages_to("nobody@people.example") and not mailbox.messages_to(gone["email"])


def test_a_suspended_account_stays_shut(site, mailbox):
    user = site.user(email=address())
    site.client().post("/auth/v1/magic-link", {"email": user.user["email"]}, expect=202)
    link = mailbox.token(user.user["email"])
    site.admin.put(f"/users/{user.user['id']}", {"status": "suspended"}, expect=200)
    assert verify(site, link, expect=403).json()["code"] == "user_suspended"


def test_an_address_that_has_changed_since_opens_nothing(site, mailbox):
    user = site.user(email=address())
    site.client().post("/auth/v1/magic-link", {"email": user.user["email"]}, expect=202)
    link = mailbox.token(user.user["email"])
    site.admin.put(f"/users/{user.user['id']}", {"email": address("moved")}, expect=200)
    verify(site, link, expect=401)


def test_links_end_after_an_hour_and_tokens_are_hashed(site, mailbox, servers):
    email = site.user(email=address()).user["email"]
    site.client().post("/auth/v1/magic-link", {"email": email}, expect=202)
    link = mailbox.token(email)
    with servers.connect() as db, db.cursor() as cursor:
        schema = site.schema(db)
        cursor.execute(f"select hash, expires_at - created_at from {schema}.mail_links")
        hashed, life = cursor.fetchone()
        assert len(bytes(hashed)) == 32 and 3590 < life.total_seconds() <= 3600
        cursor.execute(f"select count(*) from {schema}.mails m where m::text like %s", (f"%{link[1]}%",))
        assert cursor.fetchone()[0] == 0
        cursor.execute(f"update {schema}.mail_links set expires_at = now()")
        db.commit()
    verify(site, link, expect=401)


def test_another_address_needs_both(site, mailbox):
    user = site.user(email=address("old"))
    old, new = user.user["email"], address("new")
    user.post("/auth/v1/email-change", {"email": new, "password": "wrong password"}, expect=400)
    user.post("/auth/v1/email-change", {"email": new}, expect=400)
    user.post("/auth/v1/email-change", {"email": old, "password": PASSWORD}, expect=400)
    user.post("/auth/v1/email-change", {"email": new, "password": PASSWORD}, expect=202)
    to_old, to_new = mailbox.token(old), mailbox.token(new)
    confirm = lambda link, expect=200: site.client().post("/auth/v1/email-change/confirm", {"token": link[1]}, expect=expect).json()  # noqa: E731
    verify(site, ("magic_link", to_new[1]), expect=401)
    assert confirm(to_new) == {"status": "waiting", "email": old}
    confirm(to_new, expect=401)
    sign_in(site, new, PASSWORD, expect=401)
    assert confirm(to_old) == {"status": "changed", "email": new}
    sign_in(site, new, PASSWORD)
    sign_in(site, old, PASSWORD, expect=401)


def test_another_address_that_is_taken_meanwhile(site, mailbox):
    user = site.user(email=address("old"))
    new = address("new")
    user.post("/auth/v1/email-change", {"email": new, "password": PASSWORD}, expect=202)
    links = [mailbox.token(user.user["email"]), mailbox.token(new)]
    site.user(email=new)
    site.client().post("/auth/v1/email-change/confirm", {"token": links[0][1]}, expect=200)
    site.client().post("/auth/v1/email-change/confirm", {"token": links[1][1]}, expect=409)


def test_pages(site, mailbox, project):
    own = "https://app.example.com/links?from=mail"
    email = site.user(email=address()).user["email"]
    anonymous = site.client()
    refused = anonymous.post("/auth/v1/recover", {"email": email, "redirect_to": "https://evil.example/"}, expect=400).json()
    assert refused["code"] == "redirect_not_allowed"
    site.admin.put("/", {"settings": {"redirect_urls": [own]}}, expect=200)
    settle()
    anonymous.post("/auth/v1/recover", {"email": email, "redirect_to": own}, expect=202)
    assert f"{own}#type=recovery&token=" in mailbox.wait(email)[0].get_body(("plain",)).get_content()
    site.admin.put("/", {"settings": {"redirect_urls": [own, "com.example.app:/links"], "auth_page_url": "myapp://mail"}},
                   expect=200)
    settle()
    for body, link in (({"redirect_to": "com.example.app:/links"}, "com.example.app:/links"), ({}, "myapp://mail"),
                       ({"redirect_to": "https://app.example.com:443/links?from=mail"}, "https://app.example.com:443/links?from=mail")):
        other = site.user(email=address()).user["email"]
        anonymous.post("/auth/v1/recover", {"email": other, **body}, expect=202)
        assert f"{link}#type=recovery&token=" in mailbox.wait(other)[0].get_body(("plain",)).get_content()
    site.admin.put("/", {"settings": {"auth_page_url": None}}, expect=200)
    settle()
    anonymous.post("/auth/v1/recover", {"email": email}, headers={"Host": "evil.example"}, expect=202)
    text = mailbox.wait(email, 2)[1].get_body(("plain",)).get_content()
    assert "evil" not in text and own in text
    site.admin.put("/", {"settings": {"redirect_urls": []}}, expect=200)
    settle()
    site.admin.post("/users", {"email": address(), "send_invite": True}, expect=409)


def test_limits(site, mailbox):
    anonymous = site.client()
    email = address("flooded")
    statuses = [anonymous.post("/auth/v1/recover", {"email": email}).status_code for _ in range(5)]
    assert statuses == [202, 202, 202, 429, 429]
    anonymous.post("/auth/v1/magic-link", {"email": email.upper()}, expect=429)
    anonymous.post("/auth/v1/recover", {"email": address()}, expect=202)


def test_limits_of_a_project(site, mailbox):
    """Anonymous callers who request too many mails are refused. An administrator can still send an invitation."""
    anonymous = site.client()
    statuses = [202]
    while statuses[-1] == 202 and len(statuses) <= 240:  # the next minute may begin in this loop
        statuses.append(anonymous.post("/auth/v1/recover", {"email": address("many")}).status_code)
    assert len(statuses) > 100 and statuses[-1] == 429
    assert site.client().post("/auth/v1/magic-link", {"email": address()}, expect=429).headers["Retry-After"]
    email = address("invited")
    site.admin.post("/users", {"email": email, "send_invite": True}, expect=201)
    mailbox.wait(email)


def test_a_domain_of_another_script(site, mailbox):
    """Mail to an internationalised domain is sent to the ASCII form of the domain in DNS."""
    name = f"ann{next(_numbers)}"
    user = site.user(email=f"{name}@münchen.example").user
    site.client().post("/auth/v1/magic-link", {"email": f"{name.upper()}@MÜNCHEN.example"}, expect=202)
    link = mailbox.token(f"{name}@xn--mnchen-3ya.example")
    assert mailbox.messages_to(f"{name}@xn--mnchen-3ya.example")[0]["to"] == f"{name}@xn--mnchen-3ya.example"
    assert verify(site, link).json()["user"]["id"] == user["id"]


def test_an_address_is_kept_as_others_are(site, mailbox):
    """An address that its owner changed or an administrator wrote is normalised: its user signs in with any spelling, and no other user can have it."""
    number = next(_numbers)
    user = site.user(email=f"ann{number}@people.example")
    user.post("/auth/v1/email-change", {"email": f"Ann{number}@MÜNCHEN.example", "password": PASSWORD}, expect=202)
    wire = f"ann{number}@xn--mnchen-3ya.example"
    for email in (user.user["email"], wire):
        site.client().post("/auth/v1/email-change/confirm", {"token": mailbox.token(email)[1]}, expect=200)
    assert sign_in(site, f"ANN{number}@münchen.example", PASSWORD).json()["user"]["email"] == f"ann{number}@münchen.example"
    site.admin.post("/users", {"email": f"ann{number}@Mu\u0308nchen.example", "password": PASSWORD}, expect=409)
    site.admin.post("/users", {"email": f"Bob{number}@MÜNCHEN.example", "send_invite": True}, expect=201)
    verify(site, mailbox.token(wire.replace("ann", "bob")), password=PASSWORD)


def test_invitations_have_limits(site, mailbox):
    """An account that is repeatedly created and deleted cannot flood an address with invitations."""
    email = address("bombed")
    statuses = []
    for _ in range(4):
        answer = site.admin.post("/users", {"email": email, "send_invite": True})
        statuses.append(answer.status_code)
        if answer.status_code == 201:
            site.admin.delete(f"/users/{answer.json()['id']}", expect=204)
    assert statuses == [201, 201, 201, 429]


def test_limits_count_an_address_however_it_is_typed(site):
    number = next(_numbers)
    typed = [f"kate{number}@m\u00fcnchen.example", f"kate{number}@mu\u0308nchen.example", f"KATE{number}@M\u00fcNCHEN.example", f"Kate{number}@Mu\u0308nchen.example"]
    assert [site.client().post("/auth/v1/recover", {"email": one}).status_code for one in typed] == [202, 202, 202, 429]


def test_letters_before_the_at_are_refused_by_name(site, servers):
    email = f"jörg{next(_numbers)}@people.example"
    site.user(email=email)
    site.client().post("/auth/v1/magic-link", {"email": email}, expect=202)
    found = until(lambda: site.admin.get("/mail/log", params={"recipient": email, "status": "failed"}, expect=200).json()["items"], "it has failed")
    assert found[0]["code"] == "bad_address" and email in found[0]["detail"]


@pytest.mark.parametrize("typed", ["\u212aate{}@people.example", "kate{}@peop\u0131e.example", "kate{}@people.examp\uff4ce", "kate{}@PEOPLE.EXAMPLE"])
def test_letters_that_become_others_lead_to_no_other_address(site, mailbox, db, typed):
    """A database may treat different letters as equal: the mail still goes to the account's own address, or is not sent."""
    number = next(_numbers)
    site.user(email=f"kate{number}@people.example")
    before = len(mailbox.mails)
    site.client().post("/auth/v1/recover", {"email": typed.format(number)}, expect=202)
    until(lambda: not rows(db, f"select 1 from {site.schema(db)}.mails where due_at is not null"), "no mail is due")
    assert {address for envelope in mailbox.mails[before:] for address in envelope.rcpt_tos} <= {f"kate{number}@people.example"}


@pytest.mark.parametrize("name", ["A\r\nBcc: eve@evil.example", "A\u2028B", "=?UTF-8?B?QQ==?=", "\u202emoc.elpmaxe", "x" * 200])
def test_names_of_projects_stay_one_header(site, mailbox, name):
    changed = site.admin.put("/", {"name": name})
    assert changed.status_code in (200, 400), changed.text
    email = site.user(email=address()).user["email"]
    site.client().post("/auth/v1/magic-link", {"email": email}, expect=202)
    message = mailbox.wait(email)[0]
    assert message["bcc"] is None and [envelope.rcpt_tos for envelope in mailbox.mails][-1] == [email]
    if changed.status_code == 200:
        assert str(message["subject"]).count("\n") == 0 and name.split("\r")[0][:20] in str(message["subject"])


@pytest.mark.parametrize("body", [{}, {"email": "nobody"}, {"email": "a@b\r\nBcc: c@d.example"}, {"email": 3},
                                  {"email": "a@b.example,c@d.example"}, {"email": "<a@b.example>"}])
def test_bad_addresses(shared_project, body):
    for path in ("/auth/v1/recover", "/auth/v1/magic-link"):
        shared_project.client().post(path, body, expect=400)


def test_limits_of_changes_of_address(site, mailbox):
    user = site.user(email=address("often"))
    statuses = [user.post("/auth/v1/email-change", {"email": address("new"), "password": PASSWORD}).status_code for _ in range(5)]
    assert statuses == [202, 202, 202, 429, 429]


def test_without_a_page_nothing_leaves_and_administrators_see_why(site, mailbox):
    email = site.user(email=address("pageless")).user["email"]
    site.admin.put("/", {"settings": {"auth_page_url": None, "redirect_urls": []}}, expect=200)
    settle()
    for path in ("/auth/v1/recover", "/auth/v1/magic-link"):
        site.client().post(path, {"email": email}, expect=202)
    dropped = {"recipient": email, "status": "dropped"}
    found = until(lambda: len(found := site.admin.get("/mail/log", params=dropped, expect=200).json()["items"]) == 2 and found, "both are dropped")
    assert {one["code"] for one in found} == {"no_page"} and not mailbox.messages_to(email)
    assert all("settings.auth_page_url" in one["detail"] for one in found)
    refused = site.client().sign_in(email, PASSWORD).post("/auth/v1/email-change", {"email": address(), "password": PASSWORD}, expect=409)
    assert "settings.auth_page_url" in refused.json()["detail"]
