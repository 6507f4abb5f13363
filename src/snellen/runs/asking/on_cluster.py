"""Local subjects asked by workers of a cluster: one shard per subject and task, whose record returns to the run."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from snellen.compute import Shard, each_result
from snellen.core.storage.itemset import ItemSet
from snellen.core.storage.parts import part_files, read_exchanges
from snellen.core.storage.run_tables import read_sent
from snellen.core.storage.runfolder import RunCard, open_run
from snellen.core.subject import Subject
from snellen.core.suite import Task
from snellen.runs.asking.ask import ask
from snellen.runs.planning.plan import Arm, Plan, TaskRecord, is_asked
from snellen.suites import suite_of


@dataclass(frozen=True)
class _TaskPlan:
    """The work of one worker: all arms of one subject and the items of one task.

    `media` is the run's own folder of images, `parts` its record so far. There is no suite, since its functions cannot
    be pickled.
    """

    task: str
    items: ItemSet
    arms: tuple[Arm, ...]
    seed: int
    limit: int | None
    annotations: dict[str, Any]
    keep_going: bool
    media: Path
    parts: tuple[Path, ...]


def ask_workers(root: Path, plan: Plan, card: RunCard) -> list[TaskRecord]:
    """Ask the local subjects of a plan by the workers of a cluster.

    Exchanges are recorded in `root` as each task ends. Recorded ones are not asked again, and after a kill the same
    call continues with the remaining tasks.
    """
    shards, records = list(_shards(root, plan)), list[TaskRecord]()
    by_gpus = {gpus: [shard for shard in shards if _gpus(shard.work) == gpus] for gpus in (0, 1)}
    with open_run(root, card, plan.items.media) as run:
        for gpus, some in by_gpus.items():
            with closing(each_result(_ask_task, some, gpus=gpus)) as results:
                for _, record in results:
                    for exchange in record.exchanges:
                        run.record(exchange)
                    for line in record.lines:
                        plan.notify(line)
                    plan.count_items(len(record.responses))
                    records.append(record)
    return records


def _shards(root: Path, plan: Plan) -> Iterator[Shard[_TaskPlan]]:
    (root / "media").mkdir(parents=True, exist_ok=True)
    media, parts = (root / "media").resolve(), tuple(path.resolve() for path in part_files(root))
    local = [arm for arm in plan.arms if arm.subject.card.is_local and not arm.decide]  # its batches wait for scores
    for name in dict.fromkeys(arm.subject.card.name for arm in local):
        for task in plan.suite.tasks.values():
            arms = tuple(arm for arm in local if arm.subject.card.name == name and is_asked(arm.condition, task))
            items = tuple(plan.items.task(task.id))
            if arms and items:
                task_plan = _TaskPlan(
                    task.id, replace(plan.items, items=items, root=plan.items.root.resolve()), arms, plan.seed,
                    plan.limit, dict(plan.annotations), plan.keep_going, media, parts,
                )  # fmt: skip
                yield Shard(f"{name} {task.id}", task_plan)


def _gpus(task_plan: _TaskPlan) -> int:
    """The number of GPUs that a subject needs by `device=cuda`."""
    return int(_device(task_plan.arms[0].subject).startswith("cuda"))


def _device(subject: Subject) -> str:
    """The device of a subject, from its settings or its encoder."""
    encoder = getattr(subject, "encoder", getattr(getattr(subject, "patches", None), "encoder", None))
    return str(subject.card.settings.get("device") or getattr(encoder, "device", "cpu"))


def _ask_task(task_plan: _TaskPlan) -> TaskRecord:
    """On a worker: ask in a separate run folder that continues the run's record and shares its images."""
    suite, lines = suite_of(task_plan.items), list[str]()
    tasks: dict[str, Task] = {task_plan.task: suite.tasks[task_plan.task]}
    plan = Plan(
        task_plan.items, replace(suite, tasks=tasks), task_plan.arms, task_plan.seed, task_plan.limit,
        annotations=task_plan.annotations, keep_going=task_plan.keep_going, notify=lines.append,
    )  # fmt: skip
    with TemporaryDirectory(prefix="snellen-") as folder:
        root = Path(folder)
        (root / "media").symlink_to(task_plan.media)
        (root / "parts").mkdir()
        for part in task_plan.parts:
            (root / "parts" / part.name).symlink_to(part)
        before = sum(1 for _ in read_exchanges(root))
        responses = ask(root, plan)
        exchanges = tuple(islice(read_exchanges(root), before, None))
        sent = tuple((key, json.loads(parts)) for key, parts in read_sent(root).items())
    return TaskRecord(task_plan.task, exchanges, tuple(responses), sent, tuple(lines))
