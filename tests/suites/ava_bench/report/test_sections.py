"""Report sections of AVA-Bench, on a few items whose answers and tables are computed by hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from snellen.analysis.grading.results import results, with_python_strings
from snellen.analysis.tables.run_view import main_arms
from snellen.analysis.tables.section import ReportSection, Run
from snellen.core.condition import parse_conditions
from snellen.core.item import Item
from snellen.core.response import Response
from snellen.core.storage.itemset import ItemSet
from snellen.core.storage.itemset_cards import ItemSetCard
from snellen.core.storage.media import MediaFolder
from snellen.core.storage.runfolder import ArmCard, RunCard, kind_by_name
from snellen.core.subject import SubjectCard
from snellen.core.suite import settle
from snellen.runs.scores.score import score
from snellen.suites.ava_bench.abilities.counting import counting_item
from snellen.suites.ava_bench.abilities.counting_by_colour import counting_by_colour_item
from snellen.suites.ava_bench.abilities.localization import localization_item
from snellen.suites.ava_bench.abilities.nearer_localization import nearer_localization_item
from snellen.suites.ava_bench.abilities.ocr import ocr_item
from snellen.suites.ava_bench.abilities.spatial import spatial_item
from snellen.suites.ava_bench.free_answer_chance import with_chance
from snellen.suites.ava_bench.report.sections import sections, tower_of
from snellen.suites.ava_bench.tasks import AXES, resolve
from tests.goldens.golden import assert_golden
from tests.goldens.sections import sections_text
from tests.helpers.journey import suite_of
from tests.helpers.sections import UNHASHED, by_name
from tests.suites.ava_bench.fixtures import TASK_BY_NAME, item_source

SUITE = suite_of(*AXES, tasks=tuple(TASK_BY_NAME.values()), resolve=resolve)
Says = Callable[[Item], str | None]
"""The reply of a subject to an item; None is a failed call."""
RED, ABOVE = (10.0, 60.0, 50.0, 90.0), (100.0, 10.0, 120.0, 30.0)
COUNTS, WORDS = (2, 4, 8, 10), ("STOP", "GO", "EXIT", "OPEN")
SIZES = ((0.0, 0.0, 20.0, 40.0), (10.0, 10.0, 50.0, 60.0))
"""800 and 2000 of 20000 pixels: 0.04 and 0.1, both in the first bin; `BIG` is in the last."""
BIG = (0.0, 0.0, 100.0, 80.0)


def made_items() -> list[Item]:
    """Four images with items of four tasks, one cluster each; the red thing is at the lower left."""
    items = []
    for n in range(4):
        source = item_source(str(n))
        items += [
            localization_item(source, "cup", BIG if n > 1 else SIZES[n]),
            counting_item(source, "apples", COUNTS[n]),
            spatial_item(source, "cup", "towel", RED, ABOVE),
            ocr_item(source, RED, WORDS[n]),
        ]
    return with_chance(items)


def itemset(items: Sequence[Item]) -> ItemSet:
    card = ItemSetCard(
        suite="ava-bench", version="1", source="generated", recipe={}, recipe_hash="", content_hash="",
        items=len(items), counts={},
    )  # fmt: skip
    return ItemSet(Path(), card, tuple(items), MediaFolder(Path()))


def right_on(*numbers: int) -> Says:
    """Right on these images; else the whole image, twice the number, a wrong position, other letters."""

    def says(item: Item) -> str:
        if int(item.cluster_id.rpartition("-")[2]) in numbers:
            return item.view().reply.write(item.answer)
        if item.task == "counting":
            return str(2 * item.answer)
        return {"localization": "[0, 0, 200, 100]", "spatial": "Right above", "ocr": "zzzzzzzz"}[item.task]

    return says


ALL = right_on(0, 1, 2, 3)


def run(
    replies: Mapping[tuple[str, str], Says],
    attributes: Mapping[str, dict[str, str]] | None = None,
    items: Sequence[Item] | None = None,
) -> Run:
    questions, arms, responses = itemset(made_items() if items is None else items), [], list[Response]()
    for (subject, condition_text), says in replies.items():
        (condition,) = parse_conditions(AXES, condition_text)
        subject_card = SubjectCard(subject, **kind_by_name(subject))
        arms.append(
            ArmCard(
                subject=subject, fingerprint=subject, settings={}, attributes=(attributes or {}).get(subject, {}),
                condition=str(condition), columns=settle(condition, SUITE, subject_card).columns(), repeat=0,
            )
        )  # fmt: skip
        for item in questions.items:
            if item.task != "spatial" and condition["boxes"] != "auto":
                continue
            text = says(item)
            status, name = "failed" if text is None else "ok", f"{subject}/{condition}/{item.item_id}"
            cells = (item.item_id, item.task, str(condition), 0, status, text, "", item.view().reply, ())
            responses.append(Response(name, subject, subject, *cells))  # type: ignore[arg-type]
    scores = with_python_strings(score(responses, questions, SUITE, "strict", {}))
    card = RunCard(suite="ava-bench", version="1", seed=0, limit=None, arms=arms, **UNHASHED)
    rows = with_python_strings(results(scores, questions, SUITE, arms))
    return Run(card, SUITE, questions, (), {"strict": scores}, rows)


def report_of(examined: Run, *, with_figures: bool = False) -> dict[str, ReportSection]:
    """The sections by name. Figures are drawn in one run of each kind, since drawing is slow."""
    return by_name(sections(examined), with_figures=with_figures)


def row_of(section: ReportSection, name: str, column: str = "subject") -> dict[str, str]:
    (record,) = section.table[section.table[column] == name].to_dict("records")
    return {str(key): str(value) for key, value in record.items()}


def start(cell: str) -> float:
    """The number of a cell, without its interval."""
    return float(cell.split(" ")[0].rstrip(","))


@pytest.fixture(scope="module")
def three() -> dict[str, ReportSection]:
    subjects = {("best", ""): ALL, ("fake:oracle", ""): ALL, ("half", ""): right_on(0, 1), ("none", ""): right_on()}
    return report_of(run(subjects), with_figures=True)


def test_ranks_leave_out_simulated_observers(three: dict[str, ReportSection]) -> None:
    section = three["ranks"]
    assert list(section.table["subject"]) == ["best", "half", "none"]
    assert list(section.table.columns) == ["subject", "average rank", "ocr", "counting", "localization", "spatial"]
    assert [start(cell) for cell in section.table["average rank"]] == [1, 2, 3]
    assert "3 subjects" in section.note


def test_a_subject_with_a_missing_task_has_no_rank() -> None:
    def mute(item: Item) -> str | None:
        return None if item.task == "ocr" else ALL(item)

    report = report_of(
        run({("mute", ""): mute, ("half", ""): right_on(0, 1), ("none", ""): right_on()}), with_figures=True
    )
    assert list(report["ranks"].table["subject"]) == ["half", "none"]
    assert row_of(report["fingerprints"], "mute")["ocr"] == "–"
    assert "ranks" not in report_of(run({("mute", ""): mute, ("half", ""): right_on(0, 1)}))


def test_spread(three: dict[str, ReportSection]) -> None:
    row = row_of(three["spread"], "spatial ↑", "ability")
    # Shares of 1, 1/2 and 0: a standard deviation of 1/2. A perfect score is 75 points above chance: 50 of 75.
    assert (row["spread"], row["best minus worst"], row["% of the way"], row["items"]) == ("50", "100", "66.7", "4")
    assert row_of(three["spread"], "counting relative error ↓", "ability")["spread"] == "0.500"


def test_fingerprints(three: dict[str, ReportSection]) -> None:
    assert row_of(three["fingerprints"], "best") == {
        "subject": "best", "ocr": "100", "counting": "100", "localization": "100", "spatial": "100",
    }  # fmt: skip
    # Half right is 25 of the 75 points above chance, none right is 25 below.
    assert row_of(three["fingerprints"], "half")["spatial"] == "33"
    assert row_of(three["fingerprints"], "none")["spatial"] == "-33"


def test_a_ring_has_three_abilities_or_more() -> None:
    def report(*tasks: str) -> dict[str, ReportSection]:
        return report_of(run({("a", ""): ALL}, items=[item for item in made_items() if item.task in tasks]))

    three = report("counting", "localization", "spatial")["fingerprints"].table
    assert three.to_dict("list") == {
        "subject": ["a"], "counting": ["100"], "localization": ["100"], "spatial": ["100"],
    }  # fmt: skip
    assert "fingerprints" not in report("localization", "spatial")


def test_each_panel_of_fingerprints_has_its_reference() -> None:
    towers = ("head:google/siglip2-so400m", "head:openai/clip-vit", "head:dinov2-large", "head:sam-vit", "chat:sample")
    examined = run({(name, ""): right_on(0) for name in towers})
    assert [tower_of(arm) for arm in main_arms(examined)] == ["SigLIP-2", "CLIP", "DINOv2", "SAM", ""]
    figure = report_of(examined)["fingerprints"].figure()
    figure.draw_without_rendering()
    legends = [[text.get_text() for text in axes.get_legend().get_texts()] for axes in figure.axes]
    assert [[" ".join(name.split()) for name in panel] for panel in legends] == [
        ["head:google/siglip2-so400m", "head:openai/clip-vit", "head:dinov2-large (reference)"],
        ["head:dinov2-large", "head:sam-vit", "head:google/siglip2-so400m (reference)"],
        ["chat:sample"],
    ]


def composite_run() -> Run:
    """Localization orders a, b, c, d; so does spatial without boxes, and with boxes all are right."""
    replies: dict[tuple[str, str], Says] = {}
    for name, images in {"d": (3,), "a": (0, 1, 2, 3), "b": (1, 2, 3), "c": (2, 3)}.items():
        bare = right_on(*images)

        def with_boxes(item: Item, bare: Says = bare) -> str | None:
            return bare(item) if item.task == "localization" else ALL(item)

        replies[name, ""], replies[name, "boxes=drawn"] = bare, with_boxes
    return run(replies)


def test_spatial_without_boxes() -> None:
    report = report_of(composite_run(), with_figures=True)
    table = report["without-boxes"].table
    assert list(table["subject"]) == ["a", "b", "c", "d"]
    assert [start(cell) for cell in table["boxes drawn"]] == [100] * 4
    assert [start(cell) for cell in table["without boxes"]] == [100, 75, 50, 25]
    assert [start(cell) for cell in table["change"]] == [0, -25, -50, -75]
    order = report["without-boxes-order"]
    assert start(row_of(order, "localization", "ability")["tau-b"]) == 1
    assert row_of(order, "spatial", "ability")["tau-b"] == "–"  # with boxes all are equal
    assert "without-boxes" not in report_of(run({("a", ""): ALL, ("b", ""): right_on(0)}))


def test_two_evaluators() -> None:
    towers = {"A": (0, 1, 2, 3), "B": (0, 1, 2), "C": (0, 1), "D": ()}
    replies = {
        (f"head:{size}-{tower}", ""): right_on(*images) for size in ("0.5B", "7B") for tower, images in towers.items()
    }
    replies["head:7B-A", ""] = right_on()  # the larger one has A and D equal, behind the others
    attributes = {f"head:{size}-{t}": {"tower": t, "evaluator": size} for size in ("0.5B", "7B") for t in towers}
    sections = report_of(run(replies, attributes), with_figures=True)
    section, gaps = sections["evaluators"], sections["gaps"]
    row = row_of(section, "spatial", "ability")
    assert (row["evaluator"], row["other evaluator"], row["encoders"]) == ("0.5B", "7B", "4")
    # Pairs AB, AC, AD, BC, BD, CD: against, against, tied, with, with, with: (3 - 2) / sqrt(6 * 5) = 0.18.
    assert start(row["tau-b"]) == 0.18
    # Ranks 1, 2, 3, 4 and 3.5, 1, 2, 3.5: covariance 0.5 over sqrt(5 * 4.5) = 0.105.
    assert start(row["rho"]) == 0.11
    assert start(row_of(section, "(average rank)", "ability")["tau-b"]) == 0.18  # every ability has this order
    assert row_of(section, "(mean of abilities)", "ability")["tau-b"].startswith("0.18")  # so the mean has it too
    # Right 4, 3, 2 and 0 of 4 against 0, 3, 2 and 0: 9/16 and 5/16. Counting errs by 1 if it is wrong: 7/16, 11/16.
    rows = {row["ability"].split()[0]: row for row in gaps.table.to_dict("records")}
    cells = {task: [rows[task][name].split()[0] for name in ("score", "other score", "gap")] for task in rows}
    assert (cells["spatial"], cells["counting"]) == (["56", "31", "25"], ["0.438", "0.688", "0.250"])
    assert not {"evaluators", "gaps"} & set(report_of(run(replies)))


def test_the_main_condition_is_that_of_most_subjects() -> None:
    examined = run({("a", "prompt=short"): ALL, ("b", "prompt=short"): ALL, ("b", "prompt=minimal"): right_on()})
    assert {arm.condition for arm in main_arms(examined)} == {"prompt=short"}
    section = report_of(examined)["ranks"]
    assert [start(cell) for cell in section.table["average rank"]] == [1.5, 1.5]
    assert section.note.endswith("All under prompt=short.")


def test_a_run_without_scores_has_no_sections() -> None:
    assert report_of(run({("a", ""): lambda item: None})) == {}


def test_every_section_of_a_rich_run_is_as_it_was() -> None:
    """Two evaluators of four towers, one subject without replies to a task, observers, and composites."""
    items = made_items()
    for n in range(4):
        source = item_source(str(n))
        items.append(counting_by_colour_item(source, "red", "apples", n + 1, 2 * n + 3))
        items.append(nearer_localization_item(source, ("cup", "van"), (SIZES[1], ABOVE), (2.2 + n, 3.7), "outdoor"))
    items = with_chance(items)

    def says(images: Sequence[int], task: str = "") -> Says:
        """Right on these images, silent in one task; else the truth of the image before, or the last of all."""

        def reply(item: Item) -> str | None:
            if item.task == task:
                return None
            others = [other for other in items if other.task == item.task]
            right = int(item.cluster_id) in images
            answered = item if right else others[others.index(item) - 1]
            return item.view().reply.write(answered.answer if right or item.task != "spatial" else "Right above")

        return reply

    towers = {"siglip2": (0, 1, 2, 3), "clip": (1, 2, 3), "dinov2": (0, 2), "sam": (3,)}
    replies: dict[tuple[str, str], Says] = {}
    for number, (tower, images) in enumerate(towers.items()):
        for size in ("0.5B", "7B"):
            images = tuple((n + number) % 4 for n in images) if size == "7B" else images
            replies[f"head:{size}/{tower}", ""] = says(images)
        replies[f"head:0.5B/{tower}", "boxes=none"] = says(images[1:])
    replies |= {("chat:mute", ""): says((0, 1), "ocr"), ("fake:oracle", ""): ALL, ("fake:chance", ""): says((2,))}
    attributes = {
        name: {"evaluator": name[5:].split("/")[0], "tower": name.split("/")[1]} for name, _ in replies if "/" in name
    }
    assert_golden("ava-bench/sections.txt", sections_text(sections(run(replies, attributes, items))))
