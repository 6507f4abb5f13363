"""Every reader on damaged copies of its own layout: notes and errors of one line, or what the files still say."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from snellen.core.errors import SnellenError
from snellen.core.seeds import stream
from snellen.curated_sets.datasets import DATASETS
from snellen.datasets.image_files import VideoFrame
from snellen.datasets.sample import Sample
from tests.curated_sets.datasets.annotated_layouts import ANNOTATED_LAYOUTS
from tests.curated_sets.datasets.layouts import LAYOUTS, write
from tests.helpers.damage import DAMAGES, damage

ALL_LAYOUTS = {**LAYOUTS, **ANNOTATED_LAYOUTS}
NAMES = sorted(ALL_LAYOUTS, key=lambda name: len(ALL_LAYOUTS[name]()), reverse=True)
SMALLEST = {type(DATASETS.get(name).reader): name for name in NAMES}
"""Of each reader, the dataset with the fewest files in its layout."""
COPIES = 200
KINDS = ("a flipped bit", "a flipped bit", "zeros", "cut short", "garbage at the end")
REMEDIES = ("copy", "leave it out", "install")


@pytest.mark.slow
@pytest.mark.parametrize("name", list(SMALLEST.values()))
def test_damaged_copies(name: str, tmp_path: Path) -> None:
    files = ALL_LAYOUTS[name]()
    root, rng = write(tmp_path, files), stream("damaged copies", name)
    texts = [path for path in files if path.rpartition(".")[2].lower() not in ("bmp", "jpg", "mp4", "png", "tiff")]
    for _ in range(COPIES):
        path = str(rng.choice(texts if texts and rng.random() < 0.6 else list(files)))
        kind = str(rng.choice(KINDS))
        if files[path] and damage(root / path, kind, rng):
            for message in messages(name, root):
                assert "\n" not in message, f"{path}, {kind}: {message}"
        (root / path).write_bytes(files[path])
    assert DATASETS.get(name).check(root).state == "whole"


class Endless(BaseException):
    """Reading did not end."""


def _stop(*_: object) -> None:
    raise Endless


@pytest.mark.parametrize("name", list(SMALLEST.values()))
def test_a_pipe_in_place_of_a_file_is_not_waited_for(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.curated_sets.datasets.test_damaged_copies.REMEDIES", ("",))
    files = ALL_LAYOUTS[name]()
    root, by_kind = write(tmp_path, files), {Path(path).suffix: path for path in files}
    former = signal.signal(signal.SIGALRM, _stop)
    for path in by_kind.values():
        (root / path).unlink()
        os.mkfifo(root / path)
        signal.alarm(60)
        with suppress(AssertionError):  # not all messages name the file in the way of a damaged one
            list(messages(name, root))
        signal.alarm(0)
        (root / path).unlink()
        (root / path).write_bytes(files[path])
    signal.signal(signal.SIGALRM, former)


def messages(name: str, root: Path) -> Iterator[str]:
    """What a user reads about a folder: locations of its notes, and errors of everything that samples can be asked."""
    for note in DATASETS.get(name).check(root).notes:
        yield from (note.message, *note.locations)
    for sample in DATASETS.get(name).samples(root):
        for read in readings(sample):
            try:
                read()
            except SnellenError as error:
                message = str(error)
                location = sample.record_id.partition("#")[0].rpartition("/")[2]
                assert any(remedy in message for remedy in REMEDIES), message
                assert location.rpartition(".")[0] in message or ".png:" in message, f"no file in: {message}"
                yield message


def readings(sample: Sample) -> Iterator[Callable[[], object]]:
    """Everything that can be read of a sample; videos are not opened."""
    if not isinstance(sample.image, VideoFrame):
        yield sample.read_image
    yield sample.read_depth
    for annotation in sample.annotations:
        if annotation.mask is not None:
            yield annotation.mask.open
        yield annotation.find_box
        if annotation.box is not None:
            x1, y1, x2, y2 = annotation.box
            assert np.isfinite(annotation.box).all()
            assert x1 < x2
            assert y1 < y2


def test_every_kind_of_damage_exists() -> None:
    assert set(KINDS) <= set(DAMAGES)
