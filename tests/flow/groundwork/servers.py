"""PostgreSQL and Redis of a test session: private folders, unix sockets, no ports."""
import os
import pathlib
import shutil
import subprocess
import tempfile

import psycopg2
import redis

ROOT = pathlib.Path(__file__).resolve().parents[3]


# Only the processes of these servers are killed, never the machine. The kernel keeps each page that they wrote, so a commit
# survives every kill without a flush to the disk. Their tables are too young to need a vacuum. Chaos runs and measurements use
# the settings of scripts/pg.
UNSYNCED = "fsync = off; full_page_writes = off; wal_compression = off; autovacuum = off; max_wal_size = 512MB;" \
           " wal_level = minimal; max_wal_senders = 0"


class Servers:
    def __init__(self, settings=""):
        self.settings = settings  # of PostgreSQL, in addition to those of scripts/pg
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="gwtest."))
        self.folder.chmod(0o711)  # the user postgres must be able to traverse it
        self.allowed_ports = []  # on this machine, that workflows may call
        self.connection = None
        self.lent = None  # the connection of lend(), when no test has it

    def _run(self, server, verb):
        settings = "; ".join(filter(None, (self.settings, os.environ.get("PG_SETTINGS"))))
        done = subprocess.run([ROOT / "scripts" / server, verb, self.folder], capture_output=True, text=True,
                              env={**os.environ, "PG_SETTINGS": settings})
        if done.returncode:
            raise RuntimeError(f"scripts/{server} {verb}: {done.stdout}{done.stderr}")
        return done.stdout.strip()

    def start(self):
        self.postgres("start")
        self.redis("start")
        self.database_url = self.postgres("url")
        self.redis_url = self.redis("url")

    def postgres(self, verb):
        """start, stop, restart, kill (like a crash)."""
        return self._run("pg", verb)

    def redis(self, verb):
        return self._run("redis", verb)

    def connect(self, superuser=False):
        """A new connection in autocommit mode."""
        connection = psycopg2.connect(self.database_url.replace("//groundwork@", "//postgres@") if superuser else self.database_url)
        connection.autocommit = True
        return connection

    def lend(self):
        """A connection in autocommit mode for one test, which gives it back with give_back(). A new one would cost PostgreSQL a
        process, which reads all catalogs first."""
        connection, self.lent = self.lent, None
        if connection is not None:
            try:
                connection.cursor().execute("discard all")
                return connection
            except psycopg2.Error:  # PostgreSQL was restarted
                connection.close()
        return self.connect()

    def give_back(self, connection):
        if connection.closed or self.lent is not None:
            connection.close()
            return
        try:
            connection.rollback()
            connection.autocommit = True
            self.lent = connection
        except psycopg2.Error:
            connection.close()

    def execute(self, statement, *values):
        """Executes a statement over a persistent connection; returns the first value of the first row, if there is one. Reconnects
        once, because PostgreSQL may have been restarted since."""
        self.connection = self.connection or self.connect()
        cursor = self.connection.cursor()
        try:
            cursor.execute(statement, values)
        except psycopg2.Error:  # an error of the statement itself is raised again by the second attempt
            self.connection = self.connect()
            cursor = self.connection.cursor()
            cursor.execute(statement, values)
        row = cursor.fetchone() if cursor.description else None
        return row and row[0]

    def redis_client(self):
        return redis.Redis(unix_socket_path=self.redis_url.removeprefix("unix:"))

    def wipe(self):
        self._run("pg", "wipe")
        self._run("redis", "wipe")
        shutil.rmtree(self.folder, ignore_errors=True)
