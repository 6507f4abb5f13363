"""Scores of every subject and setting by number of shots, numbers derived from them, and their cells in tables."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import pandas as pd

from snellen.analysis.tables import cells
from snellen.analysis.tables.cells import DASH, result_cell
from snellen.analysis.tables.pivot import arm_parts
from snellen.analysis.tables.run_view import ReportArm, arm_cards, result_rows, rows_by_arm, score_rows, simulated_last
from snellen.analysis.tables.section import Run
from snellen.core.seeds import stream
from snellen.suites.vfm_bench.items import SHOTS, TASK
from snellen.suites.vfm_bench.shot_curves import DerivedInterval, curve_of, interval

Setting: TypeAlias = tuple[tuple[str, str], ...]
"""The axis values of a condition that differ from the defaults, without shots; empty for the paper's main setting."""


@dataclass(frozen=True, eq=False)
class ShotSeries:
    """One subject in one setting at all its numbers of shots.

    `conditions` maps shots to the written condition. `scores` has one row per response: item_id, cluster_id, shots,
    value (0 or 1; NaN without a score), chance, truth and prediction (option keys as JSON), outcome.
    """

    subject: str
    setting: Setting
    conditions: Mapping[int, str]
    scores: pd.DataFrame

    @property
    def name(self) -> str:
        """The subject, with its setting if that is not the main one."""
        return f"{self.subject} [{write_setting(self.setting)}]" if self.setting else self.subject

    def scored(self, shots: Iterable[int] | None = None) -> pd.DataFrame:
        """The rows with a score, at these numbers of shots (default: all)."""
        rows = self.scores.dropna(subset="value")
        return rows if shots is None else rows[rows["shots"].isin(list(shots))]

    @property
    def shots(self) -> tuple[int, ...]:
        """The numbers of shots with a score, in order."""
        return tuple(sorted(int(k) for k in self.scored()["shots"].unique()))

    def curve(self) -> dict[int, float]:
        """Accuracy by shots, over all scores at each."""
        return curve_of(self.scored())


SeriesBySetting: TypeAlias = Mapping[tuple[str, Setting], ShotSeries]


def write_setting(setting: Setting) -> str:
    """The setting in the notation of conditions."""
    return ",".join(f"{name}={level}" for name, level in setting)


def setting_of(condition: str) -> Setting:
    """The setting of a written condition, without the number of shots."""
    if condition == "vanilla":
        return ()
    terms = (term.partition("=") for term in condition.split(","))
    return tuple((name, level) for name, _, level in terms if name != "shots")


def series_of(run: Run) -> dict[tuple[str, Setting], ShotSeries]:
    """The series of every subject and setting in the run, in order, simulated observers last."""
    cards = arm_cards(run)
    parts: dict[tuple[str, Setting], dict[int, tuple[str, pd.DataFrame]]] = {}
    for arm, part in arm_parts(score_rows(run, TASK, "accuracy")):
        shots = int(cards[arm].columns.get("shots", SHOTS)) if arm in cards else SHOTS
        parts.setdefault((arm.subject, setting_of(arm.condition)), {})[shots] = arm.condition, part.assign(shots=shots)
    series = []
    for key, by_shots in parts.items():
        conditions = {shots: condition for shots, (condition, _) in sorted(by_shots.items())}
        scores = pd.concat([by_shots[shots][1] for shots in conditions], ignore_index=True)
        series.append(ShotSeries(*key, conditions, scores))
    return {(line.subject, line.setting): line for line in simulated_last(run, series)}


def accuracy_rows(run: Run, factor: str = "") -> dict[ReportArm, dict[str, Any]]:
    """Accuracy in the results: arm -> level -> row."""
    return rows_by_arm(result_rows(run, TASK, factor, "accuracy"))


# Derived numbers and cells


def derived_interval(
    statistic: Callable[..., float | None], arms: Sequence[pd.DataFrame], *key: str
) -> DerivedInterval:
    """A derived number of one or more arms (see `shot_curves.interval`), with draws seeded by `key`.

    NaN over 0 items if an arm has no score.
    """
    if any(arm.empty for arm in arms):
        return DerivedInterval(math.nan, math.nan, math.nan, 0, 0, 0.0)
    return interval(statistic, arms, stream("vfm-bench", "pieces", *key))


def guess_accuracy(rows: pd.DataFrame) -> float:
    """Exact chance of a uniform guess: the mean of one over the number of classes, every item once."""
    return float(rows.groupby("item_id")["chance"].first().mean()) if len(rows) else math.nan


def percent_interval(share: float, low: float, high: float, n: int, sign: str = "") -> str:
    """A share in percent with its interval, which is left out if it is unknown or has no width."""
    return cells.percent_interval(share, math.nan if high - low < 1e-12 else low, high, n, sign)


def derived_cell(derived: DerivedInterval, reason: str, sign: str = "") -> str:
    """A derived number in percent with its interval, or the reason that there is none."""
    if math.isnan(derived.value):
        return reason if derived.items else "undefined: no common items"
    return percent_interval(derived.value, derived.low, derived.high, derived.items, sign)


def accuracy_cell(row: Any) -> str:
    """`analysis.tables.cells.result_cell`, with the interval as in `percent_interval`."""
    return result_cell(row, percent_interval)


def write_shots(shots: Sequence[int]) -> str:
    """Numbers of shots in words: `0–5`, `1, 3, 5`."""
    ordered = sorted(shots)
    if len(ordered) > 2 and ordered == list(range(ordered[0], ordered[-1] + 1)):
        return f"{ordered[0]}{DASH}{ordered[-1]}"
    return ", ".join(map(str, ordered))
