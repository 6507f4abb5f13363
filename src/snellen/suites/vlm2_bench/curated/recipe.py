"""The `curated` recipe: the paper's construction on pictures and videos of the user's own (sections 2.1 to 2.3).

    snellen build vlm2-bench/oc --from curated --source oc=DIR --out SET
    snellen build vlm2-bench/gc-captions --from curated --source gc=DIR --input screening=RUN --out STEP

Where a model or a person must say something, the recipe writes an item set of the suite `curation-steps`; its run comes
back as an input. design/vlm2-bench.md lists the folders that are read, the steps and their order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from snellen.core.condition import refuse_unknown
from snellen.core.errors import SnellenError
from snellen.core.hashing import digest
from snellen.core.item import Item
from snellen.core.itemset import ItemSet, prune_media, refuse_existing, write_itemset
from snellen.core.media import MediaFolder
from snellen.core.seeds import stream
from snellen.core.suite import BuildOptions
from snellen.suites.vlm2_bench.curated import general_cues, objects, people, videos
from snellen.suites.vlm2_bench.curated.steps import Made, construction_subjects
from snellen.suites.vlm2_bench.curated.zoom import zoom_work
from snellen.suites.vlm2_bench.items import SUITE, VERSION
from snellen.suites.vlm2_bench.tasks import TRUE_FALSE

FAMILIES: Mapping[str, tuple[str, ...]] = {
    "gc": general_cues.FINAL,
    "oc": objects.TASKS,
    "pc": people.TASKS,
    "vid": videos.TASKS,
}
"""Final tasks by the source they are made from. A family's name stands for all its tasks."""
STEPS: Mapping[str, str] = {work.task: work.source for work in (*general_cues.WORKS, people.LOOK_ALIKES)}
"""Steps of work, and the source of each. `zoom` is one more, with a source of its own."""
ZOOM = "zoom"
INPUTS = (*(work.name for work in general_cues.WORKS), general_cues.REVIEWED, people.LOOK_ALIKES.name)


@dataclass(frozen=True)
class Curated:
    """The recipe `curated`. `salience_below`: see `curate_gc.SALIENCE_BELOW`."""

    salience_below: float = general_cues.SALIENCE_BELOW

    def parameters(self, options: BuildOptions) -> Mapping[str, Any]:
        """Tasks, seed, bound on the number of items, and the named rules.

        What was in the sources, and what was answered, stands beside them in the card.
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
        """How many items there will be: of GC at most, since answers drop some. No picture is read."""
        items: dict[str, int] = {}
        for family, tasks in wanted_tasks(options).items():
            items |= PLANS[family](tasks, options)
        if options.n is not None:
            most = {task: options.n * (2 if task in TRUE_FALSE else 1) for task in items if task not in STEPS}
            items = {task: min(count, most.get(task, count)) for task, count in items.items()}
        return {"suite": SUITE, "items": items}

    def build(self, options: BuildOptions) -> ItemSet:
        """One step of work, or final items. Raises SnellenError for whatever is missing or does not fit."""
        refuse_existing(options.out)
        if options.tasks == (ZOOM,):
            return zoom_work(options)
        media = MediaFolder(options.out / "media")
        made = [self._made(family, tasks, options, media) for family, tasks in wanted_tasks(options).items()]
        items = _at_most([item for one in made for item in one.items], options)
        prune_media(media, items)
        answers = {name: told for one in made for name, told in one.answers.items()}
        return write_itemset(
            options.out,
            items,
            source="curated",
            recipe={
                **self.parameters(options),
                "media": digest(sorted({one.sha256 for item in items for one in item.media()}), 16),
                "answers": {name: told.hash[:16] for name, told in answers.items()},
            },
            provenance={"construction_subjects": construction_subjects(answers)},
            notes=[note for one in made for note in one.notes],
        )

    def _made(self, family: str, tasks: Sequence[str], options: BuildOptions, media: MediaFolder) -> Made:
        if family == "gc":
            return general_cues.curate_gc(tasks, options, media, self.salience_below)
        return MAKERS[family](tasks, options, media)


MAKERS: Mapping[str, Callable[[Sequence[str], BuildOptions, MediaFolder], Made]] = {
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


def wanted_tasks(options: BuildOptions) -> dict[str, list[str]]:
    """The tasks to build, by family; without any named, all whose source is given.

    A step is built alone, since its items are of another suite. Raises SnellenError for unknown tasks, sources and
    inputs, and for no source.
    """
    names = [*FAMILIES, *(task for tasks in FAMILIES.values() for task in tasks), *STEPS, ZOOM]
    refuse_unknown(options.tasks, names, f"{SUITE} --from curated: no task")
    refuse_unknown(options.sources, [*FAMILIES, "items"], f"{SUITE} --from curated: no --source")
    refuse_unknown(options.inputs, INPUTS, f"{SUITE} --from curated: no --input")
    if steps := [task for task in options.tasks if task in STEPS]:
        if len(options.tasks) > 1:
            raise SnellenError(f"{SUITE}/{steps[0]}: a step of work is built alone; leave out the other tasks")
        return {STEPS[steps[0]]: steps}
    wanted = options.tasks or tuple(family for family in FAMILIES if family in options.sources)
    if not wanted:
        raise SnellenError(
            f"{SUITE} --from curated: nothing to build from; give --source NAME=DIR with NAME one of "
            f"{', '.join(FAMILIES)} (design/vlm2-bench.md says how the folders should look)"
        )
    chosen = {f: [task for task in tasks if f in wanted or task in wanted] for f, tasks in FAMILIES.items()}
    return {family: tasks for family, tasks in chosen.items() if tasks}


def _at_most(items: list[Item], options: BuildOptions) -> list[Item]:
    """With --n, so many groups a task (pairs of Mat, Trk and Cpr count as one), drawn by the seed, in their order."""
    if options.n is None or not items or items[0].suite != SUITE:
        return items
    options.need_items(SUITE)
    kept: set[str] = set()
    for task in dict.fromkeys(item.task for item in items):
        groups = list(dict.fromkeys(item.group_id for item in items if item.task == task))
        order = stream(SUITE, VERSION, options.seed, "at most", task).permutation(len(groups))
        kept |= {groups[int(n)] for n in order[: options.n]}
    return [item for item in items if item.group_id in kept]
