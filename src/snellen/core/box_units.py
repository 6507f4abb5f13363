"""Units in which models give boxes and points, and the maps between them.

Suites ask for fractions of the image. Models that were trained to locate things reply in a unit of their own, whatever
the prompt asks; `subjects.chat.families` states it for each family.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from snellen.core.item import Affine, ReplySpec


@dataclass(frozen=True)
class BoxUnit:
    """A unit of boxes. `side` is the number at the right and bottom edges of the image; None: its size in pixels.

    Pixels are those of the image as it was sent. With `y_first` a box is [y1, x1, y2, x2].
    """

    name: str
    side: float | None
    y_first: bool = False

    def edges(self, size: tuple[float, float]) -> tuple[float, float]:
        """The numbers at the right and bottom edges of an image of this width and height."""
        return (self.side, self.side) if self.side else size

    def from_fractions(self, size: tuple[float, float]) -> Affine:
        """The map from fractions of an image of this width and height to numbers in this unit."""
        right, bottom = self.edges(size)
        return Affine(0, bottom, 0, right, 0, 0) if self.y_first else Affine(right, 0, 0, 0, bottom, 0)


FRACTIONS, PIXELS = "fractions", "pixels"
BOX_UNITS = {
    unit.name: unit
    for unit in (
        BoxUnit(FRACTIONS, 1.0),
        BoxUnit("percent", 100.0),
        BoxUnit(PIXELS, None),
        BoxUnit("thousandths", 1000.0),
        BoxUnit("thousandths-y-first", 1000.0, y_first=True),
        BoxUnit("1024ths-y-first", 1024.0, y_first=True),
    )
}


def asks_for_fractions(spec: ReplySpec) -> bool:
    """True if boxes and points are asked for in fractions of the image's width and height, 0 to 1."""
    return spec.frame is not None and max(map(abs, (spec.frame.a, spec.frame.b, spec.frame.d, spec.frame.e))) <= 1 / 32


def image_size(spec: ReplySpec) -> tuple[float, float]:
    """Width and height, in pixels, of the image about which a box in fractions was asked. It has the stored scale."""
    assert spec.frame is not None
    return 1 / spec.frame.a, 1 / spec.frame.e


def sent_size(size: tuple[float, float], max_px: int | None) -> tuple[int, int]:
    """Width and height of an image of this size as it is sent if its longer side may have `max_px` pixels."""
    factor = min(1.0, (max_px or max(size)) / max(size))
    return max(1, round(size[0] * factor)), max(1, round(size[1] * factor))


def in_unit(spec: ReplySpec, name: str, max_px: int | None = None) -> ReplySpec:
    """The spec of a box or point in fractions with its numbers in another unit.

    `max_px` limits the image as it was sent.
    """
    if spec.kind not in ("box", "point") or name == FRACTIONS or not asks_for_fractions(spec):
        return spec
    assert spec.frame is not None
    numbers = BOX_UNITS[name].from_fractions(sent_size(image_size(spec), max_px))
    return replace(spec, frame=spec.frame.then(numbers), unit=name)
