"""The choice between live and cached features, marks of images, classes of examples, tensors of batches."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from PIL import Image

from snellen.core.errors import SnellenError
from snellen.core.item import Media, ReplySpec, View
from snellen.core.subject import TrainingExample
from snellen.towers.heads.conversations import IGNORED, Tokens
from snellen.towers.heads.stages import STAGES
from snellen.towers.heads.towers import find_tower
from tests.helpers.extras import lazy_module, need

need("peft", "heads")
torch = lazy_module("torch")
batches = lazy_module("snellen.towers.heads.batches")
composition = lazy_module("snellen.towers.heads.composition")
connector = lazy_module("snellen.towers.heads.connector")
features = lazy_module("snellen.towers.heads.features")
fitting = lazy_module("snellen.towers.heads.fitting")
language_models = lazy_module("snellen.towers.heads.language_models")

IMAGES = tuple(Media(f"{n}" * 64, "image", "png", 8, 6) for n in range(6))


@pytest.mark.parametrize(
    ("passes", "source", "read_seconds", "expected"),
    [
        (1, None, 0.0, ("live", 0.0, 0.0)),
        (1, "cached", 0.0, ("cached", 0.0, 0.0)),
        (2, "live", 0.0, ("live", 0.0, 0.0)),
        (2, None, 0.4, ("cached", 1.0, 0.4)),  # computed once and read twice, 1.8 s an image, or computed twice
        (2, None, 0.5, ("live", 1.0, 0.5)),
        (2, "cached", 0.5, ("cached", 1.0, 0.5)),
        (10, None, 0.875, ("cached", 1.0, 0.875)),
        (10, None, 0.91, ("live", 1.0, 0.91)),
    ],
)
def test_features_are_cached_if_that_takes_less_time(
    passes: int, source: Any, read_seconds: float, expected: tuple[Any, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Images take 1 s each to compute; four different ones are measured, and all are prepared if cached."""
    module = import_module("snellen.towers.heads.features")
    prepared, computed = list[int](), list[int]()
    cache = SimpleNamespace(prepare=lambda some: prepared.append(len(some)), read=lambda some: None)
    times = iter([10.0, 14.0, 20.0, 20.0 + 4 * read_seconds])
    monkeypatch.setattr(module, "TokenCache", lambda reader: cache)
    monkeypatch.setattr(module, "time", SimpleNamespace(perf_counter=lambda: next(times)))

    def tokens(some: Any) -> Any:
        computed.append(len(some))
        return torch.zeros(1)

    choice = features.choose_source(SimpleNamespace(tokens=tokens), [IMAGES[0], *IMAGES], passes, source)
    facts = choice.source, choice.live_seconds, choice.read_seconds
    assert facts == (expected[0], *map(pytest.approx, expected[1:]))
    measured = expected[1] > 0
    assert computed == [1, 4] * measured
    assert prepared == [4] * measured + [7] * (choice.source == "cached")
    assert (choice.cache is cache) == (choice.source == "cached")


def test_images_are_opened_and_marked(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    Image.new("L", (3, 2), 7).save(path)
    opened = features.opener(None)
    assert (opened(path).mode, opened(path).getpixel((0, 0))) == ("RGB", (7, 7, 7))
    marks = [features.part_mark(part) for part in (IMAGES[1], "words", path)]
    assert marks == ["1" * 64, "words", f"a.png {path.stat().st_size}"]
    with pytest.raises(SnellenError, match="an image of an item set, but its folder is unknown"):
        opened(IMAGES[0])
    for fault in (opened, features.part_mark):
        with pytest.raises(SnellenError, match=r"no\.png: not a readable image \(.+\); fix or remove the file"):
            fault(tmp_path / "no.png")


def test_answers_that_are_classes_or_counts_are_probed() -> None:
    keys = ("A", "a"), ("B", "b")
    view = View("item 7", "s", "task", "?", IMAGES[:1], ReplySpec("choice", keys))

    def class_of(view: View, answer: Any = "a") -> Any:
        return connector.class_of(TrainingExample(view, answer, None, "A"))

    assert class_of(view) == "a"
    assert class_of(replace(view, reply=ReplySpec("integer")), 12) == "12"
    assert class_of(replace(view, reply=ReplySpec("text", keys))) == "a"
    with pytest.raises(SnellenError, match=r"^task: the answer is a box; a linear probe needs classes or counts"):
        class_of(replace(view, reply=ReplySpec("box")))
    video = replace(IMAGES[0], kind="video")
    for query, count in (((), 0), (IMAGES[:2], 2), ((video,), 1)):
        with pytest.raises(SnellenError, match=rf"^item 7: shows {count} images; a linear probe needs one"):
            class_of(replace(view, query=query))


@pytest.mark.parametrize("left", [False, True])
def test_rows_of_a_batch_are_padded_on_one_side(left: bool) -> None:
    rows = [Tokens((5, 6, 7), (IGNORED, 6, 7), IMAGES[:2]), Tokens((8,), (8,))]
    read = list[Any]()

    def reader(images: Any) -> Any:
        read.extend(images)
        return torch.ones(2, 3)

    batch = batches.collate(rows, [0.5, 0.25], 9, reader, left=left, is_last=False)

    def side(row: list[int], filler: int) -> list[int]:
        return [filler] * 2 + row if left else row + [filler] * 2

    assert batch.ids.tolist() == [[5, 6, 7], side([8], 9)]
    assert batch.mask.tolist() == [[1, 1, 1], side([1], 0)]
    assert batch.labels.tolist() == [[IGNORED, 6, 7], side([8], IGNORED)]
    assert (batch.weights.tolist(), batch.images.shape, batch.is_last) == ([0.5, 0.25], (2, 3), False)
    assert read == list(IMAGES[:2])
    plain = batches.collate(rows[1:], [1.0], 9, reader)
    assert (plain.images, plain.is_last, len(read)) == (None, True, 2)


def test_the_card_of_a_training_has_its_means(monkeypatch: pytest.MonkeyPatch) -> None:
    module = import_module("snellen.towers.heads.fitting")
    progress = SimpleNamespace(seconds=7.20049, losses=[3.0, 2.0, 0.5])
    weights = {"a": torch.zeros(2, 3), "b": torch.zeros(4)}
    for name, result in (("train", progress), ("trained_weights", weights), ("device_name", "a device")):
        monkeypatch.setattr(module, name, lambda *_, result=result: result)
    plan = fitting.HeadPlan("", "", replace(STAGES["fit"], epochs=3))
    training: Any = SimpleNamespace(
        plan=plan, model=None, device="cpu", conversations=[0] * 8, steps=6, fingerprint="mark"
    )
    facts, trained = fitting.run_training(training)
    assert trained is weights
    versions, stage = facts.pop("versions"), facts.pop("stage")
    assert (set(versions), stage["epochs"]) == ({"torch", "transformers", "peft"}, 3)
    assert facts == {
        "fingerprint": "mark", "conversations": 8, "steps": 6, "seconds": 7.2, "samples_per_second": 3.333,
        "device": "a device", "device_hours": 0.002, "first_loss": 3.0, "last_loss": 0.5, "trained_parameters": 10,
    }  # fmt: skip


@pytest.mark.parametrize(("padding", "expected"), [(None, 5), (0, 0), (7, 7)])
def test_a_composed_head_ends_and_pads_as_its_tokenizer_does(padding: int | None, expected: int) -> None:
    language = language_models.load_language_model("random-qwen2?layers=1&width=32")
    language = replace(language, tokenizer=SimpleNamespace(eos_token_id=5, pad_token_id=padding))
    tower = find_tower("tiny/clip-l")
    model = composition.compose(tower, language)
    assert (model.generation_config.eos_token_id, model.generation_config.pad_token_id) == (5, expected)
    config = model.config
    assert (config.image_token_index, config.image_seq_length) == (language.image_id, tower.tokens)
    assert (config.vision_feature_layer, config.vision_feature_select_strategy) == (-1, "full")
    assert not any(weight.requires_grad for weight in model.parameters())
