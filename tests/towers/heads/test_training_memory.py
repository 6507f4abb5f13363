"""The memory that is planned is what trainings of full size with random weights took on an H100 (`bench/gpu.py`)."""

from __future__ import annotations

import pytest

from snellen.towers.heads.stages import STAGES
from tests.helpers.extras import lazy_module, need

need("peft", "heads")
costs = lazy_module("snellen.towers.heads.costs")
fitting = lazy_module("snellen.towers.heads.fitting")

VICUNA, QWEN = "lmsys/vicuna-7b-v1.5", "Qwen/Qwen2-0.5B"


@pytest.mark.parametrize(
    ("language_model", "stage", "micro_batch", "offload", "device", "main"),
    [
        (VICUNA, "tune", 8, True, 33.6, 127.2),
        (VICUNA, "tune", 16, True, 37.0, 127.4),
        (QWEN, "fit", 8, True, 4.0, None),  # the rest of the process takes half of its main memory
        (QWEN, "fit", 8, False, 4.9, None),
    ],
)
def test_memory_is_within_a_tenth_of_what_was_measured(
    language_model: str, stage: str, micro_batch: int, offload: bool, device: float, main: float | None
) -> None:
    plan = fitting.HeadPlan(
        *("siglip-1?seed=0", language_model, STAGES[stage]),
        device="cuda", micro_batch=micro_batch, source="live", recompute=True, offload=offload,
    )  # fmt: skip
    memory = costs.training_memory(plan, text=90, answer=8)
    assert memory.device / 1e9 == pytest.approx(device, rel=0.1)
    if main:
        assert memory.main / 1e9 == pytest.approx(main, rel=0.1)
