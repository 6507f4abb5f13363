"""Sequences of images of the user's objects, read from folders (section 2.2, appendix 4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import yaml
from pydantic import TypeAdapter, ValidationError

from snellen.core.build_options import BuildOptions
from snellen.core.errors import SnellenError
from snellen.core.storage.media import MediaFolder
from snellen.core.storage.user_yaml import read_yaml
from snellen.suites.vlm2_bench.folders import CuratedItems, folders_in, images_in, source_folder
from snellen.suites.vlm2_bench.objects import MIN_DISTRACTORS, MIN_MAIN, MainObject, object_items
from snellen.suites.vlm2_bench.sequences import PATTERNS_GRP, PATTERNS_OC

LAYOUT = "give a folder TYPE/OBJECT/main/*.jpg (four images) and TYPE/OBJECT/distractors/OTHER/IMAGE.jpg"


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


def plan_objects(tasks: Sequence[str], options: BuildOptions) -> dict[str, int]:
    """The number of items per task."""
    count = len(read_objects(source_folder(options, "oc", tasks[0], LAYOUT)))
    per_object = {"oc-cpr": 2 * len(PATTERNS_OC), "oc-cnt": len(PATTERNS_OC), "oc-grp": len(PATTERNS_GRP)}
    return {task: count * per_object[task] for task in tasks}
