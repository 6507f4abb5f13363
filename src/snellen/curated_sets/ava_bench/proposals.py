"""Steps that subjects answer before an item set is curated: names of labels, and texture images of whole scenes.

    snellen build ava-bench/scene-names --from curated --source data=ROOT --out WORK
    snellen run WORK --subject SUBJECT --out NAMES
    snellen build ava-bench/scene-merges --from curated --input scene-names=NAMES --out REVIEW
    snellen build ava-bench --from curated --source data=ROOT --source choices=REVIEW/choices --out SET

Proposals are in `REVIEW/choices`, one row each with `state: proposed`: people set it to `confirmed` or delete the row,
and until then no set is built with it. The item set in `REVIEW` shows the same rows one by one; with people's decisions
as `--input scene-merges=DECISIONS` the rows that they keep are written as confirmed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

from snellen.core.build_options import BuildOptions
from snellen.core.errors import SnellenError
from snellen.core.item import Item
from snellen.core.storage import files
from snellen.core.storage.itemset import ItemSet, write_itemset
from snellen.core.storage.media import MediaFolder
from snellen.curated_sets.ava_bench import merge_steps
from snellen.curated_sets.ava_bench.abilities import CURATIONS
from snellen.curated_sets.ava_bench.selection.candidates import CurationContext
from snellen.curated_sets.ava_bench.selection.images import ImageStore, UnusableImage
from snellen.curated_sets.datasets import DATASETS
from snellen.curated_sets.steps import Argument, Stage, Step
from snellen.curation.ledger import ANY_TASK
from snellen.curation.results import StepResult, read_step_result
from snellen.curation.steps import step_item
from snellen.datasets.sample import Sample
from snellen.suites.ava_bench.items import SUITE

CHECK_REQUEST = "A subject proposes:\n{row}\nReply keep where that is right, drop where it is not."
DATA = Argument("source", "data", "ROOT")
CHOICES = Argument("source", "choices", "REVIEW/choices", optional=True)


class StepSource(NamedTuple):
    """The inputs of a step: datasets by name (none while answers are read), options, and the context of the build."""

    folders: Mapping[str, Path]
    options: BuildOptions
    context: CurationContext


Rows: TypeAlias = list[dict[str, Any]]


@dataclass(frozen=True)
class Proposal:
    """A step about the datasets of `sources`, whose answers become rows of a file of choices."""

    step: Step[StepSource, Rows]
    merges: Stage
    sources: tuple[str, ...]
    file: str
    section: Literal["names", "discarded"]


def _samples(source: StepSource) -> Iterator[Sample]:
    """The samples of all datasets; the ledger records the readers' omissions."""
    for name, path in source.folders.items():
        for sample in DATASETS.get(name).samples_and_notes(path):
            if isinstance(sample, Sample):
                yield sample
            else:
                source.context.ledger.drop(ANY_TASK, name, f"{sample.kind}: {sample.message}", sample.location)


def _label_items(source: StepSource, kind: merge_steps.LabelKind) -> list[Item]:
    labels: dict[str, dict[str, None]] = {}
    for sample in _samples(source):
        labels.setdefault(sample.source, {}).update((annotation.label, None) for annotation in sample.annotations)
    return merge_steps.label_items(labels, kind)


def _clutter_items(source: StepSource) -> list[Item]:
    options, context, texture = source.options, source.context, CURATIONS["texture"]
    candidates = [candidate for sample in _samples(source) for candidate in texture.find(sample, context)]
    images = ImageStore(MediaFolder(options.out / "media"))
    images.load((candidate.origin for candidate in candidates), options.workers)
    texture_images = []
    for candidate in candidates:
        origin, image = candidate.origin, images.get(candidate.origin)
        if isinstance(image, UnusableImage):
            context.ledger.drop(texture.name, origin.source, image.rule, image.location)
        else:
            texture_images.append(merge_steps.TextureImage(origin.source, origin.record_id, candidate.label, image))
    return merge_steps.clutter_items(texture_images)


def _read_merges(source: StepSource, result: StepResult) -> Rows:
    return merge_steps.proposed_merges(result, source.context.choices)


def _proposal(
    step_name: str,
    merges_name: str,
    task: str,
    file: str,
    section: Literal["names", "discarded"],
    make_items: Callable[[StepSource], list[Item]],
    read: Callable[[StepSource, StepResult], Rows],
) -> Proposal:
    result = Argument("input", step_name, "RUN")
    step = Step(
        suite=SUITE,
        name=step_name,
        needs=(DATA,),
        result=result,
        subjects=("chat:openai/gpt-4o",),
        folder="WORK",
        make_items=make_items,
        read=read,
    )
    note = f"then people set `state: confirmed` in choices/{file}, or delete the row"
    merges = Stage(suite=SUITE, name=merges_name, needs=(result,), result=CHOICES, folder="REVIEW", note=note)
    return Proposal(step, merges, CURATIONS[task].datasets, file, section)


_SCENE_ITEMS, _ACTION_ITEMS = partial(_label_items, kind="scene"), partial(_label_items, kind="action")
PROPOSALS: tuple[Proposal, ...] = (
    _proposal("scene-names", "scene-merges", "scene", "scenes.yaml", "names", _SCENE_ITEMS, _read_merges),
    _proposal("action-names", "action-merges", "action", "actions.yaml", "names", _ACTION_ITEMS, _read_merges),
    _proposal(
        "texture-clutter",
        "texture-discards",
        "texture",
        "textures.yaml",
        "discarded",
        _clutter_items,
        lambda source, result: merge_steps.proposed_discards(result),
    ),
)
TASKS = tuple(name for proposal in PROPOSALS for name in (proposal.step.name, proposal.merges.name))
INPUTS = TASKS
FINAL = Stage(
    suite=SUITE,
    name="",
    needs=(DATA, CHOICES),
    bounded=True,
    note="with --source choices=FOLDER if rows were confirmed",
)


def chain(proposals: Sequence[Proposal] = PROPOSALS) -> list[Stage]:
    """Every stage before the items; proposals are optional."""
    return [*(stage for proposal in proposals for stage in (proposal.step, proposal.merges)), FINAL]


def find_proposal(options: BuildOptions) -> Proposal | None:
    """The proposal to build, None for final items. Raises SnellenError if other tasks are named as well."""
    for proposal in PROPOSALS:
        if proposal.step.name in options.tasks or proposal.merges.name in options.tasks:
            if len(options.tasks) > 1:
                raise SnellenError(f"{proposal.step.target}: build this step on its own; leave out the other tasks")
            return proposal
    return None


def build_proposal(
    proposal: Proposal, options: BuildOptions, folders: Callable[[], Mapping[str, Path]], context: CurationContext
) -> ItemSet:
    """Write the items of the step, or the proposals from its answers."""
    step, merges = proposal.step, proposal.merges
    if options.tasks == (step.name,):
        sources = {name: path for name, path in folders().items() if name in proposal.sources}
        if not sources:
            raise SnellenError(f"{step.target}: give one of {', '.join(proposal.sources)} as --source NAME=DIR")
        items = step.make_items(StepSource(sources, options, context))
        if not items:
            raise SnellenError(f"{step.target}: nothing to ask about in {', '.join(sources)}")
        return _write(options, items, {"sources": sorted(sources)}, step.name, context)
    result = step.read_result(options, merges.target)
    rows = step.read(StepSource({}, options, context), result)
    if not rows:
        raise SnellenError(f"{result.items.root}: {result.author} proposes no rows to review")
    if merges.name in options.inputs:
        rows = _confirmed(merges.name, rows, options.inputs[merges.name])
    files.write_text(options.out / "choices" / proposal.file, merge_steps.choices_text(proposal.section, rows))
    return _write(options, _row_items(merges.name, rows), {"proposed_by": result.author}, merges.name, context)


def _row_items(name: str, rows: Rows) -> list[Item]:
    """The rows one by one, as an alternative to reviewing the file."""
    return [
        step_item(
            "screening",
            f"{name}-{k:04d}",
            CHECK_REQUEST.format(row="\n".join(f"{column}: {text}" for column, text in row.items())),
            (),
            "text",
        )
        for k, row in enumerate(rows)
    ]


def _confirmed(name: str, rows: Rows, path: Path) -> Rows:
    """The rows that people keep, marked as confirmed. Raises SnellenError for decisions about other rows."""
    result, confirmed = read_step_result(path), []
    if [item.question for item in result.items.items] != [item.question for item in _row_items(name, rows)]:
        raise SnellenError(f"{path}: decisions about other proposals; decide about those of this run")
    for row, item in zip(rows, result.items.items, strict=True):
        decision = result.answer(item)
        if decision not in ("keep", "drop"):
            raise SnellenError(f"{path}: {item.item_id}: decided {decision!r}; every row needs keep or drop")
        if decision == "keep":
            confirmed.append({**row, "reason": f"{row['reason']}, confirmed by {result.author}", "state": "confirmed"})
    if not confirmed:
        raise SnellenError(f"{path}: keeps none of {len(rows)} rows, so there are no choices to write")
    return confirmed


def _write(
    options: BuildOptions, items: Sequence[Item], recipe: Mapping[str, Any], task: str, context: CurationContext
) -> ItemSet:
    notes = [f"work: {task}"]
    if dropped := sum(context.ledger.dropped.values()):
        files.write_csv(options.out / "curation.csv", context.ledger.table())
        notes.append(f"{dropped} images or annotations were left out: curation.csv gives the reasons")
    return write_itemset(options.out, items, source="curated", recipe={"step": task, **recipe}, notes=notes)
