"""Curation steps that a subject or people must answer: declared once, planned, answered in an ordinary run, read back.

No recipe calls a model. A step writes items of the suite `curation-steps` (captions, boxes, decisions, look-alikes), a
subject that can answer them does so in a run, and the run is an input of the next build. Whenever answers are read, the
step items are recreated from the same sources and inputs and must equal the items asked, so that no answer is ever
assigned to another image.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Generic, Literal, NamedTuple, TypeVar

from snellen.core.build_options import BuildOptions
from snellen.core.errors import SnellenError
from snellen.core.hashing import digest
from snellen.core.item import Item
from snellen.core.storage.itemset import ItemSet, read_itemset, write_itemset
from snellen.core.storage.media import MediaFolder
from snellen.curation.ledger import ANY_SOURCE, Ledger
from snellen.curation.results import StepResult, read_step_result
from snellen.curation.review import Review
from snellen.curation.steps import copy_media

ITEMS = "items"
"""The source of a step about a finished item set."""
UNDECIDED = "no decision"
S = TypeVar("S")
R = TypeVar("R")
State = Literal["done", "to do", "optional"]


class Argument(NamedTuple):
    """An argument of a build: `--source NAME=PATH` or `--input NAME=PATH`; `example` is its path in commands."""

    option: Literal["source", "input"]
    name: str
    example: str
    optional: bool = False

    def path(self, options: BuildOptions) -> Path | None:
        """The path given in the options, or None."""
        return (options.sources if self.option == "source" else options.inputs).get(self.name)

    def write(self, path: str = "") -> str:
        """The argument as on the command line."""
        return f"--{self.option} {self.name}={path or self.example}"


@dataclass(frozen=True, kw_only=True)
class Stage:
    """One build towards a curated set, and the run that answers it: `snellen build SUITE/NAME`.

    `needs` are its arguments; `result` is the argument of later builds that takes its result. `subjects` can answer its
    items, in one run under `condition`; without subjects it is built but not asked. `folder` is the folder of its items
    in commands; `lead` begins the sentence on how to make its result, `note` ends it. `bounded` stages obey `--n`. An
    empty name means the items of the suite.
    """

    suite: str
    name: str
    needs: tuple[Argument, ...] = ()
    result: Argument | None = None
    subjects: tuple[str, ...] = ()
    condition: str = ""
    recipe: str = "curated"
    folder: str = "STEP"
    lead: str = "make the run"
    note: str = ""
    bounded: bool = False

    @property
    def target(self) -> str:
        """The target of `snellen build`."""
        return f"{self.suite}/{self.name}" if self.name else self.suite

    def commands(
        self, needs: Sequence[str] = (), folder: str = "", results: str = "", more: str = ""
    ) -> tuple[str, ...]:
        """The commands `snellen build`, and `snellen run` if there are subjects; example paths by default."""
        needs = needs or [argument.write() for argument in self.needs if not argument.optional]
        folder = folder or self.folder
        build = " ".join(["snellen build", self.target, "--from", self.recipe, *needs, f"--out {folder}"]) + more
        if not self.subjects:
            return (build,)
        condition = f" --condition {self.condition}" if self.condition else ""
        subjects = "".join(f" --subject {subject}" for subject in self.subjects)
        results = results or (self.result.example if self.result else "RUN")
        return build, f"snellen run {folder}{condition}{subjects} --out {results}"

    @property
    def how_to(self) -> str:
        """Instructions for error messages on making its result."""
        commands = ", then ".join(f"`{command}`" for command in self.commands())
        return f"{self.lead} with {commands}{f' ({self.note})' if self.note else ''}"

    def result_path(self, options: BuildOptions, target: str, forms: str = "") -> Path:
        """The path of its result. Raises SnellenError with instructions if missing; `forms` names possible values."""
        assert self.result is not None, f"{self.target} has no result"
        if (path := self.result.path(options)) is None:
            raise SnellenError(f"{target}: {self.result.write(forms)} is missing; {self.how_to}")
        return path


@dataclass(frozen=True, kw_only=True)
class ItemStep(Stage, Generic[S]):
    """A stage whose items are of the suite `curation-steps`, made from their subject matter (images, an item set …)."""

    make_items: Callable[[S], Sequence[Item]]


@dataclass(frozen=True, kw_only=True)
class Step(ItemStep[S], Generic[S, R]):
    """A step whose answers are interpreted by `read`."""

    read: Callable[[S, StepResult], R]

    def read_result(self, options: BuildOptions, target: str) -> StepResult:
        """The answers of one subject. Raises SnellenError if they are missing, or several subjects answered."""
        return read_step_result(self.result_path(options, target))

    def check(self, items: Iterable[Item], result: StepResult) -> None:
        """Raise SnellenError unless exactly these items were asked, including wording and images."""
        expected = {item.item_id: _without_provenance(item) for item in items}
        in_result = {item.item_id: _without_provenance(item) for item in result.items.items}
        if odd := next((key for key in {**expected, **in_result} if expected.get(key) != in_result.get(key)), None):
            raise SnellenError(
                f"{result.items.root}: item {odd!r} differs from the one that the given sources and inputs lead to, so "
                "its answers cannot be used; give those it was built from, or repeat the run: "
                + ", then ".join(f"`{command}`" for command in self.commands())
            )


def _without_provenance(item: Item) -> Item:
    return replace(item, provenance={})


# Steps about a finished item set


def read_about(stage: Stage, options: BuildOptions) -> ItemSet:
    """The item set that a stage is about. Raises SnellenError if it is missing or of another suite."""
    if ITEMS not in options.sources:
        raise SnellenError(
            f"{stage.target}: --source {ITEMS}=ITEMSET is missing; give the set that the step is about: any set of "
            f"{stage.suite}"
        )
    items = read_itemset(options.sources[ITEMS])
    if items.card.suite != stage.suite:
        raise SnellenError(f"{items.root}: an item set of {items.card.suite}, not of {stage.suite}")
    return items


def write_step(step: ItemStep[ItemSet], about: ItemSet, out: Path, notes: Sequence[str] = ()) -> ItemSet:
    """Write the items of a step about a finished set, with the images they show."""
    items = step.make_items(about)
    copy_media(items, about.media, MediaFolder(out / "media"))
    recipe = {"about": about.card.content_hash, "step": step.name}
    return write_itemset(out, items, source=step.name, recipe=recipe, notes=list(notes))


# Chains


def plan_chain(stages: Sequence[Stage], options: BuildOptions) -> list[dict[str, Any]]:
    """Rows for `--plan`: every stage in order with its state and its commands, with the given paths.

    A stage is done if its result was given, or no stage to do needs it; the last one never is. A stage that only
    optional arguments need is optional.
    """
    states = _states(stages, options)
    outputs = {stage.result[:2]: _result_folder(stage) for stage in reversed(stages) if stage.result}
    named = {argument[:2] for stage in stages for argument in stage.needs}
    # Datasets may be given one by one, by their own names, instead of one folder of all.
    others = [f"--source {name}={path}" for name, path in options.sources.items() if ("source", name) not in named]
    rows = []
    for stage, state in zip(stages, states, strict=True):
        needs = []
        for argument in stage.needs:
            if path := argument.path(options):
                needs.append(argument.write(str(path)))
            elif others and argument.option == "source" and argument[:2] not in outputs:
                needs += others
            elif not argument.optional:
                needs.append(argument.write(outputs.get(argument[:2], "")))
        bound = f" --n {options.n}" if stage.bounded and options.n is not None else ""
        seed = f" --seed {options.seed}" if options.seed else ""
        commands = stage.commands(needs, stage.name or ITEMS, _result_folder(stage), bound + seed)
        note = {"note": stage.note} if stage.note else {}
        rows.append({"step": stage.target, "state": state, "commands": list(commands), **note})
    return rows


def _states(stages: Sequence[Stage], options: BuildOptions) -> list[State]:
    """States of the stages, from the last backwards: a given result is not made, nor anything only it needs."""
    needed: dict[tuple[str, str], bool] = {}
    states: list[State] = []
    for stage in reversed(stages):
        key = stage.result[:2] if stage.result else None
        optional = needed.get(key, True) if key and states else False
        if states and (key is None or key not in needed):
            states.append("done")
            continue
        states.append("optional" if optional else "to do")
        for argument in stage.needs:
            if argument.path(options) is None:
                needed[argument[:2]] = needed.get(argument[:2], True) and (optional or argument.optional)
    return states[::-1]


def _result_folder(stage: Stage) -> str:
    """The path of the result in a plan: the run next to the items, or the folder of the items, or a folder in it."""
    if stage.subjects or stage.result is None:
        return f"{stage.name or ITEMS}-run"
    return stage.result.example.replace(stage.folder, stage.name, 1)


# Verdicts of a review


@dataclass(frozen=True)
class Verdicts:
    """The reviewers' reasons for leaving out items, by item id; `""` for an item that stays."""

    author: str
    reasons: Mapping[str, str]

    @property
    def hash(self) -> str:
        """Digest of all verdicts."""
        return digest([self.author, dict(self.reasons)], 16)

    def apply(self, items: Sequence[Item], ledger: Ledger, unit: str) -> list[Item]:
        """The items that stay, with the reviewers as construction subjects. Items without a verdict are dropped."""
        remaining = []
        for item in items:
            if reason := self.reasons.get(item.item_id, UNDECIDED):
                ledger.drop(unit, ANY_SOURCE, reason, item.item_id)
            else:
                remaining.append(with_construction_subject(item, self.author))
        return remaining


def verdicts_of(review: Review) -> Verdicts:
    """The verdicts of a review whose decisions are keep or drop."""
    reasons = {}
    for item_id, word in review.keep_or_drop().items():
        reason = review.decisions[item_id].reason.strip() or "no reason"
        reasons[item_id] = "" if word == "keep" else f"by the review ({reason})"
    return Verdicts(review.author, reasons)


def with_construction_subject(item: Item, author: str) -> Item:
    """The item with one more construction subject."""
    provenance: dict[str, Any] = dict(item.provenance)
    provenance["construction_subjects"] = sorted({*provenance.get("construction_subjects", ()), *author.split(", ")})
    return replace(item, provenance=provenance)
