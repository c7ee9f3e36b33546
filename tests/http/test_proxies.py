"""H1-H7 and H10 through proxies: sends the payloads of framing.py through a real nginx and a real haproxy, several at a
time, with other clients' requests on the same connections to the gateway.

For every payload, the proxy and the gateway must count the same requests: the gateway answers exactly the requests that
the proxy forwarded, and other clients receive the answers to their own requests.
"""
import concurrent.futures
import itertools
import threading

import pytest
from groundwork.deadline import until

import framing
from proxies import COMMANDS, Proxy, available
from wire import AccessLog, Answers, connect, send

QUIET_S = 0.4  # seconds without an answer after which the proxy is assumed to wait for more of the payload
REFUSED = {"trailer_framing"}  # valid, but a proxy may refuse it
_numbers = itertools.count(5001)
_victims = itertools.count(1)


@pytest.fixture(scope="module")
def proxied_gateway(start_gateway):
    """One worker, so that the connections of a proxy all end in it."""
    gateway = start_gateway("behind_proxies", WORKERS=1)
    yield gateway
    gateway.stop()


@pytest.fixture(params=COMMANDS)
def proxy(request, proxied_gateway, tmp_path_factory):
    if not available(request.param):
        pytest.skip(f"{request.param} is not installed")
    own = Proxy(request.param, tmp_path_factory.mktemp("proxies"), proxied_gateway, COMMANDS[request.param])
    yield own
    own.stop()


class Victim(threading.Thread):
    """A client that sends requests through the proxy, on a connection that it renews when needed; records answers to other requests."""

    def __init__(self, port):
        super().__init__()
        self.port, self.over = port, threading.Event()
        self.asked, self.wrong = [], []

    def run(self):
        while not self.over.is_set():
            with connect(self.port) as sock:
                reader = Answers(sock)
                for _ in range(8):
                    self.ask(sock, reader)

    def ask(self, sock, reader):
        number = next(_victims)
        own = f"v{number:06d}"
        path, status = ("/healthz", 200) if number % 2 else ("/nope", 404)
        send(sock, b"GET %s HTTP/1.1\r\nHost: h\r\nX-Request-Id: %s\r\n\r\n" % (path.encode(), own.encode()))
        answer = reader.next()
        self.asked.append(own)
        if answer is None or (answer.status, answer.id) != (status, own):
            self.wrong.append((own, path, answer))


def attack(port, case, path):
    """Sends one payload and reads until the proxy closes the connection or waits; of two valid requests reads both answers."""
    data, outer, inner = framing.fill(case, path, next(_numbers))
    answers, sound = [], 2 if case.verdict == framing.TWO else 0
    with connect(port) as sock:
        reader = Answers(sock)
        send(sock, data)
        try:
            while (answer := reader.next(QUIET_S if len(answers) >= sound else None)) is not None:
                answers.append(answer)
        except TimeoutError:
            assert len(answers) >= sound, f"{case.name}: {len(answers)} answers"
    return case, outer, inner, answers


def settle(proxy, access, end, ids):
    """The counts of the proxy and of the gateway, once both include the last request."""
    with connect(proxy.port) as sock:
        send(sock, b"GET /healthz HTTP/1.1\r\nHost: h\r\nX-Request-Id: %s\r\n\r\n" % end.encode())
        assert Answers(sock).next().id == end
    answered = access.ids_until(end)

    def not_passed():  # the proxy's threads write their log lines with a delay
        passed = proxy.passed()
        return [f"{name}: the gateway answered {answered[own]}, passed on were {passed[own]}"
                for own, name in ids.items() if answered[own] > passed[own]]

    until(lambda: not not_passed(), not_passed)
    return answered, proxy.passed()


@pytest.mark.parametrize("path", ["/nope", "BASE/auth/v1/token"])
def test_h10_through_a_proxy(proxy, proxied_gateway, shared_project, path):
    path = path.replace("BASE", f"/org/{shared_project.id}")
    access = AccessLog(proxied_gateway)
    proxy.start()
    victims = [Victim(proxy.port) for _ in range(2)]
    for victim in victims:
        victim.start()
    try:
        with concurrent.futures.ThreadPoolExecutor(12) as pool:
            done = list(pool.map(lambda case: attack(proxy.port, case, path), framing.CASES))
        until(lambda: sum(len(victim.asked) for victim in victims) > 50)
    finally:
        for victim in victims:
            victim.over.set()
        for victim in victims:
            victim.join()
    ids = {own: f"{case.name}: {own}" for case, *both, _ in done for own in both}
    answered, passed = settle(proxy, access, f"e{next(_numbers):04d}", ids)

    wrong = []
    for case, outer, inner, answers in done:
        whole = answered[outer] == answered[inner] == passed[inner] == 1
        if case.verdict == framing.TWO and not whole and case.name not in REFUSED:
            wrong.append(f"{case.name}: sound, but answered {answered[outer]} and {answered[inner]} times")
        if any(answer.id and answer.id[0] == "v" for answer in answers):
            wrong.append(f"{case.name}: got somebody else's answer")
    for victim in victims:
        wrong += [f"victim: {note}" for note in victim.wrong]
        wrong += [f"victim {own}: {answered[own]} times" for own in victim.asked if answered[own] != 1]
    assert not wrong, "\n".join(wrong)
    assert sum(passed[outer] for _, outer, _, _ in done) > 12, "hardly anything came through"
