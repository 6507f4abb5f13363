"""The studies with people: their designs, and the evaluation of answers, computed by hand."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
import yaml

from snellen.scoring.uncertainty import wilson
from snellen.suites.combo.report import people
from snellen.suites.combo.report.people import Side, agreement, manual_scores
from tests.published.combo import DIFFICULTY_AGREEMENT


def test_the_votes_of_every_person_are_checked_to_be_about_the_set(monkeypatch: pytest.MonkeyPatch) -> None:
    checked: list[Any] = []
    monkeypatch.setattr(people, "read_step_results", lambda path: ("ann", "bob"))
    monkeypatch.setattr(people, "check_about", lambda path, result, *rest: checked.append(result))
    items: Any = SimpleNamespace(root=Path())
    people._votes(Path(), items, "natural-votes")
    assert checked == ["ann", "bob"]


def test_manual_scores_are_shown_for_each_scorer() -> None:
    """An empty reply chooses no category; other tasks and unscored replies do not count."""
    cells = [
        ("ann", '"none"', 1.0), ("ann", '""', 0.0), ("ann", '"rule"', float("nan")), ("a-model", '"rule"', 0.0),
    ]  # fmt: skip
    rows = [("category-building", "own:m", "vanilla", judge, *rest, f"c{n}") for n, (judge, *rest) in enumerate(cells)]
    rows.append(("img2text", "own:m", "vanilla", "ann", '"none"', 1.0, "c9"))
    columns = ["task", "subject", "condition", "judge", "prediction", "value", "cluster_id"]
    run: Any = SimpleNamespace(scores={"manual": pd.DataFrame(rows, columns=columns)})
    (section,) = manual_scores(run)
    lines = {line["scored by"]: line for line in section.table.to_dict("records")}
    assert {name: line["replies"] for name, line in lines.items()} == {"ann": 2, "a-model": 1}
    assert [lines["ann"][name].split()[0].rstrip(",") for name in ("no mistake", "format", "rule")] == ["50", "50", "0"]
    assert lines["a-model"]["rule"].startswith("100")


def test_the_designs_are_those_of_the_paper() -> None:
    text = files("snellen.suites.combo.report").joinpath("studies.yaml").read_text("utf-8")
    designs = yaml.safe_load(text)
    alignment, difficulty = designs["abstraction_alignment"], designs["difficulty"]
    assert (alignment["participants"], alignment["questions"]) == (20, {"img2text": 20, "text2img": 20})
    assert alignment["dropped"] == ["best", "worst"]
    assert (difficulty["participants"], difficulty["questions"]) == (8, {"comparisons": 40})
    assert designs["category_building"]["participants"] == 23
    (printed,) = difficulty["printed"]
    assert printed["value"] == DIFFICULTY_AGREEMENT == 0.954


HARDER: list[Side] = ["first", "second", "first", "second"]


def test_agreement_by_hand() -> None:
    result = agreement(
        HARDER,
        [["first", "second", "first", "first"], ["first", "second", "second", "first"], ["first", "first", None, None]],
    )
    # Majorities: first (agrees), second (agrees), tie, first (does not): (1 + 1 + 1/2 + 0) / 4.
    assert result.by_majority.value == 2.5 / 4
    low, high = wilson(2.5, 4)
    assert result.by_majority.low <= low
    assert result.by_majority.high >= high
    assert result.by_vote.value == (3 + 2 + 1 + 0) / 10
    assert result.by_vote.low < result.by_vote.value < result.by_vote.high
    assert (result.by_majority.n, result.ties, result.by_vote.n) == (4, 1, 10)


def test_people_are_resampled_too() -> None:
    # Of 40 comparisons three of five people get 38 right and two get none. With other people the majority
    # may change, which an interval over comparisons alone cannot show.
    most: list[Side | None] = [*["first"] * 38, *["second"] * 2]  # type: ignore[list-item]
    none: list[Side | None] = ["second"] * 40
    result = agreement(["first"] * 40, [most] * 3 + [none] * 2).by_majority
    assert result.value == 38 / 40
    assert result.low < 0.1 < wilson(38, 40)[0]
    alike = agreement(["first"] * 40, [most] * 5).by_majority
    assert (alike.low, alike.high) == pytest.approx(wilson(38, 40), abs=0.03)


def test_comparisons_without_votes_are_left_out() -> None:
    result = agreement(["first", "first"], [["first", None], ["first", None]])
    assert (result.by_majority.value, result.by_vote.value, result.by_majority.n) == (1.0, 1.0, 1)
    assert agreement(["first"], [[None]]).by_vote.n == 0
