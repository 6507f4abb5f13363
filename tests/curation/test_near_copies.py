"""A photograph that was re-encoded, resized or cropped is found; other images and those of a fixed camera are not."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageOps
from scipy.ndimage import gaussian_filter

from snellen.core.seeds import stream
from snellen.curation.near_copies import (
    NearCopies,
    _grey,
    find_near_copies,
    near_copy_notes,
    near_pairs,
    residual,
    thumbnail,
)
from snellen.datasets.image_files import image_oddity

SIDE = 200


def photograph(*key: str | int) -> Image.Image:
    """Soft noise with edges, as in photographs; different for every key."""
    rng = stream("near copies", *key)
    soft = gaussian_filter(rng.normal(size=(SIDE, SIDE, 3)), (12, 12, 0)) * 900 + 128
    soft[60:110, int(rng.integers(20, 90)) :][:, :70] += 60
    return Image.fromarray(np.clip(soft, 0, 255).astype(np.uint8))


def encoded(image: Image.Image, quality: int, **settings: Image.Exif) -> Image.Image:
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=quality, **settings)
    return Image.open(io.BytesIO(buffer.getvalue()))


def test_only_copies_are_found() -> None:
    original = photograph("a")
    copies = [
        encoded(original, 50), original.resize((SIDE // 2, SIDE // 2)), original.resize((2 * SIDE, 2 * SIDE)),
        encoded(original.crop((2, 2, SIDE - 2, SIDE - 2)), 75), original.convert("L"),
    ]  # fmt: skip
    for copy in copies:
        assert near_pairs([thumbnail(original), thumbnail(copy)]) == [(0, 1)]
    others = [photograph("b", k) for k in range(8)]
    assert near_pairs([thumbnail(image) for image in (original, *others)]) == []
    mirrored = original.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    assert near_pairs([thumbnail(original), thumbnail(mirrored)]) == []
    plain = thumbnail(Image.new("RGB", (50, 50), "grey"))
    assert near_pairs([plain, plain]) == []


def product(box: tuple[int, int, int, int]) -> Image.Image:
    """A dark ellipse in front of a pale wall."""
    image = Image.new("RGB", (SIDE, SIDE), (190, 190, 190))
    ImageDraw.Draw(image).ellipse(box, fill=(60, 60, 60))
    return image


def test_objects_of_other_shapes_before_the_same_wall_are_not_copies() -> None:
    ball = product((50, 50, 150, 150))
    others = [product((60, 40, 140, 160)), product((50, 50, 120, 120)), product((90, 50, 190, 150)), photograph("a")]
    others += [ImageOps.invert(ball), ImageOps.invert(photograph("a"))]
    assert near_pairs([thumbnail(image) for image in (ball, *others)]) == []
    mug = ball.copy()
    ImageDraw.Draw(mug).rectangle((140, 80, 170, 120), fill=(60, 60, 60))
    assert near_pairs([thumbnail(ball), thumbnail(mug)]) == []


def test_a_copy_with_a_rotation_tag_is_found() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # to be shown turned by a quarter clockwise
    original = photograph("a")
    turned = encoded(original.rotate(90), 90, exif=exif)
    assert image_oddity(turned).startswith("rotated by their header")
    assert not image_oddity(original)
    assert near_pairs([thumbnail(original), thumbnail(turned)]) == [(0, 1)]
    assert near_pairs([thumbnail(original), thumbnail(original.rotate(90))]) == []


@pytest.mark.parametrize("format", ["JPEG", "PNG"])
@pytest.mark.parametrize(
    "block",
    [
        b"Exif\0\0" + b"\xfd?\xeb<\x92P\xb7\x97" * 8, b"Exif\0\0", b"Exif\0\0II*\0\xff\xff\xff\xff", b"\x01" * 60,
        b"Exif\0\0II*\0\x08\0\0\0\x01\0\x12\x01\x02\0\xff\xff\0\0\x10\0\0\0\0\0\0\0",
    ],
)  # fmt: skip
def test_a_damaged_header_turns_nothing(block: bytes, format: str, recwarn: pytest.WarningsRecorder) -> None:
    buffer = io.BytesIO()
    photograph("a").save(buffer, format, exif=block)
    image = Image.open(buffer)
    recwarn.clear()
    assert (image_oddity(image), near_pairs([thumbnail(photograph("a")), thumbnail(image)])) == ("", [(0, 1)])
    assert not list(recwarn)


def test_pages_are_noticed_but_not_counted() -> None:
    buffer, page = io.BytesIO(), Image.new("L", (8, 8))
    page.save(buffer, "TIFF", save_all=True, append_images=[page] * 3)
    words = "of several frames or pages, of which the first is shown"
    assert image_oddity(Image.open(buffer)) == words
    raw = buffer.getvalue()
    assert image_oddity(Image.open(io.BytesIO(raw[: len(raw) // 2]))) in ("", words), "the later pages are damaged"
    image = Image.open(buffer)
    image_oddity(image)
    assert image.tell() == 0


def test_groups_distinguish_copies_from_similar_images() -> None:
    images = [thumbnail(photograph("a", k)) for k in range(8)]
    copy = thumbnail(encoded(photograph("a", 1), 60))
    near = find_near_copies([*images, copy, copy], ["x"] * 8 + ["x", "y"])
    assert near.copies == {8: 1}
    assert near.across == ((1, 9), (8, 9))
    assert near.alike == {}
    (note,) = near_copy_notes(near, list("abcdefghij"), "class", keep=False)
    assert note == "2 pairs of images that differ in class look the same and stay: j like b, j like i"
    # Two of three images look like the first: this is a fixed camera, and nothing is dropped.
    fixed = find_near_copies([images[0], images[0], images[0]], ["x"] * 3)
    assert fixed.copies == {}
    assert fixed.alike == {"x": 2}
    pair = find_near_copies(images[:1] * 2, ["x"] * 2)
    assert (pair.copies, pair.alike) == ({1: 0}, {}), "one copy of two images is no camera"


def test_of_many_copies_all_but_the_first_are_copies() -> None:
    # The last image has four copies before it. The three that are most like it are copies of the first one themselves.
    photo = photograph("a")
    copies = [encoded(photo, 40), photo.convert("L"), photo, photo.resize((SIDE // 4, SIDE // 4)), photo]
    others = [photograph("b", k) for k in range(8)]
    thumbnails = [thumbnail(image) for image in (*copies, *others)]
    assert (0, 4) not in near_pairs(thumbnails)
    assert find_near_copies(thumbnails, ["x"] * 13).copies == {1: 0, 2: 0, 3: 0, 4: 0}


def test_a_copy_of_a_copy_that_is_unlike_the_first_image_stays() -> None:
    # Three crops, each moved by 10 of 150 px (2.1 of the 32 px of a small copy) from the one before: neighbours are
    # alike, but the first and the last are moved by more than the 4 px that are compensated.
    large = photograph("a")
    side = SIDE * 3 // 4
    thumbnails = [thumbnail(large.crop((k, k, k + side, k + side))) for k in (0, 10, 20)]
    assert near_pairs(thumbnails) == [(0, 1), (1, 2)]
    others = [thumbnail(photograph("b", k)) for k in range(8)]
    assert find_near_copies([*thumbnails, *others], ["x"] * 11).copies == {1: 0}


@pytest.mark.parametrize("count", [0, 1])
def test_too_few_images_have_no_pairs(count: int) -> None:
    assert near_pairs([thumbnail(photograph("a"))] * count) == []


def test_near_copies_that_stay_are_counted_and_named() -> None:
    near = NearCopies({3: 1, 4: 1, 5: 0, 6: 2}, (), {"cups": 2})
    alike = "2 images of the thing 'cups' look like others of it, as from one fixed camera, and stay"
    assert near_copy_notes(near, "abcdefg", "thing", keep=False) == [alike]
    copies = "4 images look like another one of their thing and stay: d like b, e like b, f like a, …"
    assert near_copy_notes(near, "abcdefg", "thing", keep=True) == [copies, alike]
    assert near_copy_notes(NearCopies({}, (), {}), "abc", "thing", keep=True) == []


def test_a_faint_image_is_not_like_another_because_little_of_it_remains() -> None:
    faint = photograph("b").point(lambda level: 100 + level // 3)
    strong, weak = (_grey(thumbnail(image)) for image in (photograph("a"), faint))
    assert min(residual(strong, weak), residual(weak, strong)) > 0.6
    assert residual(weak, _grey(thumbnail(photograph("b")))) < 0.2


@pytest.mark.parametrize(("others", "copies", "alike"), [(5, {1: 0, 2: 0, 3: 0}, {}), (4, {}, {"x": 3})])
def test_at_most_a_third_of_a_group_are_copies(others: int, copies: dict[int, int], alike: dict[str, int]) -> None:
    images = [photograph("a")] * 4 + [photograph("b", k) for k in range(others)]
    near = find_near_copies([thumbnail(image) for image in images], ["x"] * len(images))
    assert (near.copies, near.alike) == (copies, alike)
