"""Files in a store that speaks S3: runs the other tests of files, and the tests of a faulty bucket, in a separate run, because
gateways with different stores cannot share a database."""
import os
import pathlib
import subprocess
import sys

import pytest
from groundwork import bucket
from groundwork.servers import ROOT

HERE = pathlib.Path(__file__).parent
FILES = ["test_files.py", "test_file_links.py", "test_killed.py", "test_file_fields.py", "test_tus.py", "test_variants_kept.py", "test_bucket_faults.py"]

pytestmark = pytest.mark.skipif(bucket.wanted(), reason="this is that run")


@pytest.mark.parametrize("name", FILES)
def test_in_a_bucket(name):
    trouble = bucket.missing()
    if trouble:
        pytest.skip(trouble)
    run = [sys.executable, "-m", "pytest", "-c", str(ROOT / "tests/pytest.ini"), "--rootdir", str(ROOT / "tests"), "-q", "-p", "no:cacheprovider"]
    whole = {"TESTS_LONG": "all"} if os.environ.get("TESTS_LONG") else {}
    outer = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST_", "TESTS_"))}
    done = subprocess.run([*run, str(HERE / name)], cwd=ROOT, capture_output=True, text=True, timeout=3600,
                          env={**outer, **whole, "GW_STORE": "bucket"})
    assert done.returncode == 0, f"{done.stdout[-12000:]}\n{done.stderr[-4000:]}"
