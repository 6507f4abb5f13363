"""Declarations of sets in instalments: what they fix, what they refuse, and which instalments are drawn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from snellen.compute import Shard
from snellen.core.build_options import BuildOptions
from snellen.core.errors import SnellenError
from snellen.core.storage.itemset import ItemSet
from snellen.core.storage.itemset_cards import SetDeclaration, read_card
from snellen.exam import instalments
from snellen.exam.instalments import _new_items, declare, instalment_options
from snellen.suites import SUITES
from tests.helpers.journey import colour_set

OPTIONS: dict[str, Any] = {
    "n": 3, "tasks": ("task",), "size": (120, 90), "renderer": "toy", "quality": "good", "quick": True, "seed": 5,
    "balance": "paper", "settings": {"a": "b"},
}  # fmt: skip


@pytest.fixture
def built(tmp_path: Path) -> ItemSet:
    return colour_set(tmp_path / "set")


def _declared(built: ItemSet, **options: Any) -> SetDeclaration:
    declared = declare(built, BuildOptions(built.root, instalments=4, **options)).card.declaration
    assert declared is not None
    assert declared == read_card(built.root).declaration
    return declared


@pytest.mark.parametrize("name", OPTIONS)
def test_later_instalments_have_the_options_of_the_first(name: str, built: ItemSet, tmp_path: Path) -> None:
    options = instalment_options(_declared(built, **{name: OPTIONS[name]}), 2, tmp_path / "two", workers=3)
    usual = BuildOptions(tmp_path)
    expected = {other: getattr(usual, other) for other in OPTIONS} | {name: OPTIONS[name]}
    expected["seed"] = instalments.instalment_seed(5 if name == "seed" else 0, 2)
    assert {other: getattr(options, other) for other in OPTIONS} == expected
    assert (options.out, options.workers) == (tmp_path / "two", 3)
    assert (options.test_only, options.allow_unmatched, options.show_progress) == (True, True, False)


def test_some_tasks_may_grow_and_looks_may_be_planned(built: ItemSet, tmp_path: Path) -> None:
    declared = _declared(built, tasks=("task", "other"), instalment_tasks=("other",), planned_looks=(1, 3))
    assert (declared.instalments, declared.planned_looks) == (4, (1, 3))
    assert instalment_options(declared, 1, tmp_path).tasks == ("other",)


@pytest.mark.parametrize("other", [{"full": True}, {"inputs": {"a": Path()}}, {"sources": {"a": Path()}}], ids=str)
def test_sets_of_files_of_the_user_have_no_instalments(other: dict[str, Any], built: ItemSet) -> None:
    with pytest.raises(SnellenError, match=f"^{built.root}: --instalments goes with generated sets without"):
        declare(built, BuildOptions(built.root, instalments=2, **other))
    assert read_card(built.root).declaration is None


def test_new_items_are_test_items_with_names_of_their_own(built: ItemSet) -> None:
    first, second, *_ = built.items
    first = replace(first, item_id="i", group_id="g", stimulus_id="s", cluster_id="c", provenance={"seed": 1})
    (new,) = _new_items([first, replace(second, split="train")], 3, [])
    assert (new.item_id, new.group_id) == ("i-part-3", "g-part-3")
    assert (new.stimulus_id, new.cluster_id) == ("s-part-3", "c-part-3")
    assert new.provenance == {"seed": 1, "part": 3}
    assert (new.question, new.answer, new.task) == (first.question, first.answer, first.task)


def test_an_instalment_that_the_set_has_is_not_drawn_again(built: ItemSet, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor one of a set that is not declared, nor the first."""
    numbers = list[int]()

    def begin(declaration: SetDeclaration, number: int, folder: Path, workers: int) -> BuildOptions:
        numbers.append(number)
        raise ValueError("stop")

    monkeypatch.setattr(instalments, "instalment_options", begin)
    monkeypatch.setattr(SUITES, "get", lambda name: SimpleNamespace(recipes={"generated": None}))
    instalments.draw_instalment(built.root, 1)
    _declared(built)
    instalments.draw_instalment(built.root, 0)
    with pytest.raises(SnellenError, match=rf"^{built.root}: no set to be continued \(stop\)"):
        instalments.draw_instalment(built.root, 1)
    (built.root / "drawing").symlink_to(built.root.parent)
    with pytest.raises(SnellenError, match="drawing: a link, but what is written in set stays there"):
        instalments.draw_instalment(built.root, 1)
    assert numbers == [1]


@pytest.mark.parametrize(
    ("most", "numbers"), [(None, [2, 3, 4]), (1, []), (2, []), (3, [2]), (4, [2, 3]), (9, [2, 3, 4])]
)
def test_instalments_are_drawn_up_to_the_limit_and_one_ahead(
    most: int | None, numbers: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a set that has two of five."""
    begun = list[Any]()

    @contextmanager
    def ahead(work: Any, shards: Sequence[Shard[Any]], ahead: int) -> Iterator[Iterator[Path]]:
        begun.extend([*(shard.work for shard in shards), ahead])
        yield iter([Path("set")] * len(shards))

    monkeypatch.setattr(instalments, "map_ahead", ahead)
    monkeypatch.setattr(instalments, "open_items", lambda root: root)
    items: Any = SimpleNamespace(root=Path("set"), card=SimpleNamespace(instalments=(1, 2), instalments_left=3))
    with instalments.instalments_ahead(items, most, workers=7) as larger:
        assert len([*larger]) == len(numbers)
    assert begun == [*((Path("set"), number, 7) for number in numbers), 1]
