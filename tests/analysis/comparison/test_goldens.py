"""Comparisons of logs, of own images, of evaluators and of ranks equal the goldens."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from snellen.analysis.comparison.changes import plain_changes
from snellen.analysis.comparison.deficits import ScoredAnswer, find_deficits
from snellen.analysis.comparison.evaluators import mean_scores, mean_tau, order_p
from snellen.analysis.comparison.log_changes import log_changes, log_ranks, plain_log_changes
from snellen.analysis.comparison.logs import Log, LogRow, join
from snellen.analysis.tables import rankings
from snellen.analysis.tables.rankings import ScoreMatrix, observed_signs
from snellen.core.errors import SnellenError
from snellen.core.item import Item
from snellen.core.seeds import stream
from snellen.reports.changes_page import names_of, render_logs
from snellen.reports.deficit_words import sentences
from tests.analysis.comparison.test_deficits import COLOUR, HARD, choices, item
from tests.goldens.golden import assert_golden
from tests.goldens.house import page_text
from tests.helpers.guard import compare, own_items
from tests.helpers.report_texts import rounded

NO = math.nan
OPTIONS = (("A", "a cat"), ("B", "a dog"), ("C", "a cow"))


def log(name: str, count: int, **changed: Mapping[int, Any]) -> Log:
    """A log of two tasks with options: of the items of each field, some have another value."""
    rows = []
    for n in range(count):
        usual: dict[str, Any] = {
            "item": f"q{7 * n % 41:02}", "task": "animals" if n % 3 else "pets", "question": f"What is {n}?",
            "images": (f"{n // 2:064x}",), "target": ("ABC"[n % 3],), "options": OPTIONS, "number": n + 1,
            "reply": f"The answer is {'ABC'[n % 3]}.", "score": 1.0,
        }  # fmt: skip
        rows.append(LogRow(**usual | {field: cells[n] for field, cells in changed.items() if n in cells}))
    return Log(name, rows, (f"{name} was read.",))


@pytest.fixture(scope="module")
def logs() -> list[Log]:
    """Three logs: the first right but for some, the second with a flip of every cause, the third with graded scores."""
    first = log("first", 40, score={5: 0.0, 8: NO, 13: 0.0, 21: 0.5}, failure={8: "timeout"}, group={0: "g", 1: "g"})
    flipped = {0: 0.0, 3: 0.0, 6: 0.0, 9: 0.0, 10: 0.0, 12: 0.0, 13: 1.0, 15: 0.0, 18: 0.0, 20: 0.25, 22: NO}
    replies = dict.fromkeys([0, 3, 9, 10, 12, 15, 18], "It is a cow, I think. The answer is C.") | {
        6: None,
        13: "a dog",
    }
    second = log("second", 38, score=flipped, reply=replies, failure={3: "refused"}, target={9: ("A", "a cat")},
                 stop={10: "length"}, question={12: "What is  12? Look!"}, images={15: ("f" * 64,)})  # fmt: skip
    second_epochs = [replace(row, epoch=1, score=1 - row.score) for row in second.rows[::4]]
    third = log("third", 40, score={n: n % 5 / 4 for n in range(40)}, task=dict.fromkeys(range(40), ""))
    return [first, replace(second, rows=[*second.rows, *second_epochs]), third]


def log_lines(logs: list[Log], folder: Path) -> Iterator[str]:
    first, second, third = logs
    for compared in (log_changes(first, second, margin=0.2), log_changes(third, first, read=True)):
        yield json.dumps(plain_log_changes(compared), indent=0)
        yield f"{compared!r} {compared.beyond(0.02)} {compared.beyond(0.4)} {names_of(compared, 'dropped')}"
        (folder / "page.html").write_text(render_logs(compared), "utf-8")
        yield page_text(folder / "page.html")
    for read in (False, True):
        yield json.dumps(log_ranks(logs, read=read).plain(), indent=0)
    bare = [
        replace(each, rows=[replace(row, item=f"{n}", is_numbered=True) for n, row in enumerate(each.rows[:38])])
        for each in logs
    ]
    odd = [replace(row, target=("Z",), question=f"Which {n}?") for n, row in enumerate(first.rows)]
    later = replace(bare[0], rows=[replace(row, item=f"{n + 1}", question="") for n, row in enumerate(bare[0].rows)])
    renamed = replace(first, rows=[replace(row, item=f"z{n}") for n, row in enumerate(first.rows[::-1])])
    cases = [(first, second), (bare[0], bare[2]), (bare[0], later), (first, renamed)]
    cases += [(first, replace(first, rows=odd)), (first, Log("none", []))]
    for before, after in cases:
        try:
            joined = join(before, after)
            pairs = [(pair.item_id, pair.task, pair.before[0].number, pair.after[0].number) for pair in joined.pairs]
            yield f"{joined.shares} {joined.only_before} {joined.only_after} {pairs}"
        except SnellenError as error:
            yield f"refused: {error}"


def test_logs_are_compared_as_they_were(logs: list[Log], tmp_path: Path) -> None:
    assert_golden("comparisons/logs.txt", rounded("\n".join(log_lines(logs, tmp_path))) + "\n")


def test_own_images_are_compared_as_they_were() -> None:
    items = own_items(70, 4)
    both = (replace(item, factors={"class": item.cluster_id}, cluster_id=item.item_id) for item in items.items)
    before, after = np.arange(70) % 7 != 3, np.arange(70) % 4 > 0
    texts = []
    for of_set in (items, replace(items, items=tuple(both))):
        compared = compare(of_set, before.astype(float), after.astype(float))
        texts.append(json.dumps(plain_changes(compared), indent=0))
        texts.append(f"{names_of(compared, 'dropped')} {names_of(compared, 'rose')} {compared.notes} {compared.is_own}")
    assert_golden("comparisons/own.txt", rounded("\n".join(texts)) + "\n")


def rank_lines() -> Iterator[str]:
    """Five subjects, two of them equal, on two abilities; in one, less is better, and scores are missing."""
    values = np.array([[max(0, k - n * 5 % 7) for n in range(24)] for k in (1, 3, 3, 6, 9)], np.float64) / 9
    gaps = np.roll(values[:, ::-1], 2, axis=0)
    gaps[1, 3:9] = gaps[4, :5] = NO
    clusters = tuple(f"c{n * n % 23}" for n in range(24))
    first, second = ScoreMatrix("first", values, clusters), ScoreMatrix("second", gaps, clusters[::-1], True)
    other = ScoreMatrix("other", np.roll(values, 1, axis=0), clusters)
    noise = [[(7 * n + 5 * k * k) % 11 / 11 for n in range(24)] for k in range(5)]
    noisy = ScoreMatrix("noisy", values / 2 + noise, clusters)
    single = ScoreMatrix("single", values, ("c",) * 24)
    rng = np.random.default_rng
    for matrices in ([first, second], [second], [single], [noisy, second]):
        yield f"ranks: {rankings.ranked(matrices)}"
        yield f"spread: {[rankings.spread(matrix, rng(3)) for matrix in matrices]}"
    for left, right in ((first, noisy), (noisy, second), (first, other), (other, first), (single, first)):
        yield f"agreement: {rankings.agreement(left, right, rng(3))}"
        signs = [observed_signs(left)], [observed_signs(right)]
        yield f"order: {order_p(*signs, rng(4))}"
    yield f"averages: {rankings.average_agreement([noisy, second], [other, first], rng(3))}"
    yield f"mean tau: {mean_tau([noisy, second], [other, noisy], rng(3))}"
    margins = map(rankings.margins, (first, second))
    yield f"margins: {[(names[:3], sums[:2].round(6).tolist()) for names, sums in margins]}"
    yield f"means: {[part.round(6).tolist() for part in mean_scores(values, gaps)]}"


def test_ranks_are_what_they_were() -> None:
    text = "\n".join(rank_lines()).replace("np.float64", "")
    assert_golden("comparisons/ranks.txt", rounded(text) + "\n")


def answers_of(weak: Callable[[Item], float], position: int = -1) -> list[ScoredAnswer]:
    """Answers to three tasks. `weak` is the share of right ones by item; wrong ones choose `position`, if not -1."""
    rng, patterns = stream("weak"), {"AAA": "true", "AAB": "false", "ABA": "false", "ABB": "false", "ABC": "false"}
    answers = list(choices(150, lambda question, draws: draws.random() < weak(question)))
    words = {"colour": "the colour of things", "difficulty=hard": "hard things"}
    of_pairs = {HARD: 0.4, COLOUR: 0.3}
    for n, answer in enumerate(answers):
        wrong = position if position >= 0 and not answer.right else answer.position
        question = replace(answer.item, cluster_id=f"c{n // 2}")
        answers[n] = replace(
            answer, item=question, position=wrong, floors=of_pairs, greatest=0.45, ceiling=0.9, words=words
        )
    for n in range(60):
        count = item(n, answer=1 + n % 9, answer_kind="integer", factors={"difficulty": ("easy", "hard")[n % 2]})
        answers.append(ScoredAnswer(count, "s/u", ("difficulty",), bool(rng.random() < weak(count)), 0.15))
        order, images = list(patterns)[n % 5], (None,) * 3
        latent = {"partitions": patterns, "order": order}
        query: Any = images
        truth = item(
            n, answer=patterns[order], answer_kind="true_false", latent=latent, query=query, requires=("shape",)
        )
        answers.append(ScoredAnswer(truth, "other/v", (), bool(rng.random() < weak(truth)), 0.5))
    return answers


WEAK: dict[str, Callable[[Item], float]] = {
    "colour": lambda question: 0.1 if "colour" in question.requires else 0.95,
    "colour and hard": lambda item: 0.2 if {"colour", "hard"} & {*item.requires, *item.factors.values()} else 1.0,
    "counts": lambda question: 0.0 if question.answer_kind == "integer" and int(question.answer) > 5 else 0.9,
    "says yes": lambda question: 0.05 if question.answer == "false" else 0.95,
    "third image": lambda question: 0.0 if question.latent.get("order") == "AAB" else 0.97,
    "nothing": lambda question: 0.8, "everything": lambda question: 0.1,
}  # fmt: skip


def test_deficits_are_what_they_were() -> None:
    lines = []
    for (name, weak), position in product(WEAK.items(), (-1, 0)):
        findings = find_deficits(answers_of(weak, position))
        lines += [f"== {name}, {position}", f"{findings.preference} {findings.dimensions} {findings.words}"]
        for deficit in findings.deficits:
            lines += [f"{deficit.properties} in {sorted(deficit.tasks)}, next {deficit.next_count}"]
            lines += [f"    {deficit.affected}", f"    {deficit.elsewhere}"]
        lines += [*sentences(findings), *sentences(findings, {"s/t", "s/u"})]
    assert_golden("comparisons/deficits.txt", rounded("\n".join(lines)) + "\n")
