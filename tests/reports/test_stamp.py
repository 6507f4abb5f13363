"""A report is rewritten if one of its inputs changed, and only then."""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from rich.console import Console

import snellen
from snellen.analysis.grading.results import with_python_strings
from snellen.core.errors import SnellenError
from snellen.core.storage import trees
from snellen.reports import Report, print_table, stamp, write_report
from snellen.reports.writing import EXPLORER
from tests.reports.exam import subjects, suite_of, write_items, write_run


@pytest.fixture
def writings(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The folders of written reports, with the suite of these runs registered."""
    folders: list[Path] = []

    def note(out: Path) -> None:
        folders.append(out)
        begin(out)

    begin = stamp.begin
    monkeypatch.setattr("snellen.reports.writing.registered", suite_of)
    monkeypatch.setattr("snellen.reports.writing.begin", note)
    return folders


@pytest.fixture(scope="module")
def naming_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A scored run over a few items of one task, because many reports are made on it."""
    root = tmp_path_factory.mktemp("naming")
    items = write_items(root / "items", 4, tasks=("naming",))
    return write_run(root / "run", items, subjects(items)[1:2], tasks=("naming",), protocols=("strict",))


@pytest.fixture
def run_copy(naming_root: Path, tmp_path: Path) -> Path:
    """A copy of the run next to its item set."""
    shutil.copytree(naming_root, tmp_path / "run")
    return tmp_path / "run"


def write(run: Path, **options: Any) -> Report:
    return write_report([run], run.parent / "report", suite_of=suite_of, **options)


def terminal_text(report: Report) -> str:
    console = Console(width=100, file=io.StringIO(), record=True)
    console.print(print_table(report.results, suite_of=suite_of))
    return console.export_text()


@pytest.mark.usefixtures("without_figures")
def test_an_unchanged_report_is_read_not_written(run_copy: Path, writings: list[Path]) -> None:
    first, again = write(run_copy), write(run_copy)
    assert len(writings) == 1
    assert again.page == first.page
    pd.testing.assert_frame_equal(again.results, with_python_strings(first.results))
    assert terminal_text(again) == terminal_text(first)
    assert set(json.loads((first.root / stamp.STAMP).read_text())["files"]) == {
        str(path.relative_to(first.root)) for path in first.root.rglob("*") if path.is_file()
    } - {stamp.STAMP}


def alter_scores(run: Path) -> None:
    table = pd.read_parquet(run / "scores.strict.parquet")
    table.iloc[::-1].to_parquet(run / "scores.strict.parquet")


def alter_page(run: Path) -> None:
    (run.parent / "report" / "index.html").write_text("<html/>")


def lose_table(run: Path) -> None:
    next((run.parent / "report" / "tables").glob("*.csv")).unlink()


def damage_stamp(run: Path) -> None:
    (run.parent / "report" / stamp.STAMP).write_text("{")


@pytest.mark.usefixtures("without_figures")
@pytest.mark.parametrize("change", [alter_scores, alter_page, lose_table, damage_stamp])
def test_a_change_is_detected(change: Callable[[Path], None], run_copy: Path, writings: list[Path]) -> None:
    page = write(run_copy).page.read_text("utf-8")
    change(run_copy)
    assert write(run_copy).page.read_text("utf-8").startswith(page[:200])
    assert len(writings) == 2
    write(run_copy)
    assert len(writings) == 2


@pytest.mark.usefixtures("without_figures")
def test_options_and_code_count(run_copy: Path, writings: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    write(run_copy)
    write(run_copy, full=True)
    write(run_copy, full=True, compare_published=True)
    assert len(writings) == 3
    for _ in range(2):
        report = write(
            run_copy, full=True, compare_published=True, explorer=lambda exams, out: (out / EXPLORER).touch()
        )
        assert (len(writings), (report.root / EXPLORER).exists()) == (4, True)
    write(run_copy, full=True, compare_published=True, protocol="strict")
    assert (len(writings), (report.root / EXPLORER).exists()) == (5, False)
    monkeypatch.setattr(stamp, "code_digest", lambda: "of tomorrow")
    write(run_copy, full=True, compare_published=True, protocol="strict")
    assert len(writings) == 6


@pytest.mark.usefixtures("without_figures")
def test_a_report_cut_off_is_not_taken_for_complete(
    run_copy: Path, writings: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    write(run_copy)
    with monkeypatch.context() as patched:
        patched.setattr("snellen.reports.writing.render_front", lambda *content: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            write(run_copy, full=True)
    write(run_copy)
    assert len(writings) == 3


@pytest.mark.usefixtures("without_figures")
def test_a_report_on_a_foreign_suite_is_always_written(run_copy: Path, tmp_path: Path) -> None:
    """Its code is not in this package, so that changes would go unnoticed."""
    write_report([run_copy], tmp_path / "report", suite_of=suite_of)
    assert not (tmp_path / "report" / stamp.STAMP).exists()
    with pytest.raises(SnellenError, match="no run"):
        stamp.report_stamp([tmp_path], {}, {})


def test_the_code_is_that_of_the_whole_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """Templates, metrics and suites too, not only the package in which the digest is taken."""
    roots: list[Path] = []

    def digest_of(root: Path) -> str:
        roots.append(root)
        return "digest"

    monkeypatch.setattr(trees, "tree_digest", digest_of)
    trees.code_digest.__wrapped__()
    assert roots == [Path(snellen.__file__).parent]


@pytest.mark.parametrize("what", ["notes", "run", "items"])
def test_a_report_overwrites_nothing_but_a_report(what: str, run_copy: Path, tmp_path: Path) -> None:
    out = {"notes": tmp_path / "notes", "run": run_copy, "items": run_copy.parent / "items"}[what]
    if what != "run":
        out.mkdir()
    (out / {"items": "itemset.json"}.get(what, "index.html")).write_text("mine")
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    with pytest.raises(SnellenError, match="holds other files than a report"):
        write_report([run_copy], out, suite_of=suite_of)
    assert before == {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}


def test_an_interrupted_report_is_written_again(run_copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("snellen.reports.writing.write_results", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            write(run_copy, explorer=lambda exams, out: (out / "explore.html").write_text("x"))
    assert write(run_copy).page.is_file()


def test_nothing_is_written_through_links_in_a_report(tmp_path: Path) -> None:
    out, elsewhere = tmp_path / "report", tmp_path / "elsewhere"
    out.mkdir()
    elsewhere.mkdir()
    (out / stamp.STAMP).write_text("{}")
    (out / "tables").symlink_to(elsewhere)
    with pytest.raises(SnellenError, match="a link, but what is written in report stays there"):
        stamp.begin(out)
