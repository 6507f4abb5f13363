"""A spot-check of the key by people who do not see it: drawing questions, and the agreement of answers with the key.

Blank answers are not counted, and unreadable ones are listed to be written again; nothing is guessed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any, Literal

import numpy as np

from snellen.core.condition import Condition, refuse_unknown
from snellen.core.errors import SnellenError
from snellen.core.item import Item, View
from snellen.core.prompt import Prompt
from snellen.core.seeds import stream
from snellen.core.storage.itemset import ItemSet
from snellen.core.storage.media import MediaFolder
from snellen.core.subject import SubjectCard
from snellen.core.suite import Suite, Task, ViewContext, settle
from snellen.runs.plan import is_asked, select_test_items
from snellen.runs.views import lay_out_montages, show_items
from snellen.scoring.protocols import correct
from snellen.scoring.uncertainty import cluster_wilson

UNDECIDABLE = "?"
"""The answer if the images do not decide the question. It counts as a disagreement."""
Outcome = Literal["agrees", "disagrees", "undecidable", "unreadable", "blank"]
COUNTED: tuple[Outcome, ...] = ("agrees", "disagrees", "undecidable")
DIFFICULTY = "difficulty"
"""The factor by whose levels questions are chosen, and answers compared with the key."""
ORDER = ("easy to see", "easy", "medium", "middle", "hard to see", "hard", "expert")
HARD = ORDER[-3:]
"""The levels of difficulty that the choice `NOT_HARD` leaves out."""
NOT_HARD, ALL_LEVELS = "not-hard", "all"


@dataclass(frozen=True)
class QuizQuestion:
    """One item as shown to people: `number` from 1, and the prompt that a chat model would get, with montages drawn."""

    number: int
    item: Item
    view: View
    prompt: Prompt


@dataclass(frozen=True)
class QuizAnswer:
    """A person's answer to a question, its reading, and its relation to the key.

    `tolerance` are the words for what agrees beyond the key; `is_near` means that an option agrees for that reason.
    """

    question: QuizQuestion
    text: str
    prediction: Any
    outcome: Outcome
    tolerance: str = ""
    is_near: bool = False


@dataclass(frozen=True)
class KeyAgreement:
    """Counted answers that agree with the key, with a 95 % interval over clusters.

    They are those of one task or all, or those of one level of difficulty. `tolerance` are the words for what agrees
    in this task beyond the key; `near` counts options that agree but are not the key, if the task `has_options`.
    """

    task: str
    agreed: int
    counted: int
    low: float
    high: float
    unreadable: int
    blank: int
    level: str = ""
    near: int = 0
    tolerance: str = ""
    has_options: bool = False

    @property
    def exact(self) -> int:
        """Answers that agree, without options that are only near the key."""
        return self.agreed - self.near

    @property
    def name(self) -> str:
        """The task, the level, or `all`."""
        return self.level or self.task or "all"

    @property
    def share(self) -> float:
        """Share of counted answers that agree; NaN if none is counted."""
        return self.agreed / self.counted if self.counted else float("nan")


def draw_questions(
    items: ItemSet,
    suite: Suite,
    condition: Condition,
    media: MediaFolder,
    *,
    n: int,
    seed: int = 0,
    difficulty: str = ALL_LEVELS,
) -> tuple[QuizQuestion, ...]:
    """`n` test items, spread over tasks and within a task over clusters, with montages drawn into `media`.

    Descriptions are left out, since they have no key. `difficulty` is a level of that factor, `NOT_HARD` (also items
    without it) or `ALL_LEVELS`. Raises SnellenError if nothing is left.
    """
    levels = dict.fromkeys(item.factors[DIFFICULTY] for item in items.items if DIFFICULTY in item.factors)
    refuse_unknown([difficulty], [ALL_LEVELS, NOT_HARD, *levels], f"{items.root}: no item has --difficulty")
    settled = settle(condition, suite, SubjectCard("person"))
    by_task = {
        task.id: _in_turn(
            [item for item in _askable(items, task, condition, settled) if _has_level(item, difficulty)], seed
        )
        for task in suite.tasks.values()
    }
    turns = [item for turn in zip_longest(*by_task.values()) for item in turn if item is not None]
    if not turns:
        raise SnellenError(
            f"{items.root}: no item under {condition} has a key to compare people's answers with"
            + ("" if difficulty == ALL_LEVELS else f"; try --difficulty {ALL_LEVELS}")
        )
    chosen = sorted(turns[:n], key=lambda item: list(by_task).index(item.task))
    questions: list[QuizQuestion] = []
    for task in suite.tasks.values():
        of_task = [item for item in chosen if item.task == task.id]
        questions += _questions(of_task, items, settled, task, media, seed, len(questions) + 1)
    return tuple(questions)


def _askable(items: ItemSet, task: Task, condition: Condition, settled: Condition) -> list[Item]:
    if task.kind == "description" or not is_asked(condition, task):
        return []
    return select_test_items(items.task(task.id), task, settled, None)


def _has_level(item: Item, difficulty: str) -> bool:
    level = item.factors.get(DIFFICULTY, "")
    return level not in HARD if difficulty == NOT_HARD else difficulty in (ALL_LEVELS, level)


def omissions(items: ItemSet, suite: Suite, condition: Condition, difficulty: str = ALL_LEVELS) -> Iterator[str]:
    """Lines that name the tasks of the set that a condition leaves out, and those with items of other difficulty."""
    settled = settle(condition, suite, SubjectCard("person"))
    tasks = {task.id: task for task in suite.tasks.values() if task.kind != "description"}
    present = [name for name in tasks if any(item.split == "test" for item in items.task(name))]
    by_task = {name: _askable(items, tasks[name], condition, settled) for name in present}
    if without := [name for name in present if not by_task[name]]:
        yield f"--condition {condition} leaves out {', '.join(without)}"
    fewer = [name for name in present if not all(_has_level(item, difficulty) for item in by_task[name])]
    if fewer:
        yield f"--difficulty {difficulty} leaves out items of {', '.join(fewer)} (--difficulty {ALL_LEVELS} asks them)"


def _in_turn(items: Sequence[Item], seed: int) -> list[Item]:
    """The items in random order, one of each cluster before a second of any."""
    by_cluster: dict[str, list[Item]] = {}
    for item in items:
        by_cluster.setdefault(item.cluster_id, []).append(item)
    rng = stream("quiz", seed, items[0].task if items else "")
    clusters = [list(by_cluster.values())[index] for index in rng.permutation(len(by_cluster))]
    shuffled = [[cluster[index] for index in rng.permutation(len(cluster))] for cluster in clusters]
    return [item for turn in zip_longest(*shuffled) for item in turn if item is not None]


def _questions(
    chosen: Sequence[Item],
    items: ItemSet,
    condition: Condition,
    task: Task,
    media: MediaFolder,
    seed: int,
    first: int,
) -> Iterator[QuizQuestion]:
    views = show_items(chosen, ViewContext(condition, items.task(task.id)), task, seed, media)
    method = task.method(condition)
    for number, item in enumerate(chosen, first):
        view = views[item.item_id]
        (prompt, *_) = next(method.run((view,)))
        yield QuizQuestion(number, item, view, lay_out_montages(prompt, media))


def compare(
    questions: Sequence[QuizQuestion], texts: Mapping[int, str], suite: Suite, protocol: str = "strict"
) -> tuple[QuizAnswer, ...]:
    """Each question with the answer under its number, read by the protocol like a model's reply."""
    answers = []
    for question in questions:
        text = texts.get(question.number, "").strip()
        how, is_near = suite.tasks[question.item.task].protocols[protocol], False
        prediction = how.read(text, question.view.reply) if text not in ("", UNDECIDABLE) else None
        if not text or text == UNDECIDABLE:
            outcome: Outcome = "undecidable" if text else "blank"
        elif prediction is None:
            outcome = "unreadable"
        else:
            is_key = correct(question.item, prediction) == 1.0
            agrees = how.confirms(question.item, prediction, is_key)
            outcome = "agrees" if agrees else "disagrees"
            is_near = agrees and not is_key and bool(question.item.options)
        answers.append(QuizAnswer(question, text, prediction, outcome, how.tolerance, is_near))
    return tuple(answers)


def agreements(answers: Sequence[QuizAnswer]) -> tuple[KeyAgreement, ...]:
    """The agreement of each task, then of all together (task "")."""
    tasks = list(dict.fromkeys(answer.question.item.task for answer in answers))
    by_task = [_agreement(task, [a for a in answers if a.question.item.task == task]) for task in tasks]
    return (*by_task, _agreement("", answers))


def agreements_by_level(answers: Sequence[QuizAnswer]) -> tuple[KeyAgreement, ...]:
    """The agreement of all answers to items of each level of difficulty, easy ones first."""
    by_level: dict[str, list[QuizAnswer]] = {}
    for answer in answers:
        by_level.setdefault(answer.question.item.factors.get(DIFFICULTY, ""), []).append(answer)
    by_level.pop("", None)
    order = sorted(by_level, key=lambda level: ORDER.index(level) if level in ORDER else len(ORDER))
    return tuple(replace(_agreement("", by_level[level]), level=level) for level in order)


def _agreement(task: str, answers: Sequence[QuizAnswer]) -> KeyAgreement:
    counted = [answer for answer in answers if answer.outcome in COUNTED]
    hits = np.array([answer.outcome == "agrees" for answer in counted], float)
    low, high = cluster_wilson(hits, [answer.question.item.cluster_id for answer in counted])
    outcomes = [answer.outcome for answer in answers]
    return KeyAgreement(
        task,
        int(hits.sum()),
        len(counted),
        low,
        high,
        outcomes.count("unreadable"),
        outcomes.count("blank"),
        near=sum(answer.is_near for answer in answers),
        tolerance=answers[0].tolerance if task else "",
        has_options=bool(task and answers[0].question.item.options),
    )


def key_text(question: QuizQuestion) -> str:
    """The key as one would write it under this question."""
    return question.view.reply.write(question.item.answer)
