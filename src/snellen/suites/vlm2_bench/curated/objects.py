"""Sequences of pictures of objects of the user's own (section 2.2, appendix 4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import yaml
from pydantic import TypeAdapter, ValidationError

from snellen.core.errors import SnellenError
from snellen.core.hashing import digest
from snellen.core.item import Item, Media
from snellen.core.media import MediaFolder
from snellen.core.seeds import stream
from snellen.core.suite import BuildOptions
from snellen.suites.vlm2_bench.curated.steps import Made, add_different, folders_in, pictures_in, source_of
from snellen.suites.vlm2_bench.items import (
    SUITE,
    VERSION,
    Family,
    PictureSequence,
    compare_items,
    count_item,
    group_item,
)
from snellen.suites.vlm2_bench.sequences import PATTERNS_GRP, PATTERNS_OC, draw

TASKS = ("oc-cpr", "oc-cnt", "oc-grp")
MAIN, DISTRACTORS = 4, 3
"""The least pictures of a main object or person, and the least distractors, that the patterns take."""
LAYOUT = "give a folder TYPE/OBJECT/main/*.jpg (four pictures) and TYPE/OBJECT/distractors/OTHER/PICTURE.jpg"
IDENTITY: Mapping[str, tuple[str, ...]] = {"same": ("identity",), "which": ("identity",)}
"""What ideal observers must see: which one it is is all that is known of such pictures."""


def asked(task: str, sequence: PictureSequence, seed: int) -> tuple[Item, ...]:
    """What a task asks about a sequence."""
    family: Family = "oc" if task.startswith("oc") else "pc"
    if task.endswith("-cpr"):
        return compare_items(sequence, family)
    if task.endswith("-cnt"):
        return (count_item(sequence, family),)
    return (group_item(sequence, family, stream(SUITE, VERSION, seed, "options", sequence.handle)),)


@dataclass(frozen=True)
class MainObject:
    """A main object: its pictures, one picture of each distractor, and the cues that distractors are said to share."""

    type: str
    name: str
    main: tuple[Path, ...]
    distractors: Mapping[str, Path]
    shared: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def owners(self) -> dict[Path, str]:
        """Which object is on each picture."""
        main = dict.fromkeys(self.main, f"{self.type}/{self.name}")
        return main | {path: f"{self.type}/{self.name}/{other}" for other, path in self.distractors.items()}


def read_objects(root: Path) -> tuple[MainObject, ...]:
    """Every main object of a folder TYPE/OBJECT/{main/*, distractors/OTHER/PICTURE}.

    An optional `cues.yaml` beside `main` says what distractors share with the object (`OTHER: [colour, shape]`).
    Raises SnellenError naming the folder for too few pictures, and for two pictures of one distractor object, which
    would make a count wrong (appendix 4).
    """
    found = [_read_object(kind.name, folder) for kind in folders_in(root) for folder in folders_in(kind)]
    if not found:
        raise SnellenError(f"{root}: no objects; {LAYOUT}")
    return tuple(found)


def _read_object(kind: str, folder: Path) -> MainObject:
    main, distractors = pictures_in(folder / "main"), dict[str, Path]()
    for other in folders_in(folder / "distractors"):
        pictures = pictures_in(other)
        if len(pictures) > 1:
            names = ", ".join(path.name for path in pictures)
            raise SnellenError(f"{other}: {names} are pictures of the same distractor object; keep one of them")
        if pictures:
            distractors[other.name] = pictures[0]
    if len(main) < MAIN or len(distractors) < DISTRACTORS:
        raise SnellenError(
            f"{folder}: {len(main)} pictures in main and {len(distractors)} distractors; "
            f"at least {MAIN} and {DISTRACTORS} are needed: {LAYOUT}"
        )
    return MainObject(kind, folder.name, main, distractors, _read_cues(folder / "cues.yaml", distractors))


def _read_cues(path: Path, distractors: Mapping[str, Path]) -> Mapping[str, Sequence[str]]:
    if not path.is_file():
        return {}
    try:
        told = TypeAdapter(dict[str, list[str]]).validate_python(yaml.safe_load(path.read_text("utf-8")))
    except (yaml.YAMLError, ValidationError, UnicodeDecodeError) as error:
        raise SnellenError(f"{path}: write a list of shared cues a distractor, as in `OTHER: [colour]`") from error
    if unknown := next((name for name in told if name not in distractors), None):
        raise SnellenError(f"{path}: no distractor {unknown!r}; there are {', '.join(distractors)}")
    return told


def curate_objects(tasks: Sequence[str], options: BuildOptions, media: MediaFolder) -> Made:
    """The items of `oc-cpr`, `oc-cnt` and `oc-grp` that are wanted: nine sequences a main object (Table 5)."""
    objects = read_objects(source_of(options, "oc", tasks[0], LAYOUT))
    held = add_different(media, (path for one in objects for path in one.owners()))
    made = [_object_sequence(one, pattern, held, options.seed) for one in objects for pattern in PATTERNS_OC]
    order = stream(SUITE, VERSION, options.seed, "oc", "order").permutation(len(made))
    shown = [made[int(n)] for n in order]
    items = tuple(
        item
        for task in tasks
        for one in shown
        if task != "oc-grp" or one.pattern in PATTERNS_GRP
        for item in asked(task, one, options.seed)
    )
    types = len({one.type for one in objects})
    note = f"oc: {len(objects)} main objects of {types} types, {len(made)} sequences"
    return Made(items, (note + ("" if (types, len(objects)) == (8, 40) else " (the paper: 40 of 8, 360)"),))


def _object_sequence(one: MainObject, pattern: str, held: Mapping[Path, Media], seed: int) -> PictureSequence:
    rng = stream(SUITE, VERSION, seed, "oc", one.type, one.name, pattern)
    paths, order = draw(pattern, one.main, tuple(one.distractors.values()), rng)
    owners = one.owners()
    shared = sorted(
        {cue for other, path in one.distractors.items() if path in paths for cue in one.shared.get(other, ())}
    )
    return PictureSequence(
        digest(["oc", one.type, one.name, pattern], 10),
        tuple(held[path] for path in paths),
        order,
        pattern,
        one.type,
        f"oc-{one.type}/{one.name}",
        factors={"shared_cues": "+".join(shared)} if shared else {},
        shows={held[path].sha256: {"identity": owners[path]} for path in paths},
        requires=IDENTITY,
        provenance={"seed": seed, "pictures": [f"{owners[path]}/{path.name}" for path in paths]},
    )


def plan_objects(tasks: Sequence[str], options: BuildOptions) -> dict[str, int]:
    """Items a task."""
    count = len(read_objects(source_of(options, "oc", tasks[0], LAYOUT)))
    a_object = {"oc-cpr": 2 * len(PATTERNS_OC), "oc-cnt": len(PATTERNS_OC), "oc-grp": len(PATTERNS_GRP)}
    return {task: count * a_object[task] for task in tasks}
