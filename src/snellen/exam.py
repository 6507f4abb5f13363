"""An examination from one call: find or build the items, ask the subjects, score, report.

The commands stand on this.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import shutil
import sys
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from snellen.analysis.coverage import gaps
from snellen.compute import Progress
from snellen.core.condition import Condition, parse_conditions
from snellen.core.errors import Interrupted, SnellenError
from snellen.core.itemset import (
    BLIND_KEY,
    BlindCard,
    BlindScore,
    ItemSet,
    is_itemset,
    read_blind,
    write_blind,
)
from snellen.core.response import Response, Status
from snellen.core.runfolder import (
    default_folder,
    has_tables,
    read_responses,
    read_run_card,
    refuse_other_run,
)
from snellen.core.subject import Subject
from snellen.core.suite import BuildOptions, Recipe, Suite
from snellen.core.versions import versions
from snellen.curation.results import read_tables
from snellen.remote import address_of, fetched, is_url, published, record_folder
from snellen.runs.ask import ask
from snellen.runs.failures import summarize_failures
from snellen.runs.gate import open_items, open_run_items
from snellen.runs.generated_sets import (
    cut_off_set,
    generated_folder,
    generated_options,
    itemset_folder,
    suite_of_items,
)
from snellen.runs.judgements import (
    judgement_items,
    read_verdicts,
    score_judged,
)
from snellen.runs.on_cluster import ask_workers
from snellen.runs.plan import Arm, Plan, run_card
from snellen.runs.preflight import Preflight, make_subjects
from snellen.runs.preview import Estimate, asks_remote, estimates
from snellen.runs.replay import is_behind, replay, responses_of
from snellen.runs.score import damaged_scores, read_scores, score_paths, write_scores
from snellen.runs.stamp import read_stamp, run_key, write_stamp
from snellen.runs.stopping import BudgetSpent
from snellen.runs.unread import with_judged_reading
from snellen.subjects.registry import make_subject
from snellen.suites import SUITES

if TYPE_CHECKING:
    import pandas as pd

    from snellen.reports import Report
    from snellen.subjects.from_callable import AnswerFunction


def find_recipe(suite: Suite, how: str) -> Recipe:
    """One of the suite's recipes. Raises SnellenError for one it does not have."""
    recipe: Recipe | None = suite.recipes.get(how)
    if recipe is None:
        recipe_names = ", ".join(suite.recipes) or "none, since its item sets are made by other suites"
        raise SnellenError(f"{suite.name} has no recipe {how!r}; there are: {recipe_names}")
    return recipe


def build(suite: Suite, how: str, options: BuildOptions) -> ItemSet:
    """Build an item set by one of the suite's recipes, with the blind baseline beside it.

    Raises SnellenError for a recipe the suite does not have.
    """
    from snellen.runs.blind import blind_card

    recipe = find_recipe(suite, how)
    items = cut_off_set(suite, recipe, options) or recipe.build(options)
    return with_blind(items, blind_card(items, suite))


def with_blind(items: ItemSet, card: BlindCard) -> ItemSet:
    """The set with these blind scores, kept beside it."""
    write_blind(items.root, card)
    return replace(items, blind=card)


def blind_subject(items: ItemSet, card: BlindCard, subject: str | Subject, root: Path, **how: Any) -> BlindCard:
    """The scores of a card, each at least as good as what the subject gets without images (`images=none`)."""
    from snellen.analysis.results import metric_of

    suite = SUITES.get(items.card.suite)
    rows = run(items, [subject], root, conditions=["images=none"], **how).results()
    scores: dict[tuple[str, ...], BlindScore] = {score.key: score for score in card.scores}
    for row in rows[rows["value"].notna()].to_dict("records"):
        task, protocol, metric_name, *_ = key = tuple(str(row[name]) for name in BLIND_KEY)
        metric = metric_of(suite.tasks[task].protocols[protocol], metric_name)
        if key in scores and metric.sign * row["value"] > metric.sign * scores[key].value:
            update = {"value": round(row["value"], 4), "n": row["n"], "attack": row["subject"]}
            scores[key] = scores[key].model_copy(update=update)
    name = subject if isinstance(subject, str) else subject.card.name
    return BlindCard(method=f"{card.method}; {name} without images", scores=tuple(scores.values()))


def find_items(
    itemset: str | Path, *, limit: int | None = None, workers: int = 2, show_progress: bool = True
) -> ItemSet:
    """The item set in a folder, or the generated one of a suite: seed 0, checkup size, built on first use.

    Of a suite no more than `limit` items a task are built, where that is less.
    """
    if is_itemset(path := fetched(itemset)):
        return open_items(path)
    suite = suite_of_items(itemset)
    options = replace(generated_options(suite, limit), workers=workers, show_progress=show_progress)
    return find_generated(suite, options)


def find_generated(suite: Suite, options: BuildOptions) -> ItemSet:
    """The generated set of a suite with these options (but `out`) in the home folder, built on first use."""
    root = generated_folder(suite, options)
    if read_blind(root) is None:  # which is written last
        build(suite, "generated", replace(options, out=root))
    return open_items(root)


def prepare(
    subjects: Sequence[str | Subject],
    itemsets: Sequence[str | Path],
    conditions: Sequence[str],
    *,
    limit: int | None = None,
    keep_going: bool = False,
) -> tuple[list[str | Subject], Preflight]:
    """Refuse what can be refused before anything is rendered: subjects, conditions, keys, servers.

    Returns the subjects and the first questions that were asked: of remote subjects, where a set is still to be built.
    What a run about a set that is there still asks is found out by `run`, which asks the first question then.
    """
    for itemset in itemsets:
        for text in conditions:
            parse_conditions(suite_of_items(itemset).axes, text)
    examined, preflight = make_subjects(subjects), Preflight(keep_going)
    if not all(is_itemset(itemset_folder(itemset, limit)) for itemset in itemsets):
        preflight.check(examined)
    return examined, preflight


@dataclass(frozen=True)
class Examination:
    """A finished run: where it lies, how many items failed, and its table of results."""

    root: Path
    suite: Suite
    items: ItemSet
    responses: Sequence[Response]

    def __repr__(self) -> str:
        subjects = ", ".join(dict.fromkeys(response.subject for response in self.responses))
        failed = f", {self.failed} failed" if self.failed else ""
        address = address_of(self.root)
        return f"<Examination of {subjects} by {self.suite.name}: {len(self.responses)} responses{failed}; {address}>"

    def _repr_html_(self) -> str:
        """What a notebook shows: the table of results, and why calls failed."""
        from html import escape

        from snellen.reports import print_table

        lines = [f"{subject} failed: {reason}" for subject, reasons in self.reasons("failed").items()
                 for reason in reasons]  # fmt: skip
        notes = "".join(f"<p>{escape(line)}</p>" for line in [repr(self), *lines])
        return (print_table(self.results()).html() if self.responses else "") + notes

    @property
    def failed(self) -> int:
        """Items whose calls failed; the same command asks them again."""
        return sum(response.status == "failed" for response in self.responses)

    def reasons(self, status: Status) -> dict[str, list[str]]:
        """By subject why items failed or were declined: each kind of reason with its count."""
        reasons: dict[str, list[str]] = {}
        for response in self.responses:
            if response.status == status:
                reasons.setdefault(response.subject, []).append(response.reason)
        return {subject: summarize_failures(texts) for subject, texts in reasons.items()}

    def unasked(self) -> dict[str, int]:
        """By subject how many items were not asked, since the run was stopped or the subject failed too often."""
        counts: Counter[str] = Counter()
        for gap in gaps(read_run_card(self.root).arms, self.responses):
            counts[gap.subject] += gap.missing
        return dict(counts)

    def results(self) -> pd.DataFrame:
        """One row a subject, task, condition and metric, over all scored protocols; studies of people before them."""
        import pandas as pd

        from snellen.analysis.people import study_results
        from snellen.analysis.results import results

        card, suite, scores = read_run_card(self.root), with_judged_reading(self.suite), read_scores(self.root)
        tables = [results(rows, self.items, suite, card.arms) for rows in scores.values()]
        studies = study_results(scores, self.items, suite, card.arms)
        return pd.concat([studies, *tables] if len(studies) else tables, ignore_index=True)

    def report(self, out: str | Path = "report", **how: Any) -> Report:
        """Write the report folder, which may be a URL."""
        from snellen.reports import write_report

        with published(out) as folder:
            return write_report([self.root], folder, **how)


def run(
    items: ItemSet,
    subjects: Sequence[str | Subject],
    root: Path,
    *,
    conditions: Sequence[str] = ("vanilla",),
    repeats: int = 1,
    seed: int = 0,
    limit: int | None = None,
    budget: float | None = None,
    deadline: float | None = None,
    keep_going: bool = False,
    inputs: Mapping[str, Path] | None = None,
    show_progress: bool = True,
    announce: Callable[[Sequence[Estimate]], None] | None = None,
    after_call: Callable[[], None] = lambda: None,
    preflight: Preflight | None = None,
) -> Examination:
    """Ask subjects under conditions, resume what `root` holds, score `strict`. What is finished is only read.

    `inputs` are annotation tables that some conditions show from, by name (`curation.results`). `announce` is given
    what remote subjects still take, and may stop it by an error, as `after_call` may after each call. `keep_going` asks
    on where most calls of an arm fail. `deadline` is `Plan`'s. `preflight` knows who was asked a first question
    already. Raises BudgetSpent and Interrupted when what was asked so far is scored.
    """
    suite = SUITES.get(items.card.suite)
    points = [point for text in conditions for point in parse_conditions(suite.axes, text)]
    examined = [make_subject(subject, items.items) if isinstance(subject, str) else subject for subject in subjects]
    arms = _arms(examined, points, repeats)
    options = {"conditions": list(conditions), "repeats": repeats, "seed": seed, "limit": limit}
    # The key stands for the set as it lies there: a run about some of its items gets no stamp.
    is_whole = len(items.items) == items.card.items and SUITES.is_packaged(suite.name)
    key = run_key(items.root, examined, inputs or {}, **options) if is_whole else ""
    if read_stamp(root, key) and not damaged_scores(root):
        return Examination(root, suite, items, responses_of(root, arms))
    tables = read_tables(inputs or {}, items)
    plan = Plan(items, suite, arms, seed, limit, budget, deadline, tables, keep_going, versions=versions())
    remote = None if announce is None else estimates(plan, root)
    if announce is not None:
        announce(remote or [])
    preflight = preflight or Preflight(keep_going)
    if asks_remote(plan, root, remote):
        preflight.check(examined)
    first_replies = preflight.take(subject.card.fingerprint() for subject in examined)
    plan = replace(plan, preflight=first_replies)
    stop: BudgetSpent | Interrupted | None = None
    responses: list[Response] = []
    with Progress("asking", unit="items", visible=show_progress) as progress:
        card = run_card(plan)
        progress.expect(sum(sum(arm.test_items.values()) for arm in card.arms))
        plan = replace(plan, tick=after_call, count_items=progress.advance, notify=_print_line)
        try:
            plan = replace(plan, records=ask_workers(root, plan, card))
            responses = ask(root, plan, card)
        except (BudgetSpent, Interrupted) as cause:
            stop = cause
    if stop is None or has_tables(root):  # no table where a second signal came
        for protocol in dict.fromkeys(["strict", *damaged_scores(root)]):
            rescore(root, items, suite, protocol)
    if stop is not None:
        raise stop
    examination = Examination(root, suite, items, responses)
    if not examination.failed and not examination.unasked():
        write_stamp(root, key, len(responses), examination.reasons("declined"))
    return examination


def _print_line(line: str) -> None:
    sys.stderr.write(f"snellen: {line}\n")


def _arms(subjects: Sequence[Subject], conditions: Sequence[Condition], repeats: int) -> list[Arm]:
    names = [subject.card.name for subject in subjects]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise SnellenError(f"subject {twice!r} is given twice; ask it again with --repeats")
    conditions = list({str(point): point for point in conditions}.values())
    return [Arm(subject, point, repeat) for subject in subjects for point in conditions for repeat in range(repeats)]


def rescore(root: Path, items: ItemSet, suite: Suite, protocol: str) -> pd.DataFrame:
    """Score all responses of a run under a protocol, with the verdicts there are, and keep the table."""
    responses = read_responses(root)
    verdicts = read_verdicts(root, judgement_items(responses, items, suite, protocol))
    scores = score_judged(responses, items, suite, protocol, verdicts)
    write_scores(root, scores, protocol)
    return scores


def recover(root: Path) -> None:
    """Make the tables and scores of a run that was killed from its record; others stay as they are."""
    if not is_behind(root):
        return
    card, items, suite = open_run_items(root)
    if tables := sorted(card.annotations):
        raise SnellenError(
            f"{root}: the run was cut off, and shows from {', '.join(tables)}; give the same `snellen run` command "
            f"again to finish it"
        )
    replay(root, items, suite, {})
    for protocol in dict.fromkeys(["strict", *score_paths(root)]):
        rescore(root, items, suite, protocol)


def open_examination(root: Path) -> Examination:
    """What a run folder holds, finished or stopped. Raises SnellenError where no table was written."""
    _, items, suite = open_run_items(root)
    return Examination(root, suite, items, read_responses(root))


def examine(
    subject: str | AnswerFunction | Subject,
    itemset: str | Path = "combo",
    *,
    condition: str = "vanilla",
    out: str | Path | None = None,
    limit: int | None = None,
    show_progress: bool = True,
    after_call: Callable[[], None] = lambda: None,
) -> Examination:
    """Examine one subject: a spec such as `chat:openai/gpt-4o`, a callable from parts to text, or a subject.

    `itemset` is a suite or a folder with an item set; this and `out` may be URLs (docs/remote.md). A callable runs
    afresh each time; a named subject resumes. Works in a notebook too. `after_call` may end the run by an error.

    >>> examine(lambda parts: "A", "combo").report()  # doctest: +SKIP
    """
    from snellen.subjects.from_callable import wrap

    is_callable = callable(subject) and not hasattr(subject, "answer")
    examined: Any = wrap(subject) if is_callable else subject  # type: ignore[arg-type]  # a callable without card is one from parts to text
    (ready,), preflight = prepare([examined], [itemset], [condition], limit=limit)
    if out is not None and not is_url(out):
        refuse_other_run(Path(out), limit=limit, suite=suite_of_items(itemset).name)
    items = find_items(itemset, limit=limit, show_progress=show_progress)
    root = out if out is not None else run_folder(items, [examined], [condition])
    if is_callable and out is None and Path(root).exists():
        shutil.rmtree(root)  # the code behind a name may have changed since
    with record_folder(root, after_call) as folder:
        return run(
            items, [ready], folder.root, conditions=[condition], limit=limit, show_progress=show_progress,
            after_call=folder.after_call, preflight=preflight,
        )  # fmt: skip


async def aexamine(subject: str | AnswerFunction | Subject, itemset: str | Path = "combo", **how: Any) -> Examination:
    """`examine`, awaited: the loop that awaits it goes on with other work.

    A coroutine function is called in that loop, with whatever clients it holds. Where this is cancelled no more calls
    are made, those under way are recorded, and the same call of a named subject goes on from there.
    """
    loop, cancelled = asyncio.get_running_loop(), threading.Event()

    def stop_if_cancelled() -> None:
        if cancelled.is_set():
            raise SnellenError("cancelled; the same call goes on from here")

    if inspect.iscoroutinefunction(subject):
        subject = _called_in(loop, subject)
    work = asyncio.ensure_future(
        asyncio.to_thread(examine, subject, itemset, **{"after_call": stop_if_cancelled, **how})
    )
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        cancelled.set()
        await asyncio.wait([work])
        raise


def _called_in(loop: asyncio.AbstractEventLoop, function: AnswerFunction) -> AnswerFunction:
    """A coroutine function whose coroutines run in this loop, whichever loop awaits them."""

    @functools.wraps(function)
    async def answer(parts: list[Any]) -> Any:
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(function(parts), loop))

    return answer


def run_folder(items: ItemSet, subjects: Sequence[str | Subject], conditions: Sequence[str]) -> Path:
    """`runs/SUITE-<8 hex>`, the same for the same item set, subjects and conditions."""
    names = [subject if isinstance(subject, str) else subject.card.name for subject in subjects]
    return default_folder(items.card, names, conditions)
