"""The specification of a vision tower: its model, its input, and the tokens that are used."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, TypeAlias

Layout: TypeAlias = Literal["tokens", "places", "channels"]
"""Layout of a hidden state: (n, tokens, width), (n, height, width, features) or (n, features, height, width)."""


@dataclass(frozen=True)
class Tower:
    """A vision model and the way it is read.

    `kind` is a class of transformers (or `EfficientNetLite`). `model` is a hub id or folder with its weights, empty
    for packaged or random ones. `architecture` holds the values of its configuration. Images become squares of
    `side` pixels, cut into patches of `patch`. Of hidden state `layer`, first `prefix_tokens` and then
    `dropped_patches` are left out, and places are pooled to `pooled_grid` per side: means of areas, or interpolated
    (`pooling`). `processor` is the image processor of transformers in its Pillow version, empty for the model's
    own. `verified` is True if the published weights have been loaded with this specification. `seed` is that of
    random weights.
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
    pooling: Literal["mean", "bilinear"] = "mean"
    attributes: Mapping[str, str] = field(default_factory=dict)
    verified: bool = False
    seed: int | None = None

    @property
    def grid(self) -> int:
        """Number of places per side after pooling."""
        return self.pooled_grid or self.side // self.patch

    @property
    def tokens(self) -> int:
        """Number of tokens that a language model gets per image."""
        return self.grid**2 - self.dropped_patches

    @property
    def width(self) -> int:
        """Features per token."""
        return int(self.architecture["hidden_size"])

    def settings(self) -> dict[str, Any]:
        """All settings except the weights that affect features, as plain data."""
        left_out = ("attributes", "verified", "name", *(["pooling"] if self.pooling == "mean" else []))
        return {key: value for key, value in asdict(self).items() if key not in left_out}
