"""What subjects perceive: their descriptions of images before they classify, and confusions in Pattern Perception.

Under `method=perceive-then-classify` every image of a question is described in a separate call. These replies answer no
item, so they have no score. They stay in the record, and show whether a wrong answer is due to perception or to
inference (section 4.2, figure 8).
"""

from __future__ import annotations

import json
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from snellen.analysis.tables.cells import DASH
from snellen.analysis.tables.pivot import arm_parts
from snellen.analysis.tables.plots import draw_heat, panel_figure
from snellen.analysis.tables.run_view import arm_name, examined_rows, ordered_levels, score_rows
from snellen.analysis.tables.section import ReportSection, Run
from snellen.core.item import Item, ReplySpec
from snellen.core.response import Response
from snellen.core.storage import files
from snellen.core.storage.parts import read_exchanges
from snellen.core.storage.run_tables import SENT, sent_parts
from snellen.scoring.answers import read_answer
from snellen.scoring.answers.plain import read_json_objects
from snellen.stimuli.scenes import DIMENSIONS
from snellen.suites.combo.questions import categories, perception
from snellen.suites.combo.questions.perception import names
from snellen.suites.combo.space import values

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class DescribedImage:
    """One image of a question: its true dimensions and the description of each (None if unreadable)."""

    subject: str
    condition: str
    repeat: int
    item_id: str
    cluster_id: str
    truth: Mapping[str, str]
    description: Mapping[str, str | None]

    def is_right(self, dimensions: Iterable[str]) -> bool:
        """True if all these dimensions were described correctly."""
        return all(self.description[dimension] == self.truth[dimension] for dimension in dimensions)


def described_images(run: Run) -> list[DescribedImage]:
    """All described images of the arms with `method=perceive-then-classify` and `images=original`."""
    arms = {
        (arm.subject, arm.condition)
        for arm in run.card.arms
        if (arm.columns.get("method"), arm.columns.get("images")) == ("perceive-then-classify", "original")
    }
    responses = [r for r in run.responses if r.task == categories.TASK and (r.subject, r.condition) in arms]
    if not responses:
        return []
    record = _read_record(run, {key for response in responses for key in response.calls[:-1]})
    return [
        image for response in responses for image in _images_of(response, run.items.by_id[response.item_id], record)
    ]


def deciding_dimensions(item: Item) -> tuple[str, ...]:
    """The dimensions in which the two rules of a question contradict each other.

    These are the dimensions that both rules fix; if there are none, those in which their claims have no common value.
    """
    named = item.factors["deciding"].split(", ")
    if set(named) <= set(DIMENSIONS):
        return tuple(named)
    first, second = (item.latent["claims"][key] for key in "AB")
    return tuple(d for d in DIMENSIONS if d in first and d in second and not set(first[d]) & set(second[d]))


def read_description(text: str) -> dict[str, str | None]:
    """The value that a JSON reply gives for each dimension; None if it is missing or unreadable."""
    parsed = read_json_objects(text)
    if isinstance(parsed, list):
        parsed = parsed[0] if len(parsed) == 1 else None
    fields = parsed if isinstance(parsed, dict) else {}
    return {dimension: _read_dimension(dimension, fields.get(dimension)) for dimension in DIMENSIONS}


def _read_dimension(dimension: str, field: Any) -> str | None:
    if field is None:
        return None
    answer = read_answer(field if isinstance(field, str) else json.dumps(field), _reply_spec(dimension))
    return None if answer is None else str(answer)


@cache
def _reply_spec(dimension: str) -> ReplySpec:
    """The reply specification that accepts every value of a dimension by all its names."""
    return ReplySpec("choice", tuple((name, value) for value in values(dimension) for name in names(dimension, value)))


def _read_record(run: Run, keys: set[str]) -> dict[str, tuple[str, str]]:
    """Call -> (SHA-256 of its single image, reply), for answered calls."""
    replies, sent = {}, {}
    for root in run.roots:
        for exchange in read_exchanges(root):
            if exchange.reply is not None and exchange.key in keys:
                replies[exchange.key] = exchange.digest, exchange.reply.text
        digests = {digest for digest, _ in replies.values()}
        for row in files.read_table(root / "sent.parquet", schema=SENT).to_pylist():
            if row["digest"] in digests:
                parts = (part for part in sent_parts(root, row["parts"]) if isinstance(part, dict))
                sent[row["digest"]] = [str(part["media"]).partition(".")[0] for part in parts if "media" in part]
    record = {}
    for key, (digest, text) in replies.items():
        images = sent.get(digest, [])
        if len(images) == 1:
            record[key] = images[0], text
    return record


def _images_of(response: Response, item: Item, record: Mapping[str, tuple[str, str]]) -> Iterator[DescribedImage]:
    """The described images of one question."""
    key = *response.arm_key, item.item_id, item.cluster_id
    for call in response.calls[:-1]:
        image, text = record.get(call, ("", ""))
        if image in item.latent["shows"]:
            yield DescribedImage(*key, item.latent["shows"][image], read_description(text))


# Confusions in Pattern Perception


MAX_MATRICES = 6


def confusions(run: Run) -> Iterator[ReportSection]:
    """Answers against truths in Pattern Perception, with a figure per question."""
    scores = score_rows(run, perception.TASK, "accuracy")
    scores = scores[scores["outcome"].isin(["answered", "no_answer", "cut_off"])]
    predictions = [json.loads(text) or "" for text in scores["prediction"]]
    scores = scores.assign(truth=scores["truth"].map(json.loads), prediction=predictions)
    questions = scores["item_id"].map(lambda name: run.items.by_id[name].factors["question"])
    for name, dimension in perception.QUESTIONS.items():
        part = scores[questions == name]
        if part.empty or name == "pivot":
            continue
        by_arm = [(arm_name(*arm), rows) for arm, rows in arm_parts(examined_rows(run, part))]
        answers = ordered_levels({*part["truth"], *part["prediction"]} - {""}, values(dimension))
        mistakes = commonest_mistakes(by_arm)
        note = (
            f"{'The most frequent mistakes' if mistakes else 'No mistakes'}. The figure of a full report has all "
            "answers: rows are true values, columns are answers, in percent of the row; the last column is no answer."
        )
        frame = pd.DataFrame(mistakes, columns=["arm", "is", "is taken for", "times"]) if mistakes else None
        figure = partial(draw_confusions, [(arm, count_answers(rows, answers)) for arm, rows in by_arm], answers)
        title = f"Confusions: {name.replace('-', ' ')}"
        yield ReportSection(title, note, frame, figure, f"confusions-{name}", detail=True)


def count_answers(rows: pd.DataFrame, answers: Sequence[str]) -> NDArray[np.int64]:
    """Counts of answers (columns) by truth (rows); the last column counts missing answers, which are empty."""
    matrix = np.zeros((len(answers), len(answers) + 1), np.int64)
    for truth, prediction in zip(rows["truth"], rows["prediction"], strict=True):
        matrix[answers.index(truth), answers.index(prediction) if prediction else len(answers)] += 1
    return matrix


def commonest_mistakes(by_arm: Sequence[tuple[str, pd.DataFrame]], limit: int = 3) -> list[list[str]]:
    """The most frequent mistakes of each arm: the arm, the truth, the answer, and how often of how many."""
    lines = []
    for arm, rows in by_arm:
        total, pairs = Counter(rows["truth"]), zip(rows["truth"], rows["prediction"], strict=True)
        for (truth, answer), count in Counter(pair for pair in pairs if pair[0] != pair[1]).most_common(limit):
            lines.append([arm, truth, answer or "(no answer)", f"{count} of {total[truth]}"])
    return lines


def draw_confusions(matrices: Sequence[tuple[str, NDArray[np.int64]]], answers: Sequence[str]) -> Figure:
    """One panel per arm: rows are true values, columns are answers, cells are percent of the row."""
    matrices = matrices[:MAX_MATRICES]
    across = min(3, len(matrices))
    down, side = ceil(len(matrices) / across), 0.42 * len(answers)
    size = 1.1 + across * (side + 0.75), down * (side + 1.15)
    figure, panels = panel_figure(across, size, down, sharex=True, sharey=True)
    for axes, (arm, counts) in zip(panels, matrices, strict=False):
        total = counts.sum(axis=1, keepdims=True)
        shares = np.divide(counts, total, out=np.zeros(counts.shape), where=total > 0)
        texts = [[f"{100 * share:.0f}" if share else "" for share in row] for row in shares]
        draw_heat(axes, shares, texts, answers, [*answers, DASH])
        axes.set_title("\n".join(textwrap.wrap(arm, max(18, 6 * len(answers)))))
    for axes in panels[len(matrices) :]:
        axes.set_visible(False)
    return figure
