"""A vision tower as a plain specification: what is loaded, what it is shown, and which of its tokens are read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, TypeAlias

Layout: TypeAlias = Literal["tokens", "places", "channels"]
"""Form of a hidden state: (n, tokens, width), (n, height, width, features) or (n, features, height, width)."""


@dataclass(frozen=True)
class Tower:
    """A vision model and how it is read.

    `kind` is a class of transformers (or `EfficientNetLite`), `model` a hub id or folder with its weights, empty for
    packaged or random ones; `architecture` is what its configuration says. Images become squares of `side` pixels,
    cut into patches of `patch`. Of hidden state `layer`, `prefix_tokens` and then `dropped_patches` are left out, and
    places are pooled to `pooled_grid` a side. `processor` is the image processor of transformers in its Pillow form,
    empty for the model's own. `verified` says whether somebody has loaded the published weights with it. `seed` is
    that of random weights.
    """

    name: str
    kind: str
    model: str
    side: int
    patch: int
    processor: str
    normalisation: Mapping[str, Any]
    architecture: Mapping[str, Any] = field(default_factory=dict)
    layer: int = -2
    prefix_tokens: int = 0
    dropped_patches: int = 0
    layout: Layout = "tokens"
    pooled_grid: int | None = None
    attributes: Mapping[str, str] = field(default_factory=dict)
    verified: bool = False
    seed: int | None = None

    @property
    def grid(self) -> int:
        """Places a side that are read."""
        return self.pooled_grid or self.side // self.patch

    @property
    def tokens(self) -> int:
        """Tokens that a language model gets of one image."""
        return self.grid**2 - self.dropped_patches

    @property
    def width(self) -> int:
        """Features a token."""
        return int(self.architecture["hidden_size"])

    def settings(self) -> dict[str, Any]:
        """Everything but the weights that changes features, as plain data."""
        left_out = ("attributes", "verified", "name")
        return {key: value for key, value in asdict(self).items() if key not in left_out}
