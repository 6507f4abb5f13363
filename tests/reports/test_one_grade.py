"""A cell has one grade and one colour wherever it is shown."""

from __future__ import annotations

from snellen.analysis.grading.grades import GRADES
from snellen.analysis.grading.rows import Grade, rows_of
from snellen.analysis.grading.states import STATES
from snellen.analysis.tables.run_view import main_arms
from snellen.reports import Report, Run
from snellen.reports.front_page import KINDS, ExamPart, front
from snellen.reports.grid import main_grid
from snellen.reports.rows import grade_words, metric_in, plain_rows, whole_tasks_of
from snellen.reports.words import BEYOND, HARDLY, colour, first_text, grade_text
from snellen.web.explorer.content import _grid_rows


def test_all_pages_and_files_have_the_same_grades_and_colours(loaded: Run, report: Report) -> None:
    """Front page, suite page, its sentences, explorer, `--json` and front.csv; subjects under the main condition."""
    rows, tasks = whole_tasks_of(loaded), list(dict.fromkeys(whole_tasks_of(loaded)["task"]))
    expected = {
        (row.arm, row.task): (grade_words(row, metric_in(loaded.suite, row)), colour(row.grade))
        for row in rows_of(rows[rows["value"].notna()])
    }
    assert {shade for _, shade in expected.values()} >= {"below", "same", "above"}

    line_by_subject = {line.subject: line for line in front([ExamPart(loaded, "shapes", "shapes.html")]).lines}
    of_front = {
        (subject, task): (graded.text, graded.colour)
        for subject, line in line_by_subject.items()
        for task in tasks
        if (graded := line.grade("shapes", task)).text
    }
    arms = {arm.subject for arm in main_arms(loaded)}
    of_first = {
        (row.arm, row.task): (grade_words(row, metric_in(loaded.suite, row), first_text), colour(row.grade))
        for row in rows_of(rows[rows["value"].notna()])
    }
    assert of_front == {key: cell for key, cell in of_first.items() if key[0] in arms}

    grid = main_grid(loaded)
    of_grid = {
        (line.arm, column.title): (cell.grade, cell.colour)
        for line in grid.lines
        for column, cell in zip(grid.columns, line.cells, strict=True)
        if cell and cell.grade
    }
    assert of_grid == expected

    names = list(dict.fromkeys(rows["arm"]))
    of_explorer = {
        (names[cell[0]], tasks[row["task"]]): (cell[5], cell[3])
        for row in _grid_rows(loaded, tasks, {name: number for number, name in enumerate(names)})
        for cell in row["cells"]
        if not row["ability"] and cell[4]
    }
    assert set(of_explorer) == set(expected)
    for key, (word, shade) in of_explorer.items():
        assert shade == expected[key][1]
        assert expected[key][0].partition(" (")[0] == word

    of_json = {
        (row["subject"], row["task"]): Grade(row["grade"], row["state"], row["reason"])
        for row in plain_rows(loaded.results)
    }
    of_file = {(row.subject, row.task): row.grade for row in rows_of(report.grades())}
    for key, cell in of_front.items():
        grade = of_json[key]
        assert cell[0].startswith(first_text(grade))
        assert grade.label == of_file[key].label
        assert grade.word in GRADES if grade.word else grade.reason in STATES[grade.state]


def test_the_word_of_a_grade_is_on_both_pages(report: Report) -> None:
    pages = {path.name: path.read_text("utf-8") for path in report.pages}
    for row in rows_of(report.grades()):
        if row.n == row.n and row.n:
            assert all((first_text if name == "index.html" else grade_text)(row.grade) in pages[name] for name in pages)
    assert not any(f'"grade">{word}' in pages["shapes.html"] for word in (BEYOND, HARDLY)), "the finer reading"
    assert not any(" sees " in page or "does not see" in page for page in pages.values())


def test_the_first_subject_of_the_user_stands_first_and_then_the_best(loaded: Run) -> None:
    lines = front([ExamPart(loaded, "shapes", "shapes.html")]).lines
    assert lines[0].subject == "chat:openai/gpt-4o"
    assert [KINDS.index(line.kind) for line in lines] == sorted(KINDS.index(line.kind) for line in lines)
    for kind in KINDS:
        grades = [line.with_scores() for line in lines[1:] if line.kind == kind]
        balances = [
            sum((grade.colour in ("part", "above")) - (grade.colour == "below") for grade in of_line) / len(of_line)
            for of_line in grades
        ]
        assert balances == sorted(balances, reverse=True)
    assert len({tuple(grade.colour for grade in line.with_scores()) for line in lines}) > 1
