"""Sequences of images of the user's objects (section 2.2, appendix 4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import yaml
from pydantic import TypeAdapter, ValidationError

from snellen.core.build_options import BuildOptions
from snellen.core.errors import SnellenError
from snellen.core.hashing import digest
from snellen.core.item import Media
from snellen.core.seeds import stream
from snellen.core.storage.media import MediaFolder
from snellen.core.storage.user_yaml import read_yaml
from snellen.curation.draws import shuffled
from snellen.suites.vlm2_bench.folders import CuratedItems, add_distinct, folders_in, images_in, source_folder
from snellen.suites.vlm2_bench.items import STREAMS, SUITE, ImageSequence, sequence_items
from snellen.suites.vlm2_bench.sequences import PATTERNS_GRP, PATTERNS_OC, draw

TASKS = ("oc-cpr", "oc-cnt", "oc-grp")
MIN_MAIN, MIN_DISTRACTORS = 4, 3
"""Minimum images of a main object or person, and minimum distractors, for all patterns."""
LAYOUT = "give a folder TYPE/OBJECT/main/*.jpg (four images) and TYPE/OBJECT/distractors/OTHER/IMAGE.jpg"
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


def read_objects(root: Path) -> tuple[MainObject, ...]:
    """All main objects of a folder TYPE/OBJECT/{main/*, distractors/OTHER/IMAGE}.

    An optional `cues.yaml` next to `main` lists the cues that distractors share with the object (`OTHER: [colour,
    shape]`). Raises SnellenError naming the folder for too few images, and for two images of one distractor object,
    which would make a count wrong (appendix 4).
    """
    objects = tuple(_read_object(kind.name, folder) for kind in folders_in(root) for folder in folders_in(kind))
    if not objects:
        raise SnellenError(f"{root}: no objects; {LAYOUT}")
    return objects


def _read_object(kind: str, folder: Path) -> MainObject:
    main, distractors = images_in(folder / "main"), dict[str, Path]()
    for other in folders_in(folder / "distractors"):
        images = images_in(other)
        if len(images) > 1:
            names = ", ".join(path.name for path in images)
            raise SnellenError(f"{other}: {names} are images of the same distractor object; keep one of them")
        if images:
            distractors[other.name] = images[0]
    if len(main) < MIN_MAIN or len(distractors) < MIN_DISTRACTORS:
        raise SnellenError(
            f"{folder}: {len(main)} images in main and {len(distractors)} distractors; "
            f"at least {MIN_MAIN} and {MIN_DISTRACTORS} are needed: {LAYOUT}"
        )
    return MainObject(kind, folder.name, main, distractors, _read_cues(folder / "cues.yaml", distractors))


def _read_cues(path: Path, distractors: Mapping[str, Path]) -> Mapping[str, Sequence[str]]:
    if not path.is_file():
        return {}
    try:
        cues = TypeAdapter(dict[str, list[str]]).validate_python(read_yaml(path))
    except (OSError, yaml.YAMLError, ValidationError, UnicodeDecodeError) as error:
        raise SnellenError(f"{path}: write a list of shared cues per distractor, as in `OTHER: [colour]`") from error
    if unknown := next((name for name in cues if name not in distractors), None):
        raise SnellenError(f"{path}: no distractor {unknown!r}; available: {', '.join(distractors)}")
    return cues


def curate_objects(tasks: Sequence[str], options: BuildOptions, media: MediaFolder) -> CuratedItems:
    """The requested items of `oc-cpr`, `oc-cnt` and `oc-grp`: nine sequences per main object (Table 5)."""
    return object_items(read_objects(source_folder(options, "oc", tasks[0], LAYOUT)), tasks, options, media)


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


def plan_objects(tasks: Sequence[str], options: BuildOptions) -> dict[str, int]:
    """The number of items per task."""
    count = len(read_objects(source_folder(options, "oc", tasks[0], LAYOUT)))
    per_object = {"oc-cpr": 2 * len(PATTERNS_OC), "oc-cnt": len(PATTERNS_OC), "oc-grp": len(PATTERNS_GRP)}
    return {task: count * per_object[task] for task in tasks}
