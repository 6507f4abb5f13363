"""The acuity of encoders at two input sides: does the threshold follow the pixels that reach them?

An encoder gets whole images of 448 px, resized to 128 or to 256 px. The small one has the ink in eight sectors of a
ring as features, behind noise in every pixel, and a linear probe; the real one is EfficientNet-Lite0.
Print the table of docs/measurements/thresholds.md: python -m tests.helpers.sized_encoders
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from unittest import mock

import numpy as np
from PIL import Image

import snellen
from snellen.analysis.grading.rows import rows_of
from snellen.core.build_options import BuildOptions
from snellen.core.hashing import digest
from snellen.core.score import MEASURED
from snellen.core.seeds import stream
from snellen.core.subject import Subject
from snellen.exam.run import run
from snellen.scoring.clustered_means import Floats
from snellen.subjects.encoders import efficientnet
from snellen.subjects.encoders.factory import make_encoder
from snellen.suites.thresholds.generated.recipe import Generated

SIDES, EXAMS, NOISE = (128, 256), 8, 40.0
"""Input sides in pixels, banks with different seeds, and the standard deviation of noise in grey levels."""
NETWORK = "efficientnet-lite0"
Encoder = Callable[[int], AbstractContextManager[Subject]]


def ring_sectors(images: Sequence[Image.Image]) -> Floats:
    """The mean ink in eight sectors around its middle, (n, 8); the noise follows from the image."""
    return np.array([_sectors(np.asarray(image.convert("L"), np.float64)) for image in images], np.float32)


def _sectors(pixels: Floats) -> list[float]:
    noise = stream("sized encoders", digest([pixels.astype(np.uint8).tobytes().hex()])).normal(0, NOISE, pixels.shape)
    ink, (y, x) = np.abs(pixels - np.median(pixels)), np.indices(pixels.shape) + 0.5
    offset = x + 1j * y
    offset -= (ink * offset).sum() / ink.sum()
    offset /= np.sqrt((ink * np.abs(offset) ** 2).sum() / ink.sum())
    is_on_ring = (np.abs(offset) > 0.7) & (np.abs(offset) < 1.3)
    towards = [np.maximum((offset * np.exp(-0.25j * np.pi * n)).real, 0) ** 4 * is_on_ring for n in range(8)]
    return [float((weights * (ink + noise)).sum() / max(weights.sum(), 1e-6) / ink.max()) for weights in towards]


def small(side: int) -> AbstractContextManager[Subject]:
    """The small encoder at an input side."""
    return nullcontext(snellen.encoder(ring_sectors, f"side-{side}", size=side))


@contextmanager
def network(side: int) -> Iterator[Subject]:
    """EfficientNet-Lite0 with the attentive readout at an input side."""
    with mock.patch.dict(efficientnet.PATCH_SIDES, {NETWORK: side}):
        yield make_encoder(NETWORK, {"readout": "attentive"}, [])


def exams(encoder: Encoder, count: int) -> Iterator[dict[int, float]]:
    """The thresholds in pixels of the image by the input side, in exams on banks with different seeds.

    Those beyond the levels are left out.
    """
    for seed in range(count):
        gaps = dict[int, float]()
        with tempfile.TemporaryDirectory() as folder:
            options = BuildOptions(Path(folder) / "bank", tasks=("acuity",), seed=seed, show_progress=False)
            items = Generated().build(options)
            for side in SIDES:
                with encoder(side) as subject:
                    table = run(items, [subject], Path(folder) / str(side), show_progress=False).all_results()
                (row,) = (row for row in rows_of(table) if row.metric == "threshold" and row.factor == "")
                if row.grade.reason == MEASURED:
                    gaps[side] = row.value
        yield gaps


def ratio(results: Sequence[dict[int, float]]) -> tuple[float, float]:
    """The geometric mean of the ratios of the thresholds at the smaller and the larger side, and its standard error.

    The error is a factor.
    """
    logs = [np.log(result[SIDES[0]] / result[SIDES[1]]) for result in results if len(result) == 2]
    return float(np.exp(np.mean(logs))), float(np.exp(np.std(logs, ddof=1) / np.sqrt(len(logs))))


def main() -> None:
    """Print the table."""
    heads = " | ".join(f"gaps at {side} px" for side in SIDES)
    print(f"| encoder | {heads} | ratio |\n|---|---|---|---|")
    for name, encoder, count in (("small", small, EXAMS), (f"{NETWORK}?readout=attentive", network, EXAMS // 2)):
        results = list(exams(encoder, count))
        cells = [", ".join(f"{r[side]:.3g}" if side in r else "none" for r in results) for side in SIDES]
        mean, factor = ratio(results)
        print(f"| {name} | {' | '.join(cells)} | {mean:.2f} (x{factor:.2f}) |", flush=True)


if __name__ == "__main__":
    main()
