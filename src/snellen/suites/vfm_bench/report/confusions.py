"""Which class is taken for which, with the pictures."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import zip_longest

import pandas as pd

from snellen.analysis.section import ReportSection, Run
from snellen.core.item import Item, Media
from snellen.core.itemset import ItemSet
from snellen.suites.vfm_bench.report import figures
from snellen.suites.vfm_bench.report.run_view import Line, examined

EACH, SHOWN = 5, 6
"""Pairs told of each subject in the table, and pairs drawn in the figure."""


@dataclass(frozen=True)
class Confusion:
    """One class said to be another: `count` times of `chances` answers where the one was true and the other offered.

    Classes are told apart by their task (`concept_task`), for many tasks have a class `good`. `items` are the ids of
    the questions, in the order of the set.
    """

    subject: str
    task: str
    truth: str
    said: str
    count: int
    chances: int
    items: tuple[str, ...]


def confusions(line: Line, items: ItemSet, condition: str) -> list[Confusion]:
    """What a subject confuses under one condition, the commonest first; of equal counts the larger share of chances."""
    rows = line.scores[line.scores["condition"] == condition]
    rows = rows[rows["outcome"].isin(["answered", "no_answer"])]
    chances: dict[tuple[str, str, str], int] = {}
    held: dict[tuple[str, str, str], list[str]] = {}
    for row in rows.itertuples():
        item = items.by_id[str(row.item_id)]
        names = {option.key: option.text for option in item.options}
        task, truth = item.factors.get("concept_task", ""), names[item.answer]
        for key in names.keys() - {item.answer}:
            chances[task, truth, names[key]] = chances.get((task, truth, names[key]), 0) + 1
        said = json.loads(str(row.prediction))
        if said in names and said != item.answer:
            held.setdefault((task, truth, names[said]), []).append(item.item_id)
    place = {item.item_id: n for n, item in enumerate(items.items)}
    found = [
        Confusion(line.subject, *key, len(ids), chances[key], tuple(sorted(set(ids), key=place.__getitem__)))
        for key, ids in held.items()
    ]
    return sorted(found, key=lambda one: (-one.count, -one.count / one.chances, one.task, one.truth, one.said))


def sections(run: Run, lines: Sequence[Line]) -> Iterator[ReportSection]:
    """The commonest confusions of each subject at its largest number of shots, some with pictures."""
    asked = [line for line in examined(lines) if line.shots]
    found = [confusions(line, run.items, line.conditions[line.shots[-1]])[:EACH] for line in asked]
    if not any(found):
        return
    cells = [
        [one.subject, one.task, one.truth, one.said, one.count, one.chances, f"{100 * one.count / one.chances:.0f}"]
        for mine in found
        for one in mine
    ]
    turns = [one for turn in zip_longest(*found) for one in turn if one is not None][:SHOWN]
    example = [(one, *_pictures(run.items.by_id[one.items[0]], one.said)) for one in turns]
    sheet = [
        figures.Confused(one.subject, one.task, one.truth, one.said, f"{one.count} of {one.chances}", query, demo)
        for one, query, demo in example
    ]
    note = (
        f"At most {EACH} of each subject, at the largest number of shots it was asked at: how often one class was said "
        "to be another, and at how many chances: answers where the one was true and the other offered. A class belongs "
        "to its task. In the figure: a picture asked about, and beside it an example of the class it was "
        "taken for, the worst of each subject first. Simulated observers are left out where others were examined."
    )
    frame = pd.DataFrame(cells, columns=["subject", "task", "is", "is taken for", "times", "chances", "percent"])
    figure = partial(figures.confused, sheet, run.items.media)
    yield ReportSection("Which classes are confused", note, frame, figure, "confused")


def _pictures(item: Item, said: str) -> tuple[Media, Media | None]:
    """The query, and the first demo of the class said where there is one."""
    keys = {option.key for option in item.options if option.text == said}
    demos = (media for demo in item.support if demo.answer in keys for media in demo.media)
    return item.query[0], next(demos, None)
