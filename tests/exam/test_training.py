"""Asking a model during its training does not change it; Trainer continues as if it had not been asked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import snellen
from snellen.core.build_options import BuildOptions
from snellen.core.errors import SnellenError
from snellen.exam.checkpoints import CheckpointVerdict, undisturbed
from snellen.suites import SUITES
from tests.helpers.extras import lazy_module

torch = lazy_module("torch")

pytestmark = pytest.mark.slow


def test_modes_and_random_numbers_are_unchanged() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Dropout(), torch.nn.BatchNorm1d(2))
    model[2].eval()  # frozen by the training code
    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    firsts = []

    def ask() -> None:
        assert not any(part.training for part in model.modules())
        firsts.append(float(torch.rand(1)))
        raise ZeroDivisionError

    for _ in range(2):
        with pytest.raises(ZeroDivisionError), undisturbed(model):
            ask()
    assert firsts[0] == firsts[1]
    assert [part.training for part in model] == [True, True, False]
    assert torch.equal(torch.rand(2), expected)
    model[0].weight.ds_id = 1  # DeepSpeed marks partitioned weights in this way
    with pytest.raises(SnellenError, match="several processes"), undisturbed(model):
        pass


def _train(folder: Path, model_folder: Path, callbacks: list[Any]) -> list[float]:
    """The losses of four training steps on one text, with dropout."""
    import transformers

    from snellen.subjects.chat.checkpoint import Checkpoint

    processor = Checkpoint(str(model_folder)).processor
    torch.manual_seed(0)
    model = transformers.AutoModelForImageTextToText.from_pretrained(model_folder)
    for layer in model.model.language_model.layers:
        layer.self_attn.attention_dropout = 0.3
    rows = [{"input_ids": list(range(5, 45)), "labels": list(range(5, 45))}] * 8
    arguments = transformers.TrainingArguments(
        str(folder), max_steps=4, save_steps=2, logging_steps=1, per_device_train_batch_size=2, report_to=[],
        use_cpu=True, disable_tqdm=True, seed=1, learning_rate=1e-2,
    )  # fmt: skip
    trainer = transformers.Trainer(
        model=model, args=arguments, train_dataset=rows, callbacks=callbacks, processing_class=processor
    )
    trainer.train()
    assert model.training
    return [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]


def test_exams_do_not_change_the_training_of_trainer(tmp_path: Path) -> None:
    from tests.subjects.chat.tiny_models import llava

    model_folder = llava(tmp_path / "model")
    options = BuildOptions(
        tmp_path / "items", n=6, tasks=("img2text",), renderer="blank", size=(120, 90), show_progress=False
    )
    items = SUITES.get("combo").recipes["generated"].build(options)
    settings: dict[str, Any] = {"sets": [items.root], "n": 6}
    verdicts: list[CheckpointVerdict] = []
    questions: list[str] = []

    def answer(model: Any, parts: list[Any]) -> str:
        questions.append(parts[-1])
        assert not model.training
        assert not torch.is_grad_enabled()
        torch.rand(3)
        return "A"

    def broken(model: Any, parts: list[Any]) -> str:
        raise ZeroDivisionError

    alone = _train(tmp_path / "alone", model_folder, [])
    callbacks = [
        snellen.exam_callback(folder=tmp_path / "template", on_verdict=verdicts.append, **settings),
        snellen.exam_callback(answer, folder=tmp_path / "own", every=1, on_verdict=verdicts.append, **settings),
        snellen.exam_callback(broken, folder=tmp_path / "broken", every=4, on_verdict=verdicts.append, **settings),
    ]
    assert _train(tmp_path / "examined", model_folder, callbacks) == alone
    assert len(set(alone)) > 1
    states = {name: [v.step for v in verdicts if v.state == name] for name in ("whole", "partial", "failed")}
    assert states == {"whole": [1, 2, 2, 3, 4, 4], "partial": [], "failed": [4]}
    assert questions
    assert [path.name for path in sorted((tmp_path / "template").glob("step-*"))] == ["step-00000002", "step-00000004"]
