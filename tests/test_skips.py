"""A skip that is not listed fails in continuous integration."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.skips import ALLOWED, VARIABLE

ROOT = Path(__file__).parents[1]
MODULES = {
    "test_module.py": "import pytest\npytest.importorskip('no_such_package')\ndef test_a() -> None: pass\n",
    "test_call.py": "import pytest\ndef test_a() -> None: pytest.skip('no browser here')\n",
    "test_mark.py": "import pytest\n@pytest.mark.skip(reason='later')\ndef test_a() -> None: pass\n",
    "test_listed.py": "import pytest\ndef test_a() -> None: pytest.skip('no CUDA here')\n",
    "test_expected.py": "import pytest\n@pytest.mark.xfail\ndef test_a() -> None: assert False\n",
    "test_passed.py": "def test_a() -> None: pass\n",
}


@pytest.mark.parametrize(("value", "failed"), [("1", {"test_module", "test_call", "test_mark"}), ("", set())])
def test_only_listed_skips_pass(value: str, failed: set[str], tmp_path: Path) -> None:
    for name, text in MODULES.items():
        (tmp_path / name).write_text(text)
    options = ["-p", "tests.helpers.skips", "-p", "no:cacheprovider", "--continue-on-collection-errors", "-ra", "-q"]
    environment = {VARIABLE: value, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, f"--rootdir={tmp_path}", str(tmp_path)],
        env={**os.environ, **environment}, cwd=tmp_path, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert set(re.findall(r"^(?:FAILED|ERROR) (\w+)\.py", done.stdout, re.MULTILINE)) == failed
    assert bool(done.returncode) is bool(failed), done.stdout


def test_continuous_integration_sets_the_variable_and_the_suite_has_the_hooks() -> None:
    assert f"export {VARIABLE}=1" in (ROOT / ".ci/run").read_text()
    assert "from tests.helpers.skips import" in (ROOT / "tests/conftest.py").read_text()


def test_every_listed_reason_is_one_of_a_test() -> None:
    """A skip that is gone leaves the list."""
    texts = "".join(path.read_text() for path in (ROOT / "tests").rglob("*.py") if path.name != "skips.py")
    for name, word in {
        "{program}": "nginx",
        "{extra!r}": "'cluster'",
        "({platform.machine()}, {own_level})": "(x, y)",
    }.items():
        texts = texts.replace(name, word)
    assert [reason for reason in ALLOWED if not re.search(reason, texts)] == []
