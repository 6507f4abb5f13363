"""What the card of a run says of subjects and set, which prices hold, and how many items are stored at most."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from snellen.core.annotations import Annotations
from snellen.core.storage.itemset import ItemSet, write_itemset
from snellen.runs.asking.ask import ask
from snellen.runs.planning.plan import Plan, most_items, prices, run_card
from snellen.runs.planning.selection import select_items
from tests.helpers.journey import NAMED, arm, colour_set, item, says, suite_of, task


def _of_two_tasks(root: Path) -> ItemSet:
    """Three test items of the first task and five of the second, with a training item each."""
    counts = {"task": 3, "other": 5}
    items = [
        item(
            f"{name}{n}",
            [],
            "red",
            "choice",
            options=NAMED,
            task=name,
            split="test" if n < count else "train",
            question=f"{name}{n}",
        )
        for name, count in counts.items()
        for n in range(count + 1)
    ]
    return write_itemset(root, items, source="generated", recipe={"seed": 0})


def test_the_card_of_a_run_has_all_facts_of_its_arms_and_its_set(tmp_path: Path) -> None:
    built, suite = _of_two_tasks(tmp_path / "set"), suite_of(tasks=[task(), task(id="other")])
    facts: dict[str, Any] = {"settings": {"a": 1}, "attributes": {"family": "x"}, "role": "encoder", "fitted": True}
    first = says("own:a", "red", **facts)
    second = says("own:b", "red", source="recorded")
    arms = [replace(arm(first, suite, repeat=2), decide="none"), arm(second, suite)]
    hashes = {"recipe_hash": "1", "content_hash": "2", "rows_hash": "3", "test_hash": "4"}
    marked = replace(built, card=built.card.model_copy(update=hashes))
    table = Annotations("boxes", "ann", "2", {})
    plan = Plan(marked, suite, arms, seed=7, limit=4, max_items=9, annotations={"b": table}, versions={"numpy": "1"})
    card = run_card(plan).model_dump()
    stated = {
        **hashes, "seed": 7, "limit": 4, "suite": "hard", "version": "1", "itemset": str(built.root),
        "annotations": {"b": f"ann {table.hash[:16]}"}, "versions": {"numpy": "1"}, "transforms": [],
    }  # fmt: skip
    assert {name: card[name] for name in stated} == stated
    common = {"condition": "vanilla", "columns": {}}
    stored = {
        **facts,
        "source": "asked",
        "subject": "own:a",
        "repeat": 2,
        "test_items": {},
        "decide": "none",
        "max_items": 9,
    }
    recorded = {
        "settings": {}, "attributes": {}, "role": "model", "fitted": False, "source": "recorded", "subject": "own:b",
        "repeat": 0, "test_items": {"task": 3, "other": 4}, "decide": "", "max_items": 0,
    }  # fmt: skip
    fingerprints = [subject.card.fingerprint() for subject in (first, second)]
    assert card["arms"] == [
        {**common, **fields, "fingerprint": fingerprint}
        for fields, fingerprint in zip((stored, recorded), fingerprints, strict=True)
    ]


def test_the_most_items_are_those_of_all_arms_and_tasks(tmp_path: Path) -> None:
    """Of 3 and 5 test items: 2 and 2 until decided, 3 and 4 under a limit of 4."""
    built, suite = _of_two_tasks(tmp_path / "set"), suite_of(tasks=[task(), task(id="other")])
    whole = arm(says("own:a", "red"), suite)
    decided = replace(arm(says("own:b", "red"), suite), decide="none")
    assert most_items(Plan(built, suite, [whole], limit=4)) == 3 + 4
    assert most_items(Plan(built, suite, [decided], max_items=2)) == 2 + 2
    assert most_items(Plan(built, suite, [whole, decided], max_items=4)) == 3 + 5 + 3 + 4
    assert most_items(Plan(built, suite, [whole, decided], max_items=9, limit=1)) == 4


def test_prices_are_those_given_now_and_else_those_of_the_record(tmp_path: Path) -> None:
    built, suite, root = colour_set(tmp_path / "set"), suite_of(), tmp_path / "run"

    def subject(name: str, *price: str) -> Any:
        return says(name, "red", attributes=dict(zip(("price_in", "price_out"), price, strict=False)))

    ask(root, Plan(built, suite, [arm(subject("own:a", "1", "2"), suite), arm(subject("own:b", "3", "4"), suite)]))
    now = [subject("own:b", "5", "6"), subject("own:c", "7", "8"), subject("own:d")]
    by_card = prices(Plan(built, suite, [arm(each, suite) for each in now]), root)
    by_name = {name: by_card.get(subject(name).card.fingerprint()) for name in ("own:a", "own:b", "own:c", "own:d")}
    assert by_name == {"own:a": (1, 2), "own:b": (5, 6), "own:c": (7, 8), "own:d": None}


def test_some_items_of_a_set_are_whole_groups_of_different_clusters(tmp_path: Path) -> None:
    """Clusters a and b have three and two groups of two items; the second cluster begins with its second group."""
    names = ["a0", "a1", "a2", "b0", "b1"]
    items = [
        item(
            f"{name}-{n}", [], "red", "choice", options=NAMED, group_id=name, cluster_id=name[0], question=f"{name}{n}"
        )
        for name in names
        for n in range(2)
    ]
    train = item("train", [], "red", "choice", options=NAMED, split="train")
    built = write_itemset(tmp_path, [*items, train], source="generated", recipe={"seed": 0})
    for count, groups in ((1, ["a0"]), (2, ["a0"]), (3, ["a0", "b1"]), (5, ["a0", "a1", "b1"]), (99, names)):
        chosen = select_items(built, count).items
        expected = {f"{name}-{n}" for name in groups for n in range(2)} | {"train"}
        assert {item.item_id for item in chosen} == expected, count
        assert len(chosen) == len(expected)
