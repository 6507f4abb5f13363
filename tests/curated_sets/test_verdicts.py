"""Verdicts of a review leave out items."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from snellen.core.errors import SnellenError
from snellen.core.storage.itemset import ItemSet
from snellen.curated_sets.verdicts import Verdicts, verdicts_of
from snellen.curation.ledger import Ledger
from snellen.curation.review import read_review
from tests.helpers.journey import colour_set


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
