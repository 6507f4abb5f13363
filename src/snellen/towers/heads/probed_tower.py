"""`tower:NAME`: a vision tower with an attentive probe instead of a language model, on the same tokens.

It measures a tower's features for an ability in another way than a head (`head:DIR`): with the probe of `encoder:…`
subjects (`towers.probes`), fitted to the same training items.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import urlencode

import numpy as np

from snellen.core.errors import SnellenError
from snellen.core.item import Item
from snellen.core.subject import SubjectCard
from snellen.subjects.encoders.efficientnet import whole
from snellen.subjects.encoders.encoder import Floats, TextSide
from snellen.subjects.loading import less_memory
from snellen.towers.heads.tower import Tower
from snellen.towers.heads.towers import find_tower
from snellen.towers.probes.subject import AttentiveProbe, attentive_probe

if TYPE_CHECKING:
    from PIL import Image

EVALUATOR = "attentive probe"
"""Name of the evaluator in addition to language models: reports compare evaluators of the same towers."""


@dataclass(frozen=True)
class TowerEncoder:
    """A tower as an encoder with features by place, and without a text side. `name` is the tower's spec.

    Patches that the authors' scripts drop are kept, since a probe needs the whole grid. SAM's processor keeps the
    aspect ratio of an image and pads it; here the image is squeezed to the square, so that places are shares of it. All
    else is as for a language model.
    """

    name: str
    device: str = "cpu"
    batch: int = 8
    text: ClassVar[TextSide | None] = None

    @property
    def settings(self) -> Mapping[str, Any]:
        """All settings that affect features, by place or not."""
        from snellen.towers.heads.tower_models import tower_fingerprint

        device = {} if self.device == "cpu" else {"device": self.device}
        return {"tower": tower_fingerprint(self.name), "version": 1, **device}

    @property
    def attributes(self) -> Mapping[str, str]:
        """Attributes for comparisons."""
        return find_tower(self.name).attributes

    patch_settings = settings

    def features(self, images: Sequence[Image.Image]) -> Floats:
        """Images -> float32 (n, width), the mean over places."""
        return np.asarray(self.patches(images).mean(axis=(1, 2)), dtype=np.float32)

    def patches(self, images: Sequence[Image.Image]) -> Floats:
        """Images -> float32 (n, grid, grid, width)."""
        from snellen.towers.heads.tower_models import image_tokens, load_tower, pixels_of

        tower: Tower = replace(find_tower(self.name), dropped_patches=0)
        if tower.processor.startswith("Sam"):
            images = [whole(image, tower.side) for image in images]
        model = load_tower(self.name, self.device)
        with less_memory("a smaller batch, or another device="):
            pixels = pixels_of(self.name, images).to(self.device)
            tokens = image_tokens(tower, model, pixels)
        grids = tokens.float().cpu().numpy().reshape(len(images), tower.grid, tower.grid, tower.width)
        return np.asarray(grids, dtype=np.float32)


def make_probed_tower(name: str, settings: Mapping[str, str], items: Sequence[Item]) -> AttentiveProbe:
    """The subject `tower:NAME?side=128&layer=-3…`; settings are those of towers, and `device`. `items` is not used.

    Raises SnellenError for an unknown tower or setting.
    """
    own = {key: text for key, text in settings.items() if key != "device"}
    if not name:
        raise SnellenError("tower: needs a name; `snellen tower list` shows them")
    written = f"{name}?{urlencode(own, safe='/')}" if own else name
    encoder = TowerEncoder(written, settings.get("device", "cpu"))
    if find_tower(written).grid < 2:
        raise SnellenError(f"tower:{written}: gives a single place, but a probe needs a grid; use a larger side")
    card = SubjectCard(
        name=f"tower:{written}",
        settings={},
        accepts=frozenset({"image"}),
        attributes={**encoder.attributes, "tower": written, "evaluator": EVALUATOR},
        max_concurrency=1,
        is_local=True,
    )
    return attentive_probe(encoder, card)
