"""`chat:hf/PATH_OR_ID`: a model of transformers that answers texts with images, run in this process.

A prompt becomes messages of the model's own chat template, its images what the model's own image processor makes of
them. Calls under way go through the model together, padded on the left.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np

from snellen.core.errors import CallFailed, SnellenError
from snellen.core.item import Media, Montage, Part
from snellen.core.prompt import Prompt, Reply
from snellen.core.storage.media import MediaFolder
from snellen.core.subject import Base, SubjectCard
from snellen.subjects.chat.batching import Batches
from snellen.subjects.chat.checkpoint import Checkpoint, choose_device
from snellen.subjects.chat.messages import split_thought
from snellen.subjects.chat.settings import LocalSettings, description_of, read_local_settings
from snellen.subjects.checkpoints import first_line
from snellen.subjects.loading import import_extra

if TYPE_CHECKING:
    from PIL import Image

THINK = "<think>"


@dataclass(frozen=True)
class TemplatedPrompt:
    """A prompt as its chat template writes it, one image mark an image, with the images in their order.

    `seed` starts the random stream that tokens are drawn with.
    """

    text: str
    images: tuple[Image.Image, ...]
    seed: int = 0


@dataclass(frozen=True)
class TransformersChat(Base):
    """A talking model in this process. Immutable but for the calls under way, which it puts together."""

    checkpoint: Checkpoint
    settings: LocalSettings
    batches: Batches[TemplatedPrompt, Reply] = field(compare=False, repr=False)

    def declines(self, prompt: Prompt) -> str | None:
        """Decline what the card does, and words that the model would take for one more image."""
        processor = self.checkpoint.processor
        marks = filter(None, (getattr(processor, name, None) for name in ("image_token", "boi_token")))
        parts = [part for turn in prompt.history for part in (*turn.parts, turn.reply)] + [*prompt.parts]
        words = "\n".join(part for part in parts if isinstance(part, str))
        if mark := next((mark for mark in marks if mark in words), None):
            return f"the words hold {mark!r}, which stands for an image in this model"
        return super().declines(prompt)

    async def answer(self, prompt: Prompt, media: MediaFolder, rng: np.random.Generator) -> Reply:
        """The model's words. Raises CallFailed where it breaks off: memory, a prompt that is too long."""
        seed = int(rng.integers(2**63))
        try:
            templated = apply_template(self.checkpoint.processor, prompt, media, seed)
        except SnellenError:
            raise
        except Exception as error:  # a template is a program of the checkpoint's, and may raise anything
            raise CallFailed(f"the chat template fails: {first_line(error)[:200]}") from error
        return await self.batches.do(templated)


def make_local(path: str, written: Mapping[str, str]) -> TransformersChat:
    """The subject `chat:hf/PATH?SETTINGS`. Weights are loaded when it is first asked.

    Raises SnellenError for an unknown setting or value, a missing package or model, one that does not talk, has no chat
    template, or whose images only torchvision can prepare.
    """
    settings = read_local_settings(written)
    checkpoint = Checkpoint(path, choose_device(f"chat:hf/{path}", settings.device), settings.dtype)
    answering = settings.answering()
    card_settings = {"chat": "hf", "version": 1, "weights": checkpoint.weights(), **answering}
    card_settings |= {package: version(package) for package in ("torch", "transformers")}
    if checkpoint.device != "cpu":
        card_settings["device"] = checkpoint.device
    usual = LocalSettings().answering()
    changed = [f"{name}={value}" for name, value in answering.items() if name != "batch" and value != usual.get(name)]
    attributes = {"provider": "hf", "price_in": "0", "price_out": "0", "family": str(checkpoint.config.model_type)}
    attributes |= description_of(settings)
    card = SubjectCard(
        name=checkpoint.who + ("?" + "&".join(changed) if changed else ""),
        settings=card_settings,
        accepts=settings.accepts,
        max_images=settings.max_images,
        attributes=attributes | ({"frames": settings.frames} if settings.frames else {}),
        max_concurrency=2 * settings.batch,  # one batch in the model, one gathering
        is_local=True,
    )

    def work(jobs: Sequence[TemplatedPrompt]) -> list[Reply | Exception]:
        return answer_batch(checkpoint, settings, jobs)

    # Processors do not take prompts with and without images together.
    return TransformersChat(
        card, checkpoint, settings, Batches(work, settings.batch, alike=lambda templated: bool(templated.images))
    )


def apply_template(processor: Any, prompt: Prompt, media: MediaFolder, seed: int = 0) -> TemplatedPrompt:
    """The talk so far and the question in the words of the chat template; images opened as RGB, of their own size."""
    images: list[Image.Image] = []

    def blocks(parts: Sequence[Part]) -> list[dict[str, str]]:
        content: list[dict[str, str]] = []
        for part in parts:
            if isinstance(part, str):
                content.append({"type": "text", "text": part})
            elif isinstance(part, Montage):
                raise SnellenError("a montage reached a chat subject; images are laid out before they are sent")
            else:
                content.append({"type": "image"})
                images.append(_open_image(part, media))
        return content

    messages: list[dict[str, Any]] = []
    for turn in prompt.history:
        messages.append({"role": "user", "content": blocks(turn.parts)})
        messages.append({"role": "assistant", "content": [{"type": "text", "text": turn.reply}]})
    messages.append({"role": "user", "content": blocks(prompt.parts)})
    text = processor.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
    return TemplatedPrompt(text, tuple(images), seed)


def _open_image(image: Media, media: MediaFolder) -> Image.Image:
    if image.kind == "video":
        raise SnellenError(f"{media.find(image)}: a model of transformers is shown frames of a video, not the video")
    return media.open(image).convert("RGB")


def encode_prompts(processor: Any, prompts: Sequence[TemplatedPrompt], **more: Any) -> Any:
    """What the model reads: tokens, padded on the left, and images, all with images or none."""
    begin = processor.tokenizer.bos_token
    has_begin = begin and prompts[0].text.startswith(begin)  # many templates write the mark themselves
    images = [list(prompt.images) for prompt in prompts]
    return processor(
        text=[prompt.text for prompt in prompts],
        images=images if any(images) else None,
        add_special_tokens=not has_begin,
        **more,
    )


def answer_batch(
    checkpoint: Checkpoint, settings: LocalSettings, prompts: Sequence[TemplatedPrompt]
) -> list[Reply | Exception]:
    """The replies to a batch; where it breaks, each prompt is asked alone, so that one cannot fail the others."""
    begun, failure = time.perf_counter(), None
    model = checkpoint.model  # what cannot be loaded is bad input, no failed call
    try:
        with checkpoint.lock:
            rows, read = generate(checkpoint, model, settings, prompts)
    except Exception as error:  # noqa: BLE001  # models raise what they like; all of it is a failed call
        failure = error.with_traceback(None)  # its frames hold the batch in memory
    if failure is not None and len(prompts) > 1:
        return [reply for prompt in prompts for reply in answer_batch(checkpoint, settings, [prompt])]
    if failure is not None:
        return [failure if isinstance(failure, CallFailed) else CallFailed(_reason(checkpoint, failure))]
    seconds = time.perf_counter() - begun
    return [
        _reply(checkpoint, prompt, row, tokens_in=tokens, seconds=seconds)
        for prompt, row, tokens in zip(prompts, rows, read, strict=True)
    ]


def generate(
    checkpoint: Checkpoint, model: Any, settings: LocalSettings, prompts: Sequence[TemplatedPrompt]
) -> tuple[list[list[int]], list[int]]:
    """The new tokens of every prompt, and the number of tokens of each prompt."""
    torch = import_extra("torch", checkpoint.who, "models")
    inputs = encode_prompts(checkpoint.processor, prompts, padding=True, padding_side="left", return_tensors="pt")
    read = [int(count) for count in inputs["attention_mask"].sum(1)]
    room = getattr(checkpoint.config.get_text_config(), "max_position_embeddings", None)
    if room is not None and max(read) >= room:
        raise CallFailed(f"the prompt has {max(read)} tokens, and the model reads {room}")
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
    """Makes the greedy choice a draw from softmax(logits / temperature), by adding Gumbel noise to the logits.

    Every prompt has a random stream of its own, so that a reply does not depend on what else is in the batch.
    """

    def __init__(self, settings: LocalSettings, prompts: Sequence[TemplatedPrompt]) -> None:
        self.temperature = settings.temperature
        self.streams = [np.random.default_rng([settings.seed, prompt.seed]) for prompt in prompts]

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        """Logits (n, vocabulary) of the next token, and its noise on top."""
        import torch

        noise = np.stack([stream.gumbel(size=scores.shape[1]) for stream in self.streams])
        return scores.double() / self.temperature + torch.from_numpy(noise).to(scores.device)


def _reply(
    checkpoint: Checkpoint, prompt: TemplatedPrompt, new_tokens: Sequence[int], tokens_in: int, seconds: float
) -> Reply:
    """The new tokens up to the one that ends the reply; what follows is padding."""
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
        return f"out of memory on {checkpoint.device}, even with one prompt; take a smaller dtype= or max_images="
    return f"{type(error).__name__}: {first_line(error)[:200]}"
