from __future__ import annotations

import io
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, UnidentifiedImageError

import snellen
from snellen.core.errors import SnellenError
from snellen.core.hashing import sha256
from snellen.core.item import Affine, Media, Montage
from snellen.core.storage.media import MediaFolder, image_fault, open_image
from snellen.stimuli.transforms.montage import lay_out
from tests.helpers.journey import patch
from tests.helpers.refusals import assert_refused


def test_files_are_kept_byte_for_byte(tmp_path: Path) -> None:
    Image.new("RGB", (5, 3), (9, 8, 7)).save(tmp_path / "a.jpeg", quality=60)
    media = MediaFolder(tmp_path / "media")
    image = media.add_file(tmp_path / "a.jpeg")
    assert (image.width, image.height, image.format) == (5, 3, "jpg")
    assert media.find(image).read_bytes() == (tmp_path / "a.jpeg").read_bytes()
    assert media.find(image).name == f"{image.sha256}.jpg"
    (tmp_path / "b.png").write_text("<html>not found</html>")
    with pytest.raises(SnellenError, match=r"b\.png: not a readable image"):
        media.add_file(tmp_path / "b.png")


@pytest.mark.parametrize(("format", "name", "fault"), [("JPEG", "jpeg", None), ("PNG", "jpg", "a PNG file named jpg")])
def test_an_image_has_the_format_of_its_name(format: str, name: str, fault: str | None) -> None:
    Image.new("RGB", (4, 3)).save(buffer := io.BytesIO(), format)
    raw = buffer.getvalue()
    assert image_fault(raw, Media(sha256(raw), "image", name, 4, 3)) == fault


def test_programs_and_drawings_are_not_opened(tmp_path: Path) -> None:
    """Pillow would start Ghostscript to draw a file of PostScript, whatever its name."""
    program = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n%%EndComments\n{ } loop\n"
    (path := tmp_path / "a.png").write_bytes(program)
    with Image.open(path) as image:
        assert image.format == "EPS"
    for source in (path, str(path), io.BytesIO(program)):
        with pytest.raises(UnidentifiedImageError):
            open_image(source)
    package = Path(snellen.__file__).parent
    opening = [path.name for path in package.rglob("*.py") if "Image.open(" in path.read_text("utf-8")]
    assert opening == ["media.py"], "open images with open_image"


def test_missing_files_are_found_in_the_parent_folder(tmp_path: Path) -> None:
    items = MediaFolder(tmp_path / "items")
    run = MediaFolder(tmp_path / "run", items)
    stored = patch(items, (1, 2, 3))
    assert run.open(stored).getpixel((4, 4)) == (1, 2, 3)
    stray = patch(MediaFolder(tmp_path / "elsewhere"), (4, 5, 6))
    with pytest.raises(SnellenError, match=rf"{tmp_path}/items/.*missing"):
        run.open(stray)


def test_an_image_is_made_once_and_known_by_its_origin(tmp_path: Path) -> None:
    calls: list[int] = []

    def make() -> Image.Image:
        calls.append(1)
        return Image.new("RGB", (4, 4))

    source = patch(MediaFolder(tmp_path / "run"), (1, 2, 3))
    for _ in range(2):  # another process starts with a new folder object
        media = MediaFolder(tmp_path / "run")
        first = media.derive(["crop", 1, source.sha256], make, source, Affine(c=-2))
        again = media.derive(["crop", 1, source.sha256], make, first, Affine(c=-2))
    assert len(calls) == 1
    assert first.origin == again.origin == source.sha256
    assert again.from_stored == Affine(c=-4)
    assert media.derive(["grey", 1], make).origin == ""
    assert len(calls) == 2


@pytest.mark.parametrize("torn", ["", '["0123', '["0123", "abcd", 4, 4', '["0123"]{'])
def test_an_index_torn_by_a_kill_is_repaired(tmp_path: Path, torn: str) -> None:
    names: list[str] = []

    def derive(name: str) -> None:
        def make() -> Image.Image:
            names.append(name)
            return Image.new("RGB", (4, 4))

        MediaFolder(tmp_path).derive([name], make)

    derive("a")
    with (tmp_path / "derived.jsonl").open("a") as index:
        index.write("\n" + torn)
    for name in ("b", "a", "b"):
        derive(name)
    assert names == ["a", "b"]


@pytest.mark.parametrize("line", ["[1]", "5", "null", "{}", '"text"', '[[1], "ab", 4, 4]', "[" * 9999, "\ud800"])
def test_an_index_of_another_shape_is_made_again(tmp_path: Path, line: str) -> None:
    (tmp_path / "derived.jsonl").write_bytes(line.encode("utf-8", "surrogatepass") + b"\n\xff")
    image = MediaFolder(tmp_path).derive(["a"], lambda: Image.new("RGB", (4, 4)))
    assert MediaFolder(tmp_path).derive(["a"], lambda: pytest.fail("made twice")) == image


def test_a_damaged_derived_image_is_made_again(tmp_path: Path) -> None:
    """Whatever bit of the file or of its row in the index is flipped, or if the file is gone."""

    def derive() -> bytes:
        media = MediaFolder(tmp_path)
        image = media.derive(["a"], lambda: Image.new("RGB", (4, 4), (1, 2, 3)))
        assert (image.width, image.height) == (4, 4)
        return media.read(image)

    expected = derive()
    (image,) = tmp_path.rglob("*.png")
    image.unlink()
    assert derive() == expected
    for path in (image, tmp_path / "derived.jsonl"):
        whole = path.read_bytes()
        for bit in range(0, 8 * len(whole), 3):
            damaged = bytearray(whole)
            damaged[bit // 8] ^= 1 << bit % 8
            path.write_bytes(damaged)
            assert derive() == expected
            path.write_bytes(whole)


def test_every_file_is_checked_when_it_is_first_read(tmp_path: Path) -> None:
    media = MediaFolder(tmp_path)
    first, second = patch(media, (1, 2, 3)), patch(media, (4, 5, 6))
    reader = MediaFolder(tmp_path)
    assert reader.read(first) == media.find(first).read_bytes()
    media.find(second).write_bytes(media.find(first).read_bytes())
    with pytest.raises(SnellenError, match="the bytes were altered"):
        reader.read(second)


@pytest.mark.parametrize("content", [b"[1]", b"5", b"null", b"{}", b'{"a": null}', b"\xff", b"", b"[" * 99999])
def test_a_damaged_memory_of_intact_files_is_written_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    monkeypatch.setenv("SNELLEN_HOME", str(tmp_path / "home"))
    media = MediaFolder(tmp_path / "media")
    image = patch(media, (1, 2, 3))
    media.verify([("here", image)])
    (memory,) = (tmp_path / "home" / "verified").iterdir()
    expected = memory.read_bytes()
    memory.write_bytes(content)
    MediaFolder(tmp_path / "media").verify([("here", image)])
    assert memory.read_bytes() == expected


@pytest.mark.parametrize("change", [{"width": 9}, {"height": 9}])
def test_an_image_found_intact_is_read_again_for_another_size(tmp_path: Path, change: dict[str, Any]) -> None:
    media = MediaFolder(tmp_path / "media")
    image = media.add_image(Image.new("RGB", (8, 8)))
    media.verify([("here", image)])
    with pytest.raises(SnellenError, match="of 8 x 8 pixels, not"):
        MediaFolder(tmp_path / "media").verify([("here", replace(image, **change))])


@pytest.mark.parametrize(
    ("sizes", "fits"), [([(31_990, 9)], False), ([(7_900, 100)], True), ([(20_000, 9), (9, 20_000)], False)]
)
def test_a_montage_has_a_limit_of_pixels(tmp_path: Path, sizes: list[tuple[int, int]], fits: bool) -> None:
    """A wide and a high image, each within the limit, make cells that are both: 20,000 x 20,000."""
    media = MediaFolder(tmp_path)
    images = tuple(media.add_image(Image.new("L", size)) for size in sizes)
    if fits:
        assert lay_out(Montage(images, 1), media).height == 116
    else:
        with pytest.raises(SnellenError, match=r"on one sheet: an image of .* pixels is larger than"):
            lay_out(Montage(images, 1), media)


SAVED = {
    "PNG": "png", "JPEG": "jpg jpeg", "MPO": "mpo jpg jpeg", "WEBP": "webp", "GIF": "gif", "BMP": "bmp",
    "TIFF": "tif tiff", "PPM": "ppm pgm pbm pnm", "JPEG2000": "jpeg2000 jp2", "AVIF": "avif",
}  # fmt: skip


@pytest.mark.parametrize("format", SAVED)
def test_images_of_every_format_are_kept_under_each_of_its_names(format: str, tmp_path: Path) -> None:
    Image.init()
    if format not in Image.SAVE:
        pytest.skip("not in this build of Pillow")
    more = {"save_all": True, "append_images": [Image.new("RGB", (16, 12))]} if format == "MPO" else {}
    Image.new("RGB", (16, 12), (9, 8, 7)).save(tmp_path / "a", format, **more)
    raw, media = (tmp_path / "a").read_bytes(), MediaFolder(tmp_path / "media")
    image = media.add_file(tmp_path / "a", recipe='{"a": 1}')
    assert (image.width, image.height, image_fault(raw, image)) == (16, 12, None)
    assert media.recipes == {image.sha256: '{"a": 1}'}
    names = {name: image_fault(raw, replace(image, format=name)) for name in {*" ".join(SAVED.values()).split(), "eps"}}
    assert {name for name, fault in names.items() if fault is None} == set(SAVED[format].split())


def test_what_verification_finds_is_named_with_its_place(tmp_path: Path) -> None:
    media = MediaFolder(tmp_path)
    first, second, cut = patch(media, (1, 2, 3)), patch(media, (4, 5, 6)), patch(media, (7, 8, 9))
    raw = media.find(cut).read_bytes()[:-30]
    cut = media.add(raw, "image", "png", (8, 6))
    for location, damaged, message in [
        ("b", replace(second, width=9), "of 8 x 6 pixels, not 9 x 6 (used by b)"),
        ("c", replace(first, sha256="0" * 64), "missing (used by c)"), ("d", cut, "not an image that can be decoded ("),
    ]:  # fmt: skip
        uses = [("a", first), (location, damaged), ("e", second)]
        assert_refused(partial(MediaFolder(tmp_path).verify, uses, remember=False), message)
