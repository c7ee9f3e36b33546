"""The commands of README.md and of the tours, run as a reader runs them: after `make run`, in one shell, from top to bottom.
The answers must be those that the page prints."""
import os
import re
import shutil
import subprocess
import tempfile

import pytest

from groundwork.daemon import free_port
from groundwork.fixtures import gateway_binary
from groundwork.servers import ROOT

PAGES = ["README.md", *sorted(str(path.relative_to(ROOT)) for path in (ROOT / "deploy/tours").glob("*.md"))]
BLOCK = re.compile(r"^```sh\n(?P<commands>.*?)^```\n(?:\n```\n(?P<answers>.*?)^```\n)?", re.M | re.S)
# These parts of an answer are different each time: numbers, times, and texts of random characters.
VARIES = re.compile(r"\d[\dT:.Z-]*|(?=[\w-]*\d)[\w-]{12,}")


def pattern(line):
    """Returns the pattern of a line's beginning. The page cuts lines with `…`."""
    def piece(text):
        return "".join(r"[\w:.-]+" if VARIES.fullmatch(part) else re.escape(part) for part in re.split(f"({VARIES.pattern})", text) if part)
    return re.compile(".*".join(piece(text.strip()) for text in line.split("…")))


def lines(text):
    """The lines of an answer without empty ones and without the comments that keep a stream of events open."""
    return [line.strip() for line in text.split("\n") if line.strip() and line != ":"]


def differences(said, shown):
    """The first line of a page that the output lacks at its place. A line `…` of the page matches any number of lines."""
    rest, skips = lines(shown), False
    for line in lines(said):
        if line == "…":
            skips = True
            continue
        while skips and rest and not pattern(line).match(rest[0]):
            rest.pop(0)
        skips = False
        if not rest or not pattern(line).match(rest[0]):
            return [f"the page says\n  {line}\nthe answer is\n  {rest[0] if rest else '(nothing)'}"]
        rest.pop(0)
    return []


@pytest.fixture
def installation():
    """`make run` with a folder of its own, which is removed after the test. Yields the environment of its commands."""
    folder = tempfile.mkdtemp(prefix="gwtour.")
    os.chmod(folder, 0o711)
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("GROUNDWORK_", "MAKE"))}
    environment |= {"GROUNDWORK_RUN": f"{folder}/run"}
    # The commands of the longer pages wait one second for an event, so `make check-long` uses the fast build.
    variant = "release" if os.environ.get("TESTS_LONG") else gateway_binary().parents[1].name

    def make(target):
        return subprocess.run(["make", "-s", f"VARIANT={variant}", target], cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)

    made = make("run")
    yield environment, made
    ended = make("reset")
    shutil.rmtree(folder)
    assert made.returncode == ended.returncode == 0, made.stdout + ended.stdout


@pytest.mark.parametrize("page", PAGES)
def test_the_commands_of_a_page_answer_as_it_says(page, installation):
    environment, made = installation
    assert made.returncode == 0, made.stdout
    text = (ROOT / page).read_text()
    if "README.md#a-tour-of-five-minutes" in text:
        text = (ROOT / "README.md").read_text() + text
    text = text.replace(".run/", f"{environment['GROUNDWORK_RUN']}/")
    text = re.sub(r"\b990[01]\b", str(free_port()), text)  # a page starts one server at most
    blocks = list(BLOCK.finditer(text))
    script = "".join(f"echo; echo '=== {number}'\n{block['commands']}" for number, block in enumerate(blocks)) + "kill $(jobs -p) 2>/dev/null"
    done = subprocess.run(["bash", "-c", script], cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    answers = re.split(r"^=== \d+\n", done.stdout, flags=re.M)[1:]
    problems = [problem for block, answer in zip(blocks, answers, strict=True) for problem in differences(block["answers"] or "", answer)]
    assert blocks and not problems, "\n".join(problems)
