"""The `curated` recipe: the paper's construction on the user's images and videos (sections 2.1 to 2.3).

    snellen build vlm2-bench/oc --from curated --source oc=DIR --out SET
    snellen build vlm2-bench/gc-captions --from curated --source gc=DIR --input screening=RUN --out STEP

If a model or a person must answer something, the recipe writes an item set of the suite `curation-steps`; its run is
passed back as an input. design/vlm2-bench.md lists the required folders, the steps and their order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from snellen.core.build_options import BuildOptions
from snellen.core.condition import refuse_unknown
from snellen.core.errors import SnellenError
from snellen.core.storage.itemset import ItemSet, media_digest, prune_media, refuse_existing, write_itemset
from snellen.core.storage.media import MediaFolder
from snellen.curated_sets.steps import Argument, Stage, plan_chain, read_about, write_step
from snellen.curated_sets.vlm2_bench import general_cues, objects, people, videos
from snellen.curated_sets.vlm2_bench.zoom import ZOOM
from snellen.curation.results import construction_subjects
from snellen.suites.vlm2_bench.folders import CuratedItems, at_most
from snellen.suites.vlm2_bench.items import SUITE
from snellen.suites.vlm2_bench.objects import TASKS as OC_TASKS
from snellen.suites.vlm2_bench.tasks import TRUE_FALSE

FAMILIES: Mapping[str, tuple[str, ...]] = {
    "gc": general_cues.FINAL,
    "oc": OC_TASKS,
    "pc": people.TASKS,
    "vid": videos.TASKS,
}
"""Final tasks by their source. A family's name denotes all its tasks."""
_STAGES: tuple[Stage, ...] = (*general_cues.STEPS, people.LOOK_ALIKES)
STEPS: Mapping[str, str] = {stage.name: stage.needs[0].name for stage in _STAGES}
"""Steps by name, with the source of each. `zoom` is another step, about a finished set."""
INPUTS = (*(stage.result.name for stage in _STAGES if stage.result), general_cues.REVIEWED)


@dataclass(frozen=True)
class Curated:
    """The recipe `curated`. `salience_below`: see `general_cues.SALIENCE_BELOW`."""

    salience_below: float = general_cues.SALIENCE_BELOW

    def parameters(self, options: BuildOptions) -> Mapping[str, Any]:
        """Tasks, seed, limit on the number of items, and the named rules.

        The card also identifies the sources and the answers.
        """
        return {
            "tasks": [task for tasks in wanted_tasks(options).values() for task in tasks],
            "seed": options.seed,
            "n": options.n,
            "salience_below": self.salience_below,
            "pc_choice": people.CHOICE_RULE,
            "pc_scale": people.SCALE_RULE,
        }

    def plan(self, options: BuildOptions) -> Mapping[str, Any]:
        """The number of items (for GC an upper limit, since answers drop pairs), and the steps. No image is read."""
        if options.tasks == (ZOOM.name,):
            return {
                "suite": SUITE,
                "items": {ZOOM.name: len(ZOOM.make_items(read_about(ZOOM, options)))},
                "steps": plan_chain((ZOOM,), options),
            }
        families = chosen_tasks(options)
        chain = [row for family in families or FAMILIES for row in plan_chain(_stages(family, options), options)]
        if not families:
            return {"suite": SUITE, "needs": NO_SOURCE, "items": {}, "steps": chain}
        items: dict[str, int] = {}
        for family, tasks in families.items():
            items |= PLANS[family](tasks, options)
        if options.n is not None:
            limits = {task: options.n * (2 if task in TRUE_FALSE else 1) for task in items if task not in STEPS}
            items = {task: min(count, limits.get(task, count)) for task, count in items.items()}
        return {"suite": SUITE, "items": items, "steps": chain}

    def build(self, options: BuildOptions) -> ItemSet:
        """Write one step or final items. Raises SnellenError for missing or unsuitable inputs."""
        refuse_existing(options.out)
        if options.tasks == (ZOOM.name,):
            return write_step(ZOOM, read_about(ZOOM, options), options.out)
        media = MediaFolder(options.out / "media")
        parts = [self._curate(family, tasks, options, media) for family, tasks in wanted_tasks(options).items()]
        items = at_most([item for part in parts for item in part.items], options)
        prune_media(media, items)
        results = {name: result for part in parts for name, result in part.results.items()}
        return write_itemset(
            options.out,
            items,
            source="curated",
            recipe={
                **self.parameters(options),
                "media": media_digest(items),
                "answers": {name: result.hash[:16] for name, result in results.items()},
            },
            provenance={"construction_subjects": construction_subjects(results)},
            notes=[note for part in parts for note in part.notes],
        )

    def _curate(self, family: str, tasks: Sequence[str], options: BuildOptions, media: MediaFolder) -> CuratedItems:
        if family == "gc":
            return general_cues.curate_gc(tasks, options, media, self.salience_below)
        return MAKERS[family](tasks, options, media)


MAKERS: Mapping[str, Callable[[Sequence[str], BuildOptions, MediaFolder], CuratedItems]] = {
    "oc": objects.curate_objects,
    "pc": people.curate_people,
    "vid": videos.curate_videos,
}
PLANS: Mapping[str, Callable[[Sequence[str], BuildOptions], dict[str, int]]] = {
    "gc": general_cues.plan_gc,
    "oc": objects.plan_objects,
    "pc": people.plan_people,
    "vid": videos.plan_videos,
}


NO_SOURCE = (
    f"nothing to build from; give --source NAME=DIR with NAME one of {', '.join(FAMILIES)} (design/vlm2-bench.md "
    "describes the folders)"
)


def _stages(family: str, options: BuildOptions) -> list[Stage]:
    """The chain of steps for the items of a family."""
    steps: Mapping[str, Sequence[Stage]] = {"gc": general_cues.STEPS, "pc": (people.LOOK_ALIKES,)}
    named = [task for task in options.tasks if task in (family, *FAMILIES[family])]
    results = [step.result for step in steps.get(family, ()) if step.result]
    final = Stage(
        suite=SUITE,
        name=named[0] if len(named) == 1 else family,
        needs=(Argument("source", family, "DIR"), *results),
        bounded=True,
    )
    return [*steps.get(family, ()), final]


def wanted_tasks(options: BuildOptions) -> dict[str, list[str]]:
    """The tasks to build, by family; by default all whose source is given.

    A step is built alone, since its items belong to another suite. Raises SnellenError for unknown tasks, sources and
    inputs, and if there is no source.
    """
    if families := chosen_tasks(options):
        return families
    raise SnellenError(f"{SUITE} --from curated: {NO_SOURCE}")


def chosen_tasks(options: BuildOptions) -> dict[str, list[str]]:
    """`wanted_tasks`, but empty if neither tasks nor sources are given."""
    names = [*FAMILIES, *(task for tasks in FAMILIES.values() for task in tasks), *STEPS, ZOOM.name]
    refuse_unknown(options.tasks, names, f"{SUITE} --from curated: no task")
    refuse_unknown(options.sources, [*FAMILIES, "items"], f"{SUITE} --from curated: no --source")
    refuse_unknown(options.inputs, INPUTS, f"{SUITE} --from curated: no --input")
    if steps := [task for task in options.tasks if task in STEPS]:
        if len(options.tasks) > 1:
            raise SnellenError(f"{SUITE}/{steps[0]}: build this step on its own; leave out the other tasks")
        return {STEPS[steps[0]]: steps}
    chosen = options.tasks or tuple(family for family in FAMILIES if family in options.sources)
    families = {f: [task for task in tasks if f in chosen or task in chosen] for f, tasks in FAMILIES.items()}
    return {family: tasks for family, tasks in families.items() if tasks}
