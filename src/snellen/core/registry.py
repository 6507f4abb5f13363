"""One lazy registry for suites, subjects and sources: names lead to `module:object`, imported when first asked for."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Generic, TypeVar

from snellen.core.condition import near
from snellen.core.errors import SnellenError

T = TypeVar("T")


class Registry(Generic[T]):
    """Named things of one kind. `entries` lead from a name to `module:object`."""

    def __init__(self, kind: str, entries: dict[str, str]) -> None:
        self.kind, self._targets, self._loaded = kind, dict(entries), dict[str, T]()

    def __iter__(self) -> Iterator[str]:
        return iter(self._targets)

    def add(self, name: str, target: T) -> None:
        """Add a thing of one's own. Raises SnellenError where the name is taken by another."""
        if name in self._targets and self._loaded.get(name) is not target:
            raise SnellenError(f"{self.kind} {name!r} exists already; choose another name")
        self._targets[name], self._loaded[name] = "", target

    def is_packaged(self, name: str) -> bool:
        """Whether the thing of that name came with this package, not by `add`."""
        return bool(self._targets.get(name))

    def get(self, name: str) -> T:
        """The thing. Raises SnellenError with the nearest names where there is none."""
        if name not in self._targets:
            raise SnellenError(f"no {self.kind} {name!r}; {near(name, self._targets)}")
        if name not in self._loaded:
            module, _, attribute = self._targets[name].partition(":")
            self._loaded[name] = getattr(importlib.import_module(module), attribute)
        return self._loaded[name]
