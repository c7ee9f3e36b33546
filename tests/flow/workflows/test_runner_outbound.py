"""Steps that send data to other servers: what CallAnApi and SendEmail send, store and refuse (S1, S3-S7, X5), and scripts that wait."""
import base64
import email
import email.policy
import gzip
import re
import zlib

import pytest
from groundwork.daemon import free_port
from groundwork.deadline import until
from groundwork.runs import wait_ended, step
from groundwork.sink import Sink
from groundwork.workflows import call, document, event, start, workflow

MB = 1 << 20
TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.fixture(scope="module")
def shop(shared_project):
    shared_project.entity("orders", [{"name": "name", "type": "varchar"}])
    return shared_project


@pytest.fixture(scope="module")
def other_sink(servers):
    """A server at another address."""
    own = Sink()
    servers.allowed_ports.append(own.port)
    yield own
    own.close()


@pytest.fixture(scope="module")
def runner(start_runner, other_sink):
    """A runner that may call both servers."""
    return start_runner()


def run(project, steps, data=None):
    """Runs a workflow with these steps, started by hand. Returns the ended job."""
    return wait_ended(project, start(project.admin, workflow(project.admin, steps=steps), data))


def only_step(job):
    assert len(job["steps"]) == 1
    return job["steps"][0]


def stored_answer(job):
    """Asserts that the only step received a 200. Returns the data that it stored."""
    output = only_step(job)["output"]
    assert output["status_code"] == 200, job
    return output["data"]


def api_call(url, **params):
    return step("call", "CallAnApi", {"url": url, "method": "GET", **params})


# --- CallAnApi ---


def test_what_is_sent_and_kept(runner, shop, sink):
    sink.answers["/found"] = {"data": {"items": [{"name": "blue"}]}}
    job = run(shop, [api_call(
        f"{sink.url}/found", method="POST", headers={"X-Who": "{{ $svc.trigger.data.who }}", "X-N": "{{ $svc.trigger.data.n }}"},
        body={"n": "{{ $svc.trigger.data.n }}", "text": "n is {{ $svc.trigger.data.n }}"}, results_path="data.items[0].name")],
        {"who": "Ann", "n": 7})
    assert job["status"] == "succeeded", job
    assert stored_answer(job) == "blue"
    request, = sink.requests_to("/found")
    assert request.method == "POST" and request.body == b'{"n":7,"text":"n is 7"}'
    headers = {name.lower(): value for name, value in request.headers.items()}
    assert (headers["x-who"], headers["x-n"], headers["content-type"]) == ("Ann", "7", "application/json")


@pytest.mark.parametrize("status", [302, 404, 500])
def test_another_answer_fails_the_job(runner, shop, sink, status):
    """S3: a redirect is an answer like any other, and the runner does not follow it. Failed calls are not repeated."""
    job = run(shop, [api_call(f"{sink.url}/status/{status}?{status}")])
    assert job["status"] == "failed"
    assert (job["error"]["code"], job["error"]["status_code"], job["error"]["step_key"]) == ("http_status", status, "call")
    error = only_step(job)["error"]
    assert error["status_code"] == status and error["response"] == {"error": "as asked"}
    assert len(sink.requests_to(f"/status/{status}?{status}")) == 1


def test_a_path_that_leads_nowhere(runner, shop, sink):
    job = run(shop, [api_call(f"{sink.url}/nowhere", results_path="a.b")])
    assert job["error"]["code"] == "results_path"


def test_texts_and_nothing(runner, shop, sink):
    sink.answers["/text"], sink.answers["/empty"] = b"<p>hello</p>", b""
    job = run(shop, [{**api_call(f"{sink.url}/text"), "next": "more"}, {**api_call(f"{sink.url}/empty"), "key": "more"}])
    assert [one["output"]["data"] for one in job["steps"]] == ["<p>hello</p>", None]


def test_data_of_a_start_without_payload_is_nothing(runner, shop, sink):
    """A start that has no payload gives nothing for every member. If there is a payload without this member, the step fails."""
    asks = [api_call(f"{sink.url}/echo", method="POST", body={"one": "{{ $svc.trigger.data.x.y[0] }}", "text": "<{{ $svc.trigger.data.x }}>"})]
    made = workflow(shop.admin, {"kind": "api", "route": "nothing"}, asks)
    job = wait_ended(shop, start(shop.admin, made))
    assert job["status"] == "succeeded", job
    assert only_step(job)["output"]["data"]["body"] == {"one": None, "text": "<>"}
    for payload in ({}, {"y": 1}, {"x": None}):
        assert wait_ended(shop, start(shop.admin, made, payload))["error"]["code"] == "template_unresolved"
    shop.admin.post("/workflows/api/nothing", expect=204)
    until(lambda: shop.admin.get(f"/workflows/{made['id']}/jobs", params={"status": "failed"}).json()["total_items"] == 4,
          "a route is called with a payload, or fails")
    shop.admin.delete(f"/workflows/{made['id']}", expect=204)


STRANGE = {
    "escaped_nul": (b'{"a":"\\u0000"}', '{"a":"\\u0000"}'),
    "surrogate": (b'["\\ud800"]', '["\\ud800"]'), "large": (b"1e400", "1e400"),
    "larger": (b'{"x":1e131071}', {"x": "1e131071"}), "small": (b'{"x":1e-20000}', {"x": "1e-20000"}),
    "zero": (b"[0e-99999]", ["0e-99999"]), "digits": (b"[1" + b"0" * 400 + b"]", ["1" + "0" * 400]), "name": (b'{"\\u0000":1}', '{"\\u0000":1}'), "deep": (b"[" * 70 + b"]" * 70, "[" * 70 + "]" * 70)}


@pytest.mark.parametrize("kind", STRANGE)
def test_an_answer_that_no_column_can_hold(runner, shop, sink, kind):
    """The answer is stored as text, or a number that no column can hold is stored as text. The step ends, and its status is known."""
    body, kept = STRANGE[kind]
    sink.answers[f"/strange/{kind}"] = body
    job = run(shop, [api_call(f"{sink.url}/strange/{kind}")])
    assert (job["status"], only_step(job)["status"], stored_answer(job)) == ("succeeded", "succeeded", kept), job


@pytest.mark.parametrize("body, path", [
    (b"1e400", ""), (b'{"a":[{"b":1e-20000}]}', "a[0].b"), (b"[0e99999]", "[0]"), (b'{"n":9223372036854775808}', "n")])
def test_numbers_that_no_column_can_hold_are_named(shop, db, body, path):
    made = workflow(shop.admin, {"kind": "api", "route": "numbers"})
    for where in (f"/workflows/{made['id']}/trigger", "/workflows/api/numbers"):
        refused = shop.admin.post(where, data=body, headers={"Content-Type": "application/json"}, expect=400).json()
        assert [(e["field"], e["code"]) for e in refused["errors"]] == [(path, "out_of_range")]
    shop.admin.delete(f"/workflows/{made['id']}", expect=204)


@pytest.mark.parametrize("query", ["entity_name=%FF", "entity_name=%00", "entity_name=a%00b", "id=%FF"])
def test_names_that_no_column_can_hold(shop, query):
    made = workflow(shop.admin, {"kind": "api", "route": "names"})
    shop.admin.post(f"/workflows/api/names?{query}", {}, expect=400)
    for route in ("%FF", "%00", "a%00"):
        assert shop.admin.post(f"/workflows/api/{route}", {}).status_code in (400, 404)
    shop.admin.delete(f"/workflows/{made['id']}", expect=204)


@pytest.mark.parametrize("value", ["a\r\nX-Evil: 1", "a\nb", "a\rb"])
def test_s5_a_header_stays_one_line(runner, shop, sink, value):
    before = len(sink.requests)
    job = run(shop, [api_call(f"{sink.url}/header", headers={"X-A": "{{ $svc.trigger.data.value }}"})], {"value": value})
    assert job["status"] == "failed" and job["error"]["code"] == "bad_header", job["error"]
    assert len(sink.requests) == before, "nothing is sent"


def test_answers_that_never_end_leave_room(runner, shop, sink, project):
    """Slots limit the number of calls, and a budget of bytes limits the data that they hold. Large answers of one project that never end wait at
    their sender, while its small answers and a large answer of another project arrive."""
    held = workflow(shop.admin, steps=[{**api_call(f"{sink.url}/hold/600000", results_path="[0]"), "timeout_seconds": 300}])
    sink.release.clear()
    jobs = [start(shop.admin, held) for _ in range(60)]
    until(lambda: len(sink.requests_to("/hold/600000")) == len(jobs), "the server has received all requests")

    def arriving():
        found = re.search(r'^groundwork_shares_held\{pool="fetch_bytes"\} (\d+)', runner.metrics(), re.M)
        return int(found[1]) if found else 0

    until(lambda: arriving() > 8 * MB, "answers arrive")
    assert run(shop, [api_call(f"{sink.url}/echo")])["status"] == "succeeded"
    sink.answers["/large"] = b'[0,"' + b"x" * 600_000 + b'"]'
    assert run(project, [api_call(f"{sink.url}/large", results_path="[0]")])["status"] == "succeeded"
    until(lambda: arriving() <= 17 * MB, "half of the budget, up to the next answer")
    sink.release.set()
    assert [wait_ended(shop, job)["status"] for job in jobs] == ["succeeded"] * len(jobs)
    until(lambda: arriving() == 0, "all bytes are released")


# --- answers: codings, charsets, types ---


def answers(sink, path, body, kind="application/json", coding=None):
    sink.answers[path], sink.headers[path] = body, {"Content-Type": kind, "Content-Encoding": coding}
    return api_call(f"{sink.url}{path}")


def bare_deflate(content):
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(content) + packer.flush()


CAFE = '{"a": "café"}'
READ = {
    "gzip": (gzip.compress(CAFE.encode()), "application/json", "gzip", {"a": "café"}),
    "x_gzip": (gzip.compress(CAFE.encode()), "application/json", "X-GZIP", {"a": "café"}),
    "members": (gzip.compress(CAFE[:5].encode()) + gzip.compress(CAFE[5:].encode()), "application/json", "gzip", {"a": "café"}),
    "deflate": (zlib.compress(CAFE.encode()), "application/json", "deflate", {"a": "café"}),
    "bare_deflate": (bare_deflate(CAFE.encode()), "application/json", "identity, deflate", {"a": "café"}),
    "packed_nothing": (gzip.compress(b""), "application/json", "gzip", None),
    "nothing": (b"", "application/json", "gzip", None),
    "packed_latin": (gzip.compress(CAFE.encode("latin-1")), "application/json; charset=latin1", "gzip", {"a": "café"}),
    "large": (gzip.compress(b'"' + b"x" * 900_000 + b'"'), "application/json", "gzip", "x" * 900_000),
    "latin_1": (CAFE.encode("latin-1"), "application/json; charset=ISO-8859-1", None, {"a": "café"}),
    "quoted": (CAFE.encode("latin-1"), 'application/json; v=1; Charset="iso-8859-1"', None, {"a": "café"}),
    "windows_1252": ("“é” €".encode("cp1252"), "text/plain; charset=windows-1252", None, "“é” €"),
    "controls": (b"\x81\xe9", "text/plain; charset=iso-8859-1", None, "\x81é"),
    "latin_text": ("café".encode("latin-1"), "text/plain", None, "café"),
    "shift_jis": ("日本".encode("shift_jis"), "text/plain; charset=Shift_JIS", None, "日本"),
    "utf_16": (CAFE.encode("utf-16"), "application/json; charset=utf-16", None, {"a": "café"}),
    "utf_16_big": (b"\xfe\xff" + CAFE.encode("utf-16-be"), "application/json", None, {"a": "café"}),
    "utf_16le": (CAFE.encode("utf-16-le"), "application/json; charset=utf-16le", None, {"a": "café"}),
    "utf_16_without_mark": (CAFE.encode("utf-16-be"), "application/json; charset=utf-16", None, {"a": "café"}),
    "utf_16_unsaid": (CAFE.encode("utf-16-le"), "application/json", None, {"a": "café"}),
    "utf_16_surrogates": ("😀".encode("utf-16"), "text/plain; charset=utf-16", None, "😀"),
    "mark": (b"\xef\xbb\xbf" + CAFE.encode(), "application/json", None, {"a": "café"}),
    "mark_alone": (b"\xef\xbb\xbf", "application/json", None, None),
    "marked_text": (b"\xef\xbb\xbfx", "text/plain", None, "x"),
    "wide": (b'{"id":18446744073709551616,"n":[-9223372036854775809,1.50]}', "application/json", None,
             {"id": 1 << 64, "n": [-(1 << 63) - 1, 1.5]}),
    "code": (b"123456", "text/plain", None, "123456"),
    "code_with_charset": (b"123456", "Text/Plain;charset=utf-8", None, "123456"),
    "csv": (b"1", "text/csv", None, "1"),
    "xml": (b"1", "application/atom+xml", None, "1"),
    "number": (b"123456", "application/json", None, 123456),
    "untyped": (b"[1]", None, None, [1]),
    "problem": (b"[1]", "application/problem+json", None, [1]),
}


@pytest.mark.parametrize("kind", READ)
def test_answers_are_decoded(runner, shop, sink, kind):
    body, type_, coding, kept = READ[kind]
    job = run(shop, [answers(sink, f"/read/{kind}", body, type_, coding)])
    assert stored_answer(job) == kept, job


UNREAD = {
    "br": (b"\x0b\x02\x80[1]\x03", "application/json", "br"),
    "two_codings": (gzip.compress(gzip.compress(b"[1]")), "application/json", "gzip, gzip"),
    "no_gzip": (b"[1]", "application/json", "gzip"),
    "cut": (gzip.compress(CAFE.encode())[:-9], "application/json", "gzip"),
    "sum": (gzip.compress(b"[1]")[:-8] + b"\0" * 8, "application/json", "gzip"),
    "cut_deflate": (zlib.compress(CAFE.encode())[:-6], "application/json", "deflate"),
    "no_utf_8": (b"caf\xe9", "application/json", None),
    "said_utf_8": (b"caf\xe9", "text/plain; charset=utf-8", None),
    "odd": (b"a\0b", "text/plain; charset=utf-16le", None),
    "half_a_pair": ("😀".encode("utf-16")[:4], "text/plain", None),
    "charset": (b"[1]", "application/json; charset=iso-2022-cn-ext", None),
    "nul": (b"a\0b", "text/plain", None),
    "nul_in_json": (b'{"a":"\0"}', "application/json", None),
    "picture": (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "image/png", None),
}


@pytest.mark.parametrize("kind", UNREAD)
def test_answers_that_cannot_be_read_fail_the_step(runner, shop, sink, kind):
    body, type_, coding = UNREAD[kind]
    job = run(shop, [answers(sink, f"/unread/{kind}", body, type_, coding)])
    assert (job["error"]["code"], job["error"]["status_code"]) == ("unreadable_answer", 200), job


def test_a_refusal_is_one_without_its_words(runner, shop, sink):
    sink.headers["/status/404?br"] = {"Content-Encoding": "br"}
    error = only_step(run(shop, [api_call(f"{sink.url}/status/404?br")]))["error"]
    assert (error["code"], error["status_code"], error.get("response")) == ("http_status", 404, None), error


def test_wide_numbers_go_on_to_the_last_digit(runner, shop, sink):
    first = answers(sink, "/wide", b'{"id":18446744073709551617,"max":123456789012345678901234567890.10}')
    asks = api_call(f"{sink.url}/told", method="POST", body={"id": "{{ $svc.steps.call.data.id }}", "text": "{{ $svc.steps.call.data.max }}"})
    assert run(shop, [{**first, "next": "told"}, {**asks, "key": "told"}])["status"] == "succeeded"
    assert sink.requests_to("/told")[-1].body == b'{"id":18446744073709551617,"text":123456789012345678901234567890.10}'


def test_what_may_come_is_said(runner, shop, sink):
    run(shop, [api_call(f"{sink.url}/said")])
    run(shop, [api_call(f"{sink.url}/said", headers={"Accept-Encoding": "identity"})])
    sent = [{name.lower(): value for name, value in request.headers.items()} for request in sink.requests_to("/said")]
    assert [one["accept-encoding"] for one in sent] == ["gzip, deflate", "identity"]


def test_headers_of_an_answer(runner, shop, sink):
    """Headers are stored with names in lower case, without credentials and without headers of the connection. Later steps can use them."""
    sink.headers["/headed"] = {"X-Next-Page": "2", "ETag": '"7"', "Set-Cookie": "sid=cookie-9191", "X-Auth-Token": "token-9292", "X-Name": "caf\xe9",
                               "Connection": "close", "Content-Type": "application/json; v=1"}
    more = api_call(f"{sink.url}/told-next", method="POST", body={"page": '{{ $svc.steps.call.headers["x-next-page"] }}'})
    job = run(shop, [{**api_call(f"{sink.url}/headed"), "next": "more"}, {**more, "key": "more"}])
    headers = job["steps"][0]["output"]["headers"]
    assert {name: headers.get(name) for name in ("x-next-page", "etag", "content-type")} == {
        "x-next-page": "2", "etag": '"7"', "content-type": "application/json; v=1"}
    assert set(headers) == {"x-next-page", "etag", "content-type", "x-name", "server", "date"}, headers
    assert sink.requests_to("/told-next")[-1].body == b'{"page":"2"}'


def test_many_headers_are_cut(runner, shop, sink):
    sink.headers["/many"] = {f"X-{n}": "v" * 1000 for n in range(20)}
    headers = only_step(run(shop, [api_call(f"{sink.url}/many")]))["output"]["headers"]
    assert "x-0" in headers and 6000 < sum(len(name) + len(value) for name, value in headers.items()) <= 8192


def test_s6_what_unpacks_without_end(runner, shop, sink):
    """Bodies that grow a thousandfold, compressed bodies without content, and a text that is three times as long in UTF-8."""
    bombs = {"zeros": (gzip.compress(b"0" * (64 << 20)), "gzip", "application/json"), "nothing": (gzip.compress(b"") * 60_000, "gzip", "application/json"),
             "deflated": (zlib.compress(b"0" * (64 << 20)), "deflate", "application/json"), "latin": (b"\x80" * 500_000, None, "text/plain; charset=latin1")}
    for name, (body, coding, kind) in bombs.items():
        job = run(shop, [answers(sink, f"/bomb/{name}", body, kind, coding)])
        assert job["error"]["code"] == "response_too_large", (name, job)
    assert run(shop, [api_call(f"{sink.url}/echo")])["status"] == "succeeded"


def test_s6_answers_end(runner, shop, sink):
    sink.answers["/large"] = b"x" * (1 << 20) + b"x"
    assert run(shop, [api_call(f"{sink.url}/large")])["error"]["code"] == "response_too_large"
    sink.answers["/objects"] = b"[" + b"{}," * 330_000 + b"{}]"  # eighty megabytes as a JSON tree
    assert run(shop, [api_call(f"{sink.url}/objects")])["error"]["code"] == "response_too_large"
    sink.answers["/numbers"] = b"[" + b"0," * 400_000 + b"0]"
    job = run(shop, [api_call(f"{sink.url}/numbers", results_path="[7]")])
    assert stored_answer(job) == 0, job


# --- bodies, methods, addresses ---


@pytest.mark.parametrize("kind, body, sent", [
    ("application/x-www-form-urlencoded", "a=1&b={{ $svc.trigger.data.who }}", b"a=1&b=Ann"), ("text/plain", 'say "{{ $svc.trigger.data.who }}"', b'say "Ann"'),
    ("text/xml; charset=utf-8", "<é/>", "<é/>".encode()), ("application/xml", "", b""), ("application/octet-stream", "x", b"x"),
    ("application/json", "x", b'"x"'), ("application/vnd.api+json", "x", b'"x"'), (None, "x", b'"x"'), ("text/plain", {"a": 1}, b'{"a":1}'),
    ("text/plain", "{{ $svc.trigger.data.n }}", b"7"), ("application/json", "{{ $svc.trigger.data.who }}", b'"Ann"')])
def test_texts_go_out_by_their_type(runner, shop, sink, kind, body, sent):
    job = run(shop, [api_call(f"{sink.url}/typed", method="POST", body=body, **({"headers": {"Content-Type": kind}} if kind else {}))], {"who": "Ann", "n": 7})
    assert job["status"] == "succeeded", job
    assert sink.requests_to("/typed")[-1].body == sent
    assert {name.lower(): value for name, value in sink.requests_to("/typed")[-1].headers.items()}["content-type"] == kind or kind is None


def test_patch(runner, shop, sink):
    assert run(shop, [api_call(f"{sink.url}/patched", method="PATCH", body={"a": 1})])["status"] == "succeeded"
    assert [(request.method, request.body) for request in sink.requests_to("/patched")] == [("PATCH", b'{"a":1}')]
    shop.admin.post("/workflows", document(steps=[api_call(sink.url, method="patch")]), expect=400)


def test_addresses_are_stored_percent_encoded(runner, shop, sink):
    made = workflow(shop.admin, steps=[api_call(f"{sink.url}/é/%C3%BC?q=ß&日=%20")])
    path = "/%C3%A9/%C3%BC?q=%C3%9F&%E6%97%A5=%20"
    shown = shop.admin.get(f"/workflows/{made['id']}", expect=200).json()
    assert shown["steps"][0]["params"]["url"] == sink.url + path
    assert shop.admin.put(f"/workflows/{made['id']}", shown, expect=200).json()["steps"] == shown["steps"]
    assert wait_ended(shop, start(shop.admin, made))["status"] == "succeeded" and len(sink.requests_to(path)) == 1
    for url in ("https://bücher.example/", "https://example.org/" + "é" * 400):
        refused = shop.admin.post("/workflows", document(steps=[api_call(url)]), expect=400).json()
        assert refused["errors"][0]["field"] == "steps[0] (call).params.url", refused


# --- redirects ---


def redirect(sink, status, to, **params):
    """Returns a call of `sink` that is answered with this Location, and the path of the call."""
    path = f"/status/{status}?to={len(sink.headers)}"
    sink.headers[path] = {"Location": to}
    return api_call(sink.url + path, follow_redirects=True, **params), path


GIVEN = {"Authorization": "Bearer {{ $svc.trigger.data.token }}", "X-Api-Key": "{{ $svc.trigger.data.token }}", "Cookie": "a=b", "X-Any": "1",
         "Accept": "application/json", "User-Agent": "shop/1", "Accept-Language": "{{ $svc.trigger.data.token }}"}


@pytest.mark.parametrize("status, method, follows", [
    (301, "GET", "GET"), (302, "GET", "GET"), (302, "POST", "GET"), (303, "POST", "GET"), (303, "PUT", "GET"), (307, "POST", "POST"), (308, "PATCH", "PATCH"),
    (301, "DELETE", "DELETE")])
def test_redirects_are_followed_where_the_step_says_so(runner, shop, sink, status, method, follows):
    body = {} if method == "GET" else {"body": {"n": 1}}
    steps, path = redirect(sink, status, f"../echo?{status}{method}#part", method=method, headers=GIVEN, **body)
    job = run(shop, [steps], {"token": "tok-9292"})
    assert job["status"] == "succeeded", job
    request, = sink.requests_to(f"/echo?{status}{method}")
    assert (request.method, request.body) == (follows, b'{"n":1}' if body and follows != "GET" else b"")
    assert request.headers["Authorization"] == "Bearer tok-9292" and ("Content-Type" in request.headers) == (bool(body) and follows != "GET")
    assert len(sink.requests_to(path)) == 1


@pytest.mark.parametrize("status, method", [(302, "GET"), (307, "GET"), (303, "POST")])
def test_redirects_take_no_credentials_to_another_origin(runner, shop, sink, other_sink, status, method):
    made, _ = redirect(sink, status, f"{other_sink.url}/echo?{status}{method}", method=method, headers=GIVEN, **({"body": "x"} if method == "POST" else {}))
    assert run(shop, [made], {"token": "tok-9292"})["status"] == "succeeded"
    request, = other_sink.requests_to(f"/echo?{status}{method}")
    sent = {name.lower() for name in request.headers}
    assert sent == {"host", "accept", "user-agent", "accept-encoding"} and request.body == b"", request


def test_bodies_are_not_led_to_another_origin(runner, shop, sink, other_sink):
    before = len(other_sink.requests)
    for status, method in ((307, "POST"), (308, "PUT"), (302, "PUT"), (301, "DELETE")):
        made, _ = redirect(sink, status, f"{other_sink.url}/echo", method=method, body={"n": 1})
        error = run(shop, [made])["error"]
        assert (error["code"], error["status_code"]) == ("http_status", status)
    assert len(other_sink.requests) == before


@pytest.mark.parametrize("to", ["http://169.254.169.254/latest", "http://127.0.0.1:22/", "http://10.0.0.1/", "http://[::1]/", "http://nowhere.invalid/"])
def test_s1_s3_redirects_reach_no_private_address(runner, shop, sink, to):
    made, _ = redirect(sink, 302, to)
    error = run(shop, [{**made, "timeout_seconds": 20}])["error"]
    assert (error["code"], error["message"]) == ("unreachable", "The address did not answer in time, or is not allowed."), error


@pytest.mark.parametrize("to", ["file:///etc/passwd", "http://ann:pw@127.0.0.1/", "", "gopher://x/", "http://[/", "\\"])
def test_redirects_that_lead_nowhere_are_answers(runner, shop, sink, to):
    made, _ = redirect(sink, 302, to)
    error = run(shop, [made])["error"]
    assert (error["code"], error["status_code"]) in (("http_status", 302), ("http_status", 200)), error


def test_redirects_end(runner, shop, sink):
    path = "/status/302?round"
    sink.headers[path] = {"Location": path}
    error = run(shop, [api_call(sink.url + path, follow_redirects=True)])["error"]
    assert (error["code"], error["status_code"]) == ("http_status", 302) and len(sink.requests_to(path)) == 6
    shop.admin.post("/workflows", document(steps=[api_call(sink.url, follow_redirects="yes")]), expect=400)


def test_s1_s7_refused_and_closed_look_alike(runner, shop, sink, servers):
    """Private addresses, other ports, closed ports and unknown names lead to the same error, which reveals nothing."""
    closed = free_port()
    servers.allowed_ports.append(closed)
    found = set()
    for url in ("http://10.0.0.1/", "http://169.254.169.254/latest", "http://127.0.0.1:22/", "http://[::ffff:127.0.0.1]/",
                "http://localhost:6379/", f"http://127.0.0.1:{closed}/", "http://nowhere.invalid/"):
        error = run(shop, [{**api_call(url), "timeout_seconds": 20}])["error"]
        found.add((error["code"], error["message"], error["status_code"]))
    assert len(found) == 1 and next(iter(found))[0] == "unreachable", found


def test_the_trace_goes_on(runner, shop, sink):
    made = workflow(shop.admin, event("orders"), [call("call", f"{sink.url}/traced")])
    shop.admin.post("/entities/orders/items", {"name": "x"}, headers={"traceparent": TRACE}, expect=201)
    jobs = []
    until(lambda: jobs.extend(shop.admin.get(f"/workflows/{made['id']}/jobs", expect=200).json()["items"]) or jobs, "a job")
    assert wait_ended(shop, jobs[0]["id"])["status"] == "succeeded"
    headers = {name.lower(): value for name, value in sink.requests_to("/traced")[-1].headers.items()}
    assert headers["traceparent"] == TRACE
    shop.admin.put(f"/workflows/{made['id']}", {"enabled": False}, expect=200)


# --- SendEmail ---


def mail(**params):
    return step("mail", "SendEmail", {"to": "ann@example.org", "subject": "Hello", "body_text": "text", **params})


def read(envelope):
    return email.message_from_bytes(envelope.content, policy=email.policy.default)


def test_a_mail(runner, shop, mail_sink):
    job = run(shop, [mail(
        to=["ann@example.org", "bob@example.org"], bcc="eve@example.org", reply_to="desk@example.org",
        subject="Grüße an {{ $svc.trigger.data.who }}", body_text="Für {{ $svc.trigger.data.who }}",
        body_html="<p title=\"{{ $svc.trigger.data.who }}\">{{ $svc.trigger.data.who }}</p>")], {"who": "<b>\"Ann\" & Bob</b>"})
    assert job["status"] == "succeeded", job
    envelope = mail_sink.mails[-1]
    assert envelope.rcpt_tos == ["ann@example.org", "bob@example.org", "eve@example.org"]
    message = read(envelope)
    assert message["subject"] == "Grüße an <b>\"Ann\" & Bob</b>" and message["from"] == "service@example.org"
    assert message["to"] == "ann@example.org, bob@example.org" and message["bcc"] is None
    assert message["reply-to"] == "desk@example.org"
    text, html = message.iter_parts()
    assert text.get_content().strip() == "Für <b>\"Ann\" & Bob</b>"
    escaped = "&lt;b&gt;&quot;Ann&quot; &amp; Bob&lt;/b&gt;"
    assert html.get_content().strip() == f'<p title="{escaped}">{escaped}</p>', "X5: HTML from data is shown, not run"
    assert only_step(job)["output"]["data"]["recipients"] == 3


@pytest.mark.parametrize("params, code", [
    ({"to": "{{ $svc.trigger.data.evil }}"}, "bad_address"),
    ({"reply_to": "{{ $svc.trigger.data.evil }}"}, "bad_address"),
    ({"subject": "{{ $svc.trigger.data.evil }}"}, "bad_header"),
    ({"to": "reject@example.org"}, "mail_refused"),
])
def test_x5_mails_that_are_not_sent(runner, shop, mail_sink, params, code):
    before = len(mail_sink.mails)
    job = run(shop, [mail(**params)], {"evil": "a@example.org\r\nBcc: b@example.org"})
    assert job["status"] == "failed" and job["error"]["code"] == code, job["error"]
    assert len(mail_sink.mails) == before


def test_a_long_subject_and_text_arrive_whole(runner, shop, mail_sink):
    subject, text = "ä" * 300, "ö" * 5000 + "\r\n.\r\nafter a lonely dot"
    assert run(shop, [mail(subject=subject, body_text=text)])["status"] == "succeeded"
    envelope = mail_sink.mails[-1]
    assert max(map(len, envelope.content.split(b"\r\n"))) <= 76, "RFC 2047, section 2"
    message = read(envelope)
    assert message["subject"] == subject
    assert base64.b64decode(message.get_payload().replace("\n", "")).decode() == text


# --- scripts ---


def test_a_script_that_waits_for_others_keeps_its_time(start_runner, runner, shop):
    """The time of a script begins when the script runs: one process runs thirty scripts that compute for a while and have two seconds each."""
    runner.stop()
    alone = start_runner(SCRIPT_PROCESSES=1)
    spin = "const end = Date.now() + 150; while (Date.now() < end); return 1"
    made = workflow(shop.admin, steps=[{**step("spin", "RunScript", {"script": spin}), "timeout_seconds": 2}])
    jobs = [start(shop.admin, made) for _ in range(30)]
    assert {wait_ended(shop, job, within=12)["status"] for job in jobs} == {"succeeded"}
    alone.stop()
    runner.start()


def test_history_shows_no_header_or_query_that_holds_a_credential(runner, shop, sink):
    """Credentials are hidden even if they come from the trigger, and are therefore no secret of the project."""
    given = {"Authorization": "Bearer {{ $svc.trigger.data.token }}", "X-Api-Key": "{{ $svc.trigger.data.token }}",
             "Cookie": "sid={{ $svc.trigger.data.token }}", "X-Who": "Ann"}
    job = run(shop, [api_call(f"{sink.url}/hidden?access_token=abc-9191&page=2", headers=given)], {"token": "tok-9292"})
    shown = job["steps"][0]["input"]
    assert shown["headers"] == {"Authorization": "Bearer ********", "X-Api-Key": "********", "Cookie": "********", "X-Who": "Ann"}
    assert shown["url"] == f"{sink.url}/hidden?access_token=********&page=2"
    sent = {name.lower(): value for name, value in sink.requests_to("/hidden?access_token=abc-9191&page=2")[-1].headers.items()}
    assert sent["authorization"] == "Bearer tok-9292"
