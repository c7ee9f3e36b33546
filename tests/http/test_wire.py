"""Runs each .vtc file with varnishtest against the gateway.

Macros: ${gw_addr} host:port of the gateway, ${admin_addr} of its admin port, ${base} "/org/<project>",
${token} an administrator's access token. A file whose first lines hold "# gateway: NAME=value ..." gets
its own gateway with these settings (GROUNDWORK_NAME).
"""
import pathlib
import re
import subprocess

import pytest

FILES = sorted(pathlib.Path(__file__).parent.glob("*.vtc"))
SETTINGS = re.compile(r"^# gateway: (.*)$", re.M)


def own_settings(path):
    match = SETTINGS.search(path.read_text())
    return dict(pair.split("=", 1) for pair in match[1].split()) if match else {}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_wire(path, shared_project, gateway, start_gateway):
    settings = own_settings(path)
    target = start_gateway(path.stem, **settings) if settings else gateway
    macros = {
        "gw_addr": f"127.0.0.1:{target.port}",
        "admin_addr": f"127.0.0.1:{target.admin_port}",
        "base": f"/org/{shared_project.id}",
        "token": shared_project.admin.token,
    }
    defines = [word for name, value in macros.items() for word in ("-D", f"{name}={value}")]
    done = subprocess.run(["varnishtest", "-t", "60", *defines, path], capture_output=True, text=True, timeout=90)
    try:
        if done.returncode == 77:
            pytest.skip("varnishtest skipped it")
        assert done.returncode == 0, f"{done.stdout[-6000:]}\n{done.stderr[-2000:]}"
        alarms = target.alarms()
        assert not alarms, alarms[0]
        assert target.is_running(), target.log_tail()
    finally:
        if target is not gateway:
            target.stop()
