"""K21: a runner is killed at any system call while it sends mail. A mail that ended as sent was accepted once, a mail that ended as unknown at most
once, and every mail ends."""
import shutil
import signal
import subprocess
import time

import pytest

from groundwork.chaos import kill
from groundwork.records import execute
from test_mail_queue import ask, wait_mail_ended, row

pytestmark = pytest.mark.skipif(not shutil.which("strace"), reason="strace kills at a system call")

# System calls at which a runner is killed, and the number of the call.
POINTS = [("sendto", n) for n in (1, 2, 3, 4, 5, 6, 8, 10, 12, 14)] + [("recvfrom", n) for n in (3, 6, 9, 12)]


def test_killed_at_any_point(site, mailbox, servers, mailer, start_runner):
    settings = dict(SMTP_URL=mailbox.url, MAIL_FROM="service@example.org", MAIL_RETRY_MS=100, LEASE_MS=2000, SWEEP_MS=300)
    kill(mailer)
    with servers.connect() as db:
        execute(db, "delete from platform.mail_projects")
        db.commit()
    seen, left = {}, []
    runner = start_runner(**settings)
    for call, count in POINTS:
        site.client().post("/auth/v1/recover", {"email": "nobody@people.example"})  # opens the connections
        worker = runner.workers()[0]
        runner.signal(signal.SIGSTOP)  # the supervisor starts no other worker before the test has read the rows
        strace = subprocess.Popen(["strace", "-f", "-p", str(worker), "-o", "/dev/null", "-e", f"trace={call}",
                                   "-e", f"inject={call}:signal=KILL:when={count}"], stderr=subprocess.PIPE, text=True)
        assert "attached" in strace.stderr.readline()
        emails = [ask(site, f"killed-{call}-{count}-{n}") for n in range(2)]
        end = time.monotonic() + 4
        while strace.poll() is None and time.monotonic() < end:
            time.sleep(0.05)
        strace.send_signal(signal.SIGINT)
        try:
            strace.wait(3)
        except subprocess.TimeoutExpired:
            strace.kill()
            strace.wait()
        strace.stderr.close()
        seen[call, count] = [row(servers, site, email)[0] for email in emails]
        left += emails
        kill(runner)
        runner = start_runner(**settings)
        for email in emails:  # a mail during which several runners were killed would be given up
            wait_mail_ended(servers, site, email)
    for email in left:
        status = wait_mail_ended(servers, site, email)[0]
        taken = len(mailbox.messages_to(email))
        assert (status, taken) in (("sent", 1), ("unknown", 0), ("unknown", 1)), (email, status, taken)
    assert any("queued" in states or "sending" in states for states in seen.values()), "no mail was in progress when its runner was killed"
    kill(runner)
    mailer.start()
