"""Pointing: what is drawn, and threshold, bias and spread of simulated observers."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from snellen.core.item import Item
from snellen.core.prompt import Prompt, Reply
from snellen.core.seeds import stream
from snellen.core.storage.itemset import ItemSet
from snellen.core.storage.media import MediaFolder
from snellen.core.subject import Base, SubjectCard
from snellen.reports.loading import load_run
from snellen.runs.scores.score import score, write_scores
from snellen.suites.thresholds import SUITE
from snellen.suites.thresholds.measures.measure import SIDE, Stimulus
from snellen.suites.thresholds.measures.pointing import ECCENTRICITIES, POINTING, SQUARES, draw, places
from snellen.suites.thresholds.pointing import fit_errors
from snellen.suites.thresholds.report.pointing import pointing
from tests.goldens.golden import assert_golden
from tests.goldens.sections import sections_text
from tests.helpers.sections import by_name
from tests.suites.thresholds.banks import asked_of, bank

FWHM = 2 * math.sqrt(2 * math.log(2))


@pytest.mark.parametrize("eccentricity", ECCENTRICITIES)
@pytest.mark.parametrize("level", [3.0, 20.0, 112.0])
def test_the_disc_is_where_the_answer_is_and_no_figure_touches_another(eccentricity: str, level: float) -> None:
    for seed in range(6):
        stimulus = Stimulus(level, 0, SIDE, eccentricity)
        (x, y), *squares = places(stimulus, stream("test", "places", seed))
        near, far = ECCENTRICITIES[eccentricity]
        assert near <= math.hypot(x - SIDE / 2, y - SIDE / 2) < far
        assert len(squares) == SQUARES
        everything = [(x, y), *squares]
        gaps = [max(abs(a - c), abs(b - d)) for n, (a, b) in enumerate(everything) for c, d in everything[:n]]
        assert min(gaps) > level
        drawing = draw(stimulus, stream("test", "draw", seed))
        middle = SIDE / 2 + drawing.measures["shift_x"], SIDE / 2 + drawing.measures["shift_y"]
        pixels = np.asarray(drawing.image, np.float64)
        ink = abs(pixels - pixels[0, 0])
        within = np.hypot(*(np.indices(ink.shape)[::-1] + 0.5 - np.array(middle)[:, None, None])) < level / 2 + 1
        rows, columns = np.nonzero(within)
        weights = ink[within] / ink[within].sum()
        assert (weights @ (columns + 0.5), weights @ (rows + 0.5)) == pytest.approx(middle, abs=0.15)


def test_disc_and_squares_have_the_same_area() -> None:
    image = np.asarray(draw(Stimulus(40.0, 0, SIDE, "near"), stream("test", "area")).image, np.float64)
    area = (abs(image - image[0, 0]) > abs(image - image[0, 0]).max() / 2).sum()
    assert area == pytest.approx((SQUARES + 1) * math.pi * 20**2, rel=0.03)


def test_slips_do_not_widen_the_spread() -> None:
    rng = stream("test", "slips")
    errors = rng.normal(3, 5, 400).tolist()
    fit = fit_errors([*errors, *rng.uniform(-300, 300, 40).tolist(), math.nan])
    assert fit is not None
    assert (fit.bias, fit.spread) == pytest.approx((3, 5), abs=0.6)
    assert fit_errors([1.0, 2.0]) is None


@dataclass(frozen=True)
class Pointer(Base):
    """Points at the disc with a bias and normal errors; a share of its points is anywhere."""

    items: dict[str, Item] = field(default_factory=dict)
    bias: tuple[float, float] = (0.0, 0.0)
    spread: float = 5.0
    slips: float = 0.0

    async def answer(self, prompt: Prompt, media: MediaFolder, rng: np.random.Generator) -> Reply:
        (view,) = prompt.views
        if rng.random() < self.slips:
            return Reply(view.reply.write(rng.uniform(0, SIDE, 2)))
        return Reply(view.reply.write(rng.normal(np.add(self.items[view.item_id].answer, self.bias), self.spread)))


def pointers(items: ItemSet) -> list[Pointer]:
    rng, subjects = stream("test", "pointers"), []
    for number in range(20):
        bias, spread = tuple(rng.normal(0, 6, 2).tolist()), float(rng.choice([2.5, 5, 10, 20]))
        card = SubjectCard(f"py:pointer-{number}")
        subjects.append(Pointer(card, dict(items.by_id), bias, spread, 0.05 * (number % 2)))
    return subjects


def test_the_sections_about_pointers_equal_their_golden(tmp_path: Path) -> None:
    items = bank(tmp_path / "bank", ("pointing",))
    subjects = [
        Pointer(SubjectCard("py:shifted"), dict(items.by_id), (6.0, -3.0), 4.0),
        Pointer(SubjectCard("py:careless"), dict(items.by_id), (0.0, 0.0), 12.0, 0.2),
    ]
    responses = asked_of(tmp_path / "run", items, subjects)
    write_scores(tmp_path / "run", score(responses, items, SUITE), "strict")
    assert_golden("suites/thresholds-pointing.txt", sections_text(pointing(load_run(tmp_path / "run"))))


@pytest.mark.slow
def test_bias_and_spread_are_found_in_forty_answers(tmp_path: Path) -> None:
    items = bank(tmp_path / "bank", ("pointing",))
    subjects = pointers(items)
    responses = asked_of(tmp_path / "run", items, subjects)
    scores = score(responses, items, SUITE)
    write_scores(tmp_path / "run", scores, "strict")
    estimates = {metric.name: metric.estimate for metric in SUITE.tasks["pointing"].protocols["strict"].metrics}
    within = {"bias_x": 0, "bias_y": 0, "spread": 0, "threshold": 0}
    print("\nspread  bias x  bias y   found: spread  bias x  bias y  threshold [95 %]  answers")
    for subject in subjects:
        of_subject = scores[scores["subject"] == subject.card.name]
        values = {}
        for name, estimate in estimates.items():
            part = of_subject[of_subject["metric"] == name]
            if estimate:
                values[name] = estimate([items.by_id[key] for key in part["item_id"]], part["value"].tolist())
        spread = math.hypot(values["spread_x"].value, values["spread_y"].value) / math.sqrt(2)
        away = [
            abs(values[f"bias_{axis}"].value - bias) / subject.spread
            for axis, bias in zip("xy", subject.bias, strict=True)
        ]
        within["bias_x"] += away[0] <= 0.3
        within["bias_y"] += away[1] <= 0.3
        within["spread"] += abs(spread / subject.spread - 1) <= 0.2
        fitted = values["threshold"]
        print(
            f"{subject.spread:6.1f}  {subject.bias[0]:6.1f}  {subject.bias[1]:6.1f}   {spread:13.1f}  "
            f"{values['bias_x'].value:6.1f}  {values['bias_y'].value:6.1f}  {fitted.note or fitted.reason}  {len(part)}"
        )
    print(within)
    assert min(within[name] for name in ("bias_x", "bias_y", "spread")) >= 0.9 * len(subjects)
    table = by_name(pointing(load_run(tmp_path / "run")))["pointing"].table
    assert set(table["discs"]) == {"all", "near", "middle", "far", "3 to 7.56 px", "9.524 to 24 px", "30.24 to 96 px"}


@pytest.mark.slow
def test_the_threshold_of_an_unbiased_pointer_follows_from_its_spread(tmp_path: Path) -> None:
    items = bank(tmp_path / "bank", ("pointing",))
    subjects = [
        Pointer(SubjectCard(f"py:unbiased-{n}"), dict(items.by_id), spread=5.0 * 2 ** (n % 2)) for n in range(12)
    ]
    scores = score(asked_of(tmp_path / "run", items, subjects), items, SUITE)
    metric = SUITE.tasks["pointing"].protocols["strict"].metrics[0]
    assert metric.estimate
    ratios = []
    for subject in subjects:
        part = scores[(scores["subject"] == subject.card.name) & (scores["metric"] == "threshold")]
        estimate = metric.estimate([items.by_id[key] for key in part["item_id"]], part["value"].tolist())
        ratios.append(estimate.value / (FWHM * subject.spread))
    assert np.exp(np.mean(np.log(ratios))) == pytest.approx(1, abs=0.15)
    assert POINTING.levels[0] < min(ratios) * FWHM * 5
