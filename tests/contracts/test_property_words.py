"""Every property that a sentence on the front page can name has words, and every word names a property that exists."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import pytest

from snellen.analysis.comparison.deficits import Property, properties_of
from snellen.core.storage.itemset_cards import BlindCard
from snellen.core.suite import Suite, Task
from snellen.scoring.protocols import ACCURACY
from snellen.suites import SUITES
from snellen.suites.ava_bench.abilities import ABILITIES
from snellen.suites.vlm2_bench.objects import IDENTITY
from tests.helpers.sets import small_set

NAMED = ("combo", "vfm-bench", "vlm2-bench", "ava-bench")
WITHOUT_WORDS: Mapping[str, str] = {
    "industry": "own images have industries of their own",
    "ways": "numbers",
    "source": "own images have sources of their own",
    "scene_type": "words that are understood",
    "group": "groups of the datasets",
}
"""Factors whose levels are named as they are, after the noun under `factor=`, and why."""
PACKAGES = Path(__file__).parents[2] / "src/snellen/suites"


def judged(suite: Suite) -> Iterator[Task]:
    """The tasks whose answers are right or wrong: no other enters a sentence."""
    for task in suite.tasks.values():
        if any(metric.name == ACCURACY.name for protocol in task.protocols.values() for metric in protocol.metrics):
            yield task


def measured(suite: Suite) -> Iterator[Property]:
    """The properties of the 2,000 generated items per task on which the packaged blind baselines were measured."""
    text = (PACKAGES / suite.name.replace("-", "_") / "generated/blind.json").read_text("utf-8")
    tasks = {task.id: task for task in judged(suite)}
    for score in BlindCard.model_validate_json(text).scores:
        if score.task in tasks and score.factor == "requires" and not score.level.startswith("not "):
            yield Property("requires", score.level)
        elif score.task in tasks and score.factor in tasks[score.task].split_by:
            yield Property("factor", score.factor, score.level)


def declared(suite: Suite) -> Iterator[Property]:
    """The properties that only items of real datasets have, where the suite lists them."""
    if suite.name == "vlm2-bench":
        yield from (Property("requires", name) for names in IDENTITY.values() for name in names)
    for task in judged(suite) if suite.name == "ava-bench" else ():
        yield from (Property("requires", name) for name in ABILITIES[task.id].requires)
        for factor, levels in ABILITIES[task.id].subgroups.items():
            yield from (Property("factor", factor, level) for level in levels)


def unnamed(properties: Iterable[Property], suite: Suite) -> set[str]:
    """Those without words, except levels of factors that have none on purpose."""
    keys = {prop.key for prop in properties if prop.kind in ("requires", "factor") and prop.name not in WITHOUT_WORDS}
    return keys - set(suite.card.words)


@pytest.mark.parametrize("name", NAMED)
def test_every_property_has_words(name: str, sets_folder: Path) -> None:
    suite = SUITES.get(name)
    tasks = {task.id: task for task in judged(suite)}
    items = [item for item in small_set(name, sets_folder).items if item.task in tasks]
    generated = {prop for item in items for prop, _ in properties_of(item, tasks[item.task].split_by)}
    assert not unnamed({*measured(suite), *declared(suite), *generated}, suite)


@pytest.mark.parametrize("name", NAMED)
def test_all_words_name_something_that_exists(name: str) -> None:
    suite = SUITES.get(name)
    factors = {factor for task in judged(suite) for factor in task.split_by}
    known = {prop.key for prop in (*measured(suite), *declared(suite))}
    known |= {f"{factor}=" for factor in factors & set(WITHOUT_WORDS)}
    if name == "combo":
        known.add("question=pivot")  # asked under `pivot=on` only
    assert set(suite.card.words) <= known
    assert {f"{factor}=" for factor in factors & set(WITHOUT_WORDS)} <= set(suite.card.words)


def test_a_property_has_the_same_words_in_all_suites() -> None:
    """Items of several suites enter one sentence."""
    words: dict[str, set[str]] = {}
    for name in SUITES:
        for key, text in SUITES.get(name).card.words.items():
            words.setdefault(key, set()).add(text)
    assert {key: texts for key, texts in words.items() if len(texts) > 1} == {}
    assert set(WITHOUT_WORDS) == {key.removesuffix("=") for key in words if key.endswith("=")}


def test_words_complete_a_sentence() -> None:
    """After "cannot tell": no capital, no full stop, no code name."""
    for name in NAMED:
        for key, text in SUITES.get(name).card.words.items():
            assert re.fullmatch(r"[a-z][a-z0-9 %]*", text), (key, text)
