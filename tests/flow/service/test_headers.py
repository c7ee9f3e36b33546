"""Header values with bytes above 0x7F are opaque (RFC 9110 5.5): the service accepts such requests and never echoes the bytes."""
import socket

import pytest

HIGH = "José".encode()


def ask(project, *lines, method=b"GET", path="/users/me", body=b""):
    with socket.create_connection(("127.0.0.1", project.gateway.port), timeout=60) as sock:
        length = b"Content-Type: application/json\r\nContent-Length: %d\r\n" % len(body) if body else b""
        sock.sendall(b"%s /org/%s%s HTTP/1.1\r\nHost: h\r\nConnection: close\r\n%s%s\r\n%s" % (
            method, project.id.encode(), path.encode(), length, b"".join(line + b"\r\n" for line in lines), body))
        data = b""
        while piece := sock.recv(65536):
            data += piece
    return int(data.split(b" ")[1]), data


def bearer(project):
    return b"Authorization: Bearer " + project.admin.token.encode()


@pytest.mark.parametrize("line", [b"Cookie: name=" + HIGH, b"X-Custom: \xff\xfe", b"User-Agent: " + HIGH, b"Accept: \xe9",
                                  b"X-Request-Id: " + HIGH, b"Origin: https://" + HIGH, b"traceparent: " + HIGH,
                                  b"If-None-Match: \"" + HIGH + b"\"", b"Referer: https://example.org/" + HIGH])
def test_a_foreign_value_locks_nobody_out(shared_project, line):
    status, data = ask(shared_project, bearer(shared_project), line)
    assert status == 200
    assert HIGH not in data and all(byte < 0x80 for byte in data.split(b"\r\n\r\n")[0])


def test_an_origin_is_echoed_in_ascii(project):
    project.admin.put("/", {"allowed_origins": ["*"]}, expect=200)
    status, data = ask(project, bearer(project), b"Origin: https://" + HIGH)
    assert status == 200 and all(byte < 0x80 for byte in data.split(b"\r\n\r\n")[0])


@pytest.mark.parametrize("line", [b"Authorization: Bearer " + HIGH, b"x-api-key: " + HIGH])
def test_credentials_of_such_bytes_are_wrong(shared_project, line):
    assert ask(shared_project, line)[0] == 401


def test_conditions_of_such_bytes_do_not_hold(project):
    project.entity("things", [{"name": "name", "type": "varchar"}])
    item = project.item("things", name="one")
    path = f"/entities/things/items/{item['id']}"
    status, _ = ask(project, bearer(project), b'If-Match: "' + HIGH + b'"', method=b"PUT", path=path, body=b'{"name":"two"}')
    assert status == 412
    assert project.admin.get(path, expect=200).json()["name"] == "one"


def test_a_session_names_the_agent_it_can_store(project):
    status, _ = ask(project, b"User-Agent: Browser of " + HIGH, method=b"POST", path="/auth/v1/token",
                    body=b'{"email":"admin@example.org","password":"correct horse battery"}')
    assert status == 200


@pytest.mark.parametrize("line", [b"X-Jos\xc3\xa9: a", b"Host: \xff"])
def test_names_and_hosts_stay_ascii(shared_project, line):
    assert ask(shared_project, line)[0] == 400
