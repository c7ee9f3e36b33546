"""Numbers keep every digit in which they were written, on every way in."""
import decimal
import json
import random

import pytest
from groundwork.runs import wait_ended, step
from groundwork.workflows import start, workflow

ITEMS = "/entities/sums/items"
Number = decimal.Decimal
decimal.getcontext().prec = 60


def exact(response):
    """Returns the answer's body with every number to its last digit."""
    return json.loads(response.text, parse_float=Number, parse_int=Number)


def raw(call, path, text, expect):
    return exact(call(path, None, data=text, headers={"Content-Type": "application/json"}, expect=expect))


def literals(count, seed):
    """Decimals of at most 38 digits, in the forms that JSON allows."""
    chance = random.Random(seed)
    for _ in range(count):
        digits = "".join(chance.choices("0123456789", k=chance.randint(1, 38)))
        point = chance.randint(0, len(digits))
        text = (digits[:point].lstrip("0") or "0") + ("." + digits[point:] if point < len(digits) else "")
        yield chance.choice(["", "-"]) + text
    yield from ("99999999999999.99", "1e2", "1E+2", "-0.0", "1.50", "0.10", "12.5e-3", "9007199254740993", "9223372036854775808",
                "12345678901234567890123456789012345678", "0.12345678901234567890123456789012345678")


@pytest.fixture(scope="module")
def sums(shared_project):
    project = shared_project
    project.entity("sums", [
        {"name": "code", "type": "varchar", "unique": True}, {"name": "d", "type": "decimal"}, {"name": "i", "type": "integer"},
        {"name": "f", "type": "float"}, {"name": "j", "type": "json"}])
    return project


def test_one_by_one(sums):
    """A number is stored as written, and sending back the answer's number changes nothing."""
    record = sums.item("sums")
    path = f"{ITEMS}/{record['id']}"
    for n, literal in enumerate(literals(60, 1)):
        body = f'{{"d": {literal}, "j": [{literal}]}}'
        answer = raw(sums.admin.put, path, body, 200) if n % 2 else raw(sums.admin.post, ITEMS, body, 201)
        assert answer["d"] == Number(literal) and answer["j"] == [Number(literal)], literal
        text = sums.admin.get(f"{ITEMS}/{int(answer['id'])}", expect=200).text
        sent = text[text.index('"d":') + 4:text.index(',"i"')]
        again = raw(sums.admin.put, f"{ITEMS}/{int(answer['id'])}", f'{{"d": {sent}}}', 200)
        assert again["d"] == Number(literal), literal


def test_many_at_once(sums):
    """Bulk, upsert and every form of import keep every digit."""
    numbers = {f"b{n}": literal for n, literal in enumerate(literals(200, 2))}
    rows = [f'{{"code": "{code}", "d": {literal}, "j": {{"n": {literal}}}}}' for code, literal in numbers.items()]
    raw(sums.admin.post, f"{ITEMS}/bulk", f'{{"items": [{",".join(rows)}]}}', 201)
    check(sums, numbers)
    numbers = {code: literal for code, literal in zip(numbers, literals(200, 3))}
    rows = [f'{{"code": "{code}", "d": {literal}, "j": {{"n": {literal}}}}}' for code, literal in numbers.items()]
    raw(sums.admin.post, f"{ITEMS}/bulk", f'{{"mode": "upsert", "on_conflict": ["code"], "items": [{",".join(rows)}]}}', 201)
    check(sums, numbers)
    for form, kind in (("json", "application/json"), ("jsonl", "application/jsonl"), ("csv", "text/csv")):
        numbers = {f"{form}{n}": literal for n, literal in enumerate(literals(100, form))}
        rows = [f'{{"code": "{code}", "d": {literal}, "j": {{"n": {literal}}}}}' for code, literal in numbers.items()]
        content = {"json": f"[{','.join(rows)}]", "jsonl": "\n".join(rows), "csv": "code,d,j\n" + "\n".join(
            f'{code},{literal},"{{""n"": {literal}}}"' for code, literal in numbers.items())}[form]
        task = sums.admin.post(f"{ITEMS}/import", None, files={"file": (f"x.{form}", content, kind)}, expect=202).json()
        assert sums.admin.get(f"/tasks/{task['task_id']}", expect=200).json()["errors"] == []
        check(sums, numbers)


def check(sums, numbers):
    found = {}
    codes = list(numbers)
    for at in range(0, len(codes), 100):
        page = sums.admin.get(ITEMS, params={"filter[code][in]": ",".join(codes[at:at + 100]), "limit": 100}, expect=200)
        found.update({item["code"]: item for item in exact(page)["items"]})
    for code, literal in numbers.items():
        assert (found[code]["d"], found[code]["j"]["n"]) == (Number(literal), Number(literal)), (code, literal)


def test_whole_numbers_of_64_bits(sums):
    for literal, value in (("9223372036854775807", 2**63 - 1), ("9223372036854775807.0", 2**63 - 1), ("-9223372036854775808", -2**63),
                           ("9007199254740993.00", 2**53 + 1), ("922337203685477580.7e1", 2**63 - 1)):
        assert raw(sums.admin.post, ITEMS, f'{{"i": {literal}}}', 201)["i"] == value, literal
    for literal in ("9223372036854775808", "9007199254740993.5", "1e19", "1e400"):
        answer = raw(sums.admin.post, ITEMS, f'{{"i": {literal}}}', 400)
        assert answer["errors"][0]["field"] == "i", answer
    for literal in ("1" * 39, "0." + "1" * 40, "1e38", "1e-39"):
        answer = raw(sums.admin.post, ITEMS, f'{{"d": {literal}}}', 400)
        assert (answer["errors"][0]["field"], answer["errors"][0]["code"]) == ("d", "out_of_range"), answer


def test_filters(sums):
    near = [f"88888888888888888.{n}" for n in (11, 12, 13)]
    for literal in near:
        raw(sums.admin.post, ITEMS, f'{{"d": {literal}}}', 201)

    def found(**params):
        return [item["d"] for item in exact(sums.admin.get(ITEMS, params={"sort": "d", **params}, expect=200))["items"]]

    assert found(**{"filter[d]": near[1]}) == [Number(near[1])]
    assert found(**{"filter[d][between]": ",".join(near[1:])}) == [Number(text) for text in near[1:]]
    removed = raw(sums.admin.post, f"{ITEMS}/delete-many", f'{{"filter": {{"d": {{"eq": {near[1]}}}}}}}', 200)
    assert removed["deleted"] == 1
    assert found(**{"filter[d][between]": f"{near[0]},{near[2]}"}) == [Number(near[0]), Number(near[2])]


def test_bounds_and_defaults(project):
    entity = """{"name": "sums", "fields": [
        {"name": "d", "type": "decimal", "default": 99999999999999.98, "options": {"min": -99999999999999.99, "max": 99999999999999.99}},
        {"name": "w", "type": "decimal", "default": 12345678901234567890, "options": {"max": 12345678901234567891}},
        {"name": "f", "type": "float", "default": 1e20, "options": {"max": 1e21}}, {"name": "j", "type": "json", "default": {"a": 1.50, "b": 1e30}}]}"""
    made = raw(project.admin.post, "/entities", entity, 201)
    fields = {field["name"]: field for field in made["fields"]}
    assert fields["d"]["options"]["max"] == Number("99999999999999.99") and fields["d"]["default"] == Number("99999999999999.98")
    assert fields["w"]["options"]["max"] == 12345678901234567891 and fields["w"]["default"] == 12345678901234567890
    record = raw(project.admin.post, ITEMS, "{}", 201)
    assert (record["d"], record["w"], record["f"]) == (Number("99999999999999.98"), 12345678901234567890, 10**20)
    assert record["j"] == {"a": Number("1.50"), "b": 10**30}
    for body in ('{"d": 99999999999999.99}', '{"d": -99999999999999.99}', '{"w": 12345678901234567891}', '{"f": 1e21}'):
        raw(project.admin.post, ITEMS, body, 201)
    for body in ('{"d": 99999999999999.991}', '{"d": -99999999999999.991}', '{"w": 12345678901234567892}', '{"f": 1.1e21}',
                 '{"d": "99999999999999.991"}'):
        answer = raw(project.admin.post, ITEMS, body, 400)
        assert answer["errors"][0]["code"] == "out_of_range", answer
    assert "99999999999999.99" in raw(project.admin.post, ITEMS, '{"d": 1e15}', 400)["errors"][0]["message"]


def test_documents_that_grow(sums):
    """A document whose numbers PostgreSQL writes much longer is refused: 1e300 has five characters in JSON and 301 in
    PostgreSQL."""
    answer = raw(sums.admin.post, ITEMS, '{"j": [%s]}' % ",".join(["1e300"] * 2000), 400)
    assert answer["errors"][0]["code"] == "too_long"
    raw(sums.admin.post, ITEMS, '{"j": [%s]}' % ",".join(["1e300"] * 200), 201)


def test_through_a_workflow(project, runner):
    project.entity("sums", [{"name": "d", "type": "decimal"}, {"name": "e", "type": "decimal"}, {"name": "t", "type": "varchar"}])
    made = workflow(project.admin, steps=[
        step("a", "CreateData", {"entity": "sums", "values": {"d": "{{ $svc.trigger.data.d }}", "t": "= {{ $svc.trigger.data.d }}"}}, next="b"),
        step("b", "UpdateData", {"entity": "sums", "id": "{{ $svc.steps.a.data[0].id }}", "values": {"e": "{{ $svc.steps.a.data[0].d }}"}})])
    started = project.admin.post(f"/workflows/{made['id']}/trigger", None, data='{"d": 99999999999999.99}',
                                 headers={"Content-Type": "application/json"}, expect=202)
    assert wait_ended(project, started.json()["job_id"])["status"] == "succeeded"
    record, = exact(project.admin.get(ITEMS, expect=200))["items"]
    assert (record["d"], record["e"], record["t"]) == (Number("99999999999999.99"), Number("99999999999999.99"), "= 99999999999999.99")
