"""Tables and figures by factor: only of factors that divide their task."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from snellen.core.storage.itemset import write_itemset
from snellen.core.storage.media import MediaFolder
from snellen.reports import load_run, write_report
from snellen.reports.figures import by_factor
from snellen.reports.grid import factor_grids
from tests.reports.exam import Album, able, building, suite_of, write_run


def run_with(folder: Path, levels: Sequence[str], requires: Sequence[str]) -> Path:
    """A run about items with these levels of difficulty (empty: none) and these requirements, in turn."""
    items = [
        replace(
            item,
            factors={"difficulty": level} if (level := levels[number % len(levels)]) else {},
            requires=tuple(filter(None, [requires[number % len(requires)]])),
        )
        for number, item in enumerate(building(Album(MediaFolder(folder / "items/media"), 0), 6))
    ]
    itemset = write_itemset(folder / "items", items, source="generated", recipe={}, provenance={})
    return write_run(folder / "run", itemset, [able("own:half", itemset, {"building": 0.5})], tasks=("building",))


@pytest.mark.parametrize(
    ("levels", "requires", "factors"),
    [
        (["easy"], ["colour"], []),
        (["easy", "hard"], ["colour"], ["difficulty"]),
        (["easy", ""], [""], ["difficulty"]),  # the others have no level, so that it does not repeat the task
        (["easy"], ["colour", ""], ["requires"]),
    ],
)
def test_a_factor_with_one_level_is_left_out(
    tmp_path: Path, levels: list[str], requires: list[str], factors: list[str]
) -> None:
    run = load_run(run_with(tmp_path, levels, requires), suite_of)
    assert [factor for _, factor, _ in factor_grids(run)] == factors


@pytest.mark.usefixtures("without_figures")
def test_pages_have_no_part_for_one_level_but_results_have_its_rows(tmp_path: Path) -> None:
    report = write_report([run_with(tmp_path, ["easy"], ["colour"])], tmp_path / "report", suite_of=suite_of)
    pages = "".join(page.read_text("utf-8") for page in report.root.glob("*.html"))
    assert "Results by factor" not in pages
    assert "by difficulty" not in pages
    assert [path.name for path in report.root.rglob("*") if "difficulty" in path.name] == []
    assert set(report.results["factor"]) == {"", "difficulty", "requires"}


@pytest.mark.usefixtures("without_figures")
def test_factors_with_one_slug_have_files_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Slugs of names without Latin letters are equal."""
    monkeypatch.setattr("snellen.reports.writing.slug", lambda text: "x")
    source = run_with(tmp_path, ["easy", "hard"], ["colour", "", ""])
    report = write_report([source], tmp_path / "report", suite_of=suite_of, full=True)
    tables = {path.name: path.read_text("utf-8") for path in report.root.glob("tables/more/x-x-x*.csv")}
    assert [name for name, text in tables.items() if "easy" in text] == ["x-x-x.csv"]
    assert [name for name, text in tables.items() if "not colour" in text] == ["x-x-x--2.csv"]
    page = (report.root / "x.html").read_text("utf-8")
    assert re.findall(r'figures/more/(x-x-x\S*).svg" alt="building by (\w+)', page) == [
        ("x-x-x", "difficulty"),
        ("x-x-x--2", "requires"),
    ]


def test_simulated_observers_have_a_panel_only_if_there_are_no_other_subjects(tmp_path: Path) -> None:
    run = load_run(run_with(tmp_path, ["easy", "hard"], ["colour"]), suite_of)
    observer = {"subject": "fake:blind-to=colour", "role": "simulated"}
    arms, rows = [run.card.arms[0].model_copy(update=observer), *run.card.arms], run.results.assign(**observer)

    def titles(count: int, results: pd.DataFrame) -> list[str]:
        part = replace(run, card=run.card.model_copy(update={"arms": arms[:count]}), results=results)
        return [axes.get_title() for axes in by_factor(part, "building", "difficulty").axes]

    assert titles(2, pd.concat([rows, run.results])) == ["own:half"]
    assert titles(1, rows) == ["fake:blind-to=colour"]
