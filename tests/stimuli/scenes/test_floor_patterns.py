"""Floor patterns with equal lightness, variance and edge length, yet different."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray

from snellen.core.errors import SnellenError
from snellen.stimuli.scenes import Floor, Scene, from_json, to_json
from snellen.stimuli.scenes.floor_patterns import CONTRAST, PATTERNS, STRIPE_M, pattern_factor, period_m

SIDE = 1200


def period(pattern: str) -> NDArray[np.float64]:
    """One period of a pattern, from a corner between two of its squares."""
    along = (np.arange(SIDE) + 0.5) / SIDE * period_m(pattern, STRIPE_M)
    return pattern_factor(pattern, STRIPE_M, *np.meshgrid(along, along))


@pytest.mark.parametrize("pattern", PATTERNS)
def test_half_is_light_and_half_is_dark(pattern: str) -> None:
    factor = period(pattern)
    assert set(np.unique(factor)) == {1 - CONTRAST, 1 + CONTRAST}
    assert factor.mean() == pytest.approx(1, abs=2e-3)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_every_pattern_has_the_same_edge_length_per_square_metre(pattern: str) -> None:
    """By Crofton: averaged over directions, edges cross a line 2 / pi times their length per square metre."""
    rng = np.random.default_rng(0)
    crossings, length_m = 0, 40.0
    steps = np.linspace(0, length_m, 40_001)
    for angle in np.linspace(0, math.pi, 180, endpoint=False) + 0.003:
        x, y = rng.uniform(0, 5, 2)
        factor = pattern_factor(pattern, STRIPE_M, x + steps * math.cos(angle), y + steps * math.sin(angle))
        crossings += int((np.diff(factor) != 0).sum())
    edge_m = crossings / (180 * length_m) * math.pi / 2
    assert edge_m == pytest.approx(1 / STRIPE_M, rel=0.02)


def test_patterns_differ() -> None:
    x, y = np.meshgrid(np.linspace(0, 7, 700), np.linspace(0, 7, 700))
    for first, second in combinations(PATTERNS, 2):
        assert (pattern_factor(first, STRIPE_M, x, y) != pattern_factor(second, STRIPE_M, x, y)).mean() > 0.3


def test_a_plain_floor_is_written_as_before_there_were_patterns() -> None:
    plain = Scene(())
    assert "pattern" not in to_json(plain)
    assert from_json(to_json(plain)) == plain
    dotted = replace(plain, floor=Floor(pattern="dotted"))
    assert from_json(to_json(dotted)) == dotted
    assert to_json(dotted) != to_json(plain)
    with pytest.raises(SnellenError, match="pattern 'tartan' is unknown; choose one of plain, striped"):
        Floor(pattern="tartan")
