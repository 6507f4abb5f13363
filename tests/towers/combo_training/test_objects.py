"""Training objects are never test objects, unless a leak is requested, which is then counted."""

from __future__ import annotations

from dataclasses import replace

import pytest

from snellen.core.errors import SnellenError
from snellen.core.storage.itemset import ItemSet
from snellen.stimuli.scenes import all_composites
from snellen.suites.combo.generated.objects import VIEWS
from snellen.towers.combo_training.objects import (
    auxiliary_classes,
    classes_of,
    draw_images,
    draw_objects,
    exclusion_of,
    rendering_of,
    views_of,
)


def test_every_object_of_a_test_item_is_tested(toy: ItemSet) -> None:
    """Recounted from the appearances, independently of the index."""
    exclusion = exclusion_of(toy)
    appearances = [
        item.latent["shows"][image.sha256] for item in toy.items if item.split == "test" for image in item.media()
    ]
    blocks = [all_composites()[index].dimensions() for index in exclusion.objects]
    assert all(appearance in blocks for appearance in appearances)
    assert all(block in appearances for block in blocks)
    supports = {image.sha256 for item in toy.items for demo in item.support for image in demo.media}
    assert supports
    assert supports <= exclusion.images


def test_objects_of_training_items_may_be_learned(toy: ItemSet) -> None:
    exclusion = exclusion_of(toy)
    trained = {image.sha256 for item in toy.items if item.split == "train" for image in item.query}
    assert trained - exclusion.images


@pytest.mark.parametrize("count", [1, 500])
def test_objects_are_drawn_outside_the_tested_ones(toy: ItemSet, count: int) -> None:
    exclusion = exclusion_of(toy)
    objects = draw_objects(count, exclusion, 0)
    assert len(set(objects)) == count
    assert not set(objects) & exclusion.objects
    assert draw_objects(count, exclusion, 0) == objects != draw_objects(count, exclusion, 1)


def test_all_other_objects_can_be_learned_and_no_more(toy: ItemSet) -> None:
    exclusion = exclusion_of(toy)
    others = len(all_composites()) - len(exclusion.objects)
    assert set(draw_objects(others, exclusion, 0)) | exclusion.objects == set(range(len(all_composites())))
    with pytest.raises(SnellenError, match=f"{others} are available"):
        draw_objects(others + 1, exclusion, 0)
    assert len(draw_objects(9504, exclusion, 0, leak=True)) == 9504


def test_a_leak_begins_with_tested_objects(toy: ItemSet) -> None:
    exclusion = exclusion_of(toy)
    count = len(exclusion.objects) + 7
    objects = draw_objects(count, exclusion, 0, leak=True)
    assert set(objects[: len(exclusion.objects)]) == exclusion.objects
    assert len(set(objects)) == count


def test_views_differ_and_begin_with_those_of_the_set() -> None:
    views = views_of(17, VIEWS, 3)
    assert sorted(views) == list(range(VIEWS))
    assert views_of(17, 2, 3) == views[:2]


def test_a_planted_object_is_refused(toy: ItemSet) -> None:
    exclusion, rendering = exclusion_of(toy), rendering_of(toy)
    planted = min(exclusion.objects)
    objects = [*draw_objects(3, exclusion, 0), planted]
    # A view with another seed: the image is new, its object is not.
    images = draw_images([(index, 0) for index in objects], 99, rendering)
    with pytest.raises(SnellenError, match=r"^1 objects and 0 images of the training data are tested"):
        classes_of(images, exclusion, toy, rendering, leak=False, seed=99)
    classes_of(images[:3], exclusion, toy, rendering, leak=False, seed=99)


def test_a_planted_image_is_refused(toy: ItemSet) -> None:
    """Even if it is labelled as another object."""
    exclusion, rendering = exclusion_of(toy), rendering_of(toy)
    (other,) = draw_images([(draw_objects(1, exclusion, 0)[0], 0)], 0, rendering)
    item = next(item for item in toy.items if item.split == "test")
    planted = replace(other, path=toy.media.find(item.query[0]))
    with pytest.raises(SnellenError, match=r"^0 objects and 1 images of the training data are tested"):
        classes_of([other, planted], exclusion, toy, rendering, leak=False, seed=0)


def test_a_leak_is_labelled_and_counted(toy: ItemSet) -> None:
    """The set shows the first object of a leak from the same view as the training image."""
    clean, leaky = (auxiliary_classes(toy, 3, 2, leak=leak) for leak in (False, True))
    assert clean.source["shared"] == {"objects": 0, "images": 0}
    assert leaky.source["shared"]["objects"] == 3
    assert leaky.source["shared"]["images"] > 0
    assert (clean.leak, leaky.leak) == (False, True)
    assert "leak" not in clean.supervision
    assert leaky.supervision == "classification of 3 composite objects (leak: 3 of them tested)"
    assert [image.label for image in clean.images] == [0, 0, 1, 1, 2, 2]
    assert len({image.path for image in clean.images}) == 6


def test_more_views_than_exist_are_refused(toy: ItemSet) -> None:
    with pytest.raises(SnellenError, match="choose 1 to 20"):
        auxiliary_classes(toy, 3, 21)


def test_only_sets_with_known_content_are_accepted(toy: ItemSet) -> None:
    silent = replace(toy, items=tuple(replace(item, latent={}) for item in toy.items))
    with pytest.raises(SnellenError, match="does not state what its images show"):
        exclusion_of(silent)
    other = replace(toy, card=toy.card.model_copy(update={"suite": "ava-bench"}))
    with pytest.raises(SnellenError, match="an item set of ava-bench"):
        exclusion_of(other)
    with pytest.raises(SnellenError, match="only a generated set records its rendering"):
        rendering_of(replace(toy, card=toy.card.model_copy(update={"source": "released"})))
