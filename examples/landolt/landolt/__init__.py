"""Landolt rings: where is the gap, and how small may it be? A suite of Snellen in one folder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import cycle, islice, product
from typing import Any

import numpy as np
from PIL import Image, ImageDraw

from snellen.extend import (
    IMAGES,
    ORDER,
    BuildOptions,
    Condition,
    Item,
    ItemSet,
    MediaFolder,
    OneByOne,
    Option,
    Part,
    Split,
    Suite,
    Task,
    Transform,
    View,
    ViewContext,
    control,
    order_transforms,
    read_suite_card,
    refuse_existing,
    stream,
    strict,
    write_itemset,
)  # fmt: skip

CARD = read_suite_card(__name__)
TASK = "gap"
QUESTION = "The image shows a ring with a gap. Where is the gap? Answer with one of: {names}."
ANGLES = {"right": 0, "bottom": 90, "left": 180, "top": 270}
"""Degrees, clockwise from the right, as Pillow counts them."""
GAPS_PX = (1, 2, 3, 4, 6, 8)
TRAIN_ITEMS = 96
"""Solved ones, for subjects that know no words: encoders learn from them what the sides are called."""
SIDE_PX, FINER = 96, 8
"""Side of an image; how many times finer it is drawn, so that edges have greys and not steps."""


def draw_ring(gap_px: int, side: str, rng: np.random.Generator) -> Image.Image:
    """A ring at a place of its own, so that no pixel tells the side alone: (96, 96), black on white."""
    fine = gap_px * FINER
    image = Image.new("L", (SIDE_PX * FINER, SIDE_PX * FINER), 255)
    left, top = (int(x) for x in rng.integers(fine, SIDE_PX * FINER - 6 * fine, 2))
    ring = Image.new("L", (5 * fine, 5 * fine), 255)
    pen = ImageDraw.Draw(ring)
    pen.ellipse((0, 0, 5 * fine - 1, 5 * fine - 1), fill=0)
    pen.ellipse((fine, fine, 4 * fine - 1, 4 * fine - 1), fill=255)
    pen.rectangle((2.5 * fine, 2 * fine, 5 * fine, 3 * fine - 1), fill=255)
    image.paste(ring.rotate(-ANGLES[side]), (left, top))
    return image.reduce(FINER).convert("RGB")


def ring_item(split: Split, number: int, gap_px: int, side: str, media: MediaFolder, seed: int) -> Item:
    """One question. `latent` is what ideal observers know: what the image shows, and what each option claims."""
    image = media.add_image(draw_ring(gap_px, side, stream("landolt", CARD.version, seed, split, number)))
    handle = f"{TASK}-{split}-{number:04d}"
    return Item(
        item_id=handle,
        suite=CARD.name,
        task=TASK,
        question=QUESTION,
        query=(image,),
        answer=side,
        answer_kind="choice",
        stimulus_id=handle,
        group_id=handle,
        cluster_id=handle,
        version=CARD.version,
        split=split,
        options=tuple(Option(name, name) for name in ANGLES),
        factors={"gap_px": str(gap_px)},
        measures={"gap_px": float(gap_px)},
        requires=("gap",),
        latent={"shows": {image.sha256: {"gap": side}}, "claims": {name: {"gap": [name]} for name in ANGLES}},
    )


def designs(split: Split, count: int, seed: int) -> list[tuple[int, str]]:
    """Gap and side of `count` rings, in an order drawn from the seed: each turn of 24 has every pair once."""
    pairs = list(islice(cycle(product(GAPS_PX, ANGLES)), count))
    order = stream("landolt", CARD.version, seed, split, "order").permutation(count)
    return [pairs[int(k)] for k in order]


@dataclass(frozen=True)
class Generated:
    """Rings of every width of gap and with every side, to be asked about and to learn from."""

    def parameters(self, options: BuildOptions) -> Mapping[str, Any]:
        """How many, and from which seed."""
        options.refuse_others("landolt", {TASK}, ())
        counts = {"test": options.test_items("landolt", 24, 12), "train": TRAIN_ITEMS}
        return {"counts": {TASK: counts}, "seed": options.seed}

    def plan(self, options: BuildOptions) -> Mapping[str, Any]:
        """The counts: drawing takes no time to speak of."""
        return {"suite": CARD.name, "items": self.parameters(options)["counts"], "seconds": 0, "bytes": 0}

    def build(self, options: BuildOptions) -> ItemSet:
        """Draw the rings and write the set."""
        parameters = self.parameters(options)
        refuse_existing(options.out)
        media = MediaFolder(options.out / "media")
        items = [
            ring_item(split, number, gap_px, side, media, options.seed)
            for split, count in parameters["counts"][TASK].items()
            for number, (gap_px, side) in enumerate(designs(split, count, options.seed))
        ]
        return write_itemset(options.out, items, source="generated", recipe=parameters)


def present(view: View) -> tuple[Part, ...]:
    """The image, then the question with the sides in the order in which this view offers them."""
    return (*view.query, view.question.format(names=", ".join(option.text for option in view.options)))


def transforms(item: Item, context: ViewContext) -> tuple[Transform, ...]:
    """What a condition changes: the order of options, then the images."""
    return (*order_transforms(context.condition["order"]), *control(context.condition["images"], context))


def method(condition: Condition) -> OneByOne:
    """One question a call."""
    return OneByOne(present)


STRICT = strict()
AXES = (ORDER, IMAGES)
SUITE = Suite(
    card=CARD,
    axes=AXES,
    tasks={
        TASK: Task(
            id=TASK,
            kind="choice",
            axes=tuple(axis.name for axis in AXES),
            transforms=transforms,
            method=method,
            protocols={STRICT.name: STRICT},
            train_split="train",
            split_by=("gap_px",),
        )
    },
    recipes={"generated": Generated()},
    resolve=lambda condition, card: {},
)
