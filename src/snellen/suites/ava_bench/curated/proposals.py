"""Steps that subjects answer before a set is curated: names for labels, and texture pictures that show whole scenes.

    snellen build ava-bench/scene-names --from curated --source data=ROOT --out WORK
    snellen run WORK --subject SUBJECT --out NAMES
    snellen build ava-bench/scene-merges --from curated --input scene-names=NAMES --out REVIEW
    snellen build ava-bench --from curated --source data=ROOT --source choices=REVIEW/choices --out SET

What is proposed lies in `REVIEW/choices`, a row each with `state: proposed`: people set it to `confirmed` or delete the
row, and until then no set is built with it. The item set beside it shows the same rows one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from snellen.core import files
from snellen.core.errors import SnellenError
from snellen.core.item import Item
from snellen.core.itemset import ItemSet, write_itemset
from snellen.core.media import MediaFolder
from snellen.core.suite import BuildOptions
from snellen.curation.ledger import ANY_TASK
from snellen.curation.steps import StepResult, read_step_result, step_item
from snellen.datasets import DATASETS
from snellen.datasets.sample import Sample
from snellen.suites.ava_bench.curated import action, merge_steps, scene, texture
from snellen.suites.ava_bench.curated.candidates import Candidate, Curating
from snellen.suites.ava_bench.curated.pictures import Pictures, Unusable

CHECK_REQUEST = "A subject proposes:\n{row}\nReply keep where that is right, drop where it is not."


@dataclass(frozen=True)
class Step:
    """Work about the datasets of `sources`, and what follows from its answers: rows of a file of choices."""

    task: str
    proposals: str
    sources: tuple[str, ...]
    file: str
    section: Literal["names", "discarded"]

    @property
    def commands(self) -> str:
        """How to make the run."""
        return (
            f"`snellen build ava-bench/{self.task} --from curated --source data=ROOT --out WORK`, then "
            f"`snellen run WORK --subject chat:openai/gpt-4o --out RUN`"
        )


STEPS: tuple[Step, ...] = (
    Step("scene-names", "scene-merges", scene.SOURCES, "scenes.yaml", "names"),
    Step("action-names", "action-merges", action.SOURCES, "actions.yaml", "names"),
    Step("texture-clutter", "texture-discards", texture.SOURCES, "textures.yaml", "discarded"),
)
TASKS = tuple(name for step in STEPS for name in (step.task, step.proposals))
INPUTS = tuple(step.task for step in STEPS)


def step_of(options: BuildOptions) -> Step | None:
    """The step that is built, alone; None for final items. Raises SnellenError where others are named beside it."""
    step = next((one for one in STEPS if one.task in options.tasks or one.proposals in options.tasks), None)
    if step is not None and len(options.tasks) > 1:
        raise SnellenError(f"ava-bench/{step.task}: a step of work is built alone; leave out the other tasks")
    return step


def build_step(step: Step, options: BuildOptions, folders: Callable[[], Mapping[str, Path]], at: Curating) -> ItemSet:
    """The items of work; or, of its answers, what is proposed."""
    if options.tasks == (step.task,):
        given = {name: path for name, path in folders().items() if name in step.sources}
        if not given:
            raise SnellenError(f"ava-bench/{step.task}: give one of {', '.join(step.sources)} as --source NAME=DIR")
        items = _clutter(given, options, at) if step.section == "discarded" else _names(step, given, at)
        if not items:
            raise SnellenError(f"ava-bench/{step.task}: nothing to ask about in {', '.join(given)}")
        return _written(options, items, {"sources": sorted(given)}, step.task, at)
    if step.task not in options.inputs:
        raise SnellenError(
            f"ava-bench/{step.proposals}: --input {step.task}=RUN is missing; make it with {step.commands}"
        )
    told = read_step_result(options.inputs[step.task])
    rows = _rows(step, told, at)
    if not rows:
        raise SnellenError(f"{told.items.root}: {told.author} proposes nothing, so that there is nothing to review")
    files.write_text(options.out / "choices" / step.file, merge_steps.written(step.section, rows))
    return _written(options, _shown(step, rows), {"proposed_by": told.author}, step.proposals, at)


def _scenes(folders: Mapping[str, Path], at: Curating) -> Iterator[Sample]:
    """The scenes of all datasets; the ledger is told what their readers leave out."""
    for name, path in folders.items():
        for one in DATASETS.get(name).samples_and_notes(path):
            if isinstance(one, Sample):
                yield one
            else:
                at.ledger.drop(ANY_TASK, name, f"{one.kind}: {one.message}", one.location)


def _names(step: Step, folders: Mapping[str, Path], at: Curating) -> list[Item]:
    labels: dict[str, dict[str, None]] = {}
    for one in _scenes(folders, at):
        labels.setdefault(one.source, {}).update((thing.label, None) for thing in one.annotations)
    return merge_steps.label_items(labels, "scene" if step.task == "scene-names" else "action")


def _clutter(folders: Mapping[str, Path], options: BuildOptions, at: Curating) -> list[Item]:
    found: list[Candidate] = [held for one in _scenes(folders, at) for held in texture.look(one, at)]
    pictures = Pictures(MediaFolder(options.out / "media"))
    pictures.load((one.origin for one in found), options.workers)
    textured = []
    for one in found:
        whole = pictures.of(one.origin)
        if isinstance(whole, Unusable):
            at.ledger.drop(texture.NAME, one.origin.source, whole.rule, whole.where)
        else:
            origin = one.origin
            textured.append(merge_steps.Textured(origin.source, origin.record_id, one.label, whole))
    return merge_steps.clutter_items(textured)


def _rows(step: Step, told: StepResult, at: Curating) -> list[dict[str, Any]]:
    if step.section == "discarded":
        return merge_steps.proposed_discards(told)
    return merge_steps.proposed_merges(told, at.choices)


def _shown(step: Step, rows: Sequence[Mapping[str, Any]]) -> list[Item]:
    """The rows one by one, for whoever would rather look at them there than in the file."""
    return [
        step_item(
            "screening",
            f"{step.proposals}-{k:04d}",
            CHECK_REQUEST.format(row="\n".join(f"{name}: {value}" for name, value in row.items())),
            (),
            "text",
        )
        for k, row in enumerate(rows)
    ]


def _written(
    options: BuildOptions, items: Sequence[Item], recipe: Mapping[str, Any], task: str, at: Curating
) -> ItemSet:
    notes = [f"work: {task}"]
    if dropped := sum(at.ledger.dropped.values()):
        files.write_text(options.out / "curation.csv", at.ledger.table().to_csv(index=False))
        notes.append(f"{dropped} pictures or annotations were left out: curation.csv says why")
    return write_itemset(options.out, items, source="curated", recipe={"step": task, **recipe}, notes=notes)
