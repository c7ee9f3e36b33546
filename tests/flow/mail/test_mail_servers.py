"""Mail servers that lie, hang, send malformed answers, or do not protect the password."""
import itertools
import re
import socket
import ssl
import struct
import subprocess
import threading
import time

import pytest

from groundwork.chaos import kill
from groundwork.records import execute
from groundwork.runs import step
from test_mail_queue import wait_mail_ended, row_once, run

_numbers = itertools.count(1)
PASSWORD = "open-sesame-42"
TIMEOUT_MS = 3000
GENERIC = "the mail server is currently not available"


class Liar(threading.Thread):
    """A mail server. `says` sets its answers to GREETING, EHLO, AUTH, STARTTLS, MAIL, RCPT, DATA and TEXT: bytes, "close", "reset", "hang", or a
    function of the socket. `heard` are the commands of clients, `texts` the mails that they sent."""

    def __init__(self, tls=None):
        super().__init__(daemon=True)
        self.server = socket.create_server(("127.0.0.1", 0))
        self.port, self.tls = self.server.getsockname()[1], tls
        self.clients = []
        self.set_answers()
        self.start()

    def set_answers(self, **says):
        """Sets other answers, clears `heard` and `texts`, and closes all connections."""
        self.says, self.heard, self.texts = says, [], []
        for client in self.clients:
            try:
                client.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        self.clients = []

    def run(self):
        while True:
            client, _ = self.server.accept()
            self.clients.append(client)
            threading.Thread(target=self.talk, args=(client,), daemon=True).start()

    def say(self, client, stage, usual):
        """Sends the answer to a stage. Returns False if the connection is closed."""
        answer = self.says.get(stage, usual)
        if answer in ("close", "reset"):
            if answer == "reset":
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            client.close()
            return False
        if answer == "hang":
            threading.Event().wait()
        if callable(answer):
            answer(client)
        else:
            client.sendall(answer)
        return True

    def talk(self, client):
        try:
            self.lines(client, self.says)
        except (OSError, ValueError):
            pass

    def lines(self, client, says):
        data = None
        if not self.say(client, "GREETING", b"220 hello\r\n"):
            return
        stream = client.makefile("rb")
        while says is self.says and (line := stream.readline()):
            if data is not None:
                data.append(line)
                if self.says.get("HALF") and len(data) > 3:
                    self.says["HALF"](client)
                    return
                if line == b".\r\n":
                    self.texts.append(b"".join(data))
                    data = None
                    if not self.say(client, "TEXT", b"250 taken\r\n"):
                        return
                continue
            self.heard.append(line)
            verb = line.split()[0].upper().decode()
            usual = {"EHLO": b"250-liar\r\n250 AUTH PLAIN\r\n" if "AUTH" in self.says else b"250 liar\r\n",
                     "STARTTLS": b"220 go\r\n", "DATA": b"354 go on\r\n", "AUTH": b"334 \r\n"}.get(verb, b"250 fine\r\n")
            if verb == "EHLO" and isinstance(client, ssl.SSLSocket):
                client.sendall(b"250-liar\r\n250 AUTH PLAIN\r\n")
            elif not self.say(client, verb, usual):
                return
            if verb == "AUTH" and "AUTH" not in self.says:
                stream.readline()
                client.sendall(b"235 welcome\r\n")
            if verb == "STARTTLS" and self.tls and "STARTTLS" not in self.says:
                client = self.tls.wrap_socket(client, server_side=True)
                stream = client.makefile("rb")
            elif verb == "DATA" and self.says.get("DATA", b"354").startswith(b"354"):
                data = []


@pytest.fixture(scope="module")
def liar():
    return Liar()


@pytest.fixture(scope="module")
def mailer(start_runner, liar):
    return start_runner(SMTP_URL=f"smtp+plain://ada:{PASSWORD}@127.0.0.1:{liar.port}", MAIL_FROM="service@example.org",
                        MAIL_TIMEOUT_MS=TIMEOUT_MS, MAIL_RETRY_MS=100)


@pytest.fixture(scope="module")
def site(shared_project, mailer):
    shared_project.admin.put("/", {"settings": {"auth_page_url": "https://app.example.com/", "rate_sign_in_address": 1000}}, expect=200)
    shared_project.mailed = shared_project.user(email="mailed@people.example").user
    return shared_project


def ask(site, name):
    """Requests a mail to a new address. Returns the address."""
    email = f"{name}{next(_numbers)}@people.example"
    site.admin.put(f"/users/{site.mailed['id']}", {"email": email}, expect=200)
    site.client().post("/auth/v1/magic-link", {"email": email}, expect=202)
    return email


@pytest.fixture(autouse=True)
def delete_mails(site, servers):
    """Deletes the mails that a test leaves."""
    yield
    with servers.connect() as db:
        execute(db, f"delete from {site.schema(db)}.mails")
        execute(db, "delete from platform.mail_projects")
        db.commit()


def wait_tried(servers, site, email, times=2):
    """Waits until the server has refused a mail `times` times, and asserts that the mail is queued. Returns its row."""
    def is_tried(found):
        assert found[2] >= times or found[0] in ("queued", "sending"), found
        return found[2] >= times

    return row_once(servers, site, email, is_tried)


def rss(daemon):
    total = 0
    for worker in daemon.workers():
        total += int(re.search(r"VmRSS:\s+(\d+)", open(f"/proc/{worker}/status").read())[1]) * 1024
    return total


def pour(piece):
    def endless(client):
        while True:
            client.sendall(piece)
    return endless


@pytest.mark.parametrize("says", [
    {"GREETING": b"554 no service for you\r\n"},
    {"GREETING": b"421 later\r\n"},
    {"GREETING": b"HTTP/1.1 400 Bad Request\r\n\r\n"},
    {"GREETING": b"\x00\xff" * 100 + b"\r\n"},
    {"GREETING": "hang"},
    {"GREETING": "reset"},
    {"EHLO": b"500 what\r\n", "HELO": b"500 what\r\n"},
    {"AUTH": b"535 5.7.8 ada@liar: wrong password\r\n"},
    {"AUTH": b"334 " + b"A" * 5000 + b"\r\n"},
    {"MAIL": b"530 5.7.0 authenticate first, ada\r\n"},
    {"MAIL": "hang"},
    {"RCPT": "close"},
    {"DATA": "close"},
    {"DATA": "hang"},
    {"DATA": b"250 not what I am asked\r\n"},
], ids=lambda says: "-".join(f"{stage}-{str(answer)[:12]}" for stage, answer in says.items()))
def test_trouble_with_the_server_is_no_bounce(site, servers, liar, says):
    """An error of the server concerns all mails, so the mails wait. Projects cannot read the server's answers, which are for the operator."""
    liar.set_answers(**says)
    email = ask(site, "waits")
    found = wait_tried(servers, site, email)
    assert found[1] == "mail_unreachable" and found[5] == GENERIC, found
    assert not liar.texts
    liar.set_answers()
    assert wait_mail_ended(servers, site, email)[0] == "sent"
    assert len(liar.texts) == 1


@pytest.mark.parametrize("stage", ["MAIL", "RCPT", "DATA", "TEXT"])
def test_what_it_says_of_a_mail_is_recorded(site, servers, liar, stage):
    liar.set_answers(**{stage: b"550-5.7.1 no\x00 \xff\x1b[31m\r\n550-5.7.1 second line\r\n550 5.7.1 \xc3\xbcnwanted " + b"x" * 3000 + b"\r\n"})
    found = wait_mail_ended(servers, site, ask(site, "bounced"))
    assert found[:3] == ("refused", "mail_refused", 1)
    assert found[5].startswith("550-5.7.1 no") and "\x1b" not in found[5] and "second line" in found[5] and "ünwanted" in found[5]
    assert len(found[5]) <= 200
    assert site.admin.get("/mail/log", expect=200).json()["items"][0]["detail"] == found[5]


@pytest.mark.parametrize("answer", [b"250-taken\r\n250-indeed\r\n250 queued as 1\r\n", b"251 will do\r\n", b"299\r\n"])
def test_any_2xx_has_taken_it(site, servers, liar, answer):
    liar.set_answers(TEXT=answer)
    assert wait_mail_ended(servers, site, ask(site, "taken"))[:3] == ("sent", None, 1)
    assert len(liar.texts) == 1


@pytest.mark.parametrize("answer", ["hang", "close", "reset", b"354 more\r\n", b"hello?\r\n", b"\x00" * 50000, b"250-and so on\r\n" * 3])
def test_no_answer_to_the_text_is_unknown(site, servers, liar, answer):
    liar.set_answers(TEXT=answer)
    found = wait_mail_ended(servers, site, ask(site, "lost"))
    assert found[:2] == ("unknown", "mail_unknown"), found
    time.sleep(1)
    assert len(liar.texts) == 1, "sent twice, knowingly"


def test_cut_off_in_the_middle_of_the_text(site, servers, liar):
    """A text without its end is no mail, so it is sent again. If the runner had already sent the whole text when the connection was closed, the
    server may have the mail: it is never sent again."""
    liar.set_answers(HALF=lambda client: client.close())
    email = ask(site, "half")
    found = row_once(servers, site, email, lambda found: found[2] >= 1)
    assert found[0] in ("queued", "sending", "unknown") and not liar.texts
    liar.set_answers()
    assert wait_mail_ended(servers, site, email)[0] == ("unknown" if found[0] == "unknown" else "sent")


def test_an_answer_before_the_text(site, servers, liar):
    liar.set_answers(DATA=b"354 go\r\n250 taken\r\n", TEXT="close")
    found = wait_mail_ended(servers, site, ask(site, "early"))
    assert found[0] in ("sent", "unknown")
    assert len(liar.texts) <= 1


@pytest.mark.parametrize("stage", ["GREETING", "EHLO", "TEXT"])
@pytest.mark.parametrize("piece", [b"250-still talking, and on and on\r\n" * 100, b"x" * 65536], ids=["lines", "one line"])
def test_a_server_without_end(site, servers, liar, mailer, stage, piece):
    """An endless answer is cut off by the timeout and does not fill the runner's memory."""
    liar.set_answers()
    wait_mail_ended(servers, site, ask(site, "warm"))
    before = rss(mailer)
    liar.set_answers(**{stage: pour(piece)})
    email = ask(site, "endless")
    sizes = []

    def is_over(found):
        sizes.append(rss(mailer))
        return found[1]

    found = row_once(servers, site, email, is_over)
    assert max(sizes) - before < 24 << 20, f"{(max(sizes) - before) >> 20} MB"
    assert found[:2] in (("queued", "mail_unreachable"), ("sending", "mail_unreachable"), ("unknown", "mail_unknown")), found


def test_all_recipients_or_none(site, servers, liar):
    """A mail to three recipients, of whom one is refused, is sent to none of them: a mail has one outcome."""
    said = iter([b"250 fine\r\n", b"550 not him\r\n"])
    liar.set_answers(RCPT=lambda client: client.sendall(next(said, b"250 fine\r\n")))
    job = run(site, [step("mail", "SendEmail", {"to": ["a@x.example", "b@x.example", "c@x.example"], "subject": "x", "body_text": "x"})])
    assert job["status"] == "failed" and job["error"]["code"] == "mail_refused" and "not him" in str(job["error"]) and not liar.texts


# --- STARTTLS ---

@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tls")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                    "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", folder / "key.pem", "-out", folder / "cert.pem"],
                   check=True, capture_output=True)
    return folder


@pytest.fixture
def secure(certificate, start_runner, mailer, servers):
    """A function that starts a runner that requires TLS. It returns the runner's mail server."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate / "cert.pem", certificate / "key.pem")
    server = Liar(context)
    started = []
    kill(mailer)
    with servers.connect() as db:
        execute(db, "delete from platform.mail_projects")
        db.commit()

    def begin(**settings):
        started.append(start_runner(SMTP_URL=f"smtp://ada:{PASSWORD}@127.0.0.1:{server.port}", MAIL_FROM="service@example.org",
                                    MAIL_TIMEOUT_MS=TIMEOUT_MS, MAIL_RETRY_MS=100, **settings))
        return server

    yield begin
    for daemon in started:
        kill(daemon)
    mailer.start()


OFFER = b"250-liar\r\n250-AUTH PLAIN\r\n250 STARTTLS\r\n"


@pytest.mark.parametrize("says", [
    {"EHLO": b"250-liar\r\n250 AUTH PLAIN\r\n"},
    {"EHLO": OFFER, "STARTTLS": b"454 not now\r\n"},
    {"EHLO": OFFER, "STARTTLS": b"500 what is that\r\n"},
    {"EHLO": OFFER, "STARTTLS": b"220 go\r\n250-liar\r\n250 AUTH PLAIN\r\n235 welcome\r\n250 fine\r\n250 fine\r\n354 go on\r\n250 taken\r\n"},
    {"EHLO": OFFER, "STARTTLS": b"220 go\r\n250 fine\r\n"},
], ids=["not offered", "454", "500", "answers in advance", "one answer in advance"])
def test_without_tls_nothing_leaves(site, servers, secure, says):
    server = secure()
    server.set_answers(**says)
    found = wait_tried(servers, site, ask(site, "stripped"))
    assert found[1] == "mail_unreachable" and found[5] == GENERIC
    assert not server.texts and not any(re.match(rb"AUTH|MAIL|RCPT|DATA", line) for line in server.heard), server.heard


def test_a_certificate_that_nobody_knows(site, servers, secure):
    server = secure()
    server.set_answers(EHLO=OFFER)
    wait_tried(servers, site, ask(site, "unknown-root"))
    assert not server.texts and not any(line.startswith((b"AUTH", b"MAIL")) for line in server.heard)


def test_a_root_that_is_trusted(site, servers, secure, certificate):
    server = secure(FETCH_CA_FILE=str(certificate / "cert.pem"))
    server.set_answers(EHLO=OFFER)
    assert wait_mail_ended(servers, site, ask(site, "trusted"))[0] == "sent"
    assert len(server.texts) == 1 and any(line.startswith(b"AUTH PLAIN") for line in server.heard)


def test_the_password_is_nowhere(mailer, servers):
    """Runs last: the log of the runner does not contain the password."""
    assert PASSWORD not in mailer.log()
