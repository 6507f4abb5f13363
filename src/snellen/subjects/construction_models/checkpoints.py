"""Loading what a checkpoint of transformers holds: configuration, tokenizer, image processor, weights.

`who` is the subject as written, for messages. Pictures go through the image processor's Pillow form, never the
torchvision one: the two resize differently, and boxes must not hang on what else is installed.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from snellen.core.errors import SnellenError
from snellen.core.hashing import digest
from snellen.subjects.encoders.loading import file_sha256, once, transformers_quietly

PARTS = (".safetensors", ".bin", ".json", ".txt", ".model")
"""Files of a folder that make the answers: weights, configurations, vocabularies."""


def needed(module: str, who: str, extra: str) -> Any:
    """A module of an extra. Raises SnellenError with the line that installs it where it is missing."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise SnellenError(f"{who} needs {module} ({error}); pip install 'snellen[{extra}]'") from error


@once
def read_config(who: str, path: str) -> Any:
    """The configuration. Raises SnellenError where there is no such model."""
    transformers = needed("transformers", who, "models")
    try:
        return transformers.AutoConfig.from_pretrained(path)
    except (OSError, ValueError) as error:
        raise SnellenError(f"{who}: no such model ({first_line(error)}); give a folder or a hub id") from error


@once
def read_tokenizer(who: str, path: str) -> Any:
    """The tokenizer. Raises SnellenError where there is none."""
    try:
        return needed("transformers", who, "models").AutoTokenizer.from_pretrained(path)
    except (OSError, ValueError) as error:
        raise SnellenError(f"{who}: no tokenizer ({first_line(error)}); save the model's own beside it") from error


@once
def read_image_processor(who: str, path: str) -> Any:
    """The image processor in its Pillow form. Raises SnellenError where it exists for torchvision only."""
    try:
        made = needed("transformers", who, "models").AutoImageProcessor.from_pretrained(path, backend="pil")
    except (OSError, ValueError, ImportError) as error:
        raise _no_processor(who, first_line(error)) from error
    if any("Torchvision" in base.__name__ for base in type(made).__mro__):
        raise _no_processor(who, f"{type(made).__name__} is for torchvision")
    return made


def _no_processor(who: str, why: str) -> SnellenError:
    return SnellenError(
        f"{who}: no image processor that works with Pillow ({why}); models that demand torchvision fail"
    )


@once
def load_model(who: str, kind: str, path: str, device: str, dtype: str) -> Any:
    """The model as the class `kind` of transformers (an `AutoModelFor…`), for looking only.

    `dtype` names a floating type of torch, or is `auto`: the checkpoint's. Raises SnellenError where it cannot be
    loaded, lacks weights, or the device is not there.
    """
    torch = needed("torch", who, "models")
    wanted = dtype if dtype == "auto" else getattr(torch, dtype)
    try:
        with transformers_quietly() as transformers:
            model, told = getattr(transformers, kind).from_pretrained(path, dtype=wanted, output_loading_info=True)
    except (OSError, ValueError, ImportError) as error:
        raise SnellenError(f"{who}: cannot be loaded ({first_line(error)})") from error
    if missing := {key for key in told["missing_keys"] if "position_ids" not in key}:
        raise SnellenError(f"{who}: the checkpoint has no {min(missing)}; its answers would be random")
    try:
        return model.requires_grad_(False).eval().to(device)
    except (RuntimeError, AssertionError) as error:
        raise SnellenError(f"{who}: no device {device!r} ({first_line(error)}); leave out device=") from error


def weights_digest(who: str, path: str) -> str:
    """The commit of a hub model; of a folder, a digest over its weights, configurations and vocabularies."""
    folder = Path(path)
    if not folder.is_dir():
        return str(read_config(who, path)._commit_hash)
    files = sorted(one for one in folder.iterdir() if one.suffix in PARTS and one.is_file())
    return digest({one.name: file_sha256(one) for one in files})


def first_line(error: BaseException) -> str:
    """What an error says, in one line."""
    return (str(error).strip() or type(error).__name__).splitlines()[0]
