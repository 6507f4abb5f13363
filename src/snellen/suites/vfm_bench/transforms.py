"""Transforms of an episode for the axes of VFM Bench: shots, names, demo images, query (section 4, appendix C.2).

Option keys stay with their images and truth; only the text shown changes. So every arm has the same episode, and a
reply maps to the same class whatever its name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from string import ascii_lowercase
from typing import Any

import numpy as np
from PIL import Image, ImageDraw

from snellen.core.errors import SnellenError
from snellen.core.item import Box, Demo, Item, Media, View
from snellen.core.seeds import stream
from snellen.core.storage.media import MediaFolder
from snellen.core.suite import ViewContext
from snellen.suites.vfm_bench import prompts

NOISE_IMAGES, NOISE_PX = 10, 256
"""Noise demos are drawn from ten fixed images of 256 x 256 pixels, as released."""
PAD_PX, PASTE_PX, MAX_SHARE, FRAME_PX = 10, 10, 0.4, 4
"""Enhanced queries: padding of the region, position of its copy, maximum share of the image's sides, frame width; all
as released."""
NAME_LETTERS = 5


@dataclass(frozen=True)
class Shots:
    """Keep the first `count` demos of every class."""

    count: int
    version: int = 1

    def __call__(self, view: View, media: MediaFolder, rng: np.random.Generator) -> View:
        """The view with fewer demos."""
        return replace(view, support=tuple(demo for demo in view.support if demo.shot < self.count))


def renamed(view: View, names: Mapping[str, str]) -> View:
    """The view with other option texts, and replies read accordingly."""
    options = tuple(replace(option, text=names[option.key]) for option in view.options)
    return replace(view, options=options, reply=replace(view.reply, keys=tuple((o.text, o.key) for o in options)))


@dataclass(frozen=True)
class Exchanged:
    """Give every class the name of another one (the release permutes names; here no class keeps its own)."""

    version: int = 1

    def __call__(self, view: View, media: MediaFolder, rng: np.random.Generator) -> View:
        """The view with exchanged names."""
        texts = [option.text for option in view.options]
        count = len(texts)
        order = np.arange(count)
        while count > 1 and (order == np.arange(count)).any():
            order = rng.permutation(count)
        return renamed(view, {option.key: texts[int(n)] for option, n in zip(view.options, order, strict=True)})


@dataclass(frozen=True)
class Fabricated:
    """Name every class by five random lower-case letters; all different, none a name of this episode."""

    version: int = 1

    def __call__(self, view: View, media: MediaFolder, rng: np.random.Generator) -> View:
        """The view with meaningless names."""
        taken = {option.text for option in view.options}
        names: dict[str, str] = {}
        for option in view.options:
            while (name := "".join(rng.choice(list(ascii_lowercase), NAME_LETTERS))) in taken:
                continue
            taken.add(name)
            names[option.key] = name
        return renamed(view, names)


@dataclass(frozen=True)
class Described:
    """Add a description of every class to the instruction, under the names shown (w/ detailed instruction)."""

    sentences: Mapping[str, str] = field(repr=False)
    version: int = 1

    def __call__(self, view: View, media: MediaFolder, rng: np.random.Generator) -> View:
        """The view with the descriptions after the head of its instruction."""
        lines = "\n".join(f"- {option.text}: {self.sentences[option.key]}" for option in view.options)
        return replace(view, question=f"{view.question}\n{prompts.DESCRIPTIONS.format(lines=lines)}")


@dataclass(frozen=True)
class Captioned:
    """Add captions to the demos, by stored image (w/ caption demo)."""

    captions: Mapping[str, str] = field(repr=False)
    version: int = 1

    def __call__(self, view: View, media: MediaFolder, rng: np.random.Generator) -> View:
        """The view with captions. Raises SnellenError for a demo without a caption."""

        def captioned(demo: Demo) -> Demo:
            captions = [self.captions.get(image.stored_sha256, demo.caption) for image in demo.media]
            if not all(captions):
                raise SnellenError(
                    f"item {view.item_id}: no caption for a demo of shot {demo.shot}; build the requests with "
                    f"`snellen build vfm-bench/captions --from curated --source items=ITEMSET --out C`, run them, and "
                    f"give `--input captions=RUN`"
                )
            return replace(demo, caption="\n".join(captions))

        return replace(view, support=tuple(captioned(demo) for demo in view.support))


@dataclass(frozen=True)
class Noisy:
    """Replace demo images by noise: of every class, or of every class but `spare` (the true one)."""

    spare: str = field(default="", repr=False)
    version: int = 1

    def __call__(self, view: View, media: MediaFolder, rng: np.random.Generator) -> View:
        """The view with noise instead of demo images."""
        numbers = iter(int(n) for n in rng.integers(NOISE_IMAGES, size=sum(len(d.media) for d in view.support)))

        def noise(demo: Demo) -> Demo:
            images = tuple(_noise_image(next(numbers), media) for _ in demo.media)
            return demo if demo.answer == self.spare else replace(demo, media=images)

        return replace(view, support=tuple(noise(demo) for demo in view.support))


def _noise_image(number: int, media: MediaFolder) -> Media:
    def draw() -> Image.Image:
        rng = stream("vfm-bench", "noise demo", number)
        return Image.fromarray(rng.integers(0, 256, (NOISE_PX, NOISE_PX, 3), dtype=np.uint8))

    return media.derive(["noise-demo", 1, NOISE_PX, number], draw)


@dataclass(frozen=True)
class Replicated:
    """Show the first image of a class in all its shots (w/ replicated demo)."""

    version: int = 1

    def __call__(self, view: View, media: MediaFolder, rng: np.random.Generator) -> View:
        """The view with one image per class."""
        first = {demo.answer: demo for demo in reversed(view.support)}
        return replace(
            view,
            support=tuple(
                replace(demo, media=first[demo.answer].media, caption=first[demo.answer].caption)
                for demo in view.support
            ),
        )


@dataclass(frozen=True)
class Enhanced:
    """Frame the deciding region of the query in red, and show it enlarged in the top left corner."""

    box: Box = field(repr=False)
    version: int = 1

    def __call__(self, view: View, media: MediaFolder, rng: np.random.Generator) -> View:
        """The view with the enhanced query."""
        return _query_drawn(view, media, ["enhance", self.version, list(self.box)], self.draw)

    def draw(self, image: Image.Image) -> Image.Image:
        """The image with the frame and the enlarged region."""
        enhanced = image.convert("RGB")
        x1, y1, x2, y2 = self.box
        wide = (
            max(0, round(x1) - PAD_PX),
            max(0, round(y1) - PAD_PX),
            min(enhanced.width, round(x2) + PAD_PX),
            min(enhanced.height, round(y2) + PAD_PX),
        )
        region = enhanced.crop(wide)
        scale = min(MAX_SHARE * enhanced.width / region.width, MAX_SHARE * enhanced.height / region.height)
        size = max(1, round(region.width * scale)), max(1, round(region.height * scale))
        pen = ImageDraw.Draw(enhanced)
        pen.rectangle((round(x1), round(y1), round(x2), round(y2)), outline=(255, 0, 0), width=FRAME_PX)
        enhanced.paste(region.resize(size, Image.Resampling.LANCZOS), (PASTE_PX, PASTE_PX))
        return enhanced


@dataclass(frozen=True)
class Patched:
    """Cover the deciding region of the query with noise: `share` of its area, or a patch of `size_px` (width, height).

    The patch is centred on the region and cut at the edges of the image.
    """

    box: Box = field(repr=False)
    share: float = 1.0
    size_px: tuple[float, float] | None = None
    version: int = 1

    def __call__(self, view: View, media: MediaFolder, rng: np.random.Generator) -> View:
        """The view with the region covered."""
        seed = int(rng.integers(2**31))
        what = ["noise-patch", self.version, list(self.box), self.share, self.size_px, seed]
        return _query_drawn(view, media, what, lambda image: self.draw(image, seed))

    def draw(self, image: Image.Image, seed: int) -> Image.Image:
        """The image with a patch of uniform noise."""
        pixels = np.array(image.convert("RGB"))
        x1, y1, x2, y2 = self.box
        width, height = self.size_px or ((x2 - x1) * self.share**0.5, (y2 - y1) * self.share**0.5)
        middle_x, middle_y = (x1 + x2) / 2, (y1 + y2) / 2
        left, right = (int(np.clip(round(middle_x + s * width / 2), 0, pixels.shape[1])) for s in (-1, 1))
        top, bottom = (int(np.clip(round(middle_y + s * height / 2), 0, pixels.shape[0])) for s in (-1, 1))
        patch = stream("vfm-bench", "noise patch", seed).integers(0, 256, (bottom - top, right - left, 3))
        pixels[top:bottom, left:right] = patch.astype(np.uint8)
        return Image.fromarray(pixels)


def _query_drawn(view: View, media: MediaFolder, what: list[Any], draw: Callable[[Image.Image], Image.Image]) -> View:
    def derived(image: Media) -> Media:
        return media.derive([*what, image.sha256], lambda: draw(media.open(image)), image)

    return replace(view, query=tuple(derived(image) for image in view.query))


def sentences(item: Item, context: ViewContext) -> Mapping[str, str]:
    """The description of each class, by option key: from the table `instructions`, else from the item.

    Raises SnellenError if neither has them.
    """
    names = [option.text for option in item.options]
    table = context.annotations.get("instructions")
    if table is not None and item.item_id in table.rows:
        descriptions = prompts.split_descriptions("\n".join(map(str, table.rows[item.item_id].values())), names)
        if descriptions is None:
            raise SnellenError(f"item {item.item_id}: the table `instructions` does not describe every class")
        return {option.key: descriptions[option.text] for option in item.options}
    definitions: Mapping[str, str] = item.latent.get("definitions", {})
    if set(definitions) != {option.key for option in item.options}:
        raise SnellenError(
            f"item {item.item_id}: no descriptions of its classes; build the requests with `snellen build "
            f"vfm-bench/instructions --from curated --source items=ITEMSET --out D`, run them, and give "
            f"`--input instructions=RUN`"
        )
    return definitions


def captions(item: Item, context: ViewContext) -> Mapping[str, str]:
    """The captions of an item's demo images in the table `captions`, by stored image; empty without the table."""
    table = context.annotations.get("captions")
    return {sha: str(text) for sha, text in table.rows.get(item.item_id, {}).items()} if table is not None else {}


def with_mean_regions(items: Sequence[Item]) -> list[Item]:
    """The items with the mean size of their source's deciding regions, used by noise patches (appendix C.2)."""
    sizes: dict[str, list[tuple[float, float]]] = {}
    for item in items:
        if "box" in item.regions:
            x1, y1, x2, y2 = item.regions["box"]
            sizes.setdefault(item.factors["source"], []).append((x2 - x1, y2 - y1))
    means = {source: np.mean(source_sizes, axis=0) for source, source_sizes in sizes.items()}

    def with_mean(item: Item) -> Item:
        if "box" not in item.regions:
            return item
        width, height = means[item.factors["source"]]
        return replace(
            item, measures={**item.measures, "mean_region_width": float(width), "mean_region_height": float(height)}
        )

    return [with_mean(item) for item in items]
