"""Decides whether a failed call is tried again, and after how long."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from json import JSONDecodeError
from socket import gaierror
from typing import Any, TypeVar

import numpy as np

from snellen_sight.bodies import refusal

Outcome = TypeVar("Outcome")
LONGEST_WAIT = 120.0
"""Seconds; longer waits requested by a service are cut to this."""
_AGAIN = {408, 409, 425, 429}
"""Statuses below 500 that may be temporary."""
_LASTING = {401, 402, 403, 404}
"""Statuses that later calls will get too: no key, no money, no permission, no such model."""
_UNREACHED = ("ConnectError", "ClientConnectorError")
"""Errors that httpx and aiohttp raise if no connection can be made."""
_PASSING = (TimeoutError, ConnectionError, JSONDecodeError, TypeError, AttributeError, LookupError)
"""Broken connections, and errors from parsing a malformed reply."""
_PASSING_NAMES = ("AttemptTimeoutError", "APITimeoutError", "ValidationError")
"""Timeouts of the model layer and its clients that are not TimeoutErrors, and replies that pydantic refuses."""
FAILED_STOPS = frozenset(("error", "abort", "aborted", "failed", "cancelled", "canceled"))
"""What services write as the reason why a reply ended if they failed: what they sent so far is no reply."""
_SPENT = re.compile(
    r"insufficient_quota|billing_hard_limit_reached|billing_not_active|credit balance is too low|API key not valid"
    r"|RESOURCE_EXHAUSTED[\s\S]{0,4000}?\blimit: 0\b"
)
"""Errors that only money or another key mends. Google calls a rate limit a quota too, unless it is 0."""
_WRONG_PATH = re.compile(r"unexpected endpoint|unknown endpoint|no such endpoint", re.IGNORECASE)
"""Errors in place of a reply by which servers (LM Studio) say that they have no such path."""
_STATUSES = frozenset(HTTPStatus)
_FILTER_CODES = ("invalid_prompt", "content_policy_violation", "content_filter", "bio_policy", "cyber_policy")
_FILTER_STATUSES = {400, 403, 413, 422}
"""Statuses and codes of errors by which services say that their content filter refused the prompt."""
MOST_WORDS = 1500
"""Characters of an error's words: enough for a whole key, which is taken out before they are cut to what is stored."""
_WORD_KEYS = ("error", "message", "msg", "detail", "errors", "reason")
"""Where servers put the words of an error, the first ones before the others."""
_PAGE = re.compile(r"\s*<(?:!doctype|html|head|body|\?xml)", re.IGNORECASE)
_TAGS = re.compile(r"<(style|script)\b.*?</\1>|<[^>]{1,1000}>", re.IGNORECASE | re.DOTALL)
_MARKUP = re.compile(
    r"\[/?(?:bold|dim|italic|underline|blue|cyan|green|magenta|red|white|yellow)(?: [a-z ]{1,30})?\]|\[/\]"
)
"""Tags of the terminal library that inspect_ai writes messages for."""


@dataclass(frozen=True)
class Trouble:
    """The reason why an attempt brought no reply.

    `again`: another attempt may succeed; `after`: seconds that the service asked to wait; `is_lasting`: other calls
    will fail too, since the key is refused, the model is unknown or the server is unreachable. `status` is that of the
    service, if it gave one. `is_filter`: its content filter refused the prompt, which is a reply.
    """

    reason: str
    again: bool
    after: float | None = None
    is_lasting: bool = False
    status: int | None = None
    is_filter: bool = False


def trouble(error: BaseException, provider_says: bool = False) -> Trouble:
    """Classify an attempt's error. `provider_says`: the model layer's provider considers it worth another try."""
    if refused := refusal(error):
        return Trouble(str(refused), again=False)
    codes = getattr(error, "status_code", None), getattr(error, "code", None)  # the second is Google's
    status = next((code for code in codes if isinstance(code, int) and 100 <= code < 600), None)
    kind, message = type(error).__name__, str(getattr(error, "provider_message", None) or error)
    words = f"{kind}: {_cut(plain_text(message))}"
    if status is not None:
        response, body = getattr(error, "response", None), f"{message} {getattr(error, 'body', '')}"
        reason = f"{words} {_address(error, status) if status == 404 else ''}".rstrip(": ")
        return _of_status(status, reason, body, getattr(response, "headers", None) or {})
    reason = words.rstrip(": ") + f" {_address(error, status)}"
    is_lasting = kind == "PrerequisiteError" or _SPENT.search(message) is not None
    again = not is_lasting and (provider_says or isinstance(error, _PASSING) or kind in _PASSING_NAMES)
    return Trouble(reason.rstrip(), again, is_lasting=is_lasting or _is_refused_connection(error))


def status_trouble(status: int, body: Any, headers: Mapping[str, Any], url: Any) -> Trouble:
    """The trouble that a status tells; `body` is JSON, or else text."""
    kind = HTTPStatus(status).phrase if status in _STATUSES else "status"
    reason = f"{kind}: {stated_words(body)}".rstrip(": ") + (f" {_origin(url, status)}" if status == 404 else "")
    is_filter = status in _FILTER_STATUSES and _names_filter(body)
    return replace(_of_status(status, reason, body, headers), is_filter=is_filter)


def _of_status(status: int, reason: str, body: Any, headers: Mapping[str, Any]) -> Trouble:
    is_spent = _SPENT.search(str(body)[:4000]) is not None
    again, is_lasting = not is_spent and _may_pass(status), is_spent or status in _LASTING
    return Trouble(f"{status} {reason}", again, retry_after(headers), is_lasting, status)


def _names_filter(body: Any) -> bool:
    error = body.get("error", body) if isinstance(body, dict) else None
    if not isinstance(error, dict):
        return False
    is_blocked = error.get("type") == "invalid_request_error" and "blocked" in str(error.get("message"))
    return str(error.get("code")) in _FILTER_CODES or is_blocked


def reported_failure(response: Mapping[str, Any] | None) -> Trouble | None:
    """The failure that a service reports in place of a reply: an error, or a reason for the end that is one.

    `response` is the body, in OpenAI's form, with the error in its first choice or in place of choices; None for a
    reply.
    """
    body = response or {}
    choices = body.get("choices")
    choice: Any = choices[0] if isinstance(choices, list) and choices else body
    if not isinstance(choice, dict):
        return None
    error, stop = choice.get("error"), str(choice.get("finish_reason") or "")
    if not error and stop.casefold() not in FAILED_STOPS:
        return None
    code = str(error.get("code")) if isinstance(error, dict) else ""
    status = int(code) if re.fullmatch("[1-5][0-9][0-9]", code) else None
    words = stated_words(error) if error else f"finish_reason {stop!r:.40}"
    reason = f"failure in place of a reply: {words}"
    if status is None and _WRONG_PATH.search(words):
        return Trouble(reason, again=False, is_lasting=True, status=404)
    return _of_status(status, reason, error, {}) if status else Trouble(reason, again=True)


def with_origin(failure: Trouble, url: Any) -> Trouble:
    """The failure with the server's address, if the path was wrong."""
    return replace(failure, reason=f"{failure.reason} {_origin(url, 404)}") if failure.status == 404 else failure


def stated_words(body: Any, depth: int = 4) -> str:
    """The words of an error, at most `MOST_WORDS`: OpenAI's form, `detail` of FastAPI, other JSON, a page, a text."""
    if isinstance(body, str):
        words = _cut(body, 4000)
        return _cut(plain_text(_TAGS.sub(" ", words) if _PAGE.match(words) else words))
    if isinstance(body, list) and depth:
        return _cut("; ".join(filter(None, (stated_words(part, depth - 1) for part in body[:5]))))
    if not isinstance(body, dict) or not depth:
        return "" if body is None or isinstance(body, dict | list) else _cut(str(body))
    words = next((stated_words(body[key], depth - 1) for key in _WORD_KEYS if body.get(key)), "")
    if isinstance(place := body.get("loc"), list):  # of FastAPI: the field that is refused
        names = [str(part) for part in place[:5] if isinstance(part, str | int)]
        return _cut(f"{'.'.join(names)}: {words}")
    metadata = body.get("metadata")  # where OpenRouter keeps the words of the service behind it
    raw = stated_words(metadata.get("raw"), depth - 1) if isinstance(metadata, dict) else ""
    return _cut(", ".join(filter(None, (words, raw))))


def _cut(text: str, most: int = MOST_WORDS) -> str:
    """The text, or as many whole words of it as fit: of a key that is cut, no part may be left."""
    return text if len(text) <= most else text[:most].rpartition(" ")[0]


def _may_pass(status: int) -> bool:
    return status in _AGAIN or status >= 500


def _address(error: BaseException, status: int | None) -> str:
    """Where a client sent a request that got no reply; empty if unknown."""
    try:
        return _origin(error.request.url, status)  # type: ignore[attr-defined]
    except (AttributeError, RuntimeError):  # httpx raises RuntimeError where no request is known
        return ""


def _origin(url: Any, status: int | None) -> str:
    """Scheme, host and port of a URL, in brackets, and what a 404 may mean; the rest of the URL may hold a key."""
    hint = " (does the base URL end with /v1, and the server know this model?)" if status == 404 else ""
    if hint and "/v1/v1/" in str(url):
        hint = " (the base URL has /v1 twice)"
    return f"({url.scheme}://{url.host}{f':{url.port}' if url.port else ''}){hint}"


def _is_refused_connection(error: BaseException | None) -> bool:
    """True if no server listens there; clients wrap the system's errors in their own."""
    while error is not None:
        if isinstance(error, ConnectionRefusedError | gaierror) or type(error).__name__ in _UNREACHED:
            return True
        error = error.__cause__ or error.__context__
    return False


def retry_after(headers: Mapping[str, Any], now: float | None = None) -> float | None:
    """Seconds that a `Retry-After` header requests, as seconds or as a date; None if it is absent or unreadable."""
    written = next((str(value).strip() for name, value in headers.items() if name.lower() == "retry-after"), "")
    try:
        seconds = float(written)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(written).timestamp() - (time.time() if now is None else now)
        except (ValueError, TypeError, OverflowError):
            return None
    return min(max(seconds, 0.0), LONGEST_WAIT) if seconds == seconds else None


async def repeated(
    attempt: Callable[[], Awaitable[Outcome | Trouble]], attempts: int, first_wait: float, rng: np.random.Generator
) -> Outcome | Trouble:
    """What an attempt brings, repeated after a `Trouble` if that may help; the last trouble says how often."""
    failed = 0
    while isinstance(outcome := await attempt(), Trouble):
        failed += 1
        if not outcome.again or failed == attempts:
            return replace(outcome, reason=f"{outcome.reason} (attempt {failed})")
        await asyncio.sleep(wait_seconds(failed, outcome.after, first_wait, rng))
    return outcome


def wait_seconds(failed: int, retry_after: float | None, first_wait: float, rng: np.random.Generator) -> float:
    """Seconds to wait after so many failed attempts: doubling with ±50 % jitter, or as long as was requested."""
    backoff = min(first_wait * 2.0 ** (failed - 1), LONGEST_WAIT / 2) * rng.uniform(0.5, 1.5)
    return backoff if retry_after is None else retry_after + rng.uniform(0.0, min(first_wait, 1.0))


def plain_text(message: object) -> str:
    """A message as one line without markup."""
    return " ".join(_MARKUP.sub("", str(message)).split()).removeprefix("ERROR: ")
