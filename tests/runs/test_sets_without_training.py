"""Generated sets without training items, for subjects that learn nothing, and sets of one task."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from snellen.core.build_options import BuildOptions
from snellen.core.errors import SnellenError
from snellen.core.storage.itemset import read_itemset
from snellen.core.storage.runfolder import read_run_card, same_items
from snellen.exam.examine import examine
from snellen.exam.items import build
from snellen.reports import write_report
from snellen.runs.sets.generated_sets import itemset_folder
from snellen.suites import SUITES

TASKS = {"combo": (), "thresholds": ("acuity",)}


@pytest.mark.parametrize("suite", TASKS)
def test_a_set_without_training_items_has_the_same_test_items(suite: str, tmp_path: Path) -> None:
    options = BuildOptions(
        tmp_path / "whole", n=3, renderer="toy", quick=True, tasks=TASKS[suite], allow_unmatched=True,
        show_progress=False,
    )  # fmt: skip
    whole = build(SUITES.get(suite), "generated", options)
    part = build(SUITES.get(suite), "generated", replace(options, out=tmp_path / "part", test_only=True))
    tested = [[item for item in items.items if item.split == "test"] for items in (whole, part)]
    assert tested[0] == tested[1]
    assert len(tested[0]) <= len(part.items) < len(whole.items)
    assert whole.card.recipe_hash == part.card.recipe_hash
    assert whole.card.test_hash == part.card.test_hash
    assert whole.card.rows_hash != part.card.rows_hash


def test_a_callable_is_asked_about_one_task_without_training_items_and_compared_with_an_encoder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SNELLEN_HOME", str(tmp_path / "home"))
    own = examine(lambda parts: "A", "thresholds/acuity", limit=17, out=tmp_path / "own", show_progress=False)
    assert own.items.root == itemset_folder("thresholds/acuity", 17, test_only=True)
    assert {item.split for item in own.items.items} == {"test"}
    assert {item.task for item in own.items.items} == {"acuity"}
    hog = examine("encoder:hog", "thresholds/acuity", limit=17, out=tmp_path / "hog", show_progress=False)
    assert hog.items.root == itemset_folder("thresholds/acuity", 17)
    assert {item.split for item in hog.items.items} == {"test", "train"}
    cards = [read_run_card(examination.root) for examination in (own, hog)]
    assert same_items(*cards)
    assert not same_items(cards[0], cards[1].model_copy(update={"test_hash": "other"}))
    report = write_report([own.root, hog.root], tmp_path / "report")
    assert len(report.pages) == 2, "both are on one page of the suite"
    again = examine("fake:chance", "thresholds/acuity", limit=17, out=tmp_path / "again", show_progress=False)
    assert again.items.root == hog.items.root, "a fake may need any item"
    assert itemset_folder("thresholds/acuity", 17, test_only=True) == hog.items.root, "the whole set is enough"


def test_a_task_that_a_suite_lacks_is_refused() -> None:
    with pytest.raises(SnellenError, match=r"thresholds: no task.*acuit"):
        itemset_folder("thresholds/acuit")
    with pytest.raises(SnellenError, match="neither a folder nor a suite"):
        itemset_folder("threshold/acuity")


def test_cards_of_earlier_versions_have_no_hash_of_test_items(tmp_path: Path) -> None:
    options = BuildOptions(tmp_path / "set", n=1, renderer="toy", tasks=("acuity",), show_progress=False)
    items = build(SUITES.get("thresholds"), "generated", options)
    path = items.root / "itemset.json"
    path.write_text(path.read_text().replace(f'"test_hash": "{items.card.test_hash}"', '"test_hash": ""'))
    assert read_itemset(items.root).card.test_hash == ""
