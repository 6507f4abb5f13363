"""OCR: words in images of COCO-Text, IIIT5K and TextVQA (appendix A.2).

Boxes of COCO-Text and TextVQA must be large enough; A.2 requires nothing else, so handwriting, other languages and
signs stay if the datasets have a text for them. IIIT5K images are drawn whatever their size: an image is the cropped
word, its box is the whole image, and since lines run outside of boxes none is visible. TextVQA's words were read by a
program; rotated ones have no upright box and are left out.

Words are drawn by dataset, and split within the ranges of their length. The words of an image, and their number, are
random: A.2 asks about "the target word" of each image and does not say how it was chosen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from snellen.core.item import Box, Item
from snellen.curated_sets.ava_bench.selection.candidates import (
    OUTSIDE,
    Candidate,
    Curation,
    CurationContext,
    Pixels,
    draw_candidates,
    lies_in,
    origin_of,
)
from snellen.curation.draws import grouped
from snellen.datasets.sample import Annotation, Sample
from snellen.suites.ava_bench.abilities.ocr import NAME, TEXT_LENGTHS, ocr_item
from snellen.suites.ava_bench.items import ItemSource, box_area, range_name

COCO_TEXT, CROPPED, TEXT_VQA = "COCO-Text", "IIIT5K", "TextVQA"
DATASETS = (COCO_TEXT, CROPPED, TEXT_VQA)
LABEL = "word"
NO_WORD = "image without a word"
BLANK = "word without a text"
SEVERAL = "cropped word labelled as several words"
NO_BOX = "word without a box"
TURNED = "rotated word, whose box is not upright"
SMALL = "word with a box that is too small"
TWO_TEXTS = "box labelled with two texts"
TWICE = "second mention of a word"
TextsByBox = Mapping[Box | None, set[str]]


def find(scene: Sample, context: CurationContext) -> Iterator[Candidate]:
    """Words with a text and a large enough, upright box."""
    if not scene.annotations:
        context.ledger.drop(NAME, scene.source, NO_WORD, scene.record_id)
        return
    texts: dict[Box | None, set[str]] = {}
    for word in scene.annotations:
        texts.setdefault(word.box, set()).add(word.label.strip())
    origin, accepted_boxes = origin_of(scene), set[Box | None]()
    for word in scene.annotations:
        text = word.label.strip()
        if (
            rule := _text_rule(scene, word)
            or _box_rule(scene, word, context)
            or _repetition_rule(word, texts, accepted_boxes)
        ):
            context.ledger.drop(NAME, scene.source, rule, f"{scene.record_id}: {text}")
            continue
        accepted_boxes.add(word.box)
        yield Candidate(origin, LABEL, range_name(len(text), TEXT_LENGTHS), {"text": text, "box": word.box})


def _text_rule(scene: Sample, word: Annotation) -> str | None:
    if not word.label.strip():
        return BLANK
    return SEVERAL if scene.source == CROPPED and len(scene.annotations) > 1 else None


def _box_rule(scene: Sample, word: Annotation, context: CurationContext) -> str | None:
    """The rule that makes the box of a word unusable; a cropped word needs no box."""
    if word.box is None:
        return None if scene.source == CROPPED else NO_BOX
    if not lies_in(word.box, scene.size):
        return OUTSIDE
    turned = word.extra.get("rotation", 0.0)
    if not (isinstance(turned, int | float) and abs((turned + 180) % 360 - 180) <= context.rules.word_turn):
        return TURNED
    min_area = {COCO_TEXT: context.rules.word_area_coco_text, TEXT_VQA: context.rules.word_area_text_vqa}.get(
        scene.source
    )
    return SMALL if min_area is not None and box_area(word.box) <= min_area else None


def _repetition_rule(word: Annotation, texts: TextsByBox, accepted_boxes: set[Box | None]) -> str | None:
    if len(texts[word.box]) > 1:
        return TWO_TEXTS
    return TWICE if word.box in accepted_boxes else None


def select(candidates: Sequence[Candidate], context: CurationContext) -> list[Candidate]:
    """At most so many words per dataset as the rules allow, all equally likely."""
    return [
        candidate
        for source, source_candidates in grouped(candidates, lambda candidate: candidate.origin.source).items()
        for candidate in draw_candidates(
            source_candidates,
            context.rules.words_iiit5k if source == CROPPED else context.rules.words_others,
            NAME,
            context,
            source,
        )
    ]


def complete(candidate: Candidate, pixels: Callable[[], Pixels], context: CurationContext) -> Candidate | str:
    """The candidate, with the whole image as its box if the word has none."""
    if candidate.truth["box"] is not None:
        return candidate
    height, width = pixels().shape[:2]
    return replace(candidate, truth={**candidate.truth, "box": (0.0, 0.0, float(width), float(height))})


def make_curated_item(candidate: Candidate, item_source: ItemSource, rng: np.random.Generator) -> Item:
    """An item `What is written in the red bounding box in the image?`, without options."""
    return ocr_item(item_source, candidate.truth["box"], candidate.truth["text"])


CURATION = Curation(
    name=NAME, datasets=DATASETS, find=find, select=select, complete=complete, make_item=make_curated_item
)
