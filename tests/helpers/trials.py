"""Trials of a job and their outcomes: killed, out of disk, under a jumping clock."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from snellen.core.seeds import stream
from tests.helpers.damage import DAMAGES, damage
from tests.helpers.jobs import Job
from tests.helpers.lives import Fault, Life, live

SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
CHAIN = 3
"""Number of kills before a command may finish."""
DAY = 86_400


@dataclass
class Tally:
    """Numbers of faults tried and survived; `troubles` has a line about each failure."""

    tried: Counter[str] = field(default_factory=Counter)
    survived: Counter[str] = field(default_factory=Counter)
    troubles: list[str] = field(default_factory=list)

    @property
    def lost(self) -> int:
        """Faults after which the same command did not come to the same product."""
        return sum(self.tried.values()) - sum(self.survived.values())

    def add(self, kinds: Counter[str], trouble: str) -> None:
        """Count faults of these kinds, all survived or, with a trouble, none."""
        self.tried += kinds
        if trouble:
            self.troubles.append(trouble)
        else:
            self.survived += kinds


@dataclass(frozen=True)
class Bench:
    """A job with its inputs, and an undisturbed life of it: its result and its numbers of events and changes."""

    job: Job
    inputs: Path
    whole: Life
    product: Any

    @classmethod
    def prepare(cls, job: Job, work: Path) -> Bench:
        """Prepare the job and run it once in an empty folder."""
        inputs, trial = work / "inputs", work / "whole"
        job.prepare(inputs)
        job.begin(inputs, trial)
        whole = live(job.act(inputs, trial), trial)
        assert whole.code == 0, whole
        return cls(job, inputs, whole, job.product(trial))

    def live(self, trial: Path, fault: Fault) -> Life:
        """One life of the command."""
        return live(self.job.act(self.inputs, trial), trial, fault)

    def trouble(self, trial: Path) -> str:
        """The fault that is left after the same command was run again undisturbed; empty if none."""
        life = self.live(trial, Fault())
        if life.code != 0 and "already contains an item set" not in life.messages:
            return f"{trial.name}: the same command ended with {life.code}: {life.messages[-400:]}"
        try:
            product = self.job.product(trial)
        except (AssertionError, OSError, ValueError) as error:
            return f"{trial.name}: {error!r}"
        shutil.rmtree(trial)
        return "" if product == self.product else f"{trial.name}: another product"


def kills(bench: Bench, trials: int, seed: int) -> Tally:
    """A chain of kills at events that the seed draws, half of them a few milliseconds later, by signals in turn."""
    tally, name = Tally(), bench.job.name
    for number in range(trials):
        rng, trial = stream("kills", seed, name, number), bench.inputs.with_name(f"killed-{number}")
        bench.job.begin(bench.inputs, trial)
        killed, trouble = Counter[str](), ""
        for life_number in range(CHAIN):
            signal_number = SIGNALS[(number + life_number) % len(SIGNALS)]
            delay = float(rng.uniform(0.001, 0.03)) if rng.random() < 0.5 else 0.0
            life = bench.live(trial, Fault(signal_number, int(rng.integers(bench.whole.events)), delay))
            if life.code in (-signal_number, 128 + signal_number):
                killed[signal_number.name] += 1
            elif life.code != 0 and "already contains an item set" not in life.messages:
                trouble = f"{trial.name}: {signal_number.name} ended with {life.code}: {life.messages[-400:]}"
            if not life.in_good_order and life.code != -signal.SIGKILL:
                trouble = f"{trial.name}: {signal_number.name}: {life.messages[-400:]}"
        tally.add(killed, trouble or bench.trouble(trial))
    return tally


def full_disks(bench: Bench, trials: int, seed: int) -> Tally:
    """In turn, no room for new files from some change on, and a limit of bytes per file."""
    tally, name = Tally(), bench.job.name
    for number in range(trials):
        rng, trial = stream("full disks", seed, name, number), bench.inputs.with_name(f"full-{number}")
        bench.job.begin(bench.inputs, trial)
        change, size = int(rng.integers(1, bench.whole.changes)), int(np.exp(rng.uniform(np.log(10), np.log(20_000))))
        fault = Fault(full_from=change) if number % 2 else Fault(file_bytes=size)
        life, kind = bench.live(trial, fault), "no room" if number % 2 else "a limit"
        trouble = (
            "" if life.code in (0, 2) and life.in_good_order else f"{trial.name}: {life.code} {life.messages[-400:]}"
        )
        if life.code == 2 and life.messages.strip().count("\n"):
            trouble = f"{trial.name}: more than a line: {life.messages[-400:]}"
        if life.code == 2 or trouble:
            tally.add(Counter([kind]), trouble or bench.trouble(trial))
        else:
            shutil.rmtree(trial)  # the limit was wide enough
    return tally


def clock_jumps(bench: Bench, trials: int, seed: int) -> Tally:
    """A clock that jumps by up to a day at every reading; every other time also a kill and files of another day."""
    tally, name = Tally(), bench.job.name
    for number in range(trials):
        rng, trial = stream("clock jumps", seed, name, number), bench.inputs.with_name(f"clock-{number}")
        bench.job.begin(bench.inputs, trial)
        event = int(rng.integers(bench.whole.events)) if number % 2 else -1
        fault = Fault(signal.SIGKILL if number % 2 else 0, event, clock_seed=int(rng.integers(2**31)))
        life = bench.live(trial, fault)
        if number % 2:
            for path in sorted(path for path in trial.rglob("*") if path.is_file()):
                day = path.stat().st_mtime + float(rng.uniform(-DAY, DAY))
                os.utime(path, (day, day))
        good = life.code == (-signal.SIGKILL if number % 2 else 0) or life.code == 0
        tally.add(
            Counter(["jump"]), bench.trouble(trial) if good else f"{trial.name}: {life.code} {life.messages[-400:]}"
        )
    return tally


def viewed_files(root: Path, trial: Path) -> Life:
    """The inputs of a report: the set through the whole gate, and the results of the run, as text."""

    def act() -> int:
        from snellen.cli.faults import one_line_errors
        from snellen.core.errors import SnellenError
        from snellen.exam.rescoring import recover
        from snellen.reports.loading import load_run
        from snellen.runs.sets.gate import open_items

        os.chdir(root)
        os.environ["SNELLEN_HOME"] = str(trial / "home")
        try:
            with one_line_errors():
                open_items(Path("items"), remember=False)
                recover(Path("run"))
                print(load_run(Path("run")).results.to_csv(index=False))
        except SnellenError as error:
            print(error, file=sys.stderr)
            return 2
        return 0

    return live(act, trial)


CARDS = ("itemset.json", "blind.json", "run.json")


def corruption(inputs: Path, trials: int, seed: int) -> dict[str, Tally]:
    """Damage to one file of a set and the run about it (`items`, `run`), by kind of file.

    A fault is survived if it is refused in one line or changes no result. Cards have no checksum and count separately.
    """
    tallies: dict[str, Tally] = {}
    work = inputs.with_name("damaged")
    work.mkdir()
    whole = viewed_files(inputs, work / "whole")
    assert whole.code == 0, whole
    paths = sorted(
        str(path.relative_to(inputs))
        for name in ("items", "run")
        for path in (inputs / name).rglob("*")
        if path.is_file()
    )
    paths = [path for path in paths if Path(path).name not in ("lock", "stamp.json")]
    for number in range(trials):
        rng, trial = stream("corruption", seed, number), work / str(number)
        shutil.copytree(inputs, trial / "inputs", ignore=shutil.ignore_patterns("home"))
        file = _kind(path := paths[number % len(paths)])
        kind = list(DAMAGES)[int(rng.integers(len(DAMAGES)))]
        if damage(trial / "inputs" / path, kind, rng):
            life, trouble = viewed_files(trial / "inputs", trial), ""
            if not life.in_good_order or (life.code == 2 and life.messages.strip().count("\n")):
                trouble = f"{path}, {kind}: {life.code} {life.messages[-400:]}"
            elif life.code == 0 and life.out != whole.out:
                trouble = f"{path}, {kind}: other results, and not a word"
            tallies.setdefault(file, Tally()).add(Counter([kind]), trouble)
        shutil.rmtree(trial)
    return tallies


def _kind(path: str) -> str:
    if Path(path).name in CARDS:
        return "cards"
    return "images" if "/media/" in path else "parts" if path.endswith(".jsonl") else "tables"
