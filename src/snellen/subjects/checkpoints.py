"""Loads the parts of a transformers checkpoint: configuration, tokenizer, image processor, weights.

`who` is the subject as written, for messages. Images go through the image processor's Pillow version, never the
torchvision one: the two resize differently, and answers must not depend on what else is installed. Each call passes
`trust_remote_code=False`; otherwise transformers asks in the terminal whether to run a checkpoint's code.
"""

from __future__ import annotations

import json
import pickle
from contextlib import suppress
from pathlib import Path
from typing import Any

from snellen.core.errors import SnellenError
from snellen.core.extras import missing_packages
from snellen.core.hashing import digest
from snellen.core.plain_text import short_reason
from snellen.core.storage.user_files import MAX_CARD_BYTES, bounded_json, read_file
from snellen.subjects.loading import file_sha256, import_extra, once, quiet_transformers

FILE_KINDS = (".safetensors", ".bin", ".json", ".txt", ".model")
"""Files of a folder that affect answers: weights, configurations, vocabularies."""
OTHER_FORMS = {
    "open_clip*": "a checkpoint of open_clip, which is not supported; give the model as transformers stores it",
    "*.gguf": "weights as GGUF, which are not supported; serve them, e.g. with llama.cpp, and ask chat:openai-api/…",
}
"""What a folder without config.json is, by the files in it."""
DINOV3 = {"image_mean": (0.485, 0.456, 0.406), "image_std": (0.229, 0.224, 0.225)}
"""What the image processor of DINOv3 normalises by, if its file does not say."""
NEED_TORCHVISION = "SAM 2 and 3, Depth Pro, timm wrappers, TIPSv2, Sapiens 2"
"""Families whose image processors exist only for torchvision (transformers 5.23)."""


@once
def read_config(who: str, path: str) -> Any:
    """The configuration. Raises SnellenError if there is no such model."""
    transformers = import_extra("transformers", who)
    if form := _other_form(Path(path)):
        raise SnellenError(f"{who}: {form}")
    is_local = path.startswith((".", "/", "~")) or path.count("/") > 1 or ("/" in path and Path(path).parent.is_dir())
    if is_local and not Path(path).exists():  # not to be looked up on the hub
        raise SnellenError(f"{who}: no such model (there is no folder {path}); give a folder or a hub id")
    try:
        return transformers.AutoConfig.from_pretrained(path, trust_remote_code=False)
    except Exception as error:  # any JSON may be in the file, and each class checks its own fields
        raise SnellenError(f"{who}: no such model ({first_line(error)}); give a folder or a hub id") from error


def _other_form(folder: Path) -> str:
    """What a folder holds in place of a checkpoint of transformers, and what to do; empty for anything else."""
    if not folder.is_dir():
        return ""
    for path in sorted(folder.iterdir()):
        is_short = path.suffix in FILE_KINDS and path.is_file() and path.stat().st_size < 1000
        if is_short and path.read_bytes().startswith(b"version https://git-lfs"):
            return f"{path.name} is a Git LFS pointer, not the file; run `git lfs pull` in its repository"
    config, adapter = folder / "config.json", folder / "adapter_config.json"
    if adapter.is_file() and not [*folder.glob("model*.safetensors"), *folder.glob("pytorch_model*.bin")]:
        base = short_reason(str(config_fields(adapter).get("base_model_name_or_path") or "which it does not name"), 100)
        how = "load that with transformers, merge the two with peft (merge_and_unload) and save them in one folder"
        return f"a LoRA or other adapter without its model, {base}; {how}"
    if not config.is_file():
        return next((form for pattern, form in OTHER_FORMS.items() if any(folder.glob(pattern))), "")
    fields = config_fields(config)
    if "architecture" in fields and fields.get("model_type", "timm_wrapper") == "timm_wrapper":
        return "a checkpoint of timm, which is not supported; give the model as transformers stores it"
    return ""


def config_fields(path: Path) -> dict[str, Any]:
    """The fields of a JSON file; none of a damaged one."""
    with suppress(OSError, ValueError, RecursionError):
        fields = json.loads(bounded_json(read_file(path, MAX_CARD_BYTES)))
        return fields if isinstance(fields, dict) else {}
    return {}


@once
def read_tokenizer(who: str, path: str) -> Any:
    """The tokenizer. Raises SnellenError if there is none."""
    transformers = import_extra("transformers", who)
    try:
        return transformers.AutoTokenizer.from_pretrained(path, trust_remote_code=False)
    except Exception as error:  # as of `read_config`
        raise SnellenError(f"{who}: no tokenizer ({first_line(error)}); {_tokenizer_remedy(path)}") from error


def _tokenizer_remedy(path: str) -> str:
    """What to do about a tokenizer that cannot be read: install what reads SentencePiece files, or save one."""
    lacking = missing_packages(("sentencepiece", "protobuf"))
    files = [file.name for file in Path(path).glob("tokenizer*")]
    if lacking and (not files or ("tokenizer.model" in files and "tokenizer.json" not in files)):
        return "a tokenizer.model without tokenizer.json is read with two packages: pip install sentencepiece protobuf"
    return "save the model's own with it"


@once
def read_image_processor(who: str, path: str) -> Any:
    """The image processor in its Pillow version. Raises SnellenError if it exists only for torchvision.

    That of DINOv3 does, but only resizes and normalises, as that of ViT does with Pillow.
    """
    transformers = import_extra("transformers", who)
    try:
        settings: dict[str, Any] = {}
        with suppress(OSError):  # some processors are described elsewhere
            settings, _ = transformers.ImageProcessingMixin.get_image_processor_dict(path)
        if str(settings.get("image_processor_type", "")).startswith("DINOv3ViT"):
            return transformers.ViTImageProcessorPil(**{**DINOV3, **settings})
        processor = transformers.AutoImageProcessor.from_pretrained(path, backend="pil", trust_remote_code=False)
    except Exception as error:  # as of `read_config`
        names = ("preprocessor_config.json", "processor_config.json")
        if Path(path).is_dir() and not any((Path(path) / name).is_file() for name in names):
            advice = "copy that of the model it was trained from; encoders also take ?processor=FOLDER"
            raise SnellenError(f"{who}: has no {names[0]}; {advice}") from error
        raise _no_processor(who, first_line(error)) from error
    if any("Torchvision" in base.__name__ for base in type(processor).__mro__):
        raise _no_processor(who, f"{type(processor).__name__} is for torchvision")
    return processor


def _no_processor(who: str, reason: str) -> SnellenError:
    return SnellenError(
        f"{who}: not supported, since no image processor works with Pillow. Those of {NEED_TORCHVISION} require "
        f"torchvision ({short_reason(reason, 80)})"
    )


@once
def load_model(who: str, kind: str, path: str, device: str, dtype: str) -> Any:
    """The complete model as the class `kind` of transformers (an `AutoModelFor…`), for inference only.

    `dtype` names a floating type of torch, or is `auto`: the checkpoint's. Raises SnellenError if it cannot be loaded,
    lacks weights, or the device does not exist.
    """
    return for_inference(who, load_complete(who, kind, path, dtype), device)


def load_complete(who: str, kind: str, path: str, dtype: str) -> Any:
    """The model on the processor. Raises SnellenError if it cannot be loaded or the checkpoint lacks weights."""
    model, missing = load_weights(who, kind, path, dtype)
    if missing:
        raise SnellenError(f"{who}: the checkpoint has no {min(missing)}; its answers would be random")
    return model


def load_weights(who: str, kind: Any, path: str, dtype: str, **settings: Any) -> tuple[Any, set[str]]:
    """The model, and the names of the weights that the checkpoint lacks, which are random.

    `kind` is a class of transformers, or its name. `settings` are passed to transformers unchanged.
    """
    torch = import_extra("torch", who)
    safetensors = import_extra("safetensors", who)
    torch_dtype = dtype if dtype == "auto" else getattr(torch, dtype)
    try:
        with quiet_transformers(who) as transformers:
            model, report = (getattr(transformers, kind) if isinstance(kind, str) else kind).from_pretrained(
                path, dtype=torch_dtype, output_loading_info=True, trust_remote_code=False, **settings
            )
    except pickle.UnpicklingError as error:
        raise SnellenError(
            f"{who}: cannot be loaded (its weights contain more than tensors, which would be run as a program); "
            "use a checkpoint with safetensors"
        ) from error
    except (OSError, ValueError, ImportError, RuntimeError, EOFError, safetensors.SafetensorError) as error:
        raise SnellenError(f"{who}: cannot be loaded ({first_line(error)})") from error
    return model, {key for key in report["missing_keys"] if "position_ids" not in key}


def for_inference(who: str, model: Any, device: str) -> Any:
    """The model without gradients on its device. Raises SnellenError as `to_device` does."""
    return to_device(who, model.requires_grad_(False).eval(), device, "device=")


def to_device(who: str, model: Any, device: str, setting: str) -> Any:
    """The model on its device; `setting` is the option that set it, e.g. `--device`.

    Raises SnellenError if the device does not exist or has too little memory.
    """
    torch = import_extra("torch", who)
    try:
        return model.to(device)
    except torch.OutOfMemoryError as error:
        raise SnellenError(f"{who}: its weights do not fit into the memory of {device}; leave out {setting}") from error
    except (RuntimeError, AssertionError) as error:
        raise SnellenError(f"{who}: no device {device!r} ({first_line(error)}); leave out {setting}") from error


def device_name(device: str) -> str:
    """The device's own name for cards: a GPU's model, else the name as given."""
    return str(import_extra("torch", device).cuda.get_device_name(device)) if device.startswith("cuda") else device


def weights_digest(who: str, path: str) -> str:
    """The commit of a hub model; of a folder, a digest over its weights, configurations and vocabularies."""
    folder = Path(path)
    if not folder.is_dir():
        return str(read_config(who, path)._commit_hash)
    files = sorted(file for file in folder.iterdir() if file.suffix in FILE_KINDS and file.is_file())
    return digest({file.name: file_sha256(file) for file in files})


def first_line(error: BaseException) -> str:
    """An error's message in one line."""
    return (str(error).strip() or type(error).__name__).splitlines()[0]
