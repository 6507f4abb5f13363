"""Images in separate files, and images that are frames of videos."""

from __future__ import annotations

import io
import warnings
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from snellen.core.errors import SnellenError
from snellen.core.storage.media import open_image
from snellen.core.storage.user_files import read_file

if TYPE_CHECKING:
    from PIL import Image

ORIENTATION = 0x0112
"""The EXIF tag of the orientation."""


@dataclass(frozen=True)
class ImageFile:
    """An image file."""

    path: Path

    def read(self, location: str) -> tuple[bytes, str]:
        """See `SourceImage`. The bytes are the file's own."""
        raw = read_bytes(self.path)
        return raw, image_format(raw, location)

    def inspect(self, location: str) -> tuple[int, int]:
        """See `SourceImage` and `inspect_file`."""
        return inspect_file(self.path)


@dataclass(frozen=True)
class VideoFrame:
    """One frame of a video. `share` is its time as a share of the video's length, 0 to 1 (0.5: the middle)."""

    path: Path
    share: float

    def read(self, location: str) -> tuple[bytes, str]:
        """Raises SnellenError: videos are decoded by `snellen.stimuli.video`, on which datasets do not depend."""
        raise SnellenError(f"{location}: is a frame of a video; read it with snellen.stimuli.video.frame_at_share")

    def inspect(self, location: str) -> None:
        """See `SourceImage`. The video is not opened."""
        if not self.path.is_file():
            raise SnellenError("copy the video again, or leave it out")


def inspect_file(path: Path) -> tuple[int, int]:
    """Width and height of an image file, after checking the header, a PNG's checksums and a JPEG's end marker.

    A JPEG without end marker is decoded, since some cameras append data. Raises SnellenError if it is not an image or
    is truncated.
    """
    try:
        with open_image(path) as image:
            size, is_jpeg = image.size, image.format in ("JPEG", "MPO")
            image.verify()
        if is_jpeg and not _ends_as_jpeg(path):
            with open_image(path) as image:
                image.load()
    except Exception as error:  # a damaged image may raise any exception
        raise SnellenError("copy the file again, or leave it out") from error
    return size


def image_size(path: Path) -> tuple[int, int] | None:
    """Width and height from the image's header; None if it is not an image."""
    try:
        with open_image(path) as image:
            return image.size
    except Exception:  # noqa: BLE001  # a damaged image may raise any exception
        return None


def image_format(raw: bytes, location: str) -> str:
    """The format of the bytes. Raises SnellenError naming `location` if they are not an image."""
    try:
        with open_image(io.BytesIO(raw)) as image:
            format = (image.format or "").lower()
    except Exception as error:  # a damaged image may raise any exception
        raise SnellenError(f"{location}: {_unreadable(raw)}") from error
    return {"jpeg": "jpg", "mpo": "jpg"}.get(format, format)


def _unreadable(raw: bytes) -> str:
    """What bytes are that are no image, and what to do."""
    if raw.startswith(b"version https://git-lfs"):
        return "a Git LFS pointer in place of an image; run `git lfs pull` in its repository"
    if raw[4:12] in (b"ftypheic", b"ftypheix", b"ftypmif1"):
        return "a HEIC image, which is not read; save it as PNG or JPEG"
    return "not a readable image; copy the file again, or leave it out"


def levels_fault(image: Image.Image) -> str:
    """The reason why the levels of an image cannot be shown, or an empty text: Pillow cuts those above 255 off."""
    low, high = image.getextrema() if image.mode[0] in "IF" else (0, 255)
    if float(str(low)) >= 0 and (1 if image.mode == "F" else 0) <= float(str(high)) <= 255:
        return ""
    return "levels of more than 8 bits, of which those above 255 would be white; save it with levels 0 to 255"


def is_turned(image: Image.Image) -> bool:
    """True if the image's header (EXIF) turns it; a damaged header, for which Pillow raises anything, does not."""
    with suppress(Exception), warnings.catch_warnings(action="ignore"):
        return bool(2 <= image.getexif().get(ORIENTATION, 1) <= 8)
    return False


def image_oddity(image: Image.Image) -> str:
    """What of an image may not arrive at a model, in words that follow "N images are"; empty if nothing is odd."""
    if is_turned(image):
        return "rotated by their header (EXIF), which some models ignore; save them upright"
    if image.format != "MPO" and _has_second_frame(image):
        return "of several frames or pages, of which the first is shown"
    if image.has_transparency_data and image.convert("RGBA").getchannel("A").getextrema() != (255, 255):
        return "partly transparent, and models see them on different grounds; save them without transparency"
    return ""


def _has_second_frame(image: Image.Image) -> bool:
    """True if an image has a second frame or page, which is not counted: a file may have a million."""
    try:
        image.seek(1)
    except Exception:  # noqa: BLE001  # EOFError, or anything of a damaged file
        return False
    else:
        return True
    finally:
        image.seek(0)


def oddity_notes(oddities: Mapping[str, str], total: int) -> list[str]:
    """One note per oddity, with the first of the images it concerns; `oddities` by name of the image."""
    notes = []
    for oddity in dict.fromkeys(filter(None, oddities.values())):
        names = [name for name, of_image in oddities.items() if of_image == oddity]
        shown = ", ".join(names[:3]) + ", …" * (len(names) > 3)
        notes.append(f"{len(names)} of {total} images are {oddity}: {shown}")
    return notes


def _ends_as_jpeg(path: Path) -> bool:
    with path.open("rb") as file:
        file.seek(0, 2)
        file.seek(max(file.tell() - 64, 0))
        return file.read().rstrip(b"\0").endswith(b"\xff\xd9")


def read_bytes(path: Path) -> bytes:
    """The bytes of a file. Raises SnellenError if it cannot be read."""
    try:
        return read_file(path)
    except OSError as error:
        raise SnellenError(f"{path}: cannot be read ({error.strerror}); copy the dataset again") from error
