"""What failed calls are called, which of them end an arm, and what users are told to do, by hand."""

from __future__ import annotations

import pytest

from snellen.core.errors import CallFailed
from snellen.core.prompt import Reply
from snellen.runs.asking.failures import (
    CutOffs,
    FailureRate,
    UnreadReplies,
    summarize_failures,
)


def _end(*reasons: str) -> str:
    """The reason why an arm ends whose requests fail for these reasons."""
    rate = FailureRate()
    for reason in reasons:
        rate.observe(CallFailed(reason))
    return rate.end


@pytest.mark.parametrize(
    "words",
    [
        "prompt is too long", "context length exceeded", "exceeds the context window", "10 input tokens",
        "Too Long", "the CONTEXT LENGTH",
    ],
)  # fmt: skip
def test_a_prompt_that_is_too_long_is_no_refused_form(words: str) -> None:
    assert _end(*[f"400 BadRequestError: {words}"] * 4) == ""
    assert _end(*["400 BadRequestError: context lost"] * 3)


@pytest.mark.parametrize(
    "words", ["At most 12 images", "a maximum of 12 images", "not more than 12 images", "Up to 12 image(s)"]
)
def test_the_number_of_images_that_a_server_takes_is_named(words: str) -> None:
    assert "; ?max_images=12 declines calls with more images; --keep-going" in _end(
        *[f"400 BadRequestError: {words}"] * 3
    )


@pytest.mark.parametrize("name", ["temperature", "seed", "max_tokens"])
def test_each_setting_that_services_refuse_is_named(name: str) -> None:
    assert _end(*[f"400 Bad Request: {name} is not known"] * 3).endswith(
        f"; ?{name}=none leaves out {name}; --keep-going continues"
    )
    assert "leaves out" not in _end(*[f"400 Bad Request: {name}s are not known"] * 3)


def test_five_kinds_of_failures_are_named_the_most_frequent_first() -> None:
    """A kind has neither details nor the number of attempts."""
    counts = dict(zip("abcdefg", range(1, 8), strict=True))
    reasons = [f"{kind} (attempt {n + 9})\n" for kind, count in counts.items() for n in range(count)]
    lines = [f"{counts[kind]} × {kind} (attempt 9)" for kind in "gfedc"]
    assert summarize_failures(reasons) == [*lines, "3 × 2 other reasons"]
    assert summarize_failures(reasons[3:]) == lines


def _cut(limit: int = 100, *, is_cut: bool = True) -> Reply:
    return Reply("It is", stop="length" if is_cut else "end", token_limit=limit)


def test_three_of_the_first_ten_replies_cut_off_end_an_arm() -> None:
    """Seven whole ones and three; after eight whole ones the third is the eleventh."""
    for whole, ends in ((7, True), (8, False)):
        cut_offs = CutOffs()
        for is_cut in [False] * whole + [True] * 2:
            cut_offs.observe(_cut(is_cut=is_cut))
        assert cut_offs.end == ""
        cut_offs.observe(_cut(300))
        words = (
            "3 of the first 10 replies were cut off at the limit of 300 tokens, which includes reasoning; raise it, as"
        )
        assert cut_offs.end.startswith(f"{words} in ?max_tokens=1200 (") is ends
        assert [bool(cut_offs.announce()) for _ in range(2)] == [ends, False]
    for unbounded in (CutOffs(is_bounded=False), CutOffs()):
        for _ in range(5):
            unbounded.observe(_cut(100 if not unbounded.is_bounded else 0))
        assert unbounded.end == "", "of a limit that nobody set"


def test_unread_replies_are_told_of_once_and_early() -> None:
    """More than a twentieth of 20 to 100 replies; the example is the latest unread one."""
    early = UnreadReplies()
    lines = [early.observe("hm" if n == 3 else "" if n == 4 else "red", is_read=n not in (3, 4)) for n in range(30)]
    assert [(n, line) for n, line in enumerate(lines, 1) if line] == [
        (20, "2 of 20 replies cannot be read, such as '(empty)'")
    ]
    for whole, is_told in ((94, True), (95, False)):
        late = UnreadReplies(replies=whole)
        of_six = [late.observe("hm", is_read=False) for _ in range(6)]
        assert [line.partition(" replies")[0] for line in of_six if line] == ["5 of 99"] * is_told
