"""Tasks composed of two abilities: questions, observers that fail them, and their absence from all ranks."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import numpy as np
import pandas as pd
import pytest

from snellen.analysis.grading.results import results
from snellen.analysis.tables.section import ReportSection
from snellen.core.condition import parse_conditions
from snellen.core.errors import SnellenError
from snellen.core.item import Item
from snellen.core.storage.itemset import ItemSet, write_itemset
from snellen.core.storage.media import MediaFolder
from snellen.core.suite import ViewContext
from snellen.runs.asking.ask import ask
from snellen.runs.planning.plan import Plan
from snellen.runs.scores.score import score, score_one
from snellen.subjects.fakes import make_fake
from snellen.suites.ava_bench.abilities import ABILITIES, ability_named, names
from snellen.suites.ava_bench.abilities.colour import colour_item
from snellen.suites.ava_bench.abilities.counting import counting_item
from snellen.suites.ava_bench.abilities.counting_by_colour import counting_by_colour_item
from snellen.suites.ava_bench.abilities.localization import localization_item
from snellen.suites.ava_bench.abilities.nearer_localization import nearer_localization_item
from snellen.suites.ava_bench.free_answer_chance import with_chance
from snellen.suites.ava_bench.published import COLUMNS, published
from snellen.suites.ava_bench.tasks import AXES
from tests.helpers.journey import arm
from tests.published.ava_bench import TABLE_2
from tests.suites.ava_bench.fixtures import ATOMIC, COMPOSITES, HEIGHT, TASK_BY_NAME, WIDTH, item_source
from tests.suites.ava_bench.report.test_sections import ALL, Says, report_of, row_of, run, start
from tests.suites.ava_bench.test_scoring import replied
from tests.suites.ava_bench.test_tasks import PERFECT, SUITE, image, wording

LEFT, RIGHT = (10.0, 20.0, 50.0, 60.0), (100.0, 10.0, 180.0, 90.0)
"""1600 and 6400 of 20000 pixels."""


def colour_count_item(handle: str = "7", count: int = 3, of_kind: int = 8, **fields: object) -> Item:
    return counting_by_colour_item(item_source(handle, **fields), "red", "cubes", count, of_kind)


def nearer_item(handle: str = "7", depths_m: tuple[float, float] = (3.0, 2.5), **fields: object) -> Item:
    return nearer_localization_item(item_source(handle, **fields), ("egg", "cone"), (LEFT, RIGHT), depths_m, "indoor")


def test_questions_and_factors() -> None:
    item = colour_count_item()
    assert (item.question, item.answer) == ("How many red cubes are in the image?", 3)
    assert item.factors["count_range"] == "1-5"
    assert item.measures == {"count": 3, "of_kind": 8}
    item = nearer_item()
    assert item.question == (
        "Provide bounding box coordinate for whichever is closer to the camera, the egg or the cone."
    )
    assert (item.answer_kind, tuple(item.answer)) == ("box", RIGHT)  # the second is nearer by half a metre
    assert {name: tuple(box) for name, box in item.regions.items()} == {"box": RIGHT, "farther": LEFT}
    names = ("thing", "reference", "named", "box_size", "scene_type")
    assert [item.factors[name] for name in names] == ["cone", "egg", "second", "0.3-0.5", "indoor"]
    assert item.measures == {"area_share": 0.32, "depth_gap_m": 0.5}
    assert tuple(nearer_item(depths_m=(2.5, 3.0)).answer) == LEFT
    assert nearer_item(depths_m=(2.5, 3.0)).factors["named"] == "first"


def test_items_that_one_ability_solves_are_refused() -> None:
    assert colour_count_item(count=7, of_kind=8).answer == 7
    for count, of_kind in ((8, 8), (0, 8), (41, 50)):
        with pytest.raises(SnellenError, match="must have the colour, and others must not"):
            colour_count_item(count=count, of_kind=of_kind)
    with pytest.raises(SnellenError, match=r"differ by less than 0\.5 m"):
        nearer_item(depths_m=(3.0, 3.4))
    with pytest.raises(SnellenError, match="both things are called 'Egg'"):
        nearer_localization_item(item_source(), ("Egg", "egg"), (LEFT, RIGHT), (1.0, 2.0), "indoor")


def test_items_have_a_possible_world_for_each_dimension() -> None:
    item = colour_count_item(known=True)
    assert item.requires == ("number", "colour")
    assert item.latent["worlds"] == [
        {"look": {"number": "0", "colour": "0"}, "answer": 3},
        {"look": {"number": "1", "colour": "0"}, "answer": 4},
        {"look": {"number": "0", "colour": "1"}, "answer": 8},  # a colour-blind observer counts all cubes
    ]
    item = nearer_item(known=True)
    assert item.requires == ("location", "depth")
    worlds = [(world["look"], tuple(world["answer"])) for world in item.latent["worlds"]]
    assert worlds == [
        ({"location": "0", "depth": "0"}, RIGHT),
        ({"location": "1", "depth": "0"}, (0, 0, WIDTH, HEIGHT)),
        ({"location": "0", "depth": "1"}, LEFT),
    ]


def test_the_images_shown(tmp_path: Path) -> None:
    media = MediaFolder(tmp_path)
    for item in (colour_count_item(image=image(media, 1)), nearer_item(image=image(media, 1))):
        (point,) = parse_conditions(AXES, "format=paper")
        assert wording(item, media, "format=paper") == item.question
        view = item.view()
        for transform in TASK_BY_NAME[item.task].transforms(item, ViewContext(point, [item])):
            view = transform(view, media, np.random.default_rng(0))
        pixels = np.array(media.open(view.query[0]))
        located = item.task == "nearer-localization"
        assert pixels.shape == ((WIDTH, WIDTH, 3) if located else (HEIGHT, WIDTH, 3))
        assert len(np.unique(pixels.reshape(-1, 3), axis=0)) == (2 if located else 1)  # only padding, no lines
        assert (view.reply.frame is not None) == located


@pytest.mark.parametrize(
    ("item", "text", "expected"),
    [
        (colour_count_item(), "3", 0),
        (
            colour_count_item(),
            "There are 6 red cubes.",
            1,
        ),  # the script of counting skips everything that is not a number
        (colour_count_item(), "30", 1),  # nine times the truth too many, capped at 1
        (nearer_item(), "[0.5, 0.3, 0.9, 0.7]", 1),
        (nearer_item(), "[0.05, 0.35, 0.25, 0.55]", -7 / 17),  # disjoint: 13600 - 8000 of the 170 x 80 around both
        (nearer_item(), "[0.9, 0.7, 0.5, 0.3]", -1),  # the script of localization would correct the corners
    ],
)
def test_both_protocols_equal_the_strict_one_of_the_part(item: Item, text: str, expected: float) -> None:
    first = ABILITIES[item.task].parts[0].protocols["strict"].metrics[0].name
    for protocol in ability_named(item.task).protocols.values():
        assert protocol.metrics[0].name == first
        assert score_one(item, replied(item, text), protocol)[2][first] == pytest.approx(expected)


def test_chance_is_the_score_of_other_truths() -> None:
    items = with_chance([colour_count_item(str(n), count, 12) for n, count in enumerate((2, 3, 10))])
    for protocol in ability_named("counting-by-colour").protocols.values():
        chances = [protocol.metrics[0].chance(item) for item in items]
        assert chances == pytest.approx([0.75, (1 / 3 + 1) / 2, 0.75])  # errors 1/2 and 4; 1/3 and 7/3; 0.8 and 0.7


def test_composites_are_not_among_the_fourteen() -> None:
    assert len(ATOMIC) == 14
    for tasks in (ATOMIC, COLUMNS, TABLE_2):
        assert not set(COMPOSITES) & set(tasks)
    assert [names(ABILITIES[task].parts) for task in COMPOSITES] == [
        ("counting", "colour"),
        ("localization", "relative-depth"),
    ]
    assert not any(ABILITIES[task].meaning for task in COMPOSITES)
    assert {column.task for table in published() for column in table.columns} == set(ATOMIC)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> ItemSet:
    """Thirty items of each task, whose answers all differ."""
    root = tmp_path_factory.mktemp("composed")
    media, items = MediaFolder(root / "media"), list[Item]()
    for n in range(30):
        source = item_source(f"{n:02}", image=image(media, n), known=True)
        box, far = (5.0 * n, 2.0 * n, 5.0 * n + 40, 2.0 * n + 30), (0.0, 60.0 - 2 * n, 10.0, 99.0)
        items.append(counting_by_colour_item(source, "red", "cubes", n + 1, 2 * n + 3))
        items.append(nearer_localization_item(source, ("egg", "cone"), (box, far), (2.0, 3.0), "indoor"))
    return write_itemset(root, with_chance(items), source="generated", recipe={"seed": 0})


@pytest.mark.parametrize(
    ("fake", "failed"),
    [
        ("oracle", ()), ("blind-to=number", COMPOSITES[:1]), ("blind-to=colour", COMPOSITES[:1]),
        ("blind-to=location", COMPOSITES[1:]), ("blind-to=depth", COMPOSITES[1:]),
    ],
)  # fmt: skip
def test_an_observer_blind_to_a_part_falls_to_chance(
    built: ItemSet, tmp_path: Path, fake: str, failed: tuple[str, ...]
) -> None:
    responses = ask(tmp_path, Plan(built, SUITE, [arm(make_fake(fake, {}, built.items), SUITE, "vanilla")]))
    rows = results(score(responses, built, SUITE), built, SUITE, [])
    rows = rows[rows["factor"] == ""].set_index(["task", "metric"])
    assert set(rows.index.get_level_values("task")) == set(COMPOSITES)
    for key, row in rows.iterrows():
        task, metric = cast(tuple[str, str], key)
        if task in failed:
            assert row["low"] <= row["chance"] <= row["high"]
            assert row["value"] != pytest.approx(PERFECT[metric], abs=0.2)
        else:
            assert row["value"] == pytest.approx(PERFECT[metric], abs=1e-4)


# Report sections


def composed_items() -> list[Item]:
    """Four images with both composite tasks and three abilities; see `composed` for the answers."""
    items = []
    for n in range(4):
        source = item_source(str(n))
        items += [
            counting_item(source, "apples", 10),
            localization_item(source, "cup", RIGHT),
            colour_item(source, LEFT, (10 * n, 0, 0)),
            counting_by_colour_item(source, "red", "cubes", 10, (11, 14, 25, 40)[n]),
            nearer_localization_item(source, ("egg", "cone"), (LEFT, RIGHT), (3.0, 2.0), "indoor"),
        ]
    return with_chance(items)


def right_on(**numbers: tuple[int, ...]) -> Says:
    """Replies by task: right on these images; else no answer, which is the worst score."""

    def says(item: Item) -> str:
        correct = int(item.cluster_id) in numbers[item.task.replace("-", "_")]
        return item.view().reply.write(item.answer) if correct else "?"

    return says


def composed() -> dict[tuple[str, str], Says]:
    """Counting orders a, b, c; colour and counting by colour c, b, a; all locate equally well."""
    images_by_subject = {"a": (0,), "b": (0, 1), "c": (0, 1, 2)}
    best_last = dict(images_by_subject)
    best_first = dict(zip("abc", reversed(images_by_subject.values()), strict=True))
    return {
        (name, ""): right_on(
            counting=best_first[name], localization=(0, 1), colour=best_last[name],
            counting_by_colour=best_last[name], nearer_localization=best_first[name],
        )
        for name in "abc"
    }  # fmt: skip


@pytest.fixture(scope="module")
def three() -> dict[str, ReportSection]:
    return report_of(run(composed(), items=composed_items()))


def test_the_table_of_composites_shows_the_score_of_one_part_alone() -> None:
    section = report_of(run({**composed(), ("fake:oracle", ""): ALL}, items=composed_items()))["composites"]
    counting, locating = "counting-by-colour relative error ↓", "nearer-localization GIoU ↑"
    assert list(section.table.columns) == ["subject", counting, locating]
    assert [start(cell) for cell in section.table[counting][:4]] == [0.75, 0.5, 0.25, 0]
    assert [start(cell) for cell in section.table[locating][:4]] == [0.5, 0, -0.5, 1]
    assert row_of(section, "(chance)")[counting] == "0.000"  # the other truths are also 10
    # Errors of 0.1, 0.4, 1.5 and 3 in counting all cubes, the last two capped at 1.
    assert row_of(section, "(counts things of all colours)") == {
        "subject": "(counts things of all colours)", counting: "0.625", locating: "–",
    }  # fmt: skip
    # The mean of 1 and the -7/17 of two boxes far apart.
    assert row_of(section, "(boxes either of the two)")[locating] == "0.294"


def test_the_order_of_a_composite_is_compared_with_each_ability(three: dict[str, ReportSection]) -> None:
    section = three["counting-by-colour-order"]
    assert list(section.table["ability"]) == ["counting", "localization", "colour"]
    assert list(section.table["part of it"]) == ["yes", "", "yes"]
    assert [cell.split(" ")[0] for cell in section.table["tau-b"]] == ["-1.00", "–", "1.00"]
    assert list(section.table["subjects"]) == ["3"] * 3
    assert start(row_of(three["nearer-localization-order"], "counting", "ability")["rho"]) == 1


def test_no_rank_or_fingerprint_counts_a_composite(three: dict[str, ReportSection]) -> None:
    atomic = [item for item in composed_items() if item.task in ATOMIC]
    fewer = report_of(run(composed(), items=atomic))
    assert set(three) - set(fewer) == {"composites", *(f"{task}-order" for task in COMPOSITES)}
    for name, section in fewer.items():
        pd.testing.assert_frame_equal(three[name].table, section.table)


def test_a_run_of_only_composites_has_only_their_table_and_two_subjects_have_no_order() -> None:
    composites = [item for item in composed_items() if item.task in COMPOSITES]
    assert set(report_of(run(composed(), items=composites))) == {"composites"}
    atomic = [item for item in composed_items() if item.task in (*COMPOSITES, "counting")]
    assert "counting-by-colour-order" not in report_of(run(dict(list(composed().items())[:2]), items=atomic))
