"""Is a model better than blind? With chance as the floor, and with its own answers without the image.

    python bench/blind_arms.py FOLDER

`FOLDER` has `m3irt_mmmu.csv.gz`, `m3irt_mathvista.csv.gz` and `m3irt_seedbench.csv.gz`: the response matrices of
github.com/CyberAgentAILab/M3IRT, a row per model and a column per item, `<no_image>ITEM` for the item without its
image. Cells are 1 for right and 0 for wrong. They do not say how many options an item has.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from snellen.analysis.comparison.contrasts import contrast, with_holm
from snellen.analysis.grading.grades import UnitFloor, grade_of
from snellen.analysis.grading.rows import ResultRow
from snellen.scoring.protocols import ACCURACY
from snellen.scoring.uncertainty import cluster_wilson

DATASETS = ("mmmu", "mathvista", "seedbench")
CHANCES = (0.2, 0.25, 0.3)
"""Floors that are tried: one over the number of options, if there are five, four, or three to four."""
CHANCE = 0.25
NO_IMAGE = "<no_image>"
KNOWN: dict[str, Any] = {
    "subject": "",
    "task": "",
    "chance": CHANCE,
    "blind": math.nan,
    "ceiling": math.nan,
    "no_answer_rate": 0.0,
    "cut_off_rate": 0.0,
    "failure_rate": 0.0,
}
"""What all rows of results have in common; nothing is known of people and of unread replies."""
ABOVE_NONE = ("some", "most", "nearly all right")


class Verdict(NamedTuple):
    """One model on one dataset: scores and what is concluded; `p_holm` over the models of the dataset."""

    dataset: str
    model: str
    items: int
    score: float
    low: float
    no_image: float
    difference: float
    difference_low: float
    p_holm: float
    grade_by_chance: str
    grade_by_arm: str

    def above(self, chance: float) -> bool:
        """The interval of the score is above chance."""
        return self.low > chance

    @property
    def above_arm(self) -> bool:
        """The interval of score minus score without the image, paired by item, is above 0."""
        return self.difference_low > 0

    @property
    def clear(self) -> bool:
        """The same, and the paired test remains after Holm's correction."""
        return self.above_arm and self.p_holm < 0.05


def verdicts(path: Path) -> Iterator[Verdict]:
    """The verdicts on all models of a file."""
    table = pd.read_csv(path, index_col=0)
    items = [name for name in table.columns if NO_IMAGE + name in table.columns]
    dataset = path.name.removeprefix("m3irt_").partition(".")[0]
    clusters = np.array(items, dtype=str)
    rows = []
    for model, answers in table.iterrows():
        score, blind = (answers[names].to_numpy(float) for names in (items, [NO_IMAGE + name for name in items]))
        rows.append({"family": dataset, "model": str(model), **contrast(score, blind, clusters, dataset, str(model))})
    tests: Any = with_holm(pd.DataFrame(rows)).set_index("model")
    for model, answers in table.iterrows():
        score, blind = (answers[names].to_numpy(float) for names in (items, [NO_IMAGE + name for name in items]))
        low, high = cluster_wilson(score, clusters)
        row = ResultRow(value=score.mean(), low=low, high=high, items=len(items), **KNOWN)
        units = pd.DataFrame({"value": score, "cluster_id": clusters})
        arm = UnitFloor("own answers without the image", "without the image", blind, *[blind.mean()] * 2)
        grades = (grade_of(row, ACCURACY, units), grade_of(row, ACCURACY, units, [arm]))
        test = tests.loc[str(model)]
        yield Verdict(
            dataset, str(model), len(items), float(score.mean()), low, float(blind.mean()),
            float(test["difference"]), float(test["low"]), float(test["p_holm"]),
            *(grade.label for grade in grades),
        )  # fmt: skip


def summary(results: list[Verdict]) -> pd.DataFrame:
    """One row per dataset, of numbers of models."""
    rows = []
    for dataset in dict.fromkeys(verdict.dataset for verdict in results):
        of = [verdict for verdict in results if verdict.dataset == dataset]
        better = [verdict for verdict in of if verdict.above(CHANCE)]
        share = [v.difference / (v.score - CHANCE) for v in better]
        rows.append(
            {
                "dataset": dataset,
                "items": of[0].items,
                "models": len(of),
                **{f"above {chance:.0%}": sum(v.above(chance) for v in of) for chance in CHANCES},
                "of these above own arm": sum(v.above_arm for v in better),
                "after Holm": sum(v.clear for v in better),
                f"without image above {CHANCE:.0%}": sum(cluster_low(v) > CHANCE for v in of),
                "graded above none, by chance": sum(v.grade_by_chance in ABOVE_NONE for v in of),
                "graded above none, by both": sum(v.grade_by_arm in ABOVE_NONE for v in of),
                "median share of the excess that is lost without images": float(np.median(share))
                if share
                else math.nan,
            }
        )
    return pd.DataFrame(rows)


def cluster_low(verdict: Verdict) -> float:
    """The lower end of the interval of the score without the image."""
    right = round(verdict.no_image * verdict.items)
    return cluster_wilson([1.0] * right + [0.0] * (verdict.items - right), list(range(verdict.items)))[0]


def main() -> None:
    """Print the summary and the models whose verdict changes."""
    parser = argparse.ArgumentParser(description="Better than blind: by chance, and by the model's own blind answers.")
    parser.add_argument(
        "folder", type=Path, nargs="?", help="folder of the response matrices; without it nothing is done"
    )
    folder = parser.parse_args().folder
    if folder is None:
        print("not run: give the folder of the response matrices")
        return
    results = [verdict for name in DATASETS for verdict in verdicts(folder / f"m3irt_{name}.csv.gz")]
    with pd.option_context("display.width", 200, "display.max_columns", 40, "display.max_rows", 100):
        print(summary(results).T)
        table = pd.DataFrame(results)
        table["changes"] = [v.above(CHANCE) and not v.clear for v in results]
        print(table.round(3).to_string())


if __name__ == "__main__":
    main()
