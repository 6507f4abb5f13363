"""Build, run, score and report with subjects whose results are known beforehand."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from scipy.stats import binomtest

from snellen.cli import main
from snellen.core.storage.itemset import ItemSet
from snellen.exam.run import run

TASKS = ("pattern-perception", "img2text", "text2img", "category-building")
KEEPING_THE_IMAGES = (
    "vanilla", "samples=1", "questions=one", "samples=1,questions=one", "pivot=on", "demos=in-context",
    "sheet=single", "sheet=separate", "layout=images-first", "order=shuffled",
    "method=perceive-then-classify,order=shuffled", "method=cot", "method=perceive-then-classify",
    "method=caption-then-classify", "prompt=short", "prompt=minimal",
)  # fmt: skip
WITHOUT_IMAGES = (
    "images=none",
    "images=grey",
    "method=perceive-then-classify,images=none",
    "demos=in-context,images=none",
)


def _results(toy: ItemSet, root: Path, fakes: Sequence[str], conditions: Sequence[str]) -> pd.DataFrame:
    done = run(toy, [f"fake:{name}" for name in fakes], root, conditions=conditions, show_progress=False)
    assert not done.failed
    return done.all_results()


def _like_guessing(row: Any) -> bool:
    """True if a guesser gets such a score at least once in ten thousand times."""
    return bool(binomtest(round(row.value * row.n), row.n, row.chance).pvalue > 1e-4)


def _whole(rows: pd.DataFrame, task: str) -> pd.DataFrame:
    return rows[(rows["task"] == task) & (rows["factor"] == "")]


@pytest.fixture(scope="module")
def oracle(toy: ItemSet, tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    root = tmp_path_factory.mktemp("oracle")
    return _results(toy, root, ["oracle"], [*KEEPING_THE_IMAGES, *WITHOUT_IMAGES])


@pytest.mark.parametrize("condition", KEEPING_THE_IMAGES)
def test_the_oracle_is_perfect_wherever_the_images_are_shown(oracle: pd.DataFrame, condition: str) -> None:
    rows = oracle[oracle["condition"] == condition]
    assert len(rows)
    assert (rows["value"] == 1.0).all(), rows[rows["value"] < 1.0]
    assert (rows["no_answer_rate"] == 0.0).all()


@pytest.mark.parametrize("condition", WITHOUT_IMAGES)
def test_the_oracle_is_at_chance_without_images(oracle: pd.DataFrame, condition: str) -> None:
    rows = oracle[(oracle["condition"] == condition) & (oracle["factor"] == "")]
    assert len(rows)
    for row in rows.itertuples():
        assert _like_guessing(row), row
        assert row.no_answer_rate == 0.0


def test_each_condition_is_asked_in_its_tasks(oracle: pd.DataFrame) -> None:
    tasks = {condition: set(rows["task"]) for condition, rows in oracle.groupby("condition")}
    assert tasks["vanilla"] == tasks["images=grey"] == tasks["sheet=single"] == tasks["prompt=short"] == set(TASKS)
    assert tasks["pivot=on"] == tasks["samples=1"] == tasks["demos=in-context"] == {"pattern-perception"}
    assert tasks["method=cot"] == {"category-building"}


def _unasked(toy: ItemSet, question: str) -> int:
    """The number of objects with one contact point of this kind, for which there is no question."""
    items = [item for item in toy.task("pattern-perception") if item.split == "test"]
    return sum(item.factors["question"] == question and len(item.options) == 1 for item in items)


def test_each_condition_asks_the_expected_number_of_questions(oracle: pd.DataFrame, toy: ItemSet) -> None:
    rows = oracle[(oracle["factor"] == "") & (oracle["metric"] == "accuracy")]
    n = {(row["condition"], row["task"]): row["n"] for row in rows.to_dict("records")}
    spheres, pivots = _unasked(toy, "anchor"), _unasked(toy, "pivot")
    assert (spheres, pivots) > (0, 0)
    assert [n["vanilla", task] for task in TASKS] == [7 * 16 - spheres, 16, 16, 16]
    assert n["pivot=on", "pattern-perception"] == 8 * 16 - spheres - pivots
    assert n["demos=in-context", "pattern-perception"] == 3 * 16 - spheres


def test_the_anchor_question_with_solved_examples_leaves_spheres_out(oracle: pd.DataFrame, toy: ItemSet) -> None:
    rows = oracle[(oracle["condition"] == "demos=in-context") & (oracle["factor"] == "question")].set_index("level")
    assert rows["n"].to_dict() == {
        "anchor": 16 - _unasked(toy, "anchor"),
        "primary-material": 16,
        "secondary-material": 16,
    }
    assert float(rows["chance"]["anchor"]) < 0.5


def test_category_building_is_scored_by_question_and_by_pair(oracle: pd.DataFrame) -> None:
    rows = oracle[
        (oracle["condition"] == "vanilla") & (oracle["task"] == "category-building") & (oracle["factor"] == "")
    ]
    by_metric = rows.set_index("metric")
    assert by_metric["n"].to_dict() == {"accuracy": 16, "all_correct": 8}
    assert by_metric["chance"].to_dict() == {"accuracy": 0.5, "all_correct": 0.25}


@pytest.fixture(scope="module")
def blind(toy: ItemSet, tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    return _results(toy, tmp_path_factory.mktemp("blind"), ["chance", "first-option"], ["vanilla"])


def test_a_guesser_scores_at_chance(blind: pd.DataFrame) -> None:
    rows = blind[(blind["subject"] == "fake:chance") & (blind["factor"] == "")]
    assert set(rows["task"]) == set(TASKS)
    for row in rows.itertuples():
        assert _like_guessing(row), row


def test_answering_a_is_right_in_half_of_category_building_and_in_no_pair(blind: pd.DataFrame) -> None:
    rows = blind[
        (blind["subject"] == "fake:first-option") & (blind["task"] == "category-building") & (blind["factor"] == "")
    ]
    assert rows.set_index("metric")["value"].to_dict() == {"accuracy": 0.5, "all_correct": 0.0}


@pytest.mark.slow
def test_the_full_plan_has_the_size_of_the_paper(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    argv = ["snellen", "build", "combo", "--from", "generated", "--full", "--plan", "--json"]
    monkeypatch.setattr("sys.argv", argv)
    with pytest.raises(SystemExit) as stopped:
        main()
    assert not stopped.value.code
    plan = json.loads(capsys.readouterr().out)
    assert (plan["objects"], plan["images"]) == (9504, 190_080)
    assert plan["items"] == {"pattern-perception": 5000 * 8, "img2text": 120, "text2img": 120, "category-building": 400}
    assert all(isinstance(plan[name], int) for name in ("objects", "images", "seconds", "bytes", "workers"))
