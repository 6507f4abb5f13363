"""Writes requirements.txt and requirements-docs.txt: every package of `make env` and `make docs`, with its hashes.

    make env && .venv/bin/python scripts/lock.py

Versions are those of `constraints.txt`; what it lacks gets the newest version, and is added to it. uv finds out which
packages each supported system and version of Python needs, and takes the SHA-256 of all files of a release from the
index, so that one file holds for all of them. torch and its libraries for GPUs are left out: design/dependencies.md,
Decisions.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sysconfig
import tempfile
from importlib.metadata import requires
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CONSTRAINTS = ROOT / "constraints.txt"
UV = Path(sysconfig.get_path("scripts"), "uv")
LEAST_PYTHON, FIRST_UNSUPPORTED_PYTHON = "3.11.5", "3.15"
"""soupsieve needs 3.11.5; torch has no build for 3.15."""
SYSTEMS = ("linux", "darwin")
BUILD = "hatchling\neditables\n"
"""What an editable installation needs beside pip."""
FILES = {"requirements.txt": ("all", "dev"), "requirements-docs.txt": ("docs",)}
"""Extras in each file."""


def project() -> str:
    """Our pyproject.toml with the systems to lock for, and with torch as if it needed no libraries for GPUs."""
    version = re.search(r"^torch==(\S+)$", CONSTRAINTS.read_text(), re.MULTILINE)
    assert version is not None
    needed = [line for line in requires("torch") or () if ";" not in line]
    environments = [f"sys_platform == '{name}' and python_version < '{FIRST_UNSUPPORTED_PYTHON}'" for name in SYSTEMS]
    return f"""{(ROOT / "pyproject.toml").read_text()}
[tool.uv]
environments = {environments}

[[tool.uv.dependency-metadata]]
name = "torch"
version = "{version[1]}"
requires-dist = {needed}
"""


def locked(folder: Path, extras: tuple[str, ...]) -> str:
    """The requirements of these extras, with the hashes of all files."""
    (folder / "pyproject.toml").write_text(project())
    (folder / "build.in").write_text(BUILD)
    words = ["pip", "compile", "pyproject.toml", "build.in", "--universal", "--python-version", LEAST_PYTHON, "--quiet"]
    words += ["--generate-hashes", "--constraint", str(CONSTRAINTS), "--no-emit-package", "torch", "--no-header"]
    words += [word for extra in extras for word in ("--extra", extra)]
    done = subprocess.run([UV, *words, "--no-annotate"], cwd=folder, check=True, capture_output=True, text=True)
    return re.sub(r" ; ([^\\\n]*)", _marker, done.stdout)


def _marker(match: re.Match[str]) -> str:
    """A condition without what holds on every system that is locked for."""
    everywhere = (
        f"python_full_version < '{FIRST_UNSUPPORTED_PYTHON}'",
        "(sys_platform == 'darwin' or sys_platform == 'linux')",
    )
    rest = [part for part in match[1].strip().split(" and ") if part not in everywhere]
    condition = " and ".join(rest)
    return f" ; {condition} " if rest and condition.count("(") == condition.count(")") else "" if not rest else match[0]


def add_pins(text: str) -> None:
    """Add the versions of locked packages that constraints.txt lacks."""
    head, *pins = CONSTRAINTS.read_text().splitlines()
    names = {_name(pin) for pin in pins}
    pins += [pin for pin in re.findall(r"^[^\s#]+==[^\s\\;]+", text, re.MULTILINE) if _name(pin) not in names]
    CONSTRAINTS.write_text("\n".join([head, *sorted(pins, key=str.lower)]) + "\n")


def _name(pin: str) -> str:
    return re.sub(r"[-_.]+", "-", pin.partition("==")[0]).lower()


def main() -> None:
    """Write both files, and the pins that were missing."""
    for name, extras in FILES.items():
        with tempfile.TemporaryDirectory() as scratch:
            for needed in ("README.md", "LICENSE"):
                shutil.copy(ROOT / needed, scratch)
            text = locked(Path(scratch), extras)
        head = f"# Written by scripts/lock.py from constraints.txt and the extras {', '.join(extras)}; do not edit.\n"
        (ROOT / name).write_text(head + text)
        add_pins(text)


if __name__ == "__main__":
    main()
