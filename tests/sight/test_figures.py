"""Stimuli measured off their pixels: coverage by area and by brute force, and every level by an independent oracle."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from snellen.core.colour import lab_to_linear, srgb_to_lab
from snellen.core.seeds import stream
from snellen.scoring.metrics import ciede2000
from snellen.suites.thresholds.measures import MEASURES
from snellen.suites.thresholds.measures.measure import PITCH, SHIFT, SIDE, Stimulus, StimulusImage
from snellen_sight.figures import bar, canvas, coverage, disc, dots, encoded, image_of, landolt, rectangle

PART = slice(0, 40), slice(0, 40)
EASIEST = 15


def draw(task: str, level: int, answer: int = 4, variant: int = 0, seed: int = 0) -> StimulusImage:
    """A stimulus of a task at a level, 0 the hardest."""
    measure = MEASURES[task]
    stimulus = Stimulus(measure.levels[level], answer, SIDE, measure.variants[variant % len(measure.variants)])
    return measure.draw(stimulus, stream("test", "thresholds", task, level, answer, seed))


def linear(drawing: StimulusImage) -> Any:
    """Linear light of the grey pixels."""
    values = np.asarray(drawing.image, np.float64) / 255
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def ink(drawing: StimulusImage) -> Any:
    """The share of each pixel that is covered by ink, from the ground in the corner and the strongest ink."""
    light = linear(drawing)
    ground = light[0, 0]
    extreme = light.flat[np.argmax(np.abs(light - ground))]
    return (light - ground) / (extreme - ground)


REACH = 58
"""Half the side of the part of the image around a patch that is measured."""


def cell(drawing: StimulusImage, patch: int) -> Any:
    """The inked share of the pixels around a patch, without its numeral."""
    x, y = centre(drawing, patch)
    share = ink(drawing)[y - REACH : y + REACH, x - REACH : x + REACH].copy()
    share[:22, :17] = 0.0
    return share


def centre(drawing: StimulusImage, patch: int) -> tuple[int, int]:
    """The nearest pixel to the middle of a patch, but for its own wobble."""
    shift = drawing.measures["shift_x"], drawing.measures["shift_y"]
    column, row = patch % 3 - 1, patch // 3 - 1
    return round(SIDE / 2 + PITCH * column + shift[0]), round(SIDE / 2 + PITCH * row + shift[1])


def test_coverage_has_the_area_of_the_shape() -> None:
    assert coverage(disc(20.3, 19.6, 11.2), PART).sum() == pytest.approx(math.pi * 11.2**2, rel=2e-3)
    gap = 5.0
    inner, outer = 1.5 * gap, 2.5 * gap
    # The gap removes a strip of the ring: the area between two parallel chords of each circle, on one side.
    strip = _half_strip(outer, gap) - _half_strip(inner, gap)
    ring = math.pi * (outer**2 - inner**2) - strip
    for direction in range(8):
        assert coverage(landolt(20.1, 19.7, gap, direction), PART).sum() == pytest.approx(ring, rel=2e-3)
    assert coverage(bar(20.2, 19.9, 20.0, 3.0, 33.0), PART).sum() == pytest.approx(60.0, rel=2e-3)


def _half_strip(radius: float, width: float) -> float:
    """The area of a circle within a strip of a width through its middle, on one side of the middle."""
    half = width / 2
    return half * math.sqrt(radius**2 - half**2) + radius**2 * math.asin(half / radius)


@pytest.mark.parametrize("direction", range(8))
def test_coverage_is_that_of_brute_force(direction: int) -> None:
    shape, fine = landolt(20.3, 19.8, 2.3, direction), 48
    points = (np.arange(40 * fine) + 0.5) / fine
    inside = shape(points[None, :], points[:, None]) < 0
    brute = inside.reshape(40, fine, 40, fine).mean((1, 3))
    assert np.abs(coverage(shape, PART) - brute).max() < 0.03


def test_the_gap_is_in_the_named_direction() -> None:
    # Mass is missing where the gap is: the centre of mass lies on the other side. Image rows count downwards.
    for direction in range(8):
        share = coverage(landolt(20.0, 20.0, 4.0, direction), PART)
        y, x = np.mgrid[0:40, 0:40] + 0.5
        dx, dy = ((share * axis).sum() / share.sum() - 20.0 for axis in (x, y))
        assert math.degrees(math.atan2(dy, -dx)) % 360 == pytest.approx(45 * direction, abs=2) or direction == 0
        if direction == 0:
            assert dx < 0
            assert abs(dy) < 0.01


def test_rectangles_are_exact() -> None:
    plane = canvas(8, 0.0)
    rectangle(plane, 1.25, 2.0, 3.5, 4.1, 1.0)
    assert plane.sum() == pytest.approx(2.25 * 2.1, rel=1e-6)
    assert plane[2, 1, 0] == pytest.approx(0.75)
    assert plane[4, 3, 0] == pytest.approx(0.05, abs=1e-6)


def test_dots_have_their_area() -> None:
    plane = canvas(40, 0.0)
    dots(plane, np.array([[10.3, 10.8], [25.1, 30.6]]), np.array([2.4, 3.1]), 1.0)
    assert plane.sum() == pytest.approx(math.pi * (2.4**2 + 3.1**2), rel=0.02)


def test_noise_keeps_the_mean_below_one_grey_level() -> None:
    plane = canvas(64, 0.2)
    plane[8:, :] *= 1.001
    value = float(encoded(plane[20, 20])[0])
    noisy = np.zeros((64, 64), np.bool_)
    noisy[8:] = True
    pixels = np.asarray(image_of(plane, noisy, stream("test", "noise")), np.float64)
    assert set(np.unique(pixels[8:])) == {math.floor(value), math.ceil(value)}
    assert pixels[8:].mean() == pytest.approx(value, abs=4 * 0.5 / 60)
    assert len(np.unique(pixels[:8])) == 1


@pytest.mark.parametrize("level", [3, 7, 11, EASIEST])
def test_offsets_of_lines_are_as_stated(level: int) -> None:
    drawing = draw("vernier", level)
    upright = drawing.factors["lines"] == "upright"
    offsets = []
    for patch in range(9):
        share = cell(drawing, patch)
        share = share if upright else share.T
        rows = np.flatnonzero(share.sum(1) > 2.5)
        middle = (rows[0] + rows[-1]) / 2
        x = np.arange(share.shape[1])
        halves = share[rows[0] : round(middle) - 3], share[round(middle) + 4 : rows[-1]]
        above, below = ((half * x).sum() / half.sum() for half in halves)
        offsets.append(abs(above - below))
    assert offsets[4] == pytest.approx(MEASURES["vernier"].levels[level], abs=0.03)
    assert max(offset for patch, offset in enumerate(offsets) if patch != 4) < 0.03


@pytest.mark.parametrize("level", [4, 9, EASIEST])
def test_bars_are_longer_as_stated(level: int) -> None:
    drawing = draw("length", level)
    lengths = []
    for patch in range(9):  # the area over the greatest sum across, which is that of a row or column within the bar
        share = cell(drawing, patch)
        lengths.append(share.sum() / share.sum(0 if drawing.factors["bars"] == "level" else 1).max())
    usual = np.delete(lengths, 4)
    assert np.ptp(usual) / usual.mean() < 0.02
    assert 100 * (lengths[4] / usual.mean() - 1) == pytest.approx(MEASURES["length"].levels[level], abs=2)


@pytest.mark.parametrize("level", [5, 9, 12])
def test_bars_are_tilted_as_stated(level: int) -> None:
    drawing = draw("orientation", level)
    angles = []
    for patch in range(9):
        share = cell(drawing, patch)
        y, x = np.mgrid[0 : share.shape[0], 0 : share.shape[1]]
        x, y = (axis - (share * axis).sum() / share.sum() for axis in (x, y))
        xx, yy, xy = ((share * product).sum() for product in (x * x, y * y, x * y))
        angles.append(math.degrees(0.5 * math.atan2(2 * xy, xx - yy)))
    turns = [(angle - angles[0] + 90) % 180 - 90 for angle in angles]
    assert max(abs(turn) for patch, turn in enumerate(turns) if patch != 4) < 0.3
    assert abs(turns[4]) == pytest.approx(MEASURES["orientation"].levels[level], abs=0.3)


@pytest.mark.parametrize("variant", range(4))
def test_gratings_have_their_contrast(variant: int) -> None:
    for level in (9, 12, EASIEST):
        drawing, stated = draw("contrast", level, variant=variant), MEASURES["contrast"].levels[level] / 100
        light, deviations = linear(drawing), list[float]()
        darkest = float(encoded(np.array(drawing.measures["ground"]))) - 14
        grey_level = 2.4 / 2 / darkest  # the contrast of two neighbouring sRGB values
        for patch in range(9):
            x, y = centre(drawing, patch)
            part = light[y - 24 : y + 24, x - 24 : x + 24]
            deviations.append((part.max() - part.min()) / (part.max() + part.min()))
        assert 0.88 * stated < deviations[4] < stated + grey_level
        assert max(deviation for patch, deviation in enumerate(deviations) if patch != 4) < grey_level


def test_colours_differ_as_stated() -> None:
    for level in (5, 10, EASIEST):
        drawing = draw("colour-difference", level)
        pixels = np.asarray(drawing.image, np.float64)
        colours = []
        for patch in range(9):
            x, y = centre(drawing, patch)
            part = pixels[y - 14 : y + 14, x - 14 : x + 14].reshape(-1, 3)
            colours.append(part.mean(0).tolist())
        usual = np.mean(np.delete(colours, 4, axis=0), axis=0)
        stated = MEASURES["colour-difference"].levels[level]
        assert ciede2000(usual.tolist(), colours[4]) == pytest.approx(stated, abs=0.08)
        assert max(ciede2000(usual.tolist(), c) for n, c in enumerate(colours) if n != 4) < 0.08


def test_dots_are_more_as_stated() -> None:
    for level in (2, 8, EASIEST):
        for seed in range(3):
            drawing = draw("number", level, seed=seed)
            counts = []
            for patch in range(9):
                share = cell(drawing, patch)
                counts.append(_dots(share > 0.25))
            expected = 20 * (1 + MEASURES["number"].levels[level] / 100)
            assert counts[4] == pytest.approx(expected, abs=max(3, 0.12 * expected))
            assert np.median(np.delete(counts, 4)) == pytest.approx(20, abs=2)


def _dots(mask: Any) -> int:
    """The number of connected parts of a mask."""
    from scipy.ndimage import label

    return int(label(mask)[1])


def test_lab_and_linear_light_are_inverse() -> None:
    srgb = stream("test", "lab").uniform(0, 255, (50, 3))
    assert encoded(lab_to_linear(srgb_to_lab(srgb))) == pytest.approx(srgb, abs=0.01)


@pytest.mark.parametrize("task", list(MEASURES))
def test_everything_stays_on_the_canvas(task: str) -> None:
    for seed in range(12):
        measure = MEASURES[task]
        stimulus = Stimulus(measure.control, seed % max(1, len(measure.answers)), SIDE, measure.variants[0])
        drawing = measure.draw(stimulus, stream("test", "canvas", task, seed))
        pixels = np.asarray(drawing.image.convert("L"), np.int64)
        assert drawing.image.size == (SIDE, SIDE)
        edges = np.concatenate([pixels[0], pixels[-1], pixels[:, 0], pixels[:, -1]])
        assert np.ptp(edges) == 0
        assert np.ptp(pixels) > 30
    assert SHIFT >= 16
