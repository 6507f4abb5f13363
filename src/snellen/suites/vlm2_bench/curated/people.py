"""Sequences of pictures of people of the user's own (section 2.3, appendix 5).

People are known by numbers alone: their names stand in no id, factor or question.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from snellen.core.errors import SnellenError
from snellen.core.hashing import digest
from snellen.core.item import Demo, Item, Media, Option
from snellen.core.media import MediaFolder
from snellen.core.seeds import stream
from snellen.core.suite import BuildOptions
from snellen.curation.draws import proportional_shares
from snellen.curation.steps import step_item
from snellen.suites.vlm2_bench import prompts
from snellen.suites.vlm2_bench.curated.objects import DISTRACTORS, IDENTITY, MAIN, asked
from snellen.suites.vlm2_bench.curated.steps import (
    Made,
    Work,
    add_different,
    check_asked,
    construction_subjects,
    folders_in,
    pictures_in,
    read_work,
    source_of,
)
from snellen.suites.vlm2_bench.items import SUITE, VERSION, PictureSequence
from snellen.suites.vlm2_bench.sequences import PATTERNS_GRP, PC_COUNTS, draw, needed

TASKS = ("pc-cpr", "pc-cnt", "pc-grp")
PEOPLE = 30
"""People of the paper: three races, two genders, five each."""
CNT_BY_LENGTH: Mapping[int, int] = {2: 30, 3: 25, 4: 65}
"""Questions of PC Cnt by the number of pictures (camera-ready, appendix D)."""
GRP_OF_PEOPLE = 100
CHOICE_RULE = "proportional: sequences of each pattern in proportion, largest remainder, the earlier pattern first"
SCALE_RULE = "published counts x people / 30, halves up, at least 1; never more than published"
LOOK_ALIKES = Work("pc-look-alikes", "look-alikes", "pc", (), "encoder:hf/PATH_OR_ID")
LAYOUT = "give a folder GROUP/PERSON/*.jpg (four pictures a person)"


@dataclass(frozen=True)
class Person:
    """Somebody, by number in the order of groups and folders."""

    number: int
    group: str
    pictures: tuple[Path, ...]

    @property
    def handle(self) -> str:
        """What ids say in place of a name."""
        return f"person-{self.number:03d}"


@dataclass(frozen=True)
class Portrait:
    """One picture of a person. `key` names it where look-alikes are asked for."""

    key: str
    person: Person
    media: Media


def read_people(root: Path) -> tuple[Person, ...]:
    """Everybody in a folder GROUP/PERSON/*.jpg. Raises SnellenError for too few people or pictures."""
    found = [(group.name, folder) for group in folders_in(root) for folder in folders_in(group)]
    people = tuple(Person(n, group, pictures_in(folder)) for n, (group, folder) in enumerate(found, 1))
    for person, (_, folder) in zip(people, found, strict=True):
        if len(person.pictures) < MAIN:
            raise SnellenError(f"{folder}: {len(person.pictures)} pictures, {MAIN} are needed; {LAYOUT}")
    if len(people) <= DISTRACTORS:
        raise SnellenError(f"{root}: {len(people)} people, {DISTRACTORS + 1} or more are needed; {LAYOUT}")
    return people


def curate_people(tasks: Sequence[str], options: BuildOptions, media: MediaFolder) -> Made:
    """The step `pc-look-alikes`, or the items of `pc-cpr`, `pc-cnt` and `pc-grp` that are wanted."""
    people = read_people(source_of(options, "pc", tasks[0], LAYOUT))
    held = add_different(media, (path for one in people for path in one.pictures))
    portraits = tuple(
        Portrait(f"p{one.number:03d}-{n}", one, held[path]) for one in people for n, path in enumerate(one.pictures, 1)
    )
    work = look_alike_items(portraits)
    if tasks[0] == LOOK_ALIKES.task:
        return Made(work)
    told = read_work(options, LOOK_ALIKES, tasks[0])
    check_asked(work, told, LOOK_ALIKES)
    by_key = {one.key: one for one in portraits}
    near = {
        one.key: by_key[told.held[item.item_id]]
        for one, item in zip(portraits, work, strict=True)
        if item.item_id in told.held
    }
    if missing := len(portraits) - len(near):
        raise SnellenError(
            f"{options.inputs[LOOK_ALIKES.name]}: {missing} of {len(portraits)} pictures have no look-alike; give the "
            "same `snellen run` again (failed calls are asked again), or ask a subject that answers all"
        )
    answers = {LOOK_ALIKES.name: told}
    gallery = Gallery(people, portraits, near, options.seed, tuple(construction_subjects(answers)))
    return Made(*_people_items(tasks, gallery), answers)


def look_alike_items(portraits: Sequence[Portrait]) -> tuple[Item, ...]:
    """For every picture: which picture of anybody else is most like it (appendix 5, by CLIP similarity)."""
    demos = {one.key: Demo((one.media,), one.key, 0) for one in portraits}
    items = []
    for one in portraits:
        others = [other.key for other in portraits if other.person is not one.person]
        told = {"options": tuple(map(Option, others)), "support": tuple(demos[key] for key in others)}
        about = f"look-alike-{one.key}"
        items.append(step_item("look-alike", about, prompts.LOOK_ALIKE, [one.media], "choice", about, **told))
    return tuple(items)


@dataclass(frozen=True)
class Gallery:
    """Everybody, all pictures, and the look-alike of each, by key."""

    people: tuple[Person, ...]
    portraits: tuple[Portrait, ...]
    near: Mapping[str, Portrait]
    seed: int
    subjects: tuple[str, ...] = ()

    def of(self, person: Person) -> list[Portrait]:
        """The pictures of a person."""
        return [one for one in self.portraits if one.person is person]


def look_alikes(gallery: Gallery, drawn: Sequence[Portrait], wanted: int) -> list[Portrait]:
    """Distractors for pictures drawn of one person, of as many different people as wanted.

    First the look-alikes of the pictures drawn, then of that person's other pictures, then of the distractors found,
    and so on: who is in the sequence already is passed over. Where the chain closes before there are enough, fewer.
    """
    person, found = drawn[0].person, list[Portrait]()
    waiting = [*drawn, *(one for one in gallery.of(person) if one not in drawn)]
    followed: set[str] = set()
    while waiting and len(found) < wanted:
        one = waiting.pop(0)
        if one.key in followed:
            continue
        followed.add(one.key)
        other = gallery.near[one.key]
        waiting.append(other)
        if other.person is not person and all(other.person is not held.person for held in found):
            found.append(other)
    return found


def people_sequences(gallery: Gallery) -> tuple[dict[str, list[PictureSequence]], int]:
    """Sequences by pattern, people in turn in a drawn order, and how many distractors had to be drawn at random."""
    made: dict[str, list[PictureSequence]] = {}
    at_random = 0
    for pattern, count in PC_COUNTS.items():
        order = stream(SUITE, VERSION, gallery.seed, "pc", pattern).permutation(len(gallery.people))
        made[pattern] = []
        for n in range(scaled(count, len(gallery.people))):
            visit, place = divmod(n, len(gallery.people))
            sequence, lacking = _person_sequence(gallery, gallery.people[int(order[place])], pattern, visit)
            made[pattern].append(sequence)
            at_random += lacking
    return made, at_random


def _person_sequence(gallery: Gallery, person: Person, pattern: str, visit: int) -> tuple[PictureSequence, int]:
    """The sequence of a person's `visit`-th turn, with other main pictures than before while there are others."""
    seed, (of_main, others) = gallery.seed, needed(pattern)
    choices = list(combinations(gallery.of(person), of_main))
    turns = stream(SUITE, VERSION, seed, "pc", "main", pattern, person.number).permutation(len(choices))
    rng = stream(SUITE, VERSION, seed, "pc", "sequence", pattern, person.number, visit)
    chosen = choices[int(turns[visit % len(choices)])]
    main = [chosen[int(n)] for n in rng.permutation(of_main)]
    distractors = look_alikes(gallery, main, others)
    lacking = others - len(distractors)
    taken = {person.number, *(one.person.number for one in distractors)}
    for n in rng.permutation(len(gallery.portraits)) if lacking else ():
        one = gallery.portraits[int(n)]
        if len(distractors) < others and one.person.number not in taken:
            distractors.append(one)
            taken.add(one.person.number)
    shown, letters = draw(pattern, main, distractors, rng)
    return PictureSequence(
        digest(["pc", person.number, pattern, visit], 10),
        tuple(one.media for one in shown),
        letters,
        pattern,
        "person",
        person.handle,
        factors={"group": person.group},
        shows={one.media.sha256: {"identity": one.person.handle} for one in shown},
        requires=IDENTITY,
        provenance={
            "seed": seed,
            "pictures": [one.key for one in shown],
            "construction_subjects": list(gallery.subjects),
        },
    ), lacking


def scaled(count: int, people: int) -> int:
    """A published count for so many people: in proportion below 30, halves up, at least 1 (`SCALE_RULE`)."""
    return count if people >= PEOPLE else max(1, (2 * count * people + PEOPLE) // (2 * PEOPLE))


def selected(task: str, available: Mapping[str, int], people: int) -> dict[str, int]:
    """How many sequences of each pattern a task asks about.

    Cpr: all that show one person, and as many of the others (100 and 100 of 160). Cnt: 30, 25 and 65 of two, three and
    four pictures. Grp: 100 of the 110 with a distractor and three pictures or more.
    """
    if task == "pc-cpr":
        same = {pattern: count for pattern, count in available.items() if set(pattern) == {"A"}}
        return same | proportional_shares({p: n for p, n in available.items() if p not in same}, sum(same.values()))
    if task == "pc-grp":
        return proportional_shares(
            {pattern: available[pattern] for pattern in PATTERNS_GRP}, scaled(GRP_OF_PEOPLE, people)
        )
    chosen: dict[str, int] = {}
    for length, count in CNT_BY_LENGTH.items():
        chosen |= proportional_shares({p: n for p, n in available.items() if len(p) == length}, scaled(count, people))
    return chosen


def _people_items(tasks: Sequence[str], gallery: Gallery) -> tuple[tuple[Item, ...], tuple[str, ...]]:
    made, at_random = people_sequences(gallery)
    available = {pattern: len(held) for pattern, held in made.items()}
    people = len(gallery.people)
    notes = [f"pc: {people} people, {sum(available.values())} sequences (the paper: {PEOPLE}, 260); {SCALE_RULE}"]
    if at_random:
        notes.append(f"pc: {at_random} distractors drawn at random, since the chain of look-alikes held too few people")
    items: list[Item] = []
    for task in tasks:
        chosen = selected(task, available, people)
        told = ", ".join(f"{pattern} {count}" for pattern, count in chosen.items())
        notes.append(f"{task}: {sum(chosen.values())} sequences ({told}); {CHOICE_RULE}")
        items += [item for one in _chosen(task, made, chosen, gallery.seed) for item in asked(task, one, gallery.seed)]
    return tuple(items), tuple(notes)


def _chosen(
    task: str, made: Mapping[str, Sequence[PictureSequence]], chosen: Mapping[str, int], seed: int
) -> Iterator[PictureSequence]:
    """Which ones within a pattern is drawn, and so is the order of all."""
    held = [
        made[pattern][int(n)]
        for pattern, count in chosen.items()
        for n in stream(SUITE, VERSION, seed, task, "choice", pattern).permutation(len(made[pattern]))[:count]
    ]
    return (held[int(n)] for n in stream(SUITE, VERSION, seed, task, "order").permutation(len(held)))


def plan_people(tasks: Sequence[str], options: BuildOptions) -> dict[str, int]:
    """Items a task."""
    people = read_people(source_of(options, "pc", tasks[0], LAYOUT))
    if tasks[0] == LOOK_ALIKES.task:
        return {tasks[0]: sum(len(one.pictures) for one in people)}
    available = {pattern: scaled(count, len(people)) for pattern, count in PC_COUNTS.items()}
    counts = {task: sum(selected(task, available, len(people)).values()) for task in tasks}
    return {task: 2 * count if task == "pc-cpr" else count for task, count in counts.items()}
