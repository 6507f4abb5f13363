"""The prompts: wordings by condition, dots, crops, frames, one laid-out image."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from snellen.core.annotations import Annotations
from snellen.core.condition import parse_conditions
from snellen.core.errors import SnellenError
from snellen.core.item import Media, Montage
from snellen.core.storage.itemset import ItemSet
from snellen.core.storage.media import MediaFolder
from snellen.core.subject import SubjectCard
from snellen.core.suite import ViewContext, settle
from snellen.curated_sets.steps import write_step
from snellen.curated_sets.vlm2_bench.zoom import ZOOM
from snellen.curation.results import read_table
from snellen.exam.run import run
from snellen.runs.asking.preview import Call, first_calls
from snellen.suites import SUITES
from snellen.suites.vlm2_bench import prompts, visual_prompts
from snellen.suites.vlm2_bench.items import group_options
from snellen.suites.vlm2_bench.tasks import presenter, resolve, wording
from snellen.suites.vlm2_bench.visual_prompts import DotGrid, best_box, whole_pixels, zoom

SUITE = SUITES.get("vlm2-bench")
SOMEONE = SubjectCard("someone")


def calls(small: ItemSet, tmp_path: Path, text: str, card: SubjectCard = SOMEONE) -> dict[str, Call]:
    """The first call of each task under a condition."""
    (point,) = parse_conditions(SUITE.axes, text)
    media = MediaFolder(tmp_path / "shown", small.media)
    return {call.task: call for call in reversed(list(first_calls(small, SUITE, point, card, media)))}


def words(call: Call) -> str:
    return "\n".join(part for part in call.prompt.parts if isinstance(part, str))


def images(call: Call) -> list[Media]:
    return [part for part in call.prompt.parts if isinstance(part, Media)]


def test_the_wording_is_that_of_the_paper(small: ItemSet, tmp_path: Path) -> None:
    texts = {task: words(call) for task, call in calls(small, tmp_path, "vanilla").items()}
    assert texts["oc-cpr"] == (
        "Judge the following statement based on the images: 'The objects in these images are the same object.' Provide "
        "only one correct answer: 'T' (True) or 'F' (False). Respond with either 'T' or 'F'."
    )  # Table 6
    assert texts["oc-cnt"].endswith("The Question is: How many different objects are there in the input images?")
    group = next(item for item in small.task("oc-grp") if item.split == "test")
    listed = "; ".join(f"{letter}) {option.text}" for letter, option in zip("ABCD", group.options, strict=True))
    assert texts["oc-grp"].endswith(f"Which images show the same object in the input images? Choices: {listed}.")
    assert texts["gc-trk"].startswith("Is the answer '")
    assert prompts.TRACK in texts["gc-trk"]
    for call in calls(small, tmp_path, "vanilla").values():
        assert isinstance(call.prompt.parts[-1], str), "images first, then the words, as the authors' scripts send them"


def test_methods_are_asked_only_in_their_tasks(small: ItemSet, tmp_path: Path) -> None:
    assert set(calls(small, tmp_path, "method=cot-special")) == {"gc-mat", "gc-trk"}
    assert set(calls(small, tmp_path, "visual_prompt=vp-grid")) == {"gc-mat", "gc-trk"}
    assert set(calls(small, tmp_path, "visual_prompt=vp-zoom-o")) == {"oc-cpr", "oc-cnt", "oc-grp"}
    assert set(calls(small, tmp_path, "method=cot")) == {"gc-mat", "gc-trk", "oc-cpr", "oc-cnt", "oc-grp"}
    assert set(calls(small, tmp_path, "frames=8")) == {"oc-vid"}
    crossed = words(calls(small, tmp_path, "method=cot,visual_prompt=vp-grid,images=grey")["gc-mat"])
    assert (
        crossed.index(prompts.FORM_OF_CUE) < crossed.index("matrix with dimensions 6 by 6") < crossed.index(prompts.COT)
    )


def test_short_and_minimal_prompts_leave_out_the_rules(small: ItemSet, tmp_path: Path) -> None:
    short, minimal = (words(calls(small, tmp_path, f"prompt={prompt}")["oc-cpr"]) for prompt in ("short", "minimal"))
    assert minimal == "The objects in these images are the same object."
    assert short == f"{minimal}\nAnswer T or F."
    assert words(calls(small, tmp_path, "prompt=minimal")["oc-grp"]).startswith("Which images show the same object")


def test_dots_are_in_rows_from_the_top_and_name_their_image(small: ItemSet, tmp_path: Path) -> None:
    sent = images(calls(small, tmp_path, "visual_prompt=vp-grid")["gc-mat"])
    media = MediaFolder(tmp_path / "shown", small.media)
    assert [image.stored_sha256 for image in sent] == [image.sha256 for image in small.task("gc-mat")[0].query]
    places = DotGrid().places(384, 288)
    assert len(places) == 36
    # Row 2, column 5 of six: x = 4.5 / 6 of the width, y = 1.5 / 6 of the height.
    assert places[10] == (2, 5, 288.0, 72.0)
    pixels = np.asarray(media.open(sent[0]))
    height, width = pixels.shape[:2]
    assert (pixels[height // 4, width * 3 // 4] == 0).all(), "the dot is black"
    enlarged = DotGrid().enlargement(small.task("gc-mat")[0].query[0].width, small.task("gc-mat")[0].query[0].height)
    assert width == enlarged * small.task("gc-mat")[0].query[0].width
    assert sent[0].from_stored.point(10, 20) == (10 * enlarged, 20 * enlarged)
    white, black = Image.new("RGB", (640, 480), "white"), Image.new("RGB", (640, 480), "black")
    for ground in (white, black):
        first, second = (np.asarray(DotGrid().draw(ground, t), int) for t in (1, 2))
        assert (first != np.asarray(ground)).any()
        assert (first != second).any(), "the label names the image"


@pytest.mark.parametrize("size", [(120, 90), (384, 288), (640, 480), (1600, 1200)])
@pytest.mark.parametrize("ground", ["noise", "shade"])
def test_labels_are_legible_at_any_size(size: tuple[int, int], ground: str) -> None:
    """Each label, even at half its size, resembles its own text most: commas and digits are legible."""
    grid, (width, height) = DotGrid(), size
    noise = np.random.default_rng(0).integers(60, 200, (height, width, 3))
    pixels = noise if ground == "noise" else np.linspace(20, 230, width)[None, :, None]
    labelled = grid.draw(Image.fromarray(np.broadcast_to(pixels, (height, width, 3)).astype(np.uint8)), 2)
    plain = grid.draw(Image.new("RGB", size, "grey"), 2)
    assert right_labels(labelled, plain) == 36


@pytest.mark.parametrize(("size", "font_px"), [((120, 90), 15), ((384, 288), 15), ((640, 480), 15), ((384, 288), 9)])
def test_digits_are_ten_pixels_high(size: tuple[int, int], font_px: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """By eye: at a font size of 9 pixels, whose digits are 7 high, commas vanish and 6 reads as 0."""
    monkeypatch.setattr(visual_prompts, "_MIN_FONT_PX", font_px)
    if font_px == 9:
        monkeypatch.setattr(DotGrid, "enlargement", lambda grid, width, height: 1)
    pixels = np.asarray(DotGrid().draw(Image.new("RGB", size, "grey"), 2).convert("L"), float)
    _, _, x, y = DotGrid().places(pixels.shape[1], pixels.shape[0])[14]
    label = pixels[round(y) + 5 : round(y) + 26, round(x) - 40 : round(x) + 40] < 70
    digit = np.flatnonzero(label[:, 37:43].any(axis=1))  # the middle one of (2,3,3)
    assert (int(np.ptp(digit)) + 1 >= 10) == (font_px == 15)


def right_labels(labelled: Image.Image, plain: Image.Image) -> int:
    """Of 36 labels at half their size, the number that is most similar to the same label on a plain ground."""
    strips, templates = (np.stack([label_pixels(image, n) for n in range(36)]) for image in (labelled, plain))
    similarity = np.corrcoef(strips, templates)[:36, 36:]
    return int((similarity.argmax(axis=1) == np.arange(36)).sum())


def label_pixels(image: Image.Image, number: int) -> Any:
    """The strip under a dot that contains its label, at half its size."""
    _, _, x, y = DotGrid().places(*image.size)[number]
    height = round(max(15, 0.03 * min(image.size))) + 6  # the text and its rim
    left, top = round(x - 2 * height), round(y + max(2, 0.006 * min(image.size)) + 1)
    strip = image.convert("L").crop((left, top, left + 4 * height, top + height))
    return np.asarray(strip.resize((2 * height, height // 2), Image.Resampling.BOX), float).ravel()


def test_crops_are_exact_and_map_back(small: ItemSet, tmp_path: Path) -> None:
    crops = images(calls(small, tmp_path, "visual_prompt=vp-zoom-o")["oc-cpr"])
    item = next(item for item in small.task("oc-cpr") if item.split == "test")
    media = MediaFolder(tmp_path / "shown", small.media)
    for stored, crop in zip(item.query, crops, strict=True):
        x1, y1, x2, y2 = whole_pixels(item.regions["boxes"][stored.sha256], stored)
        assert (crop.width, crop.height) == (x2 - x1, y2 - y1)
        assert crop.from_stored.point(x1, y1) == (0, 0)
        pixels = np.asarray(small.media.open(stored).convert("RGB"))
        assert (np.asarray(media.open(crop)) == pixels[y1:y2, x1:x2]).all()


def test_boxes_of_a_detector_become_a_table(small: ItemSet, tmp_path: Path) -> None:
    work = write_step(ZOOM, small, tmp_path / "zoom")
    linked = [item for item in small.items if item.task in ("oc-cpr", "oc-cnt", "oc-grp")]
    shas = {image.sha256 for item in linked for image in item.query}
    assert {item.query[0].sha256 for item in work.items} == shas, "every image once"
    run(work, ["fake:exact-boxes"], tmp_path / "boxes", show_progress=False)
    table = read_table("boxes", tmp_path / "boxes", small)
    assert table.author == "fake:exact-boxes"
    item = next(item for item in small.task("oc-cnt") if item.split == "test")
    for image in item.query:
        assert best_box(table.rows[item.item_id][image.sha256]) == tuple(item.regions["boxes"][image.sha256])
    done = run(
        small, ["fake:oracle"], tmp_path / "run", conditions=["visual_prompt=vp-zoom-o"],
        inputs={"boxes": tmp_path / "boxes"}, show_progress=False,
    )  # fmt: skip
    assert set(done.all_results().query("metric != 'alike_pairs'")["value"].dropna()) == {1.0}
    card = json.loads((tmp_path / "run" / "run.json").read_text())
    assert card["annotations"]["boxes"].startswith("fake:exact-boxes ")
    other = small.card.model_copy(update={"content_hash": "0" * 64})
    with pytest.raises(SnellenError, match="not made for"):
        read_table("boxes", tmp_path / "boxes", replace(small, card=other))


def test_an_empty_detection_gives_no_box_and_a_missing_one_is_an_error() -> None:
    assert best_box('{"boxes": []}') is None
    reply = '{"boxes": [{"box": [0, 0, 1, 1], "score": 0.2}, {"box": [1, 2, 3, 4], "score": 0.9}]}'
    assert best_box(reply) == (1, 2, 3, 4)
    with pytest.raises(SnellenError, match="not a JSON object with boxes"):
        best_box("a dog")
    with pytest.raises(SnellenError, match="not a JSON object with boxes"):
        best_box("[" * 5000)


def test_an_error_about_missing_boxes_states_how_to_get_them(small: ItemSet, tmp_path: Path) -> None:
    bare = [replace(item, regions={}) for item in small.items]
    without = replace(small, items=tuple(bare))
    with pytest.raises(SnellenError, match="--input boxes=ZR"):
        calls(without, tmp_path, "visual_prompt=vp-zoom-o")


def test_an_incomplete_table_is_refused(small: ItemSet, tmp_path: Path) -> None:
    item = next(item for item in small.task("oc-cpr") if item.split == "test")
    (point,) = parse_conditions(SUITE.axes, "visual_prompt=vp-zoom-o")
    table = Annotations("boxes", "someone", small.card.content_hash, {item.item_id: {}})
    media = MediaFolder(tmp_path / "shown", small.media)
    with pytest.raises(SnellenError, match="lacks image"):
        zoom(item, ViewContext(point, [item], {"boxes": table}))(item.view(), media, np.random.default_rng(0))


@pytest.mark.parametrize(
    ("card", "frames", "sheet"),
    [
        (SubjectCard("chat:qwen/qwen2.5-vl-7b"), "1fps", "separate"),
        (SubjectCard("chat:openai/gpt-4o"), "16", "separate"),
        (SubjectCard("chat:small", max_images=8), "8", "separate"),
        (SubjectCard("chat:one", max_images=1), "16", "single"),
        (SubjectCard("chat:said", attributes={"frames": "native"}), "native", "separate"),
    ],
)
def test_frames_and_sheet_follow_the_subject(card: SubjectCard, frames: str, sheet: str) -> None:
    (vanilla,) = parse_conditions(SUITE.axes, "vanilla")
    assert resolve(vanilla, card) == {"frames": frames, "sheet": sheet}
    (explicit,) = parse_conditions(SUITE.axes, "frames=8,sheet=separate")
    assert resolve(explicit, card) == {}
    assert "auto" not in settle(vanilla, SUITE, card).columns().values()


def test_one_image_subjects_get_one_sheet(small: ItemSet, tmp_path: Path) -> None:
    calls_by_task = calls(small, tmp_path, "vanilla", SubjectCard("chat:one", max_images=1))
    assert all(len(images(call)) == 1 for call in calls_by_task.values())
    assert len(images(calls(small, tmp_path, "vanilla")["oc-vid"])) == 16
    (video,) = images(calls(small, tmp_path, "frames=native")["oc-vid"])
    assert video.kind == "video"


@pytest.mark.parametrize(
    ("box", "pixels"),
    [
        ((0.4, 1.2, 2.1, 3.0), (0, 1, 3, 3)), ((-5, -5, 99, 99), (0, 0, 10, 8)), ((4, 4, 4, 4), (4, 4, 5, 5)),
        ((20, 20, 30, 30), (9, 7, 10, 8)),
    ],
)  # fmt: skip
def test_boxes_are_rounded_outwards_and_cut_to_at_least_a_pixel(box: Any, pixels: Any) -> None:
    assert whole_pixels(box, Media("0" * 64, "image", "png", 10, 8)) == pixels


def test_a_sheet_has_two_images_or_four_frames_in_a_row(small: ItemSet) -> None:
    (point,) = parse_conditions(SUITE.axes, "sheet=single")
    for task, count, columns in (("oc-cnt", 3, 2), ("oc-vid", 16, 4)):
        view = replace(small.task(task)[0].view(), query=(Media("0" * 64, "image", "png", 10, 8),) * count)
        page, _ = presenter(point)(view)
        assert page == Montage(view.query, columns, tuple(f"Image {n}" for n in range(1, count + 1)))
        assert isinstance(presenter(point)(replace(view, query=view.query[:1]))[0], Media)


@pytest.mark.parametrize("head", ["Choices: A)", "Options: A)", "options:\n(A)"])
def test_choices_inside_a_question_are_neither_repeated_nor_shuffled(small: ItemSet, head: str) -> None:
    item = small.task("oc-grp")[0]
    inline = replace(item, question=f"Which? {head} 1 and 3, B) None")
    vanilla, shuffled = (parse_conditions(SUITE.axes, text)[0] for text in ("vanilla", "order=shuffled"))
    assert wording(inline.view(), vanilla) == inline.question
    assert "Choices: " in wording(item.view(), vanilla)
    asks: Any = SUITE.tasks["oc-grp"].asks
    assert [asks(each, point) for each in (inline, item) for point in (vanilla, shuffled)] == [True, False, True, True]


def test_options_of_a_group_contain_the_answer_and_none() -> None:
    rng = np.random.default_rng(0)
    for count, answer in ((3, "1+3"), (3, "none"), (4, "1+2+4"), (4, "none")):
        keys = group_options(count, answer, rng)
        assert len(set(keys)) == 4
        assert {answer, "none"} <= set(keys)
