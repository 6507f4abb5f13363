"""Every threshold of the curation in one table: its value, meaning and origin."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Annotated, Any

from pydantic import Field

from snellen.curation.rules import LOOSEST_CAPS, OURS, Caps, bound
from snellen.suites.ava_bench.items import AREA_SHARES, MAX_COUNT, MIN_DEPTH_GAP_M

Count = Annotated[int, Field(ge=1)]
Share = Annotated[float, Field(ge=0, le=1)]
Extent = Annotated[float, Field(ge=0)]


def _bound(what: str, origin: str = "A.2", loosest: Any = None) -> dict[str, Any]:
    return bound(what, origin, loosest)


@dataclass(frozen=True, kw_only=True)
class Rules:
    """The thresholds of sections 3.2, 3.3 and appendix A.2, or ours if the paper has none (see `rule_table`)."""

    test_share: Share = field(default=0.2, metadata=_bound("share of every class and bin that is for testing", "3.3"))
    fewest: Count = field(
        default=5,
        metadata=_bound("fewest items of a class and bin, so that one of them tests and four train", OURS, loosest=2),
    )

    thing_area: tuple[float, float] = field(
        default=AREA_SHARES,
        metadata=_bound("localization, object: share of the image that the box fills, between", loosest=(0.0, 1.0)),
    )
    a_thing: Count = field(default=700, metadata=_bound("localization, object: images of a category at most"))

    most_counted: Annotated[int, Field(ge=1, le=MAX_COUNT)] = field(
        default=MAX_COUNT, metadata=_bound("counting: greatest number of things")
    )
    counted_open: Caps = field(
        default=Caps(15, 30, 5),
        metadata=_bound("counting, VQAv2 and LVIS: images per count; counts per category", loosest=LOOSEST_CAPS),
    )
    counted_fsc: Caps = field(
        default=Caps(6, 12, 4),
        metadata=_bound("counting, FSC-147: images per count; counts per category", loosest=LOOSEST_CAPS),
    )
    counted_cars: Caps = field(
        default=Caps(10, 20, 5), metadata=_bound("counting, CARPK: images per count; counts", loosest=LOOSEST_CAPS)
    )
    counted_crowds: Caps = field(
        default=Caps(25, 50, 1),
        metadata=_bound("counting, CrowdHuman and VSCrowd, each: images per count", loosest=LOOSEST_CAPS),
    )
    crowd_frames: Count = field(
        default=1, metadata=_bound("counting, VSCrowd: frames of a video that show as many people, at most", OURS)
    )

    spatial_indoor_area: Share = field(
        default=0.02, metadata=_bound("spatial, NYU-Depth V2: least share of the image that a box fills", loosest=0.0)
    )
    spatial_open_area: Share = field(
        default=0.002,
        metadata=_bound("spatial, LVIS and Objects365: least share of the image that a box fills", loosest=0.0),
    )
    spatial_references: Count = field(
        default=8, metadata=_bound("spatial: reference classes of a target class in a position", loosest=1)
    )
    spatial_rows: Count = field(default=5, metadata=_bound("spatial: images of each of them", loosest=1))
    spatial_positions: Count = field(
        default=2,
        metadata=_bound("spatial: positions in which a target class must appear (the paper: several)", OURS, loosest=1),
    )
    spatial_classes: Count = field(
        default=24,
        metadata=_bound("spatial: target classes of a dataset; 3 datasets x 24 x 4 positions x 40 are the 11.5K", OURS),
    )

    coloured_images: Count = field(default=7000, metadata=_bound("colour: images of a dataset"))

    depth_side_px: Count = field(
        default=384, metadata=_bound("absolute depth, indoors: side to which an image is resized to measure its boxes")
    )
    depth_least_box_px: Extent = field(
        default=500.0,
        metadata=_bound("absolute depth, indoors: least area of a box in pixels, at that size", loosest=0.0),
    )
    depth_indoor: Caps = field(
        default=Caps(10, 30, 3),
        metadata=_bound("absolute depth, indoors: images a bin; bins a class", loosest=LOOSEST_CAPS),
    )
    depth_outdoor: Caps = field(
        default=Caps(20, 60, 1), metadata=_bound("absolute depth, outdoors: images a bin", loosest=LOOSEST_CAPS)
    )
    depth_nearest_outdoor_m: Extent = field(
        default=8.0, metadata=_bound("absolute depth, outdoors: least distance in metres", loosest=0.0)
    )
    crop_widths: tuple[float, float] = field(
        default=(1.0, 2.0), metadata=_bound("depth, outdoors: width of the crop in heights, between")
    )
    edge_px: Extent = field(
        default=1.0,
        metadata=_bound(
            "depth, outdoors: a box so near to an edge of the image, or nearer, touches it; KITTI cuts at width - 1",
            OURS,
        ),
    )
    depth_gap_m: Annotated[float, Field(ge=MIN_DEPTH_GAP_M)] = field(
        default=MIN_DEPTH_GAP_M, metadata=_bound("relative depth: least difference in metres")
    )
    pairs_indoor: Caps = field(
        default=Caps(10, 30),
        metadata=_bound("relative depth, indoors: pairs of two classes with one of them nearer", loosest=LOOSEST_CAPS),
    )
    pairs_indoor_classes: Count = field(
        default=131, metadata=_bound("relative depth, indoors: pairs of classes at most; the paper has as many")
    )
    pairs_outdoor: Count = field(
        default=6000, metadata=_bound("relative depth, outdoors: pairs in all, as many of every two classes")
    )
    gap_edges_indoor: tuple[float, ...] = field(
        default=(1.0, 2.0),
        metadata=_bound("relative depth, indoors: metres between ranges of differences that are split alike", OURS),
    )
    gap_edges_outdoor: tuple[float, ...] = field(
        default=(5.0, 10.0, 20.0),
        metadata=_bound("relative depth, outdoors: metres between ranges of differences that are split alike", OURS),
    )

    scene_images: Count = field(
        default=30, metadata=_bound("scene: images of a class, neither more nor fewer", loosest=2)
    )
    action_images: Count = field(
        default=50,
        metadata=_bound(
            "action: clips of a class at most; the paper's 500 and 100 contradict its 15K of 302 classes", OURS
        ),
    )
    emotion_images: Count = field(
        default=1214, metadata=_bound("emotion: faces of an emotion and dataset at most, of 17K in all", OURS)
    )
    face_share: Share = field(
        default=0.95,
        metadata=_bound("emotion: share of the image from which on a lone face's box is the image, undrawn", OURS),
    )
    texture: Caps = field(
        default=Caps(120, 480), metadata=_bound("texture: images of an attribute", loosest=LOOSEST_CAPS)
    )
    orientation: Caps = field(
        default=Caps(10, 40, 2),
        metadata=_bound("orientation, EgoOrientBench: images an orientation; orientations", loosest=LOOSEST_CAPS),
    )
    orientation_cure_or: Caps = field(
        default=Caps(5, 6, 2),
        metadata=_bound(
            "orientation, CURE-OR: images an orientation, of 2 backgrounds by 3 devices; orientations (fewest: ours)",
            loosest=LOOSEST_CAPS,
        ),
    )
    species_images: Count = field(default=30, metadata=_bound("fine-grained: images of a class", loosest=2))
    species_birds: Count = field(default=100, metadata=_bound("fine-grained: classes of CUB-200-2011", loosest=2))
    species_others: Count = field(default=50, metadata=_bound("fine-grained: classes of every other group", loosest=2))
    word_area_coco_text: Extent = field(
        default=1500.0, metadata=_bound("ocr, COCO-Text: least area of a word's box in pixels", loosest=0.0)
    )
    word_area_text_vqa: Extent = field(
        default=2000.0, metadata=_bound("ocr, TextVQA: least area of a word's box in pixels", loosest=0.0)
    )
    word_turn: Extent = field(
        default=1.0, metadata=_bound("ocr, TextVQA: greatest angle in degrees by which a word is turned", OURS)
    )
    words_iiit5k: Count = field(default=2000, metadata=_bound("ocr, IIIT5K: images"))
    words_others: Count = field(
        default=4450, metadata=_bound("ocr, COCO-Text and TextVQA: words of each at most, of 10.9K in all", OURS)
    )

    def __post_init__(self) -> None:
        for name in ("thing_area", "crop_widths", "gap_edges_indoor", "gap_edges_outdoor"):
            numbers = getattr(self, name)
            if min(numbers, default=0) < 0 or list(numbers) != sorted(set(numbers)):
                raise ValueError(f"{name}: {list(numbers)} are not increasing numbers of 0 or more")


def rule_table(rules: Rules) -> list[tuple[str, str, str, str]]:
    """One line per rule for documents: name, value, meaning, origin (a section of the paper, or `ours`)."""
    return [
        (rule.name, _format_threshold(getattr(rules, rule.name)), rule.metadata["what"], rule.metadata["origin"])
        for rule in fields(rules)
    ]


def _format_threshold(threshold: Any) -> str:
    if isinstance(threshold, Caps):
        return f"{threshold.minimum} to {threshold.maximum}" + (
            f"; {threshold.min_bins} or more" if threshold.min_bins > 1 else ""
        )
    return ", ".join(f"{number:g}" for number in threshold) if isinstance(threshold, tuple) else f"{threshold:g}"
