"""The content of the explorer as JSON: subjects, scores by task and ability, every item with all answers.

Texts are cut and made visible as on a report's page (`reports.words.foreign`). Equal texts and images are stored once,
in `strings` and `images`, and referenced by number. The page (`explore.js`) reads nothing else.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from snellen.analysis.blind import guesses_by_folds
from snellen.analysis.grading.rows import rows_of
from snellen.analysis.tables.run_view import arm_name, lines_of, protocol_in
from snellen.analysis.tables.section import Run
from snellen.analysis.units import metric_of
from snellen.core.item import Item, Media
from snellen.core.response import Response
from snellen.core.suite import SuiteCard
from snellen.presentation.controls import IMAGES
from snellen.reports.conduct import sent_prompts
from snellen.reports.examples import (
    THUMB_WIDTH,
    Prediction,
    Thumbnail,
    Thumbs,
    example,
    is_best,
    marks,
    prediction,
    run_replies,
)
from snellen.reports.loading import Exam
from snellen.reports.rows import arm_order, metric_in, subgroups_of, whole_tasks_of
from snellen.reports.words import amount, answer_words, colour, foreign, grade_text, span

MAX_THUMBS = 4000
"""Greatest number of images with thumbnails; with more, the item set's own files are shown."""
MARKS = ("right", "wrong", "partly", "no answer", "cut off", "failed", "declined")
FEWEST = 8
"""Fewest items of an ability that has a row of its own."""
CHANCE = "chance_"
"""Beginning of the names of measures that are chance levels."""


class ShownAnswer(NamedTuple):
    """An arm's answer to an item with its score, its box or point as shares of the image (or None), and the prompt."""

    prediction: Prediction
    value: float
    box: list[float] | None
    prompt: str


def _measures(item: Item, suite: SuiteCard) -> list[tuple[str, float]]:
    """The measures of an item, without chance levels: by the words of the suite, or else by their names."""
    return [
        (suite.measure_words.get(name) or foreign(name.replace("_", " "), 60), value)
        for name, value in item.measures.items()
        if math.isfinite(value) and not name.startswith(CHANCE)
    ]


class LinkedImages(Thumbs):
    """The item set's own files, by their path from the report: do not move the set. Video frames are copied."""

    def _make(self, media: Media) -> Thumbnail:
        if media.kind == "video":
            return super()._make(media)
        path = Path(os.path.relpath(self.media.find(media).resolve(), self.out.resolve()))
        width = min(THUMB_WIDTH, media.width)
        return Thumbnail(quote(path.as_posix()), "", width, max(1, round(media.height * width / media.width)))


class Numbered:
    """Distinct entries with their numbers."""

    def __init__(self) -> None:
        self.numbers: dict[Any, int] = {}

    def __call__(self, entry: Any) -> int:
        """The number of an entry, which is added if new."""
        return self.numbers.setdefault(entry, len(self.numbers))

    @property
    def entries(self) -> list[Any]:
        """All entries in the order of their numbers."""
        return list(self.numbers)


class Content:
    """The content of an explorer, collected exam by exam."""

    def __init__(self) -> None:
        self.strings, self.images, self.arms = Numbered(), Numbered(), Numbered()
        self.exams: list[dict[str, Any]] = []
        self.items: list[list[Any]] = []
        self.subjects: dict[str, str] = {}
        self.blind_arms, self.simulated = set[str](), set[str]()

    def add(self, run: Run, thumbs: Thumbs) -> None:
        """Add the content of a run."""
        arms = arm_order(whole_tasks_of(run))
        numbers = {arm: self.arms(arm) for arm in arms}
        for card in run.card.arms:
            self.subjects[arm_name(card.subject, card.condition)] = card.subject
            if card.columns.get(IMAGES.name) == "none":
                self.blind_arms.add(arm_name(card.subject, card.condition))
            if card.role == "simulated":
                self.simulated.add(arm_name(card.subject, card.condition))
        exam = len(self.exams)
        tasks = list(dict.fromkeys(str(task) for task in whole_tasks_of(run)["task"]))
        self.exams.append({"title": run.suite.card.title, "tasks": [_task(run, task) for task in tasks],
                           "rows": list(_grid_rows(run, tasks, numbers))})  # fmt: skip
        answers, guesses = _answers(run), guesses_by_folds(run.items.items, run.suite)
        for item in run.items.items:
            if item.item_id in answers:
                measures = _measures(item, run.suite.card)
                cells = self._item(exam, tasks.index(item.task), item, measures, answers[item.item_id], numbers, thumbs)
                self.items.append([*cells, self._guess(run, item, guesses.get(item.item_id))])

    def _item(
        self, exam: int, task: int, item: Item, measures: Sequence[tuple[str, float]],
        shown_answers: Sequence[ShownAnswer], numbers: dict[str, int], thumbs: Thumbs,
    ) -> list[Any]:  # fmt: skip
        page_example, text = example(item, (), thumbs), self.strings
        return [
            exam,
            task,
            text(page_example.item_id),
            text(page_example.question),
            text(page_example.truth),
            [text(foreign(name, 60)) for name in item.requires],
            [[text(foreign(name, 60)), text(foreign(level, 60))] for name, level in item.factors.items()],
            [[text(name), value] for name, value in measures],
            self._shots(page_example.query),
            [[text(option.text), self._shots(option.shots), int(option.right)] for option in page_example.options],
            [[text(a), self._shots(shots), [text(c) for c in captions]] for a, shots, captions in page_example.support],
            _box(item, item.answer),
            [
                [numbers[answer.arm], MARKS.index(answer.mark), round(value, 4) if math.isfinite(value) else None,
                 text(answer.score), text(answer.read), text(answer.text), box, text(prompt)]
                for answer, value, box, prompt in shown_answers if answer.arm in numbers
            ],
        ]  # fmt: skip

    def _guess(self, run: Run, item: Item, guess: Any) -> list[Any] | None:
        """The answer of a blind guess and its mark; None if nothing can be learnt."""
        if guess is None:
            return None
        protocol, spec = protocol_in(run, item.task), item.view().reply
        prediction = protocol.read(spec.write(guess), spec)  # as a subject's reply is read
        if prediction is None:
            return None
        metric = protocol.metrics[0]
        is_right = is_best(metric.score(item, prediction), metric)
        mark = "right" if is_right else "wrong" if metric.binary else "partly"
        return [MARKS.index(mark), self.strings(answer_words(item, prediction))]

    def _shots(self, shots: Sequence[Thumbnail]) -> list[int]:
        return [self.images((shot.thumb, shot.note, shot.width, shot.height)) for shot in shots]

    def as_plain(self) -> dict[str, Any]:
        """The content as JSON data."""
        return {
            "arms": [
                {
                    "name": foreign(name, 120),
                    "subject": foreign(self.subjects.get(name, name), 120),
                    "blind": name in self.blind_arms,
                    "simulated": name in self.simulated,
                }
                for name in self.arms.entries
            ],
            "marks": MARKS,
            "exams": self.exams,
            "items": self.items,
            "images": self.images.entries,
            "strings": self.strings.entries,
        }


def explorer_content(exams: Sequence[Exam], out: Path) -> dict[str, Any]:
    """The content of the explorer of a report in `out`; thumbnails are written there."""
    content = Content()
    images = {media.sha256 for exam in exams for item in exam.joined.items.items for media in item.media()}
    kind = Thumbs if len(images) <= MAX_THUMBS else LinkedImages
    for exam in exams:
        content.add(exam.joined, kind(exam.joined, out))
    return content.as_plain()


def _task(run: Run, task: str) -> dict[str, Any]:
    """A task in words, and its main metric: words, sign, width of its range (0: unbounded), whether it is a share."""
    row = next(lines_of(whole_tasks_of(run)[whole_tasks_of(run)["task"] == task]))
    metric = metric_in(run.suite, row)
    width = 0.0 if metric.bounds is None else metric.bounds[1] - metric.bounds[0]
    about = run.suite.card.tasks.get(task)
    name = f"{about.name} ({task})" if about and about.name != task else task
    return {"name": name, "metric": metric.label, "sign": metric.sign, "width": width, "share": metric.share}


def _grid_rows(run: Run, tasks: Sequence[str], numbers: dict[str, int]) -> Iterator[dict[str, Any]]:
    """One row per task, and per ability that some of its items require, but not all and not fewer than `FEWEST`.

    Cells are [arm, value, interval, colour, n, grade].
    """
    whole, parts = whole_tasks_of(run), subgroups_of(run)
    parts = parts[(parts["factor"] == "requires") & ~parts["level"].astype(str).str.startswith("not ")]
    for number, task in enumerate(tasks):
        rows = whole[whole["task"] == task]
        yield {"task": number, "ability": "", "cells": _cells(run, rows, numbers)}
        for ability, part in parts[parts["task"] == task].groupby("level", sort=True):
            if FEWEST <= part["n"].max() < rows["n"].max():
                yield {"task": number, "ability": foreign(str(ability), 60), "cells": _cells(run, part, numbers)}


def _cells(run: Run, rows: Any, numbers: dict[str, int]) -> list[list[Any]]:
    cells = []
    for row in rows_of(rows):
        metric = metric_in(run.suite, row)
        texts = amount(row.value, metric, row.n), span(row.low, row.high, metric, row.n)
        cells.append([numbers[row.arm], *texts, colour(row.grade), int(row.n), grade_text(row.grade)])
    return cells


def _answers(run: Run) -> dict[str, list[ShownAnswer]]:
    """By item: each arm's answer, scored by the main metric; of repeats the first."""
    responses: dict[tuple[str, str, str], Response] = {}
    for response in run.responses:
        responses.setdefault((response.item_id, response.subject, response.condition), response)
    answers: dict[str, list[ShownAnswer]] = {}
    replies, prompts = run_replies(run), [sent_prompts(root) for root in run.roots]
    encoders = {card.subject for card in run.card.arms if card.role == "encoder"}
    for key in lines_of(whole_tasks_of(run).drop_duplicates("task")):
        scores = run.scores[key.protocol]
        scores = scores[(scores["task"] == key.task) & (scores["metric"] == key.metric)]
        scores = scores.sort_values("judge", ascending=False, kind="stable")
        scores = scores.drop_duplicates(["subject", "condition", "item_id"]).sort_index()
        metric = metric_of(run.suite.tasks[key.task].protocols[key.protocol], key.metric)
        for row in lines_of(scores.assign(mark=marks(scores, metric.best))):
            response = responses[row.item_id, row.subject, row.condition]
            arm, item = arm_name(row.subject, row.condition), run.items.by_id[row.item_id]
            answer = prediction(item, arm, row, metric, replies[response.response_id], response.reason)
            calls = () if row.subject in encoders else response.calls[-1:]  # encoders get images, and no text
            sent = next(filter(None, (prompt(call) for prompt in prompts for call in calls)), "")
            shown = ShownAnswer(answer, float(row.value), _box(item, json.loads(row.prediction)), sent)
            answers.setdefault(row.item_id, []).append(shown)
    return answers


def _box(item: Item, answer: Any) -> list[float] | None:
    """A box or point as shares of the width and height of the item's first image; None for other answers."""
    if item.answer_kind not in ("box", "point") or answer is None or not item.query:
        return None
    sides = item.query[0].width, item.query[0].height
    return [round(edge / side, 4) for edge, side in zip(answer, (*sides, *sides), strict=False)]
