"""A head on a real tower learns the ability colour of AVA-Bench, and beats the blind baseline."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pandas as pd
import pytest

from snellen.core.build_options import BuildOptions
from snellen.core.storage.itemset import ItemSet, write_itemset
from snellen.core.storage.media import MediaFolder
from snellen.exam.items import build
from snellen.exam.run import run
from snellen.subjects.loading import import_extra
from snellen.suites import SUITES
from snellen.suites.ava_bench.abilities.absolute_depth import absolute_depth_item
from snellen.suites.ava_bench.items import ItemSource
from snellen.suites.ava_bench.prompts import TABLE_1
from snellen.towers.heads.conversations import SYSTEM
from snellen.towers.heads.llava_files import read_llava
from snellen.towers.heads.stages import STAGES
from snellen.towers.sweep import fit_ability
from tests.helpers.extras import lazy_module, need
from tests.helpers.journey import patch
from tests.towers.heads.drawn_tables import write_questions

need("peft", "heads")
torch = lazy_module("torch")
fitting = lazy_module("snellen.towers.heads.fitting")
features = lazy_module("snellen.towers.heads.features")

TOWER = "efficientnet-lite0?side=160&layer=8"
ITEMS, QUESTIONS, SEED = 210, 2000, 0
"""The number of test items, with two training items each; the number of drawn questions of stage 2; the seed."""
TUNE = replace(STAGES["tune"], accumulation=1, rate=3e-3, epochs=9)
FIT = replace(STAGES["fit"], scope="language-model", rate=1e-3, epochs=16)


def test_training_items_that_cannot_be_shown_are_left_out_and_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shot, bins = patch(MediaFolder(tmp_path / "media"), (9, 9, 9)), [f"{n}-{n + 1}" for n in range(30)]
    items = [
        absolute_depth_item(
            ItemSource(f"{count}", shot, f"{count}", "KITTI", split="train"), "car", (0, 0, 4, 4), depth_m=2.5,
            bins=bins[:count], scene_type="outdoor",
        )
        for count in (5, 30)
    ]  # fmt: skip
    built = write_itemset(tmp_path, items, source="curated", recipe={})
    monkeypatch.setattr("snellen.towers.heads.fitting.train_head", lambda plan, conversations, *rest: conversations)
    plan = fitting.HeadPlan(TOWER, "random-qwen2", FIT)
    (conversation,) = cast("list[Any]", fit_ability(built, "absolute-depth", plan, tmp_path / "head"))
    assert conversation.name == "absolute-depth-5"
    assert "1 training items are left out: 1 × bad item: item absolute-depth-30: 30 options" in capsys.readouterr().err


def write_language_model(folder: Path, seed: int) -> str:
    """Write a random Qwen2 of two narrow layers, with a tokenizer of the occurring words and one token per digit."""
    transformers: Any = import_extra("transformers", "a random language model")
    texts = [SYSTEM, *(f" USER:\n{question} ASSISTANT: [0, 0, 0]" for question in TABLE_1.values())]
    tokenizer = transformers.Qwen2Tokenizer().train_new_from_iterator(texts * 50, vocab_size=600)
    tokenizer.save_pretrained(folder)
    config = transformers.Qwen2Config(
        vocab_size=len(tokenizer) + 1,  # a spare id for images
        hidden_size=64,
        intermediate_size=256,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        tie_word_embeddings=True,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        transformers.Qwen2ForCausalLM(config).save_pretrained(folder)
    return str(folder)


def train_stages(items: ItemSet, root: Path) -> dict[str, Path]:
    """The folders, by name, of a head after stages 2 and 3 and of one with the same settings at rate 0."""
    questions_file = write_questions(QUESTIONS, root / "drawn", SEED)
    conversations = read_llava(questions_file, root / "drawn").conversations
    language_model = write_language_model(root / "language-model", SEED)
    tuned = fitting.HeadPlan(TOWER, language_model, replace(TUNE, seed=SEED), source="cached", threads=1)
    fitting.train_head(tuned, conversations, root / "tuned", features.opener(None))
    fitted = replace(tuned, stage=replace(FIT, seed=SEED), base=root / "tuned")
    untrained = replace(tuned, stage=replace(FIT, seed=SEED, rate=0.0, epochs=1))
    for name, plan in (("trained", fitted), ("untrained", untrained)):
        fit_ability(items, "colour", plan, root / name)
    return {name: root / name for name in ("trained", "untrained")}


def ask(items: ItemSet, heads: dict[str, Path], out: Path) -> pd.DataFrame:
    """The CIEDE2000 of each head with the right images and with those of other items, by head and images."""
    subjects = [f"head:{folder}?batch=30&max_new_tokens=20" for folder in heads.values()]
    examination = run(items, subjects, out, conditions=("vanilla", "images=shuffled"), show_progress=False)
    rows = examination.all_results()
    rows = rows[(rows.metric == "ciede2000") & (rows.protocol == "strict") & (rows.factor == "")]
    heads_of = {f"head:{folder}?max_new_tokens=20": name for name, folder in heads.items()}
    return rows.assign(head=rows.subject.map(heads_of)).set_index(["head", "images"])


@pytest.mark.slow
def test_a_head_learns_colours_beyond_the_blind_baseline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lower is better; intervals are over the tables of the test items."""
    monkeypatch.setenv("SNELLEN_HOME", str(tmp_path / "home"))
    options = BuildOptions(
        tmp_path / "items", n=ITEMS, seed=SEED, tasks=("colour",), renderer="toy", size=(256, 192), workers=2,
        allow_unmatched=True, show_progress=False,
    )  # fmt: skip
    items = build(SUITES.get("ava-bench"), "generated", options)
    scores = ask(items, train_stages(items, tmp_path), tmp_path / "run")
    print(scores[["value", "low", "high", "blind", "chance", "n", "clusters", "no_answer_rate"]].to_string())
    value, low, high = ({key: float(scores[name][key]) for key in scores.index} for name in ("value", "low", "high"))
    trained = ("trained", "original")
    assert value[trained] < scores["blind"][trained]
    assert not any(high[key] < scores["blind"][key] for key in scores.index if key != trained)
    assert high[trained] < min(scores["chance"][trained], low["trained", "shuffled"])
    assert high[trained] < min(low["untrained", images] for images in ("original", "shuffled"))
