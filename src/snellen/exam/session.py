"""Sessions: what a run needs, each thing resolved once, and asking until its tables and scores are written."""

from __future__ import annotations

import math
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from snellen.analysis.grading.rows import ResultRow
from snellen.compute import Progress
from snellen.core.condition import Condition, parse_conditions
from snellen.core.errors import Interrupted, SnellenError
from snellen.core.item import Item
from snellen.core.response import Response, StoppingRule
from snellen.core.storage.itemset import ItemSet
from snellen.core.storage.itemset_cards import ItemSetCard, is_itemset, read_card
from snellen.core.storage.parts import read_exchanges
from snellen.core.storage.runfolder import default_folder, has_tables, refuse_other_run
from snellen.core.storage.sight import copy_sight
from snellen.core.storage.versions import versions
from snellen.core.subject import Base, Subject, SubjectCard
from snellen.core.suite import Suite
from snellen.curation.results import read_tables
from snellen.exam.examination import Examination
from snellen.exam.instalments import instalments_ahead
from snellen.exam.items import find_items
from snellen.exam.opening import ask_opening
from snellen.exam.rescoring import rescore_all
from snellen.runs.asking.ask import ask
from snellen.runs.asking.preflight import Preflight, make_subjects, refuse_unpriced
from snellen.runs.asking.preview import Estimate, asks_remote, estimates, limit_faults
from snellen.runs.asking.replay import responses_of
from snellen.runs.asking.stopping import BudgetSpent
from snellen.runs.planning.options import RunOptions
from snellen.runs.planning.plan import Arm, Plan, by_draw, most_items, recorded_arms
from snellen.runs.planning.recorded_scores import compared_scores
from snellen.runs.planning.stamp import is_stamped, run_key, write_stamp
from snellen.runs.planning.undecided import is_undecided, undecided_tasks
from snellen.runs.scores.score import has_scores
from snellen.runs.sets.generated_sets import itemset_folder, suite_of_items
from snellen.subjects.recorded import Recording
from snellen.subjects.registry import subjects_of
from snellen.suites import SUITES, suite_of


@dataclass(frozen=True, kw_only=True)
class AskingOptions(RunOptions):
    """Options of a run, with what its caller learns and decides while it is asked.

    A set in instalments grows while a task is undecided, to at most `max_instalments` of them. No call starts after the
    `time.monotonic` of `deadline`. `announce` receives the estimates of remote subjects and may stop the run by an
    error, as may `after_call` after each call. `preflight` knows which subjects were asked a first question. `progress`
    counts the items in place of a line of the run's own, `watch` is that of `Plan`.
    """

    max_instalments: int | None = None
    deadline: float | None = None
    announce: Callable[[Sequence[Estimate]], None] | None = None
    after_call: Callable[[], None] = lambda: None
    preflight: Preflight | None = None
    progress: Progress | None = None
    watch: Callable[[SubjectCard, ResultRow], None] = lambda card, row: None

    @property
    def decide(self) -> StoppingRule:
        """What is decided by asking: `Arm.decide`."""
        return "none" if self.until_decided else ""


@dataclass(frozen=True)
class Session:
    """Subjects asked about one item set: by name or folder until it is needed, or as it was opened.

    Of the `subjects`, only fakes that need the items are still names. `names` are those in the name of the default
    folder. `folder` is the folder of the run, None for the default. `is_code`: a subject is code, which may have
    changed since an earlier run. `opening` is a run whose replies this one takes over (`exam.opening`).
    """

    itemset: ItemSet | str | Path
    subjects: tuple[str | Subject, ...]
    options: AskingOptions
    folder: Path | None = None
    names: tuple[str, ...] = ()
    is_code: bool = False
    opening: Path | None = None

    @cached_property
    def items(self) -> ItemSet:
        """The item set; the generated one of a suite is built on first use."""
        if isinstance(self.itemset, ItemSet):
            return self.itemset
        return find_items(
            self.itemset, limit=self.options.limit, test_only=self.is_without_training,
            show_progress=self.options.show_progress,
        )  # fmt: skip

    @cached_property
    def card(self) -> ItemSetCard | None:
        """The card of the set; None if there is no set yet, or a damaged one."""
        if isinstance(self.itemset, ItemSet):
            return self.itemset.card
        try:
            return read_card(self._folder_of(self.itemset))
        except SnellenError:  # reported when it is opened
            return None

    @cached_property
    def is_without_training(self) -> bool:
        """True if no subject learns from training examples, and no condition may show some."""
        return tuple(self.options.conditions) == ("vanilla",) and all(map(_learns_nothing, self.subjects))

    def _folder_of(self, itemset: str | Path) -> Path:
        return itemset_folder(itemset, self.options.limit, test_only=self.is_without_training)

    @cached_property
    def suite(self) -> Suite:
        """The suite of the set; known before the set is built, with the tasks of all sets (`Suite.of_items`)."""
        return suite_of(self.itemset) if isinstance(self.itemset, ItemSet) else suite_of_items(self.itemset)

    @cached_property
    def root(self) -> Path:
        """The folder of the run. The set is built if there is none, unless the folder was given."""
        return self.folder or default_folder(self.card or self.items.card, self.names, self.options.conditions)

    @property
    def has_items(self) -> bool:
        """True if the set was built."""
        return isinstance(self.itemset, ItemSet) or is_itemset(self._folder_of(self.itemset))

    @cached_property
    def points(self) -> list[Condition]:
        """The conditions, ranges expanded."""
        return [point for text in self.options.conditions for point in parse_conditions(self.suite.axes, text)]

    @cached_property
    def examined(self) -> list[Subject]:
        """The subjects, those included that need the items."""
        return _about(self.subjects, self.items.items)

    @cached_property
    def _key(self) -> str:
        """The key of the stamp, empty if there is none: of a part of a set, another package's suite, a rule."""
        items, card = self.itemset, self.card or self.items.card
        # The key covers the whole set on disk.
        is_whole = not isinstance(items, ItemSet) or len(items.items) == card.items
        if not is_whole or not SUITES.is_packaged(card.suite):
            return ""
        root = items.root if isinstance(items, ItemSet) else self._folder_of(items)
        return run_key(root, _about(self.subjects), self.options.inputs, **self.options.deciding())

    def examine(self) -> Examination:
        """Ask, resuming the run, and score it; a finished run is only read.

        Raises SnellenError before anything is asked if a call exceeds the provider's limits, or prices for a budget are
        unknown, and BudgetSpent and Interrupted after scoring the replies so far.
        """
        return self.finished() or self.opened()._ask()

    def opened(self) -> Session:
        """The session after its set was drawn, while its first items were asked where that can be done."""
        options, name = self.options, self.itemset
        if self.opening or not isinstance(name, str) or options.decide or options.deadline:
            return self
        if not self.is_without_training:
            return self

        def ask(items: ItemSet, folder: Path) -> Examination:
            return replace(self, itemset=items, folder=folder).examine()

        return replace(self, opening=ask_opening(name, options, self.names, ask, is_code=self.is_code))

    def finished(self) -> Examination | None:
        """The run if it is finished and unchanged, else None."""
        if self.card is None or not is_stamped(self.root, self._key) or not has_scores(self.root):
            return None
        items, options = self.items, self.options
        arms = self.arms(items, _print_line)
        responses = responses_of(self.root, arms)
        may_grow = options.decide and len(items.card.instalments) < (options.max_instalments or math.inf)
        if may_grow and is_undecided(self._plan(items, arms), responses):
            return None
        copy_sight(self.root, [subject.card for subject in self.examined], is_finished=True)
        return Examination(self.root, suite_of(items), items, responses)

    def arms(self, items: ItemSet, notify: Callable[[str], None] = lambda line: None) -> list[Arm]:
        """The arms of all subjects, about these items; recorded subjects have the conditions of their files."""
        subjects = _about(self.subjects, items.items)
        recordings = [subject for subject in subjects if isinstance(subject, Recording)]
        arms = [
            replace(arm, decide=_decide(self.options.decide, items, arm.subject.card))
            for arm in _arms(subjects, self.points, self.options.repeats, items.items)
        ]
        if recordings:
            selected = self.points if tuple(self.options.conditions) != ("vanilla",) else ()  # the default
            recorded, line = recorded_arms(recordings, items, suite_of(items), selected, self.options.seed)
            arms += recorded
            if line:
                notify(line)
        return arms

    def _plan(self, items: ItemSet, arms: Sequence[Arm]) -> Plan:
        options = self.options
        return Plan(
            items, suite_of(items), arms, options.seed, options.limit, options.max_items, options.budget,
            options.deadline, keep_going=options.keep_going, versions=versions(),
        )  # fmt: skip

    def _prepared_plan(self) -> Plan:
        """The plan with tables and first replies, after everything that can be refused before the first call."""
        options, root = self.options, self.root
        arms = self.arms(self.items, _print_line)
        refuse_unpriced(self.examined, options.budget)
        tables = read_tables(options.inputs, self.items) if options.inputs else {}
        plan = replace(self._plan(self.items, arms), annotations=tables)
        is_remote = any(subject.card.is_remote for subject in self.examined)
        remote = estimates(plan, root) if is_remote else []
        if remote and (faults := limit_faults(remote)):
            if not options.keep_going:
                raise SnellenError(f"{faults}; nothing was asked, and --keep-going asks all the same")
            _print_line(faults)
        if options.announce is not None:
            options.announce(remote)
        preflight = options.preflight or Preflight(options.keep_going)
        if remote and asks_remote(plan, root, remote):
            preflight.check(self.examined)
        fingerprints = [subject.card.fingerprint() for subject in self.examined]
        copy_sight(root, [subject.card for subject in self.examined])
        early = tuple(read_exchanges(self.opening)) if self.opening else ()
        return replace(plan, preflight=(*early, *preflight.take(fingerprints)))

    def _ask(self) -> Examination:
        plan, root, options = self._prepared_plan(), self.root, self.options
        stop: BudgetSpent | Interrupted | None = None
        responses: list[Response] = []
        own_line = Progress("asking", unit="items", visible=options.show_progress and options.progress is None)
        with own_line, ExitStack() as stack:
            progress = options.progress or own_line
            plan = replace(
                plan, tick=options.after_call, count_items=progress.advance, watch=options.watch, notify=_print_line
            )  # fmt: skip
            try:
                larger_sets: Iterator[ItemSet] = iter(())
                if options.decide:
                    larger_sets = stack.enter_context(instalments_ahead(plan.items, options.max_instalments))
                _count_from_0(progress, plan)
                responses = ask(root, plan)
                while is_undecided(plan, responses) and (larger := next(larger_sets, None)) is not None:
                    plan = replace(plan, items=larger, arms=self.arms(larger), preflight=(), deciders=[])
                    _count_from_0(progress, plan)
                    responses = ask(root, plan)
            except (BudgetSpent, Interrupted) as cause:
                stop = cause
        if stop is None or has_tables(root):  # no tables after a second signal
            rescore_all(root, plan.items, plan.suite)
        if stop is not None:
            raise stop
        compared, differing = compared_scores(plan.arms, root, plan.suite)
        for name, count in differing.items():
            _print_line(f"{name}: the file's own score differs in {count} of {compared[name]} rows")
        if self.opening is not None:
            shutil.rmtree(self.opening, ignore_errors=True)
        examination = Examination(root, plan.suite, plan.items, responses)
        if not examination.failed and not examination.unasked():
            # Digesting a set takes time, and only one in instalments may have grown.
            grown = replace(self, itemset=plan.items) if plan.items.card.declaration else self
            write_stamp(root, grown._key)
        return examination


def sessions(
    itemsets: Sequence[str | Path | ItemSet],
    subjects: Sequence[str | Subject],
    options: AskingOptions,
    folders: Sequence[Path | None],
) -> list[Session]:
    """A session per item set, with the given run folder of each.

    Raises SnellenError for an unknown subject or setting, and for a missing key or package.
    """
    made = tuple(make_subjects(subjects))
    options = replace(options, preflight=options.preflight or Preflight(options.keep_going))
    names = names_of(subjects)
    return [Session(itemset, made, options, folder, names) for itemset, folder in zip(itemsets, folders, strict=True)]


def names_of(subjects: Sequence[str | Subject]) -> tuple[str, ...]:
    """The names by which subjects were given, or those of their cards."""
    return tuple(subject if isinstance(subject, str) else subject.card.name for subject in subjects)


def check(sessions: Sequence[Session]) -> None:
    """Check prices, folders, suites and conditions before anything is rendered.

    If a set is still to be built, remote subjects are asked a first question; otherwise `examine` asks it, once it
    knows that calls are left.
    """
    for session in sessions:
        options = session.options
        refuse_unpriced(session.subjects, options.budget)
        if session.folder is not None:
            refuse_other_run(session.folder, limit=options.limit, suite=session.suite.name, seed=options.seed)
        _ = session.points  # an unknown axis or value is reported now
    for session in sessions:
        if session.card is None and session.options.preflight is not None:
            session.options.preflight.check(session.subjects)


def _about(subjects: Sequence[str | Subject], items: Sequence[Item] = ()) -> list[Subject]:
    lists = [subjects_of(entry, items) if isinstance(entry, str) else [entry] for entry in subjects]
    return [subject for several in lists for subject in several]


def _learns_nothing(subject: str | Subject) -> bool:
    """True for a subject without `fit` of its own; recordings, and fakes that are still names, may need any item."""
    return not isinstance(subject, str | Recording) and getattr(type(subject), "fit", None) is Base.fit


def _arms(
    subjects: Sequence[Subject], conditions: Sequence[Condition], repeats: int, items: Sequence[Item]
) -> list[Arm]:
    """The arms of all subjects but recordings; one that learns has a repeat for each draw of training items."""
    names = [subject.card.name for subject in subjects]
    if repeated := next((name for name in names if names.count(name) > 1), None):
        raise SnellenError(f"subject {repeated!r} is given twice; give each its own name, or repeat it (--repeats)")
    conditions = list({str(point): point for point in conditions}.values())
    subjects = [subject for subject in subjects if not isinstance(subject, Recording)]
    draws = len(by_draw(item for item in items if item.split == "train"))
    counts = [repeats if _learns_nothing(subject) else max(repeats, draws) for subject in subjects]
    return [
        Arm(subject, point, repeat)
        for subject, count in zip(subjects, counts, strict=True)
        for point in conditions
        for repeat in range(count)
    ]


def _decide(decide: StoppingRule, items: ItemSet, card: SubjectCard) -> StoppingRule:
    """What is decided by asking a subject: at the looks that the set plans, if it is an encoder or simulated."""
    declaration, is_free = items.card.declaration, card.role in ("encoder", "simulated") and not card.is_remote
    return "look" if decide == "none" and is_free and declaration and declaration.planned_looks else decide


def undecided(
    examination: Examination, subjects: Sequence[str | Subject], max_items: int
) -> list[tuple[SubjectCard, str, float]]:
    """The subjects and tasks that are undecided after all drawn items, under no condition (`runs.planning.undecided`).

    The third is about how many times as many items decide whether the grade is *none*.
    """
    items, suite = examination.items, examination.suite
    arms = [
        Arm(subject, Condition(suite.axes), decide=_decide("none", items, subject.card))
        for subject in _about(subjects, items.items)
    ]
    plan = Plan(items, suite, arms, max_items=max_items)
    return [(arm.subject.card, task, growth) for arm, task, growth in undecided_tasks(plan, examination.responses)]


def _count_from_0(progress: Progress, plan: Plan) -> None:
    """Count up to the items of all arms."""
    progress.restart()
    progress.expect(most_items(plan))


def _print_line(line: str) -> None:
    sys.stderr.write(f"snellen: {line}\n")
