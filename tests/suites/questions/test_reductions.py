"""What each reduction does to pixels, and the items of a question: levels, blind orders, marked things."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from snellen.core.build_options import BuildOptions
from snellen.core.errors import SnellenError
from snellen.core.item import Item
from snellen.core.seeds import stream
from snellen.core.storage.itemset import ItemSet
from snellen.stimuli.video import write_video
from snellen.suites.questions import SUITE
from snellen.suites.questions.reduced.recipe import REDUCTIONS
from snellen.suites.questions.sizes import LEVELS, level_of
from tests.suites.questions.test_reduced import WORDS, write_table


def reduced(name: str, pixels: Any, share: float) -> np.ndarray[Any, Any]:
    image = Image.fromarray(np.asarray(pixels, np.uint8))
    return np.asarray(REDUCTIONS[name](image, share, stream("test", "reduction")), float)


def test_reductions_of_pixels() -> None:
    """Noise of 8 (1/s - 1) levels; half of a contrast; and noise of variance 1 is blurred to 1 / (4 pi 1.5^2)."""
    two = [[[0, 90, 40], [200, 110, 40]]]
    assert reduced("contrast", two, 0.5).tolist() == [[[50, 95, 40], [150, 105, 40]]]
    assert reduced("scale", np.zeros((9, 30, 3)), 1 / 3).shape == (3, 10, 3)
    assert reduced("scale", np.zeros((2, 3, 3)), 1 / 16).shape == (1, 1, 3)
    grey = np.full((64, 64, 3), 128)
    for share, deviation in ((0.5, 8), (0.25, 24)):
        noise = reduced("noise", grey, share)
        assert (noise.mean(), noise.std()) == pytest.approx((128, deviation), rel=0.03)
    rough = stream("test", "rough").normal(128, 40, (64, 64, 1)).clip(0, 255).repeat(3, 2)
    assert reduced("blur", rough, 0.25)[8:-8, 8:-8].std() == pytest.approx(40 / (2 * np.sqrt(np.pi) * 1.5), rel=0.2)
    errors = [np.abs(reduced("jpeg", rough, share) - rough.astype(np.uint8)).mean() for share in (1.0, 0.5, 0.06)]
    assert errors[0] < 4 < errors[1] < errors[2]


def build(folder: Path, rows: list[tuple[str, str, str]], words: tuple[str, ...] = WORDS, **options: Any) -> ItemSet:
    sources = write_table(folder, rows, words)
    built = BuildOptions(folder / "set", sources=sources, show_progress=False, **options)
    return SUITE.recipes["reduced"].build(built)


def test_a_question_is_asked_at_every_level_and_blind_in_several_orders(tmp_path: Path) -> None:
    built = build(tmp_path, [("Which?", "green", "test")], seed=3)
    blind = [item for item in built.items if level_of(item) < 0]
    seen = [item for item in built.items if level_of(item) >= 0]
    assert [item.item_id for item in seen][:4] == ["1@1.000", "1@0.794", "1@0.630", "1@0.500"]
    assert [(item.item_id, item.factors["level"]) for item in blind] == [(f"1@blind-{n}", "blind") for n in (1, 2, 3)]
    assert [[option.text for option in item.options][:2] for item in blind] == [
        ["red", "green"], ["green", "blue"], ["blue", "grey"],
    ]  # fmt: skip
    assert {item.answer for item in built.items} == {"B"}
    assert {(item.group_id, item.factors["reduction"]) for item in built.items} == {("1", "scale")}
    assert len({item.stimulus_id for item in seen}) == len(LEVELS)
    with built.media.open(blind[0].query[0]) as image:
        assert (image.size, image.convert("L").getextrema()) == ((48, 48), (128, 128))
    recipe, notes = built.card.recipe, built.card.notes
    assert (recipe["level"], recipe["blind"], recipe["seed"]) == ("scale", "yes", 3)
    assert recipe["levels"] == [
        1.0,
        0.7937,
        0.63,
        0.5,
        0.3969,
        0.315,
        0.25,
        0.1984,
        0.1575,
        0.125,
        0.0992,
        0.0787,
        0.0625,
    ]
    assert notes[-1] == "each question at 13 levels of scale; a run asks it at one or a few of them"


def test_two_options_and_words_with_two_answers_are_not_asked_blind(tmp_path: Path) -> None:
    """With two options no number of orders tells; the same options in another order are the same words."""
    two = build(tmp_path / "two", [("Which?", "red", "test")], WORDS[:2])
    assert not [item for item in two.items if level_of(item) < 0]
    rows = [("Which?", "red", "test"), ("Which?", "red", "test")]
    twice = build(tmp_path / "twice", rows, settings={"level": "noise"})
    assert Counter(level_of(item) for item in twice.items)[-1] == 6, "one answer may be known"
    sources = write_table(tmp_path / "turned", rows)
    header, first, second = sources["table"].read_text().splitlines()
    turned = second.replace("red,green,blue,grey", "grey,blue,green,red").replace(",red,test,", ",green,test,")
    assert turned != second
    sources["table"].write_text(f"{header}\n{first}\n{turned}\n")
    options = BuildOptions(tmp_path / "turned" / "set", sources=sources, show_progress=False)
    assert not [item for item in SUITE.recipes["reduced"].build(options).items if level_of(item) < 0]


def test_noise_depends_on_the_seed_and_the_item(tmp_path: Path) -> None:
    def images(name: str, seed: int) -> list[str]:
        built = build(
            tmp_path / name, [("Which?", "red", "test")] * 2, seed=seed, settings={"level": "noise", "blind": "no"}
        )
        return [item.query[0].sha256 for item in built.items if level_of(item) > 0]

    first, same, other = images("a", 1), images("b", 1), images("c", 2)
    assert first == same
    assert not set(first) & set(other)
    assert len(set(first)) == 2 * (len(LEVELS) - 1)


def boxes(folder: Path, rows: list[str], seed: int = 0) -> list[Item]:
    """The questions at full size about images of 120 px with these boxes."""
    folder.mkdir()
    for name in sorted({row.split(",")[0] for row in rows}):
        Image.effect_noise((120, 120), 50).save(folder / name)
    (folder / "boxes.csv").write_text("\n".join(["path,class,x1,y1,x2,y2,exhaustive", *rows]) + "\n")
    sources = {"images": folder, "boxes": folder / "boxes.csv"}
    options = BuildOptions(folder / "set", sources=sources, seed=seed, settings={"blind": "no"}, show_progress=False)
    return [item for item in SUITE.recipes["reduced"].build(options).items if level_of(item) == 0]


def test_marked_things_are_asked_about_only_if_all_are_known(tmp_path: Path) -> None:
    """Two dents have no one place; of an image whose scratches are not all marked nothing is denied or placed."""
    rows = ["a.png,dent,10,10,26,14,yes", "a.png,dent,80,80,84,84,yes", "b.png,scratch,84,84,100,100,no"]
    rows += ["c.png,dent,10,90,30,95,yes"]
    items = boxes(tmp_path / "x", rows)
    assert {item.item_id.removesuffix("@1.000"): item.measures["thing_px"] for item in items} == {
        "a.png/is-there/dent": 8.0, "a.png/is-there/scratch": 10.0, "b.png/is-there/scratch": 16.0,
        "c.png/is-there/dent": 10.0, "c.png/is-there/scratch": 10.0, "c.png/where/dent": 10.0,
    }  # fmt: skip
    (where,) = (item for item in items if item.task == "where")
    assert next(option.text for option in where.options if option.key == where.answer) == "lower left"
    assert [option.text for option in where.options][:4] == ["upper left", "upper centre", "upper right", "middle left"]
    assert {item.question for item in items if item.item_id.startswith("c.png")} == {
        *(f"Does the image show this: {label}?" for label in ("dent", "scratch")),
        "In which part of the image is this: dent?",
    }  # fmt: skip


@pytest.mark.parametrize(("middle", "is_asked"), [(36.3, True), (36.5, False), (43.5, False), (43.7, True)])
def test_a_place_near_the_edge_of_its_ninth_is_not_asked(middle: float, is_asked: bool, tmp_path: Path) -> None:
    """Three of a hundred parts of 120 px are 3.6 px on both sides of 40 px: from 36.4 to 43.6 px."""
    row = f"a.png,dent,{middle - 2},8,{middle + 2},12,yes"
    asked = [item.question.split()[0] for item in boxes(tmp_path / "x", [row])]
    assert asked == ["Does", *["In"] * is_asked]


def test_a_video_has_no_levels(tmp_path: Path) -> None:
    sources = write_table(tmp_path, [("Which?", "red", "test")])
    write_video((np.full((16, 24, 3), level, np.uint8) for level in (0, 200)), tmp_path / "clip.mp4", fps=2)
    sources["table"].write_text(sources["table"].read_text().replace("images/0.png", "clip.mp4"))
    with pytest.raises(SnellenError, match="'1' has a video, which has no levels; leave it out"):
        SUITE.recipes["reduced"].build(BuildOptions(tmp_path / "set", sources=sources, show_progress=False))
