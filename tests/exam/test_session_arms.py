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
from snellen.exam.compare import _root_and_subject
from snellen.exam.examine import unused_folder
from snellen.exam.session import AskingOptions, _arms, _decide, sessions
from snellen.exam.sight.asking import default_folder
from snellen.runs.planning.plan import by_draw
from tests.helpers.journey import NAMED, Says, item, says
from tests.helpers.refusals import assert_refused


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


def test_folders_and_subjects_are_read_from_names_and_given_free_names(tmp_path: Path) -> None:
    """A name of a run or a subject may contain colons; an existing run is never written over."""
    for name in ("a:b", "run", "run-2", "run-4"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "run.json").touch()
    for text, name, subject in (("a:b", "a:b", ""), ("a:b:fake:x", "a:b", "fake:x"), ("run:c:d", "run", "c:d")):
        assert _root_and_subject(f"{tmp_path}/{text}") == (tmp_path / name, subject)
    assert_refused(lambda: _root_and_subject(f"{tmp_path}/a:fake:x"), "a:fake:x: is neither a run nor a log; give a")
    names = {"new": "new", "run": "run-3", "a:b": "a:b-2"}
    assert {name: unused_folder(tmp_path / name).name for name in names} == names
    assert default_folder(says("chat:a/b c?d_1.2-é", "")) == Path("sight/chat-a-b-c-d_1.2-é")
    assert len(default_folder(says("x" * 90, "")).name) == 80


def test_draws_of_training_items_are_in_the_order_of_their_names() -> None:
    items = [item(str(n), [], "red", "choice", factors={"draw": name}) for n, name in enumerate(("b", "a", "b", "c"))]
    assert [[each.item_id for each in of_draw] for of_draw in by_draw(items)] == [["1"], ["0", "2"], ["3"]]
    assert [len(of_draw) for of_draw in by_draw([item("1", [], "red", "choice"), item("2", [], "red", "choice")])] == [
        2
    ]
    assert by_draw([]) == []
