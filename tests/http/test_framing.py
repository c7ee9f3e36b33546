"""H10: sends every payload of framing.py directly to the gateway: each has one meaning and never contains a second request."""
import concurrent.futures
import itertools

import pytest

import framing
from wire import AccessLog, Answers, connect, send

GROUPS = {}
for _case in framing.CASES:
    GROUPS.setdefault(_case.name.split("_")[0], []).append(_case)
LAST = b"GET /healthz HTTP/1.1\r\nHost: h\r\nX-Request-Id: %s\r\nConnection: close\r\n\r\n"
_numbers = itertools.count(1)


def exchange(port, data, last):
    """All answers to the bytes and to one more request after them, until the gateway closes the connection."""
    answers = []
    with connect(port) as sock:
        reader = Answers(sock)
        send(sock, data + (LAST % last.encode() if last else b""))
        while (answer := reader.next()) is not None:
            answers.append(answer)
    return answers


def check(case, path, port, log):
    """A description of what is wrong with the answers; empty when all are right."""
    data, outer, inner = framing.fill(case, path, next(_numbers))
    sound = case.verdict in (framing.ONE, framing.TWO)
    closes = b"Connection: close" in data or b" HTTP/1.0\r\n" in data
    last = f"l{outer[1:]}" if sound and not closes else None
    try:
        answers = exchange(port, data, last)
    except TimeoutError:
        return "neither answered nor closed"
    expected = {framing.ONE: [outer], framing.TWO: [outer, inner]}.get(case.verdict)
    if sound:
        expected += [last] if last else []
        if [answer.id for answer in answers] != expected:
            return f"answered {[(answer.status, answer.id) for answer in answers]}, expected {expected}"
    else:
        if len(answers) != 1 and not (case.verdict == framing.BODY and not answers):
            return f"answered {[answer.status for answer in answers]}"
        if case.verdict == framing.HEAD and answers[0].status not in (400, 417, 501, 505):
            return f"answered {answers[0].status}"
        if answers and not 400 <= answers[0].status < 600:
            return f"answered {answers[0].status}"
    log.setdefault("refused" if not sound else "sound", []).append((case.name, outer, inner, expected))
    return None


@pytest.mark.parametrize("path", ["/nope", "BASE/auth/v1/token"])
@pytest.mark.parametrize("group", GROUPS)
def test_h10_payloads(gateway, shared_project, group, path):
    path = path.replace("BASE", f"/org/{shared_project.id}")
    access = AccessLog(gateway)
    done = {}
    with concurrent.futures.ThreadPoolExecutor(8) as pool:  # some wait for a timeout of the gateway
        complaints = list(pool.map(lambda case: check(case, path, gateway.port, done), GROUPS[group]))
    wrong = [f"{case.name}: {complaint}" for case, complaint in zip(GROUPS[group], complaints) if complaint]
    end = f"e{next(_numbers):04d}"
    assert [answer.id for answer in exchange(gateway.port, b"", end)] == [end]
    seen = access.ids_until(end, *(outer for _, outer, _, _ in done.get("sound", [])))
    for case, outer, inner, _ in done.get("refused", []):
        if seen[inner] or seen[outer] > 1:
            wrong.append(f"{case}: {seen[outer]} + {seen[inner]} requests in the access log")
    for case, outer, inner, expected in done.get("sound", []):
        if seen[outer] != 1 or seen[inner] != expected.count(inner):
            wrong.append(f"{case}: {seen[outer]} + {seen[inner]} requests in the access log")
    assert not wrong, "\n".join(wrong)
