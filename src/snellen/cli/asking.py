"""`snellen run`: asking subjects, and printing results and reasons, also of a stopped run."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import typer

from snellen.cli.output import console, print_json, stopped_fields
from snellen.core.errors import Interrupted, SnellenError

if TYPE_CHECKING:
    from snellen.cli.finished import RunSummary
    from snellen.exam.session import Session
    from snellen.runs.asking.preview import Estimate
    from snellen.runs.asking.stopping import BudgetSpent
    from snellen.runs.planning.options import RunOptions


def name_services(subjects: Sequence[str]) -> bool:
    """Print which services are opened, since that takes seconds; False if there are none.

    Raises SnellenError for an unknown setting, or a missing key, address or package.
    """
    from snellen.subjects.registry import is_service, split_spec

    services = [name for name in subjects if is_service(name)]
    if not services:
        return False
    from snellen.subjects.chat.layer import check_service
    from snellen.subjects.chat.settings import read_settings

    for service in services:
        _, name, settings = split_spec(service)
        read_settings(settings)
        check_service(name)
    print(f"snellen: opening {', '.join(services)}", file=sys.stderr)
    return True


def write_requests(itemsets: Sequence[str], subjects: Sequence[str], options: RunOptions, path: Path) -> None:
    """Write the calls of a run into a batch file instead of asking."""
    name_services(subjects)
    from snellen.exam.session import AskingOptions, sessions
    from snellen.runs.asking.batch_file import write_batch

    if len(itemsets) != 1 or len(subjects) != 1:
        raise SnellenError("--batch: a file holds the calls of one subject about one item set")
    (session,) = sessions(itemsets, subjects, AskingOptions(**vars(options)), [None])
    (subject,) = session.examined
    count = write_batch(path, session.items, subject, session.points, options.limit, options.seed)
    print(f"{count} calls, {path.stat().st_size / 1e6:,.1f} MB: {path}")
    (condition,), itemset = options.conditions, quote(str(session.items.root))
    unit = f"?box_unit={subject.card.attributes['box_unit']}" if "box_unit=own" in condition else ""
    more = f" --condition {quote(condition)} --seed {options.seed}" if condition != "vanilla" or options.seed else ""
    print(f"Score the results: snellen run {itemset} --subject {quote(f'recorded:RESULTS.jsonl{unit}')}{more}")


def run(itemsets: Sequence[str], subjects: Sequence[str], options: RunOptions, as_json: bool) -> None:
    """Ask about one item set after another, print the results, and exit by the outcome."""
    is_named = name_services(subjects)
    from snellen.exam.session import AskingOptions, sessions
    from snellen.suites import SUITES

    suites = [name for name in itemsets if name in SUITES and not Path(name).exists()]
    hooks = {"show_progress": not as_json, "announce": None if as_json else announce}
    asking = AskingOptions(**{**vars(options), **hooks})
    roots = _roots(itemsets, options.out)
    if suites and not is_named:
        print(f"snellen: preparing items of {', '.join(suites)}", file=sys.stderr)  # further imports take seconds
    summaries, stop = _ask(sessions(itemsets, subjects, asking, [roots.get(name) for name in itemsets]), as_json)
    digests = _digests(summaries) if stop is None else {}
    if as_json:
        for summary_of_run in summaries:
            print_if_old(summary_of_run)
        runs = [_as_json(summary_of_run) | {"digest": digests.get(summary_of_run.root)} for summary_of_run in summaries]
        print_json({"runs": runs, **(stopped_fields(stop) if stop else {})})
    else:
        _print_results(summaries)
        for root, digest in digests.items():
            print(f"Digest of {root}: {digest}")
    if stop is not None:
        print(f"snellen: {stop}", file=sys.stderr)
        raise typer.Exit(stop.exit_code if isinstance(stop, Interrupted) else 1)
    finish(summaries)


def _roots(itemsets: Sequence[str], out: str | Path | None) -> dict[str, Path]:
    """The run folder of each set that --out gives: itself, or a folder in it per suite if there are several sets."""
    from snellen.runs.sets.generated_sets import suite_of_items

    if not out:
        return {}
    folder, several = Path(out), len(itemsets) > 1
    roots = {name: folder / suite_of_items(name).name if several else folder for name in itemsets}
    if len(set(roots.values())) < len(itemsets):
        advice = "use a separate command and --out for each"
        raise SnellenError(f"--out {out}: two of the sets are of the same suite; {advice}")
    return roots


def _ask(sessions: Sequence[Session], as_json: bool) -> tuple[list[RunSummary], BudgetSpent | Interrupted | None]:
    """A summary per session until one was stopped, and the cause."""
    from snellen.cli.finished import summary
    from snellen.core.storage.runfolder import has_tables
    from snellen.exam.examination import open_examination
    from snellen.exam.session import check
    from snellen.runs.asking.stopping import BudgetSpent
    from snellen.runs.scores.score import score_paths

    summarised = partial(summary, with_table=not as_json, with_rows=as_json)
    finished = [session.finished() for session in sessions]
    check([session for session, old in zip(sessions, finished, strict=True) if old is None])
    summaries = list["RunSummary"]()
    for session, old in zip(sessions, finished, strict=True):
        try:
            summaries.append(replace(summarised(old or session.examine()), is_old=old is not None))
        except (BudgetSpent, Interrupted) as stop:
            # A signal may come before the set is built, or before the first scores.
            if session.has_items and has_tables(session.root) and score_paths(session.root):
                summaries.append(summarised(open_examination(session.root)))
            return summaries, stop
    return summaries, None


def _as_json(summary: RunSummary) -> dict[str, Any]:
    """The output of `--json` about a run; reasons are kinds with their counts, by subject."""
    return {
        "run": str(summary.root),
        "responses": summary.responses,
        "failed": summary.failed,
        "unasked": sum(summary.unasked.values()),
        "finished_earlier": summary.is_old,
        "cost": {subject: round(cost, 6) for subject, cost in summary.cost.items()},
        "failures": summary.failures,
        "declines": summary.declines,
        "results": summary.rows,
    }


def announce(estimates: Sequence[Estimate]) -> None:
    """Print the estimated cost of paid calls before the first one."""
    for estimate in estimates:
        money = "no price given (?price_in=…&price_out=…)"
        if estimate.money is not None:
            money = f"about {estimate.money:.2f} for input tokens"
        rest = f" ({estimate.recorded} more are recorded)" if estimate.recorded else ""
        calls = f"{'at most ' if estimate.is_most else ''}{estimate.calls} calls{rest}"
        print(f"{estimate.subject}: {calls}, about {estimate.tokens_in} tokens sent, {money}", file=sys.stderr)


def _print_results(summaries: Sequence[RunSummary]) -> None:
    for summary in summaries:
        if not summary.responses:
            print(f"{summary.root}: nothing was asked", file=sys.stderr)
            continue
        explain(summary)
        print_if_old(summary)
        console().print(summary.table)
        if summary.cost:
            costs = ", ".join(f"{subject} {cost:.4f}" for subject, cost in summary.cost.items())
            console().print(f"Cost of all calls: {costs}", soft_wrap=True, markup=False)
        _print_sight(summary.root)
        console().print(f"Run: {summary.root}", soft_wrap=True, markup=False)
    scored = [quote(str(one.root)) for one in summaries if one.responses > one.failed]
    if any(0 < one.responses == one.failed for one in summaries):
        print("Next: the same command again, which repeats the failed calls")
    if scored:
        console().print(f"Next: snellen report {' '.join(scored)} --out report", soft_wrap=True, markup=False)


def _print_sight(root: Path) -> None:
    """Print what `snellen sight` says of the chat models of a run, or suggest it."""
    from snellen.core.storage.runfolder import read_run_card
    from snellen.core.storage.sight import sight_of

    arms = {arm.subject: arm.fingerprint for arm in read_run_card(root).arms if "provider" in arm.attributes}
    for subject, fingerprint in arms.items():
        result = sight_of(root, fingerprint)
        words = result.words() if result else f"not checked; run snellen sight {quote(subject)}"
        console().print(f"What reaches {subject}: {words}", soft_wrap=True, markup=False)


def _digests(summaries: Sequence[RunSummary]) -> dict[Path, str]:
    """The digest to publish of each run with responses (`core.storage.run_digest`)."""
    from snellen.core.storage.run_digest import write_digest
    from snellen.core.storage.runfolder import read_run_card

    roots = [summary.root for summary in summaries if summary.responses]
    return {root: write_digest(root, Path(read_run_card(root).itemset)).total for root in roots}


def print_if_old(summary: RunSummary) -> None:
    """Say that a run was finished earlier, since a new version of a model of this name was not asked then."""
    if summary.is_old:
        print(f"{summary.root}: finished earlier, so nothing was asked; another --out asks again", file=sys.stderr)


def explain(summary: RunSummary, *, with_declines: bool = True) -> None:
    """Print a line for each subject that declined, failed or was not fully asked, with counts and reasons."""
    for subject, reasons in summary.declines.items() if with_declines else ():
        print(f"{subject} declined: {'; '.join(reasons)}")
    for subject, reasons in summary.failures.items():
        print(f"{subject} failed: {'; '.join(reasons)}", file=sys.stderr)
    if summary.cut_off:
        advice = "a larger ?max_tokens= asks only these again"
        print(f"{summary.cut_off} replies were cut off at the token limit; {advice}", file=sys.stderr)
    for subject, missing in summary.unasked.items():
        reason = "have no recorded reply" if subject in summary.recorded else "were not asked"
        print(f"{subject}: partial, {missing} items {reason}", file=sys.stderr)


def finish(summaries: Sequence[RunSummary]) -> None:
    """Exit with code 1 if items failed or have no reply; those of subjects that are asked are asked again next time."""
    failed = sum(summary.failed for summary in summaries)
    counts = [(missing, subject in one.recorded) for one in summaries for subject, missing in one.unasked.items()]
    unasked = sum(missing for missing, is_recorded in counts if not is_recorded)
    if failed or unasked:
        rest = f", {unasked} were not asked" if unasked else ""
        is_asked = unasked or any(one.failures.keys() - one.recorded for one in summaries)
        again = "; the same command asks them again" if is_asked else ""
        print(f"snellen: {failed} items failed and are not scored{rest}{again}", file=sys.stderr)
    if failed or counts:
        raise typer.Exit(1)
