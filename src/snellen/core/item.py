"""Items, and the views of them that a subject may see.

An item is stored in its own terms: option keys that never change, boxes in pixels of the stored image. A view may
rename options and move pixels. It records both, so that a reply can be read back into the item's own terms.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

Box: TypeAlias = tuple[float, float, float, float]
"""[x1, y1, x2, y2] in pixels, x to the right, y downwards."""
Point: TypeAlias = tuple[float, float]
"""[x, y] in pixels, x to the right, y downwards."""

AnswerKind: TypeAlias = Literal[
    "choice", "choices", "true_false", "integer", "number", "box", "point", "colour", "text", "description"
]
"""`choices`: all options that are right, as a sorted tuple of their keys. `point`: (x, y) in pixels of the image."""
Split: TypeAlias = Literal["train", "calibration", "test"]
MediaKind: TypeAlias = Literal["image", "video"]


@dataclass(frozen=True)
class Affine:
    """The map x' = a x + b y + c, y' = d x + e y + f of the plane."""

    a: float = 1.0
    b: float = 0.0
    c: float = 0.0
    d: float = 0.0
    e: float = 1.0
    f: float = 0.0

    def point(self, x: float, y: float) -> tuple[float, float]:
        """The image of the point (x, y)."""
        return self.a * x + self.b * y + self.c, self.d * x + self.e * y + self.f

    def then(self, next_map: Affine) -> Affine:
        """This map first, `next_map` second."""
        c, f = next_map.point(self.c, self.f)
        return Affine(
            next_map.a * self.a + next_map.b * self.d,
            next_map.a * self.b + next_map.b * self.e,
            c,
            next_map.d * self.a + next_map.e * self.d,
            next_map.d * self.b + next_map.e * self.e,
            f,
        )

    def inverse(self) -> Affine:
        """The inverse map. Raises ZeroDivisionError for a singular map."""
        det = self.a * self.e - self.b * self.d
        a, b, d, e = self.e / det, -self.b / det, -self.d / det, self.a / det
        return Affine(a, b, -(a * self.c + b * self.f), d, e, -(d * self.c + e * self.f))

    def box(self, box: Box) -> Box:
        """The upright box around the four mapped corners."""
        x1, y1, x2, y2 = box
        corners = [self.point(x, y) for x in (x1, x2) for y in (y1, y2)]
        xs, ys = [x for x, _ in corners], [y for _, y in corners]
        return min(xs), min(ys), max(xs), max(ys)


@dataclass(frozen=True)
class Media:
    """An image or a video, named by its bytes.

    The output of a transform keeps its `origin` (SHA-256 of the stored image; empty for a stored image) and
    `from_stored`, the map from the stored image's pixels to its own.
    """

    sha256: str
    kind: MediaKind
    format: str
    width: int
    height: int
    seconds: float = 0.0
    from_stored: Affine = Affine()
    origin: str = ""

    @property
    def stored_sha256(self) -> str:
        """SHA-256 of the stored image that is shown, before any transforms."""
        return self.origin or self.sha256

    @property
    def path(self) -> str:
        """Path of the file in a media folder."""
        return f"{self.sha256[:2]}/{self.sha256}.{self.format}"


@dataclass(frozen=True)
class Montage:
    """Several images to be laid out as one, for subjects that take few images. Drawn just before it is sent.

    Images are in reading order, `columns` per row. `labels` (one each, or none) are written above the images, `title`
    on top. Images are resized only if `cell_px` (width, height) is set.
    """

    images: tuple[Media, ...]
    columns: int
    labels: tuple[str, ...] = ()
    title: str = ""
    cell_px: tuple[int, int] | None = None
    version: int = 1


Part: TypeAlias = str | Media | Montage
"""A part of a prompt: a text, an image or video, or images still to be laid out."""


@dataclass(frozen=True)
class Option:
    """One option of a choice. `key` is its permanent name in the item; `text` and `media` are shown."""

    key: str
    text: str = ""
    media: tuple[Media, ...] = ()


@dataclass(frozen=True)
class Demo:
    """A solved example of a support. `answer` is an option key, or a free answer if there are no options."""

    media: tuple[Media, ...]
    answer: str
    shot: int
    caption: str = ""


@dataclass(frozen=True)
class ReplySpec:
    """The form in which a reply is asked for, used to read it back into the item's own terms.

    `keys` pairs shown names with option keys; an option may have several names, of which the first is written. `frame`
    maps pixels of the stored image to the numbers of the reply. `unit` is that of a box or point (`core.box_units`);
    empty for fractions of the image. Every response keeps its spec, so that scoring does not depend on presentation
    code.
    """

    kind: AnswerKind
    keys: tuple[tuple[str, str], ...] = ()
    frame: Affine | None = None
    unit: str = ""

    @property
    def offered(self) -> tuple[str, ...]:
        """The option keys in the order shown, each once."""
        return tuple(dict.fromkeys(key for _, key in self.keys))

    def name(self, key: str) -> str:
        """The first shown name of an option. Raises KeyError for an option that is not offered."""
        for name, option_key in self.keys:
            if option_key == key:
                return name
        raise KeyError(key)

    def write(self, answer: Any) -> str:
        """The reply of a subject that knows `answer`: the inverse of reading. For oracles, demos, training targets."""
        if self.kind == "choices":
            return ", ".join(map(self.name, answer))
        if self.keys:
            return self.name(str(answer))
        if self.kind == "box":
            box = tuple(answer) if self.frame is None else self.frame.box(answer)
            return json.dumps([round(float(x), 6) for x in box])
        if self.kind == "point":
            point = answer if self.frame is None else self.frame.point(*answer)
            return f"[{', '.join(f'{float(number):.6f}'.rstrip('0').rstrip('.') for number in point)}]"
        if self.kind == "colour":
            return json.dumps([round(x) for x in answer])
        return str(answer[0] if isinstance(answer, tuple) else answer)  # the first of several texts that are accepted


@dataclass(frozen=True)
class Mark:
    """A box drawn in an image, in pixels of that image, with its colour by name. It is never the answer."""

    colour: str
    box: Box


@dataclass(frozen=True)
class View:
    """The part of an item that a subject may see. Recipes must not write the answer into ids.

    `marks` are boxes drawn in the first image of the query, for subjects that read views.
    """

    item_id: str
    stimulus_id: str
    task: str
    question: str
    query: tuple[Media, ...]
    reply: ReplySpec
    options: tuple[Option, ...] = ()
    support: tuple[Demo, ...] = ()
    marks: tuple[Mark, ...] = ()

    def media(self) -> Iterator[Media]:
        """Everything shown: support, query, options."""
        for demo in self.support:
            yield from demo.media
        yield from self.query
        for option in self.options:
            yield from option.media


@dataclass(frozen=True)
class Item:
    """One question with its answer, independent of models, renderers and prompts.

    `stimulus_id` is shared by questions about the same images, `group_id` by items scored together, `cluster_id` by
    items that are not independent (object, scene, concept, clip). `factors` split results into subgroups. `requires`
    names a factor only if no other factor also decides the answer. `latent` is what ideal observers know of the images.
    An answer that is a point has the target's radius, within which it is a hit, as the measure `radius_px`.
    """

    item_id: str
    suite: str
    task: str
    question: str
    query: tuple[Media, ...]
    answer: Any
    answer_kind: AnswerKind
    stimulus_id: str
    group_id: str
    cluster_id: str
    version: str = "1"
    split: Split = "test"
    options: tuple[Option, ...] = ()
    support: tuple[Demo, ...] = ()
    factors: Mapping[str, str] = field(default_factory=dict)
    measures: Mapping[str, float] = field(default_factory=dict)
    requires: tuple[str, ...] = ()
    regions: Mapping[str, Any] = field(default_factory=dict)
    latent: Mapping[str, Any] = field(default_factory=dict)
    provenance: Mapping[str, Any] = field(default_factory=dict)

    def view(self) -> View:
        """The unchanged item, without everything that gives the answer away."""
        keys = tuple((option.text or option.key, option.key) for option in self.options)
        if self.answer_kind == "true_false":
            keys = (("T", "true"), ("F", "false"))
        reply = ReplySpec(self.answer_kind, keys)
        return View(
            self.item_id, self.stimulus_id, self.task, self.question, self.query, reply, self.options, self.support
        )

    def media(self) -> Iterator[Media]:
        """Everything the item holds: support, query, options."""
        yield from self.view().media()
