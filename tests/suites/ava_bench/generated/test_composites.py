"""Composite tasks about rendered tables: true by the scene, balanced, and without additional images."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import cast

import numpy as np
import pytest

from snellen.core.build_options import BuildOptions
from snellen.core.item import Item
from snellen.core.storage.itemset import ItemSet
from snellen.exam.run import run
from snellen.stimuli.scenes import COLOURS
from snellen.stimuli.scenes.shapes import place_mesh, unit_mesh
from snellen.suites.ava_bench.abilities import ABILITIES, counting_by_colour
from snellen.suites.ava_bench.generated import recipe
from snellen.suites.ava_bench.generated.recipe import Generated
from snellen.suites.ava_bench.scenes import table_contents
from snellen.suites.ava_bench.scenes.materials import group_materials
from snellen.suites.ava_bench.scenes.scenes import SLOTS, seen_box
from snellen.suites.ava_bench.scenes.tabletop_scenes import Table
from tests.suites.ava_bench.fixtures import COMPOSITES

N = 12
QUICK = BuildOptions(Path("unused"), n=N, tasks=COMPOSITES, quick=True, renderer="toy", show_progress=False)


def items_of(built: ItemSet, task: str) -> list[Item]:
    return [item for item in built.items if item.task == task]


@pytest.mark.parametrize(
    ("count", "first", "second"),
    # 0.55 to 0.75 of the things have the first colour, a quarter another one, each at least one thing if possible.
    [(1, {1}, {0}), (2, {1}, {1}), (3, {2}, {1}), (4, {2, 3}, {1}), (8, {4, 5, 6}, {2}), (20, set(range(11, 16)), {5})],
)
def test_most_things_of_a_group_have_one_colour(count: int, first: set[int], second: set[int]) -> None:
    for seed in range(40):
        materials = group_materials(count, "red", np.random.default_rng(seed))
        assert len(materials) == count
        assert "glass" not in {material.kind for material in materials}
        colours = Counter(str(material.colour) for material in materials)
        others = Counter({colour: n for colour, n in colours.items() if colour in COLOURS and colour != "red"})
        rest = count - min(first) - min(second)
        assert min(first) <= colours["red"] <= max(first) + rest
        assert max(others.values(), default=0) >= min(second)
        assert not (count > 1 and colours["red"] == count)


def test_composites_need_no_additional_images() -> None:
    for n in (1, 4, 12, 200):
        everything = Generated().plan(BuildOptions(Path("unused"), n=n))
        atomic = Generated().plan(
            BuildOptions(
                Path("unused"), n=n, tasks=tuple(task for task in recipe.generated_tasks() if task not in COMPOSITES)
            )
        )
        assert everything["images"] == atomic["images"]
        assert [everything["items"][task] for task in COMPOSITES] == [n, n]
    assert recipe.make_design(QUICK).displays == {"test": 0, "train": 0}


def test_images_with_more_questions_replace_others() -> None:
    assert recipe._turns([2, 0, 3], 9) == [(0, 0), (2, 0), (0, 1), (2, 1), (2, 2)]
    assert recipe._turns([2, 0, 3], 2) == [(0, 0), (2, 0)]


def test_the_requested_number_of_questions_is_asked_once_each(built: ItemSet) -> None:
    for task in COMPOSITES:
        items = items_of(built, task)
        assert Counter(item.split for item in items) == {"test": N, "train": 3 * 8}
        assert all(item.requires == ABILITIES[task].requires for item in items)
        # A pair of things is asked about once, in one of the two orders.
        questions = {(item.stimulus_id, "".join(sorted(item.question)), str(dict(item.regions))) for item in items}
        assert len(questions) == len(items)


def test_answers_count_the_things_of_a_colour(built: ItemSet, drawn_tables: list[Table]) -> None:
    for item in items_of(built, "counting-by-colour"):
        table = drawn_tables[item.provenance["image"]]
        match = re.fullmatch(r"How many (\w+) (\w+)s are in the image\?", item.question)
        assert match is not None
        shape, factors = table_contents.KINDS[match[2]]
        proportions = np.array(factors) / max(factors)
        colours = {True: Counter[str](), False: Counter[str]()}
        for solid in table.shot.scene.solids:
            stretch = np.array(solid.pose.stretch) / max(solid.pose.stretch)
            alike = solid.shape == shape and np.allclose(stretch, proportions)
            colours[alike][str(solid.material.colour)] += 1
        assert colours[True][match[1]] == item.answer
        assert colours[True].total() == item.measures["of_kind"] > item.answer
        assert colours[False][match[1]] > 0
    colour_counts = Counter(item.factors["colour"] for item in items_of(built, "counting-by-colour"))
    assert set(colour_counts) == set(COLOURS)
    ranges = Counter(item.factors["count_range"] for item in items_of(built, "counting-by-colour"))
    assert set(ranges) >= {"1-5", "6-10", "11-20"}
    assert max(ranges.values()) <= 0.6 * ranges.total()


def test_answers_locate_the_nearer_of_two_unique_things(built: ItemSet, drawn_tables: list[Table]) -> None:
    for item in items_of(built, "nearer-localization"):
        table = drawn_tables[item.provenance["image"]]
        match = re.search(r"the (\w+) or the (\w+)\.$", item.question)
        assert match is not None
        distance_m = {}
        for name in match.groups():
            assert table.kinds.count(name) == 1
            solid = table.shot.scene.solids[table.kinds.index(name)]
            points = place_mesh(unit_mesh(solid.shape, 1), solid.pose).vertices
            distance_m[name] = float(np.linalg.norm(points - table.shot.camera.position_m, axis=1).min())
        near, far = sorted(distance_m, key=lambda name: distance_m[name])
        assert (item.factors["thing"], item.factors["reference"]) == (near, far)
        assert distance_m[far] - distance_m[near] == pytest.approx(item.measures["depth_gap_m"], abs=0.3)
        solid = table.shot.scene.solids[table.kinds.index(near)]
        assert np.allclose(seen_box(solid, table.shot.camera), item.answer, atol=1.01)
    order = Counter(item.factors["named"] for item in items_of(built, "nearer-localization") if item.split == "train")
    assert abs(order["first"] - order["second"]) <= 2


@pytest.mark.slow
def test_observers(built: ItemSet, tmp_path: Path) -> None:
    """The oracle is right; an observer blind to a dimension falls to chance exactly if the dimension is needed."""
    blind = {f"fake:blind-to={name}": name for task in COMPOSITES for name in ABILITIES[task].requires}
    rows = run(built, ["fake:oracle", *blind], tmp_path / "run", show_progress=False).all_results()
    rows = rows[(rows.factor == "") & rows.task.isin(COMPOSITES)]
    rows = rows[rows.metric.isin(["giou", "mae_over_gt"])].set_index(["subject", "task"])
    assert len(rows) == 5 * len(COMPOSITES)
    for key, row in rows.iterrows():
        subject, task = cast(tuple[str, str], key)
        best = 1.0 if task == "nearer-localization" else 0.0
        if blind.get(subject) in ABILITIES[task].requires:
            assert abs(row["value"] - best) > 0.25
            # Nine items in three images: an interval over so few clusters would be no test.
            assert abs(row["value"] - row["chance"]) < abs(row["value"] - best)
        else:
            assert row["value"] == pytest.approx(best, abs=1e-4)


def test_groups_of_a_table_are_among_its_things(drawn_tables: list[Table]) -> None:
    groups = counting_by_colour.coloured_groups(drawn_tables[0])
    assert all(0 < n < drawn_tables[0].count(kind) for kind, _, n in groups)
    assert len(groups) >= SLOTS
