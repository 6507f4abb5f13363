"""Comparisons of two subjects on the same items."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from snellen.analysis.comparison.drops import Drop, drops
from snellen.analysis.tables.run_view import arm_name, simulated_subjects, units_by_condition
from snellen.analysis.tables.section import Run
from snellen.core.condition import near
from snellen.core.errors import SnellenError
from snellen.core.storage.runfolder import default_folder, is_run, same_items
from snellen.exam.rescoring import recover
from snellen.exam.run import run
from snellen.reports.loading import load_run, of_subject
from snellen.runs.planning.deciding import DropDecider
from snellen.runs.planning.options import MAX_ITEMS


@dataclass(frozen=True)
class Drops:
    """The drop of each task from one subject to another, and the runs of both."""

    before: Run
    after: Run
    margin: float
    rows: tuple[Drop, ...]

    def names(self, verdict: str) -> list[str]:
        """The titles of the tasks with that verdict; the condition in brackets unless it is vanilla."""
        title = self.before.suite.card.task_title
        return [arm_name(title(row.task), row.condition) for row in self.rows if row.verdict == verdict]


def decide_drops(
    former: str,
    current: str,
    margin: float,
    *,
    max_items: int = MAX_ITEMS,
    out: Path | None = None,
    show_progress: bool = True,
) -> Drops:
    """Decide for each task whether a subject dropped by at least `margin` of the metric's range.

    `former` is a run, or `RUN:SUBJECT`. `current` is one, too, or the name of a subject, which is then asked about the
    items of the former run until the drop is decided, at most `max_items` of a task, and recorded in `out`.
    """
    before = run_of_subject(former)
    if is_run(Path(current)) or is_run(Path(current.partition(":")[0])):
        after = run_of_subject(current)
    else:
        after = _asked_until_decided(before, current, margin, max_items, out, show_progress)
    if not same_items(before.card, after.card):
        raise SnellenError(f"{before.root} and {after.root} have different items; ask both about the same item set")
    return Drops(before, after, margin, tuple(drops(before, after, margin, max_items)))


def _asked_until_decided(
    former: Run, subject: str, margin: float, max_items: int, out: Path | None, show_progress: bool
) -> Run:
    earlier = {
        (task, condition): units["value"]
        for task in former.suite.tasks
        for condition, units in units_by_condition(former, task).items()
    }
    conditions = list(dict.fromkeys(arm.condition for arm in former.card.arms))
    root = out or default_folder(former.items.card, [subject], conditions)
    rule = DropDecider(former.items, earlier, margin, max_items)
    run(
        former.items, [subject], root, conditions=conditions, seed=former.card.seed, limit=former.card.limit,
        max_items=max_items, drop=rule, show_progress=show_progress,
    )  # fmt: skip
    return run_of_subject(str(root))


def run_of_subject(text: str) -> Run:
    """The run of one subject: `RUN`, or `RUN:SUBJECT` if it holds several.

    Without a name, the only subject is meant, or the only one that is not simulated. Raises SnellenError if there is no
    such run or subject, or several.
    """
    root, name = _root_and_subject(text)
    recover(root)
    run = load_run(root)
    subjects = list(dict.fromkeys(arm.subject for arm in run.card.arms))
    examined = [subject for subject in subjects if subject not in simulated_subjects(run)]
    if name and name not in subjects:
        raise SnellenError(f"{root}: holds no subject {name!r}; {near(name, subjects)}")
    if not name and len(subjects) > 1 and len(examined) != 1:
        raise SnellenError(f"{root}: contains several subjects ({', '.join(subjects)}); write {root}:SUBJECT")
    return of_subject(run, name or (subjects if len(subjects) == 1 else examined)[0])


def _root_and_subject(text: str) -> tuple[Path, str]:
    """The run folder and the subject's name after it, which may contain colons too."""
    colons = [n for n, sign in enumerate(text) if sign == ":"]
    for end in (len(text), *colons):
        if is_run(Path(text[:end])):
            return Path(text[:end]), text[end + 1 :]
    raise SnellenError(f"{text}: is neither a run nor a log; give a run folder, or RUN:SUBJECT")
