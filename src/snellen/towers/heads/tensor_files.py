"""Tensors with plain data in one safetensors file, written atomically. No pickle is written or read.

Imports torch: import it inside functions.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from safetensors import SafetensorError, safe_open

from snellen.core.errors import SnellenError
from snellen.core.storage.files import all_or_nothing


def write_tensors(path: Path, tensors: Mapping[str, torch.Tensor], facts: Mapping[str, Any]) -> None:
    """Write a safetensors file with plain data as its metadata, atomically."""
    plain = {name: tensor.detach().contiguous().cpu().clone() for name, tensor in tensors.items()}
    with all_or_nothing(path) as half:
        try:
            safetensors.torch.save_file(plain, str(half), {"facts": json.dumps(facts)})
        except SafetensorError as error:  # safetensors has its own errors for a full disk
            raise OSError(None, str(error)) from error


def read_tensors(path: Path) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
    """Tensors and plain data of a safetensors file. Raises SnellenError if it is missing or damaged."""
    file = open_tensors(path)
    return {name: file.get_tensor(name) for name in file.keys()}, facts_of(file)  # noqa: SIM118  # no mapping


def open_tensors(path: Path) -> Any:
    """An open safetensors file, whose tensors are read on demand. Raises SnellenError if it is missing or damaged."""
    try:
        return safe_open(str(path), "pt")
    except (OSError, SafetensorError) as error:
        raise SnellenError(f"{path}: cannot be read ({error}); remove it and train again") from error


def facts_of(file: Any) -> dict[str, Any]:
    """The plain data of an open safetensors file. Raises SnellenError if they are damaged."""
    try:
        return dict(json.loads((file.metadata() or {}).get("facts", "{}")))
    except (ValueError, TypeError, RecursionError) as error:
        raise SnellenError(
            f"safetensors: the metadata are damaged ({error}); remove the file and train again"
        ) from error
