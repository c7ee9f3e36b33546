"""Fixtures that the tests of files share: uploads, and what the store holds."""
import os
import pathlib

import pytest
from groundwork import bucket
from groundwork.records import execute, rows

# test_bucket.py runs the tests that need a bucket, and all other tests of files with a bucket, in a separate run.
collect_ignore = [] if bucket.wanted() else ["test_bucket_faults.py"]


@pytest.fixture
def put():
    """put(client, "a.txt", b"...") uploads one file as the body and returns the file."""
    def put_one(client, name, content, expect=201, **query):
        answer = client.put(f"/files/upload/{name}", data=content, params=query, expect=expect,
                            headers={"Content-Type": "application/octet-stream"})
        return answer.json()
    return put_one


@pytest.fixture
def post():
    """post(client, [("a.txt", b"...")]) uploads files as multipart/form-data and returns the answer's body."""
    def post_some(client, files, expect=201, **query):
        parts = [("file", (name, content, "application/octet-stream")) for name, content in files]
        return client.post("/files", files=parts, params=query, expect=expect).json()
    return post_some


@pytest.fixture
def stored_files(servers, db):
    """stored_files(project) returns {key: path} of all files in the project's store."""
    def look(project):
        number = project.schema(db)[2:]
        folder = pathlib.Path(servers.folder / "files" / number)
        return {path.name: path for path in folder.rglob("*") if path.is_file()}
    return look


@pytest.fixture
def ledger(db):
    """ledger(project) returns (keys of files, keys of garbage, (bytes, files) of the totals)."""
    def read(project):
        schema = project.schema(db)
        with db.cursor() as cursor:
            cursor.execute(f"select key from {schema}.files")
            files = {row[0] for row in cursor.fetchall()}
            cursor.execute(f"select key from {schema}.file_garbage")
            garbage = {row[0] for row in cursor.fetchall()}
            cursor.execute(f"select bytes, files from {schema}.file_totals")
            return files, garbage, cursor.fetchone()
    return read


@pytest.fixture
def expire_uploads(db):
    """expire_uploads(project, seconds) makes the remains of uploads due for the collector at once; otherwise they are due after
    twice the `seconds` that an upload may take."""
    def skip(project, seconds):
        garbage = f"{project.schema(db)}.file_garbage"
        assert not rows(db, f"select key from {garbage} where due_at > now() + %s * interval '1 second'", 2 * seconds)
        execute(db, f"update {garbage} set due_at = now() where due_at > now()")
    return skip


@pytest.fixture
def sandboxes():
    """sandboxes(daemon) returns the process ids of the media-sandboxes that the daemon's workers have started."""
    def look(daemon):
        found, workers = [], daemon.workers()
        for name in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{name}/stat", encoding="ascii") as file:
                    head, _, tail = file.read().rpartition(")")
            except OSError:
                continue
            if head.endswith("(media-sandbox") and int(tail.split()[1]) in workers:
                found.append(int(name))
        return found
    return look
