"""Changes between two logs of any tool, why answers flipped, and ranks of more than two logs.

Scores are those of the logs, or of Snellen's parser where a log has options. Several epochs of an item are averaged.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from snellen.analysis.comparison.contrasts import contrast, contrasts
from snellen.analysis.comparison.logs import Epochs, ItemPair, Join, Log, LogRow, join, targets_agree
from snellen.analysis.comparison.table import Comparison, Unpaired, plain_comparison, plain_rows
from snellen.analysis.comparison.verdicts import COLUMNS, FLIP, flips, with_verdicts
from snellen.analysis.tables.rankings import ScoreMatrix, ranked
from snellen.analysis.tables.run_view import lines_of
from snellen.core.errors import SnellenError
from snellen.core.item import ReplySpec
from snellen.core.score import Metric
from snellen.scoring.answers import read_answer
from snellen.scoring.permutation import ALPHA, normal_p, sign_flip
from snellen.subjects.recorded import image_name

SCORE = Metric("score", lambda item, prediction: math.nan)
"""The score of a log as a share."""
WHOLE = "all items"
MANY = 10_000
"""Clusters above which p of scores of many sizes is by a normal approximation."""
CONDITION = "vanilla"
CAUSES = (
    "a failed call", "another target", "not known: a log has no replies", "the same reply with another score",
    "a reply that was cut off", "another prompt", "other images", "another reply",
)  # fmt: skip
"""Why the score of an item flipped; the first that applies."""


@dataclass(frozen=True)
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
        total = len(self.joined.pairs)
        shares = ", ".join(f"{count / total:.0%} by {name}" for name, count in self.joined.counts.items())
        reasons = "; ".join(f"{count} {name}" for name, count in self.causes.items())
        return (
            f"{total} items joined: {shares}. {self.joined.contradictions} of {self.joined.comparable} with texts to "
            "compare contradict each other.",
            *([f"Why {len(self.flips)} flipped: {reasons}."] if reasons else []),
            *self.remarks,
        )

    def beyond(self, loss: float) -> tuple[list[str], list[str]]:
        """The rows that lost more than this share for certain, and those that may have.

        The first have an interval wholly beyond the loss and a clear change, the others one that includes it.
        """
        rows = list(lines_of(self.table))
        lost = [row.name for row in rows if row.high < -loss and row.p_holm < ALPHA]
        return lost, [row.name for row in rows if row.name not in lost and not row.low > -loss]


def plain_log_changes(compared: LogChanges) -> dict[str, Any]:
    """The comparison of two logs as JSON data."""
    counts = {"contradictions": compared.joined.contradictions, "comparable": compared.joined.comparable}
    facts = {"joined": {**compared.joined.counts, **counts}, "causes": compared.causes, "notes": list(compared.notes)}
    return {**plain_comparison(compared), **facts}


def log_changes(first: Log, second: Log, *, margin: float | None = None, read: bool = False) -> LogChanges:
    """Compare two logs; `margin` is the drop that must be detectable, as a share of the range of scores.

    With `read`, Snellen's parser scores all replies whose options and targets a log has.

    Raises SnellenError for logs that cannot be joined, and without a score on both sides.
    """
    joined = join(first, second)
    frames = _frames(joined, read)
    rows = [_row(task, (task,), frame, str(n)) for n, (task, frame) in enumerate(frames.items()) if len(frame.dropna())]
    if not rows:
        raise SnellenError(
            f"{first.name} and {second.name}: no item has a score in both; name the column with FILE:COLUMN, or let "
            "--read score replies whose options and targets are in a log"
        )
    if len(rows) > 1:
        rows.append(_row(WHOLE, tuple(frames), pd.concat(frames.values()), WHOLE))
    metrics = dict.fromkeys([*frames, WHOLE], SCORE)
    table = with_verdicts(
        pd.DataFrame(rows, columns=[*COLUMNS, "family", "gaps", "units"]), metrics, margin or math.inf
    )
    items = {pair.item_id: pair for pair in joined.pairs}
    flipped = flips(metrics, {(task, CONDITION): frame for task, frame in frames.items()})
    unpaired = {
        (CONDITION, task): _unpaired(frames.get(task), joined, task)
        for task in dict.fromkeys([*frames, *joined.only_before, *joined.only_after])
    }
    return LogChanges(
        "both logs", (first.name, second.name), metrics, {}, table,
        flipped.assign(cause=[cause(items[row.item_id]) for row in lines_of(flipped)]),
        sum(len(frame.dropna()) for frame in frames.values()), unpaired,
        tuple(task or WHOLE for task, frame in frames.items() if not len(frame.dropna())), margin or math.inf,
        joined, items, tuple(_remarks(first, second, joined, rows)),
    )  # fmt: skip


def _frames(joined: Join, read: bool) -> dict[str, pd.DataFrame]:
    """Scores before and after, and the cluster, of the items of each task."""
    columns = dict[str, list[tuple[str, float, float, str]]]()
    for pair in joined.pairs:
        scores = _read_scores(pair) if read else (_mean_score(pair.before), _mean_score(pair.after))
        columns.setdefault(pair.task, []).append((pair.item_id, *scores, _cluster(pair)))
    return {
        task or WHOLE: pd.DataFrame(rows, columns=["item_id", "before", "after", "cluster"]).set_index("item_id")
        for task, rows in columns.items()
    }


def _mean_score(rows: Epochs) -> float:
    return _mean(row.score for row in rows)


def _mean(scores: Iterable[float]) -> float:
    known = [score for score in scores if not math.isnan(score)]
    return sum(known) / len(known) if known else math.nan


def _cluster(pair: ItemPair) -> str:
    """The group in a log, else its images, else the item."""
    rows = pair.before[0], pair.after[0]
    groups = (row.group or " ".join(row.images) for row in rows)
    return next(filter(None, groups), pair.item_id)


def _read_scores(pair: ItemPair) -> tuple[float, float]:
    """The scores of Snellen's parser, by each log's own options and target, or else by the other's."""
    sources = [row for row in (pair.before[0], pair.after[0]) if row.options and row.target]
    if not sources:
        return math.nan, math.nan
    first, second = (row if row in sources else sources[0] for row in (pair.before[0], pair.after[0]))
    return _mean(_read(row, first) for row in pair.before), _mean(_read(row, second) for row in pair.after)


def _read(row: LogRow, source: LogRow) -> float:
    """1 if the reply names the target among the options, else 0; NaN without a reply or a target among them."""
    labels = {name.casefold(): label for label, text in reversed(source.options) for name in (text, label)}
    targets = (text.strip("().: ").casefold() for text in source.target)
    key = next((labels[target] for target in targets if target in labels), "")
    if row.reply is None or not key:
        return math.nan
    names = [(name, label) for label, text in source.options for name in dict.fromkeys((label, text)) if name]
    return float(read_answer(row.reply, ReplySpec("choice", tuple(names))) == key)


def _row(name: str, tasks: Sequence[str], frame: pd.DataFrame, key: str) -> dict[str, Any]:
    both = frame.dropna()
    first, second = both["before"].to_numpy(float), both["after"].to_numpy(float)
    clusters = both["cluster"].to_numpy(str)
    is_large = len(np.unique(clusters)) > MANY and not np.isin(second - first, (-1, 0, 1)).all()
    numbers = contrast(second, first, clusters, "logs", key, test=normal_p if is_large else sign_flip)
    return {
        "condition": CONDITION, "kind": "task" if name in tasks else "whole", "name": name, "tasks": tuple(tasks),
        "family": name not in tasks, "metric": SCORE.name, "before": first.mean(), "after": second.mean(), **numbers,
        "gaps": second - first, "units": clusters, "grade_before": "", "grade_after": "", "is_large": is_large,
    }  # fmt: skip


def _unpaired(frame: pd.DataFrame | None, joined: Join, task: str) -> Unpaired:
    """Items that one log alone has, or alone has a score of."""
    only = joined.only_before.get(task, 0), joined.only_after.get(task, 0)
    if frame is None:
        return Unpaired(*only)
    is_before, is_after = frame["before"].notna(), frame["after"].notna()
    counts = (is_before & ~is_after).sum(), (~is_before & is_after).sum(), (~is_before & ~is_after).sum()
    return Unpaired(only[0] + int(counts[0]), only[1] + int(counts[1]), int(counts[2]))


def cause(pair: ItemPair) -> str:
    """Why two logs have other scores of an item, by its first epoch."""
    row, other = pair.before[0], pair.after[0]
    texts = [" ".join(one.question.split()) for one in (row, other)]
    images = [{image for image in one.images if not image_name(image)} for one in (row, other)]
    applies = (
        bool(row.failure or other.failure),
        targets_agree(row, other) is False,
        row.reply is None or other.reply is None,
        (row.reply or "").strip() == (other.reply or "").strip(),
        (row.stop == "length") != (other.stop == "length"),
        all(texts) and texts[0] != texts[1],
        all(images) and images[0] != images[1],
        True,
    )
    return CAUSES[applies.index(True)]


def _remarks(first: Log, second: Log, joined: Join, rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for n, log in enumerate((first, second)):
        yield from log.notes
        if failed := sum(bool(row.failure) for row in log.rows):
            yield f"{log.name}: {failed} of {len(log.rows)} calls failed; they count as the log scored them."
        steps = [
            abs(row.score - other.score) >= FLIP
            for pair in joined.pairs
            for row, other in pairwise((pair.before, pair.after)[n])
            if not math.isnan(row.score + other.score)
        ]
        if steps:
            yield f"{log.name}: from epoch to epoch, {np.mean(steps):.1%} of the scores flip."
    if large := [row["name"] for row in rows if row["is_large"]]:
        yield f"Of {', '.join(large)}, p is a normal approximation (more than {MANY:,} clusters)."


# More than two logs


@dataclass(frozen=True)
class LogRanks:
    """Several logs on the items that they have in common with the first.

    `table` has all pairs of logs by task and over all items, columns of `contrasts`, with intervals at 95 % for all
    pairs of a task together. `ranks` has the score and the rank of each log with its interval, by task.
    """

    names: tuple[str, ...]
    table: pd.DataFrame
    ranks: pd.DataFrame
    notes: tuple[str, ...]

    def plain(self) -> dict[str, Any]:
        """As JSON data."""
        tables = {"pairs": plain_rows(self.table), "ranks": plain_rows(self.ranks)}
        return {"logs": list(self.names), **tables, "notes": list(self.notes)}


def log_ranks(logs: Sequence[Log], *, read: bool = False) -> LogRanks:
    """Compare every two of several logs. Raises SnellenError as `log_changes` does."""
    notes, scores = list[str](), dict[str, dict[str, dict[str, float]]]()  # by task, log and item
    clusters = dict[str, str]()
    for other in logs[1:]:
        joined = join(logs[0], other)
        for task, frame in _frames(joined, read).items():
            clusters |= {str(item): clusters.get(str(item), cluster) for item, cluster in frame["cluster"].items()}
            by_log = scores.setdefault(task, {})
            by_log.setdefault(logs[0].name, {}).update(frame["before"])
            by_log[other.name] = dict(frame["after"])
        shares = ", ".join(f"{count / len(joined.pairs):.0%} by {name}" for name, count in joined.counts.items())
        notes += [f"{other.name}: {len(joined.pairs)} items joined to {logs[0].name}: {shares}.", *other.notes]
    if len(scores) > 1:
        whole = scores[WHOLE] = {}
        for by_log in list(scores.values())[:-1]:
            for name, values in by_log.items():
                whole.setdefault(name, {}).update(values)
    tests = math.comb(len(logs), 2)
    tables = [_pairs({task: by_log for task, by_log in scores.items() if (task == WHOLE) == is_whole}, clusters, tests)
              for is_whole in (False, True)]  # fmt: skip
    ranks = [row for task, by_log in scores.items() for row in _rank_rows(task, by_log, clusters)]
    names = tuple(log.name for log in logs)
    return LogRanks(names, pd.concat(tables, ignore_index=True), pd.DataFrame(ranks), tuple(notes))


def _pairs(
    scores: Mapping[str, Mapping[str, Mapping[str, float]]], clusters: Mapping[str, str], tests: int
) -> pd.DataFrame:
    rows = [
        (task, "", SCORE.name, name, CONDITION, item, value, clusters[item])
        for task, by_log in scores.items()
        for name, values in by_log.items()
        for item, value in values.items()
    ]
    columns = ["task", "protocol", "metric", "subject", "condition", "item_id", "value", "cluster_id"]
    return contrasts(pd.DataFrame(rows, columns=columns), level=1 - ALPHA / tests)


def _rank_rows(
    task: str, scores: Mapping[str, Mapping[str, float]], clusters: Mapping[str, str]
) -> Iterator[dict[str, Any]]:
    items = list(dict.fromkeys(item for values in scores.values() for item in values))
    values = np.array([[by_item.get(item, math.nan) for item in items] for by_item in scores.values()])
    matrix = ScoreMatrix(task, values, tuple(clusters[item] for item in items))
    rows = zip(scores, values, ranked([matrix])[task], strict=True)
    for name, row, rank in sorted(rows, key=lambda entry: entry[2].value):
        interval = {"rank": rank.value, "low": rank.low, "high": rank.high}
        yield {"task": task, "log": name, "score": np.nanmean(row), "n": int((~np.isnan(row)).sum()), **interval}
