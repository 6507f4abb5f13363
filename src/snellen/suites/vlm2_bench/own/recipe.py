"""The `own` recipe: object groups of the user's things, one folder per thing.

    snellen build vlm2-bench --from own --source objects=DIR --out SET

DIR may also be a Hugging Face dataset folder (`snellen.datasets.hub_tables`) with a column that identifies the thing.

Sequences are those of the curated recipe (Table 5). There, distractors look like the main object and are chosen by
hand; here they are other things of the same folder, drawn by the seed, one image each.
"""

from __future__ import annotations

import io
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from snellen.core.build_options import BuildOptions
from snellen.core.condition import refuse_unknown
from snellen.core.errors import SnellenError
from snellen.core.item_checks import size_fault
from snellen.core.seeds import stream
from snellen.core.storage.itemset import ItemSet, media_digest, prune_media, refuse_existing, write_itemset
from snellen.core.storage.media import MediaFolder, open_image
from snellen.curation.draws import Reservoir, shuffled
from snellen.curation.ledger import ANY_SOURCE, Ledger
from snellen.curation.near_copies import find_near_copies, near_copy_notes, thumbnail
from snellen.datasets.hub_tables import TableRow, reading_order
from snellen.datasets.own_images import CLASS_COLUMNS, OWN, read_own_images
from snellen.datasets.sample import Note, Sample
from snellen.suites.vlm2_bench.folders import at_most
from snellen.suites.vlm2_bench.items import STREAMS, SUITE
from snellen.suites.vlm2_bench.objects import MIN_DISTRACTORS, MIN_MAIN, TASKS, MainObject, object_items
from snellen.suites.vlm2_bench.sequences import PATTERNS_GRP, PATTERNS_OC

OBJECTS = "objects"
MAX_DISTRACTORS, MAX_MAIN = 8, 12
"""Maximum distractors per thing, and maximum images of it, drawn by the seed."""
THING_COLUMNS = ("object", "object_id", "thing", "thing_id", "group", "group_id", "instance", "instance_id")
"""Columns of a dataset that identify the thing on an image, tried before those of classes."""
UNIT = "images or things"


class OwnThing(MainObject):
    """A main object whose distractors are main objects too, so that each image has one identity in all sequences."""

    def owners(self) -> dict[Path, str]:
        """The thing on each image."""
        return dict.fromkeys(self.main, self.name) | {path: other for other, path in self.distractors.items()}


@dataclass(frozen=True)
class Own:
    """The recipe `own`."""

    def parameters(self, options: BuildOptions) -> Mapping[str, Any]:
        """Tasks, seed and limit on the number of items."""
        return {"tasks": list(options.tasks or TASKS), "seed": options.seed, "n": options.n}

    def plan(self, options: BuildOptions) -> Mapping[str, Any]:
        """Images per thing, number of items, and exclusions. Images are read, none is written."""
        ledger = Ledger()
        with tempfile.TemporaryDirectory() as folder:
            objects, look_notes = read_things(options, ledger, Path(folder))
        counts = {"oc-cpr": 2 * len(PATTERNS_OC), "oc-cnt": len(PATTERNS_OC), "oc-grp": len(PATTERNS_GRP)}
        return {
            "suite": SUITE,
            "things": {thing.name: len(thing.main) for thing in objects},
            "items": {task: len(objects) * counts[task] for task in options.tasks or TASKS},
            "left_out": ledger.notes(UNIT),
            "notes": look_notes,
        }

    def build(self, options: BuildOptions) -> ItemSet:
        """Write nine sequences per thing. Raises SnellenError for too few things, and for duplicate images."""
        refuse_existing(options.out)
        media, ledger = MediaFolder(options.out / "media"), Ledger()
        with tempfile.TemporaryDirectory() as folder:
            objects, look_notes = read_things(options, ledger, Path(folder))
            curated = object_items(objects, options.tasks or TASKS, options, media)
        items = at_most(list(curated.items), options)
        prune_media(media, items)
        return write_itemset(
            options.out,
            items,
            source=OWN,
            recipe={**self.parameters(options), "media": media_digest(items)},
            notes=[
                *curated.notes,
                "distractors are other things of your own, drawn by the seed and not chosen for similarity",
                *look_notes,
                *ledger.notes(UNIT),
            ],
        )


def read_things(options: BuildOptions, ledger: Ledger, folder: Path) -> tuple[list[MainObject], list[str]]:
    """Things with at least four images, with distractors drawn from all things, and notes on near-copies.

    Rows of tables are written into `folder`. Raises SnellenError if there are too few things.
    """
    prefix = f"{SUITE} --from own"
    options.need_items(SUITE)
    refuse_unknown(options.tasks, TASKS, f"{prefix}: no task")
    refuse_unknown(options.sources, [OBJECTS], f"{prefix}: no source")
    if OBJECTS not in options.sources or options.inputs:
        raise SnellenError(f"{prefix}: give --source {OBJECTS}=DIR with one folder per thing, and nothing else")
    things, notes = _unlike_images(_read_images(_draw(options, ledger), folder, ledger), ledger)
    objects: list[MainObject] = []
    for name, paths in things.items():
        others = shuffled([other for other in things if other != name], stream(SUITE, STREAMS, options.seed, OWN, name))
        if len(paths) < MIN_MAIN:
            ledger.drop(UNIT, ANY_SOURCE, f"fewer than {MIN_MAIN} images; used only as a distractor", name)
        elif len(others) >= MIN_DISTRACTORS:
            distractors = {
                other: _any_image(things[other], options.seed, name, other) for other in others[:MAX_DISTRACTORS]
            }
            objects.append(OwnThing("object", name, tuple(paths), distractors))
    if not objects:
        raise SnellenError(
            f"{options.sources[OBJECTS]}: needs a thing with at least {MIN_MAIN} images and {MIN_DISTRACTORS} other "
            f"things, one folder each; there are {len(things)} ({'; '.join(ledger.notes(UNIT))[:1000]})"
        )
    return objects, notes


def _draw(options: BuildOptions, ledger: Ledger) -> dict[str, Reservoir[Sample]]:
    """At most `MAX_MAIN` images of every thing, by name: its folder, or the value in the table."""
    draws: dict[str, Reservoir[Sample]] = {}
    for sample in read_own_images(options.sources[OBJECTS], None, (*THING_COLUMNS, *CLASS_COLUMNS), ids=True):
        if isinstance(sample, Note):
            ledger.drop(UNIT, ANY_SOURCE, f"{sample.kind}: {sample.message}", sample.location)
            continue
        in_table = isinstance(sample.image, TableRow)
        name = sample.label if in_table else str(PurePosixPath(sample.record_id).parent)
        if name not in draws:
            draws[name] = Reservoir(MAX_MAIN, stream(SUITE, STREAMS, options.seed, OWN, "pictures", name))
        draws[name].offer(sample)
    for name, draw in draws.items():
        if rest := draw.offered - len(draw.samples):
            rule = f"more than {MAX_MAIN} images of a thing; sampled by the seed"
            ledger.drop(UNIT, ANY_SOURCE, rule, name, rest)
    return draws


def _read_images(
    reservoirs: Mapping[str, Reservoir[Sample]], folder: Path, ledger: Ledger
) -> dict[str, dict[Path, bytes]]:
    """The image files of each thing with small copies; images in tables are written into `folder`."""
    images: dict[str, dict[Path, bytes]] = {name: {} for name in reservoirs}
    every = [(name, sample) for name, draw in reservoirs.items() for sample in draw.samples]
    for number, (name, sample) in enumerate(sorted(every, key=lambda pair: reading_order(pair[1].image))):
        try:
            raw, format = sample.read_image()
            grey = _grey(raw)
        except Exception:  # noqa: BLE001  # decoders raise many types of errors for damaged images
            ledger.drop(UNIT, ANY_SOURCE, "the image cannot be read", sample.record_id)
            continue
        path = sample.image.path
        if isinstance(sample.image, TableRow):
            path = folder / f"{number:06d}-row-{sample.image.row}.{format}"
            path.write_bytes(raw)
        images[name][path] = grey
    return {name: of_thing for name, of_thing in images.items() if of_thing}


def _grey(raw: bytes) -> bytes:

    with open_image(io.BytesIO(raw)) as image:
        if fault := size_fault(*image.size):
            raise SnellenError(fault)
        image.draft("L", (64, 64))
        return thumbnail(image)


def _unlike_images(
    greys: Mapping[str, Mapping[Path, bytes]], ledger: Ledger
) -> tuple[dict[str, list[Path]], list[str]]:
    """The images of each thing that do not look like an earlier one of it, and notes on the others."""
    every = [(name, path, grey) for name, of_thing in greys.items() for path, grey in of_thing.items()]
    near = find_near_copies([grey for _, _, grey in every], [name for name, _, _ in every])
    names = [f"{name}/{path.name}" for name, path, _ in every]
    for later, earlier in near.copies.items():
        ledger.drop(
            UNIT, ANY_SOURCE, "it looks like another image of its thing", f"{names[later]} like {names[earlier]}"
        )
    things: dict[str, list[Path]] = {name: [] for name in greys}
    for n, (name, path, _) in enumerate(every):
        if n not in near.copies:
            things[name].append(path)
    return things, near_copy_notes(near, names, "thing", keep=False)


def _any_image(paths: list[Path], seed: int, name: str, other: str) -> Path:
    return shuffled(paths, stream(SUITE, STREAMS, seed, OWN, name, PurePosixPath(other).name))[0]
