"""Named parameters and columns of statements: a mismatch fails the build, or scripts/check-sql."""
import subprocess

import pytest

from groundwork.servers import ROOT

SQL = """
-- name: whole :opt
select p.number as number:bigint, p.name as name:text from platform.projects p
where p.slug = :slug::text and p.number = :number::bigint?;

-- name: sole :opt
select p.server as server:text from platform.projects p where p.slug = :slug::text;
"""
CODE = """
#include "statements_sql.h"
#include "db/db.h"
int64_t use(struct task *task, struct db *db, struct rows *rows);
int64_t use(struct task *task, struct db *db, struct rows *rows)
{
    int64_t number = 0;
    if (db_query(task, db, %s, rows) == 0)
        number = %s;
    return number;
}
"""
NUMBER = "sql_whole_row(rows, 0).number"


def generate(folder, sql):
    path = folder / "statements.sql"
    path.write_text(sql)
    done = subprocess.run(["scripts/sqlgen", "statements", path], cwd=ROOT, capture_output=True, text=True)
    (folder / "statements_sql.h").write_text(done.stdout)
    return done


def compiled(folder, call, read):
    assert generate(folder, SQL).returncode == 0
    (folder / "use.c").write_text(CODE % (call, read))
    command = ["gcc", "-std=gnu17", "-Wall", "-Wextra", "-Werror", "-D_GNU_SOURCE", "-Icommon/core", f"-I{folder}", "-fsyntax-only"]
    return subprocess.run([*command, folder / "use.c"], cwd=ROOT, capture_output=True, text=True)


def test_what_fits_compiles(tmp_path):
    done = compiled(tmp_path, 'SQL_WHOLE(.number = NO_I64, .slug = STR("a"))', NUMBER)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("call, read, message", [
    ('SQL_WHOLE(.slug = STR("a"))', NUMBER, "requires 2 arguments"),
    ("SQL_SOLE()", NUMBER, "expected expression"),
    ('SQL_WHOLE(.slug = STR("a"), .slug = STR("b"))', NUMBER, "overwritten"),
    ('SQL_WHOLE(.slug = STR("a"), .title = NO_I64)', NUMBER, "no member named"),
    ('SQL_WHOLE(.slug = STR("a"), .number = 7)', NUMBER, "missing braces"),
    ('SQL_WHOLE(STR("a"), NO_I64)', NUMBER, "positional initialization"),
    ('SQL_SOLE(.slug = STR("a"))', "sql_whole_row(rows, 0).server", "no member named"),
    ('SQL_SOLE(.slug = STR("a"))', "sql_whole_row(rows, 0).name", "incompatible types"),
], ids=["missing", "the only one missing", "twice", "misnamed", "null is no number", "by position", "no such column",
        "another type"])
def test_what_does_not_fit_does_not_compile(tmp_path, call, read, message):
    done = compiled(tmp_path, call, read)
    assert done.returncode != 0
    assert message in done.stderr, done.stderr


@pytest.mark.parametrize("sql, message", [
    ("-- name: a :one\nselect :x::bigint + :x::integer as n:bigint", "x is bigint and integer"),
    ("-- name: a :one\nselect :x::bigint + $1::bigint as n:bigint", "$1 has no name"),
    ("-- name: a :one\nselect $1::bigint as n:bigint", "$1 has no name"),
    ("-- name: a :one\nselect 1 as n:money", "no type that sqlgen knows"),
    ("-- name: a :one\nselect 1 as n:bigint, 2 as n:bigint", "two columns of one name"),
    ("-- name: a :one args(k)\nselect :x::bigint\n-- name: b :one args(k)\nselect :y::bigint", "args(k)"),
    ("-- name: a :one row(k)\nselect 1 as n:bigint\n-- name: b :one row(k)\nselect 1 as m:bigint", "row(k)"),
    ("-- name: a :one rows(k)\nselect 1 as n:bigint", "not '-- name:"),
    ("-- name: a :one row(k)\nselect 1", "no members"),
    ("-- name: a :one binary\nselect now() as at:timestamptz", "only bigint, integer,"),
    ("-- name: a :one binary\nselect 1", "no columns that C reads"),
])
def test_what_the_generator_refuses(tmp_path, sql, message):
    done = generate(tmp_path, sql)
    assert done.returncode != 0 and message in done.stderr, done.stderr


def test_the_database_has_the_last_word(tmp_path):
    path = tmp_path / "wrong.sql"
    path.write_text("""
-- name: fits :opt
select p.number as number:bigint, p.migration as migration:integer, lower(p.name) as name:text from platform.projects p
where p.slug = :slug::text;
-- name: types :opt
select p.number as number:integer from platform.projects p;
-- name: names :opt
select p.number as number:bigint, p.slug from platform.projects p;
-- name: nulls :opt
select u.password_hash as password_hash:text, u.email as email:text from {p}.users u;
-- name: marked :opt
select u.password_hash as password_hash:text?, u.email as email:text from {p}.users u;
-- name: proven :opt
select u.password_hash as password_hash:text! from {p}.users u where u.password_hash is not null;
-- name: broken :opt
select p.nothing as nothing:text from platform.projects p;
""")
    done = subprocess.run(["scripts/check-sql", path], cwd=ROOT, capture_output=True, text=True)
    said = {line.split(": ")[1]: line for line in done.stdout.splitlines() if "wrong.sql: " in line}
    assert done.returncode == 1 and done.stdout.endswith(" 4 failed\n"), done.stdout + done.stderr
    assert set(said) == {"types", "names", "nulls", "broken"}
    assert "number is integer; the server gives bigint" in said["types"]
    assert "columns number; the server gives number, slug" in said["names"]
    assert "password_hash may be null in its table" in said["nulls"]
    assert 'column p.nothing does not exist' in said["broken"]
