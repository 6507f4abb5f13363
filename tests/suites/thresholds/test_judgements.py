"""Judgements with yes and no: items, PSEs and spreads of planted observers, and what reports say."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from scipy import ndimage

from snellen.analysis.comparison.changes import changes, plain_changes
from snellen.analysis.comparison.verdicts import MOVED
from snellen.analysis.tables.run_view import lines_of
from snellen.analysis.tables.section import Run
from snellen.core.item import Item
from snellen.core.prompt import Prompt, Reply
from snellen.core.score import ABOVE, BELOW, NOT_UNDERSTOOD
from snellen.core.seeds import stream
from snellen.core.storage.itemset import ItemSet
from snellen.core.storage.media import MediaFolder
from snellen.core.subject import Base, SubjectCard
from snellen.exam.run import run
from snellen.reports.changes_page import change_lines, render_changes
from snellen.reports.grid import main_grid
from snellen.reports.loading import load_run
from snellen.runs.scores.score import score, write_scores
from snellen.scoring.equality import Equality, equality
from snellen.suites.thresholds import SUITE
from snellen.suites.thresholds.measures import MEASURES
from snellen.suites.thresholds.measures.measure import Stimulus
from snellen.suites.thresholds.report.sections import sections
from snellen.suites.thresholds.scoring import fitted, threshold
from tests.helpers.sections import by_name
from tests.suites.thresholds.banks import asked_of, bank

TASKS = ("touching", "same-length")


@dataclass(frozen=True)
class Judge(Base):
    """Says yes with the probability of a normal distribution around its PSE, except for lapses."""

    items: Mapping[str, Item] = field(default_factory=dict)
    points: Mapping[str, float] = field(default_factory=dict)
    spreads: Mapping[str, float] = field(default_factory=dict)
    lapse: float = 0.0

    async def answer(self, prompt: Prompt, media: MediaFolder, rng: np.random.Generator) -> Reply:
        (view,) = prompt.views
        item = self.items[view.item_id]
        level = item.measures[MEASURES[item.task].quantity]
        says_yes = NormalDist(level, self.spreads[item.task]).cdf(self.points[item.task])
        if rng.random() < self.lapse:
            says_yes = 0.5
        return Reply("yes" if rng.random() < says_yes else "no")


class Yes(Base):
    """Says yes to everything."""

    async def answer(self, prompt: Prompt, media: MediaFolder, rng: np.random.Generator) -> Reply:
        return Reply("yes")


def judge(items: ItemSet, name: str, point: float, spread: float, lapse: float = 0.0) -> Judge:
    """A judge of both tasks; numbers are those of `touching`, and a hundred times as large of lengths."""
    points, spreads = ({"touching": v, "same-length": 100 * v} for v in (point, spread))
    return Judge(SubjectCard(name), items.by_id, points, spreads, lapse)


@pytest.fixture(scope="module")
def items(tmp_path_factory: pytest.TempPathFactory) -> ItemSet:
    return bank(tmp_path_factory.mktemp("judged") / "bank", TASKS)


def judged(root: Path, items: ItemSet, subject: Base, task: str) -> Equality:
    """The point and the spread after one run."""
    responses = [response for response in asked_of(root, items, [subject]) if response.task == task]
    of_task = [items.by_id[response.item_id] for response in responses]
    errors = [float(response.text != item.answer) for response, item in zip(responses, of_task, strict=True)]
    result = fitted(of_task, errors)
    return equality(result.functions, result.answers)


@pytest.mark.parametrize("task", TASKS)
def test_yes_is_right_up_to_the_boundary(items: ItemSet, task: str) -> None:
    measure = MEASURES[task]
    tested = [item for item in items.task(task) if item.split == "test"]
    for item in tested:
        level = item.measures[measure.quantity]
        assert (item.answer == "yes") == (level <= measure.most_yes)
    controls = Counter(item.answer for item in tested if item.factors["control"] == "yes")
    assert controls == {"yes": 8, "no": 8}
    train = Counter(item.answer for item in items.task(task) if item.split == "train")
    assert train["yes"] == train["no"]


@pytest.mark.parametrize("level", [-0.2, -0.08, 0.08, 0.4])
def test_circles_that_touch_are_one_figure(level: float) -> None:
    """Outlines that touch or overlap are one connected part, others two; read off the pixels."""
    for number in range(6):
        image = MEASURES["touching"].draw(Stimulus(level, 0, 448, ""), stream("test", number)).image
        pixels = np.asarray(image, float)
        _, parts = ndimage.label(np.abs(pixels - pixels[0, 0]) > 20, np.ones((3, 3)))
        assert parts == (1 if level <= 0 else 2)


@pytest.mark.parametrize("level", [-30.0, -2.0, 14.0])
def test_bars_have_their_lengths(level: float) -> None:
    for number in range(4):
        drawing = MEASURES["same-length"].draw(Stimulus(level, 0, 448, ""), stream("test", number))
        pixels = np.asarray(drawing.image, float)
        labels, parts = ndimage.label(np.abs(pixels - pixels[0, 0]) > 4)
        assert parts == 2
        spans = [
            (rows.stop - rows.start, columns.stop - columns.start) for rows, columns in ndimage.find_objects(labels)
        ]
        upright, other = max(high for high, _ in spans), max(wide for _, wide in spans)
        assert upright / other == pytest.approx(1 + level / 100, abs=0.025)


def test_a_shifted_criterion_is_told_apart_from_a_lack_of_precision(items: ItemSet, tmp_path: Path) -> None:
    """Both judges have about the same accuracy near the boundary; only the point and the spread differ."""
    shifted = judged(tmp_path / "a", items, judge(items, "py:shifted", 0.15, 0.03), "touching")
    vague = judged(tmp_path / "b", items, judge(items, "py:vague", 0.0, 0.15), "touching")
    assert shifted.point_low < 0.15 < shifted.point_high
    assert shifted.point_low > 0.05
    assert shifted.spread_high < vague.spread
    assert vague.point_low < 0.0 < vague.point_high


def test_always_yes_is_not_understood(items: ItemSet, tmp_path: Path) -> None:
    responses = asked_of(tmp_path, items, [Yes(SubjectCard("py:yes"))])
    of_task = [items.by_id[response.item_id] for response in responses if response.task == "touching"]
    errors = [float(item.answer != "yes") for item in of_task]
    result = threshold(MEASURES["touching"], of_task, errors)
    assert result.reason == NOT_UNDERSTOOD
    assert math.isnan(result.value)


def test_reports_give_bias_and_precision(items: ItemSet, tmp_path: Path) -> None:
    subjects = [judge(items, "py:shifted", 0.15, 0.03), Yes(SubjectCard("py:yes"))]
    responses = asked_of(tmp_path, items, subjects)
    write_scores(tmp_path, score(responses, items, SUITE), "strict")
    listed = by_name(sections(load_run(tmp_path)))
    table = listed["bias"].table.set_index(["task", "subject"])
    words = table.loc[("touching", "py:shifted"), "in words"]
    assert words.startswith("calls circles touching up to a gap of 0.1")
    assert "; spread 0.0" in words
    assert table.loc[("touching", "py:yes"), "point of subjective equality"] == "–"
    assert table.loc[("same-length", "py:shifted"), "point of subjective equality"].endswith("]")
    assert listed["bias"].figure is not None
    assert len(listed["bias"].figure().axes) == 2
    assert "functions" not in listed


def estimates(items: ItemSet, says_yes: Callable[[Item], bool], task: str = "touching") -> tuple[Any, Any]:
    """(point, spread) of a subject's answers to all test items of a task."""
    of_task = [item for item in items.task(task) if item.split == "test"]
    errors = [float(says_yes(item) != (item.answer == "yes")) for item in of_task]
    return threshold(MEASURES[task], of_task, errors, is_point=True), threshold(MEASURES[task], of_task, errors)


def test_points_beyond_the_levels_are_bounds_and_have_no_spread(items: ItemSet) -> None:
    far = estimates(items, lambda item: item.measures["gap_diameters"] <= 0.4)
    near = estimates(items, lambda item: item.measures["gap_diameters"] <= -0.25)
    assert (far[0].reason, far[0].value) == (ABOVE, 0.4)
    assert (near[0].reason, near[0].value) == (BELOW, -0.2)
    for point, spread in (far, near):
        assert math.isnan(point.low)
        assert (spread.reason, spread.note) == (
            "no baseline",
            "the point of subjective equality is beyond the levels",
        )


def test_an_exact_judge_has_a_spread_below_half_a_step(items: ItemSet) -> None:
    point, spread = estimates(items, lambda item: item.answer == "yes")
    # Levels are .04 apart: yes up to 0, no from .04.
    assert point.low < 0.02 < point.high
    assert 0.0 < point.value < 0.04
    assert (spread.reason, spread.value) == (BELOW, pytest.approx(0.02))


def test_easy_questions_are_of_both_answers(items: ItemSet, tmp_path: Path) -> None:
    responses = asked_of(tmp_path, items, [judge(items, "py:fair", 0.0, 0.05)])
    of_task = [items.by_id[response.item_id] for response in responses if response.task == "touching"]
    assert Counter(item.answer for item in of_task if item.factors["control"] == "yes") == {"yes": 4, "no": 4}


def test_six_of_eight_easy_questions_are_not_enough(items: ItemSet) -> None:
    controls = [item for item in items.task("touching") if item.factors["control"] == "yes" and item.split == "test"]
    measure = MEASURES["touching"]
    assert threshold(measure, controls[:8], [1.0] * 2 + [0.0] * 6).reason == NOT_UNDERSTOOD
    assert threshold(measure, controls[:8], [1.0] + [0.0] * 7).reason != NOT_UNDERSTOOD


def test_a_fake_judges_around_its_place_among_the_levels(items: ItemSet, tmp_path: Path) -> None:
    names = ["fake:threshold=6", "fake:threshold=11", "fake:constant=yes"]
    run(items, names, tmp_path / "run", show_progress=False)
    loaded = load_run(tmp_path / "run")
    points = {(row.subject, row.task): row for row in lines_of(loaded.results) if row.metric == "point"}
    for name, level in (("fake:threshold=6", 5), ("fake:threshold=11", 10)):
        for task in TASKS:
            assert points[name, task].low < MEASURES[task].levels[level] < points[name, task].high
            assert points["fake:constant=yes", task].reason == NOT_UNDERSTOOD
    by_arm = {line.arm: line.cells for line in main_grid(loaded).lines}
    cell = by_arm["fake:threshold=11"][0]
    assert cell is not None
    (remark,) = cell.remarks
    assert remark == f"point of subjective equality {points['fake:threshold=11', 'touching'].value:#.2g} diameters"


def test_a_negative_point_is_told_by_its_size(items: ItemSet, tmp_path: Path) -> None:
    responses = asked_of(tmp_path, items, [judge(items, "py:strict", -0.12, 0.03), judge(items, "py:fair", 0.0, 0.05)])
    write_scores(tmp_path, score(responses, items, SUITE), "strict")
    table = by_name(sections(load_run(tmp_path)))["bias"].table.set_index(["task", "subject"])
    words = table.loc[("touching", "py:strict"), "in words"]
    assert words.startswith("calls circles touching only from an overlap of 0.1")
    low, high = (float(end) for end in words.partition("[")[2].partition("]")[0].split(", "))
    assert 0.05 < low < 0.12 < high < 0.2
    assert "which is no clear bias" in table.loc[("touching", "py:fair"), "in words"]
    assert "no clear bias" not in words


def loaded(root: Path, items: ItemSet, *parameters: float) -> Run:
    """The run of a judge with this point and spread."""
    responses = asked_of(root, items, [judge(items, "py:judge", *parameters)])
    write_scores(root, score(responses, items, SUITE), "strict")
    return load_run(root)


def test_two_runs_are_compared_by_their_points_and_spreads(items: ItemSet, tmp_path: Path) -> None:
    fair, shifted = loaded(tmp_path / "fair", items, 0.0, 0.05), loaded(tmp_path / "shifted", items, 0.2, 0.05)
    compared = changes(fair, shifted)
    name = "touching: point of subjective equality, diameters"
    (row,) = (row for row in compared.table.to_dict("records") if row["name"] == name)
    assert (row["kind"], row["metric"], row["verdict"]) == ("estimate", "point", MOVED)
    assert row["difference"] == pytest.approx(row["after"] - row["before"])
    assert 0.1 < row["difference"] < 0.3
    # Both intervals are 2 x 1.96 standard errors wide; the variance of a difference is the sum of both.
    rows = (
        next(r for r in lines_of(run.results) if (r.task, r.metric) == ("touching", "point")) for run in (fair, shifted)
    )
    half = math.hypot(*((r.high - r.low) / 2 for r in rows))
    assert (row["low"], row["high"]) == pytest.approx((row["difference"] - half, row["difference"] + half))
    assert row["p"] == pytest.approx(2 * NormalDist().cdf(-row["difference"] / (half / 1.959964)))
    # A point has no better end: nothing dropped, whichever way it moved.
    back = changes(shifted, fair)
    assert (
        set(back.names(MOVED)) == set(compared.names(MOVED)) == {name, "same-length: point of subjective equality, %"}
    )
    assert not [*compared.names("dropped"), *back.names("dropped"), *compared.names("rose"), *back.names("rose")]
    (line,) = (line for line in change_lines(back) if line.name == name)  # without "lower is better"
    assert line.difference.startswith(("−0.1", "−0.2"))
    assert f"Moved: <strong>{name}" in render_changes(back)
    assert plain_changes(back)["moved"] == back.names(MOVED)
    assert set(changes(fair, fair).table["verdict"]) == {"no clear change"}


@pytest.mark.slow
def test_planted_points_come_back(items: ItemSet, tmp_path: Path) -> None:
    """Forty answers of a run place the point within .03 diameters (root mean square), and intervals hold 93 to 99 %."""
    rng, errors, holds = np.random.default_rng(4), [], []
    for number in range(150):
        point, spread = float(rng.uniform(-0.08, 0.25)), float(rng.uniform(0.03, 0.12))
        subject = judge(items, f"py:{number}", point, spread, float(rng.choice([0.0, 0.05])))
        result = judged(tmp_path / str(number), items, subject, "touching")
        errors.append(result.point - point)
        holds.append(result.point_low <= point <= result.point_high)
    print(f"rms {np.sqrt(np.mean(np.square(errors))):.4f}, coverage {np.mean(holds):.3f}")
    assert np.sqrt(np.mean(np.square(errors))) < 0.03
    assert 0.93 <= np.mean(holds) <= 0.99
