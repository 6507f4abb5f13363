"""The network of an attentive probe.

A few queries, modified by the words of the question and the boxes drawn, attend to the patches. Half of the heads
distribute their attention over the patches (softmax: where something is), half weight each patch independently
(sigmoid: how much of it there is), since distributed attention cannot distinguish three objects from five.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from snellen.towers.probes.inputs import ProbeSample, ProbeSettings, positions


@dataclass(frozen=True, eq=False)
class Samples:
    """A batch of samples. `tokens` (n, t, k), `present` (n, t): mask of patches, `places` (t,): image of each patch.

    `words` (n, v), `coverage` (n, t, m), `boxes` (n, 5 m); `grid` is the patches of an image as (rows, columns).
    """

    tokens: Tensor
    present: Tensor
    places: Tensor
    words: Tensor
    coverage: Tensor
    boxes: Tensor
    grid: tuple[int, int]

    def rows(self, indices: Tensor) -> Samples:
        """Some of the samples."""
        some = (part[indices] for part in (self.tokens, self.present, self.words, self.coverage, self.boxes))
        tokens, present, words, coverage, boxes = some
        return Samples(tokens, present, self.places, words, coverage, boxes, self.grid)


def stack(samples: Sequence[ProbeSample]) -> Samples:
    """Samples of one probe as tensors; missing images are filled with empty patches."""
    images = max(len(sample.tokens) for sample in samples)
    rows, columns, width = samples[0].tokens.shape[1:]
    patches = rows * columns
    tokens = np.zeros((len(samples), images * patches, width), np.float32)
    present = np.zeros((len(samples), images * patches), np.bool_)
    coverage = np.zeros((len(samples), images * patches, samples[0].coverage.shape[-1]), np.float32)
    for n, sample in enumerate(samples):
        used = len(sample.tokens) * patches
        tokens[n, :used], present[n, :used] = sample.tokens.reshape(used, width), True
        coverage[n, :patches] = sample.coverage.reshape(patches, -1)
    return Samples(
        torch.from_numpy(tokens),
        torch.from_numpy(present),
        torch.arange(images).repeat_interleave(patches),
        torch.from_numpy(np.stack([sample.words for sample in samples])),
        torch.from_numpy(coverage),
        torch.from_numpy(np.stack([sample.boxes.ravel() for sample in samples])),
        (rows, columns),
    )


def weights(random: torch.Generator, *shape: int, fan_in: int, gain: float = 1.0) -> nn.Parameter:
    """Normal weights of deviation gain / sqrt(fan_in)."""
    return nn.Parameter(torch.randn(shape, generator=random) * gain * fan_in**-0.5)


@dataclass(frozen=True, eq=False)
class Sight:
    """The trunk's outputs: `tokens` (n, t, width), and `read` (n, size), the readout of the queries."""

    tokens: Tensor
    read: Tensor


class Trunk(nn.Module):
    """Computes the readout of the queries from patches, words and boxes."""

    def __init__(self, settings: ProbeSettings, like: Samples, max_images: int, random: torch.Generator) -> None:
        super().__init__()
        width, heads, layers = settings.width, settings.heads, settings.layers
        channels, marks = like.tokens.shape[-1], like.coverage.shape[-1]
        self.settings, self.grid = settings, torch.from_numpy(positions(*like.grid)).flatten(0, 1)
        self.size = settings.queries * (width + 4 * (heads // 2) + heads - heads // 2)
        self.from_tokens = weights(random, channels, width, fan_in=channels)
        self.from_positions = weights(random, self.grid.shape[-1], width, fan_in=self.grid.shape[-1], gain=0.5)
        self.from_images = weights(random, max_images, width, fan_in=1, gain=0.5)
        self.from_coverage = weights(random, marks, width, fan_in=1)
        self.token_norm = nn.LayerNorm(width)
        self.from_words = weights(random, like.words.shape[-1], width, fan_in=1, gain=0.5)
        self.from_boxes = weights(random, like.boxes.shape[-1], width, fan_in=5)
        self.queries = weights(random, settings.queries, width, fan_in=1, gain=0.5)
        self.keys = weights(random, layers, heads, width, width, fan_in=width * width, gain=4.0)
        self.values = weights(random, layers, heads, width, width // heads, fan_in=width)
        self.merge = weights(random, layers, width, width, fan_in=width)
        self.inner = weights(random, layers, width, 2 * width, fan_in=width)
        self.outer = weights(random, layers, 2 * width, width, fan_in=2 * width)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2 * layers + 1))
        self.lean = nn.Parameter(torch.full((layers, heads, marks), 2.0))
        self.threshold = nn.Parameter(torch.full((layers, heads - heads // 2, 1, 1), -1.0))

    def forward(self, samples: Samples, random: torch.Generator | None = None) -> Sight:
        """The readout; with `random`, some tokens and parts of it are dropped."""
        images = int(samples.places[-1]) + 1
        places = (self.grid @ self.from_positions).repeat(images, 1) + self.from_images[samples.places]
        mixed = samples.tokens @ self.from_tokens + places + samples.coverage @ self.from_coverage
        tokens, present = functional.gelu(self.token_norm(mixed)), samples.present
        if random is not None:
            rest = present & (torch.rand(present.shape, generator=random) >= self.settings.dropout)
            present = torch.where(rest.any(-1, keepdim=True), rest, present)  # a small grid may lose all its tokens
        context = samples.words @ self.from_words + samples.boxes @ self.from_boxes
        state, measures = self.queries + context[:, None], tokens[:, :0]
        for layer in range(self.settings.layers):
            state, measures = self._attend(layer, state, tokens, samples, present)
        read = torch.cat([self.norms[-1](state), measures], -1).flatten(1)
        return Sight(tokens, dropped(read, self.settings.dropout, random))

    def _attend(
        self, layer: int, state: Tensor, tokens: Tensor, samples: Samples, present: Tensor
    ) -> tuple[Tensor, Tensor]:
        """One layer: the new queries, and the location and amount of the heads' attention."""
        half, absent = self.settings.heads // 2, ~present[:, None, None]
        # Keys are folded into the queries and values taken after attention, so that the cost per patch is small.
        towards = torch.einsum("nqd,hde->nhqe", self.norms[2 * layer](state), self.keys[layer])
        scores = torch.einsum("nhqe,nte->nhqt", towards, tokens) / self.settings.width**0.5
        scores = scores + torch.einsum("ntm,hm->nht", samples.coverage, self.lean[layer])[:, :, None]
        shared = scores[:, :half].masked_fill(absent, -torch.inf).softmax(-1)
        own = torch.sigmoid(scores[:, half:] + self.threshold[layer]).masked_fill(absent, 0.0)
        amounts = own / present.sum(-1).clamp(min=1)[:, None, None, None]
        looked = torch.einsum("nhqt,nte->nhqe", torch.cat([shared, 4 * amounts], 1), tokens)
        state = state + torch.einsum("nhqe,hes->nqhs", looked, self.values[layer]).flatten(2) @ self.merge[layer]
        state = state + functional.gelu(self.norms[2 * layer + 1](state) @ self.inner[layer]) @ self.outer[layer]
        return state, torch.cat([self._spot(shared, tokens), amounts.sum(-1).clamp(min=1e-6).log().transpose(1, 2)], -1)

    def _spot(self, shared: Tensor, tokens: Tensor) -> Tensor:
        """Mean and deviation of x and y under softmax attention, (n, queries, 4 per head), each about -1 to 1."""
        xy = self.grid[:, :2].repeat(tokens.shape[1] // len(self.grid), 1)
        mean = shared @ xy
        spread = (shared @ xy.square() - mean.square()).clamp(min=1e-6).sqrt()
        return torch.cat([mean, spread], -1).transpose(1, 2).flatten(2)


def dropped(state: Tensor, share: float, random: torch.Generator | None) -> Tensor:
    """Dropout: a share of a state set to 0 and the rest scaled up to compensate; unchanged without `random`."""
    if random is None:
        return state
    return state * (torch.rand(state.shape, generator=random) >= share) / (1 - share)
