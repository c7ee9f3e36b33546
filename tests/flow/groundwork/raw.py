"""Handwritten requests, each on its own socket."""
import socket


def connect(gateway, receive_bytes=None, timeout=30):
    sock = socket.socket()
    if receive_bytes:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
    sock.settimeout(timeout)
    sock.connect(("127.0.0.1", gateway.port))
    return sock


def head(project, path="/users/me", method="GET", more=""):
    return (f"{method} /org/{project.id}{path} HTTP/1.1\r\nHost: localhost\r\n"
            f"Authorization: Bearer {project.admin.token}\r\n{more}\r\n").encode()
