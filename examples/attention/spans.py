"""Where the parts of a prompt lie among the tokens of a model, and which of an image's pixels each token stands for.

The processor says where its image marks went and what it put in their place; what the chat template added is found by
writing it once more with marks in place of the words.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, Literal, TypeAlias

from snellen.core.errors import SnellenError
from snellen.core.item import Box, Media, Part
from snellen.core.prompt import Prompt
from snellen.core.storage.media import MediaFolder
from snellen.subjects.chat.transformers_model import TemplatedPrompt, apply_template, encode_prompts

SpanKind: TypeAlias = Literal["image", "text", "template", "reply"]
_MARK = "\ue000{}\ue001"  # of the private use area: no template writes it
_TILE = re.compile(r"<row_(\d+)_col_(\d+)>|<global-img>")


@dataclass(frozen=True)
class Tile:
    """A grid of visual tokens over a box of an image, row by row.

    `first` counts from the image's first visual token; `box` is in pixels of the image shown, and may reach beyond
    it where the processor pads.
    """

    first: int
    rows: int
    columns: int
    box: Box


@dataclass(frozen=True)
class Span:
    """Tokens `start` to `stop` (left out) of a prompt, and what they are.

    `part` is the place among all parts and replies, earlier turns first; None for what the template adds and for the
    reply. `visual_tokens` are the visual tokens of an image, `tiles` the pixels they stand for (none where the
    processor's layout is not known). `role` of an image: `query`, `first demo`, `demo`, `option`, or empty.
    """

    kind: SpanKind
    start: int
    stop: int
    part: int | None = None
    media: Media | None = None
    role: str = ""
    visual_tokens: tuple[int, ...] = ()
    tiles: tuple[Tile, ...] = ()

    @property
    def name(self) -> str:
        """Its name in tables and files: `image 3`, `text 0`, `template`, `reply`."""
        return self.kind if self.part is None else f"{self.kind} {self.part}"


def find_spans(
    processor: Any, visual: int | None, prompt: Prompt, media: MediaFolder, templated: TemplatedPrompt
) -> tuple[Span, ...]:
    """The spans of all tokens of a prompt, in order, without gaps. `visual` is the token that stands for pixels.

    Raises SnellenError where processor or template do not tell what went where.
    """
    try:
        encoding = encode_prompts(
            processor, [templated], return_offsets_mapping=True, return_text_replacement_offsets=True
        )
        replaced = [*(encoding.get("text_replacement_offsets") or [()])[0]]
        offsets, ids = encoding["offset_mapping"][0], encoding["input_ids"][0]
    except (KeyError, NotImplementedError, TypeError, ValueError) as error:
        raise SnellenError(f"{type(processor).__name__} does not tell where images lie among its tokens") from error
    if len(replaced) != len(templated.images) or (templated.images and visual is None):
        raise SnellenError(f"{type(processor).__name__} does not tell where images lie among its tokens")
    places = [*_places(processor, prompt, media, templated, replaced)]
    owner = [_owner(begin, end, places) for begin, end in offsets]
    flat, roles = _flat(prompt), _roles(prompt)
    grids = encode_prompts(processor, [templated], return_tensors="pt") if templated.images else {}
    spans: list[Span] = []
    count = 0
    for part, run in groupby(range(len(ids)), key=lambda token: owner[token]):
        tokens = [*run]
        start, stop, content = tokens[0], tokens[-1] + 1, None if part is None else flat[part]
        if not isinstance(content, Media):
            spans.append(Span("template" if content is None else "text", start, stop, part))
            continue
        visual_tokens = tuple(token for token in tokens if ids[token] == visual)
        size = templated.images[count].size
        tiles = _tiles(
            processor, grids, count, len(templated.images), size, len(visual_tokens), replaced[count]["replacement"]
        )
        spans.append(Span("image", start, stop, part, content, roles[part], visual_tokens, tiles))
        count += 1
    return tuple(spans)


def _flat(prompt: Prompt) -> list[Part]:
    """All parts and replies in the order in which they are told."""
    return [part for turn in prompt.history for part in (*turn.parts, turn.reply)] + [*prompt.parts]


def _roles(prompt: Prompt) -> list[str]:
    """What each part is to the views, by the image's hash; an image shown twice is the first demo first."""
    views = prompt.views
    demos = [image.sha256 for view in views for demo in view.support for image in demo.media]
    role_of = {image.sha256: "option" for view in views for option in view.options for image in option.media}
    role_of |= dict.fromkeys(demos, "demo") | {image.sha256: "query" for view in views for image in view.query}
    roles: list[str] = []
    for part in _flat(prompt):
        role = role_of.get(part.sha256, "") if isinstance(part, Media) else ""
        is_first = isinstance(part, Media) and part.sha256 in demos[:1] and "first demo" not in roles
        roles.append("first demo" if is_first else role)
    return roles


def _places(
    processor: Any, prompt: Prompt, media: MediaFolder, templated: TemplatedPrompt, replaced: Sequence[Any]
) -> Iterator[tuple[int, int, int]]:
    """(first, last + 1, part) of every part in the text as the processor expands it, in characters."""
    flat = _flat(prompt)
    marks = iter(range(len(flat)))

    def marked(parts: Sequence[Part]) -> tuple[Part, ...]:
        pairs = zip(parts, marks, strict=False)  # in this order: marks go on where parts end
        return tuple(_MARK.format(index) if isinstance(part, str) else part for part, index in pairs)

    history = tuple(replace(turn, parts=marked(turn.parts), reply=_MARK.format(next(marks))) for turn in prompt.history)
    skeleton = apply_template(processor, Prompt(marked(prompt.parts), (), history), media).text
    images = iter(zip([n for n, part in enumerate(flat) if isinstance(part, Media)], replaced, strict=True))
    image = re.escape(replaced[0]["text"]) if replaced else r"(?!)"
    written, position = "", 0  # the text as told so far, and how far it is as expanded
    for piece in re.split(f"(\ue000\\d+\ue001|{image})", skeleton):
        begin = position
        if piece.startswith("\ue000"):
            index = int(piece[1:-1])
            words = str(flat[index])
            words = words if templated.text.startswith(words, len(written)) else words.strip()  # some templates trim
            written, position = written + words, position + len(words)
            yield begin, position, index
        elif replaced and piece == replaced[0]["text"]:
            index, replacement = next(images)
            written, position = written + piece, position + len(replacement["replacement"])
            yield begin, position, index
        else:
            written, position = written + piece, position + len(piece)
    if written != templated.text:
        raise SnellenError("the chat template changes the words it is given; where they lie is not estimable")


def _owner(begin: int, end: int, places: Sequence[tuple[int, int, int]]) -> int | None:
    """The part in which a token begins; none for the template's, and for marks without a place in the text."""
    return next((part for first, last, part in places if first <= begin < last), None) if begin < end else None


def _tiles(
    processor: Any, grids: Any, index: int, image_count: int, size: tuple[int, int], visual_count: int, written: str
) -> tuple[Tile, ...]:
    """The pixels behind an image's visual tokens, for the layouts that are known; otherwise none.

    Known are grids that the processor tells (Qwen), tiles marked in words beside the whole image (Idefics 3), and
    one square grid an image (LLaVA, Gemma 3).
    """
    full_box = (0.0, 0.0, float(size[0]), float(size[1]))
    if "image_grid_thw" in grids:
        merge = processor.image_processor.merge_size
        _, rows, columns = (int(count) for count in grids["image_grid_thw"][index])
        return (Tile(0, rows // merge, columns // merge, full_box),)
    if matches := [*_TILE.finditer(written)]:
        side = math.isqrt(visual_count // len(matches))
        rows, columns = (max(int(match[axis] or 1) for match in matches) for axis in (1, 2))
        boxes = [_cut(size, match[1], match[2], rows, columns) if match[1] else full_box for match in matches]
        tiles = tuple(Tile(n * side**2, side, side, box) for n, box in enumerate(boxes))
        return tiles if side**2 * len(matches) == visual_count else ()
    side, pixels = math.isqrt(visual_count), grids["pixel_values"]
    if side**2 != visual_count or pixels.ndim != 4 or len(pixels) != image_count:
        return ()
    return (Tile(0, side, side, _looked_at(processor.image_processor, size)),)


def _cut(size: tuple[int, int], row: str, column: str, row_count: int, column_count: int) -> Box:
    width, height = size[0] / column_count, size[1] / row_count
    x, y = (int(column) - 1) * width, (int(row) - 1) * height
    return x, y, x + width, y + height


def _looked_at(maker: Any, size: tuple[int, int]) -> Box:
    """The box of an image that reaches a model which looks at one square: cut from the middle, padded, or all."""
    width, height = size
    edge = getattr(maker.size, "shortest_edge", None)
    if getattr(maker, "do_center_crop", False) and edge:
        scale = min(width, height) / edge
        across, down = maker.crop_size["width"] * scale, maker.crop_size["height"] * scale
    elif getattr(maker, "do_pad", False):
        across = down = float(max(width, height))
    else:
        across, down = float(width), float(height)
    x, y = (width - across) / 2, (height - down) / 2
    return x, y, x + across, y + down
