"""Single checks of a verification, with sets and runs by hand: what they count, name, accept and leave out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from snellen.core.condition import Axis
from snellen.core.errors import SnellenError
from snellen.core.storage.itemset import ItemSet, recipe_hash
from snellen.core.storage.runfolder import RunCard, read_run_card
from snellen.core.storage.versions import versions
from snellen.exam import verification
from snellen.exam.rescoring import rescore
from snellen.exam.verification import check_card, check_rows, check_scores, count_items
from snellen.runs.asking.ask import ask
from snellen.runs.planning.plan import Plan
from snellen.stimuli.render import rebuild
from snellen.suites import SUITES
from tests.helpers.journey import arm, colour_set, looker, says, suite_of


@pytest.fixture
def built(tmp_path: Path) -> ItemSet:
    return colour_set(tmp_path / "set", 6)


def test_items_are_counted_for_each_arm_by_what_became_of_them() -> None:
    """Of five test items and a training item the first arm lacks two, and the second was declined one."""
    splits = {"a": "test", "b": "test", "c": "test", "d": "test", "e": "test", "f": "train"}
    items: Any = SimpleNamespace(items=[SimpleNamespace(item_id=name, split=split) for name, split in splits.items()])
    keys = ("x", "vanilla", 0), ("x", "images=none", 0)
    arms = [SimpleNamespace(arm_key=key, subject=key[0], condition=key[1]) for key in keys]
    status = {0: {"a": "ok", "b": "failed", "c": "failed", "f": "failed"}, 1: {"a": "declined", "b": "failed"}}
    status[1] |= {"c": "ok", "d": "ok", "e": "ok"}
    responses: Any = [
        SimpleNamespace(arm_key=keys[n], item_id=name, status=word)
        for n, words in status.items()
        for name, word in words.items()
    ]
    assert list(count_items(SimpleNamespace(arms=arms), items, responses)) == [  # type: ignore[arg-type]
        "x under vanilla: 5 test items, 2 not asked, 2 failed, 0 declined",
        "x under images=none: 5 test items, 0 not asked, 1 failed, 1 declined",
    ]


def test_columns_may_follow_from_the_number_of_images_that_a_subject_takes(tmp_path: Path, built: ItemSet) -> None:
    """The card of a run does not record that number: one image, two, or any number are tried."""
    axis = Axis("sheet", ("auto", "single", "pair", "separate", "other"))
    suite = suite_of(
        axis, resolve=lambda c, card: {"sheet": {None: "separate", 1: "single", 2: "pair"}[card.max_images]}
    )
    for most, sheet in ((None, "separate"), (1, "single"), (2, "pair")):
        root = tmp_path / sheet
        ask(root, Plan(built, suite, [arm(looker(built, max_images=most), suite)]))
        card = read_run_card(root)
        assert card.arms[0].columns == {"sheet": sheet}
        check_card(root, card, built, suite)
    forged = card.arms[0].model_copy(update={"columns": {"sheet": "other"}})
    with pytest.raises(SnellenError, match="columns of own:looker under vanilla are not those of the condition"):
        check_card(root, card.model_copy(update={"arms": [card.arms[0], forged]}), built, suite)


def test_small_tasks_are_measured_again_first_and_those_beyond_a_minute_are_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """At 0.02 s an item: 1,500 and 500 items take 40 s, and 1,200 more would take 24 s."""
    now = [100.0]

    def measure(items: list[Any], suite: Any) -> list[Any]:
        now[0] += 0.02 * len(items)
        return [SimpleNamespace(key=(items[0].task, level)) for level in ("", "small")]

    monkeypatch.setattr(verification, "time", SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr(verification, "measure_by_folds", measure)
    counts = {"large": 1500, "middle": 1200, "small": 500}
    items: Any = SimpleNamespace(
        items=[SimpleNamespace(task=name, options=(), question="") for name, n in counts.items() for _ in range(n)]
    )
    suite: Any = None
    measured, left_out = verification._measured(items, suite)
    assert measured.keys() == {(task, level) for task in ("small", "middle") for level in ("", "small")}
    assert left_out == {"large"}


def test_blind_scores_of_a_set_that_has_grown_are_not_compared() -> None:
    """They are those of its first instalment."""
    card = SimpleNamespace(source="released", instalments=(1, 2), recipe={})
    items: Any = SimpleNamespace(blind=SimpleNamespace(), root=Path("set"), card=card)
    words, is_equal = verification.check_blind(items, SUITES.get("combo"))
    assert (words.partition(",")[0], is_equal) == ("not compared", False)


def test_rows_without_the_recipes_of_rendered_images_cannot_be_checked(
    built: ItemSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verification, "read_image_recipes", lambda root: {})
    for source, provenance, can_check in (("generated", True, False), ("generated", False, True), ("real", True, True)):
        own_hash = recipe_hash(built.card.suite, built.card.version, source, built.card.recipe)
        update = {"source": source, "provenance": {"render": {}} if provenance else {}, "recipe_hash": own_hash}
        card = built.card.model_copy(update=update)
        assert check_rows(replace(built, card=card)) is can_check


def test_only_images_with_a_recipe_are_rendered_again(built: ItemSet, monkeypatch: pytest.MonkeyPatch) -> None:
    """Four of six images are Snellen's; an image that no item shows is not drawn either."""
    names = [media.sha256 for item in built.items for media in item.media()]
    recipes = dict.fromkeys([*names[:4], "0" * 64], '{"spec": 1}') | dict.fromkeys(names[4:], "{}")
    batches = list[dict[Path, str]]()

    def render(paths: dict[Path, str], is_drawn_here: bool) -> float:
        batches.append(paths)
        return 0.5

    monkeypatch.setattr(verification, "read_image_recipes", lambda root: recipes)
    monkeypatch.setattr(rebuild, "rebuild", render)
    assert verification.rebuild_images(built, 3) == (3, 6, 0.5)
    assert verification.rebuild_images(built, 9) == (4, 6, 0.5)
    assert [len(paths) for paths in batches] == [3, 4]
    assert {path.stem for path in batches[1]} == set(names[:4])
    recipes.update(dict.fromkeys(names, "{}"))
    with pytest.raises(SnellenError, match="--rebuild needs images rendered by Snellen, but the set contains none"):
        verification.rebuild_images(built, 3)


def _scored(root: Path, built: ItemSet) -> RunCard:
    """The card of a run with two repeats under each of two conditions; every subject says red."""
    suite = suite_of(Axis("shots", (0, 1)))
    arms = [arm(says("own:red", "red"), suite, text, repeat) for text in ("vanilla", "shots=1") for repeat in range(2)]
    ask(root, Plan(built, suite, arms))
    rescore(root, built, suite, "strict")
    return read_run_card(root).model_copy(update={"versions": {}})


@pytest.mark.parametrize(
    ("cells", "is_excused"),
    [
        ({"prediction": '"x"', "form": "y", "outcome": "no_answer", "value": 0.25}, True),
        ({"prediction": '"x"'}, True),
        ({"form": "x"}, True),
        ({"value": 0.25}, False),
        ({"outcome": "no_answer"}, False),
        ({"prediction": '"x"', "truth": '"x"'}, False),
        ({"prediction": '"x"', "cluster_id": "x"}, False),
    ],
    ids=str,
)
def test_each_reply_read_by_another_parser_is_counted_once(
    cells: dict[str, Any], is_excused: bool, tmp_path: Path, built: ItemSet
) -> None:
    """Six items in two repeats under two conditions; of each the former reading comes first."""
    card, suite, path = _scored(tmp_path, built), suite_of(Axis("shots", (0, 1))), tmp_path / "scores.strict.parquet"
    table = pq.read_table(path)
    for name, cell in cells.items():
        column = pa.array([cell] * len(table), table.schema.field(name).type)
        table = table.set_column(table.column_names.index(name), name, column)
    pq.write_table(table, path)
    if not is_excused:
        with pytest.raises(SnellenError, match=r"scores\.strict\.parquet: .* of item '000', own:red under"):
            check_scores(tmp_path, card, built, suite)
        return
    changed = check_scores(tmp_path, card, built, suite)[1]
    assert len(changed) == 6 * 2 * 2
    former, current = ('"x"', '"red"') if "prediction" in cells else ("x", "")
    assert changed[0] == f"item '000': {former} then, {current} now"


@pytest.mark.parametrize(
    ("stored", "computed", "is_same"),
    [
        (1.0, 1.0 + 5e-10, True), (1.0, 1.0 + 5e-9, False), (1e6, 1e6 + 5e-4, True), (1e6, 1e6 + 5e-3, False),
        (0.0, 5e-10, True), (0.0, 5e-9, False), (float("nan"), float("nan"), True), (float("nan"), 0.0, False),
        (0.0, float("nan"), False), (float("inf"), float("inf"), True), ("a", "a", True), ("a", "b", False),
        (None, float("nan"), False), (None, None, True), (1, 1.0, True),
    ],
)  # fmt: skip
def test_cells_are_the_same_up_to_the_last_digits(stored: object, computed: object, is_same: bool) -> None:
    assert verification._is_same(stored, computed) is is_same


@pytest.mark.parametrize(
    ("change", "may_lack"),
    [({}, False), ({"role": "person"}, True), ({"source": "recorded"}, True), ({"role": "encoder"}, False)],
    ids=str,
)
def test_only_people_and_recorded_answers_may_be_to_fewer_items(
    change: dict[str, Any], may_lack: bool, tmp_path: Path, built: ItemSet
) -> None:
    """Or a run that another parser read, since what is asked next may depend on how replies are read."""
    card = _scored(tmp_path, built).model_copy(update={"versions": read_run_card(tmp_path).versions})
    same = card.model_copy(update={"versions": {**card.versions, "parser": versions()["parser"]}})
    arm = card.arms[0].model_copy(update=change)

    def is_refused(is_same_parser: bool, **cells: Any) -> bool:
        run = (same if is_same_parser else card.model_copy(update={"versions": {}})).model_copy(
            update={"arms": [arm.model_copy(update=cells)]}
        )
        try:
            verification._check_arms(tmp_path, run, card.model_copy(update={"arms": [arm]}))
        except SnellenError as error:
            assert "fingerprint of own:red under vanilla are" in str(error)  # noqa: PT017
            return True
        return False

    assert arm.test_items == {"task": 6}
    fewer: dict[str, Any] = {"test_items": {}}
    assert [is_refused(True, **fewer), is_refused(False, **fewer)] == [not may_lack, False]
    for is_same_parser in (True, False):
        assert not is_refused(is_same_parser)
        others: tuple[dict[str, Any], ...]
        others = {"test_items": {"task": 7}}, {"columns": {"shots": 9}}, {"fingerprint": "0"}, {"test_items": {"a": 6}}
        assert all(is_refused(is_same_parser, **cells) for cells in others)
