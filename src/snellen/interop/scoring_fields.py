"""Fields of an exported question with which its replies are scored as here, without its item set."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import astuple
from functools import cache
from typing import Any

import pandas as pd

from snellen.interop.questions import ModelQuestion
from snellen.interop.scorers.scoring import METRICS, score
from snellen.presentation.methods import OneByOne, Sheet

_PROBES = {"box": "[1, 2, 30, 40]", "colour": "[0, 128, 255]", "text": "**so**", "true_false": "F", "choice": "B"}
_TOLERANCE = 1e-9


def scoring_fields(question: ModelQuestion) -> dict[str, Any]:
    """Fields of `scorers.scoring.score`, as plain data."""
    item, reply, metric = question.item, question.view.reply, question.protocol.metrics[0]
    is_listed = item.answer_kind in ("choice", "true_false") or (reply.keys and reply.kind not in ("integer", "number"))
    option_scores = {key: metric.score(item, key) for key in reply.offered} if is_listed else {}
    return {
        "kind": reply.kind,
        "keys": [list(pair) for pair in reply.keys],
        "frame": None if reply.frame is None else list(astuple(reply.frame)),
        "unit": reply.unit,
        "answer": item.answer,
        "metric": metric.name,
        "worst": metric.worst,
        "higher_is_better": metric.higher_is_better,
        "option_scores": option_scores,
        "query_images": len(item.query),
        "on_sheet": isinstance(question.method, Sheet),
    }


NO_POINTS = "answered by a point, which other tools do not score"


def not_scored_alone(question: ModelQuestion) -> str | None:
    """The reason why the exported scoring module cannot score a question as its protocol does, or None."""
    if question.item.answer_kind == "point":
        return NO_POINTS
    reason = "scored by rules that no export knows"
    metric = question.protocol.metrics[0]
    is_mean = metric.summary == "mean" and metric.estimate is None
    if not isinstance(question.method, OneByOne | Sheet) or not is_mean:
        return reason
    kind, answer = question.view.reply.kind, question.item.answer
    if kind == "choices" or (kind == "text" and isinstance(answer, tuple)):  # several options, or accepted texts
        return reason
    fields = scoring_fields(question)
    if not fields["option_scores"] and fields["metric"] not in METRICS:
        return reason
    probe_of_kind = _PROBES.get(question.item.answer_kind, "7")
    for probe in ("", question.key, probe_of_kind):
        (outcome, value), (our_outcome, our_value) = score(fields, probe), question.score(probe)
        if outcome != our_outcome or not math.isclose(value, our_value, abs_tol=_TOLERANCE):
            return reason
    return None


def units(questions: Sequence[ModelQuestion]) -> dict[str, tuple[str, int]]:
    """The unit counted by the main metric and its number of questions, by item id.

    A unit is a question, or a group if the protocol combines groups.
    """
    names = {}
    for question in questions:
        is_grouped = _puts_groups_together(question.protocol.units, question.metric)
        names[question.item.item_id] = question.item.group_id if is_grouped else question.item.item_id
    sizes = Counter(names.values())
    return {item_id: (name, sizes[name]) for item_id, name in names.items()}


@cache
def _puts_groups_together(protocol_units: Any, metric: str) -> bool:
    """True if a protocol combines two scores of a group into one unit."""
    row = {"group_id": "group", "cluster_id": "cluster", "metric": metric, "value": 1.0, "chance": 0.5, "truth": ""}
    scores = pd.DataFrame([{**row, "item_id": f"item-{side}"} for side in "pn"])
    return len(protocol_units(scores)) == 1
