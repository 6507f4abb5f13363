"""How long the sequences of VLM2-Bench take to build from one's own images: 320 of objects, 120 of people.

    python bench/vlm2_sequences.py            440 JPEGs of 320 x 240 pixels, every question of OC and PC
    python bench/vlm2_sequences.py --quick    a fifth of the objects and people

Prediction, made before the first run: with each file read, hashed and copied once and no pixel decoded, an image costs
about 2 ms and an item about 1 ms (most of it for making the table), so that the 1,900 items of both builds, with the
120 look-alike questions of 116 examples each, take about 4 s; the bound is 20 s. Answering the look-alikes is a
subject's time, not the recipe's, and is not counted.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import numpy as np
from PIL import Image, ImageFile

from snellen.core.storage.itemset import ItemSet
from snellen.core.suite import BuildOptions
from snellen.exam.run import run
from snellen.suites.vlm2_bench.curated.recipe import Curated

MAX_S = 20.0
TYPES, OBJECTS, GROUPS, PEOPLE = 8, 5, 6, 5


def object_files(types: int, objects: int) -> Iterator[str]:
    """Four images of each main object, and four distractors of one image each."""
    for one in (f"type{t}/thing{o}" for t in range(types) for o in range(objects)):
        yield from (f"{one}/main/{k}.jpg" for k in range(4))
        yield from (f"{one}/distractors/other{k}/photo.jpg" for k in range(4))


def people_files(groups: int, people: int) -> Iterator[str]:
    """Four images of each person."""
    return (f"group{g}/somebody{p}/{k}.jpg" for g in range(groups) for p in range(people) for k in range(4))


def make_images(root: Path, names: Iterator[str], rng: np.random.Generator) -> int:
    """Photo-like JPEGs of 320 x 240: coarse colour patches under fine noise."""
    count = 0
    for name in names:
        patches = Image.fromarray(rng.integers(0, 256, (6, 8, 3), dtype=np.uint8)).resize((320, 240))
        noisy = np.asarray(patches, dtype=np.int16) + rng.normal(0, 6, (240, 320, 1)).astype(np.int16)
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(noisy.clip(0, 255).astype(np.uint8)).save(root / name, quality=85)
        count += 1
    return count


def timed(task: str, out: Path, source: Path, inputs: dict[str, Path]) -> tuple[ItemSet, float]:
    """A build and its seconds. Fails where a pixel is decoded."""

    def never(self: object) -> None:
        raise AssertionError(f"vlm2-bench/{task} decodes pixels")

    options = BuildOptions(out, tasks=(task,), sources={task[:2]: source}, inputs=inputs, show_progress=False)
    with patch.object(ImageFile.ImageFile, "load", never):
        start = time.perf_counter()
        made = Curated().build(options)
        return made, time.perf_counter() - start


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    share = 1 if parser.parse_args().quick else 5
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        objects = make_images(root / "objects", object_files(TYPES, OBJECTS * share // 5), rng)
        people = make_images(root / "people", people_files(GROUPS, PEOPLE * share // 5), rng)
        oc, oc_s = timed("oc", root / "oc", root / "objects", {})
        work, work_s = timed("pc-look-alikes", root / "work", root / "people", {})
        run(work, ["fake:first-option"], root / "run", show_progress=False)
        pc, pc_s = timed("pc", root / "pc", root / "people", {"look-alikes": root / "run"})
    print("| build | images | items | s |\n|---|---|---|---|")
    for name, images, made, seconds in (
        ("oc", objects, oc, oc_s),
        ("pc-look-alikes", people, work, work_s),
        ("pc", people, pc, pc_s),
    ):
        print(f"| {name} | {images} | {made.card.items} | {seconds:.2f} |")
    total = oc_s + work_s + pc_s
    print(f"\nall {objects + people} images: {total:.2f} s (at most {MAX_S:.0f})")
    if total > MAX_S:
        raise SystemExit("slower than it may be")


if __name__ == "__main__":
    main()
