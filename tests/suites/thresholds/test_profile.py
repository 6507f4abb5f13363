"""Thresholds in units of a reference observer, whose own thresholds are measured through the suite."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from snellen.core.score import BELOW, MEASURED, NOT_UNDERSTOOD
from snellen.core.seeds import stream
from snellen.suites.thresholds.measures import MEASURES
from snellen.suites.thresholds.measures.measure import Stimulus
from snellen.suites.thresholds.published import NOISE, REFERENCE
from snellen.suites.thresholds.report.people import Median, Multiple, in_words, multiples, profile, reference_units
from tests.helpers.reference_observers import Matrix, alternatives, mean_of, measured
from tests.helpers.sections import by_name
from tests.suites.thresholds.banks import bank


def threshold(name: str, reason: str, value: float, low: float, high: float, side: int = 448) -> Any:
    """A threshold as the report has it."""
    result = SimpleNamespace(side=side)
    return SimpleNamespace(name=name, reason=reason, value=value, low=low, high=high, result=result)


NAN = float("nan")
BY_TASK = {
    "acuity": [threshold("sharp", MEASURED, 4.86, 2.43, 9.72), threshold("blind", NOT_UNDERSTOOD, NAN, NAN, NAN)],
    "crowded-acuity": [threshold("sharp", MEASURED, 24.3, 21.87, 26.73)],
    "vernier": [threshold("sharp", BELOW, 0.05, NAN, NAN)],
    "number": [threshold("sharp", MEASURED, 50.0, 40.0, 60.0)],
}


def test_multiples_worked_by_hand() -> None:
    by_name_of_subject = multiples(BY_TASK, reference_units())
    assert list(by_name_of_subject) == ["sharp"]
    alone, crowded, vernier = by_name_of_subject["sharp"]
    assert alone.text == "x2.00 [1.00, 4.00]"
    assert crowded.text == "x10.0 [9.00, 11.0]"
    assert vernier.text == "less than x0.15"
    assert set(reference_units()) == set(MEASURES) - {
        "number", "touching", "same-length", "pointing",
    }  # fmt: skip


def test_words_name_what_is_clearly_best_and_worst() -> None:
    sharp = multiples(BY_TASK, reference_units())["sharp"]
    assert in_words(sharp) == "best at acuity, and 5.00 times as far from the reference at crowded-acuity"
    wide = Multiple("length", MEASURED, 3.0, 1.0, 9.5)
    assert in_words([wide, sharp[1]]) == "no clear difference between the measures"
    assert in_words(sharp[2:]) == "no clear difference between the measures"


def test_the_section_has_bounds_and_no_other_canvas() -> None:
    section = by_name(profile(BY_TASK, {}))["profile"]
    assert list(section.table.columns) == ["subject", "acuity", "crowded-acuity", "vernier", "in words"]
    assert section.table["vernier"].tolist() == ["less than x0.15", "0.34 px"]
    large = {task: [threshold("sharp", MEASURED, 5.0, 4.0, 6.0, side=1024)] for task in ("acuity", "vernier")}
    assert not list(profile(large, {}))
    assert not list(profile({"acuity": BY_TASK["acuity"]}, {}))


def test_units_of_people_worked_by_hand() -> None:
    medians = {"acuity": Median(1.62, 5), "number": Median(25.0, 4)}
    listed = by_name(profile(BY_TASK, medians))
    assert list(listed) == ["profile-people", "profile"]
    section = listed["profile-people"]
    assert list(section.table.columns) == ["subject", "acuity", "number", "in words"]
    assert section.table.to_numpy().tolist() == [
        ["sharp", "x3.00 [1.50, 6.00]", "x2.00 [1.60, 2.40]", "no clear difference between the measures"],
        ["unit (x1): people", "1.62 px", "25.0 %", "–"],
    ]
    assert "the median threshold of 4 to 5 people" in section.note
    assert section.figure().axes[0].get_xlabel() == "threshold, in units of people"
    far = multiples(BY_TASK, {"acuity": 4.86, "crowded-acuity": 8.1})["sharp"]
    assert in_words(far, "the people") == "best at acuity, and 3.00 times as far from the people at crowded-acuity"
    alone = by_name(profile(BY_TASK, {task: Median(2.0, 1) for task in medians}))["profile-people"]
    assert "the median threshold of 1 person" in alone.note
    # A median of one measure alone compares nothing.
    assert list(by_name(profile(BY_TASK, {"number": Median(25.0, 4)}))) == ["profile"]


def test_alternatives_differ_from_an_image_by_what_is_drawn(tmp_path: Path) -> None:
    items = bank(tmp_path / "bank", ("length",), n=17)
    item = next(item for item in items.items if item.split == "test" and item.factors["level"] == "16")
    products, right = alternatives(item), MEASURES["length"].answers.index(item.answer)
    assert products[right].max() == products[:, right].max() == 0.0
    number = int(item.item_id[-4:])
    images = [
        np.asarray(MEASURES["length"].draw(
            Stimulus(80.0, answer, 448, ""), stream("thresholds", 0, "length", "test", number)
        ).image, float) for answer in range(9)
    ]  # fmt: skip
    other = (right + 1) % 9
    assert products[other, other] == pytest.approx(((images[right] - images[other]) ** 2).sum())


@pytest.mark.slow
@pytest.mark.parametrize("task", ["acuity", "length"])
def test_the_printed_thresholds_are_those_of_the_observer(task: str, tmp_path: Path) -> None:
    items, products = bank(tmp_path / "bank", (task,)), dict[str, Matrix]()
    mean, _ = mean_of(measured(items, task, NOISE, 8, products))
    assert mean == pytest.approx(REFERENCE[task], rel=0.15)
    # The noise on templates is that of drawing it on the images: the share of right answers at one item.
    item = next(
        i for i in items.items if i.split == "test" and i.factors["level"] == "8" and i.factors["control"] == "no"
    )
    gram, rng = products.get(item.item_id, alternatives(item)), np.random.default_rng(0)
    noise = rng.multivariate_normal(np.zeros(len(gram)), NOISE**2 * gram, 4000, check_valid="ignore")
    right = MEASURES[task].answers.index(item.answer)
    share = np.mean(np.argmin(np.diag(gram) + 2 * noise, 1) == right)
    measure, number = MEASURES[task], int(item.item_id[-4:])
    images = np.array([
        np.asarray(measure.draw(
            Stimulus(item.measures[measure.quantity], answer, 448, ""), stream("thresholds", 0, task, "test", number)
        ).image, float).ravel() for answer in range(len(measure.answers))
    ])  # fmt: skip
    images = images[:, np.ptp(images, axis=0) > 0]
    tries = images[right] + rng.normal(0, NOISE, (1500, images.shape[1]))
    distances = -2 * tries @ images.T + (images**2).sum(1)
    assert np.mean(distances.argmin(1) == right) == pytest.approx(share, abs=0.05)
