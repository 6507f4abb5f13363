"""Options of a run and of a checkup: options of the commands, and for a run also keywords of `snellen.run`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any

from snellen.core.options import flags_of, option

MAX_ITEMS = 240
"""The most items asked of a task until it is decided, if no other number is given."""


@dataclass(frozen=True)
class RunOptions:
    """How subjects are asked. `inputs` are annotation tables that some conditions use, by name."""

    out: str | Path | None = option(None, "Run folder. An existing run is resumed.", decides=False)
    _: KW_ONLY
    conditions: Sequence[str] = option(
        ("vanilla",), "Condition, e.g. images=none; shots=0..5 is expanded. Repeatable.", "condition"
    )
    limit: int | None = option(None, "Use only the first N test items per task.", least=1)
    repeats: int = option(1, "Number of times that each question is asked.", least=1)
    inputs: Mapping[str, Path] = option(
        {}, "NAME=RUN or NAME=FILE: a table that a condition uses, e.g. boxes=RUN.", "input"
    )
    budget: float | None = option(
        None,
        "Maximum cost of this run folder; stop before it is exceeded (needs ?price_in=…&price_out=…).",
        decides=False,
    )
    keep_going: bool = option(False, "Continue even if more than half of a subject's calls fail.", decides=False)
    until_decided: bool = option(False, "Ask each task only until it is decided whether it gets beyond guessing.")
    max_items: int = option(MAX_ITEMS, "Most items asked of a task with --until-decided.", least=1)
    seed: int = option(0, "Random seed.")
    show_progress: bool = True

    def deciding(self) -> dict[str, Any]:
        """Those options that decide about the answers, as plain data, without `inputs`, whose content counts."""
        names = [name for name, flag in flags_of(RunOptions).items() if flag.decides and name != "inputs"]
        return {name: getattr(self, name) for name in names} | {"conditions": list(self.conditions)}


@dataclass(frozen=True)
class CheckupOptions:
    """Options of `snellen checkup`."""

    out: Path = option(Path("checkup"), "Folder for items, run and report.")
    quick: bool = option(False, "Fewer and smaller images.")
    fresh: bool = option(False, "Render new item sets from a new seed.")
    more: bool = option(False, "Ask more items for about 3 minutes to decide more scores.")
    renderer: str = option("mitsuba", "mitsuba, or toy (flat shading, for quick tests).")
    quality: str = option("fast", "Rendering quality of mitsuba: fast, good or reference.")
    workers: int = 2
    show_progress: bool = True
