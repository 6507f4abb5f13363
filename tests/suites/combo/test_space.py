"""The 9,504 objects as a table: printed counts, implied priors, and what a constraint allows and decides."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from fractions import Fraction

import numpy as np
import pytest

from snellen.stimuli.scenes import ANCHORS, DIMENSIONS, MATERIAL_VARIANTS, PIVOTS, SHAPES, all_composites
from snellen.suites.combo.questions.perception import option_values
from snellen.suites.combo.space import FACTORS, claims, like, members, required, table, values
from tests.published.combo import OBJECTS, RENDERED_IMAGES


def test_there_are_144_materials_times_66_joints() -> None:
    joints = sum(map(len, ANCHORS.values())) * sum(map(len, PIVOTS.values()))
    assert joints == 66
    assert len(MATERIAL_VARIANTS) ** 2 == 144
    assert len(all_composites()) == len(table()) == 144 * 66 == OBJECTS == 9504
    assert OBJECTS * 20 == RENDERED_IMAGES == 190_080


def test_any_two_objects_differ_in_a_dimension() -> None:
    assert len(np.unique(table(), axis=0)) == 9504
    assert len({tuple(block.dimensions().items()) for block in all_composites()}) == 9504


def test_only_the_cone_has_two_pivots_and_the_sphere_one_anchor() -> None:
    assert {shape for shape, places in PIVOTS.items() if len(places) == 2} == {"cone"}
    assert sum(map(len, PIVOTS.values())) == 6
    assert len(ANCHORS["sphere"]) == 1
    assert sum(map(len, ANCHORS.values())) == 11


def _guessing(dimension: str, shapes: Collection[str]) -> Fraction:
    """The mean accuracy of a guess among the offered options, over all objects with these primary shapes."""
    appearances = [block.dimensions() for block in all_composites() if block.primary.shape in shapes]
    return sum(
        (Fraction(1, len(option_values(dimension, appearance))) for appearance in appearances), Fraction()
    ) / len(appearances)


def test_guessing_the_anchor_gives_five_elevenths_and_without_spheres_four_tenths() -> None:
    assert _guessing("contact-point/anchor", set(SHAPES)) == Fraction(5, 11)
    assert _guessing("contact-point/anchor", set(SHAPES) - {"sphere"}) == Fraction(4, 10)


def test_guessing_colours_materials_and_shapes() -> None:
    shapes = set(SHAPES)
    assert _guessing("colour/primary", shapes) == _guessing("colour/secondary", shapes) == Fraction(1, 6)
    assert _guessing("material/primary", shapes) == _guessing("material/secondary", shapes) == Fraction(1, 4)
    assert _guessing("shape/primary", shapes) == _guessing("shape/secondary", shapes) == Fraction(1, 5)
    assert _guessing("contact-point/pivot", shapes) == Fraction(5, 6)  # only cones leave a choice


@pytest.mark.parametrize("part", ["primary", "secondary"])
def test_the_commonest_material_is_right_five_times_in_twelve(part: str) -> None:
    counts = Counter(block.dimensions()[f"material/{part}"] for block in all_composites())
    assert {name: Fraction(count, 9504) for name, count in counts.items()} == {
        "rubber": Fraction(5, 12),
        "metal": Fraction(5, 12),
        "glass": Fraction(1, 12),
        "wood": Fraction(1, 12),
    }


def test_a_third_of_the_secondary_shapes_are_cones_and_primary_shapes_follow_their_anchors() -> None:
    second = Counter(block.secondary.shape for block in all_composites())
    assert {shape: Fraction(n, 9504) for shape, n in second.items()} == {
        shape: Fraction(1, 3) if shape == "cone" else Fraction(1, 6) for shape in SHAPES
    }
    first = Counter(block.primary.shape for block in all_composites())
    assert {shape: Fraction(n, 9504) for shape, n in first.items()} == {
        shape: Fraction(len(places), 11) for shape, places in ANCHORS.items()
    }


def test_colour_is_none_exactly_for_glass_and_wood() -> None:
    for block in all_composites():
        appearance = block.dimensions()
        for part in ("primary", "secondary"):
            assert (appearance[f"colour/{part}"] == "none") == (appearance[f"material/{part}"] in ("glass", "wood"))


def test_the_table_agrees_with_the_objects() -> None:
    for index in (0, 1, 143, 144, 5000, 9503):
        dimensions = {d: values(d)[int(n)] for d, n in zip(DIMENSIONS, table()[index], strict=True)}
        assert dimensions == all_composites()[index].dimensions()


def test_members_are_the_objects_that_a_constraint_allows() -> None:
    assert members({}).all()
    assert members({"shape/primary": ["cube"], "colour/primary": ["red"]}).sum() == 3 * 6 * 2 * 12
    assert members({"shape/primary": ["cube", "sphere"]}).sum() == 4 * 6 * 144
    assert not members({"shape/primary": ["teapot"]}).any()
    assert not members({"shape/primary": ["sphere"], "contact-point/anchor": ["vertex"]}).any()


def test_claims_state_only_constrained_dimensions() -> None:
    assert claims(members({})) == {}
    red = claims(members({"colour/primary": ["red"]}))
    assert red == {"colour/primary": ["red"], "material/primary": ["rubber", "metal"]}
    nothing = claims(np.zeros(9504, bool))
    assert set(nothing) == set(DIMENSIONS)
    assert not any(nothing.values())


def test_an_anchor_of_a_single_shape_claims_that_shape() -> None:
    assert claims(members({"contact-point/anchor": ["vertex"]}))["shape/primary"] == ["cube"]
    assert claims(members({"contact-point/anchor": ["base"]}))["shape/primary"] == ["cylinder", "cone"]


def test_like_leaves_one_factor_out_of_both_parts() -> None:
    appearance = all_composites()[0].dimensions()
    for factor in FACTORS:
        alike = members({d: [v] for d, v in appearance.items() if d.split("/")[0] != factor})
        assert (like(appearance, factor) == alike).all()
        assert alike[0]


def test_required_names_the_factors_that_decide_alone() -> None:
    appearance = all_composites()[0].dimensions()  # rubber, red
    assert appearance["material/primary"] == "rubber"
    materials = [(appearance, members({"material/primary": [value]})) for value in ("rubber", "metal", "glass", "wood")]
    assert required(materials) == ("material",)  # the colour leaves rubber and metal
    colours = [(appearance, members({"colour/primary": [value]})) for value in values("colour/primary")]
    assert required(colours) == ("colour",)
    shapes = [(appearance, members({"shape/primary": [value]})) for value in SHAPES]
    assert "material" not in required(shapes)
    assert "colour" not in required(shapes)


def test_a_factor_is_not_required_if_another_also_decides() -> None:
    glass = next(block.dimensions() for block in all_composites() if block.primary.material == "glass")
    colours = [(glass, members({"colour/primary": [value]})) for value in values("colour/primary")]
    assert required(colours) == ()  # glass implies no colour
    vertex = next(block.dimensions() for block in all_composites() if block.anchor == "vertex")
    shapes = [(vertex, members({"shape/primary": [value]})) for value in SHAPES]
    assert required(shapes) == ()  # only cubes have a vertex
    anchors = [(vertex, members({"contact-point/anchor": [value]})) for value in ANCHORS["cube"]]
    assert required(anchors) == ("contact-point",)
    sphere = next(block.dimensions() for block in all_composites() if block.primary.shape == "sphere")
    assert (
        required([(sphere, members({"contact-point/anchor": ["surface"]}))]) == ()
    )  # a question with one option asks nothing
