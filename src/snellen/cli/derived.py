"""Command-line options made from the fields of a dataclass (`core.options`)."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from snellen.core.build_options import MAX_SIDE_PX, MIN_SIDE_PX, Balance
from snellen.core.condition import near
from snellen.core.errors import SnellenError
from snellen.core.options import Flag, flags_of

SHAPES = (1.0, 1.8)
"""Least and greatest ratio of width to height of generated images, so that tables of solids have room."""


def with_options(options_type: type, *names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Replace a command's parameter `options` by one option per field of the dataclass that has one, or of `names`."""
    flags = {name: flag for name, flag in flags_of(options_type).items() if not names or name in names}
    hints = get_type_hints(options_type)

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        derived = [_parameter(name, flag, hints[name], getattr(options_type(), name)) for name, flag in flags.items()]
        own = inspect.signature(command).parameters

        @wraps(command)
        def call(**given: Any) -> Any:
            values = {name: _read(name, flag, hints[name], given.pop(name)) for name, flag in flags.items()}
            return command(**given, options=options_type(**values))

        parameters = [p for name, p in own.items() for p in (derived if name == "options" else [p])]
        call.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in parameters]
        )
        call.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return call

    return decorate


def _flag_name(name: str, flag: Flag) -> str:
    return f"--{flag.names[0] if flag.names else name.replace('_', '-')}"


def _parameter(name: str, flag: Flag, hint: Any, default: Any) -> inspect.Parameter:
    """The parameter of a command for a field: a list of texts for mappings and sequences, a text for what is read."""
    if isinstance(default, Mapping | tuple):
        hint, default = list[str], list(default)
    elif hint in READERS:
        hint = str | None
    words = [f"--{word}" for word in flag.names] or [_flag_name(name, flag)]
    option = typer.Option(*words, min=flag.least, max=flag.most, help=flag.help)
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[hint, option])


def _read(name: str, flag: Flag, hint: Any, value: Any) -> Any:
    """The value of a field from what was written."""
    if hint == Mapping[str, str]:
        return pairs(_flag_name(name, flag), value, flag)
    reader = READERS.get(hint)
    return value if reader is None or value is None else reader(_flag_name(name, flag), value)


def named_paths(name: str, written: Sequence[str]) -> dict[str, Path]:
    """Paths by name, from `NAME=PATH`. Raises SnellenError for other forms, repeated names and missing paths."""
    paths: dict[str, Path] = {}
    for pair in written:
        key, equals, path = pair.partition("=")
        if not equals or not key or not path:
            raise SnellenError(f"{name} {pair!r}: write NAME=PATH")
        if not Path(path).exists():
            raise SnellenError(f"{name} {pair!r}: {path} does not exist")
        if key in paths:
            raise SnellenError(f"{name} {pair!r}: {key} is {paths[key]} already; give each name once")
        paths[key] = Path(path)
    return paths


def pairs(name: str, written: Sequence[str], flag: Flag) -> dict[str, str]:
    """Values by name, from `NAME=VALUE`. Raises SnellenError for other forms and repeated names."""
    values: dict[str, str] = {}
    texts = (",".join(written).split(",") if flag.is_list else written) if written else ()
    for pair in texts:
        key, equals, value = (text.strip() for text in pair.partition("="))
        if not equals or not key or key in values:
            raise SnellenError(f"{name} {pair!r}: write {flag.form}")
        values[key] = value
    return values


def read_balance(name: str, written: str) -> Balance:
    """Answer frequencies. Recipes record `uniform` as "answers", its former name, which is still accepted."""
    if written not in ("paper", "uniform", "answers"):
        raise SnellenError(f"{name} {written!r}: {near(written, ['paper', 'uniform'])}")
    return "paper" if written == "paper" else "answers"


def read_size(name: str, written: str) -> tuple[int, int]:
    """Width and height of `640x480`. Raises SnellenError for a size in which scenes have no room."""
    sides = written.split("x")
    if len(sides) != 2 or not all(side.isascii() and side.isdigit() and len(side) < 6 for side in sides):
        raise SnellenError(f"{name} {written!r}: write WIDTHxHEIGHT in pixels, e.g. 640x480")
    width, height = map(int, sides)
    if not all(MIN_SIDE_PX <= side <= MAX_SIDE_PX for side in (width, height)):
        raise SnellenError(f"{name} {written!r}: each side must have {MIN_SIDE_PX} to {MAX_SIDE_PX} pixels")
    if not SHAPES[0] <= width / height <= SHAPES[1]:
        raise SnellenError(f"{name} {written!r}: the width must be 1 to 1.8 times the height, since scenes need room")
    return width, height


READERS: Mapping[Any, Callable[[str, Any], Any]] = {
    str | Path | None: lambda name, written: written,
    Mapping[str, Path]: named_paths, tuple[int, int] | None: read_size, Balance | None: read_balance,
}  # fmt: skip
"""How the values of fields are read that are not written as themselves."""
