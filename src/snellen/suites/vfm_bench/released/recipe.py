"""The `released` recipe: the authors' queries, unchanged (`files` reads them).

With `n`, that many are drawn by the seed. Demos are the released ones; if there are none, or one shows the query,
images from the folders of the classes are drawn by the seed. If there are too few, every class gets fewer demos; items
without demos are asked without examples only. Missing images and invalid lines make the build fail, with all errors in
one message; numbers of queries other than the paper's give a warning. The card records all of this.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import cast

import numpy as np

from snellen.core.build_options import BuildOptions
from snellen.core.errors import SnellenError
from snellen.core.hashing import sha256
from snellen.core.item import Item
from snellen.core.seeds import stream
from snellen.core.storage.media import MediaFolder
from snellen.curation.released import ReleasedItems, ReleasedRecipe, draw_names
from snellen.suites.vfm_bench.items import SHOTS, STREAMS, SUITE, TASK, Episode, EpisodeClass, Level, episode_item
from snellen.suites.vfm_bench.prompts import split_descriptions
from snellen.suites.vfm_bench.published import QUERIES, TABLE_8, VOTERS
from snellen.suites.vfm_bench.released.files import (
    ELEMENT,
    FILE,
    QueryRecord,
    class_folder,
    head_of,
    images_in,
    read_records,
    region_of,
)
from snellen.suites.vfm_bench.transforms import with_mean_regions

LICENCE = "CC BY-NC-SA 4.0"


def _choose_tasks(options: BuildOptions, root: Path | None) -> tuple[str, ...]:
    if unknown := [task for task in options.tasks if task != TASK]:
        raise SnellenError(f"the released files of {SUITE} have no task {unknown[0]!r}; there is {TASK}")
    return (TASK,)


def _count_items(options: BuildOptions, root: Path | None) -> dict[str, int]:
    """The number of queries by the paper's count."""
    return {TASK: QUERIES if options.n is None else min(QUERIES, options.n)}


def _digest(options: BuildOptions, root: Path) -> dict[str, str]:
    return {FILE: sha256((root / FILE).read_bytes())}


def _read(options: BuildOptions, root: Path) -> ReleasedItems:
    """Read all records, then store the images."""
    problems = list[str]()
    records, others = read_records(root, problems)
    RELEASED.refuse(root, problems)
    if not records:
        raise SnellenError(
            f"{root / FILE}: no record has query_info, so there are no questions; {RELEASED.instructions}"
        )
    handles = [f"{int(n):04d}" for n in stream(SUITE, STREAMS, "released", "ids").permutation(len(records))]
    chosen = set(handles)
    if options.n is not None:
        chosen = draw_names(handles, options.n, stream(SUITE, STREAMS, options.seed, "released", TASK))
    maker = _ItemMaker(MediaFolder(options.out / "media"), options.seed, problems)
    pairs = [
        (record, item)
        for handle, record in zip(handles, records, strict=True)
        if handle in chosen and (item := maker.item(handle, record))
    ]
    RELEASED.refuse(root, problems)
    items = with_mean_regions([item for _, item in pairs])
    unusual = _unusual_counts(records)
    passed_over = [f"{others} lines of {FILE} contain no query and were skipped"] if others else []
    return ReleasedItems(items, [*unusual, *passed_over, *maker.notes([record for record, _ in pairs])], unusual)


RELEASED = ReleasedRecipe(
    suite=SUITE,
    source="vfm",
    instructions=f"give --source vfm=FOLDER with {FILE} and the unpacked VisualFastMappingBenchmark.zip",
    layout=f"no folder with {FILE}",
    problem="the released records or images are missing or wrong",
    remedy=f"download them again, or remove their lines from {FILE}",
    find_root=lambda path: path if (path / FILE).is_file() else None,
    choose_tasks=_choose_tasks,
    count_items=_count_items,
    digest=_digest,
    read=_read,
)


def _unusual_counts(records: Sequence[QueryRecord]) -> list[str]:
    """Notes on numbers of queries that differ from the paper's."""
    counts = Counter(record.industry for record in records)
    unusual = [] if len(records) == QUERIES else [f"{len(records)} queries, the paper has {QUERIES}"]
    return unusual + [
        f"{industry}: {counts[industry]} queries, the paper has {row.samples}"
        for industry, row in TABLE_8.items()
        if counts[industry] != row.samples
    ]


@dataclass
class _ItemMaker:
    """Makes items, stores their images, and collects notes for the card.

    `remarks` counts events by text; `digests` are those of files read so far.
    """

    media: MediaFolder
    seed: int
    problems: list[str]
    remarks: Counter[str] = field(default_factory=Counter)
    digests: dict[Path, str] = field(default_factory=dict)

    def item(self, handle: str, record: QueryRecord) -> Item | None:
        """The item of a record; None, with an entry in `problems`, if an image cannot be read."""
        try:
            return self._item(handle, record)
        except (SnellenError, OSError) as error:
            self.problems.append(f"{record.location}: {error}")
            return None

    def _item(self, handle: str, record: QueryRecord) -> Item:
        box, marked_by = region_of(record)
        demos, drawn_count = self._demos(handle, record)
        detail = record.instructions.get("detail", "")
        descriptions = split_descriptions(detail, record.names) or {}
        episode = Episode(
            handle=handle,
            query=self.media.add_file(record.query),
            classes=tuple(self._class(name, demos[name], descriptions.get(name, "")) for name in record.names),
            truth=record.names.index(record.label),
            industry=record.industry,
            level=cast(Level, "object" if record.level == ELEMENT else record.level),
            scene=record.scene,
            source=record.source,
            cluster=f"{record.source}/{record.object}/{record.label}",
            box=box,
            latent={"instruction": detail} if detail and not descriptions else {},
            factors={"concept_level": record.level, "concept_task": f"{record.source}/{record.object}"},
            provenance={
                "source": record.location,
                "id": record.name,
                "licence": LICENCE,
                "seed": self.seed,
                "construction_subjects": list(VOTERS),
                "instructions": {name: text for name, text in record.instructions.items() if name != "detail"},
                "demos": "drawn" if drawn_count else "released",
                **({"region": marked_by} if box else {}),
            },
        )
        item = episode_item(episode)
        self._remark(record, item, bool(descriptions))
        head = head_of(record.instructions.get("clean", ""))
        return replace(item, question=head) if head else item

    def _class(self, name: str, demos: Sequence[tuple[Path, str]], description: str) -> EpisodeClass:
        images = tuple(self.media.add_file(path) for path, _ in demos)
        return EpisodeClass(name, images, tuple(caption for _, caption in demos), description)

    def _demos(self, handle: str, record: QueryRecord) -> tuple[dict[str, list[tuple[Path, str]]], int]:
        """(image and caption of each demo by class, number drawn): equally many per class, none showing the query.

        Otherwise the class with fewer demos would stand out: it is the query's class that loses demos.
        """
        rng = stream(SUITE, STREAMS, self.seed, "released", "demos", handle)
        used, drawn_count = {self._digest(record.query)}, 0
        demos: dict[str, list[tuple[Path, str]]] = {}
        for name in record.names:
            released = [(shot.path, shot.caption) for shot in record.demos.get(name, ())]
            distinct = self._unused(released, used, SHOTS)
            if left_out := len(released) - len(distinct):
                self.remarks["demos that show the query, or an image twice, were left out"] += left_out
            missing = SHOTS - len(distinct)
            # If nothing is missing, nothing is drawn, since the draws of the next class depend on earlier ones.
            spare = self._unused(_folder_images(record, name, rng), used, missing) if missing > 0 else []
            demos[name], drawn_count = [*distinct, *spare], drawn_count + len(spare)
        shortest = min(len(shots) for shots in demos.values())
        return {name: shots[:shortest] for name, shots in demos.items()}, drawn_count

    def _unused(self, demos: Sequence[tuple[Path, str]], used: set[str], limit: int) -> list[tuple[Path, str]]:
        """The first images that are not in `used`, by bytes; adds them."""
        unused: list[tuple[Path, str]] = []
        for path, caption in demos:
            if len(unused) < limit and (digest := self._digest(path)) not in used:
                used.add(digest)
                unused.append((path, caption))
        return unused

    def _digest(self, path: Path) -> str:
        if path not in self.digests:
            self.digests[path] = sha256(path.read_bytes())
        return self.digests[path]

    def _remark(self, record: QueryRecord, item: Item, described: bool) -> None:
        shots = len(item.support) // len(record.names)
        remarks = {
            "items have no demos and are asked without examples only": not shots,
            f"items have fewer than {SHOTS} demos per class": 0 < shots < SHOTS,
            "items have demos drawn here from the folders of their classes": item.provenance["demos"] == "drawn",
            "regions were read from copies with noise, whose place may have been drawn at random": (
                item.provenance.get("region") == "copy with noise"
            ),
            "queries name copies with noise that are missing": record.missing_copies > 0,
            f"items have the level {ELEMENT!r}, which the paper does not have": record.level == ELEMENT,
            "detailed instructions do not distinguish classes and are not used": (
                "detail" in record.instructions and not described
            ),
        }
        self.remarks.update(text for text, applies in remarks.items() if applies)

    def notes(self, records: Sequence[QueryRecord]) -> list[str]:
        """Notes for the card on the items of these records."""
        compact = sum(not record.demos for record in records)
        note = f"unverified: {compact} records of {FILE} have no demo_info; the layout of the published file is unknown"
        return [*([note] if compact else []), *(f"{count} {text}" for text, count in self.remarks.items())]


def _folder_images(record: QueryRecord, name: str, rng: np.random.Generator) -> list[tuple[Path, str]]:
    """All images in the folder of a class, without captions, in random order."""
    folder = class_folder(record, name)
    paths = images_in(folder) if folder else []
    return [(paths[int(index)], "") for index in rng.permutation(len(paths))]
