"""The `released` recipe: the fourteen tasks from the hub's Parquet files or the tree to which they are unpacked.

`files` reads them, `answers` parses their records. Only `train` is published. A task with a test file from the user
keeps its splits; for the others about a tenth of the images, drawn by the seed, are test items (`HELD_OUT`). With `n`,
that many test items per task are drawn, and four times as many training items. Missing or broken files and images stop
the build with one complete list; unreadable records are left out and counted in the card with examples.

Images are stored byte for byte. Released images have boxes and padding drawn in, so no item has `red` or `blue`
regions.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from snellen.analysis.tables.section import NOT_COMPARABLE
from snellen.compute import Progress
from snellen.core.build_options import BuildOptions
from snellen.core.condition import refuse_unknown
from snellen.core.errors import SeveralProblems, SnellenError
from snellen.core.hashing import sha256
from snellen.core.item import Item, Media, Option, Split
from snellen.core.seeds import stream
from snellen.core.storage.media import MediaFolder
from snellen.curation.released import ReleasedItems, ReleasedRecipe
from snellen.suites.ava_bench.abilities import ABILITIES, ability_named, names
from snellen.suites.ava_bench.free_answer_chance import with_chance
from snellen.suites.ava_bench.items import BOX_SIZES, STREAMS, SUITE, VERSION, area_share, range_name
from snellen.suites.ava_bench.released.answers import LeftOut, ReleasedQuestion, read_record, stored_box
from snellen.suites.ava_bench.released.files import (
    ReleasedRecord,
    Shelf,
    base_of,
    count_rows,
    find_shelves,
    footer,
    images,
    read_shelf,
    released_form,
    used_twice,
)

HELD_OUT = "held-out-10"
HELD_OUT_SHARE = 0.1
"""Share of images used for testing without a test file."""
TRAIN = 4
"""With `n`, training items for each test item, as in the other recipes."""
MAX_EXAMPLES = 3
"""Examples per reason why records were left out."""

ReadRecord = tuple[str, ReleasedRecord, ReleasedQuestion]
"""A handle, its record, and the parsed question."""
LeftOutRecords = dict[tuple[str, str], list[str]]
"""The locations and details of the records left out, by (task, reason)."""


def released_tasks() -> tuple[str, ...]:
    """The tasks for which the release has files."""
    return names(ability for ability in ABILITIES.values() if ability.released is not None)


def _choose_tasks(options: BuildOptions, base: Path | None) -> tuple[str, ...]:
    """The tasks that have files; without a base the requested tasks."""
    refuse_unknown(options.tasks, released_tasks(), f"{SUITE} --from released: no task")
    if base is None:
        return tuple(options.tasks) or released_tasks()
    return tuple(dict.fromkeys(shelf.task for shelf in _shelves(options, base)))


def _count_items(options: BuildOptions, base: Path | None) -> dict[str, int]:
    """Records per task, both splits together; empty without the files."""
    counts: dict[str, int] = {}
    for shelf in _shelves(options, base) if base else ():
        counts[shelf.task] = counts.get(shelf.task, 0) + sum(count_rows(path) for path in shelf.paths)
    if options.n is not None:
        counts = {task: min(count, (1 + TRAIN) * options.n) for task, count in counts.items()}
    return counts


def _digest(options: BuildOptions, base: Path) -> dict[str, str]:
    """The digest of every file (for Parquet: size and footer)."""
    return {
        str(path.relative_to(base)): _fingerprint(path) for shelf in _shelves(options, base) for path in shelf.paths
    }


def _read(options: BuildOptions, base: Path) -> ReleasedItems:
    """Read every record, then store the images, a few in memory at a time, then make the items."""
    shelves, problems, left_out = _shelves(options, base), list[str](), LeftOutRecords()
    records = [record for shelf in shelves for record in read_shelf(base, shelf, problems)]
    problems += _none_in(shelves, records, problems)
    RELEASED.refuse(base, problems)
    split_of = _Splits(frozenset(shelf.task for shelf in shelves if shelf.split == "test"), options.seed)
    read_records = list(_read_records(records, left_out))
    if options.n is not None:
        read_records = _draw_records(base, read_records, split_of, options.n, options.seed)
    media = _stored(base, read_records, MediaFolder(options.out / "media"), options.show_progress)
    items = with_chance(list(_items(read_records, media, split_of, left_out)))
    left_out_notes = _left_notes(left_out)
    if not items:
        raise SeveralProblems(f"{base}: no record could be read\n" + "\n".join(left_out_notes))
    notes = [*_notes(items, split_of, options), *left_out_notes]
    return ReleasedItems(items, notes, left_out_notes)


RELEASED = ReleasedRecipe(
    suite=SUITE,
    source="ava",
    instructions=(
        "give --source ava=FOLDER with train/ABILITY/train-….parquet as on the hub, or train/ABILITY/train.json with "
        "images; test/ABILITY/test.json is read if it exists"
    ),
    layout="no folder train/ in it",
    problem="the released files or images are missing or broken",
    remedy=f"get them again, or build the other tasks alone ({SUITE}/TASK)",
    find_root=base_of,
    choose_tasks=_choose_tasks,
    count_items=_count_items,
    extra_parameters=lambda options: {"seed": options.seed, "hold_out": HELD_OUT},
    digest=_digest,
    read=_read,
)


def _shelves(options: BuildOptions, base: Path) -> list[Shelf]:
    """The files below the folder that holds `train/`. Raises SnellenError for missing ones."""
    problems = list[str]()
    shelves = find_shelves(base, options.tasks or released_tasks(), problems)
    present = {shelf.task for shelf in shelves}
    problems += [f"train/{released_form(task).folder}: missing" for task in options.tasks if task not in present]
    RELEASED.refuse(base, problems)
    if not shelves:
        raise SnellenError(f"{base}: no files of any ability; {RELEASED.instructions}")
    return sorted(shelves, key=lambda shelf: released_tasks().index(shelf.task))


def _none_in(shelves: Sequence[Shelf], records: Sequence[ReleasedRecord], problems: Sequence[str]) -> Iterator[str]:
    """Files without a single record, unless they are among the problems already."""
    with_records = {(record.task, record.split) for record in records}
    for shelf in shelves:
        folder = f"{shelf.split}/{released_form(shelf.task).folder}"
        if (shelf.task, shelf.split) not in with_records and not any(
            problem.startswith(folder) for problem in problems
        ):
            yield f"{folder}: no records"


def _fingerprint(path: Path) -> str:
    """A fingerprint of a file: the digest of its bytes, for Parquet its size and the digest of its footer."""
    if path.suffix == ".parquet":
        return f"{path.stat().st_size} bytes, footer {sha256(footer(path))}"
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _read_records(records: Sequence[ReleasedRecord], left_out: LeftOutRecords) -> Iterator[ReadRecord]:
    """The readable records, each with a handle: a number in a drawn order, which reveals no position."""
    twice = used_twice(records)
    for task in dict.fromkeys(record.task for record in records):
        task_records = [record for record in records if record.task == task]
        numbers = stream(SUITE, STREAMS, "released", "ids", task).permutation(len(task_records))
        for number, record in zip(numbers, task_records, strict=True):
            try:
                yield f"{int(number):06d}", record, _read_question(record, twice)
            except LeftOut as why:
                _leave(left_out, record, why)


def _read_question(record: ReleasedRecord, twice: set[tuple[str, Split, str]]) -> ReleasedQuestion:
    if (record.task, record.split, record.name) in twice:
        raise LeftOut("the id is used twice, and images are named after ids", record.name)
    if record.wrong:
        raise LeftOut(record.wrong, f"id {record.name}")
    return read_record(record.task, record.question, record.answer)


def _leave(left_out: LeftOutRecords, record: ReleasedRecord, why: LeftOut) -> None:
    left_out.setdefault((record.task, why.reason), []).append(f"{record.location} ({why.detail[:80]!r})")


@dataclass(frozen=True)
class _Splits:
    """The assignment of images to splits. `tested` are the tasks that have test files."""

    tested: frozenset[str]
    seed: int

    def assign(self, record: ReleasedRecord, digest: str) -> Split:
        """The split of a record; without a test file the image's digest decides, so all its records are on one side.

        It does not depend on the tasks built or their other records.
        """
        if record.task in self.tested:
            return record.split
        share = stream(SUITE, STREAMS, self.seed, "released", HELD_OUT, digest).random()
        return "test" if share < HELD_OUT_SHARE else "train"


def _draw_records(
    base: Path, read_records: Sequence[ReadRecord], split_of: _Splits, n: int, seed: int
) -> list[ReadRecord]:
    """`n` test items per task and `TRAIN` times as many for training, in the order of the files."""
    problems = list[str]()
    splits: dict[int, Split] = {}
    for index, raw, _, _ in images([record for _, record, _ in read_records], problems):
        splits[index] = split_of.assign(read_records[index][1], sha256(raw))
    RELEASED.refuse(base, problems)
    tasks = released_tasks()
    room = {(task, split): n if split == "test" else TRAIN * n for task in tasks for split in ("train", "test")}
    chosen = list[int]()
    for number in stream(SUITE, STREAMS, seed, "released", "drawn").permutation(len(read_records)):
        index = int(number)
        key = read_records[index][1].task, splits[index]
        if room[key]:
            room[key] -= 1
            chosen.append(index)
    return [read_records[index] for index in sorted(chosen)]


def _stored(base: Path, read_records: Sequence[ReadRecord], media: MediaFolder, show_progress: bool) -> list[Media]:
    """The image of each record, stored byte for byte."""
    problems, media_by_index = list[str](), dict[int, Media]()
    with Progress("keeping", unit="images", visible=show_progress) as progress:
        progress.expect(len(read_records))
        for index, raw, format, size in images([record for _, record, _ in read_records], problems):
            media_by_index[index] = media.add(raw, "image", format, size)
            progress.advance()
    RELEASED.refuse(base, problems)
    return [media_by_index[index] for index in range(len(read_records))]


def _items(
    read_records: Sequence[ReadRecord], media: Sequence[Media], split_of: _Splits, left_out: LeftOutRecords
) -> Iterator[Item]:
    for (handle, record, question), image in zip(read_records, media, strict=True):
        try:
            yield _item(f"{record.task}-{handle}", record, question, image, split_of)
        except LeftOut as why:
            _leave(left_out, record, why)


@functools.cache
def _option(text: str) -> Option:
    return Option(text, text)  # cached: many thousand items share a hundred of them


def _item(name: str, record: ReleasedRecord, question: ReleasedQuestion, image: Media, split_of: _Splits) -> Item:
    answer, factors, measures = question.answer, dict(question.factors), dict(question.measures)
    regions: dict[str, Any] = {}
    if ability_named(record.task).kind == "box":
        box = stored_box(answer, image.width, image.height)
        answer, regions, share = list(box), {"box": list(box)}, area_share(box, image)
        measures["area_share"] = share
        factors["box_size"] = range_name(share, BOX_SIZES)
    image_id = f"picture-{image.sha256[:24]}"
    return Item(
        item_id=name,
        suite=SUITE,
        task=record.task,
        question=question.question,
        query=(image,),
        answer=answer,
        answer_kind=ability_named(record.task).kind,
        stimulus_id=image_id,
        group_id=name,
        cluster_id=image_id,
        version=VERSION,
        split=split_of.assign(record, image.sha256),
        options=tuple(map(_option, question.options)),
        factors={"source": record.source, **factors},
        measures=measures,
        regions=regions,
        provenance={
            "source": record.location,
            "id": record.name,
            **({} if record.task in split_of.tested else {"split": HELD_OUT}),
            **({"choices": "inline"} if question.inline else {}),
        },
    )


def _left_notes(left_out: LeftOutRecords) -> list[str]:
    """One line per reason: the number of records, and the first of them."""
    return [
        f"{task}: {len(locations)} records left out, {reason}; first: {'; '.join(locations[:MAX_EXAMPLES])}"
        for (task, reason), locations in left_out.items()
    ]


def _notes(items: Sequence[Item], split_of: _Splits, options: BuildOptions) -> list[str]:
    """Notes about the items for the card."""
    tasks = list(dict.fromkeys(item.task for item in items))
    held_out_tasks = [task for task in tasks if task not in split_of.tested]
    notes = []
    if held_out_tasks:
        notes.append(
            f"hold-out {HELD_OUT} (seed {options.seed}): the release has no test files; about {HELD_OUT_SHARE:.0%} of "
            f"its training images, by their bytes, are the test items of {', '.join(held_out_tasks)}. "
            f"{NOT_COMPARABLE} Table 5. A photo with different boxes drawn into it counts as a different image"
        )
    notes += [note for task in tasks if task in split_of.tested and (note := _shared(task, items))]
    if missing := [task for task in options.tasks or released_tasks() if task not in tasks]:
        notes.append(f"no items of {', '.join(missing)}")
    if any("box_size" in item.factors for item in items):
        notes.append("box_size and area_share are shares of the stored image, including padding that is drawn in")
    inline = {task: sum(item.task == task and "choices" in item.provenance for item in items) for task in tasks}
    if note := ", ".join(f"{count} of {task}" for task, count in inline.items() if count):
        notes.append(f"questions that keep their choices inline, as released: {note}")
    return notes


def _shared(task: str, items: Sequence[Item]) -> str:
    """A note on the images of a task that are in both its training and its test file, "" if none are."""
    train, test = (
        {item.query[0].sha256 for item in items if item.task == task and item.split == split}
        for split in ("train", "test")
    )
    return f"{task}: {len(train & test)} images are both in the training and in the test file" if train & test else ""
