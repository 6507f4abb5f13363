"""Exchanges and responses: what a run records, and what it computes from the record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from snellen.core.item import ReplySpec
from snellen.core.prompt import Reply

Status = Literal["ok", "failed", "declined"]


@dataclass(frozen=True, slots=True)
class Exchange:
    """One call, the only thing a run records.

    `key` is its place: subject fingerprint, condition, repeat, trial, step. `digest` is what was sent. Without a reply
    it failed, and `error` says why.
    """

    key: str
    digest: str
    reply: Reply | None
    error: str = ""


@dataclass(frozen=True, slots=True)
class Response:
    """What one item got from one subject under one condition, computed by replaying exchanges.

    `text` is None where the calls came back without this item's answer. `calls` are keys of exchanges; items on one
    sheet share a call, so tokens and seconds are counted there.
    """

    response_id: str
    subject: str
    fingerprint: str
    item_id: str
    task: str
    condition: str
    repeat: int
    status: Status
    text: str | None
    reason: str
    reply_spec: ReplySpec
    calls: tuple[str, ...]
