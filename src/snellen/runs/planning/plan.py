"""Arms, the plan of a run, and its card `run.json`."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from snellen.analysis.grading.rows import ResultRow
from snellen.core.annotations import Annotations
from snellen.core.condition import Condition
from snellen.core.errors import SnellenError
from snellen.core.grouping import lists_by_key
from snellen.core.item import Item
from snellen.core.plain_text import short_reason
from snellen.core.response import Exchange, StoppingRule
from snellen.core.storage.item_rows import read_image_names
from snellen.core.storage.itemset import ItemSet
from snellen.core.storage.runfolder import ArmCard, RunCard, is_run, price_of, read_run_card
from snellen.core.subject import Subject, SubjectCard
from snellen.core.suite import Schedule, Suite, Task, Transform, ViewContext, all_trials, settle
from snellen.runs.planning.deciding import Decider
from snellen.runs.planning.options import MAX_ITEMS
from snellen.subjects.joins import ItemIndex
from snellen.subjects.recorded import Recorded, Recording


def by_draw(train_items: Iterable[Item]) -> list[list[Item]]:
    """Training items by the draw that they are of (factor `draw`), in its order; one draw if they name none."""
    return [of_draw for _, of_draw in sorted(lists_by_key((i.factors.get("draw", ""), i) for i in train_items).items())]


@dataclass(frozen=True)
class Arm:
    """One subject under one condition, with its repeat and schedule.

    Repeats of a subject that learns take turns with the draws of training items (`by_draw`).

    A run is a list of arms rather than a grid, since people may lack conditions. `decide` is what is decided by asking
    (`runs.planning.deciding`), and empty if all items are asked.
    """

    subject: Subject
    condition: Condition
    repeat: int = 0
    schedule: Schedule = all_trials
    decide: StoppingRule = ""

    @property
    def is_recorded(self) -> bool:
        """True if the answers exist already."""
        return isinstance(self.subject, Recorded)

    def is_adaptive(self, task: Task) -> bool:
        """True if the order in which a task is asked may depend on scores."""
        has_schedule = self.schedule is not all_trials or bool(self.decide) or task.schedule is not None
        return has_schedule and not self.is_recorded

    def schedule_of(self, task: Task, items: Sequence[Item]) -> Schedule:
        """The order in which these test items of a task are asked: the arm's, or else the task's own."""
        is_own = self.schedule is not all_trials or self.is_recorded
        return self.schedule if is_own or task.schedule is None else task.schedule(items)

    def asks(self, task: Task) -> bool:
        """True if a task is asked: its axes include all that the condition changes, and recorded answers are to it."""
        tasks = self.subject.tasks if isinstance(self.subject, Recorded) else None
        return is_asked(self.condition, task) and (tasks is None or task.id in tasks)

    @property
    def arm_key(self) -> tuple[str, str, int]:
        """Subject, condition and repeat, as of its responses and its card."""
        return self.subject.card.name, str(self.condition), self.repeat

    def key(self, fingerprint: str, name: str) -> str:
        """The key of a trial or an item in the record; the fingerprint is that of the fitted subject."""
        return f"{fingerprint}/{self.condition}/{self.repeat}/{name}"


@dataclass(frozen=True)
class Plan:
    """Everything that a run needs: items, suite, arms and limits.

    `limit` is the number of test items per task, `max_items` that of a task asked until decided. `tick` is called after
    each call, `count_items` with the number of items that just got responses, `watch` with a subject's graded row after
    each batch of a task asked until decided. `budget` is money: a call starts if it is
    enough, by the prices on the subjects' cards. `deadline` is the `time.monotonic` after which no call starts.
    `keep_going`: an arm continues however many of its calls fail. `notify` receives a line for each subject or arm that
    is no longer asked. `preflight` are replies to first questions, given before the run could record them; they count
    towards the budget. With `is_replay` no calls are made, and responses are those of the record. `deciders`
    are made when they are first needed.
    """

    items: ItemSet
    suite: Suite
    arms: Sequence[Arm]
    seed: int = 0
    limit: int | None = None
    max_items: int = MAX_ITEMS
    budget: float | None = None
    deadline: float | None = None
    annotations: Mapping[str, Annotations] = field(default_factory=dict)
    keep_going: bool = False
    tick: Callable[[], None] = lambda: None
    count_items: Callable[[int], object] = lambda items: None
    watch: Callable[[SubjectCard, ResultRow], None] = lambda card, row: None
    notify: Callable[[str], None] = lambda line: None
    versions: Mapping[str, str] = field(default_factory=dict)
    preflight: Sequence[Exchange] = ()
    is_replay: bool = False
    deciders: list[Decider] = field(default_factory=list, compare=False)

    @property
    def decider(self) -> Decider:
        """The rule by which the tasks of the plan are asked until they are decided."""
        if not self.deciders:
            self.deciders.append(Decider(self.items, self.suite, self.max_items))
        return self.deciders[0]


def run_card(plan: Plan) -> RunCard:
    """The card `run.json` of a plan. Raises SnellenError for a set of another suite or version."""
    card = plan.items.card
    if card.suite != plan.suite.name:
        raise SnellenError(f"{plan.items.root}: a set of suite {card.suite!r}, not {plan.suite.name!r}")
    if card.version != plan.suite.card.version:
        raise SnellenError(
            f"{plan.items.root}: built by version {card.version} of {card.suite}, this is {plan.suite.card.version}; "
            f"build it again"
        )
    arms = []
    for arm in plan.arms:
        subject_card = arm.subject.card
        columns = settle(arm.condition, plan.suite, subject_card).columns()
        arms.append(
            ArmCard(
                subject=subject_card.name,
                fingerprint=subject_card.fingerprint(),
                settings=dict(subject_card.settings),
                attributes=dict(subject_card.attributes),
                condition=str(arm.condition),
                columns=columns,
                repeat=arm.repeat,
                test_items=_test_items(plan, arm),
                decide=arm.decide,
                max_items=plan.max_items if arm.decide else 0,
                role=subject_card.role,
                source=subject_card.source,
                fitted=subject_card.fitted,
            )
        )
    return RunCard(
        suite=card.suite,
        version=card.version,
        itemset=str(plan.items.root.resolve()),
        recipe_hash=card.recipe_hash,
        content_hash=card.content_hash,
        rows_hash=card.rows_hash,
        test_hash=card.test_hash,
        seed=plan.seed,
        limit=plan.limit,
        arms=arms,
        transforms=sorted(_transforms_used(plan)),
        annotations={name: f"{table.author} {table.hash[:16]}" for name, table in plan.annotations.items()},
        versions=dict(plan.versions),
    )


def _test_items(plan: Plan, arm: Arm) -> dict[str, int]:
    """The number of items of each task that an arm is asked, without tasks whose schedule is adaptive."""
    tasks = plan.suite.tasks
    return {task: n for task, n in _at_most(plan, arm).items() if n and not arm.is_adaptive(tasks[task])}


def most_items(plan: Plan) -> int:
    """The largest number of items that the arms can be asked."""
    limits = [(arm, plan.max_items if arm.decide else math.inf) for arm in plan.arms]
    return sum(int(min(count, limit)) for arm, limit in limits for count in _at_most(plan, arm).values())


def _at_most(plan: Plan, arm: Arm) -> dict[str, int]:
    """The largest number of items of each task that an arm can be asked."""
    condition = settle(arm.condition, plan.suite, arm.subject.card)
    return {
        task.id: len(select_test_items(plan.items.task(task.id), task, condition, plan.limit))
        for task in plan.suite.tasks.values()
        if arm.asks(task)
    }


def _transforms_used(plan: Plan) -> set[str]:
    used: set[str] = set()
    for task in plan.suite.tasks.values():
        items = plan.items.task(task.id)
        for arm in plan.arms if items else ():
            context = ViewContext(settle(arm.condition, plan.suite, arm.subject.card), [], plan.annotations)
            asked_items = (item for item in items if arm.asks(task) and task.asks(item, context.condition))
            used |= {f"{task.id}: {transform!r}" for transform in _first_transforms(asked_items, task, context)}
    return used


def _first_transforms(items: Iterable[Item], task: Task, context: ViewContext) -> Sequence[Transform]:
    """The transforms of the first item that has some. Raises SnellenError if all lack something, such as a table."""
    error: Exception | None = None
    for item in items:
        try:
            return task.transforms(item, context)
        except Exception as fault:  # noqa: BLE001  # the item fails alone
            error = fault
    if isinstance(error, SnellenError):
        raise error
    return ()


def recorded_arms(
    recordings: Sequence[Recording], items: ItemSet, suite: Suite, conditions: Sequence[Condition], seed: int
) -> tuple[list[Arm], str]:
    """The arms of recorded subjects, and a line on rows that do not clearly answer an item; empty if all do.

    Only those under `conditions`, unless there are none. Raises SnellenError if no row answers a test item.
    """
    index, arms, answers = ItemIndex(items.items, read_image_names(items.root)), list[Arm](), 0
    faults, examples = Counter[str](), list[str]()
    for recording in recordings:
        recorded, new_faults, example = recording.join(items, suite, index, seed, conditions)
        arms += [Arm(subject, condition, repeat, subject.schedule) for condition, repeat, subject in recorded]
        answers += sum(len(subject.answers) for _, _, subject in recorded)
        faults += new_faults
        examples += [f" (such as {short_reason(example, 60)!r})"] if example else []
    rows = sum(len(recording.rows) for recording in recordings)
    counts = "; ".join(f"{count} {fault}" for fault, count in faults.items()) + "".join(examples[:1])
    line = f"recorded answers: {answers} of {rows} rows answer a test item of {items.root}; {counts}"
    if not answers:
        raise SnellenError(f"{line}; name the column of ids with ?id=COLUMN, or of images with ?image=COLUMN")
    selected = [arm for arm in arms if not conditions or arm.condition in conditions]
    if not selected:
        names = sorted({str(arm.condition) for arm in arms})
        raise SnellenError(f"recorded answers: there are answers under {', '.join(names)} only")
    return selected, line if faults else ""


def prices(plan: Plan, root: Path) -> dict[str, tuple[float, float]]:
    """Known prices per million tokens, (in, out), by fingerprint, of the plan and of earlier calls in `root`."""
    # Prices change no answer, so they are attributes, not settings.
    attributes = {arm.fingerprint: arm.attributes for arm in (read_run_card(root).arms if is_run(root) else ())}
    attributes |= {arm.subject.card.fingerprint(): dict(arm.subject.card.attributes) for arm in plan.arms}
    return {name: price for name, texts in attributes.items() if (price := price_of(texts)) is not None}


def is_asked(condition: Condition, task: Task) -> bool:
    """True if a task is asked under a condition as written: the condition changes only axes of the task."""
    return condition.moves() <= set(task.axes)


def select_test_items(items: Sequence[Item], task: Task, condition: Condition, limit: int | None) -> list[Item]:
    """The test items of a task that are asked under a settled condition, at most `limit`."""
    return [item for item in items if item.split == "test" and task.asks(item, condition)][:limit]
