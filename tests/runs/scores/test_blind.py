"""Blind scores of sets: those in the package, those measured on a set, and their use by commands."""

from __future__ import annotations

import math
import runpy
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from snellen.analysis.blind import too_blind
from snellen.analysis.grading.grades import grade_of
from snellen.analysis.grading.rows import Grade, ResultRow, rows_of
from snellen.cli import blind_baseline
from snellen.core.build_options import BuildOptions
from snellen.core.errors import SnellenError
from snellen.core.item import Item
from snellen.core.score import Metric
from snellen.core.storage.itemset import ItemSet, read_itemset
from snellen.core.storage.itemset_cards import BlindCard, BlindScore, FloorScore, write_blind
from snellen.exam.items import build
from snellen.exam.run import blind_subject, run
from snellen.reports.rows import metric_in, whole_tasks
from snellen.runs.scores import blind as blind_scores
from snellen.runs.scores.blind import FOLDS_METHOD, blind_card, measure_recipe, recipe_card
from snellen.suites import SUITES
from tests.helpers.journey import NAMED, STRICT, colour_set, item, suite_of, task
from tests.helpers.sets import small_set

MEASURED = [name for name in SUITES if SUITES.get(name).recipes and recipe_card(SUITES.get(name), {})]


@pytest.fixture(scope="module")
def combo(sets_folder: Path) -> ItemSet:
    return small_set("combo", sets_folder)


@pytest.mark.parametrize("name", MEASURED)
def test_packages_have_scores_of_the_current_suite(name: str) -> None:
    """A new version of a suite must be measured again: `snellen blind-baseline SUITE --out DIR`."""
    suite = SUITES.get(name)
    card = recipe_card(suite, {})
    assert card is not None
    assert f"suite version {suite.card.version}," in card.method
    whole = {score.task: score for score in card.scores if (score.protocol, score.factor) == ("strict", "")}
    tasks = [task for task in suite.tasks.values() if task.id not in suite.card.needs_real]
    expected = {task.id for task in tasks if task.protocols["strict"].judge is None}
    assert set(whole) == expected
    assert all(score.n >= 500 for score in whole.values())  # groups of two items are one unit


def test_scores_of_a_package_are_of_its_usual_recipe_alone() -> None:
    suite = SUITES.get("combo")
    assert recipe_card(suite, {}) is not None
    for changed in ({"balance": "paper"}, {"settings": {"level": "2"}}):
        assert recipe_card(suite, changed) is None
    assert recipe_card(SUITES.get("questions"), {}) is None


def test_known_leaks_are_named() -> None:
    """Materials and colours cannot be uniform together: rubber and metal have five colours, glass and wood none."""
    suite = SUITES.get("combo")
    card = recipe_card(suite, {})
    assert card is not None
    assert {score.task for score in too_blind(card.scores, suite)} == {"pattern-perception"}
    (labels,) = (s for s in card.scores if s.key == ("img2text", "strict", "accuracy", "", ""))
    assert abs(labels.value - 0.25) < 0.03
    (points,) = (s for s in card.scores if s.key == ("pattern-perception", "strict", "accuracy", "question", "anchor"))
    assert points.chance is not None
    assert abs(points.chance - 0.4) < 0.01  # 4/10 over all objects
    assert abs(points.value - 0.4) < 0.05
    assert recipe_card(suite, {"balance": "answers"}) == card
    assert recipe_card(suite, {"balance": "paper"}) is None


@pytest.mark.slow
def test_labels_by_the_papers_rule_are_measured_on_the_set_and_named(tmp_path: Path) -> None:
    """Picking labels that are not COCO names is right in half of the items."""
    suite = SUITES.get("combo")
    options = {
        "settings": {"distractors": "paper"},
        "tasks": ("img2text",),
        "renderer": "blank",
        "show_progress": False,
    }
    built = build(suite, "generated", BuildOptions(tmp_path / "set", n=120, quick=True, **options))  # type: ignore[arg-type]
    assert built.blind is not None
    (score,) = too_blind(built.blind.scores, suite)
    assert score.task == "img2text"
    assert 0.38 < score.value < 0.62


def test_a_built_set_has_its_blind_scores(combo: ItemSet, tmp_path: Path) -> None:
    assert combo.blind == recipe_card(SUITES.get("combo"), {})
    copy = tmp_path / "copy"
    shutil.copytree(combo.root, copy)
    (copy / "blind.json").unlink()
    assert read_itemset(copy).blind is None
    assert read_itemset(copy).card.content_hash == combo.card.content_hash
    (copy / "blind.json").write_text('{"schema_version": 2, "method": 1}', "utf-8")
    with pytest.raises(SnellenError, match="measure again"):
        read_itemset(copy)


def test_a_score_equal_to_the_blind_baseline_is_not_above_it(combo: ItemSet, tmp_path: Path) -> None:
    """Half is more than a quarter of the way from a chance level of 25, and no way from an equal blind baseline."""
    rows = run(combo, ["fake:oracle"], tmp_path / "run", show_progress=False).all_results()
    row = next(row for row in rows_of(whole_tasks(rows)) if row.task == "img2text")
    metric, half = metric_in(SUITES.get("combo"), row), {"value": 0.5, "low": 0.40, "high": 0.60}
    row = replace(row, cut_off_rate=0.0, ceiling=math.nan, grade=Grade(), left_out=0.0)
    assert _words(row, metric, **half, blind=0.5) == "none"
    assert _words(row, metric, value=0.6, low=0.5, high=0.7, blind=0.25) == "some"
    assert _words(row, metric, value=0.1, low=0.05, high=0.2, blind=0.25) == "none"


def _words(row: ResultRow, metric: Metric, **numbers: Any) -> str:
    return grade_of(replace(row, **numbers), metric).label


def test_a_subject_without_images_can_replace_the_attackers(combo: ItemSet, tmp_path: Path) -> None:
    """If it is better than all attackers, its score replaces theirs."""
    assert combo.blind is not None
    bare = BlindCard(method="none", scores=tuple(s.model_copy(update={"value": 0.0}) for s in combo.blind.scores))
    card = blind_subject(combo, bare, "fake:first-option", tmp_path / "run", show_progress=False)
    by_key = {score.key: score for score in card.scores}
    score = by_key["text2img", "strict", "accuracy", "", ""]
    assert score.attack == ("fake:first-option" if score.value else combo.blind.scores[0].attack)
    assert any(score.attack == "fake:first-option" for score in card.scores)
    assert "fake:first-option without images" in card.method
    measured = blind_subject(combo, combo.blind, "fake:first-option", tmp_path / "run", show_progress=False)
    assert measured.floors == combo.blind.floors


def test_the_command_measures_a_set_anew_and_a_subject_beside_the_scores_that_it_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Scores of levels and of other protocols are written, but not among the printed ones of whole tasks."""
    root = colour_set(tmp_path / "set").root
    monkeypatch.setitem(SUITES._loaded, "hard", suite_of())
    facts: Any = {"task": "task", "protocol": "strict", "metric": "accuracy", "chance": 1 / 3, "n": 4, "attack": "none"}
    old, new = (BlindScore(value=value, **facts) for value in (0.75, 0.25))
    further = [{"factor": "hue", "level": "red", "n": 3}, {"protocol": "published", "n": 2}]
    others = tuple(new.model_copy(update=change) for change in further)
    monkeypatch.setattr(blind_baseline, "measure_by_folds", lambda items, suite: [new, *others])
    monkeypatch.setattr(blind_baseline, "blind_subject", lambda items, card, *rest: card)
    write_blind(root, BlindCard(method="by hand", scores=(old, *others)))
    for subject, score in (("fake:chance", old), (None, new)):
        blind_baseline.blind(str(root), subject, None, None, 1)
        card = read_itemset(root).blind
        assert card is not None
        assert card.scores == (score, *others)
        rows = map(str.split, capsys.readouterr().out.splitlines())
        assert [cells[-2:] for cells in rows if "none" in cells] == [["4", "none"]]


@pytest.mark.slow
def test_a_recipe_is_measured_on_undrawn_sets(tmp_path: Path) -> None:
    suite = SUITES.get("vfm-bench")
    card = measure_recipe(suite, tmp_path, BuildOptions(tmp_path, n=12, show_progress=False))
    (score,) = (s for s in card.scores if (s.protocol, s.factor) == ("strict", ""))
    assert score.n == 12
    assert score.value < 0.7
    built = [read_itemset(seed) for seed in tmp_path.iterdir()]
    assert len({media.sha256 for items in built for item in items.items for media in item.media()}) > 24


class Recipe:
    """A recipe of two training items of the task `a`, and two test items of each task; it keeps its options."""

    def __init__(self) -> None:
        self.built = list[BuildOptions]()

    def build(self, options: BuildOptions) -> Any:
        self.built.append(options)
        cells = [("a", "train"), ("a", "test"), ("b", "test")]
        items = [
            item(f"{task}-{split}-{n}", [], "red", "choice", options=NAMED, task=task, split=split, group_id=f"g{n}")
            for task, split in cells if task in options.tasks for n in range(2)
        ]  # fmt: skip
        return SimpleNamespace(items=items, card=SimpleNamespace(recipe={"seed": options.seed}), root=options.out)


def test_attackers_learn_from_training_items_or_else_from_other_seeds(monkeypatch: pytest.MonkeyPatch) -> None:
    """450 items are asked for: three sets of 200. Task `a` may be answered from cheap images, and `c` needs a judge."""
    recipe: Any = Recipe()
    fitted, rules = list[tuple[list[str], list[str]]](), list[tuple[list[int], bool]]()
    judged = {"strict": replace(STRICT, judge=lambda item, response: item)}
    tasks = [task(id="a", cheap_sight="a thumbnail"), task(id="b"), task(id="c", protocols=judged), task(id="d")]
    suite = suite_of(tasks=tasks)
    suite = replace(suite, recipes={"generated": recipe}, card=suite.card.model_copy(update={"needs_real": ("d",)}))

    def measure(train: list[Item], tested: list[Item], suite: Any, attacks: Any) -> list[BlindScore]:
        fitted.append(([each.item_id for each in train], [each.item_id for each in tested]))
        return []

    def floors(suite: Any, sets: Any, with_images: bool = False) -> list[FloorScore]:
        rules.append(([items.card.recipe["seed"] for items in sets], with_images))
        return [FloorScore(task="a", protocol="strict", metric="m", name=f"{with_images}", value=0.5, n=1)]

    for name, stub in (("measure_blind", measure), ("_floors", floors), ("across_questions", lambda items: None)):
        monkeypatch.setattr(blind_scores, name, stub)
    card = measure_recipe(suite, Path("out"), BuildOptions(Path("out"), n=450, workers=3))
    names = ("seed", "n", "tasks", "quick", "renderer", "size", "quality", "out", "workers")
    built = [tuple(getattr(options, name) for name in names) for options in recipe.built]
    blank, rendered = (True, suite.blind_renderer, None, "good"), (False, "mitsuba", (320, 240), "fast")
    assert built == [
        *((seed, 200, ("a", "b"), *blank, Path(f"out/seed-{seed}"), 3) for seed in (100, 101, 102)),
        *((seed, 200, ("b",), *blank, Path(f"out/seed-{seed}"), 3) for seed in (200, 201, 202)),
        *((seed, 36, ("a",), *rendered, Path(f"out/rendered/seed-{seed}"), 3) for seed in (100, 101, 102, 103)),
    ]
    assert all(options.allow_unmatched for options in recipe.built)
    ((train, tested),) = fitted
    assert train == [f"{seed}-{name}-{n}" for seed, name in (
        *((seed, "a-train") for seed in (100, 101, 102)), *((seed, "b-test") for seed in (200, 201, 202))
    ) for n in range(2)]  # fmt: skip
    assert tested == [f"{seed}-{t}-test-{n}" for seed in (100, 101, 102) for t in "ab" for n in range(2)]
    assert rules == [([100, 101, 102], False), ([100, 101, 102, 103], True)]
    assert [floor.name for floor in card.floors] == ["False", "True"]
    assert card.method == (
        "generated items of suite version 1, 450 per task, from seed 100 on; attackers were fitted and chosen on "
        "training items, or on items of other seeds; floors that read images on 144 rendered items per task"
    )
    pooled = blind_scores._pooled([recipe.build(recipe.built[0])])[0]
    assert (pooled.group_id, pooled.cluster_id) == ("100-g0", "100-g0")


def test_a_floor_of_several_sets_is_the_mean_over_their_units(monkeypatch: pytest.MonkeyPatch) -> None:
    def scores(name: str, value: float, n: int) -> FloorScore:
        return FloorScore(task="a", protocol="strict", metric="m", name=name, value=value, n=n)

    of_set = {"x": [scores("r", 0.5, 30), scores("s", 0.2, 30)], "y": [scores("r", 0.8, 10)]}
    stub = lambda items, suite: SimpleNamespace(scores=lambda with_images: of_set[items] if with_images else [])  # noqa: E731
    monkeypatch.setattr(blind_scores, "Floors", stub)
    sets: Any = ["x", "y"]
    assert list(blind_scores._floors(suite_of(), sets, True)) == [scores("r", 0.575, 40), scores("s", 0.2, 30)]
    assert list(blind_scores._floors(suite_of(), sets)) == []


def test_tasks_above_chance_and_those_without_enough_images_have_a_note() -> None:
    suite = SUITES.get("combo")
    facts: Any = {"protocol": "strict", "metric": "accuracy", "chance": 0.25, "n": 400}
    values = {"img2text": 0.5, "text2img": 0.25, "category-building": 0.9}
    scores = tuple(BlindScore(task=name, value=value, attack=f"by {name}", **facts) for name, value in values.items())
    tasks = ["text2img", "img2text", "pattern-perception"]
    above = "img2text: blind baseline 50.0 % (by img2text), chance 25.0 %"
    few = "pattern-perception: no blind baseline, with fewer than 10 different images"
    for method, notes in ((FOLDS_METHOD, [few, above]), ("by recipe", [above])):
        assert blind_baseline.blind_notes(BlindCard(method=method, scores=scores), suite, tasks) == notes


def test_a_set_of_another_source_is_measured_by_itself(combo: ItemSet) -> None:
    released = ItemSet(combo.root, combo.card.model_copy(update={"source": "released"}), combo.items, combo.media)
    assert "nested folds" in blind_card(released, SUITES.get("combo")).method


def test_the_page_shows_the_scores_of_the_packages() -> None:
    """`python bench/blind.py --write` fixes it."""
    script = runpy.run_path(str(Path(__file__).parents[3] / "bench" / "blind.py"))
    for page, lines in script["TABLES"].items():
        assert "\n".join(lines()) in (script["PAGES"] / page).read_text("utf-8")
