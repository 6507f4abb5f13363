"""The report's sections of thresholds, on planted observers, with what they say in words."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgb

from snellen.analysis.comparison.changes import changes
from snellen.analysis.tables.run_view import lines_of, result_rows
from snellen.analysis.tables.section import ReportSection, Run
from snellen.reports import write_report
from snellen.reports.changes_page import render_changes
from snellen.reports.examples import marks
from snellen.reports.front_page import ExamPart, front
from snellen.reports.grid import main_grid
from snellen.reports.loading import load_run
from snellen.runs.scores.score import score, write_scores
from snellen.suites.thresholds import SUITE
from snellen.suites.thresholds.measures import MEASURES
from snellen.suites.thresholds.published import pixels
from snellen.suites.thresholds.report.sections import sections
from snellen.suites.thresholds.report.stimuli import stimulus_at
from tests.goldens.golden import assert_golden
from tests.goldens.sections import sections_text
from tests.helpers.sections import by_name
from tests.suites.thresholds.banks import asked_of, bank, observer

PLANTED = {
    "py:sharp": {"acuity": 2.0, "contrast": 4.0, "number": 30.0},
    "py:dull": {"acuity": 9.0, "contrast": 500.0, "number": 1e9},
    "py:perfect": {"acuity": 1e-6, "contrast": 1e-6, "number": 1e-6},
}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("report")
    items = bank(folder / "bank", ("acuity", "contrast", "number"))
    subjects = [observer(items, name, thresholds=thresholds) for name, thresholds in PLANTED.items()]
    responses = asked_of(folder / "run", items, subjects)
    write_scores(folder / "run", score(responses, items, SUITE), "strict")
    return load_run(folder / "run")


@pytest.fixture(scope="module")
def listed(run: Run) -> dict[str, ReportSection]:
    return by_name(sections(run))


def cells(section: ReportSection, column: str) -> dict[tuple[str, str], str]:
    """The cells of a column by task and subject."""
    table = section.table
    return dict(zip(zip(table["task"], table["subject"], strict=True), table[column], strict=True))


def test_thresholds_are_told_in_words(listed: dict[str, ReportSection]) -> None:
    words = cells(listed["in-words"], "in words")
    assert words["acuity", "py:perfect"] == "needs a gap of less than 0.50 px"
    assert words["acuity", "py:sharp"].startswith("needs a gap of ")
    assert words["acuity", "py:sharp"].endswith("]")
    assert words["contrast", "py:dull"].startswith("needs a contrast of more than 60.0 %")
    assert words["number", "py:dull"].startswith("did not understand the question: ")
    fits = cells(listed["in-words"], "fit")
    assert fits["number", "py:dull"] == fits["acuity", "py:perfect"] == "–"
    assert 0.0 <= float(fits["acuity", "py:sharp"]) <= 1.0
    assert cells(listed["in-words"], "answers")["acuity", "py:dull"] == "40"


def test_stimuli_are_shown_at_the_thresholds_of_those_who_understood(listed: dict[str, ReportSection]) -> None:
    section = listed["at-threshold"]
    letters, gaps = cells(section, "letter"), cells(section, "threshold")
    assert ("number", "py:dull") not in letters
    assert letters["contrast", "py:sharp"] == "–"
    gap = float(gaps["acuity", "py:dull"].split()[0])
    shares = cells(section, "as a share of the canvas")
    assert shares["acuity", "py:dull"] == f"1/{448 / gap:.0f}"
    assert gaps["acuity", "py:perfect"] == "less than 0.50 px"
    assert shares["acuity", "py:perfect"] == shares["contrast", "py:sharp"] == "–"
    assert float(letters["acuity", "py:dull"].split()[1]) == pytest.approx(5 * gap, abs=0.5)
    figure = section.figure()
    (axes,) = figure.axes
    images = [image.get_extent() for image in axes.images]
    assert len(images) == len(letters)
    sizes = [image.get_array().shape[:2] for image in axes.images]
    assert [(y0 - y1, x1 - x0) for x0, x1, y0, y1 in images] == sizes, "a unit of the axes is a pixel of the image"
    assert axes.get_xlim() == (0, figure.get_figwidth() * 96), "and a pixel of the page"


def test_a_ring_is_five_gaps_wide_and_the_odd_patch_is_shown() -> None:
    ring = np.asarray(stimulus_at(MEASURES["acuity"], 12.0, 448, ""))[..., 0]
    (columns,) = np.nonzero((ring != ring[0, 0]).any(0))
    assert 60 <= columns[-1] - columns[0] + 1 <= 61
    bars = np.asarray(stimulus_at(MEASURES["length"], 100.0, 448, ""))[22:, :, 0]
    left, right = ((half != bars[0, 0]).any(1).sum() for half in np.array_split(bars, [bars.shape[1] // 2], 1))
    assert right > 1.5 * left


def test_contrast_is_reported_at_every_frequency(listed: dict[str, ReportSection]) -> None:
    table = listed["contrast"].table.set_index("subject")
    assert list(table.columns) == [f"{name} cycles/px" for name in ("1/32", "1/16", "1/8", "1/4")]
    assert (table.loc["py:perfect"] == "less than 0.20 %").all()
    for cell in table.loc["py:sharp"]:
        assert float(cell.split()[0]) == pytest.approx(4.0, rel=0.6)


def test_a_subject_has_the_colour_of_the_legend_in_every_panel(listed: dict[str, ReportSection]) -> None:
    figure = listed["functions"].figure()
    (legend,) = figure.legends
    colours = [tuple(handle.get_facecolor()[0, :3]) for handle in legend.legend_handles]
    assert [text.get_text() for text in legend.texts] == ["py:sharp", "py:dull", "py:perfect"]
    assert len(set(colours)) == 3
    panels = colours, colours, [colours[0], colours[2]]  # the dull one did not understand the question about numbers
    for axes, expected in zip(figure.axes, panels, strict=True):
        assert [tuple(dots.get_facecolor()[0, :3]) for dots in axes.collections] == expected
        lines = [to_rgb(line.get_color()) for line in axes.lines[:-1]]  # the last is the guess rate
        assert [colour for colour, _ in groupby(lines)] == expected


def test_wrong_answers_are_counted_by_place(listed: dict[str, ReportSection]) -> None:
    table = listed["places"].table.set_index("subject")
    assert "py:perfect" not in table.index
    shares = [float(table.loc["py:dull", patch].split()[0]) for patch in "123456789"]
    assert sum(shares) == pytest.approx(100, abs=5)


def test_tables_show_bounds_and_states_and_no_accuracy(run: Run) -> None:
    grid = main_grid(run)
    units = ["px", "%", "%"]
    assert [column.metric for column in grid.columns] == [f"threshold, {unit}, lower is better" for unit in units]
    assert all(not column.chance and not column.blind for column in grid.columns)
    by_arm = {line.arm: line.cells for line in grid.lines}
    perfect, dull = by_arm["py:perfect"][0], by_arm["py:dull"][2]
    assert perfect is not None
    assert dull is not None
    assert (perfect.text, perfect.grade, perfect.span) == ("< 0.50 px", "below the smallest level", "")
    assert dull.text == "–"
    assert dull.grade == "question not understood"


def test_the_front_page_grades_no_threshold(run: Run) -> None:
    page = front([ExamPart(run, "Thresholds", "thresholds.html")])
    for line in page.lines:
        assert {graded.group for graded in line.grades} == {"no grade"}
        assert not line.partial


def test_the_front_page_has_thresholds_with_their_units(run: Run) -> None:
    lines = {line.subject: line for line in front([ExamPart(run, "Thresholds", "")]).lines}
    grades = {name: lines[name].grade("Thresholds", "acuity") for name in PLANTED}
    (row,) = [row for row in lines_of(result_rows(run, "acuity")) if row.subject == "py:sharp"]
    value, unit = grades["py:sharp"].number.split()
    assert float(value) == pytest.approx(row.value, rel=0.005)
    assert unit == "px"
    assert grades["py:sharp"].interval.startswith("[")
    assert (grades["py:perfect"].number, grades["py:perfect"].interval) == ("< 0.50 px", "")
    assert lines["py:dull"].grade("Thresholds", "contrast").number == "> 60.0 %"


@pytest.mark.slow
def test_a_whole_report_is_written(run: Run, tmp_path: Path) -> None:
    report = write_report([run.root], tmp_path / "report")
    page = (report.root / "thresholds.html").read_text("utf-8")
    assert "needs a gap of less than 0.50 px" in page
    assert "Partial" not in page


def test_pixels_of_an_angle() -> None:
    # One degree at 57.3 cm is 1 cm wide.
    assert pixels(60.0, 57.2958, 40.0) == pytest.approx(40.0, rel=1e-3)


@pytest.mark.slow
def test_two_runs_are_compared_by_their_thresholds(tmp_path: Path) -> None:
    items = bank(tmp_path / "bank", ("acuity", "vernier"))
    runs = []
    for name, gap in (("before", 3.0), ("after", 9.0)):
        subject = observer(items, f"py:{name}", thresholds={"acuity": gap, "vernier": 1e-6})
        write_scores(tmp_path / name, score(asked_of(tmp_path / name, items, [subject]), items, SUITE), "strict")
        runs.append(load_run(tmp_path / name))
    compared = changes(*runs)
    (row,) = compared.table.to_dict("records")
    assert (row["name"], row["verdict"], row["kind"]) == ("acuity", "dropped", "task")
    assert row["low"] > 0
    # A ratio of three: after - before is twice the gap before.
    assert row["difference"] / row["before"] == pytest.approx(2.0, abs=1.0)
    assert (compared.left_out, compared.unpaired_items.total) == (("vernier [vanilla] (below)",), 0)
    assert "smallest gap of a ring (acuity) (lower is better)" in render_changes(compared)
    same = changes(runs[0], runs[0])
    assert same.table["verdict"].tolist() == ["no clear change"]
    assert same.table["p"].tolist() == [1.0]


def test_a_right_answer_is_marked_as_right_although_its_score_is_an_error() -> None:
    scores = pd.DataFrame({"value": [0.0, 1.0], "outcome": "answered"})
    assert marks(scores, 0.0) == ["right", "wrong"]
    assert marks(scores, 1.0) == ["wrong", "right"]


def test_the_sections_equal_their_golden(listed: dict[str, ReportSection]) -> None:
    assert_golden("suites/thresholds-report.txt", sections_text(listed.values()))
