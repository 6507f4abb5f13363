"""Contents, cameras, tables, displays and close-ups, and what may be asked about them, equal the golden."""

from __future__ import annotations

import numpy as np

from snellen.core.hashing import sha256
from snellen.suites.ava_bench.abilities.absolute_depth import KNOWN_SIZE
from snellen.suites.ava_bench.abilities.counting_by_colour import coloured_groups
from snellen.suites.ava_bench.abilities.nearer_localization import tabletop_pairs
from snellen.suites.ava_bench.generated.recipe import about_displays, about_tabletops, generated_tasks
from snellen.suites.ava_bench.scenes import display_scenes, table_contents
from snellen.suites.ava_bench.scenes.display_scenes import Display, draw_display
from snellen.suites.ava_bench.scenes.display_truth import display_truth
from snellen.suites.ava_bench.scenes.scenes import apart, clear, inside, levelled, towards
from snellen.suites.ava_bench.scenes.table_objects import TableObject
from snellen.suites.ava_bench.scenes.tabletop_scenes import Table, draw_table
from snellen.suites.ava_bench.scenes.tabletop_truth import tabletop_truth
from snellen.suites.ava_bench.scenes.terms import term_scenes
from snellen.suites.ava_bench.scenes.viewpoints import Viewpoint, draw_viewpoint
from snellen.suites.combo.terms import term_scenes as combo_terms
from tests.goldens.golden import assert_golden
from tests.goldens.plain_text import line

VIEW = Viewpoint(2.5, 21.0, 16.0, 300, 160)


def short(value: object) -> str:
    """A digest of a value's line."""
    return sha256(line(value).encode())[:12]


def test_contents_and_cameras_are_as_they_were() -> None:
    lines = [line(content) for content in table_contents.draw_contents(13, np.random.default_rng(1))]
    lines += [line(content) for content in display_scenes.draw_contents(11, np.random.default_rng(2))]
    lines.append(line([table_contents.difficulty(share) for share in (0.001, 0.0023, 0.0130, 0.0131, 0.0754, 0.0755)]))
    lines.append(line(VIEW.camera, VIEW.pixel(0.5, 1.0, 0.3), VIEW.floor_m(0.7), VIEW.floor_row(5.0)))
    lines.append(
        line(
            VIEW.half_width_m(4.0, 0.5), VIEW.height_at(4.0, 0.4), draw_viewpoint((300, 160), np.random.default_rng(3))
        )
    )
    for kind in ("plank", "egg", "lampshade"):
        thing = TableObject(kind, (0.4, 0.7), 25.0, 0.2)
        lines.append(line(thing.centre(0.5), thing.inner_box(0.5, VIEW), thing.outer_box(0.5, VIEW)))
        lines.append(line(thing.least_scale(0.02, VIEW), thing.scale_for(0.02, VIEW)))
    boxes = (10.0, 10.0, 20.0, 30.0), (20.0, 35.0, 40.0, 50.0), (22.0, 12.0, 30.0, 20.0)
    for gap in (0.0, 2.0, 5.1):
        pairs = [(boxes[0], boxes[1]), (boxes[1], boxes[2]), (boxes[2], boxes[0])]
        lines.append(
            line(
                gap, [[apart(*pair, gap), clear(*pair, gap)] for pair in pairs], inside(boxes[1], VIEW.camera, 10 * gap)
            )
        )
    levels = [[{"a": n % 3, "b": (n * k) % 2} for n in range(5)] for k in (1, 1, 2, 3, 3)]
    lines.append(
        line(levelled(levels, [0, 0, 1, 2, 2], {"a": 3, "b": 2}, np.random.default_rng(4)), towards(VIEW.camera, 1, 2))
    )
    for terms in (term_scenes(), combo_terms()):
        lines.append(line({word: short(spec) for word, spec in terms.items()}))
    assert_golden("ava-bench/contents.txt", "\n".join(lines) + "\n")


def test_tables_and_displays_are_as_they_were(drawn_tables: list[Table], drawn_displays: list[Display]) -> None:
    lines = [KNOWN_SIZE, line(generated_tasks(), list(about_tabletops()), list(about_displays()))]
    for number, table in enumerate(drawn_tables):
        truth = tabletop_truth(table, lambda: np.zeros((180, 240, 3), np.uint8))
        lines.append(line(number, short(table.shot), [solid.number for solid in truth.solids], coloured_groups(table)))
        some = truth.of_each_kind, truth.placed_in_depth, truth.larger_than(0.05)
        lines.append(line([[solid.number for solid in solids] for solids in some]))
        lines.append(line({name: questions.capacity(truth) for name, questions in about_tabletops().items()}))
        pairs = [(near.number, far.number, levels) for (near, far), levels in tabletop_pairs(truth)]
        lines.append(line(short(pairs), [table.least_px(kind) for kind in table.counted]))
    for number, display in enumerate(drawn_displays):
        shown = display_truth(display, {})
        lines.append(line(number, short(display.shot), [short(shot) for shot in display.close_ups], shown.plates))
        lines.append(line([shown.toy_px(toy) for toy in display_scenes.TOYS], [shown.letters_px(n) for n in range(3)]))
        lines.append(line([(shown.stripe_px(n), shown.tower_px(n), shown.tower_px(n, 1)) for n in range(3)]))
    assert_golden("ava-bench/scenes.txt", "\n".join(lines) + "\n")


def test_scenes_of_wide_images_are_as_they_were() -> None:
    content = display_scenes.draw_contents(1, np.random.default_rng(5))[0]
    display = draw_display(content, 4, 9, "train", (320, 150))
    few = table_contents.draw_contents(3, np.random.default_rng(6))[2]
    table = draw_table(few, 2, 9, "test", (320, 200))
    lines = [
        line(display.shot.camera),
        short(display),
        line(display.close_ups[1].camera, display.close_ups[1].scene.floor),
    ]
    assert_golden("ava-bench/wide.txt", "\n".join([*lines, line(table.shot.camera, few), short(table)]) + "\n")
