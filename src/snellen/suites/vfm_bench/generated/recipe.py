"""The `generated` recipe: one pool of pictures, divided anew by every episode.

All dimensions of a picture vary independently (`concepts`, `blocks`), so that one picture is an example of a class at
every concept level at once, and only the dimensions of the level asked about tell the classes of an episode apart. For
`n` test items the pool holds six pictures for each of as many classes as the largest episode has (`pool_size`): five
to show and one to ask. No picture is asked about twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any, TypeAlias, TypeVar

import numpy as np

from snellen.core.errors import SnellenError
from snellen.core.item import Item, Media
from snellen.core.itemset import ItemSet, refuse_existing, write_itemset
from snellen.core.media import MediaFolder
from snellen.core.seeds import stream
from snellen.core.suite import BuildOptions
from snellen.stimuli.render import render_for_recipe
from snellen.stimuli.scenes import COLOURS, MATERIAL_VARIANTS, MATERIALS, Composite, RenderSpec
from snellen.stimuli.scenes import Appearance as Surface
from snellen.stimuli.scenes.composites import joints
from snellen.stimuli.scenes.model import COLOURED, Material
from snellen.suites.vfm_bench.generated import block_pictures, concepts
from snellen.suites.vfm_bench.generated.concepts import FAMILIES, Family, Values
from snellen.suites.vfm_bench.items import (
    GENERATED,
    LEVELS,
    SHOTS,
    SUITE,
    TASK,
    VERSION,
    Episode,
    Level,
    Shown,
    episode_item,
    key,
)
from snellen.suites.vfm_bench.transforms import with_mean_regions

CHECKUP_N, QUICK_N, FULL_N = 12, 4, 4200
"""Items; the paper has 4,200 (section 3.2)."""
SIZE_PX, QUICK_SIZE_PX = (384, 288), (240, 180)
MIN_WAYS, MAX_WAYS = 2, 10
PICTURES_A_CLASS = SHOTS + 1
MAX_PICTURES = 400
"""Of a pool, unless more are asked about."""
SECONDS_A_PICTURE, BYTES_A_PICTURE = 1.2, 75_000
"""CPU time and disk of one picture, for plans."""
T = TypeVar("T")


@dataclass(frozen=True)
class Ask:
    """One episode: a family, its classes in the order of the options, the place of the true one, and its pictures.

    Pictures go by number; `demos` are five of each class.
    """

    family: Family
    classes: tuple[Values, ...]
    truth: int
    query: int
    demos: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Design:
    """Which pictures are needed and what is asked about them, decided from the seed alone."""

    drafts: tuple[block_pictures.Draft, ...]
    asks: tuple[Ask, ...]

    @cached_property
    def looks(self) -> tuple[Mapping[str, str], ...]:
        """The look of every picture."""
        return tuple(draft.look() for draft in self.drafts)


def count_of(options: BuildOptions) -> int:
    """How many items are made. Raises SnellenError for none, and for tasks there are not."""
    if unknown := [task for task in options.tasks if task != TASK]:
        raise SnellenError(f"{SUITE} has no task {unknown[0]!r}; there is {TASK}")
    return FULL_N if options.full else options.test_items(SUITE, CHECKUP_N, QUICK_N)


def most_ways(n: int) -> int:
    """The most classes an episode has in a set of `n` items: fewer in sets too small to spread them."""
    return min(MAX_WAYS, max(4, n + 1))


def pool_size(n: int) -> int:
    """How many pictures a set of `n` items takes: at least six a class, some more than are asked about."""
    return max(PICTURES_A_CLASS * most_ways(n), min(3 * n, MAX_PICTURES), n + n // 4)


def design(options: BuildOptions) -> Design:
    """Decide every picture and every episode."""
    n, seed = count_of(options), options.seed
    drafts = draw_pool(pool_size(n), seed)
    return Design(drafts, draw_asks(n, [draft.look() for draft in drafts], seed))


def draw_pool(count: int, seed: int) -> tuple[block_pictures.Draft, ...]:
    """Pictures whose dimensions vary independently, every value (or combination of values) as often as any other.

    Of joints, kinds of part, patterns and lights there are never more than leave six pictures for each.
    """
    rng = stream(SUITE, VERSION, seed, "pool")

    def dealt(values: Sequence[T]) -> list[T]:
        most = min(len(values), count // PICTURES_A_CLASS)
        kept = [values[int(k)] for k in rng.permutation(len(values))[:most]]
        return [kept[int(k) % most] for k in rng.permutation(count)]

    dimensions = zip(
        dealt(tuple(joints())),
        dealt(tuple(product((*COLOURS, "glass", "wood"), block_pictures.SIZES))),
        dealt(MATERIALS),
        dealt(tuple(product(concepts.ARRANGEMENTS, concepts.BEATS))),
        dealt(tuple(product(concepts.LIGHTS, concepts.TINTS))),
        dealt(tuple(product(concepts.TILTS, concepts.HEIGHTS))),
        dealt(tuple(block_pictures.FLOORS)),
        strict=True,
    )
    drafts = []
    for joint, (stuff, size), kind, (arrangement, beat), (light, tint), (tilt, height), floor in dimensions:
        first, anchor, second, pivot = joint
        part = _any([look for look in MATERIAL_VARIANTS if stuff in (look.colour, look.kind)], rng)
        body = _body(kind, part, rng)
        block = Composite(
            Surface(first, body.kind, body.colour), anchor, Surface(second, part.kind, part.colour), pivot
        )
        balls = _any(block_pictures.BALLS, rng)[: 1 if beat == "one" else 2]
        drafts.append(block_pictures.Draft(block, size, arrangement, balls, light, tint, tilt, height, floor))
    return tuple(drafts)


def _body(kind: str, part: Material, rng: np.random.Generator) -> Material:
    """A material for the larger solid that the part stands out from: never glass on glass, nor one colour on itself."""
    kinds = (kind,) if (kind != part.kind or kind in COLOURED) else COLOURED
    return _any([look for look in MATERIAL_VARIANTS if look.kind in kinds and look.colour != (part.colour or "")], rng)


def _any(values: Sequence[T], rng: np.random.Generator) -> T:
    return values[int(rng.integers(len(values)))]


def draw_asks(n: int, looks: Sequence[Mapping[str, str]], seed: int) -> tuple[Ask, ...]:
    """`n` episodes: levels in turn, ways spread over what there is, no picture asked about twice."""
    held = {family.handle: classes_of(family, looks) for family in FAMILIES}
    left, used = set(range(len(looks))), Counter[str]()
    ways = [int(w) for turn in range(n) for w in _ways(turn, n, seed)][:n]
    asks = []
    for k in range(n):
        rng = stream(SUITE, VERSION, seed, "episode", k)
        family = _family(LEVELS[k % len(LEVELS)], ways[k], held, left, used, rng)
        ask = _ask(family, ways[k], held[family.handle], left, rng)
        left.remove(ask.query)
        used[family.handle] += 1
        asks.append(ask)
    return tuple(asks)


def _ways(turn: int, n: int, seed: int) -> Sequence[int]:
    """Every number of ways once, in an order drawn anew for every turn."""
    few, most = MIN_WAYS, most_ways(n)
    return [few + int(k) for k in stream(SUITE, VERSION, seed, "ways", turn).permutation(most - few + 1)]


def classes_of(family: Family, looks: Sequence[Mapping[str, str]]) -> dict[Values, tuple[int, ...]]:
    """The classes of a family that enough pictures belong to, with the numbers of these pictures."""
    found: dict[Values, list[int]] = {}
    for number, look in enumerate(looks):
        if (values := family.class_of(look)) is not None:
            found.setdefault(values, []).append(number)
    return {values: tuple(held) for values, held in sorted(found.items()) if len(held) >= PICTURES_A_CLASS}


Classes: TypeAlias = Mapping[Values, tuple[int, ...]]
"""The classes of a family that can be shown, with the numbers of their pictures."""


def _family(
    level: Level, ways: int, held: Mapping[str, Classes], left: set[int], used: Counter[str], rng: np.random.Generator
) -> Family:
    """Of the families of the level with classes enough and something left to ask, one of those asked about least."""
    open_ = [one for one in FAMILIES if one.level == level and _askable(held[one.handle], left)]
    enough = min(ways, max(len(held[one.handle]) for one in open_))
    able = [one for one in open_ if len(held[one.handle]) >= enough]
    least = [one for one in able if used[one.handle] == min(used[other.handle] for other in able)]
    return _any(least, rng)


def _askable(classes: Classes, left: set[int]) -> list[Values]:
    return [values for values, numbers in classes.items() if any(number in left for number in numbers)]


def _ask(family: Family, ways: int, classes: Classes, left: set[int], rng: np.random.Generator) -> Ask:
    """An episode in `ways` classes, or in as many as the family has, about a picture that is `left`."""
    truth = _any(_askable(classes, left), rng)
    others = [values for values in classes if values != truth]
    chosen = [truth, *(others[int(k)] for k in rng.permutation(len(others))[: ways - 1])]
    shown = tuple(chosen[int(k)] for k in rng.permutation(len(chosen)))
    query = _any([number for number in classes[truth] if number in left], rng)
    demos = tuple(
        tuple(int(k) for k in rng.permutation([one for one in classes[values] if one != query])[:SHOTS])
        for values in shown
    )
    return Ask(family, shown, shown.index(truth), query, demos)


@dataclass(frozen=True)
class Generated:
    """The recipe `generated`."""

    def parameters(self, options: BuildOptions) -> Mapping[str, Any]:
        """Count, seed, size, renderer."""
        return {
            "counts": {TASK: count_of(options)},
            **options.rendering(_size(options)),
        }

    def plan(self, options: BuildOptions) -> Mapping[str, Any]:
        """Pictures, concepts, seconds and bytes."""
        made = design(options)
        return {
            "suite": SUITE,
            "pictures": len(made.drafts),
            "concepts": len({(ask.family.handle, ask.classes[ask.truth]) for ask in made.asks}),
            "items": {TASK: len(made.asks)},
            "seconds": round(len(made.drafts) * SECONDS_A_PICTURE / options.workers),
            "bytes": len(made.drafts) * BYTES_A_PICTURE,
            "workers": options.workers,
        }

    def build(self, options: BuildOptions) -> ItemSet:
        """Render what the home folder lacks, then write the items."""
        refuse_existing(options.out)
        made = design(options)
        media = MediaFolder(options.out / "media")
        shots = [block_pictures.picture_shot(one, k, options.seed, _size(options)) for k, one in enumerate(made.drafts)]
        paths, drawn_by = render_for_recipe(shots, options)
        pictures = [media.add_file(path) for path in paths]
        return write_itemset(
            options.out,
            with_mean_regions(list(episodes(made, shots, pictures, options.seed))),
            source="generated",
            recipe=self.parameters(options),
            provenance=drawn_by,
            notes=["concepts are rules on composite blocks, patterns, lights and views, one pool of pictures for all"],
        )


def _size(options: BuildOptions) -> tuple[int, int]:
    return QUICK_SIZE_PX if options.quick else SIZE_PX


def episodes(made: Design, shots: Sequence[RenderSpec], pictures: Sequence[Media], seed: int) -> list[Item]:
    """The items; their numbers, and those of concepts, are in an order drawn from the seed."""
    numbers = stream(SUITE, VERSION, seed, "numbers").permutation(len(made.asks))
    concept = _numbered(made, seed)
    items = []
    for place, ask in enumerate(made.asks):
        cluster = f"generated/concept-{concept(ask.family.handle, ask.classes[ask.truth]):04d}"
        items.append(_item(f"{int(numbers[place]):04d}", cluster, ask, made, shots, pictures, seed))
    return sorted(items, key=lambda item: item.item_id)


def _numbered(made: Design, seed: int) -> Callable[[str, Values], int]:
    """A number for every concept, which tells nothing of it."""
    known = sorted({(ask.family.handle, values) for ask in made.asks for values in ask.classes})
    drawn = stream(SUITE, VERSION, seed, "concepts").permutation(len(known))
    number = {one: int(drawn[place]) for place, one in enumerate(known)}
    return lambda handle, values: number[handle, values]


def _item(
    handle: str,
    cluster: str,
    ask: Ask,
    made: Design,
    shots: Sequence[RenderSpec],
    pictures: Sequence[Media],
    seed: int,
) -> Item:
    family = ask.family
    claims = {key(place): family.claims(values) for place, values in enumerate(ask.classes)}
    classes = tuple(_shown(ask, place, made, pictures) for place in range(len(ask.classes)))
    seen = (ask.query, *(number for demos in ask.demos for number in demos))
    episode = Episode(
        handle,
        pictures[ask.query],
        classes,
        ask.truth,
        GENERATED,
        family.level,
        family.scene,
        "generated",
        cluster,
        box=block_pictures.region_box(shots[ask.query], family.region) if family.region else None,
        latent={
            "shows": {pictures[number].sha256: dict(made.looks[number]) for number in seen},
            "claims": claims,
            "learned": True,
            "named": {one.name: told for one, told in zip(classes, claims.values(), strict=True)},
        },
        factors={"family": family.handle},
        provenance={"source": "generated", "seed": seed, "picture": ask.query, "rule": claims[key(ask.truth)]},
    )
    item = episode_item(episode)
    return replace(item, requires=concepts.required(made.looks[ask.query], str(item.answer), claims))


def _shown(ask: Ask, place: int, made: Design, pictures: Sequence[Media]) -> Shown:
    """The class at a place of an episode."""
    family, values, demos = ask.family, ask.classes[place], ask.demos[place]
    return Shown(
        family.name(family.values(values)),
        tuple(pictures[number] for number in demos),
        tuple(concepts.caption(made.looks[number]) for number in demos),
        family.definition(values),
    )
