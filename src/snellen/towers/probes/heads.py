"""Output heads of a probe, one per form of answers, each with its loss."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from snellen.towers.probes.answers import Form
from snellen.towers.probes.inputs import positions
from snellen.towers.probes.network import Samples, Sight, weights

FRAMES = 2
"""Maximum of consecutive letters per column of patches."""


class PlainHead(nn.Module):
    """Outputs (n, outputs) linear in the readout of the queries: classes, a number, a colour."""

    def __init__(self, form: Form, size: int, outputs: int, random: torch.Generator) -> None:
        super().__init__()
        self.form = form
        self.weight = weights(random, size, outputs, fan_in=size, gain=0.3)
        self.bias = nn.Parameter(torch.zeros(outputs))

    def forward(self, sight: Sight, samples: Samples) -> Tensor:
        """The outputs."""
        return sight.read @ self.weight + self.bias

    def loss(self, outputs: Tensor, targets: Sequence[Tensor], offered: Tensor) -> Tensor:
        """Cross-entropy among the offered options; for numbers and colours, the smooth absolute error."""
        truth = torch.stack(list(targets))
        if self.form == "class":
            return functional.cross_entropy(outputs.masked_fill(~offered, -1e4), truth[:, 0].long())
        return functional.smooth_l1_loss(outputs, truth, beta=0.1)

    def numbers(self, outputs: Tensor) -> Tensor:
        """The outputs unchanged."""
        return outputs


class BoxHead(nn.Module):
    """A box per patch: a score of being inside the box, and the distances of the edges from its centre, (n, t, 5).

    So each training image provides as many examples as it has patches (as in FCOS, Tian et al. 2019).
    """

    def __init__(self, width: int, size: int, grid: tuple[int, int], random: torch.Generator) -> None:
        super().__init__()
        self.rows, self.columns = grid
        self.middles = (torch.from_numpy(positions(*grid)).flatten(0, 1)[:, :2] + 1) / 2
        self.from_tokens = weights(random, width, width, fan_in=width)
        self.from_read = weights(random, size, width, fan_in=size)
        self.norm = nn.LayerNorm(width)
        self.weight = weights(random, width, 5, fan_in=width, gain=0.3)
        self.bias = nn.Parameter(torch.tensor([0.0, -2.0, -2.0, -2.0, -2.0]))

    def forward(self, sight: Sight, samples: Samples) -> Tensor:
        """A score of being inside, and the distances to the left, upper, right and lower edge, for each patch."""
        mixed = sight.tokens @ self.from_tokens + (sight.read @ self.from_read)[:, None]
        outputs = functional.gelu(self.norm(mixed)) @ self.weight + self.bias
        return torch.cat([outputs[..., :1], functional.softplus(outputs[..., 1:])], -1)

    def loss(self, outputs: Tensor, targets: Sequence[Tensor], offered: Tensor) -> Tensor:
        """Loss of the inside scores, and (absolute error and GIoU) of the boxes of inside patches."""
        truth = _corners(torch.stack(list(targets)))
        inside = self._coverage(truth)
        inside = inside / inside.sum(1, keepdim=True).clamp(min=1e-6)
        surety = -(inside * outputs[..., 0].log_softmax(1)).sum(1).mean()
        boxes, right = self._boxes(outputs), truth[:, None].expand(-1, outputs.shape[1], -1)
        apart = 5 * (boxes - right).abs().mean(-1) + 1 - _giou(boxes, right)
        return surety + (inside * apart).sum(1).mean()

    def _coverage(self, corners: Tensor) -> Tensor:
        """The share of each patch inside a box (n, 4): (n, t)."""
        half = torch.tensor([0.5 / self.columns, 0.5 / self.rows], dtype=corners.dtype)
        low = torch.maximum(self.middles - half, corners[:, None, :2])
        high = torch.minimum(self.middles + half, corners[:, None, 2:])
        return (high - low).clamp(min=0).prod(-1) * self.rows * self.columns

    def _boxes(self, outputs: Tensor) -> Tensor:
        return torch.cat([self.middles - outputs[..., 1:3], self.middles + outputs[..., 3:]], -1)

    def numbers(self, outputs: Tensor) -> Tensor:
        """The weighted mean box of the best patch and its eight neighbours: centre and size, (n, 4)."""
        sure = outputs[..., 0].softmax(1)
        peak = self.middles[sure.argmax(1)][:, None]
        steps = (self.middles - peak) * torch.tensor([float(self.columns), float(self.rows)])
        near = sure * (steps.abs().amax(-1) < 1.5)
        corners = (near[..., None] * self._boxes(outputs)).sum(1) / near.sum(1, keepdim=True)
        return torch.cat([(corners[:, :2] + corners[:, 2:]) / 2, corners[:, 2:] - corners[:, :2]], 1)


class LetterHead(nn.Module):
    """Letters from left to right, (n, FRAMES columns, outputs): weighted rows, columns with their neighbours."""

    def __init__(self, width: int, outputs: int, grid: tuple[int, int], random: torch.Generator) -> None:
        super().__init__()
        self.grid = grid
        self.row_weight = weights(random, width, 1, fan_in=width)
        self.near = weights(random, width, width, 3, fan_in=3 * width)
        self.weight = weights(random, width, FRAMES * outputs, fan_in=width)
        self.bias = nn.Parameter(torch.zeros(FRAMES * outputs))
        self.lean = nn.Parameter(torch.tensor(2.0))

    def forward(self, sight: Sight, samples: Samples) -> Tensor:
        """Scores of no letter and of each letter, for each frame."""
        tokens = sight.tokens.reshape(-1, *self.grid, sight.tokens.shape[-1])
        inside = samples.coverage.sum(-1).reshape(-1, *self.grid)
        share = ((tokens @ self.row_weight)[..., 0] + self.lean * inside).softmax(1)
        line = (share[..., None] * tokens).sum(1)
        near = functional.conv1d(line.transpose(1, 2), self.near, padding=1).transpose(1, 2)
        line = line + functional.gelu(near)
        outputs = line @ self.weight + self.bias
        return outputs.reshape(len(outputs), FRAMES * self.grid[1], -1)

    def loss(self, outputs: Tensor, targets: Sequence[Tensor], offered: Tensor) -> Tensor:
        """Connectionist temporal classification (Graves et al. 2006): letters in order, at any position."""
        lengths = torch.tensor([len(target) for target in targets])
        frames = torch.full((len(targets),), outputs.shape[1])
        chances = outputs.transpose(0, 1).log_softmax(-1)
        return functional.ctc_loss(chances, torch.cat(list(targets)).long(), frames, lengths, zero_infinity=True)

    def numbers(self, outputs: Tensor) -> Tensor:
        """The outputs unchanged."""
        return outputs


Head = PlainHead | BoxHead | LetterHead


def make_head(form: Form, width: int, size: int, outputs: int, grid: tuple[int, int], random: torch.Generator) -> Head:
    """The head of a form; `size` is the length of the readout, `width` that of patches."""
    if form == "box":
        return BoxHead(width, size, grid, random)
    return LetterHead(width, outputs, grid, random) if form == "text" else PlainHead(form, size, outputs, random)


def _corners(boxes: Tensor) -> Tensor:
    """Centre and size (n, 4) -> left, upper, right and lower edge."""
    middle, half = boxes[..., :2], boxes[..., 2:] / 2
    return torch.cat([middle - half, middle + half], -1)


def _giou(first: Tensor, second: Tensor) -> Tensor:
    """Generalized IoU of boxes by edges (..., 4), -1 to 1 (Rezatofighi et al. 2019)."""
    inside = torch.minimum(first[..., 2:], second[..., 2:]) - torch.maximum(first[..., :2], second[..., :2])
    hull = torch.maximum(first[..., 2:], second[..., 2:]) - torch.minimum(first[..., :2], second[..., :2])
    both, around = inside.clamp(min=0).prod(-1), hull.prod(-1).clamp(min=1e-9)
    union = (first[..., 2:] - first[..., :2]).prod(-1) + (second[..., 2:] - second[..., :2]).prod(-1) - both
    return both / union.clamp(min=1e-9) - (around - union) / around
