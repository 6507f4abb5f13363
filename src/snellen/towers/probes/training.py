"""Trains attentive probes."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from snellen.core.seeds import stream
from snellen.core.subject import TrainingExample
from snellen.subjects.encoders.readouts import Doubles
from snellen.subjects.loading import one_blas_thread, one_thread
from snellen.towers.probes.answers import Answers, OptionTargets
from snellen.towers.probes.heads import Head, make_head
from snellen.towers.probes.inputs import Grids, Inputs, ProbeSample, ProbeSettings
from snellen.towers.probes.network import Samples, Trunk, stack


class Network(nn.Module):
    """Trunk and head."""

    def __init__(self, trunk: Trunk, head: Head) -> None:
        super().__init__()
        self.trunk, self.head = trunk, head

    def forward(self, samples: Samples, random: torch.Generator | None = None) -> Tensor:
        """The head's outputs for samples."""
        outputs: Tensor = self.head(self.trunk(samples, random), samples)
        return outputs

    def numbers(self, sample: ProbeSample) -> Doubles:
        """The prediction for one sample."""
        return np.asarray(self.head.numbers(self(stack([sample])))[0].double().numpy(), dtype=np.float64)


def fit_network(
    answers: Answers,
    inputs: Inputs,
    examples: Sequence[TrainingExample],
    grids: Grids,
    settings: ProbeSettings,
    seed: str,
) -> Network:
    """A network trained on examples of one form."""
    with one_blas_thread():
        samples = stack([inputs.sample(example.view, grids) for example in examples])
    random = torch.Generator().manual_seed(int(stream("probe", answers.form, seed).integers(2**62)))
    trunk = Trunk(settings, samples, inputs.max_images, random)
    head = make_head(answers.form, settings.width, trunk.size, answers.size, samples.grid, random)
    network = Network(trunk, head)
    targets = [torch.from_numpy(answers.target(example)).float() for example in examples]
    offered = [
        answers.offered(example.view) if isinstance(answers, OptionTargets) else np.ones(answers.size, np.bool_)
        for example in examples
    ]
    with one_thread():
        _train(network, samples, targets, torch.from_numpy(np.stack(offered)), settings, random)
    return network.requires_grad_(False).eval()


def _train(
    network: Network,
    samples: Samples,
    targets: Sequence[Tensor],
    offered: Tensor,
    settings: ProbeSettings,
    random: torch.Generator,
) -> None:
    """Train by AdamW with a rate that rises over a twentieth of the steps and falls by a cosine."""
    optimiser = torch.optim.AdamW(network.parameters(), lr=settings.rate, weight_decay=settings.decay, fused=True)
    warm, order = max(1, settings.steps // 20), torch.zeros(0, dtype=torch.long)
    for step in range(settings.steps):
        while len(order) < settings.batch:
            order = torch.cat([order, torch.randperm(len(targets), generator=random)])
        chosen, order = order[: settings.batch], order[settings.batch :]
        fall = (1 + math.cos(math.pi * step / settings.steps)) / 2
        for group in optimiser.param_groups:
            group["lr"] = settings.rate * min((step + 1) / warm, fall)
        outputs = network(samples.rows(chosen), random)
        loss = network.head.loss(outputs, [targets[int(n)] for n in chosen], offered[chosen])
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimiser.step()
