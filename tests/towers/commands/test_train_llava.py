"""A published LLaVA from the command line: trained on conversations, and asked before and after."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from snellen.core.item import Media
from snellen.core.storage.itemset import ItemSet
from snellen.core.storage.media import MediaFolder
from snellen.core.storage.run_tables import read_responses
from snellen.subjects.chat.transformers_model import apply_template, encode_prompts
from snellen.subjects.checkpoints import load_weights
from snellen.suites import SUITES
from snellen.towers.combo_training.training_items import CONDITIONS
from snellen.towers.conversations import CARD, learner_condition, question_records, solved_examples
from snellen.towers.heads.llava_files import read_llava, write_llava
from tests.helpers.extras import lazy_module, need
from tests.helpers.sets import small_set
from tests.subjects.chat import tiny_models

need("peft", "heads")
llava_tuning = lazy_module("snellen.towers.heads.llava_tuning")

Command = Callable[..., tuple[int, str, str]]
COUNTS = ("--captions", 4, "--questions", 8, "--workers", 1)


@pytest.fixture(scope="module")
def items(sets_folder: Path) -> ItemSet:
    return small_set("combo", sets_folder)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_models.llava_1_5(tmp_path_factory.mktemp("base"))


@pytest.mark.slow
def test_one_command_trains_on_untested_objects_and_both_models_are_asked(
    snellen: Command, items: ItemSet, base: Path, tmp_path: Path
) -> None:
    out = tmp_path / "trained"
    words = ("tower", "train-llava", "--base", base, "--items", items.root, "--out", out)
    code, output, err = snellen(*words, *COUNTS, "--epochs", 2)
    assert code == 0, err
    assert "2 steps on 12 conversations" in output
    assert f"--subject 'chat:hf/{base}?pad=square' --subject 'chat:hf/{out}?pad=square'" in output
    card = json.loads((out / "conversations" / CARD).read_text())
    assert (card["captions"], card["questions"]) == (4, {"pattern-perception": 4, "category-building": 4})
    tested = {path.name for path in items.media.root.glob("??/*.png")}
    learned = {path.name for path in (out / "conversations").rglob("*.png")}
    assert learned
    assert not tested & learned
    stage = json.loads((out / "tuning.json").read_text())["stage"]
    assert (stage["scope"], stage["rate"], stage["lora_rank"], stage["lora_alpha"]) == ("lora", 2e-4, 128, 256)
    subjects = [f"chat:hf/{folder}?max_new_tokens=3&dtype=float32&pad=square" for folder in (base, out)]
    run = ("run", items.root, "--subject", subjects[0], "--subject", subjects[1], "--out", tmp_path / "run")
    code, _, err = snellen(*run, "--condition", "sheet=single,layout=images-first", "--limit", 2, "--keep-going")
    assert code == 0, err
    building = [row for row in read_responses(tmp_path / "run") if row.task == "category-building"]
    assert Counter(row.subject for row in building) == {
        f"chat:hf/{folder}?dtype=float32&pad=square": 2 for folder in (base, out)
    }
    assert {row.status for row in building} == {"ok"}
    stamp = (out / "model.safetensors").stat().st_mtime_ns
    assert snellen(*words, *COUNTS, "--epochs", 2)[0] == 0  # finished: only looked up
    assert (out / "model.safetensors").stat().st_mtime_ns == stamp
    code, _, err = snellen(*words, "--captions", 5, "--questions", 8)
    assert (code, "already holds other conversations" in err) == (2, True)


def test_questions_are_learned_as_they_are_asked(items: ItemSet, base: Path, tmp_path: Path) -> None:
    """The tokens of a record up to its reply are those of the run's prompt about the same item."""
    shutil.copytree(items.media.root, tmp_path / "images")
    suite, media = SUITES.get("combo"), MediaFolder(tmp_path / "images")
    checkpoint = llava_tuning.llava_checkpoint(str(base))
    wording = llava_tuning.template_wording(
        checkpoint.processor, load_weights("test", llava_tuning.KIND, str(base), "float32")[0]
    )
    for task, condition in CONDITIONS.items():
        test_items = [item for item in items.task(task) if item.split == "test"][:3]
        write_llava(tmp_path / "questions.json", question_records(test_items, suite, condition, media))
        file = read_llava(tmp_path / "questions.json", media.root)
        examples = solved_examples(
            test_items, suite.tasks[task], learner_condition(suite, condition), items.task(task), media
        )
        for conversation, example in zip(file.conversations, examples, strict=True):
            assert example.prompt is not None
            assert sum(isinstance(part, Media) for part in example.prompt.parts) == 1
            templated = apply_template(checkpoint.processor, example.prompt, media)
            prompt_ids = encode_prompts(checkpoint.processor, [templated])["input_ids"][0]
            assert list(wording.tokens(conversation).ids[: len(prompt_ids)]) == prompt_ids


def test_tune_takes_a_published_llava_in_place_of_a_tower(snellen: Command, base: Path, tmp_path: Path) -> None:
    record = [{"from": "human", "value": "Which?"}, {"from": "gpt", "value": "This."}]
    for name in ("a", "b"):
        (tmp_path / f"{name}.json").write_text(json.dumps([{"id": name, "conversations": record}]))
    data = ("--data", tmp_path / "a.json", "--data", tmp_path / "b.json", "--images", tmp_path)
    words = ("tower", "tune", *data, "--out", tmp_path / "out")
    code, output, err = snellen(*words, "--base", base, "--scope", "lora")
    assert code == 0, err
    assert "1 steps on 2 conversations" in output
    for wrong, message in (
        (("--base", base), "a published LLaVA is trained by adapters; add --scope lora"),
        ((), "give a --tower"),
        (("--base", base, "--scope", "lora", "--language-model", "random-qwen2"), "give a --tower"),
        (("--base", base, "--scope", "lora", "--rate", 1), "contains a model of other settings"),
    ):
        code, _, err = snellen(*words, *wrong)
        assert (code, err.count("\n"), message in err) == (2, 1, True), err
