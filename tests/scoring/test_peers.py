"""The items whose answers the chance of a free answer is averaged over."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from snellen.scoring.metrics import PEERS, peers


def test_peers_by_hand() -> None:
    assert peers(0, 1) == []
    assert peers(1, 4) == [2, 3, 0]
    assert peers(0, 49)[:3] == [1, 3, 5]


@given(st.integers(1, 300), st.data())
def test_peers_are_different_other_items(count: int, data: st.DataObject) -> None:
    index = data.draw(st.integers(0, count - 1))
    chosen = peers(index, count)
    assert len(chosen) == len(set(chosen)) == min(PEERS, count - 1)
    assert index not in chosen
    assert all(0 <= n < count for n in chosen)
