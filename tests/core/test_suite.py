"""Suites, metrics, options of builds and notes of cards, by hand."""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from snellen.core.build_options import SIZE_PX, BuildOptions
from snellen.core.condition import Axis, parse_conditions
from snellen.core.errors import SnellenError
from snellen.core.item import Media, ReplySpec, View
from snellen.core.least_px import LEAST_PX, least_px_notes, scene_notes, with_least_px
from snellen.core.score import Measurement, Metric
from snellen.core.subject import SubjectCard
from snellen.core.suite import SuiteCard, TaskName, Trial, ViewContext, check_items, replayed, settle, with_columns
from tests.helpers.journey import STRICT, colour_set, item, suite_of
from tests.helpers.refusals import assert_refused

A, B, C = (Media(letter * 64, "image", "png", 8, 6) for letter in "abc")
VIEWS = tuple(View(name, "s", "t", "?", (), ReplySpec("text")) for name in "123")


def test_media_are_listed_once_by_stimulus_and_in_all() -> None:
    extents = [("1", [A, B]), ("2", [B]), ("1", [B, C, A])]
    items = [item(str(n), query, "x", "text", stimulus_id=stimulus) for n, (stimulus, query) in enumerate(extents)]
    (vanilla,) = parse_conditions((), "")
    context = ViewContext(vanilla, items)
    assert dict(context.by_stimulus) == {"1": (A, B, C), "2": (B,)}
    assert context.pool == (A, B, C)


def test_a_schedule_is_replayed_with_the_scores_of_each_batch() -> None:
    batches = (Trial(VIEWS[:2]),), (Trial(VIEWS[2:]), Trial(VIEWS[:1]))
    received = list[dict[str, float]]()

    def schedule() -> Generator[tuple[Trial, ...], dict[str, float], None]:
        for batch in batches:
            received.append((yield batch))

    assert tuple(replayed(schedule(), float)) == batches
    assert received == [{"1": 1.0, "2": 2.0}, {"3": 3.0, "1": 1.0}]
    ids = [Trial(views).trial_id for views in (VIEWS, VIEWS[::-1], VIEWS[:2], VIEWS[:1])]
    assert (len(set(ids)), {len(trial_id) for trial_id in ids}) == (4, {12})


def test_a_condition_is_settled_by_the_subject_and_keeps_other_values() -> None:
    axes = Axis("size", ("auto", "small", "large")), Axis("shots", (0, 1)), Axis("label", ("true", "false"))
    (condition,) = parse_conditions(axes, "shots=1")
    suite = suite_of(*axes, resolve=lambda condition, card: {"size": card.name})
    assert str(settle(condition, suite, SubjectCard("large"))) == "size=large,shots=1"
    assert str(with_columns(condition, {"shots": 0, "label": "false"})) == "label=false"
    card = SuiteCard(name="s", title="S", measures="", paper="", version="1", counts={})
    named = card.model_copy(update={"tasks": {"box": TaskName(name="where is it?", needs="place")}})
    assert [named.task_title(*words) for words in (("box",), ("box", "s"), ("count",), ("count", "s"))] == [
        "where is it? (box)", "where is it? (s/box)", "count", "s/count"
    ]  # fmt: skip


def test_levels_with_rows_of_their_own_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    items = colour_set(tmp_path / "items")
    changed = [replace(item, factors={"a": f"{n}", "b": f"{n}"}) for n, item in enumerate(items.items)]
    numbered, suite = replace(items, items=tuple(changed)), suite_of(split_by=("a",))
    monkeypatch.setattr("snellen.core.suite.MAX_LEVELS", 4)
    check_items(numbered, suite)
    monkeypatch.setattr("snellen.core.suite.MAX_LEVELS", 3)
    assert_refused(partial(check_items, numbered, suite), "items.parquet: factors have 4 levels, more than 3")


def test_items_that_a_suite_cannot_score_are_named_by_row(tmp_path: Path) -> None:
    items, metric = colour_set(tmp_path / "items"), STRICT.metrics[0]
    only_red = replace(metric, name="of red", is_defined=lambda item: item.answer == "red")
    suite = suite_of(protocols={"a": STRICT, "b": replace(STRICT, metrics=(metric, only_red))})
    check_items(items, suite_of())
    changes: list[tuple[dict[str, Any], str]] = [
        ({"task": "x"}, "hard has no task 'x'"), ({"query": ()}, "'001' shows no image"),
        ({"answer_kind": "box", "answer": (0, 0, 1, 1), "options": ()}, "hard has no task 'task' of box"),
        ({"answer": None}, "'001' has no answer"), ({}, "of red is undefined if the answer is 'green'"),
    ]  # fmt: skip
    for change, message in changes:
        changed = replace(items, items=(items.items[0], replace(items.items[1], **change)))
        assert_refused(partial(check_items, changed, suite), f"items.parquet row 1: {message}")
    abilities = replace(items.items[0], requires=tuple(f"{n}" for n in range(500)))
    check_items(replace(items, items=(abilities, items.items[1])), suite_of())
    many = replace(items, items=(abilities, replace(items.items[1], requires=("another",))))
    assert_refused(partial(check_items, many, suite_of()), "items.parquet: items require 501 abilities, more than 500")
    described = replace(items.items[0], answer=None, answer_kind="description")
    check_items(replace(items, items=(described,)), suite_of(kind="description"))


def fitted(items: Any, scores: Any) -> Measurement:
    raise AssertionError("never called")


@pytest.mark.parametrize(
    ("cells", "best", "least", "sign", "is_bounded_mean", "measure"),
    [
        ({}, 1, 0, 1, True, "a score"),
        ({"bounds": (-1.0, 1.0)}, 1, -1, 1, True, "a score"),
        ({"bounds": None}, 1, -math.inf, 1, False, "a score"),
        ({"bounds": None, "higher_is_better": False}, 0, 0, -1, False, "a score, lower is better"),
        ({"bounds": None, "higher_is_better": False, "estimate": fitted, "title": "px"}, 0, -math.inf, -1, False,
         "px, lower is better"),
        ({"estimate": fitted}, 1, 0, 1, False, "a score"),
        ({"summary": "median", "title": "share"}, 1, 0, 1, False, "share"),
    ],
)  # fmt: skip
def test_a_metric_states_its_ends_and_direction(
    cells: dict[str, Any], best: float, least: float, sign: int, is_bounded_mean: bool, measure: str
) -> None:
    metric = Metric("a_score", lambda item, prediction: 0.0, **cells)
    stated = metric.best, metric.least, metric.sign, metric.is_bounded_mean, metric.measure
    assert stated == (best, least, sign, is_bounded_mean, measure)
    assert (metric.label, replace(metric, binary=True).label) == (metric.words, "")


def test_an_unreadable_reply_has_the_worst_score_or_none() -> None:
    loss = Metric("loss", lambda item, prediction: 3.0, worst=9.0, higher_is_better=False)
    protocol = replace(STRICT, metrics=(loss, replace(loss, name="other", worst=0.0)), threshold=3.0)
    question = item("1", [A], "x", "text")
    assert protocol.values(question, "x") == {"loss": 3.0, "other": 3.0}
    assert protocol.values(question, None) == {"loss": 9.0, "other": 0.0}
    assert all(map(math.isnan, replace(protocol, unreadable="left out").values(question, None).values()))
    thresholds = {3.1: True, 3.0: True, 2.9: False}
    assert {t: replace(protocol, threshold=t).confirms(question, "x", False) for t in thresholds} == thresholds
    by_key = replace(protocol, threshold=None)
    assert [by_key.confirms(question, "x", is_key) for is_key in (True, False)] == [True, False]


def test_the_least_extent_of_shown_images_and_the_scenes_are_noted_for_test_items() -> None:
    items = [
        item("1", [A, B], "x", "text", measures={"n": 1.0}, cluster_id="s"),
        item("2", [C], "x", "text", cluster_id="s"), item("3", [B], "x", "text", task="far", cluster_id="t"),
        item("4", [A], "x", "text", cluster_id="u"),
        item("5", [A], "x", "text", split="train", cluster_id="v"),
    ]  # fmt: skip
    measured = with_least_px(items, {A.sha256: 7.44, B.sha256: 31.25})
    extents, small = {"3": {LEAST_PX: 31.2}}, {LEAST_PX: 7.4}
    least: dict[str, dict[str, float]] = {"1": {"n": 1.0, **small}, "2": {}, **extents, "4": small, "5": small}
    assert {item.item_id: item.measures for item in measured} == least
    smaller = replace(measured[-1], measures={LEAST_PX: 1.0})
    assert least_px_notes([*measured[:4], smaller]) == [
        "smallest extent that test items ask about, in pixels: task 7, far 31"
    ]
    assert scene_notes(measured) == ["distinct scenes of test items: task 2, far 1"]
    assert (least_px_notes(items), scene_notes(items[4:])) == ([], [])


def test_options_of_a_build_follow_from_each_other() -> None:
    settings = {"pairs": ("all", "few"), "order": ("given", "random")}
    options = BuildOptions(settings={"pairs": "few", "order": "given"}, n=5, quick=True)
    assert (options.changed(settings), BuildOptions().changed(settings)) == ({"settings": {"pairs": "few"}}, {})
    sizes = [
        options.test_items("s", 40, 8),
        replace(options, n=None).test_items("s", 40, 8),
        BuildOptions().test_items("s", 40, 8),
    ]
    assert sizes == [5, 8, 40]
    for n, message in ((0, "s: --n 0 makes no items"), (-1, "--n -1")):
        assert_refused(partial(replace(options, n=n).test_items, "s", 40, 8), message)
    assert (BuildOptions().size_px, options.size_px, replace(options, size=(100, 90)).size_px) == (
        SIZE_PX,
        (240, 180),
        (100, 90),
    )
    assert BuildOptions(size=(480, 640)).size_notes() == [], "as many pixels as usual"
    assert (
        BuildOptions(size=(639, 480))
        .size_notes()[0]
        .startswith("images of 639x480 pixels, smaller than the usual 640x480")
    )
    stated = {"seed": 0, "full": False, "quick": True, "size_px": [240, 180], "renderer": "mitsuba", "quality": "good"}
    assert options.rendering() == stated
    assert "quality" not in replace(options, renderer="toy").rendering()
    others: list[tuple[dict[str, Any], str]] = [
        ({"tasks": ("a", "x")}, "here: no task 'x'"), ({"sources": {"S": Path(), "y": Path()}}, "here: no source 'y'"),
        ({"inputs": {"z": Path()}}, "here: does not use --input 'z'"),
    ]  # fmt: skip
    for change, message in others:
        with pytest.raises(SnellenError, match=message):
            BuildOptions(**change).refuse_others("here", ["a"], ["S"])
    for given, words in [
        ({"pairs": "none"}, "--set pairs: it cannot be 'none'"),
        ({"pair": "all"}, "here has no setting 'pair'"),
    ]:
        with pytest.raises(SnellenError, match=words):
            BuildOptions(settings=given).refuse_other_settings("here", settings)
    with pytest.raises(SnellenError, match="--set pairs: here has no settings"):
        options.refuse_other_settings("here", {})
