"""What every curation finds in scenes with any facts that a reader may give, selects and asks equals the goldens."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from snellen.core.seeds import stream
from snellen.curated_sets.ava_bench.abilities import CURATIONS
from snellen.curated_sets.ava_bench.selection import depths
from snellen.curated_sets.ava_bench.selection.candidates import Candidate
from snellen.curated_sets.ava_bench.selection.choices import read_choices
from snellen.curated_sets.ava_bench.selection.rules import Rules
from snellen.curated_sets.rules import Caps
from snellen.datasets.sample import NOT_EXHAUSTIVE_FIELD, Annotation, ImageQuestion, Sample
from snellen.suites.ava_bench.items import ORIENTATIONS
from tests.curated_sets.ava_bench.selection.fixtures import curating, scene
from tests.curated_sets.ava_bench.selection.marked_scenes import item_source
from tests.goldens.descriptions import grouped_text
from tests.goldens.golden import assert_golden

RULES = Rules(
    fewest=2, a_thing=9, most_counted=4, counted_open=Caps(2, 4, 2), counted_fsc=Caps(1, 3, 2), counted_cars=Caps(2, 5),
    counted_crowds=Caps(1, 4), spatial_references=1, spatial_rows=2, spatial_positions=2, spatial_classes=2,
    coloured_images=30, depth_indoor=Caps(2, 4, 2), depth_outdoor=Caps(2, 5), pairs_indoor=Caps(3, 6),
    pairs_indoor_classes=2, pairs_outdoor=16, scene_images=5, action_images=9, emotion_images=8, texture=Caps(4, 12),
    orientation=Caps(2, 4, 2), orientation_cure_or=Caps(1, 2, 2), species_images=3, species_birds=2, species_others=2,
    words_iiit5k=15, words_others=18,
)  # fmt: skip
LABELS = {
    "NYU-Depth-V2": ("chair", "lamp", "bath_towel", "wall"),
    "KITTI": ("Car", "Van", "Person_sitting", "Cyclist", "Tram"),
    "RAF-DB": ("happiness", "sadness", "anger", "odd"), "ExpW": ("happy", "sad", "fear", "odd"),
    "CUB-200-2011": ("002.Crow", "001.Crow", "003.Black_Tern"), "FGVC-Aircraft": ("DH-82", "737-300", "A380"),
    "iNaturalist-2021": ("Boletus edulis", "Canis lupus"), "CURE-OR": ("007", "012"),
    "EgoOrientBench": ("toy_plane", "bus", " "), "COCO-Text": ("STOP", "no parking", "a sign of the time"),
    "IIIT5K": ("PRIVATE", "exit"), "TextVQA": ("NOKIA", "7 up"), "AID": ("BareLand", "Port", "Park"),
    "Places434": ("arena/hockey", "beach", "mountain_snowy"), "DTD": ("woven", "polka-dotted"),
    "Moments-in-Time": ("applauding", "clapping", "adult+male+speaking"), "KTH-TIPS": ("cotton", "sandpaper", "linen"),
    "Kylberg": ("stone1", "stone2", "stoneslab1"), "KTH-TIPS2-b": ("cotton", "aluminium_foil"),
    "CrowdHuman": ("person", "mask"), "VSCrowd": ("person",), "CARPK": ("car",), "FSC-147": ("sea shells", "eggs"),
    "LVIS": ("cup", "orange_juice", "mouse_(computer_equipment)"),
}  # fmt: skip
UNFITTED = ("COCO-Text", "TextVQA", "RAF-DB", "ExpW")
"""Datasets of which boxes outside their image are tried too."""
QUESTIONS = (
    "How many dogs are there?", "How many red cars are there?", "how many people in the scene", "What is this?",
    "How many  traffic lights can you see in this photo?",
)  # fmt: skip


def scenes(source: str, rng: np.random.Generator) -> list[Sample]:
    """Images of a dataset with up to five things each, of unequal sides, with usual and odd values of every fact."""
    count = 600 if source in depths.SOURCES else 160

    def pick(values: Sequence[Any]) -> Any:
        return values[int(rng.integers(len(values)))]

    labels = [*list(read_choices().categories(source))[:3], *LABELS.get(source, ())]
    width, height = {"KITTI": (1242, 375), "NYU-Depth-V2": (640, 480)}.get(source, (300, 200))

    def random_annotation() -> Annotation:
        left, top = (float(rng.integers(side - 9)) for side in (width, height))
        right, low = left + float(rng.integers(9, width // 4)), top + float(rng.integers(9, height // 2))
        box = left, top, *((right, low) if source in UNFITTED else (min(right, width + 0.0), min(low, height + 0.0)))
        metres = pick((0.25, 0.75, 1.25, 1.5, 2.75, 3.5, 4.25, 8.0, 12.25, 30.5, float("nan"), "far"))
        facts = {
            "nearest_m": metres * (1 + 2 * (source == "KITTI")), "occluded": pick((0.0, 0.0, 0.0, 1.0)),
            "orientation": pick((*ORIENTATIONS, "sideways")), "rotation": pick((0.0, 0.0, 359.5, 30.0)),
            "kingdom": pick(("Fungi", "Fungi", "Plantae", "Chromista")),
        }  # fmt: skip
        flags = pick(({},) * 18 + ({"iscrowd": True}, {"ignore": True}))
        return Annotation(pick(labels), pick((box, box, box, box, box, None)), None, facts | flags)

    def image(n: int) -> Sample:
        attributes = {
            "scene": f"office_{n % 7}", "drive": f"drive_{n % 5}", "video": f"train_{n % 9}" * (source == "VSCrowd"),
            "background": pick(("white", "white", "2D kitchen", "3D office")), "device": pick(("Nikon D80", "LG Leon")),
            "challenge": pick((1.0, 1.0, 1.0, 2.0)), "unmarked": pick(((), (), (), (0.0, 0.0, 90.0, 90.0))),
            NOT_EXHAUSTIVE_FIELD: pick(((), (), (), (), (labels[0],))) if labels else (),
        }  # fmt: skip
        annotations = [random_annotation() for _ in range(pick((0, 1, 1, 1, 2, 2, 3, 5)))] if labels else []
        answers = (pick(("2", "two", "1", "3", "0", "many")), "7")
        questions = tuple(ImageQuestion(str(k), pick(QUESTIONS), answers) for k in range(pick((0, 1, 2))))
        size, lost = pick(((width, height),) * 8 + (None,)), pick((0,) * 9 + (1,))
        return scene(
            *annotations, source=source, record=f"{n * 7 % count:03}", size=size, lost=lost, questions=questions,
            attributes=attributes,
        )  # fmt: skip

    return [image(n) for n in range(count)]


@pytest.mark.parametrize("task", list(CURATIONS))
def test_curations_choose_and_ask_as_they_did(task: str) -> None:
    curation, context = CURATIONS[task], curating(RULES, read_choices(), seed=5)
    samples = [sample for source in curation.datasets for sample in scenes(source, stream("any scenes", source))]
    selected = curation.select(
        [candidate for sample in samples for candidate in curation.find(sample, context)], context
    )
    assert selected
    head: list[object] = [*Counter(candidate.stratum for candidate in selected).items()]
    head += context.ledger.table().itertuples(index=False, name=None)
    records: list[tuple[str, object]] = [(candidate.origin.source, candidate) for candidate in selected]
    if task != "colour":  # its regions depend on the processor
        pixels = np.zeros((200, 300, 3), np.uint8)
        for candidate in selected:
            completed = curation.complete(candidate, lambda: pixels, context)
            assert isinstance(completed, Candidate)
            source = item_source(completed, candidate.origin.size or (300, 200))
            records.append((f"items {source.dataset}", curation.make_item(completed, source, context.rng("asked"))))
    assert_golden(f"curations/{task}.txt", grouped_text(head, records))
