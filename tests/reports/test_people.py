"""People in a report: one subject in the main tables, a section with every participant, ceilings of other subjects."""

from __future__ import annotations

import io
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
from rich.console import Console

from snellen.core.storage.itemset import ItemSet
from snellen.core.subject import Subject
from snellen.core.suite import Suite
from snellen.exam.run import run
from snellen.reports import Report, load_run, print_table, write_report
from snellen.reports.grid import built_by, main_grid
from snellen.reports.loading import gather
from snellen.reports.people import with_studies
from snellen.subjects.fakes.make import make_fake
from snellen.suites import SUITES
from tests.goldens.house import page_text
from tests.helpers.people import ask_people, fakes, person
from tests.helpers.sets import small_set
from tests.reports.exam import SUITE, able, leave_out_figures, suite_of, write_items

SKILLS = (0.9, 0.3, 1.0, 0.7)


@pytest.fixture(scope="module")
def items(tmp_path_factory: pytest.TempPathFactory) -> ItemSet:
    return write_items(tmp_path_factory.mktemp("report-people") / "items", 12)


def people_of(study: str, items: ItemSet, skills: Sequence[float] = SKILLS) -> list[Subject]:
    abilities = [dict.fromkeys(SUITE.tasks, skill) for skill in skills]
    return [person(f"human:{study}/p{n:02d}", able("x", items, ability)) for n, ability in enumerate(abilities, 1)]


@pytest.fixture(scope="module")
def report(items: ItemSet) -> Report:
    """Four people and, in another run about the same items, a model and the oracle."""
    root = items.root.parent
    people = ask_people(root / "people", items, SUITE, people_of("eyes", items))
    others = [able("chat:m", items, dict.fromkeys(SUITE.tasks, 0.5)), make_fake("oracle", {}, items.items)]
    models = ask_people(root / "models", items, SUITE, [], others=others)
    with pytest.MonkeyPatch.context() as patch:
        leave_out_figures(patch)
        return write_report([models, people], root / "report", suite_of=suite_of)


def with_task(suite: Suite, task: str) -> Suite:
    """The suite with one task, for runs about that task."""
    return replace(suite, tasks={task: suite.tasks[task]})


def table(report: Report, name: str) -> list[dict[str, Any]]:
    rows = pd.read_csv(report.root / "tables" / "more" / f"{name}.csv").to_dict("records")
    return [{str(head): cell for head, cell in row.items()} for row in rows]


def column(rows: Iterable[Mapping[str, Any]], head: str) -> list[Any]:
    return [row[head] for row in rows]


def results(report: Report, **cells: str) -> list[dict[str, Any]]:
    """The rows of the main protocol with these cells; whole tasks unless a factor is given."""
    rows = report.results
    for head, cell in {"protocol": "strict", "metric": "accuracy", "factor": "", **cells}.items():
        rows = rows[rows[head] == cell]
    return [{str(head): cell for head, cell in row.items()} for row in rows.to_dict("records")]


def test_the_main_table_has_one_row_for_all_people(report: Report) -> None:
    main = table(report, "shapes-main")
    assert list(main[0]) == ["task", "human:eyes", "chat:m", "fake:oracle", "(chance)", "(people)"]
    (finding,) = [row for row in main if row["task"] == "finding"]
    assert finding["(people)"].endswith("(4 people of eyes)")
    assert "4 people of eyes" in page_text(report.pages[1])


def test_the_section_names_everyone_and_compares_people_on_the_same_items(report: Report) -> None:
    assert column(table(report, "shapes-people-persons"), "person") == ["p01", "p02", "p03", "p04"]
    assert set(column(table(report, "shapes-people-studies"), "people")) == {4}
    against = table(report, "shapes-people-against")
    assert set(column(against, "against")) == {"chat:m"}
    assert set(column(against, "units")) == {12}
    text = page_text(report.pages[1])
    assert "People against the others" in text
    assert "paired permutation test" in text


def test_the_results_have_the_study_each_person_and_people_as_ceilings(report: Report) -> None:
    study, model, oracle, *people = results(report, task="finding")
    assert (study["subject"], model["subject"], oracle["subject"]) == ("human:eyes", "chat:m", "fake:oracle")
    assert column(people, "subject") == [f"human:eyes/p{n:02d}" for n in range(1, 5)]
    assert model["ceiling"] == study["value"]
    assert study["value"] == pytest.approx(fmean(column(people, "value")))
    assert math.isnan(study["ceiling"])


def test_the_terminal_has_one_row_for_all_people(report: Report) -> None:
    page = Console(file=io.StringIO(), width=200)
    page.print(print_table(report.results, suite_of=suite_of))
    assert isinstance(page.file, io.StringIO)
    text = page.file.getvalue()
    assert text.count("human:eyes") == 1
    assert "p01" not in text


def test_a_study_with_a_participant_who_built_an_item_is_flagged() -> None:
    """And a model, also if it built or is examined with settings of its own."""
    built = SimpleNamespace(
        item_id="a", provenance={"construction_subjects": ["human:eyes/p01", "chat:m", "chat:n?seed=2"]}
    )
    other = SimpleNamespace(item_id="b", provenance={})
    responses = [
        SimpleNamespace(item_id=item_id, subject=subject, condition="vanilla", task="finding")
        for item_id in ("a", "b")
        for subject in ("human:eyes", "human:ears", "chat:m", "chat:m?temperature=1", "chat:m2", "chat:n")
    ]
    run: Any = SimpleNamespace(items=SimpleNamespace(items=[built, other]), responses=responses)
    names = ("human:eyes", "chat:m", "chat:m?temperature=1", "chat:n")
    assert built_by(run) == {("finding", name): 1 for name in names}


def test_people_on_other_items_are_not_a_ceiling(items: ItemSet, tmp_path: Path) -> None:
    other = write_items(tmp_path / "other", 12, seed=1)
    finding = with_task(SUITE, "finding")
    people = ask_people(tmp_path / "people", other, finding, people_of("eyes", other))
    model = ask_people(tmp_path / "model", items, finding, [], others=[able("chat:m", items, {})])
    exams = [with_studies(exam) for exam in gather([load_run(root, suite_of) for root in (model, people)])]
    rows = pd.concat([exam.joined.results for exam in exams])
    rows = rows[(rows["subject"] == "chat:m") & (rows["task"] == "finding")]
    assert len(rows)
    assert rows["ceiling"].isna().all()


def test_people_under_some_conditions_and_a_repeated_participant(
    items: ItemSet, tmp_path: Path, without_figures: None
) -> None:
    naming, conditions = with_task(SUITE, "naming"), ["vanilla", "samples=1"]
    first = ask_people(tmp_path / "first", items, naming, people_of("eyes", items), conditions=conditions)
    second = ask_people(tmp_path / "second", items, naming, people_of("eyes", items)[:2])
    report = write_report([first, second], tmp_path / "report", suite_of=suite_of)
    subjects = column(table(report, "shapes-main"), "subject")
    assert subjects[:3] == ["human:eyes", "human:eyes [samples=1]", "human:eyes (run 2)"]
    assert set(column(table(report, "shapes-people-studies"), "people")) == {4, 2}


def test_eight_colour_blind_people_are_at_chance_in_colour_only(
    sets_folder: Path, tmp_path: Path, without_figures: None
) -> None:
    """A planted deficit, end to end: the interval is over eight people, and narrower than that of one."""
    items, suite = small_set("combo", sets_folder), with_task(SUITES.get("combo"), "pattern-perception")
    root = ask_people(tmp_path / "run", items, suite, fakes("X", ["blind-to=colour"] * 8, items))
    report = write_report([root], tmp_path / "report")
    columns = {"task": "pattern-perception", "factor": "requires"}
    (colour,) = results(report, subject="human:X", level="colour", **columns)
    assert colour["low"] < colour["chance"] < colour["high"]
    assert colour["interval"] == "95 % Wilson, adjusted for people and clusters"
    (alone,) = results(report, subject="human:X/p01", level="colour", **columns)
    assert colour["n"] == 8 * alone["n"]
    assert colour["high"] - colour["low"] < alone["high"] - alone["low"]
    (rest,) = results(report, subject="human:X", level="not colour", **columns)
    assert rest["value"] == 1.0
    (perception,) = [row for row in table(report, "combo-people-studies") if "(pattern-perception)" in row["task"]]
    assert perception["people"] == 8
    assert list(table(report, "combo-pattern-perception-question")[0])[:2] == ["question", "human:X"]


def test_a_run_of_people_can_be_printed_before_its_report_exists(sets_folder: Path, tmp_path: Path) -> None:
    from snellen.exam.examination import Examination

    items, suite = small_set("combo", sets_folder), with_task(SUITES.get("combo"), "pattern-perception")
    root = ask_people(tmp_path / "run", items, suite, fakes("X", ["oracle", "chance"], items))
    rows = Examination(root, suite, items, load_run(root).responses).all_results()
    assert set(rows["subject"]) == {"human:X", "human:X/p01", "human:X/p02"}
    assert print_table(rows).subjects == ("human:X",)


def test_the_number_of_calls_is_shown_beside_that_of_items_that_share_them(sets_folder: Path, tmp_path: Path) -> None:
    items = small_set("combo", sets_folder)
    done = run(items, ["fake:oracle"], tmp_path / "run", show_progress=False)
    loaded = load_run(done.root)
    of_task = [response for response in loaded.responses if response.task == "pattern-perception"]
    sheets = {call for response in of_task for call in response.calls}
    numbers = {column.title: column.n for column in main_grid(loaded).columns}
    assert numbers["pattern-perception"].endswith(f" in {len(sheets)} call{'s' if len(sheets) > 1 else ''}")
    assert numbers["category-building"].isdigit()
