"""Deficits: the properties of items that decide whether a subject is right.

Each property splits the items of a task into those that it decides and the others: what an item needs (`requires`), a
level of a factor that the task is split by, a false statement, a count above some number, an image without which the
answer is open. Shares of right answers are compared within tasks: the other items are weighted by the number of items
of their task that the property decides. Both shares have intervals, scaled as in `grades` from the floor (0: the better
of chance and blind baseline) to the ceiling (1), of level 1 - 0.05 / 6 / n: six kinds of properties share the error of
5 %, and the n tried properties of a kind share its part. A property is reported if the interval of the difference
excludes 0 and the share elsewhere is above the floor. Items that the property decides may have a blind baseline of
their own. The difference is then computed twice: with this floor, and with the floor of the task. It must exclude 0
both times; otherwise equal shares could differ by their floors alone. The interval of the difference comes from those
of both shares: Newcombe 1998, "Interval estimation for the difference between independent proportions", Statistics in
Medicine 17, method 10. The property that best separates
right from wrong is reported first; its items are then left out, and the rest is examined again.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from snellen.analysis.grading.grades import BLIND, FULL, HALF, baseline, ceiling_of, progress
from snellen.analysis.grading.rows import ResultRow, rows_of
from snellen.analysis.tables.run_view import ReportArm, lines_of
from snellen.analysis.tables.section import Run, protocol_of
from snellen.core.item import Item
from snellen.core.seeds import lazy_stream
from snellen.scoring.protocols import ACCURACY
from snellen.scoring.uncertainty import mean_interval

ERROR = 0.05
"""The probability that any property of a subject is reported wrongly, over all that are tried."""
KINDS = {"requires": 0, "factor": 1, "false": 2, "true": 2, "count": 3, "image": 4, "option": 5}
"""Part of the error per kind of property, so that many levels of factors cannot hide one image."""
PARTS = len(set(KINDS.values()))
MAX_NAMED = 3
MAX_COUNT = 10
"""Counts above this are not tried."""
MIN_ITEMS = 4
"""Items that a property needs on either side to be tried."""
Mask: TypeAlias = npt.NDArray[np.bool_]
Floats: TypeAlias = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Property:
    """A property that decides items. `kind` is requires, factor, false, true, count or image; `name` identifies it."""

    kind: str
    name: str
    level: str = ""

    @property
    def key(self) -> str:
        """Its key in the words of a suite's card."""
        return f"{self.name}={self.level}" if self.kind == "factor" else self.name

    @property
    def level_key(self) -> tuple[str, str]:
        """Factor and level of its rows of results."""
        return (self.name, self.level) if self.kind == "factor" else (self.kind, self.name)


@dataclass(frozen=True)
class ScoredAnswer:
    """A subject's answer to an item: right or not, with the floor of its task: the better of chance and blind baseline.

    `task` includes the suite; `split_by` are the factors that the task is split by. `position` is that of the chosen
    option, -1 for none. `floors` are those of properties that have their own. From `greatest`, the greatest floor that
    applies, *most* is judged; `ceiling` is the end of the way. `words` are those of the suite's card.
    """

    item: Item
    task: str
    split_by: tuple[str, ...]
    right: bool
    floor: float
    position: int = -1
    floors: Mapping[Property, float] = field(default_factory=dict)
    greatest: float = math.nan
    ceiling: float = 1.0
    words: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Share:
    """A share of right answers of `n` items; `progress`, `low` and `high` are scaled from floor (0) to ceiling."""

    right: float
    progress: float
    low: float
    high: float
    n: int
    floor: float = math.nan


@dataclass(frozen=True)
class Deficit:
    """Properties that decide the same items of `tasks`, with the shares of right answers on these and elsewhere."""

    properties: tuple[Property, ...]
    affected: Share
    elsewhere: Share
    tasks: frozenset[str]
    next_count: int = 0


@dataclass(frozen=True)
class Preference:
    """A place among the options, from 0, that `taken` of the `wrong` answers chose; `expected` would by chance."""

    position: int
    taken: int
    wrong: int
    expected: float


@dataclass(frozen=True)
class Findings:
    """Findings on one subject: the strongest deficits first, a preferred place, dimensions with the grade *most*.

    `words` are those of the cards of all suites.
    """

    deficits: tuple[Deficit, ...] = ()
    preference: Preference | None = None
    dimensions: tuple[str, ...] = ()
    words: Mapping[str, str] = field(default_factory=dict)


def properties_of(item: Item, split_by: Iterable[str]) -> Iterator[tuple[Property, bool]]:
    """The properties that apply to an item, each with whether it decides the item.

    Properties that do not decide are listed for images only, since an item with two images has no third one.
    """
    yield from ((Property("requires", name), True) for name in item.requires)
    for factor in split_by:
        if level := item.factors.get(factor, ""):
            yield Property("factor", factor, level), True
    if item.answer_kind == "true_false":
        yield Property(str(item.answer), "statement"), True
    if item.answer_kind == "integer":
        yield from ((Property("count", str(count)), True) for count in range(1, min(int(item.answer), MAX_COUNT + 1)))
    yield from ((Property("image", str(position)), decides) for position, decides in deciding_images(item))


def deciding_images(item: Item) -> Iterator[tuple[int, bool]]:
    """For each place from 1, whether the answer is open without that image. Only for questions that link images."""
    partitions, order = item.latent.get("partitions"), str(item.latent.get("order", ""))
    if not partitions or len(order) != len(item.query):
        return
    for position in range(len(order)):
        known = _without(order, position)
        answers = {answer for pattern, answer in partitions.items() if _without(pattern, position) == known}
        yield position + 1, len(answers) > 1


def _without(pattern: str, position: int) -> tuple[int, ...]:
    """The pattern of equal images without one of them, by first appearance: `ABA` without the first is (0, 1)."""
    rest = pattern[:position] + pattern[position + 1 :]
    return tuple(rest.index(letter) for letter in rest)


def answers_by_arm(run: Run) -> dict[ReportArm, list[ScoredAnswer]]:
    """The readable answers of every arm to items of tasks with right and wrong answers (metric `accuracy`).

    Positions of options are those of the item; under a condition that shuffles them the position is unknown. Floors and
    ceilings are those of the rows of results. A level has its own floor if its blind baseline is known and leaves
    something to grade.
    """
    scores, rows = run.scores[protocol_of(run)], run.results
    rows = rows[(rows["metric"] == ACCURACY.name) & (rows["protocol"] == protocol_of(run))]
    row_by_part = {(row.subject, row.condition, row.task, row.factor, row.level): row for row in rows_of(rows)}
    floor_rows = {part: row for part, row in row_by_part.items() if _has_own_floor(row, row_by_part[*part[:3], "", ""])}
    scores = scores[(scores["metric"] == ACCURACY.name) & (scores["outcome"] == "answered") & scores["value"].notna()]
    by_arm: dict[ReportArm, list[ScoredAnswer]] = {}
    for row in lines_of(scores):
        item, task = run.items.by_id[row.item_id], run.suite.tasks[row.task]
        keys = [json.dumps(option.key) for option in item.options]
        position = keys.index(row.prediction) if row.prediction in keys and "order=" not in row.condition else -1
        arm, place = ReportArm(str(row.subject), str(row.condition)), f"{run.suite.name}/{row.task}"
        whole = row_by_part[*arm, row.task, "", ""]
        parts = {key: (*arm, row.task, *key.level_key) for key, _ in properties_of(item, task.split_by)}
        floors = {key: _floor(floor_rows[part], row.chance) for key, part in parts.items() if part in floor_rows}
        ceiling, floor = ceiling_of(whole, ACCURACY), _floor(whole, row.chance)
        greatest = math.nan if whole.grade.floor_name == BLIND else min(whole.grade.floor, ceiling)
        facts = floor, position, floors, greatest, ceiling, run.suite.card.words
        by_arm.setdefault(arm, []).append(ScoredAnswer(item, place, task.split_by, row.value == 1.0, *facts))
    return by_arm


def _has_own_floor(row: ResultRow, whole: ResultRow) -> bool:
    """Whether the blind baseline of a row of results is known and leaves more than a tenth of the way of its task."""
    blind, task_blind, ceiling = baseline(row, ACCURACY), baseline(whole, ACCURACY), ceiling_of(whole, ACCURACY)
    return not math.isnan(row.blind) and progress(blind, task_blind, ceiling) < FULL


def _floor(row: ResultRow, chance: float) -> float:
    """The floor of an item with this chance: the blind baseline of its row of results, unless chance is the better."""
    return float(row.blind if row.blind > row.chance else chance)


class Trials:
    """The answers of one subject as arrays, with the properties that decide each item."""

    def __init__(self, answers: Sequence[ScoredAnswer]) -> None:
        self.answers = answers
        self.right = np.array([answer.right for answer in answers], np.float64)
        self.floor = np.array([answer.floor for answer in answers], np.float64)
        self.greatest = np.array([answer.greatest for answer in answers], np.float64)
        self.ceiling = np.array([answer.ceiling for answer in answers], np.float64)
        self.tasks = np.unique([answer.task for answer in answers], return_inverse=True)[1]
        self.clusters = np.array([f"{answer.task.partition('/')[0]} {answer.item.cluster_id}" for answer in answers])
        self.decides = self._decides()

    def _decides(self) -> dict[Property, npt.NDArray[np.int8]]:
        """For each property and item: 1 if it decides the item, 0 if not, -1 if it does not apply."""
        counts = {int(a.item.answer) for a in self.answers if a.item.answer_kind == "integer"}
        table: dict[Property, npt.NDArray[np.int8]] = {}
        for number, answer in enumerate(self.answers):
            for key, decides in properties_of(answer.item, answer.split_by):
                if key.kind == "count" and int(key.name) not in counts:
                    continue  # it has the same items as the next count that occurs
                usual = -1 if key.kind == "image" else 0
                table.setdefault(key, np.full(len(self.answers), usual, np.int8))[number] = decides
        return table

    def sides(self, key: Property, active: Mask) -> tuple[Mask, Mask] | None:
        """Masks of items that the property decides and of others, in tasks with both; None if either has too few."""
        affected, elsewhere = ((self.decides[key] == side) & active for side in (1, 0))
        tasks = np.intersect1d(self.tasks[affected], self.tasks[elsewhere])
        affected, elsewhere = (side & np.isin(self.tasks, tasks) for side in (affected, elsewhere))
        enough = min(affected.sum(), elsewhere.sum()) >= MIN_ITEMS
        return (affected, elsewhere) if enough else None

    def weights(self, affected: Mask, elsewhere: Mask) -> npt.NDArray[np.float64]:
        """Weights of the other items: in each task they sum to the number of items that the property decides."""
        size = int(self.tasks.max()) + 1
        decided, other = (np.bincount(self.tasks[side], minlength=size) for side in (affected, elsewhere))
        return np.asarray(decided[self.tasks[elsewhere]] / other[self.tasks[elsewhere]], np.float64)

    def floors(self, key: Property, affected: Mask) -> Floats:
        """The floors of the items that the property decides."""
        answers = (self.answers[number] for number in np.flatnonzero(affected).tolist())
        return np.array([answer.floors.get(key, answer.floor) for answer in answers], np.float64)

    def shares(self, key: Property, affected: Mask, elsewhere: Mask, level: float) -> tuple[Share, Share]:
        """The shares of right answers to the items that the property decides and to the others."""
        others = self.share(elsewhere, level, self.floor[elsewhere], self.weights(affected, elsewhere))
        return self.share(affected, level, self.floors(key, affected)), others

    def share(self, mask: Mask, level: float, floors: Floats, weights: Floats | None = None) -> Share:
        """The share of right answers on a side with these floors, with its interval at this level."""
        mass = np.ones(int(mask.sum())) if weights is None else weights
        rng = lazy_stream("deficits")  # shares need no draws
        low, high, _ = mean_interval(self.right[mask], self.clusters[mask], (0.0, 1.0), rng, mass, level)
        numbers = self.right[mask], floors, self.ceiling[mask]
        right, floor, ceiling = (float(np.average(values, weights=mass)) for values in numbers)
        middle, first, last = (progress(end, floor, ceiling) for end in (right, low, high))
        return Share(right, middle, first, last, int(mask.sum()), floor)


def find_deficits(answers: Sequence[ScoredAnswer]) -> Findings:
    """The properties that decide whether a subject is right; empty if none can be distinguished from the others.

    All `answers` are of one subject under one condition, in one repeat or several.
    """
    answers = [answer for answer in answers if answer.floor < answer.ceiling]
    if not answers:
        return Findings()
    trials, active = Trials(answers), np.ones(len(answers), np.bool_)
    tried = [key for key in trials.decides if trials.sides(key, active) is not None]
    counts = Counter(KINDS[key.kind] for key in tried)
    levels = {key: 1 - ERROR / PARTS / counts[KINDS[key.kind]] for key in tried}
    free = _free_positions(answers)
    preference = _preference([answers[n] for n in np.flatnonzero(free)], ERROR / PARTS)
    if preference is not None:
        active &= ~free
    deficits: list[Deficit] = []
    while len(deficits) < MAX_NAMED and (deficit := _strongest(trials, levels, active)) is not None:
        deficits.append(deficit)
        active = active & (trials.decides[deficit.properties[0]] != 1)
    words = {key: text for card in {a.task: a.words for a in answers}.values() for key, text in card.items()}
    return Findings(tuple(deficits), preference, _dimensions(trials, active) if deficits else (), words)


def _strongest(trials: Trials, levels: Mapping[Property, float], active: Mask) -> Deficit | None:
    """The significant property that best separates right from wrong, by the sum of squares that it explains."""
    best, most = None, 0.0
    for key, level in levels.items():
        squares = _squares(trials, key, active)
        if squares <= most or (sides := trials.sides(key, active)) is None:
            continue
        affected, elsewhere = trials.shares(key, *sides, level)
        by_task = trials.share(sides[0], level, trials.floor[sides[0]])
        is_less = all(least_difference(share, elsewhere) > 0 for share in (affected, by_task))
        if is_less and elsewhere.low > 0:
            best, most = key, squares
    if best is None or (sides := trials.sides(best, active)) is None:
        return None
    shares = trials.shares(best, *sides, 1 - ERROR)
    tasks = frozenset(trials.answers[number].task for number in np.flatnonzero(sides[0]).tolist())
    return Deficit(_alike(trials, levels, active, best), *shares, tasks, _next_count(trials, best))


def least_difference(affected: Share, elsewhere: Share) -> float:
    """The lower end of the subject's advantage elsewhere (Newcombe 1998, method 10); NaN without intervals."""
    error = math.hypot(elsewhere.progress - elsewhere.low, affected.high - affected.progress)
    return elsewhere.progress - affected.progress - error


def _squares(trials: Trials, key: Property, active: Mask) -> float:
    """The sum of squares of right and wrong, over all items, that the property explains."""
    affected = (trials.decides[key] == 1) & active
    elsewhere = active & ~affected
    sizes = int(affected.sum()), int(elsewhere.sum())
    if not min(sizes):
        return 0.0
    gap = trials.right[elsewhere].mean() - trials.right[affected].mean()
    return float(max(gap, 0.0) ** 2 * sizes[0] * sizes[1] / sum(sizes))


def _alike(trials: Trials, tried: Iterable[Property], active: Mask, key: Property) -> tuple[Property, ...]:
    """The property, and dimensions that exactly the same items require."""
    decided = trials.decides[key][active]
    others = [p for p in tried if p.kind == key.kind == "requires" and (trials.decides[p][active] == decided).all()]
    return (key, *(other for other in others if other != key))


def _next_count(trials: Trials, key: Property) -> int:
    if key.kind != "count":
        return 0
    counts = (int(a.item.answer) for a in trials.answers if a.item.answer_kind == "integer")
    return min(count for count in counts if count > int(key.name))


def _dimensions(trials: Trials, active: Mask) -> tuple[str, ...]:
    """Other required dimensions with the grade *most*: the interval is above half of the way."""
    sides = {key: (marks == 1) & active for key, marks in trials.decides.items() if key.kind == "requires"}
    sides = {key: side for key, side in sides.items() if side.sum() >= MIN_ITEMS}
    level = 1 - ERROR / max(len(sides), 1)
    floors = {key: np.fmax(trials.floors(key, side), trials.greatest[side]) for key, side in sides.items()}
    return tuple(key.name for key, side in sides.items() if trials.share(side, level, floors[key]).low > HALF)


def _free_positions(answers: Sequence[ScoredAnswer]) -> Mask:
    """Mask of answers whose task has options in random order: most repeated words appear at several places.

    Options without own words (letters, images) have nothing but their place.
    """
    positions: dict[str, dict[str, list[int]]] = {}
    for answer in answers:
        if answer.item.answer_kind == "choice" and len(answer.item.options) > 1:
            of_task = positions.setdefault(answer.task, {})
            for position, option in enumerate(answer.item.options):
                if option.text and option.text != option.key:
                    of_task.setdefault(option.text, []).append(position)
    free = set[str]()
    for task, of_task in positions.items():
        often = [len(set(of_words)) > 1 for of_words in of_task.values() if len(of_words) > 1]
        if not of_task or (often and np.mean(often) > 1 / 2):
            free.add(task)
    return np.array([answer.task in free for answer in answers], np.bool_)


def _preference(answers: Sequence[ScoredAnswer], error: float) -> Preference | None:
    """The place that wrong answers choose more often than by chance; None if chance may explain it.

    With options in random order, a wrong answer without a preference is equally likely at each wrong place. The number
    at a place is then a sum of independent trials; its upper tail must be under `error` over the number of places.
    """
    wrong = [answer for answer in answers if not answer.right and answer.position >= 0]
    positions = max((len(answer.item.options) for answer in wrong), default=0)
    best, least = None, error / max(positions, 1)
    for position in range(positions):
        open_here = [
            a for a in wrong if position < len(a.item.options) and a.item.options[position].key != a.item.answer
        ]
        chances = [1 / (len(answer.item.options) - 1) for answer in open_here]
        taken = sum(answer.position == position for answer in open_here)
        tail = upper_tail(chances, taken)
        if taken and tail < least:
            best, least = Preference(position, taken, len(open_here), float(sum(chances))), tail
    return best


def upper_tail(chances: Sequence[float], count: int) -> float:
    """The probability that at least `count` of independent events happen, given the probability of each."""
    numbers = np.ones(1)
    for chance in chances:
        numbers = np.convolve(numbers, (1 - chance, chance))
    return float(min(1.0, numbers[count:].sum()))
