"""Names of packages, and objects by name, imported at first use."""

import importlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any


def lazy_names(package: str, modules: Mapping[str, str]) -> Callable[[str], Any]:
    """A `__getattr__` for a package that imports each name from its module in `modules`."""

    def __getattr__(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(modules[name]), name)

    return __getattr__


class LazyObjects(Mapping[str, Any]):
    """Objects by name, each imported from `module:NAME` when it is first asked for; an instance is made of a class.

    >>> LazyObjects(error="snellen.core.errors:SnellenError")["error"]
    SnellenError()
    """

    def __init__(self, **paths: str) -> None:
        self._paths = paths

    def __getitem__(self, name: str) -> Any:
        found = imported(self._paths[name])
        return found() if isinstance(found, type) else found

    def __iter__(self) -> Iterator[str]:
        return iter(self._paths)

    def __len__(self) -> int:
        return len(self._paths)


def lazy_function(path: str) -> Callable[..., Any]:
    """A function that imports the one at `module:NAME` when it is called.

    >>> lazy_function("math:sqrt")(4)
    2.0
    """
    return lambda *arguments: imported(path)(*arguments)


def imported(path: str) -> Any:
    """The object at `module:NAME`."""
    module, _, name = path.partition(":")
    return getattr(importlib.import_module(module), name)
