"""GET /console: the console's files, in the forms that the client accepts, with their headers; and nothing but these files."""
import http.client
import os
import urllib.parse

import pytest
from groundwork.client import Client

PAGE, SCRIPT = "<!doctype html><title>console</title>", "console.log(1)"
BROTLI, GZIP = b"brotli's bytes", b"bytes of gzip."  # as long as the script, so that tags do not differ by the size alone


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("console")
    (folder / "assets").mkdir()
    (folder / "index.html").write_text(PAGE)
    (folder / "theme.js").write_text("theme")
    (folder / "assets/main-abc.js").write_text(SCRIPT)
    (folder / "assets/main-abc.js.br").write_bytes(BROTLI)
    (folder / "assets/main-abc.js.gz").write_bytes(GZIP)
    for name in "main-abc.js", "main-abc.js.br", "main-abc.js.gz":
        os.utime(folder / "assets" / name, (1, 1))
    (folder / "assets/notes.txt").write_text("notes")
    (folder / "assets/.hidden.js").write_text("hidden")
    (folder / "assets/link.js").symlink_to("/etc/passwd")
    (folder.parent / "outside.js").write_text("outside")
    return folder


@pytest.fixture(scope="module")
def console(start_gateway, folder, recorder):
    """A client without credentials."""
    return Client(start_gateway("console", WORKERS=1, CONSOLE=str(folder)).url, recorder=recorder)


@pytest.mark.parametrize("path", ["/console", "/console/", "/console/shop/data/products", "/console/shop/data/products?filter[a]=1",
                                  "/console/org/settings.d", "/console/theme.css"])
def test_every_path_below_is_the_page(console, path):
    page = console.get(path, expect=200)
    assert page.text == PAGE and page.headers["Content-Type"] == "text/html; charset=utf-8"
    assert page.headers["Cache-Control"] == "no-cache"
    console.get(path, headers={"If-None-Match": page.headers["ETag"]}, expect=304)


def test_headers(console):
    headers = console.get("/console", expect=200).headers
    policy = dict(rule.split(" ", 1) for rule in headers["Content-Security-Policy"].split("; "))
    assert policy["default-src"] == "'none'" and policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
    assert policy["frame-ancestors"] == policy["base-uri"] == "'none'" and policy["require-trusted-types-for"] == "'script'"
    assert headers["X-Content-Type-Options"] == "nosniff" and headers["Referrer-Policy"] == "no-referrer"
    assert headers["Cross-Origin-Opener-Policy"] == "same-origin" and "camera=()" in headers["Permissions-Policy"]


def test_assets_never_expire(console):
    script = console.get("/console/assets/main-abc.js", headers={"Accept-Encoding": "identity"}, expect=200)
    assert script.text == SCRIPT and script.headers["Content-Type"] == "text/javascript; charset=utf-8"
    assert script.headers["Cache-Control"] == "public, max-age=31536000, immutable"
    assert console.get("/console/theme.js", expect=200).headers["Cache-Control"] == "no-cache"


@pytest.mark.parametrize(("accepted", "coding", "sent"), [
    ("gzip, deflate, br, zstd", "br", BROTLI),
    ("gzip", "gzip", GZIP),
    ("br;q=0, GZIP;q=0.5", "gzip", GZIP),
    ("br;q=0.0, gzip;q=0", None, SCRIPT.encode()),
    ("identity", None, SCRIPT.encode()),
    ("brx, xgzip", None, SCRIPT.encode()),
])
def test_forms(console, accepted, coding, sent):
    answer = console.get("/console/assets/main-abc.js", headers={"Accept-Encoding": accepted}, stream=True, expect=200)
    assert answer.headers.get("Content-Encoding") == coding and answer.headers["Vary"] == "Accept-Encoding"
    assert answer.raw.read(decode_content=False) == sent


def test_each_form_has_its_tag(console):
    tags = {console.head("/console/assets/main-abc.js", headers={"Accept-Encoding": accepted}, expect=200).headers["ETag"]
            for accepted in ("br", "gzip", "identity")}
    assert len(tags) == 3


@pytest.mark.parametrize("name", [
    "gone.js", "notes.txt", ".hidden.js", "link.js", "main-abc.js.br", "main-abc.js.gz", "", "..%2findex.html", "%2e%2e/index.html",
    "../index.html", "../../outside.js", "main-abc.js%00", "main-abc.js/", "/main-abc.js",
])
def test_nothing_else_is_sent(console, name):
    connection = http.client.HTTPConnection(urllib.parse.urlsplit(console.base_url).netloc, timeout=10)  # sends the path as it is
    connection.request("GET", f"/console/assets/{name}")
    answer = connection.getresponse()
    assert answer.status in (400, 404)
    assert not {b"notes", b"hidden", b"outside", SCRIPT.encode()} & set(answer.read().split(b"\n"))
    connection.close()


def test_only_reads(console):
    assert console.post("/console", {}, expect=405).headers["Allow"] == "GET, HEAD, OPTIONS"


def test_off(start_gateway):
    off = Client(start_gateway("console_off", WORKERS=1, CONSOLE="off").url)
    off.get("/console", expect=404)
    off.get("/console/assets/main-abc.js", expect=404)


def test_without_a_folder_the_page_says_how_to_build_it(session_gateway):
    page = Client(session_gateway.url).get("/console", expect=200)
    assert "make console" in page.text and page.headers["Cache-Control"] == "no-store"
