"""Changes between two logs of any tool, why answers flipped, and ranks of more than two logs.

Scores are those of the logs, or of Snellen's parser where a log has options. Several epochs of an item are averaged.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from snellen.analysis.comparison.contrasts import contrast, contrasts
from snellen.analysis.comparison.logs import ItemPair, Join, Log, LogRow, join, targets_agree
from snellen.analysis.comparison.verdicts import (
    COLUMNS,
    FLIP,
    Comparison,
    Unpaired,
    flips,
    plain_comparison,
    plain_rows,
    unpaired,
    with_verdicts,
)
from snellen.analysis.tables.rankings import ScoreMatrix, ranked
from snellen.analysis.tables.run_view import lines_of
from snellen.core.errors import SnellenError
from snellen.core.score import Metric
from snellen.scoring.answers import read_label
from snellen.scoring.permutation import ALPHA
from snellen.subjects.joins import image_name

SCORE = Metric("score", lambda item, prediction: math.nan)
"""The score of a log as a share."""
WHOLE = "all items"
CONDITION = "vanilla"
CAUSES = (
    "a failed call", "another target", "not known: a log has no replies", "the same reply with another score",
    "a reply that was cut off", "another prompt", "other images", "another reply",
)  # fmt: skip
"""Why the score of an item flipped; the first that applies."""


@dataclass(frozen=True, repr=False)
class LogChanges(Comparison):
    """Changes from one log to another; `flips` has a column `cause`, one of `CAUSES`.

    `items` are the joined items by id, `remarks` sentences about what was read and joined.
    """

    joined: Join
    items: Mapping[str, ItemPair]
    remarks: tuple[str, ...]

    @property
    def causes(self) -> dict[str, int]:
        """The number of flips by cause, the most frequent first."""
        return dict(Counter(map(str, self.flips["cause"])).most_common())

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences about the join, the causes of flips, and what was read."""
        reasons = "; ".join(f"{count} {name}" for name, count in self.causes.items())
        return (self.joined.shares, *([f"Why {len(self.flips)} flipped: {reasons}."] if reasons else []), *self.remarks)

    def beyond(self, loss: float) -> tuple[list[str], list[str]]:
        """The rows that lost more than this share for certain, and those that may have.

        The first have an interval wholly beyond the loss and a clear change, the others one that includes it.
        """
        rows = list(lines_of(self.table))
        lost = [row.name for row in rows if row.high < -loss and row.p_holm < ALPHA]
        return lost, [row.name for row in rows if row.name not in lost and not row.low > -loss]


def plain_log_changes(compared: LogChanges) -> dict[str, Any]:
    """The comparison of two logs as JSON data."""
    facts = {"joined": dict(compared.joined.counts), "causes": compared.causes, "notes": list(compared.notes)}
    return {**plain_comparison(compared), **facts}


def log_changes(first_log: Log, second_log: Log, *, margin: float | None = None, read: bool = False) -> LogChanges:
    """Compare two logs; `margin` is the drop that must be detectable, as a share of the range of scores.

    With `read`, Snellen's parser scores all replies whose options and targets a log has. Raises SnellenError for logs
    that cannot be joined, and without a score on both sides.
    """
    joined = join(first_log, second_log)
    scores = _scores(joined, read)
    by_task = {str(task): part for task, part in scores.groupby("task", sort=False)}
    rows = [_row(task, (task,), part, str(n)) for n, (task, part) in enumerate(by_task.items()) if len(part.dropna())]
    if not rows:
        raise _without_scores(first_log, second_log)
    if len(rows) > 1:
        rows.append(_row(WHOLE, tuple(by_task), scores, WHOLE))
    metrics = dict.fromkeys([*by_task, WHOLE], SCORE)
    table = with_verdicts(
        pd.DataFrame(rows, columns=[*COLUMNS, "family", "gaps", "units"]), metrics, margin or math.inf
    )
    items = {pair.item_id: pair for pair in joined.pairs}
    flipped = flips(metrics, {(task, CONDITION): part for task, part in by_task.items()})
    only = unpaired(scores)
    return LogChanges(
        "both logs", (first_log.name, second_log.name), metrics, {}, table,
        flipped.assign(cause=[cause(items[row.item_id]) for row in lines_of(flipped)]), len(scores) - only.total,
        {(CONDITION, WHOLE): only, (CONDITION, ""): Unpaired(joined.only_before, joined.only_after)},
        tuple(task for task, part in by_task.items() if not len(part.dropna())), margin or math.inf,
        joined, items, tuple(_remarks(first_log, second_log, joined.pairs)),
    )  # fmt: skip


def _scores(matches: Join, read: bool) -> pd.DataFrame:
    """By item of both logs: task, scores `before` and `after`, and `cluster`: a group, else its images, else itself."""
    rows = []
    for pair in matches.pairs:
        sides = pair.before, pair.after
        groups = [rows_of[0].group for rows_of in sides] + [" ".join(rows_of[0].images) for rows_of in sides]
        values = _read_scores(pair) if read else [_mean([row.score for row in rows_of]) for rows_of in sides]
        rows.append((pair.item_id, pair.task or WHOLE, *values, next(filter(None, groups), pair.item_id)))
    return pd.DataFrame(rows, columns=["item_id", "task", "before", "after", "cluster"]).set_index("item_id")


def _mean(values: Sequence[float]) -> float:
    known = [value for value in values if value == value]
    return sum(known) / len(known) if known else math.nan


def _read_scores(pair: ItemPair) -> list[float]:
    """The scores of Snellen's parser, by each log's own options and target, or else by the other's; a run has them."""
    sources = [side[0] if side[0].options and side[0].target else None for side in (pair.before, pair.after)]
    both = zip((pair.before, pair.after), (sources[0] or sources[1], sources[1] or sources[0]), strict=True)
    return [
        _mean([row.score if not row.is_prompt else _read(row, source) if source else math.nan for row in side])
        for side, source in both
    ]


def _read(row: LogRow, other_row: LogRow) -> float:
    """1 if the reply names the target among the options, else 0; NaN without a reply or if it names none or several."""
    by_name = dict[str, set[str]]()
    for label, text in other_row.options:
        for name in (label, text):
            by_name.setdefault(name.casefold(), set()).add(label)
    targets = (form.casefold() for text in other_row.target for form in (text, text.strip("().: ")))
    keys = next((by_name[target] for target in targets if target in by_name), ())
    if row.reply is None or len(keys) != 1:  # two options have the same text, or one has another's letter
        return math.nan
    return float(read_label(row.reply, other_row.options) in keys)


def _row(name: str, tasks: Sequence[str], pair: pd.DataFrame, key: str) -> dict[str, Any]:
    both = pair.dropna()
    first, second = both["before"].to_numpy(float), both["after"].to_numpy(float)
    clusters = both["cluster"].to_numpy(object)  # of long names, an array of texts takes the longest for each
    return {
        "condition": CONDITION, "kind": "task" if name in tasks else "whole", "name": name, "tasks": tuple(tasks),
        "family": name not in tasks, "metric": SCORE.name, "before": first.mean(), "after": second.mean(),
        **contrast(second, first, clusters, "logs", key), "gaps": second - first, "units": clusters, "grade_before": "",
        "grade_after": "",
    }  # fmt: skip


def cause(pair: ItemPair) -> str:
    """Why two logs have other scores of an item, by its first epoch."""
    row, other = pair.before[0], pair.after[0]
    are_prompts = row.is_prompt and other.is_prompt
    texts = [" ".join(one.question.split()) for one in (row, other)]
    images = [{image for image in one.images if not image_name(image)} for one in (row, other)]
    applies = (
        bool(row.failure or other.failure),
        targets_agree(row, other) is False,
        row.reply is None or other.reply is None,
        (row.reply or "").strip() == (other.reply or "").strip(),
        (row.stop == "length") != (other.stop == "length"),
        are_prompts and all(texts) and texts[0] != texts[1],
        are_prompts and all(images) and images[0] != images[1],
        True,
    )
    return CAUSES[applies.index(True)]


def _remarks(first_log: Log, second_log: Log, pairs: Sequence[ItemPair]) -> Iterator[str]:
    for log, of_items in ((first_log, [pair.before for pair in pairs]), (second_log, [pair.after for pair in pairs])):
        yield from log.notes
        if failed := sum(bool(row.failure) for row in log.rows):
            yield f"{log.name}: {failed} of {len(log.rows)} calls failed; they count as the log scored them."
        steps = [row.score - other.score for epochs in of_items for row, other in pairwise(epochs)]
        if steps:
            yield f"{log.name}: from epoch to epoch, {np.mean(np.abs(steps) >= FLIP):.1%} of the scores flip."


# More than two logs


@dataclass(frozen=True)
class LogRanks:
    """Several logs on the items that they have in common with the first.

    `table` has all pairs of logs by task and over all items, columns of `contrasts`, with intervals at 95 % for all
    pairs of a task together. `ranks` has the score and the rank of each log with its interval, by task.
    """

    table: pd.DataFrame
    ranks: pd.DataFrame
    notes: tuple[str, ...]

    def plain(self) -> dict[str, Any]:
        """As JSON data."""
        return {"pairs": plain_rows(self.table), "ranks": plain_rows(self.ranks), "notes": list(self.notes)}


def _without_scores(first_log: Log, second_log: Log) -> SnellenError:
    return SnellenError(
        f"{first_log.name} and {second_log.name}: no item has a score in both; name the column with FILE:COLUMN, let "
        "--read score replies whose options and targets are in a log, or score replies about your own items by "
        "`snellen run ITEMSET --subject recorded:FILE`, and compare these runs"
    )


def log_ranks(logs: Sequence[Log], *, read: bool = False) -> LogRanks:
    """Compare every two of several logs. Raises SnellenError as `log_changes` does."""
    notes, parts = list[str](), list[pd.DataFrame]()
    for log in logs[1:]:
        joined = join(logs[0], log)
        scores = _scores(joined, read).reset_index().rename(columns={"cluster": "cluster_id"})
        if scores[["before", "after"]].isna().any(axis=1).all():
            raise _without_scores(logs[0], log)
        for name, side in ((logs[0].name, "before"), (log.name, "after")):
            parts.append(scores[["item_id", "task", "cluster_id"]].assign(value=scores[side], subject=name))
        notes += [f"{log.name}: {joined.shares}", *log.notes]
    scores = pd.concat(parts).drop_duplicates(["item_id", "subject"])
    scores = scores.assign(protocol="", metric=SCORE.name, condition=CONDITION)
    level, whole = 1 - ALPHA / math.comb(len(logs), 2), scores.assign(task=WHOLE)
    tables = [scores, whole] if scores["task"].nunique() > 1 else [scores]
    ranks = [
        row for table in tables for task, part in table.groupby("task", sort=False) for row in _ranks(str(task), part)
    ]
    pairs = pd.concat([contrasts(table, level=level) for table in tables], ignore_index=True)
    return LogRanks(pairs, pd.DataFrame(ranks), tuple(notes))


def _ranks(task: str, scores: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """The logs with their scores and ranks, the best first."""
    values = scores.pivot(index="subject", columns="item_id", values="value").loc[scores["subject"].unique()]
    clusters = scores.drop_duplicates("item_id").set_index("item_id")["cluster_id"].reindex(values.columns)
    ranks = ranked([ScoreMatrix(task, values.to_numpy(float), tuple(clusters))])[task]
    for name, rank in sorted(zip(values.index, ranks, strict=True), key=lambda entry: entry[1].value):
        known = values.loc[name].dropna()
        interval = {"rank": rank.value, "low": rank.low, "high": rank.high}
        yield {"task": task, "log": name, "score": known.mean(), "n": len(known), **interval}
