"""`chat:hf/PATH_OR_ID`: a model of transformers that answers texts with pictures, run in this process.

A prompt becomes messages of the model's own chat template, its pictures what the model's own image processor makes of
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
from snellen.core.media import MediaFolder
from snellen.core.prompt import Prompt, Reply
from snellen.core.subject import Base, SubjectCard
from snellen.subjects.chat.batching import Batches
from snellen.subjects.chat.checkpoint import Checkpoint, chosen_device
from snellen.subjects.chat.messages import split_thought
from snellen.subjects.chat.settings import LocalSettings, read_local_settings, told_of
from snellen.subjects.checkpoints import first_line
from snellen.subjects.loading import import_extra

if TYPE_CHECKING:
    from PIL import Image

THINK = "<think>"


@dataclass(frozen=True)
class Asked:
    """A prompt as its chat template writes it, one image mark a picture, with the pictures in their order.

    `seed` starts the random stream that tokens are drawn with.
    """

    text: str
    pictures: tuple[Image.Image, ...]
    seed: int = 0


@dataclass(frozen=True)
class TransformersChat(Base):
    """A talking model in this process. Immutable but for the calls under way, which it puts together."""

    checkpoint: Checkpoint
    settings: LocalSettings
    batches: Batches[Asked, Reply] = field(compare=False, repr=False)

    def declines(self, prompt: Prompt) -> str | None:
        """Decline what the card does, and words that the model would take for one more picture."""
        processor = self.checkpoint.processor
        marks = filter(None, (getattr(processor, name, None) for name in ("image_token", "boi_token")))
        said = [part for turn in prompt.history for part in (*turn.parts, turn.reply)] + [*prompt.parts]
        words = "\n".join(part for part in said if isinstance(part, str))
        if mark := next((mark for mark in marks if mark in words), None):
            return f"the words hold {mark!r}, which stands for a picture in this model"
        return super().declines(prompt)

    async def answer(self, prompt: Prompt, media: MediaFolder, rng: np.random.Generator) -> Reply:
        """The model's words. Raises CallFailed where it breaks off: memory, a prompt that is too long."""
        seed = int(rng.integers(2**63))
        try:
            asked = to_asked(self.checkpoint.processor, prompt, media, seed)
        except SnellenError:
            raise
        except Exception as error:  # a template is a program of the checkpoint's, and may raise anything
            raise CallFailed(f"the chat template fails: {first_line(error)[:200]}") from error
        return await self.batches.do(asked)


def make_local(path: str, written: Mapping[str, str]) -> TransformersChat:
    """The subject `chat:hf/PATH?SETTINGS`. Weights are loaded when it is first asked.

    Raises SnellenError for an unknown setting or value, a missing package or model, one that does not talk, has no chat
    template, or whose pictures only torchvision can prepare.
    """
    settings = read_local_settings(written)
    checkpoint = Checkpoint(path, chosen_device(f"chat:hf/{path}", settings.device), settings.dtype)
    told = settings.answering()
    held = {"chat": "hf", "version": 1, "weights": checkpoint.weights(), **told}
    held |= {package: version(package) for package in ("torch", "transformers")}
    if checkpoint.device != "cpu":
        held["device"] = checkpoint.device
    usual = LocalSettings().answering()
    changed = [f"{name}={value}" for name, value in told.items() if name != "batch" and value != usual.get(name)]
    attributes = {"provider": "hf", "price_in": "0", "price_out": "0", "family": str(checkpoint.config.model_type)}
    attributes |= told_of(settings)
    card = SubjectCard(
        name=checkpoint.who + ("?" + "&".join(changed) if changed else ""),
        settings=held,
        accepts=settings.accepts,
        max_pictures=settings.max_pictures,
        attributes=attributes | ({"frames": settings.frames} if settings.frames else {}),
        max_concurrency=2 * settings.batch,  # one batch in the model, one gathering
    )

    def work(jobs: Sequence[Asked]) -> list[Reply | Exception]:
        return answered(checkpoint, settings, jobs)

    # Processors do not take prompts with and without pictures together.
    return TransformersChat(
        card, checkpoint, settings, Batches(work, settings.batch, alike=lambda asked: bool(asked.pictures))
    )


def to_asked(processor: Any, prompt: Prompt, media: MediaFolder, seed: int = 0) -> Asked:
    """The talk so far and the question in the words of the chat template; pictures opened as RGB, of their own size."""
    pictures: list[Image.Image] = []

    def blocks(parts: Sequence[Part]) -> list[dict[str, str]]:
        held: list[dict[str, str]] = []
        for part in parts:
            if isinstance(part, str):
                held.append({"type": "text", "text": part})
            elif isinstance(part, Montage):
                raise SnellenError("a montage reached a chat subject; pictures are laid out before they are sent")
            else:
                held.append({"type": "image"})
                pictures.append(_opened(part, media))
        return held

    messages: list[dict[str, Any]] = []
    for turn in prompt.history:
        messages.append({"role": "user", "content": blocks(turn.parts)})
        messages.append({"role": "assistant", "content": [{"type": "text", "text": turn.reply}]})
    messages.append({"role": "user", "content": blocks(prompt.parts)})
    text = processor.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
    return Asked(text, tuple(pictures), seed)


def _opened(part: Media, media: MediaFolder) -> Image.Image:
    if part.kind == "video":
        raise SnellenError(f"{media.find(part)}: a model of transformers is shown frames of a video, not the video")
    return media.open(part).convert("RGB")


def encoded(processor: Any, asked: Sequence[Asked], **more: Any) -> Any:
    """What the model reads: tokens, padded on the left, and pictures, all with pictures or none."""
    begin = processor.tokenizer.bos_token
    pictures = [list(one.pictures) for one in asked]
    return processor(
        text=[one.text for one in asked],
        images=pictures if any(pictures) else None,
        add_special_tokens=not (begin and asked[0].text.startswith(begin)),  # many templates write the mark themselves
        **more,
    )


def answered(checkpoint: Checkpoint, settings: LocalSettings, asked: Sequence[Asked]) -> list[Reply | Exception]:
    """The replies to a batch; where it breaks, each prompt is asked alone, so that one cannot fail the others."""
    begun, failure = time.perf_counter(), None
    model = checkpoint.model  # what cannot be loaded is bad input, no failed call
    try:
        with checkpoint.lock:
            rows, read = generated(checkpoint, model, settings, asked)
    except Exception as error:  # noqa: BLE001  # models raise what they like; all of it is a failed call
        failure = error.with_traceback(None)  # its frames hold the batch in memory
    if failure is not None and len(asked) > 1:
        return [reply for one in asked for reply in answered(checkpoint, settings, [one])]
    if failure is not None:
        return [failure if isinstance(failure, CallFailed) else CallFailed(_reason(checkpoint, failure))]
    seconds = time.perf_counter() - begun
    return [
        _reply(checkpoint, one, row, tokens_in=tokens, seconds=seconds)
        for one, row, tokens in zip(asked, rows, read, strict=True)
    ]


def generated(
    checkpoint: Checkpoint, model: Any, settings: LocalSettings, asked: Sequence[Asked]
) -> tuple[list[list[int]], list[int]]:
    """The new tokens of every prompt, and the number of tokens of each prompt."""
    torch = import_extra("torch", checkpoint.who, "models")
    inputs = encoded(checkpoint.processor, asked, padding=True, padding_side="left", return_tensors="pt")
    read = [int(count) for count in inputs["attention_mask"].sum(1)]
    room = getattr(checkpoint.config.get_text_config(), "max_position_embeddings", None)
    if room is not None and max(read) >= room:
        raise CallFailed(f"the prompt has {max(read)} tokens, and the model reads {room}")
    draw = [] if settings.temperature == 0 else [Drawing(settings, asked)]
    with torch.inference_mode():
        made = model.generate(
            **inputs.to(model.device, dtype=model.dtype),
            do_sample=False,
            max_new_tokens=settings.max_new_tokens,
            logits_processor=draw,
        )
    return made[:, inputs["input_ids"].shape[1] :].tolist(), read


class Drawing:
    """Makes the greedy choice a draw from softmax(logits / temperature), by adding Gumbel noise to the logits.

    Every prompt has a random stream of its own, so that a reply does not hang on what else is in the batch.
    """

    def __init__(self, settings: LocalSettings, asked: Sequence[Asked]) -> None:
        self.temperature = settings.temperature
        self.streams = [np.random.default_rng([settings.seed, one.seed]) for one in asked]

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        """Logits (n, vocabulary) of the next token, and its noise on top."""
        import torch

        noise = np.stack([stream.gumbel(size=scores.shape[1]) for stream in self.streams])
        return scores.double() / self.temperature + torch.from_numpy(noise).to(scores.device)


def _reply(checkpoint: Checkpoint, asked: Asked, row: Sequence[int], tokens_in: int, seconds: float) -> Reply:
    """The new tokens up to the one that ends the reply; what follows is padding."""
    told = checkpoint.model.generation_config.eos_token_id
    ends = {told} if isinstance(told, int) else set(told or ())
    stop = next((place for place, token in enumerate(row) if token in ends), None)
    words = checkpoint.processor.tokenizer.decode(row[:stop], skip_special_tokens=True)
    if asked.text.rstrip().endswith(THINK):  # some templates open the thought themselves
        words = THINK + words
    text, thought = split_thought(words)
    return Reply(
        text,
        reasoning=thought,
        stop="length" if stop is None else "end",
        model=str(checkpoint.config.name_or_path),
        tokens_in=tokens_in,
        tokens_out=len(row) if stop is None else stop + 1,
        seconds=seconds,
    )


def _reason(checkpoint: Checkpoint, error: Exception) -> str:
    torch = import_extra("torch", checkpoint.who, "models")
    if isinstance(error, torch.OutOfMemoryError) or "can't allocate memory" in str(error):
        return f"out of memory on {checkpoint.device}, even with one prompt; take a smaller dtype= or max_pictures="
    return f"{type(error).__name__}: {first_line(error)[:200]}"
