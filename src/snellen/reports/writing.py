"""Writes a report: a folder with a front page, one page per suite, tables and figures."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any, TypeAlias

import pandas as pd

from snellen.analysis.comparison.groups import group_contrasts, groupings
from snellen.analysis.grading.coverage import Gap, gaps, partial_note, stopping_note
from snellen.analysis.grading.rows import rows_of
from snellen.analysis.tables.rank_table import rank_table
from snellen.analysis.tables.run_view import main_arms
from snellen.analysis.tables.section import ReportSection, Run, protocol_of
from snellen.analysis.tables.unread import unread_sentences
from snellen.compute import Shard, background
from snellen.core.errors import SnellenError
from snellen.core.grouping import lists_by_key
from snellen.core.registry import Registry
from snellen.core.storage import files
from snellen.datasets.own_images import CLAIM
from snellen.reports import figures
from snellen.reports.citation import FILE as CITATION
from snellen.reports.citation import citation
from snellen.reports.comparisons import MAX_ARMS, compared, families, group_cells, paired, rank_cells
from snellen.reports.conduct import conduct, set_facts
from snellen.reports.examples import Thumbs, examples, task_images
from snellen.reports.export import add_note, read_results, with_unasked, write_frame, write_results
from snellen.reports.findings import checks
from snellen.reports.front_page import ExamPart, Front, front
from snellen.reports.grid import factor_grids, main_grid
from snellen.reports.growing import GrowingReport
from snellen.reports.leaderboard import leaderboards
from snellen.reports.loading import Exam, SuiteOf, gather, only, registered, under, with_inputs, with_protocol
from snellen.reports.matrix import MATRIX, draw_matrix, matrix
from snellen.reports.page import render_front, render_suite
from snellen.reports.paper import PAPER, paper_table
from snellen.reports.people import people_section, reported_results, with_studies
from snellen.reports.rows import whole_tasks_of
from snellen.reports.stamp import begin, is_current, report_stamp, write_stamp
from snellen.reports.words import slug

MORE = "more"
"""Folder of the tables and figures of suites, below `tables` and `figures`."""
FRONT = "front"
"""File name of the grades of all subjects."""
RANKS = "ranks"
"""File name of the ranks, and name of a suite's own section that replaces them."""


Companion: TypeAlias = Callable[[Sequence[Exam], Path], None]
"""Function that writes additional files about the exams of a report into its folder."""
PUBLISHED = "published"
"""The protocol of the papers' own scorers."""
EXPLORER = "explore.html"
EXPLORERS: Registry[Callable[[], tuple[Companion | None, str]]] = Registry("explorer", {}, group="snellen.explorers")
"""Functions of a higher layer that return a companion, or None with the reason."""


@dataclass(frozen=True)
class Report:
    """A finished report: its folder, its front page, its numbers."""

    root: Path
    page: Path
    results: pd.DataFrame

    @property
    def pages(self) -> tuple[Path, ...]:
        """The front page, then those of suites by name, without the explorer."""
        others = {self.page, self.root / EXPLORER}
        return (self.page, *sorted(path for path in self.root.glob("*.html") if path not in others))

    def grades(self) -> pd.DataFrame:
        """The grades: one row per subject and task (`front_page.COLUMNS`)."""
        table = pd.read_csv(self.root / "tables" / f"{FRONT}.csv")
        return table.fillna(dict.fromkeys(("grade", "state", "reason", "floor_name", "decided_by", "note"), ""))

    def __repr__(self) -> str:
        return f"<Report {self.page}: {len(self.results)} rows of results>"


@dataclass(frozen=True)
class _Drawing:
    """A figure and its files: `name.FORMAT` in each format."""

    figure: Any
    folder: Path
    name: str
    formats: tuple[str, ...]


@dataclass(frozen=True)
class _Output:
    """The output of a report: its folder, whether in full, and the function that draws its figures."""

    root: Path
    full: bool
    draw: Callable[[Shard[_Drawing]], None]

    def page_figure(self, title: str, figure: Any, name: str) -> PageFigure:
        formats = ("svg", "png") if self.full else ("svg",)
        self.draw(Shard(f"figure {name}", _Drawing(figure, self.root / "figures" / MORE, name, formats)))
        return PageFigure(title, name, self.full)

    def matrix_figure(self, front_page: Front) -> None:
        """Draw the matrix for the page and for a paper."""
        with figures.style():
            for name, formats in ((MATRIX, ("svg", "png")), (PAPER, ("pdf",))):
                drawing = _Drawing(draw_matrix(matrix(front_page)), self.root / "figures", name, formats)
                self.draw(Shard(f"figure {name}", drawing))


@dataclass(frozen=True)
class PageFigure:
    """A figure on the page: the name of its files, and whether there is a PNG."""

    title: str
    name: str
    png: bool


def publish_report(
    runs: Sequence[Path],
    out: str | Path,
    *,
    compare_published: bool = False,
    full: bool = False,
    inputs: Mapping[str, Path] | None = None,
    workers: int = 1,
    protocol: str = "",
) -> Report:
    """`write_report` with the explorer, to a folder; if its parts are missing, a line on stderr states so."""
    explorer, reason = EXPLORERS.get("explorer")()
    if reason:
        sys.stderr.write(f"snellen: {reason}\n")
    return write_report(
        runs, Path(out), compare_published=compare_published, full=full, inputs=inputs, explorer=explorer,
        workers=workers, protocol=protocol,
    )  # fmt: skip


def write_report(
    runs: Sequence[Path],
    out: Path,
    *,
    compare_published: bool = False,
    full: bool = False,
    inputs: Mapping[str, Path] | None = None,
    suite_of: SuiteOf = registered,
    explorer: Companion | None = None,
    workers: int = 1,
    growing: GrowingReport | None = None,
    protocol: str = "",
) -> Report:
    """Report on finished, scored runs in the folder `out`.

    Runs on one item set share their tables; each further item set or suite has its own page.

    Args:
        runs: Folders of runs.
        out: Folder of the report. A report of the same runs with the same options and code is kept unchanged.
        compare_published: Whether to show the paper's printed tables with own rows, scored by `published`.
        full: Whether to show more examples and to draw every factor.
        inputs: Runs and files by name, for sections of a suite.
        suite_of: Function from the name of a suite to the suite.
        explorer: Function that writes `explore.html` (`web.explorer.explorer_writer`), which the page links to.
        workers: Number of processes that compute results and draw figures, to the same bytes.
        growing: What an earlier call for this folder keeps for the next one, without `compare_published` and inputs.
        protocol: Protocol whose scores all other tables show; empty for `strict`.

    Raises:
        SnellenError: For several versions of a suite, inputs that no suite takes, tasks without the protocol, bad runs.

    """
    page, stamp, growing = out / "index.html", "", growing or GrowingReport()
    options = {"published": compare_published, "full": full, "explorer": explorer is not None, "protocol": protocol}
    # Code of other suites is outside this package, so changes would be missed.
    if runs and suite_of is registered and not growing.waiting:
        stamp = report_stamp(runs, options, inputs or {})
    if stamp and is_current(out, stamp):
        return Report(out, page, read_results(out))
    loaded = _scored(with_inputs(growing.load(runs, suite_of, workers), inputs or {}), protocol, compare_published)
    exams = gather(loaded)
    studies = [with_studies(exam) for exam in exams]  # people as studies
    begin(out)
    _write_explorer(explorer, exams, out)
    rows = with_unasked(reported_results(loaded, exams, studies), _shortfalls(exams))
    write_results(out, rows)
    # One suite has so few figures that they are drawn before another process has finished its imports.
    with background(_draw, workers if full or len(exams) > 1 else 1) as draw:
        output = _Output(out, full, draw)
        sections = [
            growing.content(name, exam.joined, partial(_section, exam, study_exam, name, output, compare_published))
            for exam, (name, study_exam) in zip(exams, _names(studies), strict=True)
        ]
        front_page = front([_front_part(exam, content) for exam, content in zip(studies, sections, strict=True)])
        output.matrix_figure(front_page)
    _write_suites(out, front_page, sections, explorer is not None)
    _write_front(page, front_page, exams, explorer is not None, growing.waiting)
    write_stamp(out, stamp)
    return Report(out, page, rows)


def _scored(runs: Sequence[Run], protocol: str, compare_published: bool) -> Sequence[Run]:
    runs = [with_protocol(run, PUBLISHED) for run in runs] if compare_published else runs
    return [under(run, protocol, PUBLISHED) for run in runs] if protocol else runs


def _shortfalls(exams: Sequence[Exam]) -> dict[str, list[Gap]]:
    """The incomplete tasks by suite."""
    return lists_by_key((exam.joined.card.suite, gap) for exam in exams for gap in _gaps(exam))


def _write_explorer(explorer: Companion | None, exams: Sequence[Exam], out: Path) -> None:
    (out / EXPLORER).unlink(missing_ok=True)
    if explorer:
        explorer(exams, out)


def _write_suites(out: Path, front_page: Front, sections: Sequence[dict[str, Any]], has_explorer: bool) -> None:
    """Write the pages of suites."""
    pages = [(f"{content['id']}.html", content["title"]) for content in sections]
    for (name, title), content in zip(pages, sections, strict=True):
        page_content = content | {"matrix": matrix(front_page, title=title)}
        files.write_text(out / name, render_suite(page_content, pages, has_explorer))


def _write_front(
    page: Path, front_page: Front, exams: Sequence[Exam], has_explorer: bool, waiting: Sequence[str]
) -> None:
    """Write the front page, its tables, and what to cite."""
    out = page.parent
    files.write_csv(out / "tables" / f"{FRONT}.csv", front_page.table())
    files.write_csv(out / "tables" / f"{MATRIX}.csv", matrix(front_page).frame())
    files.write_text(out / "tables" / f"{PAPER}.tex", paper_table(front_page))
    cited = citation(exams)
    files.write_text(out / CITATION, cited.bibtex)
    files.write_text(page, render_front(front_page, cited, has_explorer, waiting))


def _front_part(exam: Exam, content: Mapping[str, Any]) -> ExamPart:
    page, checked = f"{content['id']}.html", content["checks"]
    return ExamPart(exam.joined, content["title"], page, _gaps(exam), checked, content["images"], content["unread"])


def _names(exams: Sequence[Exam]) -> Iterator[tuple[str, Exam]]:
    """Each exam with the prefix of its file names."""
    suites = [exam.joined.card.suite for exam in exams]
    for suite, exam in zip(suites, exams, strict=True):
        several = suites.count(suite) > 1
        yield slug(suite) + (f"-{exam.joined.card.recipe_hash[:6]}" if several else ""), exam


def _section(people_exam: Exam, exam: Exam, name: str, output: _Output, compare_published: bool) -> dict[str, Any]:
    """The page content of an exam; `people_exam` is the same exam with people as separate subjects."""
    run, tables, pairs, full = exam.joined, output.root / "tables" / MORE, paired(exam.joined), output.full
    if run.results.empty:
        raise SnellenError(f"{run.root}: no item was asked; choose a condition that the run's tasks support")
    grid, factors = main_grid(run), factor_grids(run)
    file_names = _factor_files(name, [(task, factor) for task, factor, _ in factors])
    write_frame(tables, f"{name}-main", grid.frame())
    for task, factor, table in factors:
        write_frame(tables, file_names[task, factor], table.frame())
    printed = leaderboards(only(run, PUBLISHED)) if compare_published and PUBLISHED in run.scores else ()
    thumbs = Thumbs(run, output.root)
    notes = partial_note(_gaps(exam)), stopping_note(rows_of(whole_tasks_of(run)), run.card.arms)
    note = " ".join(filter(None, notes))
    sections = list(run.suite.sections(run)) if run.suite.sections else []
    page_figures = list(_figures(exam, name, output, file_names))
    content = {
        "id": name,
        "title": run.suite.card.title if name == slug(run.suite.name) else f"{run.suite.card.title}, set {name[-6:]}",
        "run": run,
        "partial": note,
        "suite": run.suite.card,
        "grid": grid,
        "unread": unread_sentences(run.roots, run.scores[protocol_of(run)], run.responses),
        "checks": checks(run),
        "overview": page_figures[0],
        "names": {task: about.name for task, about in run.suite.card.tasks.items()},
        "factors": [
            (task, [(factor, table, _find(page_figures, file_names[task, factor])) for _, factor, table in of_task])
            for task, of_task in groupby(factors, lambda grid: grid[0])
        ],
        "people": people_section(people_exam.joined, run, pairs, tables, name),
        **_comparisons(run, pairs, tables, name, own_ranks=any(section.name == RANKS for section in sections)),
        "left_out": MAX_ARMS if len(grid.lines) > MAX_ARMS else 0,
        "sections": [_section_file(section, name, output) for section in sections],
        "published": [_section_file(section, name, output) for section in printed],
        "asked_published": compare_published,
        "images": task_images(run, thumbs),
        "examples": examples(run, thumbs, 6 if full else 2, 60 if full else 8),
        "claim": CLAIM if CLAIM in run.items.card.notes else "",
        "set_facts": set_facts(run.items),
        "conducts": conduct(exam),
        "citation": citation([exam]),
    }
    if note:
        add_note(tables, name, note)
    return content


def _gaps(exam: Exam) -> list[Gap]:
    return gaps(exam.joined.card.arms, exam.joined.responses)


def _comparisons(run: Run, pairs: pd.DataFrame, tables: Path, name: str, own_ranks: bool) -> dict[str, Any]:
    """Pairs, ranks and groups; no ranks if the suite shows its own."""
    groups = group_contrasts(run)
    ranks = None if own_ranks else rank_table(run)
    write_frame(tables, f"{name}-contrasts", pairs)
    if ranks is not None and len(ranks):
        write_frame(tables, f"{name}-{RANKS}", ranks)
    if len(groups):
        write_frame(tables, f"{name}-groups", groups)
    return {
        "compared": list(compared(run, pairs)),
        "families": families(pairs),
        "ranks": None if ranks is None or ranks.empty else rank_cells(ranks).rename(columns=run.suite.card.task_title),
        "groups": group_cells(run, groups) if len(groups) else None,
        "groupings": groupings(main_arms(run)),
    }


def _factor_files(name: str, factors: Sequence[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """The file name of each task and factor; equal ones are numbered after two hyphens, which no slug contains."""
    plain = [f"{name}-{slug(task)}-{slug(factor)}" for task, factor in factors]
    numbers = [plain[:place].count(file) + 1 for place, file in enumerate(plain)]
    named = [file if number == 1 else f"{file}--{number}" for file, number in zip(plain, numbers, strict=True)]
    return dict(zip(factors, named, strict=True))


def _figures(exam: Exam, name: str, output: _Output, files_of: Mapping[tuple[str, str], str]) -> Iterator[PageFigure]:
    """The overview, then one figure per factor; `requires` is in the tables, and drawn only in a full report."""
    with figures.style():
        yield output.page_figure("", figures.overview(exam.joined), f"{name}-overview")
        for (task, factor), file in files_of.items():
            if output.full or factor != "requires":
                figure = figures.by_factor(exam.joined, task, factor)
                yield output.page_figure(f"{task}/{factor}", figure, file)


def _draw(drawing: _Drawing) -> None:
    with figures.style():
        figures.save(drawing.figure, drawing.folder, drawing.name, formats=drawing.formats)


def _find(page_figures: Sequence[PageFigure], file: str) -> PageFigure | None:
    return next((figure for figure in page_figures if figure.name == file), None)


def _section_file(section: ReportSection, name: str, output: _Output) -> dict[str, Any]:
    file = f"{name}-{slug(section.name)}"
    if section.table is not None:
        write_frame(output.root / "tables" / MORE, file, section.table)
    page_figure = None
    if section.figure is not None and (output.full or not section.detail):
        with figures.style():
            figure = section.figure() if callable(section.figure) else section.figure
            page_figure = output.page_figure(section.title, figure, file)
    return {"section": section, "drawn": page_figure, "file": file}
