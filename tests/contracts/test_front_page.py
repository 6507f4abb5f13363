"""Each planted deficit is named on the front page in plain words, and no subject is accused of another one."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pytest

from snellen.analysis.comparison.deficits import ScoredAnswer, find_deficits
from snellen.core.item import Item
from snellen.core.seeds import stream
from snellen.core.storage.itemset import ItemSet
from snellen.exam.run import run
from snellen.reports import write_report
from snellen.scoring.protocols import ACCURACY, correct
from snellen.subjects.fakes.ideal import draw, peers_of
from snellen.suites import SUITES
from tests.contracts.test_planted_deficits import SETS, TEST_ITEMS
from tests.helpers.sets import undrawn_set
from tests.reports.exam import leave_out_figures

NAMED: Mapping[str, str] = {
    "fake:blind-to=colour": "cannot tell the colour of an object",
    "fake:counts-to=4": "does not count beyond four",
    "fake:misses-image=3": "ignores the third image",
    "fake:prefers-option=A": "prefers option A (the first)",
    "fake:says-yes": "says yes too readily",
}
INNOCENT = ("fake:oracle", "fake:chance")
SEEDS = (0,)
LINKING = ("oc-cpr", "oc-cnt", "oc-grp")
"""Questions that link images. At 100 per task they have 15 clusters, too few to single out the third image."""
LINKED = 300
GUESSERS = 20


def _sentences(page: str, subject: str) -> list[str]:
    """The findings for a subject, one sentence each."""
    (part,) = [part for part in page.split('<li class="subject') if f"<h3>{html.escape(subject)}</h3>" in part]
    return [html.unescape(text) for text in re.findall(r'<p class="decides">(.*?)</p>', part, re.DOTALL)]


def _sets(seed: int, folder: Path) -> dict[str, ItemSet]:
    """One set per suite; for VLM2-Bench more items of fewer tasks."""
    plans = {name: (TEST_ITEMS, tasks) for name, tasks in SETS.items()} | {"vlm2-bench": (LINKED, LINKING)}
    return {
        name: undrawn_set(SUITES.get(name), folder, seed=seed, test_items=count, tasks=tasks)
        for name, (count, tasks) in plans.items()
    }


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_every_planted_deficit_is_named_and_no_other(
    seed: int, sets_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    leave_out_figures(monkeypatch)
    roots = []
    for name, items in _sets(seed, sets_folder).items():
        run(items, [*INNOCENT, *NAMED], tmp_path / name, show_progress=False)
        roots.append(tmp_path / name)
    page = write_report(roots, tmp_path / "report").page.read_text("utf-8")
    for subject in (*INNOCENT, *NAMED):
        sentences = _sentences(page, subject)
        named = [name for text in sentences for name, words in NAMED.items() if words in text]
        assert named == ([subject] if subject in NAMED else []), (subject, sentences)
        assert len(sentences) == len(named), (subject, sentences)


def guesses(items: ItemSet, rng: np.random.Generator) -> Iterator[ScoredAnswer]:
    """The answers of a guesser to all test items that are scored right or wrong."""
    suite, peers = SUITES.get(items.card.suite), peers_of(items.items)
    tested: list[Item] = [item for item in items.items if item.split == "test"]
    for item in tested:
        task = suite.tasks[item.task]
        metric = next((m for m in task.protocols["strict"].metrics if m.name == ACCURACY.name), None)
        if metric is None:
            continue
        view = item.view()
        prediction = task.protocols["strict"].read(draw(view, peers, rng), view.reply)
        keys = [json.dumps(option.key) for option in item.options]
        key = json.dumps(prediction)
        position = keys.index(key) if key in keys else -1
        right = correct(item, prediction) == 1.0
        yield ScoredAnswer(item, f"{suite.name}/{item.task}", task.split_by, right, metric.chance(item), position)


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_guessers_are_hardly_ever_accused(seed: int, sets_folder: Path) -> None:
    """Each is accused with a probability of at most 5 %: at 5 %, four or more of 20 are accused in 1.6 % of sets."""
    sets = _sets(seed, sets_folder).values()
    accused = 0
    for number in range(GUESSERS):
        rng = stream("accused guesser", seed, number)
        findings = find_deficits([answer for items in sets for answer in guesses(items, rng)])
        accused += bool(findings.deficits or findings.preference)
    print(f"seed {seed}: {accused} of {GUESSERS} guessers are accused")
    assert accused <= 3
