"""Shortening and breaking of names in figures."""

from __future__ import annotations

import pytest

from snellen.analysis.tables.plots import two_lines, without_middle


@pytest.mark.parametrize(
    ("name", "room", "text"), [("abcdef", 6, "abcdef"), ("abcdefg", 6, "abc…fg"), ("0123456789abcdef", 9, "0123…cdef")]
)
def test_a_long_name_keeps_its_ends(name: str, room: int, text: str) -> None:
    assert without_middle(name, room) == text
    assert len(text) <= room


def test_a_name_has_two_lines_broken_between_words_if_possible() -> None:
    assert two_lines("chat:small", 12) == "chat:small"
    assert two_lines("large model on two", 12) == "large model\non two"
    assert two_lines("abcdefghijklmnopqrstuvwxyz", 10) == "abcdefgh…t\nuvwxyz"  # 16 characters, 10 per line
