"""Floors that are known item by item: scores of rules that see nothing of what is asked about.

- drawn boxes: a closed rule on their coordinates (`Task.boxes_only`), for every subject;
- drawn boxes, learnt: a forest on the same coordinates;
- named colour: a closed rule on the pixels of the colour that a question names (`Task.colour_only`);
- thumbnail: a forest on a thumbnail, a histogram and the like (`Task.cheap_sight`);
- answers to equal questions: the commonest answer to the same question among the training examples.

The others learn from the training examples of the set, and apply to subjects that are fitted to these. Items that
show solved examples have a closed rule for thumbnails. The greatest floor of a task is that with the best score on many
items of the suite, measured once (`blind.json`); of sets without these, that with the best score on all test items.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from snellen.analysis.blind.attacks import Answer, applied, best_answer_by_question
from snellen.analysis.blind.measure import score_frame
from snellen.analysis.grading import states
from snellen.analysis.grading.cheap_sight import box_features, forest_answers, image_features, nearest_answers
from snellen.analysis.grading.grades import UnitFloor, greatest_first
from snellen.analysis.grading.rows import ResultRow
from snellen.analysis.units import summary
from snellen.core.item import Item
from snellen.core.score import Metric, Protocol
from snellen.core.storage.itemset import ItemSet
from snellen.core.storage.itemset_cards import FloorScore
from snellen.core.suite import Suite

BOXES_ONLY, BOXES_LEARNT, NAMED_COLOUR, THUMBNAIL, EQUAL_QUESTIONS = (
    "drawn boxes", "drawn boxes, learnt", "named colour", "thumbnail", "answers to equal questions",
)  # fmt: skip
READ_IMAGES = (THUMBNAIL, NAMED_COLOUR)
"""The floors that need rendered images, of which fewer are measured."""
EXCESS = {
    BOXES_ONLY: states.BOXES,
    BOXES_LEARNT: states.BOXES,
    NAMED_COLOUR: states.COLOUR,
    THUMBNAIL: states.THUMBNAIL,
    EQUAL_QUESTIONS: states.EQUAL_QUESTIONS,
}
"""The reason that is given for a subject above the blind baseline, but not above this floor."""


class FloorRule(NamedTuple):
    """A rule of a task. `answers` takes the test items; an item on which it has no answer scores the worst."""

    name: str
    needs_training: bool
    answers: Callable[[Sequence[Item]], Sequence[Answer]]


@dataclass
class Floors:
    """The floors of an item set. Rules are applied when their scores are first needed, and only then."""

    items: ItemSet
    suite: Suite
    _rules: dict[str, tuple[FloorRule, ...]] = field(default_factory=dict, repr=False)
    _answers: dict[tuple[str, str], Mapping[str, Answer]] = field(default_factory=dict, repr=False)
    _scores: dict[tuple[str, str, str, str], pd.Series[float]] = field(default_factory=dict, repr=False)

    def greatest(
        self, row: ResultRow, protocol: Protocol, metric: Metric, is_fitted: bool, units: list[str]
    ) -> list[UnitFloor]:
        """The greatest floor of a row's scored units, given by item id (or by group id, if groups are scored).

        Empty if no floor is above the blind baseline. `is_fitted` tells whether the subject was fitted to training
        examples. The scores of lesser floors on the units are never computed: forests take long to fit.
        """
        if not units:
            return []
        measured = {rule: self.measured(row.task, protocol, metric, rule) for rule in self.applicable(row, is_fitted)}
        for rule in greatest_first(measured, measured.__getitem__, row, metric):
            floor = self.of_units(row.task, protocol, metric, rule, units)
            if not np.isnan(floor.values).any():
                return [floor]
        return []

    def applicable(self, row: ResultRow, is_fitted: bool) -> Iterator[FloorRule]:
        """The rules of a row's task that apply to its subject under its condition."""
        without_boxes = self.suite.tasks[row.task].without_boxes
        is_drawn = not without_boxes or str(row.axes.get(without_boxes[0])) not in without_boxes[1:]
        for rule in self.rules(row.task):
            if (is_fitted or not rule.needs_training) and (is_drawn or rule.name not in (BOXES_ONLY, BOXES_LEARNT)):
                yield rule

    def of_units(self, task: str, protocol: Protocol, metric: Metric, rule: FloorRule, units: list[str]) -> UnitFloor:
        """The floor of a rule on scored units; NaN for a unit on which it has no score."""
        without_boxes = self.suite.tasks[task].without_boxes
        condition = "=".join(without_boxes[:2]) if rule.name in (BOXES_ONLY, BOXES_LEARNT) else ""
        values = np.asarray(self._unit_scores(task, protocol, metric, rule).reindex(units), np.float64)
        measured = self.measured(task, protocol, metric, rule)
        return UnitFloor(rule.name, EXCESS[rule.name], values, summary(values, metric), measured, condition)

    def measured(self, task: str, protocol: Protocol, metric: Metric, rule: FloorRule) -> float:
        """The score of a rule on many items of the suite, or else on all test items of this set."""
        recorded = self._recorded.get((task, protocol.name, metric.name, rule.name))
        if recorded is not None:
            return recorded
        return summary(np.asarray(self._unit_scores(task, protocol, metric, rule).dropna(), np.float64), metric)

    def thumbnail(self, task: str, protocol: Protocol, metric: Metric) -> float:
        """The recorded score of a forest on thumbnails, no floor of unfitted subjects; NaN if there is none."""
        if self.suite.tasks[task].train_split is None:
            return math.nan
        return self._recorded.get((task, protocol.name, metric.name, THUMBNAIL), math.nan)

    def scores(self, with_images: bool) -> Iterator[FloorScore]:
        """The scores of all rules on the test items of the set: of those that read images, or of all others."""
        for name, task in self.suite.tasks.items():
            for rule in self.rules(name):
                if (rule.name in READ_IMAGES) != with_images or rule.name == EQUAL_QUESTIONS:
                    continue
                for protocol in task.protocols.values():
                    for metric in protocol.metrics:
                        scores = np.asarray(self._unit_scores(name, protocol, metric, rule).dropna(), np.float64)
                        key = {"task": name, "protocol": protocol.name, "metric": metric.name, "name": rule.name}
                        if len(scores):
                            yield FloorScore(**key, value=round(summary(scores, metric), 4), n=len(scores))

    @cached_property
    def _recorded(self) -> Mapping[tuple[str, str, str, str], float]:
        return {score.key: score.value for score in self.items.blind.floors} if self.items.blind else {}

    def rules(self, name: str) -> tuple[FloorRule, ...]:
        """The rules of a task."""
        if name not in self._rules:  # every row of results asks for them, and training items take long to find
            self._rules[name] = tuple(self._rules_of(name))
        return self._rules[name]

    def _rules_of(self, name: str) -> Iterator[FloorRule]:
        task, items = self.suite.tasks[name], self.items.task(name)
        if (rule := task.boxes_only) is not None:
            yield FloorRule(BOXES_ONLY, False, lambda test: [applied(rule(item), item) for item in test])
        if (by_colour := task.colour_only) is not None:
            yield FloorRule(NAMED_COLOUR, False, lambda test: [by_colour(item, self.items.media) for item in test])
        pixels = partial(self._image_features, task.boxes)
        if task.cheap_sight and task.train_split is None:
            yield FloorRule(THUMBNAIL, False, lambda test: nearest_answers(test, pixels))
        train = [item for item in items if item.split == task.train_split]
        if not train or (strict := task.protocols.get("strict")) is None or strict.judge is not None:
            return
        metric = strict.metrics[0]
        yield FloorRule(EQUAL_QUESTIONS, True, lambda test: best_answer_by_question(train, metric, 1)(test))
        if task.boxes:
            yield FloorRule(
                BOXES_LEARNT, True, lambda test: forest_answers(train, test, box_features(task.boxes), metric)
            )
        if task.cheap_sight:
            yield FloorRule(THUMBNAIL, True, lambda test: forest_answers(train, test, pixels, metric))

    @cached_property
    def _image_features(self) -> Callable[[Sequence[str], Item], NDArray[np.float32]]:
        """Shared by all tasks, which ask about the same images."""
        return image_features(self.items.media)

    def _unit_scores(self, task: str, protocol: Protocol, metric: Metric, rule: FloorRule) -> pd.Series[float]:
        """The rule's score on every unit, by item id or group id."""
        key = task, protocol.name, metric.name, rule.name
        if key not in self._scores:
            test = [item for item in self.items.task(task) if item.split == "test"]
            if (task, rule.name) not in self._answers:
                answers = rule.answers(test) if test else ()
                self._answers[task, rule.name] = dict(zip((item.item_id for item in test), answers, strict=True))
            frame = score_frame(test, self._answers[task, rule.name], protocol)
            frame = frame[frame["metric"] == metric.name]
            units = protocol.units(frame)
            names = units.index if units.index.name == "group_id" else frame.loc[units.index, "item_id"]
            self._scores[key] = pd.Series(units["value"].to_numpy(float), index=np.asarray(names, object))
        return self._scores[key]
