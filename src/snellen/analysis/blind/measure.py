"""The blind baseline of tasks: the best attacker, chosen on some items, answers others.

`measure_blind` is for sets with many training items, `measure_by_folds` (nested folds over clusters) for those without.
In neither does an attacker answer items that it was fitted or chosen on.
"""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, partial
from typing import NamedTuple, TypeAlias

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
    word_weights,
)
from snellen.analysis.blind.learner import learner
from snellen.analysis.blind.memory import ExamMemory
from snellen.analysis.units import parts_of, summary, units_of
from snellen.core.condition import parse_conditions
from snellen.core.item import Item
from snellen.core.score import Metric, Protocol
from snellen.core.seeds import stream
from snellen.core.storage.itemset_cards import BlindScore
from snellen.core.suite import Suite, Task

ATTACKS = (
    Attack("best answer", best_answer),
    Attack("best answer by question", best_answer_by_question),
    Attack("best position", best_position),
    Attack("odd option", odd_one),
    Attack("word weights", word_weights),
    Attack("learner", learner),
)
MEMORY = "memory of other questions"
"""The name of the attack that knows the other questions of the exam (`memory`)."""
CONSTANTS = ATTACKS[0], ATTACKS[2]
"""Attacks that are also fitted on the items of one level alone."""
FOLDS = 4
MAX_CHOICE = 2000
"""Items that an attack is chosen on: more hardly change the choice."""
MIN_TRAIN = 50
"""Training items from which on only they are learnt from."""
FEW = 600
"""Training items below which the chosen attack is refitted on all: a learner needs the missing quarter."""
MIN_CLUSTERS = 10
"""Clusters below which a set cannot serve for both learning and measuring."""
MIN_PART = 20
"""Training items of one level from which on an attack is chosen for that level."""
TOLERANCE = 0.05
"""Distance of a blind baseline from chance, as a share of the way from chance to perfect, that is still accepted."""


OPPOSITE = "opposite answers within a pair"
Part: TypeAlias = tuple[str, str]
"""Factor and level; both empty for the whole task."""
WHOLE: Part = ("", "")


class PartReplies(NamedTuple):
    """Answers to the items of a part, by item id, and the attack that gave them."""

    attack: str
    answers: Mapping[str, Answer]


class FittedAttack(NamedTuple):
    """A fitted attacker, and its scores on the items that it is chosen by."""

    name: str
    attacker: Attacker
    scores: pd.DataFrame


def across_questions(items: Sequence[Item]) -> Attack:
    """The attack that recognises the files of an exam with these items in its other questions."""
    return Attack(MEMORY, partial(learner, clues=ExamMemory(items).clues))


def measure_blind(
    train: Sequence[Item], test: Sequence[Item], suite: Suite, attacks: Sequence[Attack] = ATTACKS
) -> list[BlindScore]:
    """Blind baselines on test items, of attackers fitted on training items; tasks that lack either are omitted.

    No subject remembers other questions, so `across_questions` is no attack on a user's set, whose images are few. A
    generated recipe is to withstand it.
    """
    rows: list[BlindScore] = []
    for task, learnt, items in _tasks(suite, train, test):
        rows += _scores(items, _attack(learnt, items, task, attacks), task)
    return rows


def measure_by_folds(items: Sequence[Item], suite: Suite, attacks: Sequence[Attack] = ATTACKS) -> list[BlindScore]:
    """Blind baselines by folds: each quarter of the clusters is answered by the attacker chosen on the other three.

    Tasks with at least `MIN_TRAIN` training items use `measure_blind` instead. Tasks with fewer than `MIN_CLUSTERS`
    clusters are omitted.
    """
    train, test = ([item for item in items if item.split == split] for split in ("train", "test"))
    counts = Counter(item.task for item in train)
    enough = [item for item in train if counts[item.task] >= MIN_TRAIN]
    rows = measure_blind(enough, test, suite, attacks)
    for task, _, test_items in _tasks(suite, items, test):
        if counts[task.id] >= MIN_TRAIN:
            continue
        if len({item.cluster_id for item in test_items}) < MIN_CLUSTERS:
            continue
        replies: dict[Part, list[PartReplies]] = defaultdict(list)
        for inside, outside in _by_fold(test_items):
            for part, part_replies in _attack(inside, outside, task, attacks).items():
                replies[part].append(part_replies)
        rows += _scores(test_items, {part: _merged(every) for part, every in replies.items()}, task)
    return rows


def guesses_by_folds(items: Sequence[Item], suite: Suite) -> dict[str, Answer]:
    """For each test item, by id, the best answer to its question in the three quarters of clusters without its own."""
    guesses: dict[str, Answer] = {}
    test = [item for item in items if item.split == "test"]
    for task, _, of_task in _tasks(suite, test, test):
        for inside, outside in _by_fold(of_task):
            if inside:
                guesses |= _answers(best_answer_by_question(inside, main_metric(task)), outside)
    return guesses


def _merged(every: Sequence[PartReplies]) -> PartReplies:
    """The answers of all folds, named after the attack that was chosen most often."""
    names = Counter(replies.attack for replies in every)
    answers = {item_id: answer for replies in every for item_id, answer in replies.answers.items()}
    return PartReplies(names.most_common(1)[0][0], answers)


def _attack(
    train: Sequence[Item], test: Sequence[Item], task: Task, attacks: Sequence[Attack]
) -> dict[Part, PartReplies]:
    """Answers to every part of the test items by the attacker that does best on that part of the training items.

    The candidates are the attacks fitted on all training items, and constant answers fitted on the part alone: if the
    answer determines the level (two things, of one to four), a constant is right on all of it.
    """
    sample = some_clusters(train, MAX_CHOICE)
    candidates, samples = _candidates(sample, task, attacks), _parts(sample, task) | {WHOLE: sample}
    fits = {attack.name: attack.fit for attack in attacks}
    refit = cache(lambda name: fits[name](sample, main_metric(task)))
    replies: dict[Part, PartReplies] = {}
    for part, items in _parts(test, task).items():
        learnt = samples.get(part, [])
        if len(learnt) < MIN_PART:
            learnt = sample
        own = [] if learnt is sample else _constants(learnt, task)
        chosen = _best([*candidates, *own], learnt, task)
        attacker = refit(chosen.name) if len(sample) < FEW and chosen.name in fits else chosen.attacker
        replies[part] = PartReplies(chosen.name, _answers(attacker, items))
    return replies


def too_blind(blind_scores: Sequence[BlindScore], suite: Suite) -> list[BlindScore]:
    """Whole tasks whose main metric has a blind baseline more than `TOLERANCE` above chance."""
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
    """The fold of each cluster: clusters are dealt in turn in a random order that depends only on their names."""
    clusters = sorted({item.cluster_id for item in items})
    order = stream("blind folds", *clusters).permutation(len(clusters))
    return {clusters[int(n)]: place % FOLDS for place, n in enumerate(order)}


def _by_fold(items: Sequence[Item]) -> Iterator[tuple[list[Item], list[Item]]]:
    """Yields (items of all other folds, items of the fold) for each fold that has a cluster."""
    folds = fold_numbers(items)
    for number in sorted(set(folds.values())):
        yield (
            [item for item in items if folds[item.cluster_id] != number],
            [item for item in items if folds[item.cluster_id] == number],
        )


def some_clusters(items: Sequence[Item], limit: int) -> list[Item]:
    """About `limit` of the items in whole clusters, drawn in a random order that depends only on their names.

    Every n-th item would be biased: sets alternate between statements and questions.
    """
    counts = Counter(item.cluster_id for item in items)
    clusters = sorted(counts)
    order = [clusters[int(n)] for n in stream("blind sample", *clusters).permutation(len(clusters))]
    before = np.cumsum([0, *(counts[cluster] for cluster in order)])
    chosen = {cluster for cluster, count in zip(order, before[:-1], strict=True) if count < limit}
    return [item for item in items if item.cluster_id in chosen]


def _candidates(items: Sequence[Item], task: Task, attacks: Sequence[Attack]) -> list[FittedAttack]:
    """Every attack fitted without each fold in turn, with its scores on that fold."""
    metric, strict = main_metric(task), task.protocols["strict"]
    if len({item.cluster_id for item in items}) == 1:  # nothing is left to choose on
        return [FittedAttack(attacks[0].name, attacks[0].fit(items, metric), score_frame((), {}, strict))]
    candidates = []
    for rest, fold in _by_fold(items):
        for attack in attacks:
            attacker = attack.fit(rest, metric)
            candidates.append(FittedAttack(attack.name, attacker, score_frame(fold, _answers(attacker, fold), strict)))
    return candidates


def _constants(items: Sequence[Item], task: Task) -> list[FittedAttack]:
    """Constant answers fitted on the items of a part, with their scores on the same: there is little to overfit."""
    metric, strict = main_metric(task), task.protocols["strict"]
    attackers = {f"{attack.name} of this part": attack.fit(items, metric) for attack in CONSTANTS}
    return [
        FittedAttack(name, attacker, score_frame(items, _answers(attacker, items), strict))
        for name, attacker in attackers.items()
    ]


def _best(candidates: Sequence[FittedAttack], items: Sequence[Item], task: Task) -> FittedAttack:
    """The best single fit of the attack that is best over all folds.

    A learner that has nothing to learn answers at random, and at random some fits get more pairs right than others on
    all items, since two statements must be answered differently to be both right.
    """
    metric, strict = main_metric(task), task.protocols["strict"]
    ids = {item.item_id for item in items}

    def worth(tables: Sequence[pd.DataFrame]) -> float:
        scores = pd.concat(tables)
        scores = scores[scores["item_id"].isin(ids)]
        return metric.sign * _summarised(scores, strict, metric)[0] if len(scores) else -math.inf

    tables_by_name: dict[str, list[pd.DataFrame]] = defaultdict(list)
    for candidate in candidates:
        tables_by_name[candidate.name].append(candidate.scores)
    name = max(tables_by_name, key=lambda name: worth(tables_by_name[name]))
    return max((c for c in candidates if c.name == name), key=lambda candidate: worth([candidate.scores]))


def _parts(items: Sequence[Item], task: Task) -> dict[Part, list[Item]]:
    """The items of each part that has a separate row in results."""
    by_id = {item.item_id: item for item in items}
    ids = pd.DataFrame({"item_id": list(by_id), "outcome": "answered"})
    return {
        (factor, level): [by_id[item_id] for item_id in part["item_id"]]
        for factor, level, part in parts_of(ids, by_id, task)
    }


def _tasks(
    suite: Suite, train: Sequence[Item], test: Sequence[Item]
) -> Iterator[tuple[Task, Sequence[Item], Sequence[Item]]]:
    """Tasks with an estimable blind baseline, each with the training and test items that vanilla asks."""
    (vanilla,) = parse_conditions(suite.axes, "vanilla")
    for task in suite.tasks.values():
        of_task = ([item for item in split if item.task == task.id] for split in (train, test))
        learnt, items = ([item for item in split if task.asks(item, vanilla)] for split in of_task)
        strict = task.protocols.get("strict")
        if learnt and items and strict is not None and strict.judge is None:
            yield task, learnt, items


def score_frame(items: Sequence[Item], answers: Mapping[str, Answer], protocol: Protocol) -> pd.DataFrame:
    """One row per item and metric, like score rows: the protocol reads an answer as it reads a subject's reply."""
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
    """(score, chance, scored units) by one metric."""
    units = units_of(scores[scores["metric"] == metric.name], protocol)
    value = summary(units["value"].to_numpy(float), metric)
    return value, float(units["chance"].mean()) if len(units) else math.nan, len(units)


def opposite_answers(scores: pd.DataFrame, protocol: Protocol) -> float:
    """The expected share of pairs of a rule that answers the two statements of a pair oppositely; NaN for no pairs.

    Whatever the rule, half of the pairs whose keys differ are right: of a statement and its reverse, those in which it
    turns the right way. Of the other pairs it gets those with the commonest key. Groups that are no pairs have none.
    """
    sizes = scores.groupby("group_id")["truth"].agg(["size", "nunique", "first"])
    is_pairs = len(sizes) > 0 and (sizes["size"] == 2).all() and set(scores["truth"]) <= {'"true"', '"false"'}
    if not is_pairs or protocol.units(scores).index.name != "group_id":
        return math.nan
    differ = sizes["nunique"] == 2
    alike = sizes.loc[~differ, "first"].value_counts()
    return float((differ.sum() / 2 + alike.max()) / len(sizes)) if len(alike) else float(differ.mean() / 2)


def _scores(items: Sequence[Item], replies: Mapping[Part, PartReplies], task: Task) -> Iterator[BlindScore]:
    """Scores of the answers: one row per protocol, metric, factor and level, as in results."""
    by_id = {item.item_id: item for item in items}
    for (factor, level), part in replies.items():
        answered = [by_id[item_id] for item_id in part.answers]
        for protocol in task.protocols.values():
            frame = score_frame(answered, part.answers, protocol)
            for metric in (metric for metric in protocol.metrics if metric.estimate is None):
                value, chance, count = _summarised(frame, protocol, metric)
                attack = part.attack
                opposite = opposite_answers(frame[frame["metric"] == metric.name], protocol)
                if metric.sign * opposite > metric.sign * value:
                    value, attack = opposite, OPPOSITE
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
