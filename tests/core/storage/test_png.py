"""Pillow reads written PNG files back exactly in every mode, and their size is bounded."""

from __future__ import annotations

import io
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from snellen.core.storage import png


def read(raw: bytes) -> Image.Image:
    Image.open(io.BytesIO(raw)).verify()  # every checksum of a chunk
    image = Image.open(io.BytesIO(raw))
    image.load()
    return image


def noise(mode: str, width: int, height: int) -> Image.Image:
    bands = len(mode)
    shape = (height, width, bands) if bands > 1 else (height, width)
    return Image.fromarray(np.random.default_rng(0).integers(0, 256, shape, np.uint8))


@given(st.sampled_from(["L", "RGB", "RGBA"]), st.integers(1, 60), st.integers(1, 60), st.booleans(), st.booleans())
@settings(max_examples=60, deadline=None)
def test_images_are_encoded_without_loss(mode: str, width: int, height: int, quick: bool, flat: bool) -> None:
    image = Image.new(mode, (width, height), 77) if flat else noise(mode, width, height)
    assert image.mode == mode
    read_again = read(png.encode(image, quick=quick))
    assert (read_again.mode, read_again.size) == (mode, image.size)
    assert read_again.tobytes() == image.tobytes()


@pytest.mark.parametrize("size", [(21845, 1), (21844, 1), (300, 400), (640, 480)])
def test_blocks_of_any_number_are_put_together(size: tuple[int, int]) -> None:
    # 65,535 bytes fit into a block; 21,845 pixels in one row take 65,536 with the byte of the filter, 21,844 fewer.
    raw = png.encode(noise("RGB", *size), quick=True)
    assert read(raw).tobytes() == noise("RGB", *size).tobytes()
    block = raw[raw.index(b"IDAT") + 4 : raw.index(b"IEND") - 8]
    assert len(zlib.decompress(block)) == size[1] * (3 * size[0] + 1)


def test_quick_files_are_compressed_if_it_saves_much() -> None:
    photo = noise("RGB", 320, 240)
    flat = Image.new("RGB", (320, 240), (128, 128, 128))
    assert 320 * 240 * 3 < len(png.encode(photo, quick=True)) < 320 * 240 * 3 + 400
    assert len(png.encode(flat, quick=True)) == len(png.encode(flat)) < 5000
    smooth = Image.linear_gradient("L").convert("RGB")
    buffer = io.BytesIO()
    smooth.save(buffer, "PNG", compress_level=3)
    assert len(png.encode(smooth)) < 2 * len(buffer.getvalue())


def test_palettes_depths_and_profiles_are_kept() -> None:
    for image in (noise("RGB", 9, 7).quantize(5), Image.new("1", (9, 7), 1), Image.new("I;16", (9, 7), 40_000)):
        again = read(png.encode(image, quick=True))
        assert again.mode in (image.mode, "I;16")
        assert again.convert("RGB").tobytes() == image.convert("RGB").tobytes()
    tagged = noise("RGB", 9, 7)
    tagged.info["icc_profile"] = b"a profile"
    assert read(png.encode(tagged)).info["icc_profile"] == b"a profile"


@pytest.mark.parametrize("quick", [False, True])
def test_every_flipped_bit_and_every_cut_is_seen(quick: bool) -> None:
    whole = png.encode(Image.new("RGB", (7, 5), (1, 2, 3)), quick=quick)
    assert png.chunk_kinds(whole)
    for bit in range(8 * len(whole)):
        damaged = bytearray(whole)
        damaged[bit // 8] ^= 1 << bit % 8
        assert not png.chunk_kinds(bytes(damaged)), bit
    assert not any(png.chunk_kinds(whole[:length]) for length in range(len(whole)))
    assert not png.chunk_kinds(whole + b"x")
