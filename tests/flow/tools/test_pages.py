"""The pages against the tree: every link, file, name, target of make, setting and route that a page names exists."""
import re
import subprocess

import pytest

from groundwork.fixtures import gateway_binary
from groundwork.servers import ROOT

TREE = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
PAGES = [path for path in TREE if path.endswith(".md")]
FENCE = re.compile(r"^```.*?^```", re.M | re.S)
# A path or the name of a source file in backticks. Pages leave out the first folders of a path, and often its extension.
FILE = re.compile(r"`([\w.][\w./-]*/[\w./-]*\w|[\w-]+\.(?:c|h|sql|def|py|md|sh|txt|yml|cfg))`")
NO_FILE = {"x.c", "x.h", "x_private.h", "users_sql.h", "NNNN_words.sql",  # patterns of names
           "multipart/form-data", "text/plain"}
# Names of the sources in backticks. Metrics are left out: the sources compose the names of metrics from parts.
CODE = re.compile(r"`(?!groundwork_)[^`\n]+`")
NAME = re.compile(r"(?<!\w)[a-z][a-z0-9]*(?:_[a-z0-9]+)+(?!\w)")
NO_NAME = {"object_verb", "pg_dump"}
TARGET = re.compile(r"(?:`|^)make (?:-\S+ )*([a-z][\w-]*)", re.M)
SETTING = re.compile(r"GROUNDWORK_[A-Z0-9_]*[A-Z0-9](?!\w|[*])")
ROUTE = re.compile(r"(?:`|\bapi )(GET|POST|PUT|DELETE) ['\"]?(/[^\s`'\"?]*)")


def text(page):
    return (ROOT / page).read_text()


@pytest.fixture(scope="module")
def names():
    """The names that a page can use for a file: any part of the path of a file, with or without the file's extension."""
    found = set()
    for path in TREE:
        parts = path.split("/")
        found.update("/".join(parts[begin:end]) for begin in range(len(parts)) for end in range(begin + 1, len(parts) + 1))
        found.update("/".join(parts[begin:]).rsplit(".", 1)[0] for begin in range(len(parts)))
    return found


@pytest.fixture(scope="module")
def source_names():
    """The names with an underscore in all files that are not pages."""
    return {name for path in TREE if path not in PAGES for name in NAME.findall(path + "\n" + (ROOT / path).read_bytes().decode(errors="ignore"))}


@pytest.fixture(scope="module")
def settings():
    daemons = [path.split("/")[1] for path in TREE if re.fullmatch(r"services/[\w-]+/config\.def", path)]
    helps = [subprocess.run([gateway_binary().parent / name, "--help-config"], capture_output=True, text=True, check=True).stdout for name in daemons]
    return set(re.findall(r"GROUNDWORK_\w+", "\n".join(helps)))


@pytest.fixture(scope="module")
def routes():
    listed = subprocess.run([gateway_binary(), "--list-routes"], capture_output=True, text=True, check=True).stdout
    return [(method, re.compile(re.sub(r"\\\{\w+\\\}", r"[^/]+", re.escape(path)))) for method, path, *_ in map(str.split, listed.splitlines())]


@pytest.mark.parametrize("page", PAGES)
def test_links(page):
    targets = re.findall(r"\]\(([^)#\s]+)[^)]*\)", text(page))
    gone = [target for target in targets if "://" not in target and not ((ROOT / page).parent / target).exists()]
    assert not gone


@pytest.mark.parametrize("page", PAGES)
def test_files(page, names):
    named = {name for name in FILE.findall(FENCE.sub("", text(page))) if not name.startswith("build/")}
    assert named - NO_FILE - names == {name for name in named if name.startswith("../") and ((ROOT / page).parent / name).exists()}


@pytest.mark.parametrize("page", PAGES)
def test_names(page, source_names):
    named = {name for code in CODE.findall(FENCE.sub("", text(page))) for name in NAME.findall(code)}
    assert named - NO_NAME - source_names == set()


@pytest.mark.parametrize("page", PAGES)
def test_targets(page):
    targets = set(re.findall(r"^([a-z][\w-]*)\s*:", text("Makefile"), re.M))
    gone = [target for target in TARGET.findall(text(page)) if target not in targets and not target.startswith("unit-test_")]
    assert not gone
    for test in re.findall(r"make unit-(test_\w+)", text(page)):
        assert (ROOT / f"tests/unit/{test}.c").exists()


@pytest.mark.parametrize("page", PAGES)
def test_settings(page, settings):
    assert {name for name in SETTING.findall(text(page)) if not {name, name.removesuffix("_FILE")} & settings} == set()


@pytest.mark.parametrize("page", [page for page in PAGES if not page.startswith("tests/")])
def test_routes(page, routes):
    gone = [(method, path) for method, path in ROUTE.findall(text(page)) if "$q" not in path
            and not any(method == known and pattern.fullmatch(path) for known, pattern in routes)]
    assert not gone
