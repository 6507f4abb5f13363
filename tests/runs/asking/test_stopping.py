"""Runs that end early, by failures, budget or signals: recorded calls are kept, and no more are made."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from snellen.core.errors import CallFailed, Interrupted
from snellen.core.prompt import Prompt, Reply
from snellen.core.storage.itemset import ItemSet
from snellen.core.storage.media import MediaFolder
from snellen.core.storage.parts import read_exchanges
from snellen.core.storage.run_tables import read_responses
from snellen.core.subject import Base, Subject, SubjectCard, TrainingExample
from snellen.runs.asking import stopping
from snellen.runs.asking.ask import ask
from snellen.runs.asking.failures import (
    MAX_ALIKE,
    WINDOW,
    FailureRate,
    LastingFailures,
    summarize_failures,
)
from snellen.runs.planning.plan import Plan
from tests.helpers.journey import arm, colour_set, says, suite_of

REFUSED = CallFailed("401 AuthenticationError: no such key (attempt 1)", is_lasting=True)


def test_the_first_cause_of_a_stop_is_the_one_that_is_told() -> None:
    stop, spent = stopping.RunStop(), stopping.BudgetSpent("1 is spent")
    stop.begin(spent)
    stop.begin(Interrupted(signal.SIGTERM))
    assert stop.cause is spent


# Counting of failures, by hand


def test_three_equal_lasting_failures_end_a_subject() -> None:
    failures = LastingFailures()
    unknown = CallFailed("404 NotFoundError: no such model (attempt 1)", is_lasting=True)
    again = CallFailed("401 AuthenticationError: no such key, request 7 (attempt 1)", is_lasting=True)
    # two, then another kind, then two of the first around a passing failure, then a reply: never three in a row
    for failure in (REFUSED, REFUSED, unknown, REFUSED, CallFailed("503"), REFUSED, None, REFUSED, REFUSED):
        failures.observe(failure)
    assert failures.end == ""
    failures.observe(again)
    assert failures.end.startswith("3 calls failed alike: 401 AuthenticationError")


def test_more_than_half_of_a_full_window_ends_an_arm() -> None:
    """Every second call failing is 25 of 50; one more in place of a reply makes 26."""
    rate = FailureRate()
    for n in range(WINDOW - 1):
        rate.observe(CallFailed("500 InternalServerError: no"))
        assert rate.end == "", f"{n + 1} calls are not a full window"
    alternating = FailureRate()
    for n in range(4 * WINDOW):
        alternating.observe(CallFailed("500") if n % 2 else None)
    assert alternating.end == "", "25 of 50 are not more than half"
    alternating.observe(CallFailed("500"))  # in place of a reply
    assert alternating.end.startswith("26 of the latest 50 calls failed (26 × 500)")
    boundless = FailureRate(is_bounded=False)
    for _ in range(2 * WINDOW):
        boundless.observe(CallFailed("500"))
    assert boundless.end == ""


ONE_IMAGE = "400 BadRequestError: At most 1 image(s) may be provided in one request. Got {} (attempt 1)"


def test_three_requests_refused_alike_end_an_arm() -> None:
    """A server that takes one image refuses every request with more; a reply shows that not all are refused."""
    rate, too_long = FailureRate(), CallFailed("400 BadRequestError: the prompt is too long (attempt 1)")
    refused = [CallFailed(ONE_IMAGE.format(count)) for count in (4, 4, 7, 5)]
    for outcome in (refused[0], too_long, refused[0], None, refused[0], refused[1], None, refused[2], refused[3]):
        rate.observe(outcome)
    assert rate.end == "", "never three alike without a reply between them"
    rate.observe(CallFailed("503 busy"))  # neither counts nor resets
    rate.observe(refused[0])
    assert rate.end.startswith("3 requests were refused alike: 400 BadRequestError: At most 1 image(s)")
    assert rate.end.endswith("; ?max_images=1 declines calls with more images; --keep-going continues")
    for reason in ("503 busy", "AttemptTimeoutError: 120", "400 BadRequestError: maximum context length is 8192"):
        other = FailureRate()
        for _ in range(MAX_ALIKE + 1):
            other.observe(CallFailed(reason))
        assert other.end == ""
    boundless = FailureRate(is_bounded=False)
    for failure in refused:
        boundless.observe(failure)
    assert boundless.end == ""


@pytest.mark.parametrize(
    ("reason", "advice"),
    [
        (
            "400 Bad Request: Unsupported value: 'temperature' does not support 0.",
            "?temperature=none leaves out temperature",
        ),
        ("422 Unprocessable Entity: body.seed: Extra inputs are not permitted", "?seed=none leaves out seed"),
        ("413 Content Too Large: nginx", "?max_px= sends smaller images"),
    ],
)
def test_a_refused_setting_is_named_with_the_way_out(reason: str, advice: str) -> None:
    rate = FailureRate()
    for _ in range(MAX_ALIKE):
        rate.observe(CallFailed(reason))
    assert rate.end == f"3 requests were refused alike: {reason}; {advice}; --keep-going continues"


def test_reasons_are_counted_by_kind() -> None:
    reasons = [f"429 RateLimitError: slow down, request {n} (attempt 5)" for n in range(3)] + ["returned int"]
    assert summarize_failures(reasons) == [
        "3 × 429 RateLimitError: slow down, request 0 (attempt 5)",
        "1 × returned int",
    ]
    assert summarize_failures(f"kind {n}: x" for n in range(7))[-1] == "2 × 2 other reasons"


# In a run


def test_a_refused_key_ends_all_arms_of_its_subject_and_no_other(tmp_path: Path) -> None:
    built, suite, lines, calls = colour_set(tmp_path / "set", 40), suite_of(), list[str](), list[Prompt]()

    def refused(prompt: Prompt) -> str:
        calls.append(prompt)
        raise REFUSED

    subjects = [says("own:refused", refused, max_concurrency=2), says("own:red", "red")]
    arms = [arm(subject, suite, repeat=repeat) for subject in subjects for repeat in range(2)]
    responses = ask(tmp_path / "run", Plan(built, suite, arms, notify=lines.append))
    # With two at once, one more call was in flight when the third came back.
    assert MAX_ALIKE <= len(calls) <= MAX_ALIKE + 1
    assert lines == [f"own:refused is no longer asked: 3 calls failed alike: {REFUSED}"]
    assert sum(r.subject == "own:red" and r.status == "ok" for r in responses) == 80
    failed = [r for r in responses if r.subject == "own:refused"]
    assert len(failed) == len(calls), "items that were never asked have no row"
    assert {(r.status, r.reason) for r in failed} == {("failed", str(REFUSED))}
    mended = [arm(says("own:refused", "red"), suite, repeat=repeat) for repeat in range(2)]
    assert {r.status for r in ask(tmp_path / "run", Plan(built, suite, mended))} == {"ok"}
    assert len(read_responses(tmp_path / "run")) == 160


def test_a_server_of_one_image_is_asked_three_times_and_other_arms_continue(tmp_path: Path) -> None:
    built, suite, lines = colour_set(tmp_path / "set", 40), suite_of(), list[str]()

    def refused(prompt: Prompt) -> str:
        raise CallFailed(ONE_IMAGE.format(2))

    subjects = says("own:one", refused, max_concurrency=1), says("own:red", "red")
    responses = ask(tmp_path / "run", Plan(built, suite, [arm(each, suite) for each in subjects], notify=lines.append))
    assert [sum(r.subject == subject.card.name for r in responses) for subject in subjects] == [MAX_ALIKE, 40]
    assert [line.partition(":")[0] for line in lines] == ["own"]
    assert "own:one is no longer asked" in lines[0]
    assert "?max_images=1" in lines[0]


def test_an_arm_that_mostly_fails_ends_unless_told_to_continue(tmp_path: Path) -> None:
    """Three of four calls fail for passing reasons: the 50th call fills the window and is the last."""
    built, suite, lines = colour_set(tmp_path / "set", 120), suite_of(), list[str]()

    def shaky(prompt: Prompt) -> str:
        if int(prompt.views[0].item_id) % 4:
            raise CallFailed("503 overloaded")
        return "red"

    arms = [arm(says("own:shaky", shaky, max_concurrency=1), suite), arm(says("own:red", "red"), suite)]
    plan = Plan(built, suite, arms, notify=lines.append)
    responses = ask(tmp_path / "run", plan)
    assert [sum(r.subject == name for r in responses) for name in ("own:shaky", "own:red")] == [WINDOW, 120]
    # of items 000 to 049 every fourth is answered, 13 of them: 37 failed
    assert [line.partition(" overloaded")[0] for line in lines] == [
        "own:shaky is no longer asked: 37 of the latest 50 calls failed (37 × 503"
    ]
    assert len(ask(tmp_path / "on", replace(plan, keep_going=True))) == 240


def test_a_lasting_failure_of_a_chat_subject_is_distinguished() -> None:
    from snellen_sight.retry import trouble

    class Status(Exception):
        def __init__(self, status: int) -> None:
            self.status_code = status

    lasting = {status: trouble(Status(status)).is_lasting for status in (400, 401, 402, 403, 404, 408, 429, 500, 503)}
    assert {status for status, is_lasting in lasting.items() if is_lasting} == {401, 402, 403, 404}
    wrapped = RuntimeError("Connection error.")
    wrapped.__cause__ = ConnectionRefusedError()
    assert trouble(wrapped).is_lasting
    assert not trouble(ConnectionResetError()).is_lasting
    assert not trouble(TimeoutError()).is_lasting


# Signals


@dataclass(frozen=True)
class Stopped(Base):
    """Its fourth call sends this process a signal; calls return after `turns` more turns of the loop, or never."""

    signal_number: int = signal.SIGTERM
    turns: int | None = 3
    calls: list[str] = field(default_factory=list)

    async def answer(self, prompt: Prompt, media: MediaFolder, rng: np.random.Generator) -> Reply:
        self.calls.append(prompt.views[0].item_id)
        if len(self.calls) == 4:
            os.kill(os.getpid(), self.signal_number)
        if self.turns is None and len(self.calls) >= 3:
            await asyncio.Event().wait()
        for _ in range(self.turns or 0):
            await asyncio.sleep(0)
        return Reply("red")


def stopped(max_concurrency: int = 2, **how: object) -> Stopped:
    return Stopped(SubjectCard("own:stopped", max_concurrency=max_concurrency), **how)  # type: ignore[arg-type]


@pytest.fixture
def built(tmp_path: Path) -> ItemSet:
    return colour_set(tmp_path / "set", 20)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_after_a_signal_calls_in_flight_are_recorded_and_no_more_made(
    tmp_path: Path, built: ItemSet, number: signal.Signals
) -> None:
    handlers = [signal.getsignal(each) for each in stopping.SIGNALS]
    subject, suite = stopped(signal_number=number), suite_of()
    words = f"stopped by {number.name}; every reply so far is kept, the same command continues from here"
    with pytest.raises(Interrupted, match=words) as stop:
        ask(tmp_path / "run", Plan(built, suite, [arm(subject, suite)]))
    assert stop.value.exit_code == 128 + number
    assert [signal.getsignal(each) for each in stopping.SIGNALS] == handlers
    assert 4 <= len(subject.calls) <= 5
    assert len(list(read_exchanges(tmp_path / "run"))) == len(subject.calls)
    assert [r.item_id for r in read_responses(tmp_path / "run")] == subject.calls
    responses = ask(tmp_path / "run", Plan(built, suite, [arm(subject, suite)]))
    assert [r.item_id for r in responses] == subject.calls == [item.item_id for item in built.items], "none twice"


def test_a_signal_before_the_first_call_ends_the_run(
    tmp_path: Path, built: ItemSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the handlers of the run are not in place yet: the command's own handler raises."""

    def interrupted(run_stop: stopping.RunStop, root: Path) -> None:
        raise Interrupted(signal.SIGINT)

    subject, suite = stopped(), suite_of()
    with monkeypatch.context() as patch:
        patch.setattr(stopping.RunStop, "on_signals", interrupted)
        with pytest.raises(Interrupted):
            ask(tmp_path / "run", Plan(built, suite, [arm(subject, suite)]))
    assert not subject.calls


def test_an_ignored_signal_stays_ignored(tmp_path: Path, built: ItemSet) -> None:
    """As set by a shell for background commands."""
    former, suite = signal.signal(signal.SIGINT, signal.SIG_IGN), suite_of()
    try:
        subject = stopped(signal_number=signal.SIGINT)
        assert len(ask(tmp_path / "run", Plan(built, suite, [arm(subject, suite)]))) == len(built.items)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, former)


def test_calls_that_do_not_return_are_cut_off(tmp_path: Path, built: ItemSet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stopping, "GRACE_SECONDS", 0.05)
    subject, suite = stopped(turns=None), suite_of()
    with pytest.raises(Interrupted):
        ask(tmp_path / "run", Plan(built, suite, [arm(subject, suite)]))
    assert len(subject.calls) == 4
    assert [r.item_id for r in read_responses(tmp_path / "run")] == ["000", "001"]


def test_a_second_signal_ends_the_run_at_once(tmp_path: Path, built: ItemSet) -> None:
    @dataclass(frozen=True)
    class Twice(Base):
        async def answer(self, prompt: Prompt, media: MediaFolder, rng: np.random.Generator) -> Reply:
            for _ in range(2):
                os.kill(os.getpid(), signal.SIGINT)
            await asyncio.Event().wait()
            raise AssertionError

    suite = suite_of()
    with pytest.raises(Interrupted):
        ask(tmp_path / "run", Plan(built, suite, [arm(Twice(SubjectCard("own:twice")), suite)]))
    assert not list(read_exchanges(tmp_path / "run"))


def test_a_stuck_loop_is_ended_by_a_signal(tmp_path: Path, built: ItemSet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stopping, "GRACE_SECONDS", 0.05)
    monkeypatch.setattr(stopping, "STUCK_SECONDS", 0.05)

    @dataclass(frozen=True)
    class Stuck(Base):
        async def answer(self, prompt: Prompt, media: MediaFolder, rng: np.random.Generator) -> Reply:
            os.kill(os.getpid(), signal.SIGTERM)
            while True:
                time.sleep(0.01)

    suite = suite_of()
    with pytest.raises(Interrupted):
        ask(tmp_path / "run", Plan(built, suite, [arm(Stuck(SubjectCard("own:stuck")), suite)]))


def test_a_thread_that_does_not_end_does_not_prevent_the_tables(
    tmp_path: Path, built: ItemSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stopping, "GRACE_SECONDS", 0.05)
    monkeypatch.setattr(stopping, "STUCK_SECONDS", 0.05)
    end, suite = threading.Event(), suite_of()

    @dataclass(frozen=True)
    class Threaded(Base):
        async def answer(self, prompt: Prompt, media: MediaFolder, rng: np.random.Generator) -> Reply:
            if prompt.views[0].item_id == "002":
                os.kill(os.getpid(), signal.SIGTERM)
                await asyncio.to_thread(end.wait)
            return Reply("red")

    subject = Threaded(SubjectCard("own:threaded", max_concurrency=1))
    try:
        with pytest.raises(Interrupted):
            ask(tmp_path / "run", Plan(built, suite, [arm(subject, suite)]))
    finally:
        end.set()
    assert [r.item_id for r in read_responses(tmp_path / "run")] == ["000", "001"]


def test_a_fit_in_progress_is_abandoned_at_a_signal(
    tmp_path: Path, built: ItemSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No calls are made then; responses of earlier processes stay in the tables."""
    monkeypatch.setattr(stopping, "GRACE_SECONDS", 0.0)

    @dataclass(frozen=True)
    class Learner(Base):
        is_signalled: bool = True

        async def fit(self, examples: Sequence[TrainingExample], media: MediaFolder) -> Subject:
            if self.is_signalled:
                os.kill(os.getpid(), signal.SIGTERM)
                await asyncio.Event().wait()
            return self

        async def answer(self, prompt: Prompt, media: MediaFolder, rng: np.random.Generator) -> Reply:
            return Reply("red")

    suite = suite_of()
    signalled, quiet = (Learner(SubjectCard("own:learner"), is_signalled) for is_signalled in (True, False))
    for count in (0, 20):
        with pytest.raises(Interrupted):
            ask(tmp_path / "run", Plan(built, suite, [arm(signalled, suite)]))
        assert len(read_responses(tmp_path / "run")) == count
        assert len(ask(tmp_path / "run", Plan(built, suite, [arm(quiet, suite)]))) == 20


def test_the_handlers_of_signals_are_those_of_before(tmp_path: Path) -> None:
    def handle(number: int, frame: Any) -> None:
        raise AssertionError("not sent")

    before = signal.signal(signal.SIGTERM, handle)
    try:
        with stopping.RunStop().on_signals(tmp_path):
            assert signal.getsignal(signal.SIGTERM) is not handle
        assert signal.getsignal(signal.SIGTERM) is handle
    finally:
        signal.signal(signal.SIGTERM, before)
