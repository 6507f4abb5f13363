"""Answers of a step by several authors about several items: which are used, for what, and which are refused."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from snellen.core.item import ReplySpec
from snellen.core.response import Response
from snellen.core.storage.itemset import ItemSet, write_itemset
from snellen.curation.results import (
    StepResult,
    check_about,
    construction_subjects,
    make_table,
    read_step_result,
    read_step_results,
    read_table,
    run_folder,
)
from snellen.curation.review import DecisionCard
from snellen.curation.steps import step_item, table_provenance
from tests.helpers.journey import colour_set
from tests.helpers.refusals import assert_refused
from tests.helpers.reviewers import decision_set, reviewed_by, words

SPEC = ReplySpec("choice", (("A", "keep"), ("B", "drop")))


@pytest.fixture
def items(tmp_path: Path) -> ItemSet:
    return colour_set(tmp_path / "items")


@pytest.fixture
def steps(tmp_path: Path, items: ItemSet) -> ItemSet:
    """Captions of two images: the first is shown by three items, one of them named twice; the second by one."""
    about = [(["000", "001", "000", "002"], "a"), (["002"], "b")]
    captions = [
        step_item("caption", f"c{n}", "What?", (), "description", provenance=table_provenance(items, *fields))
        for n, fields in enumerate(about)
    ]
    assert [item.provenance["items"] for item in captions] == [["000", "001", "002"], ["002"]]
    return write_itemset(tmp_path / "steps", captions, source="captions", recipe={})


def response(item_id: str, text: str | None, **cells: Any) -> Response:
    given: dict[str, Any] = {"status": "ok", "reason": "", "calls": (), "reply_spec": SPEC, **cells}
    return Response(item_id, "m", "f", item_id, "caption", "vanilla", 0, text=text, **given)


def test_answers_are_those_that_can_be_read(steps: ItemSet) -> None:
    first, second = steps.items
    read = StepResult("m", steps, {"c0": response("c0", "B"), "c1": response("c1", "hm")})
    assert ([read.text(first), read.text(second)], read.answers) == (["B", "hm"], {"c0": "drop"})
    for failed in (response("c0", "B", status="failed"), response("c0", ""), response("c0", None)):
        assert StepResult("m", steps, {"c0": failed}).text(first) is None
    by_people = StepResult("human:a", steps, read.responses, {"c1": "keep"})
    assert (by_people.text(second), by_people.answers) == ("keep", {"c0": "drop", "c1": "keep"})
    variants = [read, by_people, replace(read, author="n"), replace(read, responses={"c0": response("c0", "A")})]
    assert len({result.hash for result in variants}) == len(variants)


def test_a_table_has_a_row_for_every_item_and_image(steps: ItemSet, items: ItemSet, tmp_path: Path) -> None:
    result = StepResult("m", steps, {"c0": response("c0", "red"), "c1": response("c1", "blue")})
    table = make_table("captions", tmp_path, result, items)
    assert (table.name, table.author, table.about) == ("captions", "m", items.card.content_hash)
    assert table.rows == {"000": {"a": "red"}, "001": {"a": "red"}, "002": {"a": "red", "b": "blue"}}
    reasons = {
        "never asked": None, "503": response("c1", None, status="failed", reason="503"), "no text": response("c1", "")
    }  # fmt: skip
    for reason, last in reasons.items():
        incomplete = replace(result, responses={"c0": response("c0", "red"), **({"c1": last} if last else {})})
        message = f"{tmp_path}: no answer for c1 ({reason}); run it again"
        assert_refused(partial(make_table, "captions", tmp_path, incomplete, items), message)


@pytest.mark.parametrize(("task", "fits"), [("", True), ("caption", True), ("boxes", False)])
def test_a_result_is_about_one_set_and_of_one_task_or_decided_by_people(
    steps: ItemSet, items: ItemSet, task: str, fits: bool, tmp_path: Path
) -> None:
    result = StepResult("m", steps)

    def check() -> None:
        check_about(tmp_path, result, items, "captions", "do so", task)

    if fits:
        check()
    else:
        assert_refused(check, f"{tmp_path}: was not made for {items.root}, so it has no captions for it; do so")
    first, second = steps.items
    result = StepResult("m", replace(steps, items=(replace(first, task="decision"), replace(second, task=task or "x"))))
    check()
    result = StepResult("m", replace(steps, items=(first, replace(second, provenance={"about": "others"}))))
    assert_refused(check, "was not made for")


def test_decisions_of_a_file_are_by_people_if_all_their_authors_are(tmp_path: Path) -> None:
    items, path = decision_set(tmp_path / "set"), tmp_path / "decisions.csv"
    for authors, role in (
        (("human:r/a, human:r/b", "human:r/c"), "person"),
        (("human:r/a, chat:x", "human:r/c"), "model"),
    ):
        path.write_text(f'item_id,decision,author,reason\ni0,keep,"{authors[0]}",\ni1,drop,{authors[1]},\n')
        result = read_step_result(path, items)
        assert (result.role, result.answers) == (role, {"i0": "keep", "i1": "drop"})
        assert read_table("votes", path, items).rows["i1"]["decision"] == "drop"
    assert_refused(lambda: read_step_result(path), "the items that decisions.csv decides on are unknown (")
    card = DecisionCard(
        itemset=str(items.root),
        content_hash=items.card.content_hash,
        runs=[],
        reviewers=[],
        items=3,
        decided=2,
        disputed=0,
    )
    path.with_suffix(".json").write_text(card.model_dump_json())
    assert read_step_result(path).items.items == items.items
    path.with_suffix(".json").write_text(card.model_copy(update={"content_hash": "x"}).model_dump_json())
    assert_refused(lambda: read_step_result(path), f"not the item set that {path} decides about (content_hash)")


def test_of_several_runs_in_a_folder_one_must_be_given(tmp_path: Path) -> None:
    items, root = decision_set(tmp_path / "set"), tmp_path / "people"
    assert_refused(lambda: run_folder(root), f"{root}: no run here; ask a subject with `snellen run")
    run = reviewed_by(items, {"ann": words(i0="keep", i1="drop"), "bob": words(i0="drop", i1="drop")}, root)
    assert (run_folder(root), run_folder(run)) == (run, run)
    results = read_step_results(root)
    assert [(result.author, result.role) for result in results] == [
        ("human:review/ann", "person"), ("human:review/bob", "person")
    ]  # fmt: skip
    assert [dict(result.answers) for result in results] == [{"i0": "keep", "i1": "drop"}, {"i0": "drop", "i1": "drop"}]
    (root / "second").mkdir()
    (root / "second" / "run.json").write_text("{}")
    assert_refused(lambda: run_folder(root), f"{root}: several runs here; give one of {run}, {root / 'second'}")


def test_people_s_agreement_is_about_the_reviewed_set_of_the_same_ids(tmp_path: Path) -> None:
    items, same = decision_set(tmp_path / "set"), words(i0="keep", i1="drop", i2="keep")
    reviewed_by(items, {"ann": same, "bob": same}, tmp_path / "people")
    larger = decision_set(tmp_path / "larger", 4)
    result = read_step_result(tmp_path / "people", larger)
    assert (result.items, result.answers) == (larger, {"i0": "keep", "i1": "drop", "i2": "keep"})
    smaller = decision_set(tmp_path / "smaller", 2)
    assert_refused(lambda: read_step_result(tmp_path / "people", smaller), f"item 'i2' is not in {smaller.root}")
    others = {"a": result, "b": StepResult("chat:x", items), "c": StepResult("human:review/ann", items)}
    assert construction_subjects(others) == ["chat:x", "human:review/ann", "human:review/bob"]
