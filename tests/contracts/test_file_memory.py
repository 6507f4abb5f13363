"""Subjects that remember which files other questions show, and what names stand there, beside drawn boxes or not."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest

from snellen.core.build_options import BuildOptions
from snellen.core.item import Item
from snellen.core.storage.itemset import read_itemset
from snellen.exam.items import build
from snellen.suites import SUITES


def _items(suite: str, task: str, n: int, seed: int, folder: Path) -> list[Item]:
    tasks = () if suite == "ava-bench" else (task,)
    options = BuildOptions(folder, n=n, seed=seed, tasks=tasks, quick=True, renderer="blank", show_progress=False)
    return [item for item in build(SUITES.get(suite), "generated", options).items if item.split == "test"]


def _gain(items: Iterable[Item], guesses: Iterable[set[str]]) -> float:
    """The share of items right by a random one of the keys in each guess, all keys if none, above chance."""
    right, chance, count = 0.0, 0.0, 0
    for item, guess in zip(items, guesses, strict=True):
        keys = {option.key for option in item.options}
        possible = (guess & keys) or keys
        right += (item.answer in possible) / len(possible)
        chance, count = chance + 1 / len(keys), count + 1
    assert count
    return (right - chance) / count


def _labelled_elsewhere(items: list[Item]) -> list[set[str]]:
    """Per item of VFM Bench, the classes whose definition another question has for a demo that is this query."""
    labels: dict[str, set[str]] = {}
    for item in items:
        for demo in item.support:
            labels.setdefault(demo.media[0].sha256, set()).add(item.latent["definitions"][demo.answer])
    return [
        {key for key, text in item.latent["definitions"].items() if text in labels.get(item.query[0].sha256, ())}
        for item in items
    ]


def _named_beside_the_box(items: list[Item]) -> list[set[str]]:
    """Per item of object, the names in questions on its image about a drawn box with the same corners."""
    return [
        {
            option.key
            for option in item.options
            for other in items
            if other.task not in ("object", "spatial")  # spatial draws no boxes unless a condition says so
            and other.query[0].sha256 == item.query[0].sha256
            and list(item.regions["red"])
            in [list(other.regions[name]) for name in ("red", "blue") if name in other.regions]
            and f" {option.text} (" in other.question
        }
        for item in items
        if item.task == "object"
    ]


def _named_in(items: list[Item]) -> list[set[str]]:
    """Per item of object, the names that the kinds of questions that name them on its image make likeliest."""
    tasks = ("spatial", "localization", "nearer-localization", "counting")
    names: dict[tuple[str, str], set[str]] = {}
    for item in items:
        if item.task in tasks:
            names.setdefault((item.query[0].sha256, item.task), set()).update(re.findall("[a-z]+", item.question))
    tested, right, offered = [item for item in items if item.task == "object"], Counter[object](), Counter[object]()
    kinds = [
        {
            option.key: tuple(
                {option.text, f"{option.text}s"} & names.get((item.query[0].sha256, task), set()) != set()
                for task in tasks
            )
            for option in item.options
        }
        for item in tested
    ]
    for item, by_key in zip(tested, kinds, strict=True):
        offered.update(by_key.values())
        right[by_key[str(item.answer)]] += 1
    worth = {kind: right[kind] / offered[kind] for kind in offered}
    return [
        {key for key, kind in by_key.items() if worth[kind] == max(worth[kind] for kind in by_key.values())}
        for by_key in kinds
    ]


def _check(suite: str, n: int, seed: int, folder: Path) -> None:
    task = "fast-mapping" if suite == "vfm-bench" else "object"
    items = _items(suite, task, n, seed, folder)
    tested = [item for item in items if item.task == task]
    attack = _labelled_elsewhere if suite == "vfm-bench" else _named_beside_the_box
    assert _gain(tested, attack(items)) <= 0.05
    if suite == "vfm-bench":
        uses = Counter(image.sha256 for item in tested for image in item.media())
        assert all(uses[item.query[0].sha256] == 1 for item in tested)


@pytest.mark.parametrize("suite", ["vfm-bench", "ava-bench"])
def test_memory_of_files_is_no_better_than_blind(suite: str, tmp_path: Path) -> None:
    _check(suite, 12, 3, tmp_path / "items")


@pytest.mark.slow
def test_names_in_other_questions_tell_little_more_than_the_blind_baseline(tmp_path: Path) -> None:
    items = _items("ava-bench", "object", 150, 71, tmp_path / "items")
    blind = read_itemset(tmp_path / "items").blind
    assert blind is not None
    stated = next(score for score in blind.scores if score.task == "object" and not score.factor)
    tested = [item for item in items if item.task == "object"]
    assert stated.chance is not None
    assert stated.chance + _gain(tested, _named_in(items)) <= stated.value + 0.05


@pytest.mark.slow
@pytest.mark.parametrize("suite", ["vfm-bench", "ava-bench"])
@pytest.mark.parametrize("seed", [0, 71])
def test_memory_of_files_in_a_full_set(suite: str, seed: int, tmp_path: Path) -> None:
    _check(suite, 108, seed, tmp_path / "items")
