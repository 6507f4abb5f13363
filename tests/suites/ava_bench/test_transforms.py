"""Boxes under padding, drawn boxes, the numbers in which boxes are answered, and cut-outs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from snellen.core.condition import parse_conditions
from snellen.core.errors import SnellenError
from snellen.core.item import Box, Mark, Media, Option, ReplySpec, View
from snellen.core.storage.media import MediaFolder
from snellen.core.storage.runfolder import kind_by_name
from snellen.core.subject import SubjectCard
from snellen.core.suite import Suite, SuiteCard, ViewContext, settle
from snellen.presentation.box_units import UnitFrame
from snellen.scoring.answers import read_answer
from snellen.suites.ava_bench.abilities import ABILITIES
from snellen.suites.ava_bench.items import VERSION
from snellen.suites.ava_bench.prompts import target
from snellen.suites.ava_bench.tasks import AXES, resolve
from snellen.suites.ava_bench.transforms import (
    PADDING_RGB,
    Boxed,
    Cut,
    Labelled,
    Marked,
    Padded,
    boxes_of,
    line_px,
)
from tests.suites.ava_bench.fixtures import HEIGHT, TASK_BY_NAME, WIDTH, one_of_each

RNG = np.random.default_rng(0)
PALE = (200, 210, 220)
CARD = SuiteCard(name="ava-bench", title="", measures="", paper="", version=VERSION, counts={})
SUITE = Suite(CARD, AXES, TASK_BY_NAME, {}, resolve)

INSIDE = ("object", "colour", "ocr", "emotion")


def view_of(*images: Media) -> View:
    return View("one", "one", "localization", "?", images, ReplySpec("box"))


def patched(media: MediaFolder, size: tuple[int, int], box: Box) -> Media:
    """A pale image that is black inside the box of whole pixels."""
    pixels = np.full((size[1], size[0], 3), PALE, np.uint8)
    x1, y1, x2, y2 = map(int, box)
    pixels[y1:y2, x1:x2] = 0
    return media.add_image(Image.fromarray(pixels))


def pixels_of(view: View, media: MediaFolder) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    return np.array(media.open(view.query[0]))


sizes = st.tuples(st.integers(2, 40), st.integers(2, 40))


@st.composite
def images_with_a_box(draw: st.DrawFn) -> tuple[tuple[int, int], Box]:
    width, height = draw(sizes)
    x1, y1 = draw(st.integers(0, width - 1)), draw(st.integers(0, height - 1))
    return (width, height), (x1, y1, draw(st.integers(x1 + 1, width)), draw(st.integers(y1 + 1, height)))


@given(images_with_a_box())
@settings(max_examples=60, deadline=None)
def test_a_box_is_mapped_through_padding_and_back(
    tmp_path_factory: pytest.TempPathFactory, size_and_box: tuple[tuple[int, int], Box]
) -> None:
    (width, height), box = size_and_box
    media = MediaFolder(tmp_path_factory.mktemp("m"))
    view = UnitFrame()(Padded()(view_of(patched(media, (width, height), box)), media, RNG), media, RNG)
    pixels = pixels_of(view, media)
    assert pixels.shape[0] == pixels.shape[1] == max(width, height)
    # The black pixels are the box, wherever padding has moved it.
    rows, columns = np.nonzero((pixels == 0).all(axis=2))
    black_box = (columns.min(), rows.min(), columns.max() + 1, rows.max() + 1)
    frame = view.reply.frame
    assert frame is not None
    assert frame.box(box) == pytest.approx([side / max(width, height) for side in black_box])
    assert read_answer(view.reply.write(box), view.reply) == pytest.approx(box, abs=1e-4)
    assert (pixels == PADDING_RGB).all(axis=2).sum() == max(width, height) ** 2 - width * height


def test_a_wide_image_by_hand(tmp_path: Path) -> None:
    # 40 x 20 becomes 40 x 40 with 10 rows above: y = 10 of the stored image is 20 of 40 in the square.
    media = MediaFolder(tmp_path)
    view = UnitFrame()(Padded()(view_of(patched(media, (40, 20), (4, 10, 8, 20))), media, RNG), media, RNG)
    assert view.reply.frame is not None
    assert view.reply.frame.box((4, 10, 8, 20)) == pytest.approx((0.1, 0.5, 0.2, 0.75))
    assert target(view.reply, [4, 10, 8, 20]) == "[0.10, 0.50, 0.20, 0.75]"
    assert read_answer("[0.10, 0.50, 0.20, 0.75]", view.reply) == pytest.approx((4, 10, 8, 20))
    square = patched(media, (8, 8), (0, 0, 1, 1))
    assert Padded()(view_of(square), media, RNG).query == (square,)


def test_lines_are_outside_the_box_also_after_padding(tmp_path: Path) -> None:
    media, box = MediaFolder(tmp_path), (20.0, 10.0, 60.0, 30.0)
    plain = Padded()(view_of(patched(media, (100, 50), box)), media, RNG)
    view = Boxed({"red": box})(plain, media, RNG)
    pixels, line = pixels_of(view, media), line_px(100, 100)
    red = (pixels == (255, 0, 0)).all(axis=2)
    rows, columns = np.nonzero(red)
    # 25 rows of padding: the box is at 35..55, with lines of 2 pixels around it.
    assert line == 2
    assert (columns.min(), rows.min(), columns.max(), rows.max()) == (18, 33, 61, 56)
    assert red.sum() == 44 * 24 - 40 * 20
    assert (pixels[35:55, 20:60] == 0).all()
    assert view.query[0].stored_sha256 == plain.query[0].stored_sha256
    assert view.query[0].from_stored == plain.query[0].from_stored


@pytest.mark.parametrize("size", [(100, 50), (31, 48), (40, 40)])
def test_padding_and_boxes_in_one_step_equal_two_steps(tmp_path: Path, size: tuple[int, int]) -> None:
    media, box = MediaFolder(tmp_path), (5.0, 10.0, 20.0, 30.0)
    stored = view_of(patched(media, size, box))
    (one_step,) = Boxed({"red": box}, padded=True)(stored, media, RNG).query
    (two_steps,) = Boxed({"red": box})(Padded()(stored, media, RNG), media, RNG).query
    assert (one_step.sha256, one_step.width, one_step.height) == (two_steps.sha256, max(size), max(size))
    assert (one_step.from_stored, one_step.stored_sha256) == (two_steps.from_stored, stored.query[0].sha256)
    (bare,) = Boxed({"red": box})(stored, media, RNG).query
    assert (bare.sha256 == one_step.sha256) == (size == (40, 40))


def test_two_boxes_and_one_at_the_edge(tmp_path: Path) -> None:
    media = MediaFolder(tmp_path)
    view = view_of(patched(media, (40, 40), (0, 0, 10, 10)))
    pixels = pixels_of(Boxed({"red": (0, 0, 10, 10), "blue": (20, 20, 30, 30)})(view, media, RNG), media)
    assert tuple(pixels[10, 0]) == tuple(pixels[0, 11]) == (255, 0, 0)
    assert tuple(pixels[19, 25]) == tuple(pixels[31, 31]) == (0, 0, 255)
    assert (pixels[0:10, 0:10] == 0).all()
    assert (pixels[20:30, 20:30] == PALE).all()
    assert [line_px(*size) for size in ((10, 20), (640, 480), (1000, 2560))] == [2, 5, 20]


def test_boxes_are_drawn_only_if_the_item_has_them() -> None:
    items = one_of_each()
    boxes_by_task = {task: tuple(boxes_of(ABILITIES[task].boxes, item.regions)) for task, item in items.items()}
    assert {task: names for task, names in boxes_by_task.items() if names} == {
        "spatial": ("red", "blue"), "absolute-depth": ("red",), "relative-depth": ("red", "blue"), "object": ("red",),
        "colour": ("red",), "ocr": ("red",), "emotion": ("red",),
    }  # fmt: skip
    assert boxes_of(("red", "blue"), {}) == {}
    with pytest.raises(SnellenError, match="a box or point is asked for in one"):
        UnitFrame()(view_of(), MediaFolder(Path()), RNG)


def test_options_are_written_with_their_label_and_read_in_all_forms() -> None:
    media = MediaFolder(Path())
    spatial = Labelled("letters")(one_of_each()["spatial"].view(), media, RNG).reply
    assert spatial.write("Left below") == "B. Left below"
    texts = ("B. Left below", "B", "left below", "(B) Left below", "The answer is B.")
    assert [read_answer(text, spatial) for text in texts] == ["Left below"] * 5
    turned = Labelled("numbers")(one_of_each()["orientation"].view(), media, RNG).reply
    assert turned.write("back left") == "6. back left"
    texts = ("6. back left", "6", "back left", "It is seen from the back left.", "6. left")
    assert [read_answer(text, turned) for text in texts] == ["back left"] * 4 + [None]
    depth = Labelled("letters")(one_of_each()["absolute-depth"].view(), media, RNG).reply
    metres = ("B. 4-5", "4-5", "B", "about 4-5 meters", "4.5", "C. 4-5")
    assert [read_answer(text, depth) for text in metres] == ["4-5"] * 4 + [None] * 2


def test_a_text_that_is_another_options_label_is_read_as_the_label() -> None:
    """Capital or not: as a text, `a` would name the second option, and the first as its label."""
    options = Option("first", "b"), Option("second", "a")
    view = replace(one_of_each()["spatial"].view(), options=options)
    lettered = Labelled("letters")(view, MediaFolder(Path()), RNG).reply
    assert {read_answer(text, lettered) for text in ("A", "a", "(a)", "Answer: a", "A. b")} == {"first"}
    assert {read_answer(text, lettered) for text in ("B", "b", "(b)", "Answer: b", "B. a")} == {"second"}


def task_views(media: MediaFolder, subject: str, condition: str = "vanilla") -> dict[str, View]:
    """One view per task; the image is red in columns 10 to 49 and rows 20 to 59, the box of most items."""
    pixels = np.full((HEIGHT, WIDTH, 3), (0, 90, 200), np.uint8)
    pixels[20:60, 10:50] = (250, 0, 0)
    (point,) = parse_conditions(AXES, condition)
    point, views_by_task = settle(point, SUITE, SubjectCard(subject, **kind_by_name(subject))), {}
    for task, item in one_of_each(image=media.add_image(Image.fromarray(pixels))).items():
        views_by_task[task] = item.view()
        for transform in TASK_BY_NAME[task].transforms(item, ViewContext(point, [item])):
            views_by_task[task] = transform(views_by_task[task], media, np.random.default_rng(0))
    return views_by_task


def test_encoders_see_only_the_box(tmp_path: Path) -> None:
    media = MediaFolder(tmp_path)
    for task, view in task_views(media, "encoder:x").items():
        pixels = np.asarray(media.open(view.query[0]))
        assert (set(map(tuple, pixels.reshape(-1, 3).tolist())) == {(250, 0, 0)}) == (task in INSIDE), task
        if task in INSIDE:
            assert pixels.shape == (40, 40, 3)
            assert view.query[0].from_stored.box((10, 20, 50, 60)) == (0, 0, 40, 40)


def test_chat_models_see_the_whole_image(tmp_path: Path) -> None:
    media = MediaFolder(tmp_path)
    views = task_views(media, "chat:x")
    assert all(min(view.query[0].width, view.query[0].height) >= HEIGHT for view in views.values())
    forced = task_views(media, "chat:x", "look=box")["colour"]
    assert (forced.query[0].width, forced.query[0].height) == (40, 40)
    view = task_views(media, "encoder:x", "look=image")["colour"]
    assert view == views["colour"]


def test_marks_are_where_the_boxes_are_drawn(tmp_path: Path) -> None:
    media = MediaFolder(tmp_path)
    view = view_of(media.add_image(Image.new("RGB", (40, 20), PALE)))
    boxes: dict[str, Box] = {"red": (10, 5, 20, 15), "blue": (0, 0, 4, 4)}
    for transform in (Boxed(boxes, padded=True), Marked(boxes)):
        view = transform(view, media, RNG)
    # 40 x 20 in a square of 40: ten pixels lower.
    assert view.marks == (Mark("blue", (0, 10, 4, 14)), Mark("red", (10, 15, 20, 25)))
    pixels = pixels_of(view, media)
    assert pixels[15:25, 10:20].tolist() == np.full((10, 10, 3), PALE).tolist()
    assert pixels[14, 10:20].tolist() == [[255, 0, 0]] * 10, "the line is outside"


def test_marks_are_set_only_on_their_axis(tmp_path: Path) -> None:
    media = MediaFolder(tmp_path)
    assert not any(view.marks for view in task_views(media, "encoder:x").values())
    marked = {task for task, view in task_views(media, "encoder:x", "boxes=drawn,marks=queries").items() if view.marks}
    assert marked == {"spatial", "absolute-depth", "relative-depth"}, "the other tasks show only the inside of the box"
    image_views = task_views(media, "encoder:x", "boxes=drawn,marks=queries,look=image")
    assert {task for task, view in image_views.items() if view.marks} == {*INSIDE, *marked}
    assert image_views["colour"].marks == (Mark("red", (10.0, 20.0, 50.0, 60.0)),)
    for images in ("none", "grey", "shuffled"):
        views = task_views(media, "encoder:x", f"marks=queries,images={images}")
        assert not any(view.marks for view in views.values())


def test_cut_pixels_are_kept_completely(tmp_path: Path) -> None:
    media = MediaFolder(tmp_path)
    view = task_views(media, "chat:x", "images=original")["fine-grained"]
    (cut,) = Cut((10.6, 20.2, 12.1, 99.9))(view, media, np.random.default_rng(0)).query
    assert (cut.width, cut.height) == (3, 80)
    assert cut.origin == view.query[0].sha256
