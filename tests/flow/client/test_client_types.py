"""The typed client against a sample model: programs that must and must not compile, the runtime against scripted servers, and its size."""
import re

import pytest
from workshop import HERE, run_node

NEGATIVE_CASES = 24
BROTLI_BYTES = 8 * 1024
PAGE = HERE.parents[2] / "deploy/tours/client.md"
PROGRAMS = "positive.ts", "negative.ts", "app.ts"


@pytest.fixture(scope="module")
def sample(make_workshop):
    return make_workshop((HERE / "sample.ts").read_text(), *PROGRAMS)


@pytest.fixture(scope="module")
def runtime(sample):
    return sample.bundle("client.ts")


@pytest.mark.parametrize("compiler", ["typescript", "typescript7"])
def test_programs_compile(sample, compiler):
    """An expected error of negative.ts that does not occur is an error of the compiler."""
    sample.compile(compiler, *PROGRAMS)


def test_the_negative_cases_are_all_there():
    assert len(re.findall(r"^ *// @ts-expect-error \w", (HERE / "negative.ts").read_text(), re.M)) >= NEGATIVE_CASES


def test_it_compiles_without_the_types_of_a_browser(sample):
    sample.compile("typescript7", "positive.ts", lib=["es2022"], types=["node"])


@pytest.mark.parametrize("part", ["calls", "sessions", "live", "files"])
def test_runtime(sample, runtime, part):
    sample.run(HERE / f"{part}.mjs", CLIENT=str(runtime))


def test_it_is_small(sample):
    out = sample.bundle("client.ts", "--minify")
    size = int(sample.run("-p", f"""zlib.brotliCompressSync(fs.readFileSync({str(out)!r})).length"""))
    out.unlink()
    assert size <= BROTLI_BYTES, size


def test_the_tours_application_compiles(make_workshop):
    """The application in the page about the client, against the model of `make run`."""
    application = re.search(r"^```ts\n(.*?)^```", PAGE.read_text(), re.M | re.S)[1]
    workshop = make_workshop((HERE / "demo.ts").read_text())
    (workshop.folder / "tour.ts").write_text(application)
    workshop.compile("typescript7", "tour.ts", types=["node"])


def test_scale(make_workshop, tmp_path):
    """100 entities with 20 fields and 8 relations each. The compilers' counts do not depend on the machine."""
    run_node(tmp_path, HERE / "scale.mjs", tmp_path)
    workshop = make_workshop((tmp_path / "model.ts").read_text(), tmp_path / "queries.ts")
    for compiler in "typescript", "typescript7":
        figures = workshop.compile(compiler, "queries.ts")
        types, instantiations = (int(re.search(rf"^{name}: +(\d+)$", figures, re.M)[1]) for name in ("Types", "Instantiations"))
        assert types < 60000 and instantiations < 450000, figures
