"""How long the curation of VFM Bench takes at the paper's size, without the images themselves.

    python bench/vfm_curation.py            30,000 records of 512 classes, 4,200 queries
    python bench/vfm_curation.py --quick    a tenth of both

Prediction, made before the first run: drawing 30,000 records takes 0.1 s, an episode some 0.4 ms for the permutations
of its three classes and as much for the item and its six smaller views, so 4,200 of them 3 to 4 s; the bound is 30 s.
k-means with 1,050 clusters of 7,500 points in 512 dimensions takes 4 s an industry for its first centres and 1 s after
that, two industries at a time: 10 s; the bound is 20 s. Writing a set of 30,000 candidates with their demos (no bytes
of images) has no bound; 30 s and 2 GB are expected, most of it for rows as plain data.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from snellen.core.item import Item, Media
from snellen.core.seeds import stream
from snellen.core.storage.itemset import write_itemset
from snellen.core.storage.media import MediaFolder
from snellen.curated_sets.vfm_bench.diversity import Floats, choose
from snellen.curated_sets.vfm_bench.recipe import episode_items
from snellen.curation.ledger import Ledger
from snellen.datasets.image_files import ImageFile
from snellen.datasets.sample import Annotation, Sample
from snellen.suites.vfm_bench.class_images import (
    ClassImage,
    Concept,
    ConceptTask,
    Draws,
    Industry,
    draw_records,
    keep_classes,
)
from snellen.suites.vfm_bench.items import SHOTS
from snellen.suites.vfm_bench.transforms import Shots, with_mean_regions

INDUSTRIES: tuple[Industry, ...] = ("Manufacture", "E-commerce", "Agriculture", "Medical")
TASKS_AN_INDUSTRY, CLASSES_A_TASK, DIMENSIONS = 43, 3, 512
EPISODES_S, KMEANS_S = 30.0, 20.0


def records(images: int) -> list[Sample]:
    """As many records as the paper has, of 516 classes in 172 tasks."""
    return [
        Sample(
            source="made",
            licence="none",
            record_id=f"{task}/{label}/{k}.png",
            image=ImageFile(Path("none")),
            annotations=(Annotation(f"class {label}", (1.0, 1.0, 5.0, 5.0)),),
            object=f"thing {task}",
        )
        for task in range(len(INDUSTRIES) * TASKS_AN_INDUSTRY)
        for label in range(CLASSES_A_TASK)
        for k in range(images)
    ]


def tasks(draws: Draws) -> list[ConceptTask]:
    """What reading the images would make of the records."""

    def concept(label: str, samples: Sequence[Sample]) -> Concept:
        images = (Media(sample.record_id, "image", "png", 640, 480) for sample in samples)
        return Concept(
            label, tuple(ClassImage(media, "made", media.sha256, "none", (1.0, 1.0, 5.0, 5.0)) for media in images)
        )

    return [
        ConceptTask(
            source,
            thing,
            INDUSTRIES[int(thing.removeprefix("thing ")) // TASKS_AN_INDUSTRY],
            "detail",
            tuple(concept(label, draw.samples) for label, draw in classes.items()),
        )
        for (source, thing), classes in draws.items()
    ]


def features(items: Sequence[Item]) -> Floats:
    """Points as images of concepts lie: a centre and 20 directions of its own a class, and a little noise."""
    rng = np.random.default_rng(0)
    clusters = {name: k for k, name in enumerate(dict.fromkeys(item.cluster_id for item in items))}
    centres = rng.normal(size=(len(clusters), DIMENSIONS))
    spreads = 0.3 * rng.normal(size=(len(clusters), 20, DIMENSIONS))
    rows = []
    for item in items:
        place = clusters[item.cluster_id]
        rows.append(centres[place] + rng.normal(size=20) @ spreads[place] + 0.1 * rng.normal(size=DIMENSIONS))
    return np.asarray(rows, np.float32)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    images, queries, an_industry = (6, 420, 105) if quick else (59, 4200, 1050)
    known = records(images)
    media = MediaFolder(Path("none"))
    rng = stream("bench")

    start = time.perf_counter()
    made = tasks(keep_classes(draw_records(known, ("made",), 60, 0, {}), 20, 0, Ledger()))
    index_s = time.perf_counter() - start
    asked = with_mean_regions(episode_items(made, 0, queries))
    views = [Shots(shots)(item.view(), media, rng) for item in asked for shots in range(SHOTS + 1)]
    episodes_s = time.perf_counter() - start

    candidates = episode_items(made, 0)
    looks = dict(zip((item.query[0].sha256 for item in candidates), features(candidates), strict=True))
    start = time.perf_counter()
    chosen = choose(
        candidates, lambda shown: np.stack([looks[one.sha256] for one in shown]), None, an_industry, workers=2
    )
    kmeans_s = time.perf_counter() - start

    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        write_itemset(Path(folder), candidates, source="bench", recipe={})
        write_s = time.perf_counter() - start
    print("| step | in | out | s | at most, s |\n|---|---|---|---|---|")
    for name, given, found, seconds, most in (
        ("records drawn", len(known), len(candidates), index_s, ""),
        ("episodes at six numbers of shots", len(asked), len(views), episodes_s, f"{EPISODES_S:.0f}"),
        (f"k-means, {DIMENSIONS} dimensions", len(candidates), len(chosen), kmeans_s, f"{KMEANS_S:.0f}"),
        ("candidates written", len(candidates), len(candidates), write_s, ""),
    ):
        print(f"| {name} | {given:,} | {found:,} | {seconds:.2f} | {most} |")
    print(f"\npeak {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")
    if episodes_s > EPISODES_S or kmeans_s > KMEANS_S:
        raise SystemExit("slower than it may be")


if __name__ == "__main__":
    main()
