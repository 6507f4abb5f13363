"""Fine-tunes a published LLaVA by LoRA: from a folder or hub id of transformers to a folder for `chat:hf/FOLDER`.

The result has the processor, chat template and generation settings of the model before. Both are asked as they are
trained with `?pad=square`. Imports torch: import it inside functions.
"""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError

from snellen.core.errors import SnellenError
from snellen.core.hashing import digest
from snellen.core.storage.files import cannot_write, write_text
from snellen.subjects.chat.checkpoint import Checkpoint
from snellen.subjects.chat.transformers_model import (
    TemplatedPrompt,
    encode_prompts,
    lacks_begin,
    pad_to_square,
    write_turns,
)
from snellen.subjects.checkpoints import load_complete
from snellen.subjects.loading import import_extra, quiet_transformers
from snellen.towers.heads.conversations import IGNORED, Conversation, Passage, StoredImage, Tokens, Wording, learnable
from snellen.towers.heads.features import ImageOpener
from snellen.towers.heads.files import TrainingCard, read_training_card
from snellen.towers.heads.fitting import conversation_marks, run_training
from snellen.towers.heads.sharding import processes
from snellen.towers.heads.tensor_files import write_tensors
from snellen.towers.heads.training import CHECKPOINT, HeadPlan, Training

CARD, ADAPTER = TrainingCard.file, "adapter"
KIND = "LlavaForConditionalGeneration"


@dataclass(frozen=True)
class TemplateWording(Wording):
    """Converts conversations to tokens by the chat template of `processor`; replies and their end are learned.

    `ends` are the tokens that end a reply in generation, as text. A template that writes none of them after a reply
    (LLaVA-1.5's) gets the first one there, as in LLaVA's own training.
    """

    processor: Any = None
    ends: tuple[str, ...] = ()

    def tokens(self, conversation: Conversation) -> Tokens:
        """Ids and labels. Raises SnellenError if the template does not fit, or if images exceed `MAX_LENGTH`."""
        image, text, spans = self.processor.image_token, "", list[tuple[int, int]]()
        for passage in self._passages(conversation):
            begin = len(text)
            text += passage.text or ""
            if passage.learned:
                spans.append((begin, len(text)))
        encoded = self.tokenizer(
            text, add_special_tokens=lacks_begin(self.processor, text), return_offsets_mapping=True
        )
        ids, places = encoded["input_ids"], encoded["offset_mapping"]
        if text.count(image) != self.image_tokens * len(conversation.images):
            raise SnellenError(f"{conversation.name}: its words contain {image!r}, which stands for an image")
        learned = (any(first <= begin < end <= last for first, last in spans) for begin, end in places)
        labels = [token if is_learned else IGNORED for token, is_learned in zip(ids, learned, strict=True)]
        return self._cut(conversation, ids, labels)

    def _passages(self, conversation: Conversation) -> Iterator[Passage]:
        """The text in parts, with as many placeholders as an image has tokens."""
        image, written = self.processor.image_token, ""
        earlier = list[tuple[Sequence[Any], str | None]]()
        for turn in conversation.turns:
            question = write_turns(self.processor, [*earlier, (turn.parts, None)])
            yield Passage(question.removeprefix(written).replace(image, image * self.image_tokens))
            if turn.reply is None:
                return
            reply = turn.reply.strip()
            earlier.append((turn.parts, reply))
            answer = write_turns(self.processor, earlier)
            fits = reply and question.startswith(written) and answer.startswith(question)
            if not fits or reply not in answer[len(question) :]:
                raise SnellenError(
                    f"{conversation.name}: an empty reply, or one that the model's chat template changes; leave it out"
                )
            before, _, after = answer[len(question) :].partition(reply)
            end = min((after.index(end) + len(end) for end in self.ends if end in after), default=0)
            yield Passage(before + reply + (after[:end] or self.ends[0]), learned=True)
            yield Passage(after[end:])
            written = answer


def tune_llava(
    plan: HeadPlan,
    conversations: Sequence[Conversation],
    out: Path,
    open_image: ImageOpener,
    tick: Callable[[], None] = lambda: None,
) -> TrainingCard:
    """Train adapters and connector of `plan.base`, merge them and write the model to `out`, resuming from a checkpoint.

    `out/adapter` keeps what was trained in peft's layout. A finished model is kept. Raises as `train_head` does, and
    SnellenError if the base is no LLaVA.
    """
    checkpoint = llava_checkpoint(str(plan.base))
    _check_plan(plan, conversations, out, checkpoint)
    weights = checkpoint.weights()
    fingerprint = digest([asdict(plan.stage), weights, conversation_marks(conversations)], 16)
    if (out / CARD).is_file():
        card = read_training_card(TrainingCard, out)
        if card.fingerprint != fingerprint:
            raise SnellenError(f"{out}: contains a model of other settings or conversations; use another --out")
        return card
    dtype = torch.float32 if plan.device == "cpu" else torch.bfloat16
    processor = checkpoint.processor
    model = load_complete(checkpoint.who, KIND, checkpoint.path, str(dtype).removeprefix("torch."))
    wording = template_wording(processor, model)

    def read(images: Sequence[StoredImage]) -> Any:
        squares = [pad_to_square(processor, open_image(image).convert("RGB")) for image in images]
        return processor.image_processor(images=squares, return_tensors="pt")["pixel_values"]

    training = Training(
        model=model,
        plan=plan,
        conversations=learnable(wording, conversations),
        wording=wording,
        read=read,
        folder=out,
        fingerprint=fingerprint,
        dtype=dtype,
        tick=tick,
    )
    facts, trained = run_training(training)
    try:
        _write_adapter(out / ADAPTER, plan, trained)
        del training, model, trained
        _write_merged(checkpoint, out)
    except (OSError, SafetensorError) as error:  # safetensors has its own error for a full disk
        raise cannot_write(out, error if isinstance(error, OSError) else OSError(None, str(error))) from error
    card = TrainingCard(base=checkpoint.path, base_weights=weights, features="live", **facts)
    write_text(out / CARD, card.model_dump_json(indent=2) + "\n")
    (out / CHECKPOINT).unlink(missing_ok=True)
    return card


def _check_plan(plan: HeadPlan, conversations: Sequence[Conversation], out: Path, checkpoint: Checkpoint) -> None:
    if plan.stage.scope != "lora":
        raise SnellenError(f"{plan.base}: a published LLaVA is trained by adapters; add --scope lora")
    if not conversations:
        raise SnellenError(f"{out}: no conversations to train on")
    if out.resolve() == Path(checkpoint.path).resolve():
        raise SnellenError(f"{out}: is the model to be trained; use another --out")
    if processes() > 1:
        raise SnellenError(f"{out}: a published LLaVA is trained in one process; start it without torchrun")


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


def template_wording(processor: Any, model: Any) -> TemplateWording:
    """The wording in which `chat:hf` asks the model. Raises SnellenError if nothing ends its replies."""
    from PIL import Image

    tokenizer, ids = processor.tokenizer, model.generation_config.eos_token_id
    others = tokenizer.convert_ids_to_tokens(ids if isinstance(ids, list) else [] if ids is None else [ids])
    ends = tuple(dict.fromkeys(filter(None, (tokenizer.eos_token, *others))))
    if not ends:
        raise SnellenError("the model's tokenizer has no end token; set eos_token in tokenizer_config.json")
    image = TemplatedPrompt(processor.image_token, (Image.new("RGB", (64, 64)),))
    count = encode_prompts(processor, [image])["input_ids"][0].count(processor.image_token_id)
    return TemplateWording(tokenizer, processor.image_token_id, count, processor=processor, ends=ends)


def _write_adapter(folder: Path, plan: HeadPlan, trained: Mapping[str, torch.Tensor]) -> None:
    """The trained weights in peft's layout, for `peft.PeftModel.from_pretrained(model, folder)`."""
    layers = {name.partition(".lora_")[0].rpartition(".")[2] for name in trained if ".lora_" in name}
    config = import_extra("peft", "training a LLaVA", "heads").LoraConfig(
        base_model_name_or_path=str(plan.base),
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
    model = load_complete(checkpoint.who, KIND, checkpoint.path, "auto")
    with warnings.catch_warnings(action="ignore", category=FutureWarning):  # peft reads a deprecated attribute
        model = peft.PeftModel.from_pretrained(model, str(out / ADAPTER)).merge_and_unload().to(model.dtype)
    model.generation_config = type(model.generation_config)()  # a published one may be refused; the file is copied
    with quiet_transformers(str(out)):
        model.save_pretrained(out)
    for file in Path(utils.cached_file(checkpoint.path, "config.json")).parent.iterdir():
        is_weights = file.suffix not in (".json", ".jinja", ".txt", ".model") or file.name.endswith(".index.json")
        if not is_weights and file.name != CARD:
            shutil.copyfile(file, out / file.name)
