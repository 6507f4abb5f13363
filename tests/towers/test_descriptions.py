"""Descriptions are complete, and different objects are described differently."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from snellen.core.seeds import stream
from snellen.stimuli.scenes import all_composites, index_of
from snellen.stimuli.scenes.composites import Appearance, Composite
from snellen.suites.combo.prompts import DESCRIPTIONS
from snellen.towers.conversations import description


class Choice:
    """A generator that always chooses one wording."""

    def __init__(self, number: int) -> None:
        self.number = number

    def integers(self, count: int) -> int:
        assert self.number < count
        return self.number


def in_wording(index: int, number: int) -> str:
    return description(all_composites()[index].dimensions(), Choice(number))  # type: ignore[arg-type]


def test_an_ice_cream() -> None:
    """A ball of glass on the base of a yellow cone: by hand."""
    cone, ball = Appearance("cone", "rubber", "yellow"), Appearance("sphere", "glass")
    index = index_of(Composite(cone, "base", ball, "surface"))
    assert in_wording(index, 1) == (
        "A small glass sphere is attached to a large yellow rubber cone: its surface touches the flat base of the cone."
    )


@pytest.mark.parametrize("number", range(len(DESCRIPTIONS)))
def test_no_two_objects_have_the_same_description(number: int) -> None:
    """This requires every dimension in every wording, because any two objects differ in at least one."""
    texts = Counter(in_wording(index, number) for index in range(9504))
    assert len(texts) == 9504
    assert not [text for text in texts if "{" in text or "none" in text or "  " in text]


def test_every_wording_is_used() -> None:
    rng: np.random.Generator = stream("descriptions")
    appearance = all_composites()[0].dimensions()
    assert len({description(appearance, rng) for _ in range(50)}) == len(DESCRIPTIONS)
