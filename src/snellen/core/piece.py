"""Pieces: what a suite adds to a report beyond what every suite gets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Piece:
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
