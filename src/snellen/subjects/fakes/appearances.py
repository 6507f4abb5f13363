"""What images show, as ideal observers know it.

An appearance leads from dimensions to values. A dimension is written `factor` or `factor/part`, e.g. `colour/primary`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from snellen.core.item import Item

Appearance = Mapping[str, str]


def is_erased(dimension: str, blind_to: Iterable[str]) -> bool:
    """Whether an observer blind to these factors or dimensions misses this dimension."""
    return any(dimension == blind or dimension.split("/")[0] == blind for blind in blind_to)


def perceive(appearance: Appearance, blind_to: Iterable[str]) -> Appearance:
    """What an observer blind to these factors or dimensions sees of an appearance."""
    return {dimension: value for dimension, value in appearance.items() if not is_erased(dimension, blind_to)}


def appearances_by_image(items: Iterable[Item]) -> dict[str, Appearance]:
    """What every described image shows, by stored SHA-256."""
    return {name: appearance for item in items for name, appearance in item.latent.get("shows", {}).items()}


def dimensions_of(items: Iterable[Item]) -> set[str]:
    """Every dimension that the latent of an item knows, be it of its images or of its worlds."""
    appearances = (
        appearance
        for item in items
        for appearance in (
            *item.latent.get("shows", {}).values(),
            *(world["look"] for world in item.latent.get("worlds", ())),
        )
    )
    return {dimension for appearance in appearances for dimension in appearance}
