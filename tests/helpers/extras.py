"""Packages that only some installations have, and modules that take long to import."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

import pytest


def need(package: str, extra: str) -> None:
    """Skip a test module if the package is missing, without importing it, which may take seconds."""
    if find_spec(package) is None:
        pytest.skip(f"the extra {extra!r} is not installed", allow_module_level=True)


def lazy_module(name: str) -> Any:
    """A module that is imported when a test first uses it: collecting tests imports no torch."""
    need("torch", "models")
    need("transformers", "models")
    return LazyModule(name)


class LazyModule:
    """The attributes of a module, which is imported for the first of them."""

    def __init__(self, name: str) -> None:
        self.module_name = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # pytest looks whether it is a fixture or a mock
            raise AttributeError(name)
        return getattr(import_module(self.module_name), name)
