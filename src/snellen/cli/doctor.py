"""`snellen doctor`: what works here, in words."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

import typer

from snellen.cli.machine import Library, Machine, Trial, examine_machine, library_problems
from snellen.cli.output import print_json

WIDTH = 80
LABEL = 12
GB = 10**9


@dataclass(frozen=True)
class Finding:
    """One line: `ok`, `--` (not there, and nothing but some commands needs it) or `NO`; a command that mends it."""

    mark: str
    label: str
    text: str
    command: str = ""

    def __str__(self) -> str:
        margin = " " * (LABEL + 4)
        text = textwrap.fill(
            self.text, WIDTH, initial_indent=f"{self.mark:<4}{self.label:<{LABEL}}", subsequent_indent=margin,
            break_on_hyphens=False, break_long_words=False,
        )  # fmt: skip
        text = text.replace("\N{NO-BREAK SPACE}", " ")
        return f"{text}\n{margin}{self.command}" if self.command else text


def doctor(trials: bool, as_json: bool) -> None:
    """Print it; exit code 1 where the core does not work."""
    machine = examine_machine(trials=trials)
    if as_json:
        print_json({"works": machine.works} | asdict(machine))
    else:
        print(f"snellen {machine.snellen}, Python {machine.python}, {machine.system}\n")
        for finding in findings(machine):
            print(finding)
        print(f"\n{verdict(machine)}")
    if not machine.works:
        raise typer.Exit(1)


def verdict(machine: Machine) -> str:
    """The last line: whether the core works, and what is wrong with it."""
    if machine.works:
        return "The core works."
    return "\n".join(["The core does not work:", *(f"  {problem}" for problem in machine.core_problems)])


def findings(machine: Machine) -> Iterator[Finding]:
    """Core and disk first, then extras, then what they stand on."""
    yield Finding("NO" if library_problems(machine.core) else "ok", "core", _versions(machine.core))
    place = machine.home
    space = f"{place.path}: {place.free_bytes / GB:.1f} GB free, {place.problem or 'can be written to'}"
    yield Finding("NO" if place.problem else "ok", "home", space)
    for name, extra in machine.extras.items():
        if extra.installed:
            yield Finding("ok", name, _versions(extra.libraries))
        else:
            yield Finding("--", name, "; ".join(library_problems(extra.libraries)), extra.install)
    yield _tried("renderer", machine.renderer, "not tried; --renderer toy needs nothing")
    yield _tried("GPU", machine.gpu, "not tried")
    yield Finding("ok" if machine.browser else "--", "browser", machine.browser or "no Chromium (Debian: chromium)")
    parts = machine.web_parts
    yield Finding(
        "ok" if parts else "--", "web parts", parts or "not fetched yet", "" if parts else "python -m snellen.web.lock"
    )
    names = f"{', '.join(machine.keys)} (not tried)" if machine.keys else "no variable *_API_KEY or HF_TOKEN is set"
    yield Finding("ok" if machine.keys else "--", "keys", names)
    size = f"{machine.cores} cores, {machine.memory_bytes / GB:.1f} GB of memory"
    yield Finding("ok", "machine", f"{size}; {machine.dispatch}")


def _tried(label: str, trial: Trial | None, otherwise: str) -> Finding:
    if trial is None:
        return Finding("--", label, otherwise)
    return Finding("ok" if trial.works else "--", label, trial.text)


def _versions(libraries: Sequence[Library]) -> str:
    return ", ".join(f"{library.name}\N{NO-BREAK SPACE}{library.version or 'missing'}" for library in libraries)
