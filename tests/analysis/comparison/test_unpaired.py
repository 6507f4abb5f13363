"""Unpaired changes: intervals of differences, error rates, and subjects that learned a public set."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import typer

from snellen.analysis.comparison import unpaired
from snellen.analysis.comparison.unpaired import DROPPED, NO_CHANGE, ROSE, UnpairedChange, unpaired_changes
from snellen.analysis.tables.section import Run
from snellen.cli.diff import diff
from snellen.core.condition import Axis
from snellen.core.errors import SnellenError
from snellen.core.seeds import stream
from snellen.core.storage.itemset import ItemSet
from snellen.exam.compare import run_of_subject
from snellen.exam.rescoring import rescore
from snellen.exam.run import run
from snellen.runs.asking.ask import ask
from snellen.runs.planning.plan import Plan
from snellen.scoring.permutation import holm
from snellen.scoring.uncertainty import cluster_wilson, unpaired_difference, wilson
from snellen.subjects.registry import subjects_of
from snellen.suites import SUITES
from tests.helpers.journey import arm, colour_set, says, suite_of
from tests.helpers.sets import undrawn_set


@pytest.mark.parametrize(
    ("ends", "p"), [((0.1, -0.1, 0.2), 0.327), ((-0.1, -0.2, 0.1), 0.327), ((0.2, 0.0, 0.3), 0.05)]
)
def test_p_by_hand_takes_the_side_of_the_interval_towards_zero(ends: tuple[float, float, float], p: float) -> None:
    """0.1 of a side of 0.2, which is 1.96 standard errors: z = 0.98. A side that ends at 0 gives 1.96, and p 0.05."""
    assert unpaired._p(*ends) == pytest.approx(p, abs=5e-4)


def test_the_interval_is_that_of_newcombes_table() -> None:
    """Newcombe 1998, table II, method 10, contrasts (a) 56/70 - 48/80 and (d) 5/56 - 0/29."""
    cases = {(56, 70, 48, 80): (0.2, 0.0524, 0.3339), (5, 56, 0, 29): (0.0893, -0.0381, 0.1926)}
    for (k, n, other_k, other_n), expected in cases.items():
        scores = [(share, *wilson(share * count, count)) for share, count in ((k / n, n), (other_k / other_n, other_n))]
        assert unpaired_difference(scores[0], scores[1]) == pytest.approx(expected, abs=6e-5)
        turned = unpaired_difference(scores[1], scores[0])
        assert turned == pytest.approx((-expected[0], -expected[2], -expected[1]), abs=6e-5)


def _p(first: np.ndarray[Any, Any], second: np.ndarray[Any, Any], clusters: list[np.ndarray[Any, Any]]) -> float:
    scores = [
        (float(values.mean()), *cluster_wilson(values, names))
        for values, names in zip((first, second), clusters, strict=True)
    ]
    return unpaired._p(*unpaired_difference(scores[0], scores[1]))


@pytest.mark.parametrize("share", [0.5, 0.9])
def test_equal_subjects_rarely_change(share: float) -> None:
    """Four tasks of 60 public and 40 sealed units in clusters of 2 that resemble each other: at most 5 % of families.

    200 simulated families: with a rate of 5 % more than 20 have a probability of 0.1 %.
    """
    rng, false_signs = stream("contamination", "null", str(share)), 0
    clusters = [np.arange(count) // 2 for count in (60, 40)]
    for _ in range(200):
        p_values = []
        for _ in range(4):
            samples = []
            for count in (60, 40):
                shares = np.repeat(rng.beta(4 * share, 4 * (1 - share), count // 2), 2)
                samples.append((rng.random(count) < shares).astype(float))
            p_values.append(_p(samples[0], samples[1], clusters))
        false_signs += bool((holm(p_values) < 0.05).any())
    assert false_signs <= 20


def test_the_detectable_change_is_found_with_the_stated_power() -> None:
    """At a change as large as `detectable`, a single test finds 80 % of 400, within 4 standard errors."""
    rng, n, signs = stream("contamination", "power"), 100, 0
    clusters = [np.arange(n), np.arange(n)]
    middle = [(0.6, *wilson(60, n)), (0.6, *wilson(60, n))]
    difference, low, high = unpaired_difference(middle[0], middle[1])
    row = UnpairedChange("img2text", "vanilla", 0.6, 0.6, difference, low, high, 0.5, n, n)
    effect = unpaired._detectable(row, 1, _run_of_shares())
    for _ in range(400):
        samples = [(rng.random(n) < 0.6 + side * effect / 2).astype(float) for side in (1, -1)]
        signs += _p(samples[0], samples[1], clusters) < 0.05
    assert 0.72 <= signs / 400 <= 0.88


def test_the_detectable_change_of_several_tests_is_larger() -> None:
    """Of four tests z is 2.498 (.05 / 8 above it) in place of 1.960: (2.498 + .842) / (1.960 + .842) = 1.192."""
    row = UnpairedChange("img2text", "vanilla", 0.6, 0.6, 0.0, -0.1, 0.1, 1.0, 100, 100)
    single, four = (unpaired._detectable(row, tests, _run_of_shares()) for tests in (1, 4))
    assert (single, four / single) == pytest.approx((0.143, 1.192), abs=5e-4)


def _run_of_shares() -> Any:
    """A stand-in for a run of which only the metrics are read."""
    return SimpleNamespace(suite=SUITES.get("combo"), scores={"strict": None})


def _examined(spec: str, items: ItemSet, root: Path, name: str = "model", seed: int = 0) -> Run:
    """The run of a simulated subject under another name, as of one model."""
    (subject,) = subjects_of(spec, items.items)
    renamed: Any = subject
    run(
        items,
        [replace(renamed, card=replace(renamed.card, name=name, role="model"))],
        root,
        seed=seed,
        show_progress=False,
    )
    return run_of_subject(str(root))


@pytest.fixture(scope="module")
def sets(sets_folder: Path) -> list[ItemSet]:
    """A public and another set of one recipe."""
    suite = SUITES.get("combo")
    return [undrawn_set(suite, sets_folder, seed=seed, test_items=30, tasks=("img2text",)) for seed in (11, 12)]


def test_a_subject_that_learned_the_public_set_drops(sets: list[ItemSet], tmp_path: Path) -> None:
    """It knows every public answer and guesses the others."""
    learner = _examined("fake:oracle", sets[0], tmp_path / "learned")
    guesser = _examined("fake:chance", sets[1], tmp_path / "sealed")
    (row,) = unpaired_changes(learner, guesser)
    assert (row.verdict, row.before) == (DROPPED, 1)
    assert row.high < -0.5
    with pytest.raises(typer.Exit, match="4"):
        diff(str(learner.root), str(guesser.root), "drop", None, tmp_path / "page.html", as_json=False)


def test_a_subject_that_guesses_everywhere_does_not_change(
    sets: list[ItemSet], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In 5 pairs of runs; with a rate of 5 % more than one change has a probability of 2 %."""
    clear = 0
    for seed in range(5):
        before, after = (_examined("fake:chance", sets[n], tmp_path / f"{seed}-{n}", seed=seed) for n in range(2))
        (row,) = unpaired_changes(before, after)
        clear += row.verdict != NO_CHANGE
        assert 0.1 < row.detectable < 0.5
        assert (row.n_before, row.n_after) == (30, 30)
        if seed == 0:
            diff(str(before.root), str(after.root), None, None, tmp_path / "page.html", as_json=True)
            printed = json.loads(capsys.readouterr().out)
            assert printed["rows"][0]["detectable"] == pytest.approx(row.detectable)
        if seed == 1:
            diff(str(before.root), str(after.root), "drop", 60, tmp_path / "page.html", as_json=False)
            assert "may be missed" not in capsys.readouterr().out
            with pytest.raises(typer.Exit, match="1"):
                diff(str(before.root), str(after.root), "drop", 10, tmp_path / "page.html", as_json=False)
            assert "(img2text) (no clear change)" in " ".join(
                capsys.readouterr().out.partition("may be missed: ")[2].split()
            )
    assert clear <= 1


@pytest.mark.parametrize(("count", "verdicts"), [(1, (DROPPED, ROSE)), (2, (NO_CHANGE, NO_CHANGE))])
def test_a_verdict_is_that_of_the_corrected_p(
    count: int, verdicts: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """24 and 16 right of 30 have a p of 0.0285: below 0.05 in a single test, and twice as much in two is above it."""
    built, suite = colour_set(tmp_path / "set", 30), suite_of(Axis("look", ("plain", "marked")))
    monkeypatch.setitem(SUITES._loaded, "hard", suite)

    def examined(right: int) -> Run:
        names = {item.item_id: str(item.answer) if n < right else "?" for n, item in enumerate(built.items)}
        subject, root = says("own:model", lambda prompt: names[prompt.views[0].item_id]), tmp_path / str(right)
        arms = [arm(subject, suite, condition) for condition in ("vanilla", "look=marked")[:count]]
        ask(root, Plan(built, suite, arms))
        rescore(root, built, suite, "strict")
        return run_of_subject(str(root))

    better, worse = examined(24), examined(16)
    for rows, verdict in zip((unpaired_changes(better, worse), unpaired_changes(worse, better)), verdicts, strict=True):
        assert [row.verdict for row in rows] == [verdict] * count
        assert [row.p for row in rows] == pytest.approx([count * 0.0285] * count, abs=1e-4)


def test_runs_that_cannot_be_compared_are_refused(sets: list[ItemSet], tmp_path: Path) -> None:
    first, second = (_examined("fake:chance", items, tmp_path / items.root.name) for items in sets)
    card = second.items.card.model_copy(update={"recipe": {**second.items.card.recipe, "balance": "paper"}})
    with pytest.raises(SnellenError, match="their recipes differ in balance"):
        unpaired_changes(first, replace(second, items=replace(second.items, card=card)))
    card = second.items.card.model_copy(update={"version": "2"})
    with pytest.raises(SnellenError, match=r"combo version 3 .* and combo version 2"):
        unpaired_changes(first, replace(second, items=replace(second.items, card=card)))


def test_an_error_is_better_if_it_is_smaller() -> None:
    """Mean errors of 3 (public) and 5 (sealed) are an advantage of 2, with the distances of the turned intervals."""
    difference, low, high = unpaired_difference((-3.0, -4.0, -2.5), (-5.0, -6.5, -4.5))
    assert difference == 2
    assert low == pytest.approx(2 - math.hypot(1.0, 0.5))
    assert high == pytest.approx(2 + math.hypot(0.5, 1.5))
