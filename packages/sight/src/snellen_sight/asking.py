"""Asks the questions of the checks, at most as many as allowed, and draws the conclusions."""

from __future__ import annotations

import asyncio
import hashlib
import inspect
import io
import json
from collections.abc import Awaitable, Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from importlib.util import find_spec
from typing import Any, TypeAlias

import numpy as np
from PIL import Image

from snellen_sight.checks import CHECKS, CHOICES, pointing
from snellen_sight.checks.check import Logs, SightCheck
from snellen_sight.checks.sequence import AFTER_A_TURN, IN_TURN, SEQUENCE
from snellen_sight.checks.sequence import AT_ONCE as BATCH_AT_ONCE
from snellen_sight.client import Connections, Endpoint
from snellen_sight.completions import ChatReply, read_completion
from snellen_sight.drawing import SightFile
from snellen_sight.likelihood import SightQuestion, best, log_likelihoods
from snellen_sight.lines import image_line, token_line
from snellen_sight.messages import content_of
from snellen_sight.resolution import SHARES, SIDES, Charts, resolution_line
from snellen_sight.results import SightCall, SightLine, SightResult
from snellen_sight.retry import Trouble, repeated

MOST_CALLS, QUICK_CALLS = 90, 12
CHARTS, POINTS = 12, 14
"""Calls that are kept for resolution and for pointing; those not needed elsewhere are added to charts."""
BATCH = 4
"""Charts that are asked before the next ones are chosen."""
AT_ONCE = 8
QUICK_SIDES = (SIDES[0], SIDES[-1])
LEAST_SECRET = 8
"""Characters of a key that is not shown; shorter ones may be ordinary words."""
MOST_CHARACTERS = 100_000
"""Characters of a reply: all are kept, and read again after each call."""
ATTEMPTS, TIMEOUT = 3, 120
"""Tries of a call to a server, and seconds for each."""

AskQuestion: TypeAlias = Callable[[SightQuestion, int], Awaitable[ChatReply | Trouble]]
"""Asks a question, which is the n-th call."""
AnswerParts: TypeAlias = Callable[["list[str | Image.Image]"], Any]
"""Maps parts (images, then the question) to the reply's text or its coroutine."""


class NothingAsked(ValueError):
    """The model cannot be asked: a wrong name of a check, a refused key, no server. The message says which."""


def sight(
    answer: AnswerParts, name: str = "model", *, quick: bool = False, checks: Sequence[str] = (), seed: int = 0
) -> SightResult:
    """Check what of an image reaches a model, in at most 90 calls (12 if `quick`).

    Args:
        answer: A callable from parts (images, then the question) to text, or to its coroutine.
        name: The model's name in the result.
        quick: Only whether an image arrives, and how large.
        checks: Only these checks, by the names of `CHOICES`. Default: all.
        seed: Seed of the questions.

    Returns:
        The result: `lines` with a verdict and a text each, `faults()`, and every question and reply in `calls`.

    Raises:
        NothingAsked: For an unknown check, or if the first call fails.

    >>> sight(lambda parts: "red", quick=True).faults()
    ['the model always answers “red”, whatever colour fills the image']

    """
    chosen = _chosen(quick, checks)
    return _result(name, Sighting(partial(_call, answer), seed, *chosen, declines=_declines_turns))


def sight_of_server(
    url: str, name: str, key: str = "none", *, quick: bool = False, checks: Sequence[str] = (), seed: int = 0,
    after_call: Callable[[int], None] = lambda count: None,
) -> SightResult:  # fmt: skip
    """As `sight`, for a model behind the address of an OpenAI-compatible server, such as http://127.0.0.1:8000/v1.

    `after_call` gets the number of calls so far after each.
    """
    if not url.startswith(("http://", "https://")):
        raise NothingAsked(f"{url}: an address must begin with http:// or https://")
    if find_spec("httpx") is None:
        raise NothingAsked("a server needs httpx: pip install httpx")
    connections = Connections(Endpoint("", name, url.rstrip("/").removesuffix("/chat/completions"), key), TIMEOUT)
    chosen = _chosen(quick, checks)
    return _result(name, Sighting(partial(_request, connections), seed, *chosen, after_call=after_call))


def _chosen(quick: bool, checks: Sequence[str]) -> tuple[tuple[SightCheck, ...], tuple[int, ...], bool, int]:
    """The checks, the canvases of charts, whether points are asked for, and the most calls."""
    if unknown := [check for check in checks if check not in CHOICES]:
        raise NothingAsked(f"{unknown[0]}: no such check; choose from {', '.join(CHOICES)}")
    names = checks or (("image", "resolution") if quick else CHOICES)
    sides = (QUICK_SIDES if quick else SIDES) if "resolution" in names else ()
    chosen = tuple(check for name, check in CHECKS.items() if name in names)
    return chosen, sides, "pointing" in names, QUICK_CALLS if quick else MOST_CALLS


def _result(name: str, examination: Sighting) -> SightResult:
    with ThreadPoolExecutor(1) as threads:  # in which no event loop runs, as one does in a notebook
        threads.submit(lambda: asyncio.run(examination.ask_all())).result()
    calls, date = tuple(call for _, call in examination.calls), datetime.now(UTC).isoformat(timespec="seconds")
    return SightResult(name, date, tuple(examination.lines()), examination.scales(), calls)


async def _call(answer: AnswerParts, question: SightQuestion, number: int) -> ChatReply | Trouble:
    parts: list[str | Image.Image] = [*(Image.open(io.BytesIO(file.raw)) for file in question.images), question.text]
    try:
        if inspect.iscoroutinefunction(answer):
            text = await answer(parts)
        else:
            text = await asyncio.to_thread(answer, parts)
            text = await text if inspect.isawaitable(text) else text
    except Exception as error:  # noqa: BLE001  # the user's code may raise anything; all of it is a failed call
        return Trouble(f"{type(error).__name__}: {error}", again=False)
    return ChatReply(text) if isinstance(text, str) else Trouble(f"returned {type(text).__name__}, no text", False)


def _declines_turns(question: SightQuestion) -> str:
    return "the callable takes one turn" if question.earlier else ""


async def _request(connections: Connections, question: SightQuestion, number: int) -> ChatReply | Trouble:
    messages: list[dict[str, Any]] = []
    for file, text, reply in question.earlier:
        messages += [_message([file], text), {"role": "assistant", "content": reply}]
    messages.append(_message(question.images, question.text))

    async def once() -> ChatReply | Trouble:
        body = await connections.post("/chat/completions", {"messages": messages})
        return body if isinstance(body, Trouble) else read_completion(body)

    outcome = await repeated(once, ATTEMPTS, 1.0, stream("sight call", number))
    key = connections.endpoint.key
    if len(key) < LEAST_SECRET:
        return outcome
    if isinstance(outcome, Trouble):
        return replace(outcome, reason=outcome.reason.replace(key, "[key]")[:400])
    return replace(outcome, text=outcome.text.replace(key, "[key]"))


def _message(files: Sequence[SightFile], text: str) -> dict[str, Any]:
    """The message that asks a question about images."""
    return {"role": "user", "content": [*map(content_of, files), {"type": "text", "text": text}]}


def stream(*names: str | int) -> np.random.Generator:
    """The random stream of these names; the same as `snellen.core.seeds.stream`."""
    text = json.dumps(list(names), separators=(",", ":"))
    return np.random.default_rng(np.frombuffer(hashlib.sha256(text.encode()).digest(), np.uint8).astype(np.uint32))


@dataclass
class Sighting:
    """The questions asked of one model so far, and the replies.

    `sides` are the canvases of charts with rings; without any, resolution is not asked. `asks_points`: the check of
    pointing is asked too. `declines` gives the reason why a question cannot be asked, or an empty text.
    """

    ask: AskQuestion
    seed: int = 0
    checks: Sequence[SightCheck] = tuple(CHECKS.values())
    sides: Sequence[int] = SIDES
    asks_points: bool = True
    most_calls: int = MOST_CALLS
    at_once: int = AT_ONCE
    after_call: Callable[[int], None] = lambda count: None
    declines: Callable[[SightQuestion], str] = lambda question: ""
    calls: list[tuple[SightQuestion, SightCall]] = field(default_factory=list)
    charts: Charts = field(default_factory=Charts)
    declined: dict[str, str] = field(default_factory=dict)

    async def ask_all(self) -> None:
        """Ask the base questions, then more of the checks that decide nothing, then charts.

        Colours are asked one after another, so that an image of the call before is recognised.
        """
        colours, others = CHECKS["colours"], [check for check in self.checks if check.check != "colours"]
        while self._count("colours") < colours.base or (
            self._image_line().verdict == "cannot tell" and self._count("colours") < min(colours.most, self.most_calls)
        ):
            await self._ask([self._draw(colours)])
        if self._image_line().verdict == "not so":
            return
        if SEQUENCE in others:
            await self._ask_sequence()
            others.remove(SEQUENCE)
        await self._ask([self._draw(check, ahead) for check in others for ahead in range(check.base)])
        if self.asks_points:
            await self._ask_points()
        kept = CHARTS if self.sides else 0
        while (more := self._undecided(self.checks)) and len(self.calls) + len(more) <= self.most_calls - kept:
            await self._ask([self._draw(check) for check in more])
        for side in self.sides[: self.most_calls - len(self.calls)]:
            await self._ask([self._chart(side)])
        while (rest := self.most_calls - len(self.calls)) > 0 and self.sides and self.charts.is_readable:
            await self._ask([self._chart(self._next_side(ahead)) for ahead in range(min(BATCH, rest))])

    async def _ask_sequence(self) -> None:
        """Ask one after another, then at once, then after an earlier turn."""
        for _ in IN_TURN:
            await self._ask([self._draw(SEQUENCE)])
        await self._ask([self._draw(SEQUENCE, ahead) for ahead in range(len(BATCH_AT_ONCE))])
        questions = [self._draw(SEQUENCE, ahead) for ahead in range(len(AFTER_A_TURN))]
        await self._ask([question for question in questions if not self.declines(question)])

    async def _ask_points(self) -> None:
        """Ask without a unit; if points come back, also with a unit and for a declared display."""
        draw = partial(stream, "sight", self.seed, "pointing")
        await self._ask([pointing.question(number, draw(number)) for number in range(pointing.PLAIN_CALLS)])
        found = self.pointing()
        if found.is_sure:
            unit = pointing.stated_unit(found.conversion)
            await self._ask([pointing.question(n, draw(n), unit) for n in range(pointing.PLAIN_CALLS, POINTS)])

    def pointing(self) -> pointing.PointingResult:
        """What the replies so far tell about points."""
        return pointing.result([(asked, call.reply) for asked, call in self.calls if asked.trial and call.reply])

    def lines(self) -> list[SightLine]:
        """The conclusions."""
        lines = [self._image_line()]
        if lines[0].verdict == "not so":
            return lines
        is_inverted = best(self._logs(CHECKS["colours"])) == "inverted"
        for check in self.checks:
            reason = self.declined.get(check.check, "")
            if check.needs_colours and is_inverted:
                reason = "colours arrive inverted"
            unknown = SightLine(check=check.check, verdict="cannot tell", text=f"{check.topic}: {reason}")
            lines.append(unknown if reason else check.line(self._replies(check)))
        if self.asks_points:
            lines.append(self.pointing().line())
        if not self.sides:
            return lines
        resolution = resolution_line(self.charts)
        if any(line.check == "whole" and line.verdict == "not so" for line in lines):
            text = "resolution: figures that span several tiles are not recognised, whatever their size"
            resolution = SightLine(check="resolution", verdict="cannot tell", text=text)
        sides = {f"chart {side}": side for side in self.sides}
        return [*lines, resolution, token_line([call for _, call in self.calls], sides)]

    def scales(self) -> dict[int, tuple[float, float, float]]:
        """(median, low, high) of the effective scale by canvas side in px, as far as they are known."""
        return self.charts.estimates() if self.charts.is_readable else {}

    def _replies(self, check: SightCheck) -> list[tuple[SightQuestion, str]]:
        return [
            (question, call.reply)
            for question, call in self.calls if question.group == check.check and call.reply is not None
        ]  # fmt: skip

    def _logs(self, check: SightCheck) -> Logs:
        """The log likelihoods of the explanations of a check."""
        return log_likelihoods(self._replies(check), check.explanations)

    def _image_line(self) -> SightLine:
        return image_line(self._logs(CHECKS["colours"]), self._replies(CHECKS["colours"]))

    def _undecided(self, checks: Iterable[SightCheck]) -> list[SightCheck]:
        """The checks that decide nothing and may still get more questions."""
        return [
            check for check in checks
            if check.check not in self.declined and self._count(check.check) < check.most
            and not check.is_decided(self._replies(check))
        ]  # fmt: skip

    def _count(self, group: str) -> int:
        return sum(question.group == group for question, _ in self.calls)

    def _draw(self, check: SightCheck, ahead: int = 0) -> SightQuestion:
        number = self._count(check.check) + ahead
        return check.draw(stream("sight", self.seed, check.check, number), number)

    def _chart(self, side: int) -> SightQuestion:
        return self.charts.draw(side, stream("sight", self.seed, "chart", side, self._count(f"chart {side}")))

    def _next_side(self, ahead: int) -> int:
        """The canvas of a later chart; `ahead` are chosen in this batch. Each has its turns by its share."""
        total = sum(self._count(f"chart {side}") for side in self.sides) + ahead
        if len(self.sides) < len(SIDES):
            return self.sides[total % len(self.sides)]
        order = [side for side, share in zip(SIDES, SHARES, strict=True) for _ in range(share)]
        return order[(total * 5 + 1) % len(order)]

    async def _ask(self, questions: Sequence[SightQuestion]) -> None:
        """Ask these questions, at most as many at once as the model takes."""
        gate, first = asyncio.Semaphore(min(AT_ONCE, self.at_once)), len(self.calls)
        calls = await asyncio.gather(*(self._call(first + n, question, gate) for n, question in enumerate(questions)))
        for question, call in zip(questions, calls, strict=True):
            self.calls.append((question, call))
            if question.side and call.reply is not None:
                self.charts.add(question, call.reply)

    async def _call(self, number: int, question: SightQuestion, gate: asyncio.Semaphore) -> SightCall:
        images, right = tuple(file.path for file in question.images), ", ".join(question.right)
        call = SightCall(group=question.group, question=question.text, images=images, right=right, reply=None)
        if reason := self.declines(question):
            self.declined.setdefault(question.group, reason)
            return call
        async with gate:
            outcome = await self.ask(question, number)
            self.after_call(number + 1)
        if not isinstance(outcome, Trouble) and len(outcome.text) > MOST_CHARACTERS:
            outcome = Trouble(f"the reply has {len(outcome.text)} characters, more than {MOST_CHARACTERS}", again=False)
        if not isinstance(outcome, Trouble):
            return replace(call, reply=outcome.text, tokens_in=outcome.tokens_in)
        if outcome.is_lasting or not self.calls:
            raise NothingAsked(outcome.reason)
        return call
