"""What is tried to break Snellen, and what came of it: tried, survived, lost.

    python bench/reliability.py kills build run judge       by name of the job; all of them without one
    python bench/reliability.py disk [JOB]...
    python bench/reliability.py clock [JOB]...
    python bench/reliability.py corruption --trials 200

Every trial is drawn from `--seed`; `--trials` is how many there are of a job.
`--keep FILE` adds rows to a JSON file.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import resource
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MPLBACKEND="Agg", HF_HUB_OFFLINE="1")

from tests.helpers import trials
from tests.helpers.jobs import JOBS, relative_run_given
from tests.helpers.trials import Bench, Tally

Row = dict[str, Any]
COLUMNS = ("what", "of", "kinds", "tried", "survived", "lost", "CPU s")
"""Of the table that is printed."""


def cpu_seconds() -> float:
    """Of this process and its children that ended."""
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def on_jobs(what: str, trial: Callable[[Bench, int, int], Tally], options: argparse.Namespace) -> Iterator[Row]:
    """A row a job."""
    for name in options.names or JOBS:
        before = cpu_seconds()
        with tempfile.TemporaryDirectory(prefix="snellen-reliability-") as folder:
            tally = trial(Bench.of(JOBS[name], Path(folder)), options.trials, options.seed)
        yield row(what, name, tally, cpu_seconds() - before)


def corruption(options: argparse.Namespace) -> Iterator[Row]:
    """A row a kind of file."""
    before = cpu_seconds()
    with tempfile.TemporaryDirectory(prefix="snellen-reliability-") as folder:
        given = Path(folder) / "given"
        relative_run_given(given)
        tallies = trials.corruption(given, options.trials, options.seed)
    for file, tally in tallies.items():
        yield row("corruption", file, tally, (cpu_seconds() - before) / len(tallies))


def row(what: str, of: str, tally: Tally, seconds: float) -> Row:
    """One row of the table; troubles go to standard error."""
    for trouble in tally.troubles:
        print(f"{what} {of}: {trouble}", file=sys.stderr)
    kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(tally.tried.items()))
    tried, survived = sum(tally.tried.values()), sum(tally.survived.values())
    cells = (what, of, kinds, tried, survived, tally.lost, round(seconds, 1))
    return dict(zip(COLUMNS, cells, strict=True))


PARTS: dict[str, Callable[[argparse.Namespace], Iterator[Row]]] = {
    "kills": lambda options: on_jobs("kills", trials.kills, options),
    "disk": lambda options: on_jobs("disk", trials.full_disks, options),
    "clock": lambda options: on_jobs("clock", trials.clock_jumps, options),
    "corruption": corruption,
}


def import_before_forks() -> None:
    """What every life needs, so that it is imported once; nothing is computed, for threads do not outlive a fork."""
    for name in ("matplotlib.pyplot", "sklearn", "snellen.cli.app", "snellen.cli.building", "snellen.reports.loading"):
        importlib.import_module(name)


def print_table(rows: Sequence[Row]) -> None:
    print(f"| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}")
    for cells in rows:
        print(f"| {' | '.join(str(cells[name]) for name in COLUMNS)} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--trials", type=int, default=8)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args()
    import_before_forks()
    rows = list(PARTS[options.part](options))
    print_table(rows)
    if options.keep:
        earlier = json.loads(options.keep.read_text()) if options.keep.exists() else []
        options.keep.write_text(json.dumps([*earlier, *rows], indent=1) + "\n")
    sys.exit(any(cells["lost"] for cells in rows))


if __name__ == "__main__":
    main()
