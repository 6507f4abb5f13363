"""Features before and after hand-made connectors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from snellen.towers.linear_probe import linear_probes
from tests.helpers.extras import lazy_module

torch = lazy_module("torch")
connector_module = lazy_module("snellen.towers.heads.connector")


def tokens(labels: list[int], seed: int) -> Any:
    """Five tokens of eight features; the class raises its own feature, 0 to 2, in one random token."""
    random = np.random.default_rng(seed)
    values = random.uniform(0, 1, (len(labels), 5, 8)).astype(np.float32)
    values[np.arange(len(labels)), random.integers(5, size=len(labels)), labels] += 3
    return torch.from_numpy(values)


def only(features: range) -> Any:
    """A connector that passes only these features."""
    layer = torch.nn.Linear(8, 8, bias=False)
    layer.weight.data = torch.diag(torch.tensor([float(n in features) for n in range(8)]))
    return layer


@pytest.mark.parametrize(
    ("connector", "is_lost"),
    [(lambda: torch.nn.Identity(), False), (lambda: only(range(3)), False), (lambda: only(range(3, 8)), True)],
)
def test_accuracy_falls_only_after_a_connector_that_destroys_the_class(
    connector: Callable[[], Any], is_lost: bool
) -> None:
    labels, test_labels = [0, 1, 2] * 20, [0, 1, 2] * 10
    before, behind = connector_module.pooled(connector(), tokens(labels, 0))
    assert torch.equal(before, tokens(labels, 0).max(dim=1).values)
    test_before, test_behind = connector_module.pooled(connector(), tokens(test_labels, 1))
    table = linear_probes(
        {"before": before.numpy(), "behind": behind.numpy()},
        [str(n) for n in labels],
        {"before": test_before.numpy(), "behind": test_behind.numpy()},
        [str(n) for n in test_labels],
        [str(n) for n in range(30)],
    )
    shares, ends = (dict(zip(table["place"], table[name], strict=True)) for name in ("value", "high"))
    assert shares["before"] == 1
    if is_lost:
        assert ends["change"] < -0.3
    else:
        assert shares["change"] == 0
