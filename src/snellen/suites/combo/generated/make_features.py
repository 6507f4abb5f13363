"""Compute the features of all 9,504 objects, from one small image of each, with an encoder.

`python -m snellen.suites.combo.generated.make_features --encoder efficientnet-lite2 --out FILE` renders the images that
the home folder lacks (about 40 minutes on two cores for all objects), reduces the features by one global PCA, stores
them as float16, and prints the loss.
"""

from __future__ import annotations

import argparse
import io
import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from snellen.compute import Progress
from snellen.core.hashing import digest
from snellen.core.seeds import stream
from snellen.core.storage import files
from snellen.core.storage.home import home
from snellen.core.storage.media import open_image
from snellen.stimuli.render import RenderSettings, render_images, renderer_info
from snellen.stimuli.render.engine import QUALITIES
from snellen.subjects.encoders import load_encoder
from snellen.suites.combo.difficulty import ENCODER, Floats, separation
from snellen.suites.combo.generated.objects import object_spec
from snellen.suites.combo.items import STREAMS, SUITE, VERSION
from snellen.suites.combo.questions.categories import MIN_OBJECTS, reference_pairs
from snellen.suites.combo.space import Mask

OBJECTS, SIZE_PX, PCA, PAIRS, WHOLE_PAIRS = 9504, (160, 120), 64, 1000, 50


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--encoder", default=ENCODER)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--renderer", choices=("mitsuba", "toy"), default="mitsuba")
    parser.add_argument("--quality", choices=tuple(QUALITIES), default="good")
    parser.add_argument("--dimensions", type=int, default=PCA, help="number of principal components to keep")
    parser.add_argument("--levels-only", action="store_true", help="keep the features in --out, recompute the levels")
    args = parser.parse_args(arguments)
    if args.levels_only:
        with np.load(args.out) as arrays:
            reduced, about = arrays["features"].astype(np.float64), json.loads(str(arrays["about"]))
    else:
        settings = RenderSettings(renderer=args.renderer, quality=args.quality)
        reduced, about = encode_objects(args.encoder, settings, args.workers, args.dimensions)
    _, distances = reference_distances(reduced, PAIRS)
    about |= {"reference_pairs": PAIRS, "smallest_category": MIN_OBJECTS}
    about["thresholds"] = [float(x) for x in np.quantile(distances, (0.25, 0.5, 0.75))]
    packed = io.BytesIO()
    np.savez_compressed(packed, features=reduced.astype(np.float16), about=np.array(json.dumps(about)))
    files.write_bytes(args.out, packed.getvalue())
    print(json.dumps({**about, "bytes": len(packed.getvalue())}, indent=1))


def encode_objects(
    name: str, settings: RenderSettings, workers: int, dimensions: int = PCA
) -> tuple[Floats, dict[str, Any]]:
    """The features rounded to float16, and their provenance."""
    raw = encode_files(name, render_objects(settings, workers), workers)
    reduced, lost = reduce(raw, dimensions)
    pairs, distances = reference_distances(reduced, WHOLE_PAIRS)
    unreduced = [separation(raw, first, second) for first, second in pairs]
    return reduced, {
        "encoder": name,
        "encoder_settings": dict(load_encoder(name).settings),
        "renderer": renderer_info(settings),
        "size_px": SIZE_PX,
        "version": VERSION,
        "pca": dimensions,
        "variance_kept": lost["variance_kept"],
        "largest_rounding_error": lost["rounding"],
        "distance_correlation_with_full_features": float(np.corrcoef(distances, unreduced)[0, 1]),
        "features_digest": digest(reduced.astype(np.float16).tolist(), 16),
    }


def reference_distances(features: Floats, count: int) -> tuple[list[tuple[Mask, Mask]], Floats]:
    """Reference pairs of categories and their distances."""
    pairs = reference_pairs(count, stream(SUITE, STREAMS, 0, "reference pairs"))
    masks = [(first.mask(), second.mask()) for first, second in pairs]
    with threadpool_limits(1):
        return masks, np.array([separation(features, first, second) for first, second in masks])


def render_objects(settings: RenderSettings, workers: int) -> list[Path]:
    """Render one view of every object, 160 x 120 px."""
    shots = [object_spec(index, 0, 0, SIZE_PX) for index in range(OBJECTS)]
    with Progress("rendering", unit="images") as progress:
        return render_images(shots, settings, home() / "renders", workers=workers, progress=progress)


def encode_files(name: str, paths: Sequence[Path], workers: int, batch_size: int = 32) -> Floats:
    """Features of image files, shape (n, d); each thread uses one processor."""
    encoder = load_encoder(name)

    def rows(start: int) -> Floats:
        images = [open_image(path).convert("RGB") for path in paths[start : start + batch_size]]
        features = np.asarray(encoder.features(images), np.float64)
        progress.advance(len(images))
        return features

    with Progress("encoding", unit="images") as progress, ThreadPoolExecutor(workers) as pool:
        progress.expect(len(paths))
        return np.concatenate(list(pool.map(rows, range(0, len(paths), batch_size))))


def reduce(raw: Floats, dimensions: int = PCA) -> tuple[Floats, dict[str, Any]]:
    """The first principal components rounded to float16, the share of variance kept and the rounding error."""
    centred = raw - raw.mean(axis=0)
    sizes, axes = np.linalg.eigh(centred.T @ centred)
    components = centred @ axes[:, ::-1][:, :dimensions]  # `eigh` sorts in ascending order
    rounded = components.astype(np.float16).astype(np.float64)
    share = float(sizes[::-1][:dimensions].sum() / sizes.sum())
    return rounded, {
        "variance_kept": share,
        "rounding": float(np.abs(rounded - components).max() / np.abs(components).max()),
    }


if __name__ == "__main__":
    main()
