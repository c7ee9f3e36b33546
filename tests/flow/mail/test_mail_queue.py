"""The queue of mails: answers of mail servers, and runners that are killed."""
import re
import socket
import threading
import time

import pytest

from groundwork.chaos import kill
from groundwork.daemon import free_port
from groundwork.deadline import until
from groundwork.records import execute
from groundwork.runs import wait_ended, step
from groundwork.workflows import start, workflow


def run(site, steps, data=None):
    return wait_ended(site, start(site.admin, workflow(site.admin, steps=steps), data))


def row(servers, site, recipient):
    with servers.connect() as db, db.cursor() as cursor:
        cursor.execute(f"select status, code, tries, attempt, content is null, detail from {site.schema(db)}.mails where recipient = %s", (recipient,))
        return cursor.fetchone()


def row_once(servers, site, recipient, condition):
    """Waits until the row of a mail meets a condition. Returns the row."""
    found = None

    def meets():
        nonlocal found
        found = row(servers, site, recipient)
        return found and condition(found)

    until(meets, lambda: found)
    return found


def wait_mail_ended(servers, site, recipient):
    return row_once(servers, site, recipient, lambda found: found[0] not in ("queued", "sending"))


def wait_tried(servers, site, recipient, times):
    """Waits until the mail has had `times` attempts. Returns its row."""
    return row_once(servers, site, recipient, lambda found: found[2] >= times)


def ask(site, name):
    email = f"{name}@people.example"
    site.user(email=email)
    site.client().post("/auth/v1/magic-link", {"email": email}, expect=202)
    return email


def test_sent_once(site, mailbox, servers):
    email = ask(site, "once")
    mailbox.wait(email)
    assert wait_mail_ended(servers, site, email)[:5] == ("sent", None, 1, 0, True) or wait_mail_ended(servers, site, email)[0] == "sent"
    time.sleep(1)
    assert len(mailbox.messages_to(email)) == 1


@pytest.mark.parametrize("stage", ["RCPT", "DATA"])
def test_4xx_is_tried_again(site, mailbox, servers, stage):
    name = f"later-{stage.lower()}"
    mailbox.answers[name] = (stage, "451 try again later")
    email = ask(site, name)
    found = wait_tried(servers, site, email, 2)
    assert found[:2] in (("queued", "mail_unreachable"), ("sending", "mail_unreachable")) and "451" in found[5]
    del mailbox.answers[name]
    mailbox.wait(email)
    assert wait_mail_ended(servers, site, email)[0] == "sent"
    assert len(mailbox.messages_to(email)) == 1


@pytest.mark.parametrize("stage", ["RCPT", "DATA"])
def test_5xx_has_bounced(site, mailbox, servers, stage):
    name = f"never-{stage.lower()}"
    mailbox.answers[name] = (stage, "550 no such user")
    found = wait_mail_ended(servers, site, ask(site, name))
    assert found[:3] == ("refused", "mail_refused", 1) and "550" in found[5] and found[4]


def test_closed_after_data_is_not_sent_again(site, mailbox, servers):
    mailbox.answers["closed"] = ("DATA", "close")
    email = ask(site, "closed")
    found = wait_mail_ended(servers, site, email)
    assert found[0] in ("unknown", "queued", "sent") and found[0] == "unknown", found
    time.sleep(1.5)
    assert len(mailbox.messages_to(email)) == 1, "sent twice"


class Tarpit(threading.Thread):
    """A server that sends one byte of its greeting a second. Or it greets and then sends nothing after the end of DATA, or after the command
    `silent_at`."""

    def __init__(self, silent_after_data=False, silent_at=None):
        super().__init__(daemon=True)
        self.server = socket.create_server(("127.0.0.1", 0))
        self.silent, self.silent_at, self.seen, self.got = silent_after_data or silent_at, silent_at, 0, threading.Event()
        self.url = f"smtp+plain://127.0.0.1:{self.server.getsockname()[1]}"
        self.start()

    def run(self):
        while True:
            try:
                client, _ = self.server.accept()
            except OSError:
                return
            threading.Thread(target=self.talk, args=(client,), daemon=True).start()

    def talk(self, client):
        self.seen += 1
        try:
            if not self.silent:
                for byte in b"220 " + b"x" * 400:
                    client.sendall(bytes([byte]))
                    time.sleep(1)
                return
            client.sendall(b"220 hello\r\n")
            data = False
            for line in client.makefile("rb"):
                if data:
                    if line == b".\r\n":
                        self.got.set()
                        time.sleep(600)
                    continue
                if self.silent_at and line.upper().startswith(self.silent_at):
                    self.got.set()
                    time.sleep(600)
                data = line.upper().startswith(b"DATA")
                client.sendall(b"354 go on\r\n" if data else b"250 fine\r\n")
        except OSError:
            pass


@pytest.fixture
def start_alone(mailer, servers, start_runner):
    """Starts runners for this test alone, which see no mails of other tests. A runner that is to be killed needs the shortest lease, LEASE_MS=2000."""
    started = []
    kill(mailer)
    with servers.connect() as db:
        execute(db, "delete from platform.mail_projects")
        db.commit()

    def begin(**settings):
        started.append(start_runner(MAIL_FROM="service@example.org", **settings))
        return started[-1]

    yield begin
    for daemon in started:
        if daemon.is_running():
            kill(daemon)
    mailer.start()


def test_nobody_listens_then_somebody_does(site, mailbox, servers, start_alone):
    first = start_alone(SMTP_URL=f"smtp+plain://127.0.0.1:{free_port()}", MAIL_RETRY_MS=100, LEASE_MS=2000)
    email = ask(site, "waits")
    assert wait_tried(servers, site, email, 1)[1] == "mail_unreachable"
    kill(first)
    start_alone(SMTP_URL=mailbox.url)
    mailbox.wait(email)


def test_killed_between_data_and_its_answer(site, servers, mailbox, start_alone):
    pit = Tarpit(silent_after_data=True)
    first = start_alone(SMTP_URL=pit.url, LEASE_MS=2000)
    email = ask(site, "killed")
    until(pit.got.is_set, "the text has arrived")
    kill(first)
    start_alone(SMTP_URL=mailbox.url)
    assert wait_mail_ended(servers, site, email)[:2] == ("unknown", "mail_unknown")
    time.sleep(1)
    assert not mailbox.messages_to(email), "sent twice, knowingly"
    mailbox.wait(ask(site, "after"))


def test_killed_before_the_text(site, servers, mailbox, start_alone):
    """The runner is killed when sender and recipient are accepted, but no text was sent: another runner sends the mail."""
    pit = Tarpit(silent_at=b"DATA")
    first = start_alone(SMTP_URL=pit.url, LEASE_MS=2000)
    email = ask(site, "before")
    until(pit.got.is_set, "the text is announced")
    kill(first)
    start_alone(SMTP_URL=mailbox.url)
    mailbox.wait(email)
    assert wait_mail_ended(servers, site, email)[0] == "sent"
    time.sleep(1)
    assert len(mailbox.messages_to(email)) == 1


class LeavingServer(threading.Thread):
    """A server that accepts a mail and then closes the connection, or answers 421 to the next command."""

    def __init__(self, how):
        super().__init__(daemon=True)
        self.server = socket.create_server(("127.0.0.1", 0))
        self.how, self.mails, self.connections = how, [], 0
        self.url = f"smtp+plain://127.0.0.1:{self.server.getsockname()[1]}"
        self.start()

    def run(self):
        while True:
            client, _ = self.server.accept()
            self.connections += 1
            threading.Thread(target=self.talk, args=(client,), daemon=True).start()

    def talk(self, client):
        data, taken = None, 0
        with client:
            client.sendall(b"220 hello\r\n")
            for line in client.makefile("rb"):
                if data is not None:
                    data.append(line)
                    if line == b".\r\n":
                        self.mails.append(b"".join(data))
                        data, taken = None, taken + 1
                        client.sendall(b"250 taken\r\n")
                        if self.how == "close":
                            return
                    continue
                if line.upper().startswith(b"MAIL") and taken and self.how == "421":
                    client.sendall(b"421 enough\r\n")
                    return
                data = [] if line.upper().startswith(b"DATA") else None
                client.sendall(b"354 go on\r\n" if data is not None else b"250 fine\r\n")


@pytest.mark.parametrize("how", ["close", "421", "stay"])
def test_one_connection_after_another(site, servers, start_alone, how):
    """A connection carries one mail after another. The runner replaces a closed connection before it hands over a mail."""
    server = LeavingServer(how)
    start_alone(SMTP_URL=server.url)
    emails = []
    for number in range(6):
        emails.append(ask(site, f"{how}-{number}"))
        found = wait_mail_ended(servers, site, emails[-1])
        assert found[:3] == ("sent", None, 1), (number, found)
    assert len(server.mails) == 6
    assert server.connections == (1 if how == "stay" else 6)


def test_many_mails_over_few_connections(site, mailbox, servers):
    with servers.connect() as db:
        schema = site.schema(db)
        execute(db, f"insert into {schema}.mails (type, recipient, content, give_up_at) select 'workflow', 'm' || n || '@many.example',"
                    " jsonb_build_object('to', jsonb_build_array('m' || n || '@many.example'), 'subject', 'x', 'text', 'x'), now() + interval '1 hour'"
                    " from generate_series(1, 200) n")
        execute(db, "insert into platform.mail_projects select number from platform.projects where slug = %s on conflict do nothing", site.id)
        db.commit()
    for number in range(1, 201):
        assert len(mailbox.wait(f"m{number}@many.example")) == 1
    peers = {envelope.peer for envelope in mailbox.mails if "@many.example" in envelope.rcpt_tos[0]}
    assert len(peers) <= 8, f"{len(peers)} connections for 200 mails"


def test_without_a_server_mails_expire_and_say_so(site, servers, start_alone):
    start_alone(SMTP_URL=None)
    waits, late = ask(site, "stays"), ask(site, "over")
    with servers.connect() as db:
        execute(db, f"update {site.schema(db)}.mails set give_up_at = now() where recipient = %s", late)
        db.commit()
    assert wait_mail_ended(servers, site, late)[:2] == ("expired", "mail_not_configured")
    assert row(servers, site, waits)[0] == "queued"


def test_a_server_that_drips_holds_nobody_for_long(site, servers, start_alone):
    start_alone(SMTP_URL=Tarpit().url, MAIL_TIMEOUT_MS=1000, MAIL_RETRY_MS=100)
    wait_tried(servers, site, ask(site, "drips"), 2)


def test_given_up_after_a_while(site, servers, start_alone):
    email = ask(site, "late")
    with servers.connect() as db:
        execute(db, f"update {site.schema(db)}.mails set give_up_at = now()")
        db.commit()
    start_alone(SMTP_URL="smtp+plain://127.0.0.1:1")
    assert wait_mail_ended(servers, site, email)[:2] == ("expired", "expired")


@pytest.mark.full
def test_one_projects_flood_beside_anothers_mail(site, mailbox, servers, gateway, operator, recorder):
    from groundwork.project import Project
    flood = Project(gateway, operator, recorder)
    flood.admin.put("/", {"settings": {"auth_page_url": "https://app.example.com/"}}, expect=200)
    with servers.connect() as db:
        schema = flood.schema(db)
        execute(db, f"insert into {schema}.mails (type, recipient, content, give_up_at) select 'workflow', 'n' || n || '@flood.example',"
                    " jsonb_build_object('to', jsonb_build_array('n' || n || '@flood.example'), 'subject', 'x', 'text', 'x'), now() + interval '1 hour'"
                    " from generate_series(1, 10000) n")
        execute(db, "insert into platform.mail_projects select number from platform.projects where slug = %s", flood.id)
        db.commit()
    until(lambda: mailbox.mails and "flood.example" in mailbox.mails[-1].rcpt_tos[0], "the flood has begun")
    mailbox.wait(ask(site, "beside"))
    assert row(servers, flood, "n10000@flood.example")[0] == "queued", "not later than the end of the flood"
    with servers.connect() as db:
        execute(db, f"delete from {schema}.mails")
        db.commit()


def put_mails(servers, project, name, count, text="x"):
    """Inserts `count` mails of a project, as SendEmail would."""
    with servers.connect() as db:
        execute(db, f"insert into {project.schema(db)}.mails (type, recipient, content, give_up_at) select 'workflow', %s || n || '@flood.example',"
                    " jsonb_build_object('to', jsonb_build_array(%s || n || '@flood.example'), 'subject', 'x', 'text', %s::text), now() + interval '1 hour'"
                    " from generate_series(1, %s) n", name, name, text, count)
        execute(db, "insert into platform.mail_projects select number from platform.projects where slug = %s on conflict do nothing", project.id)
        db.commit()


@pytest.fixture
def flood(servers, gateway, operator, recorder):
    from groundwork.project import Project
    own = Project(gateway, operator, recorder)
    own.admin.put("/", {"settings": {"auth_page_url": "https://app.example.com/"}}, expect=200)
    yield own
    with servers.connect() as db:
        execute(db, f"delete from {own.schema(db)}.mails")
        db.commit()


def test_recipients_that_keep_the_server_waiting(site, mailbox, servers, flood, mailer):
    """A project's recipients decide how long the server takes for its mails: waiting mails hold only the slots of their project."""
    mailbox.answers["slow"] = ("RCPT", "hang")
    mailbox.tried.clear()
    put_mails(servers, flood, "slow", 40)
    asked = lambda: sum(address.startswith("slow") for address in mailbox.tried)
    until(lambda: asked() >= 4, "the server has received recipients")
    mailbox.wait(ask(site, "beside-slow"))
    assert asked() == 4, "GROUNDWORK_MAIL_SLOTS_PER_PROJECT, and the server has not answered yet"
    kill(mailer)
    del mailbox.answers["slow"]
    mailer.start()


def test_large_mails_leave_room(site, mailbox, servers, flood, mailer):
    """Forty mails of a megabyte take only the project's share of a memory budget, so that a mail of another project is sent at the same time."""
    mailbox.answers["large"] = ("RCPT", "451 later")
    put_mails(servers, flood, "large", 40, "x" * 1_000_000)
    held = []
    email = ask(site, "beside-large")

    def arrived():
        held.append(int(re.search(r'^groundwork_shares_held\{pool="step_bytes"\} (\d+)', mailer.metrics(), re.M)[1]))
        return mailbox.messages_to(email)

    until(arrived, "the mail of the other project", pause=0.01)
    assert max(held) <= 24 << 20


def test_a_workflow_with_a_template(mailer, site, mailbox):
    site.admin.put("/email-templates/added_to_tenant", {"subject": "Hello {{ email }}"}, expect=200)
    job = run(site, [step("mail", "SendEmail", {"to": "flow@people.example", "template_type": "added_to_tenant",
                                                "variables": {"email": "{{ $svc.trigger.data.who }}", "link": "https://app.example.com/<x>"}})],
              {"who": "<b>Ann</b>"})
    assert job["status"] == "succeeded", job
    message = mailbox.wait("flow@people.example")[0]
    assert message["subject"] == "Hello <b>Ann</b>"
    html = message.get_body(("html",)).get_content()
    assert "&lt;b&gt;Ann&lt;/b&gt;" in html and "https://app.example.com/&lt;x&gt;" in html
    refused = run(site, [step("mail", "SendEmail", {"to": "flow@people.example", "template_type": "{{ $svc.trigger.data.who }}"})], {"who": "none"})
    assert refused["status"] == "failed" and refused["error"]["code"] == "not_found"
