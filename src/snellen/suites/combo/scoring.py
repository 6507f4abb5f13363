"""How ComBo is scored. The authors released no scorer; `published` follows the text of the paper."""

from __future__ import annotations

import pandas as pd

from snellen.core.score import Metric, Protocol, Protocols
from snellen.scoring.answers import read_answer
from snellen.scoring.protocols import ACCURACY, all_right, by_item, correct, guess, strict

ALL_CORRECT = Metric("all_correct", correct, chance=guess, binary=True)
"""Share of category pairs of which every question is answered right, 0 to 1; chance of independent guesses."""


def by_metric(scores: pd.DataFrame) -> pd.DataFrame:
    """Items for `accuracy`, pairs for `all_correct`."""
    return all_right(scores) if (scores["metric"] == ALL_CORRECT.name).all() else by_item(scores)


STRICT, STRICT_PAIRS = strict(), strict(ACCURACY, ALL_CORRECT, units=by_metric)
PUBLISHED = Protocol("published", read_answer, (ACCURACY,), by_item)
"""The paper says 'accuracy' and counts invalid replies as wrong (Table 4: LLaVA at .26 of two options)."""
PROTOCOLS: Protocols = {"strict": STRICT, "published": PUBLISHED}
PAIR_PROTOCOLS: Protocols = {"strict": STRICT_PAIRS, "published": PUBLISHED}
