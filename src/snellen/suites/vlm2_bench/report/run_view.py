"""A run as the suite's pieces need it: rows of the results, scored units of every arm, and how numbers are written.

All metrics of this suite are shares, so that every number is written in percent.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from snellen.analysis.cells import DASH, spanned
from snellen.analysis.section import Run, fakes_last, protocol_of
from snellen.core.runfolder import ArmCard
from snellen.scoring.uncertainty import cluster_wilson
from snellen.suites.vlm2_bench.published import COLUMNS
from snellen.suites.vlm2_bench.tasks import protocols

ORDER = (*COLUMNS, "oc-vid")
"""Tasks as Table 1 has them; the twin of pc-vid, which is ours, comes last."""
Arm: TypeAlias = tuple[str, str]
"""Subject and condition."""
Units: TypeAlias = Mapping[str, Mapping[Arm, pd.DataFrame]]
"""Task -> arm -> its scored units (see `scored_units`)."""


# Rows and units


def metric_of(run: Run, task: str) -> str:
    """The metric of a task in Table 1."""
    return protocols(task)[protocol_of(run)].metrics[0].name


def result_rows(run: Run, task: str, factor: str = "") -> pd.DataFrame:
    """The results of a task's main metric, one row an arm (and level, and judge); simulated observers last.

    Of a task that is judged, what nobody has judged yet is left out where the subject was judged.
    """
    rows, asked = run.results, protocol_of(run)
    rows = rows[(rows["task"] == task) & (rows["factor"] == factor) & (rows["protocol"] == asked)]
    if rows.empty:
        return rows
    rows = rows[rows["metric"] == metric_of(run, task)]
    judged = set(rows.loc[rows["judge"] != "", "subject"])
    return fakes_last(rows[(rows["judge"] != "") | ~rows["subject"].isin(judged)])


def examined(arms: Sequence[Arm]) -> list[Arm]:
    """Arms of examined subjects; those of simulated observers where there are no others."""
    return [arm for arm in arms if not arm[0].startswith("fake:")] or list(arms)


def score_rows(run: Run, task: str, metric: str) -> pd.DataFrame:
    """Score rows of a task and metric, simulated observers last."""
    scores = run.scores[protocol_of(run)]
    return fakes_last(scores[(scores["task"] == task) & (scores["metric"] == metric)])


def all_units(run: Run) -> Units:
    """The scored units of every task that has some, in the order of Table 1."""
    asked = set(run.scores[protocol_of(run)]["task"])
    found = {task: scored_units(run, task) for task in ORDER if task in asked}
    return {task: arms for task, arms in found.items() if arms}


def by_arm(rows: pd.DataFrame) -> dict[Arm, Any]:
    """One row an arm; with several judges that of the first."""
    found: dict[Arm, Any] = {}
    for row in rows.itertuples():
        found.setdefault((str(row.subject), str(row.condition)), row)
    return found


def scored_units(run: Run, task: str) -> dict[Arm, pd.DataFrame]:
    """By arm: unit (pair or item) -> value 0..1, share of repeats that got it wholly right, cluster.

    Repeats of a unit are averaged. With several judges it is the first one's scores that count.
    """
    protocol = protocols(task)[protocol_of(run)]
    rows = score_rows(run, task, protocol.metrics[0].name)
    found = {}
    for (subject, condition), part in rows.groupby(["subject", "condition"], sort=False):
        judges = [judge for judge in part["judge"].unique() if judge]
        mine = part[part["judge"] == judges[0]] if judges else part
        repeats = []
        for _, once in mine.groupby("repeat", sort=False):
            units = protocol.units(once)
            names = units.index if units.index.name == "group_id" else once.loc[units.index, "item_id"]
            repeats.append(units.set_axis(pd.Index(names, name="unit")))
        heard = pd.concat(repeats).dropna(subset="value")
        heard = heard.assign(right=(heard["value"] == 1.0).astype(float))
        told = heard.groupby("unit", sort=False).agg(
            value=("value", "mean"), right=("right", "mean"), cluster=("cluster_id", "first")
        )
        if len(told):
            found[str(subject), str(condition)] = told
    return found


def arm_cards(run: Run) -> dict[Arm, ArmCard]:
    """The card of each arm (of its first repeat)."""
    found: dict[Arm, ArmCard] = {}
    for arm in run.card.arms:
        found.setdefault((arm.subject, arm.condition), arm)
    return found


# Words


def share(values: Sequence[float], clusters: Sequence[str]) -> str:
    """The mean of values 0..1 in percent with its interval."""
    if not len(values):
        return DASH
    low, high = cluster_wilson(np.asarray(values, float), np.asarray(clusters, str))
    return spanned(float(np.mean(values)), low, high, len(set(clusters)))


def points(difference: float, low: float, high: float) -> str:
    """A difference of two shares in points, signed, with its interval where there is one."""
    told = f"{100 * difference:+.1f}"
    return told if math.isnan(low) else f"{told} [{100 * low:+.1f}, {100 * high:+.1f}]"


def spread(values: Sequence[float]) -> str:
    """Chances in percent: one number, or the range where arms were asked different items."""
    found = sorted({round(100 * value, 1) for value in values if not math.isnan(value)})
    if not found:
        return DASH
    return "–".join(f"{x:g}" for x in dict.fromkeys((found[0], found[-1])))


def clipped(text: str, room: int = 300) -> str:
    """A reply on one line with its middle left out where it is long, for answers stand at the end."""
    told = " ".join(text.split())
    return told if len(told) <= room else f"{told[: room // 3]} … {told[-(room - room // 3) :]}"


def apart(first: Any, second: Any) -> tuple[float, float, float]:
    """(difference, low, high) of two independent shares, first minus second, from their own intervals.

    Zou and Donner 2008, Statistics in Medicine 27; with Wilson's intervals it is Newcombe's (1998). Each interval knows
    its own clusters, and none is ever without width.
    """
    gap = first.value - second.value
    low = gap - np.hypot(first.value - first.low, second.high - second.value)
    high = gap + np.hypot(first.high - first.value, second.value - second.low)
    return float(gap), float(low), float(high)
