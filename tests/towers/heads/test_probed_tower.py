"""A tower with a probe gets the same input as a head."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from snellen.core.errors import SnellenError
from snellen.core.item import Option
from snellen.core.prompt import Prompt
from snellen.core.storage.media import MediaFolder
from snellen.core.subject import TrainingExample
from snellen.presentation.presenters import plain
from snellen.subjects.encoders.encoder import PatchEncoder
from snellen.subjects.registry import make_subject
from snellen.towers.heads.probed_tower import TowerEncoder
from snellen.towers.heads.towers import find_tower
from snellen.towers.probes import subject as probe_subject
from snellen.towers.probes.inputs import ProbeSettings
from tests.helpers.extras import lazy_module
from tests.helpers.journey import item, patch

torch = lazy_module("torch")
network = lazy_module("snellen.towers.probes.network")
tower_models = lazy_module("snellen.towers.heads.tower_models")


@pytest.mark.parametrize(
    "name", ["tiny/clip-l", "tiny/siglip-1-compat", "efficientnet-lite0?side=64&layer=9", "efficientnet-lite0?seed=1"]
)
def test_a_probe_gets_the_tokens_that_a_language_model_gets(name: str) -> None:
    images = [Image.radial_gradient("L"), Image.linear_gradient("L").resize((80, 50))]
    tower, encoder = find_tower(name), TowerEncoder(name)
    grids = encoder.patches(images)
    assert isinstance(encoder, PatchEncoder)
    assert grids.shape == (2, tower.grid, tower.grid, tower.width)
    tokens = tower_models.image_tokens(
        tower, tower_models.load_tower(name), tower_models.pixels_of(name, images)
    ).numpy()
    # All of them, row by row; `compat` drops the first, which the probe still has.
    assert np.array_equal(grids.reshape(2, -1, tower.width)[:, tower.dropped_patches :], tokens)
    assert encoder.features(images) == pytest.approx(grids.mean(axis=(1, 2)))


def test_positions_of_sam_are_shares_of_the_image() -> None:
    """SAM's processor would pad a flat image at the bottom; here it is squeezed, so its rows fill the grid."""
    flat = Image.linear_gradient("L").resize((80, 40))  # darker at the top than at the bottom
    squeezed = flat.resize((64, 64), Image.Resampling.BICUBIC)
    encoder = TowerEncoder("tiny/sam-h")
    assert np.allclose(encoder.patches([flat]), encoder.patches([squeezed]), atol=1e-4)


def test_a_probed_tower_learns_from_examples_and_has_a_card(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SNELLEN_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(probe_subject, "ProbeSettings", partial(ProbeSettings, steps=40, width=16))
    media, colours = MediaFolder(tmp_path / "media"), {"red": (220, 30, 30), "blue": (30, 40, 220)}
    options, examples = tuple(Option(name, name) for name in colours), []
    for n in range(12):
        colour = list(colours)[n % 2]
        image = patch(media, colours[colour], mark=n)
        view = item(f"item {n}", [image], colour, "choice", options=options, question="Colour?").view()
        examples.append(TrainingExample(view, colour, Prompt(plain(view), (view,)), colour))
    subject = make_subject("tower:efficientnet-lite0?side=32&layer=4")
    assert subject.card.name == "tower:efficientnet-lite0?side=32&layer=4"
    assert subject.card.attributes["tower"] == "efficientnet-lite0?side=32&layer=4"
    assert subject.card.attributes["evaluator"] == "attentive probe"
    other = make_subject("tower:efficientnet-lite0?side=32&layer=5")
    assert subject.card.fingerprint() != other.card.fingerprint()
    fitted = asyncio.run(subject.fit(examples[:10], media))
    for example in examples[10:]:
        assert example.prompt is not None
        reply = asyncio.run(fitted.answer(example.prompt, media, np.random.default_rng(0)))
        assert reply.text == example.answer


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("tower:clip", "did you mean 'clip-l'"),
        ("tower:", "needs a name"),
        ("tower:tiny/clip-l?readout=knn", "has no setting 'readout'"),
        ("tower:efficientnet-lite0?layer=18", "has no layer 18, only 0 to 17"),
        ("tower:efficientnet-lite0?side=32", "gives a single place"),
    ],
)
def test_wrong_specs_are_named(spec: str, message: str) -> None:
    with pytest.raises(SnellenError, match=message):
        make_subject(spec)


def test_dropout_on_a_small_grid_keeps_numbers_finite() -> None:
    """With four tokens, dropout sometimes removes all of them; the weights must stay finite."""
    settings = ProbeSettings(dropout=0.9)
    random = torch.Generator().manual_seed(0)
    empty = torch.zeros(50, 0)
    samples = network.Samples(
        torch.randn(50, 4, 3, generator=random), torch.ones(50, 4, dtype=torch.bool),
        torch.zeros(4, dtype=torch.long), empty, torch.zeros(50, 4, 0), empty, (2, 2),
    )  # fmt: skip
    trunk = network.Trunk(settings, samples, 1, random)
    assert trunk(samples, random).read.isfinite().all()
