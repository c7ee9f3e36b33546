"""Waits for changes that the service promises within a second: repeats a call until the expected answer. Every keep-alive
connection stays with one worker, so a change made through one client may reach the worker of another client a moment later."""
import time

import redis

from .deadline import allowed

PROMISE = 1.0  # seconds within which every gateway follows a change
SLACK = 1.0    # for a test machine with other load; a process that misses the notification polls again after five seconds
SETTLED = 2.0  # seconds after which every worker has followed, for cases in which no query can tell

# Each process of a daemon has one connection that executes only this statement.
_READERS = """select count(*) filter (where query_start > %s and state = 'idle'), count(*)
    from pg_stat_activity where query like 'select p.number%%p.epoch%%from platform.projects p where p.number = any(%%'"""
_servers = None


def set_servers(servers):
    """Sets the servers whose daemons settle() waits for."""
    global _servers
    _servers = servers


def _hint(cursor):
    """Notifies every process that knows one of the newest projects to read the epochs now; the others read them within a
    second."""
    cursor.execute("select number from platform.projects order by number desc limit 50")
    try:
        with _servers.redis_client() as client, client.pipeline(transaction=False) as all_of_them:
            for (number,) in cursor.fetchall():
                all_of_them.publish("groundwork:epoch", f"{number}:0")
            all_of_them.execute()
    except redis.RedisError:
        pass


def settle():
    """Waits until every gateway and runner follows the last change, for cases in which no answer shows it: each process has
    read the epochs since, and has had time to reload what they invalidate. If no process runs, waits SETTLED seconds."""
    connection = _servers.lend()
    try:
        with connection.cursor() as cursor:
            cursor.execute("select clock_timestamp(), pg_postmaster_start_time() > now() - interval '10 seconds'")
            since, young = cursor.fetchone()
            if young:  # some processes may not have reconnected yet
                time.sleep(SETTLED)
            _hint(cursor)
            begun, read, readers = time.monotonic(), 0, 0
            while time.monotonic() < begun + (allowed(SETTLED) if readers else SETTLED) and not 0 < readers == read:
                time.sleep(0.02)
                cursor.execute(_READERS, (since,))
                read, readers = cursor.fetchone()
    finally:
        _servers.give_back(connection)
    time.sleep(0.4)


def await_status(call, status, within=PROMISE + SLACK):
    """Repeats `call` until its answer has the status (or one of several); returns the answer."""
    wanted = status if isinstance(status, (tuple, set, list)) else (status,)
    end = time.monotonic() + allowed(within)
    while True:
        response = call()
        if response.status_code in wanted:
            return response
        assert time.monotonic() < end, (
            f"{response.request.method} {response.url}: still {response.status_code} after {allowed(within)} s, "
            f"expected {status}: {response.text[:1000]}"
        )
        time.sleep(0.02)


def wait_served(client, path, in_a_row=20, within=6):
    """Waits until every worker answers again after an outage: each worker reconnects to its servers separately, and each
    request here opens a new connection, which any worker may get."""
    end, good = time.monotonic() + allowed(within), 0
    while good < in_a_row:
        answer = client.get(path, headers={"Connection": "close"})
        good = good + 1 if answer.status_code == 200 else 0
        assert good or time.monotonic() < end, (
            f"not served after {allowed(within)} s: {answer.status_code}: {answer.text[:1000]}")
