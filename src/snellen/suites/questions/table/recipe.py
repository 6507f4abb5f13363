"""The `table` recipe: any benchmark that is a table.

    snellen build questions --from table --source table=FILE|DIR [--source images=DIR] --out SET
    snellen build questions --from table --source table=FILE --map question=prompt,answer=key --skip-bad --out SET

docs/own-table.md describes tables, design/questions.md the choices made here.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from snellen.compute import Progress
from snellen.core.build_options import BuildOptions
from snellen.core.errors import SnellenError
from snellen.core.hashing import ListDigest, digest
from snellen.core.item import AnswerKind, Item, Media, Option
from snellen.core.item_checks import item_fault
from snellen.core.plain_text import printable
from snellen.core.seeds import stream
from snellen.core.storage.item_rows import write_image_names
from snellen.core.storage.itemset import ItemSet, prune_media, refuse_existing, write_itemset
from snellen.core.storage.media import MediaFolder
from snellen.curation.draws import shuffled
from snellen.curation.ledger import listed
from snellen.curation.near_copies import find_near_copies
from snellen.datasets.image_files import oddity_notes
from snellen.datasets.own_images import shown_name
from snellen.datasets.question_tables import BadRow, QuestionTable, find_tables
from snellen.suites.questions.kinds import SUITE, VERSION, with_chance
from snellen.suites.questions.lists import as_list
from snellen.suites.questions.table.answers import (
    DECIMAL_COMMA,
    NUMBER,
    TableQuestion,
    find_kind,
    find_reading,
    read_answer_cell,
    refuse_lost_options,
    truth_words,
)
from snellen.suites.questions.table.columns import NAMES, TableLayout, find_columns
from snellen.suites.questions.table.images import MAX_COMPARED, TableImages
from snellen.suites.questions.table.rows import read_question, safe_name

TABLE, IMAGES = "table", "images"
MAX_TASKS = 60
"""Different values of a column up to which each is a task, if the column was not given."""
MAX_ID = 200
OPEN = "--open"
"""Ends the name of a task of questions without options, if others of the same name have options."""
NUMBERS = "--numbers"
"""Ends the name of a task of numbers, if other answers of the same name are texts."""


@dataclass
class TableReading:
    """What was read: questions, bad rows (their messages), the columns and the unused `lists`, the number of files."""

    layout: TableLayout
    images: TableImages
    files: int
    questions: list[TableQuestion] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    lists: dict[str, None] = field(default_factory=dict)


@dataclass(frozen=True)
class FromTable:
    """The recipe `table`. `columns` are the fields that `--map` may give."""

    columns: tuple[str, ...] = tuple(NAMES)

    def parameters(self, options: BuildOptions) -> Mapping[str, Any]:
        """Seed, count and columns. The card also identifies the rows."""
        return {"seed": options.seed, "n": options.n, "columns": dict(options.columns), "skip_bad": options.skip_bad}

    def plan(self, options: BuildOptions) -> Mapping[str, Any]:
        """What is read from which columns, and items per task. All rows and images are read, none is written."""
        with tempfile.TemporaryDirectory() as folder:
            items, notes = self._items(options, MediaFolder(Path(folder)))
        counts = Counter(item.task for item in items if item.split == "test")
        return {"suite": SUITE, "items": dict(counts), "notes": notes}

    def build(self, options: BuildOptions) -> ItemSet:
        """Read the table and write the items. Raises SnellenError naming file, row and column of the first bad row."""
        refuse_existing(options.out)
        media = MediaFolder(options.out / "media")
        items, notes = self._items(options, media)
        prune_media(media, items)
        write_image_names(options.out, items, media.names)
        rows = ListDigest()
        for item in items:
            rows.add([item.item_id, item.question, item.answer, [image.sha256 for image in item.query]])
        return write_itemset(
            options.out, items, source=TABLE, recipe={**self.parameters(options), "rows": rows.digest()}, notes=notes
        )

    def _items(self, options: BuildOptions, media: MediaFolder) -> tuple[list[Item], list[str]]:
        """The items in the order of the table, and notes of which the first says what was read from where."""
        options.need_items(SUITE)
        options.refuse_others(f"{SUITE} --from table", options.tasks, [TABLE, IMAGES])
        if TABLE not in options.sources:
            raise SnellenError(f"{SUITE} --from table: give --source {TABLE}=FILE, or a folder of tables")
        if options.tasks or options.balance is not None:
            raise SnellenError(f"{SUITE} --from table: takes no task and no --balance, since all rows are read")
        reading = _read(options, media)
        items, notes = _make_items(reading, options)
        if not items:
            raise SnellenError(f"{options.sources[TABLE]}: no usable row; the first: {reading.faults[0]}")
        if reading.faults:
            notes.append(f"{len(reading.faults)} bad rows left out: {listed(reading.faults)}")
        return with_chance(_sample(items, options)), notes


def _read(options: BuildOptions, media: MediaFolder) -> TableReading:
    tables, root = find_tables(options.sources[TABLE]), options.sources.get(IMAGES)
    names = tables[0].columns()
    layout = find_columns(names, options.columns, tables[0].path)
    reading = TableReading(layout, TableImages(media, root or tables[0].path.parent), len(tables))
    with Progress("reading", unit="rows", visible=options.show_progress) as progress:
        for table in tables:
            _refuse_other_columns(table, tables[0], layout)
            for row in table.rows():
                if not reading.questions:
                    reading.lists |= {name: None for name in layout.others if _is_list(row.cells.get(name))}
                try:
                    reading.questions.append(read_question(row, layout, reading.images))
                except BadRow as error:
                    _note_fault(reading, error, options)
                progress.advance(1)
    if not reading.questions:
        first = f"; the first: {reading.faults[0]}" if reading.faults else ""
        raise SnellenError(f"{options.sources[TABLE]}: has no usable row{first}")
    return reading


def _is_list(cell: Any) -> bool:
    return isinstance(cell, list) or (isinstance(cell, str) and cell.startswith("[") and as_list(cell) is not None)


def _refuse_other_columns(table: QuestionTable, first: QuestionTable, layout: TableLayout) -> None:
    names = table.columns() if table != first else [layout.question, layout.answer]
    if missing := next((name for name in (layout.question, layout.answer) if name not in names), None):
        raise SnellenError(f"{table.path}: no column {missing!r}, unlike {first.path.name}; build the two separately")


def _note_fault(reading: TableReading, error: BadRow, options: BuildOptions) -> None:
    if not options.skip_bad:
        raise SnellenError(f"{error} (--skip-bad leaves such rows out)") from None
    reading.faults.append(str(error))


def _make_items(reading: TableReading, options: BuildOptions) -> tuple[list[Item], list[str]]:
    layout, questions = reading.layout, _with_references(reading, options)
    by_task, column_note = _tasks(questions, layout, options)
    by_task = by_task if layout.kind else _with_numbers_apart(by_task, questions)
    with_options = [question for question in questions if question.options]
    answer_reading = find_reading(with_options) if with_options else ""
    if not layout.kind:
        refuse_lost_options(questions, list(reading.lists), layout.others)
    ids = _ids(questions)
    clusters = _clusters(questions, reading.images)
    items: dict[int, Item] = {}
    kinds: dict[str, AnswerKind] = {}
    for task, numbers in by_task.items():
        of_task = [questions[number] for number in numbers]
        kind = kinds[task] = layout.kind or find_kind(of_task, answer_reading)
        for number, question in zip(numbers, of_task, strict=True):
            try:
                answer = read_answer_cell(question, kind, answer_reading, layout.answer)
                items[number] = _item(question, task, kind, answer, ids[number], clusters[number])
            except BadRow as error:
                _note_fault(reading, error, options)
    is_listed = any(question.is_listed for question in questions)
    counted = Counter(kinds.values())
    what = [
        layout.describe(is_listed),
        f"{len(questions):,} rows" + (f" of {reading.files} files" if reading.files > 1 else ""),
        f"tasks by {column_note}" if column_note else "one task",
        "answers: " + ", ".join(f"{kind} ({n} tasks)" if len(kinds) > 1 else kind for kind, n in counted.items()),
    ]
    if answer_reading not in ("", "letter or text"):
        what.append(f"an answer is the {answer_reading}")
    notes = [f"read: {'; '.join(what)}"]
    notes += oddity_notes(reading.images.oddities, len(reading.images.oddities))
    if labelled := sum(question.is_labelled for question in questions):
        notes.append(f"labels in the texts of options were taken off, since prompts have their own ({labelled:,} rows)")
    if apart := sum(len(numbers) for task, numbers in by_task.items() if task.endswith(NUMBERS)):
        notes.append(f"{apart:,} numbers among texts are asked as tasks of their own, called …{NUMBERS}")
    texts = [str(question.answer) for question in questions if not question.options]
    if commas := [text for text in texts if DECIMAL_COMMA.fullmatch(text)]:
        notes.append(f"{len(commas):,} answers such as {commas[0]} are asked as texts; write numbers as 1234.5")
    if layout.others:
        notes.append(f"not used: {shown_name(', '.join(layout.others))} (--map factors=COLUMN gives results by it)")
    if layout.id and ids[0] != questions[0].id:
        notes.append(f"`{layout.id}` is not unique or not printable; items are called by the number of their row")
    return [items[number] for number in sorted(items)], notes


def _with_references(reading: TableReading, options: BuildOptions) -> list[TableQuestion]:
    """The questions with the images of other rows in place of references to them (as in VLMEvalKit)."""
    by_id = {q.id: q.images for q in reading.questions if not any(isinstance(image, str) for image in q.images)}
    questions = []
    for question in reading.questions:
        images = [by_id.get(image, ()) if isinstance(image, str) else (image,) for image in question.images]
        if all(images):
            questions.append(replace(question, images=tuple(image for of_row in images for image in of_row)))
        else:
            problem = f"no image: there is neither a file nor a row {question.images[images.index(())]!r:.60} with one"
            _note_fault(reading, question.row.bad(reading.layout.images[0], problem), options)
    return questions


def _tasks(
    questions: Sequence[TableQuestion], layout: TableLayout, options: BuildOptions
) -> tuple[dict[str, list[int]], str]:
    """The numbers of the questions of each task, and the column of tasks, empty if there is only one task."""
    values = dict.fromkeys(question.task for question in questions)
    is_used = bool(layout.task) and ("task" in options.columns or len(values) <= min(MAX_TASKS, len(questions) / 2))
    names, counts = dict[str, str](), Counter[str]()
    for value in values:
        name = (is_used and safe_name(value)) or "questions"
        counts[name] += is_used or not names
        names[value] = name if counts[name] == 1 else f"{name}--{counts[name]}"  # no value has two hyphens
    with_options = {names[question.task] for question in questions if question.options}
    by_task: dict[str, list[int]] = {}
    for number, question in enumerate(questions):
        name = names[question.task]
        is_open = name in with_options and not question.options
        by_task.setdefault(name + OPEN if is_open else name, []).append(number)
    return by_task, f"`{layout.task}`" if is_used else ""


def _with_numbers_apart(by_task: Mapping[str, list[int]], questions: Sequence[TableQuestion]) -> dict[str, list[int]]:
    """The tasks, with numbers apart where a tenth of the answers or more are numbers and the others texts."""
    apart: dict[str, list[int]] = {}
    for task, numbers in by_task.items():
        numeric = {n for n in numbers if not questions[n].options and NUMBER.fullmatch(str(questions[n].answer))}
        if len(numbers) / 10 <= len(numeric) < len(numbers):
            apart[task] = [n for n in numbers if n not in numeric]
            apart[task + NUMBERS] = sorted(numeric)
        else:
            apart[task] = numbers
    return apart


def _ids(questions: Sequence[TableQuestion]) -> list[str]:
    """The table's own ids if they are unique and printable, else the number of each row."""
    own = [question.id for question in questions]
    if len(set(own)) == len(own) and all(0 < len(id) <= MAX_ID and id.isprintable() for id in own):
        return own
    digits = len(str(len(questions)))
    return [f"{number:0{digits}d}" for number in range(1, len(questions) + 1)]


def _clusters(questions: Sequence[TableQuestion], images: TableImages) -> list[str]:
    """The cluster of each question: by the table's column, else named after the first image of those that are shared.

    Images with equal bytes are one; so are near copies if the table has at most `MAX_COMPARED` images.
    """
    parents: dict[str, str] = {}

    def root(name: str) -> str:
        while (parent := parents.setdefault(name, name)) != name:
            parents[name] = name = parents[parent]
        return name

    names = [
        [image.sha256 for image in q.images if isinstance(image, Media)] + [f"group {q.group}"] * bool(q.group)
        for q in questions
    ]
    pairs = [(of_one[0], other) for of_one in names for other in of_one[1:]]
    if len(images.thumbnails) <= MAX_COMPARED:
        hashes = list(images.thumbnails)
        near = find_near_copies(list(images.thumbnails.values()), [""] * len(hashes))
        pairs += [(hashes[earlier], hashes[later]) for later, earlier in near.copies.items()]
    for first, second in pairs:
        parents[root(second)] = root(first)
    return [q.cluster or f"image-{root(of_one[0])[:16]}" for q, of_one in zip(questions, names, strict=True)]


def _item(question: TableQuestion, task: str, kind: AnswerKind, answer: Any, item_id: str, cluster: str) -> Item:
    """Raises BadRow for an item that cannot be stored."""
    images = tuple(image for image in question.images if isinstance(image, Media))
    pairs = question.options if kind in ("choice", "choices") else ()
    if kind == "true_false" and (words := truth_words(question)):
        pairs = tuple(zip(("true", "false"), words, strict=True))
    row = question.row
    item = Item(
        item_id=item_id,
        suite=SUITE,
        task=task,
        question=question.text,
        query=images,
        answer=answer,
        answer_kind=kind,
        stimulus_id=digest([image.sha256 for image in images], 16),
        group_id=question.group or item_id,
        cluster_id=cluster,
        version=VERSION,
        split=question.split,
        options=_shared_options(pairs),
        factors=question.factors,
        provenance={"id": question.id, "row": row.number, "file": row.file.name},
    )
    if fault := item_fault(item):
        raise BadRow(f"{row.location}: {printable(fault)}")
    return item


@lru_cache(maxsize=1 << 12)
def _shared_options(pairs: tuple[tuple[str, str], ...]) -> tuple[Option, ...]:
    """The options; equal ones of several items are one object."""
    return tuple(Option(key, text) for key, text in pairs)


def _sample(items: Sequence[Item], options: BuildOptions) -> list[Item]:
    """All items, or `n` test items per task drawn by the seed, in the order of the table."""
    if options.n is None:
        return list(items)
    chosen: set[str] = set()
    for task in dict.fromkeys(item.task for item in items):
        ids = [item.item_id for item in items if item.task == task and item.split == "test"]
        chosen.update(shuffled(ids, stream(SUITE, VERSION, options.seed, task))[: options.n])
    return [item for item in items if item.split != "test" or item.item_id in chosen]
