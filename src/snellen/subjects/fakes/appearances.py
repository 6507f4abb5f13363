"""What pictures show, as ideal observers know it.

A look leads from dimensions to values. A dimension is written `factor` or `factor/part`, e.g. `colour/primary`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from snellen.core.item import Item

Look = Mapping[str, str]


def erased(dimension: str, blind_to: Iterable[str]) -> bool:
    """Whether an observer blind to these factors or dimensions misses this dimension."""
    return any(dimension == blind or dimension.split("/")[0] == blind for blind in blind_to)


def seen(look: Look, blind_to: Iterable[str]) -> Look:
    """What an observer blind to these factors or dimensions sees of a look."""
    return {dimension: value for dimension, value in look.items() if not erased(dimension, blind_to)}


def looks_of(items: Iterable[Item]) -> dict[str, Look]:
    """What every described picture shows, by stored SHA-256."""
    return {name: look for item in items for name, look in item.latent.get("shows", {}).items()}


def dimensions_of(items: Iterable[Item]) -> set[str]:
    """Every dimension that the latent of an item knows, be it of its pictures or of its worlds."""
    told = (
        look
        for item in items
        for look in (
            *item.latent.get("shows", {}).values(),
            *(world["look"] for world in item.latent.get("worlds", ())),
        )
    )
    return {dimension for look in told for dimension in look}
