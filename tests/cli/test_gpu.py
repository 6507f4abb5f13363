"""Towers, heads and encoders give the same on a GPU as on a CPU. Needs CUDA, and `make slow`."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from snellen.core.build_options import BuildOptions
from snellen.core.errors import SnellenError
from snellen.core.item import View
from snellen.core.prompt import Prompt, Reply
from snellen.core.seeds import stream
from snellen.core.storage.itemset import ItemSet
from snellen.core.storage.media import MediaFolder
from snellen.exam.items import build
from snellen.presentation.presenters import plain
from snellen.subjects.encoders import load_encoder
from snellen.subjects.encoders.encoder import PatchEncoder
from snellen.subjects.registry import make_subject
from snellen.suites import SUITES
from snellen.towers.heads.stages import STAGES
from snellen.towers.heads.towers import TOWERS
from snellen.towers.sweep import examples_of, train_items
from tests.helpers.extras import lazy_module, need

need("peft", "heads")
torch = lazy_module("torch")
training_module = lazy_module("snellen.towers.heads.training")
readers = lazy_module("snellen.towers.heads.features")
fitting = lazy_module("snellen.towers.heads.fitting")
tensor_files = lazy_module("snellen.towers.heads.tensor_files")

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True, scope="module")
def cuda() -> None:
    if not torch.cuda.is_available():
        pytest.skip("no CUDA here")


SMALL = "random-qwen2?layers=2&width=64"
NAMES = [f"tiny/{name}" for name, tower in TOWERS.items() if tower.model]
FIT = replace(STAGES["fit"], epochs=3, lora_rank=4, lora_alpha=8)


@pytest.fixture(scope="module")
def items(tmp_path_factory: pytest.TempPathFactory) -> ItemSet:
    """A few generated images for counting and colour questions."""
    folder = tmp_path_factory.mktemp("gpu") / "items"
    options = BuildOptions(folder, n=8, quick=True, tasks=("counting", "colour"), renderer="toy", show_progress=False)
    return build(SUITES.get("ava-bench"), "generated", options)


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SNELLEN_HOME", str(tmp_path / "home"))


@pytest.fixture
def whole_memory() -> Iterator[None]:
    """Restores the GPU memory limit after a test."""
    yield
    torch.cuda.set_per_process_memory_fraction(1.0)


def images(items: ItemSet, count: int) -> list[Image.Image]:
    media = items.media
    return [media.open(item.query[0]) for item in items.task("counting")[:count]]


def error(features: Any, reference: Any) -> float:
    """The norm of the difference of two arrays as a share of the norm of the second."""
    ours, theirs = (
        np.asarray(torch.as_tensor(array).float().cpu(), dtype=np.float64) for array in (features, reference)
    )
    return float(np.linalg.norm(ours - theirs) / np.linalg.norm(theirs))


@pytest.mark.parametrize("name", [*NAMES, "efficientnet-lite0"])
def test_tokens_are_the_same_as_on_a_cpu(name: str, items: ItemSet) -> None:
    """In float32 except the tf32 of convolutions; in bfloat16 (8 bits) within 2 %."""
    media = items.media
    images_shown = [item.query[0] for item in items.task("counting")[:6]]
    reference = readers.TowerReader(name, readers.opener(media)).tokens(images_shown)
    tokens = readers.TowerReader(name, readers.opener(media), "cuda").tokens(images_shown)
    assert (tokens.device.type, tokens.dtype, tokens.shape) == ("cuda", torch.float32, reference.shape)
    assert error(tokens, reference) < 5e-3
    halves = readers.TowerReader(name, readers.opener(media), "cuda", torch.bfloat16).tokens(images_shown)
    assert halves.dtype == torch.bfloat16
    assert 0 < error(halves, reference) < 2e-2  # a convolutional tower in bfloat16 would be off by 9e-2


def test_features_of_encoders_are_the_same_as_on_a_cpu(items: ItemSet) -> None:
    images_shown = images(items, 6)
    cpu, gpu = (load_encoder("efficientnet-lite0", {"device": device}) for device in ("cpu", "cuda"))
    assert error(gpu.features(images_shown), cpu.features(images_shown)) < 5e-3
    assert isinstance(cpu, PatchEncoder)
    assert isinstance(gpu, PatchEncoder)
    assert error(gpu.patches(images_shown), cpu.patches(images_shown)) < 5e-3
    assert dict(cpu.settings) != dict(gpu.settings)  # cached separately


class Stopped(Exception):
    """Like a kill."""


def stopping(step: int) -> Callable[[], None]:
    left = iter(range(step - 1))

    def tick() -> None:
        if next(left, None) is None:
            raise Stopped

    return tick


def fit(
    items: ItemSet, out: Path, tick: Callable[[], None] = lambda: None, tower: str = "tiny/siglip-1", **changes: Any
) -> Any:
    """A head that learns to count, on the GPU by default."""
    media = MediaFolder(out / "media", items.media)
    examples = examples_of(items, "counting", train_items(items, "counting"), media)
    talks = [fitting.conversation_of(example) for example in examples]
    usual: dict[str, Any] = {"stage": FIT, "task": "counting", "device": "cuda"}
    return fitting.train_head(
        fitting.HeadPlan(tower, SMALL, **(usual | changes)), talks, out, readers.opener(media), tick
    )


def ask(written: str, items: ItemSet, media: MediaFolder) -> list[Reply]:
    subject = make_subject(written)
    views: list[View] = [item.view() for item in items.task("counting") if item.split == "test"][:4]

    async def together() -> list[Reply]:
        prompts = [Prompt(plain(view), (view,)) for view in views]
        return list(await asyncio.gather(*(subject.answer(p, media, stream("ask", 0)) for p in prompts)))

    return asyncio.run(together())


def weights(folder: Path) -> dict[str, Any]:
    return dict(tensor_files.read_tensors(folder / "head.safetensors")[0])


@pytest.mark.parametrize("stage", ["pretrain", "tune", "fit"])
def test_every_stage_learns_the_same_as_on_a_cpu_and_resumes(stage: str, items: ItemSet, tmp_path: Path) -> None:
    """Losses within 2 % of float32; after a kill the same weights up to the order of sums."""
    changes: dict[str, Any] = {"stage": replace(STAGES[stage], epochs=3, lora_dropout=0.0), "interval": 1}
    reference = fit(items, tmp_path / "cpu", device="cpu", **changes)
    card = fit(items, tmp_path / "whole", **changes)
    assert card.device == torch.cuda.get_device_name()
    assert card.first_loss == pytest.approx(reference.first_loss, rel=2e-2)
    assert card.last_loss == pytest.approx(reference.last_loss, rel=2e-2)
    with pytest.raises(Stopped):
        fit(items, tmp_path / "parts", stopping(2), **changes)
    fit(items, tmp_path / "parts", **changes)
    whole, parts = weights(tmp_path / "whole"), weights(tmp_path / "parts")
    assert {str(tensor.dtype) for tensor in whole.values()} == {"torch.float32"}
    assert max(error(parts[name], tensor) for name, tensor in whole.items() if tensor.any()) < 1e-3


def test_compiled_layers_learn_the_same(items: ItemSet, tmp_path: Path) -> None:
    plain_card, compiled_card = (
        fit(items, tmp_path / str(compiled), stage=replace(FIT, lora_dropout=0.0), compiled=compiled)
        for compiled in (False, True)
    )
    assert compiled_card.last_loss == pytest.approx(plain_card.last_loss, rel=1e-3)


@pytest.mark.parametrize("name", NAMES)
def test_live_and_cached_learn_the_same(name: str, items: ItemSet, tmp_path: Path) -> None:
    cards = {source: fit(items, tmp_path / source, tower=name, source=source) for source in ("live", "cached")}
    for loss in ("first_loss", "last_loss"):  # up to the order of sums, which depends on the batch size
        assert getattr(cards["live"], loss) == pytest.approx(getattr(cards["cached"], loss), rel=1e-4)


def test_a_head_answers_on_both_devices(items: ItemSet, tmp_path: Path) -> None:
    fit(items, tmp_path / "head", stage=replace(FIT, scope="language-model", rate=3e-3, epochs=30))
    media = MediaFolder(tmp_path / "head" / "media", items.media)
    replies = {
        device: [reply.text for reply in ask(f"head:{tmp_path / 'head'}?device={device}", items, media)]
        for device in ("cpu", "cuda", "cuda:0")
    }
    assert replies["cuda"] == replies["cuda:0"]
    assert replies["cuda"] == replies["cpu"]
    assert all(replies["cuda"])


def test_exhausted_memory_is_one_line_with_the_setting_to_lower(
    items: ItemSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, whole_memory: None
) -> None:
    real = training_module.AnswerLoss.forward

    def greedy(model: Any, batch: Any) -> Any:
        torch.empty(2**40, device="cuda")  # a terabyte
        return real(model, batch)

    monkeypatch.setattr("snellen.towers.heads.training.AnswerLoss.forward", greedy)
    with pytest.raises(
        SnellenError, match=r"out of memory on cuda at step 0 of \d+ with 16 .*--micro-batch 8"
    ) as caught:
        fit(items, tmp_path / "head")
    assert "\n" not in str(caught.value)


def test_commands_take_a_gpu(snellen: Any, items: ItemSet, tmp_path: Path) -> None:
    out = tmp_path / "sweep"
    names = ("--towers", "tiny/clip-l,tiny/sam-h,efficientnet-lite0", "--abilities", "counting", "--items", items.root)
    words = ("tower", "sweep", *names, "--language-model", SMALL, "--epochs", 1, "--device", "cuda", "--workers", 2)
    code, output, problem = snellen(*words, "--out", out)
    assert code == 0, problem
    jobs = pd.read_csv(out / "jobs.csv")
    assert list(jobs["status"]) == ["done"] * 3
    assert set(jobs["device"]) == {torch.cuda.get_device_name()}
    head = out / "heads" / "tiny-clip-l" / "counting"
    code, output, problem = snellen("tower", "probe", head, "--items", items.root, "--device", "cuda")
    assert code == 0, problem
    subjects = (
        f"head:{head.parent}?device=cuda",
        "tower:tiny/clip-l?device=cuda",
        "encoder:efficientnet-lite0?device=cuda",
        "encoder:efficientnet-lite0?device=cuda&readout=attentive",
    )
    arguments = [word for subject in subjects for word in ("--subject", subject)]
    code, output, problem = snellen("run", items.root, *arguments, "--limit", 2, "--out", tmp_path / "run")
    assert code == 0, problem
    assert "failed" not in output


def test_a_missing_device_is_refused_in_one_line(items: ItemSet, tmp_path: Path) -> None:
    with pytest.raises(SnellenError, match="no device 'cuda:99'"):
        fit(items, tmp_path / "head", device="cuda:99", source="live")
    assert not json.dumps([path.name for path in tmp_path.glob("head/*.json")]).strip("[]")
