"""Scores of every subject and setting by number of shots, the basis of the suite's tables and figures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import pandas as pd

from snellen.analysis.pivot import arm_parts
from snellen.analysis.run_view import ReportArm, arm_cards, result_rows, rows_by_arm, score_rows, simulated_last
from snellen.analysis.section import Run
from snellen.analysis.shot_curves import Curve, DerivedInterval, curve_of
from snellen.scoring.uncertainty import Paired
from snellen.suites.vfm_bench.items import SHOTS, TASK

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


@dataclass(frozen=True)
class ShotGains:
    """The gains of one subject from shots: a row of results by shots, eta and delta (fractions, NaN if undefined)."""

    series: ShotSeries
    rows: Mapping[int, Any]
    eta: DerivedInterval
    delta: DerivedInterval


@dataclass(frozen=True)
class AblationChange:
    """One subject with and without a change, on the items scored in both at all of `shots`.

    `before` and `after` map shots to accuracy. `gap` is the difference of their means over shots, `phi` that
    difference as a share of the mean before (equation 4; NaN if that mean is 0).
    """

    original: ShotSeries
    condition: str
    shots: tuple[int, ...]
    before: Curve
    after: Curve
    gap: Paired
    phi: DerivedInterval


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
    return {(line.subject, line.setting): line for line in simulated_last(series)}


def in_main_setting(series: SeriesBySetting) -> list[ShotSeries]:
    """The series in the main setting."""
    return [line for (_, setting), line in series.items() if not setting]


def accuracy_rows(run: Run, factor: str = "") -> dict[ReportArm, dict[str, Any]]:
    """Accuracy in the results: arm -> level -> row."""
    return rows_by_arm(result_rows(run, TASK, factor, "accuracy"))
