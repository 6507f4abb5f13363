"""ComBo's auxiliary task (appendix E): an encoder learns for one epoch to classify objects from several views each.

It then answers Category Building by clustering and retrieval, like any encoder. The paper has 9,504 classes, and so
trains on the objects that it tests; here training uses other objects, unless `leak` is set.
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
    images: Sequence[ObjectImage],
    exclusion: Exclusion,
    items: ItemSet,
    rendering: Rendering,
    *,
    leak: bool,
    seed: int,
) -> Classes:
    """Images with class labels, in order of first appearance. Raises SnellenError for an overlap without `leak`."""
    from snellen.subjects.encoders.classification import Classes, LabelledImage

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
