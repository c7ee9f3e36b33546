"""Integrations: their definitions, how operations become requests, and what is done with answers (S1, S3, S5-S7)."""
import base64
import gzip
import itertools
import json
import socket
import urllib.parse

import pytest
from groundwork.records import execute, rows

_numbers = itertools.count(1)
LIST = {"name": "listUsers", "method": "GET", "path": "/users"}


def make(crm, url="https://api.example.org", expect=201, **body):
    body = {"name": f"api{next(_numbers)}", "base_url": url, **body}
    return crm.admin.post("/integrations", body, expect=expect).json()


def operation(method="GET", path="/echo", name="op", **members):
    return {"name": name, "method": method, "path": path, **members}


def param(name, where="query", **members):
    return {"name": name, "in": where, **members}


def run(crm, made, params=None, name="op", client=None, expect=200, **body):
    if params is not None:
        body["params"] = params
    return (client or crm.admin).post(f"/integrations/{made['id']}/operations/{name}/run", body, expect=expect).json()


def connect(crm, made, credentials, client=None, expect=201, **body):
    body = {"integration_id": made["id"], "credentials": credentials, **body}
    return (client or crm.admin).post("/connections", body, expect=expect).json()


def test_create_read_update_delete(crm):
    answer = crm.admin.post("/integrations", {"name": "books", "base_url": "https://books.example.org/v1", "operations": [LIST]}, expect=201)
    made = answer.json()
    assert answer.headers["Location"].endswith(f"/integrations/{made['id']}")
    assert made["auth"] == {"scheme": "none"} and made["operations"] == [LIST] and made["version"] == 1
    refused = crm.admin.post("/integrations", {"name": "books", "base_url": "https://x.example"}, expect=409).json()
    assert refused["errors"][0]["field"] == "name"
    path = f"/integrations/{made['id']}"
    shown = crm.admin.get(path, expect=200)
    assert shown.json() == made
    crm.admin.get(path, headers={"If-None-Match": shown.headers["ETag"]}, expect=304)
    changed = crm.admin.put(path, {"description": "Ours"}, expect=200).json()
    assert changed["version"] == 2 and changed["operations"] == [LIST] and changed["description"] == "Ours"
    crm.admin.put(path, {"description": "x"}, headers={"If-Match": '"old"'}, expect=412)
    listed = crm.admin.get("/integrations", expect=200).json()["items"]
    assert [(each["name"], each["scheme"], each["operation_count"]) for each in listed if each["id"] == made["id"]] == [("books", "none", 1)]
    crm.admin.delete(path, expect=204)
    crm.admin.get(path, expect=404)
    crm.admin.delete(path, expect=404)
    crm.admin.put(path, {"name": "x"}, expect=404)


INVALID_BODIES = [
    ({"base_url": "ftp://x.example"}, "base_url"), ({"base_url": "https://u:p@x.example"}, "base_url"),
    ({"base_url": "https://x.example/?a=1"}, "base_url"), ({"name": "9"}, "name"), ({"name": "a b"}, "name"),
    ({"auth": {"scheme": "magic"}}, "auth.scheme"), ({"auth": {"scheme": "header"}}, "auth.name"),
    ({"auth": {"scheme": "header", "name": "a b"}}, "auth.name"), ({"auth": {"scheme": "bearer", "name": "x"}}, "auth.name"),
    ({"auth": {"scheme": "oauth2_client_credentials"}}, "auth.token_url"),
    ({"auth": {"scheme": "oauth2_code", "token_url": "https://x.example/t"}}, "auth.authorization_url"),
    ({"auth": {"scheme": "oauth2_code", "token_url": "https://x.example/t", "authorization_url": "javascript:1"}}, "auth.authorization_url"),
    ({"operations": [LIST, LIST]}, "operations[1].name"), ({"operations": [{**LIST, "path": "users"}]}, "operations[0].path"),
    ({"operations": [{**LIST, "path": "/a/../b"}]}, "operations[0].path"), ({"operations": [{**LIST, "path": "/%2e%2E/b"}]}, "operations[0].path"),
    ({"operations": [{**LIST, "path": "/{id}"}]}, "operations[0].path"), ({"operations": [{**LIST, "path": "/{id"}]}, "operations[0].path"),
    ({"operations": [{**LIST, "params": [param("id", "path")]}]}, "operations[0].params[0].name"),
    ({"operations": [{**LIST, "params": [param("a"), param("a")]}]}, "operations[0].params[1].name"),
    ({"operations": [{**LIST, "params": [param("a", type="date")]}]}, "operations[0].params[0].type"),
    ({"operations": [{**LIST, "params": [param("a", type="integer", default="x")]}]}, "operations[0].params[0].default"),
    ({"operations": [{**LIST, "params": [param("a", "body")]}]}, "operations[0].params[0].in"),
    ({"operations": [{**LIST, "params": [param("Host", "header")]}]}, "operations[0].params[0]"),
    ({"operations": [{**LIST, "params": [param("Authorization", "header")]}]}, "operations[0].params[0]"),
    ({"operations": [{**LIST, "headers": {"X-A": "{{ nobody }}"}}]}, "operations[0].headers.X-A"),
    ({"operations": [{**LIST, "headers": {"X-A": "{{ a"}}]}, "operations[0].headers.X-A"),
    ({"operations": [{**LIST, "method": "POST", "body": {"a": ["{{ nobody }}"]}}]}, "operations[0].body"),
    ({"operations": [{**LIST, "response": {"results_path": "a..b"}}]}, "operations[0].response.results_path"),
    ({"operations": [{**LIST, "response": {"map": {"a": 1}}}]}, "operations[0].response.map.a"),
    ({"operations": [{**LIST, "colour": 1}]}, "operations[0].colour"),
    ({"auth": {"scheme": "query", "name": "k"}, "operations": [{**LIST, "params": [param("k")]}]}, "operations[0].params[0]"),
    ({"auth": {"scheme": "oauth2_code", "token_url": "https://x.example/t", "authorization_url": "https://x.example/a",
               "client_secret": "********"}}, "auth.client_secret"),
]


@pytest.mark.parametrize("body, field", INVALID_BODIES)
def test_what_is_refused(crm, body, field):
    refused = crm.admin.post("/integrations", {"name": "wrong", "base_url": "https://x.example", **body}, expect=400).json()
    assert field in [error["field"] for error in refused["errors"]], refused


def test_what_an_operation_sends(crm, api):
    made = make(crm, f"{api.url}/", operations=[operation("POST", "/echo/{who}/x", params=[
        param("who", "path"), param("tags", type="array"), param("n", type="integer", default=7), param("left_out"),
        param("key", "header", **{"as": "X-Key"}), param("name", "body"), param("age", "body", type="integer")],
        headers={"X-Both": "{{ who }}/{{ n }}"}, query={"fixed": "a b"})])
    answer = run(crm, made, {"who": "Ann & Bob/é", "tags": ["a&b", 2], "key": "k", "name": "Ann"})
    assert answer["ok"] and answer["status_code"] == 200 and answer["duration_ms"] >= 0
    request = api.requests[-1]
    assert request.path == "/echo/Ann%20%26%20Bob%2F%C3%A9/x" and request.query == "tags=a%26b&tags=2&n=7&fixed=a%20b"
    assert request.headers["x-key"] == "k" and request.headers["x-both"] == "Ann & Bob/é".encode().decode("latin-1") + "/7"
    assert json.loads(request.body) == {"name": "Ann"} and request.headers["content-type"] == "application/json"


def test_body_templates_and_forms(crm, api):
    made = make(crm, api.url, operations=[
        operation("PUT", name="json", params=[param("a", "body"), param("b", "body", type="array"), param("c", "body")],
                  body={"whole": "{{ b }}", "text": "<{{ a }}>", "gone": "{{ c }}", "list": ["{{ c }}", 1, None]}),
        operation("POST", name="form", body_type="form", params=[param("a", "body"), param("b", "body", type="array")])])
    run(crm, made, {"a": "{{ b }}", "b": [1, "x"]}, "json")
    assert json.loads(api.requests[-1].body) == {"whole": [1, "x"], "text": "<{{ b }}>", "list": [1, None]}, "templates in values are not filled in"
    run(crm, made, {"a": "1 2", "b": ["x", "y&z"]}, "form")
    assert api.requests[-1].body == b"a=1%202&b=x&b=y%26z"
    assert api.requests[-1].headers["content-type"] == "application/x-www-form-urlencoded"


@pytest.mark.parametrize("params, field", [
    ({}, "params.id"), ({"id": "7"}, "params.id"), ({"id": 1, "x": 1}, "params.x"), ({"id": 1, "state": "odd"}, "params.state"),
    ({"id": 1, "h": "a\r\nX-Evil: 1"}, "params.h"), ({"id": 1, "seg": ".."}, "params.*"), ({"id": 1, "seg": ""}, "params.seg"),
    ({"id": 1, "list": [{}]}, "params.list"), ({"id": 1, "flag": "true"}, "params.flag")])
def test_s5_values_that_do_not_fit_are_named_and_not_sent(crm, api, params, field):
    made = make(crm, api.url, operations=[operation(path="/echo/{seg}/end", params=[
        param("seg", "path", default="a"), param("id", type="integer", required=True), param("state", enum=["open", "closed"]),
        param("h", "header"), param("list", type="array"), param("flag", type="boolean")])])
    before = len(api.requests)
    refused = run(crm, made, params, expect=400)
    assert field in [error["field"] for error in refused["errors"]], refused
    assert len(api.requests) == before
    run(crm, made, name="nothing", expect=404)
    run(crm, {"id": 424242}, expect=404)


def test_answers_are_cut_and_mapped(crm, api):
    api.raw = json.dumps({"data": {"items": [{"id": 1, "a": {"name": "x"}, "more": 5}, {"id": 2}]}}).encode()
    picked = {"results_path": "data.items"}
    made = make(crm, api.url, operations=[
        operation(path="/raw", name="all"), operation(path="/raw", name="part", response=picked),
        operation(path="/raw", name="mapped", response={**picked, "map": {"number": "id", "name": "a.name"}}),
        operation(path="/raw", name="nowhere", response={"results_path": "none"}), operation(path="/status/404", name="missing")])
    assert run(crm, made, name="all")["data"] == json.loads(api.raw)
    assert run(crm, made, name="part")["data"][1] == {"id": 2}
    assert run(crm, made, name="mapped")["data"] == [{"number": 1, "name": "x"}, {"number": 2, "name": None}]
    assert run(crm, made, name="nowhere", expect=502)["code"] == "provider_error"
    missing = run(crm, made, name="missing")
    assert (missing["ok"], missing["status_code"], missing["data"]) == (False, 404, {"error": "as asked"})
    api.raw = b"<p>text</p>"
    assert run(crm, made, name="all")["data"] == "<p>text</p>"


DECODED = {
    "gzip": (gzip.compress('{"a": "é"}'.encode()), {"Content-Encoding": "gzip"}, {"a": "é"}),
    "utf_16": ('{"a": "é"}'.encode("utf-16"), {"Content-Type": "application/json; charset=utf-16"}, {"a": "é"}),
    "mark": (b"\xef\xbb\xbf[1]", {"Content-Type": "application/json"}, [1]),
    "wide": (b'{"id": 18446744073709551616}', {}, {"id": 1 << 64}),
    "code": (b"123456", {"Content-Type": "text/plain"}, "123456"),
    "br": (b"\x0b\x02\x80[1]\x03", {"Content-Encoding": "br"}, None),
    "picture": (b"\x89PNG\r\n\x1a\n\0", {"Content-Type": "image/png"}, None),
}


@pytest.mark.parametrize("kind", DECODED)
def test_answers_are_decoded(crm, api, kind):
    """Answers are decoded as in CallAnApi; an answer that cannot be read is a 502 and has a code in the log of calls."""
    api.raw, api.raw_headers, kept = DECODED[kind]
    made = make(crm, api.url, operations=[operation(path="/raw")])
    answer = run(crm, made, expect=200 if kept is not None else 502)
    api.raw_headers = {}
    if kept is not None:
        assert answer["data"] == kept
    else:
        assert answer["code"] == "provider_error" and answer["detail"].startswith("The answer cannot be read: "), answer
        call, = crm.admin.get(f"/integrations/{made['id']}/calls", expect=200).json()["items"]
        assert (call["outcome"], call["code"], call["status_code"]) == ("failed", "unreadable_answer", 200)


def test_headers_of_an_answer(crm, api):
    """Headers that carry credentials by their name are left out, and the connection's own credentials are masked in every
    header."""
    made = make(crm, api.url, auth={"scheme": "bearer"}, operations=[operation(path="/raw")])
    connect(crm, made, {"token": "of-the-connection"})
    api.raw, api.raw_headers = b"{}", {"X-Page": "2", "Set-Cookie": "sid=1", "X-Echo": "Bearer of-the-connection", "Content-Type": "application/json"}
    headers = run(crm, made)["headers"]
    api.raw_headers = {}
    assert {name: value for name, value in headers.items() if name not in ("date", "server")} == {
        "x-page": "2", "x-echo": "Bearer ********", "content-type": "application/json"}


@pytest.mark.parametrize("kind, body, sent", [
    ("text/xml", "<who>{{ who }}</who>", b"<who>Ann</who>"), ("text/plain; charset=utf-8", "{{ who }}", b"Ann"), ("application/json", "{{ who }}", b'"Ann"'),
    (None, "{{ who }}", b'"Ann"'), ("text/xml", {"a": "{{ who }}"}, b'{"a":"Ann"}')])
def test_texts_go_out_by_their_type(crm, api, kind, body, sent):
    made = make(crm, api.url, operations=[operation(
        "POST", body=body, params=[param("who", "body")], headers={"Content-Type": kind} if kind else None)])
    run(crm, made, {"who": "Ann"})
    assert api.requests[-1].body == sent and api.requests[-1].headers["content-type"] == (kind or "application/json")


def test_addresses_are_stored_percent_encoded(crm, api):
    made = make(crm, f"{api.url}/é", operations=[operation(path="/ü/{id}", params=[param("id", "path")])],
                auth={"scheme": "oauth2_client_credentials", "token_url": f"{api.url}/oauth/tokén?ß"})
    shown = crm.admin.get(f"/integrations/{made['id']}", expect=200).json()
    assert (shown["base_url"], shown["operations"][0]["path"]) == (f"{api.url}/%C3%A9", "/%C3%BC/{id}")
    assert shown["auth"]["token_url"] == f"{api.url}/oauth/tok%C3%A9n?%C3%9F"
    crm.admin.put(f"/integrations/{made['id']}", {"base_url": f"{api.url}/ä", "auth": {"scheme": "none"}}, expect=200)
    run(crm, made, {"id": "ö"})
    assert api.requests[-1].path == "/%C3%A4/%C3%BC/%C3%B6"
    refused = make(crm, "https://bücher.example/", expect=400)
    assert refused["errors"][0]["field"] == "base_url", refused


def test_s6_answers_end(crm, api):
    api.raw, api.raw_headers = gzip.compress(b"0" * (64 << 20)), {"Content-Encoding": "gzip"}
    assert run(crm, make(crm, api.url, operations=[operation(path="/raw")]), expect=502)["code"] == "provider_error"
    api.raw_headers = {}
    api.raw = b"[" + b"{}," * 330_000 + b"{}]"
    made = make(crm, api.url, operations=[
        operation(path="/large/1100000", name="large"), operation(path="/raw", name="many"),
        operation(path="/slow/30", name="slow", timeout_seconds=1)])
    for name in ("large", "many", "slow"):
        assert run(crm, made, name=name, expect=502)["code"] == "provider_error"
    calls = crm.admin.get(f"/integrations/{made['id']}/calls", params={"operation": "slow"}, expect=200).json()["items"]
    assert [(call["outcome"], call["code"], call["status_code"]) for call in calls] == [("failed", "unreachable", None)]


@pytest.mark.parametrize("scheme, credentials, sent", [
    ({"scheme": "header", "name": "X-Api-Key", "prefix": "Key "}, {"token": "tok-secret-1"}, ("x-api-key", "Key tok-secret-1")),
    ({"scheme": "query", "name": "api_key"}, {"token": "tok secret 2"}, ("query", "a=1&api_key=tok%20secret%202")),
    ({"scheme": "basic"}, {"username": "ann", "password": "pass-secret-3"}, ("authorization", "Basic YW5uOnBhc3Mtc2VjcmV0LTM=")),
    ({"scheme": "bearer"}, {"token": "tok-secret-4"}, ("authorization", "Bearer tok-secret-4"))])
def test_credentials_go_where_they_belong_and_are_never_shown(crm, api, calling_gateway, scheme, credentials, sent):
    made = make(crm, api.url, auth=scheme, operations=[operation(params=[param("a", default="1"), param("pin", "header", secret=True)])])
    assert run(crm, made, expect=409)["code"] == "conflict", "the integration has no connection yet"
    connection = connect(crm, made, credentials)
    secrets = [value for name, value in credentials.items() if name != "username"]
    answer = run(crm, made, {"pin": "pin-9876"})
    request = api.requests[-1]
    assert (request.query if sent[0] == "query" else request.headers[sent[0]]) == sent[1]
    assert request.headers["pin"] == "pin-9876"
    shown = json.dumps([connection, answer, crm.admin.get(f"/connections/{connection['id']}").json(), crm.admin.get("/connections").json(),
                        crm.admin.get(f"/integrations/{made['id']}/calls").json(), crm.admin.get("/audit-log").json()]) + calling_gateway.log()
    for secret in (*secrets, "pin-9876", "YW5uOnBhc3Mt"):
        assert secret not in shown, "a credential is shown"
    assert "********" in json.dumps(answer["data"]), "a credential that the API shows is not masked"


def test_the_log_of_calls_shows_no_credential_that_a_caller_passes(crm, api, db):
    """The log of calls masks a credential that is known by the parameter's name, by the name under which the value is sent, or
    as a secret of the project or of the connection."""
    crm.admin.post("/secrets", {"name": f"SHOP{next(_numbers)}", "value": "s3cret of/the shop"}, expect=201)
    names = ("api_key", "accessToken", "password", "client-secret", "signature", "plain")
    made = make(crm, api.url, auth={"scheme": "bearer"}, operations=[operation(
        path="/echo/{token}", params=[param("token", "path"), *(param(name) for name in names), param("a", **{"as": "X-Api-Key"}),
                                      param("b", "header", **{"as": "Cookie-Token"}), param("c", "header"), param("n")],
        query={"apikey": "{{ c }}", "fixed_token": "literal-3131"}, headers={"X-Auth-Token": "{{ c }}"})])
    connect(crm, made, {"token": "of-the-connection"})
    given = {"token": "path-9191", "a": "wire-9292", "b": "head-9393", "c": "tmpl-9494", **{name: f"{name}-9595" for name in names}}
    for n in ("s3cret of/the shop", "of-the-connection", base64.b64encode(b"s3cret of/the shop").decode(), '{"a": "s3cret of\\/the shop"}'):
        run(crm, made, {**given, "n": n})
    urls = [call["url"] for call in crm.admin.get(f"/integrations/{made['id']}/calls", expect=200).json()["items"]]
    assert len(urls) == 4 and all("plain=plain-9595" in url for url in urls)
    for url in urls:
        for secret in ("9191", "9292", "9494", "api_key-9595", "accessToken-9595", "password-", "client-secret-", "signature-", "3131",
                       "s3cret", "czNjcmV0", "of-the-connection"):
            assert secret not in url, url
    assert "9191" in api.requests[-1].path and "wire-9292" in api.requests[-1].query, "the API receives unmasked values"


def test_credentials_stay_with_their_host(crm, api, other_api):
    made = make(crm, api.url, auth={"scheme": "bearer"}, operations=[operation()])
    connection = connect(crm, made, {"token": "stays-at-home"})
    run(crm, made)
    crm.admin.put(f"/integrations/{made['id']}", {"base_url": other_api.url}, expect=200)
    assert "another host" in run(crm, made, expect=409)["detail"]
    assert not other_api.requests_to("/echo")
    crm.admin.put(f"/connections/{connection['id']}", {"credentials": {"token": "for-the-new"}}, expect=200)
    run(crm, made)
    assert [request.headers["authorization"] for request in other_api.requests_to("/echo")] == ["Bearer for-the-new"]
    crm.admin.put(f"/integrations/{made['id']}", {"base_url": f"{other_api.url}/v2"}, expect=200)
    run(crm, made)
    crm.admin.put(f"/integrations/{made['id']}", {"auth": {"scheme": "header", "name": "X-A"}}, expect=200)
    assert "another scheme" in run(crm, made, expect=409)["detail"]


@pytest.mark.parametrize("follows", [False, True])
def test_s3_redirects_lead_to_no_other_host(crm, api, other_api, follows):
    made = make(crm, api.url, auth={"scheme": "bearer"}, operations=[
        operation(path="/to", params=[param("url"), param("status", type="integer")], follow_redirects=follows),
        operation("POST", "/to", "post", params=[param("url")], follow_redirects=follows)])
    connect(crm, made, {"token": "not-for-others"})
    before = len(other_api.requests)
    for url in (f"{other_api.url}/echo", f"//127.0.0.1:{other_api.port}/echo", "file:///etc/passwd", "http://10.0.0.1/", f"http://127.0.0.1:{api.port}0/",
                f"http://a@127.0.0.1:{api.port}/echo", f"http://127.0.0.1:{api.port}@127.0.0.1:{other_api.port}/", "http://169.254.169.254/"):
        assert run(crm, made, {"url": url})["status_code"] == 302
    assert len(other_api.requests) == before
    answer = run(crm, made, {"url": "/echo?a=1", "status": 307})
    assert (answer["status_code"], answer["ok"]) == ((200, True) if follows else (307, False))
    assert run(crm, made, {"url": f"{api.url}/to?url=/to%3Furl=/to%3Furl=/to%3Furl=/echo"})["status_code"] == 302, "the number of redirects is limited"
    assert run(crm, made, {"url": "/echo"}, "post")["status_code"] == 302, "nothing is sent twice"


def test_s1_s7_refused_and_closed_look_alike(crm, sink):
    found = set()
    for url in ("http://10.0.0.1", "http://169.254.169.254/latest", "http://127.0.0.1:22", "http://[::ffff:127.0.0.1]", "http://localhost:6379",
                f"http://127.0.0.1:{sink.port}", "http://nowhere.invalid"):
        made = make(crm, url, operations=[operation(timeout_seconds=2)])
        answer = run(crm, made, expect=502)
        found.add((answer["code"], answer["detail"]))
    assert len(found) == 1 and not sink.requests, found


def test_who_sees_what(crm, api):
    made = make(crm, api.url, auth={"scheme": "bearer"}, operations=[operation()])
    ann, bob = crm.user(), crm.user()
    shared = connect(crm, made, {"token": "of-the-project"}, name="shared")
    own = connect(crm, made, {"token": "of-ann-alone"}, client=ann, own=True)
    assert own["user_id"] == ann.user["id"] and shared["user_id"] is None
    run(crm, made, client=ann)
    assert api.requests[-1].headers["authorization"] == "Bearer of-ann-alone"
    run(crm, made, client=bob)
    assert api.requests[-1].headers["authorization"] == "Bearer of-the-project"
    run(crm, made, client=ann, connection_id=shared["id"])
    assert api.requests[-1].headers["authorization"] == "Bearer of-the-project"
    path = f"/connections/{own['id']}"
    run(crm, made, client=bob, connection_id=own["id"], expect=404)
    run(crm, made, connection_id=own["id"], expect=404)  # administrators may not use it either
    for method, body in (("get", None), ("put", {"name": "x"}), ("delete", None)):
        getattr(bob, method)(path, *([body] if body else []), expect=404)
    bob.get(f"{path}/calls", expect=404)
    assert own["id"] not in [each["id"] for each in bob.get("/connections", params={"integration_id": made["id"]}, expect=200).json()["items"]]
    assert crm.admin.get(path, expect=200).json()["credentials"] == {"token": "********"}
    crm.admin.put(path, {"credentials": {"token": "mine-now"}}, expect=404)
    calls = f"/integrations/{made['id']}/calls"
    assert [call["actor"]["user_id"] for call in ann.get(calls, expect=200).json()["items"]] == [ann.user["id"], bob.user["id"], ann.user["id"]]
    assert [call["connection_id"] for call in bob.get(calls, expect=200).json()["items"]] == [shared["id"], shared["id"]]
    assert len(crm.admin.get(calls, expect=200).json()["items"]) == 3
    assert [call["connection_id"] for call in ann.get(f"{path}/calls", expect=200).json()["items"]] == [own["id"]]
    crm.user_with("svc_users:read").get("/integrations", expect=403)
    key = crm.key(["svc_integrations:read"])
    run(crm, made, client=key)
    assert crm.admin.get(calls, expect=200).json()["items"][0]["actor"]["kind"] == "api_key"
    crm.admin.delete(path, expect=204)
    connect(crm, made, {"token": "one-more"}, name="second")
    assert "connection_id" in run(crm, made, client=bob, expect=409)["detail"]
    assert crm.admin.post("/connections", {"integration_id": made["id"], "name": "second", "credentials": {"token": "x"}}, expect=409).json()["errors"]


@pytest.mark.parametrize("credentials, field", [
    ({}, "credentials.token"), ({"token": "a\r\nb"}, "credentials.token"), ({"token": "x", "password": "y"}, "credentials.password")])
def test_bad_credentials(crm, credentials, field):
    made = make(crm, auth={"scheme": "bearer"})
    refused = connect(crm, made, credentials, expect=400)
    assert [error["field"] for error in refused["errors"]] == [field]
    assert connect(crm, {"id": 424242}, {"token": "x"}, expect=400)["errors"][0]["field"] == "integration_id"
    assert connect(crm, make(crm), {"token": "x"}, expect=409)["code"] == "conflict"


def test_old_calls_go(crm, api, db):
    made = make(crm, api.url, operations=[operation()])
    for _ in range(12):
        run(crm, made)
    schema = crm.schema(db)
    execute(db, f"update {schema}.integration_calls set at = at - interval '31 days'")
    assert crm.admin.get(f"/integrations/{made['id']}/calls", expect=200).json()["total_items"] == 0
    (count,), = rows(db, f"select count(*) from {schema}.integration_calls")
    run(crm, made)
    assert rows(db, f"select count(*) from {schema}.integration_calls") == [(count - 9,)], "ten old calls are deleted, one is added"


def test_the_largest(crm, api):
    """An integration of the largest allowed number of operations and parameters, and of the largest body, delays no other
    request."""
    params = [param(f"p{n}", type="integer") for n in range(50)]
    operations = [operation(name=f"op{n}", params=params) for n in range(200)]
    made = make(crm, api.url, operations=operations)
    assert run(crm, made, {"p49": 7}, "op199")["ok"] and api.requests[-1].query == "p49=7"
    crm.admin.put(f"/integrations/{made['id']}", {"operations": [*operations, operation(name="more")]}, expect=400)
    crm.admin.put(f"/integrations/{made['id']}", {"operations": [operation(params=[*params, *(param(f"q{n}") for n in range(15))])]}, expect=400)
    crm.admin.put(f"/integrations/{made['id']}", {"operations": [{**one, "description": "x" * 900} for one in operations]}, expect=400)


def test_many_expressions_and_large_values(crm, api):
    """Large values are filled in and mapped on a thread, with the same result."""
    many = operation("POST", params=[param("a", "body"), param("big", "body", type="any")], body={"list": ["{{ a }}" * 100] * 19, "big": "{{ big }}"},
                     response={"map": {"sent": "body"}})
    made = make(crm, api.url, operations=[many])
    big = [{"n": n, "text": "x" * 50} for n in range(3000)]
    sent = json.loads(run(crm, made, {"a": "v", "big": big})["data"]["sent"])
    assert sent == {"list": ["v" * 100] * 19, "big": big}
    many["body"]["list"].extend(["{{ a }}" * 100] * 2)
    refused = make(crm, api.url, expect=400, operations=[many])["errors"][0]
    assert refused["field"] == "operations[0].body" and "at most 2000" in refused["message"]


# --- import ---


def document(**members):
    return {"openapi": "3.0.3", "info": {"title": f"Shop {next(_numbers)}", "version": "1"}, "servers": [{"url": "https://shop.example.org/v1"}], **members}


def import_document(crm, wanted, expect=201, **body):
    return crm.admin.post("/integrations/import", {"document": wanted, **body}, expect=expect).json()


def test_an_import_that_runs(crm, api):
    wanted = document(
        servers=[{"url": "{scheme}://{host}/echo/", "variables": {"scheme": {"default": "http"}, "host": {"default": api.url[7:]}}}],
        security=[{"key": []}],
        components={
            "securitySchemes": {"cookie": {"type": "apiKey", "in": "cookie", "name": "c"}, "key": {"type": "apiKey", "in": "header", "name": "X-Key"}},
            "parameters": {"id": {"name": "id", "in": "path", "required": True, "schema": {"$ref": "#/components/schemas/Id"}}},
            "schemas": {"Id": {"type": "integer"}, "Node": {"type": "object", "properties": {"next": {"$ref": "#/components/schemas/Node"}}},
                        "Order": {"allOf": [{"type": "object", "required": ["sku"], "properties": {"sku": {"type": "string"}}},
                                            {"properties": {"node": {"$ref": "#/components/schemas/Node"}, "id": {"type": "integer"}}}]}}},
        paths={"/orders/{id}": {
            "parameters": [{"$ref": "#/components/parameters/id"}],
            "put": {"operationId": "put order", "summary": "Changes", "parameters": [
                {"name": "expand", "in": "query", "schema": {"type": "array", "items": {"type": "string"}}},
                {"name": "mode", "in": "query", "schema": {"type": "string", "enum": ["a", "b"], "default": "a"}}],
                "requestBody": {"required": True, "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Order"}}}}},
            "get": {"parameters": [{"name": "sid", "in": "cookie", "required": True}]}},
            "/upload": {"post": {"operationId": "upload", "requestBody": {"required": True, "content": {"image/png": {}}}}}})
    made = import_document(crm, wanted)
    assert made["auth"] == {"scheme": "header", "name": "X-Key"} and [one["name"] for one in made["operations"]] == ["put_order"]
    assert {one["operation"] for one in made["skipped"]} == {"get_orders_id", "upload"}
    connect(crm, made, {"token": "k-1234"})
    run(crm, made, {"id": 7, "expand": ["x"], "sku": "s", "id_body": 8, "node": {"next": {}}}, "put_order")
    request = api.requests[-1]
    assert (request.method, request.path, request.query) == ("PUT", "/echo/orders/7", "expand=x&mode=a")
    assert json.loads(request.body) == {"sku": "s", "id": 8, "node": {"next": {}}} and request.headers["x-key"] == "k-1234"


GET = {"get": {"operationId": "a", "responses": {}}}


@pytest.mark.parametrize("wanted, field", [
    ({"openapi": "2.0"}, "document.openapi"), ({"swagger": "2.0", "paths": {"/a": GET}}, "document.swagger"), (document(paths={}), "document.paths"), (document(), "document.paths"),
    (document(servers=[{"url": "/v1"}], paths={"/a": GET}), "base_url"),
    (document(paths={"/a": {"get": {"parameters": [{"$ref": "https://evil.example/x"}]}}}), "document.paths./a.get.parameters[0]"),
    (document(paths={"/a": {"get": {"parameters": [{"$ref": "#/nowhere"}]}}}), "document.paths./a.get.parameters[0]"),
    (document(paths={"/a": {"$ref": "#/components/a"}}, components={"a": {"$ref": "#/components/b"}, "b": {"$ref": "#/components/a"}}), "document.paths./a"),
    (document(paths={f"/{n}": GET for n in range(201)}), "document.paths")])
def test_documents_that_are_refused(crm, wanted, field):
    refused = import_document(crm, wanted, expect=400)
    assert field in [error["field"] for error in refused["errors"]], refused


def costly(count=700):
    """Returns a document whose paths all refer to one item, each of whose parameters is compared with those of the path."""
    shared, own = ([{"in": "cookie", "name": f"{letter}{n}"} for n in range(count)] for letter in "ab")
    return document(paths={f"/{n}": {"$ref": "#/x"} for n in range(200)}, x={"parameters": shared, "get": {"parameters": own}})


def test_a_document_that_takes_too_much_is_refused(crm):
    refused = import_document(crm, costly(), expect=400)["errors"][0]
    assert refused["field"] == "document" and 'list fewer names in "operations"' in refused["message"], refused


def test_yaml_is_named_in_its_refusal(crm):
    yaml = "openapi: 3.0.3\ninfo: {title: Shop}\npaths: {}\n"
    for text, more in ((yaml, {}), (yaml + "#" * (1 << 20), {"operations": ["a"]})):
        [error] = import_document(crm, text, expect=400, **more)["errors"]
        assert error["field"] == "document" and "YAML" in error["message"]
    refused = crm.admin.post("/integrations/import", data=yaml.encode(), headers={"Content-Type": "application/yaml"}, expect=415)
    assert "YAML" in refused.json()["detail"]


def test_imports_whose_clients_hang_up_hold_up_nobody(crm):
    """Imports whose clients hang up do not block the loop: 500 ms of it without a wait fail the test that caused them."""
    body = json.dumps({"document": costly()}).encode()
    where = urllib.parse.urlsplit(crm.admin.base_url)
    head = (f"POST {where.path}/integrations/import HTTP/1.1\r\nHost: {where.netloc}\r\nAuthorization: Bearer {crm.admin.token}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n")
    for _ in range(4):
        with socket.create_connection((where.hostname, where.port)) as client:
            client.sendall(head.encode() + body)
        crm.admin.get("/integrations", expect=200)


def of_kilobytes(kilobytes, operations=900):
    """Returns a document of about `kilobytes` kB, most of which are answers and schemas."""
    filler = "x\\\"}]" * (kilobytes * 1000 // 7 // operations)
    return document(
        security=[{"key": []}],
        paths={f"/a/{n}": {
            "parameters": [{"$ref": "#/components/parameters/page%20size"}],
            "post": {"operationId": f"a{n}", "responses": {"200": {"description": filler}},
                     "requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Order"}}}}},
            "get": {"responses": {}}} for n in range(operations)},
        components={"schemas": {"Order": {"type": "object", "required": ["sku"], "properties": {"sku": {"$ref": "#/components/schemas/Sku"}}},
                                "Sku": {"type": "string", "description": "Of the shop"}},
                    "parameters": {"page size": {"name": "size", "in": "query", "schema": {"type": "integer"}}},
                    "securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}}})


def test_some_of_a_document_of_megabytes(crm):
    """Selected operations of a 15 MB document are imported like those of a 0.7 MB document; above 1 MB an import has to name
    its operations."""
    few, many = of_kilobytes(700, 450), of_kilobytes(15500)
    assert 500_000 < len(json.dumps(few)) < 1_000_000 and 15_000_000 < len(json.dumps(many)) < 16 << 20
    wanted = ["a7", "get_a_44", "a449"]
    made = [import_document(crm, each, operations=wanted, name=f"part{n}") for n, each in enumerate((few, many))]
    assert [one["name"] for one in made[0]["operations"]] == wanted
    for member in ("operations", "auth", "base_url", "skipped"):
        assert made[0][member] == made[1][member]
    assert import_document(crm, many, expect=400)["errors"][0]["field"] == "operations"
    assert import_document(crm, many, expect=400, operations=["a7", "b"])["errors"][0]["field"] == "operations[1]"
    assert import_document(crm, many, expect=400, operations=["a7"], colour=1)["errors"][0]["field"] == "colour"
    assert import_document(crm, many, expect=400, operations=["a7"], name="x" * 70000)["errors"][0]["field"] == "name"
    assert import_document(crm, {**many, "openapi": "2"}, expect=400, operations=["a7"])["errors"][0]["field"] == "document.openapi"
    assert import_document(crm, {**many, "x": many["paths"], "paths": []}, expect=400, operations=["a7"])["errors"][0]["field"] == "document.paths"
    assert import_document(crm, [many], expect=400, operations=["a7"])["errors"][0]["field"] == "document"
    assert import_document(crm, {**many, "x": "y" * (1 << 20)}, expect=413, operations=["a7"])["code"] == "payload_too_large"
    for broken in (json.dumps({"document": many, "operations": ["a7"]})[:-1], '{"document": {"paths": {"/a": %s}}}' % ("[" * 2000000)):
        refused = crm.admin.post("/integrations/import", data=broken.encode(), headers={"Content-Type": "application/json"}, expect=400)
        assert refused.json()["code"] == "invalid_json"


def test_some_of_a_large_document(crm):
    wanted = document(paths={f"/a/{n}": {"get": {"operationId": f"a{n}"}} for n in range(900)})
    made = import_document(crm, wanted, operations=["a7", "a800"], base_url="https://other.example.org", name="some", auth={"scheme": "bearer"})
    assert [one["path"] for one in made["operations"]] == ["/a/7", "/a/800"] and made["base_url"] == "https://other.example.org"
    assert import_document(crm, wanted, expect=400, operations=["b"])["errors"][0]["field"] == "operations[0]"
    assert import_document(crm, wanted, expect=409, operations=["a7"], name="some")["code"] == "unique_violation"
