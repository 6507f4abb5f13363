"""What is answered whatever is right: a liking for yes or no, for a letter, for a number."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd

from snellen.analysis.cells import DASH, percent, result_cell, share_cell, with_interval
from snellen.analysis.run_view import ReportArm, response_key, response_keys, result_rows, row_by_arm, score_rows
from snellen.analysis.section import ReportSection, Run
from snellen.core.seeds import stream
from snellen.scoring.uncertainty import cluster_wilson, mean_interval
from snellen.suites.vlm2_bench.published import TASK_ORDER
from snellen.suites.vlm2_bench.tasks import COUNTS, GROUPS, TRUE_FALSE

Flag: TypeAlias = Literal["yes-bias", "no-bias", ""]
FLAG_LEVEL, FLAG_GAP = 0.99, 0.2
"""A bias is flagged only where this interval leaves out the share of true statements, and the two lie so far apart."""
PAIR_PATTERNS = ("T-T", "F-F", "T-F", "F-T")
LETTERS = "ABCDEFGH"


def sections(run: Run) -> Iterator[ReportSection]:
    """Whatever of the three the run has answers for."""
    yield from statements(run)
    yield from letters(run)
    yield from counts(run)


def _answers_by_arm(run: Run, task: str) -> Iterator[tuple[ReportArm, pd.DataFrame]]:
    """The readable answers of every arm, `prediction` and `truth` as plain values. Every item counts once a repeat."""
    rows = score_rows(run, task, "accuracy")
    rows = rows[rows["outcome"] == "answered"]
    rows = rows.assign(prediction=rows["prediction"].map(json.loads), truth=rows["truth"].map(json.loads))
    for (subject, condition), part in rows.groupby(["subject", "condition"], sort=False):
        yield ReportArm(str(subject), str(condition)), part


# Yes and no


def statements(run: Run) -> Iterator[ReportSection]:
    """How often statements are called true, and how the two of a pair are answered."""
    lines = []
    for task in (task for task in TASK_ORDER if task in TRUE_FALSE):
        results = row_by_arm(result_rows(run, task))
        for arm, part in _answers_by_arm(run, task):
            yes, true = part["prediction"] == "true", float((part["truth"] == "true").mean())
            flag = leaning(yes.to_numpy(float), part["group_id"].to_numpy(str), true, results[arm])
            pairs = paired_answers(run, part)
            both = [
                f"{percent(pairs[pattern] / pairs.total(), 0)}" if pairs.total() else DASH for pattern in PAIR_PATTERNS
            ]
            shares = share_cell(list(yes.astype(float)), list(part["group_id"])), percent(true, 0)
            lines.append([*arm, task, len(part), *shares, flag, result_cell(results[arm]), *both])
    if not lines:
        return
    note = (
        "Percent of the readable answers that call a statement true, with 95 % interval (pairs drawn again), beside "
        "the percent of these statements that are. Then percent of the pairs that were answered so; the positive "
        "statement (of Mat and Trk the right one) comes first. In Mat and Trk only T-F is right; in Cpr T-F where all "
        "images show the same, else F-T; T-T and F-F contradict themselves. A bias is flagged where three things "
        f"hold: the {100 * FLAG_LEVEL:.0f} % interval leaves out the percent that is true, the two lie at least "
        f"{100 * FLAG_GAP:.0f} points apart, and the pair accuracy is not above its chance by its 95 % interval. Who "
        "guesses or knows is so hardly ever flagged; who leans to one side and yet solves pairs is not flagged either."
    )
    names = ["subject", "condition", "task", "answers", "said true", "true", "flag", "pairs right", *PAIR_PATTERNS]
    frame = pd.DataFrame(lines, columns=names)
    yield ReportSection("Yes-bias, and statements that contradict each other", note, frame, None, "yes-bias")


def leaning(yes: Sequence[float] | Any, pairs: Sequence[str] | Any, true: float, row: Any) -> Flag:
    """Whether somebody says yes or no whatever is right.

    `yes` holds 1 for every statement called true and 0 for others, `pairs` the pair of each, `true` is the share that
    is true, and `row` the row of results with the pair accuracy. The rule stands in the note of the section.
    """
    yes_share = float(np.mean(yes))
    low, high = cluster_wilson(yes, pairs, FLAG_LEVEL)
    solves = not math.isnan(row.low) and row.low > row.chance
    if solves or low <= true <= high or abs(yes_share - true) < FLAG_GAP:
        return ""
    return "yes-bias" if yes_share > true else "no-bias"


def paired_answers(run: Run, part: pd.DataFrame) -> Counter[str]:
    """How pairs were answered (`PAIR_PATTERNS`), positive statement first.

    Pairs answered in part, and groups of four, are left out.
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
    """Which letter is chosen in Grp, and how often `None` is, against how often they are right."""
    offered = {response_key(r): r.reply_spec.offered for r in run.responses if r.task in GROUPS}
    lines = []
    for task in GROUPS:
        for arm, part in _answers_by_arm(run, task):
            options = [offered[key] for key in response_keys(part)]
            chosen, right = (
                [keys.index(answer) for keys, answer in zip(options, part[column], strict=True)]
                for column in ("prediction", "truth")
            )
            clusters = list(part["cluster_id"])
            letter_count = max(map(len, options))
            cells = [_chosen_cell(chosen, right, n, clusters) if n < letter_count else "" for n in range(len(LETTERS))]
            none = _chosen_cell(list(part["prediction"]), list(part["truth"]), "none", clusters)
            lines.append([*arm, task, len(part), *cells, none])
    if not lines:
        return
    note = (
        "How often each letter was chosen among readable answers, in percent with 95 % interval, and in parentheses "
        "how often it was right; the same for the choice None, wherever it stood."
    )
    frame = pd.DataFrame(lines, columns=["subject", "condition", "task", "answers", *LETTERS, "None"])
    frame = frame.drop(columns=[letter for letter in LETTERS if (frame[letter] == "").all()])
    yield ReportSection("Which letters are chosen in Grp", note, frame, None, "letters")


def _chosen_cell(chosen: Sequence[Any], right: Sequence[Any], option: Any, clusters: Sequence[str]) -> str:
    """Percent that chose the option, with interval, and percent where it was right."""
    true = float(np.mean([answer == option for answer in right]))
    return f"{share_cell([float(answer == option) for answer in chosen], clusters)} ({percent(true, len(right))})"


# Counts


def counts(run: Run) -> Iterator[ReportSection]:
    """Which numbers are said in Cnt, by how many images there are, and how far they lie from the truth."""
    lines = []
    for task in COUNTS:
        for arm, part in _answers_by_arm(run, task):
            length = part["item_id"].map(lambda name: len(run.items.by_id[name].query))
            for images in sorted(set(length)):
                lines.append([*arm, task, images, *_count_cells(part[length == images], arm, images)])
    if not lines:
        return
    max_count = max(line[3] for line in lines)
    lines = [[*line[:-1], *[""] * (max_count - line[3]), line[-1]] for line in lines]
    note = (
        "Readable answers by the number of images: the mean of count said minus true count, with 95 % interval (no "
        "interval where all errors are alike), then how often each count was said in percent, and in parentheses how "
        "often it was right. `other` are counts that the images do not allow."
    )
    counts_said = [f"said {n}" for n in range(1, max_count + 1)]
    names = ["subject", "condition", "task", "images", "answers", "mean error", *counts_said, "other"]
    frame = pd.DataFrame(lines, columns=names)
    yield ReportSection("Which counts are said in Cnt", note, frame, None, "counts")


def _count_cells(part: pd.DataFrame, arm: ReportArm, image_count: int) -> list[Any]:
    """Answers, mean error, a cell a possible count, and the share of impossible ones."""
    answers, true = part["prediction"].astype(int), part["truth"].astype(int)
    total = len(part)

    def count_cell(n: int) -> str:
        return f"{percent(float((answers == n).mean()), total)} ({percent(float((true == n).mean()), total)})"

    other = float((~answers.between(1, image_count)).mean())
    error = mean_error((answers - true).to_numpy(float), part["cluster_id"].to_numpy(str), arm, image_count)
    return [total, error, *map(count_cell, range(1, image_count + 1)), percent(other, total)]


def mean_error(errors: Any, clusters: Any, arm: ReportArm, image_count: int) -> str:
    """The mean of said minus true, signed, with its confidence interval where that is estimable."""
    text = f"{np.mean(errors):+.2f}"
    low, high, _ = mean_interval(errors, clusters, None, stream("vlm2-bench", "counts", *arm, image_count))
    return text if math.isnan(low) else with_interval(text, f"{low:+.2f}", f"{high:+.2f}")
