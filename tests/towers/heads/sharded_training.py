"""Trains the toy head in a folder, as one of the processes that `torchrun` starts; writes its whole weights and losses.

Arguments: the folder, the scope, the step to stop before (0: none), and further settings of `Training` by name.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import distributed

from snellen.towers.heads import sharding
from snellen.towers.heads.training import train
from tests.towers.heads.toys import FIT, Stopped, stopping, toy


def main(folder: Path, scope: Any, last: int, *names: str) -> None:
    stage = replace(FIT, scope=scope, lora_dropout=0.0, accumulation=2, epochs=5, rate=1e-2)
    settings: dict[str, Any] = dict.fromkeys(names, True)
    training = toy(folder, stage, interval=1, tick=stopping(last), micro_batch=4, **settings)
    try:
        progress = train(training)
    except Stopped:
        return
    weights = sharding.trained_weights(training.model, "cpu")
    if sharding.rank() == 0:
        torch.save({"weights": weights, "losses": progress.losses}, folder / "result.pt")
    if distributed.is_initialized():
        distributed.destroy_process_group()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), *sys.argv[4:])
