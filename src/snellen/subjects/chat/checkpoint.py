"""Chat models of transformers on disk or the hub: configuration, processor with chat template, weights.

Images go through the Pillow version of the model's own image processor, never the torchvision one: the two resize
differently, and answers must not depend on what else is installed. Video processors exist only for torchvision and are
left out: videos are shown as frames.
"""

from __future__ import annotations

from dataclasses import dataclass
from threading import RLock
from typing import Any

from snellen.core.errors import SnellenError
from snellen.core.hashing import digest
from snellen.subjects.checkpoints import first_line, load_model, read_config, read_image_processor, weights_digest
from snellen.subjects.loading import import_extra, once

KIND = "AutoModelForImageTextToText"
GENERATION_SETTINGS = (
    "eos_token_id",
    "pad_token_id",
    "bos_token_id",
    "bad_words_ids",
    "suppress_tokens",
    "begin_suppress_tokens",
    "forced_bos_token_id",
)
"""Generation settings kept from a checkpoint: end tokens and forbidden tokens."""


@dataclass(frozen=True)
class Checkpoint:
    """An image-text-to-text model; `path` is a folder or a hub id, `device` torch's, `dtype` as in `load_model`.

    Each part is loaded at first use and kept for the whole process. Each property raises SnellenError if its part is
    missing or unusable.
    """

    path: str
    device: str = "cpu"
    dtype: str = "auto"

    @property
    def who(self) -> str:
        """The subject's kind and name, for messages."""
        return f"chat:hf/{self.path}"

    @property
    def config(self) -> Any:
        """The configuration."""
        return _chat_config(self.who, self.path)

    @property
    def processor(self) -> Any:
        """Image processor, tokenizer and chat template."""
        return _processor(self.who, self.path)

    @property
    def model(self) -> Any:
        """The model with its weights; must not be changed."""
        return _model(self.who, self.path, self.device, self.dtype)

    @property
    def lock(self) -> RLock:
        """Held while the model is used: two threads gain nothing, and one may change the kind of attention."""
        return _lock(self.path, self.device, self.dtype)

    def weights(self) -> str:
        """A digest of weights, configurations, vocabulary and chat template."""
        return digest([weights_digest(self.who, self.path), self.processor.chat_template])


def choose_device(who: str, device: str) -> str:
    """The device; `auto` is the GPU if there is one. Raises SnellenError if torch is missing."""
    if device != "auto":
        return device
    return "cuda" if import_extra("torch", who, "models").cuda.is_available() else "cpu"


@once
def _chat_config(who: str, path: str) -> Any:
    config = read_config(who, path)
    if type(config) not in import_extra("transformers", who, "models").MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING:
        raise SnellenError(
            f"{who}: {config.model_type} does not answer texts with images; a vision encoder is"
            f" encoder:hf/{path}, a language model logprob:hf/{path}"
        )
    return config


@once
def _processor(who: str, path: str) -> Any:
    family = _chat_config(who, path).model_type
    try:
        processor = _assemble_processor(who, path)
    except (ImportError, SnellenError) as error:
        reason = " ".join(str(error).removeprefix(f"{who}: ").split())[:200]
        raise SnellenError(
            f"{who}: the processor of {family} models cannot be used here ({reason}); serve the model with"
            f" `vllm serve {path}` and ask chat:vllm/{path}"
        ) from error
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise SnellenError(
            f"{who}: no processor ({first_line(error)}); save the model's own with it, including the tokenizer"
        ) from error
    if not processor.chat_template:
        raise SnellenError(f"{who}: has no chat template; save chat_template.jinja with it, or use a chat model")
    return processor


def _assemble_processor(who: str, path: str) -> Any:
    """The processor, built from its parts: loaded as a whole, it would require torchvision for videos."""
    transformers = import_extra("transformers", who, "models")
    images = read_image_processor(who, path)
    # Not the shared one: processors add tokens to theirs.
    tokenizer = transformers.AutoTokenizer.from_pretrained(path, trust_remote_code=False)
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    processor_dict, _ = transformers.ProcessorMixin.get_processor_dict(path)
    kind = _class_without_videos(_processor_class(who, path, processor_dict, images, tokenizer))
    components = {"image_processor": images, "tokenizer": tokenizer}
    processor = kind.from_args_and_dict([components.get(name) for name in kind.get_attributes()], processor_dict)
    processor.chat_template = processor.chat_template or tokenizer.chat_template
    return processor


def _processor_class(who: str, path: str, processor_dict: Any, images: Any, tokenizer: Any) -> Any:
    """The class named in the checkpoint's files, else that of its family, as in AutoProcessor."""
    from transformers.models.auto.processing_auto import PROCESSOR_MAPPING, processor_class_from_name

    config = _chat_config(who, path)
    names = (
        processor_dict.get("processor_class"),
        getattr(images, "_processor_class", None),
        tokenizer.init_kwargs.get("processor_class"),
    )
    named = next(filter(None, names), None)
    kind = processor_class_from_name(named) if named else None
    if kind is None and type(config) in PROCESSOR_MAPPING:
        kind = PROCESSOR_MAPPING[type(config)]
    if kind is None:
        raise ImportError(f"transformers has no processor {named or ''}")
    return kind


def _class_without_videos(kind: Any) -> Any:
    """The class, except that absent parts are accepted; images and text do not need them."""

    class Assembled(kind):  # type: ignore[misc]  # a class known only at run time
        def check_argument_for_proper_class(self, argument_name: str, argument: Any) -> Any:
            return None if argument is None else super().check_argument_for_proper_class(argument_name, argument)

    Assembled.__name__ = kind.__name__
    return Assembled


@once
def _model(who: str, path: str, device: str, dtype: str) -> Any:
    """The model without the checkpoint's sampling defaults, so that greedy decoding is always greedy."""
    model = load_model(who, KIND, path, device, dtype)
    before, tokenizer = model.generation_config, _processor(who, path).tokenizer
    settings = {name: value for name in GENERATION_SETTINGS if (value := getattr(before, name, None)) is not None}
    usual = {"eos_token_id": tokenizer.eos_token_id, "pad_token_id": tokenizer.pad_token_id}
    model.generation_config = type(before)(**usual | settings)
    return model


@once
def _lock(path: str, device: str, dtype: str) -> RLock:
    return RLock()
