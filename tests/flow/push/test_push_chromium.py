"""Messages to browsers, read by a real browser: Chromium's WebCrypto decrypts the message, and its service worker receives the text as a push and
shows it. The delivery by Google's push service cannot be tested here, because that connection is Google's."""
import http.server
import json
import threading

import pytest
from groundwork.chromium import Chromium

TITLE = "„Dinner“ \U0001f35d & <b>\"coming?\"</b>"
BUTTONS = [{"id": "yes", "label": "Coming"}, {"id": "no", "label": "Not this time"}]

WORKER = """
self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));
self.addEventListener("push", (event) => event.waitUntil((async () => {
  const { title, ...options } = event.data.json();
  let shown, why = null;
  try {
    await self.registration.showNotification(title, options);
    shown = (await self.registration.getNotifications()).map(({ title, body, actions, data }) => ({ title, body, actions, data }));
  } catch (error) {
    why = String(error);
  }
  for (const client of await self.clients.matchAll({ includeUncontrolled: true })) client.postMessage({ text: event.data.text(), shown, why });
})()));
"""

REGISTER = """(async () => {
  window.pushed = new Promise((resolve) => navigator.serviceWorker.addEventListener("message", ({ data }) => resolve(data)));
  navigator.serviceWorker.startMessages();
  await navigator.serviceWorker.register("/worker.js");
  await navigator.serviceWorker.ready;
  return Notification.permission;
})()"""

# Decrypts a message with WebCrypto (RFC 8291 and RFC 8188).
DECRYPT = """(async ({ body, d, point, auth }) => {
  const bytes = (text) => Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (each) => each.charCodeAt(0));
  const text64 = (part) => btoa(String.fromCharCode(...part)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  const join = (...parts) => new Uint8Array(parts.flatMap((part) => [...part]));
  const name = (text) => new TextEncoder().encode(text + "\\0");
  const own = bytes(point), message = bytes(body), curve = { name: "ECDH", namedCurve: "P-256" };
  const jwk = { kty: "EC", crv: "P-256", d, x: text64(own.slice(1, 33)), y: text64(own.slice(33)) };
  const key = await crypto.subtle.importKey("jwk", jwk, curve, false, ["deriveBits"]);
  const salt = message.slice(0, 16), sender = message.slice(21, 21 + message[20]);
  const peer = await crypto.subtle.importKey("raw", sender, curve, false, []);
  const hkdf = async (secret, salt, info, count) => crypto.subtle.deriveBits({ name: "HKDF", hash: "SHA-256", salt, info },
    await crypto.subtle.importKey("raw", secret, "HKDF", false, ["deriveBits"]), 8 * count);
  const shared = await crypto.subtle.deriveBits({ name: "ECDH", public: peer }, key, 256);
  const keying = await hkdf(shared, bytes(auth), join(name("WebPush: info"), own, sender), 32);
  const content = await hkdf(keying, salt, name("Content-Encoding: aes128gcm"), 16);
  const iv = await hkdf(keying, salt, name("Content-Encoding: nonce"), 12);
  const aes = await crypto.subtle.importKey("raw", content, "AES-GCM", false, ["decrypt"]);
  const plain = new Uint8Array(await crypto.subtle.decrypt({ name: "AES-GCM", iv }, aes, message.slice(21 + message[20])));
  return new TextDecoder().decode(plain.slice(0, plain.lastIndexOf(2)));
})(%s)"""


class Site(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        worker = self.path == "/worker.js"
        body = WORKER.encode() if worker else b"<!doctype html><title>shop</title>"
        self.send_response(200)
        self.send_header("Content-Type", "text/javascript" if worker else "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture
def site():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture
def chromium():
    if not Chromium.path():
        pytest.skip("Chromium is not installed")
    made = Chromium()
    yield made
    made.close()


def test_a_service_worker_shows_it(push_project, push_service, start_dispatcher, site, chromium):
    daemon = start_dispatcher()
    subscription, _ = push_project.browser()
    log = push_project.wait_ended(push_project.send(title=TITLE, body="ä" * 1000, category="rsvp", buttons=BUTTONS, data={"table": "4"}))
    assert log["web_delivered"] == 1, log
    daemon.stop()
    (sent,), secrets = push_service.sends(subscription), push_service.secrets(subscription)

    chromium.call("Browser.grantPermissions", permissions=["notifications"], origin=site)
    page = chromium.page(site)
    chromium.call("ServiceWorker.enable", page)
    assert chromium.run(page, REGISTER) == "granted"
    message = {"body": sent["body"], "d": secrets["private"], "point": json.loads(subscription)["keys"]["p256dh"], "auth": secrets["auth"]}
    text = chromium.run(page, DECRYPT % json.dumps(message))
    assert text == sent["text"]
    with pytest.raises(RuntimeError, match="OperationError"):  # the decryption detects a wrong secret
        chromium.run(page, DECRYPT % json.dumps({**message, "auth": secrets["auth"][::-1]}))

    registration = chromium.event("ServiceWorker.workerRegistrationUpdated", lambda seen: seen["registrations"])["registrations"][0]
    chromium.call("ServiceWorker.deliverPushMessage", page, origin=site, registrationId=registration["registrationId"], data=text)
    pushed = chromium.run(page, "window.pushed")
    assert pushed["why"] is None and pushed["text"] == text
    (shown,) = pushed["shown"]
    assert shown["title"] == TITLE and shown["body"] == "ä" * 1000
    assert [(each["action"], each["title"]) for each in shown["actions"]] == [("yes", "Coming"), ("no", "Not this time")]
    assert shown["data"]["table"] == "4" and shown["data"]["notification_id"]
