"""Generated concepts: properties of the pool and the episodes, and the scores of observers with known abilities."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from snellen.core.build_options import BuildOptions
from snellen.core.errors import SnellenError
from snellen.core.item import ReplySpec
from snellen.core.storage.itemset import ItemSet
from snellen.exam.items import build
from snellen.exam.run import run
from snellen.scoring.answers import read_answer
from snellen.stimuli.scenes import Camera, Solid, truth
from snellen.stimuli.scenes.raster import project, rays
from snellen.suites import SUITES
from snellen.suites.vfm_bench.generated import block_images, concepts, recipe
from snellen.suites.vfm_bench.generated.concepts import FAMILIES
from snellen.suites.vfm_bench.generated.recipe import Design
from snellen.suites.vfm_bench.items import LEVELS, SHOTS
from tests.goldens.descriptions import line
from tests.goldens.golden import assert_golden

SUITE = SUITES.get("vfm-bench")
NOWHERE = Path("unused")
BY_HANDLE = {family.handle: family for family in FAMILIES}


@pytest.fixture(scope="module")
def large() -> Design:
    return recipe.design(BuildOptions(NOWHERE, n=120))


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> ItemSet:
    """A set of blank images, since no test here looks at pixels."""
    out = tmp_path_factory.mktemp("vfm") / "items"
    return build(SUITE, "generated", BuildOptions(out, n=24, quick=True, renderer="blank", show_progress=False))


@pytest.mark.parametrize(("n", "most"), [(1, 24), (4, 30), (12, 62), (24, 74), (120, 360), (4200, 5250)])
def test_pools_stay_within_their_budget(n: int, most: int) -> None:
    pool = recipe.design(BuildOptions(NOWHERE, n=n))
    assert len(pool.drafts) <= most
    assert len(pool.episodes) == n
    plan = recipe.Generated().plan(BuildOptions(NOWHERE, n=n))
    assert plan["images"] == len(pool.drafts)


def test_a_plan_states_what_is_built_and_its_time_and_space(built: ItemSet) -> None:
    fields: dict[str, Any] = {"n": 24, "quick": True, "quality": "good", "workers": 2}
    plan = recipe.Generated().plan(BuildOptions(NOWHERE, **fields))
    assert (plan["items"], plan["concepts"]) == ({"fast-mapping": 24}, len({item.cluster_id for item in built.items}))
    share = 240 * 180 / (640 * 480)
    assert plan["seconds"] == round(plan["images"] * 1.45 * (0.14 + 0.86 * share) / 2)
    assert plan["bytes"] == round(plan["images"] * 75_000 * share)


def test_levels_and_numbers_of_classes_are_spread(large: Design) -> None:
    assert Counter(ask.family.level for ask in large.episodes) == dict.fromkeys(LEVELS, 30)
    class_counts = Counter(len(ask.classes) for ask in large.episodes)
    assert set(class_counts) == set(range(2, 11))
    assert min(class_counts.values()) >= 8
    positions = Counter(ask.truth for ask in large.episodes if len(ask.classes) == 2)
    assert min(positions.values()) >= 3, "the right class can be at any position"
    assert {ask.family.handle for ask in large.episodes} == set(BY_HANDLE)


def test_episodes_show_images_of_their_classes(large: Design) -> None:
    queries = {ask.query for ask in large.episodes}
    assert len(queries) == len(large.episodes), "no image is asked about twice"
    assert queries.isdisjoint(n for ask in large.episodes for demos in ask.demos for n in demos), "no query is a demo"
    for ask in large.episodes:
        demos = [number for numbers in ask.demos for number in numbers]
        assert len({ask.query, *demos}) == 1 + SHOTS * len(ask.classes)
        assert len(set(ask.classes)) == len(ask.classes)
        for values, numbers in zip(ask.classes, ask.demos, strict=True):
            assert {ask.family.class_of(large.appearances[number]) for number in numbers} == {values}
        assert ask.family.class_of(large.appearances[ask.query]) == ask.classes[ask.truth]


def test_only_the_dimensions_of_a_level_separate_its_classes(large: Design) -> None:
    """In a class of fifteen images, a free dimension has a single value about once in 16,000 times."""
    used = {level: {d for f in FAMILIES if f.level == level for d in f.dimensions} for level in LEVELS}
    checked = 0
    for family in FAMILIES:
        free = [d for level in LEVELS if level != family.level for d in used[level] - set(family.dimensions)]
        for values, numbers in recipe.classes_of(family, large.appearances, len(large.episodes)).items():
            bound = set(dict(family.within)) | ({"contact-point/pivot"} if "shape" in family.handle else set())
            for dimension in set(free) - bound if len(numbers) >= 15 else ():
                checked += 1
                assert len({large.appearances[number][dimension] for number in numbers}) > 1, (values, dimension)
    assert checked > 300


def test_every_name_is_read_as_its_own_class() -> None:
    appearances = [draft.appearance() for draft in recipe.draw_pool(0, 4000, 0)]
    for family in FAMILIES:
        classes = [*recipe.classes_of(family, appearances, 0)]
        names = [family.name(family.value_by_dimension(values)) for values in classes]
        spec = ReplySpec("choice", tuple((name, str(index)) for index, name in enumerate(names)))
        for index, name in enumerate(names):
            assert read_answer(name, spec) == str(index)
            assert read_answer(f"It is a {name}.", spec) == str(index), (family.handle, name)
        assert len({family.definition(values) for values in classes}) == len(classes)


def test_required_factors_by_hand() -> None:
    red, glass = (
        {"colour/x": ["red"], "material/x": ["rubber", "metal"]},
        {"colour/x": ["none"], "material/x": ["glass"]},
    )
    blue = {**red, "colour/x": ["blue"]}
    appearance = {"colour/x": "red", "material/x": "metal"}
    assert concepts.required(appearance, "a", {"a": red, "b": blue}) == ("colour",)
    assert concepts.required(appearance, "a", {"a": red, "b": glass}) == (), "each factor separates them"
    assert concepts.required(appearance, "a", {"a": red, "b": glass, "c": blue}) == ("colour",)


def test_tilt_and_camera_height_follow_the_draft() -> None:
    for number, draft in enumerate(recipe.draw_pool(0, 24, 1)):
        shot = block_images.image_spec(draft, number, 1, (96, 72))
        for block_solid in shot.scene.solids[:2]:
            low, high = solid_ends = _plumb_line(block_solid, shot.camera)
            assert low[1] > high[1], solid_ends
            lean = np.degrees(np.arctan((high[0] - low[0]) / (low[1] - high[1])))
            # Nothing is between level (at most 6 degrees) and leaning (at least 14).
            assert {"level": abs(lean) < 6.3, "left": lean < -13.7, "right": lean > 13.7}[draft.tilt]
        away = np.subtract(shot.camera.position_m, shot.camera.target_m)
        elevation = np.degrees(np.arcsin(away[2] / np.linalg.norm(away)))
        assert (elevation > 40) == (draft.height == "high")
        for solid in truth(shot.scene, shot.camera, detail=1).solids:
            assert solid.amodal_box is not None
            assert min(solid.amodal_box) > 0
            assert solid.amodal_box[2] < 96
            assert solid.amodal_box[3] < 72


@pytest.mark.parametrize("size_px", [(96, 72), (72, 72), (54, 72)])
def test_no_image_looks_past_the_floor(size_px: tuple[int, int]) -> None:
    """Not even in the corners of low tilted views; images 8, 15 and 23 of 96 x 72 pixels once did."""
    for number, draft in enumerate(recipe.draw_pool(0, 150, 0)[: 60 if size_px == (96, 72) else 12]):
        shot = block_images.image_spec(draft, number, 0, size_px)
        down = rays(shot.camera)[[0, 0, -1, -1], [0, -1, 0, -1]]  # through the centres of the pixels in the corners
        assert (down[:, 2] < 0).all(), draft
        eye = np.array(shot.camera.position_m)
        met = eye - down * (eye[2] / down[:, 2])[:, None]
        assert np.hypot(met[:, 0], met[:, 1]).max() <= shot.scene.floor.radius_m, draft


def _plumb_line(solid: Solid, camera: Camera) -> list[Any]:
    """The image positions of the points 10 cm below and above the middle of a solid."""
    x, y, z = solid.pose.position_m
    return [project(camera, np.array([[x, y, z + dz]]))[0][0] for dz in (-0.1, 0.1)]


def test_the_instruction_names_the_differing_factor() -> None:
    """Rubber and metal of one colour are one class: the classes differ by colour, and material is not mentioned."""
    for family in concepts.FAMILIES:
        if "colour/secondary" in family.dimensions:
            assert "colour" in family.scene
            assert "made of" not in family.scene


def test_sizes_and_colours_of_a_scene_are_those_of_its_draft() -> None:
    for number, draft in enumerate(recipe.draw_pool(0, 12, 2)):
        shot = block_images.image_spec(draft, number, 2, (96, 72))
        first, second, *balls = shot.scene.solids
        assert second.pose.scale / first.pose.scale == pytest.approx(block_images.SIZES[draft.size])
        assert {ball.material.colour for ball in balls} == set(draft.balls)
        neutral = replace(draft, light="bright", tint="neutral")
        lit = [
            block_images.image_spec(variant, number, 2, (96, 72)).scene
            for variant in (neutral, replace(neutral, tint="warm"))
        ]
        red, blue = (
            [light.radiance_linear_rgb[channel] for scene in lit for light in scene.lights[:1]] for channel in (0, 2)
        )
        assert red[1] > red[0]
        assert blue[1] < blue[0]


def test_boxes_contain_the_deciding_region(built: ItemSet) -> None:
    for item in built.items:
        family = BY_HANDLE[item.factors["family"]]
        assert ("box" in item.regions) == (item.factors["concept_level"] != "style")
        if family.region:
            x1, y1, x2, y2 = item.regions["box"]
            assert 0 <= x1 < x2 <= item.query[0].width
            assert 0 <= y1 < y2 <= item.query[0].height
    sizes: dict[str, list[float]] = {"object": [], "part": []}
    for item in built.items:
        if (region := BY_HANDLE[item.factors["family"]].region) in sizes:
            x1, y1, x2, y2 = item.regions["box"]
            sizes[region].append((x2 - x1) * (y2 - y1))
    assert np.median(sizes["part"]) < np.median(sizes["object"])


def test_items_are_complete_and_ids_reveal_nothing(built: ItemSet) -> None:
    for item in built.items:
        keys = [option.key for option in item.options]
        assert [(demo.shot, demo.answer) for demo in item.support] == [(s, k) for s in range(SHOTS) for k in keys]
        assert set(item.latent["named"]) == {option.text for option in item.options}
        assert set(item.latent["shows"]) == {image.sha256 for image in item.media()}
        assert set(item.latent["definitions"]) == set(item.latent["claims"]) == set(keys)
        for demo in item.support:
            assert demo.caption == concepts.caption(item.latent["shows"][demo.media[0].sha256])
    levels = [item.factors["concept_level"] for item in built.items]
    assert levels != [LEVELS[index % 4] for index in range(len(levels))], (
        "they are made in turn, but not numbered in that order"
    )
    clusters = [item.cluster_id for item in built.items]
    assert len(set(clusters)) > 15
    with pytest.raises(SnellenError, match="there is fast-mapping"):
        recipe.count_of(BuildOptions(NOWHERE, tasks=("slow-mapping",)))


CONDITIONS = [
    *("shots=0..5", "shots=0..5,labels=real", "labels=fabricated", "labels=exchange", "shots=0,labels=fabricated"),
    *("images=none", "labels=real,images=none"),
]
FAKES = ["oracle", "chance", "knows-names", "compares-images", "blind-to=colour", "blind-to=material"]


@pytest.fixture(scope="module")
def rows(built: ItemSet, tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    out = tmp_path_factory.mktemp("vfm-run") / "run"
    done = run(built, [f"fake:{name}" for name in FAKES], out, conditions=CONDITIONS, show_progress=False)
    rows = done.all_results()
    return rows[rows.metric == "accuracy"]


WITH_SHOTS = [*(f"shots={k}" for k in range(1, 5)), "vanilla"]
WITH_NAMES = ["labels=real", *(f"shots={k},labels=real" for k in range(5))]
WITHOUT_NAMES = ["labels=fabricated", "shots=0", "shots=0,labels=fabricated"]


@pytest.mark.parametrize(
    ("fake", "perfect", "at_chance"),
    [
        (
            "oracle",
            [*WITH_SHOTS, *WITH_NAMES, "labels=fabricated", "labels=exchange"],
            [*WITHOUT_NAMES[1:], "images=none"],
        ),
        ("knows-names", [*WITH_NAMES, "labels=real,images=none"], [*WITHOUT_NAMES, *WITH_SHOTS, "images=none"]),
        (
            "compares-images",
            [*WITH_SHOTS, "labels=fabricated", "labels=exchange"],
            [*WITHOUT_NAMES[1:], "shots=0,labels=real", "images=none"],
        ),
        ("chance", [], [*WITH_SHOTS, *WITH_NAMES, "labels=fabricated", "labels=exchange", "images=none"]),
    ],
)
def test_observers(rows: pd.DataFrame, fake: str, perfect: list[str], at_chance: list[str]) -> None:
    overall = rows[(rows.subject == f"fake:{fake}") & (rows.factor == "")].set_index("condition")
    assert (overall.loc[perfect].value == 1).all()
    guessed = overall.loc[at_chance]
    # 24 items, a share of about 0.2 each: three standard errors are 3 * 0.4 / sqrt(24).
    assert (abs(guessed.value - guessed.chance) < 0.25).all()


@pytest.mark.parametrize("factor", ["colour", "material"])
def test_blind_observers_fail_exactly_the_items_that_require_their_factor(rows: pd.DataFrame, factor: str) -> None:
    blind = rows[(rows.subject == f"fake:blind-to={factor}") & (rows.factor == "requires")]
    blind = blind[blind.condition == "vanilla"]
    needs, rest = blind[blind.level == factor], blind[blind.level == f"not {factor}"]
    assert len(needs) == len(rest) == 1
    assert (rest.value == 1).all()
    assert (needs.low <= needs.chance).all()
    assert (needs.value < 1).all()


def test_a_view_leans_to_one_side_or_to_none() -> None:
    """Also in high views, in which things at the side seem to lean."""
    drafts = recipe.draw_pool(0, 60, 4)
    for tilt in concepts.TILTS:
        draft = next(draft for draft in drafts if draft.tilt == tilt)
        spec = block_images.image_spec(draft, 0, 4, (96, 72))
        leans = [name for name in concepts.TILTS if block_images._leans_clearly(spec.scene, spec.camera, name)]
        assert leans == [tilt]


def test_drafts_episodes_and_scenes_equal_their_golden(large: Design) -> None:
    """All drafts and episodes of a set of 30, and the scenes of six drafts with every light, tilt and pattern."""
    design = recipe.design(BuildOptions(NOWHERE, n=30, seed=5))
    lines = [line(draft) for draft in design.drafts]
    lines += [
        line([ask.family.handle, ask.classes, ask.truth, ask.query, ask.demos, ask.family.definition(ask.classes[0])])
        for ask in design.episodes
    ]
    lights = {(draft.light, draft.tilt, draft.arrangement): draft for draft in large.drafts}
    kinds = zip(
        ("bright", "dim", "side", "side", "dim", "bright"),
        ("left", "level", "right", "level", "left", "right"),
        concepts.ARRANGEMENTS,
        strict=True,
    )
    chosen = [lights[kind] for kind in kinds]
    for number, draft in enumerate(chosen):
        spec = block_images.image_spec(draft, number, 5, (120, 90))
        regions: Any = ("object", "body", "part", "motif")
        lines.append(line([draft, concepts.caption(draft.appearance()), spec]))
        lines.append(line([block_images.region_box(spec, region) for region in regions]))
    assert_golden("suites/vfm-bench-generated.txt", "\n".join(lines) + "\n")
