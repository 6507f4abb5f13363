"""The `generated` recipe: a bank of fresh exemplars at every level of every task.

A bank has sixteen levels of a task and easy controls, and equally many exemplars of each, all of which differ: in
sub-pixel position, place on the grid of a vision tower, polarity, background. Answers are balanced within a level.
Training items are of the easiest levels, in two draws: what a readout learns depends on which it learns from.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from snellen.compute import Progress, Shard, map_shards
from snellen.core.build_options import BuildOptions, Settings
from snellen.core.errors import SnellenError
from snellen.core.item import Item, Option, Split
from snellen.core.seeds import stream
from snellen.core.storage.itemset import ItemSet, refuse_existing, write_itemset
from snellen.core.storage.media import MediaFolder
from snellen.suites.thresholds.measures import MEASURES
from snellen.suites.thresholds.measures.acuity import ACUITY
from snellen.suites.thresholds.measures.measure import LEVELS, SIDE, Measure, Stimulus, StimulusImage

SUITE, VERSION = "thresholds", "3"
SETTINGS: Settings = {"canvas": (str(SIDE), "1024", "2048", "all")}
"""The side of the canvas in pixels, or all sides; tasks that cannot be drawn on a larger canvas are left out."""
EXEMPLARS, QUICK_EXEMPLARS = 16, 4
"""Exemplars of each level by default and of `--quick`."""
EASY, DRAWS, TRAIN_EXEMPLARS, QUICK_TRAIN_EXEMPLARS = 6, 2, 32, 8
"""The number of easiest levels of which there are training items, of draws of them, and of each level in a draw by
default and of `--quick`."""
BOTH_ENDS = (0, 1, LEVELS - 2, LEVELS - 1, LEVELS, LEVELS)
"""The levels of the training items of a judgement, with the controls: half of the answers are yes."""
BLANK = StimulusImage(Image.new("L", (1, 1), 128), {}, {})
"""For sets on which blind scores are measured."""
SECONDS_AN_IMAGE, BYTES_AN_IMAGE = 0.013, 12_000
"""CPU time and disk space of an image, for plans."""


def sides_of(options: BuildOptions) -> tuple[int, ...]:
    """The sides of the canvases."""
    chosen = options.setting("canvas", SETTINGS)
    return tuple(int(side) for side in SETTINGS["canvas"] if side != "all" and chosen in (side, "all"))


def measures_of(options: BuildOptions) -> list[Measure]:
    """The measures that are built. Raises SnellenError for unknown ones, and for those without such a canvas."""
    sides = sides_of(options)
    fitting = [measure for measure in MEASURES.values() if set(sides) <= set(measure.canvases)]
    options.refuse_others(SUITE, MEASURES, ())
    for name in options.tasks:
        for side in sides:
            if side not in MEASURES[name].canvases:
                sizes = ", ".join(map(str, MEASURES[name].canvases))
                raise SnellenError(f"{SUITE}: {name} has no canvas of {side} px; --set canvas= takes {sizes} for it")
    return [measure for measure in fitting if not options.tasks or measure.task in options.tasks]


def conditions(measure: Measure, count: int) -> list[tuple[int, str]]:
    """(index of the level, variant) of `count` test items; the index of controls is the number of levels.

    They come in rounds of all levels and a control, so that the first items of a bank are a smaller bank. With fewer
    items than a round has, levels are spread.
    """
    rounds = [LEVELS, *reversed(range(LEVELS))]
    if count < len(rounds):
        rounds = [rounds[number * len(rounds) // count] for number in range(count)]
    chosen = [(rounds[number % len(rounds)], number // len(rounds)) for number in range(count)]
    turned = measure.is_pointing  # so that few items have all places
    return [(level, measure.variants[(turn + level * turned) % len(measure.variants)]) for level, turn in chosen]


def count_of(options: BuildOptions) -> int:
    """The number of test items of a task on a canvas."""
    return options.test_items(SUITE, EXEMPLARS * (LEVELS + 1), QUICK_EXEMPLARS * (LEVELS + 1))


def train_exemplars(options: BuildOptions) -> int:
    """The number of training items of each easy level in a draw."""
    return QUICK_TRAIN_EXEMPLARS if options.quick else TRAIN_EXEMPLARS


class Generated:
    """Draws a bank of items."""

    settings = SETTINGS
    leaves_out_training = True
    opening = (ACUITY.task, EXEMPLARS * (LEVELS + 1))

    def parameters(self, options: BuildOptions) -> Mapping[str, Any]:
        """Count, seed, canvas."""
        tasks, canvases = [measure.task for measure in measures_of(options)], len(sides_of(options))
        return {
            "counts": dict.fromkeys(tasks, count_of(options) * canvases),
            "train": DRAWS * EASY * train_exemplars(options) * canvases,
            "seed": options.seed,
            **options.changed(SETTINGS),
        }

    def plan(self, options: BuildOptions) -> Mapping[str, Any]:
        """Items, canvases (the parts of a set of which a task is asked one by one), seconds and bytes."""
        count, measures, sides = count_of(options), measures_of(options), sides_of(options)
        images = len(measures) * (count + DRAWS * EASY * train_exemplars(options))
        sizes = images * sum((side / SIDE) ** 2 for side in sides)
        return {
            "suite": SUITE,
            "images": images * len(sides),
            "items": dict.fromkeys((measure.task for measure in measures), count * len(sides)),
            "parts": len(sides),
            "seconds": round(sizes * SECONDS_AN_IMAGE / options.workers),
            "bytes": round(sizes * BYTES_AN_IMAGE),
            "workers": options.workers,
        }

    def build(self, options: BuildOptions) -> ItemSet:
        """Draw the images and write the items."""
        refuse_existing(options.out)
        root, is_blank = options.out / "media", options.renderer == "blank"
        sides, tasks = sides_of(options), [measure.task for measure in measures_of(options)]
        trained = 0 if options.test_only else train_exemplars(options)
        shards = [
            Shard(f"{task}-{bank.side}" if bank.is_part else task, BankTask(bank, task, count_of(options)))
            for task in tasks
            for bank in (Bank(options.seed, s, root, trained, is_blank, len(sides) > 1) for s in sides)
        ]
        with Progress("drawing", unit="tasks", visible=options.show_progress) as progress:
            of_tasks = map_shards(_items_of, shards, workers=1 if is_blank else options.workers, progress=progress)
        items = [item for of_task in of_tasks for item in of_task]
        return write_itemset(
            options.out,
            items,
            source="generated",
            recipe=self.parameters(options),
            notes=["not covered of the paper: there is no paper; the measures are those of design/thresholds.md"],
        )


@dataclass(frozen=True)
class Bank:
    """The items of one seed on a canvas of one side, with images in the media folder `root`; blank if `is_blank`.

    If it is a part of a set with several canvases, its items are named after the canvas.
    """

    seed: int
    side: int
    root: Path
    train_exemplars: int = TRAIN_EXEMPLARS
    is_blank: bool = False
    is_part: bool = False

    def items(self, measure: Measure, count: int) -> Iterator[Item]:
        """The test items of a measure, then its training items."""
        media = MediaFolder(self.root)
        levels = BOTH_ENDS if measure.is_judgement else range(LEVELS - EASY + 1, LEVELS + 1)
        easiest = [level for level in levels for _ in range(self.train_exemplars)] * DRAWS
        train = [(level, measure.variants[number % len(measure.variants)]) for number, level in enumerate(easiest)]
        splits: tuple[tuple[Split, list[tuple[int, str]]], ...] = (
            ("test", conditions(measure, count)), ("train", train),
        )  # fmt: skip
        for split, chosen in splits:
            rng = stream(SUITE, self.seed, measure.task, split, "answers")
            answers = balanced([level for level, _ in chosen], max(1, len(measure.answers)), rng)
            if measure.is_judgement:
                answers = [
                    answer if level == LEVELS else int(measure.levels[level] > measure.most_yes)
                    for (level, _), answer in zip(chosen, answers, strict=True)
                ]
            for number, ((level, variant), answer) in enumerate(zip(chosen, answers, strict=True)):
                yield self._item(media, measure, split, number, level, variant, answer)

    def _item(
        self, media: MediaFolder, measure: Measure, split: Split, number: int, level: int, variant: str, answer: int
    ) -> Item:
        is_control = level == LEVELS
        amount = measure.control_on(self.side) if is_control else measure.levels_on(self.side)[level]
        if is_control and measure.is_judgement and measure.answers[answer] == "yes":
            amount = measure.control_yes
        rng = stream(SUITE, self.seed, measure.task, split, number)
        stimulus = Stimulus(amount, answer, self.side, variant)
        drawing = BLANK if self.is_blank and not measure.is_pointing else measure.draw(stimulus, rng)
        # The chance of hitting a target depends on the size of the image.
        size = drawing.image.size if measure.is_pointing else BLANK.image.size
        image = media.add_image(Image.new("L", size, 128) if self.is_blank else drawing.image, quick=True)
        factors = {"control": "yes" if is_control else "no", "level": str(level + 1), "variant": variant}
        if split == "train":
            factors["draw"] = str(1 + number // (EASY * self.train_exemplars))
        if self.is_part:
            factors["canvas"] = str(self.side)
        handle = f"generated/{measure.task}-{f'{self.side}-' * self.is_part}{split}-{number:04d}"
        shift = [self.side / 2 + drawing.measures.get(name, 0.0) for name in ("shift_x", "shift_y")]
        name = tuple(shift) if measure.is_pointing else measure.answers[answer]
        return Item(
            item_id=handle,
            suite=SUITE,
            task=measure.task,
            version=VERSION,
            split=split,
            question=measure.question,
            query=(image,),
            options=tuple(Option(key, key) for key in measure.answers),
            answer=name,
            answer_kind="point" if measure.is_pointing else "choice",
            stimulus_id=handle,
            group_id=handle,
            cluster_id=handle,
            factors={**factors, **drawing.factors},
            measures={measure.quantity: amount, "canvas_px": float(self.side), **drawing.measures},
            latent={
                **({} if measure.is_pointing else {"shows": {image.sha256: {"answer": name}}}),
                **({} if measure.is_pointing else {"claims": {key: {"answer": [key]} for key in measure.answers}}),
                "level": round(amount if measure.is_judgement else math.log10(amount), 6),
                **({"sides": list(measure.answers)} if measure.is_judgement else {}),
            },
            provenance={"source": "generated", "seed": self.seed},
        )


@dataclass(frozen=True)
class BankTask:
    """A task of a bank, with the number of its test items."""

    bank: Bank
    task: str
    count: int


def _items_of(bank_task: BankTask) -> list[Item]:
    """The items of a task; may run in another process."""
    return list(bank_task.bank.items(MEASURES[bank_task.task], bank_task.count))


def balanced(levels: Sequence[int], alternatives: int, rng: np.random.Generator) -> list[int]:
    """An answer for each item, by their levels: within a level all are equally frequent, or differ by one."""
    pools: dict[int, list[int]] = {}
    answers = []
    for level in levels:
        if not pools.get(level):
            pools[level] = rng.permutation(alternatives).tolist()
        answers.append(pools[level].pop())
    return answers
