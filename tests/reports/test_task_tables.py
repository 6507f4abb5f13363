"""Tables of the terminal and of notebooks: layout and width."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

from rich.console import Console

import snellen
from snellen.reports import print_table
from snellen.reports.task_tables import TaskTables
from tests.helpers.sets import small_set

SUBJECTS = (
    "encoder:efficientnet-lite0",
    "encoder:colour-histogram",
    "encoder:hog",
    "fake:oracle",
    "fake:chance",
    "a/b?c=1",
)
TASKS = [f"some-long-ability-{n:02}" for n in range(14)]


def lines_at(width: int, table: TaskTables) -> list[str]:
    console = Console(width=width, file=io.StringIO(), record=True)
    console.print(table)
    return [line.rstrip() for line in console.export_text().splitlines() if line.strip()]


def wide(tasks: list[str]) -> TaskTables:
    """Cells of the largest width, and one with a note; the first task has a blind score too."""
    cells = ("40 % [dim]\\[23, 93][/]\n[dim]no answer 3 %[/]", *["100 % [dim]\\[77, 100][/]"] * 5)
    heads = [
        f"{task}\n[dim]chance {n} %[/]" + ("\n[dim]blind 31 %[/]" if n == 0 else "") for n, task in enumerate(tasks)
    ]
    return TaskTables(SUBJECTS, tuple((head, cells) for head in heads))


def test_many_tasks_are_rows_and_fit_80_columns() -> None:
    lines = lines_at(80, wide(TASKS))
    assert max(map(len, lines)) <= 80
    assert not any("…" in line for line in lines)
    rows = [line.split() for line in lines if line.split()[0] in TASKS]
    assert [row[0] for row in rows] == TASKS * (len(rows) // len(TASKS))
    assert len(rows) == 3 * len(TASKS), "two of the six subjects per block"
    assert rows[0][:7] == [TASKS[0], "0", "%", "31", "%", "40", "%"]
    assert rows[13][:5] == [TASKS[13], "13", "%", "40", "%"], "no blind score"
    heads = " ".join(" ".join(line.split()) for line in lines)
    assert all(part in heads for name in SUBJECTS for part in re.split("[-:/]", name)), (
        "names are broken at allowed places"
    )
    assert "chance" in heads


def test_more_subjects_than_tasks_are_rows() -> None:
    lines = lines_at(80, wide(TASKS[:1]))
    assert [line.split()[0] for line in lines if line.split()[0] in SUBJECTS] == list(SUBJECTS)
    assert sum("chance 0 %" in line for line in lines) == 1


def test_a_narrow_terminal_gets_one_table_per_column() -> None:
    lines = lines_at(40, wide(TASKS))
    assert max(map(len, lines)) <= 40
    assert sum("100 %" in line for line in lines) == 5 * len(TASKS)


def test_the_table_of_a_notebook_is_small_and_escaped() -> None:
    html = TaskTables(("<b>bold</b>",), (("task\n[dim]chance 25 %[/]", ("40 % [dim]\\[23, 93][/]",)),)).html()
    assert html == (
        "<table><tr><th>task</th><th>chance</th><th>&lt;b&gt;bold&lt;/b&gt;</th></tr>"
        "<tr><th>task</th><td>25 %</td><td>40 % [23, 93]</td></tr></table>"
    )


def test_an_examination_shows_its_table_and_the_reasons_of_failed_calls(sets_folder: Path, tmp_path: Path) -> None:
    items = small_set("combo", sets_folder)

    def answer(parts: list[Any]) -> str:
        raise ValueError("<no memory>")

    examination = snellen.examine(answer, items.root, out=tmp_path / "run", limit=1, show_progress=False)
    html = examination._repr_html_()
    assert html.startswith("<table>")
    assert "failed" in html
    assert "ValueError: &lt;no memory&gt;" in html
    assert len(html) < 3000, "once 1.3 MB"


def test_work_steps_have_no_chance(sets_folder: Path, tmp_path: Path) -> None:
    """A random answer completes a step: a chance level of 100 % would be meaningless."""
    items = small_set("combo", sets_folder)
    table = snellen.examine("fake:chance", items.root, out=tmp_path / "run", show_progress=False).all_results()
    assert "<th>chance</th><th>blind</th><th>n</th>" in print_table(table).html()
    text = print_table(table.assign(chance=1.0, blind=1.0)).html()
    assert "chance" not in text.replace("fake:chance", "")
    assert "blind" not in text


def test_scores_with_too_few_items_name_the_number_that_is_needed(sets_folder: Path, tmp_path: Path) -> None:
    items = small_set("combo", sets_folder)
    done = snellen.examine("fake:chance", items.root, out=tmp_path / "run", show_progress=False)
    rows = done.all_results().assign(state="graded", items_needed=40.0, n=24, clusters=24)
    assert print_table(rows).note == ""
    scores = len(done.grades())
    few = rows.assign(state="too few items")
    assert print_table(few).note == (
        f"{scores} of {scores} scores have too few items for a grade. About 40 items per task would decide half of "
        "them: build --n 40"
    )
    assert "2,000 items per task would not decide half of them." in print_table(few.assign(items_needed=9e4)).note
    assert "n <" not in print_table(few).html()
    assert "too few to tell how many are needed. Try build --n 24" in print_table(few.assign(n=2)).note


def test_measures_of_which_lower_is_better_are_marked(sets_folder: Path, tmp_path: Path) -> None:
    items = small_set("ava-bench", sets_folder)
    done = snellen.examine("fake:oracle", items.root, out=tmp_path / "run", show_progress=False)
    table = print_table(done.all_results())
    heads = [head.partition("\n")[0] for head, _ in table.columns]
    assert "counting ↓" in heads
    assert "object" in heads
    assert table.note.startswith("↓: lower is better")
