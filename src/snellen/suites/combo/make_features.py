"""Make `features.npz`: one small picture of each of the 9,504 objects through an encoder.

`python -m snellen.suites.combo.make_features --encoder efficientnet-lite2 --out FILE` renders what the home folder
lacks (some 40 minutes on two cores for all objects), reduces the features by one global PCA and keeps them as float16.
It prints what is lost by that.
"""

from __future__ import annotations

import argparse
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from snellen.compute import Progress
from snellen.core import files
from snellen.core.hashing import digest
from snellen.core.home import home
from snellen.core.seeds import stream
from snellen.stimuli.render import RenderSettings, renderer_info, shoot
from snellen.subjects.encoders import load_encoder
from snellen.suites.combo.categories import reference_pairs
from snellen.suites.combo.difficulty import Floats, separation
from snellen.suites.combo.objects import VERSION, object_shot

OBJECTS, SIZE_PX, PCA, PAIRS = 9504, (160, 120), 64, 1000


def main(told: Sequence[str] | None = None) -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--encoder", default="efficientnet-lite2")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("features.npz"))
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--renderer", choices=("mitsuba", "toy"), default="mitsuba")
    args = parser.parse_args(told)
    settings = RenderSettings(renderer=args.renderer)
    paths = draw(settings, args.workers)
    raw = encode_files(args.encoder, paths)
    reduced, lost = reduce(raw)
    pairs = reference_pairs(PAIRS, stream("combo", VERSION, 0, "reference pairs"))
    masks = [(first.mask(), second.mask()) for first, second in pairs]
    distances = np.array([separation(reduced, first, second) for first, second in masks])
    whole = np.array([separation(raw, first, second) for first, second in masks[:100]])
    about = {
        "encoder": args.encoder,
        "encoder_settings": dict(load_encoder(args.encoder).settings),
        "renderer": renderer_info(settings),
        "size_px": SIZE_PX,
        "version": VERSION,
        "pca": PCA,
        "variance_kept": lost["variance_kept"],
        "largest_rounding_error": lost["rounding"],
        "distance_correlation_with_full_features": float(np.corrcoef(distances[:100], whole)[0, 1]),
        "reference_pairs": PAIRS,
        "thresholds": [float(x) for x in np.quantile(distances, (0.25, 0.5, 0.75))],
        "features_digest": digest(reduced.astype(np.float16).tolist(), 16),
    }
    held = io.BytesIO()
    np.savez_compressed(held, features=reduced.astype(np.float16), about=np.array(json.dumps(about)))
    files.write_bytes(args.out, held.getvalue())
    print(json.dumps({**about, "bytes": len(held.getvalue())}, indent=1))


def draw(settings: RenderSettings, workers: int) -> list[Path]:
    """One view of every object, 160 x 120 px."""
    shots = [object_shot(index, 0, 0, SIZE_PX) for index in range(OBJECTS)]
    with Progress("rendering", unit="pictures") as progress:
        return shoot(shots, settings, home() / "renders", workers=workers, progress=progress)


def encode_files(name: str, paths: Sequence[Path], batch: int = 64) -> Floats:
    """Features of picture files, shape (n, d)."""
    encoder, rows = load_encoder(name), []
    with Progress("encoding", unit="pictures") as progress:
        progress.expect(len(paths))
        for start in range(0, len(paths), batch):
            pictures = [Image.open(path).convert("RGB") for path in paths[start : start + batch]]
            rows.append(np.asarray(encoder.features(pictures), np.float64))
            progress.advance(len(pictures))
    return np.concatenate(rows)


def reduce(raw: Floats) -> tuple[Floats, dict[str, Any]]:
    """The first 64 principal components as float16 holds them, the share of variance kept and the rounding error."""
    centred = raw - raw.mean(axis=0)
    sizes, axes = np.linalg.eigh(centred.T @ centred)
    kept = centred @ axes[:, ::-1][:, :PCA]
    rounded = kept.astype(np.float16).astype(np.float64)
    share = float(sizes[::-1][:PCA].sum() / sizes.sum())
    return rounded, {"variance_kept": share, "rounding": float(np.abs(rounded - kept).max() / np.abs(kept).max())}


if __name__ == "__main__":
    main()
