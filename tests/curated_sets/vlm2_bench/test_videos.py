"""Videos of two people joined from clips: parts, truth and refusals."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from snellen.core.build_options import BuildOptions
from snellen.core.errors import SnellenError
from snellen.core.item import Item
from snellen.core.storage.itemset import ItemSet
from snellen.core.storage.media import MediaFolder
from snellen.curated_sets.vlm2_bench import videos
from snellen.curated_sets.vlm2_bench.recipe import Curated
from snellen.stimuli.video import frames_at, uniform_times, write_video
from tests.goldens.descriptions import grouped_set_text
from tests.goldens.golden import assert_golden

RED, BLUE = (200, 30, 30), (30, 30, 200)
PEOPLE = {"p": (RED, 12, (32, 24)), "q": (BLUE, 9, (24, 32))}
"""Colour, number of frames at 6 per second, and size: q is shorter and upright."""


def make_clips(root: Path, activities: int, pairs: int) -> Path:
    for name in [f"activity{a}/olga-and-nora-{p}" for a in range(activities) for p in range(pairs)]:
        (root / name).mkdir(parents=True)
        for clip, (colour, count, (width, height)) in PEOPLE.items():
            frames = [np.full((height, width, 3), colour, dtype=np.uint8)] * count
            write_video(frames, root / name / f"{clip}.mp4", fps=6)
    return root


def build(source: Path, out: Path, **seed: int) -> ItemSet:
    options = BuildOptions(out, tasks=("vid",), sources={"vid": source}, show_progress=False, **seed)  # type: ignore[arg-type]
    return Curated().build(options)


def people_shown(itemset: ItemSet, item: Item) -> str:
    """The person in the middle of each of twelve equal parts of the video, by colour."""
    (video,) = item.query
    images = [image for _, image in frames_at(itemset.media.find(video), uniform_times(video.seconds, 12))]
    middles = [np.asarray(image)[image.height // 2, image.width // 2] for image in images]
    return "".join("P" if red > blue else "Q" for red, _, blue in middles)


def test_each_pair_gives_two_videos_with_equal_parts(tmp_path: Path) -> None:
    itemset = build(make_clips(tmp_path / "clips", 2, 1), tmp_path / "set")
    assert Counter(item.factors["pattern"] for item in itemset.items) == {"PQ": 2, "PQP": 2}
    assert {item.task for item in itemset.items} == {"pc-vid"}
    assert len({item.cluster_id for item in itemset.items}) == 2
    for item in itemset.items:
        returns = item.factors["pattern"] == "PQP"
        assert people_shown(itemset, item) == ("PPPPQQQQPPPP" if returns else "PPPPPPQQQQQQ")
        assert item.query[0].seconds == pytest.approx(4.5 if returns else 3.0)  # the shorter clip lasts 1.5 s
        assert (item.query[0].width, item.query[0].height) == (32, 24)
        assert ("again" in item.answer) == returns
        assert "part 1: cut from 2 to 1.5 s" in item.provenance["changed"]
        assert "olga" not in item.item_id + item.cluster_id + str(item.factors)
    assert "pc-vid: 4 videos of 2 pairs of clips in 2 activities (the paper: 200)" in itemset.card.notes
    assert any("4 videos whose parts were cut or converted" in note for note in itemset.card.notes)
    assert_golden("curated/vlm2-videos.txt", grouped_set_text(itemset, tmp_path))


def test_plan_and_limit_count_videos(tmp_path: Path) -> None:
    clips = make_clips(tmp_path / "clips", 1, 2)
    options = BuildOptions(tmp_path, sources={"vid": clips})
    assert Curated().plan(options)["items"] == {"pc-vid": 4}
    assert build(clips, tmp_path / "set", n=3).card.items == 3


def test_missing_and_equal_clips_are_refused(tmp_path: Path) -> None:
    clips = make_clips(tmp_path / "clips", 1, 1)
    pair = clips / "activity0" / "olga-and-nora-0"
    shutil.copy(pair / "p.mp4", pair / "q.mp4")
    with pytest.raises(SnellenError, match=r"olga-and-nora-0: p\.mp4 and q\.mp4 are the same video"):
        build(clips, tmp_path / "set")
    (pair / "q.mp4").unlink()
    with pytest.raises(SnellenError, match="olga-and-nora-0: 0 videos named q, but one is needed"):
        build(clips, tmp_path / "set")
    (pair / "q.mp4").write_bytes(b"no video")
    with pytest.raises(SnellenError, match=r"q\.mp4: not a readable video"):
        build(clips, tmp_path / "set")


def test_a_joined_video_has_even_sides_of_its_first_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    joined = list[object]()
    monkeypatch.setattr(videos, "frames_at", lambda path, times: [(0.0, Image.new("RGB", (33, 25 + len(path.stem))))])
    monkeypatch.setattr(videos, "join_clips", lambda parts, path, **settings: joined.append((parts, settings)))
    monkeypatch.setattr(videos, "add_video", lambda media, path: path.name)
    parts = [Path("p.mp4"), Path("other.mp4")]
    assert str(videos._join(parts, MediaFolder(tmp_path))[0]) == "video.mp4"
    assert joined == [(parts, {"fps": 24, "size": (32, 26)})]
