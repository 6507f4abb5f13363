"""Pieces: what a suite adds to a report beyond what every suite gets."""

from __future__ import annotations

import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from snellen.core.itemset import ItemSet
from snellen.core.response import Response
from snellen.core.runfolder import RunCard

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class ReportSection:
    """One titled block of a report: a note, and a table, a figure or both.

    `name` makes the file names, so it is unique in a suite: small letters, digits and hyphens. `table` is a pandas
    DataFrame whose cells are shown as they are (the index is not), `figure` a matplotlib Figure, or a function that
    draws one when it is wanted. A `detail` has its figure drawn in a full report only; its table is always there.
    """

    title: str
    note: str
    table: Any
    figure: Any
    name: str
    detail: bool = False


class Run(typing.Protocol):
    """What a report knows of a run (or of several about one item set) when it asks a suite for its pieces."""

    @property
    def roots(self) -> Sequence[Path]:
        """Its folder, or all of theirs."""
        ...

    @property
    def card(self) -> RunCard:
        """Its card, with the arms."""
        ...

    @property
    def items(self) -> ItemSet:
        """What was asked."""
        ...

    @property
    def responses(self) -> Sequence[Response]:
        """What came back."""
        ...

    @property
    def scores(self) -> Mapping[str, pd.DataFrame]:
        """Score rows by protocol."""
        ...

    @property
    def results(self) -> pd.DataFrame:
        """Scores put together."""
        ...

    @property
    def inputs(self) -> Mapping[str, Path]:
        """What the report was given for the suite (`Suite.report_inputs`): runs and files by name."""
        ...


def protocol_of(run: Run) -> str:
    """The protocol whose scores pieces show: `strict`; where a run was not scored so, the first there is."""
    return "strict" if "strict" in run.scores else next(iter(run.scores))


def fakes_last(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows of examined subjects before those of simulated observers, else in their order."""
    import pandas as pd

    fake = rows["subject"].str.startswith("fake:").to_numpy(bool)
    return pd.concat([rows[~fake], rows[fake]])
