"""The early tests of a draw are cheap, and never end one that the whole test would accept."""

import numpy as np
import pytest

from snellen.suites.ava_bench.scenes import tabletop_scenes
from snellen.suites.ava_bench.scenes.materials import TABLE_MATERIALS
from snellen.suites.ava_bench.scenes.scenes import seen_box, share_of
from snellen.suites.ava_bench.scenes.table_contents import KINDS
from snellen.suites.ava_bench.scenes.table_objects import TableObject
from snellen.suites.ava_bench.scenes.viewpoints import AHEAD_M, draw_viewpoint

SIZE_PX = 320, 240


@pytest.mark.slow
def test_early_tests_end_no_draw_that_fits() -> None:
    rng, accepted, refused = np.random.default_rng(0), 0, 0
    boxes = [(100.0, 60.0, 130.0, 90.0), (200.0, 150.0, 240.0, 190.0), (20.0, 160.0, 60.0, 200.0)]
    for _ in range(3000):
        viewpoint, kind = draw_viewpoint(SIZE_PX, rng), list(KINDS)[int(rng.integers(len(KINDS)))]
        ahead, turn, share = float(rng.uniform(2.5, 9)), float(rng.uniform(-40, 40)), float(rng.uniform(0.004, 0.03))
        half_width = viewpoint.half_width_m(ahead)
        table_object = TableObject(kind, (float(rng.uniform(-half_width, half_width)), ahead - AHEAD_M), turn)
        solid = table_object.solid("0", TABLE_MATERIALS[0], table_object.scale_for(1.1 * share, viewpoint))
        box = seen_box(solid, viewpoint.camera)
        fits = share_of(box, viewpoint.camera) >= share and tabletop_scenes._fits(box, boxes, viewpoint)
        may_fit = tabletop_scenes._may_fit(table_object, table_object.least_scale(share, viewpoint), boxes, viewpoint)
        assert may_fit or not fits
        accepted, refused = accepted + fits, refused + (not may_fit)
    assert min(accepted, refused) > 300, "both occur"
