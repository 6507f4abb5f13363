"""A third reviewer is shown the same pages of the disputed items, and no others."""

from __future__ import annotations

from pathlib import Path

import pytest

from snellen.core.errors import SnellenError
from snellen.curation.results import read_panel
from snellen.web.building import build_study
from snellen.web.design import read_design
from snellen.web.reviewing import third_study
from snellen.web.study import read_plan
from tests.helpers.reviewers import decision_set, reviewed_by, words

ANN = words(i0="keep", i1="keep", i2="drop", i3="drop")
BOB = words(i0="keep", i1="keep", i2="drop", i3="keep")


def test_a_third_reviewer_gets_the_same_pages_of_disputed_items(tmp_path: Path) -> None:
    items, design = decision_set(tmp_path / "items", 4), read_design("review")
    build_study([items], design, tmp_path / "review")
    run = reviewed_by(items, {"a": ANN, "b": BOB}, tmp_path / "people")
    card = third_study(read_panel([run]), [run], design, tmp_path / "third", "cem")
    assert (card.design.kind, card.design.reviewers) == ("review", ("cem",))
    plans = [read_plan(tmp_path / name) for name in ("review", "third")]
    pages = [{page_id: page.model_dump() for page_id, page in plan.pages.items()} for plan in plans]
    assert [page["questions"][0]["item_id"] for page in pages[1].values()] == ["i3"]
    parts = [part for page in pages[1].values() for part in page["parts"]]
    assert [part["text"] for part in parts] == ["Is 3 right?"], "the choices list the decisions"
    assert pages[1].items() <= pages[0].items()
    assert len(plans[1].forms) == 1


def test_without_disputed_items_there_is_nothing_to_do(tmp_path: Path) -> None:
    items = decision_set(tmp_path / "items", 4)
    everything = reviewed_by(items, {"a": ANN, "b": ANN}, tmp_path / "alike")
    with pytest.raises(SnellenError, match="every item has a decision"):
        third_study(read_panel([everything]), [everything], read_design("review"), tmp_path / "fourth")
