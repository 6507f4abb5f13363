"""OCR: large upright boxes with a text, and cropped words that fill their image."""

from __future__ import annotations

from collections import Counter

import pytest

from snellen.core.item import Box
from snellen.curated_sets.ava_bench.abilities import ocr
from snellen.curated_sets.ava_bench.abilities.ocr import CURATION
from snellen.curated_sets.ava_bench.selection.candidates import OUTSIDE
from snellen.curated_sets.ava_bench.selection.rules import Rules
from snellen.datasets.sample import Annotation, AttributeValue
from tests.curated_sets.ava_bench.selection.class_fixtures import choices, chosen, find_all, make_items, of_class
from tests.curated_sets.ava_bench.selection.fixtures import curating, scene

COCO, CROPPED, TEXT_VQA = CURATION.datasets
BOX = (0.0, 0.0, 50.0, 50.0)


def word(text: str = "STOP", box: Box | None = BOX, **extra: AttributeValue) -> Annotation:
    return Annotation(text, box, None, extra)


@pytest.mark.parametrize(
    ("source", "annotations", "dropped"),
    [
        (COCO, [word(box=(0.0, 0.0, 30.0, 50.0))], {ocr.SMALL: 1}),  # 1500 square pixels, and it must be above
        (COCO, [word(box=(0.0, 0.0, 30.1, 50.0))], {}),
        (TEXT_VQA, [word(box=(0.0, 0.0, 40.0, 50.0))], {ocr.SMALL: 1}),
        (TEXT_VQA, [word(box=(0.0, 0.0, 40.1, 50.0))], {}),
        (TEXT_VQA, [word(rotation=0.0)], {}),
        (TEXT_VQA, [word(rotation=359.5)], {}),
        (TEXT_VQA, [word(rotation=-1.0)], {}),
        (TEXT_VQA, [word(rotation=1.5)], {ocr.TURNED: 1}),
        (TEXT_VQA, [word(rotation=180.0)], {ocr.TURNED: 1}),
        (TEXT_VQA, [word(rotation=float("nan"))], {ocr.TURNED: 1}),
        (TEXT_VQA, [word(rotation="none")], {ocr.TURNED: 1}),
        (COCO, [word(box=None)], {ocr.NO_BOX: 1}),
        (COCO, [word(box=(60.0, 0.0, 110.0, 90.0))], {OUTSIDE: 1}),
        (COCO, [word(" ")], {ocr.BLANK: 1}),
        (COCO, [], {ocr.NO_WORD: 1}),
        (COCO, [word(), word("GO"), word("A", (50.0, 50.0, 100.0, 100.0))], {ocr.TWO_TEXTS: 2}),
        (COCO, [word(), word(" STOP ")], {ocr.TWICE: 1}),
        (CROPPED, [word(box=None), word("GO", None)], {ocr.SEVERAL: 2}),
        (CROPPED, [word(box=(0.0, 0.0, 3.0, 3.0))], {}),
    ],
)
def test_words_that_are_left_out(source: str, annotations: list[Annotation], dropped: dict[str, int]) -> None:
    context = curating(choices=choices())
    candidates = find_all(CURATION, [scene(*annotations, source=source)], context)
    assert context.ledger.dropped == {("ocr", source, rule): count for rule, count in dropped.items()}
    assert len(candidates) == max(1, len(annotations)) - sum(dropped.values())


def test_the_box_of_a_cropped_word_is_the_whole_image() -> None:
    context = curating(choices=choices())
    [item] = make_items(CURATION, find_all(CURATION, of_class(CROPPED, "PRIVATE", 1), context), context)
    assert (item.answer, item.regions) == ("PRIVATE", {"red": [0.0, 0.0, 100.0, 100.0]})
    [item] = make_items(CURATION, find_all(CURATION, [scene(word("GO"), source=COCO)], context), context)
    assert (item.answer, item.regions) == ("GO", {"red": list(BOX)})


@pytest.mark.parametrize(
    ("text", "length_range"),
    [("ab de", "1-5"), ("abcdef", "6-10"), ("a" * 11, "11-20"), ("a" * 20, "11-20"), ("a" * 21, "21 and more")],
)
def test_strata_are_datasets_and_ranges_of_length(text: str, length_range: str) -> None:
    context = curating(choices=choices())
    [candidate] = find_all(CURATION, [scene(word(f" {text} "), source=COCO)], context)
    assert candidate.stratum == (COCO, "word", length_range)
    assert make_items(CURATION, [candidate], context)[0].factors["text_length"] == length_range


def test_the_words_of_each_dataset_are_limited() -> None:
    context = curating(Rules(words_iiit5k=3, words_others=4), choices())
    scenes = [scene(word(f"W{n}"), source=source, record=str(n)) for source in (COCO, CROPPED) for n in range(6)]
    scenes += [scene(word(f"W{n}"), source=TEXT_VQA, record=str(n)) for n in range(2)]
    counts = Counter(candidate.origin.source for candidate in chosen(CURATION, scenes, context))
    assert counts == {COCO: 4, CROPPED: 3, TEXT_VQA: 2}
    assert context.ledger.dropped == {("ocr", COCO, "more than 4 drawn"): 2, ("ocr", CROPPED, "more than 3 drawn"): 3}
