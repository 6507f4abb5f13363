"""Generated images: balance, truth against separate geometry, splits, and the scores of ideal observers."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from itertools import combinations, pairwise
from pathlib import Path

import numpy as np
import pytest

from snellen.core.build_options import BuildOptions
from snellen.core.errors import SnellenError
from snellen.core.item import Item
from snellen.core.storage.itemset import ItemSet
from snellen.core.storage.media import MediaFolder
from snellen.stimuli.render.toy import toy_image
from snellen.stimuli.scenes import COLOURS, RenderSpec, is_within_floor, truth
from snellen.stimuli.scenes.raster import project
from snellen.stimuli.scenes.shapes import place_points, unit_mesh
from snellen.suites.ava_bench.abilities import ABILITIES
from snellen.suites.ava_bench.abilities.colour import uncovered
from snellen.suites.ava_bench.abilities.counting import COUNT_RANGES
from snellen.suites.ava_bench.abilities.spatial import POSITIONS
from snellen.suites.ava_bench.generated import recipe
from snellen.suites.ava_bench.generated.recipe import Design, generated_tasks
from snellen.suites.ava_bench.items import DIFFICULTIES, ORIENTATIONS, box_area, depth_bin
from snellen.suites.ava_bench.scenes import display_scenes, pseudo_words, table_contents, tabletop_truth
from snellen.suites.ava_bench.scenes.close_ups import LEAST_TOWER_PX, SPECIES, TEXTURES, TOWERS
from snellen.suites.ava_bench.scenes.display_scenes import HEADINGS, LETTERS_M, TOYS
from snellen.suites.ava_bench.scenes.display_truth import DisplayTruth
from snellen.suites.ava_bench.scenes.scenes import SLOTS, apart, dealt, levelled, seen_box
from snellen.suites.ava_bench.scenes.tabletop_scenes import Table, draw_table
from snellen.suites.ava_bench.transforms import line_px

NOWHERE = Path("unused")
N = 12
QUICK = BuildOptions(NOWHERE, n=N, quick=True, renderer="toy", show_progress=False)


@pytest.fixture(scope="module")
def plan() -> Design:
    return recipe.make_design(QUICK)


def items_of(built: ItemSet, task: str) -> list[Item]:
    return [item for item in built.items if item.task == task]


def test_images_stay_within_their_budget() -> None:
    for n, tests, train in ((1, 1, 1), (4, 4, 2), (12, 12, 8), (36, 20, 24), (200, 67, 133)):
        plan = recipe.Generated().plan(BuildOptions(NOWHERE, n=n))
        assert plan["tables"] == plan["displays"] == tests + train
        assert plan["close_ups"] == n + 3 * train, "of test displays only those that are asked about"
        assert plan["images"] == 2 * (tests + train) + plan["close_ups"]
        assert set(plan["items"].values()) == {n}
        assert set(plan["train_items"].values()) == {SLOTS * train}
    checkup = recipe.make_design(BuildOptions(NOWHERE))
    assert checkup.tables["test"] == checkup.displays["test"] == 20, "twenty clusters per task"
    quick = recipe.make_design(BuildOptions(NOWHERE, n=12, quick=True))
    assert quick.tables == {"test": 4, "train": 8}
    assert recipe.make_design(BuildOptions(NOWHERE, n=9, tasks=("ocr",))).tables == {"test": 0, "train": 0}
    assert recipe.make_design(BuildOptions(NOWHERE, n=9, tasks=("object",))).displays == {"test": 0, "train": 0}
    with pytest.raises(SnellenError, match="emotion"):
        recipe.make_design(BuildOptions(NOWHERE, tasks=("emotion",)))
    with pytest.raises(SnellenError, match="--n 0"):
        recipe.make_design(BuildOptions(NOWHERE, n=0))


def test_contents_of_tables_are_balanced() -> None:
    """On twelve tables each range is counted nine times and each range of areas asked about thrice."""
    contents = table_contents.draw_contents(12, np.random.default_rng(0))
    ranges = Counter(
        next(name for most, name in COUNT_RANGES if n <= most) for content in contents for n in content.counts
    )
    assert ranges == dict.fromkeys(table_contents.COUNTS, 9)
    steps = [step for steps in table_contents.AREAS.values() for step in steps]
    assert Counter(area for content in contents for area in content.areas[:SLOTS]) == dict.fromkeys(steps, 3)
    for slot in range(SLOTS):
        assert Counter(content.areas[slot] for content in contents) == dict.fromkeys(steps, 1)
    assert set(Counter(kind for content in contents for kind in content.counted).values()) == {3}
    assert set(Counter(kind for content in contents for kind in content.alone[:SLOTS]).values()) <= {3, 4, 5}
    assert Counter(colour for content in contents for colour in content.colours)["floor"] in (10, 11)
    assert all(len({*content.alone, *content.counted}) == 8 for content in contents)
    assert all(sum(content.counts) + table_contents.SINGLES <= table_contents.MAX_SOLIDS for content in contents)


def test_counts_are_uniform_within_their_ranges() -> None:
    contents = table_contents.draw_contents(80, np.random.default_rng(1))
    uses = Counter(count for content in contents for count in content.counts)
    for low, high in table_contents.COUNTS.values():
        assert max(uses[n] for n in range(low, high + 1)) - min(uses[n] for n in range(low, high + 1)) <= 1
    assert all(sum(n > 20 for n in content.counts) <= 1 for content in contents)


@pytest.mark.slow
def test_boxes_do_not_reveal_depths() -> None:
    """Things on posts end in the image where far things do: the nearer one of two is as often the higher one."""
    contents = table_contents.draw_contents(8, np.random.default_rng(2))
    tables = [draw_table(content, n, 2, "test", (640, 480)) for n, content in enumerate(contents)]
    lower, larger = list[bool](), list[bool]()
    for table in tables:
        tabletop = tabletop_truth.tabletop_truth(table, lambda: np.zeros((480, 640, 3), np.uint8))
        for near, far in combinations(sorted(tabletop.placed_in_depth, key=lambda solid: solid.nearest_m), 2):
            lower.append(near.box[3] > far.box[3])
            larger.append(box_area(near.box) > box_area(far.box))
    assert len(lower) >= 30
    assert 0.3 < np.mean(lower) < 0.7
    assert 0.3 < np.mean(larger) < 0.7


def test_splits_have_their_items_and_share_no_image(built: ItemSet, plan: Design) -> None:
    for task in generated_tasks():
        assert Counter(item.split for item in items_of(built, task)) == {
            "test": N,
            "train": SLOTS * plan.tables["train"],
        }
    clusters = {split: {i.cluster_id for i in built.items if i.split == split} for split in ("test", "train")}
    assert not clusters["test"] & clusters["train"]
    shas = {split: {i.query[0].sha256 for i in built.items if i.split == split} for split in ("test", "train")}
    assert not shas["test"] & shas["train"]
    images = {(i.stimulus_id, i.query[0].sha256) for i in built.items}
    assert len(images) == len({stimulus for stimulus, _ in images}), "one image per stimulus"


def test_no_question_is_asked_twice(built: ItemSet) -> None:
    counts = Counter((i.task, i.question, i.query[0].sha256, str(dict(i.regions))) for i in built.items)
    assert max(counts.values()) == 1


def test_answers_are_spread(built: ItemSet) -> None:
    def answers(task: str) -> Counter[str]:
        return Counter(str(item.answer) for item in items_of(built, task))

    def level(task: str, factor: str) -> Counter[str]:
        return Counter(item.factors[factor] for item in items_of(built, task))

    count = len(items_of(built, "spatial"))
    for task, values in (
        ("spatial", POSITIONS),
        ("orientation", HEADINGS),
        ("fine-grained", tuple(SPECIES)),
        ("texture", TEXTURES),
        ("relative-depth", ("red", "blue")),
    ):
        counts = answers(task)
        assert set(counts) == set(values)
        assert max(counts.values()) <= 1.6 * count / len(values) + 1
    assert set(level("counting", "count_range")) == {name for _, name in COUNT_RANGES}
    assert len(level("localization", "box_size")) >= 3
    assert len(answers("absolute-depth")) >= 6
    assert len(level("object", "thing")) >= 7
    assert set(level("ocr", "difficulty")) == set(DIFFICULTIES)
    assert {len(text) for text in answers("ocr")} == set(range(pseudo_words.SHORTEST, pseudo_words.LONGEST + 1))
    positions = Counter(
        index
        for item in items_of(built, "object")
        for index, option in enumerate(item.options)
        if option.key == item.answer
    )
    assert len(positions) >= 6, "the right name can be at any position"


def test_values_are_dealt_evenly() -> None:
    counts = Counter(dealt("abc", 10, np.random.default_rng(0)))
    assert sorted(counts.values()) == [3, 3, 4]


def test_choices_are_revised_until_all_are_even() -> None:
    """An early choice leaves the values that others need; two items of an image never choose the same."""
    either, only = [{"answer": "a"}, {"answer": "b"}], [{"answer": "a"}]
    for seed in range(8):
        rng = np.random.default_rng(seed)
        assert levelled([either, only], [0, 1], {"answer": 2}, rng) == [1, 0]
        assert sorted(levelled([either, either, only], [0, 0, 1], {"answer": 2}, rng)[:2]) == [0, 1]
    # A kind out of nine weighs more than an answer out of two: b is used once more, x never twice.
    choices = [[{"answer": "b", "kind": "y"}, {"answer": "a", "kind": "x"}], [{"answer": "b", "kind": "x"}]]
    assert levelled(choices, [0, 1], {"answer": 2, "kind": 9}, np.random.default_rng(0)) == [0, 0]
    with pytest.raises(ValueError, match="high <= 0"):
        levelled([only, only], [0, 0], {"answer": 2}, np.random.default_rng(0))


def test_things_on_tables_do_not_overlap(drawn_tables: list[Table]) -> None:
    for table in drawn_tables:
        assert 1 <= len(table.kinds) <= 60
        solids = {solid.name: seen_box(solid, table.shot.camera) for solid in table.shot.scene.solids}
        boxes = [box for name, box in solids.items() if not name.startswith("frame")]
        # Only a post and the thing on it touch, and bars of the frame.
        touching = [
            {first, second}
            for first, second in combinations(solids, 2)
            if not apart(solids[first], solids[second]) and not first.startswith("frame")
        ]
        posts = [name for name in solids if name.startswith("post")]
        assert len(boxes) == len(table.kinds) + len(posts)
        assert all({post.removeprefix("post "), post} == pair for post, pair in zip(posts, touching, strict=True))
        assert all(table.count(table.kinds[number]) == 1 for number in table.singles)
        assert tuple(map(table.count, table.counted)) == table.content.counts
        assert not {table.kinds[number] for number in table.singles} & set(table.counted)


def test_truth_of_some_things_agrees_with_the_truth_of_all(drawn_tables: list[Table]) -> None:
    table = drawn_tables[1]
    shot = table.shot
    full_truth = truth(shot.scene, shot.camera)
    table_truth = tabletop_truth.tabletop_truth(table, lambda: toy_image(shot.scene, shot.camera))
    assert all(full_truth[str(number)].visible_fraction == 1 for number in range(len(table.kinds)))
    for visible in table_truth.solids:
        expected = full_truth[str(visible.number)]
        assert (expected.visible_box, expected.nearest_m) == (visible.box, visible.nearest_m)
        assert (expected.mask == table_truth.mask(visible)).all()


def test_answers_about_tables_agree_with_corners_and_centres(built: ItemSet, drawn_tables: list[Table]) -> None:
    """Each answer is recomputed from projected points instead of pixels."""
    by_number = dict(enumerate(drawn_tables))

    def thing_in(item: Item, name: str) -> tuple[Table, int]:
        table = by_number[item.provenance["image"]]
        x1, y1, x2, y2 = item.regions[name]
        centres, _ = project(table.shot.camera, np.array([s.pose.position_m for s in table.shot.scene.solids]))
        numbered_centres = enumerate(centres[: len(table.kinds)])
        (number,) = (n for n, (x, y) in numbered_centres if x1 <= x <= x2 and y1 <= y <= y2)
        return table, number

    for item in items_of(built, "counting"):
        table = by_number[item.provenance["image"]]
        shape, factors = table_contents.KINDS[item.factors["thing"].removesuffix("s")]
        proportions = np.array(factors) / max(factors)
        alike = [
            solid
            for solid in table.shot.scene.solids
            if solid.shape == shape and np.allclose(np.array(solid.pose.stretch) / max(solid.pose.stretch), proportions)
        ]
        assert len(alike) == item.answer
    for item in items_of(built, "object"):
        table, number = thing_in(item, "red")
        assert table.kinds[number] == item.answer
    for item in items_of(built, "localization"):
        table, number = thing_in(item, "box")
        assert np.allclose(seen_box(table.shot.scene.solids[number], table.shot.camera), item.answer, atol=1.01)
        assert table.kinds.count(item.factors["thing"]) == 1
    for item in items_of(built, "spatial"):
        (table, red), (_, blue) = thing_in(item, "red"), thing_in(item, "blue")
        positions, _ = project(
            table.shot.camera, np.array([table.shot.scene.solids[n].pose.position_m for n in (red, blue)])
        )
        across, along = positions[0] - positions[1]
        assert item.answer == f"{'Left' if across < 0 else 'Right'} {'above' if along < 0 else 'below'}"
    for item in items_of(built, "absolute-depth"):
        table, number = thing_in(item, "red")
        solid = table.shot.scene.solids[number]
        distance_m = math.dist(solid.pose.position_m, table.shot.camera.position_m)
        corners = place_points(unit_mesh(solid.shape, 1).vertices, solid.pose)
        radius_m = np.linalg.norm(corners - np.array(solid.pose.position_m), axis=1).max()
        assert item.measures["depth_m"] < distance_m <= item.measures["depth_m"] + radius_m
        assert item.answer == depth_bin(item.measures["depth_m"])
    for item in items_of(built, "relative-depth"):
        (table, red), (_, blue) = thing_in(item, "red"), thing_in(item, "blue")
        feet = [table.shot.scene.solids[n].pose.position_m[1] for n in (red, blue)]
        if abs(feet[0] - feet[1]) > 1.5:
            assert item.answer == ("red", "blue")[feet[1] < feet[0]]


def test_colours_are_those_of_the_image(built: ItemSet, drawn_tables: list[Table]) -> None:
    media = MediaFolder(built.root / "media")
    for item in items_of(built, "colour"):
        x1, y1, x2, y2 = (int(side) for side in item.regions["red"])
        pixels = np.asarray(media.open(item.query[0]).convert("RGB"))[y1:y2, x1:x2].reshape(-1, 3)
        assert np.abs(np.median(pixels, axis=0) - item.answer).max() <= 1
        assert pixels.std(axis=0).max() < 12
    assert len(COLOURS) < len({tuple(item.answer) for item in items_of(built, "colour")})


def test_toys_face_their_recorded_direction(drawn_displays: list[display_scenes.Display]) -> None:
    """The direction is computed from the tip of the rocket against its body, and so on, as the camera sees them."""
    ends = {"toy train": (3, 2), "toy bird": (2, 3), "toy rocket": (1, 0)}
    for display in drawn_displays:
        camera = display.shot.camera
        solids = {solid.name: np.array(solid.pose.position_m) for solid in display.shot.scene.solids}
        for toy, direction in zip(TOYS, display.content.directions, strict=True):
            front, back = (solids[f"{toy}/{n}"][:2] for n in ends[toy])
            away = back - np.array(camera.position_m[:2])
            away = away / np.linalg.norm(away)
            ahead, rightward = (front - back) @ -away, (front - back) @ np.array([away[1], -away[0]])
            angle = math.degrees(math.atan2(rightward, ahead)) % 360
            error = (angle - 45 * ORIENTATIONS.index(direction) + 180) % 360 - 180
            assert abs(error) < 22.5, (toy, direction, angle)


def test_things_on_displays_do_not_hide_each_other(drawn_displays: list[display_scenes.Display]) -> None:
    for display in drawn_displays:
        display_truth = truth(display.shot.scene, display.shot.camera, detail=1)
        for (front, behind), pixels in display_truth.hides.items():
            same_object = display_scenes.object_of(front) == display_scenes.object_of(behind)
            on_plate = {front.split()[0], behind.split()[0]} <= {"plate", "letter"}
            assert same_object or on_plate or not pixels, (front, behind)
        assert {
            display_scenes.object_of(s.name) for s in display_scenes.without_letters(display.shot.scene.solids)
        } == set(display_scenes.object_names())


def test_letters_are_smaller_where_they_are_harder_to_see(drawn_displays: list[display_scenes.Display]) -> None:
    heights: dict[str, list[float]] = {}
    for display in drawn_displays:
        display_truth = DisplayTruth(display, (), {})
        for n, size in enumerate(display.content.sizes):
            bars = [solid for solid in display.shot.scene.solids if solid.name.startswith(f"letter {n}/")]
            feet = [solid.pose.position_m[2] for solid in bars]
            assert max(feet) - min(feet) <= LETTERS_M[size]
            heights.setdefault(size, []).append(display_truth.letters_px(n))
    easy, middle, hard = (heights[level] for level in DIFFICULTIES)
    assert max(hard) < min(middle) < max(middle) < np.median(easy)


def test_words_are_written_from_left_to_right(drawn_displays: list[display_scenes.Display]) -> None:
    for display in drawn_displays:
        solids, camera = display.shot.scene.solids, display.shot.camera
        for n, (word, face) in enumerate(zip(display.content.words, display.content.faces, strict=True)):
            plate = next(solid for solid in solids if solid.name == f"plate {n}")
            x1, y1, x2, y2 = seen_box(plate, camera)
            letter_bars = [solid for solid in solids if solid.name.startswith(f"letter {n}/")]
            counts = [len(pseudo_words.bars(letter, face)) for letter in word]
            assert len(letter_bars) == sum(counts)
            centres, depth = project(camera, np.array([solid.pose.position_m for solid in letter_bars]))
            assert ((centres > [x1, y1]) & (centres < [x2, y2])).all()
            assert (depth < project(camera, np.array([plate.pose.position_m]))[1] + 0.4).all()
            ends = np.cumsum([0, *counts])
            lefts = [centres[a:b, 0].mean() for a, b in pairwise(ends)]
            assert lefts == sorted(lefts)
    enlarged = truth(
        display.shot.scene, replace(camera, width_px=4 * camera.width_px, height_px=4 * camera.height_px), detail=1
    )
    for n in range(3):  # a bar of one or two pixels may vanish between its neighbours, a word may not
        bars = [solid.visible_fraction for solid in enlarged.solids if solid.name.startswith(f"letter {n}/")]
        assert np.mean(bars) > 0.7


def test_close_ups_show_one_tower_each_and_are_separate_scenes(
    built: ItemSet, drawn_displays: list[display_scenes.Display]
) -> None:
    for item in items_of(built, "fine-grained"):
        slot = item.provenance["close_up"]
        shot = drawn_displays[item.provenance["image"]].close_ups[slot]
        assert (item.query[0].width, item.query[0].height) == (120, 120), "two thirds of 180"
        below, above = shot.scene.solids
        assert display_scenes.object_of(below.name) == item.factors["group"] == tuple(TOWERS)[slot]
        assert above.shape == SPECIES[str(item.answer)][0]
        shot_truth = truth(shot.scene, shot.camera, detail=1)
        assert all(solid.visible_fraction > 0.3 for solid in shot_truth.solids)
        x1, y1, x2, y2 = seen_box(above, shot.camera)
        assert item.measures["least_px"] == pytest.approx(min(x2 - x1, y2 - y1), rel=1e-11)
        assert item.measures["least_px"] >= LEAST_TOWER_PX
    for task in ("fine-grained", "texture"):
        assert len({i.cluster_id for i in items_of(built, task)}) == len({i.stimulus_id for i in items_of(built, task)})
    assert {i.stimulus_id for i in items_of(built, "texture")} <= {
        i.stimulus_id for i in items_of(built, "fine-grained")
    }
    assert {i.factors["group"] for i in items_of(built, "fine-grained")} == set(TOWERS)


def test_close_ups_are_drawn_only_if_they_are_asked_about() -> None:
    for tasks, close_ups in ((("ocr",), 0), (("texture",), 9), (("counting",), 0)):
        plan = recipe.Generated().plan(BuildOptions(NOWHERE, n=3, tasks=tasks))
        assert plan["close_ups"] == close_ups, (
            "one of each of three test displays, three of each of two training displays"
        )


def test_no_image_shows_the_edge_of_the_floor(
    drawn_tables: list[Table], drawn_displays: list[display_scenes.Display]
) -> None:
    close_ups = [close_up for display in drawn_displays for close_up in display.close_ups]
    shots = [*(table.shot for table in drawn_tables), *close_ups]
    assert all(is_within_floor(shot.scene, shot.camera) for shot in shots)


def test_every_stored_image_is_in_an_item(built: ItemSet) -> None:
    shas = {media.sha256 for item in built.items for media in item.media()}
    assert {path.stem for path in (built.root / "media").rglob("*.png")} == shas


def test_every_table_has_a_frame_of_a_metre_and_the_question_names_it(
    built: ItemSet, drawn_tables: list[Table]
) -> None:
    for table in drawn_tables:
        bars = [solid for solid in table.shot.scene.solids if solid.name.startswith("frame")]
        assert all(bar.material.kind == "wood" for bar in bars)
        corners = np.concatenate([place_points(unit_mesh(bar.shape, 1).vertices, bar.pose) for bar in bars])
        assert np.ptp(corners, axis=0) == pytest.approx((1.0, 1.0, 0.06))
        points, _ = project(table.shot.camera, corners)
        camera = table.shot.camera
        assert ((points > 0) & (points < (camera.width_px, camera.height_px))).all()
    assert all(
        item.question.startswith("The wooden frame on the floor is 1 meter wide and 1 meter deep. From")
        for item in items_of(built, "absolute-depth")
    )


def test_the_uncovered_share_of_a_thing_by_hand() -> None:
    """A thing of 20 x 20 pixels in an image of 240 x 180, where lines are two pixels wide."""
    mask = np.zeros((180, 240), bool)
    mask[100:120, 50:70] = True
    assert line_px(240, 180) == 2
    assert uncovered(mask, (55.0, 105.0, 65.0, 115.0)) == 1 - 14 * 14 / 400  # ten pixels and a line of two on each side
    assert uncovered(mask, (51.0, 101.0, 69.0, 119.0)) == 0.0
    assert uncovered(mask, (50.0, 100.0, 60.0, 110.0)) == 1 - 12 * 12 / 400, "lines outside it hide nothing of it"


def test_every_item_records_its_size(built: ItemSet) -> None:
    for item in built.items:
        assert 0 < item.measures["least_px"] <= 180, item.item_id
    for item in items_of(built, "spatial"):
        sides = [side for x1, y1, x2, y2 in item.regions.values() for side in (x2 - x1, y2 - y1)]
        assert item.measures["least_px"] == min(sides)
    notes = " ".join(built.card.notes)
    assert "distinct scenes of test items: localization 4, " in notes, "a third of twelve in a quick set"
    least = min(item.measures["least_px"] for item in items_of(built, "counting") if item.split == "test")
    assert f"counting {least:.0f}" in notes


def test_every_item_records_the_dimensions_it_requires(built: ItemSet) -> None:
    for item in built.items:
        worlds = item.latent["worlds"]
        assert str(worlds[0]["answer"]).strip("[]") == str(item.answer).strip("()")
        assert {dimension for world in worlds for dimension in world["look"]} == set(item.requires)
        assert item.requires == ABILITIES[item.task].requires
    assert {item.task for item in built.items} == set(generated_tasks())


def test_shots_differ(drawn_tables: list[Table]) -> None:
    shots: set[RenderSpec] = {table.shot for table in drawn_tables}
    assert len(shots) == len(drawn_tables)
