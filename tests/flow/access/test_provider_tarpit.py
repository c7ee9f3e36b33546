"""A project chooses an identity provider that accepts connections and never answers: this delays no other project, and no
other requests of the same project."""
import socket
import struct
import threading
import time
import urllib.parse

import pytest

from groundwork.client import Client
from groundwork.deadline import at_most, until
from groundwork.project import Project
from oidc.fake_issuer import Issuer, Server

AUTHORIZE = "/auth/v1/google/authorize"
PAGE = "https://app.example.org/signed-in"
OPEN = {"redirect_urls": [PAGE], "rate_sign_in_address": 100000}


@pytest.fixture(scope="module")
def issuers():
    server = Server()
    yield server
    server.stop()


class Tarpit:
    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=600)
        self.port = self.listener.getsockname()[1]
        self.kept = []
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                self.kept.append(self.listener.accept()[0])
            except OSError:
                return

    def release_connections(self):
        for one in self.kept:
            one.close()

    def stop(self):
        self.listener.close()
        self.release_connections()


@pytest.fixture(scope="module")
def tarpit():
    made = Tarpit()
    yield made
    made.stop()


@pytest.fixture(scope="module")
def tarpit_gateway(start_gateway, issuers, tarpit):
    ports = (issuers.port, tarpit.port)
    return start_gateway("gateway-tarpit", WORKERS=1, FETCH_ALLOW=",".join(f"127.0.0.1:{port}" for port in ports))


@pytest.fixture
def make_tarpit_project(tarpit_gateway, servers):
    operator = Client(f"{tarpit_gateway.url}/org", token=servers.operator_token)

    def project(**settings):
        made = Project(tarpit_gateway, operator, None)
        made.admin.put("/", {"settings": {**OPEN, **settings}}, expect=200)
        return made

    return project


def ask(project, count):
    """Sends `count` concurrent start requests, each on its own connection."""
    where = urllib.parse.urlsplit(project.base_url)
    query = urllib.parse.urlencode({"redirect_to": PAGE})
    text = f"GET {where.path}{AUTHORIZE}?{query} HTTP/1.1\r\nHost: {where.netloc}\r\nAccept: application/json\r\n\r\n"
    sockets = []
    for _ in range(count):
        one = socket.create_connection((where.hostname, where.port))
        one.sendall(text.encode())
        sockets.append(one)
    return sockets


def status_of(one):
    one.settimeout(60)
    return int(one.recv(4096).split(b" ", 2)[1])


@pytest.mark.timed
def test_a_provider_without_an_answer_holds_up_nobody_else(make_tarpit_project, issuers, tarpit):
    """As many starts as there are slots and waiting places: a start with another project's provider is not delayed."""
    issuer = Issuer(issuers)
    loud = [make_tarpit_project(oidc_issuer=f"http://127.0.0.1:{tarpit.port}/i{n}", oidc_client_id="id") for n in range(2)]
    quiet = make_tarpit_project(**issuer.settings)
    sockets = [one for project in loud for one in ask(project, 150)]  # anonymous clients of one project may have 150 requests at once
    try:
        until(lambda: len(tarpit.kept) >= 2, "the provider was not called")
        with at_most(5, "the other project's start"):
            quiet.client().get(AUTHORIZE, params={"redirect_to": PAGE}, headers={"Accept": "application/json"}, expect=200)
        assert len(tarpit.kept) <= 4, "a document was requested more than once at a time"
        tarpit.release_connections()
        assert {status_of(one) for one in sockets} == {502}
    finally:
        for one in sockets:
            one.close()


def test_a_document_is_fetched_once_for_all_who_wait(make_tarpit_project, issuers):
    issuer = Issuer(issuers)
    project = make_tarpit_project(**issuer.settings)
    sockets = ask(project, 20)
    try:
        assert [status_of(one) for one in sockets] == [200] * 20
    finally:
        for one in sockets:
            one.close()
    assert issuer.hits["discovery"] == 1


def test_who_waits_goes_on_when_the_first_leaves(make_tarpit_project, tarpit):
    project = make_tarpit_project(oidc_issuer=f"http://127.0.0.1:{tarpit.port}/left", oidc_client_id="id")
    before = len(tarpit.kept)
    first = ask(project, 1)[0]
    until(lambda: len(tarpit.kept) == before + 1, "the provider was not called")
    second = ask(project, 1)[0]
    first.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    first.close()  # by a reset, because a client may close only its half and still read
    until(lambda: len(tarpit.kept) == before + 2, "the provider was not called")
    tarpit.release_connections()
    assert status_of(second) == 502
    second.close()


def test_a_provider_that_failed_is_left_alone_for_a_moment(make_tarpit_project, tarpit):
    project = make_tarpit_project(oidc_issuer=f"http://127.0.0.1:{tarpit.port}/failed", oidc_client_id="id")
    before = len(tarpit.kept)
    one = ask(project, 1)[0]
    until(lambda: len(tarpit.kept) == before + 1, "the provider was not called")
    tarpit.release_connections()
    begun = time.monotonic()
    assert status_of(one) == 502
    again = [status_of(one) for one in ask(project, 5)]
    if time.monotonic() - begun < 4:
        assert again == [502] * 5 and len(tarpit.kept) <= before + 2  # a keep-alive connection may be tried twice
    other = make_tarpit_project(oidc_issuer=f"http://127.0.0.1:{tarpit.port}/failed", oidc_client_id="id")
    count = len(tarpit.kept)
    one = ask(other, 1)[0]
    until(lambda: len(tarpit.kept) > count, "the provider was not called")
    tarpit.release_connections()
    assert status_of(one) == 502, "the failure affected another project"
