"""Versions of software that may change answers or numbers."""

from __future__ import annotations

import functools
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from snellen.core.storage.trees import tree_digest

PARSER = "parser"
RECORDED = (
    "snellen",
    "numpy",
    "pandas",
    "pyarrow",
    "pillow",
    "scikit-learn",
    "onnxruntime",
    "torch",
    "transformers",
    "inspect_ai",
    "httpx",
    "mitsuba",
)


def versions() -> dict[str, str]:
    """Versions of Python and of the installed packages in `RECORDED`, by name; a digest of the parser of replies."""
    return dict(_versions())


@functools.cache
def _versions() -> dict[str, str]:
    installed = {"python": sys.version.split()[0]}
    for name in RECORDED:
        try:
            installed[name] = version(name)
        except PackageNotFoundError:
            continue
    return installed | {PARSER: tree_digest(Path(__file__).parents[2] / "scoring" / "answers")[:16]}
