"""scripts/layers fails on each forbidden include. A small tree is right, and each case breaks it in one way."""
import subprocess

import pytest

from groundwork.servers import ROOT

LAYERS = """
core            # comments are no folders
    base
    db      base
product
    records
        rules
        read    rules
        write   rules
    payments
daemon
    app
"""
RIGHT = {
    "common/layers.txt": LAYERS,
    "common/core/base/str.h": "#include <stddef.h>",
    "common/core/db/db.h": '#include "base/str.h"\n#include "db/rows.h"',
    "common/core/db/rows.h": "",  # included through db.h
    "common/core/db/db.c": '#include "db/db.h"\n#include "db/conn_private.h"\n#include "users_sql.h"\n#include "migrations.h"',
    "common/core/db/conn_private.h": '#include "db/pool_private.h"',
    "common/core/db/pool_private.h": "",
    "common/product/records/records.h": '#include "db/db.h"',
    "common/product/records/rules/rows.h": '#include "records/records.h"',
    "common/product/records/read/list.h": '#include "records/rules/rows.h"\n#include "records/read/columns.h"',
    "common/product/records/read/columns.h": "",  # headers of parts are always private
    "common/product/records/write/write.c": '#include "records/rules/rows.h"',
    "common/product/payments/payments.h": '#include "base/str.h"',
    "common/daemon/app/app.h": '#include "payments/payments.h"\n#include "records/records.h"',
    "services/gateway/main.c": '#include "app/app.h"\n#include "stages/stages.h"',
    "services/gateway/stages/stages.h": "",
    "services/gateway/stages/stages_private.h": "",
    "services/gateway/areas/users/users.h": "",
    "services/gateway/areas/users/users.c": '#include "areas/users/users_private.h"\n#include "stages/stages.h"',
    "services/gateway/areas/users/users_private.h": "",
    "services/gateway/areas/roles/roles.h": '#include "areas/users/users.h"',
}


def complaints(folder, **files):
    for path, text in {**RIGHT, **files}.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text + "\n")
    done = subprocess.run(["/usr/bin/python3", ROOT / "scripts/layers", folder], capture_output=True, text=True)
    assert not done.stderr and done.returncode == (1 if done.stdout else 0)
    return done.stdout.splitlines()


def test_the_small_tree_is_right(tmp_path):
    assert complaints(tmp_path) == []


def test_ours_is_right():
    done = subprocess.run([ROOT / "scripts/layers"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("path, text, reason", [
    ("common/core/db/db.c", '#include "records/records.h"', ":1: db may not include records"),  # a higher level
    ("common/core/base/str.c", '#include "db/db.h"', ":1: base may not include db"),  # later in the same level
    ("common/product/payments/payments.c", '\n#include "records/records.h"', ":2: payments may not include records"),
    ("common/product/records/list.c", '#include "payments/payments.h"', ":1: records may not include payments"),
    ("common/product/records/list.c", '#include "app/app.h"', ":1: records may not include app"),
    ("common/core/db/query.c", ' # include "../base/str.h"', ":1: an include names the folder, never '..'"),
    ("common/core/db/query.c", '#include "query.h"', ":1: query.h is no folder of common/"),
    ("common/core/db/query.c", '#include "core/base/str.h"', ":1: core is no folder of common/"),
    ("common/product/records/rules/rows.c", '#include "records/read/list.h"', ":1: records/rules may not include records/read"),
    ("common/product/records/write/body.c", '#include "records/read/list.h"', ":1: records/write may not include records/read"),
    ("common/product/records/write/body.c", '#include "payments/payments.h"', ":1: records/write may not include payments"),
    ("common/product/records/error.c", '#include "records/rules/rows.h"', ":1: records may not include records/rules"),
    ("common/daemon/app/app.c", '#include "records/rules/rows.h"', ":1: app may not include records/rules"),
    ("common/product/records/read/get.c", '#include "records/other/rows.h"', ":1: records/other is no folder of common/"),
    ("common/product/records/other/rows.c", "", ": common/layers.txt has no folder records/other in product"),
    ("services/gateway/main.c", '#include "app/app.h"\n#include "records/rules/rows.h"', ":2: records/rules is a part of records"),
    ("common/core/files/files.c", "", ": common/layers.txt has no folder files in core"),
    ("common/product/db/more.c", "", ": common/layers.txt has no folder db in product"),
    ("common/core/stray.c", "", ": common/layers.txt has no folder stray.c in core"),
    ("services/gateway/main.c", '#include "app/app.h"\n#include "stages/other.h"', ":2: stages/other.h is neither in common/ nor in services/gateway"),
    ("services/runner/main.c", '#include "areas/users.h"', ":1: areas/users.h is neither in common/ nor in services/runner"),
    ("common/product/records/list.c", '#include "db/conn_private.h"', ":1: db/conn_private.h is private to db"),
    ("common/core/db/db.h", '#include "base/str.h"\n#include "db/rows.h"\n#include "db/conn_private.h"', ":3: db/conn_private.h is private to db's sources"),
    ("services/gateway/main.c", '#include "app/app.h"\n#include "db/conn_private.h"', ":2: db/conn_private.h is private to db"),
    ("services/gateway/main.c", '#include "app/app.h"\n#include "stages/stages_private.h"', ":2: stages/stages_private.h is private to its folder"),
    ("services/gateway/main.c", '#include "app/app.h"\n#include "areas/users/users.h"', ":2: only areas include areas"),
    ("services/gateway/stages/stages.c", '#include "areas/users/users.h"', ":1: only areas include areas"),
    ("common/core/base/list.h", "", ": nobody outside its folder includes it: call it list_private.h"),
    ("common/core/base/internal.h", "", ": nobody outside its folder includes it: call it internal_private.h"),
])
def test_what_is_forbidden(tmp_path, path, text, reason):
    assert [line.removeprefix(path)[: len(reason)] for line in complaints(tmp_path, **{path: text})] == [reason]


@pytest.mark.parametrize("line, reason", [
    ("    search payments", "search names payments, which is nothing above it in daemon"),  # folders of a lower level need not be named
    ("    search search", "search names search, which is nothing above it in daemon"),
    ("    search\n        index    crawl\n        crawl", "index names crawl, which is nothing above it in search"),
    ("    search later\n    later", "search names later, which is nothing above it in daemon"),  # so cycles are impossible
])
def test_a_table_that_makes_no_sense(tmp_path, line, reason):
    assert complaints(tmp_path, **{"common/layers.txt": LAYERS + line}) == [f"layers.txt: {reason}"]


def test_two_areas_that_include_each_other(tmp_path):
    assert complaints(tmp_path, **{"services/gateway/areas/users/users.c": '#include "areas/roles/roles.h"'}) == [
        "services/gateway/areas/roles/roles.h and services/gateway/areas/users/users.c: the areas roles and users include each other"]
