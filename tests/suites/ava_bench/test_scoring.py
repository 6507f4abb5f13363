"""From replies to scores under `strict` and `published`, compared with values computed by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from snellen.analysis.grading.results import results
from snellen.core.errors import SnellenError
from snellen.core.item import Affine, Item, Media
from snellen.core.response import Response
from snellen.core.storage.itemset import write_itemset
from snellen.core.storage.media import MediaFolder
from snellen.core.suite import check_items
from snellen.runs.scores.score import score, score_one
from snellen.suites import SUITES
from snellen.suites.ava_bench.abilities import ABILITIES, ability_named
from snellen.suites.ava_bench.abilities.absolute_depth import absolute_depth_item
from snellen.suites.ava_bench.abilities.colour import colour_item
from snellen.suites.ava_bench.abilities.counting import counting_item
from snellen.suites.ava_bench.abilities.localization import localization_item
from snellen.suites.ava_bench.abilities.ocr import ocr_item
from snellen.suites.ava_bench.free_answer_chance import with_chance
from snellen.suites.ava_bench.released_scorers import as_action, as_vqa
from snellen.suites.ava_bench.scoring import WORST
from snellen.suites.ava_bench.transforms import Labelled
from tests.helpers.journey import suite_of, task
from tests.helpers.sets import small_set
from tests.suites.ava_bench.fixtures import ATOMIC, item_source, one_of_each

SQUARE = Affine(1 / 200, 0, 0, 0, 1 / 200, 0.25)
"""200 x 100 pixels in the middle of a square, in shares of it."""
LEFT_OUT = math.nan


def replied(item: Item, text: str) -> Response:
    view = item.view()
    if item.answer_kind == "choice":
        lettered = item.task in ("spatial", "absolute-depth")
        labelled = Labelled("letters" if lettered else "numbers")
        view = labelled(view, MediaFolder(Path()), np.random.default_rng(0))
    spec = replace(view.reply, frame=SQUARE) if item.answer_kind == "box" else view.reply
    return Response("r", "own:x", "f", item.item_id, item.task, "vanilla", 0, "ok", text, "", spec, ())


# Computed by hand. Localization: the truth is [.05, .35, .25, .55]; next to it is a box of the same size with a full
# hull, so GIoU is 0 - 0; half of it is .5 - 0. Colour: the truth is (232, 9, 10). Depth: the middles are 3.5, 4.5
# and 5.5, 1 / 4.5 apart. OCR: one letter of four, half, and 12 of 16 letters too many.
LINES: dict[str, list[tuple[str, *tuple[float, ...]]]] = {
    "localization": [
        ("[0.05, 0.35, 0.25, 0.55]", 1, 1), ("The answer is [0.25, 0.35, 0.45, 0.55].", 0, 0),
        ("[0.05, 0.35, 0.15, 0.55]", 0.5, 0.5), ("[0.25, 0.55, 0.05, 0.35]", -1, 1),
        ("0.05 0.35 0.25 0.55 0.9", -1, 1), ("in the upper left corner", -1, LEFT_OUT), ("", -1, LEFT_OUT),
    ],
    "counting": [
        ("7", 0, 0), ("seven", 0, 0), ("There are 9 apples.", 2 / 7, LEFT_OUT), ("21", 1, 2), ("none", 1, 1),
        ("07", 0, 0), ("a dozen", 1, LEFT_OUT), ("", 1, LEFT_OUT),
    ],
    "colour": [
        ("[232, 9, 10]", 0, 0), ("rgb(232, 9, 10)", 0, 0), ("232 9 10 255", 100, 0), ("[232, 9.0, 10]", 100, 0),
        ("red", 100, LEFT_OUT),
    ],
    "absolute-depth": [
        ("B. 4-5", 0, 0), ("A. 3-4", 1 / 4.5, 1 / 4.5), ("C", 1 / 4.5, LEFT_OUT), ("4.5 m", 0, 0),
        ("20", 1, 15.5 / 4.5), ("12.0", 1, 1.5 / 4.5), ("far", 1, LEFT_OUT),
    ],
    "ocr": [
        ("stop", 1, 1, 1), ("ST0P", 0.75, 0.75, 0.75), ("ST", 0.5, 0, 0.5), ("The word is STOP", 1, 0, 0.25),
        ("", 0, 0, 0),
    ],
    "spatial": [
        ("A. Left above", 1, 1), ("a", 1, 1), ("B. Left below", 0, 0), ("It is left above", 1, 0), ("B", 0, 1),
        ("", 0, 1),
    ],
    "relative-depth": [
        ("2. blue", 1, 1), ("Two. Blue", 1, 1), ("blue", 1, 0), ("1. blue", 0, 0), ("1. red", 0, 0),
    ],
    "action": [("3. boxing", 1, 1), ("3", 1, 1), ("3. buying", 0, 1), ("Boxing!", 1, 0), ("30. boxing", 1, 0)],
    "fine-grained": [
        ("1. Agarica", 1, 1), ("1. Boletus edulis", 0, 1), ("agarica", 1, 0), ("2. Boletus edulis", 0, 0),
        ("Agarica or Boletus edulis", 0, 1),
    ],
    **{
        name: [(item.view().reply.name(str(item.answer)), 1, 1), ("none of them", 0, 0)]
        for name, item in one_of_each().items()
        if name in ("orientation", "object", "scene", "texture", "emotion")
    },
}  # fmt: skip


@pytest.mark.parametrize("name", ATOMIC)
def test_first_metrics_of_every_reply(name: str) -> None:
    item = one_of_each()[name]
    for text, *expected in LINES[name]:
        scores = [
            score_one(item, replied(item, text), protocol)[2] for protocol in ability_named(name).protocols.values()
        ]
        values = [
            by_metric[protocol.metrics[0].name]
            for by_metric, protocol in zip(scores, ability_named(name).protocols.values(), strict=True)
        ]
        assert values == pytest.approx(expected, nan_ok=True, abs=1e-9), text


def test_colour_distances_are_capped_at_that_of_black_and_white() -> None:
    item = colour_item(item_source(), (10, 20, 50, 60), (0, 255, 0))
    distances = [
        score_one(item, replied(item, "[255, 0, 255]"), protocol)[2]["ciede2000"]
        for protocol in ability_named("colour").protocols.values()
    ]
    assert distances[0] == WORST["ciede2000"] == 100
    assert distances[1] == pytest.approx(111.41, abs=0.02)
    red = colour_item(item_source(), (10, 20, 50, 60), (255, 0, 0))
    near = [
        score_one(red, replied(red, "[200, 30, 20]"), protocol)[2]["ciede2000"]
        for protocol in ability_named("colour").protocols.values()
    ]
    assert near == pytest.approx([11.1, 11.1], abs=0.05)
    # The printed recipe, which takes RGB for XYZ, would give 122.8.


def table(root: Path, name: str, texts: list[str]) -> pd.DataFrame:
    items = [one_of_each(str(n))[name] for n in range(len(texts))]
    built = write_itemset(root, items, source="released", recipe={})
    suite = suite_of(tasks=[task(id=name, kind=items[0].answer_kind, protocols=ability_named(name).protocols)])
    responses = [replied(item, text) for item, text in zip(items, texts, strict=True)]
    tables = [
        results(score(responses, built, suite, protocol), built, suite, [])
        for protocol in ability_named(name).protocols
    ]
    return pd.concat(tables).set_index(["protocol", "metric"])


def cells(rows: pd.DataFrame, key: tuple[str, str], *columns: str) -> list[float]:
    return [float(rows.loc[key, column]) for column in columns]  # type: ignore[arg-type]


def test_counts_that_the_mean_error_skips_are_wrong_in_accuracy(tmp_path: Path) -> None:
    rows = table(tmp_path, "counting", ["7", "There are 7 apples.", "07", "21", "a dozen", ""])
    assert cells(rows, ("strict", "mae_over_gt"), "value", "n") == [3 / 6, 6]
    assert cells(rows, ("strict", "accuracy"), "value", "n") == [3 / 6, 6]
    # published: errors 0, 0 and 14 / 7 of three numbers; of six replies only the plain 7 is right.
    assert cells(rows, ("published", "mae_over_gt"), "value", "n") == [pytest.approx(2 / 3), 3]
    assert cells(rows, ("published", "accuracy"), "value", "n") == [pytest.approx(1 / 6), 6]


def test_adjacent_depths_may_round_to_the_same_number(tmp_path: Path) -> None:
    # 3.5 and 4.5 both round to 4, 5.5 to 6; unreadable replies are left out of both numbers.
    rows = table(tmp_path, "absolute-depth", ["B. 4-5", "A. 3-4", "C. 5-6", "far"])
    assert cells(rows, ("strict", "accuracy"), "value", "n", "chance") == pytest.approx([1 / 4, 4, 1 / 3])
    assert cells(rows, ("published", "accuracy"), "value", "n", "chance") == pytest.approx([2 / 3, 3, 2 / 3])
    relative_error = 1 / 4.5
    assert cells(rows, ("strict", "mae_over_gt"), "value", "chance") == pytest.approx(
        [(2 * relative_error + 1) / 4, 2 * relative_error / 3]
    )
    assert cells(rows, ("published", "mae_over_gt"), "value", "chance") == pytest.approx(
        [2 * relative_error / 3, 2 * relative_error / 3]
    )


def test_errors_of_near_things_are_capped_under_strict_and_so_is_their_chance() -> None:
    """The truth is 0.5 m: 1.5 m and 2.5 m are wrong by 2 and 4 times as much, under `strict` by 1 time."""
    box, bins = (10.0, 20.0, 50.0, 60.0), ("0-1", "1-2", "2-3")
    item = absolute_depth_item(item_source("7"), "cup", box, depth_m=0.4, bins=bins, scene_type="indoor")
    for protocol, errors in (("strict", (0, 1, 1)), ("published", (0, 2, 4))):
        metric = ability_named("absolute-depth").protocols[protocol].metrics[0]
        keys = bins if protocol == "strict" else (0.5, 1.5, 2.5)
        assert [metric.score(item, key) for key in keys] == pytest.approx(errors)
        assert metric.chance(item) == pytest.approx(sum(errors) / 3)


def test_the_next_bin_confirms_a_distance_and_no_farther_one() -> None:
    box = (10.0, 20.0, 50.0, 60.0)
    item = absolute_depth_item(
        item_source("7"), "car", box, depth_m=3.2, bins=("3-4", "4-5", "5-6"), scene_type="indoor"
    )
    strict = ability_named("absolute-depth").protocols["strict"]
    assert [strict.confirms(item, key, False) for key in ("3-4", "4-5", "5-6")] == [True, True, False]


def test_texts_have_both_similarities(tmp_path: Path) -> None:
    rows = table(tmp_path, "ocr", ["stop", "ST0P", "ST", ""])
    assert rows["value"].to_dict() == {
        ("strict", "anls"): 2.25 / 4, ("strict", "anls_05"): 1.75 / 4,
        ("as-replied", "anls"): 2.25 / 4, ("as-replied", "anls_05"): 1.75 / 4,
        ("published", "anls_05"): 1.75 / 4, ("published", "anls"): 2.25 / 4,
    }  # fmt: skip


def test_a_sentence_around_a_text_costs_nothing_under_strict() -> None:
    """Nor is a refusal an answer, but under `as-replied` and `published`."""
    item = one_of_each()["ocr"]
    sentence = 'The sign in the red box says "STOP", plainly.'
    scores = {
        name: [score_one(item, replied(item, text), protocol) for text in (sentence, "I can't read it.")]
        for name, protocol in ability_named("ocr").protocols.items()
    }
    assert {name: read[2]["anls"] for name, (read, _) in scores.items()} == pytest.approx(
        {"strict": 1, "published": 4 / len(sentence), "as-replied": 4 / len(sentence)}
    )
    assert {name: refusal[0] for name, (_, refusal) in scores.items()} == {
        "strict": "no_answer", "published": "answered", "as-replied": "answered",
    }  # fmt: skip


@pytest.mark.parametrize("text", ["Answer: B", '"SALE"', "*NEW*", "The sign says STOP"])
def test_a_key_that_looks_wrapped_can_be_answered(text: str) -> None:
    item = ocr_item(item_source(), (10, 20, 50, 60), text)
    protocol = ability_named("ocr").protocols["strict"]
    for reply in (text, f'The text reads "{text}".', f"<answer>{text}</answer>"):
        _, prediction, values = score_one(item, replied(item, reply), protocol)
        assert values == {"anls": 1, "anls_05": 1}
        assert protocol.confirms(item, prediction, is_key=False)


def test_the_chance_of_a_free_answer_is_the_score_of_other_truths() -> None:
    items = with_chance([counting_item(item_source(str(n)), "cups", count) for n, count in enumerate((2, 3, 10))])
    # strict: for 2 the answers 3 and 10 -> 1/2 and 4, capped at 1; for 3 2 and 10 -> 1/3 and 7/3; for 10 -> .8 and .7.
    strict = [item.measures["chance_strict_mae_over_gt"] for item in items]
    assert strict == pytest.approx([0.75, (1 / 3 + 1) / 2, 0.75])
    published = [item.measures["chance_published_mae_over_gt"] for item in items]
    assert published == pytest.approx([2.25, (1 / 3 + 7 / 3) / 2, 0.75])
    assert [ability_named("counting").protocols["strict"].metrics[0].chance(item) for item in items] == strict


def test_chance_does_not_use_training_items() -> None:
    counts = [counting_item(item_source(str(n)), "cups", count) for n, count in enumerate((4, 12))]
    train_item = counting_item(item_source("9", split="train"), "cups", 4)
    *test_items, unchanged = with_chance([*counts, train_item])
    # 12 misses 4 by 8/4 and 4 misses 12 by 8/12.
    assert [item.measures["chance_published_mae_over_gt"] for item in test_items] == pytest.approx([2, 8 / 12])
    assert unchanged == train_item


def test_the_chance_of_boxes_is_computed_in_shares_of_the_padded_square() -> None:
    """A thing in the middle quarter of a small image has the same box in a large one, in spite of other pixels."""
    small, large = (Media(name * 64, "image", "png", side, side) for name, side in (("a", 100), ("b", 400)))
    first = localization_item(replace(item_source("1"), image=small), "cup", (25.0, 25.0, 75.0, 75.0))
    second = localization_item(replace(item_source("2"), image=large), "cup", (100.0, 100.0, 300.0, 300.0))
    assert [item.measures["chance_strict_giou"] for item in with_chance([first, second])] == [1, 1]


def test_chance_equals_the_mean_over_all_pairs_of_a_generated_set(sets_folder: Path) -> None:
    """By brute force: every truth as an answer to every other item of its task; all images have one size."""
    built = small_set("ava-bench", sets_folder)
    for name in ("localization", "nearer-localization", "counting", "counting-by-colour", "colour", "ocr"):
        items = [item for item in built.task(name) if item.split == "test"]
        metric = ability_named(name).protocols["strict"].metrics[0]
        pairs = [(item, other.answer) for item in items for other in items if other is not item]
        stated = sum(metric.chance(item) for item in items) / len(items)
        assert stated == pytest.approx(sum(metric.score(*pair) for pair in pairs) / len(pairs), abs=2e-3), name


def test_every_test_item_has_a_chance_under_every_protocol() -> None:
    many = [item for n in range(30) for item in one_of_each(str(n)).values()]
    for item in with_chance(many):
        for protocol in ability_named(item.task).protocols.values():
            assert not any(math.isnan(metric.chance(item)) for metric in protocol.metrics)


def test_scales_and_worst_scores() -> None:
    metrics = {
        (name, metric.name): metric
        for name in ATOMIC
        for metric in ability_named(name).protocols["strict"].metrics
    }  # fmt: skip
    assert {metric.worst for (_, name), metric in metrics.items() if name in ("accuracy", "anls", "anls_05")} == {0}
    assert {name for (_, name) in metrics} == set(WORST)
    assert {name: metric.worst for (_, name), metric in metrics.items()} == dict(WORST)
    assert {name for (_, name), metric in metrics.items() if not metric.share} == {"giou", "mae_over_gt", "ciede2000"}
    assert {name for (_, name), metric in metrics.items() if not metric.higher_is_better} == {
        "mae_over_gt", "ciede2000",
    }  # fmt: skip
    assert {name for name in ATOMIC if not ABILITIES[name].has_options} == {"localization", "counting", "colour", "ocr"}
    with pytest.raises(SnellenError, match="no task 'depth'"):
        ability_named("depth")


@pytest.mark.parametrize("count", [0, -1])
def test_a_count_that_cannot_be_scored_is_refused(sets_folder: Path, count: int) -> None:
    """The error is relative to the truth, which must not be 0."""
    built = small_set("ava-bench", sets_folder)
    check_items(built, SUITES.get("ava-bench"))
    wrong = replace(built, items=(replace(built.task("counting")[0], answer=count),))
    with pytest.raises(SnellenError, match=rf"row 0: mae_over_gt is undefined if the answer is {count}"):
        check_items(wrong, SUITES.get("ava-bench"))


@pytest.mark.parametrize(
    ("text", "vqa", "action"),
    [
        ("D. 4-5", "d 4 5", "d 4 5"), ("A bus, - 1,000", "bus 1000", "bus 1000"), ("4 -5", "4 5", "4 5"),
        ("The ten.\n3.5", "10 3.5", "ten 3.5"), ("(two)", "2", "two"),
    ],
)  # fmt: skip
def test_replies_are_cleaned_as_by_the_scripts(text: str, vqa: str, action: str) -> None:
    assert (as_vqa(text), as_action(text)) == (vqa, action)
