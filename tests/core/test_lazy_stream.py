"""A random stream that is made when something is drawn."""

from __future__ import annotations

import numpy as np
import pytest

from snellen.core import seeds


def test_a_lazy_stream_draws_what_the_stream_draws_and_is_made_once() -> None:
    lazy, stream = seeds.lazy_stream("here", 0, 7), seeds.stream("here", 0, 7)
    assert [*lazy.permutation(9), lazy.integers(2**31), lazy.uniform()] == [
        *stream.permutation(9),
        stream.integers(2**31),
        stream.uniform(),
    ]


def test_nothing_is_made_where_nothing_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[tuple[str | int, ...]] = []

    def stream(*names: str | int) -> np.random.Generator:
        made.append(names)
        return np.random.default_rng(0)

    monkeypatch.setattr(seeds, "stream", stream)
    lazy = seeds.lazy_stream("here", 1)
    assert made == []
    lazy.random()
    lazy.random()
    assert made == [("here", 1)]
