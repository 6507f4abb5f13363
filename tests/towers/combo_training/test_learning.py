"""An encoder trained on the auxiliary task distinguishes unseen objects better than before."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from snellen.core.storage.itemset import ItemSet
from snellen.subjects.encoders import load_encoder
from snellen.towers.combo_training.objects import (
    ObjectImage,
    auxiliary_classes,
    draw_images,
    draw_objects,
    exclusion_of,
    rendering_of,
    views_of,
)
from tests.helpers.extras import lazy_module, need

need("torch", "models")
classification = lazy_module("snellen.towers.classification")


OBJECTS, VIEWS = 100, 20
NEW_OBJECTS, NEW_VIEWS = 100, 5


def unit(rows: np.ndarray) -> np.ndarray:
    return np.asarray(rows / np.linalg.norm(rows, axis=-1, keepdims=True))


def retrieved(folder: Path, images: list[ObjectImage]) -> np.ndarray:
    """For every object the share of its views whose nearest prototype (the mean of the other views) is its own."""
    encoder = load_encoder(f"hf/{folder}")
    rows = np.concatenate([encoder.features([Image.open(image.path)]) for image in images])
    features = unit(rows).reshape(NEW_OBJECTS, NEW_VIEWS, -1)
    hits = []
    for view in range(NEW_VIEWS):
        prototypes = unit(np.delete(features, view, axis=1).mean(axis=1))
        hits.append(np.argmax(features[:, view] @ prototypes.T, axis=1) == np.arange(NEW_OBJECTS))
    return np.asarray(np.mean(hits, axis=0))


@pytest.mark.slow
def test_training_to_distinguish_objects_helps_with_other_objects(toy: ItemSet, tmp_path: Path) -> None:
    """Chance is one in a hundred; the interval of the gain is over objects, since their views are not independent."""
    classes = auxiliary_classes(toy, OBJECTS, VIEWS, workers=2)
    settings = classification.ClassifierSettings(batch=16, rate=1e-3)
    for name, epochs in (("before", 0), ("after", 1)):
        classification.train_classifier("tiny/resnet-50", classes, replace(settings, epochs=epochs), tmp_path / name)
    indices = draw_objects(OBJECTS + NEW_OBJECTS, exclusion_of(toy), 0)[OBJECTS:]
    views = [(index, view) for index in indices for view in views_of(index, NEW_VIEWS, 0)]
    images = draw_images(views, 0, rendering_of(toy, 2))
    assert not {image.path for image in images} & {image.path for image in classes.images}
    before, after = (retrieved(tmp_path / name, images) for name in ("before", "after"))
    gain = after - before
    low = gain.mean() - 1.96 * gain.std(ddof=1) / np.sqrt(NEW_OBJECTS)
    print(f"before {before.mean():.3f}, after {after.mean():.3f}, gain {gain.mean():.3f}, from {low:.3f}")
    assert before.mean() > 0.05
    assert low > 0
