"""`import snellen` and `snellen --help` stay light: heavy packages are imported only when used."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys

import pytest

from tests.conftest import COLLECTED

HEAVY = (
    "av", "datasets", "drjit", "fastapi", "httpx", "inspect_ai", "matplotlib", "mitsuba", "onnx", "onnxruntime",
    "pandas", "pyarrow", "scipy", "skimage", "sklearn", "torch", "transformers",
)  # fmt: skip
STARTS = {
    "import": "import snellen",
    "help": "import sys; sys.argv = ['snellen', '--help']; from snellen.cli import main; main()",
}


def start(code: str) -> tuple[str, float]:
    """The output of a fresh interpreter, and its seconds of CPU time."""
    before = os.times()
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    after = os.times()
    spent = after.children_user + after.children_system - before.children_user - before.children_system
    return done.stdout, spent


def need(name: str) -> str:
    """The code of a start, by its name; skips without a command line."""
    if name == "help" and importlib.util.find_spec("snellen.cli") is None:
        pytest.skip("no command line yet")
    return STARTS[name]


@pytest.mark.parametrize("name", STARTS)
def test_nothing_heavy_is_imported(name: str) -> None:
    code = f"""
import atexit, sys
atexit.register(lambda: print("loaded:", *sorted(set(sys.modules) & set({HEAVY!r}))))
{need(name)}
"""
    printed, _ = start(code)
    assert printed.splitlines()[-1] == "loaded:"


def test_collecting_tests_imports_no_torch(pytestconfig: pytest.Config) -> None:
    """It takes seconds in each process that runs tests; `tests.helpers.extras.lazy_module` imports it at first use."""
    assert not {"torch", "transformers"} & pytestconfig.stash[COLLECTED]


@pytest.mark.slow
@pytest.mark.parametrize("name", STARTS)
def test_starts_within_a_third_of_a_second(name: str) -> None:
    code = need(name)
    assert min(start(code)[1] for _ in range(5)) < 0.3
