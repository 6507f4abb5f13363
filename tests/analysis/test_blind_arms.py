"""`bench/blind_arms.py`: on a table of its own, and on the matrices of M3IRT in the folder named by M3IRT."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bench.blind_arms import DATASETS, NO_IMAGE, summary, verdicts

FOLDER = os.environ.get("M3IRT", "")
PAGE = Path(__file__).parents[2] / "docs" / "measurements" / "blind-arms.md"


def test_a_model_that_is_as_good_without_images_is_above_chance_only(tmp_path: Path) -> None:
    count = 200
    right = (np.arange(count) % 10 < 8).astype(float)  # 80 % right
    names = [f"item {n}" for n in range(count)]
    columns = [*names, *(NO_IMAGE + name for name in names)]
    answers = {
        "sees": np.concatenate([right, (np.arange(count) % 4 == 0).astype(float)]),
        "reads": np.concatenate([right, right]),
        "guesses": np.concatenate([(np.arange(count) % 4 == 0), (np.arange(count) % 4 == 1)]).astype(float),
    }
    path = tmp_path / "m3irt_test.csv.gz"
    pd.DataFrame(answers, index=columns).T.to_csv(path)
    by_model = {verdict.model: verdict for verdict in verdicts(path)}
    assert [(v.above(0.25), v.clear) for v in by_model.values()] == [(True, True), (True, False), (False, False)]
    assert [(v.grade_by_chance, v.grade_by_arm) for v in by_model.values()] == [
        ("most", "most"),
        ("most", "no better than: without the image"),
        ("none", "none"),
    ]


@pytest.mark.skipif(not FOLDER, reason="no M3IRT=FOLDER with m3irt_mmmu.csv.gz and two more")
def test_the_page_has_these_numbers() -> None:
    results = [verdict for name in DATASETS for verdict in verdicts(Path(FOLDER) / f"m3irt_{name}.csv.gz")]
    lines = PAGE.read_text("utf-8").splitlines()
    cells = {
        line.split("|")[1].strip(): [cell.strip() for cell in line.split("|")[2:-1]]
        for line in lines
        if line.startswith("|")
    }
    table = summary(results).set_index("dataset").T
    for name, row in table.iterrows():
        values = [f"{100 * value:.0f} %" if "share" in str(name) else f"{value:.0f}" for value in row]
        assert cells[str(name)] == values, name
