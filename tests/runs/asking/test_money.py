"""Money of several subjects in one run, and which of them has enough for a call."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from snellen.core.item import Media
from snellen.core.prompt import Prompt, Turn
from snellen.core.storage.media import MediaFolder
from snellen.core.subject import SubjectCard
from snellen.runs.asking.preview import Estimate, _size_up, asks_remote, limit_faults
from snellen.runs.asking.stopping import Budget
from snellen.runs.planning.plan import Plan
from tests.helpers.journey import arm, colour_set, says, suite_of


def _budget(limit: float, means: dict[str, float], **fields: Any) -> Budget:
    run: Any = SimpleNamespace(spent=lambda prices: 1.0, mean_cost=lambda name, prices: means.get(name))
    return Budget(limit, run, {}, **fields)


def test_each_subject_reserves_its_own_cost() -> None:
    """1 is spent; two calls of a at 0.5 and one of b at 3 are under way: a needs 5.5 in all, and b 8."""
    means, under_way = {"a": 0.5, "b": 3.0}, Counter({"a": 2, "b": 1})
    enough = {
        name: [_budget(limit, means, under_way=under_way).is_enough(name) for limit in (5.4, 5.5, 7.9, 8.0)]
        for name in means
    }
    assert enough == {"a": [False, True, True, True], "b": [False, False, False, True]}


def test_rounding_of_numbers_takes_away_no_call() -> None:
    """0.4 is left, which is 0.39… for a processor."""
    assert _budget(1.4, {"a": 0.1}, under_way=Counter({"a": 3})).is_enough("a")
    assert not _budget(1.4, {"a": 0.1}, under_way=Counter({"a": 4})).is_enough("a")


def test_a_first_question_is_asked_if_any_subject_has_money_for_a_call(tmp_path: Path) -> None:
    """Ten calls of a are estimated at 30, so that one costs 3; one of b costs 9."""
    suite, prices = suite_of(), {"price_in": "1", "price_out": "1"}
    subjects = [says(name, "red", is_remote=True, attributes=prices) for name in ("a", "b")]
    remote = [Estimate("a", 10, 0, 1, 30.0), Estimate("b", 1, 0, 1, 9.0)]
    plan = Plan(colour_set(tmp_path / "set"), suite, [arm(subject, suite) for subject in subjects])
    for budget, is_asked in ((2.9, False), (3.1, True), (9.1, True)):
        assert asks_remote(replace(plan, budget=budget), tmp_path / "run", remote) is is_asked


def test_every_subject_beyond_its_limits_is_told() -> None:
    faulty = [
        Estimate("a", 3, 7, 1, None, 2, "6 images"),
        Estimate("b", 3, 0, 1, None),
        Estimate("c", 4, 0, 1, None, 4, "x"),
    ]
    assert limit_faults(faulty) == (
        "a: a call would have 6 images (2 of 3 calls); c: a call would have x (4 of 4 calls)"
    )


def test_earlier_turns_and_videos_are_tokens_too(tmp_path: Path) -> None:
    from snellen.subjects.chat.limits import VIDEO_TOKENS_PER_S

    media = MediaFolder(tmp_path)
    video: Media = media.add(b"video", "video", "mp4", (8, 6), 2.5)
    prompt = Prompt(("x" * 40, video), (), (Turn(("y" * 80,), "z" * 120),))
    card = SubjectCard("chat:a", settings={"model": "openai-api/a/b"})
    assert _size_up(prompt, card, media)[0] == 10 + 20 + 30 + round(2.5 * VIDEO_TOKENS_PER_S)
