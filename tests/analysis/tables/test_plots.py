"""Shortening and breaking of names in figures."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from snellen.analysis.tables import plots
from snellen.analysis.tables.plots import LevelPanel, two_lines, without_middle
from tests.goldens.golden import assert_golden
from tests.goldens.sections import figure_text


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


def test_what_figures_of_levels_and_heat_show() -> None:
    """Three subjects at three levels, of which some lack a score or an interval."""
    rows = [SimpleNamespace(value=0.2 * n, low=0.2 * n - 0.1, high=0.2 * n + 0.15) for n in range(1, 5)]
    bare = SimpleNamespace(value=0.5, low=float("nan"), high=float("nan"))
    panels = [
        LevelPanel("One", ["near", "middle", "far"], {"b": rows[:3], "a": [rows[3], None, bare]}, [0.25, 0.5, 0.25]),
        LevelPanel("Two", ["few", "many"], {"a": rows[1:3], "a subject with a long name c": rows[:2]}, [0.1, 0.2]),
    ]
    ends = {"One": {"b": (0.1, 0.8), "a": (0.5, 0.4)}, "Two": {"a": (0.2, 0.9)}}
    heat, (axes,) = plots.panel_figure(1, (5.0, 2.0))
    plots.draw_heat(axes, np.array([[0.1, 0.56, 0.3], [0.55, 0.9, 0.2]]), ["abc", "def"], ["x", "y"], ["1", "2", "3"])
    wide, (first, second) = plots.panel_figure(1, (4.0, 3.0), 2)
    plots.draw_levels(first, rows, range(4), scale=100, horizontal=True, **plots.series_appearance(9))
    plots.percent_axis(second)
    texts = [plots.level_figure(panels), plots.level_figure(panels[:1], "guessing", "-"), heat, wide]
    texts += [plots.before_after(ends, ("before", "after"), 0.25), plots.before_after(ends, ("x", "y"))]
    assert_golden("reports/levels.txt", "\n".join(map(figure_text, texts)))
