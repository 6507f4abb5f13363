"""Two protocols from building to results through a kill: a video and its frames, and a fitted threshold."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from PIL import Image

from snellen.core.condition import Axis
from snellen.core.item import Item, Media, Option, View
from snellen.core.prompt import Prompt, Reply
from snellen.core.storage.media import MediaFolder
from snellen.core.subject import Base, Subject, SubjectCard, TrainingExample, with_examples
from snellen.core.suite import Transform, ViewContext
from snellen.subjects.fakes import make_fake
from tests.helpers.journey import arm, item, journey, patch, suite_of

COLOURS = {"red": (220, 20, 20), "green": (20, 200, 20), "blue": (20, 20, 220)}
OPTIONS = tuple(Option(name, name) for name in COLOURS)


@pytest.fixture
def media(tmp_path: Path) -> MediaFolder:
    return MediaFolder(tmp_path / "media")


def oracle(items: Sequence[Item]) -> Subject:
    return make_fake("oracle", {}, items)


@dataclass(frozen=True)
class Frames:
    """Every video as `count` images, evenly spaced, first and last frame included."""

    count: int
    version: int = 1

    def __call__(self, view: View, media: MediaFolder, rng: np.random.Generator) -> View:
        return replace(view, query=tuple(still for video in view.query for still in self._stills(video, media)))

    def _stills(self, video: Media, media: MediaFolder) -> list[Media]:
        moving = media.open(video)

        def still(index: int) -> Image.Image:
            moving.seek(index)
            return moving.convert("RGB")

        numbers = np.linspace(0, getattr(moving, "n_frames", 1) - 1, self.count).round().astype(int)
        return [media.derive(["frame", 1, video.sha256, int(n)], partial(still, int(n))) for n in numbers]


def test_a_native_video_and_the_same_as_frames(tmp_path: Path, media: MediaFolder) -> None:
    names = ("red", "red", "green", "green", "blue", "blue")
    first, *rest = (Image.new("RGB", (8, 6), COLOURS[name]) for name in names)
    file = io.BytesIO()
    first.save(file, "PNG", save_all=True, append_images=rest, duration=500)
    clip = media.add(file.getvalue(), "video", "png", (8, 6), 3.0)
    places = [("start", "red"), ("end", "blue")]
    items = [
        item(position, [clip], name, "choice", question=f"colour at the {position}?", options=OPTIONS)
        for position, name in places
    ]

    def transforms(item: Item, context: ViewContext) -> tuple[Transform, ...]:
        frames = context.condition["frames"]
        return (Frames(frames),) if isinstance(frames, int) else ()

    @dataclass(frozen=True)
    class Watches(Base):
        """Reads the first or the last frame that it is shown."""

        async def answer(self, prompt: Prompt, media: MediaFolder, rng: np.random.Generator) -> Reply:
            (view,) = prompt.views
            index = -1 if "end" in view.question else 0
            image = media.open(view.query[index])
            if view.query[index].kind == "video":
                image.seek(index % getattr(image, "n_frames", 1))
            colour = np.asarray(image.convert("RGB"), float).mean(axis=(0, 1))
            return Reply(min(COLOURS, key=lambda name: float(np.abs(np.subtract(COLOURS[name], colour)).sum())))

    suite = suite_of(Axis("frames", ("native", 2, 4)), transforms=transforms)
    cards = [SubjectCard("own:any"), SubjectCard("own:images-only", accepts=frozenset({"image"}))]
    arms = [arm(Watches(card), suite, condition) for card in cards for condition in ("vanilla", "frames=2")]
    done = journey(tmp_path, items, suite, arms, dies_at=3)
    strict = done.table[done.table["protocol"] == "strict"]
    assert strict["not_applicable"].to_list() == [0, 0, 2, 0]
    assert strict["n"].to_list() == [2, 2, 0, 2]
    assert strict["value"].fillna(-1).to_list() == [1, 1, -1, 1]
    assert {r.status for r in done.responses[4:6]} == {"declined"}
    assert "video" in done.responses[4].reason


Numbers = npt.NDArray[np.float64]


def mean_colour(image: Media, media: MediaFolder) -> Numbers:
    """Mean over pixels, three numbers 0 to 255."""
    return np.asarray(np.asarray(media.open(image).convert("RGB")).mean(axis=(0, 1)), np.float64)


@dataclass(frozen=True)
class ColourThreshold(Base):
    """Calls two images the same if their colours are nearer than halfway between the calibration means."""

    limit: float = 0.0

    async def fit(self, examples: Sequence[TrainingExample], media: MediaFolder) -> Subject:
        apart = [[self._apart(x.view, media) for x in examples if x.answer == key] for key in ("true", "false")]
        return replace(
            self, limit=float(np.mean([np.mean(gaps) for gaps in apart])), card=with_examples(self.card, examples)
        )

    async def answer(self, prompt: Prompt, media: MediaFolder, rng: np.random.Generator) -> Reply:
        (view,) = prompt.views
        gap = self._apart(view, media)
        return Reply(view.reply.write("true" if gap < self.limit else "false"), numbers=(gap,))

    def _apart(self, view: View, media: MediaFolder) -> float:
        first, second = (mean_colour(image, media) for image in view.query)
        return float(np.abs(first - second).sum())


def test_a_similarity_threshold_fitted_on_calibration(tmp_path: Path, media: MediaFolder) -> None:
    def pair(n: int, split: str, same: bool) -> Item:
        images = [patch(media, (20, 90, n)), patch(media, (20 + (40 if same else 160), 90, n))]
        return item(f"{split}-{n}-{same}", images, str(same).lower(), "true_false", split=split)

    items = [pair(n, split, same) for split in ("calibration", "test") for n in range(3) for same in (True, False)]
    suite = suite_of(kind="true_false", train_split="calibration")
    threshold = ColourThreshold(SubjectCard("encoder:mean-colour", reads="views"))
    done = journey(tmp_path, items, suite, [arm(threshold, suite), arm(oracle(items), suite)], dies_at=5)
    assert done.table["value"].eq(1).all()
    assert set(done.table["n"]) == {6}
    numbers = pd.read_parquet(tmp_path / "run" / "exchanges.parquet").set_index("key")["numbers"]
    gaps = [round(float(numbers[r.calls[0]][0])) for r in done.responses[:2]]
    assert gaps == [40, 160], "the numbers are kept, so that another threshold needs no new call"
