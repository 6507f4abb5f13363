"""Contrasts: two arms compared on the items that both have."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pandas as pd

from snellen.analysis.run_view import arm_name
from snellen.core.seeds import stream
from snellen.scoring.uncertainty import paired_difference

COLUMNS = ("task", "protocol", "metric", "first", "second", "difference", "low", "high", "n", "clear")


def contrasts(scores: pd.DataFrame) -> pd.DataFrame:
    """Every two arms (subject under condition) of a task, protocol and metric: the mean of first minus second.

    Only items scored in both arms count; repeats of an item are averaged first. `clear` says that the 95 % interval
    (cluster bootstrap) leaves out 0. Columns: `COLUMNS`.
    """
    rows: list[dict[str, Any]] = []
    scored = scores.dropna(subset="value")
    for key, part in scored.groupby(["task", "protocol", "metric"], sort=False):
        keys = dict(zip(("task", "protocol", "metric"), map(str, key), strict=True))
        arms = {
            arm_name(str(subject), str(condition)): rows_of.groupby("item_id", sort=False).agg(
                value=("value", "mean"), cluster=("cluster_id", "first")
            )
            for (subject, condition), rows_of in part.groupby(["subject", "condition"], sort=False)
        }
        for first, second in combinations(arms, 2):
            both = arms[first].join(arms[second]["value"].rename("value_second"), how="inner")
            if both.empty:
                continue
            rng = stream("contrast", *keys.values(), first, second)
            contrast = paired_difference(
                both["value"].to_numpy(), both["value_second"].to_numpy(), both["cluster"].to_numpy(str), rng
            )
            clear = bool(contrast.low > 0 or contrast.high < 0)
            rows.append({**keys, "first": first, "second": second, **contrast._asdict(), "clear": clear})
    return pd.DataFrame(rows, columns=list(COLUMNS))
