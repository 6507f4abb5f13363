"""Features of all objects, from a stub encoder: reduced, rounded, and written with their levels and provenance."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from PIL import Image

from snellen.stimuli.render import RenderSettings
from snellen.suites.combo.difficulty import read_features
from snellen.suites.combo.generated import make_features
from snellen.suites.combo.generated.objects import object_spec
from snellen.suites.combo.space import table
from tests.goldens.descriptions import assert_lines


def encoder(name: str) -> Any:
    """An encoder whose features are the means of an image's channels."""
    return SimpleNamespace(settings={"of": name}, features=lambda images: [np.mean(i, axis=(0, 1)) for i in images])


def test_one_view_of_each_object_is_drawn_and_encoded_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In batches of two of five images."""
    numbers, renders = (4, 0, 2, 1, 3), list[Any]()
    paths = [tmp_path / f"{n}.png" for n in numbers]
    for path in paths:
        Image.new("RGB", (4, 3), (int(path.stem), 10, 250 - int(path.stem))).save(path)

    def render(*arguments: Any, **options: Any) -> list[Path]:
        renders.extend((*arguments, options["workers"]))
        return paths

    monkeypatch.setattr(make_features, "OBJECTS", 3)
    monkeypatch.setattr(make_features, "home", lambda: tmp_path)
    monkeypatch.setattr(make_features, "render_images", render)
    monkeypatch.setattr(make_features, "load_encoder", encoder)
    toy = RenderSettings(renderer="toy")
    encoded = make_features.encode_files("means", make_features.render_objects(toy, 2), 2, batch_size=2)
    assert encoded.tolist() == [[n, 10, 250 - n] for n in numbers]
    assert renders == [[object_spec(n, 0, 0, (160, 120)) for n in range(3)], toy, tmp_path / "renders", 2]


def test_components_keep_most_of_the_variance_and_are_rounded() -> None:
    """By hand: variances 8, 2 and 0.08 along the axes; two components keep 10 of 10.08 parts."""
    raw = np.zeros((6, 3))
    raw[0:2, 1], raw[2:4, 0], raw[4:6, 2] = (2.0, -2.0), (1.0, -1.0), (0.2, -0.2)
    components, lost = make_features.reduce(raw + np.array([5.0, 6.0, 7.0]), 2)
    assert np.abs(components).round(3).tolist() == [[2, 0], [2, 0], [0, 1], [0, 1], [0, 0], [0, 0]]
    assert (lost["variance_kept"], lost["rounding"]) == pytest.approx((10 / 10.08, 0), abs=1e-6)


def test_a_file_of_features_has_all_that_the_levels_need(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out, render = tmp_path / "own.npz", Mock(return_value=[])
    weights = np.random.default_rng(3).normal(size=(8, 20))
    monkeypatch.setattr(make_features, "load_encoder", encoder)
    monkeypatch.setattr(make_features, "render_objects", render)
    monkeypatch.setattr(make_features, "encode_files", lambda *_: (table() @ weights).astype(np.float64))
    for name, count in (("PAIRS", 12), ("WHOLE_PAIRS", 5)):
        monkeypatch.setattr(make_features, name, count)
    options = {"encoder": "means", "out": out, "renderer": "toy", "quality": "fast", "dimensions": 6, "workers": 3}
    arguments = [word for name, value in options.items() for word in (f"--{name}", str(value))]
    make_features.main(arguments)
    render.assert_called_once_with(RenderSettings(renderer="toy", quality="fast"), 3)
    printed, features = json.loads(capsys.readouterr().out), read_features(out)
    assert printed.pop("bytes") == out.stat().st_size
    assert (features.values.shape, features.encoder, features.about) == ((9504, 6), "means", printed)
    rounded = {name: round(value, 3) if isinstance(value, float) else value for name, value in printed.items()}
    rounded |= {"thresholds": [round(x, 2) for x in printed["thresholds"]], "features_digest": ""}
    assert_lines("combo/features.txt", [rounded])
    monkeypatch.setattr(make_features, "PAIRS", 4)
    make_features.main([*arguments, "--levels-only"])
    again = json.loads(capsys.readouterr().out)
    assert (again["reference_pairs"], again["encoder"]) == (4, "means")
    assert again["thresholds"] != printed["thresholds"]
