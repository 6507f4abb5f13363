"""The blind score of tasks: the best attacker, chosen on some items, answers others.

Two ways: on a set that has many items to learn from (`measure_blind`), and on one that has only itself, by nested folds
over clusters (`measure_by_folds`). Neither lets an attacker answer what it was fitted or chosen on.
"""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd

from snellen.analysis.blind.attacks import (
    Answer,
    Attack,
    Attacker,
    best_answer,
    best_answer_by_question,
    best_position,
    odd_one,
)
from snellen.analysis.blind.learner import learner
from snellen.analysis.results import parts_of, summary, units_of
from snellen.core.condition import parse_conditions
from snellen.core.item import Item
from snellen.core.itemset import BlindScore
from snellen.core.score import Metric, Protocol
from snellen.core.seeds import stream
from snellen.core.suite import Suite, Task

ATTACKS = (
    Attack("best answer", best_answer),
    Attack("best answer by question", best_answer_by_question),
    Attack("best position", best_position),
    Attack("odd option", odd_one),
    Attack("learner", learner),
)
FOLDS = 4
MAX_CHOICE = 2000
"""Items that an attack is chosen on: more hardly move the choice."""
MIN_TRAIN = 50
"""Training items from which on they alone are learnt from."""
MIN_CLUSTERS = 10
"""Clusters below which nothing can be learnt from a set and told of it too."""
TOLERANCE = 0.05
"""How far a blind score may lie above chance, as a share of the way from chance to perfect, before it is named."""


def measure_blind(
    train: Sequence[Item], test: Sequence[Item], suite: Suite, attacks: Sequence[Attack] = ATTACKS
) -> list[BlindScore]:
    """Attackers fitted and chosen on training items answer test items. Tasks that lack either are left out."""
    rows: list[BlindScore] = []
    for task, learnt, items in _tasks(suite, train, test):
        attack = choose_attack(learnt, task, attacks)
        attacker = attack.fit(learnt, main_metric(task))
        rows += _scores(items, _answers(attacker, items), task, attack.name)
    return rows


def measure_by_folds(items: Sequence[Item], suite: Suite, attacks: Sequence[Attack] = ATTACKS) -> list[BlindScore]:
    """Each quarter of the clusters is answered by the attacker that was chosen on the other three.

    A task with `MIN_TRAIN` training items or more is attacked by what these teach (`measure_blind`). Tasks with fewer
    than `MIN_CLUSTERS` clusters are left out.
    """
    train, test = ([item for item in items if item.split == split] for split in ("train", "test"))
    counts = Counter(item.task for item in train)
    taught = [item for item in train if counts[item.task] >= MIN_TRAIN]
    rows = measure_blind(taught, test, suite, attacks)
    for task, _, test_items in _tasks(suite, items, test):
        if counts[task.id] >= MIN_TRAIN:
            continue
        folds = fold_numbers(test_items)
        if len(folds) < MIN_CLUSTERS:
            continue
        answers, names = dict[str, Answer](), Counter[str]()
        for number in range(FOLDS):
            inside = [item for item in test_items if folds[item.cluster_id] != number]
            attack = choose_attack(inside, task, attacks)
            attacker = attack.fit(inside, main_metric(task))
            names[attack.name] += 1
            outside = [item for item in test_items if folds[item.cluster_id] == number]
            answers |= _answers(attacker, outside)
        rows += _scores(test_items, answers, task, names.most_common(1)[0][0])
    return rows


def too_blind(blind_scores: Sequence[BlindScore], suite: Suite) -> list[BlindScore]:
    """Whole tasks whose main metric is had without looking by more than `TOLERANCE` above chance."""
    named = []
    for score in blind_scores:
        metric = main_metric(suite.tasks[score.task])
        is_main = (score.protocol, score.metric, score.factor) == ("strict", metric.name, "")
        if not is_main or score.chance is None or metric.best == score.chance:
            continue
        if (score.value - score.chance) / (metric.best - score.chance) > TOLERANCE:
            named.append(score)
    return named


def _answers(attacker: Attacker, items: Sequence[Item]) -> dict[str, Answer]:
    return dict(zip((item.item_id for item in items), attacker(items), strict=True))


def main_metric(task: Task) -> Metric:
    """The first metric under `strict`."""
    return task.protocols["strict"].metrics[0]


def fold_numbers(items: Sequence[Item]) -> Mapping[str, int]:
    """The fold of each cluster: clusters in a random order that hangs on their names alone, dealt in turn."""
    clusters = sorted({item.cluster_id for item in items})
    order = stream("blind folds", *clusters).permutation(len(clusters))
    return {clusters[int(n)]: place % FOLDS for place, n in enumerate(order)}


def some_clusters(items: Sequence[Item], limit: int) -> list[Item]:
    """About `limit` of the items, whole clusters of them, in a random order that hangs on their names alone.

    Every n-th item would not do: sets have statements and questions in turn.
    """
    counts = Counter(item.cluster_id for item in items)
    clusters = sorted(counts)
    order = [clusters[int(n)] for n in stream("blind sample", *clusters).permutation(len(clusters))]
    before = np.cumsum([0, *(counts[cluster] for cluster in order)])
    chosen = {cluster for cluster, count in zip(order, before[:-1], strict=True) if count < limit}
    return [item for item in items if item.cluster_id in chosen]


def choose_attack(items: Sequence[Item], task: Task, attacks: Sequence[Attack]) -> Attack:
    """The attack that does best on folds it was not fitted on; of equal ones the first."""
    items = some_clusters(items, MAX_CHOICE)
    folds, metric = fold_numbers(items), main_metric(task)
    if len(folds) < 2:
        return attacks[0]
    answers_by_attack: dict[str, dict[str, Answer]] = defaultdict(dict)
    for number in range(FOLDS):
        rest = [item for item in items if folds[item.cluster_id] != number]
        fold = [item for item in items if folds[item.cluster_id] == number]
        if not rest:
            continue
        for attack in attacks:
            answers_by_attack[attack.name] |= _answers(attack.fit(rest, metric), fold)
    scored = [item for item in items if item.item_id in answers_by_attack[attacks[0].name]]
    strict = task.protocols["strict"]
    frames = [_frame(scored, answers_by_attack[attack.name], strict) for attack in attacks]
    means = [metric.sign * _summarised(frame, strict, metric)[0] for frame in frames]
    return attacks[int(np.argmax(means))]


def _tasks(
    suite: Suite, train: Sequence[Item], test: Sequence[Item]
) -> Iterator[tuple[Task, Sequence[Item], Sequence[Item]]]:
    """Tasks that a blind score can be told of, each with the items to learn from and to answer that vanilla asks."""
    (vanilla,) = parse_conditions(suite.axes, "vanilla")
    for task in suite.tasks.values():
        of_task = ([item for item in split if item.task == task.id] for split in (train, test))
        learnt, items = ([item for item in split if task.asks(item, vanilla)] for split in of_task)
        strict = task.protocols.get("strict")
        if learnt and items and strict is not None and strict.judge is None:
            yield task, learnt, items


def _frame(items: Sequence[Item], answers: Mapping[str, Answer], protocol: Protocol) -> pd.DataFrame:
    """One row an item and metric, as scores have them: a protocol reads an answer as it reads a subject's reply."""
    rows = []
    for item in items:
        spec, answer = item.view().reply, answers[item.item_id]
        prediction = None if answer is None else protocol.read(spec.write(answer), spec)
        outcome = "no_answer" if prediction is None else "answered"
        ids = item.item_id, item.group_id, item.cluster_id, json.dumps(item.answer)
        values = protocol.values(item, prediction)
        rows += [(*ids, 0, outcome, m.name, values[m.name], m.chance(item)) for m in protocol.metrics]
    columns = ["item_id", "group_id", "cluster_id", "truth", "repeat", "outcome", "metric", "value", "chance"]
    return pd.DataFrame(rows, columns=columns)


def _summarised(scores: pd.DataFrame, protocol: Protocol, metric: Metric) -> tuple[float, float, int]:
    """(score, chance, scored units) by one metric, units put together as it says."""
    units = units_of(scores[scores["metric"] == metric.name], protocol)
    value = summary(units["value"].to_numpy(float), metric)
    return value, float(units["chance"].mean()) if len(units) else math.nan, len(units)


def _scores(items: Sequence[Item], answers: Mapping[str, Answer], task: Task, attack: str) -> Iterator[BlindScore]:
    """What the answers are worth: one row a protocol, metric, factor and level, as results have them."""
    by_id = {item.item_id: item for item in items}
    for protocol in task.protocols.values():
        frame = _frame(items, answers, protocol)
        for metric in protocol.metrics:
            scores = frame[frame["metric"] == metric.name]
            for factor, level, part in parts_of(scores, by_id, task):
                value, chance, count = _summarised(part, protocol, metric)
                if not math.isnan(value):
                    yield BlindScore(
                        task=task.id,
                        protocol=protocol.name,
                        metric=metric.name,
                        factor=factor,
                        level=level,
                        value=round(value, 4),
                        chance=None if math.isnan(chance) else round(chance, 4),
                        n=count,
                        attack=attack,
                    )
