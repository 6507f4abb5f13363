"""Which subjects a session asks, how often and until when, and which runs it may take for finished."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from snellen.core.condition import Axis, parse_conditions
from snellen.core.errors import SnellenError
from snellen.core.storage.itemset_cards import SetDeclaration
from snellen.core.subject import Subject, SubjectCard
from snellen.exam.session import AskingOptions, _arms, _decide, sessions
from tests.helpers.journey import NAMED, Says, item, says


class Learner(Says):
    """A subject with `fit` of its own."""

    async def fit(self, examples: Any, media: Any) -> Subject:
        return self


@pytest.mark.parametrize(
    ("card", "rule", "planned_looks", "decided"),
    [
        ({"role": "encoder"}, "none", (1,), "look"), ({"role": "simulated"}, "none", (1,), "look"),
        ({"role": "model"}, "none", (1,), "none"), ({"role": "person"}, "none", (1,), "none"),
        ({"role": "encoder", "is_remote": True}, "none", (1,), "none"), ({"role": "encoder"}, "drop", (1,), "drop"),
        ({"role": "encoder"}, "", (1,), ""), ({"role": "encoder"}, "none", (), "none"),
        ({"role": "encoder"}, "none", None, "none"),
    ],
)  # fmt: skip
def test_those_that_cost_nothing_are_asked_up_to_a_planned_look(
    card: dict[str, Any], rule: Any, planned_looks: tuple[int, ...] | None, decided: str
) -> None:
    declared = None if planned_looks is None else SetDeclaration(instalments=3, options={}, planned_looks=planned_looks)
    items: Any = SimpleNamespace(card=SimpleNamespace(declaration=declared))
    assert _decide(rule, items, SubjectCard("a", **card)) == decided


def test_a_learner_is_asked_once_for_each_draw_and_each_condition_once() -> None:
    """Two conditions, one of them given twice, and three draws of training items."""
    draws = [
        item(f"i{n}", [], "red", "choice", options=NAMED, split="train", factors={"draw": str(n % 3)}) for n in range(6)
    ]
    points = parse_conditions([Axis("shots", (0, 1))], "shots=0..1")
    subjects: list[Subject] = [says("own:a", "red"), Learner(SubjectCard("own:b"), "red")]
    for repeats, counts in ((1, [1, 3]), (2, [2, 3]), (4, [4, 4])):
        arms = [arm.arm_key for arm in _arms(subjects, [*points, points[0]], repeats, draws)]
        assert arms == [
            (name, str(point), repeat)
            for name, count in zip(("own:a", "own:b"), counts, strict=True)
            for point in points
            for repeat in range(count)
        ]
    with pytest.raises(SnellenError, match="subject 'own:b' is given twice; give each its own name, or repeat it"):
        _arms([*subjects, subjects[1]], points, 1, draws)


def test_sets_without_training_items_suffice_if_nobody_learns() -> None:
    learner, plain = Learner(SubjectCard("own:b"), "red"), says("own:a", "red")
    cases: list[tuple[list[Any], tuple[str, ...], bool]] = [
        ([plain, plain], ("vanilla",), True), ([plain, learner], ("vanilla",), False),
        ([plain], ("shots=1",), False), ([plain], ("vanilla", "shots=1"), False),
        ([plain, "fake:oracle"], ("vanilla",), False),
    ]  # fmt: skip
    for subjects, conditions, is_enough in cases:
        (session,) = sessions(["combo"], subjects, AskingOptions(conditions=conditions), [Path("run")])
        assert session.is_without_training is is_enough
