"""How names are fitted into figures."""

from __future__ import annotations

import pytest

from snellen.analysis.plots import two_lines, without_middle


@pytest.mark.parametrize(
    ("name", "room", "told"), [("abcdef", 6, "abcdef"), ("abcdefg", 6, "abc…fg"), ("0123456789abcdef", 9, "0123…cdef")]
)
def test_a_long_name_keeps_its_ends(name: str, room: int, told: str) -> None:
    assert without_middle(name, room) == told
    assert len(told) <= room


def test_a_name_has_two_lines_and_is_broken_between_words_if_it_can_be() -> None:
    assert two_lines("chat:small", 12) == "chat:small"
    assert two_lines("large model on two", 12) == "large model\non two"
    assert two_lines("abcdefghijklmnopqrstuvwxyz", 10) == "abcdefgh…t\nuvwxyz"  # 16 characters, 10 a line
