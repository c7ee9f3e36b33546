"""J1-J6: invalid JSON is refused with 400, valid JSON is stored exactly, and no answer is a 500."""
import json

import pytest

TARGETS = ("items", "users_me", "profile", "bulk")


@pytest.fixture(scope="module")
def world(shared_project):
    shared_project.entity("docs", [
        {"name": "name", "type": "varchar"}, {"name": "doc", "type": "json"}, {"name": "wide", "type": "integer"},
        {"name": "real", "type": "float"}, {"name": "exact", "type": "decimal"}, {"name": "long", "type": "text"},
    ])
    shared_project.admin.put("/", {"settings": {"rate_sign_in_address": 100000}}, expect=200)  # also applies to PUT /users/me
    return shared_project


def send(project, target, text):
    """Sends the raw text as a body, or as a value inside one."""
    body = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
    method, path = {
        "items": ("POST", "/entities/docs/items"),
        "users_me": ("PUT", "/users/me"),
        "profile": ("PUT", f"/user-profiles/{project.admin.user['id']}"),
        "bulk": ("POST", "/entities/docs/items/bulk"),
    }[target]
    return project.admin.request(method, path, data=body, headers={"Content-Type": "application/json"})


def wrap(target, value):
    member = {"items": '{"doc":%s}', "users_me": '{"metadata":{"a":%s}}', "profile": '{"preferences":{"a":%s}}',
              "bulk": '{"items":[{"doc":%s}]}'}[target]
    return (member.encode() if isinstance(value, bytes) else member) % value


# From JSONTestSuite's n_ files, and J2-J5: never valid.
BAD_TEXTS = [
    "", " ", "{", "}", "[", "]", "{]", '{"a"}', '{"a":}', '{"a":1,}', "{,}", "{'a':1}", "{a:1}", '{"a" 1}', '{"a":1 "b":2}',
    '{"a":tru}', '{"a":True}', '{"a":NaN}', '{"a":Infinity}', '{"a":-Infinity}', '{"a":+1}', '{"a":01}', '{"a":-01}',
    '{"a":1.}', '{"a":.5}', '{"a":1e}', '{"a":1e+}', '{"a":0x1}', '{"a":1_0}', '{"a":-}', '{"a":--1}', '{"a":1 2}',
    '{"a":"\t"}', '{"a":"\n"}', '{"a":"\x01"}', '{"a":"\\x"}', '{"a":"\\u12"}', '{"a":"\\u12G4"}', '{"a":"\\"}', '{"a":"',
    '{"a":1}//c', '{"a":1}/**/', '{"a":1}#', '{"a":1}x', '{"a":1}{}', '{"a":1}\x00', '{\x00}', "\ufeff{}", "{}\ufeff",
    '{"a":1,"a":2}', '{"a":1,"\\u0061":2}', '{"x":{"b":1,"b":1}}', '{"x":[{"b":1,"b":1}]}',
    '{"a":"\\u0000"}', '{"\\u0000":1}', '{"a\\u0000b":1}', '{"a":"\\ud800"}', '{"a":"\\udc00"}', '{"a":"\\ud800\\ud800"}',
    '{"a":"\\udc00\\ud800"}', '{"\\ud800":1}', '{"a":"\\ud800x"}', '{"a":1e400}', '{"a":-1e400}', '{"a":9223372036854775808}',
    '{"a":-9223372036854775809}', '{"a":' + "9" * 400 + "}", '{"a":' + "1" * 100000 + "}", "[" * 100000,
    '{"a":' * 65 + "1" + "}" * 65, "[" * 65 + "]" * 65, '{"a":' * 100000, '\u00a0{}', '{}\u2028', "\u2060{}",
]
BAD_BYTES = [
    b'{"a":"\xff"}', b'{"a":"\xc0\xaf"}', b'{"a":"\xed\xa0\x80"}', b'{"a":"\xf4\x90\x80\x80"}', b'{"a":"\xe2\x82"}',
    b'{"\x80":1}', b'\xff\xfe{\x00}\x00', '{"a":1}'.encode("utf-16"), '{"a":1}'.encode("utf-32"), b"\xef\xbb\xbf{}",
]


@pytest.mark.parametrize("target", TARGETS)
def test_j1_to_j5_texts_that_are_no_json(world, target):
    wrong = []
    for text in BAD_TEXTS + BAD_BYTES:
        answer = send(world, target, text)
        if answer.status_code != 400 or answer.json()["code"] not in ("invalid_json", "validation_failed", "bad_request"):
            wrong.append(f"{text[:60]!r}: {answer.status_code} {answer.text[:150]}")
    assert not wrong, "\n".join(wrong)


# Records store values exactly, so they accept numbers that do not fit into 64 bits.
WIDE = ('{"a":9223372036854775808}', '{"a":-9223372036854775809}')


@pytest.mark.parametrize("target", TARGETS)
def test_j1_to_j5_values_that_are_no_json(world, target):
    wrong = []
    for text in BAD_TEXTS:
        if text in WIDE and target in ("items", "bulk"):
            continue
        if not text.startswith('{"a":') or text.endswith(("//c", "/**/", "#", "x", "{}", "\x00", '":"')):
            continue
        answer = send(world, target, wrap(target, text))
        if answer.status_code != 400:
            wrong.append(f"{text[:60]!r}: {answer.status_code} {answer.text[:150]}")
    assert not wrong, "\n".join(wrong)


# Valid, and must be returned unchanged.
GOOD = [
    "{}", "[]", "null", "true", '""', '"\\u00e9"', '"\\ud83d\\ude00"', '"\\u2028"', '"\\/"', '"\\\\u0000"', '"\u007f"', "0",
    "-0", "1E3", "1e-3", "0.1", "9223372036854775807", "-9223372036854775808", "9007199254740993", "[[[[[[[[1]]]]]]]]",
    '{"":1}', *WIDE, '{"a":{"b":[{"c":null}]}}', "[1,\t2,\r\n3]", '"' + "x" * 70000 + '"', '{"__proto__":1,"constructor":2}',
    '"\uffff"', '"\U0010ffff"', '"$1; drop table"', '"\\b\\f\\n\\r\\t\\""', "[" * 61 + "]" * 61,
]


@pytest.mark.parametrize("text", GOOD, ids=[text[:20].encode("ascii", "replace").decode() for text in GOOD])
def test_j1_values_that_are_kept(world, text):
    made = send(world, "items", wrap("items", text))
    assert made.status_code == 201, made.text[:500]
    assert made.json()["doc"] == json.loads(text)
    read = world.admin.get(f"/entities/docs/items/{made.json()['id']}", expect=200).json()["doc"]
    assert read == json.loads(text) and isinstance(read, bool) == isinstance(json.loads(text), bool)


def test_j5_depth_64_is_the_limit(world):
    for depth, status in ((63, 201), (64, 400)):  # the body's object is one more level
        answer = send(world, "items", wrap("items", "[" * depth + "]" * depth))
        assert answer.status_code == status, answer.text[:300]


@pytest.mark.parametrize("member, text, kept", [
    ("wide", "9007199254740993", 9007199254740993), ("wide", "9223372036854775807", 2**63 - 1),
    ("wide", "-9223372036854775808", -(2**63)), ("wide", "-0", 0), ("wide", "5.0", 5),
    ("real", "1.5", 1.5), ("real", "1e308", 1e308), ("real", "5e-324", 5e-324), ("real", "3", 3),
    ("exact", "0.1", 0.1), ("exact", "12345678901234567", 12345678901234567),
])
def test_j6_numbers_that_are_exact(world, member, text, kept):
    made = send(world, "items", '{"%s":%s}' % (member, text))
    assert made.status_code == 201, made.text
    assert made.json()[member] == kept
    assert world.admin.get(f"/entities/docs/items/{made.json()['id']}").json()[member] == kept


@pytest.mark.parametrize("member, text", [
    ("wide", "1.5"), ("wide", "1e300"), ("wide", '"1"'), ("wide", "true"), ("wide", "[1]"), ("wide", "9223372036854775808"),
    ("real", '"NaN"'), ("real", '"Infinity"'), ("real", "1e400"), ("real", "{}"), ("real", '"1.5"'),
    ("exact", "1e131071"), ("exact", '"NaN"'), ("exact", "1e400"), ("name", "1"), ("name", "{}"), ("name", "true"),
    ("name", '"' + "x" * 300000 + '"'), ("name", '"\\u0000"'),
])
def test_j6_values_that_do_not_fit(world, member, text):
    answer = send(world, "items", '{"%s":%s}' % (member, text))
    assert answer.status_code == 400, answer.text[:300]


def test_the_body_is_limited(world):
    answer = send(world, "items", '{"long":"' + "x" * 1100000 + '"}')
    assert answer.status_code == 413
    deep = send(world, "users_me", '{"metadata":{"a":"' + "x" * 1100000 + '"}}')
    assert deep.status_code == 413


@pytest.mark.parametrize("kind, status", [
    ("application/json", 201), ("application/json; charset=utf-8", 201), ("APPLICATION/JSON", 201),
    ("application/json;charset=UTF-8;x=y", 201), ("text/json", 415), ("text/plain", 415), ("application/xml", 415),
    ("application/x-www-form-urlencoded", 415), ("multipart/form-data; boundary=x", 415), ("application/jsonp", 415),
    ("", 201),
])
def test_content_types(world, kind, status):
    answer = world.admin.request("POST", "/entities/docs/items", data=b'{"name":"x"}', headers={"Content-Type": kind})
    assert answer.status_code == status, answer.text


def test_a_body_in_another_character_set_is_refused(world):
    answer = world.admin.request("POST", "/entities/docs/items", data='{"name":"ä"}'.encode("latin-1"),
                                 headers={"Content-Type": "application/json; charset=latin-1"})
    assert answer.status_code in (400, 415)
