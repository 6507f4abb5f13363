"""Sections: what a suite adds to a report beyond what every suite gets, and the run that they are made from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

import pandas as pd

from snellen.core.response import Response
from snellen.core.storage.itemset import ItemSet
from snellen.core.storage.runfolder import RunCard
from snellen.core.suite import Suite

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


@dataclass(frozen=True)
class ReportSection:
    """One titled block of a report: a note, and a table, a figure or both.

    `name` makes the file names, so it is unique in a suite: small letters, digits and hyphens. `table` is a
    pandas DataFrame whose cells are shown as they are (the index is not), `figure` a matplotlib Figure, or a function
    that draws one when it is wanted; either may be None. A `detail` has its figure drawn in a full
    report only; its table is always there.
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

    `scores` lead from protocol to score rows; `results` hold all scored protocols (`analysis.results`). `inputs` are
    the runs and files by name that the report was given for the suite (`Suite.report_inputs`).
    """

    card: RunCard
    suite: Suite
    items: ItemSet
    responses: tuple[Response, ...]
    scores: Mapping[str, pd.DataFrame]
    results: pd.DataFrame
    roots: tuple[Path, ...] = ()
    inputs: Mapping[str, Path] = field(default_factory=dict)
    _memo: dict[Any, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __repr__(self) -> str:
        return f"<Run {self.suite.name}: {len(self.responses)} responses of {len(self.card.arms)} arms; {self.root}>"

    @property
    def root(self) -> Path:
        """Its folder; of joined runs the first one's."""
        return self.roots[0]


def once_a_run(
    function: Callable[Concatenate[Run, Parameters], Result],
) -> Callable[Concatenate[Run, Parameters], Result]:
    """A function of a run that is worked out once for the same arguments; nobody may alter what comes back.

    Sections ask a run for the same tables many times.
    """

    @wraps(function)
    def remembered(run: Run, /, *arguments: Parameters.args, **names: Parameters.kwargs) -> Result:
        key = function, arguments, tuple(names.items())
        if key not in run._memo:
            run._memo[key] = function(run, *arguments, **names)
        result: Result = run._memo[key]
        return result

    return remembered


def protocol_of(run: Run) -> str:
    """The protocol whose scores sections show: `strict`; where a run was not scored so, the first there is."""
    return "strict" if "strict" in run.scores else next(iter(run.scores))
