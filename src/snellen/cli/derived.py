"""Command-line options made from the fields of a dataclass (`core.options`)."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from snellen.cli.options import named_paths
from snellen.core.options import Flag, flags_of


def with_options(options_type: type) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Replace a command's parameter `options` by one option per field of the dataclass that has one."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        derived = {name: _parameter(options_type, name, flag) for name, flag in flags_of(options_type).items()}
        own, hints = inspect.signature(command).parameters, get_type_hints(options_type)

        @wraps(command)
        def call(**given: Any) -> Any:
            values = {name: given.pop(name) for name in derived}
            for name, flag in flags_of(options_type).items():
                if hints[name] == Mapping[str, Path]:
                    values[name] = named_paths(f"--{flag.name}", values[name])
            return command(**given, options=options_type(**values))

        parameters = [p for name, p in own.items() for p in (derived.values() if name == "options" else [p])]
        call.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in parameters]
        )
        call.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return call

    return decorate


def _parameter(options_type: type, name: str, flag: Flag) -> inspect.Parameter:
    """The parameter of a command for a field: a list of texts for mappings and sequences."""
    hint, default = get_type_hints(options_type)[name], getattr(options_type(), name)
    if isinstance(default, Mapping | tuple):
        hint, default = list[str], list(default)
    option = typer.Option(f"--{(flag.name or name).replace('_', '-')}", min=flag.least, help=flag.help)
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[hint, option])
