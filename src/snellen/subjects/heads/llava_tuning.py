"""Fine-tunes a published LLaVA by LoRA: from a folder or hub id of transformers to a folder for `chat:hf/FOLDER`.

The result has the processor, chat template and generation settings of the model before, so both are asked alike.
Imports torch: import it inside functions.
"""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from pydantic import ValidationError
from safetensors import SafetensorError

from snellen.core.errors import SnellenError
from snellen.core.hashing import digest
from snellen.core.storage.files import cannot_write, write_text
from snellen.core.storage.schemas import parse_card
from snellen.subjects.chat.checkpoint import Checkpoint
from snellen.subjects.chat.transformers_model import TemplatedPrompt, encode_prompts
from snellen.subjects.checkpoints import load_weights
from snellen.subjects.heads.conversations import Conversation, StoredImage
from snellen.subjects.heads.features import opener
from snellen.subjects.heads.files import TrainingCard
from snellen.subjects.heads.fitting import conversation_marks, training_facts
from snellen.subjects.heads.stages import TrainingStage
from snellen.subjects.heads.template_wording import TemplateWording
from snellen.subjects.heads.tensor_files import write_tensors
from snellen.subjects.heads.training import CHECKPOINT, Training, train
from snellen.subjects.loading import import_extra, quiet_transformers

CARD, ADAPTER = "tuning.json", "adapter"
KIND = "LlavaForConditionalGeneration"
SETTINGS_FILES = (".json", ".jinja", ".txt", ".model")
"""Kinds of files next to the weights: configurations, chat template, vocabulary."""


class LlavaCard(TrainingCard):
    """The training of a LLaVA; `base` is the model before, as given."""

    file = CARD


@dataclass(frozen=True)
class LlavaPlan:
    """The training of the LLaVA `base`, a folder or hub id. The other fields are as in `HeadPlan`."""

    base: str
    stage: TrainingStage
    device: str = "cpu"
    micro_batch: int = 16
    interval: int = 100
    compiled: bool = False


def tune_llava(
    plan: LlavaPlan, conversations: Sequence[Conversation], out: Path, tick: Callable[[], None] = lambda: None
) -> LlavaCard:
    """Train adapters and connector, merge them into the model, and write it to `out`, resuming from a checkpoint.

    `out/adapter` keeps what was trained in peft's layout. A finished model is kept. Raises Diverged, and SnellenError
    if the base is no LLaVA, if `out` has other settings, or if memory or disk is full.
    """
    checkpoint = llava_checkpoint(plan.base)
    if plan.stage.scope != "lora":
        raise SnellenError(f"{plan.base}: a published LLaVA is trained by adapters; add --scope lora")
    if not conversations:
        raise SnellenError(f"{out}: no conversations to train on")
    if out.resolve() == Path(plan.base).resolve():
        raise SnellenError(f"{out}: is the model to be trained; use another --out")
    weights = checkpoint.weights()
    fingerprint = digest([plan.stage.settings(), weights, conversation_marks(conversations)], 16)
    if (card := read_llava_card(out)) is not None:
        if card.fingerprint != fingerprint:
            raise SnellenError(f"{out}: contains a model of other settings or conversations; use another --out")
        return card
    dtype = torch.float32 if plan.device == "cpu" else torch.bfloat16
    model = _load(checkpoint, str(dtype).removeprefix("torch."))
    training = Training(
        model=model,
        stage=plan.stage,
        conversations=conversations,
        wording=template_wording(checkpoint, model),
        read=lambda images: read_pixels(checkpoint.processor, images),
        folder=out,
        fingerprint=fingerprint,
        micro_batch=plan.micro_batch,
        device=plan.device,
        dtype=dtype,
        interval=plan.interval,
        tick=tick,
        compiled=plan.compiled,
    )
    progress = train(training)
    trained = {name: weight for name, weight in model.named_parameters() if weight.requires_grad}
    _write_adapter(out / ADAPTER, plan, trained)
    facts = training_facts(training, progress, sum(weight.numel() for weight in trained.values()))
    del training, model, trained
    _write_merged(checkpoint, out)
    card = LlavaCard(base=plan.base, base_weights=weights, **facts)
    write_text(out / CARD, card.model_dump_json(indent=2) + "\n")
    (out / CHECKPOINT).unlink(missing_ok=True)
    return card


def llava_checkpoint(path: str) -> Checkpoint:
    """The model at a folder or hub id. Raises SnellenError if there is none, or if it is no LLaVA-1.5."""
    checkpoint = Checkpoint(path)
    processor = type(checkpoint.processor).__name__
    if (checkpoint.config.model_type, processor) != ("llava", "LlavaProcessor"):
        raise SnellenError(
            f"{path}: a {checkpoint.config.model_type} model with a {processor}, not a LLaVA-1.5 in the layout of "
            f"llava-hf/llava-1.5-7b-hf; give one as --base"
        )
    return checkpoint


def read_llava_card(folder: Path) -> LlavaCard | None:
    """The card of a trained LLaVA, or None if the folder has none. Raises SnellenError if it is invalid."""
    path = folder / CARD
    if not path.is_file():
        return None
    try:
        return parse_card(LlavaCard, path, path.read_text("utf-8"))
    except (ValidationError, UnicodeDecodeError) as error:
        raise SnellenError(f"{path}: not the card of a trained LLaVA; train it again") from error


def template_wording(checkpoint: Checkpoint, model: Any) -> TemplateWording:
    """The wording in which `chat:hf` asks the model. Raises SnellenError if nothing ends its replies."""
    from PIL import Image

    processor, tokenizer = checkpoint.processor, checkpoint.processor.tokenizer
    ids = model.generation_config.eos_token_id
    others = tokenizer.convert_ids_to_tokens(ids if isinstance(ids, list) else [] if ids is None else [ids])
    ends = tuple(dict.fromkeys(filter(None, (tokenizer.eos_token, *others))))
    if not ends:
        raise SnellenError(f"{checkpoint.path}: its tokenizer has no end token; set eos_token in tokenizer_config.json")
    image = TemplatedPrompt(processor.image_token, (Image.new("RGB", (64, 64)),))
    count = encode_prompts(processor, [image])["input_ids"][0].count(processor.image_token_id)
    return TemplateWording(tokenizer, processor.image_token_id, count, processor=processor, ends=ends)


def read_pixels(processor: Any, images: Sequence[StoredImage]) -> torch.Tensor:
    """Image files -> pixels (n, 3, side, side), as the model's own processor makes them."""
    read = opener(None)
    pixels: torch.Tensor = processor.image_processor(images=[read(image) for image in images], return_tensors="pt")[
        "pixel_values"
    ]
    return pixels


def _load(checkpoint: Checkpoint, dtype: str) -> Any:
    model, missing = load_weights(checkpoint.who, KIND, checkpoint.path, dtype)
    if missing:
        raise SnellenError(f"{checkpoint.who}: the checkpoint has no {min(missing)}; its answers would be random")
    return model


def _write_adapter(folder: Path, plan: LlavaPlan, trained: Mapping[str, torch.Tensor]) -> None:
    """The trained weights in peft's layout, for `peft.PeftModel.from_pretrained(model, folder)`."""
    layers = {name.partition(".lora_")[0].rpartition(".")[2] for name in trained if ".lora_" in name}
    config = import_extra("peft", "training a LLaVA", "heads").LoraConfig(
        base_model_name_or_path=plan.base,
        r=plan.stage.lora_rank,
        lora_alpha=plan.stage.lora_alpha,
        lora_dropout=plan.stage.lora_dropout,
        target_modules=rf"model\.language_model\..*\.({'|'.join(sorted(layers))})",
        modules_to_save=["multi_modal_projector"],
        inference_mode=True,
    )
    config.save_pretrained(folder)
    tensors = {f"base_model.model.{name.replace('.default.', '.')}": weight for name, weight in trained.items()}
    write_tensors(folder / "adapter_model.safetensors", tensors, {})


def _write_merged(checkpoint: Checkpoint, out: Path) -> None:
    """The model with the adapter of `out` added to its weights, in its own precision, and its other files as they are.

    Adding happens on the processor and to the published weights, so that training in bfloat16 costs them nothing.
    """
    peft, utils = import_extra("peft", checkpoint.who, "heads"), import_extra("transformers.utils", checkpoint.who)
    model = _load(checkpoint, "auto")
    dtype = model.dtype
    with warnings.catch_warnings(action="ignore", category=FutureWarning):  # peft reads a deprecated attribute
        model = peft.PeftModel.from_pretrained(model, str(out / ADAPTER)).merge_and_unload().to(dtype)
    model.generation_config = type(model.generation_config)()  # a published one may be refused; the file is copied
    try:
        with quiet_transformers(str(out)):
            model.save_pretrained(out)
        for file in Path(utils.cached_file(checkpoint.path, "config.json")).parent.iterdir():
            if file.suffix in SETTINGS_FILES and not file.name.endswith(".index.json") and file.name != CARD:
                shutil.copyfile(file, out / file.name)
    except (OSError, SafetensorError) as error:  # safetensors has its own error for a full disk
        raise cannot_write(out, error if isinstance(error, OSError) else OSError(None, str(error))) from error
