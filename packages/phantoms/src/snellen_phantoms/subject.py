"""The subject `phantom:NAME`: `chat:hf` on the folder of a trained phantom."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from snellen.core.errors import SnellenError
from snellen.core.item import Item
from snellen.core.storage.home import home
from snellen.core.subject import Subject
from snellen.subjects.chat.transformers_model import make_local
from snellen_phantoms.train import DEFECTS


def make_phantom(name: str, settings: Mapping[str, str], items: Sequence[Item] = ()) -> Subject:
    """The phantom of a name, with the settings of `chat:hf`; the items are not used.

    Raises SnellenError for an unknown name, and with the command that trains it if it is not on this machine.
    """
    if name not in DEFECTS:
        raise SnellenError(f"no phantom {name!r}; there are {', '.join(DEFECTS)}")
    folder = home() / "phantoms" / name / "model"
    if not (folder / "config.json").is_file():
        raise SnellenError(
            f"phantom:{name}: its weights are not on this machine; `python -m snellen_phantoms.train {name}` trains "
            "it, and a stopped training goes on"
        )
    local = make_local(str(folder), settings)
    changed = local.card.name.partition("?")[2]
    return replace(local, card=replace(local.card, name=f"phantom:{name}" + (f"?{changed}" if changed else "")))
