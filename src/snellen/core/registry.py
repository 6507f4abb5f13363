"""A lazy registry for suites, subjects and sources: names of `module:object`, imported at first use."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from functools import cached_property
from importlib.util import find_spec
from typing import TYPE_CHECKING, Generic, TypeVar

from snellen.core.condition import near
from snellen.core.errors import SnellenError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

T = TypeVar("T")


def own_entries(group: str, prefix: str = "") -> dict[str, str]:
    """Entry points of this package in a group: `module:object` by what follows the prefix, without absent folders."""
    entries = importlib.import_module("snellen").ENTRY_POINTS.get(group, {})  # the core imports nothing above
    present = {name: target for name, target in entries.items() if find_spec(".".join(target.split(".")[:2]))}
    return {name.removeprefix(prefix): target for name, target in present.items() if name.startswith(prefix)}


class Registry(Generic[T]):
    """Named objects of one kind. `entries` maps each name to `module:object`.

    Other installed packages may add more as entry points of `group`. They are looked up only to list names or to find
    a name that is not in `entries`, and never replace an entry.
    """

    def __init__(self, kind: str, entries: dict[str, str], *, group: str = "", type_: type | None = None) -> None:
        self.kind, self._targets, self._loaded = kind, dict(entries), dict[str, T]()
        self._group, self._type = group, type_

    def __contains__(self, name: object) -> bool:
        return name in self._targets or name in self._entry_points

    def __iter__(self) -> Iterator[str]:
        return iter([*self._targets, *(name for name in self._entry_points if name not in self._targets)])

    @cached_property
    def _entry_points(self) -> Mapping[str, EntryPoint]:
        if not self._group:
            return {}
        from importlib.metadata import EntryPoint, entry_points

        points = [point for point in entry_points(group=self._group) if not point.module.startswith("snellen.")]
        own = [EntryPoint(name, target, self._group) for name, target in own_entries(self._group).items()]
        return {point.name: point for point in (*points, *own)}

    def add(self, name: str, target: T) -> None:
        """Register an object. Raises SnellenError if the name belongs to another one."""
        if name in self and self._loaded.get(name) is not target:
            raise SnellenError(f"{self.kind} {name!r} exists already; choose another name")
        self._targets[name], self._loaded[name] = "", target

    def is_packaged(self, name: str) -> bool:
        """True if the object comes with this package, not by `add` or from another package."""
        return bool(self._targets.get(name))

    def get(self, name: str) -> T:
        """The object of this name. Raises SnellenError for an unknown name, with the nearest, or a failed import."""
        if name not in self._loaded:
            if target := self._targets.get(name):
                module, _, attribute = target.partition(":")
                self._loaded[name] = getattr(importlib.import_module(module), attribute)
            elif point := self._entry_points.get(name):
                self._loaded[name] = self._load(point)
            else:
                raise SnellenError(f"no {self.kind} {name!r}; {near(name, self)}")
        return self._loaded[name]

    def _load(self, point: EntryPoint) -> T:
        """The object of an entry point. Errors name the package that provides it."""
        package = f"{self.kind} {point.name!r} of the package {point.dist.name if point.dist else point.module!r}"
        try:
            target: T = point.load()
        except Exception as error:  # code of another package runs
            raise SnellenError(
                f"{package} cannot be imported: {type(error).__name__}: {error}; fix or uninstall it"
            ) from error
        if self._type is not None and not isinstance(target, self._type):
            raise SnellenError(
                f"{package} is a {type(target).__name__}, not a {self._type.__name__}; fix its entry point"
            )
        if (name := getattr(target, "name", point.name)) != point.name:
            raise SnellenError(f"{package} calls itself {name!r}; give its entry point that name")
        return target
