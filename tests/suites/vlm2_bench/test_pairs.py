"""Right among pairs answered oppositely, and pairs answered alike: by hand, by chance, on the page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from snellen.analysis.blind.measure import measure_by_folds
from snellen.core.item import Item, ReplySpec
from snellen.reports.grid import factor_grids, main_grid
from snellen.suites.vlm2_bench import SUITE
from snellen.suites.vlm2_bench.scoring import ALIKE_PAIRS, CUES, OPPOSITE_PAIR_ACCURACY
from snellen.suites.vlm2_bench.tasks import TRUE_FALSE
from tests.suites.vlm2_bench.run_fixture import made_items, made_run
from tests.suites.vlm2_bench.test_scoring import column, make_item, response_to, table

PAIRS = ("opposite_pair_accuracy", "alike_pairs")
GROUPS = {
    "right": "Tt Ff", "wrong": "Tf Ft", "true": "Tt Ft", "false": "Tf Ff", "unread": "Tt F?", "failed": "Tt F!",
    "equal-keys": "Tt Tf", "equal-alike": "Ff Ff", "four": "Tt Ff Tt Ff", "single": "Tt",
}  # fmt: skip
"""Key and reply of each statement of a group: `?` is unreadable, `!` a failed call."""


def scored(root: Path, groups: Sequence[str]) -> pd.DataFrame:
    """The results of a Mat task with these groups."""
    items, responses = [], []
    for group in groups:
        for n, statement in enumerate(GROUPS[group].split()):
            item = make_item("gc-mat", f"{group}-{n}", {"T": "true", "F": "false"}[statement[0]], group_id=group)
            text = {"t": "T", "f": "F", "?": "I cannot tell"}.get(statement[1])
            items.append(item)
            responses.append(response_to(item, text, "ok" if text else "failed"))
    return table(root, items, responses)


def test_values_by_hand(tmp_path: Path) -> None:
    rows = scored(tmp_path, list(GROUPS))
    # Opposite answers to opposite keys: right and wrong. Two readable answers: these, true, false and the equal keys,
    # of which true, false and equal-alike are answered alike. Groups of four and of one are no pairs.
    assert column(rows, "value", PAIRS[0]) == [1 / 2] * 3
    assert column(rows, "n", PAIRS[0]) == [2] * 3
    assert column(rows, "chance", PAIRS[0]) == [1 / 2] * 3
    assert column(rows, "value", PAIRS[1]) == [3 / 6] * 3
    assert column(rows, "n", PAIRS[1]) == [6] * 3
    assert np.isnan(column(rows, "chance", PAIRS[1])).all()
    assert list(rows.loc["strict"].index) == ["pair_accuracy", "accuracy", *reversed(PAIRS)], "the main metric is first"


@pytest.mark.parametrize(("group", "alike"), [("true", [1.0]), ("unread", []), ("failed", []), ("single", [])])
def test_pairs_that_are_not_answered_oppositely_have_no_value(tmp_path: Path, group: str, alike: list[float]) -> None:
    rows = scored(tmp_path, [group]).loc["strict"]
    assert (rows.loc[PAIRS[0], "n"], rows.loc[PAIRS[1], "n"]) == (0, len(alike))
    assert rows.loc[[PAIRS[0]], "value"].isna().all()
    assert rows.loc[[PAIRS[1]], "value"].dropna().tolist() == alike


def units(keys: np.ndarray, answers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Values of the pairs (rows) by both metrics under `strict`; keys and answers are true or false."""
    right = (keys == answers).astype(float).ravel()
    names = np.repeat([f"{n}" for n in range(len(keys))], 2)
    rows = pd.DataFrame({"group_id": names, "cluster_id": names, "value": right, "chance": 0.5, "prediction": ""})
    rows["truth"] = np.where(keys.ravel(), '"true"', '"false"')
    values = [
        CUES["strict"].units(rows.assign(metric=metric.name))["value"].to_numpy(float)
        for metric in (OPPOSITE_PAIR_ACCURACY, ALIKE_PAIRS)
    ]
    return values[0], values[1]


@given(bias=st.floats(0.02, 0.98), seed=st.integers(0, 2**32 - 1))
def test_a_coin_of_any_bias_gets_half_of_the_opposite_pairs(bias: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    first = rng.random(4000) < 0.5
    opposite, alike = units(np.stack([first, ~first], 1), rng.random((4000, 2)) < bias)
    opposite = opposite[~np.isnan(opposite)]
    # Six standard errors: bias (1 - bias) of the pairs are TF, and as many FT.
    assert abs(opposite.mean() - 0.5) < 6 * 0.5 / len(opposite) ** 0.5
    assert abs(alike.mean() - (bias**2 + (1 - bias) ** 2)) < 6 * 0.5 / 4000**0.5
    assert len(opposite) == (alike == 0).sum()


@pytest.mark.parametrize(
    ("criterion", "pairs", "opposite", "alike"), [(0, 48, 83, 43), (1, 29, 86, 67), (1.5, 16, 89, 83)]
)
def test_the_arithmetic_of_the_documentation(criterion: float, pairs: int, opposite: int, alike: int) -> None:
    """At d' = 1, "true" is said where evidence of N(d'/2, 1) or N(-d'/2, 1) is above the criterion."""
    hit, false_alarm = norm.sf(criterion, 0.5), norm.sf(criterion, -0.5)
    both, neither = hit * (1 - false_alarm), (1 - hit) * false_alarm
    assert round(100 * both) == pairs
    assert round(100 * both / (both + neither)) == opposite
    assert round(100 * (1 - both - neither)) == alike
    evidence = np.random.default_rng(0).normal([0.5, -0.5], 1, (200_000, 2))
    values = units(np.tile([True, False], (200_000, 1)), evidence > criterion)
    assert 100 * np.nanmean(values[0]) == pytest.approx(100 * both / (both + neither), abs=1)
    assert 100 * np.nanmean(values[1]) == pytest.approx(100 * (1 - both - neither), abs=1)


def test_cells_of_the_main_table_state_both() -> None:
    def leaning(item: Item, spec: ReplySpec) -> str:
        return spec.write(item.answer) if item.group_id.endswith("-0") else "T"

    def silent(item: Item, spec: ReplySpec) -> str:
        return "I cannot tell"

    items = [item for item in made_items() if item.answer_kind == "true_false"]
    run = made_run({("own:leaning", "vanilla"): leaning, ("own:silent", "vanilla"): silent}, items)
    remarks = {line.subject: [cell.remarks for cell in line.cells if cell] for line in main_grid(run).lines}
    one_of_four = "pairs answered alike: 75 %", "oppositely: 100 % of 1 right"
    assert remarks == {"own:leaning": [one_of_four] * len(TRUE_FALSE), "own:silent": [()] * len(TRUE_FALSE)}
    parts = [line.cells for *_, grid in factor_grids(run) for line in grid.lines]
    assert not any(cell and cell.remarks for cells in parts for cell in cells)
    alike = run.results[run.results["metric"] == "alike_pairs"]
    assert len(alike) > 0
    assert (alike["grade"] == "").all(), "neither more nor less is better"


def test_blind_baselines_leave_out_pairs_answered_alike() -> None:
    items = [
        item
        for n in range(40)
        for key in ("true", "false")
        for item in [make_item("gc-mat", f"{n:02}-{key}", key, group_id=f"{n:02}", query=())]
    ]
    metrics = {score.metric for score in measure_by_folds(items, SUITE)}
    assert "pair_accuracy" in metrics
    assert "alike_pairs" not in metrics
