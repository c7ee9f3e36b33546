"""Q2: sqlmap (Debian package) on every parameter of the lists, at a level and risk that try all techniques.

sqlmap must find nothing, and none of its requests may cause a 500 (the access log is checked as in every test).
"""
import re
import shutil
import subprocess

import pytest

pytestmark = pytest.mark.skipif(shutil.which("sqlmap") is None, reason="sqlmap is not installed")

QUERIES = {
    "list": "items?limit=5&page=1&sort=amount&filter[name]=a&filter[amount][gte]=1&fields=id,name&count=true",
    "search": "items?filter[name][icontains]=a&filter[or][0][name]=b&filter[or][1][amount][in]=1,2&sort=-id",
    "aggregate": "items/aggregate?group_by=name&sum=amount&count=*&filter[amount][between]=1,9",
    "path": "items/1*",
    "entity": "../notes*/items?limit=1",
}


@pytest.fixture(scope="module")
def notes(shared_project):
    shared_project.admin.put("/", {"settings": {"rate_read": 1000000}}, expect=200)
    shared_project.entity("notes", [{"name": "name", "type": "varchar"}, {"name": "amount", "type": "integer"}])
    for name in "abc":
        shared_project.item("notes", name=name, amount=2)
    return shared_project


@pytest.mark.parametrize("name", QUERIES)
def test_q2_sqlmap(notes, gateway, tmp_path, name):
    path = f"/entities/notes/{QUERIES[name]}".replace("/notes/..", "")
    done = subprocess.run(
        ["sqlmap", "-u", notes.base_url + path, "--headers", f"Authorization: Bearer {notes.admin.token}",
         "--dbms", "PostgreSQL", "--level", "4", "--risk", "3", "--technique", "BEUST", "--time-sec", "2", "--batch",
         "--flush-session", "--ignore-code", "*", "--skip", "Authorization,User-Agent,Referer,Host", "--threads", "4",
         "--output-dir", str(tmp_path), "--disable-coloring"],
        capture_output=True, text=True, timeout=900,
    )
    said = done.stdout
    assert re.search(r"do(es)? not (appear|seem) to be injectable", said), said[-3000:] + done.stderr[-1000:]
    for bad in ("500 (", "is vulnerable", "identified the following injection"):
        assert bad not in said, said[-3000:]
