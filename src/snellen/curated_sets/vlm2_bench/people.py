"""Sequences of the user's images of people (section 2.3, appendix 5).

People are identified by numbers alone: no id, factor or question contains their names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from snellen.core.build_options import BuildOptions
from snellen.core.errors import SnellenError
from snellen.core.hashing import digest
from snellen.core.item import Demo, Item, Media, Option
from snellen.core.seeds import stream
from snellen.core.storage.media import MediaFolder
from snellen.curated_sets.steps import Argument, Step
from snellen.curation.draws import proportional_shares, shuffled
from snellen.curation.results import StepResult, construction_subjects
from snellen.curation.steps import step_item
from snellen.suites.vlm2_bench import prompts
from snellen.suites.vlm2_bench.folders import CuratedItems, add_distinct, folders_in, images_in, source_folder
from snellen.suites.vlm2_bench.items import STREAMS, SUITE, ImageSequence, sequence_items
from snellen.suites.vlm2_bench.objects import IDENTITY, MIN_DISTRACTORS, MIN_MAIN
from snellen.suites.vlm2_bench.sequences import PATTERNS_GRP, PC_COUNTS, draw, needed

TASKS = ("pc-cpr", "pc-cnt", "pc-grp")
PEOPLE = 30
"""Number of people in the paper: three races, two genders, five each."""
CNT_QUESTIONS: Mapping[int, int] = {2: 30, 3: 25, 4: 65}
"""Numbers of questions of PC Cnt by number of images (camera-ready, appendix D)."""
GRP_QUESTIONS = 100
CHOICE_RULE = "proportional: sequences of each pattern in proportion, largest remainder, the earlier pattern first"
SCALE_RULE = "published counts x people / 30, halves up, at least 1; never more than published"
LAYOUT = "give a folder GROUP/PERSON/*.jpg (four images per person)"


@dataclass(frozen=True)
class PersonNumber:
    """A person, numbered in the order of groups and folders."""

    number: int
    group: str
    images: tuple[Path, ...]

    @property
    def handle(self) -> str:
        """The identifier used instead of a name."""
        return f"person-{self.number:03d}"


@dataclass(frozen=True)
class Portrait:
    """One image of a person. `key` is its name in the step for look-alikes."""

    key: str
    person: PersonNumber
    media: Media


def read_people(root: Path) -> tuple[PersonNumber, ...]:
    """All people in a folder GROUP/PERSON/*.jpg. Raises SnellenError for too few people or images."""
    folders = [(group.name, folder) for group in folders_in(root) for folder in folders_in(group)]
    people = tuple(PersonNumber(n, group, images_in(folder)) for n, (group, folder) in enumerate(folders, 1))
    for person, (_, folder) in zip(people, folders, strict=True):
        if len(person.images) < MIN_MAIN:
            raise SnellenError(f"{folder}: {len(person.images)} images, but {MIN_MAIN} are needed; {LAYOUT}")
    if len(people) <= MIN_DISTRACTORS:
        raise SnellenError(f"{root}: {len(people)} people, but at least {MIN_DISTRACTORS + 1} are needed; {LAYOUT}")
    return people


def look_alike_items(portraits: Sequence[Portrait]) -> tuple[Item, ...]:
    """One item per image, which asks for the most similar image of another person (appendix 5, by CLIP similarity)."""
    demos = {portrait.key: Demo((portrait.media,), portrait.key, 0) for portrait in portraits}
    items = []
    for portrait in portraits:
        others = [other.key for other in portraits if other.person is not portrait.person]
        fields = {"options": tuple(map(Option, others)), "support": tuple(demos[key] for key in others)}
        item_id = f"look-alike-{portrait.key}"
        items.append(
            step_item("look-alike", item_id, prompts.LOOK_ALIKE, [portrait.media], "choice", item_id, **fields)
        )
    return tuple(items)


def _read_look_alikes(portraits: Sequence[Portrait], result: StepResult) -> dict[str, Portrait]:
    """The look-alikes of images, by key, as far as there are answers."""
    by_key = {portrait.key: portrait for portrait in portraits}
    items = zip(portraits, look_alike_items(portraits), strict=True)
    return {
        portrait.key: by_key[result.answers[item.item_id]] for portrait, item in items if item.item_id in result.answers
    }


LOOK_ALIKES: Step[Sequence[Portrait], dict[str, Portrait]] = Step(
    suite=SUITE,
    name="pc-look-alikes",
    needs=(Argument("source", "pc", "DIR"),),
    result=Argument("input", "look-alikes", "RUN"),
    subjects=("encoder:hf/PATH_OR_ID",),
    make_items=look_alike_items,
    read=_read_look_alikes,
)


def curate_people(tasks: Sequence[str], options: BuildOptions, media: MediaFolder) -> CuratedItems:
    """The step `pc-look-alikes`, or the requested items of `pc-cpr`, `pc-cnt` and `pc-grp`."""
    people = read_people(source_folder(options, "pc", tasks[0], LAYOUT))
    images = add_distinct(media, (path for person in people for path in person.images))
    portraits = tuple(
        Portrait(f"p{person.number:03d}-{n}", person, images[path])
        for person in people
        for n, path in enumerate(person.images, 1)
    )
    step_items = look_alike_items(portraits)
    if tasks[0] == LOOK_ALIKES.name:
        return CuratedItems(step_items)
    result = LOOK_ALIKES.read_result(options, f"{SUITE}/{tasks[0]}")
    LOOK_ALIKES.check(step_items, result)
    near = LOOK_ALIKES.read(portraits, result)
    if missing := len(portraits) - len(near):
        raise SnellenError(
            f"{options.inputs['look-alikes']}: {missing} of {len(portraits)} images have no look-alike; repeat the "
            "same `snellen run` (failed calls are asked again), or use a subject that answers all"
        )
    results = {"look-alikes": result}
    gallery = Gallery(people, portraits, near, options.seed, tuple(construction_subjects(results)))
    return CuratedItems(*_people_items(tasks, gallery), results)


@dataclass(frozen=True)
class Gallery:
    """All people, all images, and the look-alike of each image, by key."""

    people: tuple[PersonNumber, ...]
    portraits: tuple[Portrait, ...]
    near: Mapping[str, Portrait]
    seed: int
    subjects: tuple[str, ...] = ()

    def portraits_of(self, person: PersonNumber) -> list[Portrait]:
        """The images of a person."""
        return [portrait for portrait in self.portraits if portrait.person is person]


def look_alikes(gallery: Gallery, portraits: Sequence[Portrait], count: int) -> list[Portrait]:
    """Distractors for portraits of one person: at most `count`, of different people.

    First the look-alikes of these portraits, then of that person's other images, then of the distractors themselves,
    and so on, skipping people that are already in the sequence. Fewer than `count` if the chain ends early.
    """
    person, distractors = portraits[0].person, list[Portrait]()
    waiting = [*portraits, *(portrait for portrait in gallery.portraits_of(person) if portrait not in portraits)]
    followed: set[str] = set()
    while waiting and len(distractors) < count:
        portrait = waiting.pop(0)
        if portrait.key in followed:
            continue
        followed.add(portrait.key)
        other = gallery.near[portrait.key]
        waiting.append(other)
        if other.person is not person and all(other.person is not distractor.person for distractor in distractors):
            distractors.append(other)
    return distractors


def people_sequences(gallery: Gallery) -> tuple[dict[str, list[ImageSequence]], int]:
    """Sequences by pattern, people taking turns in random order, and the number of distractors drawn at random."""
    sequences: dict[str, list[ImageSequence]] = {}
    at_random = 0
    for pattern, count in PC_COUNTS.items():
        people = shuffled(gallery.people, stream(SUITE, STREAMS, gallery.seed, "pc", pattern))
        sequences[pattern] = []
        for n in range(scaled(count, len(people))):
            turn, index = divmod(n, len(people))
            sequence, lacking = _person_sequence(gallery, people[index], pattern, turn)
            sequences[pattern].append(sequence)
            at_random += lacking
    return sequences, at_random


def _person_sequence(gallery: Gallery, person: PersonNumber, pattern: str, turn: int) -> tuple[ImageSequence, int]:
    """The sequence of a person's `turn`-th turn, with new main images as long as there are any."""
    seed, (main_count, distractor_count) = gallery.seed, needed(pattern)
    choices = list(combinations(gallery.portraits_of(person), main_count))
    turns = stream(SUITE, STREAMS, seed, "pc", "main", pattern, person.number).permutation(len(choices))
    rng = stream(SUITE, STREAMS, seed, "pc", "sequence", pattern, person.number, turn)
    main = shuffled(choices[int(turns[turn % len(choices)])], rng)
    distractors = look_alikes(gallery, main, distractor_count)
    lacking = distractor_count - len(distractors)
    taken = {person.number, *(portrait.person.number for portrait in distractors)}
    for portrait in shuffled(gallery.portraits, rng) if lacking else ():
        if len(distractors) < distractor_count and portrait.person.number not in taken:
            distractors.append(portrait)
            taken.add(portrait.person.number)
    portraits, letters = draw(pattern, main, distractors, rng)
    return ImageSequence(
        digest(["pc", person.number, pattern, turn], 10),
        tuple(portrait.media for portrait in portraits),
        letters,
        pattern,
        "person",
        person.handle,
        factors={"group": person.group},
        shows={portrait.media.sha256: {"identity": portrait.person.handle} for portrait in portraits},
        requires=IDENTITY,
        provenance={
            "seed": seed,
            "images": [portrait.key for portrait in portraits],
            "construction_subjects": list(gallery.subjects),
        },
    ), lacking


def scaled(count: int, people: int) -> int:
    """A published count scaled to `people`: in proportion below 30, halves up, at least 1 (`SCALE_RULE`)."""
    return count if people >= PEOPLE else max(1, (2 * count * people + PEOPLE) // (2 * PEOPLE))


def selected(task: str, available: Mapping[str, int], people: int) -> dict[str, int]:
    """The number of sequences of each pattern in a task.

    Cpr: all that show one person, and as many of the others (100 and 100 of 160). Cnt: 30, 25 and 65 of two, three and
    four images. Grp: 100 of the 110 with a distractor and at least three images.
    """
    if task == "pc-cpr":
        same = {pattern: count for pattern, count in available.items() if set(pattern) == {"A"}}
        return same | proportional_shares({p: n for p, n in available.items() if p not in same}, sum(same.values()))
    if task == "pc-grp":
        return proportional_shares(
            {pattern: available[pattern] for pattern in PATTERNS_GRP}, scaled(GRP_QUESTIONS, people)
        )
    chosen: dict[str, int] = {}
    for length, count in CNT_QUESTIONS.items():
        chosen |= proportional_shares({p: n for p, n in available.items() if len(p) == length}, scaled(count, people))
    return chosen


def _people_items(tasks: Sequence[str], gallery: Gallery) -> tuple[tuple[Item, ...], tuple[str, ...]]:
    sequences, at_random = people_sequences(gallery)
    available = {pattern: len(of_pattern) for pattern, of_pattern in sequences.items()}
    people = len(gallery.people)
    notes = [f"pc: {people} people, {sum(available.values())} sequences (the paper: {PEOPLE}, 260); {SCALE_RULE}"]
    if at_random:
        notes.append(f"pc: {at_random} distractors drawn at random, since the chain of look-alikes had too few people")
    items: list[Item] = []
    for task in tasks:
        counts = selected(task, available, people)
        by_pattern = ", ".join(f"{pattern} {count}" for pattern, count in counts.items())
        notes.append(f"{task}: {sum(counts.values())} sequences ({by_pattern}); {CHOICE_RULE}")
        for sequence in _draw_sequences(task, sequences, counts, gallery.seed):
            items += sequence_items(task, sequence, gallery.seed)
    return tuple(items), tuple(notes)


def _draw_sequences(
    task: str, sequences: Mapping[str, Sequence[ImageSequence]], counts: Mapping[str, int], seed: int
) -> list[ImageSequence]:
    """`counts` sequences of each pattern, drawn at random and in random order."""
    chosen = [
        sequence
        for pattern, count in counts.items()
        for sequence in shuffled(sequences[pattern], stream(SUITE, STREAMS, seed, task, "choice", pattern))[:count]
    ]
    return shuffled(chosen, stream(SUITE, STREAMS, seed, task, "order"))


def plan_people(tasks: Sequence[str], options: BuildOptions) -> dict[str, int]:
    """The number of items per task."""
    people = read_people(source_folder(options, "pc", tasks[0], LAYOUT))
    if tasks[0] == LOOK_ALIKES.name:
        return {tasks[0]: sum(len(person.images) for person in people)}
    available = {pattern: scaled(count, len(people)) for pattern, count in PC_COUNTS.items()}
    counts = {task: sum(selected(task, available, len(people)).values()) for task in tasks}
    return {task: 2 * count if task == "pc-cpr" else count for task, count in counts.items()}
