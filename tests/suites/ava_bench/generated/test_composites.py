"""Composite tasks about rendered tables: true by the scene, level, and without an image more."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import cast

import numpy as np
import pytest

from snellen.core.item import Item
from snellen.core.storage.itemset import ItemSet
from snellen.core.suite import BuildOptions
from snellen.exam.run import run
from snellen.stimuli.scenes import COLOURS
from snellen.stimuli.scenes.shapes import place_mesh, unit_mesh
from snellen.suites.ava_bench.abilities import ABILITIES, counting_by_colour
from snellen.suites.ava_bench.generated import recipe
from snellen.suites.ava_bench.generated.recipe import Generated
from snellen.suites.ava_bench.scenes import tabletop_scenes
from snellen.suites.ava_bench.scenes.materials import group_materials
from snellen.suites.ava_bench.scenes.scenes import SLOTS, seen_box
from snellen.suites.ava_bench.scenes.tabletop_scenes import Table
from tests.suites.ava_bench.fixtures import COMPOSITES

N = 12
QUICK = BuildOptions(Path("unused"), n=N, tasks=COMPOSITES, quick=True, renderer="toy", show_progress=False)


def of(built: ItemSet, task: str) -> list[Item]:
    return [item for item in built.items if item.task == task]


@pytest.mark.parametrize(
    ("count", "first", "second"),
    # 0.55 to 0.75 of the things have the first colour, a quarter another one, and at least one thing each where it can.
    [(1, {1}, {0}), (2, {1}, {1}), (3, {2}, {1}), (4, {2, 3}, {1}), (8, {4, 5, 6}, {2}), (20, set(range(11, 16)), {5})],
)
def test_most_of_a_group_have_one_colour(count: int, first: set[int], second: set[int]) -> None:
    for seed in range(40):
        found = group_materials(count, "red", np.random.default_rng(seed))
        assert len(found) == count
        assert "glass" not in {one.kind for one in found}
        colours = Counter(str(one.colour) for one in found)
        others = Counter({colour: n for colour, n in colours.items() if colour in COLOURS and colour != "red"})
        rest = count - min(first) - min(second)
        assert min(first) <= colours["red"] <= max(first) + rest
        assert max(others.values(), default=0) >= min(second)
        assert not (count > 1 and colours["red"] == count)


def test_they_need_no_image_more() -> None:
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


def test_images_that_serve_more_stand_in_for_others() -> None:
    assert recipe._turns([2, 0, 3], 9) == [(0, 0), (2, 0), (0, 1), (2, 1), (2, 2)]
    assert recipe._turns([2, 0, 3], 2) == [(0, 0), (2, 0)]


def test_there_are_as_many_as_wanted_each_asked_once(built: ItemSet) -> None:
    for task in COMPOSITES:
        held = of(built, task)
        assert Counter(item.split for item in held) == {"test": N, "train": 3 * 8}
        assert all(item.requires == ABILITIES[task].requires for item in held)
        # Two things are asked about once, whichever is named first.
        asked = {(item.stimulus_id, "".join(sorted(item.question)), str(dict(item.regions))) for item in held}
        assert len(asked) == len(held)


def test_things_of_a_colour_are_counted_among_others(built: ItemSet, drawn_tables: list[Table]) -> None:
    for item in of(built, "counting-by-colour"):
        table = drawn_tables[item.provenance["image"]]
        told = re.fullmatch(r"How many (\w+) (\w+)s are in the image\?", item.question)
        assert told is not None
        shape, factors = tabletop_scenes.KINDS[told[2]]
        proportions = np.array(factors) / max(factors)
        colours = {True: Counter[str](), False: Counter[str]()}
        for solid in table.shot.scene.solids:
            stretch = np.array(solid.pose.stretch) / max(solid.pose.stretch)
            alike = solid.shape == shape and np.allclose(stretch, proportions)
            colours[alike][str(solid.material.colour)] += 1
        assert colours[True][told[1]] == item.answer
        assert colours[True].total() == item.measures["of_kind"] > item.answer
        assert colours[False][told[1]] > 0
    both = Counter(item.factors["colour"] for item in of(built, "counting-by-colour"))
    assert set(both) == set(COLOURS)
    ranges = Counter(item.factors["count_range"] for item in of(built, "counting-by-colour"))
    assert set(ranges) == {"1-5", "6-10", "11-20"}
    assert max(ranges.values()) <= 0.6 * ranges.total()


def test_the_nearer_of_two_that_are_alone_in_their_kind(built: ItemSet, drawn_tables: list[Table]) -> None:
    for item in of(built, "nearer-localization"):
        table = drawn_tables[item.provenance["image"]]
        told = re.search(r"the (\w+) or the (\w+)\.$", item.question)
        assert told is not None
        away = {}
        for name in told.groups():
            assert table.kinds.count(name) == 1
            solid = table.shot.scene.solids[table.kinds.index(name)]
            points = place_mesh(unit_mesh(solid.shape, 1), solid.pose).vertices
            away[name] = float(np.linalg.norm(points - table.shot.camera.position_m, axis=1).min())
        near, far = sorted(away, key=lambda name: away[name])
        assert (item.factors["thing"], item.factors["reference"]) == (near, far)
        assert away[far] - away[near] == pytest.approx(item.measures["depth_gap_m"], abs=0.3)
        solid = table.shot.scene.solids[table.kinds.index(near)]
        assert np.allclose(seen_box(solid, table.shot.camera), item.answer, atol=1.01)
    named = Counter(item.factors["named"] for item in of(built, "nearer-localization") if item.split == "train")
    assert abs(named["first"] - named["second"]) <= 2


def test_observers(built: ItemSet, tmp_path: Path) -> None:
    """Who sees everything is right; who misses any dimension falls to chance where it is needed, and nowhere else."""
    blind = {f"fake:blind-to={name}": name for task in COMPOSITES for name in ABILITIES[task].requires}
    rows = run(built, ["fake:oracle", *blind], tmp_path / "run", show_progress=False).results()
    rows = rows[(rows.factor == "") & rows.task.isin(COMPOSITES)]
    rows = rows[rows.metric.isin(["giou", "mae_over_gt"])].set_index(["subject", "task"])
    assert len(rows) == 5 * len(COMPOSITES)
    for place, row in rows.iterrows():
        subject, task = cast(tuple[str, str], place)
        best = 1.0 if task == "nearer-localization" else 0.0
        if blind.get(subject) in ABILITIES[task].requires:
            assert abs(row["value"] - best) > 0.25
            # Nine items in three images: an interval over so few clusters would be no test.
            assert abs(row["value"] - row["chance"]) < abs(row["value"] - best)
        else:
            assert row["value"] == pytest.approx(best, abs=1e-4)


def test_a_table_serves_what_it_has(drawn_tables: list[Table]) -> None:
    held = counting_by_colour.coloured_groups(drawn_tables[0])
    assert all(0 < n < drawn_tables[0].count(kind) for kind, _, n in held)
    assert len(held) >= SLOTS
