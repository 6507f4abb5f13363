"""Biases of answers: a preference for yes or no, for a letter, for a number."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd

from snellen.analysis.cells import DASH, percent, result_cell, share_cell, with_interval
from snellen.analysis.pivot import answers_by_arm, chosen_cell, position_cells, table_section
from snellen.analysis.run_view import ReportArm, response_key, response_keys, result_rows, row_by_arm, score_rows
from snellen.analysis.section import ReportSection, Run
from snellen.core.seeds import stream
from snellen.scoring.uncertainty import cluster_wilson, mean_interval
from snellen.suites.vlm2_bench.published import TASK_ORDER
from snellen.suites.vlm2_bench.tasks import COUNTS, GROUPS, TRUE_FALSE

Flag: TypeAlias = Literal["yes-bias", "no-bias", ""]
FLAG_LEVEL, FLAG_GAP = 0.99, 0.2
"""A bias is flagged if an interval of this level excludes the share of true statements, with at least this gap."""
PAIR_PATTERNS = ("T-T", "F-F", "T-F", "F-T")
LETTERS = "ABCDEFGH"


# Yes and no


def statements(run: Run) -> Iterator[ReportSection]:
    """The rate of "true" answers, and the combinations of answers to the two statements of a pair."""
    lines = []
    for task in (task for task in TASK_ORDER if task in TRUE_FALSE):
        results = row_by_arm(result_rows(run, task))
        for arm, part in answers_by_arm(score_rows(run, task, "accuracy")):
            yes, true = part["prediction"] == "true", float((part["truth"] == "true").mean())
            flag = leaning(yes.to_numpy(float), part["group_id"].to_numpy(str), true, results[arm])
            pairs = paired_answers(run, part)
            both = [percent(pairs[name] / pairs.total(), 0) if pairs.total() else DASH for name in PAIR_PATTERNS]
            shares = share_cell(list(yes.astype(float)), list(part["group_id"])), percent(true, 0)
            lines.append([*arm, task, len(part), *shares, flag, result_cell(results[arm]), *both])
    note = (
        "Percent of readable answers that call a statement true, with 95 % interval (pairs resampled), and the percent "
        "of these statements that are true. Then percent of pairs by combination of answers; the positive statement "
        "(for Mat and Trk the right one) comes first. In Mat and Trk only T-F is right; in Cpr T-F if all images show "
        "the same, else F-T; T-T and F-F are contradictory. A bias is flagged under three conditions: "
        f"the {100 * FLAG_LEVEL:.0f} % interval excludes the percent that is true, the two differ by at least "
        f"{100 * FLAG_GAP:.0f} points, and the 95 % interval of the pair accuracy is not above chance. So a subject "
        "that guesses or knows is hardly ever flagged, nor is one that leans to one side but solves pairs."
    )
    names = ["subject", "condition", "task", "answers", "said true", "true", "flag", "pairs right", *PAIR_PATTERNS]
    yield from table_section("Yes-bias and contradictory answers", note, names, lines, "yes-bias")


def leaning(yes: Sequence[float] | Any, pairs: Sequence[str] | Any, true: float, row: Any) -> Flag:
    """The flag for a subject that says yes or no regardless of the truth, or empty.

    `yes` is 1 for every statement called true and 0 for others, `pairs` the pair of each, `true` the share that is
    true, and `row` the row of results with the pair accuracy. The note of the section states the rule.
    """
    yes_share = float(np.mean(yes))
    low, high = cluster_wilson(yes, pairs, FLAG_LEVEL)
    solves = not math.isnan(row.low) and row.low > row.chance
    if solves or low <= true <= high or abs(yes_share - true) < FLAG_GAP:
        return ""
    return "yes-bias" if yes_share > true else "no-bias"


def paired_answers(run: Run, part: pd.DataFrame) -> Counter[str]:
    """Counts of pairs by combination of answers (`PAIR_PATTERNS`), positive statement first.

    Partly answered pairs and groups of four are left out.
    """
    patterns: Counter[str] = Counter()
    for _, rows in part.groupby(["repeat", "group_id"], sort=False):
        by_wording = {
            run.items.by_id[str(name)].factors.get("wording", ""): answer
            for name, answer in zip(rows["item_id"], rows["prediction"], strict=True)
        }
        if len(rows) == 2 and set(by_wording) == {"positive", "negative"}:
            patterns["-".join("T" if by_wording[side] == "true" else "F" for side in ("positive", "negative"))] += 1
    return patterns


# Letters


def letters(run: Run) -> Iterator[ReportSection]:
    """The frequency of each letter and of `None` among the answers in Grp, compared with how often they are right."""
    offered = {response_key(r): r.reply_spec.offered for r in run.responses if r.task in GROUPS}
    answers = [
        (task, arm, part, [offered[key] for key in response_keys(part)])
        for task in GROUPS
        for arm, part in answers_by_arm(score_rows(run, task, "accuracy"))
    ]
    letters = LETTERS[: max((len(keys) for *_, options in answers for keys in options), default=0)]
    lines = []
    for task, arm, part, options in answers:
        none = chosen_cell(list(part["prediction"]), list(part["truth"]), "none", list(part["cluster_id"]))
        lines.append([*arm, task, len(part), *position_cells(part, options, len(letters)), none])
    note = (
        "Percent of readable answers that chose each letter, with 95 % interval, and in parentheses the percentage for "
        "which it was right; the same for the choice None, in any position."
    )
    names = ["subject", "condition", "task", "answers", *letters, "None"]
    yield from table_section("Letters chosen in Grp", note, names, lines, "letters")


# Counts


def counts(run: Run) -> Iterator[ReportSection]:
    """The counts answered in Cnt, by number of images, and their error."""
    lines = []
    for task in COUNTS:
        for arm, part in answers_by_arm(score_rows(run, task, "accuracy")):
            length = part["item_id"].map(lambda name: len(run.items.by_id[name].query))
            for images in sorted(set(length)):
                lines.append([*arm, task, images, *_count_cells(part[length == images], arm, images)])
    max_count = max((line[3] for line in lines), default=0)
    lines = [[*line[:-1], *[""] * (max_count - line[3]), line[-1]] for line in lines]
    note = (
        "Readable answers by number of images: the mean of answered minus true count, with 95 % interval (none if all "
        "errors are equal), then the percentage of each count among the answers, and in parentheses the percentage for "
        "which it was right. `other` are counts that the images do not allow."
    )
    counts_said = [f"said {n}" for n in range(1, max_count + 1)]
    names = ["subject", "condition", "task", "images", "answers", "mean error", *counts_said, "other"]
    yield from table_section("Counts answered in Cnt", note, names, lines, "counts")


def _count_cells(part: pd.DataFrame, arm: ReportArm, image_count: int) -> list[Any]:
    """Number of answers, mean error, one cell per possible count, and the share of impossible counts."""
    answers, true = part["prediction"].astype(int), part["truth"].astype(int)
    total = len(part)

    def count_cell(n: int) -> str:
        return f"{percent(float((answers == n).mean()), total)} ({percent(float((true == n).mean()), total)})"

    other = float((~answers.between(1, image_count)).mean())
    error = mean_error((answers - true).to_numpy(float), part["cluster_id"].to_numpy(str), arm, image_count)
    return [total, error, *map(count_cell, range(1, image_count + 1)), percent(other, total)]


def mean_error(errors: Any, clusters: Any, arm: ReportArm, image_count: int) -> str:
    """The mean of answered minus true counts, signed, with its confidence interval if estimable."""
    text = f"{np.mean(errors):+.2f}"
    low, high, _ = mean_interval(errors, clusters, None, stream("vlm2-bench", "counts", *arm, image_count))
    return text if math.isnan(low) else with_interval(text, f"{low:+.2f}", f"{high:+.2f}")
