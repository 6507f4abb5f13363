"""Items of selected candidates: images are opened, candidates completed from their pixels, and items made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from snellen.compute import Progress
from snellen.core.build_options import BuildOptions
from snellen.core.hashing import digest
from snellen.core.item import Item, Split
from snellen.curated_sets.ava_bench.selection.candidates import Candidate, Curation, CurationContext
from snellen.curated_sets.ava_bench.selection.images import ImageStore, UnusableImage
from snellen.curated_sets.ava_bench.selection.splits import CuratedGroup, SelectedCandidate
from snellen.suites.ava_bench.abilities import atomic, composites
from snellen.suites.ava_bench.items import ItemSource

DOMAINS: Mapping[str, str] = {
    "CARPK": "Car",
    "CrowdHuman": "People",
    "VSCrowd": "People",
    "DIOR": "Remote-Sensing",
    "AID": "Remote-Sensing",
    "CUB-200-2011": "Bird",
    "FGVC-Aircraft": "Object",
    "NYU-Depth-V2": "Indoor Scene",
    "KITTI": "Outdoor Scene",
    "CURE-OR": "Indoor",
    "RAF-DB": "Human",
    "ExpW": "Human",
}
"""The domain of a dataset in Table 2; all others are `Open`."""


def complete(
    selected: Sequence[tuple[CuratedGroup, Sequence[Candidate]]],
    image_store: ImageStore,
    options: BuildOptions,
    context: CurationContext,
) -> Iterator[SelectedCandidate]:
    """Candidates whose images can be read, completed from their pixels."""
    origins = {candidate.origin: None for _, candidates in selected for candidate in candidates}
    with Progress("opening", unit="images", visible=options.show_progress) as progress:
        progress.expect(len(origins))
        image_store.load(origins, options.workers, progress.advance)
    for group, candidates in selected:
        for candidate in candidates:
            source, image = candidate.origin.source, image_store.get(candidate.origin)
            if isinstance(image, UnusableImage):
                context.ledger.drop(group.name, source, image.rule, image.location)
                continue
            completed = group.curation.complete(candidate, image_store.pixels(image), context)
            if isinstance(completed, str):
                context.ledger.drop(group.name, source, completed, candidate.origin.record_id)
            else:
                yield SelectedCandidate(group, completed, image_store.apply_crop(completed, image), image.sha256)


def make_items(
    ready: Sequence[tuple[SelectedCandidate, Split]], context: CurationContext, curations: Mapping[str, Curation]
) -> Iterator[Item]:
    """The items, task by task in the paper's order, within a task in an order that reveals nothing about answers."""
    for task in (*atomic(), *composites()):
        curation = curations.get(task)
        if curation is None:
            continue
        rows = [(_handle(selected), selected, side) for selected, side in ready if task in selected.group.tasks]
        for handle, selected, side in sorted(rows, key=lambda row: row[0]):
            rng = context.rng("asked", task, handle)
            yield curation.make_item(selected.candidate, _source(handle, selected, side), rng)


def _handle(selected: SelectedCandidate) -> str:
    return digest([selected.candidate.origin.handle, selected.candidate.label, dict(selected.candidate.truth)], 12)


def _source(handle: str, selected: SelectedCandidate, side: Split) -> ItemSource:
    origin = selected.candidate.origin
    return ItemSource(
        handle=handle,
        image=selected.image,
        cluster=f"{origin.source}/{origin.cluster or selected.unit[:12]}",
        dataset=origin.source,
        domain=selected.candidate.truth.get("domain") or DOMAINS.get(origin.source, "Open"),
        split=side,
        stimulus=selected.image.sha256[:12],
        provenance={
            "source": origin.source,
            "record": origin.record_id,
            "licence": origin.licence,
            **({"crop_px": list(selected.candidate.crop)} if selected.candidate.crop else {}),
        },
    )
