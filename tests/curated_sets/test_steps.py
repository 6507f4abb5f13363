"""Declared steps: their commands, the finished part of a chain, results that do not fit, and verdicts of a review."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from snellen.core.build_options import BuildOptions
from snellen.core.errors import SnellenError
from snellen.core.item import Item
from snellen.core.storage.itemset import ItemSet, write_itemset
from snellen.curated_sets.steps import (
    Argument,
    ItemStep,
    Stage,
    Step,
    Verdicts,
    plan_chain,
    read_about,
    verdicts_of,
    write_step,
)
from snellen.curation.ledger import Ledger
from snellen.curation.results import StepResult
from snellen.curation.review import read_review
from snellen.curation.steps import chain_lines, step_item
from snellen.suites import SUITES
from tests.helpers.journey import colour_set
from tests.helpers.refusals import assert_refused
from tests.helpers.sets import small_set

SOURCE = Argument("source", "data", "ROOT")
CAPTIONS = Argument("input", "captions", "RUN")
CHOICES = Argument("source", "choices", "REVIEW/choices", optional=True)


def make_items(words: list[str]) -> list[Item]:
    return [step_item("caption", f"c{n}", word, (), "description") for n, word in enumerate(words)]


STEP: Step[list[str], int] = Step(
    suite="s", name="captions", needs=(SOURCE,), result=CAPTIONS, subjects=("A", "B"), condition="shots=0",
    make_items=make_items, read=lambda words, result: len(result.answers),
)  # fmt: skip
MERGES = Stage(suite="s", name="merges", needs=(CAPTIONS,), result=CHOICES, folder="REVIEW", note="then look at them")
FINAL = Stage(suite="s", name="", needs=(SOURCE, CAPTIONS, CHOICES), bounded=True)


def test_errors_print_commands_with_placeholders(tmp_path: Path) -> None:
    assert STEP.commands() == (
        "snellen build s/captions --from curated --source data=ROOT --out STEP",
        "snellen run STEP --condition shots=0 --subject A --subject B --out RUN",
    )
    with pytest.raises(
        SnellenError, match=r"s/x: --input captions=RUN is missing; make the run with `snellen build s/"
    ):
        STEP.result_path(BuildOptions(tmp_path), "s/x")
    assert STEP.result_path(BuildOptions(tmp_path, inputs={"captions": tmp_path}), "s/x") == tmp_path


def test_a_chain_is_planned_from_its_end() -> None:
    nothing = plan_chain((STEP, MERGES, FINAL), BuildOptions(Path(), n=3, seed=7))
    assert [row["state"] for row in nothing] == ["to do", "optional", "to do"]
    assert nothing[1]["commands"] == [
        "snellen build s/merges --from curated --input captions=captions-run --out merges --seed 7"
    ]
    assert nothing[2]["commands"] == [
        "snellen build s --from curated --source data=ROOT --input captions=captions-run --out items --n 3 --seed 7"
    ]
    options = BuildOptions(Path(), sources={"data": Path("d")}, inputs={"captions": Path("r")})
    rows = plan_chain((STEP, MERGES, FINAL), options)
    assert [row["state"] for row in rows] == ["done", "optional", "to do"]
    assert rows[2]["commands"] == ["snellen build s --from curated --source data=d --input captions=r --out items"]
    chosen = replace(options, sources={"data": Path("d"), "choices": Path("c")})
    assert [row["state"] for row in plan_chain((STEP, MERGES, FINAL), chosen)] == ["done", "done", "to do"]
    apart = plan_chain((STEP, MERGES, FINAL), BuildOptions(Path(), sources={"AID": Path("a"), "DTD": Path("b")}))
    assert apart[0]["commands"][0] == (
        "snellen build s/captions --from curated --source AID=a --source DTD=b --out captions"
    )
    assert json.loads(json.dumps(nothing)) == nothing
    assert chain_lines(rows)[:3] == [
        "step 1: s/captions, done",
        "step 2: s/merges, optional",
        "    snellen build s/merges --from curated --input captions=r --out merges",
    ]
    assert "    (then look at them)" in chain_lines(rows)


def test_a_result_must_be_about_the_same_items(tmp_path: Path) -> None:
    items = STEP.make_items(["red", "blue"])
    result = StepResult("m", write_itemset(tmp_path, items, source="x", recipe={}), decisions={"c0": "keep"})
    STEP.check(items, result)
    assert (STEP.read([], result), result.answers) == (1, {"c0": "keep"})
    more = STEP.make_items(["red", "blue", "green"])
    for others, odd in (
        (STEP.make_items(["red", "green"]), "c1"), (items[:1], "c1"), (more, "c2"), ([*items, items[0]], None)
    ):  # fmt: skip
        if odd is None:
            STEP.check(others, result)
            continue
        with pytest.raises(
            SnellenError, match=f"item '{odd}' differs from the one that the given sources and inputs lead to"
        ):
            STEP.check(others, result)


def test_a_step_about_a_set_copies_what_its_items_show(tmp_path: Path) -> None:
    about = colour_set(tmp_path / "set")
    (image,), clip = about.items[0].query, about.media.add(b"no frames", "video", "mp4", (640, 480), 2.5)
    captions = [
        step_item("caption", "c0", "?", (clip, image), "text", "scene"),
        step_item("caption", "c1", "!", (), "text"),
    ]
    assert [(item.stimulus_id, item.cluster_id, item.group_id) for item in captions] == [
        ("scene", "scene", "c0"), ("c1", "c1", "c1")
    ]  # fmt: skip
    step = ItemStep[ItemSet](suite="hard", name="captions", make_items=lambda items: captions)
    options = BuildOptions(tmp_path, sources={"items": about.root})
    written = write_step(step, read_about(step, options), tmp_path / "out", ["a note"])
    assert (written.items, written.card.source, written.card.notes) == (tuple(captions), "captions", ["a note"])
    assert written.card.recipe == {"about": about.card.content_hash, "step": "captions"}
    assert [written.media.read(media) for media in (clip, image)] == [b"no frames", about.media.read(image)]
    other = replace(step, suite="soft")
    assert_refused(lambda: read_about(other, options), f"{about.root}: an item set of hard, not of soft")
    assert_refused(lambda: read_about(step, BuildOptions(tmp_path)), "hard/captions: --source items=ITEMSET is missing")


@pytest.mark.parametrize("name", ["vlm2-bench", "vfm-bench", "ava-bench"])
def test_every_curated_recipe_plans_its_chain_without_inputs(name: str, tmp_path: Path) -> None:
    plan = SUITES.get(name).recipes["curated"].plan(BuildOptions(tmp_path))
    assert plan["items"] == {}
    assert plan["needs"]
    assert all(row["state"] != "done" for row in plan["steps"])
    assert all(row["commands"][0].startswith(f"snellen build {name}") for row in plan["steps"])
    assert any(command.startswith("snellen run ") for row in plan["steps"] for command in row["commands"])


def test_a_chain_resumes_at_the_next_step(few_items: ItemSet, tmp_path: Path) -> None:
    recipe = SUITES.get("vfm-bench").recipes["curated"]
    plan = recipe.plan(BuildOptions(tmp_path, sources={"items": few_items.root}))
    assert [(row["step"], row["state"]) for row in plan["steps"]] == [
        ("vfm-bench/candidates", "done"),
        ("vfm-bench/select", "done"),
        ("vfm-bench/review", "to do"),
        ("vfm-bench", "to do"),
    ]


@pytest.fixture
def few_items(sets_folder: Path) -> ItemSet:
    return small_set("vfm-bench", sets_folder)


@pytest.fixture
def built(tmp_path: Path) -> ItemSet:
    return colour_set(tmp_path / "set")


def test_verdicts_leave_out_what_was_dropped_or_never_decided(tmp_path: Path, built: ItemSet) -> None:
    path = tmp_path / "review.csv"
    lines = ["000, Keep ,Ann,fine", "001,DROP,Bob, blurred ", '002,drop,"Ann, Cem",', "003,maybe,Ann,"]
    path.write_text("\n".join(["item_id,decision,author,reason", *lines[:3]]))
    verdicts = verdicts_of(read_review(path, built))
    reasons = {"000": "", "001": "by the review (blurred)", "002": "by the review (no reason)"}
    assert verdicts == Verdicts("Ann, Bob, Cem", reasons)
    ledger, first = Ledger(), replace(built.items[0], provenance={"construction_subjects": ["chat:x"], "seed": 0})
    (remaining,) = verdicts.apply([first, *built.items[1:]], ledger, "items")
    assert remaining == replace(first, provenance={"construction_subjects": ["Ann", "Bob", "Cem", "chat:x"], "seed": 0})
    left_out = {"items": {"": {"kept": 0, "dropped": {
        rule: {"count": 1, "examples": [item_id]}
        for item_id, rule in (("001", reasons["001"]), ("002", reasons["002"]), ("003", "no decision"))
    }}}}  # fmt: skip
    assert ledger.as_card() == left_out
    others = [verdicts, Verdicts("Ann", reasons), Verdicts(verdicts.author, {**reasons, "001": "by the review (dark)"})]
    assert len({verdict.hash for verdict in others}) == 3
    path.write_text("\n".join(["item_id,decision,author,reason", *lines]))
    with pytest.raises(SnellenError, match=r"review\.csv: 003: no decision 'maybe'; write keep or drop"):
        verdicts_of(read_review(path, built))
