"""Packages that only some installations have."""

from __future__ import annotations

from importlib.util import find_spec

import pytest


def need(package: str, extra: str) -> None:
    """Skip a module of tests without the package; it is not imported, which may take seconds, until a test does."""
    if find_spec(package) is None:
        pytest.skip(f"the extra {extra!r} is not installed", allow_module_level=True)
