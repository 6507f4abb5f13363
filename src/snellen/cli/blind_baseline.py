"""`snellen blind-baseline`: blind baselines of an item set, or of a suite's generated items."""

from __future__ import annotations

import tempfile
from collections.abc import Collection
from pathlib import Path

from rich import box
from rich.markup import escape
from rich.table import Table

from snellen.analysis.blind import measure_by_folds, too_blind
from snellen.analysis.blind.measure import MIN_CLUSTERS
from snellen.analysis.units import metric_of
from snellen.cli.output import console as new_console
from snellen.core.build_options import BuildOptions
from snellen.core.errors import SnellenError
from snellen.core.storage.itemset import read_itemset
from snellen.core.storage.itemset_cards import BlindCard, is_itemset, write_blind
from snellen.core.storage.runfolder import default_folder
from snellen.core.suite import Suite
from snellen.exam.items import with_blind
from snellen.exam.run import blind_subject
from snellen.reports.words import amount
from snellen.runs.scores.blind import FOLDS_METHOD, ITEMS, measure_recipe
from snellen.runs.sets.generated_sets import suite_of_items
from snellen.suites import SUITES, suite_of


def blind(name: str, subject: str | None, n: int | None, out: Path | None, workers: int) -> None:
    """Measure, print and write blind scores. Raises SnellenError if `name` is neither an item set nor a suite."""
    if is_itemset(Path(name)):
        _of_set(Path(name), subject)
        return
    if name not in set(SUITES):
        raise SnellenError(f"{name!r} is neither an item set nor a suite; suites are: {', '.join(SUITES)}")
    if out is None:
        raise SnellenError("--out FOLDER is required: the folder for blind.json of the suite's generated items")
    suite = suite_of_items(name)
    with tempfile.TemporaryDirectory(prefix="snellen-blind-") as folder:
        card = measure_recipe(suite, Path(folder), BuildOptions(Path(folder), n=n or ITEMS, workers=workers))
    write_blind(out, card)
    _print(card, suite)
    print(out / "blind.json")


def _of_set(root: Path, subject: str | None) -> None:
    items = read_itemset(root)
    suite = suite_of(items)
    card = items.blind
    if subject is None or card is None:
        card = BlindCard(method=FOLDS_METHOD, scores=tuple(measure_by_folds(items.items, suite)))
    if subject is not None:
        card = blind_subject(items, card, subject, default_folder(items.card, [subject], ["images=none"]))
    with_blind(items, card)
    _print(card, suite)
    print(root / "blind.json")


def _print(card: BlindCard, suite: Suite) -> None:
    """Print one row per task and metric under `strict`."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for head in ("task", "metric"):
        table.add_column(head)
    for head in ("blind", "chance", "n"):
        table.add_column(head, justify="right")
    table.add_column("by")
    named = {score.key for score in too_blind(card.scores, suite)}
    for score in card.scores:
        if score.protocol != "strict" or score.factor:
            continue
        metric = metric_of(suite.tasks[score.task].protocols["strict"], score.metric)
        chance = "–" if score.chance is None else amount(score.chance, metric, score.n)
        value = amount(score.value, metric, score.n) + (" !" if score.key in named else "")
        table.add_row(*map(escape, (score.task, metric.words, value, chance, str(score.n), score.attack)))
    new_console(80).print(table)
    print(f"Measured: {card.method}.")


def blind_notes(card: BlindCard, suite: Suite, tasks: Collection[str]) -> list[str]:
    """A note for each of these tasks whose blind baseline is above chance, or that has none for want of images."""
    notes = []
    if card.method == FOLDS_METHOD:
        without = [task for task in tasks if task not in {score.task for score in card.scores}]
        notes += [f"{task}: no blind baseline, with fewer than {MIN_CLUSTERS} different images" for task in without]
    for score in too_blind([score for score in card.scores if score.task in tasks], suite):
        metric = metric_of(suite.tasks[score.task].protocols["strict"], score.metric)
        value, chance = amount(score.value, metric, score.n), amount(score.chance or 0.0, metric, score.n)
        notes.append(f"{score.task}: blind baseline {value} ({score.attack}), chance {chance}")
    return notes
