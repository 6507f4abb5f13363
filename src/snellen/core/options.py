"""Options that are written once: fields of a dataclass that are options of a command and keywords of a function."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

P = ParamSpec("P")
A = TypeVar("A")
B = TypeVar("B")
Options = TypeVar("Options")
R = TypeVar("R")


@dataclass(frozen=True)
class Flag:
    """The command-line option of a field: its help, its names if they are not the field's, and its range.

    `decides` is false for options on which no answer depends, such as a budget. `form` is how an entry of a mapping is
    written; with `is_list`, several may stand in one text, separated by commas.
    """

    help: str
    names: tuple[str, ...] = ()
    least: int | None = None
    most: int | None = None
    decides: bool = True
    form: str = "NAME=VALUE, each name once"
    is_list: bool = False


def option(default: Any, help: str, *names: str, **about: Any) -> Any:
    """A dataclass field with an option; `about` are further fields of `Flag`. Mutable defaults are copied."""
    metadata = {"flag": Flag(help, names, **about)}
    if isinstance(default, dict | list):
        return field(default_factory=default.copy, metadata=metadata)
    return field(default=default, metadata=metadata)


def flags_of(options_type: type) -> dict[str, Flag]:
    """The options of a dataclass, by the names of their fields."""
    return {each.name: each.metadata["flag"] for each in fields(options_type) if "flag" in each.metadata}


def taking(make: Callable[P, Options]) -> Callable[[Callable[[A, B, Options], R]], Callable[Concatenate[A, B, P], R]]:
    """Give a function of two values and options the fields of the options as arguments, also in its docstring.

    >>> @dataclass(frozen=True, kw_only=True)
    ... class Scale:
    ...     factor: int = 1
    >>> @taking(Scale)
    ... def scaled_sum(first: int, second: int, options: Scale) -> int:
    ...     return options.factor * (first + second)
    >>> scaled_sum(7, 8, factor=2)
    30
    """

    def decorate(function: Callable[[A, B, Options], R]) -> Callable[Concatenate[A, B, P], R]:
        @wraps(function)
        def call(a: A, b: B, /, *args: P.args, **keywords: P.kwargs) -> R:
            return function(a, b, make(*args, **keywords))

        signature = inspect.signature(function)
        own = dict([*signature.parameters.items()][:2])
        derived = [each for name, each in inspect.signature(make).parameters.items() if name not in own]
        call.__signature__ = signature.replace(parameters=[*own.values(), *derived])  # type: ignore[attr-defined]
        if isinstance(make, type):
            lines = [f"{name}: {flag.help}" for name, flag in flags_of(make).items() if name not in own]
            call.__doc__ = re.sub(r"options: .*", "\n        ".join(lines), function.__doc__ or "", count=1)
        return call

    return decorate
