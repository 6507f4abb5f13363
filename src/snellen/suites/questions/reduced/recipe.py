"""The `reduced` recipe: a table of questions, each about its image at full size and at twelve levels below.

    snellen build questions --from reduced --source table=FILE --source images=DIR --out SET
    snellen build questions --from reduced --source table=FILE --set level=jpeg --out SET
    snellen build questions --from reduced --source images=DIR --source boxes=FILE --out SET

A level is a share s from 1 down to 1/16. `scale` sends an image at s of its width and height; `contrast` keeps s of the
difference from its mean colour; `blur` has a standard deviation of (1/s - 1)/2 px; `noise` one of 8 (1/s - 1) grey
levels; `jpeg` has a quality of 100 s. At full size an image keeps its bytes.
"""

from __future__ import annotations

import io
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageFilter

from snellen.compute import Progress
from snellen.core.build_options import BuildOptions, Settings
from snellen.core.errors import SnellenError
from snellen.core.hashing import digest
from snellen.core.item import Item, Media
from snellen.core.seeds import stream
from snellen.core.storage.media import MediaFolder, open_image
from snellen.scoring.kept_size import blind_orders
from snellen.suites.questions.kinds import SUITE, VERSION
from snellen.suites.questions.reduced.boxes import box_table
from snellen.suites.questions.sizes import LEVELS, guess_of, key_text
from snellen.suites.questions.table.recipe import IMAGES, TABLE, FromTable

BOXES = "boxes"
SETTINGS: Settings = {"level": ("scale", "jpeg", "blur", "contrast", "noise"), "blind": ("yes", "no")}
"""How images are reduced, and whether questions are first asked about a grey image."""


def _scaled(image: Image.Image, share: float, rng: np.random.Generator) -> Image.Image:
    size = max(1, round(image.width * share)), max(1, round(image.height * share))
    return image.resize(size, Image.Resampling.LANCZOS)


def _as_jpeg(image: Image.Image, share: float, rng: np.random.Generator) -> Image.Image:
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=max(1, round(100 * share)))
    return open_image(buffer).convert("RGB")


def _blurred(image: Image.Image, share: float, rng: np.random.Generator) -> Image.Image:
    return image.filter(ImageFilter.GaussianBlur((1 / share - 1) / 2))


def _fainter(image: Image.Image, share: float, rng: np.random.Generator) -> Image.Image:
    pixels = np.asarray(image, np.float64)
    mean = pixels.mean((0, 1))
    return Image.fromarray((mean + share * (pixels - mean)).round().astype(np.uint8))


def _noisy(image: Image.Image, share: float, rng: np.random.Generator) -> Image.Image:
    pixels = np.asarray(image, np.float64)
    noisy = pixels + rng.normal(0.0, 8 * (1 / share - 1), pixels.shape)
    return Image.fromarray(noisy.clip(0, 255).round().astype(np.uint8))


REDUCTIONS: Mapping[str, Callable[[Image.Image, float, np.random.Generator], Image.Image]] = {
    "scale": _scaled,
    "jpeg": _as_jpeg,
    "blur": _blurred,
    "contrast": _fainter,
    "noise": _noisy,
}


class Reduced(FromTable):
    """The recipe `reduced`: the items of a table, each at every level, and blind in several orders of its options."""

    settings = SETTINGS

    def parameters(self, options: BuildOptions) -> Mapping[str, Any]:
        """Those of the table, with the reduction and the levels."""
        chosen = {name: options.setting(name, SETTINGS) for name in SETTINGS}
        return {**super().parameters(options), **chosen, "levels": [round(share, 4) for share in LEVELS]}

    def _items(self, options: BuildOptions, media: MediaFolder) -> tuple[list[Item], list[str]]:
        thing_px: Mapping[str, float] = {}
        if not {TABLE, BOXES} & options.sources.keys():
            raise SnellenError(f"{SUITE} --from reduced: give --source table=FILE, or images=DIR and boxes=FILE")
        with tempfile.TemporaryDirectory() as folder:
            if boxes := options.sources.get(BOXES):
                images = options.sources.get(IMAGES, boxes if boxes.is_dir() else boxes.parent)
                table, thing_px = box_table(images, boxes, Path(folder), options.seed)
                options = replace(options, sources={TABLE: table, IMAGES: images})
            items, notes = super()._items(options, media)
        if odd := next((item for item in items if any(image.kind != "image" for image in item.query)), None):
            raise SnellenError(
                f"{SUITE} --from reduced: {odd.item_id!r} has a video, which has no levels; leave it out"
            )
        reduction, has_blind = options.setting("level", SETTINGS), options.setting("blind", SETTINGS) == "yes"
        px_of = {item.item_id: {"thing_px": thing_px[item.item_id]} if thing_px else {} for item in items}
        items = [replace(item, measures={**item.measures, **px_of[item.item_id]}) for item in items]
        tested = [item for item in items if item.split == "test"]
        # Training items, from which encoders learn, are at full size alone.
        reduced = [_moved(item, "1.000", 0, reduction, item.query) for item in items if item.split != "test"]
        answers_by_words = Counter(words for words, _ in {(_words(item), key_text(item)) for item in tested})
        with Progress("reducing", unit="questions", visible=options.show_progress) as progress:
            for item in tested:
                reduced += _at_levels(item, reduction, options.seed, media)
                # What has one answer for one image and another for the next cannot be known without the image.
                may_tell = answers_by_words[_words(item)] == 1
                reduced += _blind(item, reduction, media) if has_blind and may_tell else ()
                progress.advance(1)
        notes.append(f"each question at {len(LEVELS)} levels of {reduction}; a run asks it at one or a few of them")
        return reduced, notes


def _words(item: Item) -> tuple[str, ...]:
    """What a subject reads of an item: the question, and the options in alphabetical order."""
    return item.question, *sorted(option.text for option in item.options)


def _at_levels(item: Item, reduction: str, seed: int, media: MediaFolder) -> Iterator[Item]:
    """The item at every level, full size first."""
    opened_images = []
    for image in item.query:
        with media.open(image) as opened:
            opened_images.append(opened.convert("RGB"))
    for index, share in enumerate(LEVELS):
        rng = stream(SUITE, VERSION, seed, "reduced", item.item_id, index)
        images = item.query
        if index:
            images = tuple(media.add_image(REDUCTIONS[reduction](p, share, rng), quick=True) for p in opened_images)
        yield _moved(item, f"{share:.3f}", index, reduction, images)


def _blind(item: Item, reduction: str, media: MediaFolder) -> Iterator[Item]:
    """The item about grey images, with its options in as many orders as tell a blind item from a guessed one."""
    grey = tuple(media.add_image(Image.new("L", (image.width, image.height), 128)) for image in item.query)
    for turn in range(blind_orders(guess_of([item]))):
        at = turn % max(1, len(item.options))
        turned = replace(item, options=(*item.options[at:], *item.options[:at]))
        yield _moved(turned, f"blind-{turn + 1}", -1, reduction, grey)


def _moved(item: Item, name: str, index: int, reduction: str, images: tuple[Media, ...]) -> Item:
    """The item with these images, as one level of its question."""
    return replace(
        item,
        item_id=f"{item.item_id}@{name}",
        query=images,
        stimulus_id=digest([image.sha256 for image in images], 16),
        group_id=item.item_id,
        factors={**item.factors, "reduction": reduction, "level": name if index >= 0 else "blind"},
        measures={**item.measures, "sent_level": float(index)},
    )
