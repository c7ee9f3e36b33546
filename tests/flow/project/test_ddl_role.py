"""Two database roles: one creates and changes schemas, the other works with their tables and cannot change them."""
import pathlib

import psycopg2
import pytest

from groundwork.client import Client
from groundwork.daemon import Daemon
from groundwork.fixtures import gateway_binary, settings
from groundwork.project import Project
from groundwork.records import execute, rows


def as_role(url, role, database):
    return url.replace("//groundwork@", f"//{role}@").replace("/groundwork?", f"/{database}?")


@pytest.fixture(scope="module")
def roles(servers):
    """Addresses of a separate database that belongs to ddl_owner; ddl_worker may only connect to it."""
    connection = servers.connect(superuser=True)
    execute(connection, "create role ddl_owner login")
    execute(connection, 'create role "ddl worker" login')
    execute(connection, "create database ddl_test owner ddl_owner")
    execute(connection, "revoke create, temporary on database ddl_test from public")
    yield {"DATABASE_URL": as_role(servers.database_url, "ddl%20worker", "ddl_test"),
           "DATABASE_DDL_URL": as_role(servers.database_url, "ddl_owner", "ddl_test")}
    execute(connection, "drop database ddl_test with (force)")
    execute(connection, "drop role ddl_owner")
    execute(connection, 'drop role "ddl worker"')
    connection.close()


@pytest.fixture(scope="module")
def worker(roles):
    """A connection as the role that works with tables."""
    connection = psycopg2.connect(roles["DATABASE_URL"])
    connection.autocommit = True
    yield connection
    connection.close()


@pytest.fixture(scope="module")
def ddl_project(servers, roles, session_gateway, start_gateway, recorder):
    assert session_gateway.is_running()  # the first daemon to start migrates the usual database
    log = pathlib.Path(servers.folder) / "ddl_role.log"
    done = Daemon(str(gateway_binary()), log, **{**settings(servers), **roles}).run("--migrate")
    assert done.returncode == 0, done.stdout + done.stderr
    gateway = start_gateway("ddl_role", WORKERS=1, **roles)
    operator = Client(f"{gateway.url}/org", token=servers.operator_token, recorder=recorder)
    yield Project(gateway, operator, recorder)
    gateway.stop()


def test_each_role_does_its_own(ddl_project, worker):
    schema = ddl_project.schema(worker)
    with pytest.raises(psycopg2.errors.InsufficientPrivilege):
        execute(worker, f"create table {schema}.mine (id integer)")
    ddl_project.entity("orders", [{"name": "sku", "type": "varchar", "options": {"max_length": 20}}], history=True)
    made = ddl_project.item("orders", sku="a")
    ddl_project.admin.post("/entities/orders/fields", {"name": "amount", "type": "integer", "unique": True}, expect=201)
    ddl_project.admin.put(f"/entities/orders/items/{made['id']}", {"amount": 3}, expect=200)
    past = ddl_project.admin.get(f"/entities/orders/items/{made['id']}/history", expect=200).json()["items"]
    assert [version["changed"] for version in past] == [["amount"], []]
    ddl_project.admin.put("/entities/orders/fields/sku", {"options": {"max_length": 40}}, expect=200)
    assert ddl_project.admin.get("/entities/orders/items", expect=200).json()["items"][0]["amount"] == 3
    assert rows(worker, "select distinct tableowner from pg_tables where schemaname in (%s, 'platform')", schema) == [("ddl_owner",)]
    ddl_project.admin.delete("/entities/orders", expect=204)


def test_a_project_goes(ddl_project, worker, recorder):
    other = Project(ddl_project.gateway, ddl_project.operator, recorder)
    schema = other.schema(worker)
    assert rows(worker, "select 1 from pg_namespace where nspname = %s", schema)
    other.delete()
    assert not rows(worker, "select 1 from pg_namespace where nspname = %s", schema)
