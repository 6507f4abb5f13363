"""A report has the numbers of the results, a self-contained page, and all its parts."""

from __future__ import annotations

import io
import math
import re
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import replace
from html.parser import HTMLParser
from itertools import permutations
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from PIL import Image

from snellen.analysis.grading.results import results
from snellen.analysis.grading.rows import result_columns
from snellen.analysis.tables.run_view import lines_of
from snellen.analysis.tables.section import ReportSection, has_paper_images
from snellen.core.condition import parse_conditions
from snellen.core.errors import SnellenError
from snellen.core.storage.itemset_cards import Instalment
from snellen.core.storage.runfolder import read_run_card
from snellen.core.subject import SubjectCard
from snellen.reports import Report, Run, figures, load_run, print_table, write_report
from snellen.reports.conduct import _forms, conduct
from snellen.reports.findings import _is_at_chance, checks
from snellen.reports.loading import Exam, gather
from snellen.reports.rows import whole_tasks_of
from snellen.reports.words import DASH
from snellen.scoring.protocols import all_right, strict
from snellen.subjects.fakes.simple import Scripted
from snellen.suites import SUITES
from tests.reports.exam import SUITE, able, make_suite, subjects, suite_of, write_items, write_run


class Tags(HTMLParser):
    """Checks that a page is well formed; stores its tags and its text."""

    VOID = frozenset({"meta", "img", "col", "br", "wbr", "link"})

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, (tag, self.getpos())

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] not in ("style", "script"):
            self.text += data


def page(report: Report) -> Tags:
    """All pages of a report, one after another."""
    return Tags("".join(path.read_text("utf-8") for path in report.pages))


def test_results_are_those_of_the_analysis(report: Report, loaded: Run) -> None:
    table = pd.read_csv(report.root / "results.csv", keep_default_na=False)
    assert list(table.columns) == result_columns(SUITE)
    expected = pd.concat([results(rows, loaded.items, SUITE, loaded.card.arms) for rows in loaded.scores.values()])
    assert set(expected["protocol"]) == {"strict", "published"}
    for name in ("value", "low", "high", "chance", "ceiling", "no_answer_rate", "failure_rate", "n", "clusters"):
        written = pd.to_numeric(table[name], errors="coerce").rename(name)
        pd.testing.assert_series_equal(written, expected[name].reset_index(drop=True), check_dtype=False)
    for name in (
        "subject",
        "task",
        "condition",
        "protocol",
        "metric",
        "factor",
        "level",
        "interval",
        "images",
        "sheet",
    ):
        assert list(table[name]) == [str(value) for value in expected[name]]


def test_parquet_has_the_same_results(report: Report) -> None:
    table = pd.read_parquet(report.root / "results.parquet")
    assert list(table.columns) == list(report.results.columns)
    assert len(table) == len(report.results)
    pd.testing.assert_series_equal(table["value"], report.results["value"])


def test_page_is_well_formed_and_refers_to_nothing_outside(report: Report) -> None:
    tags = page(report)
    assert not any(tag in ("link", "iframe", "object") for tag, _ in tags.elements)
    for tag, attrs in tags.elements:
        for name in ("src", "href"):
            if target := attrs.get(name):
                if target.startswith("#"):
                    continue
                assert "://" not in target or (tag == "a" and target == "https://example.org/shapes"), target
                assert "://" in target or (report.root / target.partition("#")[0]).is_file(), target
    for path in report.pages:
        assert "url(" not in path.read_text("utf-8")
        assert str(report.root) not in path.read_text("utf-8")


def test_figures_and_thumbnails_exist(report: Report) -> None:
    names = {path.relative_to(report.root / "figures").as_posix() for path in (report.root / "figures").rglob("*.*")}
    stems = ("shapes-overview", "shapes-naming-question", "shapes-building-difficulty")
    assert names == {f"more/{stem}.svg" for stem in stems} | {"matrix.svg", "matrix.png", "paper.pdf"}
    thumbs = list((report.root / "thumbs").iterdir())
    assert len(thumbs) > 10
    for path in thumbs:
        with Image.open(path) as small:
            assert small.width <= 240


def test_a_declined_task_is_a_dash_with_the_reason(report: Report) -> None:
    rows = report.results
    row = rows[(rows["subject"] == "encoder:dull") & (rows["task"] == "finding") & (rows["protocol"] == "strict")].iloc[
        0
    ]
    assert (row["n"], row["not_applicable"]) == (0, 16)
    assert pd.isna(row["value"])
    text = page(report).text
    assert "declined: has no words to compare images with" in text
    main = pd.read_csv(report.root / "tables" / "more" / "shapes-main.csv", keep_default_na=False).set_index("subject")
    assert main.loc["encoder:dull", "finding"] == "– (declined)"
    assert main.loc["(chance)", "finding"] == "33 %"
    assert main.loc["(people)", "naming"] == "97 %"


def test_a_subject_that_helped_to_build_the_set_is_flagged(report: Report) -> None:
    assert "encoder:sharp helped to build 4 of the naming items it is examined on" in page(report).text


def test_printed_rows_are_labelled_and_in_a_separate_table(report: Report, small_report: Report) -> None:
    table = pd.read_csv(report.root / "tables" / "more" / "shapes-table-2-printed.csv", dtype=str)
    heads = ["subject", "condition", "origin", "shape", "colour", "average", "mean", "rank", "minus people"]
    assert list(table.columns) == heads
    printed = table[table["origin"] == "printed"].set_index("subject")
    assert list(printed.index) == ["GPT-4V", "LLaVA", "(people)", "(chance)"]
    # (64 + 92.5) / 2; against people (64 - 97 + 92.5 - 98) / 2; LLaVA has one column, so no mean.
    assert list(printed.loc["GPT-4V"].iloc[2:]) == ["64.0", "92.5", "78.3", "78.25", DASH, "-19.25"]
    assert list(printed.loc["LLaVA"].iloc[2:]) == ["50.0", DASH, "50.0", DASH, DASH, "-47.00"]
    assert set(table["origin"]) == {"printed", "measured here"}
    assert "GPT-4V" not in (report.root / "results.csv").read_text()
    assert "GPT-4V" not in page(small_report).text


def test_chance_is_checked_for_all_tasks_together(loaded: Run) -> None:
    """Three tasks share an error of 1 %: what a 95 % interval just misses is no alarm, what is far from it is one."""
    rows = [row for row in lines_of(whole_tasks_of(loaded)) if row.arm == "fake:chance" and row.task != "sizing"]
    holds = _is_at_chance(loaded, rows)
    assert len(rows) == 3
    for row in rows:
        assert holds(row)
        assert holds(row._replace(chance=row.high + 0.02))
        assert not holds(row._replace(chance=row.high + 0.4))


def test_printed_numbers_stand_beside_scores_by_the_authors_rules(tmp_path: Path) -> None:
    """Their scorer may give other scores than `strict`; a run that was not scored by it is scored for the report."""
    items, task = write_items(tmp_path / "items", 4, tasks=("naming",)), SUITE.tasks["naming"]
    root = write_run(tmp_path / "run", items, subjects(items)[1:2], protocols=["strict"], tasks=("naming",))
    generous = replace(task.protocols["published"].metrics[0], score=lambda item, answer: 1.0, worst=1.0)
    protocols = {**task.protocols, "published": replace(task.protocols["published"], metrics=(generous,))}
    suite = replace(SUITE, tasks={"naming": replace(task, protocols=protocols)})
    report = write_report([root], tmp_path / "report", compare_published=True, suite_of=lambda name: suite)
    table = pd.read_csv(report.root / "tables" / "more" / "shapes-table-2-printed.csv", dtype=str)
    own = table[table["origin"] == "measured here"].iloc[0]
    assert own["shape"].startswith("100.0 [")
    assert own["mean"] == "100.00"
    assert "with other images" in page(report).text
    assert not (root / "scores.published.parquet").exists()
    run = load_run(root, lambda name: suite)
    for source, note in [("released", ""), ("released", "Not comparable with Table 5"), ("generated", "")]:
        card = run.items.card.model_copy(update={"source": source, "notes": [note]})
        is_same = source == "released" and not note
        assert has_paper_images(replace(run, items=replace(run.items, card=card))) is is_same


@pytest.mark.parametrize(
    ("suite", "table", "subject", "column", "expected"),
    [
        ("combo", "table-2", "Gemini-1.5-Pro", "primary colour", "99.5"),
        ("vfm-bench", "table-1", "GPT-o3", "0-shot", "0.30"),
        ("vfm-bench", "table-1", "GPT-o3", "5-shot", "0.61?"),
        ("vfm-bench", "table-4", "GPT-4o", "φ ndni", "-63 %"),
        ("vlm2-bench", "table-1", "LLaVA-OneVision-7B", "gc-mat", "16.60"),
        ("ava-bench", "table-5", "InternVL-2.5", "relative-depth", "97.00"),
        ("ava-bench", "table-5", "RADIOv2.1", "absolute-depth", "0.07645"),
        ("ava-bench", "table-5", "CLIP", "counting", "0.290"),
    ],
)
def test_printed_numbers_are_shown_as_printed(suite: str, table: str, subject: str, column: str, expected: str) -> None:
    (printed,) = [each for each in (SUITES.get(suite).published or list)() if each.name == table]
    heads = [each.head for each in printed.columns]
    assert printed.rows[subject][heads.index(column)] == expected


def test_oracle_and_guesser_are_described_as_checks(report: Report) -> None:
    assert "An observer that knows what is depicted solves every item: 3 of 3" in " ".join(page(report).text.split())


def test_an_oracle_must_solve_tasks_without_a_chance_too(loaded: Run) -> None:
    table = loaded.results.assign(chance=math.nan)
    at_fault = (table["subject"] == "fake:oracle") & (table["task"] == "naming")
    check, *others = checks(replace(loaded, results=table.assign(value=table["value"].mask(at_fault, 0.75))))
    assert check.text.endswith("solves every item")
    assert (check.passes, check.places) == (2, 3)
    assert [words.partition(" [")[0] for words in check.failed] == ["naming: 75 %"]
    assert "A guesser is at chance" not in [other.text for other in others], "there is no chance to compare it with"


def test_only_differences_clear_after_correction_are_called_clear(report: Report) -> None:
    """16 items cannot distinguish forty pairs of subjects; `test_comparisons.py` has a set that can."""
    pairs = pd.read_csv(report.root / "tables" / "more" / "shapes-contrasts.csv")
    ours = pairs[pairs["family"] == "subjects"]
    assert ((ours["low"] > 0) & (ours["p"] < 0.05)).any()
    assert (ours["p_holm"] >= 0.05).all()
    assert not ours["clear"].any()
    assert " is better than encoder" not in page(report).text
    assert set(pairs["metric"]) == {"accuracy", "mae_over_gt"}
    assert not pairs.duplicated(["task", "first", "second"]).any()


@pytest.mark.slow
def test_figures_drawn_in_another_process_are_the_same(
    naming_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    items = write_items(tmp_path / "items", 6, seed=1, tasks=("naming",))
    runs = [naming_root, write_run(tmp_path / "other", items, subjects(items)[:1], tasks=("naming",))]
    names_drawn = list[str]()
    save = figures.save

    def listed(figure: Any, folder: Path, name: str, *, formats: Sequence[str]) -> None:
        names_drawn.append(name)
        save(figure, folder, name, formats=formats)

    monkeypatch.setattr(figures, "save", listed)
    local = write_report(runs, tmp_path / "here", suite_of=suite_of)
    assert names_drawn
    names_drawn.clear()
    remote = write_report(runs, tmp_path / "there", suite_of=suite_of, workers=2)
    assert not names_drawn, "this process draws no figure"
    names = sorted(path.relative_to(local.root / "figures") for path in (local.root / "figures").rglob("*.*"))
    assert len(names) > 3
    for name in names:
        assert (remote.root / "figures" / name).read_bytes() == (local.root / "figures" / name).read_bytes()


@pytest.mark.usefixtures("without_figures")
def test_two_runs_of_one_set_share_a_table(naming_root: Path, tmp_path: Path) -> None:
    items = load_run(naming_root, suite_of).items
    again = [able("encoder:sharp", items, {"naming": 0.6}), able("encoder:new", items, {"naming": 0.9})]
    other = write_run(tmp_path / "other", items, again, tasks=("naming",))
    both = write_report([naming_root, other], tmp_path / "report", suite_of=suite_of)
    assert len(both.results) == len(load_run(naming_root, suite_of).results) + len(load_run(other, suite_of).results)
    assert "(run 2)" not in "".join(both.results["subject"])
    main = pd.read_csv(both.root / "tables" / "more" / "shapes-main.csv")["subject"].tolist()
    assert {"encoder:sharp", "encoder:sharp (run 2)", "encoder:new"} <= set(main)
    assert "encoder:new (run 2)" not in main


@pytest.mark.usefixtures("without_figures")
def test_two_sets_of_one_suite_stay_apart(naming_root: Path, tmp_path: Path) -> None:
    items = write_items(tmp_path / "items", 6, seed=1, tasks=("naming",))
    other = write_run(tmp_path / "other", items, subjects(items)[:2], tasks=("naming",))
    both = write_report([naming_root, other], tmp_path / "report", suite_of=suite_of)
    names = sorted(path.name for path in (both.root / "tables" / "more").glob("*-main.csv"))
    hashes = sorted(read_run_card(root).recipe_hash[:6] for root in (naming_root, other))
    assert names == [f"shapes-{shorthand}-main.csv" for shorthand in hashes]
    assert "has separate tables" in page(both).text
    assert len(print_table(both.results, suite_of=suite_of).subjects) == 4


@pytest.mark.usefixtures("without_figures")
def test_two_suites_have_a_section_each(naming_root: Path, tmp_path: Path) -> None:
    flat = make_suite(card={"name": "flat", "title": "Flat"}, axes=("images", "samples"))
    items = write_items(tmp_path / "items", 6, suite="flat", tasks=("naming",))
    other = write_run(tmp_path / "other", items, subjects(items)[:2], suite=flat, tasks=("naming",))
    both = write_report([naming_root, other], tmp_path / "report", suite_of={"shapes": SUITE, "flat": flat}.__getitem__)
    assert list(both.results.columns) == result_columns(SUITE)
    assert both.results.loc[both.results["suite"] == "flat", "sheet"].isna().all()
    assert {attrs.get("id") for tag, attrs in page(both).elements if tag == "section"} >= {"shapes", "flat"}


def test_two_versions_are_refused(small_root: Path, tmp_path: Path) -> None:
    newer = make_suite(version="2")
    items = write_items(tmp_path / "items", 4, version="2")
    other = write_run(tmp_path / "other", items, subjects(items)[:1], suite=newer)
    with pytest.raises(SnellenError, match=r"version 2 of shapes, but .* is version 1"):
        write_report([small_root, other], tmp_path / "report", suite_of=suite_of)
    assert not (tmp_path / "report").exists()


def test_conditions_have_separate_rows(tmp_path: Path) -> None:
    items = write_items(tmp_path / "items", 6)
    blind = parse_conditions(SUITE.axes, "images=none,sheet=4")
    root = write_run(tmp_path / "run", items, subjects(items)[:1], conditions=blind)
    report = write_report([root], tmp_path / "report", suite_of=suite_of)
    main = pd.read_csv(report.root / "tables" / "more" / "shapes-main.csv", keep_default_na=False).set_index("task")
    line = main["chat:openai/gpt-4o [images=none,sheet=4]"]
    assert line["naming"] != ""
    assert line["finding"] == ""  # this task has no axis `sheet`
    assert set(report.results["sheet"]) == {"none", 4}
    assert set(pd.read_parquet(report.root / "results.parquet")["sheet"]) == {"none", "4"}


def test_sets_of_one_declaration_and_other_rows_are_not_one_set(small_root: Path) -> None:
    """Of a set in instalments the card of a run has the digest of the declaration alone."""
    run = load_run(small_root, suite_of)

    def with_instalments(*hashes: tuple[str, str]) -> Run:
        parts = tuple(Instalment(items=1, content_hash="", rows_hash=a, test_hash=b) for a, b in hashes)
        return replace(run, items=replace(run.items, card=run.items.card.model_copy(update={"instalments": parts})))

    first, grown = with_instalments(("a", "")), with_instalments(("a", ""), ("b", ""))
    assert len(gather([first, grown])) == 1
    assert with_instalments(("a", "t")).has_items_of(with_instalments(("without training items", "t")))
    for other in (with_instalments(("c", "")), with_instalments(("a", ""), ("c", ""))):
        for others in ([grown], [first, grown]):
            with pytest.raises(SnellenError, match="with different items"):
                gather([*others, other])


def test_runs_about_copies_of_a_set_at_different_growth_are_joined_with_all_items(small_root: Path) -> None:
    whole = load_run(small_root, suite_of)
    part = replace(whole, items=replace(whole.items, items=whole.items.items[:1]))
    assert [gather(list(runs))[0].joined.items for runs in permutations([part, whole])] == [whole.items] * 2


def test_sections_of_a_suite_are_shown(small_root: Path, tmp_path: Path) -> None:
    from matplotlib.figure import Figure

    items = load_run(small_root, suite_of).items
    root = write_run(tmp_path / "run", items, subjects(items)[:1], tasks=("finding",), protocols=("strict",))
    figures: list[Figure] = []

    def drawn_when_wanted() -> Figure:
        figures.append(Figure(figsize=(1, 1)))
        return figures[-1]

    def sections(run: Any) -> Iterable[ReportSection]:
        assert run.roots == (root,)
        table = pd.DataFrame({"who": ["a <b>", "c & d|e_f"], "x": [0.123456, float("nan")]})
        figure = Figure(figsize=(2, 2))
        figure.subplots().plot([0, 1], [1, 0])
        yield ReportSection("Table and figure", "A note.", table, figure, "both")
        yield ReportSection("Words alone", "Nothing else.", None, None, "words")
        yield ReportSection("Detail", "", table, drawn_when_wanted, "detail", detail=True)

    suite = replace(SUITE, sections=sections)
    report = write_report([root], tmp_path / "report", suite_of=lambda name: suite)
    text = page(report).text
    assert "Table and figure" in text
    assert "Nothing else." in text
    assert "a <b>" in text
    assert (report.root / "tables" / "more" / "shapes-detail.csv").is_file()
    assert figures == []
    full = write_report([root], tmp_path / "full", full=True, suite_of=lambda name: suite)
    assert (full.root / "figures" / "more" / "shapes-detail.svg").is_file()
    assert [path.name for path in (report.root / "figures").rglob("*.png")] == ["matrix.png"]
    with Image.open(full.root / "figures" / "more" / "shapes-overview.png") as overview:
        assert overview.width > 500
        assert len(set(overview.convert("L").getextrema())) == 2, "the figure has content"
    assert 'href="figures/more/shapes-both.png"' in full.pages[1].read_text("utf-8")
    assert 'href="figures/more/shapes-both.png"' not in report.pages[1].read_text("utf-8")
    assert (
        (report.root / "tables" / "more" / "shapes-both.md")
        .read_text()
        .endswith("| a &lt;b> | 0.1235 |\n| c & d\\|e_f |  |\n")
    )
    assert r"c \& d|e\_f &  \\" in (report.root / "tables" / "more" / "shapes-both.tex").read_text()


@pytest.mark.usefixtures("without_figures")
def test_inputs_go_to_the_suites_that_take_them(naming_root: Path, tmp_path: Path) -> None:
    def sections(run: Any) -> Iterable[ReportSection]:
        yield ReportSection("Given", f"To {run.suite.name}: {sorted(run.inputs)}.", None, None, "given")

    flat = replace(make_suite(card={"name": "flat", "title": "Flat"}), sections=sections)
    suites = {"shapes": replace(SUITE, sections=sections, report_inputs=("tags", "checks")), "flat": flat}
    items = write_items(tmp_path / "items", 6, suite="flat", tasks=("naming",))
    other = write_run(tmp_path / "other", items, subjects(items)[:1], suite=flat, tasks=("naming",))
    inputs = {"tags": tmp_path / "here"}
    report = write_report([naming_root, other], tmp_path / "report", inputs=inputs, suite_of=suites.__getitem__)
    assert "To shapes: ['tags']." in page(report).text
    assert "To flat: []." in page(report).text
    with pytest.raises(SnellenError, match=r"--input tag: a report on shapes does not take it; did you mean 'tags'"):
        write_report([naming_root], tmp_path / "none", inputs={"tag": tmp_path}, suite_of=suites.__getitem__)
    with pytest.raises(SnellenError, match="a report on shapes does not take it; leave it out"):
        write_report([naming_root], tmp_path / "none", inputs=inputs, suite_of=suite_of)
    assert not (tmp_path / "none").exists()


@pytest.mark.slow
@pytest.mark.usefixtures("without_figures")
def test_full_shows_more(small_root: Path, small_report: Report, tmp_path: Path) -> None:
    full = write_report([small_root], tmp_path / "full", full=True, suite_of=suite_of)
    assert (full.root / "figures" / "more" / "shapes-naming-requires.svg").is_file()
    cards = [sum(attrs.get("class") == "card" for _, attrs in page(each).elements) for each in (small_report, full)]
    assert cards[0] < cards[1]


@pytest.mark.usefixtures("without_figures")
def test_unscored_unfinished_and_moved_runs_are_reported(small_root: Path, tmp_path: Path) -> None:
    for missing, message in (("scores.*", "snellen score"), ("responses.parquet", "was interrupted")):
        copy = tmp_path / missing.strip("*.")
        shutil.copytree(small_root, copy)
        for path in copy.glob(missing):
            path.unlink()
        with pytest.raises(SnellenError, match=message):
            load_run(copy, suite_of)
    moved = tmp_path / "moved"
    shutil.copytree(small_root, moved)
    card = read_run_card(small_root)
    (moved / "run.json").write_text(card.model_copy(update={"itemset": str(tmp_path / "gone")}).model_dump_json())
    with pytest.raises(SnellenError, match="is gone; put it back"):
        load_run(moved, suite_of)
    other = write_items(tmp_path / "items", 4, seed=3)
    (moved / "run.json").write_text(card.model_copy(update={"itemset": str(other.root)}).model_dump_json())
    with pytest.raises(SnellenError, match="not the item set"):
        load_run(moved, suite_of)
    with pytest.raises(SnellenError, match="at least one run"):
        write_report([], tmp_path / "none")


def test_the_same_run_gives_the_same_report(small_root: Path, small_report: Report, tmp_path: Path) -> None:
    first, again = small_report, write_report([small_root], tmp_path / "again", suite_of=suite_of)
    names = sorted(path.relative_to(first.root) for path in first.root.rglob("*.*") if path.is_file())
    assert len(names) > 20
    for name in names:
        assert (first.root / name).read_bytes() == (again.root / name).read_bytes(), name


def test_the_printed_table_fits_a_terminal(report: Report) -> None:
    from rich.console import Console

    console = Console(width=120, record=True, file=io.StringIO())
    console.print(print_table(report.results, suite_of=suite_of))
    lines = console.export_text().splitlines()
    assert max(map(len, lines)) <= 120
    assert any(re.search(r"fake:oracle\s+100 % \[\d+, 100\]\s+100 %", line) for line in lines)
    assert any("chance 25 %" in line for line in lines)
    assert any("chance 0.55" in line for line in lines), "sizing is not a share"
    assert sum("declined" in line for line in lines) == 3


def test_levels_are_in_the_order_of_the_items(report: Report) -> None:
    table = pd.read_csv(report.root / "tables" / "more" / "shapes-building-difficulty.csv")
    assert list(table.columns) == ["subject", "easy", "hard"]
    table = pd.read_csv(report.root / "tables" / "more" / "shapes-naming-question.csv")
    assert list(table.columns) == ["subject", "shape", "colour"]


@pytest.mark.usefixtures("without_figures")
def test_pairs_are_compared_as_pairs(tmp_path: Path) -> None:
    naming = SUITE.tasks["naming"]
    pairwise = replace(naming, protocols={"strict": strict(units=all_right)})
    suite = replace(SUITE, tasks={**SUITE.tasks, "naming": pairwise})
    items = write_items(tmp_path / "items", 16, group=True, tasks=("naming",))
    root = write_run(
        tmp_path / "run", items, subjects(items)[4:7], suite=suite, tasks=("naming",), protocols=("strict",)
    )
    report = write_report([root], tmp_path / "report", suite_of=lambda name: suite)
    values = report.results[report.results["factor"] == ""].set_index("subject")["value"]
    pairs = pd.read_csv(report.root / "tables" / "more" / "shapes-contrasts.csv")
    pair = pairs[(pairs["first"] == "fake:oracle") & (pairs["second"] == "fake:chance")]
    assert list(pair["n"]) == [8]
    assert pair["difference"].item() == pytest.approx(values["fake:oracle"] - values["fake:chance"])


@pytest.mark.slow
@pytest.mark.usefixtures("without_figures")
def test_only_the_first_of_many_arms_are_compared(tmp_path: Path) -> None:
    items = write_items(tmp_path / "items", 4, tasks=("naming",))
    crowd = [able(f"chat:crowd/m{number:02d}", items, {"naming": 0.5}) for number in range(26)]
    root = write_run(tmp_path / "run", items, crowd, tasks=("naming",), protocols=("strict",))
    report = write_report([root], tmp_path / "report", suite_of=suite_of)
    pairs = pd.read_csv(report.root / "tables" / "more" / "shapes-contrasts.csv")
    assert len(pairs) == 24 * 23 // 2
    text = " ".join(page(report).text.split())
    assert "only the first 24 were compared" in text
    # Four items have two to four clusters.
    assert "0 of 276 pairs clear" in text
    assert "276 pairs have too few clusters to detect any difference." in text


@pytest.mark.usefixtures("without_figures")
def test_replies_that_cannot_be_read_come_first(tmp_path: Path) -> None:
    items = write_items(tmp_path / "items", 20, tasks=("naming",))
    naming = [item for item in items.items if item.task == "naming"]

    def scripted(name: str, unread: int) -> Scripted:
        lines = {
            item.item_id: f"hm {n}" if n < unread else item.view().reply.write(item.answer)
            for n, item in enumerate(naming)
        }
        return Scripted(SubjectCard(f"chat:own/{name}", reads="views"), lines)

    scripts = [scripted("clear", 0), scripted("vague", 4), scripted("nearly", 1)]
    root = write_run(tmp_path / "run", items, scripts, tasks=("naming",), protocols=("strict",))
    report = write_report([root], tmp_path / "report", suite_of=suite_of)
    text = " ".join(page(report).text.split())
    # 4, 1 and 0 of 20 replies: 5 % is not more than a twentieth.
    sentence = (
        "20 % of the replies of chat:own/vague cannot be read and count as wrong; fix this before you compare scores. "
        "Such replies: “hm 0”, “hm 1”, “hm 2”."
    )
    assert text.index(sentence) < text.index("How sure?")
    assert sentence in " ".join((report.root / "shapes.html").read_text("utf-8").split())
    assert "replies of chat:own/nearly" not in text
    table = pd.read_csv(report.root / "tables" / "more" / "shapes-main.csv").set_index("subject")["naming"]
    assert table["chat:own/vague"].endswith("; no answer 20 %; of what was read 100 %)")
    assert "read" not in table["chat:own/clear"]


def test_a_report_without_any_answer_is_written(tmp_path: Path) -> None:
    items = write_items(tmp_path / "items", 4, tasks=("naming",))
    refusers = [able("encoder:mute", items, {}, refuses=task) for task in ("naming",)]
    root = write_run(tmp_path / "run", items, refusers, tasks=("naming",))
    report = write_report([root], tmp_path / "report", suite_of=suite_of)
    assert report.results["value"].isna().all()
    assert "declined" in page(report).text
    nothing = write_run(tmp_path / "nothing", items, refusers, conditions=(), tasks=())
    with pytest.raises(SnellenError, match="no item was asked"):
        write_report([nothing], tmp_path / "none", suite_of=suite_of)


def test_run_details_list_the_cost_of_arms_with_prices(loaded: Run) -> None:
    """A call reads 120 tokens at 2.5 and writes 9 at 10 per million: 0.00039."""
    (details,) = conduct(Exam((loaded,), loaded))
    costs = {arm.arm: arm.cost for arm in details.arms if arm.cost}
    calls = {arm.arm: arm.calls for arm in details.arms if arm.arm.startswith("chat:openai/gpt-4o")}
    assert costs == {name: f"{count * 0.00039:.4f}" for name, count in calls.items()}
    assert dict(details.facts)["cost of all calls"] == f"chat:openai/gpt-4o {sum(calls.values()) * 0.00039:.4f}"


def test_run_details_count_the_form_of_every_reply(loaded: Run) -> None:
    """Two metrics of a reply count once, two replies to an item twice."""
    rows = [("one", 0, "pixels"), ("one", 0, "pixels"), ("one", 1, "pixels"), ("two", 0, "as asked")]
    scores = pd.DataFrame(rows, columns=["item_id", "repeat", "form"])
    (arm, *_) = loaded.card.arms
    scores = scores.assign(subject=arm.subject, condition=arm.condition, task="naming")
    run = replace(loaded, scores={"strict": scores})
    assert _forms(run, arm) == "naming: pixels 2, naming: as asked 1"
