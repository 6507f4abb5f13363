"""Images of a table: paths, base64, bytes, lists of these, and references to another row (as in VLMEvalKit)."""

from __future__ import annotations

import base64
import binascii
import io
import re
import warnings
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeAlias

from snellen.core.errors import SnellenError
from snellen.core.hashing import sha256
from snellen.core.item import Media
from snellen.core.storage.media import MediaFolder, image_fault, open_image
from snellen.core.storage.user_files import file_fault, read_file
from snellen.curation.near_copies import thumbnail
from snellen.datasets.hub_tables import ShardCell
from snellen.datasets.image_files import image_format, image_oddity, levels_fault
from snellen.datasets.own_images import path_within, shown_name
from snellen.stimuli.video import VIDEO_ENDINGS, add_video
from snellen.subjects.joins import image_name
from snellen.suites.questions.lists import as_list

REFERENCE, MAX_PATH = 64, 1024
"""Characters up to which a text may be the index of another row, and a path."""
MAX_COMPARED = 1000
"""Images up to which near copies are looked for: every pair is compared."""
ADDRESS, DATA_URL = re.compile(r"[a-z][a-z0-9+.-]{1,20}://", re.IGNORECASE), re.compile(r"data:[\w/+.-]{1,50};base64,")
Reference: TypeAlias = str
"""The index of the row that has the image."""


class TableImages:
    """Stores the images of a table. `root` is the folder of relative paths; no address is opened."""

    def __init__(self, media: MediaFolder, root: Path) -> None:
        self.media, self.root = media, root
        self.thumbnails: dict[str, bytes] = {}
        """Small copies by SHA-256, of up to `MAX_COMPARED` images."""
        self.oddities: dict[str, str] = {}
        """What is odd about an image by its name; empty for nothing."""
        self._stored: dict[str, Media] = {}
        self._by_path: dict[str, Media] = {}

    def read(self, cell: Any) -> tuple[Media | Reference, ...]:
        """The images of a cell; none for an empty one. Raises SnellenError, without the place, for other cells."""
        return tuple(self._image(part) for part in _parts(cell.content() if isinstance(cell, ShardCell) else cell))

    def _image(self, part: bytes | str) -> Media | Reference:
        if isinstance(part, bytes):
            return self._store(part)
        if part in self._by_path:
            return self._by_path[part]
        text = part.strip()
        if ADDRESS.match(text):
            raise SnellenError(f"{shown_name(text)[:80]!r} is an address, and none is opened; download it first")
        if len(text) <= MAX_PATH and (path := path_within(self.root, text)) and not file_fault(self.root / path):
            self._by_path[part] = self._file(path)
            if name := image_name(path):
                self.media.names.setdefault(self._by_path[part].sha256, set()).add(name)
            return self._by_path[part]
        match = DATA_URL.match(text)
        if match or len(text) > REFERENCE:
            with suppress(binascii.Error, UnicodeError):
                raw = base64.b64decode(text[match.end() if match else 0 :].encode("ascii"), validate=True)
                return self._store(raw)
        if match or len(text) > REFERENCE or "/" in text or "." in text:
            raise SnellenError(f"no image {shown_name(text)[:80]!r} in {self.root}; give --source images=DIR")
        return text

    def _file(self, path: str) -> Media:
        if Path(path).suffix.lower() in VIDEO_ENDINGS:
            return add_video(self.media, self.root / path)
        try:
            return self._store(read_file(self.root / path), shown_name(path))
        except OSError as error:
            raise SnellenError(f"{shown_name(path)}: cannot be read ({error.strerror})") from error

    def _store(self, raw: bytes, path: str = "") -> Media:
        """The image as stored, after it was decoded once. Raises SnellenError if it cannot be, or is too large."""
        name = sha256(raw)
        if name not in self._stored:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # about sizes, for which `image_fault` has its own limit, and headers
                format = image_format(raw, path or "the cell")
                with open_image(io.BytesIO(raw)) as image:
                    media = Media(name, "image", format, *image.size)
                    if fault := image_fault(raw, media) or levels_fault(image):
                        raise SnellenError(f"{path}: {fault}" if path else fault)
                    self.oddities[path or f"image {name[:8]}"] = image_oddity(image)
                    if len(self.thumbnails) <= MAX_COMPARED:
                        self.thumbnails[name] = thumbnail(image)
            self._stored[name] = self.media.add(raw, "image", format, (media.width, media.height))
        return self._stored[name]


def _parts(cell: Any) -> Iterator[bytes | str]:
    """The images of a cell one by one, as bytes, or as text that is a path, base64 or a reference."""
    if isinstance(cell, Mapping):
        cell = cell.get("bytes") or cell.get("path")
    if isinstance(cell, str) and cell.lstrip()[:1] == "[" and (parts := as_list(cell)) is not None:
        cell = parts
    if isinstance(cell, list | tuple):
        for part in cell:
            yield from _parts(part) if not isinstance(part, list | tuple) else _wrong(part)
    elif isinstance(cell, int) and not isinstance(cell, bool):
        yield str(cell)
    elif isinstance(cell, bytes | str):
        if cell:
            yield cell
    elif cell is not None:
        yield from _wrong(cell)


def _wrong(part: Any) -> Iterator[str]:
    raise SnellenError(f"{str(part)[:60]!r} is neither a path nor an image")
