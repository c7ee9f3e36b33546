"""Domains for sending mail: records to publish, their verification, senders, signatures."""
import base64
import itertools
import json
import pathlib
import shutil
import subprocess

import pytest

from groundwork.deadline import at_most, until
from groundwork.names import NameServer, unused_address
from groundwork.project import Project
from groundwork.records import execute
from groundwork.runs import wait_ended, step
from groundwork.sealed import setting_aad, unseal, unwrap
from groundwork.soon import settle
from groundwork.workflows import start, workflow

FOLDER = pathlib.Path(__file__).parent / "dkim"
SPF = "include:spf.example.net"
PIXEL = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def names():
    own = NameServer()
    yield own
    own.close()


@pytest.fixture(scope="module")
def dns_gateway(start_gateway, names):
    """A gateway that queries the name server of these tests."""
    return start_gateway(DNS_SERVERS=names.address, MAIL_SPF=SPF, WORKERS=1)


@pytest.fixture
def domain_project(dns_gateway, make_project, mailer):
    own = make_project(dns_gateway)
    own.admin.put("/", {"settings": {"auth_page_url": "https://app.example.com/", "rate_sign_in_account": 1000,
                                     "rate_sign_in_address": 1000}}, expect=200)
    return own


def name():
    return f"mail{next(_numbers)}.example.com"


def add(project, domain=None):
    return project.admin.post("/tenant-domains", {"domain": domain or name()}, expect=201).json()


def verify(project, domain, expect=200):
    return project.admin.post(f"/tenant-domains/{domain['id']}/verify", expect=expect).json()


def record(domain, purpose):
    return next(one for one in domain["records"] if one["purpose"] == purpose)


def states(domain):
    return {one["purpose"]: one["status"] for one in domain["records"]}


def add_verified(project, names, domain=None):
    made = add(project, domain)
    names.publish(made)
    made = verify(project, made)
    assert made["status"] == "verified", made
    return made


def sender(project, email, expect=201, **members):
    return project.admin.post("/tenant-sender-addresses", {"email": email, **members}, expect=expect).json()


# --- records ---

def test_records_to_publish(domain_project):
    made = add(domain_project, "Mail.Example.COM")
    assert made["domain"] == "mail.example.com" and made["status"] == "pending" and made["verified_at"] is None
    assert set(states(made).values()) == {"pending"}
    own, key, spf, dmarc = made["records"]
    assert own["name"] == "_groundwork.mail.example.com" and own["value"].startswith("groundwork-verify=") and own["is_required"]
    assert key["name"].endswith("._domainkey.mail.example.com") and key["value"].startswith("v=DKIM1; k=rsa; p=MII") and key["is_required"]
    assert spf["name"] == "mail.example.com" and spf["value"] == f"v=spf1 {SPF} ~all" and not spf["is_required"]
    assert dmarc["name"] == "_dmarc.mail.example.com" and dmarc["value"] == "v=DMARC1; p=none" and not dmarc["is_required"]
    assert domain_project.admin.get(f"/tenant-domains/{made['id']}", expect=200).json() == made
    assert domain_project.admin.get("/tenant-domains", expect=200).json()["items"] == [made]
    domain_project.admin.post("/tenant-domains", {"domain": "MAIL.example.com"}, expect=409)
    domain_project.admin.delete(f"/tenant-domains/{made['id']}", expect=204)
    domain_project.admin.get(f"/tenant-domains/{made['id']}", expect=404)
    again = add(domain_project, "mail.example.com")
    assert record(again, "dkim")["value"] != key["value"] and record(again, "ownership")["value"] != own["value"]


def test_two_projects_and_one_domain(domain_project, dns_gateway, operator, recorder, names):
    """Each project has its own token and key for a domain: the published records of one project do not verify the domain for another."""
    other, domain = Project(dns_gateway, operator, recorder), name()
    ours, theirs = add_verified(domain_project, names, domain), add(other, domain)
    assert record(ours, "dkim")["name"] != record(theirs, "dkim")["name"]
    theirs = verify(other, theirs)
    assert theirs["status"] == "failed" and states(theirs) == {"ownership": "failed", "dkim": "failed", "spf": "verified", "dmarc": "verified"}
    assert record(theirs, "ownership")["error"] == "has another project's token"
    names.records[record(theirs, "ownership")["name"]].append(record(theirs, "ownership")["value"])
    names.publish({"records": [record(theirs, "dkim")]})
    assert verify(other, theirs)["status"] == "verified" and verify(domain_project, ours)["status"] == "verified"


@pytest.mark.parametrize("domain", ["", "com", "-a.example", "a..example", "a_b.example", "mail.example.com.", "http://a.example",
                                    "127.0.0.1", "a b.example", "bücher.example", "a.example\r\nx", f"{'a' * 64}.example",
                                    ".".join(["abcdefghi"] * 21), 3, None])
def test_what_is_no_domain(shared_project, domain):
    shared_project.admin.post("/tenant-domains", {"domain": domain}, expect=400)


def test_administrators_alone(domain_project):
    user = domain_project.user()
    for method, path in (("get", "/tenant-domains"), ("post", "/tenant-domains"), ("get", "/tenant-sender-addresses"),
                         ("post", "/tenant-sender-addresses"), ("get", "/mail/log")):
        getattr(user, method)(path, **({"json": {}} if method == "post" else {}), expect=403)


def test_the_key_is_sealed(domain_project, servers, names):
    """The private key is stored only encrypted, and belongs to the published public key."""
    from cryptography.hazmat.primitives import serialization

    made = add(domain_project)
    with servers.connect() as db, db.cursor() as cursor:
        schema = domain_project.schema(db)
        cursor.execute(f"select id, wrapped from {schema}.data_keys")
        keys = unwrap(int(schema[2:]), cursor.fetchall())
        cursor.execute(f"select doc::text, sealed from {schema}.settings where kind = 'dkim' and key = %s", (made["domain"],))
        doc, sealed = cursor.fetchone()
    assert "MII" not in doc
    plain = unseal(keys[max(keys)], sealed, setting_aad(int(schema[2:]), "dkim", made["domain"]))
    public = serialization.load_der_private_key(plain, None).public_key()
    assert public.key_size == 2048
    der = public.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    assert record(made, "dkim")["value"] == f"v=DKIM1; k=rsa; p={base64.b64encode(der).decode()}"


# --- verifying ---

def test_verified(domain_project, names):
    made = add(domain_project)
    first = verify(domain_project, made)
    assert first["status"] == "failed" and set(states(first).values()) == {"failed"}
    assert record(first, "dkim")["error"] == "there is no such record" and first["checked_at"]
    names.publish(made)
    now = verify(domain_project, made)
    assert now["status"] == "verified" and set(states(now).values()) == {"verified"} and now["verified_at"]
    assert record(now, "spf")["found"] == f"v=spf1 {SPF} ~all" and record(now, "spf")["error"] is None
    assert (record(now, "dkim")["name"], "tcp") in names.asked or len(record(now, "dkim")["value"]) < 420


def test_a_long_answer_comes_over_tcp(domain_project, names):
    made = add(domain_project)
    names.publish(made)
    names.trouble[record(made, "dkim")["name"]] = "long"
    assert verify(domain_project, made)["status"] == "verified"
    assert (record(made, "dkim")["name"], "tcp") in names.asked


@pytest.mark.parametrize("purpose, texts, error", [
    ("dkim", ["v=DKIM1; k=rsa; p="], "p is empty"),
    ("dkim", ["v=DKIM1; k=ed25519; p=abc"], "k must be rsa"),
    ("dkim", ["v=DKIM1; k=rsa; p=MIIBIjANBgkqh"], "another key"),
    ("dkim", ["hello"], "no such record"),
    ("dkim", ["{value}; h=sha1"], "SHA-256"),
    ("dkim", ["{value}", "{value}"], "more than once"),
    ("ownership", ["groundwork-verify=0"], "another project's"),
    ("ownership", ["x{value}"], "no such record"),
    ("spf", ["v=spf1 ~all"], "does not name"),
    ("spf", ["v=spf10 " + SPF], "no such record"),
    ("spf", ["{value}", "v=spf1 -all"], "more than once"),
    ("spf", ["v=spf1 " + " ".join(f"a:h{n}.example" for n in range(10)) + f" {SPF} ~all"], "more than ten"),
    ("dmarc", ["v=DMARC1; rua=mailto:x@example.com"], "p is missing"),
])
def test_what_is_wrong_with_a_record(domain_project, names, purpose, texts, error):
    made = add(domain_project)
    names.publish(made)
    one = record(made, purpose)
    names.records[one["name"]] = [text.replace("{value}", one["value"]) for text in texts]
    now = verify(domain_project, made)
    assert states(now)[purpose] == "failed" and error in record(now, purpose)["error"]
    assert now["status"] == ("failed" if one["is_required"] else "verified")


@pytest.mark.parametrize("purpose, texts", [
    ("dkim", ["k=rsa; t=y; n=a note;p=  {key} ; s=email"]),
    ("ownership", ["something else", "groundwork-verify=of another", "{value}"]),
    ("spf", ["google-site-verification=x", f"v=spf1 mx +{SPF.upper()} -all"]),
    ("dmarc", ["v=DMARC1;p=reject;rua=mailto:x@example.com"]),
])
def test_other_ways_to_write_it(domain_project, names, purpose, texts):
    made = add(domain_project)
    names.publish(made)
    one = record(made, purpose)
    key = one["value"].rpartition("p=")[2]
    names.records[one["name"]] = [text.replace("{value}", one["value"]).replace("{key}", f"{key[:99]} {key[99:]}") for text in texts]
    assert states(verify(domain_project, made))[purpose] == "verified"


@pytest.mark.parametrize("trouble", ["servfail", "refused", "silent"])
def test_a_name_server_in_trouble_is_no_news(domain_project, names, trouble):
    made = add_verified(domain_project, names)
    names.trouble[record(made, "dkim")["name"]] = trouble
    now = verify(domain_project, made)
    assert now["status"] == "verified" and states(now)["dkim"] == "verified"
    assert "could not be queried" in record(now, "dkim")["error"]
    fresh = add(domain_project)
    names.publish(fresh)
    names.trouble[record(fresh, "ownership")["name"]] = trouble
    now = verify(domain_project, fresh)
    assert now["status"] == "pending" and states(now)["ownership"] == "pending" and states(now)["dkim"] == "verified"


def test_gone_again(domain_project, names):
    made = add_verified(domain_project, names)
    del names.records[record(made, "ownership")["name"]]
    now = verify(domain_project, made)
    assert now["status"] == "failed" and now["verified_at"] is None


@pytest.mark.timed
def test_nobody_answers(start_gateway, operator, recorder):
    """A request ends in time although the name server is silent."""
    project = Project(start_gateway(DNS_SERVERS=unused_address(), WORKERS=1), operator, recorder)
    made = add(project)
    with at_most(15, "a request whose name server is silent"):
        now = verify(project, made)
    assert now["status"] == "pending" and "could not be queried" in record(now, "dkim")["error"]
    assert "spf" not in states(now), "MAIL_SPF is not set"


def test_bad_settings(start_gateway):
    with pytest.raises(RuntimeError, match="GROUNDWORK_DNS_SERVERS"):
        start_gateway(DNS_SERVERS="not an address at all,::::", WORKERS=1)


def test_limits_of_changes(domain_project):
    statuses = [domain_project.admin.post("/tenant-domains", {"domain": name()}).status_code for _ in range(12)]
    assert statuses[:10] == [201] * 10 and statuses[10:] == [429, 429]


# --- senders ---

def test_a_sender_on_a_domain_that_is_not_verified(domain_project, names):
    refused = sender(domain_project, "ada@nowhere.example", expect=422)
    assert refused["code"] == "unprocessable" and "/verify" in refused["detail"] and "nowhere.example" in refused["detail"]
    made = add(domain_project)
    sender(domain_project, f"ada@{made['domain']}", expect=422)
    names.publish(made)
    verify(domain_project, made)
    sender(domain_project, f"ada@sub.{made['domain']}", expect=422)
    sender(domain_project, f"ada@{made['domain']}")


def test_senders(domain_project, names):
    domain = add_verified(domain_project, names)
    first = sender(domain_project, f"Ada@{domain['domain']}", name="Ada")
    assert first["email"] == f"ada@{domain['domain']}" and first["is_default"] and first["is_usable"] and first["domain_id"] == domain["id"]
    second = sender(domain_project, f"bob@{domain['domain']}")
    assert second["name"] is None and not second["is_default"]
    sender(domain_project, f"BOB@{domain['domain']}", expect=409)
    third = sender(domain_project, f"eve@{domain['domain']}", is_default=True)
    listed = domain_project.admin.get("/tenant-sender-addresses", expect=200).json()["items"]
    assert [one["is_default"] for one in listed] == [False, False, True] and listed[2] == third
    assert domain_project.admin.post(f"/tenant-sender-addresses/{second['id']}/default", expect=200).json()["is_default"]
    assert [one["is_default"] for one in domain_project.admin.get("/tenant-sender-addresses", expect=200).json()["items"]] == [False, True, False]
    assert domain_project.admin.put(f"/tenant-sender-addresses/{second['id']}", {"name": "Bob"}, expect=200).json()["name"] == "Bob"
    domain_project.admin.put(f"/tenant-sender-addresses/{second['id']}", {"name": "Bob\r\nBcc: x"}, expect=400)
    domain_project.admin.put(f"/tenant-sender-addresses/{second['id']}", {"email": "x@y.example"}, expect=400)
    domain_project.admin.delete(f"/tenant-domains/{domain['id']}", expect=409)
    domain_project.admin.delete(f"/tenant-sender-addresses/{second['id']}", expect=204)
    domain_project.admin.get(f"/tenant-sender-addresses/{second['id']}", expect=404)
    domain_project.admin.post(f"/tenant-sender-addresses/{second['id']}/default", expect=404)


def test_avatars(domain_project, names):
    domain = add_verified(domain_project, names)
    made = sender(domain_project, f"ada@{domain['domain']}")
    upload = lambda file, body: domain_project.admin.put(f"/files/upload/{file}", data=body, headers={"Content-Type": "application/octet-stream"}, expect=201).json()  # noqa: E731
    picture, text = upload("a.png", PIXEL), upload("a.txt", b"hello")
    path = f"/tenant-sender-addresses/{made['id']}"
    assert domain_project.admin.put(f"{path}/avatar", {"file_id": picture["id"]}, expect=200).json()["avatar_file_id"] == picture["id"]
    domain_project.admin.put(f"{path}/avatar", {"file_id": text["id"]}, expect=400)
    domain_project.admin.put(f"{path}/avatar", {"file_id": 999999}, expect=400)
    assert domain_project.admin.put(f"{path}/avatar", {"file_id": None}, expect=200).json()["avatar_file_id"] is None
    assert domain_project.admin.put(path, {"avatar_file_id": picture["id"]}, expect=200).json()["avatar_file_id"] == picture["id"]
    domain_project.admin.delete(f"/files/{picture['id']}", expect=204)
    assert domain_project.admin.get(path, expect=200).json()["avatar_file_id"] is None


# --- mails that are sent ---

def request_mail(project, mailbox, email=None):
    email = project.user(email=email or f"reader{next(_numbers)}@people.example").user["email"]
    project.client().post("/auth/v1/magic-link", {"email": email}, expect=202)
    return mailbox.wait(email)[-1]


def raw(mailbox, message):
    return next(one.content for one in mailbox.mails if f"Message-ID: {message['message-id']}".encode() in one.content)


def test_mail_comes_from_the_default_sender_and_is_signed(domain_project, names, mailbox):
    plain = request_mail(domain_project, mailbox)
    assert plain["from"].addresses[0].addr_spec == "service@example.org" and "dkim-signature" not in plain
    domain = add_verified(domain_project, names)
    sender(domain_project, f"ada@{domain['domain']}", name="Ada")
    message = request_mail(domain_project, mailbox)
    assert message["from"].addresses[0].addr_spec == f"ada@{domain['domain']}" and message["from"].addresses[0].display_name == "Ada"
    assert message["message-id"].endswith(f"@{domain['domain']}>") and f"d={domain['domain']};" in message["dkim-signature"]
    row = domain_project.admin.get("/mail/log", params={"status": "sent"}, expect=200).json()["items"][0]
    assert row["sender"] == f"ada@{domain['domain']}"


def test_a_template_names_its_sender(domain_project, names, mailbox):
    domain = add_verified(domain_project, names)
    sender(domain_project, f"ada@{domain['domain']}", name="Ada")
    own = sender(domain_project, f"links@{domain['domain']}", name="Links")
    changed = domain_project.admin.put("/email-templates/magic_link", {"sender_address_id": own["id"]}, expect=200).json()
    assert changed["sender_address_id"] == own["id"]
    assert request_mail(domain_project, mailbox)["from"].addresses[0].addr_spec == f"links@{domain['domain']}"
    domain_project.admin.put("/email-templates/magic_link", {"sender_address_id": 999999}, expect=400)
    domain_project.admin.delete(f"/tenant-sender-addresses/{own['id']}", expect=204)
    assert request_mail(domain_project, mailbox)["from"].addresses[0].addr_spec == f"ada@{domain['domain']}"
    job = wait_ended(domain_project, start(domain_project.admin, workflow(domain_project.admin, steps=[
        step("mail", "SendEmail", {"to": "flow-sender@people.example", "subject": "x", "body_text": "y"})])))
    assert job["status"] == "succeeded", job
    assert mailbox.wait("flow-sender@people.example")[0]["from"].addresses[0].addr_spec == f"ada@{domain['domain']}"


def test_a_domain_that_is_no_longer_verified_does_not_send(domain_project, names, mailbox):
    domain = add_verified(domain_project, names)
    own = sender(domain_project, f"ada@{domain['domain']}")
    del names.records[record(domain, "dkim")["name"]]
    verify(domain_project, domain)
    assert not domain_project.admin.get(f"/tenant-sender-addresses/{own['id']}", expect=200).json()["is_usable"]
    domain_project.admin.post(f"/tenant-sender-addresses/{own['id']}/default", expect=422)
    domain_project.admin.put("/email-templates/recovery", {"sender_address_id": own["id"]}, expect=422)
    assert request_mail(domain_project, mailbox)["from"].addresses[0].addr_spec == "service@example.org"


def test_the_address_of_the_settings(domain_project, names, mailbox):
    """The sender of the settings is used if its domain is verified. Otherwise mail is sent from the operator's address, whose domain no project may
    use."""
    domain = name()
    domain_project.admin.put("/", {"settings": {"mail_sender": f"shop@{domain}"}}, expect=200)
    settle()
    assert request_mail(domain_project, mailbox)["from"].addresses[0].addr_spec == "service@example.org"
    add_verified(domain_project, names, domain)
    message = request_mail(domain_project, mailbox)
    assert message["from"].addresses[0].addr_spec == f"shop@{domain}" and "dkim-signature" in message
    domain_project.admin.put("/", {"settings": {"mail_sender": "shop@example.org"}}, expect=200)
    settle()
    assert request_mail(domain_project, mailbox)["from"].addresses[0].addr_spec == "service@example.org"


def test_a_key_that_does_not_open(domain_project, names, mailbox, servers):
    """If the key cannot be decrypted, mail is sent from the operator's address. It is neither lost nor sent unsigned in the name of the domain."""
    domain = add_verified(domain_project, names)
    sender(domain_project, f"ada@{domain['domain']}")
    with servers.connect() as db:
        execute(db, f"update {domain_project.schema(db)}.settings set sealed = '\\x00'::bytea || substr(sealed, 2) where kind = 'dkim'")
        db.commit()
    assert request_mail(domain_project, mailbox)["from"].addresses[0].addr_spec == "service@example.org"


@pytest.fixture(scope="module")
def mailauth():
    """mailauth(messages, records): returns the results of the npm package for these messages."""
    if not shutil.which("npm"):
        pytest.skip("npm is not installed")
    if not (FOLDER / "node_modules").exists():
        done = subprocess.run(["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts"], cwd=FOLDER, capture_output=True, text=True)
        if done.returncode:
            pytest.skip(f"npm cannot install it: {done.stderr[-500:]}")

    def read(messages, records):
        lines = "".join(json.dumps({"message": base64.b64encode(one).decode(), "records": records}) + "\n" for one in messages)
        done = subprocess.run(["node", "verify.mjs"], cwd=FOLDER, input=lines, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        return [json.loads(line)["results"] for line in done.stdout.splitlines()]

    return read


def test_others_read_our_signatures(domain_project, names, mailbox, mailauth):
    domain = add_verified(domain_project, names)
    sender(domain_project, f"ada@{domain['domain']}", name="Grüße, \"Ada\" & Söhne")
    mails = [raw(mailbox, request_mail(domain_project, mailbox))]
    for number, body in enumerate([{"body_text": "y"}, {"body_text": "  lines \r\n\r\n\r\n. dot\r\n..\r\n\r\n", "body_html": "<p>" + "ü" * 5000 + "</p>"},
                                   {"body_html": "<p>x</p>", "cc": ["c@people.example"], "reply_to": "r@people.example"}]):
        email = f"signed{number}@people.example"
        wait_ended(domain_project, start(domain_project.admin, workflow(domain_project.admin, steps=[
            step("mail", "SendEmail", {"to": [email, f"b{number}@people.example"], "subject": f"Sehr  geehrte Ümläute {number} " * 4, **body})])))
        mails.append(raw(mailbox, mailbox.wait(email)[0]))
    for result, in mailauth(mails, names.records):
        assert result["result"] == "pass" and result["domain"] == domain["domain"], result
    changed = [mails[0].replace(b"Subject:", b"Subject: Re:", 1), mails[0].replace(b"\r\n\r\n", b"\r\n\r\nMore\r\n", 1),
               mails[0].replace(b"Subject:", b"Subject: other\r\nSubject:", 1), mails[0].replace(b"To:", b"Cc: x@y.example\r\nTo:", 1)]
    read = [one[0]["result"] for one in mailauth(changed, names.records)]
    assert set(read) <= {"fail", "neutral"}, read


# --- the log ---

def test_the_log(domain_project, mailbox):
    mailbox.answers["bounced"] = ("RCPT", "550 no such user")
    bounced = f"bounced{next(_numbers)}@people.example"
    domain_project.user(email=bounced)
    domain_project.client().post("/auth/v1/magic-link", {"email": bounced}, expect=202)
    domain_project.client().post("/auth/v1/recover", {"email": "nobody@people.example"}, expect=202)
    sent = request_mail(domain_project, mailbox)
    def ended():
        by = {row["status"]: row for row in domain_project.admin.get("/mail/log", expect=200).json()["items"]}
        return set(by) == {"sent", "refused", "dropped"} and by

    by = until(ended, "each of the three has ended")
    assert by["refused"]["code"] == "mail_refused" and "550" in by["refused"]["detail"] and by["refused"]["recipient"] == bounced
    assert by["dropped"]["code"] == "no_account" and by["dropped"]["sender"] is None and by["dropped"]["ended_at"]
    assert by["sent"]["message_id"] and sent["message-id"].startswith(f"<{by['sent']['message_id']}@") and by["sent"]["next_try_at"] is None
    assert domain_project.admin.get(f"/mail/log/{by['sent']['id']}", expect=200).json() == by["sent"]
    assert [row["id"] for row in domain_project.admin.get("/mail/log", params={"recipient": bounced}, expect=200).json()["items"]] == [by["refused"]["id"]]
    assert domain_project.admin.get("/mail/log", params={"type": "recovery", "status": "dropped"}, expect=200).json()["total_items"] == 1
    domain_project.admin.get("/mail/log", params={"status": "lost"}, expect=400)
    domain_project.admin.get("/mail/log/999999", expect=404)
