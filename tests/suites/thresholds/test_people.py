"""People's thresholds as angles, worked by hand, and their medians; alone and as a study in a report."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from snellen.analysis.studies.people import pooled
from snellen.analysis.tables.section import Run
from snellen.core.score import ABOVE, BELOW, MEASURED, NOT_UNDERSTOOD
from snellen.reports.loading import load_run
from snellen.runs.scores.score import score, write_scores
from snellen.suites.thresholds import SUITE
from snellen.suites.thresholds.published import arcmin, pixels
from snellen.suites.thresholds.report.people import PersonThreshold, angle_text, median_of, people_thresholds
from snellen.suites.thresholds.report.sections import sections, thresholds_of
from tests.goldens.golden import assert_golden
from tests.goldens.sections import sections_text
from tests.helpers.sections import by_name, row_of
from tests.suites.thresholds.banks import asked_of, bank, observer

ARCMINUTE = 57.2958, 60.0
"""Distance in cm at which 1 cm is one degree, and pixels per cm at which one pixel is then one minute of arc."""


def person(reason: str, value: float, low: float = math.nan, high: float = math.nan) -> PersonThreshold:
    return PersonThreshold("human:ours/p01", reason, value, low, high, px_per_cm=ARCMINUTE[1], distance_cm=ARCMINUTE[0])


def test_one_pixel_of_sixty_to_the_centimetre_is_a_minute_of_arc_at_57_cm() -> None:
    assert arcmin(1.0, *ARCMINUTE) == pytest.approx(1.0, rel=1e-4)
    # A card of 323 CSS pixels (96 per inch) at 57.3 cm: a pixel of 0.265 mm is 1.59 minutes of arc.
    assert arcmin(1.0, 57.3, 323 / 8.56) == pytest.approx(1.59, abs=0.005)
    # The same card at three device pixels in a CSS pixel: a third.
    assert arcmin(1.0, 57.3, 3 * 323 / 8.56) == pytest.approx(0.53, abs=0.002)
    for angle in (0.5, 5.0, 300.0):
        assert arcmin(pixels(angle, 40.0, 50.0), 40.0, 50.0) == pytest.approx(angle)


def test_angles_worked_by_hand() -> None:
    assert angle_text("acuity", person(MEASURED, 1.5, 1.2, 2.0)) == "1.50 arcmin [1.20, 2.00]"
    assert angle_text("vernier", person(MEASURED, 0.1, 0.05, 0.2)) == "6.00 arcsec [3.00, 12.0]"
    assert angle_text("acuity", person(MEASURED, 0.9, 0.8, 1.1)) == "not measurable at this distance"
    assert angle_text("crowded-acuity", person(BELOW, 0.5)) == "not measurable at this distance"
    assert angle_text("vernier", person(BELOW, 0.05)) == "not measurable at this distance"
    assert angle_text("acuity", person(ABOVE, 32.0)) == "more than 32.0 arcmin"
    assert angle_text("acuity", person(NOT_UNDERSTOOD, math.nan)) == NOT_UNDERSTOOD


def test_medians_worked_by_hand() -> None:
    small, four, nine = (person(MEASURED, value) for value in (1.0, 4.0, 9.0))
    below, above, none = person(BELOW, 0.5), person(ABOVE, 32.0), person(NOT_UNDERSTOOD, math.nan)
    for people, value, count in (
        ([nine, small, four], 4.0, 3),
        ([four, nine, none], 6.0, 2),  # of ratios
        ([below, below, four, nine, above], 4.0, 5),
    ):
        middle = median_of(people)
        assert middle is not None
        assert middle.value == pytest.approx(value)
        assert middle.people == count
    assert median_of([below, four]) is None
    assert median_of([below, above]) is None
    assert median_of([none]) is None


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Three people, of whom one has no known distance, and a model."""
    folder = tmp_path_factory.mktemp("people")
    items = bank(folder / "bank", ("acuity", "number"))
    sizes = {"px_per_cm": "60.00", "distance_cm": "57.2958"}
    subjects = []
    for name, gap, attributes in (("p01", 2.0, sizes), ("p02", 4.0, {}), ("p03", 1e-6, sizes), ("model", 8.0, {})):
        subject: Any = observer(items, f"py:{name}", thresholds={"acuity": gap, "number": 10 * gap})
        card = replace(subject.card, attributes=attributes)
        if name != "model":
            card = replace(card, name=f"human:ours/{name}", role="person")
        subjects.append(replace(subject, card=card))
    responses = asked_of(folder / "run", items, subjects)
    write_scores(folder / "run", score(responses, items, SUITE), "strict")
    return load_run(folder / "run")


@pytest.mark.parametrize("is_pooled", [False, True])
def test_only_people_at_a_known_distance_have_angles_and_norms(run: Run, is_pooled: bool) -> None:
    reported = pooled(run) if is_pooled else run
    section = by_name(sections(reported))["angles"]
    assert section.table["person"].tolist() == ["human:ours/p01", "human:ours/p03"]
    first, third = (row_of(section, person=f"human:ours/p0{n}") for n in (1, 3))
    assert first["one pixel"] == "1.00 arcmin"
    assert first["angle"].split()[0] == first["threshold"].split()[0]  # a pixel is a minute
    assert third["angle"] == "not measurable at this distance"
    assert first["published norm"] == "1 arcmin"
    assert [p.name for p in people_thresholds(reported, "number")] == [f"human:ours/p0{n}" for n in (1, 2, 3)]


def test_a_report_with_people_has_a_profile_in_their_units(run: Run) -> None:
    listed = by_name(sections(pooled(run)))
    assert "retest" not in listed  # of two people
    section = listed["profile-people"]
    table = section.table.set_index("subject")
    assert list(table.index) == ["human:ours", "py:model", "unit (x1): people"]
    assert "the median threshold of 3 people" in section.note
    middle, model = (
        next(t for t in thresholds_of(run)["acuity"] if t.name == name).value for name in ("human:ours/p01", "py:model")
    )
    assert table.loc["unit (x1): people", "acuity"] == f"{middle:#.3g} px"  # between 4 px and the smallest level
    assert table.loc["py:model", "acuity"].startswith(f"x{model / middle:#.3g} [")


def test_the_sections_equal_their_golden(run: Run) -> None:
    listed = [section for section in sections(pooled(run)) if section.name not in ("functions", "places")]
    assert_golden("suites/thresholds-people.txt", sections_text(listed))
