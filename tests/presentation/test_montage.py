from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from PIL import Image

from snellen.core.item import Media, Montage
from snellen.core.prompt import Prompt, Reply
from snellen.core.storage.media import MediaFolder
from snellen.core.subject import Base, SubjectCard
from snellen.presentation.methods import OneByOne
from snellen.runs.asking.ask import ask
from snellen.runs.planning.plan import Plan
from snellen.stimuli.transforms import montage as module
from snellen.stimuli.transforms.montage import lay_out
from tests.helpers.journey import arm, colour_set, patch, suite_of

RED, GREEN, BLUE, WHITE = (255, 0, 0), (0, 255, 0), (0, 0, 255), (255, 255, 255)


@pytest.fixture
def media(tmp_path: Path) -> MediaFolder:
    return MediaFolder(tmp_path / "media")


def pixels(media: MediaFolder, image: Media) -> npt.NDArray[np.uint8]:
    return np.asarray(media.open(image).convert("RGB"))


def box_of_colour(page: npt.NDArray[np.uint8], rgb: tuple[int, int, int]) -> tuple[int, int, int, int]:
    """x1, y1, x2, y2 around every pixel of that colour; all pixels inside must have it."""
    ys, xs = np.nonzero((page == rgb).all(axis=2))
    x1, y1, x2, y2 = xs.min(), ys.min(), xs.max() + 1, ys.max() + 1
    assert len(xs) == (x2 - x1) * (y2 - y1), "a whole rectangle"
    return int(x1), int(y1), int(x2), int(y2)


def test_images_are_in_reading_order_eight_pixels_apart(media: MediaFolder) -> None:
    images = tuple(patch(media, rgb, size) for rgb, size in ((RED, (40, 30)), (GREEN, (20, 30)), (BLUE, (40, 10))))
    montage = lay_out(Montage(images, 2), media)
    page = pixels(media, montage)
    assert (montage.width, montage.height) == (2 * 48 + 8, 2 * 38 + 8)
    assert page.shape == (montage.height, montage.width, 3)
    assert box_of_colour(page, RED) == (8, 8, 48, 38)
    assert box_of_colour(page, GREEN) == (56, 8, 76, 38), "in its own size"
    assert box_of_colour(page, BLUE) == (8, 46, 48, 56)
    assert (page == WHITE).all(axis=2).sum() == page.shape[0] * page.shape[1] - 40 * 30 - 20 * 30 - 40 * 10


def test_labels_are_above_images_and_the_title_on_top(media: MediaFolder) -> None:
    images = (patch(media, RED, (40, 30)), patch(media, GREEN, (40, 30)))
    page = pixels(media, lay_out(Montage(images, 1, ("A", "B"), "A title"), media))
    assert box_of_colour(page, RED) == (8, 28 + 8 + 28, 48, 28 + 8 + 28 + 30)
    assert box_of_colour(page, GREEN) == (8, 130, 48, 160)
    ink = page.max(axis=2) < 100
    for top, bottom in ((0, 28), (36, 64), (102, 130)):
        assert ink[top:bottom].any()
    assert not ink[64:94].any()


def test_cells_shrink_images_and_never_enlarge_them(media: MediaFolder) -> None:
    images = (patch(media, RED, (200, 100)), patch(media, GREEN, (30, 20)))
    page = pixels(media, lay_out(Montage(images, 2, cell_px=(60, 60)), media))
    assert box_of_colour(page, RED) == (8, 8, 68, 38)
    assert box_of_colour(page, GREEN) == (76, 8, 106, 28)


def test_a_montage_is_made_once_and_depends_on_all_its_content(
    media: MediaFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    montages: list[Montage] = []
    real = module._draw

    def counted(montage: Montage, images: list[Image.Image]) -> Image.Image:
        montages.append(montage)
        return real(montage, images)

    monkeypatch.setattr(module, "_draw", counted)
    red, green = patch(media, RED), patch(media, GREEN)
    kinds = [
        Montage((red, green), 2), Montage((green, red), 2), Montage((red, green), 1),
        Montage((red, green), 2, ("A", "B")), Montage((red, green), 2, title="T"),
        Montage((red, green), 2, cell_px=(4, 4)),
    ]  # fmt: skip
    first = [lay_out(kind, media) for kind in kinds]
    assert [lay_out(kind, MediaFolder(media.root)) for kind in kinds] == first
    assert montages == kinds
    assert len({media_file.sha256 for media_file in first}) == len(kinds)


def test_a_montage_is_one_image_and_is_not_sent_to_readers_of_views(tmp_path: Path) -> None:
    built = colour_set(tmp_path / "set")
    suite = suite_of(method=lambda c: OneByOne(lambda view: (Montage((*view.query, *view.query), 2), "colour?")))
    prompts: dict[str, list[Prompt]] = {"parts": [], "views": []}

    class Recorder(Base):
        async def answer(self, prompt: Prompt, media: MediaFolder, rng: np.random.Generator) -> Reply:
            prompts[self.card.reads].append(prompt)
            return Reply("red")

    views = Recorder(SubjectCard("own:views", reads="views"))
    ask(tmp_path / "views", Plan(built, suite, [arm(views, suite)]))
    assert all(isinstance(prompt.parts[0], Montage) for prompt in prompts["views"])
    assert not (tmp_path / "views" / "media").exists()
    parts = Recorder(SubjectCard("own:parts", max_images=1))
    ask(tmp_path / "parts", Plan(built, suite, [arm(parts, suite)]))
    laid = [prompt.parts[0] for prompt in prompts["parts"]]
    assert all(isinstance(part, Media) and (part.width, part.height) == (40, 22) for part in laid)
    assert len(list((tmp_path / "parts" / "media").rglob("*.png"))) == 4
