"""The 9,504 objects as a table: counts the paper prints, priors it implies, what a constraint allows and decides."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from fractions import Fraction

import numpy as np
import pytest

from snellen.stimuli.scenes import ANCHORS, DIMENSIONS, MATERIAL_VARIANTS, PIVOTS, SHAPES, all_composites
from snellen.suites.combo.published import OBJECTS, RENDERED_IMAGES
from snellen.suites.combo.questions.perception import option_values
from snellen.suites.combo.space import FACTORS, claims, like, members, required, table, values


def test_there_are_144_materials_times_66_joints() -> None:
    joints = sum(map(len, ANCHORS.values())) * sum(map(len, PIVOTS.values()))
    assert joints == 66
    assert len(MATERIAL_VARIANTS) ** 2 == 144
    assert len(all_composites()) == len(table()) == 144 * 66 == OBJECTS == 9504
    assert OBJECTS * 20 == RENDERED_IMAGES == 190_080


def test_every_two_objects_differ_in_a_dimension() -> None:
    assert len(np.unique(table(), axis=0)) == 9504
    assert len({tuple(one.dimensions().items()) for one in all_composites()}) == 9504


def test_only_the_cone_has_two_pivots_and_the_sphere_one_anchor() -> None:
    assert {shape for shape, places in PIVOTS.items() if len(places) == 2} == {"cone"}
    assert sum(map(len, PIVOTS.values())) == 6
    assert len(ANCHORS["sphere"]) == 1
    assert sum(map(len, ANCHORS.values())) == 11


def _guessing(dimension: str, shapes: Collection[str]) -> Fraction:
    """How often a guess among the options offered is right, over all objects with these primary shapes."""
    looks = [one.dimensions() for one in all_composites() if one.primary.shape in shapes]
    return sum((Fraction(1, len(option_values(dimension, look))) for look in looks), Fraction()) / len(looks)


def test_guessing_the_anchor_gives_five_elevenths_and_without_spheres_four_tenths() -> None:
    assert _guessing("contact-point/anchor", set(SHAPES)) == Fraction(5, 11)
    assert _guessing("contact-point/anchor", set(SHAPES) - {"sphere"}) == Fraction(4, 10)


def test_guessing_colours_materials_and_shapes() -> None:
    every = set(SHAPES)
    assert _guessing("colour/primary", every) == _guessing("colour/secondary", every) == Fraction(1, 6)
    assert _guessing("material/primary", every) == _guessing("material/secondary", every) == Fraction(1, 4)
    assert _guessing("shape/primary", every) == _guessing("shape/secondary", every) == Fraction(1, 5)
    assert _guessing("contact-point/pivot", every) == Fraction(5, 6)  # only cones leave a choice


@pytest.mark.parametrize("part", ["primary", "secondary"])
def test_always_the_commonest_material_is_right_five_times_in_twelve(part: str) -> None:
    found = Counter(one.dimensions()[f"material/{part}"] for one in all_composites())
    assert {name: Fraction(count, 9504) for name, count in found.items()} == {
        "rubber": Fraction(5, 12),
        "metal": Fraction(5, 12),
        "glass": Fraction(1, 12),
        "wood": Fraction(1, 12),
    }


def test_a_third_of_the_secondary_shapes_are_cones_and_primary_shapes_follow_their_anchors() -> None:
    second = Counter(one.secondary.shape for one in all_composites())
    assert {shape: Fraction(n, 9504) for shape, n in second.items()} == {
        shape: Fraction(1, 3) if shape == "cone" else Fraction(1, 6) for shape in SHAPES
    }
    first = Counter(one.primary.shape for one in all_composites())
    assert {shape: Fraction(n, 9504) for shape, n in first.items()} == {
        shape: Fraction(len(places), 11) for shape, places in ANCHORS.items()
    }


def test_colour_is_none_exactly_for_glass_and_wood() -> None:
    for one in all_composites():
        look = one.dimensions()
        for part in ("primary", "secondary"):
            assert (look[f"colour/{part}"] == "none") == (look[f"material/{part}"] in ("glass", "wood"))


def test_the_table_says_what_the_objects_say() -> None:
    for index in (0, 1, 143, 144, 5000, 9503):
        told = {d: values(d)[int(n)] for d, n in zip(DIMENSIONS, table()[index], strict=True)}
        assert told == all_composites()[index].dimensions()


def test_members_are_the_objects_that_a_constraint_allows() -> None:
    assert members({}).all()
    assert members({"shape/primary": ["cube"], "colour/primary": ["red"]}).sum() == 3 * 6 * 2 * 12
    assert members({"shape/primary": ["cube", "sphere"]}).sum() == 4 * 6 * 144
    assert not members({"shape/primary": ["teapot"]}).any()
    assert not members({"shape/primary": ["sphere"], "contact-point/anchor": ["vertex"]}).any()


def test_claims_tell_only_what_is_constrained() -> None:
    assert claims(members({})) == {}
    red = claims(members({"colour/primary": ["red"]}))
    assert red == {"colour/primary": ["red"], "material/primary": ["rubber", "metal"]}
    nothing = claims(np.zeros(9504, bool))
    assert set(nothing) == set(DIMENSIONS)
    assert not any(nothing.values())


def test_an_anchor_that_one_shape_has_claims_the_shape() -> None:
    assert claims(members({"contact-point/anchor": ["vertex"]}))["shape/primary"] == ["cube"]
    assert claims(members({"contact-point/anchor": ["base"]}))["shape/primary"] == ["cylinder", "cone"]


def test_like_leaves_one_factor_out_of_both_parts() -> None:
    look = all_composites()[0].dimensions()
    for factor in FACTORS:
        alike = members({d: [v] for d, v in look.items() if d.split("/")[0] != factor})
        assert (like(look, factor) == alike).all()
        assert alike[0]


def test_required_names_what_alone_decides() -> None:
    look = all_composites()[0].dimensions()  # rubber, red
    assert look["material/primary"] == "rubber"
    materials = [(look, members({"material/primary": [value]})) for value in ("rubber", "metal", "glass", "wood")]
    assert required(materials) == ("material",)  # the colour leaves rubber and metal
    colours = [(look, members({"colour/primary": [value]})) for value in values("colour/primary")]
    assert required(colours) == ("colour",)
    shapes = [(look, members({"shape/primary": [value]})) for value in SHAPES]
    assert "material" not in required(shapes)
    assert "colour" not in required(shapes)


def test_what_another_factor_also_decides_is_not_required() -> None:
    glass = next(one.dimensions() for one in all_composites() if one.primary.material == "glass")
    colours = [(glass, members({"colour/primary": [value]})) for value in values("colour/primary")]
    assert required(colours) == ()  # that it is glass says that it has no colour
    vertex = next(one.dimensions() for one in all_composites() if one.anchor == "vertex")
    shapes = [(vertex, members({"shape/primary": [value]})) for value in SHAPES]
    assert required(shapes) == ()  # only cubes have a vertex
    anchors = [(vertex, members({"contact-point/anchor": [value]})) for value in ANCHORS["cube"]]
    assert required(anchors) == ("contact-point",)
    sphere = next(one.dimensions() for one in all_composites() if one.primary.shape == "sphere")
    assert required([(sphere, members({"contact-point/anchor": ["surface"]}))]) == ()  # one option asks nothing
