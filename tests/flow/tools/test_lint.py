"""scripts/names, scripts/statements and scripts/words fail on each forbidden use. A small tree is right, and each case breaks it in one way."""
import importlib.machinery
import importlib.util
import pathlib
import subprocess

import pytest

from groundwork.servers import ROOT

RIGHT = {
    "common/core/base/str.h": "struct str {\n    int len;\n};\ntypedef int (*str_fn)(struct str text);\nint str_len(struct str text);",
    "common/core/base/str.c": '#include "base/str.h"\nextern const int str_limit;\nstruct part {\n    int at;\n};\n'
                              "int str_len(struct str text)\n{\n    return text.len;\n}",
    "services/gateway/users.sql": "-- part: user\nselect 1\n-- name: user_get :opt\n{user} where :id::bigint = 1\n"
                                  "-- name: user_put :exec args(user_get)\n{user} where :id::bigint = 2",
    "services/gateway/users.h": "extern int users_open;",
    "services/gateway/users.c": "struct part {\n    int of;\n};\nstatic int users_get(bool put)\n{\n"
                                "    return put ? ask(&SQL_USER_PUT, SQL_USER_GET_ARGS(.id = 1)) : ask(SQL_USER_GET(.id = 1));\n}",
    "tests/flow/test_users.py": "",
    "services/api-gateway/ddl/ddl.c": "static int ddl_run(const struct sql *sql)\n{\n    return ask(sql, PARAMS(P_I64(1)));\n}",
}


def complaints(check, folder, files):
    for path, text in {**RIGHT, **files}.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text + "\n")
    done = subprocess.run(["/usr/bin/python3", ROOT / "scripts" / check, folder], capture_output=True, text=True)
    assert not done.stderr and done.returncode == (1 if done.stdout else 0)
    return done.stdout.splitlines()


@pytest.mark.parametrize("check", ["names", "statements"])
def test_the_small_tree_is_right(tmp_path, check):
    assert complaints(check, tmp_path, {}) == []


@pytest.mark.parametrize("check", ["names", "statements"])
def test_ours_is_right(check):
    done = subprocess.run([ROOT / "scripts" / check], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("path, text, reason", [
    ("services/gateway/list.c", "static int str_len(void)\n{\n    return 0;\n}", "is defined in"),
    ("services/gateway/list.c", "int users_get(void)\n{\n    return 0;\n}", "is defined in"),
    ("services/gateway/users.h", "int str_len(struct str text);", ":1: str_len is defined in common/core/base/str.c"),
    ("services/gateway/list.c", "\nstruct str {\n    int of;\n};", ":2: str is what common/core/base/str.h calls"),
    ("services/gateway/list.h", "enum str { STR_A };", ":1: str is what common/core/base/str.h calls"),
    ("services/gateway/list.c", "typedef void (*str_fn)(void);", ":1: str_fn is what common/core/base/str.h calls"),
    ("services/gateway/list.h", "extern bool users_open;", ":1: users_open is what"),
    ("tests/load/test_users.py", "", "test_users.py:1: tests/flow/test_users.py is called so, too"),
], ids=["static function", "function", "declared elsewhere", "struct", "enum", "typedef", "variable", "tests"])
def test_what_names_forbids(tmp_path, path, text, reason):
    said = complaints("names", tmp_path, {path: text})
    assert said and reason in "".join(said), said


@pytest.mark.parametrize("path, text, reason", [
    ("services/api-gateway/ddl/ddl.c", "int rc = ask(&SQL_USER_GET, PARAMS(P_I64(1)));", ":1: a statement of a .sql file"),
    ("services/api-gateway/ddl/ddl.c", "\nint rc = ask(&SQL_USER_GET,\n    (const struct db_param[]){P_I64(1)}, 1);",
     ":3: a statement of a .sql file"),
    ("services/gateway/list.c", "int rc = ask(sql, PARAMS(P_I64(1)));", ":1: values by number are for SQL that is built"),
    ("services/gateway/list.sql", "-- name: list_get :opt\nselect 1", ":1: nobody uses list_get"),
    ("services/gateway/users.sql", RIGHT["services/gateway/users.sql"] + "\n-- part: other\nfrom x", ":7: nobody uses other"),
], ids=["behind a statement", "without the macro", "through a variable", "statement", "part"])
def test_what_statements_forbids(tmp_path, path, text, reason):
    said = complaints("statements", tmp_path, {path: text})
    assert said and reason in "".join(said), said


@pytest.fixture(scope="module")
def words():
    loader = importlib.machinery.SourceFileLoader("words", str(ROOT / "scripts/words"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("words", loader))
    loader.exec_module(module)
    return module


@pytest.mark.parametrize("path, text, reason", [
    ("common/core/base/str.c", "int x; /* Set by some""body. */", (1, "\"some""body\": name the caller, process or user")),
    ("common/core/base/str.c", "\n/* What the caller gave. */", (2, "begins with \"What\": name the thing")),
    ("common/core/base/str.h", "/* Length. */\nint str_len(struct str text);\n\nint str_end(struct str text);", (4, "str_end() has no comment")),
    ("common/core/base/str.c", "char *s = \"any""more\";", None),
    ("common/core/base/str.h", "/* Length in bytes. */\nint str_len(struct str text);\nint str_width(struct str text);", None),
    ("deploy/users.sql", "-- name: user_get :opt\n-- Asked ane""w.\nselect 1", (2, "\"ane""w\": again")),
    ("scripts/users.py", "def f():\n    \"\"\"Waits be""hind a lock.\"\"\"", (2, "\"be""hind\": after, following, waiting for")),
    ("services/console/a.ts", "let x = 'ane""w'; // Reads ane""w.\nfetch('http://ane""w')", (1, "\"ane""w\": again")),
    ("services/console/a.svelte", "\n<!-- What a reader chose. -->", (2, "begins with \"What\": name the thing")),
    ("README.md", "Read it ane""w, or `ane""w`.", (1, "\"ane""w\": again")),
    ("README.md", "See the speci""fication.", (1, "\"the speci""fication\": a clone does not have this document")),
], ids=["word", "pronoun", "function", "code", "list", "statements", "docstring", "script", "markup", "page", "private"])
def test_what_words_forbids(words, path, text, reason):
    found = list(words.complaints(pathlib.Path(path), text + "\n"))
    assert found == ([reason] if reason else [])


COMMENTED = {
    "common/core/base/str.h": "#include <stdio.h>\nstruct part;\nstruct str {\n    int len;\n};\nint str_len(struct str text);",
    "common/core/base/part.c": "struct part {\n    int at;\n};\nchar *s = \"a.png\";",
    "common/core/base/list.c": "struct list {\n    int next;\n};",
    "common/core/base/bounds.def": "BOUND(LEN_MOST, 8)\nSETTING(width)",
    "services/gateway/users.sql": "select first_name from users",
    "README.md": "| `GROUNDWORK_PORT` |",
    "tests/LONG_NAME.md": "",
}


def names_commented(words, comment):
    """The names that the check finds in a comment, with their lines."""
    path, text = pathlib.Path("common/core/base/text.c"), f"#include \"base/str.h\"\n/* {comment} */\nstruct str text, users;\n"
    names = words.Names({path: text, **{pathlib.Path(path): text for path, text in COMMENTED.items()}})
    return [(line, said.split(", which the code does not have")[0].removeprefix("the comment names "))
            for line, said in words.stale_names(path, text, names)]


@pytest.mark.parametrize("comment", [
    "text->len, text.len, (.len), struct str.len and part->at of a struct that str.h declares; text->width.",
    "users.first_name of the database.",
    "str_len() and str_len(text), printf(3).",
    "LEN_MOST, a LEN_*, GROUNDWORK_PORT, str_*().",
    "str.h, base/str.h, base/part.c, stdio.h, tests/LONG_NAME.md.",
    "A .png of text.example, https://text.example/x.y, text.png, e.g. 1.2 or \"text->size of LEN_LEAST by str_size()\".",
    "A RST_STREAM of HTTP/2.",
    "\n *     str_size(one->two, LEN_MOST(.id = 1));\n",
], ids=["members", "column", "functions", "constants", "files", "invented", "foreign", "sample"])
def test_names_of_comments_that_words_allows(words, comment):
    assert names_commented(words, comment) == []


@pytest.mark.parametrize("comment, name", [
    ("Sets text->size.", "text->size"),
    ("Sets text->next of a struct that this file does not see.", "text->next"),
    ("Sets struct str.size.", "struct str.size"),
    ("Sets str.next.", "str.next"),
    ("Sets text.size.", "text.size"),
    ("Sets (.size).", ".size"),
    ("Calls str_size().", "str_size()"),
    ("Calls str_size(text).", "str_size()"),
    ("At least LEN_LEAST.", "LEN_LEAST"),
    ("A SIZE_*.", "SIZE_"),
    ("The setting GROUNDWORK_HOST.", "GROUNDWORK_HOST"),
    ("In string.c.", "string.c"),
    ("In core/str.h.", "core/str.h"),
])
def test_names_of_comments_that_words_forbids(words, comment, name):
    assert names_commented(words, f"The rule.\n * {comment}") == [(3, name)]


def test_words_forbids_a_member_of_a_sample(words):
    assert names_commented(words, "For example:\n *\n *     struct str text = {.size = 1};\n") == [(4, ".size")]
