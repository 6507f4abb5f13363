"""The 24 natural categories are complete, can be drawn, and have enough distinct distractors."""

from __future__ import annotations

from collections import Counter
from itertools import permutations

import numpy as np
import pytest

from snellen.core.seeds import stream
from snellen.stimuli.scenes import joints, truth
from snellen.stimuli.scenes.raster import project
from snellen.stimuli.scenes.shapes import place_mesh, unit_mesh
from snellen.suites.combo.generated.objects import natural_spec
from snellen.suites.combo.questions.alignment import (
    DISTRACTORS,
    NaturalCategory,
    joint_of,
    label_distractors,
    natural_categories,
    option_sets,
    similar,
)

CATEGORIES = natural_categories().categories
NAMES = [category.name for category in CATEGORIES]
COCO_80 = {
    "airplane", "apple", "backpack", "banana", "baseball bat", "baseball glove", "bear", "bed", "bench", "bicycle",
    "bird", "boat", "book", "bottle", "bowl", "broccoli", "bus", "cake", "car", "carrot", "cat", "cell phone",
    "chair", "clock", "couch", "cow", "cup", "dining table", "dog", "donut", "elephant", "fire hydrant", "fork",
    "frisbee", "giraffe", "hair drier", "handbag", "horse", "hot dog", "keyboard", "kite", "knife", "laptop",
    "microwave", "motorcycle", "mouse", "orange", "oven", "parking meter", "person", "pizza", "potted plant",
    "refrigerator", "remote", "sandwich", "scissors", "sheep", "sink", "skateboard", "skis", "snowboard", "spoon",
    "sports ball", "stop sign", "suitcase", "surfboard", "teddy bear", "tennis racket", "tie", "toaster", "toilet",
    "toothbrush", "traffic light", "train", "truck", "tv", "umbrella", "vase", "wine glass", "zebra",
}  # fmt: skip


def test_24_names_and_21_that_only_distract() -> None:
    coco = natural_categories().coco_names
    assert len(COCO_80) == 80
    assert (len(set(NAMES)), len(set(coco))) == (24, 21)
    assert set(coco) <= COCO_80
    assert not set(coco) & set(NAMES)
    assert {other for category in CATEGORIES for other in category.too_similar} <= {*NAMES, *coco}


def test_21_other_coco_names_are_unlike_the_labels_that_they_may_appear_with() -> None:
    plausible = natural_categories().coco_plausible
    names = {entry.name for entry in plausible}
    assert len(plausible) == len(names) == 21
    assert names <= COCO_80 - {*NAMES, *natural_categories().coco_names}
    assert {other for entry in plausible for other in entry.too_similar} <= set(NAMES)
    assert similar("vase", "bottle")
    assert similar("bottle", "vase")
    assert not similar("vase", "hammer")


@pytest.mark.parametrize("category", CATEGORIES, ids=NAMES)
def test_every_category_has_a_joint_and_a_view(category: NaturalCategory) -> None:
    assert joint_of(category).sum() == 144, "one joint in all materials and colours"
    assert category.elevation_deg[0] >= 20
    shot, appearance = natural_spec(category, 0, 0)
    assert (shot, appearance) == natural_spec(category, 0, 0)
    assert shot != natural_spec(category, 1, 0)[0]
    view_truth = truth(shot.scene, shot.camera, detail=1)
    for solid in view_truth.solids:
        assert solid.amodal_box is not None
        x1, y1, x2, y2 = solid.amodal_box
        assert 0 <= x1 < x2 <= shot.camera.width_px
        assert 0 <= y1 < y2 <= shot.camera.height_px
        assert solid.visible_fraction >= 0.3


@pytest.mark.parametrize("setting", DISTRACTORS)
def test_three_unlike_distractors_are_always_found(setting: str) -> None:
    for name in NAMES:
        for seed in range(30):
            options = [name, *label_distractors(name, stream("test", name, seed), setting)]
            assert len(set(options)) == 4
            assert not any(similar(a, b) for n, a in enumerate(options) for b in options[n + 1 :])
            assert setting != "natural" or set(options) <= set(NAMES)


def test_a_set_of_labels_does_not_reveal_the_right_one() -> None:
    """P(answer x, set S) = 1/24 * w(S) / sum of the weights of sets with x: it must be equal for all four in S."""
    sets, weights = option_sets()
    totals = {name: sum(w for four, w in zip(sets, weights, strict=True) if name in four) for name in NAMES}
    assert totals == pytest.approx(dict.fromkeys(NAMES, 4 / 24), rel=1e-5)
    rights = [[w / totals[name] / 24 for name in four] for four, w in zip(sets, weights, strict=True)]
    assert sum(map(max, rights)) == pytest.approx(0.25, abs=1e-5)  # the best that any rule over labels can get
    assert float(weights.min()) > 0


def test_names_are_drawn_with_their_weights() -> None:
    """Expected count in 1,200 draws next to one name: 1,200 times the share of its sets that contain the other."""
    sets, weights = option_sets()
    rng = stream("test", "natural distractors")
    counts = Counter(other for _ in range(1200) for other in label_distractors("fish", rng, "natural"))
    fish_sets = [(four, w) for four, w in zip(sets, weights, strict=True) if "fish" in four]
    for name in set(NAMES) - {"fish"}:
        expected = 1200 * sum(w for four, w in fish_sets if name in four) / sum(w for _, w in fish_sets)
        assert abs(counts[name] - expected) <= 5 * np.sqrt(max(expected, 1)), name


def test_similar_goes_both_ways_and_covers_shared_joints() -> None:
    table = np.array([[similar(a, b) for b in NAMES] for a in NAMES])
    assert (table == table.T).all()
    assert table.diagonal().all()
    assert similar("ice cream", "cupcake")
    assert not similar("ice cream", "hammer")


def test_every_joint_exists_and_is_used_once() -> None:
    used = [(category.primary, category.anchor, category.secondary, category.pivot) for category in CATEGORIES]
    assert set(used) <= set(joints())
    assert len(set(used)) == 24


def test_every_pair_that_is_too_similar_is_listed_once() -> None:
    pairs = [frozenset((category.name, other)) for category in CATEGORIES for other in category.too_similar]
    assert all(len(pair) == 2 for pair in pairs)
    assert len(set(pairs)) == len(pairs)


@pytest.mark.parametrize("name", NAMES)
def test_no_order_of_the_categories_leaves_fewer_than_three_distractors(name: str) -> None:
    """Names are drawn one after another, so any two first names must leave a third."""
    unlike = [other for other in NAMES if other != name and not similar(name, other)]
    for first, second in permutations(unlike, 2):
        if not similar(first, second):
            others = set(unlike) - {first, second}
            assert any(not similar(third, first) and not similar(third, second) for third in others), (first, second)


@pytest.mark.parametrize("category", CATEGORIES, ids=NAMES)
def test_the_camera_is_within_the_range_and_sees_the_whole_object(category: NaturalCategory) -> None:
    for number in range(10):
        shot, _ = natural_spec(category, number, seed=1, size_px=(240, 180))
        x, y, z = np.subtract(shot.camera.position_m, shot.camera.target_m)
        low, high = category.azimuth_deg
        assert (np.degrees(np.arctan2(y, x)) - low) % 360 <= high - low + 1e-6
        low, high = category.elevation_deg
        assert low - 1e-6 <= np.degrees(np.arctan2(z, np.hypot(x, y))) <= high + 1e-6
        meshes = [place_mesh(unit_mesh(solid.shape, 1), solid.pose) for solid in shot.scene.solids]
        pixels, depth = project(shot.camera, np.concatenate([mesh.vertices for mesh in meshes]))
        assert depth.min() > 0
        assert (pixels.min(axis=0) > 0).all()
        assert (pixels.max(axis=0) < (240, 180)).all()
