"""The `released` recipe: the authors' files as they are (`released_files.py` reads them)."""

from __future__ import annotations

import hashlib
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from snellen.core.errors import SnellenError, refuse_problems
from snellen.core.hashing import sha256
from snellen.core.item import Item, Media
from snellen.core.itemset import ItemSet, refuse_existing, write_itemset
from snellen.core.media import MediaFolder
from snellen.core.seeds import stream
from snellen.core.suite import BuildOptions
from snellen.suites.vlm2_bench.items import SUITE, TASKS, TRUE_FALSE, VERSION
from snellen.suites.vlm2_bench.published import QUERIES, SCORED_PAIRS
from snellen.suites.vlm2_bench.released.files import (
    TSV_MD5,
    jsonl_path,
    read_folder,
    read_tsv,
    store_files,
    store_tsv,
)
from snellen.suites.vlm2_bench.released.records import MODELS, Record

SOURCE = "vlm2"
HOW = (
    f"give --source {SOURCE}=FOLDER (the unpacked vlm2-bench_dataset.zip, with jsonl/ and data/) or "
    f"--source {SOURCE}=FILE.tsv (VLM2Bench_img.tsv)"
)
LICENCE = "CC BY-NC 4.0"


@dataclass(frozen=True)
class Released:
    """The recipe `released`: the nine tasks of the paper, from the authors' folder or from VLMEvalKit's TSV.

    The TSV has no videos, so that `pc-vid` is left out there unless it is asked for. With `n`, so many pairs or
    questions of each task are drawn by the seed. Missing files and lines that are wrong refuse the build, all at once;
    numbers of questions other than the paper's are a warning, and stand in the card.
    """

    def parameters(self, options: BuildOptions) -> Mapping[str, Any]:
        """Tasks, how many of each, and the digests of the question files."""
        source, tasks = _source(options), _tasks(options)
        if source.is_file():
            with source.open("rb") as file:
                files = {"tsv": f"md5 {hashlib.file_digest(file, 'md5').hexdigest()}"}
        else:
            paths = {task: jsonl_path(source, task) for task in tasks}
            files = {task: sha256(path.read_bytes()) for task, path in paths.items() if path.is_file()}
        drawn = {} if options.n is None else {"n": options.n, "seed": options.seed}
        return {"tasks": list(tasks), "files": files, **drawn}

    def plan(self, options: BuildOptions) -> Mapping[str, Any]:
        """Questions a task as the paper counts them, and the size of the source if it is given."""
        tasks, given = _tasks(options), options.sources.get(SOURCE)
        files = [] if given is None else [given] if given.is_file() else [p for p in given.rglob("*") if p.is_file()]
        a_pair = {task: 2 if task in TRUE_FALSE else 1 for task in tasks}
        return {
            "suite": SUITE,
            "needs": HOW,
            "items": {t: QUERIES[t] if options.n is None else min(QUERIES[t], options.n * a_pair[t]) for t in tasks},
            "bytes": sum(path.stat().st_size for path in files),
        }

    def build(self, options: BuildOptions) -> ItemSet:
        """Read everything, then keep the pictures, then write the items."""
        refuse_existing(options.out)
        source, tasks, problems = _source(options), _tasks(options), list[str]()
        records = (read_tsv if source.is_file() else read_folder)(source, tasks, problems)
        _refuse(source, problems)
        parameters = self.parameters(options)
        notes = _notes(records, tasks, parameters["files"].get("tsv"))
        records = _drawn(records, options)
        items = _items(records, _stored(source, records, MediaFolder(options.out / "media")))
        return write_itemset(options.out, items, source="released", recipe=parameters, notes=notes)


def _source(options: BuildOptions) -> Path:
    if unknown := [name for name in options.sources if name != SOURCE]:
        raise SnellenError(f"vlm2-bench knows no source {unknown[0]!r}; {HOW}")
    if SOURCE not in options.sources:
        raise SnellenError(f"vlm2-bench: the released files are needed; {HOW}")
    source = options.sources[SOURCE]
    if not source.is_file() and not (source / "jsonl").is_dir():
        raise SnellenError(f"{source}: neither a TSV nor a folder with jsonl/ and data/; {HOW}")
    return source


def _tasks(options: BuildOptions) -> tuple[str, ...]:
    from_tsv = SOURCE in options.sources and options.sources[SOURCE].is_file()
    known = tuple(task for task in TASKS if task in MODELS and not (from_tsv and task == "pc-vid"))
    if unknown := [task for task in options.tasks if task not in known]:
        where = "the TSV" if from_tsv else "the released files"
        raise SnellenError(f"{where} of vlm2-bench have no task {unknown[0]!r}; there are {', '.join(known)}")
    return tuple(task for task in known if task in (options.tasks or known))


def _refuse(source: Path, problems: Sequence[str]) -> None:
    mend = "get them again, or build the other tasks alone (vlm2-bench/TASK)"
    refuse_problems(source, problems, "the released files or lines are missing or wrong", mend)


def _notes(records: Sequence[Record], tasks: Sequence[str], tsv: str | None) -> list[str]:
    """What the card should say; counts that differ from the paper's are warned of as well."""
    asked = Counter(record.task for record in records)
    groups = Counter(task for task, _ in {(record.task, record.group) for record in records})
    odd = [
        f"{task}: {asked[task]} questions, the paper has {QUERIES[task]}"
        for task in tasks
        if asked[task] != QUERIES[task]
    ]
    odd += [
        f"{task}: {groups[task]} pairs, the authors scored {SCORED_PAIRS[task]}"
        for task in tasks
        if task in SCORED_PAIRS and groups[task] != SCORED_PAIRS[task]
    ]
    for one in odd:
        warnings.warn(one, stacklevel=3)
    notes = [*odd, *(f"{record.where}: {record.note}" for record in records if record.note)]
    if inline := Counter(record.task for record in records if record.inline):
        told = ", ".join(f"{count} of {task}" for task, count in inline.items())
        notes.append(f"questions that keep their choices inline, as released: {told}")
    if tsv is not None:
        notes.append("the TSV holds no videos: no pc-vid")
        notes += [] if tsv == f"md5 {TSV_MD5}" else [f"the TSV ({tsv}) is not the one VLMEvalKit names (md5 {TSV_MD5})"]
    return notes


def _drawn(records: Sequence[Record], options: BuildOptions) -> list[Record]:
    """With `n`, the records of so many groups a task (VID, Cnt and Grp: so many records), drawn by the seed."""
    if options.n is None:
        return list(records)
    options.need_items("vlm2-bench")
    kept: set[str] = set()
    for task in dict.fromkeys(record.task for record in records):
        places = list(dict.fromkeys(_unit(record) for record in records if record.task == task))
        order = stream(SUITE, VERSION, options.seed, "released", task).permutation(len(places))
        kept |= {places[int(place)] for place in order[: options.n]}
    return [record for record in records if _unit(record) in kept]


def _unit(record: Record) -> str:
    return record.group if record.task in TRUE_FALSE else record.where


def _stored(source: Path, records: Sequence[Record], media: MediaFolder) -> list[tuple[Media, ...]]:
    """The pictures, or the video, of each record, kept byte for byte."""
    problems: list[str] = []
    if source.is_file():
        by_line = store_tsv(source, {record.line for record in records}, media, problems)
        _refuse(source, problems)
        return [by_line[record.line] for record in records]
    by_path = store_files(records, media, problems)
    _refuse(source, problems)
    return [tuple(by_path[path] for path in record.files) for record in records]


def _items(records: Sequence[Record], shown: Sequence[tuple[Media, ...]]) -> list[Item]:
    items: list[Item] = []
    for task in TASKS:
        held = [(record, query) for record, query in zip(records, shown, strict=True) if record.task == task]
        # In the files a statement that is true stands beside one that is not, and counts stand in order: numbers that
        # run on with the lines would tell the answer to whoever sees an id.
        numbers = stream(SUITE, VERSION, "ids", task).permutation(len(held))
        names = [f"{task}-{int(number):04d}" for number in numbers]
        first: dict[tuple[str, ...], str] = {}
        for name, (record, query) in zip(names, held, strict=True):
            stimulus = first.setdefault(tuple(one.sha256 for one in query), name)
            items.append(_item(record, name, stimulus, query))
    return items


def _item(record: Record, name: str, stimulus: str, query: tuple[Media, ...]) -> Item:
    kinds = {"cpr": "true_false", "mat": "true_false", "trk": "true_false", "cnt": "integer", "grp": "choice"}
    item_id = f"{name}-{record.mark}" if record.mark else name
    group = record.group if record.task in TRUE_FALSE else item_id
    if record.task == "pc-vid":
        group = f"{item_id}-{record.factors['pattern']}"  # scoring weighs the two patterns alike
    inline = {"choices": "inline"} if record.inline else {}
    return Item(
        item_id=item_id,
        suite=SUITE,
        task=record.task,
        question=record.question,
        query=query,
        answer=record.answer,
        answer_kind=kinds.get(record.task[3:], "description"),  # type: ignore[arg-type]  # one of the kinds there are
        stimulus_id=stimulus,
        group_id=group,
        cluster_id=group,
        version=VERSION,
        options=record.options,
        factors=record.factors,
        measures={"pictures": float(record.pictures)} if record.pictures else {},
        provenance={"source": record.where, "licence": LICENCE, **inline, **record.provenance},
    )
