"""Example items: the images and question shown, the truth, and the reply of every arm."""

from __future__ import annotations

import io
import json
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import pandas as pd

from snellen.analysis.tables.run_view import arm_name, lines_of
from snellen.analysis.tables.section import Run, once_a_run
from snellen.analysis.units import metric_of
from snellen.core.errors import SnellenError
from snellen.core.item import Item, Media
from snellen.core.score import Metric
from snellen.core.seeds import stream
from snellen.core.storage import files
from snellen.core.storage.media import MediaFolder
from snellen.core.storage.run_tables import LEFT_OUT, reply_texts
from snellen.reports.rows import arm_order, whole_tasks_of
from snellen.reports.words import amount, answer_words, foreign
from snellen.stimuli.video.reading import frame_at_share
from snellen_sight.messages import data_url

THUMB_WIDTH = 240
"""Greatest width of a thumbnail in pixels."""
MAX_IMAGES, MAX_ARMS = 24, 16
ROUNDING = 1e-6
"""Greatest difference of a score from the best value that is no error of the subject."""


@dataclass(frozen=True)
class Thumbnail:
    """An image on the page: the thumbnail's path relative to the page, or a note if there is none."""

    thumb: str
    note: str
    width: int
    height: int


@dataclass(frozen=True)
class OfferedOption:
    """An option as shown."""

    text: str
    shots: tuple[Thumbnail, ...]
    right: bool


@dataclass(frozen=True)
class Prediction:
    """One arm's answer to the item. `mark` is right, wrong, partly, no answer, failed or declined."""

    arm: str
    mark: str
    score: str
    read: str
    text: str


@dataclass(frozen=True)
class Example:
    """One item with all replies to it. Support is by answer: (answer, images, captions)."""

    item_id: str
    question: str
    support: tuple[tuple[str, tuple[Thumbnail, ...], tuple[str, ...]], ...]
    query: tuple[Thumbnail, ...]
    options: tuple[OfferedOption, ...]
    truth: str
    factors: str
    predictions: tuple[Prediction, ...]


class Thumbs:
    """Downscaled copies of stored images in `out/thumbs`, each made once."""

    def __init__(self, run: Run, out: Path) -> None:
        self.media, self.out = run.items.media, out
        self._files: dict[str, Thumbnail] = {}

    def shot(self, media: Media) -> Thumbnail:
        """The thumbnail of an image, or of a video's middle frame with a note."""
        if media.sha256 not in self._files:
            self._files[media.sha256] = self._make(media)
        return self._files[media.sha256]

    def shots(self, media: tuple[Media, ...]) -> tuple[Thumbnail, ...]:
        """Thumbnails of the first images, and a note on the number of others."""
        rest = len(media) - MAX_IMAGES
        more = (Thumbnail("", f"and {rest} more", 0, 0),) if rest > 0 else ()
        return (*(self.shot(image) for image in media[:MAX_IMAGES]), *more)

    def _make(self, media: Media) -> Thumbnail:
        note = f"video, {media.seconds:.1f} s, {media.width} × {media.height}" if media.kind == "video" else ""
        try:
            jpeg, size = thumbnail(self.media, media)
        except SnellenError:
            if media.kind == "image":
                raise
            return Thumbnail("", note, 0, 0)  # PyAV is missing, or the video is damaged
        return Thumbnail(self._keep(f"thumbs/{media.sha256[:20]}.jpg", jpeg), note, *size)

    def _keep(self, name: str, jpeg: bytes) -> str:
        """Store the thumbnail and return its path for the page."""
        files.write_bytes(self.out / name, jpeg)
        return name


class InlineThumbs(Thumbs):
    """Thumbnails as data URIs, for pages in a single file."""

    def __init__(self, run: Run) -> None:
        super().__init__(run, Path())

    def _keep(self, name: str, jpeg: bytes) -> str:
        return data_url("image/jpeg", jpeg)


def thumbnail(folder: MediaFolder, media: Media, max_width: int = THUMB_WIDTH) -> tuple[bytes, tuple[int, int]]:
    """An image, or the middle frame of a video, as a JPEG of at most `max_width`, with its width and height."""
    with folder.open(media) if media.kind == "image" else frame_at_share(folder.find(media), 0.5) as image:
        width = min(max_width, image.width)
        size = width, max(1, round(image.height * width / image.width))
        small = image.convert("RGB").resize(size, reducing_gap=2.0)
    buffer = io.BytesIO()
    small.save(buffer, "JPEG", quality=85)
    return buffer.getvalue(), size


def examples(run: Run, thumbs: Thumbs, each: int, limit: int) -> list[tuple[str, list[Example]]]:
    """Items of every task, drawn so that each arm is shown right, wrong and silent `each` times if possible.

    The draw is seeded by the item set, not by the run. At most `limit` items per task. Simulated observers are shown
    only if there are no other subjects.
    """
    rows, groups = whole_tasks_of(run), []
    order = arm_order(rows)
    simulated = set(rows.loc[rows["role"] == "simulated", "arm"])
    order = ([arm for arm in order if arm not in simulated] or order)[:MAX_ARMS]
    replies = run_replies(run)
    texts = {(r.item_id, arm_name(r.subject, r.condition)): replies[r.response_id] for r in reversed(run.responses)}
    reasons = {(r.item_id, arm_name(r.subject, r.condition)): r.reason for r in reversed(run.responses)}
    for (task, protocol, metric), _ in rows.groupby(["task", "protocol", "metric"], sort=False):
        how = run.suite.tasks[str(task)].protocols[str(protocol)]
        scores, metric_scores = run.scores[str(protocol)], metric_of(how, str(metric))
        scores = scores[(scores["task"] == task) & (scores["metric"] == metric)]
        scores = scores.drop_duplicates(["subject", "condition", "item_id"])
        arm_names = [arm_name(s, c) for s, c in zip(scores["subject"], scores["condition"], strict=True)]
        scores = scores.assign(arm=arm_names, mark=marks(scores, metric_scores.best))
        scores = scores[scores["arm"].isin(order)]
        chosen = draw(scores, [run.card.suite, run.card.recipe_hash, str(task)], each, limit)
        task_examples = []
        for item_id in chosen:
            rows_by_arm = {row.arm: row for row in lines_of(scores[scores["item_id"] == item_id])}
            item = run.items.by_id[item_id]
            predictions = tuple(
                prediction(
                    item,
                    arm,
                    rows_by_arm[arm],
                    metric_scores,
                    texts.get((item_id, arm), ""),
                    reasons.get((item_id, arm), ""),
                )
                for arm in order
                if arm in rows_by_arm
            )
            task_examples.append(example(item, predictions, thumbs))
        if task_examples:
            groups.append((str(task), task_examples))
    return [(task, task_examples) for task in run.suite.tasks for name, task_examples in groups if name == task]


@once_a_run
def run_replies(run: Run) -> Mapping[str, str]:
    """The reply to each item of a run, by response id (`core.storage.run_tables.reply_texts`)."""
    return reply_texts(run.roots, run.responses)


def task_images(run: Run, thumbs: Thumbs) -> dict[str, Thumbnail]:
    """One image of a test item of each task, if it has any."""
    images: dict[str, Thumbnail] = {}
    for task in run.suite.tasks:
        for item in run.items.task(task):
            options = (media for option in item.options for media in option.media)
            examples = (media for demo in item.support for media in demo.media)
            if item.split == "test" and (media := next(chain(item.query, options, examples), None)):
                images[task] = thumbs.shot(media)
                break
    return images


def marks(scores: pd.DataFrame, best: float) -> list[str]:
    """The mark of each score of a task: right (the `best` score of the metric) or wrong if all values are 0 or 1.

    Other values are partly right, and distinguished by their median.
    """
    values = scores["value"]
    middle = values.median()
    binary = values.dropna().isin([0.0, 1.0]).all()
    names = {"no_answer": "no answer", "cut_off": "cut off", "failed": "failed", "not_applicable": "declined"}
    marks = []
    for outcome, value in zip(scores["outcome"], values, strict=True):
        if outcome != "answered":
            marks.append(names[outcome])
        elif binary:
            marks.append("right" if value == best else "wrong")
        else:
            marks.append("partly, high" if value > middle else "partly, low")
    return marks


def is_best(value: float, metric: Metric) -> bool:
    """True for the best value of a metric, also if rounding moved it."""
    return math.isclose(value, metric.best, abs_tol=ROUNDING)


def draw(scores: pd.DataFrame, stream_names: list[str], each: int, limit: int) -> list[str]:
    """Ids of drawn items: at every step the one that adds most of the missing marks, ties by a seeded order."""
    answered = scores[~scores["mark"].isin(["failed", "declined"])]
    pairs: dict[str, set[tuple[str, str]]] = {}
    for row in lines_of(answered):
        pairs.setdefault(str(row.item_id), set()).add((str(row.arm), str(row.mark)))
    need = {
        pair: min(each, count)
        for pair, count in Counter(pair for candidates in pairs.values() for pair in candidates).items()
    }
    names = sorted(pairs)
    rest = [names[int(number)] for number in stream("examples", *stream_names).permutation(len(names))]
    chosen: list[str] = []
    while rest and len(chosen) < limit and any(need.values()):
        best = max(rest, key=lambda name: sum(need[pair] > 0 for pair in pairs[name]))
        rest.remove(best)
        chosen.append(best)
        for pair in pairs[best]:
            need[pair] = max(0, need[pair] - 1)
    return chosen


def prediction(item: Item, arm: str, row: object, metric: Metric, text: str, reason: str) -> Prediction:
    """An arm's answer to an item: `row` is its score with a `mark`, `text` its reply, `reason` why there is none."""
    mark, value = str(row.mark), float(row.value)  # type: ignore[attr-defined]
    if mark.startswith("partly") and is_best(value, metric):
        mark = "right"
    score = "" if not mark.startswith("partly") else amount(value, metric)
    answer = json.loads(row.prediction)  # type: ignore[attr-defined]
    text_or_reason = text if mark not in ("failed", "declined") else reason
    is_private = text == LEFT_OUT and item.answer_kind in ("text", "description")
    read = "" if is_private else answer_words(item, answer)
    return Prediction(arm, mark.partition(",")[0], score, read, foreign(text_or_reason, 240))


def example(item: Item, predictions: tuple[Prediction, ...], thumbs: Thumbs) -> Example:
    """An item with its predictions, as shown on a page."""
    groups: dict[str, list[Media]] = {}
    captions: dict[str, list[str]] = {}
    for demo in item.support:
        groups.setdefault(demo.answer, []).extend(demo.media)
        alone = demo.caption and not demo.media  # with images, a caption is shown under some conditions only
        captions.setdefault(demo.answer, []).extend([foreign(demo.caption, 120)] if alone else [])
    support = tuple(
        (answer_words(item, answer), thumbs.shots(tuple(arms)), tuple(captions[answer][:6]))
        for answer, arms in groups.items()
    )
    options = tuple(
        OfferedOption(foreign(option.text or option.key, 120), thumbs.shots(option.media), option.key == item.answer)
        for option in item.options
    )
    return Example(
        foreign(item.item_id, 60), foreign(item.question, 600), support, thumbs.shots(item.query), options,
        answer_words(item, item.answer), _factors(item.factors, item.requires), predictions,
    )  # fmt: skip


def _factors(factors: Mapping[str, str], requires: tuple[str, ...]) -> str:
    labels = [f"{name} {value}" for name, value in factors.items()]
    return " · ".join([*labels, *([f"requires {', '.join(requires)}"] if requires else [])])
