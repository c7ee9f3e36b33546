"""Times as people write them, in bodies, filters and imports; a time without an offset is in the project's time zone."""
import pytest
from groundwork.records import codes, ids

ITEMS = "/entities/visits/items"
UTC_FORMS = {  # these forms name their offset, so the project's time zone has no effect
    "2026-07-01T10:00:00Z": "2026-07-01T10:00:00.000Z", "2026-07-01 10:00:00Z": "2026-07-01T10:00:00.000Z",
    "2026-07-01T10:00Z": "2026-07-01T10:00:00.000Z", "2026-07-01 10:00+0100": "2026-07-01T09:00:00.000Z",
    "2026-07-01T10:00:00.5+0130": "2026-07-01T08:30:00.500Z", "2026-07-01 10:00:00 +02": "2026-07-01T08:00:00.000Z",
    "2026-07-01T10:00:00-03:00": "2026-07-01T13:00:00.000Z", "2026-07-01t10:00z": "2026-07-01T10:00:00.000Z",
}
BERLIN_FORMS = {
    "2026-07-01": "2026-06-30T22:00:00.000Z", "2026-01-01": "2025-12-31T23:00:00.000Z", "2026-07-01 10:00": "2026-07-01T08:00:00.000Z",
    "2026-01-01T10:00:00.25": "2026-01-01T09:00:00.250Z", "2026-03-29 02:30": "2026-03-29T01:00:00.000Z",  # the clock skips this time
    "2026-10-25 02:30": "2026-10-25T00:30:00.000Z",  # this time occurs twice
}
WRONG = ["", "now", "2026-07-01T", "2026-07-01 ", "2026-07-01T10", "2026-07-01 24:00", "2026-07-01 10:60", "2026-07-01 10:00:60Z",
         "2026-07-01T10:00.5Z", "2026-07-01 10:00+1", "2026-07-01 10:00+010", "2026-07-01 10:00+01:", "2026-07-01 10:00 ", "2026-02-30",
         "01.07.2026", "2026-07-01 10:00 Z+1", "2026-07-01 10:00 PM", "0000-01-01", "20260701", "2026-07-01_10:00", "2026-07-01\n10:00",
         "2026-07-01 10:00+24:00", "2026-7-1"]


@pytest.fixture(scope="module")
def diary(shared_project):
    project = shared_project
    project.entity("visits", [{"name": "at", "type": "datetime", "unique": True}, {"name": "n", "type": "integer"}])
    return project


@pytest.fixture
def berlin(diary):
    diary.admin.put("/", {"settings": {"timezone": "Europe/Berlin"}}, expect=200)
    yield diary
    diary.admin.put("/", {"settings": {"timezone": None}}, expect=200)


@pytest.fixture(autouse=True)
def empty(diary):
    yield
    diary.admin.post(f"{ITEMS}/delete-many", {"filter": {"id": {"gt": 0}}, "max_affected": 10000}, expect=200)


def imported(project, text, name="x.csv"):
    task = project.admin.post(f"{ITEMS}/import", files={"file": (name, text.encode(), "application/octet-stream")}, expect=202).json()
    return project.admin.get(f"/tasks/{task['task_id']}", expect=200).json()


@pytest.mark.parametrize("text,moment", [*UTC_FORMS.items(), *BERLIN_FORMS.items()])
def test_one_meaning_everywhere(berlin, text, moment):
    made = berlin.item("visits", at=text)
    assert made["at"] == moment
    for params in ({"filter[at]": text}, {"filter[at][in]": f"2000-01-01,{text}"}, {"filter[at][between]": f"{text},{text}"},
                   {"filter[at][gte]": text, "filter[at][lte]": text}):
        assert ids(berlin.admin.get(ITEMS, params=params, expect=200)) == [made["id"]], params
    assert berlin.admin.put(f"{ITEMS}/{made['id']}", {"at": text}, expect=200).json()["at"] == moment
    answer = berlin.admin.post(f"{ITEMS}/delete-many", {"filter": {"at": {"eq": text}}}, expect=200).json()
    assert answer["deleted"] == 1


def test_imports(berlin):
    forms = {**UTC_FORMS, **BERLIN_FORMS}
    forms = {moment: text for text, moment in forms.items()}  # one form for each moment, because the field is unique
    task = imported(berlin, "n,at\n" + "".join(f"{n},{text}\n" for n, text in enumerate(forms.values())))
    assert task["status"] == "succeeded" and not task["errors"], task
    stored = [record["at"] for record in berlin.admin.get(f"{ITEMS}?sort=n&limit=500").json()["items"]]
    assert stored == list(forms)


def test_utc_without_a_zone(diary):
    assert diary.admin.get("/").json()["settings"]["timezone"] is None
    assert diary.item("visits", at="2026-07-01")["at"] == "2026-07-01T00:00:00.000Z"
    assert diary.item("visits", at="2026-07-01 12:30")["at"] == "2026-07-01T12:30:00.000Z"
    assert diary.admin.get(ITEMS, params={"filter[at][gt]": "2026-07-01"}).json()["total_items"] == 1


@pytest.mark.parametrize("text", WRONG)
def test_what_is_no_time(berlin, text):
    assert codes(berlin.admin.post(ITEMS, {"at": text}, expect=400)).keys() == {"at"}
    assert codes(berlin.admin.get(ITEMS, params={"filter[at]": text}, expect=400)) == {"filter[at]": "invalid_query"}


def test_zones(diary):
    for wrong in ("Nowhere", "", "../etc/passwd", "Europe/Berlin ", "localtime"):
        assert codes(diary.admin.put("/", {"settings": {"timezone": wrong}}, expect=400)).keys() == {"settings.timezone"}, wrong
    for zone, moment in (("America/Sao_Paulo", "2018-11-04T03:00:00.000Z"), ("Asia/Kathmandu", "2018-11-03T18:15:00.000Z"),
                         ("Pacific/Apia", "2018-11-03T10:00:00.000Z"), ("UTC", "2018-11-04T00:00:00.000Z")):
        shown = diary.admin.put("/", {"settings": {"timezone": zone}}, expect=200).json()["settings"]
        assert shown["timezone"] == zone
        assert diary.item("visits", at="2018-11-04")["at"] == moment  # in Sao Paulo this day began at 01:00
    diary.admin.put("/", {"settings": {"timezone": None}}, expect=200)
