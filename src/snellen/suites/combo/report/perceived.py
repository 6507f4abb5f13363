"""A subject's descriptions of images before it classifies, read from the recorded exchanges of a run.

Under `method=perceive-then-classify` every image of a question is described in a separate call. These replies answer no
item, so they have no score. They stay in the record, and show whether a wrong answer is due to perception or to
inference (section 4.2, figure 8).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from snellen.analysis.section import Run
from snellen.core.item import Item, ReplySpec
from snellen.core.response import Response
from snellen.core.storage import files
from snellen.core.storage.parts import read_exchanges
from snellen.core.storage.runfolder import SENT, sent_parts
from snellen.scoring.answers import read_answer, read_json_objects
from snellen.stimuli.scenes import DIMENSIONS
from snellen.suites.combo.questions import categories
from snellen.suites.combo.questions.perception import names
from snellen.suites.combo.space import values


@dataclass(frozen=True)
class DescribedImage:
    """One image of a question: its true dimensions and the description of each (None if unreadable)."""

    subject: str
    condition: str
    repeat: int
    item_id: str
    cluster_id: str
    truth: Mapping[str, str]
    description: Mapping[str, str | None]

    def is_right(self, dimensions: Iterable[str]) -> bool:
        """True if all these dimensions were described correctly."""
        return all(self.description[dimension] == self.truth[dimension] for dimension in dimensions)


def described_images(run: Run) -> list[DescribedImage]:
    """All described images of the arms with `method=perceive-then-classify` and `images=original`."""
    arms = {
        (arm.subject, arm.condition)
        for arm in run.card.arms
        if (arm.columns.get("method"), arm.columns.get("images")) == ("perceive-then-classify", "original")
    }
    responses = [r for r in run.responses if r.task == categories.TASK and (r.subject, r.condition) in arms]
    if not responses:
        return []
    record = _read_record(run, {key for response in responses for key in response.calls[:-1]})
    return [
        image for response in responses for image in _images_of(response, run.items.by_id[response.item_id], record)
    ]


def deciding_dimensions(item: Item) -> tuple[str, ...]:
    """The dimensions in which the two rules of a question contradict each other.

    These are the dimensions that both rules fix; if there are none, those in which their claims have no common value.
    """
    named = item.factors["deciding"].split(", ")
    if set(named) <= set(DIMENSIONS):
        return tuple(named)
    first, second = (item.latent["claims"][key] for key in "AB")
    return tuple(d for d in DIMENSIONS if d in first and d in second and not set(first[d]) & set(second[d]))


def read_description(text: str) -> dict[str, str | None]:
    """The value that a JSON reply gives for each dimension; None if it is missing or unreadable."""
    parsed = read_json_objects(text)
    if isinstance(parsed, list):
        parsed = parsed[0] if len(parsed) == 1 else None
    fields = parsed if isinstance(parsed, dict) else {}
    return {dimension: _read_dimension(dimension, fields.get(dimension)) for dimension in DIMENSIONS}


def _read_dimension(dimension: str, field: Any) -> str | None:
    if field is None:
        return None
    answer = read_answer(field if isinstance(field, str) else json.dumps(field), _reply_spec(dimension))
    return None if answer is None else str(answer)


@cache
def _reply_spec(dimension: str) -> ReplySpec:
    """The reply specification that accepts every value of a dimension by all its names."""
    return ReplySpec("choice", tuple((name, value) for value in values(dimension) for name in names(dimension, value)))


def _read_record(run: Run, keys: set[str]) -> dict[str, tuple[str, str]]:
    """Call -> (SHA-256 of its single image, reply), for answered calls."""
    replies, sent = {}, {}
    for root in run.roots:
        for exchange in read_exchanges(root):
            if exchange.reply is not None and exchange.key in keys:
                replies[exchange.key] = exchange.digest, exchange.reply.text
        digests = {digest for digest, _ in replies.values()}
        for row in files.read_table(root / "sent.parquet", schema=SENT).to_pylist():
            if row["digest"] in digests:
                sent[row["digest"]] = _images(sent_parts(root, row["parts"]))
    record = {}
    for key, (digest, text) in replies.items():
        images = sent.get(digest, [])
        if len(images) == 1:
            record[key] = images[0], text
    return record


def _images(parts: Sequence[Any]) -> list[str]:
    return [str(part["media"]).partition(".")[0] for part in parts if isinstance(part, dict) and "media" in part]


def _images_of(response: Response, item: Item, record: Mapping[str, tuple[str, str]]) -> Iterator[DescribedImage]:
    """The described images of one question."""
    key = response.subject, response.condition, response.repeat, item.item_id, item.cluster_id
    for call in response.calls[:-1]:
        image, text = record.get(call, ("", ""))
        if image in item.latent["shows"]:
            yield DescribedImage(*key, item.latent["shows"][image], read_description(text))
