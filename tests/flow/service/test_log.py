"""The log lines about unexpected errors."""
import json
import re

import pytest
from groundwork.deadline import until
from groundwork.project import Project
from groundwork.records import execute


@pytest.fixture
def project(session_gateway, operator):
    """A project whose answers are not recorded: these tests cause 500s, which the documents do not allow."""
    return Project(session_gateway, operator, None)


def lines_of(gateway, event, request_id):
    lines = [json.loads(line) for line in gateway.log().splitlines() if request_id in line]
    return [line for line in lines if line["event"] == event]


def failed(gateway, answer):
    """Returns the request.failed line of an answer with 500."""
    body = answer.json()
    assert body["code"] == "internal" and "at" not in body, body
    (line,) = until(lambda: lines_of(gateway, "request.failed", body["request_id"]), gateway.log_tail)
    until(lambda: lines_of(gateway, "access", body["request_id"]), gateway.log_tail)
    assert gateway.alarms(), "an answer of this kind is an alarm, and this one was meant"
    return line


def test_an_unexpected_result_names_where_it_arose(project, db):
    """The metadata is nested deeper than the service ever stores."""
    deep = "[" * 500 + "]" * 500
    execute(db, f"update {project.schema(db)}.users set metadata = %s", '{"a": ' + deep + "}")
    line = failed(project.gateway, project.admin.put("/auth/v1/user", {"data": {"b": 1}}, expect=500))
    assert line["error"] == "EBADMSG" and line["level"] == "error" and line["project"] == project.id
    assert re.fullmatch(r"services/api-gateway/areas/auth/account\.c:[0-9]+", line["at"])


def test_a_statement_that_fails_for_no_known_reason_is_named(project, db):
    schema = project.schema(db)
    execute(db, f"create function {schema}.refuse() returns trigger language plpgsql as "
                "$$ begin raise exception 'not today'; end $$")
    execute(db, f"create trigger refuse before insert on {schema}.groups for each row execute function {schema}.refuse()")
    answer = project.admin.post("/groups", {"name": "friends"}, expect=500)
    line = failed(project.gateway, answer)
    assert line["error"] == "DB_FAILED" and re.fullmatch(r"common/core/db/query\.c:[0-9]+", line["at"])
    assert [said["sqlstate"] for said in lines_of(project.gateway, "db.failed", answer.json()["request_id"])] == ["P0001"]
    assert "not today" not in project.gateway.log(), "a server's message may quote a value"


def test_what_was_foreseen_has_no_such_line(project):
    answer = project.admin.get("/groups/1", expect=404)
    assert lines_of(project.gateway, "request.failed", answer.json()["request_id"]) == []
