"""From pictures and their truth to items, the same way for every recipe (`design/ava-bench.md`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

from snellen.core.errors import SnellenError
from snellen.core.item import AnswerKind, Box, Item, Media, Option, Split
from snellen.suites.ava_bench import prompts

SUITE = "ava-bench"
VERSION = "1"
"""Version of the suite: moves when old and new scores may not share a table."""
KINDS: Mapping[str, AnswerKind] = MappingProxyType(
    {
        "localization": "box",
        "counting": "integer",
        "spatial": "choice",
        "orientation": "choice",
        "absolute-depth": "choice",
        "relative-depth": "choice",
        "object": "choice",
        "fine-grained": "choice",
        "colour": "colour",
        "texture": "choice",
        "ocr": "text",
        "action": "choice",
        "emotion": "choice",
        "scene": "choice",
        "counting-by-colour": "integer",
        "nearer-localization": "box",
    }
)
"""Kinds of answer, of the fourteen tasks and of those composed of two of them."""
PARTS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"counting-by-colour": ("counting", "colour"), "nearer-localization": ("localization", "relative-depth")}
)
"""Composite tasks (sections 1 and 5, Figure 8a) with the abilities that they hang on. Both tasks are ours."""
COMPOSITES = tuple(PARTS)
TASKS = tuple(task for task in KINDS if task not in COMPOSITES)
"""The fourteen atomic abilities: what the paper ranks by. No composite task counts among them."""
CHOICES = tuple(task for task, kind in KINDS.items() if kind == "choice")
FREE = tuple(task for task, kind in KINDS.items() if kind != "choice")
"""Tasks without options: what guessing is worth there hangs on the other items (`blind.with_chance`)."""
BOXED: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "spatial": ("red", "blue"),
        "absolute-depth": ("red",),
        "relative-depth": ("red", "blue"),
        "object": ("red",),
        "colour": ("red",),
        "ocr": ("red",),
        "emotion": ("red",),
    }
)
"""Which boxes are drawn; of emotion only where the picture shows more than the face (appendix A.2)."""
NEEDS: Mapping[str, str] = MappingProxyType(
    {
        "localization": "location",
        "counting": "number",
        "spatial": "layout",
        "orientation": "orientation",
        "absolute-depth": "depth",
        "relative-depth": "depth",
        "object": "object",
        "fine-grained": "kind",
        "colour": "colour",
        "texture": "texture",
        "ocr": "text",
        "action": "action",
        "emotion": "emotion",
        "scene": "scene",
    }
)
"""The one dimension that must be seen to solve a task: the point of an atomic ability. Composites: `needs`."""

POSITIONS = ("Left above", "Left below", "Right above", "Right below")
"""Section A.2; section 3.2.3 writes top-left, top-right, bottom-left, bottom-right."""
ORIENTATIONS = (
    "front", "front right", "right", "back right", "back", "back left", "left", "front left", "top",
)  # fmt: skip
EMOTIONS = ("happy", "sad", "angry", "fear", "surprise", "neutral", "disgust")
NEARER = ("red", "blue")
MAX_COUNT = 40
AREA_SHARES = (0.002, 0.5)
"""Localization and object: shares of the picture's area between which a box lies (appendix A.2), both excluded."""
MIN_DEPTH_GAP_M = 0.5
ACTIONS_OFFERED, SCENES_OFFERED = 100, 30
COUNT_RANGES = ((5, "1-5"), (10, "6-10"), (20, "11-20"), (MAX_COUNT, "21-40"))
DEPTH_RANGES = ((5, "0-5 m"), (10, "5-10 m"), (20, "10-20 m"), (float("inf"), "20 m and more"))
TEXT_LENGTHS = ((5, "1-5"), (10, "6-10"), (20, "11-20"), (float("inf"), "21 and more"))
"""Upper ends, included, as the released scorers have them; depths go by the middle of their bin."""
BOX_SIZES = ((0.1, "0-0.1"), (0.2, "0.1-0.2"), (0.3, "0.2-0.3"), (0.5, "0.3-0.5"))
"""Shares of the picture's area. The text of Figure 8(b) names only 0.3-0.5; the steps below it are ours."""
Place: TypeAlias = Literal["indoor", "outdoor"]


@dataclass(frozen=True)
class Shown:
    """A picture that is asked about, and where it comes from.

    `handle` makes the ids and tells nothing of the answer. `cluster` is what was sampled independently: the scene, or
    the picture. `stimulus` is shared by questions about one stored picture, if there are several. `source` is the
    dataset, `domain` what the paper's Table 2 calls one (`Open`, `Bird`). `known` says that whoever sees the
    picture can know the answer for certain, as of generated ones: only then are ideal observers told.
    """

    handle: str
    picture: Media
    cluster: str
    source: str
    domain: str = ""
    split: Split = "test"
    stimulus: str = ""
    known: bool = False
    factors: Mapping[str, str] = field(default_factory=dict)
    measures: Mapping[str, float] = field(default_factory=dict)
    provenance: Mapping[str, Any] = field(default_factory=dict)


def localization_item(of: Shown, thing: str, box: Sequence[float]) -> Item:
    """Where the only `thing` is. `box` is [x1, y1, x2, y2] in pixels of the stored picture."""
    held = _box(of, box)
    share = area_share(held, of.picture)
    return _item(
        of,
        "localization",
        prompts.question("localization", thing=thing),
        held,
        regions={"box": list(held)},
        factors={"thing": thing, "box_size": _range(share, BOX_SIZES)},
        measures={"area_share": share},
        instead=([0.0, 0.0, float(of.picture.width), float(of.picture.height)],),
    )


def counting_item(of: Shown, things: str, count: int, question: str = "") -> Item:
    """How many `things` (their plural) there are, 1 to 40. Pairs taken over from VQAv2 keep their own `question`."""
    if not 1 <= count <= MAX_COUNT:
        raise SnellenError(f"ava-bench item {of.handle}: {count} things to count; leave out what is not 1 to 40")
    return _item(
        of,
        "counting",
        question or prompts.question("counting", thing=things),
        count,
        factors={"thing": things, "count_range": _range(count, COUNT_RANGES)},
        measures={"count": float(count)},
        instead=(count + 1,),
    )


def spatial_item(of: Shown, red: str, blue: str, red_box: Sequence[float], blue_box: Sequence[float]) -> Item:
    """Where the red box (the target) lies as seen from the blue one (the reference)."""
    boxes = {"red": list(_box(of, red_box)), "blue": list(_box(of, blue_box))}
    return _item(
        of,
        "spatial",
        prompts.question("spatial", red=red, blue=blue),
        position(of, red_box, blue_box),
        POSITIONS,
        regions=boxes,
        factors={"thing": red, "reference": blue, "position": position(of, red_box, blue_box)},
    )


def orientation_item(of: Shown, thing: str, orientation: str, offered: Sequence[str] = ORIENTATIONS) -> Item:
    """Which way `thing` faces, one of the nine, or of those that the set has."""
    return _item(
        of,
        "orientation",
        prompts.question("orientation", thing=thing),
        orientation,
        offered,
        factors={"thing": thing, "orientation": orientation},
    )


def absolute_depth_item(
    of: Shown, thing: str, box: Sequence[float], depth_m: float, bins: Sequence[str], place: Place
) -> Item:
    """How far the closest point of `thing` is: one of `bins`, in order, as `depth_bin` writes them."""
    answer = depth_bin(depth_m)
    return _item(
        of,
        "absolute-depth",
        prompts.question("absolute-depth", red=thing),
        answer,
        bins,
        regions={"red": list(_box(of, box))},
        factors={"thing": thing, "scene_type": place, "depth_range": _range(bin_middle(answer), DEPTH_RANGES)},
        measures={"depth_m": depth_m},
    )


def relative_depth_item(
    of: Shown,
    things: tuple[str, str],
    boxes: tuple[Sequence[float], Sequence[float]],
    depths_m: tuple[float, float],
    place: Place,
) -> Item:
    """Which of two things is closer. All pairs are red first, blue second; depths differ by half a metre or more."""
    gap = _depth_gap(of, depths_m)
    return _item(
        of,
        "relative-depth",
        prompts.question("relative-depth", red=things[0], blue=things[1]),
        NEARER[gap < 0],
        NEARER,
        regions={name: list(_box(of, box)) for name, box in zip(NEARER, boxes, strict=True)},
        factors={"scene_type": place, "thing": things[0], "reference": things[1]},
        measures={"depth_gap_m": abs(gap)},
    )


def object_item(of: Shown, name: str, box: Sequence[float], names: Sequence[str]) -> Item:
    """What is in the red box: one of `names`, all of the set, in an order drawn for this item."""
    held = _box(of, box)
    share = area_share(held, of.picture)
    factors = {"thing": name, "box_size": _range(share, BOX_SIZES)}
    told = prompts.question("object")
    return _item(
        of, "object", told, name, names, regions={"red": list(held)}, factors=factors, measures={"area_share": share}
    )


def fine_grained_item(of: Shown, group: str, name: str, names: Sequence[str]) -> Item:
    """Which species of `group` (`bird`) is shown: one of `names`, all classes of that group."""
    told = prompts.question("fine-grained", group=group)
    return _item(of, "fine-grained", told, name, names, factors={"group": group})


def colour_item(of: Shown, box: Sequence[float], rgb: Sequence[int]) -> Item:
    """The colour in the red box: the most frequent sRGB value of the region, three whole numbers 0..255."""
    if len(rgb) != 3 or not all(0 <= level <= 255 for level in rgb):
        raise SnellenError(f"ava-bench item {of.handle}: {list(rgb)} is no sRGB colour; give three numbers 0..255")
    answer = tuple(int(level) for level in rgb)
    return _item(
        of,
        "colour",
        prompts.question("colour"),
        answer,
        regions={"red": list(_box(of, box))},
        instead=([(level + 128) % 256 for level in answer],),
    )


def texture_item(of: Shown, texture: str, textures: Sequence[str]) -> Item:
    """Which texture fills the picture: one of `textures`, the whole pool of the source, shuffled."""
    return _item(of, "texture", prompts.question("texture"), texture, textures, factors={"texture": texture})


def ocr_item(of: Shown, box: Sequence[float], text: str) -> Item:
    """What is written in the red box."""
    if not text.strip():
        raise SnellenError(f"ava-bench item {of.handle}: nothing is written in its box; leave it out")
    return _item(
        of,
        "ocr",
        prompts.question("ocr"),
        text,
        regions={"red": list(_box(of, box))},
        factors={"text_length": _range(len(text), TEXT_LENGTHS)},
        measures={"text_length": float(len(text))},
        instead=("",),
    )


def action_item(of: Shown, action: str, actions: Sequence[str]) -> Item:
    """What is being done in the middle frame of a clip: one of `actions`, a hundred drawn for this item."""
    return _item(of, "action", prompts.question("action"), action, actions)


def emotion_item(of: Shown, emotion: str, box: Sequence[float] | None = None) -> Item:
    """What a face shows, one of the seven; `box` is drawn round the face where there is one."""
    regions = {} if box is None else {"red": list(_box(of, box))}
    told = prompts.question("emotion")
    return _item(of, "emotion", told, emotion, EMOTIONS, regions=regions, factors={"emotion": emotion})


def scene_item(of: Shown, scene: str, scenes: Sequence[str]) -> Item:
    """Which scene the picture shows: one of `scenes`, thirty drawn for this item."""
    return _item(of, "scene", prompts.question("scene"), scene, scenes)


def counting_by_colour_item(of: Shown, colour: str, things: str, count: int, of_kind: int) -> Item:
    """How many `things` (their plural) of a colour there are, 1 to 40, among `of_kind` such things of any colour.

    Raises SnellenError where all of them have the colour, for then it need not be seen.
    """
    if not 1 <= count <= min(MAX_COUNT, of_kind - 1):
        raise SnellenError(
            f"ava-bench item {of.handle}: {count} {colour} things among {of_kind} {things}; 1 to {MAX_COUNT} must "
            "have the colour, and others must not; leave it out"
        )
    return _item(
        of,
        "counting-by-colour",
        prompts.question("counting-by-colour", colour=colour, thing=things),
        count,
        factors={"thing": things, "colour": colour, "count_range": _range(count, COUNT_RANGES)},
        measures={"count": float(count), "of_kind": float(of_kind)},
        instead=(count + 1, of_kind),
    )


def nearer_localization_item(
    of: Shown,
    things: tuple[str, str],
    boxes: tuple[Sequence[float], Sequence[float]],
    depths_m: tuple[float, float],
    place: Place,
) -> Item:
    """Where the nearer of two things is, each the only one of its kind; no box is drawn.

    `things`, `boxes` and `depths_m` come in the order in which the question names the two: let chance decide it.
    """
    if things[0].casefold() == things[1].casefold():
        raise SnellenError(
            f"ava-bench item {of.handle}: both things are called {things[0]!r}, so that nobody knows which is which; "
            "leave the pair out"
        )
    gap = _depth_gap(of, depths_m)
    order = (0, 1) if gap > 0 else (1, 0)
    (nearer, other), (thing, reference) = [_box(of, boxes[n]) for n in order], [things[n] for n in order]
    share = area_share(nearer, of.picture)
    return _item(
        of,
        "nearer-localization",
        prompts.question("nearer-localization", one=things[0], other=things[1]),
        nearer,
        regions={"box": list(nearer), "farther": list(other)},
        factors={
            "scene_type": place,
            "thing": thing,
            "reference": reference,
            "box_size": _range(share, BOX_SIZES),
            "named": ("first", "second")[order[0]],
        },
        measures={"area_share": share, "depth_gap_m": abs(gap)},
        instead=([0.0, 0.0, float(of.picture.width), float(of.picture.height)], list(other)),
    )


def needs(task: str) -> tuple[str, ...]:
    """The dimensions that must be seen to solve a task: one, or for a composite one a part."""
    return tuple(NEEDS[part] for part in PARTS.get(task, (task,)))


def _item(
    of: Shown,
    task: str,
    question: str,
    answer: Any,
    options: Sequence[str] = (),
    *,
    regions: Mapping[str, Any] = MappingProxyType({}),
    factors: Mapping[str, str] = MappingProxyType({}),
    measures: Mapping[str, float] = MappingProxyType({}),
    instead: Sequence[Any] = (),
) -> Item:
    """An item of any task. `instead` are answers that would be wrong, one a dimension, where no option is one."""
    if options and (answer not in options or len(set(options)) != len(options)):
        raise SnellenError(
            f"ava-bench item {of.handle} ({task}): {answer!r} must be among its options, and no option twice: "
            f"{', '.join(options)}"
        )
    handle = f"{task}-{of.handle}"
    others = [[option for option in options if option != answer]] if options else [[wrong] for wrong in instead]
    return Item(
        item_id=handle,
        suite=SUITE,
        task=task,
        question=question,
        query=(of.picture,),
        answer=answer,
        answer_kind=KINDS[task],
        stimulus_id=of.stimulus or handle,
        group_id=handle,
        cluster_id=of.cluster,
        version=VERSION,
        split=of.split,
        options=tuple(Option(name, name) for name in options),
        factors={"source": of.source, **({"domain": of.domain} if of.domain else {}), **factors, **of.factors},
        measures={**measures, **of.measures},
        requires=needs(task) if of.known else (),
        regions=dict(regions),
        latent=_latent(answer, dict(zip(needs(task), others, strict=True))) if of.known else {},
        provenance=of.provenance,
    )


def _latent(answer: Any, others: Mapping[str, Sequence[Any]]) -> Mapping[str, Any]:
    """What ideal observers are told: the actual world, then those that differ from it in one dimension alone.

    `others` are the answers of the latter by dimension.
    """
    actual = dict.fromkeys(others, "0")
    differing = [
        {"look": {**actual, dimension: str(n)}, "answer": wrong}
        for dimension, answers in others.items()
        for n, wrong in enumerate(answers, 1)
    ]
    told = list(answer) if isinstance(answer, tuple) else answer  # as what is kept as JSON is read back
    return {"worlds": [{"look": actual, "answer": told}, *differing]}


def _depth_gap(of: Shown, depths_m: tuple[float, float]) -> float:
    """By how many metres the second is farther than the first, if they are half a metre or more apart."""
    gap = depths_m[1] - depths_m[0]
    if abs(gap) < MIN_DEPTH_GAP_M:
        raise SnellenError(
            f"ava-bench item {of.handle}: depths of {depths_m[0]:g} m and {depths_m[1]:g} m are too much alike; "
            f"leave out pairs nearer than {MIN_DEPTH_GAP_M} m to each other"
        )
    return gap


def _box(of: Shown, box: Sequence[float]) -> Box:
    """The box, if it lies in the picture and has an area."""
    x1, y1, x2, y2 = (float(side) for side in box)
    if not (0 <= x1 < x2 <= of.picture.width and 0 <= y1 < y2 <= of.picture.height):
        raise SnellenError(
            f"ava-bench item {of.handle}: box {[x1, y1, x2, y2]} has no area or lies outside its picture of "
            f"{of.picture.width} x {of.picture.height}; boxes are [x1, y1, x2, y2] in pixels of the stored picture"
        )
    return x1, y1, x2, y2


def _range(value: float, ranges: Sequence[tuple[float, str]]) -> str:
    """The name of the first range that reaches up to the value; the last one for what lies beyond."""
    return next((name for most, name in ranges if value <= most), ranges[-1][1])


def box_area(box: Box) -> float:
    """In square pixels, or whatever the sides are in."""
    return (box[2] - box[0]) * (box[3] - box[1])


def area_share(box: Box, picture: Media) -> float:
    """The area of a box as a share of its stored, unpadded picture: 0 to 1."""
    return box_area(box) / (picture.width * picture.height)


def position(of: Shown, red: Sequence[float], blue: Sequence[float]) -> str:
    """Where the red box lies as seen from the blue one, one of `POSITIONS`.

    Raises SnellenError for boxes that share a column or a row of pixels, which the paper leaves out (appendix A.2).
    """
    (rx1, ry1, rx2, ry2), (bx1, by1, bx2, by2) = red, blue
    if (rx1 < bx2 and bx1 < rx2) or (ry1 < by2 and by1 < ry2):
        raise SnellenError(
            f"ava-bench item {of.handle}: boxes {list(red)} and {list(blue)} overlap across or along, so that none of "
            f"the four places is right; leave the pair out"
        )
    return f"{'Left' if rx2 <= bx1 else 'Right'} {'above' if ry2 <= by1 else 'below'}"


def depth_bin(depth_m: float) -> str:
    """The bin of one metre in which a depth lies: `4-5` for 4 m up to, not including, 5 m (appendix A.2)."""
    if not 0 <= depth_m < 10_000:
        raise SnellenError(f"a depth of {depth_m} m has no bin; depths are metres from the camera, 0 or more")
    return f"{int(depth_m)}-{int(depth_m) + 1}"


def bin_middle(name: str) -> float:
    """The middle of a bin in metres: 4.5 for `4-5`. Raises SnellenError for what is no bin."""
    low, _, high = name.partition("-")
    try:
        return (float(low) + float(high)) / 2
    except ValueError:
        raise SnellenError(f"{name!r} is no bin of depths; write them like 4-5") from None
