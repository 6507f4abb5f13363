"""The `released` recipe: the authors' queries as they are (`released_files.py` reads them)."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import numpy as np

from snellen.core.errors import SnellenError, refuse_problems
from snellen.core.hashing import sha256
from snellen.core.item import Item
from snellen.core.itemset import ItemSet, refuse_existing, write_itemset
from snellen.core.media import MediaFolder
from snellen.core.seeds import stream
from snellen.core.suite import BuildOptions
from snellen.suites.vfm_bench.items import (
    SHOTS,
    SUITE,
    TASK,
    VERSION,
    Episode,
    Level,
    Shown,
    episode_item,
)
from snellen.suites.vfm_bench.prompts import split_descriptions
from snellen.suites.vfm_bench.published import QUERIES, TABLE_8, VOTERS
from snellen.suites.vfm_bench.released.files import (
    ELEMENT,
    FILE,
    Record,
    class_folder,
    head_of,
    pictures_in,
    read_records,
    region_of,
)
from snellen.suites.vfm_bench.transforms import with_mean_regions

SOURCE = "vfm"
HOW = f"give --source {SOURCE}=FOLDER with {FILE} and the unpacked VisualFastMappingBenchmark.zip beside it"
LICENCE = "CC BY-NC-SA 4.0"


@dataclass(frozen=True)
class Released:
    """The recipe `released`: the 4,200 queries of the paper, from the authors' folder.

    With `n`, so many are drawn by the seed. Demos are the released ones; where there are none, or one shows the query,
    pictures of the folders of the classes are drawn by the seed. Without enough of them every class has fewer, down to
    none: such items are asked without examples only. Missing pictures and lines that are wrong refuse the build, all at
    once; other numbers of queries than the paper's are a warning. The card says all of it.
    """

    def parameters(self, options: BuildOptions) -> Mapping[str, Any]:
        """How many queries, the seed, and the digest of the records."""
        path = _source(options) / FILE
        drawn = {} if options.n is None else {"n": options.n}
        return {"tasks": [TASK], "seed": options.seed, "files": {FILE: sha256(path.read_bytes())}, **drawn}

    def plan(self, options: BuildOptions) -> Mapping[str, Any]:
        """Queries as the paper counts them, and the size of the source if it is given."""
        _check(options)
        given = options.sources.get(SOURCE)
        files = [] if given is None else [path for path in given.rglob("*") if path.is_file()]
        return {
            "suite": SUITE,
            "needs": HOW,
            "items": {TASK: QUERIES if options.n is None else min(QUERIES, options.n)},
            "bytes": sum(path.stat().st_size for path in files),
        }

    def build(self, options: BuildOptions) -> ItemSet:
        """Read every record, then keep the pictures, then write the items."""
        _check(options)
        refuse_existing(options.out)
        root, problems = _source(options), list[str]()
        records, others = read_records(root, problems)
        _refuse(root, problems)
        if not records:
            raise SnellenError(f"{root / FILE}: no record has query_info, so that there is nothing to ask; {HOW}")
        names = stream(SUITE, VERSION, "released", "ids").permutation(len(records))
        held = [(f"{int(name):04d}", record) for name, record in zip(names, records, strict=True)]
        maker = _Maker(MediaFolder(options.out / "media"), options.seed, problems)
        made = [(record, item) for name, record in _drawn(held, options) if (item := maker.item(name, record))]
        _refuse(root, problems)
        notes = [*_odd_counts(records, others), *maker.notes([record for record, _ in made])]
        return write_itemset(
            options.out,
            with_mean_regions([item for _, item in made]),
            source="released",
            recipe=self.parameters(options),
            notes=notes,
        )


def _check(options: BuildOptions) -> None:
    if unknown := [task for task in options.tasks if task != TASK]:
        raise SnellenError(f"the released files of {SUITE} have no task {unknown[0]!r}; there is {TASK}")
    if unknown := [name for name in options.sources if name != SOURCE]:
        raise SnellenError(f"{SUITE} knows no source {unknown[0]!r} here; {HOW}")
    options.need_items(SUITE)


def _source(options: BuildOptions) -> Path:
    if SOURCE not in options.sources:
        raise SnellenError(f"{SUITE}: the released files are needed; {HOW}")
    source = options.sources[SOURCE]
    if not (source / FILE).is_file():
        raise SnellenError(f"{source}: no folder with {FILE}; {HOW}")
    return source


def _refuse(source: Path, problems: Sequence[str]) -> None:
    mend = f"get them again, or take their lines out of {FILE}"
    refuse_problems(source, problems, "the released records or pictures are missing or wrong", mend)


def _drawn(held: Sequence[tuple[str, Record]], options: BuildOptions) -> list[tuple[str, Record]]:
    """With `n`, so many records drawn by the seed, in the order of the file."""
    if options.n is None:
        return list(held)
    order = stream(SUITE, VERSION, options.seed, "released", TASK).permutation(len(held))
    return [held[int(place)] for place in sorted(order[: options.n])]


def _odd_counts(records: Sequence[Record], others: int) -> list[str]:
    """Numbers of queries other than the paper's, which are warned of as well, and lines that were no queries."""
    found = Counter(record.industry for record in records)
    odd = [] if len(records) == QUERIES else [f"{len(records)} queries, the paper has {QUERIES}"]
    odd += [
        f"{industry}: {found[industry]} queries, the paper has {row.samples}"
        for industry, row in TABLE_8.items()
        if found[industry] != row.samples
    ]
    for one in odd:
        warnings.warn(one, stacklevel=3)
    return [*odd, *([f"{others} lines of {FILE} hold no query and were passed over"] if others else [])]


@dataclass
class _Maker:
    """Makes items, keeps the pictures they show, and remembers what the card should say.

    `remarks` counts what happened; `digests` are those of files that were looked at.
    """

    media: MediaFolder
    seed: int
    problems: list[str]
    remarks: Counter[str] = field(default_factory=Counter)
    digests: dict[Path, str] = field(default_factory=dict)

    def item(self, handle: str, record: Record) -> Item | None:
        """The item of a record; None, and a problem, where a picture cannot be read."""
        try:
            return self._item(handle, record)
        except (SnellenError, OSError) as error:
            self.problems.append(f"{record.where}: {error}")
            return None

    def _item(self, handle: str, record: Record) -> Item:
        box, marked_by = region_of(record)
        chosen, drawn = self._demos(handle, record)
        detail = record.instructions.get("detail", "")
        described = split_descriptions(detail, record.names) or {}
        episode = Episode(
            handle=handle,
            query=self.media.add_file(record.query),
            classes=tuple(self._shown(name, chosen[name], described.get(name, "")) for name in record.names),
            truth=record.names.index(record.label),
            industry=record.industry,
            level=cast(Level, "object" if record.level == ELEMENT else record.level),
            scene=record.scene,
            source=record.source,
            cluster=f"{record.source}/{record.object}/{record.label}",
            box=box,
            latent={"instruction": detail} if detail and not described else {},
            factors={"concept_level": record.level, "concept_task": f"{record.source}/{record.object}"},
            provenance={
                "source": record.where,
                "id": record.name,
                "licence": LICENCE,
                "seed": self.seed,
                "construction_subjects": list(VOTERS),
                "instructions": {name: text for name, text in record.instructions.items() if name != "detail"},
                "demos": "drawn" if drawn else "released",
                **({"region": marked_by} if box else {}),
            },
        )
        made = episode_item(episode)
        self._remark(record, made, bool(described))
        head = head_of(record.instructions.get("clean", ""))
        return replace(made, question=head) if head else made

    def _shown(self, name: str, demos: Sequence[tuple[Path, str]], description: str) -> Shown:
        pictures = tuple(self.media.add_file(path) for path, _ in demos)
        return Shown(name, pictures, tuple(caption for _, caption in demos), description)

    def _demos(self, handle: str, record: Record) -> tuple[dict[str, list[tuple[Path, str]]], int]:
        """(picture and caption of each demo by class, how many were drawn): as many of every class, none of the query.

        A class with fewer demos than another would stand out, and the class of the query is the one that loses some.
        """
        rng = stream(SUITE, VERSION, self.seed, "released", "demos", handle)
        taken, drawn = {self._digest(record.query)}, 0
        chosen: dict[str, list[tuple[Path, str]]] = {}
        for name in record.names:
            told = [(shot.path, shot.caption) for shot in record.demos.get(name, ())]
            kept = self._untaken(told, taken, SHOTS)
            if len(kept) < len(told):
                self.remarks["demos that show the query, or a picture twice, were left out"] += len(told) - len(kept)
            spare = self._untaken(_spare(record, name, rng), taken, SHOTS - len(kept)) if len(kept) < SHOTS else []
            chosen[name], drawn = [*kept, *spare], drawn + len(spare)
        least = min(len(held) for held in chosen.values())
        return {name: held[:least] for name, held in chosen.items()}, drawn

    def _untaken(self, told: Sequence[tuple[Path, str]], taken: set[str], most: int) -> list[tuple[Path, str]]:
        """The first pictures that are not taken yet, byte for byte; they are then."""
        kept: list[tuple[Path, str]] = []
        for path, caption in told:
            if len(kept) < most and (digest := self._digest(path)) not in taken:
                taken.add(digest)
                kept.append((path, caption))
        return kept

    def _digest(self, path: Path) -> str:
        if path not in self.digests:
            self.digests[path] = sha256(path.read_bytes())
        return self.digests[path]

    def _remark(self, record: Record, item: Item, described: bool) -> None:
        shots = len(item.support) // len(record.names)
        happened = {
            "items have no demos and are asked without examples only": not shots,
            f"items have fewer than {SHOTS} demos a class": 0 < shots < SHOTS,
            "items have demos drawn here from the folders of their classes": item.provenance["demos"] == "drawn",
            "regions were read from copies with noise, whose place may have been drawn at random": (
                item.provenance.get("region") == "copy with noise"
            ),
            "queries name copies with noise that are not there": record.lost > 0,
            f"items have the level {ELEMENT!r}, which the paper does not have": record.level == ELEMENT,
            "detailed instructions cannot be told apart by class and are not used": (
                "detail" in record.instructions and not described
            ),
        }
        self.remarks.update(text for text, did in happened.items() if did)

    def notes(self, records: Sequence[Record]) -> list[str]:
        """What the card should say of the items made."""
        compact = sum(not record.demos for record in records)
        told = (
            f"unverified: {compact} records of {FILE} have no demo_info; the layout of the published file is not known"
        )
        return [*([told] if compact else []), *(f"{count} {text}" for text, count in self.remarks.items())]


def _spare(record: Record, name: str, rng: np.random.Generator) -> list[tuple[Path, str]]:
    """All pictures of the folder of a class, in an order drawn."""
    folder = class_folder(record, name)
    files = pictures_in(folder) if folder else []
    return [(files[int(place)], "") for place in rng.permutation(len(files))]
