"""Face detectors whose weights come with a Python package: no download."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from snellen.subjects.boxes import Detection
from snellen.subjects.loading import file_sha256, import_extra, once

if TYPE_CHECKING:
    from PIL import Image

FACES = frozenset({"face", "faces", "a face", "human face", "human faces", "a human face"})
"""Phrases that face detectors accept."""
WINDOW = 24
"""Side of the cascade's training window in pixels, and so of the smallest face."""


def only_faces(question: str) -> str | None:
    """The reason why a face detector cannot find this, or None."""
    phrase = question.strip().rstrip(".").strip().lower()
    if phrase in FACES:
        return None
    return f"finds only faces, not {question[:60]!r}" if phrase else "finds only faces, not everything"


@dataclass(frozen=True)
class CascadeFaces:
    """Frontal faces by a cascade of local binary patterns (scikit-image's, trained by OpenCV).

    A window grows by `scale_factor` from `smallest` (a share of the image's shorter side, at least 24 pixels) to the
    whole side, and moves by `step_ratio`. A face is reported if at least `min_neighbors` windows agree; lower values
    find more faces and more false ones. Every score is 1, and the largest box comes first. Boxes are square, from the
    brows to the chin; profile faces are not found.
    """

    scale_factor: float = 1.1
    step_ratio: float = 1.0
    min_neighbors: int = 10
    smallest: float = 0.1

    @property
    def settings(self) -> Mapping[str, Any]:
        """All settings that affect boxes."""
        return {"detector": "face", "version": 1, "weights": file_sha256(_cascade_file()), **vars(self)}

    def refuses(self, question: str) -> str | None:
        """Refuse everything but faces."""
        return only_faces(question)

    def find(self, image: Image.Image, question: str) -> list[Detection]:
        """Faces in pixels of the image."""
        short = min(image.size)
        min_side = max(WINDOW, round(self.smallest * short))
        if min_side > short:
            return []
        rows = _cascade().detect_multi_scale(
            img=np.asarray(image.convert("RGB")),
            scale_factor=self.scale_factor,
            step_ratio=self.step_ratio,
            min_size=(min_side, min_side),
            max_size=(short, short),
            min_neighbor_number=self.min_neighbors,
        )
        return [
            Detection((row["c"], row["r"], row["c"] + row["width"], row["r"] + row["height"]), "face") for row in rows
        ]


@dataclass(frozen=True)
class BlazeFaces:
    """Faces by BlazeFace, from the wheel of mediapipe (Apache-2.0).

    `model` is `short` (faces within about two metres of the camera) or `full` (about five). Boxes reach from the brows
    to the chin.
    """

    threshold: float = 0.5
    model: str = "short"

    @property
    def settings(self) -> Mapping[str, Any]:
        """All settings that affect boxes; the weights come with the package."""
        return {"detector": "mediapipe-face", "version": 1, "mediapipe": _mediapipe().__version__, **vars(self)}

    def refuses(self, question: str) -> str | None:
        """Refuse everything but faces."""
        return only_faces(question)

    def find(self, image: Image.Image, question: str) -> list[Detection]:
        """Faces in pixels of the image. Each call builds its own graph, since threads cannot share one."""
        faces = _mediapipe().solutions.face_detection
        options = {"model_selection": ("short", "full").index(self.model), "min_detection_confidence": self.threshold}
        with warnings.catch_warnings(), faces.FaceDetection(**options) as detection:
            warnings.filterwarnings("ignore", message="SymbolDatabase.GetPrototype")  # of protobuf, about mediapipe
            detections = detection.process(np.ascontiguousarray(image.convert("RGB"))).detections or ()
            return [_blaze(face, image.size) for face in detections]


def _blaze(detection: Any, size: tuple[int, int]) -> Detection:
    """A detection in pixels, from one in fractions of the image's width and height."""
    (width, height), box = size, detection.location_data.relative_bounding_box
    x, y = box.xmin * width, box.ymin * height
    return Detection((x, y, x + box.width * width, y + box.height * height), "face", float(detection.score[0]))


def _cascade_file() -> Path:
    return Path(import_extra("skimage.data", "detector:face", "curation").lbp_frontal_face_cascade_filename())


@once
def _cascade() -> Any:
    return import_extra("skimage.feature", "detector:face", "curation").Cascade(str(_cascade_file()))


def _mediapipe() -> Any:
    return import_extra("mediapipe", "detector:mediapipe-face", "faces")
