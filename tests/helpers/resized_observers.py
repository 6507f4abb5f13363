"""Observers of Landolt rings with noise, behind a planted change of images: does a threshold tell their size?

Such an observer knows everything of the ring but its direction, changes the image as a service might, adds noise, and
takes the direction whose template is nearest. Print the table of docs/measurements/thresholds.md:
python -m tests.helpers.resized_observers
"""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from snellen.core.build_options import BuildOptions
from snellen.core.condition import Condition
from snellen.core.item import Item
from snellen.core.prompt import Prompt, Reply
from snellen.core.storage.itemset import ItemSet
from snellen.core.storage.media import MediaFolder
from snellen.core.subject import Base, SubjectCard
from snellen.runs.asking.ask import ask
from snellen.runs.planning.plan import Arm, Plan
from snellen.runs.scores.score import primary_score
from snellen.suites.thresholds import SUITE
from snellen.suites.thresholds.generated.recipe import Generated
from snellen.suites.thresholds.measures import MEASURES
from snellen.suites.thresholds.scoring import threshold
from snellen_sight.directions import DIRECTIONS
from snellen_sight.figures import canvas, coverage, encoded, landolt, paint, window

Pixels: TypeAlias = NDArray[np.float32]
Change: TypeAlias = Callable[[Image.Image], Image.Image]
NOISE = 60.0
"""Standard deviation of the observer's noise in grey levels."""


def resized(scale: float) -> Change:
    """A change that makes the image smaller."""
    return lambda image: image.resize((round(image.width * scale),) * 2, Image.Resampling.BICUBIC)


def compressed(quality: int) -> Change:
    """A change that saves the image as JPEG."""

    def change(image: Image.Image) -> Image.Image:
        buffer = io.BytesIO()
        image.save(buffer, "JPEG", quality=quality)
        return Image.open(buffer)

    return change


CHANGES: Mapping[str, Change] = {
    "none": lambda image: image, "0.75": resized(0.75), "0.5": resized(0.5), "0.25": resized(0.25),
    "JPEG, quality 30": compressed(30),
}  # fmt: skip


@dataclass(frozen=True)
class TemplateObserver(Base):
    """Takes the direction whose template differs least from the changed image with noise."""

    items: Mapping[str, Item] = field(default_factory=dict)
    change: Change = CHANGES["none"]

    async def answer(self, prompt: Prompt, media: MediaFolder, rng: np.random.Generator) -> Reply:
        (view,) = prompt.views
        image = media.open(view.query[0]).convert("L")
        changed = self._pixels(image)
        noisy = changed + rng.normal(0, NOISE, changed.shape)
        errors = [float(((noisy - self._template(image, view.item_id, n)) ** 2).sum()) for n in range(8)]
        return Reply(DIRECTIONS[int(np.argmin(errors))])

    def _pixels(self, image: Image.Image) -> Pixels:
        return np.asarray(self.change(image), np.float32)

    def _template(self, image: Image.Image, item_id: str, direction: int) -> Pixels:
        item, values = self.items[item_id], np.asarray(image, np.float64)
        ground = values[0, 0]
        ink = values.flat[np.argmax(np.abs(values - ground))]
        light = [_linear(value) for value in (ground, ink)]
        x, y = (image.width / 2 + item.measures[name] for name in ("shift_x", "shift_y"))
        plane, gap_px = canvas(image.width, light[0]), item.measures["gap_px"]
        region = window(plane, x, y, 2.5 * gap_px + 1)
        paint(plane, region, coverage(landolt(x, y, gap_px, direction), region), light[1])
        return self._pixels(Image.fromarray(np.round(encoded(plane)[..., 0]).astype(np.uint8)))


def _linear(value: float) -> float:
    """Linear light of an sRGB value, 0 to 255."""
    share = value / 255
    return float(share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4)


def gaps(items: ItemSet, change: Change, exams: int) -> list[Any]:
    """The thresholds of an observer behind a change, in exams with different noise."""
    results = []
    for seed in range(exams):
        subject = TemplateObserver(SubjectCard("py:template", {"seed": seed}), items.by_id, change)
        with tempfile.TemporaryDirectory() as folder:
            plan = Plan(items, SUITE, [Arm(subject, Condition(SUITE.axes))], seed)
            responses = ask(Path(folder) / "run", plan)
        strict = SUITE.tasks["acuity"].protocols["strict"]
        answered = [items.by_id[response.item_id] for response in responses]
        errors = [primary_score(item, r, strict) for item, r in zip(answered, responses, strict=True)]
        results.append(threshold(MEASURES["acuity"], answered, errors))
    return results


def acuity_bank(folder: Path) -> ItemSet:
    """A bank of acuity with images."""
    return Generated().build(BuildOptions(folder, tasks=("acuity",)))


def main() -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as folder:
        items = acuity_bank(Path(folder) / "bank")
        print("| change | gaps of three exams, px | scale by the thresholds |\n|---|---|---:|")
        first = 0.0
        for name, change in CHANGES.items():
            results = gaps(items, change, 3)
            mean = float(np.mean(np.log10([result.value for result in results])))
            first = first or mean
            texts = ", ".join(f"{r.value:.2f} [{r.low:.2f}, {r.high:.2f}]" for r in results)
            print(f"| {name} | {texts} | {10 ** (first - mean):.2f} |", flush=True)


if __name__ == "__main__":
    main()
