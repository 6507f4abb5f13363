"""Scores of a run made again: under a protocol, in another unit of boxes, or after a kill."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from snellen.core.box_units import BOX_UNITS, FRACTIONS
from snellen.core.condition import refuse_unknown
from snellen.core.errors import SnellenError
from snellen.core.storage.itemset import ItemSet
from snellen.core.storage.trees import refuse_links
from snellen.core.suite import Suite
from snellen.exam.examination import open_examination
from snellen.runs.asking.replay import is_behind, replay
from snellen.runs.scores.box_units import read_box_units, set_box_unit
from snellen.runs.scores.judgements import scores_of
from snellen.runs.scores.score import score_paths, write_scores
from snellen.runs.scores.unread import with_judged_reading
from snellen.runs.sets.gate import open_run_items

if TYPE_CHECKING:
    import pandas as pd


def rescore(root: Path, items: ItemSet, suite: Suite, protocol: str) -> pd.DataFrame:
    """Score all responses of a run under a protocol (`scores_of`), and write the table."""
    scores = scores_of(root, items, suite, protocol)
    write_scores(root, scores, protocol)
    return scores


def rescore_all(root: Path, items: ItemSet, suite: Suite) -> None:
    """Score all responses of a run by `strict` and under every protocol that was scored before."""
    suite = with_judged_reading(suite)
    for protocol in dict.fromkeys(["strict", *score_paths(root)]):
        rescore(root, items, suite, protocol)


def score_boxes_in(root: Path, unit: str, subject: str | None = None) -> None:
    """Read the boxes of a subject in another unit from now on, and score the run again.

    Without a subject, those whose boxes are in this unit (`grading.answer_forms`). Raises SnellenError for an unknown
    unit or subject, or if no subject's boxes are.
    """
    examination = open_examination(root)
    rows = examination.all_results()
    subjects = rows["subject"][rows["boxes_in"] == unit].unique().tolist()
    if subject is not None:
        refuse_unknown([subject], rows["subject"], f"{root}: no subject")
        subjects = [subject]
    elif unit == FRACTIONS:
        subjects = list(read_box_units(root))
    if not subjects and unit in BOX_UNITS:
        units = ", ".join((rows["subject"] + " in " + rows["boxes_in"])[rows["boxes_in"] != ""].unique())
        known = f"boxes are given by {units}" if units else "all boxes are in fractions, or there are none"
        raise SnellenError(f"{root}: no subject's boxes are recognised as {unit} ({known}); name one with --subject")
    set_box_unit(root, unit, subjects)
    rescore_all(root, examination.items, examination.suite)


def recovered(addresses: Sequence[str]) -> list[Path]:
    """The folders of runs, each after `recover`."""
    roots = [Path(address) for address in addresses]
    for root in roots:
        recover(root)
    return roots


def recover(root: Path) -> None:
    """Make the tables and scores of a killed run from its record; other runs are unchanged."""
    if not is_behind(root):
        return
    refuse_links(root)
    card, items, suite = open_run_items(root)
    if tables := sorted(card.annotations):
        raise SnellenError(
            f"{root}: the run was interrupted, and it uses {', '.join(tables)}; run the same `snellen run` command "
            f"again to finish it"
        )
    replay(root, items, suite, {})
    rescore_all(root, items, suite)
