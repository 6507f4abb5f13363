"""Which subject to use: the best of each ability, and those that tests do not separate from it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from snellen.core.errors import CallFailed
from snellen.core.prompt import Prompt, Reply
from snellen.core.storage.media import MediaFolder
from snellen.core.subject import SubjectCard
from snellen.reports import write_report
from snellen.reports.choice import AbilityChoice, SubjectChoice, ability_choices, choice_frame, subject_choices
from snellen.reports.comparisons import paired
from snellen.reports.front_page import AbilityName, ExamPart
from snellen.reports.loading import gather, load_run
from tests.reports.exam import Able, able, suite_of, write_items, write_run
from tests.reports.test_report import page


def _choices(root: Path) -> list[AbilityChoice]:
    run = gather([load_run(root, suite_of)])[0].joined
    return ability_choices([ExamPart(run, "shapes", "shapes.html", pairs=paired(run))])


def test_the_best_and_the_clearly_worse_are_told_apart(tmp_path: Path) -> None:
    items = write_items(tmp_path / "items", 60, tasks=("naming",))
    skills = {"chat:good": 1.0, "chat:nearly": 0.92, "chat:poor": 0.1}
    crowd = [able(name, items, {"naming": skill}) for name, skill in skills.items()]
    root = write_run(tmp_path / "run", items, crowd, tasks=("naming",), protocols=("strict",))
    (choice,) = _choices(root)
    assert [subject for subject, _ in choice.best] == ["chat:good"]
    assert choice.grade == "beyond guessing"
    assert [subject for subject, _ in choice.level] == ["chat:nearly"]
    assert [subject for subject, _ in choice.worse] == ["chat:poor"]
    assert choice.uncompared == ()
    table = choice_frame([choice])
    assert list(table["best"].str.startswith("chat:good 100")) == [True]


def test_equal_scores_are_best_together_and_errors_are_marked(tmp_path: Path) -> None:
    items = write_items(tmp_path / "items", 24, tasks=("naming", "sizing"))
    skills = {"chat:a": 1, "chat:b": 1, "chat:c": 0}
    crowd = [able(name, items, {"naming": skill, "sizing": 0.5}) for name, skill in skills.items()]
    root = write_run(tmp_path / "run", items, crowd, tasks=("naming", "sizing"), protocols=("strict",))
    choices = {choice.task: choice for choice in _choices(root)}
    assert [subject for subject, _ in choices["naming"].best] == ["chat:a", "chat:b"]
    assert all(score.endswith(" ↓") for _, score in choices["sizing"].best)
    assert not any("↓" in score for _, score in choices["naming"].best)


@dataclass(frozen=True)
class Failer(Able):
    """Its calls fail on two of five items, as those of a server with a filter do; it is right on the others."""

    async def answer(self, prompt: Prompt, media: MediaFolder, rng: np.random.Generator) -> Reply:
        if int(prompt.views[0].item_id[-4:]) % 5 < 2:
            raise CallFailed("HTTP 400: content filter")
        return await super().answer(prompt, media, rng)


def test_a_score_of_items_whose_calls_did_not_fail_has_no_grade_and_is_not_the_best(tmp_path: Path) -> None:
    items = write_items(tmp_path / "items", 60, tasks=("naming",))
    crowd = [able(name, items, {"naming": skill}) for name, skill in (("chat:good", 0.95), ("chat:fair", 0.8))]
    failer = Failer(SubjectCard("chat:failer"), items.by_id, {"naming": 1.0})
    root = write_run(tmp_path / "run", items, [*crowd, failer], tasks=("naming",), protocols=("strict",))
    (choice,) = _choices(root)
    assert [subject for subject, _ in choice.best] == ["chat:good"]
    assert ("chat:failer", "100 %") in choice.uncompared
    grades = write_report([root], tmp_path / "report", suite_of=suite_of).grades().set_index("subject")
    assert grades.loc[["chat:failer"], ["state", "reason", "note"]].values.tolist() == [
        ["failed", "in part", "36 of 60"]
    ]


def test_one_subject_is_no_choice(tmp_path: Path) -> None:
    items = write_items(tmp_path / "items", 8, tasks=("naming",))
    root = write_run(
        tmp_path / "run", items, [able("chat:one", items, {"naming": 1.0})], tasks=("naming",), protocols=("strict",)
    )
    assert _choices(root) == []


def test_people_are_no_choice(tmp_path: Path) -> None:
    items = write_items(tmp_path / "items", 8, tasks=("naming",))
    crowd = [able(name, items, {"naming": 1.0}) for name in ("chat:one", "chat:two", "human:lab/p01")]
    root = write_run(tmp_path / "run", items, crowd, tasks=("naming",), protocols=("strict",))
    (choice,) = _choices(root)
    assert [subject for subject, _ in choice.best] == ["chat:one", "chat:two"]


def test_standings_count_the_abilities_in_which_a_subject_is_worse() -> None:
    a, b, c = (("a", "9"), ("b", "8"), ("c", "7"))
    choices = [
        AbilityChoice("s", "one", AbilityName(), (a,), "some", (b,), (c,), ()),
        AbilityChoice("s", "two", AbilityName(), (b,), "some", (), (a,), ()),
    ]
    assert subject_choices(choices) == [SubjectChoice("b", 2, 0), SubjectChoice("a", 2, 1), SubjectChoice("c", 1, 1)]
    untested = [*choices, AbilityChoice("s", "three", AbilityName(), (a,), "none", (), (), (b,))]
    assert "b" not in [line.subject for line in subject_choices(untested)], "it was not compared everywhere"


@pytest.mark.usefixtures("without_figures")
def test_many_subjects_are_rows_of_one_table(tmp_path: Path) -> None:
    items = write_items(tmp_path / "items", 8, tasks=("naming",))
    crowd = [able(f"chat:m{number}", items, {"naming": number / 8}) for number in range(8)]
    root = write_run(tmp_path / "run", items, crowd, tasks=("naming",), protocols=("strict",))
    report = write_report([root], tmp_path / "report", suite_of=suite_of)
    front = page(report)
    rows = [attrs for tag, attrs in front.elements if tag == "td" and "small-square" in (attrs.get("class") or "")]
    assert len(rows) == 8
    assert {"href": "#choice"} in [attrs for tag, attrs in front.elements if tag == "a"]
