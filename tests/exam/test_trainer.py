"""Exams in a training of transformers' Trainer that needs the core alone: with a function of the user's own.

It imports nothing of the extra `models`, so that it also runs beside a transformers of an earlier year:
CONTRIBUTING.md, Dependencies.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import snellen
from snellen.core.build_options import BuildOptions
from snellen.exam.checkpoints import CheckpointVerdict
from snellen.suites import SUITES

TEXT = {"input_ids": list(range(5, 25)), "labels": list(range(5, 25))}


def _train(folder: Path, callbacks: list[Any]) -> list[float]:
    """The losses of four steps of a tiny language model, from a configuration."""
    torch = pytest.importorskip("torch", reason="no training without torch")
    transformers: Any = pytest.importorskip("transformers", reason="no Trainer without transformers")
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=32, hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2,
        attention_dropout=0.3,
    )  # fmt: skip
    arguments = transformers.TrainingArguments(
        str(folder), max_steps=4, save_steps=2, logging_steps=1, per_device_train_batch_size=2, report_to=[],
        use_cpu=True, disable_tqdm=True, seed=1, learning_rate=1e-2,
    )  # fmt: skip
    model = transformers.LlamaForCausalLM(config)
    trainer = transformers.Trainer(model=model, args=arguments, train_dataset=[TEXT] * 8, callbacks=callbacks)
    trainer.train()
    return [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]


def test_an_exam_by_one_s_own_function_leaves_the_training_as_it_is(tmp_path: Path) -> None:
    options = BuildOptions(
        tmp_path / "items", n=6, tasks=("img2text",), renderer="blank", size=(120, 90), show_progress=False
    )
    items = SUITES.get("combo").recipes["generated"].build(options)
    verdicts: list[CheckpointVerdict] = []

    torch = pytest.importorskip("torch", reason="no training without torch")

    def answer(model: Any, parts: list[Any]) -> str:
        scores = model(torch.tensor([[len(part) % 32 for part in parts if isinstance(part, str)]])).logits[0, -1]
        return "ABCD"[int(scores[:4].argmax() + torch.randint(4, ()) * 0)]

    callback = snellen.exam_callback(
        answer, folder=tmp_path / "exam", on_verdict=verdicts.append, sets=[items.root], n=6
    )
    assert _train(tmp_path / "examined", [callback]) == _train(tmp_path / "alone", [])
    assert [(verdict.step, verdict.state) for verdict in verdicts] == [(2, "whole"), (4, "whole")]
