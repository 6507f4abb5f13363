"""Packages that only some installations have."""

from __future__ import annotations

from importlib.util import find_spec

import pytest


def need(package: str, extra: str) -> None:
    """Skip a test module if the package is missing, without importing it, which may take seconds."""
    if find_spec(package) is None:
        pytest.skip(f"the extra {extra!r} is not installed", allow_module_level=True)
