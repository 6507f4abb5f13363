"""ComBo's auxiliary task from the command line: a folder that answers as an encoder, and a warning if it leaks."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from snellen.core.storage.itemset import read_itemset
from snellen.exam.run import run
from snellen.subjects.registry import make_subject
from tests.helpers.extras import need
from tests.helpers.sets import small_set

need("torch", "models")

Command = Callable[..., tuple[int, str, str]]
FEW = ("--model", "tiny/vit-b-16", "--objects", 6, "--views", 2, "--batch", 6, "--workers", 1)


def test_an_encoder_learns_and_answers(snellen: Command, sets_folder: Path, tmp_path: Path) -> None:
    items, out = small_set("combo", sets_folder).root, tmp_path / "encoder"
    code, output, _ = snellen("tower", "train-classifier", *FEW, "--items", items, "--out", out)
    assert code == 0
    assert "classification of 6 composite objects, 12 images" in output
    assert "LEAK" not in output
    subject = f"encoder:hf/{out}?layer=cls"
    assert output.endswith(f"Ask it: snellen run {items} --subject '{subject}'\n")
    item_set = read_itemset(items)
    building = replace(item_set, items=tuple(item for item in item_set.items if item.task == "category-building"))
    examination = run(building, [subject], tmp_path / "run", show_progress=False)
    answers = [response for response in examination.responses if response.task == "category-building"]
    assert {response.status for response in answers} == {"ok"}
    assert len(answers) == len(building.items)
    assert make_subject(subject).card.attributes["supervision"] == "classification of 6 composite objects"
    before = (out / "model.safetensors").stat().st_mtime_ns
    assert snellen("tower", "train-classifier", *FEW, "--items", items, "--out", out)[0] == 0
    assert (out / "model.safetensors").stat().st_mtime_ns == before


def test_a_leak_is_printed(snellen: Command, sets_folder: Path, tmp_path: Path) -> None:
    items = small_set("combo", sets_folder).root
    code, output, _ = snellen(
        "tower", "train-classifier", *FEW, "--items", items, "--out", tmp_path / "leaky", "--leak"
    )
    assert code == 0
    assert "LEAK: 6 objects and " in output
    card = json.loads((tmp_path / "leaky" / "classifier.json").read_text())
    assert card["leak"] is True
    assert card["source"]["shared"]["images"] >= 1
    code, _, err = snellen("tower", "train-classifier", *FEW, "--items", items, "--out", tmp_path / "leaky")
    assert code == 2
    assert "already exists with other content" in err
