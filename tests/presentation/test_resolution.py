"""What axes leave to the subject, units of boxes, and how questions are shown to people: worked by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from snellen.core.condition import parse_conditions
from snellen.core.errors import SnellenError
from snellen.core.item import Affine, Demo, Mark, Media, Option, ReplySpec, View
from snellen.core.seeds import stream
from snellen.core.storage.media import MediaFolder
from snellen.core.subject import SubjectCard
from snellen.presentation.box_units import BOX_UNIT, UNIT_WORDS, UnitFrame, resolve_unit
from snellen.presentation.controls import FRAMES, SHEET, Without, resolve_frames, resolve_sheet
from snellen.presentation.people import people_parts
from snellen.presentation.presenters import option_lines, plain, with_layout

NOWHERE = MediaFolder(Path("nowhere"))
WIDE, SECOND, THIRD = (Media(name * 64, "image", "png", 400, 200) for name in "abc")


@pytest.mark.parametrize(
    ("name", "max_images", "attribute", "frames"),
    [
        ("chat:a/b", None, "", "16"), ("chat:a/b", 1, "", "16"), ("chat:a/b", 2, "", "8"), ("chat:a/b", 15, "", "8"),
        ("chat:a/b", 16, "", "16"), ("chat:vllm/Qwen/Qwen2-VL", 2, "", "1fps"), ("chat:qwen", None, "native", "native"),
        ("chat:a/b", None, "8", "8"), ("chat:a/b", None, "auto", "16"), ("chat:a/b", 3, "7", "8"),
    ],
)  # fmt: skip
def test_frames_of_a_video_are_those_that_a_subject_can_take(
    name: str, max_images: int | None, attribute: str, frames: str
) -> None:
    card = SubjectCard(name, max_images=max_images, attributes={"frames": attribute} if attribute else {})
    (usual,), (given,) = (parse_conditions([FRAMES], words) for words in ("vanilla", "frames=native"))
    assert resolve_frames(usual, card) == {"frames": frames}
    assert resolve_frames(given, card) == {}


def test_sheets_and_units_are_those_of_the_subject() -> None:
    (usual,), (given,) = (parse_conditions([SHEET], words) for words in ("vanilla", "sheet=single"))
    cards = [SubjectCard("x", max_images=most) for most in (None, 1, 2)]
    assert [resolve_sheet(usual, card)["sheet"] for card in cards] == ["separate", "single", "separate"]
    assert resolve_sheet(given, cards[0]) == {}
    usual, own = (parse_conditions([BOX_UNIT], words)[0] for words in ("vanilla", "box_unit=own"))
    card = SubjectCard("x", attributes={"box_unit": "percent"})
    assert resolve_unit(usual, card) == {}
    assert resolve_unit(own, card) == {"box_unit": "percent"}
    assert resolve_unit(own, cards[0]) == {"box_unit": "fractions"}


def test_a_box_is_written_in_each_unit_of_the_image_shown() -> None:
    """An image of 400 x 200 px is the part of another from (10, 20) on, so the box begins at (40, 20) of it."""
    image = replace(WIDE, from_stored=Affine(c=-10, f=-20))
    view = View("i", "i", "t", "?", (image,), ReplySpec("box"))
    units = [str(unit) for unit in BOX_UNIT.values if unit != "own"]
    replies = {unit: UnitFrame(unit)(view, NOWHERE, stream("x")).reply for unit in units}
    assert {unit: reply.write((50, 40, 110, 140)) for unit, reply in replies.items()} == {
        "fractions": "[0.1, 0.1, 0.25, 0.6]", "percent": "[10.0, 10.0, 25.0, 60.0]",
        "pixels": "[40.0, 20.0, 100.0, 120.0]", "thousandths": "[100.0, 100.0, 250.0, 600.0]",
        "thousandths-y-first": "[100.0, 100.0, 600.0, 250.0]", "1024ths-y-first": "[102.4, 102.4, 614.4, 256.0]",
    }  # fmt: skip
    assert set(UNIT_WORDS) == {unit.removesuffix("-y-first") for unit in units}
    for images in ((), (WIDE, SECOND)):
        with pytest.raises(SnellenError, match=f"item i: {len(images)} images; a box or point is asked for in one"):
            UnitFrame()(replace(view, query=images), NOWHERE, stream("x"))


OPTIONS = (Option("r", "red"), Option("b", ""), Option("g", "C"))
SPEC = ReplySpec("choice", (("A", "r"), ("B", "b"), ("C", "g"), ("green", "g")))
VIEW = View("i", "i", "t", "Which?", (WIDE,), SPEC, OPTIONS, marks=(Mark("red", (1, 2, 3, 4)),))


def test_options_are_lines_and_examples_have_the_first_name_of_their_answer() -> None:
    assert option_lines(VIEW) == "A. red\nB\nC"
    view = replace(VIEW, support=(Demo((SECOND, THIRD), "g", 0), Demo((), "other", 0)))
    assert plain(view) == (SECOND, THIRD, "C", "other", WIDE, "Which?", "A. red\nB\nC")
    first = with_layout(plain, "images-first")(view)
    assert first == (SECOND, THIRD, WIDE, "[image 1]\n[image 2]\nC\nother\n[image 3]\nWhich?\nA. red\nB\nC")
    bare = Without()(VIEW, NOWHERE, stream("x"))
    assert (bare.query, bare.marks, bare.options) == ((), (), OPTIONS), "no mark without the image that it is in"


def test_people_see_examples_by_answer_then_the_images_and_the_question() -> None:
    support = (Demo((SECOND,), "g", 0, "mossy"), Demo((THIRD,), "r", 0), Demo((WIDE,), "g", 1))
    imaged = (Option("r", "red", (SECOND,)), Option("b"), Option("g", "C", (WIDE, THIRD)))
    assert people_parts(replace(VIEW, support=support, options=imaged), "Which one?") == (
        "Example of A:", THIRD, "Example of C:", SECOND, "Example of C:", WIDE, "Last image:", WIDE,
        "A:", SECOND, "C:", WIDE, THIRD, "Which one?",
    )  # fmt: skip
    assert people_parts(replace(VIEW, support=support[:2]), "?", captions=True) == (
        "Example of A:", THIRD, "Example of C: mossy", SECOND, "Last image:", WIDE, "?",
    )  # fmt: skip
    several = replace(VIEW, query=(WIDE, SECOND), support=support[1:2])
    assert people_parts(several, "?") == ("Example of A:", THIRD, "Image 1:", WIDE, "Image 2:", SECOND, "?")
    assert people_parts(VIEW, "?") == (WIDE, "?")
