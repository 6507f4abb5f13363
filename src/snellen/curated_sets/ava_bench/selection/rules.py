"""Every threshold of the curation in one table: its value, meaning and origin."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import Field

from snellen.curated_sets.rules import LOOSEST_CAPS, OURS, Caps, bound
from snellen.suites.ava_bench.items import AREA_SHARES, MAX_COUNT, MIN_DEPTH_GAP_M

Count = Annotated[int, Field(ge=1)]
Share = Annotated[float, Field(ge=0, le=1)]
Extent = Annotated[float, Field(ge=0)]


def _rule(default: Any, what: str, origin: str = "A.2", loosest: Any = None) -> Any:
    return field(default=default, metadata=bound(what, origin, loosest))


@dataclass(frozen=True, kw_only=True)
class Rules:
    """The thresholds of sections 3.2, 3.3 and appendix A.2, or ours if the paper has none (see `rule_table`)."""

    test_share: Share = _rule(0.2, "share of every class and bin that is for testing", "3.3")
    fewest: Count = _rule(
        5, "fewest items of a class and bin, so that one of them tests and four train", OURS, loosest=2
    )

    thing_area: tuple[float, float] = _rule(
        AREA_SHARES, "localization, object: share of the image that the box fills, between", loosest=(0.0, 1.0)
    )
    a_thing: Count = _rule(700, "localization, object: images of a category at most")

    most_counted: Annotated[int, Field(ge=1, le=MAX_COUNT)] = _rule(MAX_COUNT, "counting: greatest number of things")
    counted_open: Caps = _rule(
        Caps(15, 30, 5), "counting, VQAv2 and LVIS: images per count; counts per category", loosest=LOOSEST_CAPS
    )
    counted_fsc: Caps = _rule(
        Caps(6, 12, 4), "counting, FSC-147: images per count; counts per category", loosest=LOOSEST_CAPS
    )
    counted_cars: Caps = _rule(Caps(10, 20, 5), "counting, CARPK: images per count; counts", loosest=LOOSEST_CAPS)
    counted_crowds: Caps = _rule(
        Caps(25, 50, 1), "counting, CrowdHuman and VSCrowd, each: images per count", loosest=LOOSEST_CAPS
    )
    crowd_frames: Count = _rule(1, "counting, VSCrowd: frames of a video that show as many people, at most", OURS)

    spatial_indoor_area: Share = _rule(
        0.02, "spatial, NYU-Depth V2: least share of the image that a box fills", loosest=0.0
    )
    spatial_open_area: Share = _rule(
        0.002, "spatial, LVIS and Objects365: least share of the image that a box fills", loosest=0.0
    )
    spatial_references: Count = _rule(8, "spatial: reference classes of a target class in a position", loosest=1)
    spatial_rows: Count = _rule(5, "spatial: images of each of them", loosest=1)
    spatial_positions: Count = _rule(
        2, "spatial: positions in which a target class must appear (the paper: several)", OURS, loosest=1
    )
    spatial_classes: Count = _rule(
        24, "spatial: target classes of a dataset; 3 datasets x 24 x 4 positions x 40 are the 11.5K", OURS
    )

    coloured_images: Count = _rule(7000, "colour: images of a dataset")

    depth_side_px: Count = _rule(384, "absolute depth, indoors: side to which an image is resized to measure its boxes")
    depth_least_box_px: Extent = _rule(
        500.0, "absolute depth, indoors: least area of a box in pixels, at that size", loosest=0.0
    )
    depth_indoor: Caps = _rule(
        Caps(10, 30, 3), "absolute depth, indoors: images a bin; bins a class", loosest=LOOSEST_CAPS
    )
    depth_outdoor: Caps = _rule(Caps(20, 60, 1), "absolute depth, outdoors: images a bin", loosest=LOOSEST_CAPS)
    depth_nearest_outdoor_m: Extent = _rule(8.0, "absolute depth, outdoors: least distance in metres", loosest=0.0)
    crop_widths: tuple[float, float] = _rule((1.0, 2.0), "depth, outdoors: width of the crop in heights, between")
    edge_px: Extent = _rule(
        1.0,
        "depth, outdoors: a box so near to an edge of the image, or nearer, touches it; KITTI cuts at width - 1",
        OURS,
    )
    depth_gap_m: Annotated[float, Field(ge=MIN_DEPTH_GAP_M)] = _rule(
        MIN_DEPTH_GAP_M, "relative depth: least difference in metres"
    )
    pairs_indoor: Caps = _rule(
        Caps(10, 30), "relative depth, indoors: pairs of two classes with one of them nearer", loosest=LOOSEST_CAPS
    )
    pairs_indoor_classes: Count = _rule(131, "relative depth, indoors: pairs of classes at most; the paper has as many")
    pairs_outdoor: Count = _rule(6000, "relative depth, outdoors: pairs in all, as many of every two classes")
    gap_edges_indoor: tuple[float, ...] = _rule(
        (1.0, 2.0), "relative depth, indoors: metres between ranges of differences that are split alike", OURS
    )
    gap_edges_outdoor: tuple[float, ...] = _rule(
        (5.0, 10.0, 20.0), "relative depth, outdoors: metres between ranges of differences that are split alike", OURS
    )

    scene_images: Count = _rule(30, "scene: images of a class, neither more nor fewer", loosest=2)
    action_images: Count = _rule(
        50, "action: clips of a class at most; the paper's 500 and 100 contradict its 15K of 302 classes", OURS
    )
    emotion_images: Count = _rule(1214, "emotion: faces of an emotion and dataset at most, of 17K in all", OURS)
    face_share: Share = _rule(
        0.95, "emotion: share of the image from which on a lone face's box is the image, undrawn", OURS
    )
    texture: Caps = _rule(Caps(120, 480), "texture: images of an attribute", loosest=LOOSEST_CAPS)
    orientation: Caps = _rule(
        Caps(10, 40, 2), "orientation, EgoOrientBench: images an orientation; orientations", loosest=LOOSEST_CAPS
    )
    orientation_cure_or: Caps = _rule(
        Caps(5, 6, 2),
        "orientation, CURE-OR: images an orientation, of 2 backgrounds by 3 devices; orientations (fewest: ours)",
        loosest=LOOSEST_CAPS,
    )
    species_images: Count = _rule(30, "fine-grained: images of a class", loosest=2)
    species_birds: Count = _rule(100, "fine-grained: classes of CUB-200-2011", loosest=2)
    species_others: Count = _rule(50, "fine-grained: classes of every other group", loosest=2)
    word_area_coco_text: Extent = _rule(1500.0, "ocr, COCO-Text: least area of a word's box in pixels", loosest=0.0)
    word_area_text_vqa: Extent = _rule(2000.0, "ocr, TextVQA: least area of a word's box in pixels", loosest=0.0)
    word_turn: Extent = _rule(1.0, "ocr, TextVQA: greatest angle in degrees by which a word is turned", OURS)
    words_iiit5k: Count = _rule(2000, "ocr, IIIT5K: images")
    words_others: Count = _rule(4450, "ocr, COCO-Text and TextVQA: words of each at most, of 10.9K in all", OURS)

    def __post_init__(self) -> None:
        for name in ("thing_area", "crop_widths", "gap_edges_indoor", "gap_edges_outdoor"):
            numbers = getattr(self, name)
            if min(numbers, default=0) < 0 or list(numbers) != sorted(set(numbers)):
                raise ValueError(f"{name}: {list(numbers)} are not increasing numbers of 0 or more")
