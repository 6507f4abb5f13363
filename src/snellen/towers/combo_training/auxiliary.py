"""ComBo's auxiliary task (appendix E): an encoder learns for one epoch to tell objects apart, from several views each.

Then it answers Category Building by clustering and retrieval, as any encoder does. The paper has 9,504 classes, and so
learns from the objects that it tests; here it learns from others, unless the leak is wanted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from snellen.core.errors import SnellenError
from snellen.core.storage.itemset import ItemSet
from snellen.suites.combo.generated.objects import VIEWS
from snellen.towers.combo_training.objects import (
    Exclusion,
    ObjectImage,
    Rendering,
    draw_images,
    draw_objects,
    exclusion_of,
    overlap,
    refuse_overlap,
    rendering_of,
    views_of,
)

if TYPE_CHECKING:
    from snellen.subjects.encoders.classification import Classes


def auxiliary_classes(
    items: ItemSet, objects: int, views: int, *, seed: int = 0, leak: bool = False, workers: int = 1
) -> Classes:
    """A class an object, an image a view, drawn like the set's; without `leak` of objects that it does not test.

    With `leak` the tested objects come first, in the very images that are tested where views are drawn as the set's:
    its seed is taken in place of `seed`. Raises SnellenError for more objects or views than there are.
    """
    exclusion, rendering = exclusion_of(items), rendering_of(items, workers)
    if leak:
        seed = int(items.card.recipe["seed"])
    if not 0 < views <= VIEWS:
        raise SnellenError(f"--views {views}: an object has 1 to {VIEWS}")
    indices = draw_objects(objects, exclusion, seed, leak=leak)
    images = draw_images([(k, view) for k in indices for view in views_of(k, views, seed)], seed, rendering)
    return classes_of(images, exclusion, items, rendering, leak=leak, seed=seed)


def classes_of(
    images: Sequence[ObjectImage],
    exclusion: Exclusion,
    items: ItemSet,
    rendering: Rendering,
    *,
    leak: bool,
    seed: int,
) -> Classes:
    """Images as classes, in the order their objects come. Raises SnellenError where they overlap without `leak`."""
    from snellen.subjects.encoders.classification import Classes, LabelledImage

    if not leak:
        refuse_overlap(images, exclusion)
    labels = {index: n for n, index in enumerate(dict.fromkeys(image.index for image in images))}
    shared = overlap(images, exclusion)
    what = f"classification of {len(labels)} composite objects"
    return Classes(
        [LabelledImage(image.path, labels[image.index]) for image in images],
        f"{what} (leak: {shared.objects} of them tested)" if leak else what,
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
