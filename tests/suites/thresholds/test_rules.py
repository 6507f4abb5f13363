"""Rules that see means, thumbnails, ink or edges understand only the questions whose measure these are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from snellen.core.build_options import BuildOptions
from snellen.core.item import Item
from snellen.core.prompt import Prompt, Reply
from snellen.core.score import ABOVE, MEASURED, NOT_UNDERSTOOD, Measurement
from snellen.core.storage.media import MediaFolder
from snellen.core.subject import Base, SubjectCard
from snellen.runs.scores.score import primary_score
from snellen.suites.thresholds import SUITE
from snellen.suites.thresholds.generated.recipe import Generated
from snellen.suites.thresholds.measures import MEASURES
from snellen.suites.thresholds.measures.measure import PITCH, SIDE
from snellen.suites.thresholds.scoring import threshold
from tests.suites.thresholds.banks import asked_of

Pixels = NDArray[np.float64]


def nine(pixels: Pixels, reach: int) -> list[Pixels]:
    """The middles of the nine patches, without the shift of the layout."""
    middles = [round(SIDE / 2 + PITCH * (index - 1)) for index in range(3)]
    return [pixels[y - reach : y + reach, x - reach : x + reach] for y in middles for x in middles]


def unlike(values: Any) -> int:
    """The patch that is farthest from the median of all."""
    rows = np.asarray(values, np.float64).reshape(9, -1)
    return int(np.argmax(np.abs(rows - np.median(rows, 0)).sum(1)))


def thumbnail(patch: Pixels) -> Pixels:
    return np.asarray(patch.reshape(3, len(patch) // 3, 3, -1).mean((1, 3)), np.float64)


def edges(patch: Pixels) -> float:
    return float(np.abs(np.diff(patch, axis=0)).sum() + np.abs(np.diff(patch, axis=1)).sum())


def ink(patch: Pixels) -> float:
    return float(np.abs(patch - patch[0, 0]).sum())


def spectrum(patch: Pixels) -> float:
    return float(np.log(1 + (np.abs(np.fft.fft2(patch - patch.mean())) ** 2)[:16, :16].sum()))


RULES: Mapping[str, Callable[[Pixels], int]] = {
    "nine means": lambda pixels: unlike([patch.mean() for patch in nine(pixels, 34)]),
    "nine wide means": lambda pixels: unlike([patch.mean() for patch in nine(pixels, 51)]),
    "nine thumbnails": lambda pixels: unlike([thumbnail(patch) for patch in nine(pixels, 51)]),
    "one thumbnail": lambda pixels: unlike(
        Image.fromarray(pixels.astype(np.uint8)).resize((3, 3), Image.Resampling.BOX)
    ),
    "most ink": lambda pixels: int(np.argmax([ink(patch) for patch in nine(pixels, 60)])),
    "least ink for its edges": lambda pixels: int(np.argmax([edges(p) / (1 + ink(p)) for p in nine(pixels, 60)])),
    "most edges": lambda pixels: int(np.argmax([edges(patch) for patch in nine(pixels, 60)])),
    "spectrum": lambda pixels: unlike([spectrum(patch) for patch in nine(pixels, 51)]),
}
THEIRS = {
    *(("contrast", rule) for rule in ("most ink", "most edges", "spectrum")),
    *(("length", rule) for rule in ("most edges", "nine thumbnails")),
    *(("orientation", rule) for rule in ("most edges", "nine thumbnails", "spectrum")),
}
"""Stripes are edges and deviations from a mean; edges of a thin bar are its length; nine means of each patch see bars
that are twice as long, or turned."""


@dataclass(frozen=True)
class Ruled(Base):
    """Names the patch that a rule takes."""

    rule: Callable[[Pixels], int] = field(default=lambda pixels: 0)

    async def answer(self, prompt: Prompt, media: MediaFolder, rng: np.random.Generator) -> Reply:
        (view,) = prompt.views
        with Image.open(media.find(view.query[0])) as image:
            return Reply(str(self.rule(np.asarray(image.convert("L"), np.float64)) + 1))


def measured(folder: Path, task: str, rule: str, seed: int = 0) -> Measurement:
    """The threshold of a rule in the whole suite."""
    items = Generated().build(BuildOptions(folder / "bank", seed=seed, tasks=(task,), test_only=True, workers=1))
    responses = asked_of(folder / "run", items, [Ruled(SubjectCard("py:ruled"), RULES[rule])])
    of_task: list[Item] = [items.by_id[response.item_id] for response in responses]
    strict = SUITE.tasks[task].protocols["strict"]
    errors = [primary_score(item, r, strict) for item, r in zip(of_task, responses, strict=True)]
    return threshold(MEASURES[task], of_task, errors)


@pytest.mark.parametrize("task", ["contrast", "length", "orientation"])
def test_nine_means_do_not_understand(tmp_path: Path, task: str) -> None:
    assert measured(tmp_path, task, "nine means").reason == NOT_UNDERSTOOD


def test_stripes_are_edges(tmp_path: Path) -> None:
    assert measured(tmp_path, "contrast", "most edges").reason == MEASURED


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("task", ["contrast", "length", "orientation", "number"])
def test_rules_understand_their_own_measures_alone(tmp_path: Path, task: str, rule: str, seed: int) -> None:
    result = measured(tmp_path, task, rule, seed)
    if task == "number":
        assert result.reason in (NOT_UNDERSTOOD, ABOVE) or result.value > 100
    elif (task, rule) not in THEIRS:
        assert result.reason == NOT_UNDERSTOOD
