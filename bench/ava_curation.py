"""Four abilities of AVA-Bench curated from the annotations of a large dataset; no image is opened.

    python bench/ava_curation.py            1.27 million things in 100,000 images, as LVIS v1 has them (1 GB)
    python bench/ava_curation.py --quick    a twentieth of that

Localization, object, counting and spatial: annotations are read once for all of them, things, counts and pairs are
found, classes and bins levelled, images split. Made annotations are spread as in LVIS: 3.4 categories an image, of
most of them one thing and of some many, common ones often together, rare ones hardly ever. Seconds (of processor time:
it is one process of one thread) and memory are those of a process that does nothing else; the file has been read before
(warm).

Predicted before it was run: reading takes what `large_annotations.py` takes, 37 s; a look at an image 60 µs (three
abilities, thirteen things), 6 s; pairs by columns of numbers 2 s; levelling and splitting 150,000 candidates 3 s. In
all 48 s. Memory: 400 bytes for each of 350,000 counts and 100,000 images with pairs, 0.3 GB, beside 0.3 GB of
reading: 0.6 GB. Measured beside other work on two cores: 43.8 s and 0.68 GB; reading is 37 s of them.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from large_annotations import write

from snellen.core.build_options import BuildOptions
from snellen.core.seeds import stream
from snellen.curated_sets.ava_bench.recipe import select
from snellen.curated_sets.ava_bench.selection.candidates import CurationContext
from snellen.curated_sets.ava_bench.selection.choices import read_choices
from snellen.curated_sets.ava_bench.selection.rules import Rules
from snellen.curated_sets.splitting import assign_sides

IMAGES, THINGS = 100_170, 1_270_141
MAX_S, MAX_GB = 60, 3
TASKS = ("localization", "object", "counting", "spatial")
CATEGORIES, TOPICS, A_TOPIC = 1203, 10, 12
"""Categories; kinds of image, and categories that each kind often shows together."""


def make(root: Path, images: int, things: int) -> Path:
    """Annotations spread as those of LVIS; the categories of localization are among the common ones."""
    rng = stream("bench.curation")
    chosen = list(read_choices().categories("LVIS"))
    names = [f"kind_{n}" for n in range(CATEGORIES - len(chosen))]
    for n, name in enumerate(chosen):
        names.insert(5 * n, name)
    each = 1 + rng.poisson(2.4, images)
    owners = np.repeat(np.arange(images), each)
    topics = np.repeat(rng.integers(TOPICS, size=images), each)
    of_topic = rng.random(len(owners)) < 0.7
    kinds = np.where(of_topic, A_TOPIC * topics + rng.integers(A_TOPIC, size=len(owners)), 0)
    rest = TOPICS * A_TOPIC
    shares = 1 / np.arange(5, CATEGORIES - rest + 5) ** 0.9
    kinds = 1 + np.where(of_topic, kinds, rest + rng.choice(len(shares), len(owners), p=shares / shares.sum()))
    many = 1 + rng.geometric(0.4 / (things / len(owners) - 1), len(owners))
    counts = np.where(rng.random(len(owners)) < 0.6, 1, many)
    owners, kinds = np.repeat(owners, counts)[:things], np.repeat(kinds, counts)[:things]
    wide, high = (np.clip(rng.lognormal(np.log(60), 0.8, len(owners)), 4, 400) for _ in range(2))
    x, y = rng.uniform(size=len(owners)) * (640 - wide), rng.uniform(size=len(owners)) * (480 - high)
    order = rng.permutation(len(owners))
    boxes = np.stack([x, y, wide, high], axis=1).round(2)[order].tolist()
    return write(root, images, owners[order].tolist(), kinds[order].tolist(), boxes, names)


def curate(root: Path) -> None:
    """In a process of its own: from the file to train and test, and print what it cost."""
    begun = time.process_time()
    context = CurationContext(Rules(), read_choices(), 0)
    selected = select(BuildOptions(root / "out", tasks=TASKS, sources={"LVIS": root}, show_progress=False), context)
    units: dict[str, list[tuple[str, ...]]] = {}
    for group, candidates in selected:
        for candidate in candidates:
            units.setdefault(candidate.origin.record_id, []).append((group.name, *candidate.stratum))
    side = assign_sides(units, context.rules.test_share, context.rng("splits"))
    seconds = time.process_time() - begun
    told = {
        "seconds": seconds,
        "gigabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6,
        "items": {group.name: len(candidates) for group, candidates in selected},
        "images": len(side),
        "test_share": sum(one == "test" for one in side.values()) / max(1, len(side)),
        "left_out": sum(context.ledger.dropped.values()),
    }
    print(json.dumps(told))


def main() -> None:
    parser = argparse.ArgumentParser(description="Curate four abilities from the annotations of a large dataset.")
    parser.add_argument("--quick", action="store_true", help="a twentieth of the things")
    parser.add_argument("--curate", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.curate:
        curate(options.curate)
        return
    share = 20 if options.quick else 1
    with tempfile.TemporaryDirectory() as folder:
        path = make(Path(folder), IMAGES // share, THINGS // share)
        print(f"{THINGS // share:,} things in {IMAGES // share:,} images, {path.stat().st_size / 1e9:.2f} GB")
        command = [sys.executable, __file__, "--curate", folder]
        told = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    print(f"{told['seconds']:.1f} s, {told['gigabytes']:.2f} GB; items {told['items']} in {told['images']:,} images")
    print(f"{100 * told['test_share']:.1f} % of the images for testing; {told['left_out']:,} left out")
    print(f"wanted: under {MAX_S} s and {MAX_GB} GB; predicted: 48 s and 0.6 GB")
    if told["seconds"] > MAX_S or told["gigabytes"] > MAX_GB:
        raise SystemExit("more than was wanted")


if __name__ == "__main__":
    main()
