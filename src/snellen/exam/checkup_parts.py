"""Parts of a checkup that other packages add: models that they bring, with questions that these have learnt."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from snellen.core.build_options import BuildOptions
from snellen.core.registry import Registry
from snellen.core.storage.itemset import read_itemset
from snellen.core.storage.itemset_cards import is_itemset
from snellen.core.subject import Subject
from snellen.exam.examination import Examination
from snellen.exam.items import build
from snellen.exam.run import run
from snellen.runs.planning.options import CheckupOptions
from snellen.suites import SUITES

SUITE, QUICK_COUNT, COUNT = "questions", 12, 48
"""The suite that asks the questions, and how many there are of each ability."""


@dataclass(frozen=True)
class CheckupPart:
    """Subjects, and a function that writes so many questions of each ability into a folder; it returns their table.

    `suites` are those that the subjects are asked, too.
    """

    subjects: tuple[str, ...]
    write_table: Callable[[Path, int], Path]
    suites: tuple[str, ...] = ()


PARTS: Registry[CheckupPart] = Registry("part of a checkup", {}, group="snellen.checkup", type_=CheckupPart)


def installed_part() -> CheckupPart | None:
    """The first part of an installed package that has subjects."""
    return next((part for part in map(PARTS.get, PARTS) if part.subjects), None)


def examine_part(part: CheckupPart, subjects: Sequence[str | Subject], options: CheckupOptions) -> Examination:
    """Build the part's questions unless they are there, and ask the subjects all of them."""
    root = options.out / "items" / SUITE
    if not is_itemset(root):
        with tempfile.TemporaryDirectory(prefix="snellen-") as folder:
            table = part.write_table(Path(folder) / "table", QUICK_COUNT if options.quick else COUNT)
            built = BuildOptions(
                root, sources={"table": table}, columns={"factors": "colour"}, workers=1, show_progress=False
            )
            build(SUITES.get(SUITE), "table", built)
    return run(read_itemset(root), subjects, options.out / "run" / SUITE, show_progress=False)
