"""Items to look at: what was shown, what is true, and what every arm said."""

from __future__ import annotations

import io
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from snellen.analysis.results import metric_of
from snellen.analysis.run_view import arm_name
from snellen.analysis.section import Run
from snellen.core import files
from snellen.core.item import Item, Media
from snellen.core.score import Metric
from snellen.core.seeds import stream
from snellen.reports.rows import arm_order, lines_of, whole_tasks
from snellen.reports.words import amount, answer_words, foreign

THUMB_WIDTH = 240
"""Pixels; no thumbnail is wider."""
MAX_PICTURES, MAX_ARMS = 24, 16


@dataclass(frozen=True)
class Shot:
    """A picture on the page: a thumbnail's path relative to it, or a note where there is none to show."""

    thumb: str
    note: str
    width: int
    height: int


@dataclass(frozen=True)
class Choice:
    """An option as offered."""

    text: str
    shots: tuple[Shot, ...]
    right: bool


@dataclass(frozen=True)
class Said:
    """What one arm made of the item. `mark` is right, wrong, partly, no answer, failed or declined."""

    arm: str
    mark: str
    score: str
    read: str
    text: str


@dataclass(frozen=True)
class Example:
    """One item with everything that was said about it. Support comes by answer: (answer, pictures, captions)."""

    item_id: str
    question: str
    support: tuple[tuple[str, tuple[Shot, ...], tuple[str, ...]], ...]
    query: tuple[Shot, ...]
    options: tuple[Choice, ...]
    truth: str
    factors: str
    said: tuple[Said, ...]


class Thumbs:
    """Downscaled copies of stored pictures in `out/thumbs`, each made once."""

    def __init__(self, run: Run, out: Path) -> None:
        self.media, self.out = run.items.media, out
        self._made: dict[str, Shot] = {}

    def shot(self, media: Media) -> Shot:
        """A picture's thumbnail; of a video a note."""
        if media.sha256 not in self._made:
            self._made[media.sha256] = self._make(media)
        return self._made[media.sha256]

    def shots(self, media: tuple[Media, ...]) -> tuple[Shot, ...]:
        """Thumbnails of the first pictures, and a note that says how many more there are."""
        rest = len(media) - MAX_PICTURES
        more = (Shot("", f"and {rest} more", 0, 0),) if rest > 0 else ()
        return (*(self.shot(one) for one in media[:MAX_PICTURES]), *more)

    def _make(self, media: Media) -> Shot:
        if media.kind == "video":
            return Shot("", f"video, {media.seconds:.1f} s, {media.width} × {media.height}", 0, 0)
        name = f"thumbs/{media.sha256[:20]}.jpg"
        with self.media.open(media) as picture:
            width = min(THUMB_WIDTH, picture.width)
            size = width, max(1, round(picture.height * width / picture.width))
            small = picture.convert("RGB").resize(size, reducing_gap=2.0)
        held = io.BytesIO()
        small.save(held, "JPEG", quality=85)
        files.write_bytes(self.out / name, held.getvalue())
        return Shot(name, "", *size)


def examples(run: Run, thumbs: Thumbs, each: int, most: int) -> list[tuple[str, list[Example]]]:
    """For every task, items drawn so that each arm is seen right, wrong and silent `each` times where it was.

    The draw is seeded by the item set, not by the run. At most `most` items a task. Simulated observers are shown only
    where nobody else was examined.
    """
    rows, found = whole_tasks(run.results), []
    order = arm_order(rows)
    order = ([arm for arm in order if not arm.startswith("fake:")] or order)[:MAX_ARMS]
    texts = {(r.item_id, arm_name(r.subject, r.condition)): r.text or "" for r in reversed(run.responses)}
    reasons = {(r.item_id, arm_name(r.subject, r.condition)): r.reason for r in reversed(run.responses)}
    for (task, protocol, metric), _ in rows.groupby(["task", "protocol", "metric"], sort=False):
        how = run.suite.tasks[str(task)].protocols[str(protocol)]
        scores, asked = run.scores[str(protocol)], metric_of(how, str(metric))
        scores = scores[(scores["task"] == task) & (scores["metric"] == metric)]
        scores = scores.drop_duplicates(["subject", "condition", "item_id"])
        told = [arm_name(s, c) for s, c in zip(scores["subject"], scores["condition"], strict=True)]
        scores = scores.assign(arm=told, mark=_marks(scores))
        scores = scores[scores["arm"].isin(order)]
        chosen = draw(scores, [run.card.suite, run.card.recipe_hash, str(task)], each, most)
        shown = []
        for item_id in chosen:
            heard = {row.arm: row for row in lines_of(scores[scores["item_id"] == item_id])}
            item = run.items.by_id[item_id]
            said = tuple(
                _said(item, arm, heard[arm], asked, texts.get((item_id, arm), ""), reasons.get((item_id, arm), ""))
                for arm in order
                if arm in heard
            )
            shown.append(_example(item, said, thumbs))
        if shown:
            found.append((str(task), shown))
    return [(task, shown) for task in run.suite.tasks for name, shown in found if name == task]


def _marks(scores: pd.DataFrame) -> list[str]:
    """Right or wrong for all-or-nothing values; other values are partly right, and told apart by their own middle."""
    values = scores["value"]
    middle = values.median()
    binary = values.dropna().isin([0.0, 1.0]).all()
    names = {"no_answer": "no answer", "failed": "failed", "not_applicable": "declined"}
    marks = []
    for outcome, value in zip(scores["outcome"], values, strict=True):
        if outcome != "answered":
            marks.append(names[outcome])
        elif binary:
            marks.append("right" if value == 1.0 else "wrong")
        else:
            marks.append("partly, high" if value > middle else "partly, low")
    return marks


def draw(scores: pd.DataFrame, place: list[str], each: int, most: int) -> list[str]:
    """Item ids: at every step the one that fills most of what is still to be shown, ties by a seeded order."""
    shown = scores[~scores["mark"].isin(["failed", "declined"])]
    pairs: dict[str, set[tuple[str, str]]] = {}
    for row in lines_of(shown):
        pairs.setdefault(str(row.item_id), set()).add((str(row.arm), str(row.mark)))
    need = {pair: min(each, count) for pair, count in Counter(pair for held in pairs.values() for pair in held).items()}
    names = sorted(pairs)
    rest = [names[int(at)] for at in stream("examples", *place).permutation(len(names))]
    chosen: list[str] = []
    while rest and len(chosen) < most and any(need.values()):
        best = max(rest, key=lambda name: sum(need[pair] > 0 for pair in pairs[name]))
        rest.remove(best)
        chosen.append(best)
        for pair in pairs[best]:
            need[pair] = max(0, need[pair] - 1)
    return chosen


def _said(item: Item, arm: str, row: object, metric: Metric, text: str, reason: str) -> Said:
    mark, value = str(row.mark), float(row.value)  # type: ignore[attr-defined]
    score = "" if not mark.startswith("partly") else amount(value, metric)
    said = json.loads(row.prediction)  # type: ignore[attr-defined]
    told = text if mark not in ("failed", "declined") else reason
    return Said(arm, mark.partition(",")[0], score, answer_words(item, said), foreign(told, 240))


def _example(item: Item, said: tuple[Said, ...], thumbs: Thumbs) -> Example:
    groups: dict[str, list[Media]] = {}
    captions: dict[str, list[str]] = {}
    for demo in item.support:
        groups.setdefault(demo.answer, []).extend(demo.media)
        alone = demo.caption and not demo.media  # beside pictures a caption is shown under some conditions only
        captions.setdefault(demo.answer, []).extend([foreign(demo.caption, 120)] if alone else [])
    support = tuple(
        (answer_words(item, answer), thumbs.shots(tuple(held)), tuple(captions[answer][:6]))
        for answer, held in groups.items()
    )
    options = tuple(
        Choice(foreign(option.text or option.key, 120), thumbs.shots(option.media), option.key == item.answer)
        for option in item.options
    )
    return Example(
        foreign(item.item_id, 60), foreign(item.question, 600), support, thumbs.shots(item.query), options,
        answer_words(item, item.answer), _factors(item.factors, item.requires), said,
    )  # fmt: skip


def _factors(factors: Mapping[str, str], requires: tuple[str, ...]) -> str:
    told = [f"{name} {value}" for name, value in factors.items()]
    return " · ".join([*told, *([f"requires {', '.join(requires)}"] if requires else [])])
