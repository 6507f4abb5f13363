"""Report sections that a suite adds, and the run that they are made from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

import pandas as pd

from snellen.core.response import Response
from snellen.core.storage.item_rows import FROM_PIXELS
from snellen.core.storage.itemset import ItemSet
from snellen.core.storage.runfolder import RunCard, same_items, same_rows
from snellen.core.suite import Suite

NOT_COMPARABLE = "Not comparable with"
"""Words of a note on a released set whose items are not those of the paper's numbers."""
Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


@dataclass(frozen=True)
class ReportSection:
    """One titled block of a report: a note, and a table, a figure or both.

    `name` is used in file names, so it is unique in a suite: lower-case letters, digits and hyphens. `table` is a
    pandas DataFrame whose cells are shown unchanged (without the index), `figure` a matplotlib Figure, or a function
    that draws one on demand; either may be None. The figure of a `detail` is drawn in a full report only; its table is
    always shown.
    """

    title: str
    note: str
    table: Any
    figure: Any
    name: str
    detail: bool = False


@dataclass(frozen=True)
class Run:
    """A scored run with its items, or several runs about one item set joined (`roots` are all their folders).

    `scores` are score rows by protocol; `results` hold all scored protocols (`analysis.grading.results`). `inputs` are
    the runs and files by name that were passed to the report for the suite (`Suite.report_inputs`). `unpooled` is the
    run in which each person is a subject, of a run whose people are one (`analysis.studies.people.pooled`).
    """

    card: RunCard
    suite: Suite
    items: ItemSet
    responses: tuple[Response, ...]
    scores: Mapping[str, pd.DataFrame]
    results: pd.DataFrame
    roots: tuple[Path, ...] = ()
    inputs: Mapping[str, Path] = field(default_factory=dict)
    unpooled: Run | None = None
    _memo: dict[Any, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __repr__(self) -> str:
        return f"<Run {self.suite.name}: {len(self.responses)} responses of {len(self.card.arms)} arms; {self.root}>"

    @property
    def root(self) -> Path:
        """The folder of the run; of joined runs the first one's."""
        return self.roots[0]

    def has_items_of(self, run: Run) -> bool:
        """True if both asked the same items, also in every instalment that both have: their cards agree in any case.

        Cards may be forged: if their images differ, the test items are compared, too; a grown set has more of them.
        """
        instalments = zip(self.items.card.instalments, run.items.card.instalments, strict=False)
        are_same = same_items(self.card, run.card) and all(same_rows(*pair) for pair in instalments)
        if not are_same or self.items is run.items or self.has_images_of(run):
            return are_same
        fewer, more = sorted((_questions(self.items), _questions(run.items)), key=len)
        return fewer.items() <= more.items()

    def has_images_of(self, run: Run) -> bool:
        """True if the rows that both have are the same, with the same files of images."""
        lists = [each.items.card.instalments or (each.card,) for each in (self, run)]
        return all(first.content_hash == second.content_hash for first, second in zip(*lists, strict=False))


def _questions(items: ItemSet) -> dict[str, tuple[Any, ...]]:
    """The question, options and answer of each test item; no answer that was measured in the pixels of its image."""
    return {
        item.item_id: (
            item.task, item.question, [(option.key, option.text) for option in item.options],
            None if "answer" in item.provenance.get(FROM_PIXELS, ()) else item.answer,
        )
        for item in items.items if item.split == "test"
    }  # fmt: skip


def once_a_run(
    function: Callable[Concatenate[Run, Parameters], Result],
) -> Callable[Concatenate[Run, Parameters], Result]:
    """Decorator: cache a function of a run by its arguments. Callers must not modify the result."""

    @wraps(function)
    def remembered(run: Run, /, *arguments: Parameters.args, **names: Parameters.kwargs) -> Result:
        key = function, arguments, tuple(names.items())
        if key not in run._memo:
            run._memo[key] = function(run, *arguments, **names)
        result: Result = run._memo[key]
        return result

    return remembered


def has_paper_images(run: Run) -> bool:
    """True if the items of a run are those released with the paper, which its printed numbers are about."""
    card = run.items.card
    return card.source == "released" and not any(NOT_COMPARABLE in note for note in card.notes)


def protocol_of(run: Run) -> str:
    """The protocol whose scores sections show: `strict`, or the first if the run was not scored by it."""
    return "strict" if "strict" in run.scores else next(iter(run.scores))
