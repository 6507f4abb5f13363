"""From responses to scores. Rescoring never asks again, and does not depend on presentation code."""

from __future__ import annotations

import json
import math
from collections.abc import Container, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pandas as pd
import pyarrow as pa

from snellen.core.condition import near
from snellen.core.errors import SnellenError
from snellen.core.item import AnswerKind, Item, Split
from snellen.core.response import Response
from snellen.core.score import Outcome, Protocol
from snellen.core.storage import files
from snellen.core.storage.itemset import ItemSet
from snellen.core.storage.runfolder import ArmCard
from snellen.core.suite import Suite
from snellen.scoring.answers import answer_form
from snellen.scoring.uncertainty import outside

COLUMNS = (
    "subject",
    "fingerprint",
    "suite",
    "task",
    "condition",
    "repeat",
    "split",
    "protocol",
    "judge",
    "metric",
    "item_id",
    "stimulus_id",
    "group_id",
    "cluster_id",
    "truth",
    "prediction",
    "outcome",
    "form",
    "value",
    "chance",
)
"""One row per response and metric. `prediction` is the answer read, as JSON, in the item's own terms; `form` is that of
a box or colour in the reply (`scoring.answers.answer_form`), empty for other answers."""
BATCH = 100_000
"""Responses scored at a time."""


def is_judged(response: Response, protocol: Protocol) -> bool:
    """True if a judge must score the response: any text, or with `read_verdict` one that `read` cannot read."""
    if protocol.judge is None or response.status != "ok" or not response.text:
        return False
    return protocol.read_verdict is None or (not response.cut_off and _read(response, protocol) is None)


def _read(response: Response, protocol: Protocol) -> Any | None:
    """The answer of a response's own text."""
    if response.text is None:
        return None
    read = (protocol.read_cut_off if response.cut_off else None) or protocol.read
    return read(response.text, response.reply_spec)


def read_one(
    item: Item, response: Response, protocol: Protocol, verdict: Response | None = None
) -> tuple[Outcome, Any]:
    """(outcome, prediction) of one response. With a judge, the verdict is read instead."""
    scored = response
    if is_judged(response, protocol):
        if verdict is None:
            return "failed", None  # not judged yet
        scored = verdict
        if protocol.read_verdict is not None:
            scored = replace(verdict, reply_spec=response.reply_spec)
            protocol = replace(protocol, read=protocol.read_verdict)
    if scored.status == "declined":
        return "not_applicable", None
    if scored.status == "failed":
        return "failed", None
    prediction = _read(scored, protocol)
    if prediction is None:
        return ("cut_off" if scored.cut_off else "no_answer"), None
    return "answered", prediction


def score_one(
    item: Item, response: Response, protocol: Protocol, verdict: Response | None = None
) -> tuple[Outcome, Any, dict[str, float]]:
    """(outcome, prediction, value of each metric); NaN if there is nothing to score."""
    outcome, prediction = read_one(item, response, protocol, verdict)
    if outcome in ("answered", "no_answer", "cut_off"):
        return outcome, prediction, protocol.values(item, prediction)
    return outcome, prediction, {metric.name: math.nan for metric in protocol.metrics}


def primary_score(item: Item, response: Response, protocol: Protocol) -> float:
    """The first metric's value, which schedules receive; NaN if the response must be judged first."""
    return score_one(item, response, protocol)[2][protocol.metrics[0].name]


def score(
    responses: Sequence[Response],
    items: ItemSet,
    suite: Suite,
    protocol: str = "strict",
    judgements: Mapping[str, Response] | None = None,
) -> pd.DataFrame:
    """One row per response and metric, columns `COLUMNS`. `judgements` maps response ids to a judge's responses.

    Raises SnellenError if no task of the responses has the protocol.
    """
    verdicts = judgements or {}
    tasks = {response.task for response in responses}
    protocols = {name for task in tasks for name in suite.tasks[task].protocols}
    if responses and protocol not in protocols:
        raise SnellenError(
            f"no protocol {protocol!r} for {', '.join(sorted(tasks))}; {near(protocol, sorted(protocols))}"
        )
    tables = [
        _score_table(part, items, suite, protocol, verdicts)
        for part in (responses[first : first + BATCH] for first in range(0, len(responses), BATCH))
    ]
    tables = [table for table in tables if len(table)]
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame([], columns=list(COLUMNS))


def _score_table(
    responses: Sequence[Response], items: ItemSet, suite: Suite, protocol: str, verdicts: Mapping[str, Response]
) -> pd.DataFrame:
    judge_of = next((verdict.subject for verdict in verdicts.values()), "")
    rows = []
    for response in responses:
        item = items.by_id[response.item_id]
        how = suite.tasks[item.task].protocols.get(protocol)
        if how is None:
            continue
        outcome, prediction, values = score_one(item, response, how, verdicts.get(response.response_id))
        judge = judge_of if how.judge else ""  # also if nothing needed a judge: an arm is one result
        has_form = response.text is not None and response.reply_spec.kind in ("box", "point", "colour")
        form = answer_form(response.text or "", response.reply_spec) if has_form else ""
        for metric in how.metrics:
            rows.append(
                (
                    response.subject,
                    response.fingerprint,
                    item.suite,
                    item.task,
                    response.condition,
                    response.repeat,
                    item.split,
                    protocol,
                    judge,
                    metric.name,
                    item.item_id,
                    item.stimulus_id,
                    item.group_id,
                    item.cluster_id,
                    json.dumps(item.answer),
                    json.dumps(prediction),
                    outcome,
                    form,
                    values[metric.name],
                    metric.chance(item),
                )
            )
    return pd.DataFrame(rows, columns=list(COLUMNS))


def score_path(root: Path, protocol: str) -> Path:
    """The file of a run's scores under one protocol."""
    return root / f"scores.{protocol}.parquet"


def score_paths(root: Path) -> dict[str, Path]:
    """The existing score tables of a run, intact or damaged, by protocol."""
    paths = sorted(root.glob("scores.*.parquet"))
    return {path.name.split(".")[1]: path for path in paths if path.name.count(".") == 2}


def write_scores(root: Path, scores: pd.DataFrame, protocol: str) -> None:
    """Write scores into the run folder."""
    files.write_table(score_path(root, protocol), pa.Table.from_pandas(scores, preserve_index=False))


def read_scores(root: Path) -> dict[str, pd.DataFrame]:
    """The score tables of a run by protocol. Raises SnellenError if there are none, or one is damaged."""
    paths = score_paths(root)
    if not paths:
        raise SnellenError(f"{root}: has no scores; run `snellen score {root}`")
    return {name: _read_table(path, _remedy(path)).to_pandas() for name, path in paths.items()}


def own_scores(root: Path, items: ItemSet, suite: Suite, arms: Sequence[ArmCard]) -> dict[str, pd.DataFrame]:
    """The score tables of a run. Raises SnellenError as `read_scores`, and for rows of other items, arms or metrics."""
    tables = read_scores(root)
    for name, rows in tables.items():
        if fault := _foreign_cell(rows, name, items, suite, arms):
            path = score_path(root, name)
            raise SnellenError(f"{path}: {fault} does not belong to this run; {_remedy(path)}")
    return tables


def _remedy(path: Path) -> str:
    return f"give `snellen score {path.parent} --protocol {path.name.split('.')[1]}`"


def _read_table(path: Path, remedy: str) -> pa.Table:
    """A score table without pandas' notes about it, which no checksum covers."""
    table = files.read_table(path, remedy=remedy).replace_schema_metadata(None)
    odd = set(table.column_names) ^ set(COLUMNS)
    if odd or len(set(table.column_names)) < table.num_columns:
        raise SnellenError(f"{path}: unknown, missing or repeated columns ({', '.join(sorted(odd))[:100]}); {remedy}")
    for name, column in zip(table.column_names, table.columns, strict=True):
        kind = column.type
        if name in ("repeat", "value", "chance"):
            is_right = pa.types.is_floating(kind) or pa.types.is_integer(kind)
        else:
            is_right = pa.types.is_string(kind) or pa.types.is_large_string(kind)
        is_unknown = name == "chance" and pa.types.is_null(column.type)
        is_whole = not column.null_count or name in ("value", "chance")
        if len(table) and not ((is_right or is_unknown) and is_whole):  # columns without rows have any type
            raise SnellenError(f"{path}: {name} has cells of another type; {remedy}")
    return table


def _foreign_cell(rows: pd.DataFrame, protocol: str, items: ItemSet, suite: Suite, arms: Sequence[ArmCard]) -> str:
    """The first cell that no score of these arms under a protocol has, or an empty text."""
    tasks = {task: how.protocols[protocol] for task, how in suite.tasks.items() if protocol in how.protocols}
    known: dict[str, Container[Any]] = {
        "item_id": items.by_id,
        "protocol": {protocol},
        "outcome": get_args(Outcome),
        "split": get_args(Split),
        "task": tasks,
    }
    for column, values in known.items():
        if odd := next((text for text in rows[column].unique() if text not in values), None):
            return f"{column} {odd!r:.60}"
    of_arms, names = {arm.arm_key for arm in arms}, ["subject", "condition", "repeat"]
    for arm in rows[names].drop_duplicates().itertuples(index=False, name=None):
        if arm not in of_arms:
            return f"{arm[0]!r:.60} under {arm[1]!r:.60}"
    bounds = {(task, metric.name): metric.bounds for task, how in tasks.items() for metric in how.metrics}
    pairs = rows[["task", "metric"]].drop_duplicates().itertuples(index=False, name=None)
    if odd := next((pair for pair in pairs if pair not in bounds), None):
        return f"metric {odd[1]!r:.60}"
    for (task, metric), part in rows.groupby(["task", "metric"], sort=False):
        limits = bounds[str(task), str(metric)]
        if limits is not None and len(odd_values := outside(part["value"], limits)):
            return f"value {odd_values[0]:g} of {metric}, outside of {limits[0]:g} to {limits[1]:g},"
    for column in ("truth", "prediction"):
        for task, outcome, text in rows[["task", "outcome", column]].drop_duplicates().to_numpy():
            is_none = text == "null" and (column == "truth" or outcome != "answered")
            # The scorers of others keep what they read as they compare it, such as a count as a text.
            if not (is_none or _is_answer(text, suite.tasks[task].kind if protocol == "strict" else "text")):
                return f"{column} {text!r:.60}"
    return ""


def _is_answer(text: str, kind: AnswerKind) -> bool:
    """True if JSON may be an answer of this kind that was read from a reply, or from a verdict about it."""
    try:
        answer = json.loads(text, parse_constant=str)  # NaN is no number
    except (ValueError, RecursionError):
        return False
    parts, count = answer if isinstance(answer, list) else [answer], {"box": 4, "point": 2, "colour": 3}.get(kind, 0)
    if count or kind in ("integer", "number"):
        return {*map(type, parts)} <= {int, float} and isinstance(answer, list) * len(parts) == count
    return {*map(type, parts)} <= {int, float, str}


def has_scores(root: Path) -> bool:
    """True if a run has score tables, and all can be read."""
    try:
        return bool(read_scores(root))
    except SnellenError:
        return False
