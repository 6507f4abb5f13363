"""Scores replies to exported questions: our parser and the main metric of `strict`, over plain fields.

`snellen.interop.scoring_fields` writes the fields, and checks this module against the protocol before a question is
exported. Exports of earlier versions have such fields too: none may be renamed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal

from snellen.core.item import Affine, ReplySpec, View
from snellen.core.sheet import read_sheet
from snellen.scoring.answers import read_answer
from snellen.scoring.answers.plain import read_json_objects
from snellen.scoring.answers.texts import key_forms, read_text
from snellen.scoring.metrics import acc_num, anls, ciede2000, exact_match, giou, mae_over_gt

METRICS: Mapping[str, Callable[[Any, Any, Mapping[str, Any]], float]] = {
    "accuracy": lambda answer, prediction, fields: exact_match(answer, prediction),
    "pair_accuracy": lambda answer, prediction, fields: exact_match(answer, prediction),
    "acc_num": lambda answer, prediction, fields: acc_num(answer, prediction, fields["query_images"]),
    "anls": lambda answer, prediction, fields: max(anls(key, prediction) for key in key_forms(answer)),
    "ciede2000": lambda answer, prediction, fields: ciede2000(answer, prediction),
    "giou": lambda answer, prediction, fields: giou(answer, prediction),
    "mae_over_gt": lambda answer, prediction, fields: mae_over_gt(float(answer), float(prediction)),
}
"""Metrics of free answers; questions with options have their scores in the fields."""


def score(fields: Mapping[str, Any], reply: str) -> tuple[Literal["answered", "no_answer"], float]:
    """(outcome, main metric) of a reply; one without a readable answer gets the worst score."""
    frame = fields["frame"]
    keys = tuple((name, key) for name, key in fields["keys"])
    spec = ReplySpec(fields["kind"], keys, None if frame is None else Affine(*frame), fields.get("unit", ""))
    text = _sheet_cell(reply, spec) if fields["on_sheet"] else reply
    read = read_text if fields["metric"] == "anls" else read_answer
    if (prediction := read(text, spec)) is None:
        return "no_answer", fields["worst"]
    if fields["option_scores"]:
        return "answered", fields["option_scores"][prediction]
    metric = METRICS[fields["metric"]](fields["answer"], prediction, fields)
    return "answered", metric if fields["higher_is_better"] else min(metric, fields["worst"])


def _sheet_cell(reply: str, spec: ReplySpec) -> str:
    """The cell of a sheet with one question; a reply without JSON is the cell itself."""
    view = View("item", "stimulus", "", "", (), spec)
    cell = read_sheet((view,), read_json_objects(reply))["item"]
    return reply if cell is None else cell


def mean_of_units(unit_scores: Iterable[tuple[str, int, float]]) -> float:
    """The mean over units of (unit, number of its questions, score of one of them).

    The score of a unit is its lowest, and counts only if all its questions have a score. NaN without any.
    """
    units: dict[str, list[float]] = {}
    sizes: dict[str, int] = {}
    for unit, size, value in unit_scores:
        units.setdefault(unit, []).append(value)
        sizes[unit] = size
    whole = [min(values) for unit, values in units.items() if len(values) >= sizes[unit]]
    return sum(whole) / len(whole) if whole else math.nan
