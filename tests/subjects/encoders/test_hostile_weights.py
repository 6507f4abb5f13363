"""Damaged weights and weights with code are refused in one line, and no code is executed."""

from __future__ import annotations

import builtins
import json
import pickle
from pathlib import Path
from typing import Any

import pytest

from snellen.subjects.checkpoints import load_model, weights_digest
from tests.helpers.extras import lazy_module
from tests.helpers.refusals import assert_refused

torch = lazy_module("torch")

CONFIG = {
    "model_type": "vit", "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1, "intermediate_size": 8,
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("pytorch_model.bin", True), ("model.safetensors", True), ("config.json", True), ("merges.txt", True),
        ("tokenizer.model", True), ("README.md", False),
    ],
)  # fmt: skip
def test_a_digest_of_a_folder_covers_whatever_answers_depend_on(tmp_path: Path, name: str, counts: bool) -> None:
    digests = set[str]()
    for content in ("former", "latter"):
        folder = tmp_path / content
        folder.mkdir()
        (folder / name).write_text(content)
        digests.add(weights_digest("encoder:hf", str(folder)))
    assert len(digests) == 1 + counts


class Program:
    """Unpickling it opens a file for writing."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return builtins.open, (str(self.path), "w")


@pytest.mark.parametrize(
    ("name", "raw"),
    [("pytorch_model.bin", b"PK\x03\x04 and no more"), ("pytorch_model.bin", b""), ("model.safetensors", b"\xff" * 99)],
)
def test_damaged_weights_are_refused_in_one_line(tmp_path: Path, name: str, raw: bytes) -> None:
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    (tmp_path / name).write_bytes(raw)
    assert_refused(lambda: load_model("encoder:hf/x", "AutoModel", str(tmp_path), "cpu", "auto"), "cannot be loaded")


@pytest.mark.filterwarnings("ignore:Detected pickle protocol")
@pytest.mark.parametrize("form", ["pickle", "torch"])
def test_pickled_code_is_not_executed(tmp_path: Path, form: str) -> None:
    folder, owned = tmp_path / "model", tmp_path / "owned"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(CONFIG))
    weights = {"embeddings.cls_token": Program(owned)}
    if form == "torch":
        torch.save(weights, folder / "pytorch_model.bin")
    else:
        (folder / "pytorch_model.bin").write_bytes(pickle.dumps(weights))
    assert_refused(lambda: load_model("encoder:hf/x", "AutoModel", str(folder), "cpu", "auto"), "cannot be loaded")
    assert not owned.exists()
