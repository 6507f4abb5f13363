"""Loads runs for a report: reads them, combines their protocols, and joins runs on one item set."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

import pandas as pd

from snellen.analysis.grading.floors import Floors
from snellen.analysis.grading.results import results, with_python_strings
from snellen.analysis.grading.rows import columns_with
from snellen.analysis.tables.section import Run
from snellen.compute import Shard, map_shards
from snellen.core.condition import near
from snellen.core.errors import SnellenError
from snellen.core.grouping import lists_by_key
from snellen.core.storage.run_tables import own_responses
from snellen.core.storage.runfolder import read_run_card
from snellen.core.suite import Suite
from snellen.runs.scores.judgements import scores_of
from snellen.runs.scores.score import own_scores
from snellen.runs.scores.unread import with_judged_reading
from snellen.runs.sets.gate import open_asked_items

SuiteOf: TypeAlias = Callable[[str], Suite]
"""Function from a suite's name to the suite."""


@dataclass(frozen=True)
class Exam:
    """Runs of one suite on one item set. `joined` is all of them as one run.

    A subject that was examined in several runs under the same condition has the run's number in its name in `joined`.
    """

    runs: tuple[Run, ...]
    joined: Run


def registered(name: str) -> Suite:
    """The suite of that name in the registry."""
    from snellen.suites import SUITES

    return SUITES.get(name)


def load_run(root: str | Path, suite_of: SuiteOf = registered, *, table: pd.DataFrame | None = None) -> Run:
    """Read a finished run with scores and items; `table` are its results, if they are known.

    Raises SnellenError if the run was interrupted or never scored, or its item set is missing or changed.
    """
    root = Path(root)
    card = read_run_card(root)
    suite = suite_of(card.suite)
    items = open_asked_items(root, card, suite)
    suite = with_judged_reading(suite.of_items(items))
    responses = own_responses(root, items, card)
    scores = own_scores(root, items, suite, card.arms)
    scores = {name: with_python_strings(rows) for name, rows in scores.items()}
    if table is None:
        floors = Floors(items, suite)
        tables = [results(rows, items, suite, card.arms, floors=floors) for rows in scores.values()]
        table = pd.concat(tables, ignore_index=True)
    table = with_python_strings(table)
    return Run(card, suite, items, tuple(responses), scores, table, (root,))


def with_protocol(run: Run, protocol: str) -> Run:
    """The run with scores and results under a protocol, which are computed, and not kept, if it was not scored so."""
    names = {name for task in {response.task for response in run.responses} for name in run.suite.tasks[task].protocols}
    if protocol in run.scores or protocol not in names:
        return run
    scores = with_python_strings(scores_of(run.root, run.items, run.suite, protocol))
    table = with_python_strings(results(scores, run.items, run.suite, run.card.arms))
    return replace(
        run, scores={**run.scores, protocol: scores}, results=pd.concat([run.results, table], ignore_index=True)
    )


def under(run: Run, protocol: str, *others: str) -> Run:
    """The run with scores and results of this protocol first, which all tables show, then those of `others` alone.

    Raises SnellenError if a task that was asked has no such protocol.
    """
    for task in dict.fromkeys(response.task for response in run.responses):
        if protocol not in (protocols := run.suite.tasks[task].protocols):
            raise SnellenError(f"protocol {protocol}: {run.suite.name}/{task} has {', '.join(protocols)} only")
    return only(with_protocol(run, protocol), protocol, *others)


def only(run: Run, *protocols: str) -> Run:
    """The run with scores and results of these protocols alone, in this order."""
    names = [name for name in dict.fromkeys(protocols) if name in run.scores]
    tables = [run.results[run.results["protocol"] == name] for name in names]
    rows = pd.concat(tables, ignore_index=True) if tables else run.results[:0]
    return replace(run, scores={name: run.scores[name] for name in names}, results=rows)


def load_runs(roots: Sequence[Path], suite_of: SuiteOf = registered, workers: int = 1) -> list[Run]:
    """`load_run` of each; with more than one worker, the results of registered suites are computed side by side."""
    if workers < 2 or len(roots) < 2 or suite_of is not registered:
        return [load_run(root, suite_of) for root in roots]
    tables = map_shards(_results, [Shard(str(root), root) for root in roots], workers=workers)
    return [load_run(root, table=table) for root, table in zip(roots, tables, strict=True)]


def _results(root: Path) -> pd.DataFrame:
    return load_run(root).results


def with_inputs(runs: Sequence[Run], inputs: Mapping[str, Path]) -> list[Run]:
    """The runs, each with the inputs that its suite takes. Raises SnellenError for an input that none takes."""
    known_inputs = dict.fromkeys(name for run in runs for name in run.suite.report_inputs)
    if unknown := next((name for name in inputs if name not in known_inputs), None):
        suites = ", ".join(dict.fromkeys(run.suite.name for run in runs))
        remedy = near(unknown, known_inputs) if known_inputs else "leave it out"
        raise SnellenError(f"--input {unknown}: a report on {suites} does not take it; {remedy}")
    return [
        replace(run, inputs={name: inputs[name] for name in run.suite.report_inputs if name in inputs}) for run in runs
    ]


def gather(runs: Sequence[Run]) -> list[Exam]:
    """Runs by suite and item set in the given order. Raises SnellenError for no runs, or two versions of a suite."""
    if not runs:
        raise SnellenError("no runs to report; name at least one run folder")
    first: dict[str, Run] = {}
    together: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        before = first.setdefault(run.card.suite, run)
        if before.card.version != run.card.version:
            raise SnellenError(
                f"{run.root}: version {run.card.version} of {run.card.suite}, but {before.root} is version "
                f"{before.card.version}; scores of different versions must not share a table: report them separately"
            )
        group = together.setdefault((run.card.suite, run.card.recipe_hash), [])
        if other := next((other for other in group if not other.has_items_of(run)), None):
            raise SnellenError(
                f"{run.root} and {other.root}: item sets of the same recipe, but with different items; "
                "build one of them again, or report them separately"
            )
        group.append(run)
    return [Exam(tuple(group), join(group)) for group in together.values()]


def join(runs: Sequence[Run]) -> Run:
    """Several runs on one item set as one, with the items of the one that has the most."""
    if len(runs) == 1:
        return runs[0]
    earlier: set[tuple[str, str]] = set()
    named = []
    for number, run in enumerate(runs, 1):
        arms = {(arm.subject, arm.condition) for arm in run.card.arms}
        named.append(_renamed(run, {subject for subject, _ in arms & earlier}, f" (run {number})"))
        earlier |= arms
    scores = lists_by_key(pair for run in named for pair in run.scores.items())
    return replace(
        named[0],
        items=max((run.items for run in named), key=lambda items: len(items.items)),
        roots=tuple(run.root for run in named),
        card=named[0].card.model_copy(update={"arms": [arm for run in named for arm in run.card.arms]}),
        responses=tuple(response for run in named for response in run.responses),
        scores={name: pd.concat(tables, ignore_index=True) for name, tables in scores.items()},
        results=pd.concat([run.results for run in named], ignore_index=True),
    )


def _renamed(run: Run, twice: set[str], mark: str) -> Run:
    if not twice:
        return run
    names = {subject: subject + mark for subject in twice}

    def table(rows: pd.DataFrame) -> pd.DataFrame:
        return rows.assign(subject=[names.get(subject, subject) for subject in rows["subject"]])

    arms = [arm.model_copy(update={"subject": names.get(arm.subject, arm.subject)}) for arm in run.card.arms]
    return replace(
        run,
        card=run.card.model_copy(update={"arms": arms}),
        responses=tuple(replace(r, subject=names.get(r.subject, r.subject)) for r in run.responses),
        scores={name: table(rows) for name, rows in run.scores.items()},
        results=table(run.results),
    )


def of_subject(run: Run, name: str) -> Run:
    """The arms, responses, scores and results of one subject of a run."""
    arms = [arm for arm in run.card.arms if arm.subject == name]
    if len(arms) == len(run.card.arms):
        return run
    return replace(
        run,
        card=run.card.model_copy(update={"arms": arms}),
        responses=tuple(response for response in run.responses if response.subject == name),
        scores={protocol: rows[rows["subject"] == name] for protocol, rows in run.scores.items()},
        results=run.results[run.results["subject"] == name],
    )


def all_results(runs: Sequence[Run]) -> pd.DataFrame:
    """The results of all runs: keys, every axis of every suite, numbers."""
    axes = dict.fromkeys(axis.name for run in runs for axis in run.suite.axes)
    rows = pd.concat([run.results for run in runs], ignore_index=True)
    return rows.reindex(columns=columns_with(axes)).infer_objects()
