"""Images and videos on disk, named by the SHA-256 of their bytes and never re-encoded."""

from __future__ import annotations

import contextlib
import io
import json
import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from snellen.core.errors import SnellenError
from snellen.core.hashing import digest, sha256
from snellen.core.item import Affine, Media, MediaKind
from snellen.core.item_checks import media_fault, size_fault
from snellen.core.storage import files, png
from snellen.core.storage.home import home
from snellen.core.storage.user_files import MAX_CARD_BYTES, read_bytes, read_file, read_text, refuse_irregular

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
"""Formats that are read, by Pillow's names: only raster formats, no programs (EPS) or drawings (SVG)."""


def open_image(image_file: Path | str | IO[bytes]) -> Image.Image:
    """Open an image as Pillow does, but of no other format than these: Pillow starts Ghostscript for a program.

    Raises UnidentifiedImageError, an OSError, for any other.
    """
    from PIL import Image

    if not hasattr(image_file, "read"):
        refuse_irregular(Path(image_file))
    Image.init()  # or the later formats would be unknown
    formats = [name for name in _SUFFIXES if name in Image.OPEN]  # AVIF is not in every build
    return Image.open(image_file, formats=formats)


THREADS = 4
"""Files checked at a time; each may need 192 MB while its image is decoded."""


class MediaFolder:
    """A folder of media. Files missing here are looked up in `behind`, e.g. the item set's folder behind a run's."""

    def __init__(self, root: Path, behind: MediaFolder | None = None) -> None:
        self.root, self.behind = root, behind
        self._verified: set[str] = set()
        self._index: dict[str, Media] | None = None
        self.recipes: dict[str, str] = {}
        """Recipes of rendered media, as JSON text by SHA-256, as far as they were added."""
        self.names: dict[str, set[str]] = {}
        """Names of the user's files by SHA-256, as far as they were added."""

    def _has(self, media: Media) -> bool:
        """True if the file is in this folder, with the bytes that its name says."""
        path = self.root / media.path
        if media.sha256 in self._verified:
            return path.exists()
        try:
            is_intact = sha256(read_file(path)) == media.sha256
        except OSError:
            return False
        if is_intact:
            self._verified.add(media.sha256)
        return is_intact

    def add(self, raw: bytes, kind: MediaKind, format: str, size: tuple[int, int], seconds: float = 0.0) -> Media:
        """Store bytes unchanged. `size` is (width, height) in pixels."""
        media = Media(sha256(raw), kind, format, size[0], size[1], seconds)
        if not self._has(media):  # a power cut may leave a name without its bytes
            files.write_bytes(self.root / media.path, raw, durable=False)
        self._verified.add(media.sha256)
        return media

    def add_image(self, image: Image.Image, *, quick: bool = False) -> Media:
        """Store an image as PNG; `quick` takes more space and less time (`png.encode`)."""
        return self.add(png.encode(image, quick=quick), "image", "png", image.size)

    def derive(
        self, what: Any, make: Callable[[], Image.Image], source: Media | None = None, moved: Affine = Affine()
    ) -> Media:
        """The output of a transform, stored as PNG. An existing one is looked up, not made again.

        `what` is plain data that names the transform, its version, its parameters and all its inputs. `source` is the
        image shown, if the output still shows it; `moved` maps its pixels to those of the output.
        """
        key = digest(what, 32)
        derived = self._read_index()
        if key not in derived or not self._has(derived[key]):
            media = self.add_image(make(), quick=True)
            if derived.get(key) != media:
                row = [key, media.sha256, media.width, media.height]
                self._note([*row, digest(row, 8)])
            derived[key] = media
        if source is None:
            return derived[key]
        return replace(derived[key], from_stored=source.from_stored.then(moved), origin=source.stored_sha256)

    def _note(self, row: list[Any]) -> None:
        path = self.root / "derived.jsonl"
        try:
            with path.open("a") as index:
                index.write("\n" + json.dumps(row))  # a separate line, even after one cut by a kill
        except OSError as error:
            raise files.cannot_write(path, error) from error

    def _read_index(self) -> dict[str, Media]:
        if self._index is None:
            path, self._index = self.root / "derived.jsonl", {}
            raw = read_bytes(path) if path.is_file() else b""
            for line in raw.splitlines():
                with contextlib.suppress(ValueError, TypeError, RecursionError):  # cut by a kill or damaged: made again
                    key, name, width, height, checksum = json.loads(line)
                    media = Media(name, "image", "png", width, height)
                    if checksum == digest([key, name, width, height], 8) and not media_fault(media):
                        self._index[key] = media
        return self._index

    def add_file(self, path: Path, recipe: str = "") -> Media:
        """Store an image file byte for byte, with its recipe if rendered. Raises SnellenError if it is not an image."""
        try:
            media = self.add_bytes(read_file(path))
        except OSError as error:
            raise SnellenError(f"{path}: not a readable image ({error}); fix or leave out the file") from error
        if recipe:
            self.recipes[media.sha256] = recipe
        return media

    def add_bytes(self, raw: bytes) -> Media:
        """Store the bytes of an image file unchanged. Raises OSError if they are no image."""
        with open_image(io.BytesIO(raw)) as image:
            size, format = image.size, (image.format or "").lower()
        return self.add(raw, "image", {"jpeg": "jpg"}.get(format, format), size)

    def find(self, media: Media) -> Path:
        """The path of the file. Raises SnellenError if there is none."""
        path = self.root / media.path
        if path.exists():
            return path
        if self.behind is None:
            raise SnellenError(f"{path}: missing; build or copy the item set again")
        return self.behind.find(media)

    def read(self, media: Media) -> bytes:
        """The bytes, checked against the file's name once per process."""
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
        return open_image(io.BytesIO(self.read(media)))

    def verify(
        self,
        media: Iterable[tuple[str, Media]],
        *,
        remember: bool = True,
        video_fault: Callable[[bytes, Media], str | None] | None = None,
    ) -> None:
        """Check that every file exists and matches its name, and that images match their descriptions.

        Each of `media` comes with the place of its use, for messages. `video_fault` returns the reason why bytes are
        not the video described, or None; without it, only the names of videos are checked.

        Files found intact are remembered in the home folder by size and modification time, so that each file is read,
        and each image decoded, only once. `remember=False` reads all again. Raises SnellenError at the first damage.
        """
        memory = home() / "verified" / f"{sha256(os.path.realpath(self.root).encode())[:24]}.json"
        known_marks = _read_marks(memory) if remember else {}
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
                return  # without a writable home folder, only time is lost


def _read_marks(memory: Path) -> dict[str, Any]:
    """The marks of files found intact; none if the memory is missing or damaged, so that everything is read."""
    try:
        marks = json.loads(read_text(memory, limit=MAX_CARD_BYTES))
    except (OSError, ValueError, RecursionError):
        return {}
    return marks if isinstance(marks, dict) else {}


def _refuse_damage(
    unknown: Sequence[tuple[Path, str, Media]], video_fault: Callable[[bytes, Media], str | None] | None
) -> None:
    """Check files, given with the place of their use, in threads. Raises SnellenError at the first damage."""
    from PIL import Image

    if not unknown:
        return
    Image.init()
    pool = ThreadPoolExecutor(min(THREADS, os.cpu_count() or 1))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)  # `size_fault` has its own limit
            faults = pool.map(lambda use: _file_fault(use[0], use[2], video_fault), unknown)
            for (path, location, _), fault in zip(unknown, faults, strict=True):
                if fault:
                    raise SnellenError(f"{path}: {fault} (used by {location}); build or copy the item set again")
    finally:
        pool.shutdown(cancel_futures=True)


def _file_fault(path: Path, media: Media, video_fault: Callable[[bytes, Media], str | None] | None) -> str | None:
    """The reason why a file is not the one described, or None."""
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
    """The reason why bytes are not the image described, or None. They are decoded only if the size is right."""
    try:
        with open_image(io.BytesIO(raw)) as image:
            if fault := size_fault(*image.size):
                return fault
            if image.size != (media.width, media.height):
                return f"of {image.width} x {image.height} pixels, not {media.width} x {media.height}"
            if media.format not in _SUFFIXES[image.format or ""]:
                return f"a {image.format} file named {media.format}"
            image.load()
    except Exception as error:  # noqa: BLE001  # decoders may raise anything for a broken file
        return f"not an image that can be decoded ({type(error).__name__})"
    return None
