"""The encoder protocols, and features of many images, each computed once and cached in the home folder."""

from __future__ import annotations

import hashlib
import io
import os
import typing
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from snellen.core.errors import SnellenError
from snellen.core.hashing import digest
from snellen.core.item import Media
from snellen.core.storage.files import write_bytes
from snellen.core.storage.home import home
from snellen.core.storage.media import MediaFolder
from snellen.core.storage.user_files import read_file

if TYPE_CHECKING:
    from pathlib import Path

    from PIL import Image

Floats: TypeAlias = NDArray[np.float32]

FAILURES = 3
"""Images in a row, from the first, after which an encoder that encodes none of them is taken to be wrong."""
MAX_THREADS = 16
"""More threads would need more memory for batches than small machines have."""


_CHECKSUM_BYTES = 32


class TextSide(typing.Protocol):
    """Texts in the space of an encoder's images: the cosine of their features measures the match."""

    def __hash__(self) -> int: ...

    @property
    def template(self) -> str:
        """Template in which `{}` is replaced by an option's text before comparison. Part of the settings."""
        ...

    def features(self, texts: Sequence[str]) -> Floats:
        """Texts -> float32 of shape (n, d)."""
        ...


class Encoder(typing.Protocol):
    """Turns images into features. Hashable and cheap to create: weights are loaded when first needed."""

    @property
    def name(self) -> str:
        """The name after `encoder:`."""
        ...

    @property
    def settings(self) -> Mapping[str, Any]:
        """All settings that affect features (weights by SHA-256, sizes, normalisation, layer), as plain data."""
        ...

    @property
    def attributes(self) -> Mapping[str, str]:
        """Attributes for comparisons: family, supervision (if known), parameters (a count), licence."""
        ...

    @property
    def batch(self) -> int:
        """Number of images to pass to `features` at a time. Not part of the settings."""
        ...

    @property
    def text(self) -> TextSide | None:
        """The text side, if there is one."""
        ...

    def features(self, images: Sequence[Image.Image]) -> Floats:
        """Images of any size and mode -> float32 of shape (n, d)."""
        ...


@typing.runtime_checkable
class DerivedEncoder(typing.Protocol):
    """An encoder that uses the features of another one, so that an image is computed once for both."""

    @property
    def source(self) -> Encoder:
        """The encoder whose features are used."""
        ...

    def derive(self, features: Floats) -> Floats:
        """Features of the source -> float32 of shape (n, d)."""
        ...


@typing.runtime_checkable
class UnsavedEncoder(typing.Protocol):
    """An encoder whose features hold for this process only."""

    @property
    def computed(self) -> dict[str, Floats]:
        """Features (d,) by SHA-256 of the image."""
        ...

    @property
    def failures(self) -> dict[str, str]:
        """The reason by SHA-256 of an image that cannot be encoded."""
        ...


def fingerprint(encoder: Encoder) -> str:
    """Twelve hexadecimal digits that change with anything that may affect features; names the cache folder."""
    return digest(dict(encoder.settings), 12)


def features_folder(encoder: Encoder) -> Path:
    """The cache folder of an encoder's features: `features/<fingerprint>` in the home folder."""
    return home() / "features" / fingerprint(encoder)


def encode(encoder: Encoder, media: Sequence[Media], folder: MediaFolder) -> Floats:
    """Features of images, shape (n, d), in the given order.

    Each distinct image is computed once and stored as one npy file named by its SHA-256; damaged files are recomputed.
    Features of an `UnsavedEncoder` stay in memory.
    Batches run in as many threads as there are processors. Raises SnellenError for an image that cannot be encoded.
    """
    if not media:
        raise ValueError("no images to encode")
    root, computed = features_folder(encoder), encoder.computed if isinstance(encoder, UnsavedEncoder) else None
    features = {
        image.sha256: load_array(_file(root, image)) if computed is None else computed.get(image.sha256)
        for image in media
    }
    missing = [image for sha, image in {image.sha256: image for image in media}.items() if features[sha] is None]
    starts = range(0, len(missing), encoder.batch)
    if missing and isinstance(encoder, DerivedEncoder):
        source_rows = encode(encoder.source, missing, folder)

    def compute(start: int) -> None:
        chunk = missing[start : start + encoder.batch]
        if isinstance(encoder, DerivedEncoder):
            rows = encoder.derive(source_rows[start : start + encoder.batch])
        else:
            rows = encoder.features([folder.open(image) for image in chunk])
        for image, row in zip(chunk, rows, strict=True):
            features[image.sha256] = row
            if computed is None:
                save_array(_file(root, image), row)
            else:
                computed[image.sha256] = row

    if missing:
        with ThreadPoolExecutor(min(len(starts), os.cpu_count() or 1, MAX_THREADS)) as pool:
            for _ in pool.map(compute, starts):
                pass
    return np.stack([row for image in media if (row := features[image.sha256]) is not None])


def encode_possible(encoder: Encoder, media: Sequence[Media], folder: MediaFolder) -> None:
    """Compute the features of all images that can be encoded; of an `UnsavedEncoder`, keep reasons for the others.

    Raises SnellenError if the first images all fail: then it is not the images.
    """
    try:
        encode(encoder, media, folder)
        return
    except SnellenError:
        if not isinstance(encoder, UnsavedEncoder):
            raise
    for image in {image.sha256: image for image in media}.values():
        if image.sha256 in encoder.computed:
            continue
        try:
            encode(encoder, [image], folder)
        except SnellenError as error:
            encoder.failures[image.sha256] = f"{error}; the image is {folder.find(image)}"
            if not encoder.computed and len(encoder.failures) >= FAILURES:
                raise


def load_array(path: Path) -> Floats | None:
    """The array in a file of `save_array`; None if it is missing, damaged or of an earlier version."""
    try:
        raw = read_file(path)
        if hashlib.sha256(raw[:-_CHECKSUM_BYTES]).digest() != raw[-_CHECKSUM_BYTES:]:
            return None
        array = np.load(io.BytesIO(raw), allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None
    if not isinstance(array, np.ndarray) or array.dtype != np.float32 or not array.size or not np.isfinite(array).all():
        return None
    return array


def save_array(path: Path, array: Floats) -> None:
    """Store an array as npy with its SHA-256 behind it, atomically.

    If the home folder is not writable, only time is lost.
    """
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    raw = buffer.getvalue()
    try:
        write_bytes(path, raw + hashlib.sha256(raw).digest(), durable=False)
    except (SnellenError, OSError):
        return


def _file(root: Path, media: Media) -> Path:
    return root / media.sha256[:2] / f"{media.sha256}.npy"


@typing.runtime_checkable
class PatchEncoder(Encoder, typing.Protocol):
    """An encoder that also provides features by place."""

    @property
    def patch_settings(self) -> Mapping[str, Any]:
        """All settings that affect patch features, as plain data."""
        ...

    def patches(self, images: Sequence[Image.Image]) -> Floats:
        """Images of any size -> float32 (n, rows, columns, d), from the upper left."""
        ...
