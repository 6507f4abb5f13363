"""The objects that a specialized model is trained on, and their images, disjoint from the tested ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

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

if TYPE_CHECKING:
    from snellen.towers.classification import Classes

OBJECTS_A_BATCH = 64


@dataclass(frozen=True)
class ObjectImage:
    """An image file of object 0..9503 in view 0..19."""

    index: int
    view: int
    path: Path


@dataclass(frozen=True)
class Exclusion:
    """Objects (by index) and images (by SHA-256) that test items of a set show, not to be trained on."""

    objects: frozenset[int]
    images: frozenset[str]


def exclusion_of(items: ItemSet) -> Exclusion:
    """Objects and images of all test items, including their solved examples and options.

    Raises SnellenError for another suite's set, and if an item does not state the objects of its images.
    """
    if items.card.suite != SUITE:
        raise SnellenError(f"{items.root}: an item set of {items.card.suite}, not of {SUITE}")
    objects, images = set[int](), set[str]()
    for item in items.items:
        if item.split != "test":
            continue
        appearances = item.latent.get("shows", {})
        for image in item.media():
            if image.sha256 not in appearances:
                raise SnellenError(
                    f"{items.root}: {item.item_id} does not state what its images show; build the set again"
                )
            objects.add(_indices()[tuple(sorted(appearances[image.sha256].items()))])
            images.add(image.sha256)
    return Exclusion(frozenset(objects), frozenset(images))


@cache
def _indices() -> dict[tuple[tuple[str, str], ...], int]:
    return {tuple(sorted(block.dimensions().items())): n for n, block in enumerate(all_composites())}


def draw_objects(count: int, exclusion: Exclusion, seed: int, *, leak: bool = False) -> list[int]:
    """Untested objects in random order; with `leak`, tested ones first. Raises SnellenError if there are too few."""
    order = [int(k) for k in stream(SUITE, STREAMS, seed, "references", "objects").permutation(len(all_composites()))]
    others = [index for index in order if index not in exclusion.objects]
    eligible = [index for index in order if index in exclusion.objects] + others if leak else others
    if not 0 < count <= len(eligible):
        raise SnellenError(f"--objects {count}: {len(eligible)} are available; choose 1 to {len(eligible)}")
    return eligible[:count]


def views_of(index: int, count: int, seed: int) -> list[int]:
    """Views of an object, starting with the one that item sets of this seed show."""
    first = view_of(index, seed)
    return [(first + k) % VIEWS for k in range(count)]


@dataclass(frozen=True)
class Rendering:
    """Settings for rendering images like those of the item set."""

    settings: RenderSettings
    size_px: tuple[int, int]
    workers: int = 1

    def about(self) -> dict[str, Any]:
        """Renderer with its versions, and the size, for cards."""
        return {**renderer_info(self.settings), "size_px": list(self.size_px)}


def rendering_of(items: ItemSet, workers: int = 1) -> Rendering:
    """Renderer, quality and size of a generated set. Raises SnellenError for a set that was not generated."""
    recipe = items.card.recipe
    if items.card.source != "generated" or "renderer" not in recipe:
        raise SnellenError(f"{items.root}: made by {items.card.source}; only a generated set records its rendering")
    quality = {"quality": recipe["quality"]} if "quality" in recipe else {}
    width, height = recipe["size_px"]
    return Rendering(RenderSettings(renderer=recipe["renderer"], **quality), (width, height), workers)


def draw_images(views: Sequence[tuple[int, int]], seed: int, rendering: Rendering) -> list[ObjectImage]:
    """Images of (object, view), rendered into the home folder if missing, in batches of objects."""
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
    """Numbers of objects and images that are both trained on and tested."""

    objects: int
    images: int


def overlap(images: Iterable[ObjectImage], exclusion: Exclusion) -> Overlap:
    """The overlap of training images with a set: objects by index, images by their bytes."""
    images = list(images)
    objects = {image.index for image in images} & exclusion.objects
    return Overlap(len(objects), len({sha256(image.path.read_bytes()) for image in images} & exclusion.images))


def refuse_overlap(images: Iterable[ObjectImage], exclusion: Exclusion) -> None:
    """Raise SnellenError if any training image or object is tested."""
    shared = overlap(images, exclusion)
    if shared.objects or shared.images:
        raise SnellenError(
            f"{shared.objects} objects and {shared.images} images of the training data are tested by the set; "
            f"train on others, or give --leak, which the card will record"
        )


# ComBo's auxiliary task (appendix E): an encoder learns for one epoch to classify objects from several views each, and
# then answers Category Building by clustering and retrieval, like any encoder. The paper has 9,504 classes, and so
# trains on the objects that it tests; here training uses other objects, unless `leak` is set


def auxiliary_classes(
    items: ItemSet, objects: int, views: int, *, seed: int = 0, leak: bool = False, workers: int = 1
) -> Classes:
    """One class per object and one image per view, rendered like the set's, of objects that the set does not test.

    With `leak`, the tested objects come first, and the set's seed replaces `seed`, so that tested images recur exactly.
    Raises SnellenError for more objects or views than exist.
    """
    exclusion, rendering = exclusion_of(items), rendering_of(items, workers)
    if leak and "seed" not in items.card.recipe:
        raise SnellenError(
            f"{items.root}: has no seed on its card, since it is sealed; leave --leak out, or build another"
        )
    if leak:
        seed = int(items.card.recipe["seed"])
    if not 0 < views <= VIEWS:
        raise SnellenError(f"--views {views}: choose 1 to {VIEWS}")
    indices = draw_objects(objects, exclusion, seed, leak=leak)
    images = draw_images([(k, view) for k in indices for view in views_of(k, views, seed)], seed, rendering)
    return classes_of(images, exclusion, items, rendering, leak=leak, seed=seed)


def classes_of(
    images: Sequence[ObjectImage], exclusion: Exclusion, items: ItemSet, rendering: Rendering, *, leak: bool, seed: int
) -> Classes:
    """Images with class labels, in order of first appearance. Raises SnellenError for an overlap without `leak`."""
    from snellen.towers.classification import Classes, LabelledImage

    if not leak:
        refuse_overlap(images, exclusion)
    labels = {index: n for n, index in enumerate(dict.fromkeys(image.index for image in images))}
    shared = overlap(images, exclusion)
    title = f"classification of {len(labels)} composite objects"
    return Classes(
        [LabelledImage(image.path, labels[image.index]) for image in images],
        f"{title} (leak: {shared.objects} of them tested)" if leak else title,
        {
            "suite": items.card.suite,
            "items": items.card.recipe_hash,
            "objects": len(labels),
            "views": len(images) // len(labels),
            "seed": seed,
            "shared": asdict(shared),
            **rendering.about(),
        },
        leak,
    )
