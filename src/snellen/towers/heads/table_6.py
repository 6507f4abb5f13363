"""Table 6 of AVA-Bench (arXiv 2506.09082, appendix D): the training of each vision tower."""

from __future__ import annotations

from collections.abc import Mapping

SOURCE = "AVA-Bench (arXiv 2506.09082), Table 6"
FACTS = ("paper_name", "architecture", "parameters", "training_images", "supervision", "process", "loss")
_ROWS: Mapping[str, tuple[str, ...]] = {
    "siglip-2": (
        "SigLIP-2",
        "dual-tower ViT with MAP pooling",
        "So400m (400M)",
        "WebLI",
        "image-text pairs",
        "40B samples, batches of 32k",
        "pairwise sigmoid contrast, captioning, grounding",
    ),
    "aimv2-h": (
        "AIMv2",
        "ViT with an autoregressive multimodal decoder",
        "AIMv2-Huge (600M)",
        "DFN, COYO, HQITP",
        "multimodal autoregressive",
        "224 px, then finetuned at 336 or 448 px",
        "reconstruction of image patches and text tokens",
    ),
    "siglip-1": (
        "SigLIP-1",
        "dual-tower ViT",
        "So400m (400M)",
        "WebLI",
        "image-text pairs",
        "batches of 32k",
        "pairwise sigmoid contrast",
    ),
    "clip-l": (
        "CLIP",
        "dual-tower ViT",
        "ViT-L/14 (428M)",
        "images and texts of the internet",
        "image-text pairs",
        "batches of 32k and more",
        "InfoNCE contrast",
    ),
    "internvit-300m": (
        "InternVL-2.5",
        "ViT of a multimodal model with a language model",
        "InternVL2.5 (304M)",
        "FaceCaption, GQA, ChartQA, many others",
        "multimodal language model",
        "pretrained and finetuned on diverse datasets",
        "next token and alignment",
    ),
    "radio-h": (
        "RADIO v2.1",
        "ViT with conditional positions and distillation from several teachers",
        "RADIO-Huge (653M)",
        "DataComp1B",
        "teacher-student distillation",
        "600k steps, AdamW, batches of 1024",
        "distillation from CLIP, DINOv2 and SAM-H",
    ),
    "dinov2-l": (
        "DINOv2",
        "ViT with projection heads",
        "ViT-Large (300M)",
        "LVD-142M",
        "self-supervised",
        "teacher-student distillation without duplicates",
        "contrastive self-distillation",
    ),
    "sam-h": (
        "SAM",
        "ViT with a prompt encoder",
        "ViT-H (637M)",
        "SA-1B",
        "segmentation masks",
        "MAE, then promptable segmentation",
        "mask prediction",
    ),
    # Printed as a ResNet. 123M are the parameters of DPT-Hybrid, half of it a ResNet, which the authors' scripts load
    # (Intel/dpt-hybrid-midas).
    "midas-3.0": (
        "MiDaS-3.0",
        "multi-scale ResNet encoder-decoder",
        "ResNet-Encoder (123M)",
        "DIML Indoor, MegaDepth, ReDWeb, WSVD",
        "depth",
        "60 epochs, Adam",
        "trimmed MAE (20%) and gradients",
    ),
}
TABLE_6: Mapping[str, Mapping[str, str]] = {
    name: dict(zip(FACTS, row, strict=True)) | {"source": SOURCE} for name, row in _ROWS.items()
}
"""Attributes by tower. Reports compare by `supervision`."""
