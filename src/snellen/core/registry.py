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
        self.kind, self._places, self._held = kind, dict(entries), dict[str, T]()

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def add(self, name: str, thing: T) -> None:
        """Add a thing of one's own. Raises SnellenError where the name is taken by another."""
        if name in self._places and self._held.get(name) is not thing:
            raise SnellenError(f"{self.kind} {name!r} exists already; choose another name")
        self._places[name], self._held[name] = "", thing

    def get(self, name: str) -> T:
        """The thing. Raises SnellenError with the nearest names where there is none."""
        if name not in self._places:
            raise SnellenError(f"no {self.kind} {name!r}; {near(name, self._places)}")
        if name not in self._held:
            module, _, attribute = self._places[name].partition(":")
            self._held[name] = getattr(importlib.import_module(module), attribute)
        return self._held[name]
