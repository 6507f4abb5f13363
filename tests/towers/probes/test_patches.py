"""Features by position are stored in shards of one kind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from snellen.core.errors import SnellenError
from snellen.core.item import Media
from snellen.subjects.encoders.encoder import Floats
from snellen.subjects.encoders.plain import Hog
from snellen.towers.probes.patches import SHARD_IMAGES, PatchCache
from tests.helpers.extras import need
from tests.subjects.encoders.scenes import BLUE, Album

need("safetensors", "models")


@dataclass(frozen=True)
class Numbered(Hog):
    """Returns the mean of each image as patches, and records the sizes of its batches."""

    scale: float = 1.0
    calls: list[int] = field(default_factory=list, hash=False, compare=False)

    @property
    def patch_settings(self) -> dict[str, Any]:
        return {"encoder": "numbered", "scale": self.scale}

    def patches(self, images: Sequence[Image.Image]) -> Floats:
        self.calls.append(len(images))
        means = [np.full((2, 3, 4), np.asarray(image.convert("RGB")).mean() * self.scale) for image in images]
        return np.stack(means).astype(np.float32)


@pytest.fixture
def album(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Album:
    monkeypatch.setenv("SNELLEN_HOME", str(tmp_path / "home"))
    return Album(tmp_path / "media")


def images_of(album: Album, count: int) -> list[Media]:
    return [album.add("disc", (200, green, 30), radius=20) for green in range(count)]


def shards(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / "home").rglob("*.safetensors"))


def test_each_image_is_computed_once_and_rounded_to_halves(album: Album, tmp_path: Path) -> None:
    images, encoder = images_of(album, SHARD_IMAGES + 3), Numbered()
    PatchCache(encoder).prepare([*images, *images], album.folder)
    assert sum(encoder.calls) == len(images)
    assert len(shards(tmp_path)) == 2
    again = PatchCache(encoder)
    again.prepare(images, album.folder)
    grids = [again.read(image, album.folder) for image in images]
    assert sum(encoder.calls) == len(images), "another process reads them"
    exact = Numbered().patches([album.folder.open(image) for image in images])
    assert grids[0].shape == (2, 3, 4)
    assert grids[0].dtype == np.float32
    assert np.allclose(grids, exact, rtol=2.0**-11, atol=0)  # float16 has a significand of 11 bits
    more = album.add("bar", BLUE)
    assert again.read(more, album.folder).shape == (2, 3, 4)
    assert sum(encoder.calls) == len(images) + 1


def test_a_shard_of_another_specification_is_refused(album: Album, tmp_path: Path) -> None:
    (image,) = images_of(album, 1)
    other, cache = PatchCache(Numbered(scale=2.0)), PatchCache(Numbered())
    other.prepare([image], album.folder)
    cache.root.mkdir(parents=True)
    (shard,) = shards(tmp_path)
    shard.rename(cache.root / shard.name)
    with pytest.raises(SnellenError) as error:
        cache.read(image, album.folder)
    for words in (shard.name, '"scale":2.0', '"scale":1.0', "remove the file"):
        assert words in str(error.value)


@pytest.mark.parametrize("damage", [b"", b"no tensors at all"])
def test_a_damaged_shard_is_computed_again(album: Album, tmp_path: Path, damage: bytes) -> None:
    (image,) = images_of(album, 1)
    expected = PatchCache(Numbered()).read(image, album.folder)
    (shard,) = shards(tmp_path)
    for raw in (damage, shard.read_bytes()[:-4]):
        shard.write_bytes(raw)
        encoder = Numbered()
        assert np.array_equal(PatchCache(encoder).read(image, album.folder), expected)
        assert encoder.calls == [1]


@pytest.mark.parametrize("position", [30, 200, -1])
def test_a_flipped_bit_in_a_shard_is_computed_again(album: Album, tmp_path: Path, position: int) -> None:
    """In the header's metadata, and in a number, also while the shard is in use."""
    images = images_of(album, 2)
    cache = PatchCache(Numbered())
    expected = [cache.read(image, album.folder) for image in images]
    for reader in (cache, PatchCache(Numbered())):
        for shard in shards(tmp_path):
            raw = bytearray(shard.read_bytes())
            raw[position] ^= 1
            shard.write_bytes(raw)
        assert np.array_equal([reader.read(image, album.folder) for image in images], expected)


def test_a_home_that_cannot_be_written_only_costs_memory(album: Album, tmp_path: Path) -> None:
    (tmp_path / "home").write_text("a file where a folder should be")
    (image,), encoder = images_of(album, 1), Numbered()
    cache = PatchCache(encoder)
    assert np.array_equal(cache.read(image, album.folder), cache.read(image, album.folder))
    assert encoder.calls == [1]


def test_numbers_out_of_range_are_clipped_and_invalid_ones_refused(album: Album) -> None:
    (image,) = images_of(album, 1)
    assert PatchCache(Numbered(scale=1e6)).read(image, album.folder).max() == 65504.0  # the largest of float16
    with pytest.raises(SnellenError, match="not finite"):
        PatchCache(Numbered(scale=float("nan"))).read(image, album.folder)


@dataclass(frozen=True)
class ChannelsFirst:
    """Patches as a network gives them: channels first in memory, and seen from the other side."""

    name: str = "channels first"
    batch: int = 4
    patch_settings: dict[str, Any] = field(default_factory=lambda: {"encoder": "channels first"})

    def patches(self, images: Sequence[Image.Image]) -> Floats:
        first = np.arange(len(images) * 24, dtype=np.float32).reshape(len(images), 4, 2, 3)
        return first.transpose(0, 2, 3, 1)


def test_grids_are_read_as_they_were_given_whatever_their_order_in_memory(album: Album) -> None:
    """safetensors writes the memory of an array, whose order may be another."""
    images = images_of(album, 2)
    encoder: Any = ChannelsFirst()
    PatchCache(encoder).prepare(images, album.folder)
    expected = encoder.patches([None, None])
    for image, grid in zip(images, expected, strict=True):
        np.testing.assert_array_equal(PatchCache(encoder).read(image, album.folder), grid)
