"""Results are imported as ordinary runs: entered answers are scored, and unfinished participants are partial."""

from __future__ import annotations

import json
import random
import re
import shutil
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
from PIL import Image
from pydantic import TypeAdapter, ValidationError
from typer.testing import CliRunner, Result

from snellen.analysis.studies.people_tables import person_table
from snellen.core.condition import Condition
from snellen.core.errors import SnellenError
from snellen.core.item import AnswerKind, Item, Option, ReplySpec, View
from snellen.core.prompt import Prompt
from snellen.core.response import Response
from snellen.core.storage.files import kernel_lock
from snellen.core.storage.itemset import ItemSet
from snellen.core.storage.parts import read_exchanges
from snellen.core.storage.runfolder import read_run_card
from snellen.exam.examination import Examination
from snellen.exam.run import run
from snellen.exam.verification import check_replies
from snellen.reports import load_run
from snellen.reports.loading import gather
from snellen.runs.scores.judgements import write_sample, write_sample_items
from snellen.stimuli.scenes import MATERIALS, SHAPES
from snellen.suites import SUITES
from snellen.suites.ava_bench.scenes.close_ups import TEXTURES
from snellen.suites.ava_bench.scenes.table_contents import KINDS
from snellen.web.admission import BadLine, ReadRow, Submission, admit, start_digest
from snellen.web.building import build_study
from snellen.web.databases import connect
from snellen.web.design import BlockDesign, StudyDesign, read_design
from snellen.web.explorer.content import explorer_content
from snellen.web.forgetting import TEXTS, _overwrite_deleted, forget
from snellen.web.importing import admit_all, import_study, read_refused, read_results_of
from snellen.web.pages import PageTrial, accepted_texts, as_page, as_recorded
from snellen.web.participants import PEOPLE, Participant, as_participants, people_table
from snellen.web.plan import PageAnswers, RecordRow, Start, StudyPlan, StudyRecord, Texts
from snellen.web.reviewing import agreement_lines, key_checks
from snellen.web.server import open_service
from snellen.web.stand_ins import make_stand_in
from snellen.web.store import Store, delete_participant, keep_row, take_slot
from snellen.web.study import BUNDLE, LOCK, RESULTS, StudyCard, open_itemset, read_plan, read_study
from snellen.web.trials import COLUMNS, TRIALS, _checked_cells, key_check
from tests.helpers.refusals import assert_refused
from tests.helpers.sets import small_set
from tests.helpers.studies import NOON, entered
from tests.suites.questions.tables import build_set, image_text, write_csv

BLOCKS = {
    "combo": BlockDesign(name="b", tasks=("img2text", "category-building"), questions=3, attention=1),
    "vlm2-bench": BlockDesign(name="b", questions=2),
    "vfm-bench": BlockDesign(name="b", conditions=("shots=0", "vanilla"), questions=3),
    "ava-bench": BlockDesign(name="b", questions=2, practice=1),
}


@pytest.fixture(autouse=True, scope="module")
def no_web_parts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Skips fetching web parts: these tests open no page."""
    folder = tmp_path_factory.mktemp("vendor")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("snellen.web.lock.web_parts", lambda: folder)
        yield


def small_study(suite: str, folder: Path, root: Path) -> StudyCard:
    design = StudyDesign(texts=Texts(title="Seeing", consent="You may stop."), blocks=(BLOCKS[suite],), forms=3)
    return build_study([small_set(suite, folder)], design, root, name="trial")


@dataclass(frozen=True)
class FilledStudy:
    """A study, its plan, and the rows of four people who answered all of it."""

    root: Path
    plan: StudyPlan
    forms: tuple[list[RecordRow], ...]


@pytest.fixture(scope="module")
def filled(sets_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> FilledStudy:
    folder = tmp_path_factory.mktemp("filled")
    card = small_study("combo", sets_folder, folder / "study")
    plan, stand_in = read_plan(folder / "study"), make_stand_in(card, "fake:oracle", 4, folder / "own")
    return FilledStudy(folder / "study", plan, tuple(entered(plan, stand_in, person) for person in range(4)))


@pytest.mark.parametrize(
    "suite", [pytest.param(name, marks=pytest.mark.slow if name == "ava-bench" else ()) for name in BLOCKS]
)
def test_the_imported_table_equals_the_subject_s_own_answers(suite: str, sets_folder: Path, tmp_path: Path) -> None:
    card = small_study(suite, sets_folder, tmp_path / "study")
    plan = read_plan(tmp_path / "study")
    stand_in = make_stand_in(card, "fake:chance", 2, tmp_path / "own")
    results = [Submission(f"p{person + 1:02d}", entered(plan, stand_in, person)) for person in range(2)]
    (examination,) = import_study(tmp_path / "study", results, tmp_path / "people")
    own = {(r.condition, r.repeat, r.item_id): r.text for r in stand_in.examinations[suite].responses}
    dealt = [page_id for form in range(2) for page_id in _ids(plan, form) if plan.pages[page_id].kind == "question"]
    item_ids = {item_id for page_id in dealt for item_id in card.pages[page_id].item_ids}
    assert item_ids == {response.item_id for response in examination.responses}
    for response in examination.responses:
        person = int(response.subject.removeprefix("human:trial/p")) - 1
        assert response.text == own[response.condition, person, response.item_id]
    run_card = read_run_card(examination.root)
    assert check_replies(examination.root, run_card, examination.items, examination.suite) == 0
    assert {reply.seconds for exchange in read_exchanges(examination.root) if (reply := exchange.reply)} == {1.5}


def taken_by_an_oracle(items: ItemSet, design: StudyDesign, folder: Path) -> Examination:
    """The imported answers of one person to a new study, all of them right."""
    card = build_study([items], design, folder / "study", name="trial")
    plan, stand_in = read_plan(folder / "study"), make_stand_in(card, "fake:oracle", 1, folder / "own")
    (examination,) = import_study(folder / "study", [Submission("p01", entered(plan, stand_in, 0))], folder / "people")
    return examination


def test_answers_to_a_table_of_one_s_own_are_imported(tmp_path: Path) -> None:
    """The tasks of its suite come from the item set."""
    question = {"question": "Is it dark?", "A": "yes", "B": "no"}
    rows = [{"id": n, "image": image_text(n), "answer": "AB"[n % 2], **question} for n in range(4)]
    items = build_set(write_csv(tmp_path / "table.csv", rows), tmp_path / "items")
    design = StudyDesign(texts=Texts(title="Seeing", consent="You may stop."), blocks=(BlockDesign(name="b"),))
    examination = taken_by_an_oracle(items, design, tmp_path)
    assert {response.item_id for response in examination.responses} == {item.item_id for item in items.items}
    assert set(examination.results()["value"]) == {1.0}
    assert stat.S_IMODE((tmp_path / "study" / "study.json").stat().st_mode) == 0o600


def test_answers_are_compared_with_the_keys(sets_folder: Path, tmp_path: Path) -> None:
    """Of the design `check-keys`: all agree but one that is another option."""
    examination = taken_by_an_oracle(small_set("combo", sets_folder), read_design("check-keys"), tmp_path)
    checks = key_checks(examination)
    assert {check.item.item_id for check in checks} == {response.item_id for response in examination.responses}
    assert all(check.agrees for check in checks)
    (*_, whole) = agreement_lines(checks, examination.items)
    assert whole.startswith(f"all: {len(checks)} of {len(checks)} answers agree with the key (100 % [")
    wrong = replace(next(check for check in checks if check.item.options), agrees=False)
    other = next(option for option in wrong.item.options if option.key != wrong.item.answer)
    *_, line = agreement_lines([replace(wrong, answer=other.key)], examination.items)
    assert line.startswith(f"{wrong.item.item_id}: human:trial/p01 answered ")
    assert Path(line.rpartition("; ")[2]).is_file()


def test_trials_have_a_row_for_every_answer(sets_folder: Path, tmp_path: Path) -> None:
    """Their answers, keys and scores are those of the run; practice and attention checks are marked."""
    block = BlockDesign(name="b", tasks=("gc-mat", "oc-cnt"), questions=4, practice=1, attention=1, examples=1)
    design = StudyDesign(texts=Texts(title="Seeing", consent="You may stop."), blocks=(block,), forms=2)
    card = build_study([small_set("vlm2-bench", sets_folder)], design, tmp_path / "study", name="trial")
    plan, stand_in = read_plan(tmp_path / "study"), make_stand_in(card, "fake:chance", 2, tmp_path / "own")
    results = [Submission(f"p{person + 1:02d}", entered(plan, stand_in, person)) for person in range(2)]
    (examination,) = import_study(tmp_path / "study", results, tmp_path / "people")
    path = tmp_path / "people" / TRIALS
    table = pd.read_csv(path)
    assert (tuple(table)[: len(COLUMNS)], stat.S_IMODE(path.stat().st_mode)) == (COLUMNS, 0o600)
    kinds = {(person, form, position + 1): plan.pages[page_id].kind for form, person in enumerate(("p01", "p02"))
             for position, page_id in enumerate(_ids(plan, form))}  # fmt: skip
    marks = {(row.participant, row.form, row.position): (row.practice, row.attention) for row in table.itertuples()}
    assert marks == {
        number: (int(kind == "practice"), int(kind == "attention"))
        for number, kind in kinds.items()
        if kind != "example"
    }
    checks = table[table["attention"] == 1]
    assert checks["right"].tolist() == (checks["answer"] == checks["truth"]).astype(int).tolist()
    questions = table[(table["practice"] == 0) & (table["attention"] == 0)]
    by_trial = {(trial["participant"], trial["item"]): trial for trial in questions.to_dict("records")}
    scores = pd.read_parquet(examination.root / "scores.strict.parquet").drop_duplicates(["subject", "item_id"])
    assert len(questions) == len(scores)
    for row in scores.itertuples():
        trial = by_trial[str(row.subject)[-3:], row.item_id]
        assert (trial["score"], trial["seconds"]) == (pytest.approx(row.value), 1.5)
        is_right = str(row.truth) == str(row.prediction)
        assert bool(trial["right"]) == is_right == (str(trial["answer"]) == str(trial["truth"]))
        assert [trial[name] for name in ("task", "suite", "condition")] == [row.task, row.suite, row.condition]
        item = examination.items.by_id[str(row.item_id)]
        known = {f"factor_{name}": str(level) for name, level in item.factors.items()}
        known |= {f"measure_{name}": str(amount) for name, amount in item.measures.items()}
        assert known
        assert all(str(trial[name.replace("-", "_")]) == text for name, text in known.items())


def test_scores_of_trials_are_in_the_column_of_their_direction() -> None:
    """A right answer to a ring has an error of 0, and no score; a wrong one an error of 1."""
    ring = Item(
        "ring", "thresholds", "acuity", "Where is the gap?", (), "top", "choice", "ring", "ring", "ring",
        options=(Option("top", "top"), Option("left", "left")),
    )  # fmt: skip
    spec = ring.view().reply
    for text, is_right, error in (("top", True, 0.0), ("left", False, 1.0)):
        response = Response("r", "human:p01", "f", "ring", "acuity", "", 0, "ok", text, "", spec, ())
        check = key_check(ring, response, SUITES.get("thresholds"))
        assert (check.agrees, check.score, check.is_error) == (is_right, error, True)
        cells = _checked_cells(check)
        assert (cells["right"], cells["error"], "score" in cells) == (is_right, error, False)


def test_an_item_asked_twice_has_a_trial_for_each_answer(tmp_path: Path) -> None:
    """As before and after a training. The run has the last answer only, also if the first ones were imported before."""
    question = {"question": "Is it dark?", "A": "yes", "B": "no"}
    rows = [{"id": n, "image": image_text(n), "answer": "A", **question} for n in range(2)]
    items = build_set(write_csv(tmp_path / "table.csv", rows), tmp_path / "items")
    blocks = tuple(BlockDesign(name=name, assignment="same") for name in ("before", "after"))
    build_study([items], StudyDesign(texts=Texts(title="Seeing"), blocks=blocks, forms=1), tmp_path / "study")
    plan, times = read_plan(tmp_path / "study"), {"type": "answers", "seconds": 2.0, "time": NOON}
    records: list[Any] = [{"type": "start", "participant": "p01", "form": 0, "plan_hash": plan.plan_hash, "time": NOON}]
    for position, page_id in enumerate(_ids(plan, 0)):
        (page_question,) = plan.pages[page_id].questions
        answers = {page_question.item_id: page_question.choices[position // 2].name}
        records.append({**times, "page_id": page_id, "position": position, "answers": answers})
    entries = [
        RecordRow.model_validate({"sequence": number, "record": record}) for number, record in enumerate(records)
    ]
    import_study(tmp_path / "study", [Submission("p01", entries[:3])], tmp_path / "people")
    (examination,) = import_study(tmp_path / "study", [Submission("p01", entries)], tmp_path / "people")
    assert {response.text for response in examination.responses} == {"B"}, "no"
    before = {path: path.stat().st_mtime_ns for path in examination.root.glob("parts/*")}
    assert before
    import_study(tmp_path / "study", [Submission("p01", entries)], tmp_path / "people")
    assert before == {path: path.stat().st_mtime_ns for path in examination.root.glob("parts/*")}, "not written again"
    table = pd.read_csv(tmp_path / "people" / TRIALS)
    assert table["block"].tolist() == ["before", "before", "after", "after"]
    assert table["answer"].tolist() == ["yes", "yes", "no", "no"]
    assert (table["right"].tolist(), set(table["truth"])) == ([1, 1, 0, 0], {"yes"})
    assert len(examination.responses) == 2
    build_study([items], StudyDesign(texts=Texts(title="Again"), blocks=blocks, forms=1), tmp_path / "second")
    assert_refused(lambda: import_study(tmp_path / "second", [], tmp_path / "people"), "has people of another study")


def test_unfinished_people_are_partial_not_missing(filled: FilledStudy, tmp_path: Path) -> None:
    plan, (first, second, *_) = filled.plan, filled.forms
    rows = [Submission("p01", first), Submission("p02", second[: 2 + 3])]
    (examination,) = import_study(filled.root, rows, tmp_path / "people")
    answered = pd.Series([response.subject for response in examination.responses]).value_counts().to_dict()
    questions, questions_before = _questions(plan, 0), _questions(plan, 1, 3)
    assert questions >= 6
    assert answered == {"human:trial/p01": questions, "human:trial/p02": questions_before}
    table = pd.read_csv(tmp_path / "people" / PEOPLE).set_index("participant")
    assert list(table["questions"]) == [questions, _questions(plan, 1)]
    assert list(table["answered"]) == [questions, questions_before]
    outcomes = table[["checks", "checks_passed", "checks_failed", "checks_not_reached"]]
    position = next(n for n, page_id in enumerate(_ids(plan, 1)) if plan.pages[page_id].kind == "attention")
    assert list(outcomes.loc["p01"]) == [1, 1, 0, 0]
    assert list(outcomes.loc["p02"]) == ([1, 1, 0, 0] if position < 3 else [1, 0, 0, 1])
    assert table.loc["p01", "ended"] == NOON.isoformat()
    assert table["ended"].isna().to_dict() == {"p01": False, "p02": True}
    remarks = person_table(load_run(examination.root))["remark"].tolist()
    assert remarks == ["", f"partial: {questions_before} of {_questions(plan, 1)} items in all"]
    # A participant who continues later is imported again: earlier answers stay, the rest is added.
    (examination,) = import_study(filled.root, [rows[0], Submission("p02", second)], tmp_path / "people")
    assert len(examination.responses) == questions + _questions(plan, 1)


def _questions(plan: StudyPlan, form: int, pages: int | None = None) -> int:
    """The number of questions on the first pages of a form."""
    return sum(plan.pages[page_id].kind == "question" for page_id in _ids(plan, form)[:pages])


def _ids(plan: StudyPlan, form: int) -> list[str]:
    return [page_id for block in plan.forms[form] for page_id in block.page_ids]


def test_a_check_that_was_not_reached_is_not_failed(filled: FilledStudy) -> None:
    plan, rows = filled.plan, filled.forms[0]
    (check,) = [page_id for page_id in _ids(plan, 0) if plan.pages[page_id].kind == "attention"]
    number = 2 + _ids(plan, 0).index(check)
    failed = again(rows[number], number, answers={check: "nothing offered"}, passed=False)
    some = {"before": rows[:number], "wrong": [*rows[:number], failed], "right": rows}
    people = [Participant(name, name, tuple(rows_of)) for name, rows_of in some.items()]
    table = people_table(plan, read_study(filled.root), people).set_index("participant")
    columns = ["checks", "checks_passed", "checks_failed", "checks_not_reached", "practice_failed"]
    outcomes = {"before": [1, 0, 0, 1, 0], "wrong": [1, 0, 1, 0, 1], "right": [1, 1, 0, 0, 0]}
    assert table[columns].T.to_dict("list") == outcomes


def test_imports_into_one_folder_add_up(filled: FilledStudy, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    first, second, third, _ = filled.forms
    out = tmp_path / "people"

    def imported(*people: tuple[str, list[RecordRow]]) -> tuple[list[str], set[str]]:
        (examination,) = import_study(filled.root, [Submission(*person) for person in people], out)
        people_of_run = {response.subject.partition("/")[2] for response in examination.responses}
        return list(pd.read_csv(out / PEOPLE)["participant"]), people_of_run

    def files() -> dict[str, bytes]:
        return {str(path): path.read_bytes() for path in out.rglob("*") if path.suffix in (".csv", ".jsonl")}

    assert imported(("p03", third)) == (["p03"], {"p03"})
    assert imported(("p01", first[:4]), ("p01", first)) == (["p01", "p03"], {"p01", "p03"})
    before = files()
    assert imported(("p03", third), ("p01", first[:5])) == (["p01", "p03"], {"p01", "p03"})
    assert files() == before
    assert caplog.messages == []
    # Other rows of the same person under numbers that are there are named, and those imported before stay.
    imported(("p01", [*first[:4], again(first[4], 4, seconds=99.0), *first[5:]]))
    assert files() == before
    assert caplog.messages == ["p01: row 4 differs from the one imported before, which stays"]
    # Somebody else under the same name gets another one.
    namesake = [again(second[0], 0, participant="p01"), *second[1:]]
    assert imported(("p01", namesake))[0] == ["p01", "p02", "p03"]
    assert caplog.messages[1:] == ["p01: somebody else of this name is there already; this person is p02"]


@pytest.mark.slow
def test_a_practice_page_knows_what_is_near_enough(sets_folder: Path, tmp_path: Path) -> None:
    """The thresholds are those at which people confirm a key (`web.reviewing`)."""
    block = BlockDesign(name="b", tasks=("colour", "ocr", "counting"), questions=1, practice=1)
    design = StudyDesign(texts=Texts(title="t"), blocks=(block,), forms=1)
    card = build_study([small_set("ava-bench", sets_folder)], design, tmp_path / "study", name="trial")
    pages = read_plan(tmp_path / "study").pages
    practice = {card.pages[name].task: page for name, page in pages.items() if page.kind == "practice"}
    assert {task: page.tolerance for task, page in practice.items()} == {"colour": 15.0, "ocr": 0.8, "counting": None}
    assert {page.tolerance for page in pages.values() if page.kind == "question"} == {None}


@pytest.mark.parametrize(
    ("kind", "answer", "recorded", "further"),
    [
        ("text", ("STOP", "Halt"), "STOP", ("Halt",)),
        ("text", "STOP", "STOP", ()),
        ("choices", ("a", "c"), "A, C", ("A, C", "C, A")),
    ],
)
def test_practice_accepts_every_right_text(kind: AnswerKind, answer: Any, recorded: str, further: Any) -> None:
    keys = (("A", "a"), ("B", "b"), ("C", "c")) if kind == "choices" else ()
    view = View(item_id="i", stimulus_id="i", task="t", question="?", query=(), reply=ReplySpec(kind, keys))
    assert as_recorded(view, answer) == recorded
    assert accepted_texts(view, answer) == further
    item = Item("i", "s", "t", "?", (), answer, kind, "i", "i", "i", split="train")
    task: Any = SimpleNamespace(id="t", protocols={"strict": SimpleNamespace(threshold=0.8)})
    trial = PageTrial(task, Condition(()), Prompt((), (view,)))
    page = as_page(trial, {"i": item}, None, practice=True, reason=False)
    assert (page.feedback, page.accepted, page.tolerance) == ({"i": recorded}, {"i": further} if further else {}, 0.8)


Change = Callable[[list[RecordRow]], Sequence[ReadRow]]


def _with(number: int, **fields: Any) -> Callable[[list[RecordRow]], list[RecordRow]]:
    """Rows in which one record has other fields."""

    def change(rows: list[RecordRow]) -> list[RecordRow]:
        plain = rows[number].plain()
        plain["record"] |= fields
        return [*rows[:number], RecordRow.model_validate(plain), *rows[number + 1 :]]

    return change


def again(row: RecordRow, sequence: int, **fields: Any) -> RecordRow:
    """A row under another number, with other fields of its record."""
    return RecordRow(sequence=sequence, record=row.record.model_copy(update=fields))


NOT_OF_THE_PAGES: dict[str, Change] = {
    "no answers": _with(2, answers={}),
    "a choice that was not offered": _with(2, answers={"?": "zzz"}),
    "another page": _with(2, page_id="none"),
    "a reason for no question": _with(2, reasons={"none": "because"}),
    "a page twice": lambda rows: [*rows[:3], again(rows[2], 3), *rows[4:]],
    "form -1": _with(0, form=-1),
    "form 10^25": _with(0, form=10**25),
    "another form": _with(0, form=1),
    "another plan": _with(0, plan_hash="0" * 16),
    "no consent": lambda rows: [rows[0], *(again(row, row.sequence - 1) for row in rows[2:])],
    "no start": lambda rows: rows[1:],
    "a missing row": lambda rows: [*rows[:3], *rows[4:]],
    "a name without end": _with(0, participant="x" * 100_000),
    "a code like a name from JATOS": _with(0, code="jatos-1"),
    "a second start with another code": lambda rows: [*rows[:3], again(rows[0], 3, code="else-1234")],
    "a line of other content": lambda rows: [BadLine(4, "The line was changed."), *rows[:3], *rows[4:]],
    "a line alone": lambda rows: [BadLine(1, "The line is not a row of results.")],
    "nothing": lambda rows: [],
}
"""Rows that no page of the study writes: each change of a whole form."""


@pytest.mark.parametrize("name", list(NOT_OF_THE_PAGES))
def test_rows_that_no_page_writes_are_refused(name: str, filled: FilledStudy) -> None:
    """The person is named with file and row and left out; the others are accepted."""
    first, second, *_ = filled.forms
    people = [Submission("p01", NOT_OF_THE_PAGES[name](first), "a.zip"), Submission("p02", second, "a.zip")]
    accepted, (refused, *_) = admit_all(people, filled.root)
    assert [person for person, _ in accepted] == ["p02"]
    assert (refused.person, refused.source) == ("p01", "a.zip")
    assert re.match(r"(row|line) \d+$", refused.row)
    assert len(str(refused)) < 300


def test_a_refused_person_stops_nobody_else(filled: FilledStudy, tmp_path: Path) -> None:
    first, second, *_ = filled.forms
    bad = NOT_OF_THE_PAGES["no answers"](first)
    people = [Submission("p01", bad, "a.zip"), Submission("p02", second, "a.zip")]
    out = tmp_path / "people"
    (examination,) = import_study(filled.root, people, out)
    assert {response.subject for response in examination.responses} == {"human:trial/p02"}
    assert [path.name for path in (out / "records").iterdir()] == ["p02.jsonl"]
    assert read_refused(out) == admit_all(people, filled.root)[1]
    for damage in ("", "person,rows\np01,1\n", 'person\n"'):
        (out / "refused.csv").write_text(damage)
        assert_refused(lambda: read_refused(out), "refused.csv: not readable")
    import_study(filled.root, people, out, skip=("p01",))
    assert [(row.person, row.reason) for row in read_refused(out)] == [("p01", "Left out by --skip.")]
    with pytest.raises(SnellenError, match="nobody's results were accepted; p01"):
        import_study(filled.root, people[:1], tmp_path / "alone")
    assert [row.person for row in read_refused(tmp_path / "alone")] == ["p01"], "also if nobody was accepted"


def test_nobody_is_added_to_a_run_of_models(filled: FilledStudy, tmp_path: Path) -> None:
    """It may be written anew when somebody is forgotten."""
    items = open_itemset(read_study(filled.root), "combo")
    run(items, ["fake:chance"], tmp_path / "combo", limit=1, show_progress=False)
    responses = read_run_card(tmp_path / "combo")
    with pytest.raises(SnellenError, match="combo: a run of fake:chance; give --out a folder of its own"):
        import_study(filled.root, [Submission("p01", filled.forms[0])], tmp_path)
    assert read_run_card(tmp_path / "combo") == responses


def test_a_name_that_looks_like_a_formula_is_found_again(filled: FilledStudy, tmp_path: Path) -> None:
    """Tables have an apostrophe before it."""
    first, second, *_ = filled.forms
    start = first[0].record.model_copy(update={"participant": "-x"})
    lines = [first[0].model_copy(update={"record": start}), *first[1:4], *first[5:]]
    for people in ([Submission("-x", lines)], [Submission("p02", second)]):
        import_study(filled.root, people, tmp_path, skip_bad=True)
    table = pd.read_csv(tmp_path / "people.csv").set_index("participant")
    assert table["rows_left_out"].to_dict()["'-x"] > 0
    bad = NOT_OF_THE_PAGES["no answers"](lines)
    import_study(filled.root, [Submission("=1+1", bad), Submission("p02", second)], tmp_path / "refused")
    assert [row.person for row in read_refused(tmp_path / "refused")] == ["'=1+1"]
    shutil.copytree(filled.root, tmp_path / "study")
    forget(tmp_path / "study", "=1+1", [tmp_path / "refused"])
    assert read_refused(tmp_path / "refused") == []


def test_of_two_people_with_one_name_the_file_tells_which_to_leave_out(filled: FilledStudy) -> None:
    namesakes = [Submission("p01", rows, f"a.zip: study_result_{n}") for n, rows in enumerate(filled.forms[:2])]
    accepted, left_out = admit_all(namesakes, filled.root, skip=("study_result_0",))
    assert accepted == [("p01", filled.forms[1])]
    assert [row.source for row in left_out] == ["a.zip: study_result_0"]
    with pytest.raises(SnellenError, match="no person and no file of this name"):
        admit_all(namesakes, filled.root, skip=("study_result_7",))


@pytest.mark.parametrize("name", ["form -1", "form 10^25", "another form", "another plan", "no start", "nothing"])
def test_without_a_start_of_the_study_nothing_of_a_person_is_imported(name: str, filled: FilledStudy) -> None:
    """Even if only refused rows are to be left out; "another form": the pages of all rows are of other places."""
    rows = NOT_OF_THE_PAGES[name](filled.forms[0])
    accepted, refused = admit(Submission("p01", rows, "f"), filled.plan, leave_out=True)
    assert [row for row in accepted if isinstance(row.record, PageAnswers)] == []
    assert refused
    if name != "another form":
        assert accepted == []


def test_refused_rows_alone_may_be_left_out(filled: FilledStudy, tmp_path: Path) -> None:
    """Of a person with one impossible answer and one lost line, all else is imported, and both are counted."""
    plan, rows = filled.plan, filled.forms[0]
    questions = [number for number, page_id in enumerate(_ids(plan, 0)) if plan.pages[page_id].kind == "question"]
    first, second = (2 + number for number in questions[:2])
    changed = _with(first, answers={"?": "zzz"})(rows)
    read: list[ReadRow] = [BadLine(second + 1, "The line was changed."), *changed[:second], *changed[second + 1 :]]
    out = tmp_path / "people"
    (examination,) = import_study(filled.root, [Submission("p01", read, "f")], out, skip_bad=True)
    assert len(examination.responses) == len(questions) - 2
    assert [row.row for row in read_refused(out)] == [f"line {second + 1}", f"row {first}", f"row {second}"]
    table = pd.read_csv(out / PEOPLE).iloc[0]
    columns = ["questions", "answered", "not_reached", "rows_left_out"]
    assert list(table[columns]) == [len(questions), len(questions) - 2, 2, 3]
    # The record holds what was accepted, and is read again as it is; people.csv keeps the number of the others.
    import_study(filled.root, [], out)
    assert len(import_study(filled.root, [], out)[0].responses) == len(questions) - 2
    import_study(filled.root, [Submission("p02", filled.forms[1])], out)
    import_study(filled.root, [Submission("p01", read, "f")], out)  # refused at the first of the bad rows
    assert list(pd.read_csv(out / PEOPLE)["rows_left_out"]) == [3, 0]
    assert table["ended"] == NOON.isoformat()


def test_of_two_answers_to_a_page_the_first_counts(filled: FilledStudy) -> None:
    """Even where both are in a record, from before pages were refused that come twice."""
    rows = filled.forms[0]
    first = next(row.record for row in rows if isinstance(row.record, PageAnswers))
    later = first.model_copy(update={"answers": dict.fromkeys(first.answers, "another")})
    participant = Participant("p01", "p01", (*rows[:3], RecordRow(sequence=99, record=later)))
    assert participant.pages[first.page_id] == first


def test_equal_panel_ids_are_flagged(filled: FilledStudy, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    people = []
    for person, panel_id in enumerate(("abc", "abd", "abc", "", "{{%PROLIFIC_PID%}}", "{{%PROLIFIC_PID%}}")):
        parameters = {"PROLIFIC_PID": panel_id} if panel_id else {}
        time = (NOON + timedelta(seconds=person)).isoformat()
        people.append(
            Submission(f"p0{person + 1}", _with(0, parameters=parameters, time=time)(filled.forms[person % 4]))
        )
    import_study(filled.root, people, tmp_path / "people")
    table = pd.read_csv(tmp_path / "people" / PEOPLE, keep_default_na=False)
    assert list(table["same_id_as"]) == ["p03", "", "p01", "", "", ""], "either may be the impostor"
    assert "p01, p03 have the same panel id" in caplog.text
    assert "p05: the address has the placeholder {{%PROLIFIC_PID%}}" in caplog.text


def test_imported_files_are_private_and_a_changed_record_is_not_imported(filled: FilledStudy, tmp_path: Path) -> None:
    out = tmp_path / "people"
    import_study(filled.root, [Submission("p01", filled.forms[0])], out)
    record = out / "records" / "p01.jsonl"
    assert [path.stat().st_mode & 0o777 for path in (out / PEOPLE, out / "refused.csv", record)] == [0o600] * 3
    assert out.stat().st_mode & 0o777 == 0o700
    record.write_text(record.read_text().replace('"seconds":1.5', '"seconds":0.5', 1))
    with pytest.raises(SnellenError, match=r"p01\.jsonl: line 3: The line was changed.* import this person again"):
        import_study(filled.root, [], out)


@pytest.mark.parametrize("name", ["records", "authenticity"])
def test_nothing_is_written_or_deleted_through_links(name: str, filled: FilledStudy, tmp_path: Path) -> None:
    out, elsewhere = tmp_path / "people", tmp_path / "elsewhere"
    submissions = [Submission("a", filled.forms[0])]
    import_study(filled.root, submissions, out)
    elsewhere.mkdir()
    if (out / name).is_dir():
        shutil.move(out / name, elsewhere)
    (out / name).symlink_to(elsewhere / name if (elsewhere / name).is_dir() else elsewhere)
    before = sorted(elsewhere.rglob("*"))
    for act in (lambda: import_study(filled.root, submissions, out), lambda: forget(filled.root, "p01", [out])):
        assert_refused(act, "a link, but what is written in people stays there")
    assert sorted(elsewhere.rglob("*")) == before


def test_a_person_is_forgotten_everywhere(filled: FilledStudy, tmp_path: Path) -> None:
    """By the code on their screen: no file of study or import holds their answers, and no import brings them back."""
    root, out = tmp_path / "study", tmp_path / "people"
    shutil.copytree(filled.root, root)
    service = open_service(root)
    for person, code in enumerate(("kept-kept", "gone-gone")):
        opening = partial(take_slot, link=service.links[0], secret="", parameters={"lab": code}, forms=3)
        slot = service.database.submit(opening).result()
        for row in _with(0, code=code)(filled.forms[person]):
            service.database.submit(partial(keep_row, slot=slot, record_row=row)).result()
    import_study(root, read_results_of(root, []), out)
    everything = list(read_results_of(root, []))
    answered = len(import_study(root, [], out)[0].responses)
    with pytest.raises(SnellenError, match="nobody of this name or code"):
        forget(root, "other-code", [out])
    assert_refused(lambda: forget(root, "gone-gone", [out, tmp_path / "peolpe"]), "peolpe: no one was imported there")
    assert not (tmp_path / "peolpe").exists()
    result = snellen("study", "forget", str(root), "gone-gone", "--imported", str(out), "--json")
    receipt = json.loads(result.stdout)
    assert Path(f"{root / RESULTS}-wal").stat().st_size == 0, "the log of a server that runs is emptied"
    assert receipt["rows_deleted_from_database"] == len(everything[1].rows)
    assert json.loads(Path(receipt["receipt"]).read_text())["folders_written_again"] == [str(out)]
    assert [submission.name for submission in read_results_of(root, [])] == ["p01"]
    assert list(pd.read_csv(out / PEOPLE)["participant"]) == ["p01"]
    (examination,) = import_study(root, everything, out)
    assert {response.subject for response in examination.responses} == {"human:trial/p01"}
    assert len(examination.responses) < answered
    service.database.close()
    copy = tmp_path / "copy"  # another copy of the study does not bring them back into the folder
    shutil.copytree(root, copy)
    (copy / "forgotten.json").unlink()
    (examination,) = import_study(copy, everything, out)
    assert {response.subject for response in examination.responses} == {"human:trial/p01"}
    shutil.rmtree(copy)
    again = forget(root, "gone-gone", [out])
    assert (again["rows_deleted_from_database"], again["deleted_rows"]) == (0, "overwritten")
    receipts = {Path(receipt["receipt"]), Path(again["receipt"])}
    for path in [*root.rglob("*"), *out.rglob("*")]:
        if path.is_file() and path not in receipts:
            assert b"gone-gone" not in path.read_bytes(), path
    assert take_next_name(root) == "p03", "the number is not given to somebody else"


@pytest.mark.parametrize("is_shared", [False, True])
def test_people_s_words_leave_the_house_only_if_they_are_shared(is_shared: bool, tmp_path: Path) -> None:
    rows = [{"image": image_text(n), "question": f"What is written on {n}?", "answer": f"word {n}"} for n in range(12)]
    items = build_set(write_csv(tmp_path / "t.csv", rows), tmp_path / "items")
    texts = Texts(title="Seeing", consent="You may stop.")
    design = StudyDesign(texts=texts, blocks=(BlockDesign(name="b", reason=True),), forms=2, share_words=is_shared)
    root, out = tmp_path / "study", tmp_path / "people"
    stand_in = make_stand_in(build_study([items], design, root, name="trial"), "fake:oracle", 2, tmp_path / "own")
    people = []
    for person in range(2):
        written = [row.model_dump_json() for row in entered(read_plan(root), stand_in, person)]
        spoken = [re.sub(r'"word (\d+)"', rf'"CANARY {person} \1"', line) for line in written]
        assert spoken != written
        people.append(Submission(f"p0{person + 1}", [RecordRow.model_validate_json(line) for line in spoken]))
    (examination,) = import_study(root, people, out)
    assert snellen("report", str(examination.root), "--full", "--out", str(tmp_path / "report")).exit_code == 0
    explored = explorer_content(gather([load_run(examination.root)]), tmp_path / "own")
    (tmp_path / "report" / "explore.json").write_text(json.dumps(explored))
    export = ("export", str(examination.root), "--to", "every-eval-ever", "--out", str(tmp_path / "export"))
    assert snellen(*export).exit_code == 0
    texts_of = {
        folder: b"".join(path.read_bytes() for path in (tmp_path / folder).rglob("*") if path.is_file())
        for folder in ("report", "export")
    }
    assert [b"CANARY" in content for content in texts_of.values()] == [is_shared, is_shared]
    assert all(b"human:trial" in content for content in texts_of.values()), "their scores are there"
    receipt = forget(root, "p02", [out])
    named = {Path(folder).relative_to(tmp_path).parts[0] for folder in receipt["may_still_be_in"]}
    assert named == {"report", "export"}


def test_a_connection_waits_for_the_disk_overwrites_and_checks_references(tmp_path: Path) -> None:
    """An acknowledged answer survives a power cut (2: FULL)."""
    with closing(connect(tmp_path / "results")) as connection:
        for name, value in {"synchronous": 2, "secure_delete": 1, "foreign_keys": 1, "journal_mode": "wal"}.items():
            assert connection.execute(f"PRAGMA {name}").fetchone() == (value,)


def test_nobody_else_reads_the_database_from_the_first_moment_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "chmod", lambda path, mode: None)
    Store(tmp_path / "results", "hash").close()
    assert (tmp_path / "results").stat().st_mode & 0o077 == 0


def test_nothing_is_left_of_people_who_answered_at_the_same_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their rows are stored in turns, so that pages of the database are split, which leaves copies of rows."""
    order = [number for number in range(10) for _ in range(60)]
    random.Random(1).shuffle(order)
    (tmp_path / "all").mkdir()
    Store(tmp_path / "all" / RESULTS, "hash").close()
    with closing(connect(tmp_path / "all" / RESULTS)) as connection:
        connection.execute("PRAGMA synchronous=OFF")
        for number in range(10):
            row = (number, f"p{number}", f"secret {number}", 0, "link", "{}")
            connection.execute("INSERT INTO participants VALUES (?, ?, ?, ?, ?, ?)", row)
        for count, number in enumerate(order):
            words = f"words-of-{number:02} " * (1 + 7 * count % 30)
            connection.execute("INSERT INTO rows VALUES (?, ?, ?)", (number, order[:count].count(number), words))
        monkeypatch.setattr("snellen.web.databases.BUSY_SECONDS", 0.1)
        connection.execute("BEGIN IMMEDIATE")
        assert not _overwrite_deleted(tmp_path / "all"), "while another process writes"
    for number in range(10):
        shutil.copytree(tmp_path / "all", root := tmp_path / str(number))
        with closing(connect(root / RESULTS)) as connection:
            delete_participant(connection, number)
        assert _overwrite_deleted(root)
        content = (root / RESULTS).read_bytes()
        assert [f"words-of-{other:02}".encode() in content for other in range(10)] == [n != number for n in range(10)]


def test_deleted_rows_are_overwritten(tmp_path: Path) -> None:
    """Far more rows than a page holds, of which every other one is deleted."""
    with closing(connect(tmp_path / "results")) as connection:
        connection.execute("CREATE TABLE texts (n INTEGER PRIMARY KEY, text TEXT)")
        rows = [(n, f"{'gone' if n % 2 else 'kept'}-{n}-" * 20) for n in range(400)]
        connection.executemany("INSERT INTO texts VALUES (?, ?)", rows)
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.execute("DELETE FROM texts WHERE n % 2")
    content = (tmp_path / "results").read_bytes()
    assert b"kept-398" in content
    assert b"gone" not in content


@pytest.mark.parametrize("entry", [["x"] * 4, [1.0, True, 2.0, 3.0], [[1.0]], {"a": 1}, [1.0] * 5])
def test_an_answer_is_a_text_a_number_or_four_numbers(entry: object) -> None:
    record = {"type": "answers", "page_id": "p", "position": 0, "seconds": 1.0, "time": "2026-01-01T00:00:00Z"}
    adapter = TypeAdapter(StudyRecord)
    adapter.validate_python({**record, "answers": {"a": [1.0, 2.0, 3.0, 4.0], "b": "x", "c": None, "d": 1.5}})
    with pytest.raises(ValidationError) as refusal:
        adapter.validate_python({**record, "answers": dict.fromkeys(map(str, range(900)), entry)})
    assert refusal.value.error_count() == 1, "naming each of many is slow"


def test_hostile_texts_are_harmless_in_tables_and_on_the_terminal(filled: FilledStudy, tmp_path: Path) -> None:
    """A carriage return is a row's end for readers, and is not quoted by the csv module."""
    hostile = "x\r=cmd|'/C calc'!A0\r\n=HYPERLINK(1)\x1b[31m\nrefused: p03" + 500 * "x"
    parameters = {"PROLIFIC_PID": hostile[:30]} | {f"extra {n}": "x" for n in range(40)}
    rows = _with(0, parameters=parameters)(filled.forms[0])
    people = [Submission(hostile, rows, "f"), Submission(hostile, filled.forms[1][1:], hostile)]
    import_study(filled.root, people, tmp_path / "people")
    for name in (PEOPLE, "refused.csv"):
        text = (tmp_path / "people" / name).read_text("utf-8")
        assert "\r" not in text
        assert "\n=" not in text
        assert len(table := pd.read_csv(tmp_path / "people" / name)) == 1
        assert not [column for column in table.columns if "extra" in column]
    (refused,) = read_refused(tmp_path / "people")
    assert not {"\n", "\x1b"} & set(str(refused))
    assert len(str(refused)) < 500


def test_the_names_of_suites_lead_out_of_no_folder(filled: FilledStudy, tmp_path: Path) -> None:
    """They are names of folders that an import removes and writes again."""
    root = tmp_path / "study"
    shutil.copytree(filled.root, root)
    path = root / "study.json"
    card = json.loads(path.read_text("utf-8"))
    for name in ("../victim", str(tmp_path), "..", "a/b", ""):
        path.write_text(json.dumps({**card, "itemsets": {name: card["itemsets"]["combo"]}}), "utf-8")
        with pytest.raises(SnellenError, match="not a study of this version"):
            read_study(root)


def test_pages_of_the_card_are_those_of_the_plan(filled: FilledStudy, tmp_path: Path) -> None:
    root = tmp_path / "study"
    shutil.copytree(filled.root, root)
    card = json.loads((root / "study.json").read_text("utf-8"))
    (page_id, page), *others = card["pages"].items()
    wrong_items = {page_id: {**page, "item_ids": ["other"]}, **dict(others)}
    for pages in ({"other": page, **dict(others)}, wrong_items, {**card["pages"], "other": page}):
        (root / "study.json").write_text(json.dumps({**card, "pages": pages}), "utf-8")
        with pytest.raises(SnellenError, match=r"its pages are not those of .*; build the study again"):
            read_plan(root)
    for change in ({"suite": "other"}, {"condition": "vanilla "}):
        pages = {name: source | change if source["suite"] else source for name, source in card["pages"].items()}
        (root / "study.json").write_text(json.dumps({**card, "pages": pages}), "utf-8")
        with pytest.raises(SnellenError, match=r"study\.json: page '\w+' names no suite of it, or no condition"):
            import_study(root, [Submission("p01", filled.forms[0], "a.zip")], tmp_path / "people")


def test_a_person_is_forgotten_under_every_name_and_in_every_file(filled: FilledStudy, tmp_path: Path) -> None:
    """Another name in the folder, a result without its first row, and a list of refused rows."""
    root, out = tmp_path / "study", tmp_path / "people"
    shutil.copytree(filled.root, root)
    rows = _with(0, code="gone-gone", participant="p01")(filled.forms[0])
    service = open_service(root)
    opening = partial(take_slot, link=service.links[0], secret="", parameters={}, forms=3)
    slot = service.database.submit(opening).result()
    for row in rows:
        service.database.submit(partial(keep_row, slot=slot, record_row=row)).result()
    other = _with(0, code="kept-kept", participant="p01")(filled.forms[1])
    import_study(root, [Submission("p01", other, "f"), Submission("p01", rows, "g")], out)
    table = pd.read_csv(out / PEOPLE).set_index("code")
    assert table.loc["gone-gone", "participant"] != "p01", "it was taken"
    receipt = forget(root, str(table.loc["gone-gone", "participant"]), [out])
    assert receipt["rows_deleted_from_database"] == len(rows)
    service.database.close()
    returned = Start.model_validate({**rows[0].plain()["record"], "time": "2026-11-23T10:00:00Z"})
    without_first = [RecordRow(sequence=0, record=returned), *rows[1:]]
    accepted, refused = admit_all([Submission("bob", without_first, "h")], root, skip_bad=True)
    assert (accepted, refused) == ([], []), "the code is known"
    import_study(root, [Submission("dan", rows[1:3], "i")], out)
    assert [row.person for row in read_refused(out)] == ["dan"]
    forget(root, "dan", [out])
    assert read_refused(out) == []
    broken = [rows[0], *rows[2:]]
    dan = _with(0, code="dans-code")(broken)
    for name in ("dan", "dans-code"):
        import_study(root, [Submission("dan", dan, "i")], out)
        assert read_refused(out)
        receipt = forget(root, name, [out])
        assert Path(receipt["receipt"]).parent == root
        assert admit_all([Submission("dan", dan, "i")], root, skip_bad=True) == ([], [])
        for folder in (root, out):
            (folder / "forgotten.json").write_text("[]")
    eve = Submission("eve", _with(0, code="eves-code")(filled.forms[2]), "j")
    for name in ("eve", "eves-code"):  # who was left out by --skip is forgotten, too
        import_study(root, [eve], out, skip=("eve",))
        assert [(row.person, len(row.digests.split())) for row in read_refused(out)] == [("eve", 2)]
        forget(root, name, [out])
        assert read_refused(out) == []
        assert admit_all([eve], root) == admit_all([eve], root, skip=("eve",)) == ([], [])
        for folder in (root, out):
            (folder / "forgotten.json").write_text("[]")
    import_study(root, [Submission("/../../Q", dan, "i")], out)
    assert Path(forget(root, "/../../Q", [out])["receipt"]).resolve().parent == root.resolve()


def test_namesakes_are_not_forgotten_together(filled: FilledStudy, tmp_path: Path) -> None:
    root, out = tmp_path / "study", tmp_path / "people"
    shutil.copytree(filled.root, root)
    first, second = (_with(0, code=f"code-{n}", participant="p03")(rows) for n, rows in enumerate(filled.forms[:2]))
    import_study(root, [Submission("p03", first, "f"), Submission("p03", [second[0], *second[2:]], "g")], out)
    assert {row.person for row in read_refused(out)} == {"p03"}
    with pytest.raises(SnellenError, match="2 people are meant"):
        forget(root, "p03", [out])
    forget(root, "code-1", [out])
    assert [name for name, _ in admit_all([Submission("p03", first, "f")], root)[0]] == ["p03"], "who stays"


def test_a_person_is_removed_from_every_folder_under_any_alias(filled: FilledStudy, tmp_path: Path) -> None:
    root = tmp_path / "study"
    shutil.copytree(filled.root, root)
    first, second = (_with(0, code=f"code-{n}", participant="x")(rows) for n, rows in enumerate(filled.forms[:2]))
    people = [Submission("p01", first, "f"), Submission("p02", second, "g")]
    import_study(root, people, tmp_path / "a")
    import_study(root, [Submission("someone", second, "g")], tmp_path / "b")
    receipt = forget(root, "p02", [tmp_path / "a", tmp_path / "b"])
    assert len(receipt["folders_written_again"]) == 2
    assert not list((tmp_path / "b" / "records").iterdir())
    copy = tmp_path / "copy"
    shutil.copytree(filled.root, copy)
    forget(copy, "code-0", [tmp_path / "a"])
    (examination,) = import_study(copy, [*people, Submission("p03", filled.forms[2], "h")], tmp_path / "a")
    who = {response.subject for response in examination.responses}
    assert who == {"human:trial/p03"}, "a copy that knows of one removal keeps the folder's other"


def test_a_person_named_like_a_result_is_not_left_out_for_it(filled: FilledStudy) -> None:
    first, second, *_ = filled.forms
    people = [("study_result_7", first, "a.zip: study_result_9"), ("p", second, "a.zip: study_result_7")]
    accepted, _ = admit_all((Submission(*person) for person in people), filled.root, skip=("study_result_7",))
    assert accepted == [("study_result_7", first)]


def test_nobody_imports_or_removes_while_somebody_is_removed(filled: FilledStudy, tmp_path: Path) -> None:
    with kernel_lock(filled.root / LOCK, filled.root):
        with pytest.raises(SnellenError, match="another process is writing"):
            import_study(filled.root, [], tmp_path / "people")
        with pytest.raises(SnellenError, match="another process is writing"):
            forget(filled.root, "p01", [])


def test_a_page_whose_time_was_up_is_no_answer(filled: FilledStudy) -> None:
    plan, card, rows = filled.plan, read_study(filled.root), filled.forms[0]
    number = 2 + next(n for n, page_id in enumerate(_ids(plan, 0)) if plan.pages[page_id].kind == "question")
    record = rows[number].record
    assert isinstance(record, PageAnswers)
    late = [*rows[:number], again(rows[number], number, answers=dict.fromkeys(record.answers)), *rows[number + 1 :]]
    (before, after) = (people_table(plan, card, as_participants([("p01", some)])).iloc[0] for some in (rows, late))
    assert (before.answered - after.answered, after.time_was_up, after.not_reached) == (1, 1, before.not_reached)


def test_refused_rows_are_counted_for_their_own_person(filled: FilledStudy, tmp_path: Path) -> None:
    """Not for another one of the same name."""
    broken: list[ReadRow] = [*filled.forms[0][:3], BadLine(4, "changed"), BadLine(5, "changed")]
    people = [Submission("p02", broken, "f"), Submission("p02", filled.forms[1], "g")]
    import_study(filled.root, people, tmp_path / "people", skip_bad=True)
    table = pd.read_csv(tmp_path / "people" / PEOPLE)
    counts = dict(zip(table["answered"] > 3, table["rows_left_out"], strict=True))
    assert counts == {True: 0, False: 2}


def test_a_receipt_names_what_may_have_the_person_and_what_was_not_searched(
    filled: FilledStudy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the imported folder, too; samples for judges have people's words without a name."""
    root, work = tmp_path / "study", tmp_path
    shutil.copytree(filled.root, root)
    service = open_service(root)
    for number in range(2):
        opening = partial(take_slot, link=service.links[0], secret="", parameters={}, forms=3)
        slot = service.database.submit(opening).result()
        for row in _with(0, code=f"code-{number}")(filled.forms[number]):
            service.database.submit(partial(keep_row, slot=slot, record_row=row)).result()
    service.database.close()
    (examination,) = import_study(root, read_results_of(root, []), work / "people")
    items, verdicts = examination.items, {"judge": {answer.item_id: answer for answer in examination.responses}}
    (work / "checks").mkdir()
    write_sample(work / "checks" / "sample.csv", items.items, verdicts, 1, 0)
    write_sample_items(work / "queue", items.items, verdicts, 1, 0, items.media)
    (work / "other").mkdir()
    (work / "other" / "notes.md").write_text("human:another/p01, and human:trial/p09")
    texts = [path for path in work.rglob("*") if path.suffix in TEXTS]
    monkeypatch.setattr("snellen.web.forgetting.MAX_FILES", len(texts) + 1)  # the list of the removed; no image
    receipt = forget(root, "code-0", [])
    places = {str(Path(path).relative_to(work)) for path in receipt["may_still_be_in"]}
    assert {"people", "checks/sample.csv", "queue"} <= places
    assert not any(path.startswith("other") for path in places)
    assert receipt["not_searched"] == ""
    monkeypatch.setattr("snellen.web.forgetting.MAX_FILES", 1)
    monkeypatch.setattr("snellen.web.forgetting.MAX_CARD_BYTES", 1)
    result = snellen("study", "forget", str(root), "code-1")
    assert f"closed to you: {work} beyond 1 files, {work}/" in result.stdout
    assert "(2 in all).\n" in result.stdout


def test_a_person_who_only_opened_the_study_is_forgotten(
    filled: FilledStudy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reader of the log, which may keep a copy there, is named in the receipt."""
    root = tmp_path / "study"
    shutil.copytree(filled.root, root)
    service = open_service(root)
    for wing in ("north-wing", "south-wing"):
        opening = partial(take_slot, link=service.links[0], secret="", parameters={"lab": wing}, forms=3)
        service.database.submit(opening).result()
    monkeypatch.setattr("snellen.web.importing.MAX_TOTAL_BYTES", 1)  # too much to import, but not to be removed
    assert_refused(lambda: import_study(root, read_results_of(root, []), tmp_path / "people"), "`snellen study forget`")
    receipt = forget(root, "p01", [])
    assert (receipt["rows_deleted_from_database"], receipt["deleted_rows"]) == (0, "overwritten")
    for path in root.rglob("*"):
        assert not path.is_file() or b"north-wing" not in path.read_bytes(), path
    monkeypatch.setattr("snellen.web.databases.BUSY_SECONDS", 0.1)
    with closing(connect(root / "results.sqlite")) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM participants").fetchall()
        assert forget(root, "p02", [])["deleted_rows"] == "copies may be left; stop the server and repeat by code"
    service.database.close()


def test_only_runs_of_the_study_are_removed_and_an_interrupted_removal_is_repeated(
    filled: FilledStudy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other folders stay; a person whose removal was interrupted is removed by the same command, or by an import."""
    root, out = tmp_path / "study", tmp_path / "people"
    shutil.copytree(filled.root, root)
    rows = [_with(0, code=f"code-{n}")(filled.forms[n]) for n in range(2)]
    people = [Submission(f"p0{n + 1}", some) for n, some in enumerate(rows)]
    import_study(root, people, out)
    for folder in ("thesis", ".git", "study"):
        (out / folder).mkdir()
        (out / folder / "file").write_text("mine")
    with monkeypatch.context() as patch:
        patch.setattr("snellen.web.importing.ask", lambda *_, **__: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            forget(root, "code-1", [out])
    forget(root, "code-1", [out])
    assert [path.stem for path in (out / "records").iterdir()] == ["p01"]
    assert {(out / folder / "file").read_text() for folder in ("thesis", ".git", "study")} == {"mine"}
    # Who was forgotten without naming the folder is removed by the next import.
    import_study(root, people, out)
    (root / "forgotten.json").unlink()
    (out / "forgotten.json").unlink(missing_ok=True)
    import_study(root, people, out)
    assert len(pd.read_csv(out / PEOPLE)) == 2
    (root / "forgotten.json").write_text(json.dumps([start_digest(rows[1][0])]))
    (examination,) = import_study(root, [], out)
    assert {response.subject for response in examination.responses} == {"human:trial/p01"}
    assert list(pd.read_csv(out / PEOPLE)["participant"]) == ["p01"]
    (root / "forgotten.json").write_text(json.dumps([start_digest(some[0]) for some in rows]))
    assert import_study(root, [], out) == []
    assert not (out / PEOPLE).exists()
    assert not list((out / "records").iterdir())
    for wrong in (root, tmp_path):
        with pytest.raises(SnellenError, match="is or holds the study itself"):
            import_study(root, people, wrong)


def take_next_name(root: Path) -> str:
    service = open_service(root)
    opening = partial(take_slot, link=service.links[0], secret="", parameters={}, forms=3)
    slot = service.database.submit(opening).result()
    service.database.close()
    return str(slot.name)


def test_names_that_are_not_plain_words_get_an_alias() -> None:
    start = Start(type="start", participant="x", form=0, plan_hash="", time=NOON)
    names, code = ("p01", "../../etc", "p01", "ab12-cd34"), "ab12-cd34"  # by their code they may withdraw
    rows = [
        again(RecordRow(sequence=0, record=start), 0, time=NOON + timedelta(seconds=n), code=code) for n in range(4)
    ]
    participants = as_participants((name, [row]) for name, row in zip(names, rows, strict=True))
    assert [person.alias for person in participants] == ["p01", "p02", "p03", "p04"]
    assert [person.name for person in participants] == list(names)


@pytest.mark.slow
def test_no_file_of_a_bundle_has_an_answer_key(sets_folder: Path, tmp_path: Path) -> None:
    """Only practice pages have feedback, and only views in the plan are about an item."""
    card = small_study("ava-bench", sets_folder, tmp_path / "study")
    plan, items = read_plan(tmp_path / "study"), small_set("ava-bench", sets_folder)
    with_feedback = [page for page in plan.pages.values() if page.feedback is not None]
    assert {items.by_id[item_id].split for page in with_feedback for item_id in page.feedback or {}} == {"train"}
    assert {page.kind for page in with_feedback} == {"practice"}
    assert {path.name for path in (tmp_path / "study" / BUNDLE).iterdir()} == {
        "index.html", "plan.json", "plan.js", "page", "vendor", "media",
    }  # fmt: skip
    assert read_study(tmp_path / "study") == card


def test_the_authenticity_verdict_is_a_column_and_excludes_no_one(sets_folder: Path, tmp_path: Path) -> None:
    """One person is always right, the other always takes the first answer; the checked block is not part of the run."""
    rule = {"min_accuracy": 0.9, "min_items": 4, "possible_seconds": 0.6}
    checked = BlockDesign.model_validate({"name": "looking", "tasks": ["gc-mat"], "authenticity": rule})
    design = StudyDesign(texts=Texts(title="t"), blocks=(BlockDesign(name="b", tasks=("oc-cnt",)), checked), forms=2)
    card = build_study([small_set("vlm2-bench", sets_folder)], design, tmp_path / "study", name="trial")
    plan = read_plan(tmp_path / "study")
    results = []
    for person, subject in enumerate(("fake:oracle", "fake:chance")):
        stand_in = make_stand_in(card, subject, 2, tmp_path / subject.removeprefix("fake:"))
        results.append(Submission(f"p0{person + 1}", entered(plan, stand_in, person)))
    (examination,) = import_study(tmp_path / "study", results, tmp_path / "people")
    assert {response.task for response in examination.responses} == {"oc-cnt"}
    assert {response.subject for response in examination.responses} == {"human:trial/p01", "human:trial/p02"}
    table = pd.read_csv(tmp_path / "people" / PEOPLE)
    assert list(table["authentic"]) == ["passed", "failed"]
    assert table["authentic_reasons"][1].endswith("under 0.9")
    # Before anyone reached that block there is no verdict, and everything else is imported.
    begun = [Submission(submission.name, submission.rows[:3]) for submission in results]
    import_study(tmp_path / "study", begun, tmp_path / "early")
    assert "authentic" not in pd.read_csv(tmp_path / "early" / PEOPLE)


def test_a_study_from_the_command_line_to_a_report(sets_folder: Path, tmp_path: Path) -> None:
    """Files saved by participants lead to a run and a report; faults are reported in one line."""
    design = tmp_path / "design.yaml"
    design.write_text("texts: {title: Seeing}\nforms: 2\nblocks: [{name: b, tasks: [img2text], questions: 4}]\n")
    items, study, people = small_set("combo", sets_folder).root, tmp_path / "study", tmp_path / "people"
    built = snellen("study", "build", str(items), "--design", str(design), "--out", str(study), "--json")
    assert json.loads(built.stdout)["pages_a_form"] == 4
    stand_in = make_stand_in(read_study(study), "fake:oracle", 2, tmp_path / "own")
    saved = []
    for person in range(2):
        rows = entered(read_plan(study), stand_in, person)
        saved.append(tmp_path / f"p0{person + 1}.jsonl")
        saved[-1].write_text("".join(f"{row.model_dump_json()}\n" for row in rows))
    imported = snellen("study", "import", str(study), *map(str, saved), "--out", str(people), "--json")
    assert (result := json.loads(imported.stdout))["responses"] == 8
    assert result["people_by_form"] == [1, 1]
    assert snellen("report", str(people / "combo"), "--out", str(tmp_path / "report")).exit_code == 0
    assert any("People" in page.read_text() for page in (tmp_path / "report").glob("combo*.html"))
    # Two more with form 0 are counted, and the imbalance is named.
    for person in (3, 5):
        rows = entered(read_plan(study), stand_in, 0)
        start = rows[0].record.model_copy(update={"participant": f"p0{person}"})
        lines = [rows[0].model_copy(update={"record": start}), *rows[1:]]
        saved.append(tmp_path / f"p0{person}.jsonl")
        saved[-1].write_text("".join(f"{row.model_dump_json()}\n" for row in lines))
    uneven = snellen("study", "import", str(study), *map(str, saved[2:]), "--out", str(people))
    assert "note: forms are uneven: 1 to 3 people each" in uneven.stdout
    exported = snellen("study", "export", str(study), "--to", "folder", "--out", str(tmp_path / "kiosk"))
    assert "note: each device begins with a form at random" in exported.stdout
    second = snellen("study", "export", str(study), "--to", "folder", "--form", "3", "--out", str(tmp_path / "second"))
    assert "note" not in second.stdout
    assert 'data-form="1"' in (tmp_path / "second" / "index.html").read_text()  # the third modulo two forms
    jatos = snellen("study", "export", str(study), "--to", "jatos", "--form", "3", "--out", str(tmp_path / "a.jzip"))
    assert "--form is for --to folder" in str(jatos.exception)
    nobody = snellen("study", "import", str(study), "--out", str(people))
    assert isinstance(nobody.exception, SnellenError)
    assert "`snellen study serve` writes them" in str(nobody.exception)


def snellen(*words: str) -> Result:
    from snellen.cli.app import app

    return CliRunner().invoke(app, list(words))


def test_a_stand_in_s_answers_depend_on_views_only(sets_folder: Path, tmp_path: Path) -> None:
    card = small_study("combo", sets_folder, tmp_path / "study")
    stand_in = make_stand_in(card, "fake:constant=I cannot tell", 1, tmp_path / "own")
    page = next(page for page in read_plan(tmp_path / "study").pages.values() if page.kind == "question")
    assert all(isinstance(view, View) for view in stand_in.views.values())
    with pytest.raises(SnellenError, match="gave no readable answer"):
        stand_in.answers(page, 0)


def test_words_for_shapes_and_materials_have_images(sets_folder: Path, tmp_path: Path) -> None:
    block = BlockDesign(name="b", tasks=("pattern-perception",), conditions=("samples=1,questions=one",))
    design = StudyDesign(texts=Texts(title="Seeing"), blocks=(block,), forms=1)
    build_study([small_set("combo", sets_folder)], design, tmp_path / "study", name="trial")
    terms = read_plan(tmp_path / "study").forms[0][0].terms
    assert [term.word for term in terms] == [*SHAPES, *MATERIALS], "the choices name them all"
    assert len({(tmp_path / "study" / "bundle" / term.image.path).read_bytes() for term in terms}) >= len(SHAPES)


def test_images_of_a_study_whose_metadata_people_can_read_are_counted(tmp_path: Path) -> None:
    places = Image.Exif()
    places[0x0110] = "a camera"
    for n in range(4):
        Image.new("RGB", (9, 7), (60 * n, 0, 0)).save(tmp_path / f"{n}.jpg", exif=places if n % 2 else Image.Exif())
    rows = [{"id": n, "image": f"{n}.jpg", "question": "?", "A": "a", "B": "b", "answer": "A"} for n in range(4)]
    items = build_set(write_csv(tmp_path / "table.csv", rows), tmp_path / "items")
    design = StudyDesign(texts=Texts(title="Seeing"), blocks=(BlockDesign(name="b", questions=4),))
    card = build_study([items], design, tmp_path / "study")
    assert "participants can read the metadata (EXIF: places, cameras) of 2 images" in card.notes


def test_a_study_states_its_length_its_words_and_what_its_consent_lacks(sets_folder: Path, tmp_path: Path) -> None:
    texts = Texts(
        title="Seeing", consent="You may stop.", who="A laboratory", contact="a@b.c", storage="ten years",
        completion_code="C1X9", completion_url="https://panel.example/done",
    )  # fmt: skip
    block = BlockDesign(name="b", tasks=("object", "counting"), questions=2, attention=1)
    items = small_set("ava-bench", sets_folder)
    card = build_study([items], StudyDesign(texts=texts, blocks=(block,), forms=2), tmp_path / "study", name="trial")
    plan = read_plan(tmp_path / "study")
    assert card.notes == (
        "the consent page does not state approval, withdrawal: add them to texts in the design (docs/people.md)",
    )
    public = "".join((tmp_path / "study" / BUNDLE / name).read_text("utf-8") for name in ("plan.json", "plan.js"))
    assert ("A laboratory" in public, "C1X9" in public, "panel.example" in public) == (True, False, False)
    # Two choices, two numbers and an attention check of 9, 15 and 9 seconds: just over a minute, and one around them.
    assert (plan.wording, plan.minutes, plan.break_every) == ("people", 2, 50)
    terms = plan.forms[0][0].terms
    assert {term.word for term in terms} <= {*KINDS, *TEXTURES}
    assert len(terms) >= 2
    assert all((tmp_path / "study" / "bundle" / term.image.path).exists() for term in terms)
    (check,) = {page.page_id for page in plan.pages.values() if page.kind == "attention"}
    assert any(part.model_dump().get("path") for part in plan.pages[check].parts), "it shows an image as the others do"
    models = StudyDesign(texts=Texts(title="Seeing"), blocks=(block,), forms=2, wording="models")
    assert build_study([items], models, tmp_path / "other", name="trial").notes == ()
    plan = read_plan(tmp_path / "other")
    assert plan.forms[0][0].terms == ()
    parts = [part.model_dump() for page in plan.pages.values() for part in page.parts]
    assert any("Answer with" in part.get("text", "") for part in parts)
    twins = tuple(block.model_copy(update={"name": name}) for name in ("a b", "a-b"))  # both checks are check-0-a-b
    design = StudyDesign(texts=Texts(title="Seeing"), blocks=twins, forms=2)
    assert_refused(lambda: build_study([items], design, tmp_path / "twins"), "give a block another name")


def test_a_stand_in_is_asked_what_the_pages_show_and_may_learn_from_all_training_items(tmp_path: Path) -> None:
    rows = [
        {"image": image_text(n), "question": "Which?", "options": "['red', 'blue']", "answer": "AB"[n % 2], "id": n,
         "split": "train" if n in (1, 4, 6) else "test"}
        for n in range(9)
    ]  # fmt: skip
    items = build_set(write_csv(tmp_path / "table.csv", rows), tmp_path / "items")
    block = BlockDesign(name="b", questions=2, assignment="same", conditions=("vanilla", "order=shuffled"))
    card = build_study([items], StudyDesign(texts=Texts(title="Seeing"), blocks=(block,), forms=2), tmp_path / "study")
    stand_in = make_stand_in(card, "fake:chance", 3, tmp_path / "own")
    examination = stand_in.examinations["questions"]
    page_items = {item_id for page in card.pages.values() for item_id in page.item_ids}
    splits = {item.item_id: item.split for item in examination.items.items}
    assert splits == dict.fromkeys("146", "train") | dict.fromkeys(page_items, "test")
    places = {(response.condition, response.repeat, response.item_id) for response in examination.responses}
    assert len(page_items) == 2
    assert places == {
        (text, n, name) for text in ("vanilla", "order=shuffled") for n in range(3) for name in page_items
    }
    assert stand_in.views.keys() == {("questions", text, name) for text, _, name in places}
