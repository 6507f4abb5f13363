"""`chat:hf/PATH_OR_ID`: an image-text-to-text model of transformers, run in this process.

Prompts use the model's own chat template, images its own image processor. Concurrent calls are batched, padded on the
left.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np

from snellen.core.errors import CallFailed, SnellenError
from snellen.core.item import Media, Montage
from snellen.core.prompt import Prompt, Reply
from snellen.core.storage.media import MediaFolder
from snellen.core.subject import Base, SubjectCard
from snellen.subjects.chat.batching import Batches
from snellen.subjects.chat.checkpoint import Checkpoint, choose_device
from snellen.subjects.chat.families import box_unit_of
from snellen.subjects.chat.settings import LocalSettings, description_of, read_local_settings
from snellen.subjects.checkpoints import first_line
from snellen.subjects.loading import import_extra
from snellen_sight.completions import split_thought

if TYPE_CHECKING:
    from PIL import Image

THINK = "<think>"


@dataclass(frozen=True)
class TemplatedPrompt:
    """A prompt as its chat template writes it, with one placeholder per image, and the images in order.

    `seed` starts the random stream that tokens are drawn with.
    """

    text: str
    images: tuple[Image.Image, ...]
    seed: int = 0


@dataclass(frozen=True)
class TransformersChat(Base):
    """A chat model in this process. Immutable except for the queue of calls to batch."""

    checkpoint: Checkpoint
    settings: LocalSettings
    batches: Batches[TemplatedPrompt, Reply] = field(compare=False, repr=False)

    def declines(self, prompt: Prompt) -> str | None:
        """Decline what the card excludes, and words that the model would read as an image placeholder."""
        processor = self.checkpoint.processor
        marks = filter(None, (getattr(processor, name, None) for name in ("image_token", "boi_token")))
        parts = [part for turn in prompt.history for part in (*turn.parts, turn.reply)] + [*prompt.parts]
        words = "\n".join(part for part in parts if isinstance(part, str))
        if mark := next((mark for mark in marks if mark in words), None):
            return f"the words contain {mark!r}, which stands for an image in this model"
        return super().declines(prompt)

    async def answer(self, prompt: Prompt, media: MediaFolder, rng: np.random.Generator) -> Reply:
        """The model's reply. Raises CallFailed if it breaks off: out of memory, or the prompt is too long."""
        seed = int(rng.integers(2**63))
        try:
            templated = apply_template(self.checkpoint.processor, prompt, media, seed)
            if self.settings.pad:
                images = (pad_to_square(self.checkpoint.processor, image) for image in templated.images)
                templated = replace(templated, images=tuple(images))
        except SnellenError:
            raise
        except Exception as error:  # a template is a program in the checkpoint, and may raise anything
            raise CallFailed(f"the chat template fails: {first_line(error)[:200]}") from error
        return await self.batches.do(templated)


def make_local(path: str, written: Mapping[str, str]) -> TransformersChat:
    """The subject `chat:hf/PATH?SETTINGS`. Weights are loaded at the first call.

    Raises SnellenError for an unknown setting or value, a missing package or model, or a model that does not generate
    text, has no chat template, or whose images only torchvision can prepare.
    """
    settings = read_local_settings(written)
    checkpoint = Checkpoint(path, choose_device(f"chat:hf/{path}", settings.device), settings.dtype)
    answering = settings.answering()
    card_settings = {"chat": "hf", "version": 2, "weights": checkpoint.weights(), **answering}
    card_settings |= {package: version(package) for package in ("torch", "transformers")}
    if checkpoint.device != "cpu":
        card_settings["device"] = checkpoint.device
    usual = LocalSettings().answering()
    changed = [f"{name}={value}" for name, value in answering.items() if name != "batch" and value != usual.get(name)]
    attributes = {"provider": "hf", "price_in": "0", "price_out": "0", "family": str(checkpoint.config.model_type)}
    attributes |= {"box_unit": box_unit_of(path), **description_of(settings)}
    card = SubjectCard(
        name=checkpoint.who + ("?" + "&".join(changed) if changed else ""),
        settings=card_settings,
        accepts=settings.accepts,
        max_images=settings.max_images,
        attributes=attributes | ({"frames": settings.frames} if settings.frames else {}),
        token_limit=settings.max_new_tokens,
        max_concurrency=2 * settings.batch,  # one batch in the model, one gathering
        is_local=True,
    )

    def work(jobs: Sequence[TemplatedPrompt]) -> list[Reply | Exception]:
        return answer_batch(checkpoint, settings, jobs)

    # Processors cannot batch prompts with and without images.
    return TransformersChat(
        card, checkpoint, settings, Batches(work, settings.batch, alike=lambda templated: bool(templated.images))
    )


def apply_template(processor: Any, prompt: Prompt, media: MediaFolder, seed: int = 0) -> TemplatedPrompt:
    """Earlier turns and the question as the chat template writes them; images as RGB in their own size."""
    turns = [*((turn.parts, turn.reply) for turn in prompt.history), (prompt.parts, None)]
    text = write_turns(processor, turns)
    images = [_open_image(part, media) for parts, _ in turns for part in parts if isinstance(part, Media)]
    return TemplatedPrompt(text, tuple(images), seed)


def write_turns(processor: Any, turns: Sequence[tuple[Sequence[Any], str | None]]) -> str:
    """Turns of parts and a reply as the chat template writes them; None for the reply that the model is to give.

    Every part that is not a text is an image.
    """
    messages: list[dict[str, Any]] = []
    for parts, reply in turns:
        messages.append({"role": "user", "content": _blocks(parts)})
        if reply is not None:
            messages.append({"role": "assistant", "content": [{"type": "text", "text": reply}]})
    text: str = processor.apply_chat_template(messages, add_generation_prompt=turns[-1][1] is None, tokenize=False)
    return text


def _blocks(parts: Sequence[Any]) -> list[dict[str, str]]:
    """The parts as a template takes them. Texts in sequence are lines of one, as some templates add no space."""
    content: list[dict[str, str]] = []
    for part in parts:
        if isinstance(part, Montage):
            raise SnellenError("a chat subject received a montage; its images must be laid out before they are sent")
        if not isinstance(part, str):
            content.append({"type": "image"})
        elif content and content[-1]["type"] == "text":
            content[-1]["text"] += f"\n{part}"
        else:
            content.append({"type": "text", "text": part})
    return content


def _open_image(image: Media, media: MediaFolder) -> Image.Image:
    if image.kind == "video":
        raise SnellenError(f"{media.find(image)}: transformers models accept frames of a video, not the video itself")
    return media.open(image).convert("RGB")


def pad_to_square(processor: Any, image: Image.Image) -> Image.Image:
    """The image in the middle of a square in the processor's mean colour, as LLaVA's own code prepares images.

    LLaVA-1.5's image processor would cut off both ends of the longer side.
    """
    from PIL import ImageOps

    mean = tuple(int(255 * level) for level in getattr(processor.image_processor, "image_mean", None) or (0.5,) * 3)
    return ImageOps.pad(image, (max(image.size),) * 2, color=mean)


def encode_prompts(processor: Any, prompts: Sequence[TemplatedPrompt], **more: Any) -> Any:
    """The model's inputs: tokens padded on the left, and images. Prompts must all have images or none."""
    images = [list(prompt.images) for prompt in prompts]
    return processor(
        text=[prompt.text for prompt in prompts],
        images=images if any(images) else None,
        add_special_tokens=lacks_begin(processor, prompts[0].text),
        **more,
    )


def lacks_begin(processor: Any, text: str) -> bool:
    """True if the tokenizer must add its start token, which many templates write themselves."""
    begin = processor.tokenizer.bos_token
    return not (begin and text.startswith(begin))


def answer_batch(
    checkpoint: Checkpoint, settings: LocalSettings, prompts: Sequence[TemplatedPrompt]
) -> list[Reply | Exception]:
    """Replies to a batch; if it fails, each prompt is retried alone, so that one cannot fail the others."""
    begun, failure = time.perf_counter(), None
    model = checkpoint.model  # a checkpoint that cannot be loaded is bad input, not a failed call
    try:
        with checkpoint.lock:
            rows, read = generate(checkpoint, model, settings, prompts)
    except Exception as error:  # noqa: BLE001  # models may raise anything; all of it is a failed call
        failure = error.with_traceback(None)  # the traceback's frames hold the batch in memory
    if failure is not None and len(prompts) > 1:
        return [reply for prompt in prompts for reply in answer_batch(checkpoint, settings, [prompt])]
    if failure is not None:
        return [failure if isinstance(failure, CallFailed) else CallFailed(_reason(checkpoint, failure))]
    seconds = time.perf_counter() - begun
    return [
        replace(_reply(checkpoint, prompt, row, tokens, seconds), token_limit=settings.max_new_tokens)
        for prompt, row, tokens in zip(prompts, rows, read, strict=True)
    ]


def generate(
    checkpoint: Checkpoint, model: Any, settings: LocalSettings, prompts: Sequence[TemplatedPrompt]
) -> tuple[list[list[int]], list[int]]:
    """The new tokens and the number of prompt tokens, for each prompt."""
    torch = import_extra("torch", checkpoint.who, "models")
    inputs = encode_prompts(checkpoint.processor, prompts, padding=True, padding_side="left", return_tensors="pt")
    read = [int(count) for count in inputs["attention_mask"].sum(1)]
    room = getattr(checkpoint.config.get_text_config(), "max_position_embeddings", None)
    if room is not None and max(read) >= room:
        raise CallFailed(f"the prompt has {max(read)} tokens, and the model reads at most {room}")
    draw = [] if settings.temperature == 0 else [Drawing(settings, prompts)]
    with torch.inference_mode():
        tokens = model.generate(
            **inputs.to(model.device, dtype=model.dtype),
            do_sample=False,
            max_new_tokens=settings.max_new_tokens,
            logits_processor=draw,
        )
    return tokens[:, inputs["input_ids"].shape[1] :].tolist(), read


class Drawing:
    """Turns the greedy choice into a draw from softmax(logits / temperature) by adding Gumbel noise to the logits.

    Each prompt has its own random stream, so that a reply does not depend on the rest of the batch.
    """

    def __init__(self, settings: LocalSettings, prompts: Sequence[TemplatedPrompt]) -> None:
        self.temperature = settings.temperature
        self.streams = [np.random.default_rng([settings.seed, prompt.seed]) for prompt in prompts]

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        """Noisy logits (n, vocabulary) of the next token."""
        import torch

        noise = np.stack([stream.gumbel(size=scores.shape[1]) for stream in self.streams])
        return scores.double() / self.temperature + torch.from_numpy(noise).to(scores.device)


def _reply(
    checkpoint: Checkpoint, prompt: TemplatedPrompt, new_tokens: Sequence[int], tokens_in: int, seconds: float
) -> Reply:
    """The reply: the new tokens up to the end token; what follows is padding."""
    end_tokens = checkpoint.model.generation_config.eos_token_id
    ends = {end_tokens} if isinstance(end_tokens, int) else set(end_tokens or ())
    stop = next((index for index, token in enumerate(new_tokens) if token in ends), None)
    words = checkpoint.processor.tokenizer.decode(new_tokens[:stop], skip_special_tokens=True)
    if prompt.text.rstrip().endswith(THINK):  # some templates open the thought themselves
        words = THINK + words
    text, thought = split_thought(words)
    return Reply(
        text,
        reasoning=thought,
        stop="length" if stop is None else "end",
        model=str(checkpoint.config.name_or_path),
        tokens_in=tokens_in,
        tokens_out=len(new_tokens) if stop is None else stop + 1,
        seconds=seconds,
    )


def _reason(checkpoint: Checkpoint, error: Exception) -> str:
    torch = import_extra("torch", checkpoint.who, "models")
    if isinstance(error, torch.OutOfMemoryError) or "can't allocate memory" in str(error):
        return f"out of memory on {checkpoint.device}, even with one prompt; set a smaller dtype= or max_images="
    return f"{type(error).__name__}: {first_line(error)[:200]}"
