"""The contract that every suite must fulfil, whatever it measures."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from importlib.resources import files
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from snellen.core.build_options import BuildOptions
from snellen.core.condition import Condition, parse_conditions
from snellen.core.errors import SnellenError
from snellen.core.item import Item
from snellen.core.prompt import Reply
from snellen.core.response import Response
from snellen.core.storage.itemset import ItemSet, read_itemset
from snellen.core.storage.media import MediaFolder
from snellen.core.subject import SubjectCard
from snellen.core.suite import Suite, Task, ViewContext, settle
from snellen.exam.items import build
from snellen.exam.run import run
from snellen.runs.asking.views import show_items, training_example
from snellen.runs.scores.score import primary_score
from snellen.suites import SUITES
from tests.helpers.sets import small_options, small_set

NAMES = [name for name in SUITES if "generated" in SUITES.get(name).recipes]
"""Curation steps have no recipes of their own, and the items and tasks of `questions` come from a user's table."""
REPEATS, NEAR_CHANCE = 8, 0.4
"""Repeats of a blind guess, and the tolerance of their mean around chance as a share of the range to perfect.

Eight guesses of one in four on each of five items have a standard error of 7 points; 30 points are 0.4 of the range.
"""
ROUNDED = 1e-4
"""Tolerance of a perfect score if answers are written with few decimals: boxes in shares of the image."""


@pytest.fixture(scope="module", params=NAMES)
def suite(request: pytest.FixtureRequest) -> Suite:
    return SUITES.get(request.param)


@pytest.fixture(scope="module")
def built(suite: Suite, sets_folder: Path) -> ItemSet:
    return small_set(suite.name, sets_folder)


def test_the_declaration_is_complete(suite: Suite) -> None:
    names = [axis.name for axis in suite.axes]
    assert len(set(names)) == len(names)
    assert {"images", "prompt"} <= set(names)
    for task in suite.tasks.values():
        assert "strict" in task.protocols
        assert set(task.axes) <= set(names)
        assert all(protocol.name == name for name, protocol in task.protocols.items())
    (vanilla,) = parse_conditions(suite.axes, "vanilla")
    assert not vanilla.changed
    known = {
        (task.id, metric.name) for task in suite.tasks.values() for p in task.protocols.values() for metric in p.metrics
    }
    for table in (suite.published or list)():
        if table.own_cells is None:
            assert {(column.task, column.metric) for column in table.columns} <= known
        cells = [*table.rows.values(), *filter(None, (table.people, table.chance))]
        assert {len(row) for row in cells} <= {len(table.columns) + len(table.more)}
        assert all(len(ranks) == len(table.columns) for ranks in table.ranks.values())
    assert {(ceiling.task, ceiling.metric) for ceiling in suite.card.ceilings} <= known


def test_settings_of_the_paper_name_their_source(suite: Suite) -> None:
    text = files(f"snellen.suites.{suite.name.replace('-', '_')}").joinpath("paper.yaml").read_text("utf-8")
    for entry in (entry for name, group in yaml.safe_load(text).items() if name != "not_said" for entry in group):
        assert entry["source"]
        assert {*entry.get("tasks", ()), entry.get("task", min(suite.tasks))} <= set(suite.tasks)


def test_the_card_begins_with_what_of_the_paper_is_missing(built: ItemSet) -> None:
    assert built.card.notes[0].startswith("not covered of the paper: ")


def test_items_match_the_declaration(suite: Suite, built: ItemSet) -> None:
    assert {item.version for item in built.items} == {suite.card.version}
    assert set(built.card.counts) == set(suite.tasks) - set(suite.card.needs_real)
    for item in built.items:
        view = item.view()
        if view.reply.keys:
            assert str(item.answer) in view.reply.offered
        assert item.cluster_id
        assert item.group_id
    assert read_itemset(built.root).items == built.items


def test_views_do_not_reveal_the_answer(built: ItemSet) -> None:
    # Ids are numbered: an id reveals nothing of the answer except the question.
    for item in built.items:
        words = f"{item.item_id} {item.stimulus_id}".lower().replace("-", " ").split()
        assert str(item.answer).lower() not in words


@pytest.mark.slow  # builds every suite three times; the goldens hold the hashes of one seed in the quick run
def test_same_seed_same_items(suite: Suite, tmp_path: Path) -> None:
    def again(name: str, seed: int) -> ItemSet:
        return build(suite, "generated", small_options(tmp_path / name, seed, test_items=1))

    first, same, other = again("first", 3), again("same", 3), again("other", 4)
    assert (same.card.content_hash, same.card.recipe_hash) == (first.card.content_hash, first.card.recipe_hash)
    assert other.card.content_hash != first.card.content_hash
    assert other.card.recipe_hash != first.card.recipe_hash


def test_plans_are_plain(suite: Suite, tmp_path: Path) -> None:
    for how, recipe in suite.recipes.items():
        try:
            outcome: object = recipe.plan(BuildOptions(tmp_path, n=5))
        except SnellenError as error:  # made from the user's own data, of which there is none here
            outcome = str(error)
        if how == "generated" or not isinstance(outcome, str):
            assert json.loads(json.dumps(outcome)) == outcome
        else:
            assert "--source" in outcome


def test_seeing_is_perfect_and_blindness_is_not(suite: Suite, built: ItemSet, tmp_path: Path) -> None:
    done = run(built, ["fake:oracle"], tmp_path / "run", conditions=["vanilla", "prompt=minimal"], show_progress=False)
    guesses = run(
        built, ["fake:oracle"], tmp_path / "blind", conditions=["images=none"], repeats=REPEATS, show_progress=False
    )
    seeing, blind = (_whole(suite, journey.all_results()) for journey in (done, guesses))
    assert ((seeing.value - seeing.best).abs() < ROUNDED).all()
    gained = (blind.value - blind.chance) / (blind.best - blind.chance)
    assert (gained < NEAR_CHANCE).all(), gained
    # For boxes, errors and colours chance may be the best blind answer, which a guess does not reach.
    assert (gained > -np.where(blind.share, NEAR_CHANCE, 1.0)).all(), gained
    assert set(seeing.task) | set(blind.task) == _automatic(suite)
    assert not pd.isna(seeing.chance).any()


def _automatic(suite: Suite) -> set[str]:
    """Tasks that can be rendered and need no judge."""
    judged = {task.id for task in suite.tasks.values() if task.protocols["strict"].judge}
    return set(suite.tasks) - set(suite.card.needs_real) - judged


def _whole(suite: Suite, rows: pd.DataFrame) -> pd.DataFrame:
    """Results of whole tasks, with the best possible value: 0 for errors.

    Estimates, which have no best value, and metrics that are remarks on the main one are left out: the latter describe
    a part of the units, or have no chance level.
    """
    metrics = {
        (task.id, metric.name): metric for task in suite.tasks.values() for metric in task.protocols["strict"].metrics
    }
    whole = rows[(rows.factor == "") & rows.task.isin(_automatic(suite))]
    by_row = [metrics[key] for key in zip(whole.task, whole.metric, strict=True)]
    whole = whole[[not metric.remark and metric.estimate is None for metric in by_row]].copy()
    by_row = [metric for metric in by_row if not metric.remark and metric.estimate is None]
    whole["share"] = [metric.share for metric in by_row]
    whole["best"] = [float(metric.higher_is_better) for metric in by_row]
    return whole


def test_every_value_of_every_axis_can_be_asked(suite: Suite, built: ItemSet, tmp_path: Path) -> None:
    texts = [f"{axis.name}={value}" for axis in suite.axes for value in axis.values[1:]]
    texts = [text for text in texts if text not in suite.card.needs_real]
    done = run(built, ["fake:chance"], tmp_path / "run", conditions=texts, limit=2, show_progress=False)
    assert {response.condition for response in done.responses} == set(texts)
    assert {response.status for response in done.responses} == {"ok"}
    for text in texts:
        (point,) = parse_conditions(suite.axes, text)
        assert "auto" not in settle(point, suite, SubjectCard("someone")).columns().values()


def test_what_is_shown_depends_on_the_seed_under_random_values_alone(
    suite: Suite, built: ItemSet, tmp_path: Path
) -> None:
    """Also under vanilla: VFM Bench makes up names in generated sets."""
    media, random = MediaFolder(tmp_path / "media", built.media), dict[str, bool]()
    for text, condition, task, items in _questions(suite, built):
        context, of_seeds = ViewContext(condition, items), list[object]()
        for seed in (1, 2):
            of_seeds.append(show_items([item for item in items if item.split == "test"], context, task, seed, media))
        random[text] = random.get(text, False) or of_seeds[0] != of_seeds[1]
    assert random == {text: parse_conditions(suite.axes, text)[0].is_random for text in random}


def test_the_target_of_a_training_example_is_a_right_reply(suite: Suite, built: ItemSet, tmp_path: Path) -> None:
    media, learned = MediaFolder(tmp_path / "media", built.media), set()
    for text, condition, task, items in _questions(suite, built):
        if task.train_split not in {item.split for item in items}:
            continue
        item = next(item for item in items if item.split == task.train_split)
        view = show_items([item], ViewContext(condition, items), task, 0, media)[item.item_id]
        method = task.method(condition)
        example = training_example(view, item.answer, method)
        learned.add(task.id)
        if example.prompt is None:
            continue
        dialogue = method.run(example.prompt.views)
        assert next(dialogue) == (example.prompt,)
        with pytest.raises(StopIteration) as end:
            dialogue.send((Reply(example.target),))
        texts_read = end.value.value
        response = Response(
            "", "", "", item.item_id, task.id, text, 0, "ok", texts_read[item.item_id], "", view.reply, ()
        )
        metric = task.protocols["strict"].metrics[0]
        value = primary_score(item, response, task.protocols["strict"])
        assert abs(value - float(metric.higher_is_better)) < ROUNDED, (task.id, text)
    trained = {task.id for task in suite.tasks.values() if task.train_split and built.task(task.id)}
    assert learned == trained


def test_no_mark_is_the_answer_and_each_belongs_to_its_image(suite: Suite, built: ItemSet, tmp_path: Path) -> None:
    media = MediaFolder(tmp_path / "media", built.media)
    has_marks = "marks" in {axis.name for axis in suite.axes}
    controls = [f"marks=queries,images={how}" for how in ("none", "grey", "shuffled")]
    marked = set()
    for text, condition, task, items in _questions(suite, built, ["marks=queries,look=image", *controls] * has_marks):
        for view in show_items(items[:3], ViewContext(condition, items), task, 0, media).values():
            if view.marks:
                marked.add((task.id, text))
                assert "images" not in text, "drawn in an image other than the one shown"
                (image,), answer = view.query, built.by_id[view.item_id].answer
                corners = [mark.box for mark in view.marks]
                assert all(0 <= x1 < x2 <= image.width and 0 <= y1 < y2 <= image.height for x1, y1, x2, y2 in corners)
                assert view.reply.kind != "box" or image.from_stored.box(answer) not in corners
    assert all("marks=queries" in text for _, text in marked)
    assert bool(marked) == has_marks


def _questions(
    suite: Suite, built: ItemSet, more: Sequence[str] = ()
) -> Iterator[tuple[str, Condition, Task, list[Item]]]:
    """(condition as written, resolved, a task, its items): vanilla, every value of every axis, and more conditions."""
    for text in ("vanilla", *(f"{axis.name}={value}" for axis in suite.axes for value in axis.values[1:]), *more):
        if text in suite.card.needs_real:
            continue
        (point,) = parse_conditions(suite.axes, text)
        condition = settle(point, suite, SubjectCard("someone"))
        for task in suite.tasks.values():
            items = [item for item in built.task(task.id) if task.asks(item, condition)]
            if items and point.moves() <= set(task.axes):
                yield text, condition, task, items
