"""The `own` recipe: object groups of things of the user's own, a folder a thing.

    snellen build vlm2-bench --from own --source objects=DIR --out SET

Sequences are those of the curated recipe (Table 5). Its distractors look like the main object and were chosen by hand;
here they are other things of the same folder, drawn by the seed, one picture each.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from snellen.core.condition import refuse_unknown
from snellen.core.errors import SnellenError
from snellen.core.itemset import ItemSet, media_digest, prune_media, refuse_existing, write_itemset
from snellen.core.media import MediaFolder
from snellen.core.seeds import stream
from snellen.core.suite import BuildOptions
from snellen.curation.draws import shuffled
from snellen.curation.ledger import ANY_SOURCE, Ledger
from snellen.datasets.inventory import Note
from snellen.datasets.own_pictures import OWN, read_own_pictures
from snellen.suites.vlm2_bench.curated.objects import (
    MIN_DISTRACTORS,
    MIN_MAIN,
    TASKS,
    MainObject,
    object_items,
)
from snellen.suites.vlm2_bench.curated.recipe import at_most
from snellen.suites.vlm2_bench.items import SUITE, VERSION
from snellen.suites.vlm2_bench.sequences import PATTERNS_GRP, PATTERNS_OC

OBJECTS = "objects"
MAX_DISTRACTORS = 8
"""Of a thing, each another one."""
UNIT = "pictures or things"


class OwnThing(MainObject):
    """A main object whose distractors are main objects too: a picture shows the same one wherever it stands."""

    def owners(self) -> dict[Path, str]:
        """Which thing is on each picture."""
        return dict.fromkeys(self.main, self.name) | {path: other for other, path in self.distractors.items()}


@dataclass(frozen=True)
class Own:
    """The recipe `own`."""

    def parameters(self, options: BuildOptions) -> Mapping[str, Any]:
        """Tasks, seed, bound on the number of items."""
        return {"tasks": list(options.tasks or TASKS), "seed": options.seed, "n": options.n}

    def plan(self, options: BuildOptions) -> Mapping[str, Any]:
        """Pictures of each thing, items, and what is left out. No picture is opened."""
        ledger = Ledger()
        objects = read_things(options, ledger)
        counts = {"oc-cpr": 2 * len(PATTERNS_OC), "oc-cnt": len(PATTERNS_OC), "oc-grp": len(PATTERNS_GRP)}
        return {
            "suite": SUITE,
            "things": {thing.name: len(thing.main) for thing in objects},
            "items": {task: len(objects) * counts[task] for task in options.tasks or TASKS},
            "left_out": ledger.notes(UNIT),
        }

    def build(self, options: BuildOptions) -> ItemSet:
        """Nine sequences a thing. Raises SnellenError for too few things, and for a picture that is there twice."""
        refuse_existing(options.out)
        media, ledger = MediaFolder(options.out / "media"), Ledger()
        curated = object_items(read_things(options, ledger), options.tasks or TASKS, options, media)
        items = at_most(list(curated.items), options)
        prune_media(media, items)
        return write_itemset(
            options.out,
            items,
            source=OWN,
            recipe={
                **self.parameters(options),
                "media": media_digest(items),
            },
            notes=[
                *curated.notes,
                "distractors are other things of your own, drawn by the seed: nobody saw to it that they look alike",
                *ledger.notes(UNIT),
            ],
        )


def read_things(options: BuildOptions, ledger: Ledger) -> list[MainObject]:
    """Things of four pictures or more, with distractors drawn of all things.

    Raises SnellenError where there are too few.
    """
    where = f"{SUITE} --from own"
    options.need_items(SUITE)
    refuse_unknown(options.tasks, TASKS, f"{where}: no task")
    refuse_unknown(options.sources, [OBJECTS], f"{where}: no source")
    if OBJECTS not in options.sources or options.inputs:
        raise SnellenError(f"{where}: give --source {OBJECTS}=DIR with one folder a thing, and nothing else")
    things: dict[str, list[Path]] = {}
    for sample in read_own_pictures(options.sources[OBJECTS]):
        if isinstance(sample, Note):
            ledger.drop(UNIT, ANY_SOURCE, f"{sample.kind}: {sample.message}", sample.location)
        else:
            things.setdefault(str(PurePosixPath(sample.record_id).parent), []).append(sample.picture.path)
    objects: list[MainObject] = []
    for name, paths in things.items():
        others = shuffled([other for other in things if other != name], stream(SUITE, VERSION, options.seed, OWN, name))
        if len(paths) < MIN_MAIN:
            ledger.drop(UNIT, ANY_SOURCE, f"fewer than {MIN_MAIN} pictures; a distractor only", name)
        elif len(others) >= MIN_DISTRACTORS:
            distractors = {other: _any_picture(things[other], options.seed, name) for other in others[:MAX_DISTRACTORS]}
            objects.append(OwnThing("object", name, tuple(paths), distractors))
    if not objects:
        raise SnellenError(
            f"{options.sources[OBJECTS]}: needs a thing of {MIN_MAIN} pictures or more and {MIN_DISTRACTORS} other "
            f"things, a folder each; there are {len(things)} ({'; '.join(ledger.notes(UNIT))[:1000]})"
        )
    return objects


def _any_picture(paths: list[Path], seed: int, name: str) -> Path:
    return shuffled(paths, stream(SUITE, VERSION, seed, OWN, name, paths[0].parent.name))[0]
