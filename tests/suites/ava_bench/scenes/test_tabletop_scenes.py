"""The early tests of a draw are cheap, and never end one that the whole test would accept."""

import numpy as np
import pytest

from snellen.suites.ava_bench.scenes import tabletop_scenes
from snellen.suites.ava_bench.scenes.materials import TABLE_MATERIALS
from snellen.suites.ava_bench.scenes.scenes import seen_box, share_of
from snellen.suites.ava_bench.scenes.table_contents import KINDS
from snellen.suites.ava_bench.scenes.viewpoints import AHEAD_M, draw_viewpoint

SIZE_PX = 320, 240


@pytest.mark.parametrize("kind", KINDS)
def test_a_thing_of_the_least_scale_is_inside_larger_ones_and_too_small(kind: str) -> None:
    rng = np.random.default_rng(len(kind))
    for _ in range(40):
        viewpoint = draw_viewpoint(SIZE_PX, rng)
        ahead, height, turn = float(rng.uniform(2.5, 9)), float(rng.choice([0.0, 0.4])), float(rng.uniform(-40, 40))
        half_width, share = viewpoint.half_width_m(ahead, height), float(rng.uniform(0.002, 0.05))
        position = float(rng.uniform(-half_width, half_width)), ahead - AHEAD_M
        least = tabletop_scenes._least_scale(kind, share, position, height, turn, viewpoint)
        (x1, y1, x2, y2), smaller = (
            seen_box(
                tabletop_scenes.standing("0", kind, TABLE_MATERIALS[0], position, turn, scale, height), viewpoint.camera
            )
            for scale in (1.2 * least, least)
        )
        assert 0.3 * share < share_of(smaller, viewpoint.camera) < share
        assert x1 < smaller[0]
        assert y1 < smaller[1]
        assert smaller[2] < x2
        assert y2 > smaller[3] - 1e-6, "the foot stays"


@pytest.mark.slow
def test_early_tests_end_no_draw_that_fits() -> None:
    rng, accepted, refused = np.random.default_rng(0), 0, 0
    boxes = [(100.0, 60.0, 130.0, 90.0), (200.0, 150.0, 240.0, 190.0), (20.0, 160.0, 60.0, 200.0)]
    for _ in range(3000):
        viewpoint, kind = draw_viewpoint(SIZE_PX, rng), list(KINDS)[int(rng.integers(len(KINDS)))]
        ahead, turn, share = float(rng.uniform(2.5, 9)), float(rng.uniform(-40, 40)), float(rng.uniform(0.004, 0.03))
        half_width = viewpoint.half_width_m(ahead)
        position = float(rng.uniform(-half_width, half_width)), ahead - AHEAD_M
        scale = tabletop_scenes._scale_for(kind, 1.1 * share, position, 0.0, turn, viewpoint)
        solid = tabletop_scenes.standing("0", kind, TABLE_MATERIALS[0], position, turn, scale)
        box = seen_box(solid, viewpoint.camera)
        fits = share_of(box, viewpoint.camera) >= share and tabletop_scenes._fits(box, boxes, viewpoint)
        least = tabletop_scenes._least_scale(kind, share, position, 0.0, turn, viewpoint)
        may_fit = tabletop_scenes._may_fit(kind, position, 0.0, turn, least, boxes, viewpoint)
        assert may_fit or not fits
        accepted, refused = accepted + fits, refused + (not may_fit)
    assert min(accepted, refused) > 300, "both occur"
