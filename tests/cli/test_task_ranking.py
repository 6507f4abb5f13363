"""From a file of questions to a report that ranks for their task, by commands only."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def examined(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two observers of a few generated images: one is always right, one always says 7."""
    from snellen.core.suite import BuildOptions
    from snellen.exam.items import build
    from snellen.exam.run import run
    from snellen.suites import SUITES

    root = tmp_path_factory.mktemp("examined")
    options = BuildOptions(root / "items", n=4, quick=True, tasks=("counting",), renderer="toy", show_progress=False)
    items = build(SUITES.get("ava-bench"), "generated", options)
    run(items, ["fake:constant=7", "fake:oracle"], root / "run", show_progress=False)
    return root / "run"


def test_from_questions_to_a_ranking(snellen: Command, examined: Path, tmp_path: Path) -> None:
    questions, work, tags, check = (tmp_path / name for name in ("asked.csv", "work", "tags", "check"))
    questions.write_text("question_id,question\na,How many?\nb,Which colour?\n")
    script = tmp_path / "tagger.json"
    script.write_text(json.dumps({"a": '{"abilities": ["counting"]}', "b": '{"abilities": ["colour"]}'}))
    how = ("--from", "questions", "--source", f"questions={questions}")
    assert snellen("build", "ava-bench/tagging", *how, "--out", work)[0] == 0
    assert snellen("run", work, "--subject", f"fake:scripted={script}", "--out", tags)[0] == 0
    assert snellen("build", "ava-bench/tag-check", *how, "--input", f"tags={tags}", "--out", check)[0] == 0
    sheet = tmp_path / "decided.csv"
    sheet.write_text((check / "decisions.csv").read_text().replace("b,,,", "b,drop,ann,"))
    inputs = ("--input", f"tags={tags}", "--input", f"tag-check={sheet}")
    assert snellen("report", examined, *inputs, "--out", tmp_path / "report")[0] == 0
    page = (tmp_path / "report" / "ava-bench.html").read_text()
    assert "Which encoder for my task" in page
    assert "Spot check by ann: tags of 1 questions, 0.0 % kept" in page
    ranking = pd.read_csv(tmp_path / "report" / "tables" / "ava-bench-task-ranking.csv")
    assert list(ranking["subject"]) == ["fake:oracle", "fake:constant=7"]
    needs = pd.read_csv(tmp_path / "report" / "tables" / "ava-bench-task-needs.csv")
    assert list(needs["ability"]) == ["counting"]
    code, _, err = snellen("report", examined, "--input", f"tag={tags}", "--out", tmp_path / "none")
    assert (code, err.count("\n")) == (2, 1)
    assert "did you mean 'tags'" in err
