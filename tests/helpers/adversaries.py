"""Subjects without the abilities, and their grades by the code of reports.

Each answers every item of a generated set by a rule; nothing is asked. Its answers are scored, and `results` grades
them as it grades a subject's replies.

    python -m tests.helpers.adversaries --size 6 --seeds 5 --guessers 200 [--renderer mitsuba]
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from snellen.analysis.blind.attacks import Answer, applied, best_answer_by_question, choices, labels, portable
from snellen.analysis.blind.measure import main_metric, score_frame
from snellen.analysis.grading.cheap_sight import image_features
from snellen.analysis.grading.floors import THUMBNAIL
from snellen.analysis.grading.grades import GRADES
from snellen.analysis.grading.results import results
from snellen.analysis.grading.rows import rows_of
from snellen.core.build_options import BuildOptions
from snellen.core.item import Item
from snellen.core.seeds import stream
from snellen.core.storage.itemset import ItemSet
from snellen.core.storage.runfolder import ArmCard
from snellen.core.suite import Suite, Task
from snellen.exam.items import build, with_blind
from snellen.runs.scores.blind import blind_card
from snellen.suites import SUITES

CHECKUP_ITEMS = MappingProxyType({"ava-bench": 36, "combo": 24, "vlm2-bench": 12, "vfm-bench": 12})
"""Test items per task of a checkup."""
ABOVE_NONE = GRADES[1:]
MIN_EXAMPLES = 12
"""Training examples of a question above which the thumbnail forest learns from these alone."""


class Questions(NamedTuple):
    """The items of a task in a set: those to answer, and solved ones to learn from."""

    items: ItemSet
    task: Task
    test: Sequence[Item]
    train: Sequence[Item]


class Adversary(NamedTuple):
    """A subject without the abilities; `is_fitted` if it learns from the training examples of the set."""

    answers: Callable[[Questions], Sequence[Answer]]
    is_fitted: bool = False


def first_answer(item: Item) -> Answer:
    """The first option, or nothing."""
    return (choices(item) or (None,))[0]


def word_order(questions: Questions) -> list[Answer]:
    """The rule that reads only the words of a statement: true if something was added, or if A comes before B."""

    def answer(item: Item) -> Answer:
        text = item.question.lower()
        if item.answer_kind != "true_false":
            return first_answer(item)
        if not (statements := re.findall(r"answer '(.*?)' correct", text)):
            return "true" if "not the same" in text else "false"
        if "added" in statements[-1] or "removed" in statements[-1]:
            return "true" if "added" in statements[-1] else "false"
        pair = re.search(r"from (.*?) to (.*?)\.?$", statements[-1]) or re.search(
            r"^(?:the|a) (.*?) (?:was replaced with|turned into) (?:a|the) (.*?)\.?$", statements[-1]
        )
        return "true" if pair and pair[1] < pair[2] else "false"

    return [answer(item) for item in questions.test]


def boxes_only_reader(questions: Questions) -> list[Answer]:
    """The rules on coordinates of drawn boxes."""
    rule = questions.task.boxes_only
    return [applied(rule(item), item) if rule else first_answer(item) for item in questions.test]


def thumbnail_forest(questions: Questions) -> list[Answer]:
    """A random forest on thumbnails, with other trees than the floor has; the nearest of solved examples."""
    from sklearn.ensemble import RandomForestClassifier

    pixels, boxes = image_features(questions.items.media), questions.task.boxes
    if questions.test[0].support and questions.task.cheap_sight:
        return [_nearest(item, partial(pixels, ())) for item in questions.test]
    if not questions.train or not choices(questions.test[0]):
        return [first_answer(item) for item in questions.test]
    counts = Counter(item.question for item in questions.train)
    answers = {}
    for question in {item.question if counts[item.question] > MIN_EXAMPLES else "" for item in questions.test}:
        train = [item for item in questions.train if question in ("", item.question)]
        test = [i for i in questions.test if (i.question if counts[i.question] > MIN_EXAMPLES else "") == question]
        forest = RandomForestClassifier(200, random_state=len(question))
        forest.fit([pixels(boxes, item) for item in train], [portable(item) for item in train])
        for item, row in zip(test, forest.predict_proba([pixels(boxes, item) for item in test]), strict=True):
            likely = dict(zip(forest.classes_, row, strict=True))
            answers[item.item_id] = max(choices(item), key=lambda key: likely.get(labels(item)[key], 0.0))
    return [answers[item.item_id] for item in questions.test]


def _nearest(item: Item, pixels: Callable[[Item], Any]) -> Answer:
    target = pixels(item)
    distances = {
        float(np.square(pixels(replace(item, query=demo.media)) - target).sum()): demo.answer for demo in item.support
    }
    return distances[min(distances)]


def question_look_up(questions: Questions) -> list[Answer]:
    """The commonest answer to the same question among the training examples."""
    if not questions.train:
        return [first_answer(item) for item in questions.test]
    return best_answer_by_question(questions.train, main_metric(questions.task), 1)(questions.test)


def constant(questions: Questions) -> list[Answer]:
    """The same place, number, box or colour for every item."""
    answer = portable(questions.test[0])
    return [first_answer(item) if choices(item) else applied(answer, item) for item in questions.test]


def guesser(number: int) -> Adversary:
    """A guesser that draws an option, or the truth of another item."""

    def answers(questions: Questions) -> list[Answer]:
        rng = stream("guesser", number, questions.items.card.recipe_hash, questions.task.id)
        truths = [portable(item) for item in questions.test]

        def answer(item: Item) -> Answer:
            keys = choices(item)
            return keys[rng.integers(len(keys))] if keys else applied(truths[rng.integers(len(truths))], item)

        return [answer(item) for item in questions.test]

    return Adversary(answers)


ADVERSARIES: Mapping[str, Adversary] = MappingProxyType(
    {
        "word order": Adversary(word_order),
        "boxes-only reader": Adversary(boxes_only_reader),
        "thumbnail forest": Adversary(thumbnail_forest, is_fitted=True),
        "question look-up": Adversary(question_look_up, is_fitted=True),
        "constant": Adversary(constant),
    }
)


def gradings(items: ItemSet, adversaries: Mapping[str, Adversary]) -> pd.DataFrame:
    """Rows of results of whole tasks, by the main metric under `strict`."""
    suite, whole = _undivided(items)
    rows, arms = [], []
    for name, adversary in adversaries.items():
        arms.append(_arm(name))
        for task in suite.tasks.values():
            of_task = items.task(task.id)
            test, train = ([item for item in of_task if item.split == split] for split in ("test", task.train_split))
            if test and task.protocols["strict"].judge is None:
                answers = adversary.answers(Questions(items, task, test, train))
                rows.append(_scores(name, suite, task, test, answers, adversary.is_fitted and bool(train)))
    return results(pd.concat(rows, ignore_index=True), whole, suite, arms)


def _undivided(items: ItemSet) -> tuple[Suite, ItemSet]:
    """The suite and its items without factors and required dimensions, so that results are of whole tasks."""
    suite = SUITES.get(items.card.suite)
    tasks = {name: replace(task, split_by=()) for name, task in suite.tasks.items()}
    return replace(suite, tasks=tasks), replace(items, items=tuple(replace(item, requires=()) for item in items.items))


def _arm(name: str) -> ArmCard:
    return ArmCard(
        subject=name, fingerprint=name, settings={}, attributes={}, condition="vanilla", columns={}, repeat=0
    )


def _scores(
    name: str, suite: Suite, task: Task, test: Sequence[Item], answers: Sequence[Answer], is_fitted: bool
) -> pd.DataFrame:
    strict = task.protocols["strict"]
    answer_by_id = dict(zip((item.item_id for item in test), answers, strict=True))
    frame = score_frame(test, answer_by_id, strict)
    predictions = {item_id: json.dumps(answer) for item_id, answer in answer_by_id.items()}
    frame = frame[frame["metric"] == main_metric(task).name]
    return frame.assign(
        subject=name, suite=suite.name, task=task.id, condition="vanilla", split="test", protocol="strict", judge="",
        fingerprint=f"{name} fitted" if is_fitted else name, prediction=frame["item_id"].map(predictions),
    )  # fmt: skip


def generated(
    suite: str, folder: Path, *, size: int, seed: int, renderer: str = "toy", tasks: tuple[str, ...] = ()
) -> ItemSet:
    """A generated set of so many times the checkup's size, with its blind scores.

    Recorded floors of thumbnails are of Mitsuba's images: for another renderer they are measured on the set.
    """
    options = BuildOptions(
        folder / f"{suite}-{size}-{seed}", seed=seed, n=size * CHECKUP_ITEMS[suite], renderer=renderer, workers=2,
        tasks=tasks, size=(384, 288), quality="fast", allow_unmatched=True, show_progress=False,
    )  # fmt: skip
    items = build(SUITES.get(suite), "generated", options)
    card = blind_card(items, SUITES.get(suite))
    floors = tuple(floor for floor in card.floors if renderer == "mitsuba" or floor.name != THUMBNAIL)
    return with_blind(items, card.model_copy(update={"floors": floors}))


def cells(
    folder: Path, *, size: int, seeds: Sequence[int], guessers: int, renderer: str = "toy"
) -> Iterator[tuple[str, str, str]]:
    """(adversary, task, grade or state) of every cell; the guessers are divided among the seeds."""
    for order, seed in enumerate(seeds):
        numbers = range(order, guessers, len(seeds))
        adversaries = {**ADVERSARIES, **{f"guesser {number}": guesser(number) for number in numbers}}
        for suite in CHECKUP_ITEMS:
            reads_images = any(task.cheap_sight for task in SUITES.get(suite).tasks.values())
            items = generated(suite, folder, size=size, seed=seed, renderer=renderer if reads_images else "blank")
            for row in rows_of(gradings(items, adversaries)):
                yield row.subject, f"{row.task} {seed}", row.grade.label


def main() -> None:
    """Print how often each adversary has each grade or state."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=1)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--guessers", type=int, default=200)
    parser.add_argument("--renderer", default="toy")
    options = parser.parse_args()
    counts: dict[str, Counter[str]] = {}
    above = []
    with tempfile.TemporaryDirectory() as folder:
        seeds = range(300, 300 + options.seeds)
        for name, cell, grade in cells(
            Path(folder), size=options.size, seeds=seeds, guessers=options.guessers, renderer=options.renderer
        ):
            counts.setdefault(name.rstrip(" 0123456789"), Counter())[grade] += 1
            if grade in ABOVE_NONE:
                above.append(f"{name}: {grade} in {cell}")
    for name, grades in counts.items():
        print(f"{name}: {sum(grades[grade] for grade in ABOVE_NONE)} of {grades.total()} above none; {dict(grades)}")
    print(*above, sep="\n")


if __name__ == "__main__":
    main()
