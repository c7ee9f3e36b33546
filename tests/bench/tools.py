"""The load generators: wrk, pgbench and nginx, run side by side with the gateway."""
import pathlib
import re
import statistics
import subprocess
import tempfile
import time

from groundwork.daemon import free_port

CLIENTS = 64
UNITS = {"us": 0.001, "ms": 1.0, "s": 1000.0, "m": 60000.0}


def milliseconds(text):
    number, unit = re.fullmatch(r"([\d.]+)(us|ms|s|m)", text).groups()
    return float(number) * UNITS[unit]


def wrk(url, seconds, script=None, headers=None, clients=CLIENTS):
    """{"rate", "p50", "p99", "errors"}; one thread, `clients` keep-alive connections."""
    command = ["wrk", "-t1", f"-c{clients}", f"-d{seconds}s", "--latency"]
    for name, value in (headers or {}).items():
        command += ["-H", f"{name}: {value}"]
    if script:
        command += ["-s", script]
    out = subprocess.run([*command, url], capture_output=True, text=True, check=True).stdout
    bad = re.search(r"Non-2xx or 3xx responses: (\d+)", out)
    failed = re.search(r"Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)", out)
    return {
        "rate": float(re.search(r"Requests/sec:\s+([\d.]+)", out).group(1)),
        "p50": milliseconds(re.search(r"^ +50% +(\S+)", out, re.M).group(1)),
        "p99": milliseconds(re.search(r"^ +99% +(\S+)", out, re.M).group(1)),
        "errors": (int(bad.group(1)) if bad else 0) + (sum(map(int, failed.groups())) if failed else 0),
    }


def lua(folder, name, text):
    path = pathlib.Path(folder) / f"{name}.lua"
    path.write_text(text)
    return str(path)


def requests_lua(lines, count=10_000):
    """A script that sends prepared requests in random order: the generator must not cost more than the
    server that it measures. `lines` make one request for the number i and return it as a wrk.format() call."""
    return (
        f"local made = {{}}\nfunction init(args)\n  math.randomseed(os.time())\n  for i = 1, {count} do made[i] = {lines} end\nend\n"
        f"function request() return made[math.random({count})] end\n"
    )


def pgbench_program():
    return sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin/pgbench"))[-1]


def pgbench(servers, text, seconds, clients=CLIENTS):
    """{"rate", "p50", "p99"}: transactions per second of a script in prepared mode, and their durations in ms."""
    with tempfile.TemporaryDirectory(prefix="pgbench.") as folder:
        script = pathlib.Path(folder) / "script.sql"
        script.write_text(text)
        command = [pgbench_program(), "-n", "-M", "prepared", "-c", str(clients), "-j", "1", "-T", str(seconds), "-f", script,
                   "-l", f"--log-prefix={folder}/log"]
        out = subprocess.run([*command, servers.database_url], capture_output=True, text=True, check=True).stdout
        taken = sorted(int(line.split(" ", 3)[2]) / 1000 for log in pathlib.Path(folder).glob("log.*")
                       for line in log.read_text().splitlines())
    return {"rate": float(re.search(r"tps = ([\d.]+)", out).group(1)),
            "p50": taken[len(taken) // 2], "p99": taken[int(len(taken) * 0.99)]}


def pgbench_steady(servers, scripts, seconds, clients=CLIENTS, warm=20):
    """{"rate"} of scripts chosen at random, in prepared mode, once the rate has had `warm` seconds to
    settle: every client prepares all statements of a script when it first runs it."""
    command = [pgbench_program(), "-n", "-M", "prepared", "-c", str(clients), "-j", "1", "-P", "1", "-T", str(warm + seconds)]
    for script in scripts:
        command += ["-f", script]
    done = subprocess.run([*command, servers.database_url], capture_output=True, text=True, check=True)
    steps = re.findall(r"^progress: ([\d.]+) s, ([\d.]+) tps", done.stderr, re.M)
    return {"rate": statistics.mean(float(tps) for at, tps in steps if float(at) > warm)}


class Nginx:
    """nginx on a free port: serves a static file of 200 bytes, and /json for calls of workflows."""

    def __init__(self, folder, workers):
        self.port = free_port()
        root = pathlib.Path(tempfile.mkdtemp(prefix="nginx.", dir=folder))
        root.chmod(0o755)
        (root / "file").write_text("x" * 199 + "\n")
        conf = root / "nginx.conf"
        conf.write_text(
            f"worker_processes {workers};\npid {root}/pid;\nerror_log {root}/error.log;\ndaemon off;\n"
            "events { worker_connections 4096; }\n"
            f"http {{ access_log off; sendfile on; open_file_cache max=100; keepalive_requests 1000000000;"
            f" server {{ listen 127.0.0.1:{self.port} reuseport; root {root};"
            " location = /json { default_type application/json; return 200 '{\"ok\":true}'; } } }\n"
        )
        self.process = subprocess.Popen(["nginx", "-c", conf], stderr=subprocess.DEVNULL)
        time.sleep(0.5)

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}/file"

    @property
    def json_url(self):
        return f"http://127.0.0.1:{self.port}/json"

    def stop(self):
        self.process.terminate()
        self.process.wait(5)
