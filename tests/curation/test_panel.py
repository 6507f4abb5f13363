"""Decisions of several reviewers, by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from snellen.core.errors import SnellenError
from snellen.core.storage.itemset import write_itemset
from snellen.curation.panel import Panel, Vote, decision_of
from snellen.curation.results import WITH_REASON, read_panel, read_step_result
from tests.helpers.reviewers import decision_set, reviewed_by, words


def votes(*decisions: str) -> list[Vote]:
    return [Vote(f"human:r/{author}", decision) for author, decision in zip("abcd", decisions, strict=False)]


@pytest.mark.parametrize(
    ("decisions", "third", "expected"),
    [
        (("keep", "keep"), (), "keep"),
        (("keep", "drop"), (), None),
        (("keep",), (), None),
        ((), (), None),
        (("keep", "drop", "drop"), ("human:r/c",), "drop"),
        (("keep", "drop", "mend"), ("human:r/c",), "mend"),  # all differ: the third reviewer decides
        (("keep", "drop", "mend"), (), None),
        (("keep", "drop", "mend", "drop"), ("human:r/c", "human:r/d"), "drop"),  # the last of two
        (("keep", "drop", "keep"), (), "keep"),
        (("keep", "keep", "drop", "drop"), (), None),
        (("keep",), ("human:r/a",), "keep"),  # no one else voted
    ],
)
def test_a_majority_decides_otherwise_the_third_reviewer(
    decisions: tuple[str, ...], third: tuple[str, ...], expected: str | None
) -> None:
    assert decision_of(votes(*decisions), 2, third) == expected


def test_a_single_reviewer_decides() -> None:
    assert decision_of(votes("keep"), 1) == "keep"


def test_two_of_three_reviewers_decide_where_the_third_did_not_vote(tmp_path: Path) -> None:
    cast = {"i0": tuple(votes("keep", "keep")), "i1": tuple(votes("keep")), "i2": tuple(votes("keep", "drop", "drop"))}
    panel = Panel(decision_set(tmp_path / "items"), ("human:r/a", "human:r/b", "human:r/c"), cast)
    assert [panel.decision(f"i{n}") for n in range(3)] == ["keep", None, "drop"]
    assert [vote.author for vote in panel.supporters("i2")] == ["human:r/b", "human:r/c"]


def test_agreeing_reviewers_give_one_result(tmp_path: Path) -> None:
    items = decision_set(tmp_path / "items")
    same = words(i0="keep", i1="drop", i2="keep")
    reviewed_by(items, {"ann": same, "bob": same}, tmp_path / "people")
    result = read_step_result(tmp_path / "people")  # the folder of the import has the only run
    assert result.author == "human:review/ann, human:review/bob"
    assert result.answers == {"i0": "keep", "i1": "drop", "i2": "keep"}


def test_disagreeing_reviewers_are_refused_by_name(tmp_path: Path) -> None:
    items = decision_set(tmp_path / "items")
    both = {"ann": words(i0="keep", i1="drop", i2="keep"), "bob": words(i0="keep", i1="keep", i2="keep")}
    run = reviewed_by(items, both, tmp_path / "people")
    with pytest.raises(SnellenError, match=r"1 of 3 items have no decision \(first 'i1'\); `snellen study decide"):
        read_step_result(run)
    assert read_panel([run]).disputed == ("i1",)


def test_a_third_reviewer_is_asked_about_the_rest(tmp_path: Path) -> None:
    items = decision_set(tmp_path / "items")
    both = {"ann": words(i0="keep", i1="drop", i2="keep"), "bob": words(i0="keep", i1="keep")}
    run = reviewed_by(items, both, tmp_path / "people")
    panel = read_panel([run])
    assert (panel.undecided, panel.disputed) == (("i1", "i2"), ("i1",)), "i2 has one vote of two"
    rest = write_itemset(tmp_path / "rest", items.items[1:], source="test", recipe={})
    third = reviewed_by(rest, {"cem": words(i1="drop", i2="mend")}, tmp_path / "third")
    panel = read_panel([run, third])
    assert [panel.decision(f"i{n}") for n in range(3)] == ["keep", "drop", "mend"]
    assert [vote.author for vote in panel.supporters("i1")] == ["human:review/ann", "human:review/cem"]
    assert panel.undecided == ()


def test_runs_about_other_items_are_refused(tmp_path: Path) -> None:
    items, others = decision_set(tmp_path / "items"), decision_set(tmp_path / "others", 1, {"note": "other"})
    run = reviewed_by(items, {"ann": words(i0="keep")}, tmp_path / "people")
    other = reviewed_by(others, {"bob": words(i0="keep")}, tmp_path / "more")
    with pytest.raises(SnellenError, match="item 'i0' is not in"):
        read_panel([run, other])


def test_a_reason_may_belong_to_the_decision(tmp_path: Path) -> None:
    items = decision_set(tmp_path / "items", provenance={WITH_REASON: ["mend"]})
    ann = {"i0": ("mend", "add a red cup"), "i1": ("keep", "plain"), "i2": ("mend", "")}
    run = reviewed_by(items, {"ann": ann, "bob": ann}, tmp_path / "people")
    result = read_step_result(run)
    assert result.answers == {"i0": "mend:add a red cup", "i1": "keep", "i2": "mend"}
    differently = {**ann, "i0": ("mend", "add a cup")}
    run = reviewed_by(items, {"ann": ann, "bob": differently}, tmp_path / "again")
    assert read_panel([run]).disputed == ("i0",), "two corrected texts are two decisions"
