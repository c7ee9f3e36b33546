"""The mutants (tests/fault): the text that each mutant changes occurs exactly once, and the tests that must fail for it exist."""
import importlib.machinery
import importlib.util

import pytest

from groundwork.servers import ROOT


def load(name):
    loader = importlib.machinery.SourceFileLoader(name.replace("-", "_"), str(ROOT / "tests/fault" / name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module.MUTANTS


CHECKS = {name: ([(path, text)], tests) for name, (path, text, _, tests) in load("mutants").items()}
GUARANTEES = {name: ([change[:2] for change in changes], how) for name, (changes, how) in load("runner-mutants").items()}


@pytest.mark.parametrize("name", [*CHECKS, *GUARANTEES])
def test_a_mutant_finds_its_place(name):
    places, tests = {**CHECKS, **GUARANTEES}[name]
    for path, text in places:
        assert (ROOT / path).exists(), f"{path} is gone"
        assert (ROOT / path).read_text().count(text) == 1, f"{path}: {text}"
    for test in tests.split() if isinstance(tests, str) else []:
        path, _, function = test.partition("::")
        assert f"def {function}" in (ROOT / "tests/flow" / path).read_text()
