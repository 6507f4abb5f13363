"""Work that subjects do while a set is curated: its items, and what was answered in a run.

Items of work belong to the suite `curation-steps`. They are made again from the same sources and inputs whenever their
answers are read, and must be the very items that were asked: so answers never stray to other pictures.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from snellen.core.errors import SnellenError
from snellen.core.hashing import digest
from snellen.core.item import Item, Media
from snellen.core.itemset import ItemSet
from snellen.core.media import MediaFolder
from snellen.core.suite import BuildOptions
from snellen.curation.steps import read_step_result
from snellen.scoring.answers import read_answer

EXAMPLES_TOLD = 3
PICTURES = (".jpg", ".jpeg", ".png", ".webp")


@dataclass(frozen=True)
class Work:
    """A step that subjects answer.

    `task` is what is built (`gc-captions`), `name` the input its run comes back as (`captions`), `source` and `after`
    what it is made from, `subject` one that can do it.
    """

    task: str
    name: str
    source: str
    after: tuple[str, ...]
    subject: str

    @property
    def commands(self) -> str:
        """How to make the run."""
        given = "".join(f" --input {name}=RUN" for name in self.after)
        build = f"snellen build vlm2-bench/{self.task} --from curated --source {self.source}=DIR{given} --out STEP"
        return f"`{build}`, then `snellen run STEP --subject {self.subject} --out RUN`"


@dataclass(frozen=True)
class Answers:
    """What one subject, or one review, said to items of work: by item id, in the item's own terms.

    What failed, was declined or cannot be read is absent.
    """

    author: str
    items: ItemSet
    held: Mapping[str, Any]

    @property
    def hash(self) -> str:
        """Digest of everything that was said."""
        return digest([self.author, dict(self.held)])


@dataclass(frozen=True)
class Made:
    """Items, what the card says of how they came about, and the answers they were made from, by input."""

    items: tuple[Item, ...]
    notes: tuple[str, ...] = ()
    answers: Mapping[str, Answers] = field(default_factory=dict)


def input_of(options: BuildOptions, work: Work, task: str) -> Path:
    """Where the answers to a step lie. Raises SnellenError that says how to make them."""
    if work.name not in options.inputs:
        raise SnellenError(f"vlm2-bench/{task}: --input {work.name}=RUN is missing; make the run with {work.commands}")
    return options.inputs[work.name]


def source_of(options: BuildOptions, name: str, task: str, layout: str) -> Path:
    """Where a source lies. Raises SnellenError that says how it should look."""
    if name not in options.sources:
        raise SnellenError(f"vlm2-bench/{task}: --source {name}=DIR is missing; {layout}")
    if not options.sources[name].is_dir():
        raise SnellenError(f"--source {name}={options.sources[name]}: not a folder; {layout}")
    return options.sources[name]


def read_work(options: BuildOptions, work: Work, task: str) -> Answers:
    """The answers to a step. Raises SnellenError where there is no run, or it has several subjects."""
    run = read_step_result(input_of(options, work, task))
    held = {}
    for item in run.items.items:
        text = run.text(item)
        said = None if text is None else read_answer(text, run.responses[item.item_id].reply_spec)
        if said is not None:
            held[item.item_id] = said
    return Answers(run.author, run.items, held)


def check_asked(items: Iterable[Item], answers: Answers, work: Work) -> None:
    """Raise SnellenError unless exactly these items were asked, wording, pictures and all."""
    expected = {item.item_id: _asked(item) for item in items}
    found = {item.item_id: _asked(item) for item in answers.items.items}
    if odd := next((key for key in {**expected, **found} if expected.get(key) != found.get(key)), None):
        raise SnellenError(
            f"{answers.items.root}: item {odd!r} is not what the sources and inputs given now lead to, so its answers "
            f"do not belong here; give those it was built from, or make the run anew: {work.commands}"
        )


def _asked(item: Item) -> Item:
    return replace(item, provenance={})


def construction_subjects(answers: Mapping[str, Answers]) -> list[str]:
    """Who helped to build the items: reports flag a subject that is examined on what it helped to build."""
    return sorted({told.author for told in answers.values()})


def add_different(media: MediaFolder, paths: Iterable[Path]) -> dict[Path, Media]:
    """Keep picture files, each read once. Raises SnellenError where two hold the same bytes.

    The same picture of two objects would make a truth false, and twice of one a comparison trivial.
    """
    held: dict[Path, Media] = {}
    seen: dict[str, Path] = {}
    for path in paths:
        held[path] = one = media.add_file(path)
        if (other := seen.setdefault(one.sha256, path)) != path:
            raise SnellenError(f"{path}: the same picture as {other}; keep one of them and replace the other")
    return held


def copied(one: Media, source: MediaFolder, into: MediaFolder) -> None:
    """Keep media of another folder, unless it is there already."""
    if not (into.root / one.path).exists():
        into.add(source.read(one), one.kind, one.format, (one.width, one.height), one.seconds)


def told_dropped(task: str, kept: int, dropped: Mapping[str, Sequence[str]]) -> str:
    """A note for the card: how many were kept, how many were dropped for which reason, with first examples."""
    total = kept + sum(map(len, dropped.values()))
    reasons = [
        f"{len(names)} dropped, {reason} ({', '.join(names[:EXAMPLES_TOLD])}{', …' * (len(names) > EXAMPLES_TOLD)})"
        for reason, names in dropped.items()
    ]
    return f"{task}: {kept} of {total} pairs kept{''.join('; ' + reason for reason in reasons)}"


def folders_in(root: Path) -> list[Path]:
    """Folders by name, hidden ones left out; none where `root` is no folder."""
    found = root.iterdir() if root.is_dir() else ()
    return sorted(path for path in found if path.is_dir() and not path.name.startswith("."))


def pictures_in(folder: Path) -> tuple[Path, ...]:
    """Picture files (`PICTURES`) by name, hidden ones left out; none where `folder` is no folder."""
    found = folder.iterdir() if folder.is_dir() else ()
    return tuple(sorted(p for p in found if p.suffix.lower() in PICTURES and not p.name.startswith(".")))
