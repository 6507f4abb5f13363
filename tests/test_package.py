"""The wheel has all files of the source tree, and installs no tests."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging.utils import canonicalize_name

from snellen.web.lock import read_lock

UNLOCKED = {"torch"}
"""It has other files for every kind of GPU."""
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
        (sbom,) = [json.loads(archive.read(name)) for name in archive.namelist() if "/sboms/" in name]
        commands = archive.read(next(name for name in archive.namelist() if name.endswith("entry_points.txt")))
    tree = {
        path.relative_to(package.parent).as_posix()
        for package in (PACKAGE, ROOT / "packages" / "sight" / "src" / "snellen_sight")
        for path in package.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert {Path(name).suffix for name in tree} >= {".css", ".j2", ".js", ".npz", ".yaml", ".lock", ".typed"}
    web_parts = {f"snellen/web/vendor/{path}" for package in read_lock() for path in package.paths}
    assert packed == tree | web_parts | {"snellen/web/vendor/web.lock"}
    assert b"snellen = snellen.cli:main" in commands
    assert (sbom["bomFormat"], sbom["specVersion"], sbom["metadata"]["component"]["name"]) == (
        "CycloneDX",
        "1.6",
        "snellen",
    )
    purls = [component["purl"] for component in sbom["components"]]
    assert {f"pkg:npm/{package.name.replace('@', '%40')}@{package.version}" for package in read_lock()} <= set(purls)
    assert {"pkg:pypi/numpy", "pkg:pypi/torch"} <= {purl.rpartition("@")[0] for purl in purls}
    assert len(set(purls)) == len(purls)


def test_the_locked_packages_are_those_of_the_constraints() -> None:
    """So that `make env` installs what CI tested, and no file that differs from the one locked."""
    pins = dict(line.split("==") for line in (ROOT / "constraints.txt").read_text().splitlines() if "==" in line)
    versions = {canonicalize_name(name): version for name, version in pins.items()}
    locked: dict[str, str] = {}
    for file in ("requirements.txt", "requirements-docs.txt"):
        for entry in (ROOT / file).read_text().replace("\\\n", " ").splitlines():
            if entry.startswith("#"):
                continue
            requirement, *hashes = entry.split("--hash=")
            name, _, version = requirement.partition(";")[0].strip().partition("==")
            assert hashes, name
            assert all(re.fullmatch(r"sha256:[0-9a-f]{64}\s*", text) for text in hashes), name
            locked[canonicalize_name(name)] = version
    assert locked.items() <= versions.items()
    assert set(versions) - set(locked) == UNLOCKED


def test_the_version_is_stated_once_for_each_reader() -> None:
    """In pyproject.toml; the citation file and the changelog follow, and every folder of packages/ has the same."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text()
    assert re.findall(r"^## \[(\d.*?)\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)[0] == version
    stated = re.compile(r'^__version__ = "(.*)"$', re.MULTILINE)  # which the package's own pyproject.toml reads
    others = [stated.findall(path.read_text()) for path in ROOT.glob("packages/*/src/*/__init__.py")]
    assert others == [[version]] * len(others)
