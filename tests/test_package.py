"""The wheel has all files of the source tree, and installs no tests."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from snellen.web.lock import read_lock

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "snellen"


@pytest.mark.slow
def test_the_wheel_has_every_file_of_the_package(tmp_path: Path) -> None:
    """Built as by users (hatchling comes from the index): YAML, CSS, templates, arrays and web parts too."""
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(tmp_path), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (wheel,) = tmp_path.glob("snellen-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if ".dist-info/" not in name}
        commands = archive.read(next(name for name in archive.namelist() if name.endswith("entry_points.txt")))
    tree = {
        path.relative_to(PACKAGE.parent).as_posix()
        for path in PACKAGE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert {Path(name).suffix for name in tree} >= {".css", ".j2", ".js", ".npz", ".yaml", ".lock", ".typed"}
    web_parts = {f"snellen/web/vendor/{path}" for package in read_lock() for path in package.paths}
    assert packed == tree | web_parts | {"snellen/web/vendor/web.lock"}
    assert b"snellen = snellen.cli:main" in commands
