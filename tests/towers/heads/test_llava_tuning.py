"""A published LLaVA is trained in its own words, and asked before and after with the same processor and template."""

from __future__ import annotations

import asyncio
import errno
import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from importlib import import_module
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from snellen.core.errors import SnellenError
from snellen.core.prompt import Prompt
from snellen.core.seeds import stream
from snellen.core.storage.media import MediaFolder
from snellen.subjects.chat import TransformersChat, make_chat
from snellen.subjects.chat.transformers_model import TemplatedPrompt, encode_prompts, pad_to_square, write_turns
from snellen.subjects.checkpoints import load_weights
from snellen.towers.heads.conversations import IGNORED, Conversation, ConversationTurn
from snellen.towers.heads.stages import STAGES
from tests.helpers.extras import lazy_module, need
from tests.helpers.refusals import assert_refused
from tests.subjects.chat import tiny_models
from tests.towers.heads.toys import Stopped, stopping

need("peft", "heads")
llava_tuning = lazy_module("snellen.towers.heads.llava_tuning")
features = lazy_module("snellen.towers.heads.features")
fitting = lazy_module("snellen.towers.heads.fitting")
tensor_files = lazy_module("snellen.towers.heads.tensor_files")
training = lazy_module("snellen.towers.heads.training")

torch, transformers = tiny_models.torch, tiny_models.transformers

COLOURS = {"red": (220, 30, 30), "blue": (30, 40, 220)}
QUESTION = "Which colour?"
STAGE = replace(
    STAGES["tune"], scope="lora", rate=1e-2, epochs=30, accumulation=1, lora_rank=8, lora_alpha=16, lora_dropout=0.1
)
"""Two steps per epoch of 32 conversations."""


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_models.llava_1_5(tmp_path_factory.mktemp("base"))


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("images")
    for name, colour in COLOURS.items():
        Image.new("RGB", (24, 20), colour).save(folder / f"{name}.png")
    return folder


def conversations(images: Path, count: int = 32) -> list[Conversation]:
    names = [name for _ in range(count // 2) for name in COLOURS]
    turns = [ConversationTurn((images / f"{name}.png", QUESTION), name) for name in names]
    return [Conversation(str(n), (turn,)) for n, turn in enumerate(turns)]


@pytest.fixture(scope="module")
def tuned(base: Path, images: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("tuned") / "model"
    card = tune_llava(fitting.HeadPlan("", "", STAGE, base), conversations(images), out)
    assert (card.base, card.steps, card.conversations) == (str(base), 60, 32)
    assert card.last_loss < 0.5 < card.first_loss
    return out


def tune_llava(plan: Any, examples: list[Conversation], out: Path, tick: Callable[[], None] = lambda: None) -> Any:
    """The training on images in files."""
    return llava_tuning.tune_llava(plan, examples, out, features.opener(None), tick)


def ask(folder: Path, images: Path) -> dict[str, str]:
    """What the subject `chat:hf/FOLDER` says about the colour of each image."""
    subject = make_chat(f"hf/{folder}", {"dtype": "float32", "device": "cpu", "max_new_tokens": "8", "pad": "square"})
    assert isinstance(subject, TransformersChat)
    media = MediaFolder(images.parent / "media")

    async def together() -> list[str]:
        prompts = [Prompt((media.add_file(images / f"{name}.png"), QUESTION), ()) for name in COLOURS]
        return [(await subject.answer(prompt, media, stream("ask"))).text for prompt in prompts]

    return dict(zip(COLOURS, asyncio.run(together()), strict=True))


@pytest.mark.slow
def test_the_model_learns_to_see_and_stays_the_same_subject(base: Path, tuned: Path, images: Path) -> None:
    assert ask(tuned, images) == {"red": "red", "blue": "blue"}
    assert set(ask(base, images).values()).isdisjoint(COLOURS)
    settings = {file.name: file.read_bytes() for file in base.iterdir() if file.suffix != ".safetensors"}
    assert len(settings) == 7
    assert {name: (tuned / name).read_bytes() for name in settings} == settings
    assert not (tuned / training.CHECKPOINT).exists()
    before, after = (tensor_files.read_tensors(folder / "model.safetensors")[0] for folder in (base, tuned))
    assert before.keys() == after.keys()
    changed = {name for name in before if not torch.equal(before[name], after[name])}
    layers = {name for name in before if name.startswith("language_model.model.layers") and "norm" not in name}
    assert changed == layers | {name for name in before if name.startswith("multi_modal_projector")}


def test_an_adapter_has_the_settings_of_its_stage(tmp_path: Path) -> None:
    weights = {"model.language_model.q_proj.lora_A.default.weight": torch.zeros(8, 4)}
    write_adapter: Any = import_module("snellen.towers.heads.llava_tuning")._write_adapter
    write_adapter(tmp_path, fitting.HeadPlan("", "", STAGE, tmp_path / "base"), weights)
    config = json.loads((tmp_path / "adapter_config.json").read_text())
    assert [config[name] for name in ("r", "lora_alpha", "lora_dropout")] == [8, 16, 0.1]
    assert config["target_modules"] == r"model\.language_model\..*\.(q_proj)"


@pytest.mark.parametrize(("device", "dtype"), [("cpu", "float32"), ("cuda", "bfloat16"), ("mps", "bfloat16")])
def test_a_model_is_loaded_in_full_precision_on_the_cpu_only(
    base: Path, images: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, device: str, dtype: str
) -> None:
    loaded = []

    def load(*how: Any) -> None:
        loaded.append(how[1:])
        raise Stopped

    module = import_module("snellen.towers.heads.llava_tuning")
    monkeypatch.setattr(module, "load_complete", load)
    with pytest.raises(Stopped):
        tune_llava(fitting.HeadPlan("", "", STAGE, base, device=device), conversations(images), tmp_path / "out")
    assert loaded == [(module.KIND, str(base), dtype)]


@pytest.mark.slow
def test_merged_and_unmerged_weights_give_equal_answers(base: Path, tuned: Path, images: Path) -> None:
    """Compared with the base and its adapter in peft itself, by scores and by greedy generation."""
    import peft

    model = transformers.LlavaForConditionalGeneration.from_pretrained(base, dtype=torch.float32)
    unmerged = peft.PeftModel.from_pretrained(model, tuned / llava_tuning.ADAPTER).eval()
    merged = transformers.LlavaForConditionalGeneration.from_pretrained(tuned, dtype=torch.float32).eval()
    processor, replies = llava_tuning.llava_checkpoint(str(base)).processor, ask(tuned, images)
    text = write_turns(processor, [((images, QUESTION), None)])
    for name in COLOURS:
        image = pad_to_square(processor, Image.open(images / f"{name}.png").convert("RGB"))
        inputs = encode_prompts(processor, [TemplatedPrompt(text, (image,))], return_tensors="pt")
        with torch.no_grad():
            first, second = unmerged(**inputs).logits, merged(**inputs).logits
            tokens = unmerged.generate(**inputs, do_sample=False, max_new_tokens=8)[0, inputs["input_ids"].shape[1] :]
        assert torch.allclose(first, second, atol=1e-4 * float(first.abs().max()))
        assert processor.tokenizer.decode(tokens, skip_special_tokens=True) == replies[name]


def wording_of(folder: Path) -> Any:
    checkpoint = llava_tuning.llava_checkpoint(str(folder))
    return llava_tuning.template_wording(
        checkpoint.processor, load_weights("test", llava_tuning.KIND, str(folder), "float32")[0]
    )


@pytest.mark.parametrize(
    ("make", "end"), [(tiny_models.llava_1_5, "</s>"), (tiny_models.llava, "<end>")], ids=["llava-1.5", "with-end"]
)
def test_replies_are_learned_after_the_prompt_as_it_is_asked(
    make: Callable[[Path], Path], end: str, images: Path, tmp_path: Path
) -> None:
    """The first turn is as `chat:hf` sends it; learned are both replies, each with the token that ends a reply."""
    folder = make(tmp_path)
    wording, processor = wording_of(folder), llava_tuning.llava_checkpoint(str(folder)).processor
    first = ConversationTurn((images / "red.png", "Colour?"), "Red, I say. ")
    second = ConversationTurn(("Sure?",), "Yes")
    tokens = wording.tokens(Conversation("c", (first, second)))
    question = write_turns(processor, [(first.parts, None)])
    prompt = TemplatedPrompt(question, (Image.new("RGB", (24, 20)),))
    prompt_ids = encode_prompts(processor, [prompt])["input_ids"][0]
    assert tokens.ids[: len(prompt_ids)] == tuple(prompt_ids)
    assert wording.tokens(Conversation("c", (replace(first, reply=None),))).ids == tuple(prompt_ids)
    assert tokens.ids.count(processor.image_token_id) == wording.image_tokens == 16
    by_turn = [list(run) for is_learned, run in groupby(tokens.labels, IGNORED.__ne__) if is_learned]
    assert [processor.tokenizer.decode(run).strip() for run in by_turn] == [f"Red, I say.{end}", f"Yes{end}"]
    assert {label for label, token in zip(tokens.labels, tokens.ids, strict=True) if label != token} == {IGNORED}


def test_conversations_that_the_template_cannot_write_are_refused(base: Path, images: Path, tmp_path: Path) -> None:
    wording = wording_of(base)

    def tokens(*turns: ConversationTurn) -> Any:
        return wording.tokens(Conversation("c 7", turns))

    assert_refused(partial(tokens, ConversationTurn(("See <image>",), "A")), "c 7: its words contain '<image>'")
    assert_refused(partial(tokens, ConversationTurn(("Q",), " ")), "c 7: an empty reply, or one that")
    many = ConversationTurn((*[images / "red.png"] * 128, "Q"), "A")
    assert_refused(partial(tokens, many), "its images do not fit into the maximum of 2048 tokens")
    folder = tiny_models.llava(tmp_path)
    (folder / "chat_template.jinja").write_text(
        "{{ messages | length }}{{ messages[-1]['content'][0]['text'] | upper }}"
    )
    wording = wording_of(folder)
    assert_refused(partial(tokens, ConversationTurn(("Q",), "Yes")), "one that the model's chat template changes")


def test_a_killed_training_resumes_to_the_same_weights(base: Path, images: Path, tmp_path: Path) -> None:
    plan = fitting.HeadPlan("", "", replace(STAGE, epochs=3), base, interval=2)
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    tune_llava(plan, conversations(images), whole)
    with pytest.raises(Stopped):
        tune_llava(plan, conversations(images), parts, stopping(3))
    assert [path.name for path in parts.iterdir()] == [training.CHECKPOINT]
    done: list[int] = []
    tune_llava(plan, conversations(images), parts, lambda: done.append(1))
    assert len(done) == 4  # six steps, of which two are in the checkpoint
    for name in ("model.safetensors", f"{llava_tuning.ADAPTER}/adapter_model.safetensors"):
        assert (parts / name).read_bytes() == (whole / name).read_bytes()
    stamp = (parts / "model.safetensors").stat().st_mtime_ns
    assert tune_llava(plan, conversations(images), parts).steps == 6  # finished: only looked up
    assert (parts / "model.safetensors").stat().st_mtime_ns == stamp
    for other, count in ((replace(plan, stage=STAGE), 32), (replace(plan, base=whole), 32), (plan, 30)):
        assert_refused(partial(tune_llava, other, conversations(images, count), parts), "a model of other settings or")
    (parts / llava_tuning.CARD).write_text('{"schema_version": 2}')
    assert_refused(partial(tune_llava, plan, conversations(images), parts), "not the card of a training")


@pytest.mark.slow
@pytest.mark.parametrize("writer", ["peft.LoraConfig", "transformers.LlavaForConditionalGeneration"])
def test_a_full_disk_at_the_end_is_one_line_and_loses_no_checkpoint(
    writer: str, base: Path, images: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = fitting.HeadPlan("", "", replace(STAGE, epochs=2), base, interval=1)
    tune_llava(plan, conversations(images), tmp_path / "whole")

    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    parts = tmp_path / "parts"
    with monkeypatch.context() as patch:
        patch.setattr(f"{writer}.save_pretrained", full)
        assert_refused(partial(tune_llava, plan, conversations(images), parts), "cannot be written (No space left")
    assert (parts / training.CHECKPOINT).is_file()
    assert not (parts / llava_tuning.CARD).exists()
    tune_llava(plan, conversations(images), parts)
    name = "model.safetensors"
    assert (parts / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


@pytest.mark.slow
def test_a_trained_model_is_a_base_again_and_keeps_its_precision(base: Path, images: Path, tmp_path: Path) -> None:
    """A model in half precision, in the key layout of the published ones, trained twice."""
    half = tmp_path / "half"
    model = transformers.LlavaForConditionalGeneration.from_pretrained(base, dtype=torch.float16)
    model.save_pretrained(half)
    for file in base.iterdir():
        if file.name not in ("config.json", "model.safetensors"):
            (half / file.name).write_bytes(file.read_bytes())
    sampling = {"temperature": 0.3, "top_p": 0.5, "do_sample": False}  # transformers refuses to save it
    (half / "generation_config.json").write_text(json.dumps(sampling | {"eos_token_id": [2]}))
    plan = fitting.HeadPlan("", "", STAGE, half)
    first, second = tmp_path / "first", tmp_path / "second"
    tune_llava(plan, conversations(images), first)
    again = tune_llava(replace(plan, base=first, stage=replace(STAGE, epochs=1)), conversations(images), second)
    assert again.first_loss < 0.5  # it goes on from what it had learned
    for folder in (first, second):
        tensors, _ = tensor_files.read_tensors(folder / "model.safetensors")
        assert {tensor.dtype for tensor in tensors.values()} == {torch.float16}
        assert all(torch.isfinite(tensor).all() for tensor in tensors.values())
        assert json.loads((folder / "generation_config.json").read_text())["eos_token_id"] == [2]
        assert ask(folder, images) == {"red": "red", "blue": "blue"}


def test_other_models_and_settings_are_refused(base: Path, images: Path, tmp_path: Path) -> None:
    rows = conversations(images, 2)
    (other := tmp_path / "idefics3").mkdir()
    tiny_models.idefics3(other)
    plan = fitting.HeadPlan("", "", STAGE, base)
    cases: list[tuple[Any, list[Conversation], Path, str]] = [
        (replace(plan, base=other), rows, tmp_path / "out", "an? idefics3 model with a Idefics3Processor, not"),
        (replace(plan, base=tmp_path / "none"), rows, tmp_path / "out", "no such model"),
        (replace(plan, stage=STAGES["tune"]), rows, tmp_path / "out", "add --scope lora"),
        (plan, [], tmp_path / "out", "no conversations to train on"),
        (plan, rows, base, "is the model to be trained; use another --out"),
    ]
    for broken, examples, out, message in cases:
        with pytest.raises(SnellenError, match=message):
            tune_llava(broken, examples, out)
    assert not (tmp_path / "out").exists()
