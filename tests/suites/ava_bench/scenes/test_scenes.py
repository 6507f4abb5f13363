"""Contents, cameras, tables, displays and close-ups, and what may be asked about them, equal the golden."""

from __future__ import annotations

from typing import Any

import numpy as np

from snellen.suites.ava_bench.abilities.counting_by_colour import coloured_groups
from snellen.suites.ava_bench.abilities.nearer_localization import tabletop_pairs
from snellen.suites.ava_bench.generated.recipe import about_displays, about_tabletops, generated_tasks
from snellen.suites.ava_bench.scenes import display_scenes, table_contents
from snellen.suites.ava_bench.scenes.display_scenes import Display
from snellen.suites.ava_bench.scenes.display_truth import display_truth
from snellen.suites.ava_bench.scenes.scenes import apart, clear, inside, levelled, towards
from snellen.suites.ava_bench.scenes.table_objects import TableObject
from snellen.suites.ava_bench.scenes.tabletop_scenes import Table, draw_table
from snellen.suites.ava_bench.scenes.tabletop_truth import tabletop_truth
from snellen.suites.ava_bench.scenes.terms import term_scenes
from snellen.suites.ava_bench.scenes.viewpoints import Viewpoint, draw_viewpoint
from snellen.suites.combo.terms import term_scenes as combo_terms
from tests.goldens.descriptions import assert_lines, short

VIEW = Viewpoint(2.5, 21.0, 16.0, 300, 160)


def test_contents_and_cameras_are_as_they_were() -> None:
    rng = np.random.default_rng(1)
    rows: list[Any] = [*table_contents.draw_contents(13, rng), *display_scenes.draw_contents(11, rng)]
    rows += [
        [table_contents.difficulty(share) for share in (0.001, 0.0023, 0.0130, 0.0131, 0.0754, 0.0755)],
        (VIEW.camera, VIEW.pixel(0.5, 1.0, 0.3), VIEW.floor_m(0.7), VIEW.floor_row(5.0), VIEW.half_width_m(4.0, 0.5)),
        (VIEW.height_at(4.0, 0.4), towards(VIEW.camera, 1, 2), draw_viewpoint((300, 160), rng)),
        *({word: short(spec) for word, spec in terms().items()} for terms in (term_scenes, combo_terms)),
    ]
    for kind in ("plank", "egg", "lampshade"):
        table_object = TableObject(kind, (0.4, 0.7), 25.0, 0.2)
        rows.append((table_object.centre(0.5), table_object.inner_box(0.5, VIEW), table_object.outer_box(0.5, VIEW)))
        rows.append((table_object.least_scale(0.02, VIEW), table_object.scale_for(0.02, VIEW)))
    boxes = (10.0, 10.0, 20.0, 30.0), (20.0, 35.0, 40.0, 50.0), (22.0, 12.0, 30.0, 20.0)
    for gap in (0.0, 2.0, 5.1):
        pairs = [(boxes[n], boxes[n - 1]) for n in range(3)]
        rows.append(([[apart(*p, gap), clear(*p, gap)] for p in pairs], inside(boxes[1], VIEW.camera, 10 * gap)))
    levels = [[{"a": n % 3, "b": (n * k) % 2} for n in range(5)] for k in (1, 1, 2, 3, 3)]
    rows.append(levelled(levels, [0, 0, 1, 2, 2], {"a": 3, "b": 2}, rng))
    assert_lines("ava-bench/contents.txt", rows)


def test_tables_and_displays_are_as_they_were(drawn_tables: list[Table], drawn_displays: list[Display]) -> None:
    rows: list[Any] = [(generated_tasks(), list(about_tabletops()), list(about_displays()))]
    for table in drawn_tables:
        truth = tabletop_truth(table, lambda: np.zeros((180, 240, 3), np.uint8))
        some = truth.solids, truth.of_each_kind, truth.placed_in_depth, truth.larger_than(0.05)
        rows.append((short(table.shot), [[solid.number for solid in solids] for solids in some]))
        rows.append({name: questions.capacity(truth) for name, questions in about_tabletops().items()})
        pairs = [(near.number, far.number, levels) for (near, far), levels in tabletop_pairs(truth)]
        rows.append((coloured_groups(table), short(pairs), [table.least_px(kind) for kind in table.counted]))
    for display in drawn_displays:
        truth_of_display = display_truth(display, {})
        rows.append((short(display.shot), [short(shot) for shot in display.close_ups], truth_of_display.plates))
        rows.append([truth_of_display.toy_px(toy) for toy in display_scenes.TOYS])
        rows.append(
            [
                (
                    truth_of_display.letters_px(n),
                    truth_of_display.stripe_px(n),
                    truth_of_display.tower_px(n),
                    truth_of_display.tower_px(n, 1),
                )
                for n in range(3)
            ]
        )
    assert_lines("ava-bench/scenes.txt", rows)


def test_scenes_of_wide_images_are_as_they_were() -> None:
    content = display_scenes.draw_contents(1, np.random.default_rng(5))[0]
    display = display_scenes.draw_display(content, 4, 9, "train", (320, 150))
    few = table_contents.draw_contents(3, np.random.default_rng(6))[2]
    table = draw_table(few, 2, 9, "test", (320, 200))
    rows = [display.shot.camera, short(display), display.close_ups[1].camera, table.shot.camera, short(table)]
    assert_lines("ava-bench/wide.txt", rows)
