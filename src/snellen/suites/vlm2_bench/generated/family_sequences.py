"""The sequences of generated sets, as families and image numbers, chosen before anything is rendered."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from snellen.core.build_options import BALANCE, BuildOptions
from snellen.core.item import Split
from snellen.core.seeds import stream
from snellen.suites.vlm2_bench.generated import objects
from snellen.suites.vlm2_bench.items import STREAMS, SUITE
from snellen.suites.vlm2_bench.sequences import BALANCED_GRP, BALANCED_OC, PATTERNS_GRP, PATTERNS_OC, draw

SEQUENCE_TASKS = ("oc-cpr", "oc-cnt", "oc-grp")


@dataclass(frozen=True)
class FamilySequence:
    """A sequence of a task: its family (index into test and calibration families), and its images in order.

    An image's number is that of its object in the family (`ObjectFamily.of_image`) and of the view of this object. A
    test sequence has views of its own, so that no question about the same files tells what they show. `order` names the
    content of each image by first appearance (`ABA`).
    """

    task: str
    split: Split
    handle: str
    family: int
    images: tuple[int, ...]
    order: str


def patterns_of(task: str, options: BuildOptions) -> Sequence[tuple[str, ...]]:
    """The patterns of a task, in groups that take turns; each turn of a group uses one of its patterns."""
    if (options.balance or BALANCE) == "answers" and task != "oc-cnt":
        return BALANCED_GRP if task == "oc-grp" else BALANCED_OC
    return [(pattern,) for pattern in (PATTERNS_GRP if task == "oc-grp" else PATTERNS_OC)]


def draw_sequences(
    counts: Mapping[str, int], tested: int, calibrated: int, options: BuildOptions
) -> Iterator[FamilySequence]:
    """`counts` different sequences per task; each calibration family gives a sequence of each group of patterns."""
    for task in SEQUENCE_TASKS:
        if counts[task]:
            patterns = patterns_of(task, options)
            yield from _take_turns(task, "test", 0, tested, counts[task], patterns, options.seed)
            count = calibrated * len(patterns)
            yield from _take_turns(task, "calibration", tested, calibrated, count, patterns, options.seed)


def _take_turns(
    task: str, split: Split, first: int, families: int, count: int, patterns: Sequence[tuple[str, ...]], seed: int
) -> Iterator[FamilySequence]:
    """`count` different sequences of `families` families from the `first` on, patterns and families in turn.

    They are numbered in random order, since a number that reveals the pattern would reveal the answer.
    """
    numbers = stream(SUITE, STREAMS, seed, "numbers", split, task).permutation(families * len(PATTERNS_OC))
    main, others = range(objects.IMAGES), range(objects.IMAGES, objects.IMAGES + objects.DISTRACTORS)
    for k in range(count):
        alternatives = patterns[k % len(patterns)]
        pattern = alternatives[k // len(patterns) % len(alternatives)]
        in_turn = k if count <= families else k // len(patterns) + k % len(patterns)
        family = in_turn % families
        place = PATTERNS_OC.index(pattern)
        number = int(numbers[family * len(PATTERNS_OC) + place])
        rng = stream(SUITE, STREAMS, seed, "sequence", first + family, pattern, task)
        images, order = draw(pattern, main, others, rng)
        if split == "test":
            view = 1 + SEQUENCE_TASKS.index(task) * len(PATTERNS_OC) + place
            images = tuple(image + view * (objects.IMAGES + objects.DISTRACTORS) for image in images)
        handle = f"{split}-{task.removeprefix('oc-')}-{number:04d}"
        yield FamilySequence(task, split, handle, first + family, images, order)
