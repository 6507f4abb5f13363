"""Scales at which a thing on a table has a size in the image."""

import numpy as np
import pytest

from snellen.suites.ava_bench.scenes.materials import TABLE_MATERIALS
from snellen.suites.ava_bench.scenes.scenes import seen_box, share_of
from snellen.suites.ava_bench.scenes.table_contents import KINDS
from snellen.suites.ava_bench.scenes.table_objects import TableObject
from snellen.suites.ava_bench.scenes.viewpoints import AHEAD_M, draw_viewpoint

SIZE_PX = 320, 240


@pytest.mark.parametrize("kind", KINDS)
def test_a_thing_of_the_least_scale_is_inside_larger_ones_and_too_small(kind: str) -> None:
    rng = np.random.default_rng(len(kind))
    for _ in range(40):
        viewpoint = draw_viewpoint(SIZE_PX, rng)
        ahead, height, turn = float(rng.uniform(2.5, 9)), float(rng.choice([0.0, 0.4])), float(rng.uniform(-40, 40))
        half_width, share = viewpoint.half_width_m(ahead, height), float(rng.uniform(0.002, 0.05))
        table_object = TableObject(kind, (float(rng.uniform(-half_width, half_width)), ahead - AHEAD_M), turn, height)
        least = table_object.least_scale(share, viewpoint)
        (x1, y1, x2, y2), smaller = (
            seen_box(table_object.solid("0", TABLE_MATERIALS[0], scale), viewpoint.camera)
            for scale in (1.2 * least, least)
        )
        assert 0.3 * share < share_of(smaller, viewpoint.camera) < share
        assert x1 < smaller[0]
        assert y1 < smaller[1]
        assert smaller[2] < x2
        assert y2 > smaller[3] - 1e-6, "the foot stays"
