"""Wordings and images under every axis, and the scores of ideal observers."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from snellen.analysis.grading.results import results
from snellen.core.condition import parse_conditions
from snellen.core.item import Item, Media
from snellen.core.seeds import stream
from snellen.core.storage.itemset import ItemSet, write_itemset
from snellen.core.storage.media import MediaFolder
from snellen.core.storage.runfolder import kind_by_name
from snellen.core.subject import SubjectCard
from snellen.core.suite import Suite, SuiteCard, ViewContext, settle
from snellen.curated_sets.ava_bench.abilities import CURATIONS
from snellen.curated_sets.ava_bench.selection.candidates import Candidate, Origin
from snellen.datasets.image_files import ImageFile
from snellen.runs.asking.ask import ask
from snellen.runs.planning.plan import Plan
from snellen.runs.scores.score import score
from snellen.subjects.fakes import make_fake
from snellen.suites.ava_bench.abilities import ABILITIES
from snellen.suites.ava_bench.abilities.colour import colour_item
from snellen.suites.ava_bench.abilities.counting import counting_item
from snellen.suites.ava_bench.abilities.localization import localization_item
from snellen.suites.ava_bench.abilities.ocr import ocr_item
from snellen.suites.ava_bench.free_answer_chance import with_chance
from snellen.suites.ava_bench.items import VERSION, ItemSource
from snellen.suites.ava_bench.tasks import AXES, presented, resolve
from snellen.towers.conversations import learner_condition, solved_examples
from tests.helpers.journey import arm
from tests.suites.ava_bench.fixtures import ATOMIC, HEIGHT, TASK_BY_NAME, WIDTH, item_source, one_of_each

CARD = SuiteCard(name="ava-bench", title="", measures="", paper="", version=VERSION, counts={})
SUITE = Suite(CARD, AXES, TASK_BY_NAME, {}, resolve)
PERFECT = {"accuracy": 1, "anls": 1, "anls_05": 1, "giou": 1, "mae_over_gt": 0, "ciede2000": 0}
FORM = "Answer with one of these options, exactly as it is written, and nothing else."


def image(media: MediaFolder, n: int) -> Media:
    return media.add_image(Image.fromarray(np.full((HEIGHT, WIDTH, 3), (n, 90, 200), np.uint8)))


def wording(item: Item, media: MediaFolder, condition: str, name: str = "own:x") -> str:
    """The wording of an item under a condition, for a subject of this name."""
    (point,) = parse_conditions(AXES, condition)
    point = settle(point, SUITE, SubjectCard(name, **kind_by_name(name)))
    view = item.view()
    for transform in TASK_BY_NAME[item.task].transforms(item, ViewContext(point, [item])):
        view = transform(view, media, np.random.default_rng(0))
    sent_image, words = presented(ABILITIES[view.task], point)(view)
    assert isinstance(sent_image, Media)
    assert isinstance(words, str)
    return words


def test_wordings(tmp_path: Path) -> None:
    media = MediaFolder(tmp_path)
    items = one_of_each(image=image(media, 1))
    spatial = (
        "Considering the relative positions of two objects in the image, where is the bicycle (red box) located with "
        "respect to the towel (blue box)? Choose from A. Left above, B. Left below, C. Right above, D. Right below."
    )
    assert wording(items["spatial"], media, "format=paper,boxes=drawn") == spatial
    assert wording(items["spatial"], media, "boxes=drawn") == f"{spatial}\n{FORM}"
    assert wording(items["spatial"], media, "boxes=drawn,prompt=minimal") == spatial
    assert wording(items["spatial"], media, "boxes=drawn,prompt=short") == f"{spatial}\nAnswer with one option."
    assert wording(items["orientation"], media, "format=paper") == (
        "What is the orientation of the toy bus in the image? Choose one from below: 1. front, 2. front right, "
        "3. right, 4. back right, 5. back, 6. back left, 7. left, 8. front left, 9. top"
    )
    assert wording(items["emotion"], media, "format=paper") == (
        "What emotion is being shown in the image? 1. happy, 2. sad, 3. angry, 4. fear, 5. surprise, 6. neutral, "
        "7. disgust."
    )
    question = wording(items["colour"], media, "vanilla")
    assert question == (
        "What color is shown within the bounding box?\nAnswer with [R, G, B] and nothing else: red, green and blue, "
        "each a whole number from 0 to 255 (sRGB)."
    )


def test_boxes_are_left_out_where_they_reveal_the_answer(tmp_path: Path) -> None:
    media = MediaFolder(tmp_path)
    items = one_of_each(image=image(media, 1), known=True)
    unmarked = (
        "Considering the relative positions of two objects in the image, where is the bicycle located with respect to "
        "the towel? Choose from A. Left above, B. Left below, C. Right above, D. Right below."
    )
    assert wording(items["spatial"], media, "format=paper") == unmarked
    assert wording(items["spatial"], media, "format=paper,boxes=none") == unmarked
    assert "(red box)" in wording(items["spatial"], media, "vanilla", "head:towers/clip")
    assert wording(items["relative-depth"], media, "format=paper") == (
        "Which object is closer to the camera, the object (red box) or the object (blue box) to the camera? Choose one "
        "option from below: 1. red, 2. blue"
    )
    assert wording(items["relative-depth"], media, "format=paper,boxes=none") == (
        "Which object is closer to the camera, the car or the cyclist to the camera? Choose one option from below: "
        "1. car, 2. cyclist"
    )
    assert "closest point of the car is from" in wording(items["absolute-depth"], media, "format=paper,boxes=none")


@pytest.mark.parametrize(
    ("name", "condition", "is_known", "tasks_asked"),
    [
        ("own:x", "vanilla", True, ["spatial", "relative-depth", "absolute-depth", "object"]),
        ("own:x", "boxes=none", True, ["spatial", "relative-depth", "absolute-depth"]),
        ("own:x", "boxes=none", False, ["spatial"]),
        ("encoder:x", "vanilla", True, ["relative-depth", "absolute-depth", "object"]),
        ("encoder:x", "boxes=drawn", True, ["spatial", "relative-depth", "absolute-depth", "object"]),
        ("encoder:x", "boxes=none", True, []),
    ],
)
def test_items_without_boxes_are_asked_by_their_names(
    tmp_path: Path, name: str, condition: str, is_known: bool, tasks_asked: list[str]
) -> None:
    """Names are only sure to be unique in generated items, and in spatial; encoders do not read them."""
    items = one_of_each(image=image(MediaFolder(tmp_path), 1), known=is_known)
    point = settle(parse_conditions(AXES, condition)[0], SUITE, SubjectCard(name, **kind_by_name(name)))
    tasks = ("spatial", "relative-depth", "absolute-depth", "object")
    assert [task for task in tasks if TASK_BY_NAME[task].asks(items[task], point)] == tasks_asked


def test_heads_are_asked_as_in_the_paper_and_others_get_the_answer_format(tmp_path: Path) -> None:
    media = MediaFolder(tmp_path)
    item = one_of_each(image=image(media, 1))["counting"]
    bare = "How many apples are in the image?"
    assert wording(item, media, "vanilla", "head:towers/clip") == bare
    assert wording(item, media, "vanilla", "chat:own/head") == f"{bare}\nAnswer with one whole number and nothing else."
    assert wording(item, media, "format=with-format", "head:towers/clip") != bare
    (point,) = parse_conditions(AXES, "vanilla")
    assert resolve(point, SubjectCard("own:x", attributes={"format": "paper"}))["format"] == "paper"


def test_a_question_that_lists_its_options_is_unchanged(tmp_path: Path) -> None:
    media = MediaFolder(tmp_path)
    item = one_of_each(image=image(media, 1))["texture"]
    listed = Item(
        **{**vars(item), "question": "What texture? Choose one from below: 1. banded, 2. blotchy, 3. veined."}
    )
    assert wording(listed, media, "format=paper") == listed.question
    (point,) = parse_conditions(AXES, "order=shuffled")
    assert [TASK_BY_NAME["texture"].asks(candidate, point) for candidate in (item, listed)] == [True, False]


def test_tasks_with_square_images_and_with_boxes(tmp_path: Path) -> None:
    media = MediaFolder(tmp_path)
    (point,) = parse_conditions(AXES, "format=paper,boxes=drawn")
    square, boxed = set[str](), set[str]()
    for name, item in one_of_each(image=image(media, 1)).items():
        view = item.view()
        for transform in TASK_BY_NAME[name].transforms(item, ViewContext(point, [item])):
            view = transform(view, media, np.random.default_rng(0))
        (sent_image,) = view.query
        pixels = np.array(media.open(sent_image)).reshape(-1, 3)
        square |= {name} if sent_image.width == sent_image.height else set()
        boxed |= {name} if (pixels == (255, 0, 0)).all(axis=1).any() else set()
        assert (view.reply.frame is not None) == (name == "localization")
    assert square == {"localization", "object", "absolute-depth", "relative-depth"}
    assert boxed == {"spatial", "absolute-depth", "relative-depth", "object", "colour", "ocr", "emotion"}


def varied(root: Path, n: int = 12) -> ItemSet:
    """A set of `n` items per task whose free answers all differ."""
    media, items = MediaFolder(root / "media"), list[Item]()
    for k in range(n):
        fields = {"image": image(media, k), "known": True}
        items += [item for name, item in one_of_each(f"{k:02}", **fields).items() if ABILITIES[name].has_options]
        source, box = item_source(f"{k:02}", **fields), (10.0 * k, 5.0 * k, 10.0 * k + 40, 5.0 * k + 30)
        items += [
            localization_item(source, "bicycle", box),
            counting_item(source, "apples", k + 1),
            colour_item(source, box, (20 * k, 9, 255 - 20 * k)),
            ocr_item(source, box, "ABCDEFGHIJKL"[k] * 4),
        ]
    return write_itemset(root, with_chance(items), source="generated", recipe={"seed": 0})


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> ItemSet:
    return varied(tmp_path_factory.mktemp("varied"))


def examined(built: ItemSet, root: Path, fake: str, *conditions: str) -> pd.DataFrame:
    arms = [arm(make_fake(fake, {}, built.items), SUITE, condition) for condition in conditions]
    responses = ask(root, Plan(built, SUITE, arms))
    rows = results(score(responses, built, SUITE), built, SUITE, [])
    return rows[rows["factor"] == ""].set_index(["condition", "task", "metric"])


def test_the_oracle_is_perfect_with_images_and_at_chance_without(built: ItemSet, tmp_path: Path) -> None:
    rows = examined(built, tmp_path, "oracle", "vanilla", "format=paper", "prompt=minimal", "images=none")
    for key, value in rows["value"].items():
        condition, _, metric = cast(tuple[str, str, str], key)
        if condition != "images=none":
            assert value == pytest.approx(PERFECT[metric], abs=1e-4)
        else:
            assert value != pytest.approx(PERFECT[metric], abs=0.05)
    blind = rows.loc["images=none"]
    assert ((blind["low"] <= blind["chance"]) & (blind["chance"] <= blind["high"])).mean() > 0.8
    assert not rows["chance"].isna().any()


@pytest.mark.parametrize("dimension", ["colour", "depth", "number"])
def test_a_blind_observer_fails_exactly_the_tasks_of_its_dimension(
    built: ItemSet, tmp_path: Path, dimension: str
) -> None:
    rows = examined(built, tmp_path, f"blind-to={dimension}", "vanilla").loc["vanilla"]
    values = [(cast(tuple[str, str], key), value) for key, value in rows["value"].items()]
    failed = {task for (task, metric), value in values if abs(value - PERFECT[metric]) > 1e-4}
    assert failed == {task for task in ATOMIC if ABILITIES[task].requires[0] == dimension}


def test_shuffled_options_keep_their_answer(built: ItemSet, tmp_path: Path) -> None:
    rows = examined(built, tmp_path, "oracle", "order=shuffled")
    assert set(rows.index.get_level_values("task")) == {task for task in ATOMIC if ABILITIES[task].has_options}
    assert (rows.loc[(slice(None), slice(None), "accuracy"), "value"] == 1).all()


def test_the_oracle_is_perfect_without_boxes(built: ItemSet, tmp_path: Path) -> None:
    rows = examined(built, tmp_path, "oracle", "boxes=none")
    assert set(rows.index.get_level_values("task")) == {"spatial", "relative-depth", "absolute-depth"}
    assert (rows.loc[(slice(None), slice(None), "accuracy"), "value"] == 1).all()


def test_every_curated_ability_is_asked_learned_and_scored_at_real_size(tmp_path: Path) -> None:
    """500 classes and 72 bins; of absolute depth, whose options have letters, 26 bins stay in order."""
    shot, near, far = image(MediaFolder(tmp_path / "media"), 9), (9.0, 9, 50, 60), (99.0, 70, 120, 90)
    bins, classes = tuple(f"{n}-{n + 1}" for n in range(8, 80)), [f"class {n}" for n in range(500)]
    truth = {
        "name": "class 7", "among": classes, "box": near, "depth_m": 70.5, "bins": bins, "group": "birds",
        "rgb": (1, 2, 3), "count": 40, "things": "apples", "emotion": "sad", "thing": "toy bus", "orientation": "left",
        "text": "STOP", "red": "car", "blue": "bus", "red_box": near, "blue_box": far,
        "names": ("car", "bus"), "boxes": (near, far), "depths_m": (9.0, 8.0),
    }  # fmt: skip
    candidate = Candidate(Origin("KITTI", "a", ImageFile(Path("a")), "made"), "car", "", truth)
    sources: list[Any] = [ItemSource(split, shot, split, "KITTI", split=split) for split in ("train", "test")]
    makers = [curation.make_item for curation in CURATIONS.values()]
    items = [make_item(candidate, source, stream("made")) for make_item in makers for source in sources]
    built = write_itemset(tmp_path, items, source="curated", recipe={})
    responses = ask(tmp_path / "run", Plan(built, SUITE, [arm(make_fake("oracle", {}, items), SUITE)]))
    assert {response.status for response in responses} == {"ok"}
    assert set(score(responses, built, SUITE)["outcome"]) == {"answered"}
    for item in items:
        assert solved_examples([item], SUITE.tasks[item.task], learner_condition(SUITE), items, built.media)
    counts = {item.task: len(item.options) for item in items if len(item.options) > 9}
    large = {"object": 500, "fine-grained": 500, "texture": 500, "action": 100, "scene": 30}
    assert counts == {"absolute-depth": 26, **large}
    offered = [option.text for item in items if item.task == "absolute-depth" for option in item.options][:26]
    assert "70-71" in offered
    assert offered == sorted(offered, key=bins.index)
