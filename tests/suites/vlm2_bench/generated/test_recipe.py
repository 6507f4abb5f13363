"""Rooms, objects and clips: generated items, tested with fakes that see, miss one factor, or do not look."""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snellen.core.build_options import Balance, BuildOptions
from snellen.core.errors import SnellenError
from snellen.core.seeds import stream
from snellen.core.storage.itemset import ItemSet
from snellen.exam.items import build
from snellen.exam.run import run
from snellen.runs.scores.blind import recipe_card
from snellen.stimuli.scenes import Appearance, Camera, all_composites, truth
from snellen.stimuli.scenes.raster import project
from snellen.stimuli.scenes.shapes import place_points, unit_mesh
from snellen.stimuli.video import frames_at, rate_times, uniform_times
from snellen.suites import SUITES
from snellen.suites.vlm2_bench.generated import clips, objects, recipe, rooms, views
from snellen.suites.vlm2_bench.generated.general_cues import match_statements, track_statements
from snellen.suites.vlm2_bench.items import Edit, by_appearance
from tests.goldens.descriptions import line, set_text
from tests.goldens.golden import assert_golden

SUITE = SUITES.get("vlm2-bench")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> ItemSet:
    """A set of blank images, for tests that look at no pixels."""
    out = tmp_path_factory.mktemp("vlm2") / "items"
    return build(SUITE, "generated", BuildOptions(out, n=20, quick=True, renderer="blank", show_progress=False))


def test_a_plan_states_what_is_built_and_its_time_and_space(built: ItemSet) -> None:
    fields: dict[str, Any] = {"n": 20, "quick": True, "quality": "good", "workers": 2}
    plan = recipe.Generated().plan(BuildOptions(Path("unused"), **fields))
    groups = {(item.task, item.group_id) for item in built.items if item.split == "test"}
    assert plan["items"] == Counter(task for task, _ in groups)
    assert plan["images"] == len(
        {image.sha256 for item in built.items for image in item.query if image.kind == "image"}
    )
    assert (plan["rooms"], plan["clips"]) == (40, 2), "two rooms a question, and in a small set one pair of clips"
    share = 240 * 180 / (640 * 480)
    seconds = (plan["images"] * 1.3 + plan["frames"] * 0.16) * (0.14 + 0.86 * share)
    assert (plan["seconds"], plan["bytes"]) == (round(seconds / 2), round(plan["images"] * 115_000 * share))


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(rooms.EDITS), st.integers(0, 10_000))
def test_an_edit_changes_one_thing(edit: Edit, seed: int) -> None:
    change = rooms.random_change(edit, stream("test", edit, seed))
    before, after = change.before, change.after
    assert all(rooms.MIN_OBJECTS <= len(room.objects) <= rooms.MAX_OBJECTS for room in (before, after))
    names = [scene_object.name for scene_object in {*before.objects, *after.objects}]
    assert len(set(names)) == len(names), "a name means the same object in both images"
    removed, added = set(before.objects) - set(after.objects), set(after.objects) - set(before.objects)
    changes = (len(removed), len(added), before.floor != after.floor, before.light != after.light)
    if edit == "environment":
        assert changes in ((0, 0, True, False), (0, 0, False, True))
    else:
        expected = {"add": (0, 1), "remove": (1, 0)}.get(edit, (1, 1))
        assert changes == (*expected, False, False)
    if edit in ("swap", "attribute"):
        dimensions = len(rooms.differing(*removed, *added))
        assert dimensions == 1 if edit == "attribute" else dimensions >= 2


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(rooms.EDITS), st.integers(0, 10_000))
def test_statements_about_the_actual_world_have_the_stated_truth(edit: Edit, seed: int) -> None:
    rng = stream("test", edit, seed)
    change = rooms.random_change(edit, rng)
    for right, wrong in (match_statements(change, rng), track_statements(change)):
        assert right.cue != wrong.cue
        assert (right.right, wrong.right) == (True, False)
        for statement in (right, wrong):
            first, *others = statement.worlds
            assert first["answer"] == str(statement.right).lower()
            assert all(other["look"] != first["look"] for other in others), (
                "an observer that sees everything is never in doubt"
            )


@pytest.mark.slow
def test_trk_does_not_ask_about_colours_of_the_surroundings(built: ItemSet) -> None:
    """The shift of the mean colour would reveal the answer. Mat does not ask about patterns, which keep the mean."""
    cues = {task: {item.question.split("'")[1] for item in built.task(task)} for task in ("gc-mat", "gc-trk")}
    surroundings = {task: {cue for cue in cues[task] if "floor" in cue or "light" in cue} for task in cues}
    assert surroundings["gc-mat"] == {"the colour of the floor", "the colour of the light"}
    assert len(surroundings["gc-trk"]) >= 4
    assert all(len(re.findall("striped|chequered|dotted", cue)) == 2 for cue in surroundings["gc-trk"])


def test_a_pattern_change_changes_nothing_else() -> None:
    for seed in range(30):
        change = rooms.pattern_change(stream("test", "pattern", seed))
        assert change.before != change.after
        assert change.after == replace(change.before, pattern=change.after.pattern, stripe_m=change.after.stripe_m), (
            "stripes may be wider or narrower"
        )
        assert change.instruction() == f"Make the floor {change.after.pattern}."
        assert change.after.pattern in change.after.caption()


def test_the_stripe_is_measured_as_seen_at_an_angle() -> None:
    """From 5 m above and 5 m aside, 400 px per right angle: focal length 200 px, distance 7.07 m, sin 45 degrees."""
    change = rooms.pattern_change(stream("test", "pattern", 0))
    change = replace(
        change, before=replace(change.before, stripe_m=0.4), after=replace(change.after, stripe_m=0.3)
    )  # fmt: skip
    camera = Camera((5.0, 0.0, 5.0), (0.0, 0.0, 0.0), horizontal_fov_deg=90.0, width_px=400, height_px=300)
    stripe_px = 200 * 0.3 / math.sqrt(50) / math.sqrt(2)
    assert rooms.acuity(change, (camera, camera))["least_px"] == pytest.approx(stripe_px, abs=0.05)


def test_a_cue_requires_colour_only_if_nothing_else_decides() -> None:
    # Three objects; the red rubber cube is removed. To a colour-blind observer "the red rubber cube" might be the blue
    # one; "the glass sphere" cannot be taken for a removed object.
    def scene_object(shape: str, material: str, colour: str | None, x: float) -> rooms.SceneObject:
        return rooms.SceneObject(Appearance(shape, material, colour), (x, 0.0), 0.0, 0.6)  # type: ignore[arg-type]

    red, blue = scene_object("cube", "rubber", "red", 0), scene_object("cube", "rubber", "blue", 2)
    glass = scene_object("sphere", "glass", None, 4)
    full = rooms.Room((red, blue, glass))
    change = rooms.RoomChange("remove", full, rooms.Room((blue, glass)), red, ("presence",))
    requires_by_cue = {}
    for seed in range(8):
        for statement in match_statements(change, stream("cues", seed)):
            requires_by_cue[statement.cue] = statement.requires
    assert "colour" in requires_by_cue["the red rubber cube"]
    assert "colour" in requires_by_cue["the blue rubber cube"]
    assert "colour" not in requires_by_cue["the glass sphere"]


def test_every_stored_image_is_in_an_item(built: ItemSet) -> None:
    shas = {media.sha256 for item in built.items for media in item.media()}
    assert {path.stem for path in (built.root / "media").rglob("*.*")} == shas


def test_families_differ_in_one_dimension_each(built: ItemSet) -> None:
    for seed in range(30):
        family = objects.draw_family(stream("family", seed))
        main = objects.appearance_of(family.main)
        differing = []
        for other in family.distractors:
            appearance = objects.appearance_of(other)
            (dimension,) = (d for d in main if main[d] != appearance[d])
            differing.append(dimension)
        assert len(set(differing)) == objects.DISTRACTORS
    everything = [f for item in built.items if item.task == "oc-cpr" for f in [item.provenance["composites"]]]
    by_family = {tuple(sorted(set(f))) for f in everything}
    assert all(not set(a) & set(b) for a, b in combinations(by_family, 2)), "calibration and test share no object"


def test_answers_follow_from_the_appearances(built: ItemSet) -> None:
    for item in built.items:
        if item.task not in ("oc-cpr", "oc-cnt", "oc-grp"):
            continue
        appearances = [tuple(item.latent["shows"][image.sha256].values()) for image in item.query]
        assert by_appearance(appearances) == item.latent["order"]
        distinct = len(set(appearances))
        if item.task == "oc-cpr":
            states_same = item.factors["wording"] == "positive"
            assert item.answer == str((distinct == 1) == states_same).lower()
        elif item.task == "oc-cnt":
            assert item.answer == distinct
        else:
            alike = [n for n, appearance in enumerate(appearances, 1) if appearances.count(appearance) > 1]
            assert item.answer == ("+".join(map(str, alike)) or "none")
            assert len(item.options) == len({option.key for option in item.options}) == 4


def test_budget_and_balance() -> None:
    options = BuildOptions(Path("unused"), n=60)
    plan = recipe.design(options)
    tested = sum(len(sequence.images) for sequence in plan.sequences if sequence.split == "test")
    assert 0 < plan.images() - 2 * 120 - tested <= 8 * len(plan.calibration), "a test question shares no image"
    assert plan.frames(options) >= 6 * 48
    for task in ("gc-mat", "gc-trk"):
        assert Counter(room.change.edit for room in plan.rooms if task == room.task) == dict.fromkeys(rooms.EDITS, 12)
    full = recipe.design(BuildOptions(Path("unused"), full=True))
    assert (len(full.rooms), len(full.families)) == (260 + 220, 360)
    as_printed = recipe.design(BuildOptions(Path("unused"), full=True, balance="paper"))
    assert len(as_printed.families) == 360
    checkup = recipe.design(BuildOptions(Path("unused")))
    assert (len(checkup.rooms), len(checkup.families)) == (24, 12), "twelve clusters per task"
    assert len(recipe.design(BuildOptions(Path("unused"), n=4)).families) == 4
    with pytest.raises(SnellenError, match="no people are rendered"):
        recipe.design(BuildOptions(Path("unused"), tasks=("pc-cpr",)))


def test_numbers_of_sequences_do_not_reveal_patterns(built: ItemSet) -> None:
    numbered = sorted((item.item_id, item.factors["pattern"]) for item in built.task("oc-cnt") if item.split == "test")
    patterns = [pattern for _, pattern in numbered]
    rounds = [patterns[n : n + 9] for n in range(0, len(patterns) - 8, 9)]
    assert any(len(set(patterns_of_round)) < 9 for patterns_of_round in rounds), (
        "if numbers revealed patterns, nine in a row would have every pattern once"
    )


def test_objects_of_clips_enter_and_leave() -> None:
    pair = clips.draw_pair(0, 0)
    shots = clips.clip_specs(pair.first, pair, 0, clips.FRAMES, (192, 144))
    assert len(shots) == clips.FRAMES
    pixels = [sum(int(s.mask.sum()) for s in truth(shot.scene, shot.camera, detail=1).solids) for shot in shots]
    middle = pixels[len(pixels) // 2]
    assert max(pixels[0], pixels[-1]) < 0.2 * middle, "it comes in and leaves"
    assert middle > 0.02 * 192 * 144
    appearance, other = objects.appearance_of(pair.first), objects.appearance_of(pair.second)
    assert [d for d in appearance if appearance[d] != other[d]] == [pair.differs]


def test_objects_of_clips_are_in_view_half_of_the_time() -> None:
    """At least half of the box around the object is within the frame, in at least half of the frames."""
    size = np.array(BuildOptions(Path("unused")).size_px)
    assert recipe.Generated().parameters(BuildOptions(Path("unused")))["clip_px"] == [640, 480]
    for number in range(40):
        pair = clips.draw_pair(0, number)
        for index in (pair.first, pair.second):
            shots = clips.clip_specs(index, pair, 0, 24, (640, 480))
            shares = []
            for shot in shots:
                corners = [place_points(unit_mesh(s.shape, 1).vertices, s.pose) for s in shot.scene.solids]
                pixels, _ = project(shot.camera, np.concatenate(corners))
                low, high = pixels.min(axis=0), pixels.max(axis=0)
                inside = np.clip(np.minimum(high, size) - np.maximum(low, 0), 0, None)
                shares.append(inside.prod() / (high - low).prod())
            assert np.mean(np.array(shares) >= 0.5) >= 0.5, (number, index)


def test_frames_of_clips_are_drawn_fast_unless_the_best_is_asked_for() -> None:
    for quality, of_clips in (("fast", "fast"), ("good", "fast"), ("reference", "reference")):
        parameters = recipe.Generated().parameters(BuildOptions(Path("unused"), n=4, quality=quality))
        assert (parameters["quality"], parameters["clip_quality"]) == (quality, of_clips)


def test_every_part_of_a_video_is_sampled(small: ItemSet) -> None:
    for item in small.task("oc-vid"):
        (video,) = item.query
        parts = len(item.factors["pattern"])
        part_s = video.seconds / parts
        for times in (uniform_times(video.seconds, 8), uniform_times(video.seconds, 16), rate_times(video.seconds, 1)):
            parts_sampled = Counter(int(t // part_s) for t, _ in frames_at(small.media.read(video), times))
            assert set(parts_sampled) == set(range(parts))
            assert min(parts_sampled.values()) >= 2


def test_three_part_videos_end_as_they_began(small: ItemSet) -> None:
    item = next(item for item in small.task("oc-vid") if item.factors["pattern"] == "PQP")
    (video,) = item.query
    assert video.seconds == 3 * clips.FRAMES / clips.FRAMES_A_SECOND
    # Frame 20 of the first and second part; played backwards, frame 20 is at 48 - 1 - 20 = 27 of the third.
    times = [(frame + 0.5) / clips.FRAMES_A_SECOND for frame in (20, 48 + 20, 96 + 27)]
    first, second, last = (np.asarray(image, int) for _, image in frames_at(small.media.read(video), times))
    assert abs(first - last).mean() < 0.5 * abs(first - second).mean()


def test_fakes_show_that_items_are_solvable_and_leak_nothing(built: ItemSet, tmp_path: Path) -> None:
    subjects = ["fake:oracle", "fake:blind-to=colour", "fake:always-true", "fake:chance"]
    done = run(built, subjects, tmp_path / "run", show_progress=False)
    rows = done.all_results()
    overall = rows[(rows.factor == "") & (rows.task != "oc-vid")]
    first = overall.drop_duplicates(["subject", "task"])
    assert set(first[first.subject == "fake:oracle"].value) == {1.0}
    always = first[(first.subject == "fake:always-true") & (first.metric == "pair_accuracy")]
    assert set(always.value) == {0.0}
    chance = first[first.subject == "fake:chance"]
    # 20 units with a standard deviation of at most one half: three standard errors are 3 * 0.5 / sqrt(20) = 0.34.
    assert (chance.value - chance.chance).abs().max() < 0.34
    blind = rows[(rows.subject == "fake:blind-to=colour") & (rows.factor == "requires") & (rows.task != "oc-vid")]
    blind = blind.drop_duplicates(["task", "level"])
    needs = blind[blind.level == "colour"]
    assert {"gc-mat", "oc-cpr", "oc-cnt", "oc-grp"} <= set(needs.task)
    # A guesser is within three standard errors of chance there.
    errors = (needs.chance * (1 - needs.chance) / needs.n) ** 0.5
    assert ((needs.value - needs.chance).abs() < 3 * errors).all()
    rest = blind[blind.level == "not colour"]
    assert len(rest) > 0
    assert (rest.value == 1).all()
    unjudged = rows[(rows.task == "oc-vid") & (rows.factor == "")]
    assert pd.isna(unjudged.value).all()


def test_encoders_answer_the_tasks_that_they_were_calibrated_on(small: ItemSet, tmp_path: Path) -> None:
    rows = run(small, ["encoder:colour-histogram"], tmp_path / "run", show_progress=False).all_results()
    overall = rows[rows.factor == ""].drop_duplicates("task").set_index("task")
    assert (overall.loc[["oc-cpr", "oc-cnt", "oc-grp"], "n"] > 0).all()
    assert (overall.loc[["gc-mat", "gc-trk", "oc-vid"], "n"] == 0).all(), "nothing to calibrate on, no words"


@pytest.mark.slow
def test_level_answers_leave_no_base_rate(tmp_path: Path) -> None:
    """With the paper's patterns 3 of 9 sequences show one object and 2 of 5 groups are `None`; level, 1/2 and 1/4."""

    def shares(balance: Balance | None) -> tuple[float, float]:
        tasks, folder = ("oc-cpr", "oc-grp"), tmp_path / str(balance)
        options = BuildOptions(
            folder, n=36, tasks=tasks, quick=True, renderer="blank", balance=balance, show_progress=False
        )
        built = build(SUITE, "generated", options)
        assert built.card.recipe["balance"] == (balance or "answers")
        assert built.blind is not None
        assert (built.blind == recipe_card(SUITE, {})) == (balance != "paper")
        test = [item for item in built.items if item.split == "test"]
        same_answers = [item.answer == "true" for item in test if item.item_id.endswith("-p")]
        none_answers = [item.answer == "none" for item in test if item.task == "oc-grp"]
        assert (len(same_answers), len(none_answers)) == (36, 36)
        return sum(same_answers) / 36, sum(none_answers) / 36

    assert shares("paper") == (12 / 36, 14 / 36)  # 36 sequences are seven rounds of five patterns plus one
    assert shares("answers") == shares(None) == (1 / 2, 1 / 4)


@pytest.mark.parametrize("edit", rooms.EDITS)
def test_the_second_image_is_from_the_side_and_the_change_has_a_size(edit: Edit) -> None:
    change = rooms.random_change(edit, np.random.default_rng(4))
    cameras = views.views_of(change, np.random.default_rng(4), (160, 120))
    measures = rooms.acuity(change, cameras)
    azimuths = [math.atan2(*np.subtract(camera.position_m, camera.target_m)[1::-1]) for camera in cameras]
    turned = abs(math.degrees(azimuths[1] - azimuths[0]) + 180) % 360 - 180
    assert views.SHIFT_DEG[0] - 0.01 <= abs(turned) <= views.SHIFT_DEG[1] + 0.01
    # From an elevation of 35 to 60 degrees, the line of sight turns by less than the azimuth of the camera.
    assert 0.4 * abs(turned) < measures["camera_shift_deg"] < abs(turned)
    assert measures["things"] == max(len(change.before.objects), len(change.after.objects))
    sides = [camera.width_px * camera.height_px for camera in cameras]
    assert (measures["least_px"] == pytest.approx(math.sqrt(sides[0]), abs=0.1)) == (edit == "environment")


def test_metal_has_a_highlight_if_some_view_allows_it() -> None:
    """Of 20 composites with metal at most one has no view with a highlight; of first views one in eight has none."""
    specs = [
        objects.image_spec(index, 0, (index, 0), (160, 120))
        for index, block in list(enumerate(all_composites()))[::211]
        if "metal" in (block.primary.material, block.secondary.material)
    ][:20]
    dull = [spec for spec in specs if objects.least_highlight(spec.scene, spec.camera) < objects.MIN_HIGHLIGHT]
    assert len(specs) == 20
    assert len(dull) <= 1


def test_videos_use_twelve_pairs_first_and_then_all_kinds() -> None:
    plan = recipe.design(BuildOptions(Path(), n=12, tasks=("oc-vid",)))
    assert (len(plan.clips), plan.videos()) == (12, 12)
    many = recipe.design(BuildOptions(Path(), n=60, tasks=("oc-vid",)))
    assert (len(many.clips), many.videos()) == (15, 60)
    quick = recipe.design(BuildOptions(Path(), n=12, tasks=("oc-vid",), quick=True))
    assert (len(quick.clips), quick.videos()) == (1, 4)


def test_items_and_card_equal_their_golden(built: ItemSet) -> None:
    """Every ninth item, since they resemble each other, without digests of pixels, which depend on the processor."""
    text = set_text(replace(built, items=built.items[::9])) + line(sorted(built.card.provenance))
    assert_golden("suites/vlm2-bench-generated.txt", re.sub(r"(<\d+x\d+) [0-9a-f]{6}>", r"\1>", text))


def test_edits_statements_and_clips_equal_their_golden() -> None:
    lines = []
    for seed in range(2):
        rng = stream("test", "edits", seed)
        for change in (*(rooms.random_change(edit, rng) for edit in rooms.EDITS), rooms.pattern_change(rng)):
            words = change.instruction(), change.before.caption(), change.after.caption(), rooms.tracked(change)
            statements = [
                *(match_statements(change, rng) if change.part != "pattern" else ()),
                *track_statements(change),
            ]
            lines += [line(rooms.exposed(change, rng)), line([*words, *statements])]
        pair = clips.draw_pair(5, seed)
        patterns: tuple[Any, ...] = ("PQ", "PQP")
        lines += [line([pair, *(clips.description(pair.first, pair.second, pattern) for pattern in patterns)])]
        lines += [line([shot.camera, shot.scene.solids]) for shot in clips.clip_specs(pair.first, pair, 5, 2, (64, 48))]
    assert_golden("suites/vlm2-bench-edits.txt", "\n".join(lines) + "\n")


@pytest.mark.parametrize("edit", ["add", "remove"])
def test_the_most_nearly_opposite_of_as_many_views_as_needed_are_taken(
    edit: Edit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As soon as there are enough views, the two whose differences cancel best, and one of them by the coin."""
    monkeypatch.setattr(views, "CANDIDATES", 3)
    monkeypatch.setattr(views, "ROUNDS", 1)
    attempts, shifts = list[Any](), (5.0, 2.0, -2.5, -5.0, 2.5)
    monkeypatch.setattr(views, "views_of", lambda *_: f"cameras {len(attempts)}")

    def surrounded(change: Any, cameras: Any, rng: Any) -> Any:
        attempts.append(cameras)
        return change

    monkeypatch.setattr(views, "_surrounded", surrounded)
    monkeypatch.setattr(views, "_difference", lambda *_: np.array([shifts[len(attempts) - 1]]))
    taken = set()
    for seed in range(6):
        attempts.clear()
        rng, coin = np.random.default_rng(seed), int(np.random.default_rng(seed).integers(2))
        change = rooms.random_change(edit, stream("test", "views"))
        cameras: Any = views.balanced_views(change, rng, (64, 48))[1]
        assert (cameras, len(attempts)) == (f"cameras {1 + coin}", 3)
        taken.add(cameras)
    assert len(taken) == 2
