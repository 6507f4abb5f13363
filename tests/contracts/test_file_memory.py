"""Subjects that remember which files other questions show, and what names stand beside drawn boxes there.

Names in spatial questions, which hide their boxes, still tell object about two thirds of its answers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest

from snellen.core.build_options import BuildOptions
from snellen.core.item import Item
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
            if other.task not in ("object", "spatial")
            and other.query[0].sha256 == item.query[0].sha256
            and list(item.regions["red"])
            in [list(other.regions[name]) for name in ("red", "blue") if name in other.regions]
            and f" {option.text} (" in other.question
        }
        for item in items
        if item.task == "object"
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
@pytest.mark.parametrize("suite", ["vfm-bench", "ava-bench"])
@pytest.mark.parametrize("seed", [0, 71])
def test_memory_of_files_in_a_full_set(suite: str, seed: int, tmp_path: Path) -> None:
    _check(suite, 108, seed, tmp_path / "items")
