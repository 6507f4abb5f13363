"""The report's sections for ComBo: the paper's tables and figures, made from our results.

Printed numbers (`published.py`) are shown only by `--compare published`, never in these tables.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from snellen.analysis.studies.people import people_interval, rows_of, studies_of, study_of
from snellen.analysis.studies.people_tables import extremes, person_units
from snellen.analysis.tables.cells import DASH, chance_range, percent, percent_interval, points, result_cell, share_cell
from snellen.analysis.tables.pivot import (
    answers_by_arm,
    arm_parts,
    arms_beside_plain,
    level_lines,
    position_cells,
    reference_lines,
    table_section,
)
from snellen.analysis.tables.plots import LevelPanel, before_after, level_figure
from snellen.analysis.tables.run_view import (
    ReportArm,
    arm_cards,
    arm_name,
    divides,
    examined,
    main_metric,
    response_key,
    response_keys,
    result_rows,
    row_by_arm,
    rows_by_arm,
    score_rows,
    scored,
    scored_units,
)
from snellen.analysis.tables.section import ReportSection, Run
from snellen.core.grouping import lists_by_key
from snellen.core.item import Item
from snellen.core.seeds import stream
from snellen.core.storage.runfolder import ArmCard
from snellen.scoring.uncertainty import paired_difference, unpaired_difference
from snellen.stimuli.scenes import DIMENSIONS
from snellen.suites.combo.difficulty import LEVELS
from snellen.suites.combo.published import PAPER_COMPARISONS, TABLE_2_QUESTIONS
from snellen.suites.combo.questions import alignment, categories, perception
from snellen.suites.combo.report.people import AnswerShare, comparisons, people_sections
from snellen.suites.combo.report.perceived import DescribedImage, confusions, deciding_dimensions, described_images
from snellen.suites.combo.scoring import ALL_CORRECT

ALIGNMENT_TASKS = (alignment.IMG2TEXT, alignment.TEXT2IMG)
QUESTION_NAMES = {question: question.replace("-", " ") for question in perception.QUESTIONS}


def sections(run: Run) -> Iterator[ReportSection]:
    """The tables and figures of the paper for which the run has numbers."""
    for make in (table_2, table_3, figure_6, figure_7):
        yield from make(run)
    if described := described_images(run):
        yield from given_perception(run, described)
        yield from perceived_dimensions(described)
    for make in (positions, confusions, people_sections):
        yield from make(run)


# Tables 2 and 3


def table_2(run: Run) -> Iterator[ReportSection]:
    """Subjects by questions, as in Table 2, with the pivot if it was asked."""
    rows = scored(result_rows(run, perception.TASK, "question"))
    by_arm = {arm: levels for arm, levels in rows_by_arm(rows).items() if set(TABLE_2_QUESTIONS) <= set(levels)}
    if not by_arm:
        return
    questions = [question for question in perception.QUESTIONS if any(question in levels for levels in by_arm.values())]

    def mean_of_seven(arm: ReportArm) -> list[str]:
        return [f"{100 * float(np.mean([by_arm[arm][question].value for question in TABLE_2_QUESTIONS])):.1f}"]

    lines = level_lines(by_arm, questions, after=mean_of_seven)
    rows = rows[[arm in by_arm for arm in zip(rows["subject"], rows["condition"], strict=True)]]
    for column in ("chance", "blind"):
        lines += reference_lines(column, rows, questions, after=[""])
    note = (
        "Percent right with 95 % interval. Chance is that of a guess among the options offered; for contact points "
        "these are the points of the object's shape, and spheres, which have only one, are not asked. The mean is over "
        "the seven questions of the paper's Table 2."
    )
    names = ["subject", "condition", *(QUESTION_NAMES[question] for question in questions), "mean of seven"]
    yield from table_section("Pattern Perception by question (Table 2)", note, names, lines, "table-2")


def table_3(run: Run) -> Iterator[ReportSection]:
    """Img2Text, Text2Img and their mean, as in Table 3."""
    rows = pd.concat([scored(result_rows(run, task)).assign(level=task) for task in ALIGNMENT_TASKS])
    lines = []
    for arm, by_task in rows_by_arm(rows).items():
        first, second = (by_task.get(task) for task in ALIGNMENT_TASKS)
        mean = mean_of_two(first, second) if first is not None and second is not None else DASH
        lines += [[*arm, result_cell(first), result_cell(second), mean], *trimmed_line(run, arm)]
    for line in reference_lines("chance", rows, ALIGNMENT_TASKS):
        lines.append([*line, line[-1] if line[-2] == line[-1] else ""])
    lines += reference_lines("blind", rows, ALIGNMENT_TASKS, after=[""])
    note = "Percent right with four options, with 95 % interval. The paper shows its values only in an image."
    if len(rows_of(rows, studies_of(run.card.arms))):
        note += " The paper excludes the people with the best and the worst total over both (appendix C.3)."
    names = ["subject", "condition", "Img2Text", "Text2Img", "mean"]
    yield from table_section("Abstraction Alignment (Table 3)", note, names, lines, "table-3")


def mean_of_two(first: Any, second: Any) -> str:
    """The mean of two independent shares, with an interval from theirs (Zou and Donner 2008, Statist. Med. 27)."""
    negative = -second.value, -second.high, -second.low
    total = unpaired_difference((first.value, first.low, first.high), negative)
    mean, low, high = (number / 2 for number in total)
    return percent_interval(mean, low, high, first.n + second.n)


def trimmed_line(run: Run, arm: ReportArm) -> list[list[str]]:
    """The line of Table 3 for a study without the people with the highest and the lowest total over both tasks.

    Empty for other subjects, for fewer than three people, and if a task was not asked.
    """
    if run.unpooled is None or arm.subject not in studies_of(run.card.arms):
        return []
    people, study = run.unpooled, study_of(arm.subject)
    dropped = extremes(people, ALIGNMENT_TASKS, study, arm.condition)
    shares = []
    for task in ALIGNMENT_TASKS:
        units = person_units(people, task, study, arm.condition)
        rest = units[~units["person"].isin(dropped)]
        if not dropped or rest.empty:
            return []
        low, high, _ = people_interval(rest, main_metric(run, task), "trimmed", *arm, task)
        shares.append(AnswerShare(float(rest["value"].mean()), low, high, len(rest)))
    name = f"{arm.subject} without best and worst"
    return [[name, arm.condition, *(percent_interval(*share) for share in shares), mean_of_two(*shares)]]


# Figure 6: with and without solved examples


def figure_6(run: Run) -> Iterator[ReportSection]:
    """Contact point and materials with and without solved examples, on the items of both arms."""
    lines, units = [], scored_units(run, perception.TASK)
    gains: dict[str, dict[str, tuple[float, float]]] = {}
    for plain, with_examples, _ in arms_beside_plain(run, {"demos": "none"}):
        if not {plain, with_examples} <= units.keys():
            continue
        both = units[plain].join(units[with_examples]["value"].rename("value_with"), how="inner")
        questions = both.index.map(lambda name: run.items.by_id[name].factors["question"])
        for question in perception.IN_CONTEXT:
            part = both[questions == question]
            if part.empty:
                continue
            rng = stream("combo", "figure 6", *with_examples, question)
            gap = paired_difference(part["value_with"], part["value"], part["cluster"].to_numpy(str), rng)
            before, after = float(part["value"].mean()), float(part["value_with"].mean())
            gains.setdefault(QUESTION_NAMES[question], {})[arm_name(*plain)] = before, after
            shares = percent(before, gap.n), percent(after, gap.n)
            difference = points(gap.difference, gap.low, gap.high)
            lines.append([*plain, QUESTION_NAMES[question], gap.n, *shares, difference])
    note = (
        "Percent right without and with solved examples on the same items, and the difference in points with its 95 % "
        "interval (paired by item, objects resampled). The paper draws the values of GPT-4V and Gemini, and prints "
        "none; it has no value of people for this task."
    )
    names = ["subject", "condition", "question", "items", "none", "in context", "difference"]
    figure = partial(before_after, gains, ("without examples", "with examples"))
    yield from table_section("With and without solved examples (Figure 6)", note, names, lines, "figure-6", figure)


# Figure 7 and Table 4: difficulty


def figure_7(run: Run) -> Iterator[ReportSection]:
    """Accuracy by difficulty, as in Figure 7 and Table 4."""
    rows = scored(result_rows(run, categories.TASK, "difficulty"))
    if rows.empty or not divides(run, categories.TASK, "difficulty"):
        return
    rows_by_metric = [scored(result_rows(run, categories.TASK, metric=name)) for name in ("accuracy", ALL_CORRECT.name)]
    overall, cards = [row_by_arm(part) for part in rows_by_metric], arm_cards(run)
    by_arm = rows_by_arm(rows)
    lines = level_lines(
        by_arm,
        LEVELS,
        before=lambda arm: [_method_of(cards[arm])],
        after=lambda arm: [result_cell(row.get(arm)) for row in overall],
    )
    series = {arm_name(*arm): [by_arm[arm].get(level) for level in LEVELS] for arm in examined(run, list(by_arm))}
    chances = [percent(float(part["chance"].mean()), 0) for part in rows_by_metric]
    lines += reference_lines("chance", rows, LEVELS, ["", ""], chances)
    lines += reference_lines("blind", rows, LEVELS, ["", ""], [chance_range(part["blind"]) for part in rows_by_metric])
    name = levels_name(run)
    note = (
        f"Percent right with 95 % interval, by {name}; levels reflect the distance between the two categories. 'All of "
        "a pair': share of pairs of categories with every test object classified correctly. 'Clustering & retrieval' "
        "chooses the nearest mean of the examples' features (appendix E). Of 23 people the paper draws a line, and "
        "prints no value; it states that they are highly accurate at every level."
    )
    names = ["subject", "condition", "method", *LEVELS, "all", "all of a pair"]
    figure = partial(level_figure, [LevelPanel("", LEVELS, series, [0.5] * len(LEVELS))], linestyle="-")
    yield from table_section(f"Category Building by {name} (Figure 7, Table 4)", note, names, lines, "figure-7", figure)


def levels_name(run: Run) -> str:
    """The name of the levels: difficulty once people have compared 40 pairs, until then distance by an encoder."""
    if comparisons(run) >= PAPER_COMPARISONS:
        return "difficulty"
    about = run.items.card.provenance.get("difficulty")
    return f"distance by {about['encoder']}" if isinstance(about, dict) and "encoder" in about else "distance"


def _method_of(card: ArmCard) -> str:
    """The name of the method in Table 4."""
    if card.role != "model":
        return {"person": "people", "encoder": "clustering & retrieval"}.get(card.role, card.role)
    method = str(card.columns.get("method", "vanilla"))
    return "question answering" if method == "vanilla" else method


# Accuracy given correct perception


def given_perception(run: Run, described: Sequence[DescribedImage]) -> Iterator[ReportSection]:
    """Category Building on items with all images described correctly in the deciding dimensions, and on the others."""
    scores = score_rows(run, categories.TASK, "accuracy").dropna(subset="value")
    by_response = lists_by_key(
        ((image.subject, image.condition, image.repeat, image.item_id), image) for image in described
    )
    perceived = [_perceived(run.items.by_id[key[-1]], by_response.get(key, [])) for key in response_keys(scores)]
    lines = []
    for arm, answers in arm_parts(scores.assign(perceived=perceived).dropna(subset="perceived")):
        cells: list[Any] = []
        for part in (answers, answers[answers["perceived"] == 1], answers[answers["perceived"] == 0]):
            cells += [len(part), share_cell(list(part["value"]), list(part["cluster_id"]))]
        lines.append([*arm, *cells])
    note = (
        "Category Building by subjects that first describe every image: percent right over all items, over items with "
        "all nine images described correctly in every dimension in which the two rules contradict each other, and over "
        "the others. Chance is 50. Errors on items seen right are errors of inference, not of perception."
    )
    names = ["subject", "condition", "items", "right", "items seen right", "right then", "other items", "right there"]
    yield from table_section("Accuracy given correct perception", note, names, lines, "given-perception")


def _perceived(item: Item, images: Sequence[DescribedImage]) -> float:
    """1 if every image was described correctly in the deciding dimensions, else 0.

    NaN if an image was not described, since it is unknown whether it was perceived.
    """
    if not images or len(images) < sum(1 for _ in item.media()):
        return math.nan
    dimensions = deciding_dimensions(item)
    return float(all(image.is_right(dimensions) for image in images))


def perceived_dimensions(described: Sequence[DescribedImage]) -> Iterator[ReportSection]:
    """The share of described images with each dimension described correctly."""
    by_arm = lists_by_key((ReportArm(image.subject, image.condition), image) for image in described)
    lines = []
    for arm, images in by_arm.items():
        clusters = [image.cluster_id for image in images]
        cells = [share_cell([float(image.is_right([d])) for image in images], clusters) for d in DIMENSIONS]
        lines.append([*arm, len(images), *cells])
    note = (
        "Percent of the images described before classifying whose description is correct, by dimension, with 95 % "
        "interval (pairs of categories resampled). A description without a readable value counts as wrong."
    )
    dimensions = (dimension.replace("-", " ").replace("/", ", ") for dimension in DIMENSIONS)
    names = ["subject", "condition", "images", *dimensions]
    yield from table_section("Descriptions before classifying", note, names, lines, "perceived")


# Letters chosen, whatever the right answer


def positions(run: Run) -> Iterator[ReportSection]:
    """The frequency of each letter among the answers, whatever the right answer."""
    tasks = (*ALIGNMENT_TASKS, categories.TASK)
    offered = {response_key(r): r.reply_spec.offered for r in run.responses if r.task in tasks}
    lines = [
        [*arm, task, len(part), *position_cells(part, [offered[key] for key in response_keys(part)], 4)]
        for task in tasks
        for arm, part in answers_by_arm(score_rows(run, task, "accuracy"))
    ]
    note = (
        "Percent of answers that chose each letter, with 95 % interval, and in parentheses the percentage for which it "
        "was right. A subject that always answers A has 100 in the first column, and is right half the time in "
        "Category Building."
    )
    names = ["subject", "condition", "task", "answers", *"ABCD"]
    yield from table_section("Letters chosen", note, names, lines, "letters")
