"""Sequences of images of the user's objects (section 2.2, appendix 4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from snellen.core.build_options import BuildOptions
from snellen.core.hashing import digest
from snellen.core.item import Media
from snellen.core.seeds import stream
from snellen.core.storage.media import MediaFolder
from snellen.curation.draws import shuffled
from snellen.suites.vlm2_bench.folders import CuratedItems, add_distinct
from snellen.suites.vlm2_bench.items import STREAMS, SUITE, ImageSequence, sequence_items
from snellen.suites.vlm2_bench.sequences import PATTERNS_GRP, PATTERNS_OC, draw

TASKS = ("oc-cpr", "oc-cnt", "oc-grp")
MIN_MAIN, MIN_DISTRACTORS = 4, 3
"""Minimum images of a main object or person, and minimum distractors, for all patterns."""
IDENTITY: Mapping[str, tuple[str, ...]] = {"same": ("identity",), "which": ("identity",)}
"""The factor that ideal observers must see: of such images only the identity is known."""


@dataclass(frozen=True)
class MainObject:
    """A main object: its images, one image of each distractor, and the cues that distractors share with it."""

    type: str
    name: str
    main: tuple[Path, ...]
    distractors: Mapping[str, Path]
    shared: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def owners(self) -> dict[Path, str]:
        """The object on each image."""
        main = dict.fromkeys(self.main, f"{self.type}/{self.name}")
        return main | {path: f"{self.type}/{self.name}/{other}" for other, path in self.distractors.items()}


def object_items(
    objects: Sequence[MainObject], tasks: Sequence[str], options: BuildOptions, media: MediaFolder
) -> CuratedItems:
    """The items of the tasks about these objects; their images are stored."""
    images = add_distinct(media, (path for main_object in objects for path in main_object.owners()))
    sequences = [
        _object_sequence(main_object, pattern, images, options.seed)
        for main_object in objects
        for pattern in PATTERNS_OC
    ]
    items = tuple(
        item
        for task in tasks
        for sequence in shuffled(sequences, stream(SUITE, STREAMS, options.seed, "oc", "order"))
        if task != "oc-grp" or sequence.pattern in PATTERNS_GRP
        for item in sequence_items(task, sequence, options.seed)
    )
    types = len({main_object.type for main_object in objects})
    note = f"oc: {len(objects)} main objects of {types} types, {len(sequences)} sequences"
    return CuratedItems(items, (note + ("" if (types, len(objects)) == (8, 40) else " (the paper: 40 of 8, 360)"),))


def _object_sequence(main_object: MainObject, pattern: str, images: Mapping[Path, Media], seed: int) -> ImageSequence:
    rng = stream(SUITE, STREAMS, seed, "oc", main_object.type, main_object.name, pattern)
    paths, order = draw(pattern, main_object.main, tuple(main_object.distractors.values()), rng)
    owners = main_object.owners()
    shared = sorted(
        {
            cue
            for other, path in main_object.distractors.items()
            if path in paths
            for cue in main_object.shared.get(other, ())
        }
    )
    return ImageSequence(
        digest(["oc", main_object.type, main_object.name, pattern], 10),
        tuple(images[path] for path in paths),
        order,
        pattern,
        main_object.type,
        f"oc-{main_object.type}/{main_object.name}",
        factors={"shared_cues": "+".join(shared)} if shared else {},
        shows={images[path].sha256: {"identity": owners[path]} for path in paths},
        requires=IDENTITY,
        provenance={"seed": seed, "images": [f"{owners[path]}/{path.name}" for path in paths]},
    )
