"""Files in a chaos run: callers upload, resume uploads, read, replace and delete files, while gateways are killed."""
import base64
import hashlib
import json
import pathlib
import uuid

import requests
import urllib3

from clients import LoggingClient

SIZES = (0, 1, 700, 65536, 150_000, 400_000)
TUS = {"Tus-Resumable": "1.0.0"}
UPLOAD_MS, COLLECT_MS = 4000, 1000  # the rest of an upload is removed after twice UPLOAD_MS, within COLLECT_MS


def settings(folder):
    return {"FILES_DIR": str(pathlib.Path(folder) / "files"), "UPLOAD_TIME_MS": UPLOAD_MS, "FILES_COLLECT_MS": COLLECT_MS}


def set_up(world):
    world.project.entity("albums", [{"name": "mark", "type": "varchar"}, {"name": "cover", "type": "file"}])


class Uploader(LoggingClient):
    """Knows the bytes of each acknowledged file, and reads some of the files again."""

    def __init__(self, world, log, stop, seed, rate):
        super().__init__(world, log, stop, seed, rate)
        self.mine = {}  # id -> SHA-256
        self.albums = []

    def ask(self, method, path, **options):
        """The answer; None when the outcome is unknown."""
        headers = {"Authorization": f"Bearer {self.world.project.admin.token}", **options.pop("headers", {})}
        try:
            return self.session.request(method, self.world.project.base_url + path, timeout=10, headers=headers, **options)
        except requests.RequestException:
            return None

    def log_outcome(self, what, mark, answer, good, **more):
        """Logs the outcome; True when the request was acknowledged."""
        if answer is not None and answer.status_code in good:
            self.log.write(what, mark, "acked", **more)
            return True
        state = "unknown" if answer is None or answer.status_code in (404, 408, 409, 503, 504) else "wrong"
        self.log.write(what, mark, state, status=answer is not None and answer.status_code, text=answer.text[:300] if answer is not None else "")
        return False

    def content(self):
        return self.random.randbytes(self.random.choice(SIZES))

    def upload(self, mark, content):
        self.log.write("file", mark, "asked")
        digest = hashlib.sha256(content).hexdigest()
        if self.random.random() < 0.5:
            answer = self.ask("PUT", f"/files/upload/{mark}", data=content)
        else:
            answer = self.ask("POST", "/files", files={"file": (mark, content)})
        number = answer.json()["id"] if answer is not None and answer.status_code == 201 else None
        if self.log_outcome("file", mark, answer, (201,), id=number, sha256=digest, size=len(content)):
            self.mine[number] = digest
        return number

    def abandon_upload(self, mark, content):
        """Starts an upload and disconnects in the middle of it."""
        def half():
            yield content[:len(content) // 2]
            raise ConnectionResetError
        self.log.write("leave", mark, "asked")
        try:
            self.session.put(f"{self.world.project.base_url}/files/upload/{mark}", data=half(), timeout=10,
                             headers={"Authorization": f"Bearer {self.world.project.admin.token}"})
        except (requests.RequestException, urllib3.exceptions.HTTPError, ConnectionError):  # requests lets some of the second through
            pass

    def resume_upload(self, mark, content):
        """Uploads by tus: asks for the offset and continues from there until the upload is complete."""
        self.log.write("file", mark, "asked")
        name = base64.b64encode(mark.encode()).decode()
        made = self.ask("POST", "/files/tus", headers={**TUS, "Upload-Length": str(len(content)), "Upload-Metadata": f"filename {name}"})
        if made is None or made.status_code != 201:
            self.log_outcome("file", mark, made, ())
            return
        path = "/files/tus/" + made.headers["Location"].rpartition("/")[2]
        for _ in range(8):
            state = self.ask("HEAD", path, headers=TUS)
            if state is None or state.status_code != 200:
                self.stop.wait(0.3)
                continue
            done = int(state.headers["Upload-Offset"])
            if "Content-Location" in state.headers:
                number = int(state.headers["Content-Location"].rpartition("/")[2])
                self.log_outcome("file", mark, state, (200,), id=number, sha256=hashlib.sha256(content).hexdigest(), size=len(content))
                self.mine[number] = hashlib.sha256(content).hexdigest()
                return
            piece = content[done:done + max(1, len(content) // 3)]
            self.ask("PATCH", path, data=piece, headers={**TUS, "Upload-Offset": str(done), "Content-Type": "application/offset+octet-stream"})
        self.log.write("file", mark, "unknown")

    def read_file(self):
        number = self.random.choice(list(self.mine))
        answer = self.ask("GET", f"/files/{number}/get")
        if answer is None or answer.status_code in (503, 504) or len(answer.content) < int(answer.headers.get("Content-Length", 0)):
            return
        right = answer.status_code == 200 and hashlib.sha256(answer.content).hexdigest() == self.mine[number]
        self.log.write("read", str(number), "acked" if right else "wrong", status=answer.status_code)

    def delete(self):
        number = self.random.choice(list(self.mine))
        del self.mine[number]
        self.log.write("unlink", str(number), "asked")
        self.log_outcome("unlink", str(number), self.ask("DELETE", f"/files/{number}"), (204,))

    def replace_file(self, mark):
        """Replaces the file of a record; the old file must be removed."""
        number = self.upload(mark, self.content())
        if not number:
            return
        self.mine.pop(number)
        self.log.write("cover", str(number), "asked")
        if self.albums and self.random.random() < 0.6:
            answer = self.ask("PUT", f"/entities/albums/items/{self.random.choice(self.albums)}", json={"cover": number})
        elif self.albums and self.random.random() < 0.3:
            answer = self.ask("DELETE", f"/entities/albums/items/{self.albums.pop()}")
        else:
            answer = self.ask("POST", "/entities/albums/items", json={"mark": mark, "cover": number})
        if self.log_outcome("cover", str(number), answer, (200, 201, 204)) and answer.status_code == 201:
            self.albums.append(answer.json()["id"])

    def step(self):
        dice, mark = self.random.random(), uuid.uuid4().hex
        if dice < 0.35 or not self.mine:
            self.upload(mark, self.content())
        elif dice < 0.45:
            self.resume_upload(mark, self.content())
        elif dice < 0.5:
            self.abandon_upload(mark, self.content())
        elif dice < 0.6:
            self.replace_file(mark)
        elif dice < 0.85:
            self.read_file()
        else:
            self.delete()

    def run(self):
        while not self.stop.is_set():
            self.step()
            self.stop.wait(self.random.expovariate(self.rate))


def open_work(cursor, schema):
    """Keys that are no longer or not yet files; keys of uploads that can be resumed stay for a day."""
    cursor.execute(f"select count(*) from {schema}.file_garbage g where not exists "
                   f"(select 1 from {schema}.file_upload_parts p where p.key = g.key)")
    return cursor.fetchone()[0]


def stored_files(folder, number):
    """The files in the store: name -> (bytes, SHA-256)."""
    found = {}
    for path in (pathlib.Path(folder) / "files" / number).rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            found[path.name] = (len(data), hashlib.sha256(data).hexdigest())
    return found


def dump(world, query, cursor, folder):
    schema = world.schema
    albums = query(cursor, f"select e.id as entity, f.id as field from {schema}.entities e join {schema}.fields f on f.entity_id = e.id "
                           f"where e.name = 'albums' and f.name = 'cover'")[0]
    data = {
        "files": query(cursor, f"select id, key, filename, size, encode(sha256, 'hex') as sha256, record_id from {schema}.files"),
        "parts": query(cursor, f"select key, size from {schema}.file_upload_parts"),
        "garbage": query(cursor, f"select key from {schema}.file_garbage"),
        "totals": query(cursor, f"select bytes, files from {schema}.file_totals")[0],
        "covers": query(cursor, f"select id, f_{albums['field']} as cover from {schema}.e_{albums['entity']}"),
        "stored": stored_files(folder, schema[2:]),
    }
    (folder / "uploads.json").write_text(json.dumps(data))
    return data
