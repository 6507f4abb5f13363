"""A linear probe: the classes that a linear map can read from features, and the loss between two places.

AVA-Bench (arXiv 2506.09082, section 6) probes DINOv2's max-pooled features for fine-grained classes, before the
connector of a trained head (66.3 %) and behind it (25.67 %). It states neither the probe's settings nor the items.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from snellen.core.seeds import stream
from snellen.scoring.uncertainty import cluster_wilson, paired_difference
from snellen.subjects.encoders.readouts import fit_probe

Features: TypeAlias = NDArray[np.float32]
COLUMNS = ("place", "value", "low", "high", "items", "clusters", "classes", "training_items", "features")
STRENGTH = 1.0
"""Strength of the L2 penalty over standardised features: scikit-learn's default."""


def predictions(features: Features, labels: Sequence[str], test_features: Features) -> list[str]:
    """The labels that logistic regression (`fit_probe`) on features (n, d) predicts for test features (m, d)."""
    probe = fit_probe(features, labels, STRENGTH)
    return [probe.answers[int(np.argmax(probe.scores(row, probe.answers)))] for row in test_features]


def linear_probes(
    train_features: Mapping[str, Features],
    labels: Sequence[str],
    test_features: Mapping[str, Features],
    test_labels: Sequence[str],
    clusters: Sequence[str],
) -> pd.DataFrame:
    """The share of test items that a probe at each place gets right, in rows of `COLUMNS`.

    Features are by place, with the same items at each; `clusters` are those of the test items. Two more rows: `blind`,
    always the most frequent training label, and `change`, the last place minus the first, paired over items.
    """
    places, names = list(train_features), np.asarray(clusters, dtype=str)
    truth = np.asarray(test_labels)
    right = {
        place: (np.array(predictions(train_features[place], labels, test_features[place])) == truth).astype(float)
        for place in places
    }
    right["blind"] = (truth == Counter(labels).most_common(1)[0][0]).astype(float)
    facts = {"items": len(truth), "clusters": len(set(clusters)), "classes": len({*labels, *test_labels})}
    rows: list[dict[str, Any]] = []
    for place, hits in right.items():
        low, high = cluster_wilson(hits, names)
        width = train_features[place].shape[1] if place in train_features else None
        rows.append({"place": place, "value": float(hits.mean()), "low": low, "high": high, "features": width, **facts})
    change = paired_difference(right[places[-1]], right[places[0]], names, stream("linear probe"))
    rows.append({"place": "change", "value": change.difference, "low": change.low, "high": change.high, **facts})
    table = pd.DataFrame(rows).assign(training_items=len(labels)).reindex(columns=list(COLUMNS))
    return table.astype({"features": "Int64"})
