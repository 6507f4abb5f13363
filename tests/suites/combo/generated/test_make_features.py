"""Features of all objects, from a stub encoder: reduced, rounded, and written with their levels and provenance."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from PIL import Image

from snellen.stimuli.render import RenderSettings
from snellen.suites.combo.difficulty import read_features
from snellen.suites.combo.generated import make_features
from snellen.suites.combo.generated.objects import object_spec
from snellen.suites.combo.space import table
from tests.goldens.golden import assert_golden
from tests.goldens.plain_text import line


def encoder(name: str) -> Any:
    """An encoder whose features are the means of an image's channels, and how often it was called."""
    means = [lambda image: np.asarray(image).mean(axis=(0, 1))]
    return SimpleNamespace(settings={"of": name}, features=lambda images: [means[0](image) for image in images])


def test_images_are_encoded_in_their_order_and_in_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(make_features, "load_encoder", encoder)
    paths = [tmp_path / f"{n}.png" for n in (4, 0, 2, 1, 3)]
    for path in paths:
        Image.new("RGB", (4, 3), (int(path.stem), 10, 250 - int(path.stem))).save(path)
    encoded = make_features.encode_files("means", paths, 2, batch_size=2)
    assert encoded.tolist() == [[n, 10, 250 - n] for n in (4, 0, 2, 1, 3)]


def test_one_view_of_each_object_is_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: dict[str, Any] = {}
    monkeypatch.setattr(make_features, "OBJECTS", 3)
    monkeypatch.setattr(make_features, "home", lambda: tmp_path)

    def render(shots: Any, settings: RenderSettings, folder: Path, **options: Any) -> list[Path]:
        drawn.update(shots=shots, settings=settings, folder=folder, workers=options["workers"])
        return [Path(str(n)) for n in range(len(shots))]

    monkeypatch.setattr(make_features, "render_images", render)
    toy = RenderSettings(renderer="toy")
    assert make_features.render_objects(toy, 2) == [Path("0"), Path("1"), Path("2")]
    shots = [object_spec(n, 0, 0, (160, 120)) for n in range(3)]
    assert drawn == {"shots": shots, "settings": toy, "folder": tmp_path / "renders", "workers": 2}


def test_components_keep_most_of_the_variance_and_are_rounded() -> None:
    """By hand: variances 8, 2 and 0.08 along the axes; two components keep 10 of 10.08 parts."""
    raw = np.zeros((6, 3))
    raw[0:2, 1], raw[2:4, 0], raw[4:6, 2] = (2.0, -2.0), (1.0, -1.0), (0.2, -0.2)
    components, lost = make_features.reduce(raw + np.array([5.0, 6.0, 7.0]), 2)
    assert np.abs(components).round(3).tolist() == [[2, 0], [2, 0], [0, 1], [0, 1], [0, 0], [0, 0]]
    assert lost["variance_kept"] == pytest.approx(10 / 10.08)
    assert lost["rounding"] == pytest.approx(0, abs=1e-6)


def test_a_file_of_features_has_all_that_the_levels_need(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "own.npz"
    asked: list[Any] = []
    weights = np.random.default_rng(3).normal(size=(8, 20))
    monkeypatch.setattr(make_features, "load_encoder", encoder)
    monkeypatch.setattr(make_features, "render_objects", lambda *arguments: asked.append(arguments) or [])
    monkeypatch.setattr(make_features, "encode_files", lambda *_: (table() @ weights).astype(np.float64))
    for name, count in (("PAIRS", 12), ("WHOLE_PAIRS", 5)):
        monkeypatch.setattr(make_features, name, count)
    arguments = ["--encoder", "means", "--out", str(out), "--renderer", "toy", "--quality", "fast", "--dimensions", "6"]
    arguments += ["--workers", "3"]
    make_features.main(arguments)
    assert asked == [(RenderSettings(renderer="toy", quality="fast"), 3)]
    printed, features = json.loads(capsys.readouterr().out), read_features(out)
    about = {name: value for name, value in printed.items() if name not in ("bytes", "features_digest")}
    rounded = {name: round(value, 3) if isinstance(value, float) else value for name, value in about.items()}
    assert_golden(
        "combo/features.txt", line({**rounded, "thresholds": [round(x, 2) for x in about["thresholds"]]}) + "\n"
    )
    assert (features.values.shape, features.encoder, features.about) == (
        (9504, 6),
        "means",
        {**about, "features_digest": printed["features_digest"]},
    )
    assert printed["bytes"] == out.stat().st_size
    monkeypatch.setattr(make_features, "PAIRS", 4)
    make_features.main([*arguments, "--levels-only"])
    again = json.loads(capsys.readouterr().out)
    assert (again["reference_pairs"], again["encoder"]) == (4, "means")
    assert again["thresholds"] != printed["thresholds"]
