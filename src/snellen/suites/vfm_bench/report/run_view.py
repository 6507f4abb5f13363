"""A run as the suite's pieces need it: scores of every subject and setting by shots, and how numbers are written."""

from __future__ import annotations

import math
import typing
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import pandas as pd

from snellen.analysis import cells
from snellen.analysis.cells import DASH, percent
from snellen.analysis.section import Run, protocol_of
from snellen.analysis.shot_curves import Curve, Interval, curve_of, interval
from snellen.core.seeds import stream
from snellen.suites.vfm_bench.items import SHOTS, TASK

Setting: TypeAlias = tuple[tuple[str, str], ...]
"""The axes that a condition moves with their values, shots left out; empty for the paper's main setting."""


@dataclass(frozen=True, eq=False)
class Line:
    """One subject in one setting at all its numbers of shots.

    `conditions` leads from shots to the condition as written. `scores` has a row a response: item_id, cluster_id,
    shots, value (0 or 1; NaN where there is no score), chance, truth and said (option keys as JSON), outcome.
    """

    subject: str
    setting: Setting
    conditions: Mapping[int, str]
    scores: pd.DataFrame

    @property
    def name(self) -> str:
        """The subject, with its setting where it is not the main one."""
        return f"{self.subject} [{written(self.setting)}]" if self.setting else self.subject

    @property
    def fake(self) -> bool:
        """Whether it is a simulated observer."""
        return self.subject.startswith("fake:")

    def heard(self, shots: Iterable[int] | None = None) -> pd.DataFrame:
        """Its scores without those that are none, at these numbers of shots (all)."""
        rows = self.scores.dropna(subset="value")
        return rows if shots is None else rows[rows["shots"].isin(list(shots))]

    @property
    def shots(self) -> tuple[int, ...]:
        """The numbers of shots at which something was scored, in order."""
        return tuple(sorted(int(k) for k in self.heard()["shots"].unique()))

    def curve(self) -> dict[int, float]:
        """Accuracy by shots, over whatever was scored at each."""
        return curve_of(self.heard())


Lines: TypeAlias = Mapping[tuple[str, Setting], Line]


def written(setting: Setting) -> str:
    """The setting as conditions are written."""
    return ",".join(f"{name}={value}" for name, value in setting)


def setting_of(condition: str) -> Setting:
    """What a written condition moves beside the number of shots."""
    if condition == "vanilla":
        return ()
    moved = (term.partition("=") for term in condition.split(","))
    return tuple((name, value) for name, _, value in moved if name != "shots")


def lines_of(run: Run) -> dict[tuple[str, Setting], Line]:
    """Every subject and setting of the run in its order, simulated observers last."""
    rows = run.scores[protocol_of(run)]
    rows = rows[(rows["task"] == TASK) & (rows["metric"] == "accuracy")]
    shots = {(arm.subject, arm.condition): int(arm.columns.get("shots", SHOTS)) for arm in run.card.arms}
    found: dict[tuple[str, Setting], dict[int, tuple[str, pd.DataFrame]]] = {}
    for (subject, condition), part in rows.groupby(["subject", "condition"], sort=False):
        arm = str(subject), str(condition)
        count = shots.get(arm, SHOTS)
        found.setdefault((arm[0], setting_of(arm[1])), {})[count] = arm[1], part.assign(shots=count)
    ordered = sorted(found, key=lambda key: key[0].startswith("fake:"))
    return {key: _line(key, found[key]) for key in ordered}


def _line(key: tuple[str, Setting], parts: Mapping[int, tuple[str, pd.DataFrame]]) -> Line:
    by_shots = dict(sorted(parts.items()))
    conditions = {count: condition for count, (condition, _) in by_shots.items()}
    return Line(*key, conditions, pd.concat([part for _, part in by_shots.values()], ignore_index=True))


def plain_lines(lines: Lines) -> list[Line]:
    """The lines in the main setting."""
    return [line for (_, setting), line in lines.items() if not setting]


def examined(lines: Sequence[Line]) -> list[Line]:
    """Lines of examined subjects; those of simulated observers where there are no others."""
    return [line for line in lines if not line.fake] or list(lines)


def result_rows(run: Run, factor: str = "") -> dict[tuple[str, str], dict[str, Any]]:
    """Accuracy as the results have it: (subject, condition) -> level -> row."""
    rows = run.results
    rows = rows[(rows["task"] == TASK) & (rows["metric"] == "accuracy") & (rows["factor"] == factor)]
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for row in rows[rows["protocol"] == protocol_of(run)].itertuples():
        found.setdefault((str(row.subject), str(row.condition)), {})[str(row.level)] = row
    return found


# Derived numbers


def told_interval(statistic: typing.Callable[..., float | None], arms: Sequence[pd.DataFrame], *place: str) -> Interval:
    """A derived number of one or several arms (see `curves.interval`), its draws seeded by what it is about.

    Arms without any score give none: NaN over no items.
    """
    if any(arm.empty for arm in arms):
        return Interval(math.nan, math.nan, math.nan, 0, 0, 0.0)
    return interval(statistic, arms, stream("vfm-bench", "pieces", *place))


def no_gain_reason(curve: Curve) -> str:
    """Why a curve has no efficiency, in words."""
    return _no_base(curve) or "undefined: no gain"


def no_room_reason(curve: Curve) -> str:
    """Why a curve has no effectiveness, in words."""
    return _no_base(curve) or "undefined: perfect at 0 shots"


def _no_base(curve: Curve) -> str:
    if 0 not in curve:
        return "undefined: no 0 shots"
    return "" if len(curve) > 1 else "undefined: no demos"


# Words


def spanned(value: float, low: float, high: float, n: int, sign: str = "") -> str:
    """A share in percent with its interval; without one where it cannot be told, or has no width."""
    told = percent(value, n, sign)
    if math.isnan(low) or high - low < 1e-12:
        return told
    return f"{told} [{percent(low, n, sign)}, {percent(high, n, sign)}]"


def derived(found: Interval, reason: str, sign: str = "") -> str:
    """A derived number in percent with its interval, or why there is none."""
    if math.isnan(found.value):
        return reason if found.items else "undefined: no common items"
    return spanned(found.value, found.low, found.high, found.items, sign)


def cell(row: Any) -> str:
    """As `core.cells.cell`, with the interval as in `spanned`."""
    return cells.cell(row, spanned)


def counts(numbers: Iterable[int]) -> str:
    """One number, or the range."""
    found = sorted(set(numbers))
    return DASH if not found else DASH.join(map(str, dict.fromkeys((found[0], found[-1]))))


def chance_of(rows: pd.DataFrame) -> float:
    """Exact chance of a uniform draw: the mean of one over the number of classes, every item once."""
    return float(rows.groupby("item_id")["chance"].first().mean()) if len(rows) else math.nan


def runs_of(shots: Sequence[int]) -> str:
    """Numbers of shots as people write them: `0–5`, `1, 3, 5`."""
    held = sorted(shots)
    if len(held) > 2 and held == list(range(held[0], held[-1] + 1)):
        return f"{held[0]}{DASH}{held[-1]}"
    return ", ".join(map(str, held))
