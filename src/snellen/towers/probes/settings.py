"""Settings of an attentive probe."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ProbeSettings:
    """All that determines a probe except its examples; part of the fingerprint. Our own: no paper gives them.

    `components` of the patch features; `width`, `queries`, `heads` (half of them with softmax) and `layers` of the
    network; `steps` of `batch` examples, `rate` of AdamW with `decay`, `dropout` of tokens and of the readout.
    """

    components: int = 64
    width: int = 64
    queries: int = 4
    heads: int = 4
    layers: int = 2
    steps: int = 240
    batch: int = 32
    rate: float = 2e-3
    decay: float = 0.05
    dropout: float = 0.1
    version: int = 1
