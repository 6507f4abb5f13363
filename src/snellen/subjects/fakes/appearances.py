"""The contents of images as ideal observers know them.

An appearance maps dimensions to values. A dimension is written `factor` or `factor/part`, e.g. `colour/primary`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from snellen.core.item import Item

Appearance = Mapping[str, str]


def is_erased(dimension: str, blind_to: Iterable[str]) -> bool:
    """True if an observer blind to these factors or dimensions misses this dimension."""
    return any(dimension == blind or dimension.split("/")[0] == blind for blind in blind_to)


def perceive(appearance: Appearance, blind_to: Iterable[str]) -> Appearance:
    """The part of an appearance that an observer blind to these factors or dimensions sees."""
    return {dimension: value for dimension, value in appearance.items() if not is_erased(dimension, blind_to)}


def appearances_by_image(items: Iterable[Item]) -> dict[str, Appearance]:
    """The appearance of each described image, by stored SHA-256."""
    return {name: appearance for item in items for name, appearance in item.latent.get("shows", {}).items()}


def dimensions_of(items: Iterable[Item]) -> set[str]:
    """All dimensions in the items' latent, of their images and of their worlds."""
    appearances = (
        appearance
        for item in items
        for appearance in (
            *item.latent.get("shows", {}).values(),
            *(world["look"] for world in item.latent.get("worlds", ())),
        )
    )
    return {dimension for appearance in appearances for dimension in appearance}
