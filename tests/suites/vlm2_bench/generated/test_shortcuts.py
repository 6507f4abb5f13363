"""What subjects that link nothing get of generated items: by the named colour, and by a memory of files."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from snellen.analysis.blind import measure_by_folds
from snellen.analysis.blind.measure import main_metric
from snellen.core.build_options import BuildOptions
from snellen.core.item import Item
from snellen.core.storage.itemset import ItemSet
from snellen.exam.items import build
from snellen.scoring.uncertainty import wilson
from snellen.suites import SUITES

SUITE = SUITES.get("vlm2-bench")
HUES: Mapping[str, tuple[int, int]] = {
    "red": (345, 15), "yellow": (40, 70), "green": (75, 165), "blue": (200, 255), "purple": (255, 310),
}  # fmt: skip
"""Hues from one angle to another, in degrees."""


def generated(folder: Path, n: int, renderer: str, tasks: tuple[str, ...] = (), seed: int = 9202) -> ItemSet:
    options = BuildOptions(
        folder, n=n, seed=seed, tasks=tasks, quick=True, renderer=renderer, size=(160, 120), show_progress=False
    )
    return build(SUITE, "generated", options)


def growth(items: ItemSet, item: Item, colour: str) -> float:
    """The logarithm of how many more pixels of a colour the second image has."""
    shares = []
    for media in item.query:
        hue, saturation, value = np.moveaxis(np.asarray(items.media.open(media).convert("HSV"), float), 2, 0)
        low, high = HUES[colour]
        angle = hue * 360 / 255
        is_within = (angle >= low) & (angle < high) if low < high else (angle >= low) | (angle < high)
        shares.append((is_within & (saturation > 0.35 * 255) & (value > 0.12 * 255)).mean())
    return float(np.log((shares[1] + 0.0015) / (shares[0] + 0.0015)))


def says_true(items: ItemSet, item: Item) -> bool | None:
    """What a counter of the named colour answers; None if the words and the colour do not decide."""
    cue = item.question.split("'")[1].lower()
    colours = [word for word in re.findall("[a-z]+", cue) if word in HUES]
    if not colours:
        return None
    if item.task == "gc-mat":
        return abs(growth(items, item, colours[0])) > 0.3
    if "added" in cue or "removed" in cue:
        return (growth(items, item, colours[0]) > 0) == ("added" in cue)
    if colours[0] == colours[-1]:
        return None
    return growth(items, item, colours[-1]) > growth(items, item, colours[0])


@pytest.mark.parametrize("n", [25, pytest.param(60, marks=pytest.mark.slow)])
def test_a_counter_of_the_named_colour_is_at_chance(n: int, tmp_path: Path) -> None:
    """Undecided pairs are answered oppositely, half of them right; at most 60 % of all, beyond sampling error."""
    items = generated(tmp_path / "items", n, "toy", ("gc-mat", "gc-trk"))
    for task in ("gc-mat", "gc-trk"):
        pairs: dict[str, list[tuple[bool | None, bool]]] = defaultdict(list)
        for item in items.task(task):
            pairs[item.group_id].append((says_true(items, item), item.answer == "true"))
        decided = [pair for pair in pairs.values() if pair[0][0] is not None and pair[0][0] != pair[1][0]]
        right = sum(all(answer == truth for answer, truth in pair) for pair in decided)
        low, _ = wilson(right + (n - len(decided)) // 2, n)
        assert low < 0.5, (task, right, len(decided))


@pytest.fixture(scope="module")
def blank(tmp_path_factory: pytest.TempPathFactory) -> ItemSet:
    return generated(tmp_path_factory.mktemp("blank") / "items", 24, "blank")


def test_no_two_questions_share_an_image(blank: ItemSet) -> None:
    groups: dict[str, set[str]] = defaultdict(set)
    for item in blank.items:
        if item.split == "test" and item.task != "oc-vid":
            for media in item.query:
                groups[media.sha256].add(item.group_id)
    assert len(groups) > 24 * 10
    assert {len(members) for members in groups.values()} == {1}


def test_sequences_of_a_task_have_a_family_each(blank: ItemSet) -> None:
    for task in ("oc-cpr", "oc-cnt", "oc-grp"):
        test = [item for item in blank.task(task) if item.split == "test"]
        assert len({item.cluster_id for item in test}) == len({item.group_id for item in test}) == 24


@pytest.mark.slow
def test_a_memory_of_files_adds_nothing(tmp_path: Path) -> None:
    """At most five points above the blind baseline in every task, on 200 items."""
    items = generated(tmp_path / "items", 200, "blank", seed=77)
    assert items.blind is not None
    blind = {score.key: score.value for score in items.blind.scores}
    rows = [row for row in measure_by_folds(items.items, SUITE, ()) if row.protocol == "strict" and not row.factor]
    whole = [row for row in rows if row.metric == main_metric(SUITE.tasks[row.task]).name]
    assert {row.task for row in whole} == {"gc-mat", "gc-trk", "oc-cpr", "oc-cnt", "oc-grp"}
    assert [row for row in whole if row.value > blind[row.key] + 0.05] == []
