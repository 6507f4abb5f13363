"""Contrasts: two arms, or groups of subjects, compared on the items that both have."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import combinations
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from snellen.analysis.tables.run_view import arm_name
from snellen.core.seeds import stream
from snellen.scoring.permutation import ALPHA, holm, least_p, sign_flip
from snellen.scoring.uncertainty import Bounds, paired_difference

KEYS = ("task", "protocol", "metric")
NUMBERS = ("difference", "low", "high", "n", "clusters", "p", "p_holm", "clear", "too_few_clusters")
LEVEL = 0.95
NO_BOUNDS: Mapping[str, Bounds | None] = MappingProxyType({})
COLUMNS = (*KEYS, "family", "first", "second", *NUMBERS)


def contrasts(
    scores: pd.DataFrame,
    bounds: Mapping[str, Bounds | None] = NO_BOUNDS,
    simulated: Collection[str] = (),
    level: float = LEVEL,
) -> pd.DataFrame:
    """The mean of first minus second for every two arms (subject under condition) of a task, protocol and metric.

    Only items scored in both arms count; repeats of an item are averaged first. `bounds` by task are those of its
    units, if they are not 0 to 1, and `level` is that of the intervals. `family` is that of `family_of`, for which
    `simulated` names the simulated observers; Holm's correction (`with_holm`) is over this table. Columns: `COLUMNS`.
    """
    rows: list[dict[str, Any]] = []
    scored = scores.dropna(subset="value")
    for key, part in scored.groupby(list(KEYS), sort=False):
        keys = dict(zip(KEYS, map(str, key), strict=True))
        arms = {
            (str(subject), str(condition)): item_means(rows_of)
            for (subject, condition), rows_of in part.groupby(["subject", "condition"], sort=False)
        }
        for arm, other in combinations(arms, 2):
            both = arms[arm].join(arms[other]["value"].rename("value_second"), how="inner")
            if both.empty:
                continue
            family = family_of(arm[0], other[0], simulated)
            names = {"family": family, "first": arm_name(*arm), "second": arm_name(*other)}
            numbers = contrast(
                both["value"].to_numpy(float), both["value_second"].to_numpy(float), both["cluster"].to_numpy(object),
                *keys.values(), names["first"], names["second"],
                bounds=bounds.get(keys["task"], (0.0, 1.0)), level=level,
            )  # fmt: skip
            rows.append({**keys, **names, **numbers})
    return with_holm(pd.DataFrame(rows, columns=list(COLUMNS)))


def item_means(scores: pd.DataFrame) -> pd.DataFrame:
    """Mean value and cluster by item."""
    if scores["item_id"].is_unique:  # grouping would take most of the time of a report
        return (
            scores[["item_id", "value", "cluster_id"]]
            .set_axis(["item_id", "value", "cluster"], axis=1)
            .set_index("item_id")
        )
    return scores.groupby("item_id", sort=False).agg(value=("value", "mean"), cluster=("cluster_id", "first"))


def family_of(subject: str, other_subject: str, simulated: Collection[str]) -> str:
    """The family of tests for the correction of a pair of arms of these two subjects.

    `subjects`: all pairs of examined subjects, over all tasks of a run. `conditions`: all pairs of conditions within a
    subject, over all subjects and tasks. `simulated`: pairs with a simulated observer, which check the instrument and
    must not enlarge the other families.
    """
    if subject in simulated or other_subject in simulated:
        return "simulated"
    return "conditions" if subject == other_subject else "subjects"


def contrast(
    scores_first: npt.NDArray[np.float64],
    scores_second: npt.NDArray[np.float64],
    clusters: npt.NDArray[Any],
    *key: str,
    bounds: Bounds | None = (0.0, 1.0),
    level: float = LEVEL,
) -> dict[str, Any]:
    """The numbers of one contrast that do not depend on its family: `NUMBERS` up to `p`.

    The three arrays are over the same units, whose values have these bounds. `key` names the comparison and seeds its
    random numbers; `level` is that of the interval.
    """
    rng = stream("contrast", *key)
    estimate = paired_difference(scores_first, scores_second, clusters, rng, level, bounds)
    return {
        "difference": estimate.difference,
        "low": estimate.low,
        "high": estimate.high,
        "n": estimate.n,
        "clusters": len(np.unique(clusters)),
        "p": sign_flip(scores_first - scores_second, clusters, stream("permutation", *key)),
    }


def with_holm(table: pd.DataFrame) -> pd.DataFrame:
    """The contrasts with `p_holm`, `clear` and `too_few_clusters`; the table must hold all tests of a family.

    A difference is `clear` if its 95 % interval excludes 0 and its p, corrected by Holm within the family, is under
    0.05. `too_few_clusters`: there are so few that no answers could give a p under 0.05 (`least_p`); such a pair is no
    evidence of a difference or its absence.
    """
    p_holm = pd.Series(np.nan, index=table.index)
    for _, rows in table.groupby("family", sort=False):
        p_holm[rows.index] = holm(rows["p"].to_numpy(float))
    beyond_zero = (table["low"].astype(float) > 0) | (table["high"].astype(float) < 0)
    few = [least_p(int(count)) >= ALPHA for count in table["clusters"]]
    return table.assign(
        p_holm=p_holm, clear=beyond_zero & (p_holm < ALPHA), too_few_clusters=pd.Series(few, table.index, dtype=bool)
    )
