"""The report's sections for ComBo: the paper's tables and figures, made from our results.

Printed numbers (`published.py`) are shown only by `--compare published`, never in these tables.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from snellen.analysis.cells import DASH, chance_range, percent, points, result_cell, share_cell
from snellen.analysis.people import is_study
from snellen.analysis.run_view import (
    ReportArm,
    ResponseKey,
    arm_cards,
    divides,
    response_key,
    response_keys,
    result_rows,
    row_by_arm,
    rows_by_arm,
    score_rows,
    scored,
)
from snellen.analysis.section import ReportSection, Run
from snellen.core.seeds import stream
from snellen.core.storage.runfolder import ArmCard
from snellen.core.subject import is_simulated
from snellen.scoring.uncertainty import Paired, paired_difference
from snellen.stimuli.scenes import DIMENSIONS
from snellen.suites.combo.curated.pair_comparisons import PAPER_COUNT
from snellen.suites.combo.difficulty import LEVELS
from snellen.suites.combo.published import TABLE_2_QUESTIONS
from snellen.suites.combo.questions import alignment, categories, perception
from snellen.suites.combo.report import figures
from snellen.suites.combo.report.confusions import confusions
from snellen.suites.combo.report.people import comparisons, people_sections
from snellen.suites.combo.report.perceived import DescribedImage, deciding_dimensions, described_images
from snellen.suites.combo.report.studies import mean_of_two, trimmed_line
from snellen.suites.combo.scoring import ALL_CORRECT

QUESTION_NAMES = {question: question.replace("-", " ") for question in perception.QUESTIONS}


def sections(run: Run) -> Iterator[ReportSection]:
    """The tables and figures of the paper for which the run has numbers."""
    for make in (table_2, table_3, figure_6, figure_7, by_difference):
        yield from make(run)
    if described := described_images(run):
        yield given_perception(run, described)
        yield perceived_dimensions(described)
    yield from positions(run)
    yield from confusions(run.items, score_rows(run, perception.TASK, "accuracy"))
    yield from people_sections(run)


def _chances(rows: pd.DataFrame, levels: Sequence[str], column: str = "chance") -> list[str]:
    """Chance, or the blind baseline, at each level."""
    return [chance_range(rows.loc[rows["level"] == level, column]) for level in levels]


def _blind_lines(rows: pd.DataFrame, levels: Sequence[str], before: int, after: Sequence[str]) -> list[list[str]]:
    """The line of the blind baseline, with `before` empty cells after its name; none if it was not measured."""
    if rows["blind"].isna().all():
        return []
    return [["(blind)", *[""] * before, *_chances(rows, levels, "blind"), *after]]


# Tables 2 and 3


def table_2(run: Run) -> Iterator[ReportSection]:
    """Subjects by questions, as in Table 2, with the pivot if it was asked."""
    rows = scored(result_rows(run, perception.TASK, "question"))
    by_arm = {arm: levels for arm, levels in rows_by_arm(rows).items() if set(TABLE_2_QUESTIONS) <= set(levels)}
    if not by_arm:
        return
    questions = [question for question in perception.QUESTIONS if any(question in levels for levels in by_arm.values())]
    lines = []
    for arm, levels in by_arm.items():
        mean = float(np.mean([levels[question].value for question in TABLE_2_QUESTIONS]))
        lines.append([*arm, *(result_cell(levels.get(question)) for question in questions), f"{100 * mean:.1f}"])
    in_table = [arm in by_arm for arm in zip(rows["subject"], rows["condition"], strict=True)]
    lines.append(["(chance)", "", *_chances(rows[in_table], questions), ""])
    lines += _blind_lines(rows[in_table], questions, 1, [""])
    names = [QUESTION_NAMES[question] for question in questions]
    note = (
        "Percent right with 95 % interval. Chance is that of a guess among the options offered; for contact points "
        "these are the points of the object's shape, and spheres, which have only one, are not asked. The mean is over "
        "the seven questions of the paper's Table 2."
    )
    frame = pd.DataFrame(lines, columns=["subject", "condition", *names, "mean of seven"])
    yield ReportSection("Pattern Perception by question (Table 2)", note, frame, None, "table-2")


def table_3(run: Run) -> Iterator[ReportSection]:
    """Img2Text, Text2Img and their mean, as in Table 3."""
    tasks = (alignment.IMG2TEXT, alignment.TEXT2IMG)
    rows = pd.concat([scored(result_rows(run, task)).assign(level=task) for task in tasks])
    if rows.empty:
        return
    lines, chances = [], _chances(rows, tasks)
    for arm, by_task in rows_by_arm(rows).items():
        first, second = (by_task.get(task) for task in tasks)
        mean = mean_of_two(first, second) if first is not None and second is not None else DASH
        lines.append([*arm, result_cell(first), result_cell(second), mean])
        lines += trimmed_line(run, arm)
    lines.append(["(chance)", "", *chances, chances[0] if chances[0] == chances[1] else ""])
    lines += _blind_lines(rows, tasks, 1, [""])
    note = "Percent right with four options, with 95 % interval. The paper shows its values only in an image."
    if any(is_study(arm) for arm in rows["subject"]):
        note += " The paper excludes the people with the best and the worst total over both (appendix C.3)."
    frame = pd.DataFrame(lines, columns=["subject", "condition", "Img2Text", "Text2Img", "mean"])
    yield ReportSection("Abstraction Alignment (Table 3)", note, frame, None, "table-3")


# Figure 6: with and without solved examples


def figure_6(run: Run) -> Iterator[ReportSection]:
    """Contact point and materials with and without solved examples, on the items of both arms."""
    lines, gains = [], []
    for plain, with_examples in _arms_with_and_without(run):
        for question in perception.IN_CONTEXT:
            compared = _compare(run, plain, with_examples, question)
            if compared is None:
                continue
            before, after, gap = compared
            gains.append((ReportArm(plain.subject, plain.condition), QUESTION_NAMES[question], before, after))
            shares = percent(before, gap.n), percent(after, gap.n)
            difference = points(gap.difference, gap.low, gap.high)
            lines.append([plain.subject, plain.condition, QUESTION_NAMES[question], gap.n, *shares, difference])
    if not lines:
        return
    note = (
        "Percent right without and with solved examples on the same items, and the difference in points with its 95 % "
        "interval (paired by item, objects resampled). The paper draws the values of GPT-4V and Gemini, and prints "
        "none; it has no value of people for this task."
    )
    names = ["subject", "condition", "question", "items", "none", "in context", "difference"]
    frame = pd.DataFrame(lines, columns=names)
    yield ReportSection(
        "With and without solved examples (Figure 6)", note, frame, partial(figures.before_after, gains), "figure-6"
    )


def _arms_with_and_without(run: Run) -> Iterator[tuple[ArmCard, ArmCard]]:
    """Pairs of arms of one subject that differ only in `demos`."""
    arms = [arm for arm in run.card.arms if arm.repeat == 0]

    def other_axes(arm: ArmCard) -> tuple[Any, ...]:
        return arm.subject, tuple((name, setting) for name, setting in arm.columns.items() if name != "demos")

    plain = {other_axes(arm): arm for arm in arms if arm.columns.get("demos") == "none"}
    for arm in arms:
        if arm.columns.get("demos") == "in-context" and other_axes(arm) in plain:
            yield plain[other_axes(arm)], arm


def _compare(run: Run, plain: ArmCard, with_examples: ArmCard, question: str) -> tuple[float, float, Paired] | None:
    """Accuracy of both arms on their common items, and the paired difference; repeats are averaged first."""
    scores = score_rows(run, perception.TASK, "accuracy")
    scores = scores[[run.items.by_id[name].factors["question"] == question for name in scores["item_id"]]]
    first, second = (
        scores[(scores["subject"] == arm.subject) & (scores["condition"] == arm.condition)]
        .groupby("item_id")
        .agg(value=("value", "mean"), cluster=("cluster_id", "first"))
        for arm in (plain, with_examples)
    )
    both = first.join(second["value"].rename("value_with"), how="inner").dropna()
    if both.empty:
        return None
    before, after = both["value"].to_numpy(float), both["value_with"].to_numpy(float)
    rng = stream("combo", "figure 6", with_examples.subject, with_examples.condition, question)
    gap = paired_difference(after, before, both["cluster"].to_numpy(str), rng)
    return float(before.mean()), float(after.mean()), gap


# Figure 7 and Table 4: difficulty


def figure_7(run: Run) -> Iterator[ReportSection]:
    """Accuracy by difficulty, as in Figure 7 and Table 4."""
    rows = scored(result_rows(run, categories.TASK, "difficulty"))
    if rows.empty or not divides(run, categories.TASK, "difficulty"):
        return
    rows_by_metric = [scored(result_rows(run, categories.TASK, metric=name)) for name in ("accuracy", ALL_CORRECT.name)]
    overall, cards = [row_by_arm(part) for part in rows_by_metric], arm_cards(run)
    lines, series = [], []
    for arm, levels in rows_by_arm(rows).items():
        cells = [result_cell(levels.get(level)) for level in LEVELS]
        cells += [result_cell(row.get(arm)) for row in overall]
        lines.append([*arm, _method_of(cards.get(arm), arm.subject), *cells])
        series.append((arm, [levels.get(level) for level in LEVELS]))
    chances = [*_chances(rows, LEVELS), *(percent(float(part["chance"].mean()), 0) for part in rows_by_metric)]
    lines.append(["(chance)", "", "", *chances])
    lines += _blind_lines(rows, LEVELS, 2, [chance_range(part["blind"]) for part in rows_by_metric])
    name = levels_name(run)
    note = (
        f"Percent right with 95 % interval, by {name}; levels reflect the distance between the two categories. 'All of "
        "a pair': share of pairs of categories with every test object classified correctly. 'Clustering & retrieval' "
        "chooses the nearest mean of the examples' features (appendix E). Of 23 people the paper draws a line, and "
        "prints no value; it states that they are highly accurate at every level."
    )
    frame = pd.DataFrame(lines, columns=["subject", "condition", "method", *LEVELS, "all", "all of a pair"])
    figure = partial(figures.by_difficulty, series, LEVELS)
    yield ReportSection(f"Category Building by {name} (Figure 7, Table 4)", note, frame, figure, "figure-7")


def levels_name(run: Run) -> str:
    """The name of the levels: difficulty once people have compared 40 pairs, until then distance by an encoder."""
    if comparisons(run) >= PAPER_COUNT:
        return "difficulty"
    about = run.items.card.provenance.get("difficulty")
    return f"distance by {about['encoder']}" if isinstance(about, dict) else "distance"


def by_difference(run: Run) -> Iterator[ReportSection]:
    """Accuracy by the difference between the two categories, which distance alone does not determine."""
    rows = scored(result_rows(run, categories.TASK, "difference"))
    if rows.empty or not divides(run, categories.TASK, "difference"):
        return
    levels = [name for name in categories.DIFFERENCES if (rows["level"] == name).any()]
    lines = [
        [*arm, *(result_cell(by_level.get(level)) for level in levels)] for arm, by_level in rows_by_arm(rows).items()
    ]
    lines.append(["(chance)", "", *_chances(rows, levels)])
    lines += _blind_lines(rows, levels, 1, [])
    note = (
        "Percent right with 95 % interval, by the only difference between the two categories: a shape, the anchor, a "
        "combination (the primitives exchange a shape, a material or a colour), a colour or a material of one "
        "primitive. Each difference occurs at each level for which the levels' encoder has such pairs."
    )
    frame = pd.DataFrame(lines, columns=["subject", "condition", *levels])
    yield ReportSection("Category Building by difference of the categories", note, frame, None, "difference")


def _method_of(card: ArmCard | None, subject: str) -> str:
    """The name of the method in Table 4."""
    if is_study(subject):
        return "people"
    if subject.startswith("encoder:"):
        return "clustering & retrieval"
    if is_simulated(subject):
        return "simulated"
    method = str(card.columns.get("method", "vanilla")) if card else "vanilla"
    return "question answering" if method == "vanilla" else method


# Accuracy given correct perception


def given_perception(run: Run, described: Sequence[DescribedImage]) -> ReportSection:
    """Category Building on items with all images described correctly in the deciding dimensions, and on the others."""
    lines = []
    for arm, answers in _answers_by_perception(run, described).items():
        cells: list[Any] = []
        for part in (answers, [a for a in answers if a.perceived], [a for a in answers if not a.perceived]):
            cells += [len(part), share_cell([a.score for a in part], [a.cluster for a in part])]
        lines.append([*arm, *cells])
    note = (
        "Category Building by subjects that first describe every image: percent right over all items, over items with "
        "all nine images described correctly in every dimension in which the two rules contradict each other, and over "
        "the others. Chance is 50. Errors on items seen right are errors of inference, not of perception."
    )
    names = ["subject", "condition", "items", "right", "items seen right", "right then", "other items", "right there"]
    frame = pd.DataFrame(lines, columns=names)
    return ReportSection("Accuracy given correct perception", note, frame, None, "given-perception")


class _Answer(NamedTuple):
    """An answer's score, its cluster, and whether every image was described correctly in the deciding dimensions."""

    score: float
    cluster: str
    perceived: bool


def _answers_by_perception(run: Run, described: Sequence[DescribedImage]) -> dict[ReportArm, list[_Answer]]:
    by_response: dict[ResponseKey, list[DescribedImage]] = {}
    for image in described:
        key = image.subject, image.condition, image.repeat, image.item_id
        by_response.setdefault(key, []).append(image)
    answers: dict[ReportArm, list[_Answer]] = {}
    scores = score_rows(run, categories.TASK, "accuracy").dropna(subset="value")
    for key, score, cluster in zip(response_keys(scores), scores["value"], scores["cluster_id"], strict=True):
        subject, condition, _, item_id = key
        item, images = run.items.by_id[item_id], by_response.get(key, [])
        # If an image was not described, it is unknown whether it was perceived: the answer is left out of both groups.
        if images and len(images) == sum(1 for _ in item.media()):
            dimensions = deciding_dimensions(item)
            perceived = all(image.is_right(dimensions) for image in images)
            answers.setdefault(ReportArm(subject, condition), []).append(_Answer(float(score), str(cluster), perceived))
    return answers


def perceived_dimensions(described: Sequence[DescribedImage]) -> ReportSection:
    """The share of described images with each dimension described correctly."""
    by_arm: dict[ReportArm, list[DescribedImage]] = {}
    for image in described:
        by_arm.setdefault(ReportArm(image.subject, image.condition), []).append(image)
    lines = []
    for arm, images in by_arm.items():
        clusters = [image.cluster_id for image in images]
        cells = [share_cell([float(image.is_right([d])) for image in images], clusters) for d in DIMENSIONS]
        lines.append([*arm, len(images), *cells])
    note = (
        "Percent of the images described before classifying whose description is correct, by dimension, with 95 % "
        "interval (pairs of categories resampled). A description without a readable value counts as wrong."
    )
    names = [dimension.replace("-", " ").replace("/", ", ") for dimension in DIMENSIONS]
    frame = pd.DataFrame(lines, columns=["subject", "condition", "images", *names])
    return ReportSection("Descriptions before classifying", note, frame, None, "perceived")


# Letters chosen, whatever the right answer


def positions(run: Run) -> Iterator[ReportSection]:
    """The frequency of each letter among the answers, whatever the right answer."""
    tasks = {alignment.IMG2TEXT: "ABCD", alignment.TEXT2IMG: "ABCD", categories.TASK: "AB"}
    offered = {response_key(r): r.reply_spec.offered for r in run.responses if r.task in tasks}
    lines = []
    for task, letters in tasks.items():
        scores = score_rows(run, task, "accuracy")
        for arm, part in scores[scores["outcome"] == "answered"].groupby(["subject", "condition"], sort=False):
            options = [offered[key] for key in response_keys(part)]
            chosen, right = (
                [keys.index(json.loads(answer)) for keys, answer in zip(options, part[column], strict=True)]
                for column in ("prediction", "truth")
            )
            clusters = list(part["cluster_id"])
            cells = [_chosen_cell(chosen, right, n, clusters) if n < len(letters) else "" for n in range(4)]
            lines.append([*arm, task, len(part), *cells])
    if not lines:
        return
    note = (
        "Percent of answers that chose each letter, with 95 % interval, and in parentheses the percentage for which it "
        "was right. A subject that always answers A has 100 in the first column, and is right half the time in "
        "Category Building."
    )
    frame = pd.DataFrame(lines, columns=["subject", "condition", "task", "answers", *"ABCD"])
    yield ReportSection("Letters chosen", note, frame, None, "letters")


def _chosen_cell(chosen: Sequence[int], right: Sequence[int], position: int, clusters: Sequence[str]) -> str:
    share = share_cell([float(index == position) for index in chosen], clusters)
    return f"{share} ({percent(float(np.mean([index == position for index in right])), len(right))})"
