"""Live changes on a page: Chromium's own EventSource with tickets, from another origin, while the gateway dies and restarts."""
import http.server
import json
import threading

import pytest
from groundwork.chaos import kill
from groundwork.chromium import Chromium

# As an application does it: the browser reconnects until the ticket is no longer valid, then the page takes another ticket for
# after the last event.
PAGE = """(async (base, token) => {
  const state = window.live = { events: [], tickets: 0, last: "", waiting: [] };
  const wait = (time) => new Promise((resolve) => setTimeout(resolve, time));
  const ticket = async () => {
    for (;;) {
      try {
        const answer = await fetch(`${base}/realtime/ticket`, { method: "POST", headers: { Authorization: `Bearer ${token}` } });
        if (answer.ok) return (await answer.json()).ticket;
        if (answer.status === 401) return null;
      } catch { /* the gateway is away */ }
      await wait(100);
    }
  };
  const listen = async () => {
    const good = await ticket();
    if (!good) return note({ kind: "signed out" });
    state.tickets++;
    const query = new URLSearchParams({ entities: "orders", ticket: good, ...(state.last ? { last_event_id: state.last } : {}) });
    const source = new EventSource(`${base}/realtime?${query}`);
    for (const kind of ["hello", "created", "updated", "deleted", "reset", "closed", "end"])
      source.addEventListener(kind, (event) => {
        state.last = event.lastEventId || state.last;
        note({ kind, ...JSON.parse(event.data) });
      });
    source.onerror = () => { if (source.readyState === EventSource.CLOSED) listen(); };
  };
  const note = (event) => {
    state.events.push(event);
    state.waiting = state.waiting.filter(({ count, resolve }) => state.events.length < count || void resolve());
  };
  state.until = (count) => new Promise((resolve) => {
    if (state.events.length >= count) return resolve();
    state.waiting.push({ count, resolve });
  });
  await listen();
})(%s, %s)"""


class Site(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = b"<!doctype html><title>orders</title>"
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture
def page(live_project):
    """page(gateway, client) opens a listening page and returns a function: function(count) waits for `count` events and returns
    all."""
    if not Chromium.path():
        pytest.skip("Chromium is not installed")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    origin = f"http://127.0.0.1:{server.server_port}"
    live_project.admin.put("/", {"allowed_origins": [origin]}, expect=200)
    chromium = Chromium()

    def start(gateway, client):
        session = chromium.page(origin)
        chromium.run(session, PAGE % (json.dumps(f"{gateway.url}/org/{live_project.id}"), json.dumps(client.token)))

        def told(count):
            chromium.run(session, f"window.live.until({count})")
            return chromium.run(session, "window.live.events")
        return told

    yield start
    chromium.close()
    server.shutdown()
    server.server_close()
    live_project.admin.put("/", {"allowed_origins": []}, expect=200)


def test_a_page_that_outlives_its_gateway(live_project, page, start_gateway):
    gateway = start_gateway("live-page", WORKERS=1)
    user = live_project.user(entities=["orders"])
    told = page(gateway, user)
    assert told(1) == [{"kind": "hello"}]
    made = [live_project.item("orders", client=user, name="before \u20ac\n\U0001f35d")]
    assert told(2)[1] == {"kind": "created", "entity": "orders", "id": made[0]["id"], "record": made[0]}
    kill(gateway)
    made += [live_project.item("orders", client=user, name=f"missed {n}") for n in range(5)]
    live_project.item("orders", name="somebody else's")
    gateway.start()
    # The ticket was valid once: the page takes another ticket, with the id of the last event.
    events = told(8)
    assert [event["record"] for event in events[2:7]] == made[1:] and events[7]["kind"] == "hello"
    live_project.admin.delete(f"/entities/orders/items/{made[0]['id']}", expect=204)
    assert told(9)[8] == {"kind": "deleted", "entity": "orders", "id": made[0]["id"]}
    user.post("/auth/v1/logout", expect=204)
    assert [event["kind"] for event in told(11)[9:]] == ["end", "signed out"]
    gateway.stop()
