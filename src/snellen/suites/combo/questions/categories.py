"""Category Building (section 3.2, appendix B.4): two rule-categories, four objects of each, and a test object.

A rule fixes some dimensions. The two rules of a pair fix the same dimensions to the same values, except for one
difference: a shape, an anchor, a combination, a colour or a material. Their distance is measured, not assumed, and
each difference is equally frequent at each level (`quotas`). By distance alone the hardest pairs would differ in colour
and material, which the encoder sees worst; the paper's differ in the secondary's shape and combinations (section 4.2).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from snellen.core.condition import Axis, Condition
from snellen.core.errors import SnellenError
from snellen.core.item import Demo, Item, Media, Montage, Option, Part, View
from snellen.core.seeds import stream
from snellen.core.suite import Method, Task, Transform, ViewContext
from snellen.curation.draws import shuffled
from snellen.presentation.controls import IMAGES, LAYOUT, ORDER, PROMPT, SHEET, control, order_transforms
from snellen.presentation.methods import OneByOne, PerceiveThenClassify
from snellen.presentation.presenters import Present, with_layout
from snellen.stimuli.scenes import ANCHORS, DIMENSIONS, all_composites
from snellen.suites.combo import prompts
from snellen.suites.combo.difficulty import LEVELS, Features, level_of, separation
from snellen.suites.combo.items import STREAMS, SUITE, choice_item
from snellen.suites.combo.scoring import PAIR_PROTOCOLS
from snellen.suites.combo.space import Mask, as_claims, members, required, values

TASK = "category-building"
METHOD = Axis(
    "method",
    ("vanilla", "cot", "perceive-then-classify", "caption-then-classify"),
    "method of asking category-building (Figures 22-26)",
)
PAPER_COUNT = 400
"""Questions: 100 per level (Table 1)."""
SHOTS = 4
QUERIES_A_PAIR = 2
OBJECTS_A_RULE = SHOTS + 1
"""Images of each category in the pool: four as support, one as test object."""
RULES_A_FAMILY = 3
DIFFERENCES = ("shape", "anchor", "combination", "colour", "material")
"""The possible differences of a pair."""
_TURNS = ("shape", "colour", "anchor", "combination", "shape", "material", "anchor")
_FIRST_TURN = {"easy": 5, "medium": 3, "hard": 1, "expert": 0}
"""The order of differences at a level, and where each level starts: any six pairs have all five, and at least half of
the expert pairs depend on a shape or an anchor."""
ATTEMPTS = 200
"""Draws of a pair before a level counts as unreachable for a difference."""
MIN_OBJECTS = 72
"""Minimum objects of a category: with fewer, the Gaussian of its features is not estimable
(`design/category-difficulty.md`)."""


@dataclass(frozen=True)
class Rule:
    """A category: all objects with these values. `fixed` is in the order of `DIMENSIONS`."""

    fixed: tuple[tuple[str, str], ...]

    def mask(self) -> Mask:
        """Its objects among the 9,504."""
        return members({dimension: [value] for dimension, value in self.fixed})

    def text(self) -> str:
        """The rule as `dimension=value` terms."""
        return ",".join(f"{dimension}={value}" for dimension, value in self.fixed)


@dataclass(frozen=True)
class Pair:
    """Two rules without a common object, their distance and its level, and their difference (one of `DIFFERENCES`)."""

    first: Rule
    second: Rule
    distance: float
    level: str
    difference: str

    def granularity(self) -> str:
        """The number of dimensions that each category fixes: one number if they are equal."""
        return " and ".join(str(n) for n in sorted({len(self.first.fixed), len(self.second.fixed)}))

    def deciding(self) -> tuple[str, ...]:
        """The dimensions that both rules fix, to different values."""
        other = dict(self.second.fixed)
        return tuple(d for d, value in self.first.fixed if other.get(d, value) != value)


def random_rule(rng: np.random.Generator) -> Rule:
    """A rule of random granularity with at least `MIN_OBJECTS` objects."""
    while True:
        appearance = all_composites()[int(rng.integers(9504))].dimensions()
        size = int(rng.integers(1, 6))
        # All dimensions except the last: no rule fixes the pivot.
        columns = sorted(int(k) for k in rng.choice(len(DIMENSIONS) - 1, size=size, replace=False))
        rule = Rule(tuple((DIMENSIONS[k], appearance[DIMENSIONS[k]]) for k in columns))
        if rule.mask().sum() >= MIN_OBJECTS:
            return rule


def variant_of(rule: Rule, count: int, rng: np.random.Generator) -> Rule | None:
    """The rule with `count` of its values changed, or None if too few objects follow it."""
    fixed = dict(rule.fixed)
    for dimension in rng.permutation([d for d, _ in rule.fixed])[:count]:
        others = [value for value in values(str(dimension)) if value != fixed[str(dimension)]]
        fixed[str(dimension)] = others[int(rng.integers(len(others)))]
    variant = Rule(tuple((d, fixed[d]) for d, _ in rule.fixed))
    return variant if variant.mask().sum() >= MIN_OBJECTS else None


def draw_family(rng: np.random.Generator) -> tuple[Rule, ...]:
    """A random rule, and rules that differ from it in one or two values."""
    while True:
        rules = [random_rule(rng)]
        for _ in range(20):
            variant = variant_of(rules[0], int(rng.integers(1, 3)), rng)
            if variant is not None and variant not in rules:
                rules.append(variant)
            if len(rules) == RULES_A_FAMILY:
                return tuple(rules)


def reference_pairs(count: int, rng: np.random.Generator) -> list[tuple[Rule, Rule]]:
    """The pairs whose distances set the levels: half within a family, half across two."""
    pairs: list[tuple[Rule, Rule]] = []
    while len(pairs) < count:
        within = draw_family(rng)
        other = draw_family(rng)
        pairs += [pair for pair in ((within[0], within[1]), (within[0], other[0])) if _disjoint(*pair)]
    return pairs[:count]


def _disjoint(rule: Rule, other_rule: Rule) -> bool:
    return not (rule.mask() & other_rule.mask()).any()


def quotas(count: int) -> list[tuple[str, str]]:
    """The level and difference of each of `count` pairs: levels equally often, differences in turn within each."""
    cells = []
    for n, level in enumerate(LEVELS):
        pairs = count // len(LEVELS) + (n < count % len(LEVELS))
        cells += [(level, _TURNS[(_FIRST_TURN[level] + k) % len(_TURNS)]) for k in range(pairs)]
    return cells


def choose_pairs(count: int, seed: int, features: Features) -> list[Pair]:
    """`count` different pairs that follow `quotas`.

    If a difference does not reach a level by these features, the least used difference of that level replaces it.
    Raises SnellenError if no difference reaches the level.
    """
    from threadpoolctl import threadpool_limits

    pairs: list[Pair] = []
    unreachable: set[tuple[str, str]] = set()
    with threadpool_limits(1):  # for 64 x 64 matrices, synchronising threads costs ten times the work
        for level, difference in quotas(count):
            uses = Counter(pair.difference for pair in pairs if pair.level == level)
            others = sorted((name for name in DIFFERENCES if name != difference), key=lambda name: uses[name])
            for name in (difference, *others):
                if (level, name) in unreachable:
                    continue
                rng = stream(SUITE, STREAMS, seed, TASK, "pair", level, name, len(pairs))
                if pair := _pair_at(level, name, features, rng, pairs):
                    pairs.append(pair)
                    break
                unreachable.add((level, name))
            else:
                raise SnellenError(
                    f"combo/{TASK}: no more {level} pairs by the feature distances of {features.encoder} with seed "
                    f"{seed}; try another seed or other features"
                )
    return pairs


def _pair_at(
    level: str, difference: str, features: Features, rng: np.random.Generator, former_pairs: Sequence[Pair]
) -> Pair | None:
    """A new pair of this level with this difference; None if no draw gives one."""
    known = {frozenset((pair.first, pair.second)) for pair in former_pairs}
    for _ in range(ATTEMPTS):
        first, second = contrast(difference, rng)
        if min(first.mask().sum(), second.mask().sum()) < MIN_OBJECTS or frozenset((first, second)) in known:
            continue
        distance = _distance(features, first, second)
        if level_of(distance, features.thresholds) == level:
            return Pair(first, second, distance, level, difference)
    return None


@lru_cache(maxsize=1 << 14)  # a third of the draws for a full set repeat, and most draws for sets of several sizes
def _distance(features: Features, rule: Rule, other_rule: Rule) -> float:
    """The separation to six decimals, since the last digits of eigenvalues depend on the processor."""
    return round(separation(features.values, rule.mask(), other_rule.mask()), 6)


def contrast(difference: str, rng: np.random.Generator) -> tuple[Rule, Rule]:
    """Two rules with only this difference and up to three common values; few or no objects may follow them."""
    appearance = all_composites()[int(rng.integers(len(all_composites())))].dimensions()
    # All dimensions except the last: no rule fixes the pivot.
    columns = rng.choice(len(DIMENSIONS) - 1, size=int(rng.integers(4)), replace=False)
    common = {DIMENSIONS[int(k)]: appearance[DIMENSIONS[int(k)]] for k in columns}
    if difference == "combination":
        # The primitives exchange their values: both categories have the same values in different places.
        factor = shuffled(("shape", "material", "colour"), rng)[0]
        dimensions = (f"{factor}/primary", f"{factor}/secondary")
        drawn = shuffled(_contrasted(dimensions[0]), rng)[:2]
        first, second = dict(zip(dimensions, drawn, strict=True)), dict(zip(dimensions, drawn[::-1], strict=True))
    elif difference == "anchor":
        # On the same shape, which would otherwise also distinguish the categories.
        common["shape/primary"] = shuffled([shape for shape, points in ANCHORS.items() if len(points) > 1], rng)[0]
        points = shuffled(ANCHORS[common["shape/primary"]], rng)  # type: ignore[index]  # a shape, as all its keys
        first, second = ({"contact-point/anchor": point} for point in points[:2])
    else:
        dimension = shuffled((f"{difference}/primary", f"{difference}/secondary"), rng)[0]
        first, second = ({dimension: value} for value in shuffled(_contrasted(dimension), rng)[:2])
    rules = [{**common, **fixed} for fixed in (first, second)]
    return _rule(rules[0]), _rule(rules[1])


def _contrasted(dimension: str) -> list[str]:
    """The values that may be contrasted. "No colour" is excluded, since the material implies it."""
    return [value for value in values(dimension) if value != prompts.NO_COLOUR or not dimension.startswith("colour")]


def _rule(fixed: Mapping[str, str]) -> Rule:
    return Rule(tuple((dimension, fixed[dimension]) for dimension in DIMENSIONS if dimension in fixed))


def pair_items(
    n: int,
    pair: Pair,
    renders: Mapping[Rule, Sequence[tuple[Media, Mapping[str, str]]]],
    seed: int,
    provenance: Mapping[str, object],
) -> list[Item]:
    """The two questions about one pair, with the same support: one test object of each category, in random order."""
    rng = stream(SUITE, STREAMS, seed, TASK, "pair", n)
    rules = [pair.first, pair.second] if rng.random() < 0.5 else [pair.second, pair.first]
    by_key = {
        key: [renders[rule][int(k)] for k in rng.permutation(len(renders[rule]))]
        for key, rule in zip("AB", rules, strict=True)
    }
    support = tuple(Demo((by_key[key][shot][0],), key, shot) for shot in range(SHOTS) for key in "AB")
    fits = {key: rule.mask() for key, rule in zip("AB", rules, strict=True)}
    appearances = {media.sha256: dict(appearance) for key in "AB" for media, appearance in by_key[key][: SHOTS + 1]}
    items = []
    for index, answer in enumerate("AB" if rng.random() < 0.5 else "BA"):
        image, appearance = by_key[answer][SHOTS]
        item = choice_item(
            f"categories-{n:04d}-{index}",
            task=TASK,
            question=prompts.CATEGORY_QUESTION,
            query=(image,),
            support=support,
            answer=answer,
            group_id=f"categories-{n:04d}",
            cluster_id=f"categories-{n:04d}",
            options=(Option("A", "A"), Option("B", "B")),
            factors={
                "difficulty": pair.level,
                "difference": pair.difference,
                "granularity": pair.granularity(),
                "deciding": ", ".join(pair.deciding()) or "several",
            },
            measures={"distance": pair.distance, "objects": float(sum(int(mask.sum()) for mask in fits.values()))},
            requires=required([(appearance, fits[key]) for key in "AB"]),
            latent={"shows": appearances, "claims": as_claims(fits), "learned": True},
            provenance={**provenance, "rules": {key: rule.text() for key, rule in zip("AB", rules, strict=True)}},
        )
        items.append(item)
    return items


# Presentation


def category_parts(prompt: str, single: bool, think: bool = False) -> Present:
    """Present 4 + 4 + 1 images as three (the paper's main setting, appendix D.3) or as one, then the question."""

    def present(view: View) -> tuple[Part, ...]:
        by_key = {
            option.key: tuple(image for demo in view.support if demo.answer == option.key for image in demo.media)
            for option in view.options
        }
        intro = "\n".join(filter(None, (prompts.DESCRIPTION[prompt], prompts.CATEGORY_INTRO[prompt])))
        closing = "\n".join((view.question, prompts.CATEGORY_THINK if think else prompts.CATEGORY_FORM[prompt]))
        if single:
            images = tuple(image for examples in by_key.values() for image in examples) + view.query
            labels = tuple(key for key, examples in by_key.items() for _ in examples) + ("test",) * len(view.query)
            page = (Montage(images, SHOTS, labels),) if images else ()
            return (intro, *page, closing)
        parts: list[Part] = [intro]
        for key, examples in by_key.items():
            parts += [f"Category {key}:", *((Montage(examples, 2),) if examples else ())]
        return (*parts, "Test object:", *view.query, closing)

    return present


def perceive_question() -> str:
    """The question with all keys to fill in and their allowed values."""
    lines = []
    for dimension in DIMENSIONS:
        factor, part = dimension.split("/")
        options = ", ".join(values(dimension)) if factor != "contact-point" else _contact_points(part)
        lines.append(f'"{dimension}": {options}')
    return prompts.PERCEIVE.format(keys="\n".join(lines))


def _contact_points(part: str) -> str:
    return prompts.ANCHOR_PLACES if part == "anchor" else prompts.PIVOT_PLACES


def classify_parts(prompt: str) -> Callable[[View, str], tuple[Part, ...]]:
    """Ask to classify from the descriptions of the images and from the test image itself."""

    def present(view: View, description: str) -> tuple[Part, ...]:
        lines = [prompts.DESCRIPTION[prompt], prompts.CATEGORY_INTRO[prompt], prompts.PERCEIVED_INTRO]
        for option in view.options:
            lines += [f"Category {option.key}: {demo.caption}" for demo in view.support if demo.answer == option.key]
        lines += [prompts.PERCEIVED_TEST, description]
        closing = "\n".join((view.question, prompts.CATEGORY_FORM[prompt]))
        return ("\n".join(filter(None, lines)), "Test object:", *view.query, closing)

    return present


def _transforms(item: Item, context: ViewContext) -> tuple[Transform, ...]:
    return (*order_transforms(context.condition["order"]), *control(context.condition["images"], context))


def _method(condition: Condition) -> Method:
    prompt, single, layout = str(condition["prompt"]), condition["sheet"] == "single", condition["layout"]
    classify = with_layout(classify_parts(prompt), layout)
    if condition["method"] == "perceive-then-classify":
        return PerceiveThenClassify(
            lambda view: (prompts.DESCRIPTION["full"], *view.query, view.question), classify, perceive_question()
        )
    if condition["method"] == "caption-then-classify":
        return PerceiveThenClassify(lambda view: (*view.query, view.question), classify, prompts.CAPTION)
    present = category_parts(prompt, single, think=condition["method"] == "cot")
    return OneByOne(with_layout(present, layout))


AXES = (METHOD,)
"""The axes of this task alone."""
TASKS = (
    Task(
        id=TASK,
        kind="choice",
        axes=tuple(axis.name for axis in (SHEET, METHOD, LAYOUT, ORDER, PROMPT, IMAGES)),
        transforms=_transforms,
        method=_method,
        protocols=PAIR_PROTOCOLS,
        split_by=("difficulty", "difference"),
        cheap_sight="objects of a category share one property, whatever else differs",
        question_for_people=lambda view: f"{prompts.CATEGORY_FOR_PEOPLE} {view.question}",
    ),
)
