"""The commands of README.md and of the tours, run as a reader runs them: after `make run`, in one shell, from top to bottom.
The answers must be those that the page prints."""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

import pytest

from groundwork.servers import ROOT

PAGES = ["README.md", *sorted(str(path.relative_to(ROOT)) for path in (ROOT / "deploy/tours").glob("*.md"))]
BLOCK = re.compile(r"^```sh\n(?P<commands>.*?)^```\n(?:\n```\n(?P<answers>.*?)^```\n)?", re.M | re.S)
# In an answer these are different each time: numbers, times, and texts of random characters.
VARIES = re.compile(r"\d[\dT:.Z-]*|(?=[\w-]*\d)[\w-]{12,}")


def pattern(answer):
    """What a line must match: the page cuts an answer with `…`."""
    def varying(text):
        return "".join(r"[\w:.-]+" if found else re.escape(part) for part, found in
                       ((part, VARIES.fullmatch(part)) for part in re.split(f"({VARIES.pattern})", text)) if part)
    return re.compile(".*".join(varying(part.strip(" ")) for part in answer.split("…")))


@pytest.fixture
def installation():
    """`make run` with a folder of its own, which is removed after the test. Yields the folder."""
    folder = tempfile.mkdtemp(prefix="gwtour.")
    os.chmod(folder, 0o711)
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("GROUNDWORK_", "MAKE"))} | {"GROUNDWORK_RUN": f"{folder}/run"}
    try:
        made = subprocess.run(["make", "-s", "run"], cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        assert made.returncode == 0, made.stdout + made.stderr
        yield pathlib.Path(folder, "run"), environment
    finally:
        subprocess.run(["make", "-s", "reset"], cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, check=True, capture_output=True)
        shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.parametrize("page", PAGES)
def test_the_commands_of_a_page_answer_as_it_says(page, installation):
    run, environment = installation
    blocks = [block.groupdict() for block in BLOCK.finditer((ROOT / page).read_text())]
    assert blocks
    script = "".join(f"echo '=== {number}'\n{block['commands']}" for number, block in enumerate(blocks)).replace(". .run/env", f". {run}/env")
    done = subprocess.run(["bash", "-c", script], cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True)
    answered = re.split(r"^=== \d+\n", done.stdout, flags=re.M)[1:]
    problems = []
    for block, answer in zip(blocks, answered, strict=True):
        expected = (block["answers"] or "").split("\n")
        for said, shown in zip(expected, [*answer.split("\n"), *[""] * len(expected)]):
            if not pattern(said).match(shown):
                problems.append(f"the page says\n  {said}\nthe answer was\n  {shown}")
    assert not problems, "\n".join(problems)
