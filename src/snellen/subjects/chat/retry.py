"""What to do when a call breaks off: whether to try again, and after how long."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from json import JSONDecodeError
from typing import Any

import numpy as np
from pydantic import ValidationError

from snellen.subjects.chat.bodies import refusal

LONGEST_WAIT = 120.0
"""Seconds; a service that asks for more is tried again after this."""
_AGAIN = {408, 409, 425, 429}
"""Statuses below 500 that may pass by themselves."""
_PASSING = (TimeoutError, ConnectionError, JSONDecodeError, ValidationError, TypeError, AttributeError, LookupError)
"""Broken connections, and what reading a malformed reply ends in."""
_TIMEOUTS = ("AttemptTimeoutError", "APITimeoutError")
"""Timeouts of the model layer and its clients that are no TimeoutError."""


@dataclass(frozen=True)
class Trouble:
    """Why an attempt brought no reply; `again`: another may; `after`: seconds the service asked to wait."""

    reason: str
    again: bool
    after: float | None = None


def trouble(error: BaseException, provider_says: bool = False) -> Trouble:
    """Judge what an attempt raised. `provider_says`: the model layer's provider holds it worth another try."""
    if refused := refusal(error):
        return Trouble(str(refused), again=False)
    status = getattr(error, "status_code", None)
    if isinstance(status, int):
        again = status in _AGAIN or status >= 500
    else:
        again = provider_says or isinstance(error, _PASSING) or type(error).__name__ in _TIMEOUTS
    response = getattr(error, "response", None)
    return Trouble(_reason(error, status), again, retry_after(getattr(response, "headers", None) or {}))


def retry_after(headers: Mapping[str, Any], now: float | None = None) -> float | None:
    """Seconds a `Retry-After` header asks for, written as seconds or as a date; None where it says nothing readable."""
    written = next((str(value).strip() for name, value in headers.items() if name.lower() == "retry-after"), "")
    try:
        seconds = float(written)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(written).timestamp() - (time.time() if now is None else now)
        except (ValueError, TypeError, OverflowError):
            return None
    return min(max(seconds, 0.0), LONGEST_WAIT) if seconds == seconds else None


def wait_seconds(failed: int, retry_after: float | None, first_wait: float, rng: np.random.Generator) -> float:
    """How long to wait after so many failed attempts: doubling, spread by a half, or as long as was asked for."""
    backoff = min(first_wait * 2.0 ** (failed - 1), LONGEST_WAIT / 2) * rng.uniform(0.5, 1.5)
    return backoff if retry_after is None else retry_after + rng.uniform(0.0, min(first_wait, 1.0))


def _reason(error: BaseException, status: object) -> str:
    message = getattr(error, "provider_message", None) or str(error)
    first = next((line.strip() for line in message.splitlines() if line.strip()), "")
    words = [str(status)] if isinstance(status, int) else []
    return " ".join([*words, f"{type(error).__name__}: {first[:200]}".rstrip(": ")])
