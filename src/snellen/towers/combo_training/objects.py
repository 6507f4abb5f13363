"""Which objects a specialized model learns from, their images, and that none of them is tested."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from snellen.compute import Progress
from snellen.core.errors import SnellenError
from snellen.core.hashing import sha256
from snellen.core.seeds import stream
from snellen.core.storage.home import home
from snellen.core.storage.itemset import ItemSet
from snellen.stimuli.render import RenderSettings, render_images, renderer_info
from snellen.stimuli.scenes import all_composites
from snellen.suites.combo.generated.objects import VIEWS, object_spec, view_of
from snellen.suites.combo.items import STREAMS, SUITE

OBJECTS_A_BATCH = 64


@dataclass(frozen=True)
class ObjectImage:
    """Object 0..9503 from one of its views 0..19, and the file that shows it."""

    index: int
    view: int
    path: Path


@dataclass(frozen=True)
class Exclusion:
    """What is not to be learned from, since test items of a set show it: objects by index, images by SHA-256."""

    objects: frozenset[int]
    images: frozenset[str]


def exclusion_of(items: ItemSet) -> Exclusion:
    """Objects and images of all test items, their solved examples and options included.

    Raises SnellenError for another suite's set, and where an item does not say which object an image shows.
    """
    if items.card.suite != SUITE:
        raise SnellenError(f"{items.root}: a set of {items.card.suite}; what is learned here are objects of {SUITE}")
    objects, images = set[int](), set[str]()
    for item in items.items:
        if item.split != "test":
            continue
        appearances = item.latent.get("shows", {})
        for image in item.media():
            if image.sha256 not in appearances:
                raise SnellenError(
                    f"{items.root}: {item.item_id} does not say what its images show; build the set anew"
                )
            objects.add(_indices()[tuple(sorted(appearances[image.sha256].items()))])
            images.add(image.sha256)
    return Exclusion(frozenset(objects), frozenset(images))


@cache
def _indices() -> dict[tuple[tuple[str, str], ...], int]:
    return {tuple(sorted(block.dimensions().items())): n for n, block in enumerate(all_composites())}


def draw_objects(count: int, exclusion: Exclusion, seed: int, *, leak: bool = False) -> list[int]:
    """Objects in random order, none of them tested; with `leak` those that are tested come first.

    Raises SnellenError where there are not so many.
    """
    order = [int(k) for k in stream(SUITE, STREAMS, seed, "references", "objects").permutation(len(all_composites()))]
    others = [index for index in order if index not in exclusion.objects]
    eligible = [index for index in order if index in exclusion.objects] + others if leak else others
    if not 0 < count <= len(eligible):
        raise SnellenError(f"--objects {count}: {len(eligible)} may be learned from; take 1 to {len(eligible)}")
    return eligible[:count]


def views_of(index: int, count: int, seed: int) -> list[int]:
    """Views of an object, first the one that item sets of this seed show."""
    first = view_of(index, seed)
    return [(first + k) % VIEWS for k in range(count)]


@dataclass(frozen=True)
class Rendering:
    """How images are drawn: as those of the set that is tested on."""

    settings: RenderSettings
    size_px: tuple[int, int]
    workers: int = 1

    def about(self) -> dict[str, Any]:
        """Renderer with its versions, and the size."""
        return {**renderer_info(self.settings), "size_px": list(self.size_px)}


def rendering_of(items: ItemSet, workers: int = 1) -> Rendering:
    """Renderer, quality and size of a generated set. Raises SnellenError for a set that was not rendered here."""
    recipe = items.card.recipe
    if items.card.source != "generated" or "renderer" not in recipe:
        raise SnellenError(f"{items.root}: made by {items.card.source}; only a generated set says how it is drawn")
    quality = {"quality": recipe["quality"]} if "quality" in recipe else {}
    width, height = recipe["size_px"]
    return Rendering(RenderSettings(renderer=recipe["renderer"], **quality), (width, height), workers)


def draw_images(views: Sequence[tuple[int, int]], seed: int, rendering: Rendering) -> list[ObjectImage]:
    """Images of (object, view), rendered into the home folder where it lacks them; scenes in batches of objects."""
    images = list[ObjectImage]()
    with Progress("rendering", unit="images") as progress:
        for start in range(0, len(views), OBJECTS_A_BATCH * VIEWS):
            batch = views[start : start + OBJECTS_A_BATCH * VIEWS]
            specs = [object_spec(index, view, seed, rendering.size_px) for index, view in batch]
            folder = home() / "renders"
            paths = render_images(specs, rendering.settings, folder, workers=rendering.workers, progress=progress)
            images += [ObjectImage(*key, path) for key, path in zip(batch, paths, strict=True)]
    return images


@dataclass(frozen=True)
class Overlap:
    """How many objects and images of what is learned are tested."""

    objects: int
    images: int


def overlap(images: Iterable[ObjectImage], exclusion: Exclusion) -> Overlap:
    """What is learned and tested: objects by their index, images by their bytes."""
    every = list(images)
    objects = {image.index for image in every} & exclusion.objects
    return Overlap(len(objects), len({sha256(image.path.read_bytes()) for image in every} & exclusion.images))


def refuse_overlap(images: Iterable[ObjectImage], exclusion: Exclusion) -> None:
    """Raise SnellenError where anything that is learned is tested."""
    shared = overlap(images, exclusion)
    if shared.objects or shared.images:
        raise SnellenError(
            f"{shared.objects} objects and {shared.images} images to learn from are tested by the set; "
            f"learn from others, or give --leak, which the card will say"
        )
