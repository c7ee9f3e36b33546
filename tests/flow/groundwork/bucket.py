"""An object store that speaks S3 (tests/bucket), for runs that store files there: GW_STORE=bucket."""
import os
import pathlib
import shutil
import subprocess
import sys

from .servers import ROOT

sys.path.insert(0, str(ROOT / "tests"))

from standin import Remote  # noqa: E402

FOLDER = ROOT / "tests/bucket"
KEY_ID, SECRET, REGION, NAME = "AKIDTESTS", "a/secret+of=tests", "eu-test-1", "files-of-tests"


def wanted():
    return os.environ.get("GW_STORE") == "bucket"


def missing():
    """The reason why the bucket cannot run on this machine, or None."""
    if not shutil.which("npm") or not shutil.which("node"):
        return "npm is not installed"
    if (FOLDER / "node_modules/@smithy/signature-v4").is_dir():
        return None
    done = subprocess.run(["npm", "ci", "--no-audit", "--no-fund"], cwd=FOLDER, capture_output=True, text=True)
    return None if done.returncode == 0 else f"npm cannot install what the bucket needs: {done.stderr[-500:]}"


class Bucket:
    """Objects are files below `folder`, as <project>/<key>; `control` sends commands to server.mjs."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(exist_ok=True)
        self.process = subprocess.Popen(["node", "server.mjs", str(self.folder), KEY_ID, SECRET, REGION, NAME],
                                        cwd=FOLDER, stdout=subprocess.PIPE, text=True)
        port = self.process.stdout.readline().strip()
        assert port, "the bucket did not start"
        self.url = f"http://127.0.0.1:{port}"
        self.control = Remote(self.url)

    def settings(self):
        return {"S3_ENDPOINT": self.url, "S3_BUCKET": NAME, "S3_REGION": REGION, "S3_KEY_ID": KEY_ID, "S3_SECRET": SECRET,
                "S3_TIMEOUT_MS": 2000}

    def close(self):
        self.process.terminate()
        self.process.wait(60)
        self.process.stdout.close()
