"""From plain truth to items: answers, bins and refusals."""

from __future__ import annotations

import pytest

from snellen.core.errors import SnellenError
from snellen.suites.ava_bench import prompts
from snellen.suites.ava_bench.abilities import ABILITIES
from snellen.suites.ava_bench.abilities.absolute_depth import absolute_depth_item
from snellen.suites.ava_bench.abilities.colour import colour_item
from snellen.suites.ava_bench.abilities.counting import counting_item
from snellen.suites.ava_bench.abilities.ocr import ocr_item
from snellen.suites.ava_bench.abilities.relative_depth import relative_depth_item
from snellen.suites.ava_bench.abilities.scene import scene_item
from snellen.suites.ava_bench.abilities.spatial import position, spatial_item
from snellen.suites.ava_bench.items import bin_middle, depth_bin
from tests.suites.ava_bench.fixtures import ATOMIC, item_source, one_of_each

BOX = (10, 20, 50, 60)


def test_every_task_makes_one_question_with_its_answer() -> None:
    items = one_of_each()
    assert tuple(items) == ATOMIC
    assert {task: item.answer for task, item in items.items()} == {
        "localization": (10.0, 20.0, 50.0, 60.0), "counting": 7, "spatial": "Left above", "orientation": "front left",
        "absolute-depth": "4-5", "relative-depth": "blue", "object": "airport", "fine-grained": "Agarica",
        "colour": (232, 9, 10), "texture": "veined", "ocr": "STOP", "action": "boxing", "emotion": "sad",
        "scene": "Lawn",
    }  # fmt: skip
    for task, item in items.items():
        assert item.answer_kind == ABILITIES[task].kind
        assert bool(item.options) == (item.answer_kind == "choice")
        assert tuple(item.regions) == (("box",) if task == "localization" else ABILITIES[task].boxes)
        assert not item.latent
        assert not item.requires


def test_the_bins_of_the_paper() -> None:
    items = one_of_each()
    levels = {(task, name): level for task, item in items.items() for name, level in item.factors.items()}
    # 40 x 40 of 200 x 100 pixels is 0.08; 7 is in 6-10; the middle of 4-5 in 0-5 m; STOP has four letters.
    assert levels["localization", "box_size"] == "0-0.1"
    assert levels["counting", "count_range"] == "6-10"
    assert levels["absolute-depth", "depth_range"] == "0-5 m"
    assert levels["ocr", "text_length"] == "1-5"
    ranges = [counting_item(item_source(), "cups", n).factors["count_range"] for n in (5, 6, 10, 11, 20, 21, 40)]
    assert ranges == ["1-5", "6-10", "6-10", "11-20", "11-20", "21-40", "21-40"]
    assert [depth_bin(m) for m in (0.0, 3.999, 4.0, 30.5)] == ["0-1", "3-4", "4-5", "30-31"]
    assert [bin_middle(name) for name in ("0-1", "4-5", "30-31")] == [0.5, 4.5, 30.5]


@pytest.mark.parametrize(
    ("red", "expected"),
    [
        ((0, 0, 40, 30), "Left above"),
        ((0, 60, 40, 80), "Left below"),
        ((60, 0, 90, 30), "Right above"),
        ((60, 60, 90, 80), "Right below"),
    ],
)
def test_the_four_positions(red: tuple[float, ...], expected: str) -> None:
    assert position(item_source(), red, (40, 30, 60, 60)) == expected


def test_items_have_at_least_two_possible_worlds() -> None:
    for task, item in one_of_each(known=True).items():
        worlds = item.latent["worlds"]
        assert item.requires == (ABILITIES[task].requires[0],)
        assert worlds[0]["answer"] == (list(item.answer) if isinstance(item.answer, tuple) else item.answer)
        assert all(world["answer"] != item.answer for world in worlds[1:])
        assert len(worlds) == max(2, len(item.options))
        assert {dimension for world in worlds for dimension in world["look"]} == {ABILITIES[task].requires[0]}
        assert len({world["look"][ABILITIES[task].requires[0]] for world in worlds}) == len(worlds)


def test_items_that_the_paper_leaves_out_are_refused() -> None:
    source = item_source()
    with pytest.raises(SnellenError, match="not 1 to 40"):
        counting_item(source, "apples", 41)
    with pytest.raises(SnellenError, match="share columns or rows"):
        spatial_item(source, "cup", "mug", BOX, (40, 80, 60, 90))
    with pytest.raises(SnellenError, match=r"differ by less than 0\.5 m"):
        relative_depth_item(source, ("car", "van"), (BOX, BOX), (8.0, 8.4), "outdoor")
    with pytest.raises(SnellenError, match="must be among its options"):
        absolute_depth_item(source, "car", BOX, depth_m=7.0, bins=("3-4",), scene_type="indoor")
    with pytest.raises(SnellenError, match="without duplicates"):
        scene_item(source, "Lawn", ("Lawn", "Lawn"))
    with pytest.raises(SnellenError, match="not an sRGB colour"):
        colour_item(source, BOX, (0, 256, 0))
    with pytest.raises(SnellenError, match="the text in its box is empty"):
        ocr_item(source, BOX, " ")
    for name in ("far", "", "4", "nan-5", "0-1e999", "x" * 100_000):
        with pytest.raises(SnellenError, match="not a bin of depths") as caught:
            bin_middle(name)
        assert len(str(caught.value)) < 120


def test_questions_are_those_of_table_1() -> None:
    questions = {task: item.question for task, item in one_of_each().items()}
    assert questions == {
        "counting": "How many apples are in the image?",
        "localization": "Provide bounding box coordinate for bicycle.",
        "fine-grained": "What species of fungi is in the image?",
        "ocr": "What is written in the red bounding box in the image?",
        "absolute-depth": "From the camera's perspective, estimate how far the closest point of the car (red box) is "
        "from the camera in real-world distance, in meters.",
        "relative-depth": "Which object is closer to the camera, the car (red box) or the cyclist (blue box) to the "
        "camera?",
        "orientation": "What is the orientation of the toy bus in the image?",
        "spatial": "Considering the relative positions of two objects in the image, where is the bicycle (red box) "
        "located with respect to the towel (blue box)?",
        "object": "What is in the red bounding box in the image?",
        "scene": "What is the scene class of the image?",
        "action": "Which action or activity is shown in the image?",
        "texture": "What is the texture attribute of image?",
        "colour": "What color is shown within the bounding box?",
        "emotion": "What emotion is being shown in the image?",
    }
    assert not any(map(prompts.lists_options, questions.values()))
    assert prompts.without_marks(questions["spatial"], {}).endswith(
        "where is the bicycle located with respect to the towel?"
    )


@pytest.mark.parametrize(
    ("task", "names", "printed"),
    [
        ("spatial", ("A. Left above", "D. Right below"), "Choose from A. Left above, D. Right below."),
        ("texture", ("1. banded", "2. blotchy"), "Choose one from below: 1. banded, 2. blotchy."),
        ("object", ("1. airport", "2. x"), "Choose from the following option: 1. airport, 2. x"),
        ("emotion", ("1. happy", "2. sad"), "1. happy, 2. sad."),
        ("absolute-depth", ("A. 1-2", "B. 2-3"), "Select the best answer from the options below: A. 1-2, B. 2-3"),
        ("relative-depth", ("1. red", "2. blue"), "Choose one option from below: 1. red, 2. blue"),
    ],
)
def test_options_are_listed_as_in_the_appendix(task: str, names: tuple[str, ...], printed: str) -> None:
    assert prompts.list_options(ABILITIES[task].options_wording, names) == printed
    assert prompts.lists_options(f"What? {printed}")
