"""tests/ATTACKS.md against the tree: every case that a test or comment mentions is a row, and every row names existing tests."""
import ast
import io
import re
import tokenize

import pytest

from groundwork.servers import ROOT

ATTACKS = ROOT / "tests/ATTACKS.md"
ROW = re.compile(r"^\| ([A-Z]\d{1,2}) \| (.+?) \| (.+?) \| (.+) \|$", re.M)
TEST = re.compile(r"`([^`]+)`")
TREE = [*(ROOT / "common").rglob("*"), *(ROOT / "services").rglob("*"), *(ROOT / "tests").rglob("*"),
        *(ROOT / "scripts").glob("*"), *(ROOT / "deploy").rglob("*"), *ROOT.glob("*.md"), ROOT / "Makefile"]
OF_C, OF_PYTHON, OF_TEXT, OF_SQL = {".c", ".h", ".def", ".proto"}, {".py"}, {".md"}, {".sql"}
# Matches like a case number but is none.
NO_CASE = {"C0"}  # control characters


def rows():
    return {found[0]: found[3] for found in ROW.findall(ATTACKS.read_text())}


def python_text(text):
    """Comments and docstrings of a Python file."""
    said = [token.string for token in tokenize.generate_tokens(io.StringIO(text).readline) if token.type == tokenize.COMMENT]
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node):
            said.append(ast.get_docstring(node))
    return "\n".join(said)


def spoken(path):
    """Returns the prose of a file, and the case numbers in the names of its tests."""
    text = path.read_text(errors="replace")
    said = " ".join(re.findall(r"\btest_([a-z]\d{1,2})_", text)).upper() + "\n" if path.suffix in OF_C | OF_PYTHON else ""
    if path.suffix in OF_C:
        return said + "\n".join(re.findall(r"/\*.*?\*/", text, re.S))
    if path.suffix in OF_PYTHON or text.startswith(("#!/usr/bin/python3", "#!/usr/bin/env python3")):
        return said + python_text(text)
    if path.suffix in OF_SQL:
        return "\n".join(re.findall(r"--.*", text))
    if path.suffix in OF_TEXT:
        return re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.S)
    if path.suffix == ".vtc":
        return "\n".join(re.findall(r'^varnishtest.*|#.*', text, re.M))
    return "\n".join(re.findall(r"#.*", text)) if path.suffix in {"", ".yml"} else ""


def cases(text, letters):
    """Ids, and the ends of ranges: K1-K5, L2/L3."""
    return {found for found in re.findall(rf"(?<![\w#+%.-])([{letters}]\d{{1,2}})(?![\w(%+])", text)} - NO_CASE


def files():
    mine = {ATTACKS, ROOT / "tests/flow/tools/test_attacks.py"}
    return [path for path in TREE if path.is_file() and path not in mine and "corpus" not in path.parts
            and not {"node_modules", "generated"} & set(path.parts) and path.stat().st_size < 1 << 20]


def test_every_case_that_is_spoken_of_is_a_row():
    known = rows()
    letters = "".join(sorted({number[0] for number in known}))
    unknown = {}
    for path in files():
        if b"\0" in path.read_bytes()[:1000]:
            continue
        for case in cases(spoken(path), letters) - set(known):
            unknown.setdefault(case, []).append(str(path.relative_to(ROOT)))
    assert not unknown


def test_cases_are_counted_through():
    """Each section is numbered without gaps and without duplicates."""
    found = [number for number, *_ in ROW.findall(ATTACKS.read_text())]
    assert len(found) == len(set(found))
    for letter in {number[0] for number in found}:
        assert [int(number[1:]) for number in found if number[0] == letter] == list(range(1, 1 + sum(n[0] == letter for n in found)))


@pytest.mark.parametrize("case", rows())
def test_a_row_names_what_holds_it(case):
    held = rows()[case]
    if held.startswith("not yet: needs "):
        return
    tests = TEST.findall(held)
    assert tests and not re.sub(r"`[^`]+`|[, ]", "", held), f"neither tests nor `not yet: needs ...`: {held}"
    for test in tests:
        place, _, name = test.partition("::")
        path = ROOT / "tests" / place
        assert path.exists(), f"there is no tests/{place}"
        assert not name or re.search(rf"\b{name}\b", path.read_text()), f"{place} has no {name}"
