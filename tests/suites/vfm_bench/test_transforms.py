"""The effect of each axis on an episode, on images of a few pixels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from snellen.core.errors import SnellenError
from snellen.core.item import Box, Item, Media, View
from snellen.core.storage.media import MediaFolder
from snellen.scoring.answers import read_answer
from snellen.suites.vfm_bench import transforms
from snellen.suites.vfm_bench.items import Episode, EpisodeClass, episode_item

NAMES = ("scratch", "dent", "good")


@pytest.fixture
def media(tmp_path: Path) -> MediaFolder:
    return MediaFolder(tmp_path / "media")


@pytest.fixture
def item(media: MediaFolder) -> Item:
    """Three classes, three shots; the query is 200 x 100 with its region at (40, 20) to (80, 50)."""

    def image(shade: int, size: tuple[int, int] = (8, 6)) -> Media:
        return media.add_image(Image.new("RGB", size, (shade, 10, 20)))

    classes = tuple(
        EpisodeClass(
            name, tuple(image(30 * position + shot) for shot in range(3)), ("seen", "seen too"), f"it has a {name}"
        )
        for position, name in enumerate(NAMES)
    )
    episode = Episode(
        "0000", image(250, (200, 100)), classes, 1, "Manufacture", "detail", "bottle", "made", "made/bottle/dent",
        box=(40, 20, 80, 50),
    )  # fmt: skip
    return episode_item(episode)


def view_after(item: Item, media: MediaFolder, *transforms: Callable[..., View], seed: int = 0) -> View:
    view = item.view()
    for transform in transforms:
        view = transform(view, media, np.random.default_rng(seed))
    return view


def test_support_is_ordered_by_shot_and_smaller_episodes_are_prefixes(item: Item, media: MediaFolder) -> None:
    assert [(demo.shot, demo.answer) for demo in item.support] == [(s, f"c{c}") for s in range(3) for c in range(3)]
    sizes = [view_after(item, media, transforms.Shots(k)).support for k in range(4)]
    assert [len(support) for support in sizes] == [0, 3, 6, 9]
    assert all(large[: len(small)] == small for small, large in pairwise(sizes))


@pytest.mark.parametrize("rename", [transforms.Exchanged(), transforms.Fabricated()])
@pytest.mark.parametrize("seed", range(5))
def test_names_change_and_keys_stay(item: Item, media: MediaFolder, rename: Callable[..., View], seed: int) -> None:
    view = view_after(item, media, rename, seed=seed)
    texts = [option.text for option in view.options]
    assert len(set(texts)) == 3
    assert all(new != old for new, old in zip(texts, NAMES, strict=True)), "no class keeps its own name"
    assert [demo.answer for demo in view.support] == [demo.answer for demo in item.support]
    assert read_answer(view.reply.write(item.answer), view.reply) == item.answer
    assert read_answer(texts[1], view.reply) == "c1"
    if isinstance(rename, transforms.Fabricated):
        assert all(len(text) == 5 and text.isalpha() and text.islower() for text in texts)
        assert read_answer("dent", view.reply) is None, "the old name is no longer an answer"
    else:
        assert sorted(texts) == sorted(NAMES)


def test_descriptions_use_the_names_shown(item: Item, media: MediaFolder) -> None:
    view = view_after(item, media, transforms.Fabricated(), transforms.Described(item.latent["definitions"]))
    for option, name in zip(view.options, NAMES, strict=True):
        assert f"- {option.text}: it has a {name}" in view.question
    assert view.question.startswith(item.question)


def test_noise_spares_only_the_true_class(item: Item, media: MediaFolder) -> None:
    before = [demo.media for demo in item.support]
    total = view_after(item, media, transforms.Noisy())
    negative = view_after(item, media, transforms.Noisy(spare=item.answer))
    assert all(demo.media != old for demo, old in zip(total.support, before, strict=True))
    for demo, old in zip(negative.support, before, strict=True):
        assert (demo.media == old) == (demo.answer == item.answer)
    (noise,) = total.support[0].media
    assert (noise.width, noise.height, noise.origin) == (256, 256, "")
    pixels = np.asarray(media.open(noise), float)
    assert abs(pixels.mean() - 127.5) < 2
    assert abs(pixels.std() - 73.9) < 2  # uniform over 0..255: sqrt((256^2 - 1) / 12) = 73.9


def test_replicated_demos_show_the_first_shot(item: Item, media: MediaFolder) -> None:
    view = view_after(item, media, transforms.Replicated())
    first = {demo.answer: demo.media for demo in item.support if demo.shot == 0}
    assert all(demo.media == first[demo.answer] for demo in view.support)


def test_replicated_demos_have_the_caption_of_the_image_that_is_shown(item: Item, media: MediaFolder) -> None:
    captions = {image.stored_sha256: f"seen on {image.stored_sha256}" for demo in item.support for image in demo.media}
    view = view_after(item, media, transforms.Captioned(captions), transforms.Replicated())
    assert [demo.caption for demo in view.support] == [captions[demo.media[0].stored_sha256] for demo in view.support]


def test_enhanced_queries_frame_and_magnify_the_region(item: Item, media: MediaFolder) -> None:
    (query,) = view_after(item, media, transforms.Enhanced((40, 20, 80, 50))).query
    assert query.stored_sha256 == item.query[0].sha256
    pixels = np.asarray(media.open(query).convert("RGB"))
    assert (pixels[20, 60] == (255, 0, 0)).all()
    assert (pixels[40, 79] == (255, 0, 0)).all()
    # The region with a margin of 10 px is 60 x 50; at most 0.4 x (200, 100) = 80 x 40 px, so the factor is 0.8 and the
    # copy 48 x 40 px at (10, 10): it covers the frame's upper left part.
    assert (pixels[30, 30] == (250, 10, 20)).all()
    assert (pixels[25, 44] != (255, 0, 0)).any(), "the copy lies over the frame"


def test_patches_cover_their_share_of_the_region(item: Item, media: MediaFolder) -> None:
    plain = np.asarray(media.open(item.query[0]).convert("RGB"), int)
    areas = {}
    for share in (1.0, 0.5, 0.33):
        (query,) = view_after(item, media, transforms.Patched((40, 20, 80, 50), share)).query
        moved = (np.asarray(media.open(query).convert("RGB"), int) != plain).any(axis=2)
        rows, columns = np.nonzero(moved)
        areas[share] = (rows.max() - rows.min() + 1) * (columns.max() - columns.min() + 1)
        assert columns.min() >= 40
        assert columns.max() < 80
        assert rows.min() >= 20
        assert rows.max() < 50
    assert areas[1.0] == 40 * 30
    assert areas[0.5] / 1200 == pytest.approx(0.5, abs=0.06)
    assert areas[0.33] / 1200 == pytest.approx(0.33, abs=0.06)
    (query,) = view_after(item, media, transforms.Patched((40, 20, 80, 50), size_px=(20, 10))).query
    moved = (np.asarray(media.open(query).convert("RGB"), int) != plain).any(axis=2)
    assert moved[30:40, 50:70].mean() > 0.9, "around the centre of the region, (60, 35)"
    assert moved.sum() <= 200


@pytest.mark.parametrize(
    ("box", "edges"), [((0, 0, 20, 10), (0, 24, 0, 39)), ((180, 90, 200, 100), (75, 99, 160, 199))]
)
def test_regions_at_a_corner_are_cut_at_the_edges(
    box: Box, edges: tuple[int, ...], item: Item, media: MediaFolder
) -> None:
    """Padded to 30 x 20 and enlarged twice; a patch of 60 x 40 about its middle covers 40 x 25 of the image."""
    (query,) = view_after(item, media, transforms.Enhanced(box)).query
    copy = np.asarray(media.open(query).convert("RGB"))[10:50, 10:70]
    assert (copy == (250, 10, 20)).all()
    (query,) = view_after(item, media, transforms.Patched(box, size_px=(60, 40))).query
    rows, columns = np.nonzero((np.asarray(media.open(query).convert("RGB")) != (250, 10, 20)).any(axis=2))
    assert (rows.min(), rows.max(), columns.min(), columns.max()) == edges


def test_mean_regions_are_taken_per_source(item: Item) -> None:
    larger = replace(item, item_id="other", regions={"box": [0.0, 0.0, 80.0, 10.0]})
    elsewhere = replace(item, item_id="third", factors={**item.factors, "source": "x"})
    unmarked = replace(item, item_id="fourth", regions={})
    first, second, third, fourth = transforms.with_mean_regions([item, larger, elsewhere, unmarked])
    # Widths 40 and 80, heights 30 and 10.
    assert (first.measures["mean_region_width"], first.measures["mean_region_height"]) == (60.0, 20.0)
    assert second.measures["mean_region_width"] == 60.0
    assert third.measures["mean_region_width"] == 40.0
    assert "mean_region_width" not in fourth.measures


def test_a_demo_without_caption_is_an_error(item: Item, media: MediaFolder) -> None:
    with pytest.raises(SnellenError, match="no caption for a demo of shot 2"):
        view_after(item, media, transforms.Captioned({}))
    captions = {image.sha256: "a line" for demo in item.support for image in demo.media}
    view = view_after(item, media, transforms.Captioned(captions))
    assert {demo.caption for demo in view.support} == {"a line"}
