"""The `released` recipe: the nine tasks of the paper, from the authors' folder or from VLMEvalKit's TSV.

`files` and `records` read them. The TSV has no videos and so no `pc-vid`. With `n`, that many pairs or questions of
each task are drawn by the seed. Missing files and invalid lines make the build fail, with all errors in one message;
numbers of questions other than the paper's give a warning and a note on the card.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from snellen.core.build_options import BuildOptions, Settings
from snellen.core.errors import SnellenError
from snellen.core.hashing import sha256
from snellen.core.item import Item, Media
from snellen.core.seeds import stream
from snellen.core.storage.media import MediaFolder
from snellen.curation.released import ReleasedItems, ReleasedRecipe, draw_names
from snellen.suites.vlm2_bench.items import STREAMS, SUITE, VERSION
from snellen.suites.vlm2_bench.published import QUERIES, SCORED_PAIRS
from snellen.suites.vlm2_bench.released.files import (
    TSV_MD5,
    Slips,
    jsonl_path,
    read_folder,
    read_tsv,
    store_files,
    store_tsv,
)
from snellen.suites.vlm2_bench.released.records import MODELS, QuestionRecord
from snellen.suites.vlm2_bench.tasks import TASKS, TRUE_FALSE

LICENCE = "CC BY-NC 4.0"
SETTINGS: Settings = {"reading": ("strict", "lenient")}
"""`strict` refuses records whose answer is merely written differently; `lenient` reads and counts them."""


def _choose_tasks(options: BuildOptions, root: Path | None) -> tuple[str, ...]:
    from_tsv = root is not None and root.is_file()
    available = tuple(task for task in TASKS if task in MODELS and not (from_tsv and task == "pc-vid"))
    if unknown := [task for task in options.tasks if task not in available]:
        files = "the TSV" if from_tsv else "the released files"
        raise SnellenError(f"{files} of vlm2-bench: no task {unknown[0]!r}; available: {', '.join(available)}")
    return tuple(task for task in available if task in (options.tasks or available))


def _count_items(options: BuildOptions, root: Path | None) -> dict[str, int]:
    """Questions per task by the paper's count; with `n`, pairs count twice."""
    tasks, n = _choose_tasks(options, root), options.n
    pair_sizes = {task: 2 if task in TRUE_FALSE else 1 for task in tasks}
    return {task: QUERIES[task] if n is None else min(QUERIES[task], n * pair_sizes[task]) for task in tasks}


def _digest(options: BuildOptions, root: Path) -> dict[str, str]:
    if root.is_file():
        with root.open("rb") as file:
            return {"tsv": f"md5 {hashlib.file_digest(file, 'md5').hexdigest()}"}
    paths = {task: jsonl_path(root, task) for task in _choose_tasks(options, root)}
    return {task: sha256(path.read_bytes()) for task, path in paths.items() if path.is_file()}


def _read(options: BuildOptions, root: Path) -> ReleasedItems:
    """Read all records, then store the images."""
    tasks, problems = _choose_tasks(options, root), list[str]()
    slips = Slips() if options.setting("reading", SETTINGS) == "lenient" else None
    records = (read_tsv if root.is_file() else read_folder)(root, tasks, problems, slips)
    RELEASED.refuse(root, problems)
    unusual = [*_unusual_counts(records, tasks), *(slips.notes() if slips else [])]
    notes = [*unusual, *_notes(records, _digest(options, root).get("tsv"))]
    chosen = _draw(records, options)
    images = _store(root, chosen, MediaFolder(options.out / "media"))
    return ReleasedItems(_items(chosen, images), notes, unusual)


RELEASED = ReleasedRecipe(
    suite=SUITE,
    source="vlm2",
    instructions=(
        "give --source vlm2=FOLDER (the unpacked vlm2-bench_dataset.zip, with jsonl/ and data/) or "
        "--source vlm2=FILE.tsv (VLM2Bench_img.tsv)"
    ),
    layout="neither a TSV nor a folder with jsonl/ and data/",
    problem="the released files or lines are missing or wrong",
    remedy=(
        "download them again, build only the other tasks (vlm2-bench/TASK), or give --set reading=lenient, which reads "
        "answers that are merely written differently ('2', 2.0, 'True'), skips what the authors' scripts skip, and "
        "counts both"
    ),
    settings=SETTINGS,
    find_root=lambda path: path if path.is_file() or (path / "jsonl").is_dir() else None,
    choose_tasks=_choose_tasks,
    count_items=_count_items,
    extra_parameters=lambda options: {} if options.n is None else {"seed": options.seed},
    digest=_digest,
    read=_read,
)


def _unusual_counts(records: Sequence[QuestionRecord], tasks: Sequence[str]) -> list[str]:
    """Notes on numbers of questions and pairs that differ from the paper's."""
    questions = Counter(record.task for record in records)
    pairs = Counter(task for task, _ in {(record.task, record.group) for record in records})
    unusual = [
        f"{task}: {questions[task]} questions, the paper has {QUERIES[task]}"
        for task in tasks
        if questions[task] != QUERIES[task]
    ]
    return unusual + [
        f"{task}: {pairs[task]} pairs, the authors scored {SCORED_PAIRS[task]}"
        for task in tasks
        if task in SCORED_PAIRS and pairs[task] != SCORED_PAIRS[task]
    ]


def _notes(records: Sequence[QuestionRecord], tsv: str | None) -> list[str]:
    """Other notes for the card; `tsv` is the digest of the TSV, if there is one."""
    notes = [f"{record.location}: {record.note}" for record in records if record.note]
    if edits := [record for record in records if record.task.startswith("gc")]:
        cues = Counter(record.factors.get("cue", "unknown") for record in edits)
        counts = ", ".join(f"{count} {cue}" for cue, count in sorted(cues.items()))
        notes.append(f"statements by type of cue, inferred from the wording of the edit: {counts}")
    if inline := Counter(record.task for record in records if record.inline):
        counts = ", ".join(f"{count} of {task}" for task, count in inline.items())
        notes.append(f"questions that keep their choices inline, as released: {counts}")
    if tsv is not None:
        notes.append("the TSV has no videos: no pc-vid")
        if tsv != f"md5 {TSV_MD5}":
            notes.append(f"the TSV ({tsv}) is not the one specified by VLMEvalKit (md5 {TSV_MD5})")
    return notes


def _draw(records: Sequence[QuestionRecord], options: BuildOptions) -> list[QuestionRecord]:
    """With `n`, the records of n groups per task (for VID, Cnt and Grp: n records), drawn by the seed."""
    if options.n is None:
        return list(records)
    chosen: set[str] = set()
    for task in dict.fromkeys(record.task for record in records):
        units = [_unit(record) for record in records if record.task == task]
        chosen |= draw_names(units, options.n, stream(SUITE, STREAMS, options.seed, "released", task))
    return [record for record in records if _unit(record) in chosen]


def _unit(record: QuestionRecord) -> str:
    return record.group if record.task in TRUE_FALSE else record.location


def _store(root: Path, records: Sequence[QuestionRecord], media: MediaFolder) -> list[tuple[Media, ...]]:
    """Store the images or the video of each record with unchanged bytes."""
    problems: list[str] = []
    if root.is_file():
        by_line = store_tsv(root, {record.line for record in records}, media, problems)
        RELEASED.refuse(root, problems)
        return [by_line[record.line] for record in records]
    by_path = store_files(records, media, problems)
    RELEASED.refuse(root, problems)
    return [tuple(by_path[path] for path in record.files) for record in records]


def _items(records: Sequence[QuestionRecord], queries: Sequence[tuple[Media, ...]]) -> list[Item]:
    items: list[Item] = []
    for task in TASKS:
        pairs = [(record, query) for record, query in zip(records, queries, strict=True) if record.task == task]
        # In the files true and false statements alternate, and counts are sorted, so ids in the order of lines would
        # reveal the answer.
        numbers = stream(SUITE, STREAMS, "ids", task).permutation(len(pairs))
        handles = [f"{task}-{int(number):04d}" for number in numbers]
        stimuli: dict[tuple[str, ...], str] = {}  # set of images -> its first handle
        for handle, (record, query) in zip(handles, pairs, strict=True):
            stimulus = stimuli.setdefault(tuple(media.sha256 for media in query), handle)
            items.append(_item(record, handle, stimulus, query))
    return items


def _item(record: QuestionRecord, handle: str, stimulus: str, query: tuple[Media, ...]) -> Item:
    item_id = f"{handle}-{record.mark}" if record.mark else handle
    group = record.group if record.task in TRUE_FALSE else item_id
    if record.task == "pc-vid":
        group = f"{item_id}-{record.factors['pattern']}"  # scoring weights both patterns equally
    inline: Mapping[str, str] = {"choices": "inline"} if record.inline else {}
    return Item(
        item_id=item_id,
        suite=SUITE,
        task=record.task,
        question=record.question,
        query=query,
        answer=record.answer,
        answer_kind=TASKS[record.task].kind,
        stimulus_id=stimulus,
        group_id=group,
        cluster_id=group,
        version=VERSION,
        options=record.options,
        factors=record.factors,
        measures={"images": float(record.images)} if record.images else {},
        provenance={"source": record.location, "licence": LICENCE, **inline, **record.provenance},
    )
