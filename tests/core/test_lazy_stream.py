"""A random stream that is created at the first draw."""

from __future__ import annotations

import numpy as np
import pytest

from snellen.core import seeds


def test_a_lazy_stream_draws_the_same_and_is_created_once() -> None:
    lazy, stream = seeds.lazy_stream("here", 0, 7), seeds.stream("here", 0, 7)
    assert [*lazy.permutation(9), lazy.integers(2**31), lazy.uniform()] == [
        *stream.permutation(9),
        stream.integers(2**31),
        stream.uniform(),
    ]


def test_no_stream_is_created_without_a_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[str | int, ...]] = []

    def stream(*names: str | int) -> np.random.Generator:
        calls.append(names)
        return np.random.default_rng(0)

    monkeypatch.setattr(seeds, "stream", stream)
    lazy = seeds.lazy_stream("here", 1)
    assert calls == []
    lazy.random()
    lazy.random()
    assert calls == [("here", 1)]
