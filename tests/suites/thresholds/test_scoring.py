"""Thresholds from answers: states, recovery of planted ones, and an order of asking that only replies change."""

from __future__ import annotations

import contextlib
import csv
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from snellen.analysis.grading.coverage import gaps
from snellen.analysis.grading.results import results
from snellen.analysis.grading.rows import ResultRow
from snellen.analysis.grading.rows import rows_of as result_rows
from snellen.core.response import Response
from snellen.core.score import ABOVE, BELOW, MEASURED, NOT_UNDERSTOOD
from snellen.core.storage.itemset import ItemSet
from snellen.core.storage.runfolder import read_run_card
from snellen.core.suite import Trial
from snellen.exam.run import run
from snellen.runs.asking.preview import scheduled
from snellen.runs.asking.replay import replay
from snellen.runs.scores.score import score
from snellen.suites.thresholds import SUITE, scoring
from snellen.suites.thresholds.measures import MEASURES
from snellen.suites.thresholds.scoring import (
    ANSWERS,
    BATCH,
    FIRST_CONTROLS,
    answers_of,
    condition_of,
    schedule,
    threshold,
    with_ends,
)
from snellen_sight.psychometric import Answers, FunctionGrid, weibull
from tests.suites.thresholds.banks import MOST_ITEMS, asked_of, bank, observer

CONTROLS = MOST_ITEMS - ANSWERS


@pytest.fixture(scope="module")
def items(tmp_path_factory: pytest.TempPathFactory) -> ItemSet:
    return bank(tmp_path_factory.mktemp("thresholds") / "bank", ("acuity", "vernier"))


def items_of(items: ItemSet, task: str = "acuity") -> list[Any]:
    """The test items of a task."""
    chosen = [item for item in items.task(task) if item.split == "test"]
    assert len(chosen) == 272
    return chosen


def rows_of(root: Path, items: ItemSet, responses: Sequence[Response]) -> dict[tuple[str, str], ResultRow]:
    """The rows of results with thresholds, by subject and task."""
    table = results(score(responses, items, SUITE), items, SUITE, read_run_card(root).arms)
    shares = table[table["metric"] == "accuracy"]
    assert set(shares["grade"]) == {""}
    assert set(shares["reason"]) == {"no baseline"}
    return {(row.subject, row.task): row for row in result_rows(table) if row.metric == "threshold"}


def test_states_of_estimates(items: ItemSet) -> None:
    of_task, measure = items_of(items), MEASURES["acuity"]

    def estimate(is_wrong: Any) -> Any:
        return threshold(measure, of_task, [float(is_wrong(item)) for item in of_task])

    assert estimate(lambda item: False).reason == BELOW
    assert estimate(lambda item: False).value == 0.5
    assert estimate(lambda item: item.factors["control"] == "no").reason == ABOVE
    blind = estimate(lambda item: True)
    assert blind.reason == NOT_UNDERSTOOD
    assert math.isnan(blind.value)
    assert blind.note == "0 of 16 easy questions right"
    middle = estimate(lambda item: item.measures["gap_px"] < 4)
    assert middle.reason == MEASURED
    # Half of what is not guessed is right between 3.48 px, always wrong, and 4.59 px, always right.
    assert 3.48 < middle.low < middle.value < middle.high < 4.62
    numbers = with_ends(middle.value, middle.low, middle.high, measure)
    # An observer that guesses is right in one of eight, this one never.
    assert middle.note == f"{numbers}; the answers fit no psychometric function"
    assert with_ends(6.1, 5.2, 7.0, measure) == "6.10 px [5.20, 7.00]"


def test_the_levels_of_a_larger_canvas_reach_farther(items: ItemSet) -> None:
    """On 2048 px to 32 * 2048 / 448 = 146 px, in fifteen equal ratios of 1.46: the level below is of 100 px."""
    large = [replace(item, measures={**item.measures, "canvas_px": 2048.0}) for item in items_of(items)]
    levels = [99 if item.factors["control"] == "yes" else int(item.factors["level"]) for item in large]
    near, far = (threshold(MEASURES["acuity"], large, [float(n < least) for n in levels]) for least in (15, 17))
    assert (near.reason, far.reason) == (MEASURED, ABOVE)
    assert 100 / 1.46 < near.value < 100
    assert far.value == pytest.approx(146.3, abs=0.1)


def test_a_note_names_the_kind_of_image_on_which_the_threshold_depends(items: ItemSet) -> None:
    """An observer that needs gaps of 3 px if they are dark, of 12 px if they are bright; then one that needs 6 px."""
    rng, measure, kinds = np.random.default_rng(4), MEASURES["acuity"], ("dark on light", "light on dark")
    of_task = [
        replace(item, factors={**item.factors, "polarity": kinds[int(rng.integers(2))]}) for item in items_of(items)
    ]

    def errors(dark_px: float, bright_px: float) -> list[float]:
        least = dict(zip(kinds, (dark_px, bright_px), strict=True))
        levels = [math.log10(item.measures["gap_px"] / least[item.factors["polarity"]]) for item in of_task]
        return [float(rng.random() > weibull(level, 0.0, 3.0, 0.0, 1 / 8)) for level in levels]

    assert threshold(measure, of_task, errors(3, 12)).note.endswith("; the threshold depends on polarity")
    notes = [threshold(measure, of_task, errors(6, 6)).note for _ in range(20)]
    assert sum("depends on" in note for note in notes) <= 1  # one in a hundred is expected


def test_a_kind_of_image_among_several_must_matter_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Right are 8 of 10 dark and 2 of 10 bright images, where half are expected: 2 * 3^2 / 2.5 = 7.2, p is .0073.

    Half of each lie on the left. .0073 is below .01, but not below half of it.
    """
    right = {("dark", side): 4 for side in ("left", "right")} | {("bright", side): 1 for side in ("left", "right")}
    ones, half = np.ones(1), np.full((1, 1), 0.5)
    fitted = SimpleNamespace(
        functions=FunctionGrid(half, ones, ones, ones, ones), answers=Answers(np.array([20]), np.array([10]))
    )

    def uneven(*factors: str) -> list[str]:
        trials = [
            (SimpleNamespace(factors={n: {"polarity": kind, "place": side}[n] for n in factors}), 0, number < count)
            for (kind, side), count in right.items()
            for number in range(5)
        ]
        monkeypatch.setattr(scoring, "_trials", lambda items, errors: trials)
        return scoring.uneven_factors(cast(Any, fitted), [], [])

    assert uneven("polarity") == ["polarity"]
    assert uneven("polarity", "place") == []


def test_one_answer_has_no_halves(items: ItemSet) -> None:
    """Somebody who leaves after one question; a limit of one item per task."""
    for task in ("acuity", "vernier"):
        for item, error in product(items_of(items, task)[::17], (0.0, 1.0)):
            assert "half" not in threshold(MEASURES[task], [item], [error]).note


def test_a_note_says_that_the_threshold_changed_while_items_were_asked(items: ItemSet) -> None:
    """Observers that need gaps of 4 px, from the 21st answer on of 20 px; then some that need 6 px all the time."""
    of_task, measure, rng = items_of(items), MEASURES["acuity"], np.random.default_rng(5)
    by_id = {item.item_id: item for item in of_task}

    def note(first_px: float, then_px: float, *, again: bool = False) -> str:
        errors, order = dict[str, float](), schedule(of_task)([Trial((item.view(),)) for item in of_task])
        with contextlib.suppress(StopIteration):
            batch = next(order)
            while True:
                scores = dict[str, float]()
                for name in (trial.views[0].item_id for trial in batch):
                    least = then_px if len(errors) + len(scores) >= 20 else first_px
                    level = math.log10(by_id[name].measures["gap_px"] / least)
                    is_easy = by_id[name].factors["control"] == "yes"
                    scores[name] = float(not is_easy and rng.random() > weibull(level, 0.0, 3.0, 0.0, 1 / 8))
                errors |= scores
                batch = order.send(scores)
        chosen = [by_id[name] for name in errors]
        twice = [*chosen, *chosen] if again else chosen
        return threshold(measure, twice, [errors[item.item_id] for item in twice]).note

    changed = "; its first and its second half have different thresholds"
    assert sum(note(4, 20).endswith(changed) for _ in range(10)) >= 7
    assert sum(note(6, 6).endswith(changed) for _ in range(20)) <= 1  # one in two hundred is expected
    assert not note(4, 20, again=True).endswith(changed), "two answers to an item have no known order"


def test_the_order_of_asking_is_known_only_of_answers_of_a_schedule(items: ItemSet) -> None:
    of_task = items_of(items)
    order = schedule(of_task)([Trial((item.view(),)) for item in of_task])
    first = [items.by_id[trial.views[0].item_id] for trial in next(order)]
    errors = [float(n % 3 == 0) for n in range(len(first))]
    assert scoring._asked_order(first[::-1], errors[::-1]) == list(zip(first, errors, strict=True))
    assert scoring._asked_order([*first, *first], [*errors, *errors]) == [], "two answers to an item"
    assert scoring._asked_order(of_task, [0.0] * len(of_task)) == [], "no schedule asks the whole bank"


def test_half_of_the_controls_are_not_enough(items: ItemSet) -> None:
    controls = [item for item in items_of(items) if item.factors["control"] == "yes"][:4]
    measure = MEASURES["acuity"]
    assert threshold(measure, controls, [0.0, 0.0, 1.0, 1.0]).reason == NOT_UNDERSTOOD
    assert threshold(measure, controls, [0.0, 0.0, 0.0, 1.0]).reason != NOT_UNDERSTOOD


@pytest.mark.parametrize("task", ["acuity", "touching"])
def test_of_two_or_three_controls_one_is_enough(items: ItemSet, task: str) -> None:
    """A person is asked about two, and lapses in one answer of twenty."""
    control, measure = next(item for item in items.items if item.factors["control"] == "yes"), MEASURES[task]
    for count in (2, 3):
        controls = [replace(control, task=task, item_id=str(number)) for number in range(count)]
        assert threshold(measure, controls, [1.0] * count).reason == NOT_UNDERSTOOD
        assert threshold(measure, controls, [0.0] + [1.0] * (count - 1)).reason != NOT_UNDERSTOOD


def test_conditions_are_levels_frequencies_and_controls(tmp_path: Path) -> None:
    contrast = bank(tmp_path / "bank", ("contrast",))
    conditions = Counter(condition_of(item) for item in contrast.items if item.split == "test")
    assert conditions == {**dict.fromkeys(range(64), 4), 64: 16}


def test_planted_thresholds_come_back_and_tasks_are_complete(tmp_path: Path, items: ItemSet) -> None:
    planted = {"acuity": 4.0, "vernier": 0.7}
    subjects = [observer(items, f"py:{n}", thresholds=planted) for n in range(3)]
    responses = asked_of(tmp_path, items, subjects)
    rows = rows_of(tmp_path, items, responses)
    assert set(rows) == {(f"py:{n}", task) for n in range(3) for task in planted}
    for (_, task), row in rows.items():
        assert row.grade.reason == MEASURED
        assert row.grade.word == ""
        assert math.isnan(row.chance)
        assert row.n == ANSWERS + CONTROLS
        assert row.low < row.value < row.high
        assert abs(math.log10(row.value / planted[task])) < 0.25
    assert not gaps(read_run_card(tmp_path).arms, responses)


def test_a_subject_that_fails_the_controls_is_asked_one_batch(tmp_path: Path, items: ItemSet) -> None:
    responses = asked_of(tmp_path, items, [observer(items, thresholds={"acuity": 1e6, "vernier": 1e6})])
    assert Counter(response.task for response in responses) == dict.fromkeys(
        ("acuity", "vernier"), BATCH + FIRST_CONTROLS
    )
    assert {row.grade.reason for row in rows_of(tmp_path, items, responses).values()} == {NOT_UNDERSTOOD}


def test_the_end_does_not_depend_on_which_answer_arrives_first(tmp_path: Path, items: ItemSet) -> None:
    planted = {"acuity": 6.0, "vernier": 0.3}
    ends = []
    for n in (1, 3, 16):
        subject = observer(items, concurrency=n, thresholds=planted)
        ends.append(sorted(response.response_id for response in asked_of(tmp_path / str(n), items, [subject])))
    assert ends[0] == ends[1] == ends[2]


class Killed(Exception):
    """The end of a run at any moment."""


def test_a_killed_run_ends_like_an_undisturbed_one(tmp_path: Path, items: ItemSet) -> None:
    subjects = [observer(items, thresholds={"acuity": 6.0, "vernier": 0.3}, lapse=0.1)]
    undisturbed = asked_of(tmp_path / "undisturbed", items, subjects)
    rng, calls = np.random.default_rng(3), 0

    def tick() -> None:
        nonlocal calls
        calls += 1
        if calls == moment:
            raise Killed

    for _ in range(4):
        calls, moment = 0, int(rng.integers(5, len(undisturbed)))
        with pytest.raises(Killed):
            asked_of(tmp_path / "killed", items, subjects, tick=tick)
    assert sorted(map(repr, asked_of(tmp_path / "killed", items, subjects))) == sorted(map(repr, undisturbed))
    replayed = replay(tmp_path / "killed", items, SUITE, {})
    assert sorted(map(repr, replayed)) == sorted(map(repr, undisturbed))


def test_a_schedule_asks_new_exemplars_and_all_controls(items: ItemSet) -> None:
    of_task = items_of(items)
    trials = [Trial((item.view(),)) for item in of_task]
    asked_trials = scheduled(schedule(of_task)(trials))
    ids = [trial.views[0].item_id for trial in asked_trials]
    assert len(set(ids)) == len(ids) == ANSWERS + CONTROLS
    assert sum(items.by_id[name].factors["control"] == "yes" for name in ids) == CONTROLS
    assert scheduled(schedule(of_task)(trials[::-1])) == asked_trials


def test_recorded_answers_to_the_whole_bank_are_scored(tmp_path: Path, items: ItemSet) -> None:
    with (tmp_path / "answers.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "reply"])
        for item in items_of(items):
            reads = item.measures["gap_px"] > 5
            writer.writerow([item.item_id, item.answer if reads else "right"])
    examination = run(items, [f"recorded:{tmp_path / 'answers.csv'}"], tmp_path / "run", show_progress=False)
    (row,) = [r for r in result_rows(examination.all_results()) if r.metric == "threshold" and r.factor == ""]
    assert row.grade.reason == MEASURED
    assert row.n == 272
    assert 4.5 < row.value < 6.1


def test_answers_without_a_score_are_not_wrong_ones(items: ItemSet) -> None:
    chosen = items_of(items)[:3]
    answers = answers_of(chosen, [0.0, 1.0, math.nan])
    assert (answers.counts.sum(), answers.right.sum()) == (2, 1)


@pytest.mark.parametrize(
    ("right", "failed", "goes_on"), [(1, 0, False), (2, 0, True), (1, 2, True), (0, 2, False), (0, 4, True)]
)
def test_half_of_the_first_controls_that_were_answered_are_enough_to_go_on(
    items: ItemSet, right: int, failed: int, goes_on: bool
) -> None:
    chosen = {item.item_id: item for item in items_of(items) if item.split == "test"}
    asking = schedule(list(chosen.values()))([Trial((item.view(),)) for item in chosen.values()])
    names = [trial.views[0].item_id for trial in next(asking)]
    controls = [name for name in names if chosen[name].factors["control"] == "yes"]
    assert len(controls) == FIRST_CONTROLS
    errors = {name: float(name in controls[right:]) for name in names}
    errors |= dict.fromkeys(controls[right : right + failed], math.nan)
    try:
        is_asked = bool(asking.send(errors))
    except StopIteration:
        is_asked = False
    assert is_asked == goes_on
