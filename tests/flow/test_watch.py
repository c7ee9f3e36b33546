"""The watch over the loop: what holds it for long is counted and named."""
import re


def long_runs(daemon):
    """How often which task held the loop of one of its workers."""
    found = re.findall(r'^groundwork_long_runs_total\{task="([^"]*)"\} (\d+)$', daemon.metrics(), re.M)
    return {task: int(count) for task, count in found}


def test_every_daemon_tells_of_long_runs(gateway, webhook, runner):
    for daemon in (gateway, webhook, runner):
        assert "# TYPE groundwork_long_runs_total counter" in daemon.metrics()
