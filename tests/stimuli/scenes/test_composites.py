import pytest

from snellen.core.errors import SnellenError
from snellen.stimuli.scenes import (
    ANCHORS,
    COLOURS,
    DIMENSIONS,
    MATERIALS,
    PIVOTS,
    SHAPES,
    Appearance,
    Composite,
    all_composites,
    composite,
    index_of,
    joints,
    text_name,
)


def test_there_are_9504_objects_that_all_differ_in_a_dimension() -> None:
    objects = all_composites()
    assert len(objects) == 9504
    assert len({tuple(each.dimensions().values()) for each in objects}) == 9504


def test_counts_of_the_paper() -> None:
    assert sum(map(len, ANCHORS.values())) == 11
    assert sum(map(len, PIVOTS.values())) == 6
    assert len(ANCHORS["sphere"]) == 1
    assert {shape: len(places) for shape, places in PIVOTS.items() if len(places) > 1} == {"cone": 2}
    assert len(list(joints())) == 66


def test_order_and_index() -> None:
    objects = all_composites()
    for index in (0, 1, 143, 144, 5000, 9503):
        assert index_of(composite(index)) == index
    assert composite(0).dimensions() == {
        "shape/primary": "cube", "material/primary": "rubber", "colour/primary": "red", "shape/secondary": "cube",
        "material/secondary": "rubber", "colour/secondary": "red", "contact-point/anchor": "face",
        "contact-point/pivot": "face",
    }  # fmt: skip
    assert composite(1).secondary == Appearance("cube", "rubber", "yellow")
    assert composite(12).primary == Appearance("cube", "rubber", "yellow")
    keys = [(each.primary.shape, each.anchor, each.secondary.shape, each.pivot) for each in objects[::144]]
    assert keys == list(joints())


def test_dimensions_have_the_agreed_names_and_values_with_words() -> None:
    values = {name: {each.dimensions()[name] for each in all_composites()} for name in DIMENSIONS}
    assert values["shape/primary"] == values["shape/secondary"] == set(SHAPES)
    assert values["material/primary"] == set(MATERIALS)
    assert values["colour/secondary"] == {*COLOURS, "none"}
    for name, known in values.items():
        words = {text_name(name, value) for value in known}
        assert len(words) == len(known)
    assert text_name("shape", "frustum") == "conical frustum"
    for each in all_composites()[:144]:
        assert (each.dimensions()["colour/primary"] == "none") == (each.primary.material in ("glass", "wood"))


def test_impossible_composites_are_refused() -> None:
    cube = Appearance("cube", "glass")
    with pytest.raises(SnellenError, match="a cube has no anchor 'apex'; choose one of face, edge, vertex"):
        Composite(cube, "apex", cube, "face")
    with pytest.raises(SnellenError, match="a cube has no pivot 'edge'"):
        Composite(cube, "face", cube, "edge")
    for index in (-1, 9504):
        with pytest.raises(SnellenError, match=rf"composite {index} does not exist; indices run from 0 to 9503"):
            composite(index)
    with pytest.raises(SnellenError, match=r"no value 'x{59}; known"):
        text_name("shape", "x" * 100_000)
    with pytest.raises(SnellenError, match="no value 'pyramid'"):
        text_name("shape/primary", "pyramid")
    with pytest.raises(SnellenError, match="octopus"):
        Appearance("octopus", "glass")  # type: ignore[arg-type]
