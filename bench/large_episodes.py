"""A run over the paper's number of episodes, each of the largest size, in one process: how much memory it takes.

VFM Bench has 4,200 episodes; the largest generated ones have ten ways and five shots, the released ones up to eleven
ways. Here every one of 4,200 has 11 ways and 6 shots and so 66 demo images, drawn from 2,000 small ones. A simulated
observer answers, so that what is measured is the loop, the tables and the items.

Predicted: the items hold 277,200 references to 2,000 media (shared objects, 8 bytes each, and a Demo of about 150
bytes): 60 MB; views as much again; prompts are made one by one. With interpreter, pandas and pyarrow 500 MB.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from PIL import Image

from snellen.core.seeds import stream
from snellen.core.storage.itemset import read_itemset, write_itemset
from snellen.core.storage.media import MediaFolder
from snellen.exam.run import run
from snellen.suites.vfm_bench.items import Episode, EpisodeClass, episode_item

EPISODES, WAYS, SHOTS, IMAGES = 4200, 11, 6, 2000


def build(root: Path) -> None:
    media, rng = MediaFolder(root / "media"), stream("bench", "episodes")
    pool = [media.add_image(Image.fromarray(rng.integers(0, 256, (8, 8, 3), dtype=np.uint8))) for _ in range(IMAGES)]
    items = []
    for n in range(EPISODES):
        picked = [pool[int(k)] for k in rng.choice(IMAGES, WAYS * SHOTS + 1, replace=False)]
        classes = tuple(EpisodeClass(f"class {c}", tuple(picked[c * SHOTS : (c + 1) * SHOTS])) for c in range(WAYS))
        truth = int(rng.integers(WAYS))
        items.append(
            episode_item(
                Episode(f"{n:05d}", picked[-1], classes, truth, "Medical", "detail", "cells", "bench", f"bench/{n}")
            )
        )
    write_itemset(root, items, source="bench", recipe={"seed": 0})


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        started = time.perf_counter()
        build(root / "items")
        built = time.perf_counter() - started
        if len(sys.argv) < 2:  # a fresh process, so that what building took does not count
            import subprocess

            subprocess.run([sys.executable, __file__, str(root / "items")], check=True)
            print(f"built in {built:.1f} s")


def measure(where: Path) -> None:
    items = read_itemset(where)
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        run(items, ["fake:chance"], Path(folder) / "run", show_progress=False)
        took = time.perf_counter() - started
        disk = sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{EPISODES} episodes of {WAYS * SHOTS} demos: peak {peak:.0f} MB, {took:.1f} s, run folder {disk / 1e6:.1f} MB"
    )


if __name__ == "__main__":
    measure(Path(sys.argv[1])) if len(sys.argv) > 1 else main()
