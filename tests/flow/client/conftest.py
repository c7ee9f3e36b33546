"""The npm packages that compile and bundle the typed client."""
import fcntl
import shutil
import subprocess

import pytest
from workshop import CONSTANT_PART, HERE, Workshop


@pytest.fixture(scope="session")
def packages():
    """Installs the packages of package-lock.json. The first of several processes installs them."""
    if not shutil.which("npm"):
        pytest.skip("npm is not installed")
    modules = HERE / "node_modules"
    with open(HERE / "package-lock.json", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not all((modules / name).is_dir() for name in ("esbuild", "typescript", "typescript7", "@types/node")):
            done = subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=HERE, capture_output=True, text=True)
            if done.returncode:
                pytest.skip(f"npm cannot install the packages: {done.stderr[-500:]}")
    return modules


@pytest.fixture(scope="module")
def make_workshop(packages, tmp_path_factory):
    """make_workshop(model, *programs): a folder with the client of the model in the text `model`, and copies of programs."""
    return lambda model, *programs: Workshop(tmp_path_factory.mktemp("client"), packages, f"{model}\n{CONSTANT_PART.read_text()}", programs)
