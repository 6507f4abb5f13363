"""What is tried to break Snellen, and what came of it: tried, survived, lost.

    python bench/reliability.py kills [JOB]...              build, run, judge, sweep, study, import, report
    python bench/reliability.py server                      of a study, while people answer
    python bench/reliability.py disk [JOB]...               a full disk, a limit of bytes a file
    python bench/reliability.py clock [JOB]...              a clock that jumps, files of other days
    python bench/reliability.py corruption --trials 300     damage to files of a set and a run
    python bench/reliability.py lies                        of a server
    python bench/reliability.py replies --trials 10000
    python bench/reliability.py sets --trials 1000
    python bench/reliability.py files --trials 1000         and as many specs of subjects, and requests to a study
    python bench/reliability.py same [SUITE]...             hashes under other locales, hash seeds, time zones

    python bench/reliability.py page FILE...                what was kept in the files, into docs/reliability.md
    python bench/reliability.py                             a few trials of all

Every trial is drawn from `--seed`; `--trials` is how many there are of a job.
`--keep FILE` adds rows to a JSON file.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MPLBACKEND="Agg", HF_HUB_OFFLINE="1")

from snellen.core.seeds import stream
from snellen.web.limits import VisitorLimits
from snellen.web.server import open_service
from tests.helpers import fuzzing, trials
from tests.helpers.hostile_trials import good_sets, hostile_replies, hostile_sets
from tests.helpers.jobs import JOBS, prepare_relative_run
from tests.helpers.studies import CONSENT, rows_of_form, write_study
from tests.helpers.study_load import CROWD, outlive
from tests.helpers.study_visitor import visitors_of
from tests.helpers.trials import SIGNALS, Bench, Tally

PAGE = Path(__file__).parents[1] / "docs" / "reliability.md"
FIGURE = PAGE.parent / "images" / "reliability.svg"
START, END = "<!-- bench/reliability.py writes from here: do not edit -->", "<!-- to here -->"
Row = dict[str, Any]
SPECS = (
    "chat:openai-api/stub/m?temperature=0.5&attempts=1",
    "chat:openai-api/stub/m?max_px=9&box_unit=pixels&attempts=1",
    "encoder:hog?readout=prototype",
    "fake:oracle",
    "py:json:dumps?a=1",
    "recorded:answers.csv?name=m&id=item_id",
    "recorded:answers.jsonl?condition=a:b>c",
    "logprob:openai-api/stub/m?attempts=1",
    "tower:tiny/siglip2-base?seed=1",
    "detector:hf/none?device=cpu",
    "encoder:hf/none?dtype=float32&batch=4",
    "fake:blind-to=colour",
    "head:none",
)
"""Of subjects, to be changed."""
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
            tally = trial(Bench.prepare(JOBS[name], Path(folder)), options.trials, options.seed)
        yield row(what, name, tally, cpu_seconds() - before)


def corruption(options: argparse.Namespace) -> Iterator[Row]:
    """A row a kind of file."""
    before = cpu_seconds()
    with tempfile.TemporaryDirectory(prefix="snellen-reliability-") as folder:
        inputs = Path(folder) / "inputs"
        prepare_relative_run(inputs)
        tallies = trials.corruption(inputs, options.trials, options.seed)
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


def served_study(options: argparse.Namespace) -> Iterator[Row]:
    """Twenty people answer a study whose server is ended after numbers of rows that the seed draws."""
    before, rng = cpu_seconds(), stream("served study", options.seed)
    ends = [(int(SIGNALS[n % len(SIGNALS)]), int(rng.integers(1, 40))) for n in range(options.trials)]
    with tempfile.TemporaryDirectory(prefix="snellen-reliability-") as folder:
        ended, lost = outlive(Path(folder), write_study(Path(folder)), 20, ends)
    tally = Tally()
    tally.add(Counter(signal.Signals(number).name for number, _ in ends[:ended]), "rows lost" if lost else "")
    yield row("kills", "study server", tally, cpu_seconds() - before)


def lying_servers(options: argparse.Namespace) -> Iterator[Row]:
    """Each lie twice: recorded as a failure or as a reply without an answer; then an honest server finishes the run."""
    from tests.runs.test_lying_server import LIES, REPLIES, lie

    before, tally = cpu_seconds(), Tally()
    names = [name for name in LIES if name not in ("content without end", "a slow trickle")]  # which need other bounds
    with tempfile.TemporaryDirectory(prefix="snellen-reliability-") as folder:
        outcomes = lie(names, Path(folder))
    for name, answers in outcomes.by_lie.items():
        recorded = all(
            response.status == "failed" or (name in REPLIES and outcome == "no_answer")
            for response, outcome, _ in answers
        )
        tally.add(Counter(["lie"]), "" if recorded and len(answers) == 2 else f"{name}: {answers}")
    yield row("lies", "server", tally, cpu_seconds() - before)


def replies(options: argparse.Namespace) -> Iterator[Row]:
    """Hostile replies."""
    before = cpu_seconds()
    with tempfile.TemporaryDirectory(prefix="snellen-reliability-") as folder:
        tally = hostile_replies(Path(folder), options.trials, options.seed)
    yield row("hostile", "replies", tally, cpu_seconds() - before)


def sets(options: argparse.Namespace) -> Iterator[Row]:
    """Hostile item sets."""
    before = cpu_seconds()
    with tempfile.TemporaryDirectory(prefix="snellen-reliability-") as folder:
        goods = good_sets(Path(folder) / "good", Path(folder) / "small")
        tally, outcomes = hostile_sets(Path(folder) / "sets", goods, options.trials, options.seed)
    cells = row("hostile", "item sets", tally, cpu_seconds() - before)
    yield {**cells, "kinds": ", ".join(f"{count} {outcome}" for outcome, count in sorted(outcomes.items()))}


def hostile_texts(files: Path, count: int, seed: int) -> Tally:
    """Specs of subjects whose letters and settings are changed: each is a subject, or refused in one line."""
    tally, rng = Tally(), stream("hostile specs", seed)
    os.environ |= {"STUB_BASE_URL": "http://127.0.0.1:9/v1", "STUB_API_KEY": "k" * 20}
    for _ in range(count):
        spec = SPECS[int(rng.integers(len(SPECS)))]
        for _ in range(int(rng.integers(1, 4))):
            spec = fuzzing.harmed_text(spec.encode(), rng)[0].decode("utf-8", "replace")
        words = ("run", "items", "-s", spec[:5000], "--limit", 1, "--out", "another")
        with fuzzing.inside(files):
            shutil.rmtree("another", ignore_errors=True)
            trouble = fuzzing.trouble_of(words, is_cache=False)
        tally.add(Counter(["spec"]), trouble and f"{spec!r:.100}: {trouble}")
    return tally


def hostile_requests(root: Path, count: int, seed: int) -> Tally:
    """Requests to a study, whose values, bytes, path or headers are changed: none fails the server, or takes long."""
    tally, rng = Tally(), stream("hostile requests", seed)
    plan, limits = write_study(root, texts=CONSENT), VisitorLimits(**CROWD, requests=10**6)
    with visitors_of(open_service(root, limits=limits), root) as (visitor, *_):
        opened = visitor.open(consented=True).json()
        rows = [row.plain() for row in rows_of_form(plan, opened["participant"], opened["form"])]
        for _ in range(count):
            headers = {"Content-Type": "application/json", "X-Snellen-Secret": opened["secret"], "Range": "bytes=0-9"}
            body = json.dumps([{"parameters": {"lab": "a"}, "consented": True}, *rows][int(rng.integers(len(rows)))])
            path = visitor.link + str(rng.choice(["api/open", "api/records", "plan.json", "", fuzzing.HOSTILE[19]]))
            raw, what = fuzzing.harmed_text(body.encode(), rng)
            if (name := [*headers, "Host", "Origin", "body", "body"][int(rng.integers(7))]) != "body":
                headers[name] = fuzzing.HOSTILE[int(rng.integers(len(fuzzing.HOSTILE)))][:9000]
            start, fault = time.process_time(), ""
            method = str(rng.choice(["POST", "POST", "POST", "GET", "PUT"]))
            try:
                status = visitor.client.request(method, path, content=raw, headers=headers).status_code
                fault = str(status) if status >= 500 or time.process_time() - start > 2 else ""
            except Exception as error:  # noqa: BLE001  # whatever it is, it is a trouble
                fault = f"{error!r:.200}"
            tally.add(Counter(["request"]), fault and f"{method} {path} {what} {name}: {fault}")
    return tally


def files(options: argparse.Namespace) -> Iterator[Row]:
    """Damaged files of every kind, specs and requests."""
    with tempfile.TemporaryDirectory(prefix="snellen-reliability-") as folder:
        (world := Path(folder) / "world").mkdir()
        fuzzing.write_world(world)
        before, tally = cpu_seconds(), Tally()
        for trial in fuzzing.fuzz(world, Path(folder), options.trials, options.seed):
            tally.add(Counter(["file"]), trial.trouble and f"{trial.kind}, {trial.what}: {trial.trouble}")
        yield row("hostile", "files", tally, cpu_seconds() - before)
        for name, meet in {"specs": hostile_texts, "requests": hostile_requests}.items():
            before = cpu_seconds()
            tally = meet(world if name == "specs" else Path(folder) / "study", options.trials, options.seed)
            yield row("hostile", name, tally, cpu_seconds() - before)


def surroundings(options: argparse.Namespace) -> Iterator[Row]:
    """The same seed in processes of other hash seeds, locales, time zones and numbers of workers."""
    from tests.contracts.test_same_seed import SURROUNDINGS, hashes

    for suite in options.names or ["combo", "vlm2-bench"]:
        before, tally, lines = cpu_seconds(), Tally(), list[str]()
        for workers, environment in SURROUNDINGS:
            with tempfile.TemporaryDirectory(prefix="snellen-reliability-") as folder:
                lines.append(hashes(Path(folder), workers, environment, [suite]))
            trouble = "" if lines[-1] == lines[0] else f"{environment}: {lines[-1]}"
            tally.add(Counter([environment["LC_ALL"]]), trouble)
        yield row("same hashes", suite, tally, cpu_seconds() - before)


PARTS: dict[str, Callable[[argparse.Namespace], Iterator[Row]]] = {
    "kills": lambda options: on_jobs("kills", trials.kills, options),
    "server": served_study,
    "disk": lambda options: on_jobs("disk", trials.full_disks, options),
    "clock": lambda options: on_jobs("clock", trials.clock_jumps, options),
    "corruption": corruption,
    "lies": lying_servers,
    "replies": replies,
    "sets": sets,
    "files": files,
    "same": surroundings,
}


def import_before_forks() -> None:
    """What every life needs, so that it is imported once; nothing is computed, for threads do not outlive a fork."""
    for name in ("matplotlib.pyplot", "sklearn", "snellen.cli.app", "snellen.cli.building", "snellen.reports.loading"):
        importlib.import_module(name)


def print_table(rows: Sequence[Row]) -> None:
    print(f"| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}")
    for cells in rows:
        print(f"| {' | '.join(str(cells[name]) for name in COLUMNS)} |")


ORDER = ("kills", "disk", "clock", "corruption", "lies", "hostile", "same hashes")
"""Of the rows on the page."""
USUAL = {"corruption": 60, "replies": 500, "sets": 60, "files": 72}
"""Trials of `make bench`, where 2 are not meant."""


def everything(options: argparse.Namespace) -> Iterator[Row]:
    """A few trials of every part."""
    for name, part in PARTS.items():
        yield from part(argparse.Namespace(**{**vars(options), "names": [], "trials": USUAL.get(name, 2)}))


def write_page(rows: Sequence[Row]) -> None:
    """The table and the figure of docs/reliability.md."""
    text = PAGE.read_text("utf-8")
    before, after = text.partition(START)[0], text.partition(END)[2]
    lines = [f"| {' | '.join(COLUMNS)} |", "|" + "---|" * len(COLUMNS)]
    lines += [f"| {' | '.join(str(cells[name]) for name in COLUMNS)} |" for cells in rows]
    totals = [sum(cells[name] for cells in rows) for name in ("tried", "survived", "lost")]
    lines.append(f"| **all** | | | **{totals[0]:,}** | **{totals[1]:,}** | **{totals[2]}** | |")
    PAGE.write_text("\n".join((before + START, *lines, END + after)), "utf-8")
    draw(rows)


def draw(rows: Sequence[Row]) -> None:
    """How many faults of each kind befell each job; what was survived is filled, what was lost would be hatched."""
    import matplotlib.pyplot as plt

    from snellen.analysis.tables.plots import legend_below, plain_axes, series_appearance

    faults = [cells for cells in rows if cells["what"] in ("kills", "disk", "clock")]
    jobs, kinds = list(dict.fromkeys(cells["of"] for cells in faults)), ("kills", "disk", "clock")
    figure, axes = plt.subplots(figsize=(7, 0.38 * len(jobs) + 1.2), layout="constrained")
    starts = dict.fromkeys(jobs, 0)
    for index, kind in enumerate(kinds):
        appearance = {"color": series_appearance(index)["color"]}
        of_kind = [cells for cells in faults if cells["what"] == kind]
        for name, label, hatch in (("survived", kind, ""), ("lost", f"{kind}, lost", "////")):
            places, counts = [cells["of"] for cells in of_kind], [cells[name] for cells in of_kind]
            if any(counts):
                axes.barh(places, counts, left=[starts[job] for job in places], label=label, hatch=hatch, **appearance)
            for job, count in zip(places, counts, strict=True):
                starts[job] += count
    plain_axes(axes, "x")
    axes.set_xlabel("faults")
    axes.invert_yaxis()
    legend_below(figure, axes)
    figure.savefig(FIGURE, metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", nargs="?", choices=[*PARTS, "page"])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--trials", type=int, default=8)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args()
    if options.part == "page":
        rows = [cells for name in options.names for cells in json.loads(Path(name).read_text())]
        write_page(sorted(rows, key=lambda cells: ORDER.index(cells["what"])))
        return
    import_before_forks()
    rows = list(PARTS.get(options.part, everything)(options))
    print_table(rows)
    if options.keep:
        earlier = json.loads(options.keep.read_text()) if options.keep.exists() else []
        options.keep.write_text(json.dumps([*earlier, *rows], indent=1) + "\n")
    sys.exit(any(cells["lost"] for cells in rows))


if __name__ == "__main__":
    main()
