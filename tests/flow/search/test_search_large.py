"""Large records: the limit of an answer bounds what a search shows, not what it reads to find and mark hits."""
import re

import pytest
from groundwork.client import Client
from groundwork.project import Project
from groundwork.searching import wait_indexed, search

KB = 1024
MB = 1024 * KB
RECORDS = 30  # of 60 KB each: an answer cannot hold the texts of all


@pytest.fixture(scope="module")
def small(start_gateway):
    """A gateway whose answers hold at most one megabyte."""
    gateway = start_gateway("small_searches", WORKERS=1, ANSWER_BYTES=MB, REQUESTS_BYTES=4 * MB)
    yield gateway
    assert gateway.is_running() and not gateway.alarms(), gateway.log_tail()
    gateway.stop()


@pytest.fixture(scope="module")
def library(small, servers, indexer):
    project = Project(small, Client(f"{small.url}/org", token=servers.operator_token), None)
    project.entity("books", [{"name": "title", "type": "varchar", "searchable": True}, {"name": "body", "type": "text", "searchable": True}])
    project.numbers = [project.item("books", title=f"oak {n}", body="linen " * 10000 + "walnut table")["id"] for n in range(RECORDS)]
    connection = servers.connect()
    wait_indexed(project, connection, "books", within=20)
    connection.close()
    return project


def held(gateway):
    return int(re.search(r'^groundwork_shares_held\{pool="request_bytes"\} (\d+)', gateway.metrics(), re.M).group(1))


@pytest.mark.parametrize("parameters", [{"q": "walnut"}, {"q": "oak walnut"}, {"q": "walnut", "sort": "title"}, {"q": '"walnut table"'},
                                        {"q": '"walnut table"', "sort": "-id"}, {"q": "walnut", "filter": {"[title][ne]": "x"}}])
def test_small_fields_of_large_records(library, small, parameters):
    """Small fields of large records are found, shown and marked, however large the other fields are."""
    for size in (RECORDS, 7):
        answer = search(library.admin, e="books", fields="title", pageSize=size, **parameters)
        assert len(answer["items"]) == size and answer["total_items"] == RECORDS and answer["total_is_exact"]
        assert all(set(item["record"]) <= {"id", "title", "created_at", "updated_at", "created_by"} for item in answer["items"])
        for item in answer["items"]:
            marks = {mark["field"]: mark["snippet"] for mark in item["highlights"]}
            assert "<mark>walnut" in marks["body"], item
    assert held(small) == 0


def test_all_of_them(library):
    for sort in ({}, {"sort": "title"}):
        assert len(search(library.admin, "*", e="books", fields="title", pageSize=RECORDS, **sort)["items"]) == RECORDS


def test_large_answers_are_refused_with_advice(library):
    """The refusal of a large answer names the parameters of the route: pageSize and fields for a search."""
    for query in ({"q": "walnut"}, {"q": "*"}, {"q": "walnut", "sort": "title"}):
        refused = search(library.admin, e="books", pageSize=RECORDS, expect=400, **query)
        assert refused["code"] == "too_large_answer"
        assert "pageSize" in refused["detail"] and "fields" in refused["detail"] and "limit" not in refused["detail"]
        assert len(search(library.admin, e="books", pageSize=5, **query)["items"]) == 5
    refused = library.admin.get("/entities/books/items", params={"limit": RECORDS}, expect=400).json()
    assert all(way in refused["detail"] for way in ("limit", "fields", "export")) and "pageSize" not in refused["detail"]
