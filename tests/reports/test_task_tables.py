"""Tables of the terminal and of notebooks: layout and width."""

from __future__ import annotations

import io
import math
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


def test_the_name_of_a_single_subject_stays_in_one_line() -> None:
    table = TaskTables(("chat:openai-api/vlm/mediocre",), (("naming", ("40 %",)), ("finding", ("50 %",))))
    assert "chat:openai-api/vlm/mediocre" in lines_at(80, table)[0]


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


def test_undecided_scores_are_counted_and_told_how_much_larger_a_set_must_be(sets_folder: Path, tmp_path: Path) -> None:
    """From a blind baseline of .25 a quarter of the way to 1 is .4375; an interval of .6 to 1 must shrink to .4375."""
    items = small_set("combo", sets_folder)
    done = snellen.examine("fake:chance", items.root, out=tmp_path / "run", show_progress=False)
    facts = {"value": 0.55, "low": 0.25, "high": 0.85, "chance": 0.25, "blind": 0.25, "floor": 0.25, "ceiling": 1.0}
    rows = done.all_results().assign(**facts, grade="some", state="", reason="", n=24, clusters=12)
    assert print_table(rows, can_grow=True).note == ""
    scores = len(done.grades())
    few = rows.assign(grade="", state="open", reason="too few items")
    counted = f"{scores} of {scores} scores are undecided: {scores} open: too few items"
    assert print_table(few).note == counted, "a set that cannot grow"
    # (.30 / .1125)² = 7.1
    assert print_table(few, can_grow=True).note == (
        f"{counted}. With too few items, half would be decided by about 7.1 times as many clusters (now 12): snellen "
        "build combo --n 171"
    )
    assert print_table(few.assign(low=math.nan), can_grow=True).note == counted, "no interval tells how far it is"
    near = print_table(few.assign(value=0.43), can_grow=True).note
    assert "so near a boundary of grades that no larger set is likely to decide them" in near
    unread = few.assign(
        state=["unreadable", *["open"] * (len(few) - 1)], reason=["words", *["too few items"] * (len(few) - 1)]
    )
    assert f"are undecided: {scores - 1} open: too few items, 1 unreadable" in print_table(unread).note


def test_sentences_on_unread_replies_stand_above_the_table() -> None:
    table = TaskTables(("chat:a",), (("naming", ("40 %",)),), warning="20 % of the replies cannot be read.")
    assert lines_at(80, table)[0] == "20 % of the replies cannot be read."
    assert table.html().startswith("<p>20 % of the replies cannot be read.</p><table>")


def test_measures_of_which_lower_is_better_are_marked(sets_folder: Path, tmp_path: Path) -> None:
    items = small_set("ava-bench", sets_folder)
    done = snellen.examine("fake:oracle", items.root, out=tmp_path / "run", show_progress=False)
    table = print_table(done.all_results())
    heads = [head.partition("\n")[0] for head, _ in table.columns]
    assert "how many? (counting) ↓" in heads
    assert "what is it? (object)" in heads
    assert table.note.startswith("↓: lower is better")
    (counting,) = [cells for head, cells in table.columns if "(counting)" in head]
    assert counting[0].startswith("0 of truth [")
