"""The subject `phantom:NAME`: `chat:hf` on the folder of a trained phantom."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from snellen.core.errors import SnellenError
from snellen.core.item import Item
from snellen.core.storage.files import kernel_lock
from snellen.core.storage.home import home
from snellen.core.subject import Subject
from snellen.subjects.chat.transformers_model import make_local
from snellen_phantoms.questions import NAMES, WHOLE
from snellen_phantoms.weights import PACKED, packed_digest, unpack


def folder_of(name: str) -> Path:
    """The folder with the weights of a phantom: the one trained on this machine, else the packaged one.

    A packaged twin is put together at first use. Raises SnellenError for an unknown name, and with the command that
    trains it if there is neither.
    """
    if name not in NAMES:
        raise SnellenError(f"no phantom {name!r}; there are {', '.join(NAMES)}")
    trained = home() / "phantoms" / name / "model"
    if (trained / "config.json").is_file():
        return trained
    if not (PACKED / name).is_dir():
        raise SnellenError(
            f"phantom:{name}: its weights are not on this machine; `python -m snellen_phantoms.train {name}` trains "
            "it, and a stopped training goes on"
        )
    if name == WHOLE:
        return PACKED / name
    packaged = home() / "phantoms" / "packaged" / f"{name}-{packed_digest(name, WHOLE)}"
    packaged.parent.mkdir(parents=True, exist_ok=True)
    with kernel_lock(packaged.parents[1] / "lock", packaged.parent, wait=True):
        if not packaged.is_dir():
            unpack(name, WHOLE, packaged)
    return packaged


def make_phantom(name: str, settings: Mapping[str, str], items: Sequence[Item] = ()) -> Subject:
    """The phantom of a name, with the settings of `chat:hf`; the items are not used.

    Raises the errors of `folder_of`.
    """
    local = make_local(str(folder_of(name)), settings)
    changed = local.card.name.partition("?")[2]
    attributes = {**local.card.attributes, "phantom": name}
    full_name = f"phantom:{name}" + (f"?{changed}" if changed else "")
    return replace(local, card=replace(local.card, name=full_name, attributes=attributes))
