"""`snellen run`: ask, say what came of it and why, also where the run was stopped."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from snellen.cli.options import cores
from snellen.cli.output import console, print_json
from snellen.core.errors import Interrupted, SnellenError
from snellen.remote import RecordFolder, address_of, joined, record_folder, with_urls

if TYPE_CHECKING:
    from snellen.cli.finished import RunSummary
    from snellen.core.subject import Subject
    from snellen.runs.preflight import Preflight
    from snellen.runs.preview import Estimate
    from snellen.runs.stopping import BudgetSpent


def run(
    itemsets: Sequence[str],
    subjects: Sequence[str],
    conditions: Sequence[str],
    *,
    limit: int | None,
    repeats: int,
    inputs: Mapping[str, Path],
    budget: float | None,
    keep_going: bool,
    seed: int,
    out: str | None,
    as_json: bool,
) -> None:
    """Ask about one item set after the other; print what there is, and exit as it ended."""
    from snellen.runs.generated_sets import suite_of_items

    with ExitStack() as stack:
        folders = dict[str, RecordFolder]()
        if out:
            several = len(itemsets) > 1
            addresses = {name: joined(out, suite_of_items(name).name) if several else out for name in itemsets}
            if len(set(addresses.values())) < len(addresses):
                raise SnellenError(f"--out {out}: two of the sets are of one suite; give a command and --out to each")
            folders = {name: stack.enter_context(record_folder(address)) for name, address in addresses.items()}
        summaries, stop = _ask(
            itemsets, subjects, conditions, folders, limit=limit, repeats=repeats, inputs=inputs, budget=budget,
            keep_going=keep_going, seed=seed, as_json=as_json,
        )  # fmt: skip
    if as_json:
        print_json({"runs": list(map(_as_json, summaries)), **({"stopped": with_urls(str(stop))} if stop else {})})
    else:
        _print_results(summaries)
    if stop is not None:
        print(f"snellen: {with_urls(str(stop))}", file=sys.stderr)
        raise typer.Exit(stop.exit_code if isinstance(stop, Interrupted) else 1)
    finish(summaries)


def _ask(
    itemsets: Sequence[str],
    subjects: Sequence[str],
    conditions: Sequence[str],
    folders: Mapping[str, RecordFolder],
    *,
    limit: int | None,
    repeats: int,
    inputs: Mapping[str, Path],
    budget: float | None,
    keep_going: bool,
    seed: int,
    as_json: bool,
) -> tuple[list[RunSummary], BudgetSpent | Interrupted | None]:
    """What came of each item set until something stopped it, and what did. `folders` are those that were named."""
    from snellen.cli.finished import finished_summary, summary
    from snellen.core.storage.runfolder import has_tables
    from snellen.runs.stopping import BudgetSpent

    roots = {name: folder.root for name, folder in folders.items()}
    finished = {
        name: finished_summary(
            name, subjects, roots.get(name), with_table=not as_json, conditions=conditions, inputs=inputs,
            repeats=repeats, seed=seed, limit=limit,
        )
        for name in itemsets
    }  # fmt: skip
    if unfinished := [name for name in itemsets if finished[name] is None]:
        from snellen.exam.items import find_items
        from snellen.exam.run import open_examination, run_folder
        from snellen.exam.run import run as do

        ready, preflight = _prepare(
            unfinished, subjects, conditions, roots, limit=limit, seed=seed, keep_going=keep_going
        )
    summaries = list["RunSummary"]()
    for name in itemsets:
        if (finished_run := finished[name]) is not None:
            summaries.append(finished_run)
            continue
        items = find_items(name, limit=limit, workers=cores(None), show_progress=not as_json)
        root = roots.get(name) or run_folder(items, subjects, conditions)
        try:
            examination = do(
                items, ready, root, conditions=conditions, repeats=repeats, seed=seed, limit=limit, budget=budget,
                keep_going=keep_going, inputs=inputs, show_progress=not as_json,
                announce=None if as_json else announce, preflight=preflight,
                after_call=folders[name].after_call if name in folders else lambda: None,
            )  # fmt: skip
        except (BudgetSpent, Interrupted) as stop:
            if has_tables(root):
                summaries.append(summary(open_examination(root), with_table=not as_json))
            return summaries, stop
        summaries.append(summary(examination, with_table=not as_json))
    return summaries, None


def _prepare(
    itemsets: Sequence[str],
    subjects: Sequence[str],
    conditions: Sequence[str],
    roots: Mapping[str, Path],
    *,
    limit: int | None,
    seed: int,
    keep_going: bool,
) -> tuple[list[str | Subject], Preflight]:
    """Refuse what can be refused; the subjects and the first questions. `roots` are run folders that were named."""
    from snellen.core.storage.runfolder import refuse_other_run
    from snellen.exam.run import prepare
    from snellen.runs.generated_sets import suite_of_items
    from snellen.runs.preflight import make_subjects

    ready = make_subjects(subjects)  # a missing key is told before suites and items are looked at
    suites = {name: suite_of_items(name).name for name in itemsets}
    for name in set(itemsets) & set(roots):
        refuse_other_run(roots[name], limit=limit, suite=suites[name], seed=seed)
    return prepare(ready, itemsets, conditions, limit=limit, keep_going=keep_going)


def _as_json(summary: RunSummary) -> dict[str, Any]:
    """What `--json` says of a run: reasons are kinds with their counts, by subject."""
    return {
        "run": address_of(summary.root),
        "responses": summary.responses,
        "failed": summary.failed,
        "unasked": sum(summary.unasked.values()),
        "failures": summary.failures,
        "declines": summary.declines,
    }


def announce(estimates: Sequence[Estimate]) -> None:
    """Say what paid calls would come to, before the first goes out."""
    for estimate in estimates:
        money = (
            "no price told (?price_in=…&price_out=…)"
            if estimate.money is None
            else f"about {estimate.money:.2f} for what is sent"
        )
        rest = f" ({estimate.recorded} more are recorded)" if estimate.recorded else ""
        print(
            f"{estimate.subject}: {estimate.calls} calls{rest}, about {estimate.tokens_in} tokens sent, {money}",
            file=sys.stderr,
        )


def _print_results(summaries: Sequence[RunSummary]) -> None:
    for summary in summaries:
        if not summary.responses:
            print(f"{address_of(summary.root)}: nothing was asked", file=sys.stderr)
            continue
        console().print(summary.table)
        explain(summary)
        console().print(f"Run: {address_of(summary.root)}", soft_wrap=True, markup=False)


def explain(summary: RunSummary) -> None:
    """A line for each subject that declined, failed or was not asked whole: how often, and why."""
    for subject, reasons in summary.declines.items():
        console().print(f"{subject} declined: {'; '.join(reasons)}", soft_wrap=True, markup=False)
    for subject, reasons in summary.failures.items():
        print(f"{subject} failed: {'; '.join(reasons)}", file=sys.stderr)
    for subject, missing in summary.unasked.items():
        print(f"{subject}: partial, {missing} items were not asked", file=sys.stderr)


def finish(summaries: Sequence[RunSummary]) -> None:
    """Exit 1 where items failed or were not asked; they are asked again next time."""
    failed = sum(summary.failed for summary in summaries)
    unasked = sum(sum(summary.unasked.values()) for summary in summaries)
    if failed or unasked:
        rest = f", {unasked} were not asked" if unasked else ""
        print(
            f"snellen: {failed} items failed and are not scored{rest}; the same command asks them again",
            file=sys.stderr,
        )
        raise typer.Exit(1)
