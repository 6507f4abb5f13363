"""Hooks of lmms-eval for exported questions: messages with images in place, and the scores of `strict`.

No text of a question or a reply is evaluated as code.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from snellen.interop.scorers.scoring import mean_of_units, score

FAILED = "[LMMS_EVAL_REQUEST_FAILED"
"""Start of the reply that lmms-eval writes if a call failed."""


def doc_to_messages(doc: Mapping[str, Any], lmms_eval_specific_kwargs: object = None) -> list[dict[str, Any]]:
    """One turn: texts and images in the order sent."""
    images = iter(doc["images"])
    content = [
        {"type": "image", "url": next(images)} if part["type"] == "image" else {"type": "text", "text": part["text"]}
        for part in json.loads(doc["parts"])
    ]
    return [{"role": "user", "content": content}]


def doc_to_visual(doc: Mapping[str, Any]) -> list[Any]:
    """All images, for models that take images and words separately."""
    return list(doc["images"])


def doc_to_text(doc: Mapping[str, Any], lmms_eval_specific_kwargs: object = None) -> str:
    """The words for such models: `[image 2]` in place of the second of several images."""
    return str(doc["prompt"])


def process_results(doc: Mapping[str, Any], results: Sequence[str]) -> dict[str, dict[str, Any]]:
    """The score of a reply with its unit, whether it was read, and whether the call failed, which gives no score.

    lmms-eval writes these objects into its samples, so that `item_id` there tells which question was answered.
    """
    fields, (reply, *_) = json.loads(doc["scoring"]), results
    place = {name: doc[name] for name in ("item_id", "unit", "cluster_id")} | {"unit_size": int(doc["unit_size"])}
    if reply.startswith(FAILED):
        return {doc["metric"]: place, "no_answer": place, "failed": {**place, "score": 1.0}}
    outcome, value = score(fields, reply)
    return {
        doc["metric"]: {**place, "score": value},
        "no_answer": {**place, "score": float(outcome == "no_answer")},
        "failed": {**place, "score": 0.0},
    }


def mean_over_units(results: Sequence[Mapping[str, Any]]) -> float:
    """The mean over the metric's units: questions, or groups in which every question must be right."""
    return mean_of_units((each["unit"], each["unit_size"], each["score"]) for each in results if "score" in each)


def rate(results: Sequence[Mapping[str, Any]]) -> float:
    """The share of questions without a readable answer, or whose call failed."""
    return mean_of_units((str(number), 1, each["score"]) for number, each in enumerate(results) if "score" in each)
