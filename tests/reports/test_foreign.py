"""Page and tables stay intact whatever a subject replies."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from snellen.core.errors import CallFailed
from snellen.core.prompt import Prompt, Reply
from snellen.core.score import Metric
from snellen.core.storage.media import MediaFolder
from snellen.core.subject import Base, SubjectCard
from snellen.reports import Report, print_table, write_report
from snellen.reports.export import to_latex, to_markdown
from snellen.reports.words import amount, answer_words, brief, difference, foreign, rate, slug, span
from tests.reports.exam import suite_of, write_items, write_run
from tests.reports.test_report import Tags

HOSTILE = (
    "<script>alert('x')</script><img src=https://example.com/x.png onerror=alert(1)>",
    "</code></td></table><style>*{display:none}</style>",
    "{{ 7 * 7 }}{% raw %}",
    "a\x00b\x07c\x1b[31m",
    "lone \ud800 surrogate",
    "turned \u202e around",
    "x" * 1_000_000,
    "",
)


@dataclass(frozen=True)
class Hostile(Base):
    """Gives one hostile reply after the other; every ninth call fails with one of them."""

    async def answer(self, prompt: Prompt, media: MediaFolder, rng: np.random.Generator) -> Reply:
        number = int(prompt.views[0].item_id[-4:])
        if number % 9 == 8:
            raise CallFailed("<b>503</b> " + HOSTILE[0])
        return Reply(HOSTILE[number % len(HOSTILE)], model="<i>m</i>", stop="<u>stop</u>")


SHARE, NATURAL = Metric("near", lambda item, reply: 0.5), Metric("accuracy", lambda item, reply: 0.5, share=False)
"""Percent formatting depends on the metric's own declaration, not on its name."""
COLOURS = replace(NATURAL, name="far", higher_is_better=False, unit="ΔE", title="colour difference")
NAMES = ("py:<img src=x>:$\\frac{", "py:[bold]m|k_%&#", "chat:a/" + "long-" * 40)


@pytest.fixture(scope="module")
def evil(tmp_path_factory: pytest.TempPathFactory) -> Report:
    root = tmp_path_factory.mktemp("evil")
    items = write_items(root / "items", 16)
    hostile = [Hostile(SubjectCard(name, {"temperature": "<b>"}, attributes={"family": "<i>x"})) for name in NAMES]
    return write_report([write_run(root / "run", items, hostile)], root / "report", suite_of=suite_of)


def test_page_and_tables_survive(evil: Report) -> None:
    raw = "".join(path.read_text("utf-8") for path in evil.pages)
    tags = Tags(raw)
    kinds = {tag for tag, _ in tags.elements}
    assert not kinds & {"u", "i"}
    assert sum(tag == "script" for tag, _ in tags.elements) == len(evil.pages), "the one that sorts tables"
    assert all(not name.startswith("on") for _, attrs in tags.elements for name in attrs)
    assert "https://example.com" not in "".join(attrs.get("src") or "" for _, attrs in tags.elements)
    assert "<script>alert" in tags.text
    assert "{{ 7 * 7 }}" in tags.text
    assert not set(raw) & {"\x00", "\x07", "\x1b", "\u202e"}
    assert "\\u0000" in tags.text
    assert "(1,000,000 characters)" in tags.text
    assert len(raw) < 2_000_000
    table = pd.read_csv(evil.root / "results.csv")
    assert set(table["subject"]) == set(NAMES)
    assert (table.loc[(table["factor"].isna()) & (table["task"] == "naming"), "degenerate"]).all()
    assert (table["failure_rate"] > 0).any()
    assert "unreadable" in tags.text
    assert "<b>503</b>" in tags.text


def test_the_terminal_survives(evil: Report) -> None:
    from rich.console import Console

    console = Console(width=120, record=True, file=io.StringIO())
    console.print(print_table(evil.results, suite_of=suite_of))
    assert "py:[bold]m|k_%&#" in console.export_text()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", "plain"),
        ("tab\tand\nline", "tab\tand\nline"),
        ("nul\x00", "nul\\u0000"),
        ("\ud800", "\\ud800"),
        ("\u202ex", "\\u202ex"),
        ("👩‍🔬 é", "👩‍🔬 é"),
        ("abcdef", "abcdef"),
        ("a" * 301, "a" * 300 + " … (301 characters)"),
    ],
)
def test_foreign_text(text: str, expected: str) -> None:
    assert foreign(text) == expected


@pytest.mark.parametrize(
    ("value", "metric", "n", "expected"),
    [
        (0.625, SHARE, 8, "62 %"),
        (0.625, SHARE, 200, "62.5 %"),
        (1.0, SHARE, 8, "100 %"),
        (float("nan"), SHARE, 8, "–"),
        (float("nan"), NATURAL, 8, "–"),
        (0.5, NATURAL, 8, "0.50"),
        (12.345, NATURAL, 8, "12.3"),
        (100.0, NATURAL, 8, "100"),
        (0.0, NATURAL, 8, "0"),
        (-0.25, NATURAL, 8, "-0.25"),
        (8.284, COLOURS, 8, "8.28 ΔE"),
        (30.0, replace(COLOURS, unit="°"), 8, "30.0°"),
    ],
)
def test_amounts(value: float, metric: Metric, n: int, expected: str) -> None:
    assert amount(value, metric, n) == expected


def test_small_words() -> None:
    assert span(0.1, 0.25, SHARE, 8) == "[10, 25]"
    assert span(float("nan"), 1.0, SHARE) == ""
    assert [rate(x) for x in (0.001, 0.01, 0.256)] == ["< 1 %", "1 %", "26 %"]
    assert difference(-0.01, SHARE) == "1 point"
    assert difference(0.1, SHARE) == "10 points"
    assert difference(-0.5, NATURAL) == "0.50"
    assert difference(-0.5, COLOURS) == "0.50 ΔE"
    assert span(5.33, 20.7, COLOURS, 8) == "[5.33, 20.7]"
    assert span(0.1, 0.25, NATURAL, 8) == "[0.10, 0.25]"
    assert slug("A b/C") == "a-b-c"
    assert brief("chat:a/b", 20) == "chat:a/b"
    assert brief("0123456789abcdef", 9) == "0123…cdef"


def test_an_answer_in_words(tmp_path: Path) -> None:
    items = write_items(tmp_path / "items", 4)
    naming, sizing = items.task("naming")[0], items.task("sizing")[0]
    assert answer_words(naming, "o1") == "square"
    assert answer_words(naming, None) == ""
    assert answer_words(sizing, 2.5) == "2.5"
    assert answer_words(sizing, [1, 2]) == "[1, 2]"


def test_text_tables_are_escaped() -> None:
    rows: Sequence[object] = ["a|b", "<x>", "c\\d", "e\nf"]
    table = pd.DataFrame({"k_1": rows, "v": [0.5, 1.0, 2.0, float("nan")]})
    expected = "| k_1 | v |\n| --- | --- |\n| a\\|b | 0.5 |\n| &lt;x> | 1 |\n| c\\\\d | 2 |\n| e f |  |\n"
    assert to_markdown(table) == expected
    assert r"| ![]\(x) [0, 1] |" in to_markdown(pd.DataFrame({"k": ["![](x) [0, 1]"]}))
    assert r"c\textbackslash{}d & 2 \\" in to_latex(table)
    assert r"k\_1 & v \\" in to_latex(table)
