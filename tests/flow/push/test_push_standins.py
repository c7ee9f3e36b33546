"""The stand-ins for FCM and a web push service: they agree with curl and the RFC, and produce each fault that a test orders."""
import base64
import json
import pathlib
import signal
import subprocess
import sys
import time

import jwt
import pytest
import requests
from cryptography.hazmat.primitives import hashes, hmac, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from groundwork.deadline import until

TESTS = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TESTS))
from push import Fcm, PushService  # noqa: E402
from push.fcm import GRANT, SCOPE, TOKEN_URL  # noqa: E402
from push.webpush import b64, decrypt, unb64  # noqa: E402
from standin import Remote  # noqa: E402


@pytest.fixture
def fcm():
    made = Fcm()
    yield made
    made.close()


@pytest.fixture
def service():
    made = PushService()
    yield made
    made.close()


# --- FCM ---

def curl(fcm, *arguments, limit=60):
    """Sends a request with curl by HTTP/2. Returns (exit code, status, body)."""
    done = subprocess.run(["curl", "-sS", "--http2", "--max-time", str(limit), "--cacert", fcm.ca_file, "-w", "\n%{http_code} %{http_version}",
                           *arguments], capture_output=True, text=True)
    body, _, last = done.stdout.rpartition("\n")
    status, version = last.split()
    assert done.returncode or version == "2"
    return done.returncode, int(status), body


def assertion(account, **changed):
    claims = {"iss": account["client_email"], "scope": SCOPE, "aud": TOKEN_URL, "iat": int(time.time()),
              "exp": int(time.time()) + 3600, **changed}
    return jwt.encode(claims, account["private_key"], "RS256", {"kid": account["private_key_id"]})


def grant(fcm, text):
    return curl(fcm, "-d", f"grant_type={GRANT}", "-d", f"assertion={text}", fcm.token_url)


@pytest.fixture
def account(fcm):
    return json.loads(fcm.new_account("shop"))


@pytest.fixture
def token(fcm, account):
    code, status, body = grant(fcm, assertion(account))
    assert (code, status) == (0, 200), body
    assert json.loads(body)["token_type"] == "Bearer" and json.loads(body)["expires_in"] == 3599
    return json.loads(body)["access_token"]


def send(fcm, token, message, project="shop", limit=60):
    code, status, body = curl(fcm, "-H", f"Authorization: Bearer {token}", "-H", "Content-Type: application/json",
                              "--data-binary", json.dumps({"message": message}), f"{fcm.url}/v1/projects/{project}/messages:send", limit=limit)
    return code, status, json.loads(body) if body.startswith("{") else body


GOOD = {"token": "device-1", "notification": {"title": "t", "body": "b"}, "data": {"notification_id": "x"}}


def test_grants(fcm, account, token):
    other = json.loads(fcm.new_account("other"))
    wrong = [assertion(account, aud="https://elsewhere.example/token"), assertion(account, scope="email"),
             assertion(account, exp=int(time.time()) + 7200), assertion(account, iss=other["client_email"]),
             assertion(account, iss="nobody@x.iam.gserviceaccount.com"), assertion(account, exp=int(time.time()) - 600),
             assertion(account)[:-8] + "AAAAAAAA", "x.y.z", ""]
    for text in wrong:
        code, status, body = grant(fcm, text)
        assert (code, status, json.loads(body)["error"]) == (0, 400, "invalid_grant"), text
    assert [each["status"] for each in fcm.grants()] == [200] + [400] * len(wrong)


def test_send(fcm, token):
    code, status, body = send(fcm, token, GOOD)
    assert (code, status) == (0, 200) and body["name"].startswith("projects/shop/messages/")
    assert fcm.messages("device-1") == [GOOD] and fcm.violations() == []
    assert send(fcm, "ya29.wrong", GOOD)[1:] == (401, {"error": {
        "code": 401, "message": "Request had invalid authentication credentials.", "status": "UNAUTHENTICATED"}})
    fcm.new_account("other")
    assert send(fcm, token, GOOD, "other")[1] == 403
    fcm.revoke_tokens()
    assert send(fcm, token, GOOD)[1] == 401


def test_bodies(fcm, token):
    wrong = [{}, {"token": ""}, {"token": "a", "topic": "b"}, {**GOOD, "data": {"from": "x"}}, {**GOOD, "data": {"google.x": "x"}},
             {**GOOD, "android": {"ttl": "1h"}}, {**GOOD, "notification": {"title": "x" * 4096}}]
    if fcm.validator:
        wrong += [{**GOOD, "data": {"a": 1}}, {**GOOD, "tokens": []}, {**GOOD, "android": {"priority": "x"}}]
    for message in wrong:
        assert send(fcm, token, message)[1] == 400, message
    assert len(fcm.violations()) == len(wrong) and fcm.messages() == []
    assert curl(fcm, f"{fcm.url}/v2/x")[1] == 404


def test_dead_tokens(fcm, token):
    fcm.kill("device-1")
    _, status, body = send(fcm, token, GOOD)
    assert status == 404 and body["error"]["details"][0]["errorCode"] == "UNREGISTERED"
    fcm.revive("device-1")
    assert send(fcm, token, GOOD)[1] == 200 and fcm.violations() == []


def test_faults(fcm, token):
    fcm.fault("status", status=429, code="QUOTA_EXCEEDED", retry_after=7)
    fcm.fault("status", status=503, html=True)
    fcm.fault("garbage")
    code, status, body = curl(fcm, "-i", "-H", f"Authorization: Bearer {token}", "-H", "Content-Type: application/json",
                              "--data-binary", json.dumps({"message": GOOD}), f"{fcm.url}/v1/projects/shop/messages:send")
    assert status == 429 and "retry-after: 7" in body and "QUOTA_EXCEEDED" in body
    for expected in (503, 200):
        _, status, body = send(fcm, token, GOOD)
        assert status == expected and "<html>" in body
    fcm.fault("drop")
    assert send(fcm, token, GOOD)[0] != 0
    fcm.fault("drop", act=True)
    assert send(fcm, token, GOOD)[0] != 0 and len(fcm.messages()) == 1
    fcm.fault("reset")
    assert send(fcm, token, GOOD)[0] == 92  # CURLE_HTTP2_STREAM
    fcm.fault("hang", token="device-2")
    assert send(fcm, token, GOOD)[1] == 200
    assert send(fcm, token, {**GOOD, "token": "device-2"}, limit=2)[0] == 28
    fcm.fault("status", on="token", status=400, code="invalid_grant", times=None)
    assert grant(fcm, "x")[1] == grant(fcm, "x")[1] == 400
    assert len(fcm.faults_left()) == 1
    fcm.clear_faults()
    assert fcm.faults_left() == []


def test_many_streams(fcm, token):
    """A few connections carry many concurrent requests."""
    fcm.fault("hold", times=None)
    urls = [f"{fcm.url}/v1/projects/shop/messages:send?{number}" for number in range(40)]
    asking = subprocess.Popen(["curl", "-sS", "--http2", "--parallel", "--parallel-max", "40", "--cacert", fcm.ca_file, "-o", "/dev/null",
                               "-w", "%{http_code}\n", "-H", f"Authorization: Bearer {token}", "-H", "Content-Type: application/json",
                               "--data-binary", json.dumps({"message": GOOD}), *sum((["-o", "/dev/null", url] for url in urls), [])],
                              stdout=subprocess.PIPE, text=True)
    until(lambda: len(fcm.sends()) == 40, lambda: fcm.stats())
    assert fcm.stats()["peak_streams"] == 40 and fcm.messages() == []
    fcm.release()
    assert asking.communicate(timeout=60)[0].split().count("200") == 40
    assert fcm.stats()["broken"] == []


def test_go_away(fcm, token):
    """A GOAWAY leaves unprocessed requests without an answer, but earlier streams on the same connection are answered."""
    fcm.fault("delay", token="slow", seconds=0.5)
    fcm.fault("goaway", token="device-1")
    assert send(fcm, token, GOOD)[0] != 0 and fcm.messages() == []
    assert send(fcm, token, GOOD)[1] == 200 and fcm.messages() == [GOOD]

    fcm.fault("goaway", token="device-1")
    url = f"{fcm.url}/v1/projects/shop/messages:send"
    common = ["-sS", "--http2", "--cacert", fcm.ca_file, "-w", "%{http_code} ", "-o", "/dev/null", "-H", f"Authorization: Bearer {token}",
              "-H", "Content-Type: application/json", "--data-binary"]
    first = [*common, json.dumps({"message": {**GOOD, "token": "slow"}}), url]
    second = [*common, json.dumps({"message": GOOD}), url]
    done = subprocess.run(["curl", "--parallel", *first, "--next", *second], capture_output=True, text=True, timeout=60)
    assert done.stdout.split().count("200") >= 1 and {**GOOD, "token": "slow"} in fcm.messages(), done


# --- web push ---

def encrypt(subscription, text, padding=0):
    """Encrypts a message as RFC 8291 says, with this machine's cryptography library. The decryption of the stand-in is also checked with the message
    of the RFC itself."""
    keys, salt, own = subscription["keys"], b"s" * 16, ec.generate_private_key(ec.SECP256R1())
    peer_point, auth = unb64(keys["p256dh"]), unb64(keys["auth"])
    point = own.public_key().public_bytes(serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint)
    shared = own.exchange(ec.ECDH(), ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), peer_point))

    def mac(key, data):
        made = hmac.HMAC(key, hashes.SHA256())
        made.update(data)
        return made.finalize()

    keying = mac(mac(auth, shared), b"WebPush: info\0" + peer_point + point + b"\1")
    extracted = mac(salt, keying)
    key, nonce = mac(extracted, b"Content-Encoding: aes128gcm\0\1")[:16], mac(extracted, b"Content-Encoding: nonce\0\1")[:12]
    return salt + (4096).to_bytes(4, "big") + b"A" + point + AESGCM(key).encrypt(nonce, text + b"\2" + b"\0" * padding, None)


class Sender:
    def __init__(self, service):
        self.service, self.key = service, ec.generate_private_key(ec.SECP256R1())
        self.public = b64(self.key.public_key().public_bytes(serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint))

    def post(self, subscription, message=b'{"title":"t"}', claims=None, padding=0, **headers):
        subscription = json.loads(subscription)
        claims = {"aud": self.service.origin, "exp": int(time.time()) + 43200, "sub": "mailto:a@example.com", **(claims or {})}
        token = jwt.encode(claims, self.key, "ES256")
        sent = {"TTL": "60", "Content-Encoding": "aes128gcm", "Authorization": f"vapid t={token}, k={self.public}", **headers}
        return requests.post(subscription["endpoint"], encrypt(subscription, message, padding), timeout=60, allow_redirects=False,
                             headers={name: value for name, value in sent.items() if value is not None})


def test_rfc8291_message():
    body = unb64("DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_"
                 "yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN")
    private = ec.derive_private_key(int.from_bytes(unb64("q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94"), "big"), ec.SECP256R1())
    assert decrypt(body, private, unb64("BTBZMqHH6r4Tts7J_aSIgg")) == b"When I grow up, I want to be a watermelon"


def test_web_push(service):
    sender = Sender(service)
    subscription = service.subscribe(sender.public)
    assert base64.urlsafe_b64decode(json.loads(subscription)["keys"]["p256dh"] + "=")[0] == 4
    assert sender.post(subscription, padding=100).status_code == 201
    assert service.messages(subscription) == [{"title": "t"}] and service.sends()[0]["vapid"]["sub"] == "mailto:a@example.com"
    other = service.subscribe()
    assert sender.post(other).status_code == 201
    service.unsubscribe(other)
    assert sender.post(other).status_code == 410
    service.unsubscribe(other, 404)
    assert sender.post(other).status_code == 404
    assert service.violations() == []


def test_what_web_push_refuses(service):
    sender, now = Sender(service), int(time.time())
    subscription = service.subscribe(sender.public)
    cases = [({"TTL": None}, 400), ({"TTL": "x"}, 400), ({"Content-Encoding": "aesgcm"}, 400), ({"Urgency": "now"}, 400),
             ({"Topic": "no topic"}, 400), ({"Authorization": None}, 401), ({"Authorization": "WebPush x"}, 401),
             ({"claims": {"aud": "https://elsewhere.example"}}, 403), ({"claims": {"exp": now - 1}}, 403),
             ({"claims": {"exp": now + 90000}}, 403), ({"claims": {"sub": "me"}}, 403), ({"message": b"no JSON"}, 400),
             ({"message": b"x" * 4096}, 413)]
    for arguments, status in cases:
        assert sender.post(subscription, **arguments).status_code == status, arguments
    assert Sender(service).post(subscription).status_code == 403
    changed = json.loads(subscription)
    changed["keys"]["auth"] = b64(b"another secret!!")
    assert sender.post(json.dumps(changed)).status_code == 400
    assert len(service.violations()) == len(cases) + 2 and service.messages() == []


def test_web_push_faults(service):
    sender = Sender(service)
    subscription = service.subscribe()
    service.fault("status", status=429, retry_after=3)
    answer = sender.post(subscription)
    assert answer.status_code == 429 and answer.headers["Retry-After"] == "3"
    service.fault("redirect", subscription)
    assert sender.post(subscription).status_code == 307
    for kind, limit in (("reset", 60), ("drop", 60), ("hang", 0.5), ("drip", 0.5)):
        service.fault(kind, seconds=1)
        with pytest.raises(requests.RequestException):
            requests.post(json.loads(subscription)["endpoint"], b"x", timeout=limit)
        until(lambda: not service.faults_left(), kind)
    assert sender.post(subscription).status_code == 201
    assert service.stats()["statuses"]["201"] == 1


# --- in another process ---

def test_remote(tmp_path):
    process = subprocess.Popen([sys.executable, str(TESTS / "push"), "--ca", str(tmp_path / "ca.pem")], stdout=subprocess.PIPE, text=True)
    try:
        words = process.stdout.readline().split()
        where = dict(zip(words[::2], words[1::2]))
        fcm, webpush = Remote(where["control"], "fcm"), Remote(where["control"], "webpush")
        assert fcm.wait() == webpush.ping() == "pong"
        assert json.loads(fcm.new_account(project_id="shop"))["project_id"] == "shop"
        assert json.loads(webpush.subscribe())["endpoint"].startswith(where["webpush"] + "/push/")
        assert "BEGIN CERTIFICATE" in (tmp_path / "ca.pem").read_text()
        with pytest.raises(AssertionError):
            fcm.close()
        with pytest.raises(AssertionError):
            fcm.fault(kind="unknown")
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
