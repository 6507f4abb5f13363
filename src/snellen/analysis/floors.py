"""Floors that are known item by item: answers that read the drawn boxes, or look up equal questions, and nothing else.

Frames: closed rules on the coordinates of drawn boxes (`Task.frames`), for every subject. Equal questions: the
commonest answer to the same question among the training examples, for subjects that are fitted to these.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from snellen.analysis.blind.attacks import Answer, applied, best_answer_by_question
from snellen.analysis.blind.measure import score_frame
from snellen.analysis.grades import UnitFloor
from snellen.core.score import Metric, Protocol
from snellen.core.storage.itemset import ItemSet
from snellen.core.subject import learns_from_examples
from snellen.core.suite import Suite

FRAMES, EQUAL_QUESTIONS = "drawn boxes", "answers to equal questions"


class RuleAnswers(NamedTuple):
    """The answers of a rule by item id; the items on which it has none score the worst."""

    name: str
    excess: str
    answers: Mapping[str, Answer]
    needs_training: bool = False


@dataclass
class Floors:
    """The floors of an item set."""

    items: ItemSet
    suite: Suite
    _scores: dict[tuple[str, str, str, str], pd.Series[float]] = field(default_factory=dict, repr=False)

    def of_units(
        self, task: str, protocol: Protocol, metric: Metric, subject: str, axes: Mapping[str, Any], units: list[str]
    ) -> list[UnitFloor]:
        """The floors of a subject's scored units, given by item id (or by group id, if groups are scored)."""
        chosen = []
        for rule in self._rules.get(task, ()):
            read_none = self.suite.tasks[task].frameless
            if rule.needs_training and not learns_from_examples(subject):
                continue
            if rule.name == FRAMES and read_none and str(axes.get(read_none[0])) == read_none[1]:
                continue
            scores = self._unit_scores(task, protocol, metric, rule).reindex(units)
            if len(scores) and scores.notna().all():
                condition = "=".join(read_none) if rule.name == FRAMES else ""
                chosen.append(UnitFloor(rule.name, rule.excess, scores.to_numpy(float).tolist(), condition))
        return chosen

    @cached_property
    def _rules(self) -> Mapping[str, Sequence[RuleAnswers]]:
        return {task: rules for task in self.suite.tasks if (rules := tuple(self._rules_of(task)))}

    def _rules_of(self, task: str) -> Iterator[RuleAnswers]:
        items, rule = self.items.task(task), self.suite.tasks[task].frames
        test = [item for item in items if item.split == "test"]
        if rule is not None:
            answers = {item.item_id: applied(rule(item), item) for item in test}
            yield RuleAnswers(FRAMES, "no more than the frames give", answers)
        train = [item for item in items if item.split == "train"]
        if train and test and (strict := self.suite.tasks[task].protocols.get("strict")):
            looked_up = best_answer_by_question(train, strict.metrics[0], 1)(test)
            answers = dict(zip((item.item_id for item in test), looked_up, strict=True))
            yield RuleAnswers(EQUAL_QUESTIONS, "no more than equal questions give", answers, needs_training=True)

    def _unit_scores(self, task: str, protocol: Protocol, metric: Metric, rule: RuleAnswers) -> pd.Series[float]:
        """The rule's score on every unit, by item id or group id."""
        key = task, protocol.name, metric.name, rule.name
        if key not in self._scores:
            items = [item for item in self.items.task(task) if item.item_id in rule.answers]
            frame = score_frame(items, rule.answers, protocol)
            frame = frame[frame["metric"] == metric.name]
            units = protocol.units(frame)
            names = units.index if units.index.name == "group_id" else frame.loc[units.index, "item_id"]
            self._scores[key] = pd.Series(units["value"].to_numpy(float), index=np.asarray(names, object))
        return self._scores[key]
