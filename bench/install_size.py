"""What the core takes on disk: its packages and all that they bring along, without bytecode.

    python bench/install_size.py

Taken from the files that each package lists as its own in the environment that runs this, however much more is there;
snellen's are those of the source tree. MB are 10^6 bytes.
"""

from __future__ import annotations

import importlib.metadata
import tomllib
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
LARGE_MB = 20.0


def core() -> set[str]:
    """Names of all packages that `pip install .` brings, on this machine and Python."""
    queue = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    names: set[str] = set()
    while queue:
        requirement = Requirement(queue.pop())
        if requirement.name in names or (requirement.marker and not requirement.marker.evaluate({"extra": ""})):
            continue
        names.add(requirement.name)
        queue += importlib.metadata.requires(requirement.name) or []
    return names


def size_mb(name: str) -> float:
    """Of an installed package, without bytecode."""
    distribution = importlib.metadata.distribution(name)
    files = (Path(str(distribution.locate_file(file))) for file in distribution.files or ())
    return sum(file.stat().st_size for file in files if file.suffix != ".pyc" and file.exists()) / 1e6


def main() -> None:
    """Print a Markdown table."""
    sizes = {importlib.metadata.metadata(name)["Name"]: size_mb(name) for name in core()}
    own = [file for file in (ROOT / "src").rglob("*") if file.is_file() and file.suffix != ".pyc"]
    sizes["snellen"] = sum(file.stat().st_size for file in own) / 1e6
    print("| package | MB |\n|---|---|")
    for name, size in sorted(sizes.items(), key=lambda row: -row[1]):
        if size >= LARGE_MB:
            print(f"| {name} | {size:.0f} |")
    rest = [size for size in sizes.values() if size < LARGE_MB]
    print(f"| {len(rest)} others | {sum(rest):.0f} |\n| all {len(sizes)} | {sum(sizes.values()):.0f} |")


if __name__ == "__main__":
    main()
