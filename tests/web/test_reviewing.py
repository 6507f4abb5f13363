"""Reviews: planted disagreement, and every number worked by hand."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from snellen.core.errors import SnellenError
from snellen.core.item import Item, Option
from snellen.core.storage.itemset import ItemSet
from snellen.curation.results import read_panel, read_step_result
from snellen.curation.review import DecisionCard, card_path, read_review
from snellen.scoring.uncertainty import cluster_wilson
from snellen.web.admission import Submission
from snellen.web.building import build_study
from snellen.web.design import read_design
from snellen.web.importing import import_study
from snellen.web.plan import PageAnswers, RecordRow
from snellen.web.reviewing import agreement_lines, agreement_of, decide_review, item_subset, third_study
from snellen.web.stand_ins import make_stand_in
from snellen.web.study import read_plan
from snellen.web.trials import KeyCheck
from tests.helpers.reviewers import decision_set, reviewed_by, words
from tests.helpers.studies import entered

ANN = {"i0": ("keep", ""), "i1": ("keep", "sharp"), "i2": ("drop", "blurred"), "i3": ("drop", "")}
BOB = {"i0": ("keep", "=1+1"), "i1": ("keep", "bright"), "i2": ("drop", ""), "i3": ("keep", "")}


@pytest.fixture
def items(tmp_path: Path) -> ItemSet:
    return decision_set(tmp_path / "items", 4)


@pytest.fixture
def run(items: ItemSet, tmp_path: Path) -> Path:
    return reviewed_by(items, {"ann": ANN, "bob": BOB}, tmp_path / "people")


def test_agreement_by_hand(run: Path) -> None:
    # 3 of 4 agree. keep 5, drop 3 of 8 votes: chance 25/64 + 9/64 = 34/64. Kappa (3/4 - 34/64) / (1 - 34/64) = 14/30.
    # Alpha: observed disagreement 1/4; expected 2 * 5 * 3 / (8 * 7) = 30/56; 1 - (1/4) / (30/56) = 16/30.
    agreement = agreement_of(read_panel([run]))
    assert agreement.percent == 3 / 4
    assert agreement.fleiss_kappa == pytest.approx(14 / 30)
    assert agreement.krippendorff_alpha == pytest.approx(16 / 30)


def test_a_third_reviewer_does_not_move_the_agreement(items: ItemSet, run: Path, tmp_path: Path) -> None:
    rest = item_subset(items, read_panel([run]).undecided, tmp_path / "rest")
    assert [item.item_id for item in rest.items] == ["i3"]
    third = reviewed_by(rest, {"cem": words(i3="drop")}, tmp_path / "third")
    assert agreement_of(read_panel([run, third])) == agreement_of(read_panel([run]))
    panel, card = decide_review([run, third], tmp_path / "d.csv")
    assert panel.decision("i3") == "drop"
    assert (card.decided, card.disputed, card.third) == (4, 0, ["human:review/cem"])


def test_decisions_are_a_review_with_authors_reasons_and_times(items: ItemSet, run: Path, tmp_path: Path) -> None:
    _record(tmp_path / "people" / "records" / "ann.jsonl", "i2", "2026-11-22T10:00:31Z")
    _record(tmp_path / "people" / "records" / "bob.jsonl", "i2", "2026-11-22T11:00:00Z")
    out = tmp_path / "out" / "decisions.csv"
    _, card = decide_review([run], out)
    lines = {line["item_id"]: line for line in csv.DictReader(out.open(newline=""))}
    assert list(lines) == ["i0", "i1", "i2"], "no one decided about i3"
    both = "human:review/ann, human:review/bob"
    assert lines["i1"] == {"item_id": "i1", "decision": "keep", "author": both, "reason": "sharp / bright", "time": ""}
    assert lines["i0"]["reason"] == "'=1+1", "no formula of a spreadsheet"
    assert (lines["i2"]["reason"], lines["i2"]["time"]) == ("blurred", "2026-11-22T11:00:00+00:00")
    assert (card.items, card.decided, card.disputed) == (4, 3, 1)
    assert (card.percent, card.fleiss_kappa, card.krippendorff_alpha) == (0.75, 0.466667, 0.533333)
    assert DecisionCard.model_validate_json(card_path(out).read_text()) == card
    review = read_review(out, items)
    assert review.author == both
    assert review.keep_or_drop() == {"i0": "keep", "i1": "keep", "i2": "drop"}


def _record(path: Path, item_id: str, time: str) -> None:
    answers = PageAnswers.model_validate(
        {"type": "answers", "page_id": "p", "position": 0, "answers": {item_id: "drop"}, "seconds": 1, "time": time}
    )
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(RecordRow(sequence=0, record=answers).plain()) + "\n")


def test_a_csv_finds_its_items_by_the_card_next_to_it(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "decisions.csv"
    decide_review([run], out)
    result = read_step_result(out)
    assert result.answers == {"i0": "keep", "i1": "keep", "i2": "drop"}
    assert len(result.items.items) == 4
    card_path(out).unlink()
    with pytest.raises(
        SnellenError, match=r"the items that decisions.csv decides on are unknown \(there is no such file"
    ):
        read_step_result(out)


def test_one_reviewer_has_no_agreement(items: ItemSet, tmp_path: Path) -> None:
    alone = reviewed_by(items, {"ann": ANN}, tmp_path / "alone")
    _, card = decide_review([alone], tmp_path / "d.csv")
    assert (card.decided, card.percent, card.fleiss_kappa, card.krippendorff_alpha) == (4, None, None, None)


def test_of_two_who_were_asked_the_first_to_come_decides_nothing(items: ItemSet, tmp_path: Path) -> None:
    root, people = tmp_path / "review", tmp_path / "imported"
    stand_in = make_stand_in(build_study([items], read_design("review"), root), "fake:chance", 1, tmp_path / "own")
    import_study(root, [Submission("a", entered(read_plan(root), stand_in, 0))], people)
    panel, card = decide_review([people], tmp_path / "d.csv")
    assert (len(panel.votes), card.decided, card.disputed) == (4, 0, 0)
    with pytest.raises(SnellenError, match="4 of 4 items have no decision"):
        read_step_result(people)


def test_decisions_are_a_csv(run: Path, tmp_path: Path) -> None:
    with pytest.raises(SnellenError, match=r"call it decisions\.csv"):
        decide_review([run], tmp_path / "decisions")


def test_a_third_reviewer_gets_the_same_pages_of_disputed_items(items: ItemSet, run: Path, tmp_path: Path) -> None:
    design = read_design("review")
    build_study([items], design, tmp_path / "review")
    card = third_study(read_panel([run]), [run], design, tmp_path / "third", "cem")
    assert (card.design.kind, card.design.reviewers) == ("review", ("cem",))
    plans = [read_plan(tmp_path / name) for name in ("review", "third")]
    pages = [{page_id: page.model_dump() for page_id, page in plan.pages.items()} for plan in plans]
    assert [page["questions"][0]["item_id"] for page in pages[1].values()] == ["i3"]
    parts = [part for page in pages[1].values() for part in page["parts"]]
    assert [part["text"] for part in parts] == ["Is 3 right?"], "the choices list the decisions"
    assert pages[1].items() <= pages[0].items()
    assert len(plans[1].forms) == 1
    with pytest.raises(SnellenError, match="items: already contains an item set"):
        third_study(read_panel([run]), [run], design, tmp_path / "third", "dan")


def test_without_disputed_items_there_is_nothing_to_do(items: ItemSet, tmp_path: Path) -> None:
    everything = reviewed_by(items, {"a": ANN, "b": ANN}, tmp_path / "alike")
    with pytest.raises(SnellenError, match="every item has a decision"):
        third_study(read_panel([everything]), [everything], read_design("review"), tmp_path / "fourth")


def test_answers_are_counted_by_task_and_each_disagreement_is_named(items: ItemSet) -> None:
    """Of acuity one of two agrees, of crowding both; a single cluster has no interval."""
    ring = Item(
        "ring", "thresholds", "acuity", "Where is the gap?", (), "top", "choice", "ring", "ring", "ring",
        options=(Option("top", "upper side"), Option("left", "left side")),
    )  # fmt: skip
    tasks = ("acuity", "crowding", "acuity", "crowding")
    ring_items = [replace(ring, item_id=f"i{n}", task=task, cluster_id=f"c{n}") for n, task in enumerate(tasks)]
    checks = [KeyCheck(item, "human:p", "top", True, 1.0, False) for item in ring_items]
    checks[2] = replace(checks[2], answer="left", agrees=False)
    lines = list(agreement_lines(checks, items))
    hits_by_task = {"acuity": [1, 0], "crowding": [1, 1], "all": [1, 1, 0, 1]}
    for line, (task, hits) in zip(lines, hits_by_task.items(), strict=False):
        low, high = (
            round(100 * end) for end in cluster_wilson(np.array(hits, float), list(map(str, range(len(hits)))))
        )
        share = f"{100 * sum(hits) // len(hits)} % [{low}, {high}]"
        assert line == f"{task}: {sum(hits)} of {len(hits)} answers agree with the key ({share})"
    assert lines[3:] == ["i2: human:p answered 'left side', the key is 'upper side'; no image"]
    assert list(agreement_lines(checks[:1], items)) == ["acuity: 1 of 1 answers agree with the key"]
