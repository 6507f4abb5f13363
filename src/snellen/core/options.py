"""Options that are written once: fields of a dataclass that are options of a command and keywords of a function."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

P = ParamSpec("P")
A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
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


def taking(
    make_options: Callable[P, Options],
) -> Callable[[Callable[[A, B, C, Options], R]], Callable[Concatenate[A, B, C, P], R]]:
    """Give a function of three values and options the fields of the options as keywords.

    >>> @dataclass(frozen=True, kw_only=True)
    ... class Place:
    ...     limit: int = 3
    >>> @taking(Place)
    ... def last(first: int, second: int, third: int, options: Place) -> int:
    ...     return [first, second, third][options.limit - 1]
    >>> last(7, 8, 9, limit=2)
    8
    """

    def decorate(function: Callable[[A, B, C, Options], R]) -> Callable[Concatenate[A, B, C, P], R]:
        @wraps(function)
        def call(a: A, b: B, c: C, /, *args: P.args, **keywords: P.kwargs) -> R:
            return function(a, b, c, make_options(*args, **keywords))

        own = [*inspect.signature(function).parameters.values()][:3]
        call.__signature__ = inspect.signature(function).replace(  # type: ignore[attr-defined]
            parameters=[*own, *inspect.signature(make_options).parameters.values()]
        )
        return call

    return decorate
