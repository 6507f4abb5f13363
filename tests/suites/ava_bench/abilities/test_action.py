"""Action: middle frames, merged labels, a hundred options."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

from snellen.datasets.image_files import VideoFrame
from snellen.suites.ava_bench.abilities.action import CURATION
from tests.suites.ava_bench.curated.class_fixtures import chosen, make_items, merging, of_class, texts
from tests.suites.ava_bench.curated.fixtures import curating

MOMENTS = "Moments-in-Time"


def test_at_most_fifty_clips_of_a_merged_label_and_none_of_fewer_than_five() -> None:
    context = curating(choices=merging())
    counts = {"first": 30, "second": 22, "boxing": 5, "buying": 4}
    scenes = [sample for label, count in counts.items() for sample in of_class(MOMENTS, label, count)]
    selected = chosen(CURATION, scenes, context)
    assert Counter(candidate.label for candidate in selected) == {"both": 50, "boxing": 5}
    assert context.ledger.dropped == {
        ("action", MOMENTS, "more than 50 in a bin of a class"): 2,
        ("action", MOMENTS, "fewer than 5 in a bin of a class"): 4,
    }


def test_an_item_has_a_hundred_options_and_the_frame_of_its_clip() -> None:
    context = curating(choices=merging())
    frame = VideoFrame(Path("a.mp4"), 0.5)
    scenes = [replace(sample, image=frame) for n in range(120) for sample in of_class(MOMENTS, f"act {n:03}", 5)]
    selected = chosen(CURATION, scenes, context)
    assert selected[0].origin.image == frame
    for item in make_items(CURATION, selected[:3], context):
        assert item.answer in texts(item)
        assert len(set(texts(item))) == 100
