"""Comparison of vision towers by heads: one head per tower and ability is trained and asked, and towers are ranked.

Also compares heads with probes of the same towers, and sweeps with other sweeps.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from snellen.compute import Progress, Shard, map_shards
from snellen.core.condition import Condition, refuse_unknown
from snellen.core.errors import SnellenError
from snellen.core.item import Item
from snellen.core.storage.files import write_csv, write_text
from snellen.core.storage.itemset import ItemSet, read_itemset
from snellen.core.storage.media import MediaFolder
from snellen.core.subject import TrainingExample
from snellen.core.suite import Task
from snellen.exam.examination import Examination
from snellen.exam.run import run
from snellen.runs.asking.failures import summarize_failures, without_faults
from snellen.suites import SUITES
from snellen.towers.conversations import learner_condition, solved_examples

if TYPE_CHECKING:
    import pandas as pd

    from snellen.towers.heads.costs import Cost
    from snellen.towers.heads.files import HeadCard
    from snellen.towers.heads.stages import TrainingStage
    from snellen.towers.heads.training import HeadPlan


def ability_task(items: ItemSet, ability: str) -> Task:
    """The task of an ability. Raises SnellenError if the suite has none, or the set has no training items of it."""
    suite = SUITES.get(items.card.suite)
    refuse_unknown([ability], suite.tasks, f"{suite.name} has no ability")
    task = suite.tasks[ability]
    if not any(item.split == task.train_split for item in items.task(ability)):
        raise SnellenError(f"{items.root}: no training items of {ability}; build a set that has some")
    return task


def train_items(items: ItemSet, ability: str) -> list[Item]:
    """The training items of an ability that are asked under the main condition."""
    task, condition = ability_task(items, ability), _condition(items)
    return [item for item in items.task(ability) if item.split == task.train_split and task.asks(item, condition)]


def _condition(items: ItemSet) -> Condition:
    """The main condition, settled for a head."""
    return learner_condition(SUITES.get(items.card.suite))


def examples_of(
    items: ItemSet, ability: str, chosen: Sequence[Item], media: MediaFolder, faults: dict[str, str] | None = None
) -> list[TrainingExample]:
    """Some items of an ability as solved examples in the main condition; new images are stored in `media`.

    `faults` is as in `runs.asking.views.show_items`.
    """
    task, condition = ability_task(items, ability), _condition(items)
    return solved_examples(chosen, task, condition, items.task(ability), media, faults=faults)


def fit_ability(
    items: ItemSet, ability: str, plan: HeadPlan, out: Path, tick: Callable[[], None] = lambda: None
) -> HeadCard:
    """Train a head on the training items of an ability in `out`, or continue; a finished head is only read.

    Items that cannot be learned are left out, and a line counts them.
    """
    from snellen.towers.heads.features import opener
    from snellen.towers.heads.fitting import conversation_of, train_head

    media = MediaFolder(out / "media", items.media)
    faults: dict[str, str] = {}
    examples = examples_of(items, ability, train_items(items, ability), media, faults)
    conversations = without_faults(conversation_of, {example.view.item_id: example for example in examples}, faults)
    if faults:
        line = f"{ability}: {len(faults)} training items are left out: {'; '.join(summarize_failures(faults.values()))}"
        if not conversations:
            raise SnellenError(line)
        sys.stderr.write(f"snellen: {line}\n")
    return train_head(replace(plan, task=ability), list(conversations.values()), out, opener(media), tick)


@dataclass(frozen=True)
class SweepJob:
    """The training of one head, independent of others and done when its folder has a card."""

    items: Path
    ability: str
    plan: HeadPlan
    out: Path


@dataclass(frozen=True)
class JobOutcome:
    """The outcome of a job: a head, or the reason why there is none. `status` is `done`, `unstable` or `failed`."""

    tower: str
    ability: str
    status: str
    reason: str = ""
    card: HeadCard | None = None


def sweep_jobs(
    items: ItemSet,
    towers: Sequence[str],
    abilities: Sequence[str],
    plan: HeadPlan,
    out: Path,
    bases: Path | None = None,
) -> list[SweepJob]:
    """A job per tower and ability in `out/heads/TOWER/ABILITY`, starting from the previous stage in `bases/TOWER`.

    Raises SnellenError for unknown names.
    """
    from snellen.towers.heads.stages import EPOCHS
    from snellen.towers.heads.towers import find_tower

    jobs = []
    for tower in dict.fromkeys(towers):
        find_tower(tower)
        for ability in dict.fromkeys(abilities):
            ability_task(items, ability)
            epochs = EPOCHS.get(ability, plan.stage.epochs) if plan.stage.epochs == 10 else plan.stage.epochs
            stage, base = replace(plan.stage, epochs=epochs), bases / folder_name(tower) if bases else None
            job_plan = replace(plan, tower=tower, stage=stage, base=base)
            jobs.append(SweepJob(items.root, ability, job_plan, tower_folder(out, tower) / ability))
    if not jobs:
        raise SnellenError("a sweep needs --towers and --abilities, names separated by commas")
    return jobs


def settings_jobs(
    items: ItemSet, towers: Sequence[str], abilities: Sequence[str], plan: HeadPlan, out: Path, bases: Path | None
) -> dict[str, list[SweepJob]]:
    """`sweep_jobs` for each setting of Table 3, in a folder of its name; equal settings share one folder.

    Raises SnellenError if LoRA is not trained.
    """
    from snellen.towers.heads.stages import stages

    if plan.stage.scope != "lora":
        raise SnellenError(f"Table 3 varies LoRA, which --scope {plan.stage.scope} does not train; leave it out")
    names: dict[TrainingStage, str] = {}
    jobs = {}
    for name, stage in stages(plan.stage).items():
        folder = out / folder_name(names.setdefault(stage, name))
        jobs[name] = sweep_jobs(items, towers, abilities, replace(plan, stage=stage), folder, bases)
    return jobs


def tower_folder(out: Path, tower: str) -> Path:
    """The folder of a tower's heads."""
    return out / "heads" / folder_name(tower)


def folder_name(tower: str) -> str:
    """The name of a tower as a folder name: `tiny/clip-l` is `tiny-clip-l`."""
    return re.sub(r"[^\w.=-]+", "-", tower).strip("-")


def sweep_cost(items: ItemSet, jobs: Sequence[SweepJob]) -> Cost:
    """The total cost of all unfinished jobs; features of an image are stored once per tower."""
    from snellen.towers.heads.costs import Cost, job_cost
    from snellen.towers.heads.files import is_head

    flops = disk = 0.0
    for job in jobs:
        if not is_head(job.out):
            training_items = train_items(items, job.ability)
            cost = job_cost(job.plan, len(training_items), len({item.query for item in training_items}))
            flops, disk = flops + cost.flops, disk + cost.disk
    return Cost(flops, disk)


def run_job(job: SweepJob) -> JobOutcome:
    """Train the head of a job. Divergence is noted in its folder and not retried; other errors are returned."""
    from snellen.towers.heads.subject import UNSTABLE
    from snellen.towers.heads.training import Diverged

    tower, note = job.plan.tower, job.out / UNSTABLE
    if note.is_file():
        return JobOutcome(tower, job.ability, "unstable", note.read_text("utf-8").strip())
    try:
        card = fit_ability(read_itemset(job.items), job.ability, job.plan, job.out)
    except Diverged as error:
        write_text(note, f"{error}\n")
        return JobOutcome(tower, job.ability, "unstable", str(error))
    except SnellenError as error:
        return JobOutcome(tower, job.ability, "failed", str(error))
    return JobOutcome(tower, job.ability, "done", card=card)


def train_all(jobs: Sequence[SweepJob], workers: int = 1, progress: Progress | None = None) -> list[JobOutcome]:
    """Run all jobs, `workers` at a time; finished ones are only looked up."""
    threads = 1 if workers > 1 else 0
    shards = [
        Shard(f"{job.plan.tower} {job.ability}", replace(job, plan=replace(job.plan, threads=threads))) for job in jobs
    ]
    return map_shards(run_job, shards, workers=workers, progress=progress)


@dataclass(frozen=True)
class Sweep:
    """A finished sweep: the outcomes of the jobs, the run of the heads, and ranks (`analysis.tables.rank_table`)."""

    outcomes: Sequence[JobOutcome]
    examination: Examination
    ranks: pd.DataFrame


@dataclass(frozen=True)
class Tiers:
    """Probes compared with heads: the run of the probes, and the comparison (`analysis.comparison.evaluators`)."""

    examination: Examination
    ranks: pd.DataFrame
    comparison: pd.DataFrame


def ask_heads(items: ItemSet, outcomes: Sequence[JobOutcome], out: Path, *, show_progress: bool = True) -> Sweep:
    """Ask one subject per tower, made of its heads, and rank the towers. Writes `jobs.csv` and `ranks.csv`.

    Only the test items of the sweep's abilities are asked; a tower declines abilities without a head. Raises
    SnellenError if no head was trained.
    """
    import pandas as pd

    towers = dict.fromkeys(outcome.tower for outcome in outcomes if outcome.status == "done")
    if not towers:
        raise SnellenError(f"{out}: no head was trained: {outcomes[0].reason}")
    names = {f"head:{tower_folder(out, tower)}": tower for tower in towers}
    abilities = {outcome.ability for outcome in outcomes}
    test_items = tuple(item for item in items.items if item.split == "test" and item.task in abilities)
    examination = run(replace(items, items=test_items), list(names), out / "run", show_progress=show_progress)
    ranks = _ranks(out / "run", names)
    write_csv(out / "jobs.csv", pd.DataFrame(list(_job_rows(outcomes))))
    write_csv(out / "ranks.csv", ranks)
    return Sweep(outcomes, examination, ranks)


def ask_probes(items: ItemSet, sweep: Sweep, out: Path) -> Tiers:
    """Fit an attentive probe to each tower and ability that has a head, ask it, and compare both tiers.

    Probes are fitted to the same items and answer the same ones as heads. Writes the run `probes`, `probe-ranks.csv`
    and `tiers.csv`: the rows of `evaluator_table`, probes first, with the language model, the number of training items,
    and the `scale`: `small` with fewer training items than in the paper.
    """
    from snellen.suites.ava_bench.published import TRAINING_ITEMS
    from snellen.towers.evaluators import compare_runs

    done = [outcome for outcome in sweep.outcomes if outcome.status == "done"]
    abilities = dict.fromkeys(outcome.ability for outcome in done)
    names = {f"tower:{outcome.tower}": outcome.tower for outcome in done}
    chosen = tuple(item for item in items.items if item.task in abilities)
    examination = run(replace(items, items=chosen), list(names), out / "probes")
    ranks = _ranks(out / "probes", names)
    table = compare_runs(out / "probes", out / "run", ("probes", "heads"))
    counts = {ability: len(train_items(items, ability)) for ability in abilities}
    table["training_items"] = [counts.get(task, sum(counts.values())) for task in table["task"]]
    table["language_model"] = next(outcome.card.language_model for outcome in done if outcome.card)
    table["scale"] = "small" if min(counts.values()) < TRAINING_ITEMS else "full"
    write_csv(out / "probe-ranks.csv", ranks)
    write_csv(out / "tiers.csv", table)
    return Tiers(examination, ranks, table)


def compare_sweeps(root: Path, other_root: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """(rows of `evaluator_table`, device-hours by stage) of two sweeps of the same towers by two language models.

    They are named by their language models, or by their folders if these are equal. Raises SnellenError if items
    differ, no tower is in both, or a folder holds no sweep.
    """
    import pandas as pd

    from snellen.towers.evaluators import compare_runs
    from snellen.towers.heads.costs import hours_by_stage

    hours = [hours_by_stage(path) for path in (root, other_root)]
    names = [str(rows[-1]["language_model"]) for rows in hours]
    if names[0] == names[1]:
        names = [str(root), str(other_root)]
    table = compare_runs(root / "run", other_root / "run", (names[0], names[1]))
    table.insert(0, "evaluator", names[0])
    table.insert(1, "other_evaluator", names[1])
    return table, pd.DataFrame([row for rows in hours for row in rows])


def probe_connector(items: ItemSet, head: Path, device: str = "cpu") -> pd.DataFrame:
    """Scores of linear probes on max-pooled features before and after a head's connector (`linear_probes`).

    They are fitted to the training items of the head's ability and asked its test items. Raises SnellenError for a head
    without an ability, and if answers are not classes.
    """
    from snellen.towers.heads.connector import class_of, connector_features
    from snellen.towers.heads.files import read_head_card
    from snellen.towers.linear_probe import linear_probes

    ability = read_head_card(head).task
    if not ability:
        raise SnellenError(f"{head}: not trained on an ability; probe a head made by `snellen tower fit`")
    task, condition, media = ability_task(items, ability), _condition(items), MediaFolder(head / "media", items.media)
    tested = [item for item in items.task(ability) if item.split == "test" and task.asks(item, condition)]
    if not tested:
        raise SnellenError(f"{items.root}: no test items of {ability}; build a set that has some")
    train, test = (examples_of(items, ability, part, media) for part in (train_items(items, ability), tested))
    labels = [class_of(example) for example in (*train, *test)]
    features = connector_features(head, [example.view.query[0] for example in (*train, *test)], media, device)
    count = len(train)
    return linear_probes(
        {place: rows[:count] for place, rows in features.items()},
        labels[:count],
        {place: rows[count:] for place, rows in features.items()},
        labels[count:],
        [item.cluster_id for item in tested],
    )


def _ranks(root: Path, names: Mapping[str, str]) -> pd.DataFrame:
    """The ranks of a run, with the tower of each subject."""
    from snellen.analysis.tables.rank_table import rank_table
    from snellen.reports.loading import load_run

    ranks = rank_table(load_run(root))
    ranks.insert(0, "tower", [names[subject] for subject in ranks["subject"]])
    return ranks


def settings_table(items: ItemSet, jobs: Mapping[str, Sequence[SweepJob]], out: Path, workers: int = 1) -> pd.DataFrame:
    """Train and ask the jobs of every setting; one row per setting, tower and ability, with the printed number.

    `status` is that of the job: training that diverged is `unstable` and has no value. Writes `settings.csv`.
    """
    import pandas as pd

    from snellen.analysis.tables.run_view import main_metric, result_rows, scored
    from snellen.reports.loading import load_run
    from snellen.towers.heads.stages import printed

    lines: list[dict[str, object]] = []
    for setting, part in jobs.items():
        outcomes, folder = train_all(part, workers), part[0].out.parents[2]
        done, rows = any(outcome.status == "done" for outcome in outcomes), dict[tuple[str, str], Any]()
        if done:
            run = load_run(ask_heads(items, outcomes, folder, show_progress=False).examination.root)
            for ability in dict.fromkeys(outcome.ability for outcome in outcomes):
                for row in scored(result_rows(run, ability)).to_dict("records"):
                    rows[str(row["subject"]), ability] = row | {"metric": main_metric(run, ability).name}
        for job, outcome in zip(part, outcomes, strict=True):
            stage, row = job.plan.stage, rows.get((f"head:{tower_folder(folder, outcome.tower)}", outcome.ability), {})
            lines.append(
                {"setting": setting, "rate": stage.rate, "rank": stage.lora_rank, "tower": outcome.tower}
                | {"ability": outcome.ability, "status": outcome.status}
                | {name: row.get(name, "") for name in ("metric", "value", "low", "high", "n")}
                | {"printed": printed(setting, outcome.ability, outcome.tower), "reason": outcome.reason}
            )
    table = pd.DataFrame(lines)
    write_csv(out / "settings.csv", table)
    return table


def _job_rows(outcomes: Sequence[JobOutcome]) -> Iterator[dict[str, object]]:
    for outcome in outcomes:
        row: dict[str, object] = {"tower": outcome.tower, "ability": outcome.ability, "status": outcome.status}
        names = ("conversations", "steps", "seconds", "samples_per_second", "device", "device_hours", "features")
        costs = {name: getattr(outcome.card, name, "") for name in (*names, "last_loss")}
        yield {**row, **costs, "reason": outcome.reason}
