"""What subjects that link nothing get of generated items: by the named colour, and by a memory of files."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image
from scipy.ndimage import label

from snellen.analysis.blind import measure_by_folds
from snellen.analysis.blind.measure import across_questions, main_metric
from snellen.analysis.grading.floors import NAMED_COLOUR, Floors
from snellen.core.build_options import BuildOptions
from snellen.core.storage.itemset import ItemSet
from snellen.core.storage.media import MediaFolder
from snellen.exam.items import build
from snellen.scoring.uncertainty import wilson
from snellen.suites import SUITES
from snellen.suites.vlm2_bench.named_colour import HUES, by_named_colour, coloured

SUITE = SUITES.get("vlm2-bench")


def generated(folder: Path, n: int, renderer: str, tasks: tuple[str, ...] = (), seed: int = 9202) -> ItemSet:
    options = BuildOptions(
        folder, n=n, seed=seed, tasks=tasks, quick=True, renderer=renderer, size=(160, 120), show_progress=False
    )
    return build(SUITE, "generated", options)


def measures(mask: NDArray[np.bool_]) -> dict[str, float]:
    """What a mask (height, width) of a colour gives away without telling things apart by shape or place in the room."""
    rows, columns = np.nonzero(mask)
    height, width = mask.shape
    parts, count = label(mask)
    return {
        "area": float(mask.sum()),
        "distance from the edge": float(min(*rows, *columns, *(height - 1 - rows), *(width - 1 - columns))),
        "width": float(np.ptp(columns)),
        "height": float(np.ptp(rows)),
        "centre": float(rows.mean()),
        "distance from the middle": float(abs(columns.mean() - width / 2)),
        "parts": float(count),
        "largest part": float(max(np.bincount(parts.ravel())[1:])),
        "in the middle": float(mask[height // 5 : -(height // 5), width // 5 : -(width // 5)].sum()),
    }


@pytest.mark.parametrize("n", [25, pytest.param(150, marks=pytest.mark.slow)])
def test_no_measure_of_the_named_colour_tells_what_was_added(n: int, tmp_path: Path) -> None:
    """With a coin for all other pairs, at most 60 % of each task, beyond sampling error, whichever way it is read."""
    items = generated(tmp_path / "items", n, "toy", ("gc-mat", "gc-trk"))
    for task in ("gc-mat", "gc-trk"):
        growths: dict[str, list[float]] = defaultdict(list)
        for item in items.task(task)[::2]:
            if item.factors["cue"] == "add/remove":
                colour = next(word for word in re.findall("[a-z]+", item.question) if word in HUES)
                first, second = (measures(coloured(items.media, image, colour)) for image in item.query)
                for name in first:
                    growths[name].append((second[name] - first[name]) * (1 if item.factors["edit"] == "add" else -1))
        for name, values in growths.items():
            pairs, right = len(values), sum(value > 0 for value in values) + sum(value == 0 for value in values) / 2
            assert pairs == 2 * n // 5
            low, high = wilson((n - pairs + 2 * right) / 2, n)
            assert low < 0.5 < high or max(right, pairs - right) + (n - pairs) / 2 <= 0.6 * n, (task, name, right)


def test_the_named_colour_is_a_floor_of_both_tasks(tmp_path: Path) -> None:
    items = generated(tmp_path / "items", 10, "toy", ("gc-mat", "gc-trk"))
    for task in ("gc-mat", "gc-trk"):
        (score,) = (
            score
            for score in Floors(items, SUITE).scores(with_images=True)
            if (score.task, score.protocol, score.metric) == (task, "strict", "pair_accuracy")
        )
        right = sum(
            all(by_named_colour(item, items.media) == item.answer for item in pair)
            for pair in zip(items.task(task)[::2], items.task(task)[1::2], strict=True)
        )
        assert (score.name, score.value, score.n) == (NAMED_COLOUR, right / 10, 10)


def test_pixels_of_a_colour_by_hand(tmp_path: Path) -> None:
    image = Image.new("RGB", (4, 1), (200, 20, 20))
    image.putpixel((1, 0), (20, 20, 200))
    image.putpixel((2, 0), (120, 100, 100))  # too pale
    image.putpixel((3, 0), (20, 2, 2))  # too dark
    media = MediaFolder(tmp_path)
    stored = media.add_image(image)
    assert coloured(media, stored, "red").tolist() == [[True, False, False, False]]
    assert coloured(media, stored, "blue").tolist() == [[False, True, False, False]]


@pytest.fixture(scope="module")
def blank(tmp_path_factory: pytest.TempPathFactory) -> ItemSet:
    return generated(tmp_path_factory.mktemp("blank") / "items", 24, "blank")


def test_no_two_questions_share_an_image(blank: ItemSet) -> None:
    groups: dict[str, set[str]] = defaultdict(set)
    for item in blank.items:
        if item.split == "test" and item.task != "oc-vid":
            for media in item.query:
                groups[media.sha256].add(item.group_id)
    assert len(groups) > 24 * 10
    assert {len(members) for members in groups.values()} == {1}


def test_sequences_of_a_task_have_a_family_each(blank: ItemSet) -> None:
    for task in ("oc-cpr", "oc-cnt", "oc-grp"):
        test = [item for item in blank.task(task) if item.split == "test"]
        assert len({item.cluster_id for item in test}) == len({item.group_id for item in test}) == 24


@pytest.mark.slow
def test_a_memory_of_files_adds_nothing(tmp_path: Path) -> None:
    """At most five points above the blind baseline in every task, on 200 items."""
    items = generated(tmp_path / "items", 200, "blank", seed=77)
    assert items.blind is not None
    blind = {score.key: score.value for score in items.blind.scores}
    measured = measure_by_folds(items.items, SUITE, (across_questions(items.items),))
    rows = [row for row in measured if row.protocol == "strict" and not row.factor]
    whole = [row for row in rows if row.metric == main_metric(SUITE.tasks[row.task]).name]
    assert {row.task for row in whole} == {"gc-mat", "gc-trk", "oc-cpr", "oc-cnt", "oc-grp"}
    assert [row for row in whole if row.value > blind[row.key] + 0.05] == []
