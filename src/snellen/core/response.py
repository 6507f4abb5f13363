"""Exchanges, which a run records, and responses, which are computed from the record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from snellen.core.item import ReplySpec
from snellen.core.prompt import Reply

Status = Literal["ok", "failed", "declined"]
Role = Literal["model", "encoder", "person", "simulated"]
"""What a subject is. Simulated observers (oracle, guesser, blind) check the instrument and are not ranked."""
Source = Literal["asked", "recorded"]
"""Where the replies of a subject come from; one whose replies were recorded elsewhere cannot be asked for more."""
StoppingRule = Literal["none", "look", "drop", ""]
"""What ends asking: a decided grade, or the same at planned looks alone; empty if all items are asked.

Runs up to version 0.2 may also have ended by a decided drop.
"""


@dataclass(frozen=True, slots=True)
class Exchange:
    """One call, the only thing that a run records.

    `key` is subject fingerprint, condition, repeat, trial and step. `digest` is that of the prompt. A call without a
    reply has failed, and `error` is the reason.
    """

    key: str
    digest: str
    reply: Reply | None
    error: str = ""


@dataclass(frozen=True, slots=True)
class Response:
    """The outcome of one item for one subject under one condition, computed by replaying exchanges.

    `text` is None if the calls returned no answer to this item. `calls` are keys of exchanges; items on one sheet share
    a call, so tokens and seconds are counted there. `cut_off`: the last call ended at the token limit, and `text` is
    what it wrote until then, or None.
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
    cut_off: bool = False

    @property
    def arm_key(self) -> tuple[str, str, int]:
        """Subject, condition and repeat, as of its arm."""
        return self.subject, self.condition, self.repeat
