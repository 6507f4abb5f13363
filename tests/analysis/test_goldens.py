"""What attackers without sight answer on small sets of the suites, and the order of asking, equal the goldens."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from snellen.analysis.blind.attacks import choices
from snellen.analysis.blind.learner import VECTORS, item_features, option_features
from snellen.analysis.blind.measure import ATTACKS, main_metric, measure_blind, measure_by_folds
from snellen.analysis.blind.memory import ExamMemory
from snellen.analysis.grading.cheap_sight import box_features, image_features
from snellen.analysis.grading.deciding import sampled, turns
from snellen.analysis.grading.floors import THUMBNAIL, Floors
from snellen.core.hashing import digest
from snellen.core.item import Item
from snellen.core.storage.itemset import ItemSet
from snellen.core.suite import Suite
from snellen.suites import suite_of
from tests.goldens.descriptions import line
from tests.goldens.golden import assert_golden
from tests.helpers.sets import small_set

SUITES = ("ava-bench", "combo", "vlm2-bench")


def features_of(item: Item) -> list[str]:
    return sorted([*item_features(item), *(word for key in choices(item) for word in option_features(item, key))])


def clues_of(item: Item, memory: ExamMemory) -> Iterator[str]:
    yield from memory.clues(item)
    yield from (clue for key in choices(item) for clue in memory.clues(item, key))


def attack_lines(items: ItemSet, suite: Suite) -> Iterator[str]:
    """The answers of every attack, and what the learner and the memory of other questions know of the items."""
    memory = ExamMemory(items.items)
    for task in suite.tasks.values():
        of_task = items.task(task.id)
        test = [item for item in of_task if item.split == "test"]
        train = [item for item in of_task if item.split != "test"] or test[::2]
        if not train or task.protocols["strict"].judge is not None:
            continue
        # The answers of other attacks are near ties, which the last digits of a processor decide.
        attacks = [attack for attack in ATTACKS[:4] if attack.name != "odd option" or choices(test[0])]
        for attack in [*attacks, *([ATTACKS[5]] if test[0].answer_kind in VECTORS else [])]:
            yield f"{task.id}, {attack.name}: {line(attack.fit(train, main_metric(task))(test), digits=6)}"
        features = [features_of(item) for item in test]
        clues = [sorted(clues_of(item, memory)) for item in test]
        yield f"{task.id}, features: {digest(features, 16)} {sorted(set(features[0]))[:9]}"
        yield f"{task.id}, clues: {digest(clues, 16)} {sorted(set(clues[0]))[:9]}"
        yield f"{task.id}, turns: {line(turns(items, task, 4), digits=6)} {sorted(sampled(items, task, 3))}"
    train, test = ([item for item in items.items if (item.split == "test") == is_test] for is_test in (False, True))
    for row in (*measure_blind(train, test, suite, ATTACKS[:3]), *measure_by_folds(items.items, suite, ATTACKS[:3])):
        yield line(list(row.model_dump().values()), digits=6)


def floor_lines(items: ItemSet, suite: Suite) -> Iterator[str]:
    """The answers of the rules that need little sight, with their scores, and the features that forests read."""
    floors, pixels = Floors(items, suite), image_features(items.media)
    for task in suite.tasks.values():
        test = [item for item in items.task(task.id) if item.split == "test"]
        for rule in floors.rules(task.id):
            if rule.needs_training and (rule.name == THUMBNAIL or test[0].answer_kind in VECTORS):
                continue  # it reads the sizes of files, or means of regressions: another processor has others
            answers = line(rule.answers(test), digits=6)
            yield f"{task.id}, {rule.name}, {'fitted' if rule.needs_training else 'closed'}: {answers}"
        for item in test[:2] if task.boxes else ():
            yield f"{task.id}, boxes: {line(box_features(task.boxes)(item), digits=6)}"
            yield f"{task.id}, pixels: {line(pixels(task.boxes, item)[::7].round(3), digits=6)}"
    for score in (*floors.scores(False), *floors.scores(True)):
        if score.name != THUMBNAIL and not score.name.endswith("learnt"):
            yield line(list(score.model_dump().values()), digits=6)


@pytest.mark.parametrize("name", SUITES)
def test_what_is_answered_without_sight(name: str, sets_folder: Path) -> None:
    items, suite = small_set(name, sets_folder), suite_of(small_set(name, sets_folder))
    assert_golden(f"analysis/attacks-{name}.txt", "\n".join(attack_lines(items, suite)) + "\n")


@pytest.mark.parametrize("name", SUITES)
def test_what_little_sight_answers(name: str, sets_folder: Path) -> None:
    items, suite = small_set(name, sets_folder), suite_of(small_set(name, sets_folder))
    assert_golden(f"analysis/floors-{name}.txt", "\n".join(floor_lines(items, suite)) + "\n")
