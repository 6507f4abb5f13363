"""Is the material of an object answered alike on images of every quality? By features of a packaged encoder.

    python bench/render_materials.py [--objects N] [--encoder NAME]

N objects of ComBo, as many of each material of the primary as of another, one view each (240 x 180), in `reference`
twice with other noise, in `good` and in `fast`. Material is answered twice: by the most similar other object of the
same quality, and by a linear probe over four folds. Printed beside how often that is right: how often it is the answer
on the first `reference`, from which the second differs by noise alone.
"""

from __future__ import annotations

import argparse

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from snellen.core.seeds import stream
from snellen.core.storage.home import home
from snellen.stimuli.render import RenderSettings, render_images
from snellen.stimuli.render.engine import Quality
from snellen.stimuli.scenes import MATERIALS, RenderSpec, all_composites, composite_scene, random_camera
from snellen.subjects.encoders import load_encoder
from snellen.subjects.encoders.readouts import unit

ROWS: tuple[tuple[str, Quality, int], ...] = (
    ("reference", "reference", 0),
    ("reference, other noise", "reference", 1),
    ("good", "good", 0),
    ("fast", "fast", 0),
)
FOLDS = 4


def draw_objects(count: int) -> list[int]:
    """Objects of ComBo, materials of the primary in turn."""
    rng, objects = stream("bench render materials"), all_composites()
    kinds = [[n for n, one in enumerate(objects) if one.primary.material == kind] for kind in MATERIALS]
    return [int(rng.choice(kinds[n % len(kinds)])) for n in range(count)]


def specs_of(objects: list[int], noise: int) -> list[RenderSpec]:
    """One view each, the same in every call."""
    scenes = [composite_scene(all_composites()[index]) for index in objects]
    rng = stream("bench render materials", "views")
    cameras = [random_camera(scene, rng, size_px=(240, 180)) for scene in scenes]
    return [RenderSpec(scene, camera, noise) for scene, camera in zip(scenes, cameras, strict=True)]


def nearest(features: NDArray[np.float32], materials: NDArray[np.str_]) -> NDArray[np.str_]:
    """The material of the most similar other object."""
    similarity = features @ features.T
    np.fill_diagonal(similarity, -np.inf)
    return materials[similarity.argmax(axis=1)]


def probe(features: NDArray[np.float32], materials: NDArray[np.str_]) -> NDArray[np.str_]:
    """What a logistic regression says that has not seen the object."""
    from sklearn.linear_model import LogisticRegression

    answers, fold = np.empty_like(materials), np.arange(len(materials)) // len(MATERIALS) % FOLDS
    for number in range(FOLDS):
        learner = LogisticRegression(C=10.0, max_iter=1000).fit(features[fold != number], materials[fold != number])
        answers[fold == number] = learner.predict(features[fold == number])
    return answers


def main() -> None:
    """Draw, ask and print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--objects", type=int, default=32, help="how many objects, a multiple of 16")
    parser.add_argument("--encoder", default="efficientnet-lite0", help="a packaged encoder")
    arguments = parser.parse_args()
    objects, encoder = draw_objects(arguments.objects), load_encoder(arguments.encoder)
    materials = np.array([all_composites()[index].primary.material for index in objects])
    first: dict[str, NDArray[np.str_]] = {}
    print("| images | nearest right | as on reference | probe right | as on reference |\n|---|---|---|---|---|")
    for name, quality, noise in ROWS:
        paths = render_images(specs_of(objects, noise), RenderSettings(quality=quality), home() / "renders")
        features = unit(encoder.features([Image.open(path) for path in paths]))
        cells = []
        for way, answer in (("nearest", nearest), ("probe", probe)):
            answers = answer(features, materials)
            first.setdefault(way, answers)
            cells += [f"{(answers == materials).mean():.2f}", f"{(answers == first[way]).mean():.2f}"]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
