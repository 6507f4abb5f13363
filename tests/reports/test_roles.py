"""What a subject is, is read from its card: in runs of earlier versions too, and for kinds that the package lacks."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from snellen.analysis.studies.people import pooled
from snellen.core.item import Item
from snellen.core.storage.run_digest import check_digest, write_digest
from snellen.core.storage.runfolder import ArmCard, read_run_card
from snellen.core.subject import Subject
from snellen.exam.verification import check_replies
from snellen.reports.comparisons import paired
from snellen.reports.examples import InlineThumbs, examples
from snellen.reports.front_page import ExamPart, front
from snellen.reports.grid import main_grid
from snellen.reports.loading import join, load_run
from snellen.reports.matrix import matrix
from snellen.reports.people import people_against
from snellen.reports.rows import arm_order, whole_tasks_of
from snellen.runs.asking.replay import replay
from snellen.subjects.registry import SUBJECTS, make_subject
from tests.helpers.people import ask_people, person
from tests.reports.exam import SUITE, able, subjects, suite_of, write_items, write_run

FIELDS = ("role", "source", "fitted")


@pytest.fixture
def toy() -> Iterator[str]:
    """A kind of simulated observer that another package registers."""

    def make_toy(name: str, settings: Mapping[str, str], items: Sequence[Item]) -> Subject:
        observer: Any = make_subject("fake:first-option", items)
        named: Subject = replace(observer, card=replace(observer.card, name=f"toy:{name}"))
        return named

    SUBJECTS.add("toy", make_toy)
    yield "toy:observer"
    del SUBJECTS._targets["toy"], SUBJECTS._loaded["toy"]


def _as_of_earlier_versions(root: Path) -> None:
    card = json.loads((root / "run.json").read_text("utf-8"))
    for arm in card["arms"]:
        for name in FIELDS:
            del arm[name]
    (root / "run.json").write_text(json.dumps(card), "utf-8")


def test_a_run_of_an_earlier_version_has_the_same_results(tmp_path: Path) -> None:
    items = write_items(tmp_path / "items", 8)
    root = write_run(tmp_path / "run", items, subjects(items))
    current = load_run(root, suite_of)
    _as_of_earlier_versions(root)
    earlier = load_run(root, suite_of)
    assert earlier.card == current.card
    pd.testing.assert_frame_equal(earlier.results, current.results)
    assert arm_order(whole_tasks_of(earlier)) == arm_order(whole_tasks_of(current))
    assert set(earlier.results["role"]) == {"model", "encoder", "simulated"}


@pytest.mark.parametrize(
    ("subject", "kind"),
    [
        ("fake:oracle", ("simulated", "asked", False)),
        ("human:eyes/p01", ("person", "asked", False)),
        ("encoder:hog", ("encoder", "asked", False)),
        ("recorded:gpt", ("model", "recorded", False)),
        ("inspect:openai/gpt-4o", ("model", "recorded", False)),
        ("head:runs/dinov2", ("model", "asked", True)),
        ("chat:openai/gpt-4o", ("model", "asked", False)),
        ("tower:dinov2", ("model", "asked", False)),
    ],
)
def test_the_name_decides_only_where_the_card_says_nothing(subject: str, kind: tuple[str, str, bool]) -> None:
    cells: dict[str, Any] = {
        "subject": subject, "fingerprint": "f", "settings": {}, "attributes": {}, "condition": "vanilla",
        "columns": {}, "repeat": 0,
    }  # fmt: skip
    assert tuple(getattr(ArmCard(**cells), name) for name in FIELDS) == kind
    assert ArmCard(**cells, role="model").role == "model"
    stated = ArmCard(**cells, role="model", source="asked", fitted=False)
    assert ArmCard.model_validate_json(stated.model_dump_json()) == stated


def test_a_new_kind_of_simulated_observer_is_treated_as_one_everywhere(toy: str, tmp_path: Path) -> None:
    items = write_items(tmp_path / "items", 12, tasks=("naming",))
    crowd = [make_subject(toy, items.items), *(able(f"chat:{n}", items, {"naming": n / 4}) for n in range(2, 5))]
    root = write_run(tmp_path / "run", items, crowd, tasks=("naming",), protocols=("strict",))
    assert read_run_card(root).arms[0].role == "simulated"
    run = load_run(root, suite_of)
    pairs, order = paired(run), ["chat:2", "chat:3", "chat:4", toy]
    part = ExamPart(run, "shapes", "shapes.html")
    assert arm_order(whole_tasks_of(run)) == order
    assert [(line.arm, line.fake) for line in main_grid(run).lines] == [(name, name == toy) for name in order]
    assert [line.subject for line in front([part]).lines][-1] == toy
    assert toy not in [line.subject for line in matrix(front([part])).lines]
    with_toy = pairs[(pairs["first"] == toy) | (pairs["second"] == toy)]
    assert set(with_toy["family"]) == {"simulated"}
    ((_, page_examples),) = examples(run, InlineThumbs(run), 1, 4)
    assert toy not in {answer.arm for example in page_examples for answer in example.predictions}


def test_an_example_prints_the_reply_whose_mark_it_shows(tmp_path: Path) -> None:
    """The first repeat's: scores come in the order of the responses."""
    items = write_items(tmp_path / "items", 4, tasks=("naming",))
    run = load_run(
        write_run(tmp_path / "run", items, [able("chat:m", items, {"naming": 1.0})], tasks=("naming",)), suite_of
    )
    again = [
        replace(r, response_id=f"{r.response_id}/again", repeat=1, text="of the second repeat") for r in run.responses
    ]
    expected = {r.item_id: r.text for r in run.responses}
    ((_, page_examples), *_) = examples(replace(run, responses=(*run.responses, *again)), InlineThumbs(run), 4, 4)
    assert {example.item_id: example.predictions[0].text for example in page_examples} == expected


def test_examples_of_runs_on_one_set_print_the_replies_of_each(tmp_path: Path) -> None:
    """Also of a reply in which no answer was found, which is in the calls of its run alone."""
    items = write_items(tmp_path / "items", 4, tasks=("naming",))
    runs = []
    for name in ("first", "second"):
        root = write_run(tmp_path / name, items, [able(f"chat:{name}", items, {"naming": 1.0})], tasks=("naming",))
        run = load_run(root, suite_of)
        runs.append(replace(run, responses=tuple(replace(r, text=None) for r in run.responses)))
    ((_, page_examples), *_) = examples(join(runs), InlineThumbs(runs[0]), 1, 4)
    texts = {answer.arm: answer.text for example in page_examples for answer in example.predictions}
    assert texts.keys() == {"chat:first", "chat:second"}
    assert all(texts.values())


def test_a_person_of_any_name_belongs_to_a_study(toy: str, tmp_path: Path) -> None:
    """A model whose name looks like a person's is none, and simulated observers are not set against people."""
    items = write_items(tmp_path / "items", 12)
    skills = dict.fromkeys(SUITE.tasks, 0.5)
    model: Any = able("chat:m", items, skills)
    named = replace(model, card=replace(model.card, name="human:like/m"))
    people = [person(f"human:eyes/p{n:02d}", able("x", items, skills)) for n in (1, 2)]
    others = [make_subject(toy, items.items), named]
    run = load_run(ask_people(tmp_path / "run", items, SUITE, people, others=others), suite_of)
    together = pooled(run)
    assert list(dict.fromkeys(arm.subject for arm in together.card.arms)) == ["human:eyes", toy, "human:like/m"]
    against = people_against(together, paired(together))
    assert set(against["against"]) == {"human:like/m"}


def test_the_record_of_an_earlier_version_is_verified(tmp_path: Path) -> None:
    """Its digest holds, its responses follow from its record, and a replay writes the fields."""
    items = write_items(tmp_path / "items", 6)
    root = write_run(tmp_path / "run", items, subjects(items))
    _as_of_earlier_versions(root)
    total = write_digest(root, items.root).total
    card = read_run_card(root)
    assert check_replies(root, card, items, SUITE) == 0
    check_digest(root, items.root, total)
    replay(root, items, SUITE, {})
    assert read_run_card(root) == card
    assert json.loads((root / "run.json").read_text("utf-8"))["arms"][-1]["role"] == "simulated"
