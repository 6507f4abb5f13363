"""Images and videos on disk, named by the SHA-256 of their bytes. Nothing is re-encoded."""

from __future__ import annotations

import contextlib
import io
import json
import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from snellen.core.errors import SnellenError
from snellen.core.hashing import digest, sha256
from snellen.core.item import Affine, Media, MediaKind
from snellen.core.item_checks import size_fault
from snellen.core.storage import files, png
from snellen.core.storage.home import home
from snellen.core.storage.user_files import read_file

if TYPE_CHECKING:
    from PIL import Image


_SUFFIXES: Mapping[str, tuple[str, ...]] = {
    "PNG": ("png",),
    "JPEG": ("jpg", "jpeg"),
    "MPO": ("mpo", "jpg", "jpeg"),
    "WEBP": ("webp",),
    "GIF": ("gif",),
    "BMP": ("bmp",),
    "TIFF": ("tif", "tiff"),
    "PPM": ("ppm", "pgm", "pbm", "pnm"),
    "JPEG2000": ("jpeg2000", "jp2"),
    "AVIF": ("avif",),
}
"""What item sets may hold, by Pillow's names: formats of pixels alone, no programs (EPS) and no drawings (SVG)."""
THREADS = 4
"""Files that are looked at together: each may hold an image of 192 MB while it is decoded."""


class MediaFolder:
    """A folder of media.

    What is not here is looked for in `behind`: a run's own images first, then the item set's.
    """

    def __init__(self, root: Path, behind: MediaFolder | None = None) -> None:
        self.root, self.behind = root, behind
        self._verified: set[str] = set()
        self._index: dict[str, list[Any]] | None = None
        self.recipes: dict[str, str] = {}
        """How media were rendered, as JSON text by SHA-256, of those that were added with it."""

    def add(self, raw: bytes, kind: MediaKind, format: str, size: tuple[int, int], seconds: float = 0.0) -> Media:
        """Keep bytes as they are. `size` is (width, height) in pixels."""
        media = Media(sha256(raw), kind, format, size[0], size[1], seconds)
        path = self.root / media.path
        if not path.exists() or path.stat().st_size != len(raw):  # a power cut may leave a name without its bytes
            files.write_bytes(path, raw, durable=False)
        self._verified.add(media.sha256)
        return media

    def add_image(self, image: Image.Image, *, quick: bool = False) -> Media:
        """Keep an image of our own making as PNG; `quick` takes more room and less time (`png.encode`)."""
        return self.add(png.encode(image, quick=quick), "image", "png", image.size)

    def derive(
        self, what: Any, make: Callable[[], Image.Image], source: Media | None = None, moved: Affine = Affine()
    ) -> Media:
        """What a transform makes of an image, kept as PNG; made before is only looked up.

        `what` is plain data that names the transform, its version, its parameters and everything it is made from.
        `source` is the image shown, if it is still the same one to an eye; `moved` leads from its pixels to those of
        the new one.
        """
        key = digest(what, 32)
        derived = self._read_index()
        if key not in derived:
            media = self.add_image(make(), quick=True)
            derived[key] = [media.sha256, media.width, media.height]
            self._note([key, *derived[key]])
        name, width, height = derived[key]
        if source is None:
            return Media(name, "image", "png", width, height)
        return Media(name, "image", "png", width, height, 0.0, source.from_stored.then(moved), source.stored_sha256)

    def _note(self, row: list[Any]) -> None:
        path = self.root / "derived.jsonl"
        try:
            with path.open("a") as index:
                index.write("\n" + json.dumps(row))  # a line of its own, even behind one that a kill tore
        except OSError as error:
            raise files.cannot_write(path, error) from error

    def _read_index(self) -> dict[str, list[Any]]:
        if self._index is None:
            path, self._index = self.root / "derived.jsonl", {}
            for line in path.read_text().splitlines() if path.is_file() else ():
                with contextlib.suppress(ValueError):  # torn at a kill: to be made again
                    key, *rest = json.loads(line)
                    self._index[key] = rest
        return self._index

    def add_file(self, path: Path, recipe: str = "") -> Media:
        """Keep an image file, byte for byte, and how it was rendered. Raises SnellenError where it is no image."""
        from PIL import Image, UnidentifiedImageError

        try:
            raw = read_file(path)
            with Image.open(io.BytesIO(raw)) as image:
                size, format = image.size, (image.format or "").lower()
        except (OSError, UnidentifiedImageError) as error:
            raise SnellenError(f"{path}: not a readable image ({error}); mend or leave out the file") from error
        media = self.add(raw, "image", {"jpeg": "jpg"}.get(format, format), size)
        if recipe:
            self.recipes[media.sha256] = recipe
        return media

    def find(self, media: Media) -> Path:
        """The file. Raises SnellenError where there is none."""
        path = self.root / media.path
        if path.exists():
            return path
        if self.behind is None:
            raise SnellenError(f"{path}: missing; build or copy the item set again")
        return self.behind.find(media)

    def read(self, media: Media) -> bytes:
        """The bytes; those not yet checked in this process are held against their name."""
        path = self.find(media)
        try:
            raw = read_file(path)
        except OSError as error:
            raise SnellenError(f"{path}: cannot be read ({error.strerror}); build the item set again") from error
        if media.sha256 not in self._verified:
            if sha256(raw) != media.sha256:
                raise SnellenError(f"{path}: the bytes were altered; build or copy the item set again")
            self._verified.add(media.sha256)
        return raw

    def open(self, media: Media) -> Image.Image:
        """The decoded image."""
        from PIL import Image

        return Image.open(io.BytesIO(self.read(media)))

    def verify(
        self,
        media: Iterable[tuple[str, Media]],
        *,
        remember: bool = True,
        video_fault: Callable[[bytes, Media], str | None] | None = None,
    ) -> None:
        """Check that every file is there and is what its name says, and that images are what their cards say.

        `media` comes with where it is used, for the message. `video_fault` says why bytes are not the video that a card
        describes, or None; without it videos are only held against their names.

        What was found whole is remembered under the home folder by size and time of change, with the size on the card,
        so that a second look is cheap: each file is read, and each image decoded, once. `remember=False` reads every
        byte again. Raises SnellenError at the first damage.
        """
        memory = home() / "verified" / f"{sha256(str(self.root.resolve()).encode())[:24]}.json"
        known_marks: dict[str, list[float]] = {}
        if remember:
            with contextlib.suppress(OSError, ValueError):  # without memory everything is read
                known_marks = dict(json.loads(memory.read_text()))
        fresh: dict[str, list[float]] = {}
        unknown: list[tuple[Path, str, Media]] = []
        by_card = {(m.path, m.width, m.height, m.kind, m.seconds): (use, m) for use, m in media}
        for location, item_media in by_card.values():
            path = self.root / item_media.path
            try:
                stat = path.stat()
            except OSError as error:
                raise SnellenError(f"{path}: missing (used by {location}); build or copy the item set again") from error
            mark: list[float] = [stat.st_size, stat.st_mtime_ns, item_media.width, item_media.height]
            decoded_mark = [*mark, item_media.seconds] if item_media.kind == "video" else mark
            known_mark = known_marks.get(item_media.sha256)
            is_known = known_mark == decoded_mark or (known_mark == mark and video_fault is None)
            if not is_known:
                unknown.append((path, location, item_media))
            is_decoded = known_mark == decoded_mark or video_fault is not None
            fresh[item_media.sha256] = decoded_mark if is_decoded else mark
        _refuse_damage(unknown, video_fault)
        self._verified |= set(fresh)
        if remember and fresh != known_marks:
            try:
                files.write_text(memory, json.dumps(fresh))
            except SnellenError:
                return  # a home that cannot be written costs time, nothing else


def _refuse_damage(
    unknown: Sequence[tuple[Path, str, Media]], video_fault: Callable[[bytes, Media], str | None] | None
) -> None:
    """Look at files, with where they are used, some at a time: reading, hashing and decoding leave other threads room.

    Raises SnellenError at the first damage.
    """
    from PIL import Image

    if not unknown:
        return
    Image.init()
    pool = ThreadPoolExecutor(min(THREADS, os.cpu_count() or 1))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)  # there is a limit of our own
            faults = pool.map(lambda use: _file_fault(use[0], use[2], video_fault), unknown)
            for (path, location, _), fault in zip(unknown, faults, strict=True):
                if fault:
                    raise SnellenError(f"{path}: {fault} (used by {location}); build or copy the item set again")
    finally:
        pool.shutdown(cancel_futures=True)


def _file_fault(path: Path, media: Media, video_fault: Callable[[bytes, Media], str | None] | None) -> str | None:
    """Why a file is not the one that a card describes, or None."""
    try:
        raw = read_file(path)
    except OSError as error:
        return f"cannot be read ({error.strerror})"
    if sha256(raw) != media.sha256:
        return "the bytes were altered"
    if media.kind == "image":
        return image_fault(raw, media)
    return video_fault(raw, media) if video_fault is not None else None


def image_fault(raw: bytes, media: Media) -> str | None:
    """Why bytes are not the image that a card describes, or None. They are decoded only if the size is right."""
    from PIL import Image

    formats = [format for format in _SUFFIXES if format in Image.OPEN]  # AVIF is not in every build
    try:
        with Image.open(io.BytesIO(raw), formats=formats) as image:
            if fault := size_fault(*image.size):
                return fault
            if image.size != (media.width, media.height):
                return f"of {image.width} x {image.height} pixels, not {media.width} x {media.height}"
            if media.format not in _SUFFIXES[image.format or ""]:
                return f"a {image.format} file by the name of a {media.format}"
            image.load()
    except Exception as error:  # noqa: BLE001  # decoders raise whatever a broken file leads them to
        return f"not an image that can be decoded ({type(error).__name__})"
    return None
