"""OCR: words in pictures of COCO-Text, IIIT5K and TextVQA (appendix A.2).

Boxes of COCO-Text and TextVQA must be large enough; A.2 asks for nothing else, so that handwriting, other languages and
marks stay where the datasets have a text for them. Of IIIT5K so many pictures are drawn, whatever their size: a picture
is the cropped word, its box is the whole picture, and since lines run outside of boxes none is seen there. TextVQA's
words were read by a program; those that are turned have no upright box and are left out.

Words are drawn by dataset, and split within the ranges of their length. Which words of a picture, and how many, is
chance: A.2 asks about "the target word" of each image and does not say how it was found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from snellen.core.item import Box, Item
from snellen.curation.draws import grouped
from snellen.datasets.sample import Annotation, Sample
from snellen.suites.ava_bench import items as make
from snellen.suites.ava_bench.curated.candidates import Ability, Asker, Candidate, Curating, Pixels, drawn, origin_of
from snellen.suites.ava_bench.curated.classification import OUTSIDE, lies_in
from snellen.suites.ava_bench.items import Shown

NAME = "ocr"
COCO_TEXT, CROPPED, TEXT_VQA = "COCO-Text", "IIIT5K", "TextVQA"
SOURCES = (COCO_TEXT, CROPPED, TEXT_VQA)
LABEL = "word"
NO_WORD = "picture without a word"
BLANK = "word without a text"
SEVERAL = "cropped word that is said to be several words"
NO_BOX = "word without a box"
TURNED = "word that is turned, so that its box is not upright"
SMALL = "word whose box is too small"
TWO_TEXTS = "box that is said to hold two texts"
TWICE = "second mention of a word"
Said = Mapping[Box | None, set[str]]


def look(scene: Sample, at: Curating) -> Iterator[Candidate]:
    """Words with a text and a large enough, upright box."""
    if not scene.annotations:
        at.ledger.drop(NAME, scene.source, NO_WORD, scene.record_id)
        return
    said: dict[Box | None, set[str]] = {}
    for word in scene.annotations:
        said.setdefault(word.box, set()).add(word.label.strip())
    origin, seen = origin_of(scene), set[Box | None]()
    for word in scene.annotations:
        text = word.label.strip()
        if rule := _no_text(scene, word) or _no_box(scene, word, at) or _told_before(word, said, seen):
            at.ledger.drop(NAME, scene.source, rule, f"{scene.record_id}: {text}")
            continue
        seen.add(word.box)
        yield Candidate(origin, LABEL, length_range(text), {"text": text, "box": word.box})


def _no_text(scene: Sample, word: Annotation) -> str | None:
    if not word.label.strip():
        return BLANK
    return SEVERAL if scene.source == CROPPED and len(scene.annotations) > 1 else None


def _no_box(scene: Sample, word: Annotation, at: Curating) -> str | None:
    """Why the box of a word is of no use; a cropped word needs none."""
    if word.box is None:
        return None if scene.source == CROPPED else NO_BOX
    if not lies_in(word.box, scene.size):
        return OUTSIDE
    turned = word.extra.get("rotation", 0.0)
    if not (isinstance(turned, int | float) and abs((turned + 180) % 360 - 180) <= at.rules.word_turn):
        return TURNED
    least = {COCO_TEXT: at.rules.word_area_coco_text, TEXT_VQA: at.rules.word_area_text_vqa}.get(scene.source)
    return SMALL if least is not None and make.box_area(word.box) <= least else None


def _told_before(word: Annotation, said: Said, seen: set[Box | None]) -> str | None:
    if len(said[word.box]) > 1:
        return TWO_TEXTS
    return TWICE if word.box in seen else None


def length_range(text: str) -> str:
    """The range that the number of characters belongs to, of `items.TEXT_LENGTHS`."""
    return next(name for most, name in make.TEXT_LENGTHS if len(text) <= most)


def choose(found: Sequence[Candidate], at: Curating) -> list[Candidate]:
    """At most so many words of each dataset, all equally likely."""
    return [
        one
        for source, held in grouped(found, lambda one: one.origin.source).items()
        for one in drawn(held, at.rules.words_iiit5k if source == CROPPED else at.rules.words_others, NAME, at, source)
    ]


def see(candidate: Candidate, pixels: Callable[[], Pixels], at: Curating) -> Candidate | str:
    """With the rectangle of the whole picture where the word has no box."""
    if candidate.truth["box"] is not None:
        return candidate
    height, width = pixels().shape[:2]
    return replace(candidate, truth={**candidate.truth, "box": (0.0, 0.0, float(width), float(height))})


def make_item_maker(task: str, chosen: Sequence[Candidate], at: Curating) -> Asker:
    """`What is written in the red bounding box in the image?`, with no options."""

    def item(one: Candidate, of: Shown, rng: np.random.Generator) -> Item:
        return make.ocr_item(of, one.truth["box"], one.truth["text"])

    return item


ABILITY = Ability((NAME,), SOURCES, look, choose, make_item_maker, see)
