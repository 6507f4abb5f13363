"""Videos shown as frames, and the controls on videos and on their frames."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("av", reason="the extra 'video' is not installed")

from snellen.core.condition import parse_conditions
from snellen.core.errors import SnellenError
from snellen.core.item import Item, Media, View
from snellen.core.seeds import stream
from snellen.core.storage.media import MediaFolder
from snellen.core.suite import Transform, ViewContext
from snellen.presentation.controls import IMAGES, Grey, Without, control
from snellen.runs.asking.views import transform_stream
from snellen.stimuli.transforms import frames as module
from snellen.stimuli.transforms.frames import Frames
from snellen.stimuli.video import add_video, frames_at, write_video
from tests.helpers.journey import item, patch

FPS = 10


@pytest.fixture
def media(tmp_path: Path) -> MediaFolder:
    return MediaFolder(tmp_path / "media")


def video(media: MediaFolder, clip: int, seconds: float = 3.0) -> Media:
    """Uniform grey frames, lighter with time: frame n of clip c is 40 c + n."""
    levels = [40 * clip + n for n in range(round(seconds * FPS))]
    path = media.root.parent / f"{clip}.mp4"
    write_video([np.full((16, 16, 3), level, np.uint8) for level in levels], path, fps=FPS)
    return add_video(media, path)


@pytest.fixture
def items(media: MediaFolder) -> list[Item]:
    """Five clips of different lengths, two questions per clip."""
    clips = [video(media, n, seconds) for n, seconds in enumerate((3.0, 2.4, 3.7, 3.0, 2.0))]
    return [
        item(f"{n}{name}", [clip], "", "description", stimulus_id=str(n))
        for n, clip in enumerate(clips)
        for name in "ab"
    ]


def transform_view(view: View, media: MediaFolder, *transforms: Transform) -> View:
    for transform in transforms:
        view = transform(view, media, stream("tests.frames", view.stimulus_id))
    return view


def levels(images: tuple[Media, ...], media: MediaFolder) -> list[int]:
    assert all((image.kind, image.format, image.seconds) == ("image", "png", 0.0) for image in images)
    return [round(float(np.asarray(media.open(image)).mean())) for image in images]


def near(got: list[int], expected: list[int]) -> bool:
    """The encoder may be off by one."""
    return len(got) == len(expected) and all(abs(a - b) <= 1 for a, b in zip(got, expected, strict=True))


@pytest.fixture
def decodings(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of requested frames per decoding."""
    counts: list[int] = []

    def watched(path: Path, times: tuple[float, ...]) -> object:
        counts.append(len(times))
        return frames_at(path, times)

    monkeypatch.setattr(module, "frames_at", watched)
    return counts


def test_frames_in_their_order_and_of_their_video(items: list[Item], media: MediaFolder) -> None:
    item = items[0]
    (clip,) = item.query
    eight = transform_view(item.view(), media, Frames("8")).query
    assert near(levels(eight, media), [int(3.0 * (2 * n + 1) / 16 * FPS) for n in range(8)])
    assert len(transform_view(item.view(), media, Frames("16")).query) == 16
    assert near(levels(transform_view(item.view(), media, Frames("1fps")).query, media), [0, 10, 20])
    assert near(
        levels(transform_view(item.view(), media, Frames("2.5fps")).query, media), [0, 4, 8, 12, 16, 20, 24, 28]
    )
    assert {still.stored_sha256 for still in eight} == {clip.sha256}
    assert len({still.sha256 for still in eight}) == 8
    assert [(still.width, still.height) for still in eight] == [(16, 16)] * 8


def test_a_short_video_shows_a_frame_again(media: MediaFolder) -> None:
    short = item("1", [video(media, 1, 0.3)], "", "description")
    got = levels(transform_view(short.view(), media, Frames("8")).query, media)
    assert near(got, [40, 40, 40, 41, 41, 42, 42, 42])


def test_images_stay_and_every_video_is_replaced_by_frames(items: list[Item], media: MediaFolder) -> None:
    still = patch(media, (250, 250, 250))
    view = replace(items[0].view(), query=(*items[0].query, still, *items[2].query))
    after = transform_view(view, media, Frames("2"))
    assert near(levels(after.query, media), [7, 22, 250, 46, 58])
    assert replace(after, query=view.query) == view


def test_a_video_is_decoded_once_and_then_never(items: list[Item], media: MediaFolder, decodings: list[int]) -> None:
    (clip,) = items[0].query
    first = Frames("8").extract(clip, media)
    assert decodings == [8]
    assert Frames("8").extract(clip, media) == first
    assert Frames("8").extract(clip, MediaFolder(media.root)) == first, "another process, the same folder"
    assert decodings == [8]
    lines = (media.root / "derived.jsonl").read_text().splitlines()
    (media.root / "derived.jsonl").write_text("\n".join(lines[:4]))
    assert Frames("8").extract(clip, MediaFolder(media.root)) == first, "what a kill left undone is made again"
    assert decodings == [8, 8]
    Frames("16").extract(clip, media)
    assert decodings == [8, 8, 16]


def test_no_more_frames_are_in_memory_than_fit(
    items: list[Item], media: MediaFolder, decodings: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (clip,) = items[0].query
    whole = Frames("8").extract(clip, media)
    monkeypatch.setattr(module, "MAX_DECODED", 3 * 16 * 16)
    assert Frames("8").extract(clip, MediaFolder(tmp_path / "parts", media)) == whole
    assert decodings == [8, 3, 3, 2]


def test_frames_are_stored_in_the_run_not_in_the_set(items: list[Item], media: MediaFolder, tmp_path: Path) -> None:
    run = MediaFolder(tmp_path / "run", behind=media)
    (still, *_) = transform_view(items[0].view(), run, Frames("8")).query
    assert (run.root / still.path).is_file()
    assert not (media.root / still.path).exists()


def test_an_altered_video_is_not_decoded(items: list[Item], media: MediaFolder) -> None:
    (clip,) = items[0].query
    (other,) = items[2].query
    (media.root / clip.path).write_bytes((media.root / other.path).read_bytes())
    with pytest.raises(SnellenError, match="altered"):
        Frames("8").extract(clip, MediaFolder(media.root))


@pytest.mark.parametrize("how", ["native", "0", "-8", "8.5", "0fps", "fps", "1 fps", "", "1٣"])
def test_invalid_frame_settings_are_refused(how: str) -> None:
    with pytest.raises(SnellenError, match="give a number"):
        Frames(how)


def test_frames_are_named_in_the_card() -> None:
    assert repr(Frames("8")) == "Frames(how='8', version=1)"


def test_grey_videos_and_grey_frames(items: list[Item], media: MediaFolder) -> None:
    item = items[0]
    for how, count in (((), 1), ((Frames("8"),), 8)):
        after = transform_view(item.view(), media, *how, Grey())
        assert levels(after.query, media) == [128] * count
        assert {(still.width, still.height) for still in after.query} == {(16, 16)}
        assert {still.stored_sha256 for still in after.query} & {m.sha256 for it in items for m in it.query} == set()
    assert not transform_view(item.view(), media, Without()).query


def shuffled(items: list[Item], item: Item, media: MediaFolder, *pixels: Transform, seed: int = 0) -> View:
    (condition,) = parse_conditions([IMAGES], "images=shuffled")
    (swap,) = control("shuffled", ViewContext(condition, items))
    return swap(transform_view(item.view(), media, *pixels), media, transform_stream(seed, item, swap))


def test_a_video_is_replaced_by_another_video(items: list[Item], media: MediaFolder) -> None:
    queries = {shuffled(items, items[0], media, seed=seed).query for seed in range(40)}
    assert queries == {it.query for it in items[2::2]}
    assert all(m.kind == "video" for query in queries for m in query)


@pytest.mark.parametrize("how", ["8", "16", "1fps"])
def test_frames_are_replaced_by_as_many_of_another_video(how: str, items: list[Item], media: MediaFolder) -> None:
    for test_item in items[::2]:
        after = shuffled(items, test_item, media, Frames(how))
        (native,) = shuffled(items, test_item, media).query
        assert {still.stored_sha256 for still in after.query} == {native.sha256}, (
            "the drawn video is the same in both cases"
        )
        count = len(Frames(how).times(test_item.query[0].seconds))
        assert after.query == Frames(str(count)).extract(native, media)
        got = levels(after.query, media)
        assert got == sorted(got), "in temporal order"


def test_both_questions_of_a_stimulus_get_the_same_frames(items: list[Item], media: MediaFolder) -> None:
    a, b = (shuffled(items, item, media, Frames("8")) for item in items[:2])
    assert a.query == b.query


def test_two_videos_of_one_item_get_their_own_frames(items: list[Item], media: MediaFolder) -> None:
    """If there is only one other video, both are replaced by all of its frames."""
    both = item("both", [*items[0].query, *items[2].query], "", "description", stimulus_id="both")
    after = shuffled([both, items[4]], both, media, Frames("4"))
    other = Frames("4").extract(items[4].query[0], media)
    assert after.query == (*other, *other)


def test_kinds_are_not_mixed(items: list[Item], media: MediaFolder) -> None:
    """An image is replaced by an image only, a video by a video; without another of its kind nothing is shown."""
    still = patch(media, (250, 250, 250))
    mixed = item("mixed", [*items[0].query, still], "", "description", stimulus_id="mixed")
    for seed in range(10):
        (new,) = shuffled([mixed, *items[2:]], mixed, media, seed=seed).query
        assert new.kind == "video"
    lone = patch(media, (9, 9, 9))
    imaged = item("p", [lone], "", "description", stimulus_id="p")
    assert shuffled([mixed, imaged], mixed, media, Frames("4")).query == (lone,)
