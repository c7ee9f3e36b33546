"""A real nginx and a real haproxy in front of a gateway, each with a log of the ids of the requests that it forwarded."""
import collections
import pathlib
import re
import shutil
import subprocess

import requests

from groundwork.daemon import free_port
from groundwork.deadline import until
from groundwork.servers import ROOT

NGINX = """
daemon off;
worker_processes 1;
pid {folder}/nginx.pid;
error_log {folder}/nginx.error;
events {{ worker_connections 512; }}
http {{
    log_format ids '$http_x_request_id $upstream_addr';
    access_log {log} ids;
    {temporary}
    upstream gateway {{ server 127.0.0.1:{gateway}; keepalive 4; }}
    server {{
        listen 127.0.0.1:{port};
        location / {{
            proxy_pass http://gateway;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_set_header Host $http_host;
            proxy_request_buffering {buffering};
        }}
    }}
}}
"""
TEMPORARY = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")


class Proxy:
    """`passed()` counts, by X-Request-Id, what the proxy has sent to the gateway since the last start()."""

    def __init__(self, name, folder, gateway, command):
        self.name, self.gateway = name, gateway
        self.port = free_port()
        self.folder = folder / name
        self.folder.mkdir()
        self.folder.chmod(0o777)  # nginx's worker may run as another user
        self.log = self.folder / "ids.log"
        self.output = open(self.folder / "output", "wb")
        self.process = subprocess.Popen(command(self), stdout=self.output, stderr=subprocess.STDOUT)
        self.at = 0
        until(self.passes, self.said)

    def passes(self):
        assert self.process.poll() is None, self.said()
        try:
            return requests.get(f"http://127.0.0.1:{self.port}/healthz", timeout=10).status_code == 200
        except requests.RequestException:
            return False

    def said(self):
        self.output.flush()
        return pathlib.Path(self.output.name).read_text(errors="replace")[-4000:]

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.output.close()

    def start(self):
        self.at = self.log.stat().st_size

    def passed(self):
        with open(self.log, encoding="ascii", errors="replace") as log:
            log.seek(self.at)
            found = re.findall(r"^(\w+) (?!-$|<NOSRV>$)", log.read(), re.M)
        return collections.Counter(found)


def nginx_command(buffering):
    def command(proxy):
        text = NGINX.format(
            folder=proxy.folder, log=proxy.log, gateway=proxy.gateway.port, port=proxy.port, buffering=buffering,
            temporary=" ".join(f"{name}_temp_path {proxy.folder}/{name};" for name in TEMPORARY),
        )
        (proxy.folder / "nginx.conf").write_text(text)
        return ["nginx", "-e", proxy.folder / "nginx.error", "-p", proxy.folder, "-c", proxy.folder / "nginx.conf"]

    return command


def replace_once(text, old, new):
    assert text.count(old) == 1, f"deploy/proxy/haproxy.cfg has {text.count(old)} times {old!r}"
    return text.replace(old, new)


def haproxy_command(proxy):
    """The shipped configuration, with other addresses and a log line for each request."""
    text = (ROOT / "deploy/proxy/haproxy.cfg").read_text()
    # Use one thread: a thread drops its log line when another thread writes for too long.
    text = replace_once(text, "\nglobal\n", "\nglobal\n    nbthread 1\n")
    text = replace_once(text, "log stdout format raw local0 notice", "log stdout format raw local0 info")
    text = replace_once(text, "bind :8080", f"""bind 127.0.0.1:{proxy.port}
    capture request header X-Request-Id len 64
    log-format "%[capture.req.hdr(0)] %s\"""")
    text = replace_once(text, "bind :8081", f"bind 127.0.0.1:{free_port()}")
    text = replace_once(text, "bind 127.0.0.1:8089", f"bind 127.0.0.1:{free_port()}")
    text = replace_once(text, "server-template gateway 16 api-gateway:8080", f"server gateway1 127.0.0.1:{proxy.gateway.port}")
    (proxy.folder / "haproxy.cfg").write_text(text)
    proxy.log = pathlib.Path(proxy.output.name)
    return ["haproxy", "-db", "-f", str(proxy.folder / "haproxy.cfg")]


COMMANDS = {
    "nginx": nginx_command("on"),
    "nginx_streaming": nginx_command("off"),
    "haproxy": haproxy_command,
}


def available(name):
    return shutil.which(name.split("_")[0]) is not None
