"""Confusions between classes, with images."""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from snellen.analysis.tables.cells import percent
from snellen.analysis.tables.pivot import table_section
from snellen.analysis.tables.plots import MUTED, panel_figure, two_lines
from snellen.analysis.tables.run_view import examined
from snellen.analysis.tables.section import ReportSection, Run
from snellen.core.item import Item, Media
from snellen.core.storage.itemset import ItemSet
from snellen.core.storage.media import MediaFolder
from snellen.suites.vfm_bench.report.shot_series import ShotSeries

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MAX_PAIRS, MAX_IMAGES = 5, 6
"""Pairs per subject in the table, and pairs in the figure."""
THUMB_PX = 180


class Confusion(NamedTuple):
    """One class taken for another, `times` in `chances` answers for which it was true and the other offered.

    Classes are identified with their task (`concept_task`), since many tasks have a class `good`. `item` is the first
    of these questions in the set.
    """

    subject: str
    task: str
    truth: str
    other: str
    times: int
    chances: int
    item: str


def confusions(series: ShotSeries, items: ItemSet, condition: str) -> list[Confusion]:
    """The confusions of a subject under one condition, by decreasing count, then by decreasing share of chances."""
    rows = series.scores[series.scores["condition"] == condition]
    rows = rows[rows["outcome"].isin(["answered", "no_answer", "cut_off"])]
    chances, confused_items = Counter[tuple[str, str, str]](), defaultdict[tuple[str, str, str], list[str]](list)
    for row in rows.itertuples():
        item = items.by_id[str(row.item_id)]
        names = {option.key: option.text for option in item.options}
        task, truth = item.factors.get("concept_task", ""), names.pop(item.answer)
        chances.update((task, truth, name) for name in names.values())
        if (prediction := json.loads(str(row.prediction))) in names:
            confused_items[task, truth, names[prediction]].append(item.item_id)
    position = {item.item_id: n for n, item in enumerate(items.items)}
    pairs = [
        Confusion(series.subject, *key, len(ids), chances[key], min(ids, key=position.__getitem__))
        for key, ids in confused_items.items()
    ]
    return sorted(pairs, key=lambda pair: (-pair.times, -pair.times / pair.chances, pair.task, pair.truth, pair.other))


def confused_classes(run: Run, plain: Sequence[ShotSeries]) -> Iterator[ReportSection]:
    """The most frequent confusions of each subject at its largest number of shots, some with images."""
    scored = [series for series in examined(run, plain) if series.shots]
    by_subject = [confusions(series, run.items, series.conditions[series.shots[-1]])[:MAX_PAIRS] for series in scored]
    cells = [[*pair[:-1], percent(pair.times / pair.chances, 0)] for pairs in by_subject for pair in pairs]
    # Subjects take turns, so that the figure has the worst pair of each before the second worst of any.
    in_turn = [pair for turn in zip_longest(*by_subject) for pair in turn if pair is not None][:MAX_IMAGES]
    sheet = [(pair, *_images(run.items.by_id[pair.item], pair.other)) for pair in in_turn]
    note = (
        f"At most {MAX_PAIRS} per subject, at its largest number of shots: how often one class was taken for another, "
        "and the number of chances: answers for which the one was true and the other offered. Classes are those of one "
        "task. The figure shows a query next to an example of the class it was taken for, the worst of each subject "
        "first. Simulated observers are left out if other subjects were examined."
    )
    names = ["subject", "task", "is", "is taken for", "times", "chances", "percent"]
    figure = partial(confused, sheet, run.items.media)
    yield from table_section("Confused classes", note, names, cells, "confused", figure)


def _images(item: Item, other: str) -> tuple[Media, Media | None]:
    """The query, and the first demo of the other class if there is one."""
    keys = {option.key for option in item.options if option.text == other}
    demos = (media for demo in item.support if demo.answer in keys for media in demo.media)
    return item.query[0], next(demos, None)


def confused(sheet: Sequence[tuple[Confusion, Media, Media | None]], media: MediaFolder) -> Figure:
    """Images, each next to an example of the class it was taken for, two pairs per row."""
    down = math.ceil(len(sheet) / 2)
    figure, panels = panel_figure(4, (10.4, 2.9 * down), down)
    for axes in panels:
        axes.set_axis_off()
    for index, (pair, image, example) in enumerate(sheet):
        query, demo = panels[2 * index], panels[2 * index + 1]
        query.set_title(two_lines(f"is “{pair.truth}”", 32), fontsize=8.5)
        demo.set_title(two_lines(f"taken for “{pair.other}”", 32), fontsize=8.5)
        small: dict[str, Any] = {"fontsize": 8, "color": MUTED, "va": "top"}
        query.text(0, -0.03, two_lines(pair.task, 40), transform=query.transAxes, **small)
        times = f"{pair.times} of {pair.chances} by {pair.subject}"
        demo.text(0, -0.03, two_lines(times, 40), transform=demo.transAxes, **small)
        query.imshow(_thumbnail(image, media))
        if example is None:
            demo.text(0.5, 0.5, "no image", ha="center", va="center", color=MUTED)
        else:
            demo.imshow(_thumbnail(example, media))
    return figure


def _thumbnail(image: Media, media: MediaFolder) -> Any:
    """The image as an array of at most `THUMB_PX` per side, to keep pages small."""
    small = media.open(image).convert("RGB")
    small.thumbnail((THUMB_PX, THUMB_PX))
    return np.asarray(small)
