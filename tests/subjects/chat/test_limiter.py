"""The number of concurrent calls, with a simulated clock."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from snellen.subjects.chat.limiter import COOLDOWN_S, Limiter


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def after_rounds(limiter: Limiter, at_once: Sequence[int]) -> list[int]:
    """The limit after each round of so many concurrent calls, with as many replies as the limit."""

    async def play() -> list[int]:
        limits: list[int] = []
        for count in at_once:
            for _ in range(count):
                await limiter.__aenter__()
            for _ in range(limiter.limit):
                limiter.replied()
            for _ in range(count):
                await limiter.__aexit__(None, None, None)
            limits.append(limiter.limit)
        return limits

    return asyncio.run(play())


def test_full_rounds_double_the_limit_up_to_the_maximum() -> None:
    assert Limiter(7).limit == 7
    assert after_rounds(Limiter(100), [20, 40, 80, 100]) == [40, 80, 100, 100]


def test_a_round_that_was_not_full_adds_nothing() -> None:
    assert after_rounds(Limiter(100), [15, 16, 31, 32]) == [20, 40, 40, 80]  # four fifths of 20 are 16, of 40 32


def test_a_429_cuts_the_limit_by_a_fifth_and_slows_its_growth() -> None:
    clock = Clock()
    limiter = Limiter(100, clock)
    assert after_rounds(limiter, [20, 40]) == [40, 80]
    limiter.cut()
    assert limiter.limit == 64
    limiter.cut()  # from the same burst
    assert (limiter.limit, after_rounds(limiter, [64])) == (64, [64])  # those calls began before the cut
    clock.now = COOLDOWN_S
    assert after_rounds(limiter, [64, 67]) == [67, 70]  # a twentieth: 3.2 and 3.35
    limiter.cut()
    assert limiter.limit == 56


def test_the_limit_never_falls_below_one() -> None:
    clock = Clock()
    limiter = Limiter(2, clock)
    for _ in range(3):
        limiter.cut()
        clock.now += COOLDOWN_S
    assert limiter.limit == 1
    assert after_rounds(limiter, [1, 2]) == [2, 2]  # at least one more per round


def test_calls_start_in_order_and_cancelled_calls_free_their_slot() -> None:
    through: list[int] = []

    async def call(limiter: Limiter, number: int, end: asyncio.Event) -> None:
        async with limiter:
            through.append(number)
            await end.wait()

    async def play() -> None:
        limiter, end = Limiter(2), asyncio.Event()
        calls = [asyncio.create_task(call(limiter, number, end)) for number in range(6)]
        await asyncio.sleep(0)
        assert through == [0, 1]
        calls[2].cancel()
        calls[0].cancel()  # frees a slot for the fourth, which is then cancelled before it runs
        await asyncio.sleep(0)
        calls[3].cancel()
        end.set()
        replies = await asyncio.gather(*calls, return_exceptions=True)
        assert [isinstance(reply, asyncio.CancelledError) for reply in replies] == [
            True, False, True, True, False, False,
        ]  # fmt: skip
        assert through == [0, 1, 4, 5]
        async with limiter, limiter:  # no slot was lost or gained
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0):
                    await limiter.__aenter__()

    asyncio.run(play())


def test_the_limiter_survives_an_event_loop_that_was_stopped_midway() -> None:
    limiter = Limiter(1)

    async def hang() -> None:
        async with limiter:
            await asyncio.Event().wait()

    async def leave() -> None:
        begun = [asyncio.create_task(hang()) for _ in range(3)]
        await asyncio.sleep(0)
        del begun

    asyncio.run(leave())  # cancels the remaining tasks
    assert after_rounds(limiter, [1]) == [1]
