"""How long attentive probes take from cached patch features: the fourteen abilities of AVA-Bench, one after the other.

    python bench/probe.py            200 training and 200 test items an ability
    python bench/probe.py --quick    20 of both, a tenth of the steps

Patches are noise of the shape of EfficientNet-Lite0's (14 x 14 x 592), since numbers decide no time; every ability is
asked about the same images. What is counted: reading features, fitting, and answering one by one, in this process.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from PIL import Image

from snellen.core.item import Media, Option, ReplySpec, View
from snellen.core.prompt import Prompt
from snellen.core.storage.media import MediaFolder
from snellen.core.subject import SubjectCard, TrainingExample
from snellen.subjects.encoders.encoder import Floats
from snellen.subjects.encoders.plain import Hog
from snellen.towers.probes.inputs import ProbeSettings
from snellen.towers.probes.patches import PatchCache
from snellen.towers.probes.subject import AttentiveProbe

LIMIT_S = 180
SHAPE = (14, 14, 592)
CLASSES = tuple("abcdefghij")
ABILITIES: dict[str, str] = {
    "localization": "box",
    "counting": "integer",
    "absolute-depth": "number",
    "colour": "colour",
    "ocr": "text",
    **dict.fromkeys(
        ("spatial", "orientation", "relative-depth", "object", "fine-grained", "texture", "action", "emotion", "scene"),
        "choice",
    ),
}


@dataclass(frozen=True)
class Noise(Hog):
    """Patches of noise."""

    name: ClassVar[str] = "noise"

    @property
    def patch_settings(self) -> dict[str, Any]:
        return {"encoder": self.name}

    def patches(self, images: Sequence[Image.Image]) -> Floats:
        seeds = [int(np.asarray(image).astype(int).sum()) for image in images]
        return np.stack([np.random.default_rng(seed).normal(size=SHAPE).astype(np.float32) for seed in seeds])


def examples_of(kind: Any, images: Sequence[Media], rng: np.random.Generator) -> list[TrainingExample]:
    keys = CLASSES if kind == "choice" else ()
    options = tuple(Option(key, key) for key in keys)
    answers: dict[str, Any] = {
        "box": lambda: [*rng.uniform(0, 4, 2), *rng.uniform(4, 8, 2)],
        "integer": lambda: int(rng.integers(1, 20)),
        "number": lambda: float(rng.uniform(1, 10)),
        "colour": lambda: rng.integers(0, 256, 3).tolist(),
        "text": lambda: "".join(CLASSES[int(n)] for n in rng.integers(0, 10, 5)),
        "choice": lambda: CLASSES[int(rng.integers(10))],
    }
    spec = ReplySpec(kind, tuple((key, key) for key in keys))
    return [
        TrainingExample(View(f"{n}", f"{n}", "task", "What is it?", (image,), spec, options), answers[kind]())
        for n, image in enumerate(images)
    ]


async def one(
    probe: AttentiveProbe, train: Sequence[TrainingExample], test: Sequence[View], media: MediaFolder
) -> None:
    trained = await probe.fit(train, media)
    for view in test:
        await trained.answer(Prompt((), (view,)), media, np.random.default_rng(0))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    count = 20 if (quick := parser.parse_args().quick) else 200
    settings = replace(ProbeSettings(), steps=ProbeSettings().steps // (10 if quick else 1))
    with tempfile.TemporaryDirectory() as folder:
        os.environ["SNELLEN_HOME"] = f"{folder}/home"
        media, rng = MediaFolder(Path(folder) / "media"), np.random.default_rng(0)
        pixels = rng.integers(0, 256, (2 * count, 8, 8, 3), dtype=np.uint8)
        images = [media.add_image(Image.fromarray(image)) for image in pixels]
        probe = AttentiveProbe(PatchCache(Noise()), SubjectCard("encoder:noise", reads="views"), settings)
        probe.prepare(images, media)
        print(f"{count} training and {count} test items each\n\n| ability | s | processor s |\n|---|---|---|")
        whole = 0.0
        for ability, kind in ABILITIES.items():
            train = examples_of(kind, images[:count], rng)
            test = [example.view for example in examples_of(kind, images[count:], rng)]
            clock, processor = time.perf_counter(), time.process_time()
            asyncio.run(one(probe, train, test, media))
            seconds = time.perf_counter() - clock
            whole += seconds
            print(f"| {ability} | {seconds:.1f} | {time.process_time() - processor:.1f} |", flush=True)
        print(f"| all | {whole:.1f} | |\n\nof the {LIMIT_S} s wanted at 200 items each: {whole / LIMIT_S:.2f}")


if __name__ == "__main__":
    main()
