"""Whether two tasks that ask for one ability agree: rank correlations of encoders within and across traits.

    python -m bench.traits [--out DIR] [--n 80] [--items DIR]

Builds a set of every suite with the flat renderer, asks the packaged encoders with every readout that can differ, and
prints their scores, the correlations of all measures, and means of these; then the same means over the subjects that
answered all CROSSED measures. A score is the progress from the blind baseline (0) to the ceiling (1). `--items` takes
existing sets, DIR/SUITE, such as those of a checkup. Sets and finished runs stay in `--out` (default: temporary).
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from snellen.analysis.blind.measure import main_metric
from snellen.analysis.grading.grades import baseline, ceiling_of, progress
from snellen.analysis.grading.rows import rows_of
from snellen.analysis.tables.rankings import interval
from snellen.core.build_options import BuildOptions
from snellen.core.seeds import stream
from snellen.core.storage.itemset import read_itemset
from snellen.core.storage.itemset_cards import is_itemset
from snellen.exam.examination import Examination
from snellen.exam.items import build
from snellen.exam.run import run
from snellen.suites import SUITES

# `probe` is left out, since it answers these tasks as `auto` does.
READOUTS = {"conse": ("auto", "prototype", "knn", "text")} | dict.fromkeys(
    ("efficientnet-lite0", "efficientnet-lite2", "hog", "colour-histogram"), ("auto", "prototype", "knn", "attentive")
)
SUBJECTS = tuple(f"encoder:{name}?readout={readout}" for name, readouts in READOUTS.items() for readout in readouts)
LEAST, ENOUGH, DRAWS = 4, 8, 2000  # subjects of a correlation, and of one that counts in a mean; draws
UNITS: Sequence[Callable[[str], str]] = (str, lambda name: name.split("?")[0])  # subjects, encoders
KINDS = {(True, False): "one trait, two suites", (False, False): "two traits and suites", (False, True): "one suite"}
"""Pairs whose correlations are averaged, by whether the trait and the suite are the same."""


@dataclass(frozen=True)
class Measure:
    """A trait as one task asks for it: the whole task, or the mean of some levels of a factor."""

    trait: str
    suite: str
    task: str
    factor: str = ""
    levels: tuple[str, ...] = ("",)


# Since version 2 of AVA-Bench, texture asks about patterns: its pairs with ComBo's material compare two traits.
MEASURES = (
    Measure("colour", "combo", "pattern-perception", "question", ("primary-colour", "secondary-colour")),
    Measure("shape", "combo", "pattern-perception", "question", ("primary-shape", "secondary-shape")),
    Measure("material", "combo", "pattern-perception", "question", ("primary-material", "secondary-material")),
    Measure("colour", "ava-bench", "colour"),
    Measure("shape", "ava-bench", "object"),
    Measure("material", "ava-bench", "texture"),
    *(Measure("depth", "ava-bench", task) for task in ("absolute-depth", "relative-depth")),
    Measure("counting", "ava-bench", "counting"),
    Measure("counting", "vlm2-bench", "oc-cnt"),
    *(Measure("colour", "vlm2-bench", task, "requires", ("colour",)) for task in ("gc-mat", "gc-trk")),
)
CROSSED = [0, 1, 2, 3, 4, 5]  # the places of three traits that two suites ask and many subjects answer


def examine(suite: str, out: Path, folder: Path, n: int) -> Examination:
    """The run of all subjects on the tasks of a suite's measures. A missing set is built, or with n = 0 an error."""
    tasks = tuple(dict.fromkeys(measure.task for measure in MEASURES if measure.suite == suite))
    if n and not is_itemset(folder):
        options = BuildOptions(folder, n=n, tasks=tasks, renderer="toy", size=(320, 240), allow_unmatched=True)
        build(SUITES.get(suite), "generated", options)
    items = read_itemset(folder)
    items = replace(items, items=tuple(item for item in items.items if item.task in tasks))
    return run(items, SUBJECTS, out / "run" / suite)


def progress_of(measure: Measure, results: pd.DataFrame) -> pd.Series[float]:
    """Progress by subject, 0 at the blind baseline and 1 at the ceiling, without subjects that declined."""
    metric = main_metric(SUITES.get(measure.suite).tasks[measure.task])
    rows = results.query("task == @measure.task and factor == @measure.factor and level in @measure.levels")
    rows = rows.query("protocol == 'strict' and metric == @metric.name and state != 'declined' and value.notna()")
    scores = [progress(row.value, baseline(row, metric), ceiling_of(row, metric)) for row in rows_of(rows)]
    return pd.Series(scores, rows["subject"].tolist(), float).groupby(level=0).mean()


def correlations(scores: pd.DataFrame) -> npt.NDArray[np.float64]:
    """Spearman's rho of every two columns, over rows that have both; NaN for fewer than LEAST, and without ranks."""
    return scores.corr("spearman", min_periods=LEAST).to_numpy(np.float64)


def redrawn(scores: pd.DataFrame, units: Sequence[str], draws: int) -> npt.NDArray[np.float64]:
    """Correlations (draws x columns x columns) of redrawn rows; rows of one unit are drawn together."""
    members = [np.flatnonzero(np.array(units) == unit) for unit in dict.fromkeys(units)]
    choices = stream("bench", "traits").integers(len(members), size=(draws, len(members)))
    return np.stack([correlations(scores.iloc[np.concatenate([members[n] for n in row])]) for row in choices])


def comparison(scores: pd.DataFrame, draws: int = DRAWS) -> Iterator[str]:
    """Rows of pairs of one trait, and of means over pairs with ENOUGH subjects; `scores` have places in MEASURES."""
    groups = [[unit(name) for name in scores.index] for unit in UNITS]
    tables = [correlations(scores), *(redrawn(scores, names, draws) for names in groups)]
    pairs: dict[str, list[tuple[int, int]]] = {kind: [] for kind in KINDS.values()}

    def row(name: str, count: str, values: Sequence[npt.NDArray[np.float64]], subjects: pd.Index[str]) -> str:
        rho, counts = float(values[0]), [len(set(map(unit, subjects))) for unit in UNITS]
        ends = [interval(rho, redraws, units) for redraws, units in zip(values[1:], counts, strict=True)]
        return f"| {name} | {count} | {rho:.2f} | " + " | ".join(f"{e.low:.2f} to {e.high:.2f}" for e in ends) + " |"

    for a, b in combinations(range(scores.shape[1]), 2):
        first, second = (MEASURES[place] for place in scores.columns[[a, b]].astype(int))
        both, same = scores.iloc[:, [a, b]].dropna().index, (first.trait == second.trait, first.suite == second.suite)
        if same[0] and len(both):
            name = f"{first.trait}: {first.suite} {first.task}, {second.suite} {second.task}"
            yield row(name, str(len(both)), [table[..., a, b] for table in tables], both)
        if len(both) >= ENOUGH and same in KINDS and not np.isnan(tables[0][a, b]):
            pairs[KINDS[same]].append((a, b))
    means = [[np.nanmean([table[..., a, b] for a, b in some], axis=0) for table in tables] for some in pairs.values()]
    for (kind, some), values in zip(pairs.items(), means, strict=True):
        yield row(f"mean: {kind}", f"{len(some)} pairs", values, scores.index)
    yield row("first mean minus second", "", [a - b for a, b in zip(*means[:2], strict=True)], scores.index)


def main() -> None:
    """Ask, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--items", type=Path)
    parser.add_argument("--n", type=int, default=80, help="test items per task (combo: objects)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        out = options.out or Path(temporary)
        root, suites = options.items or out / "items", dict.fromkeys(measure.suite for measure in MEASURES)
        results = {
            suite: examine(suite, out, root / suite, 0 if options.items else options.n).all_results()
            for suite in suites
        }
        columns = [progress_of(measure, results[measure.suite]) for measure in MEASURES]
    scores = pd.concat(columns, axis=1, keys=range(len(MEASURES)))
    names = [f"{measure.trait}: {measure.suite} {measure.task}" for measure in MEASURES]
    for table in (scores, pd.DataFrame(correlations(scores))):
        print(table.round(2).set_axis(names, axis=1).to_string(), end="\n\n")
    for some in (scores, scores[CROSSED].dropna()):
        print("| pair | subjects | rho | 95 %, subjects | 95 %, encoders |", *comparison(some), sep="\n")


if __name__ == "__main__":
    main()
