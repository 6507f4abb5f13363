"""What a report shows of AVA-Bench, on a few items whose answers, and so whose tables, are worked out by hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from snellen.analysis.results import results, with_python_strings
from snellen.analysis.run_view import main_arms
from snellen.analysis.section import ReportSection, Run
from snellen.core.condition import parse_conditions
from snellen.core.item import Item
from snellen.core.response import Response
from snellen.core.storage.itemset import ItemSet, ItemSetCard
from snellen.core.storage.media import MediaFolder
from snellen.core.storage.runfolder import ArmCard, RunCard
from snellen.runs.score import score
from snellen.suites.ava_bench import report_sections
from snellen.suites.ava_bench.abilities.counting import counting_item
from snellen.suites.ava_bench.abilities.localization import localization_item
from snellen.suites.ava_bench.abilities.ocr import ocr_item
from snellen.suites.ava_bench.abilities.spatial import spatial_item
from snellen.suites.ava_bench.free_answer_chance import with_chance
from snellen.suites.ava_bench.report.fingerprints import tower_of
from snellen.suites.ava_bench.tasks import AXES, resolve
from tests.helpers.journey import suite_of
from tests.helpers.sections import UNHASHED, by_name
from tests.suites.ava_bench.fixtures import TASK_BY_NAME, shown

SUITE = suite_of(*AXES, tasks=tuple(TASK_BY_NAME.values()), resolve=resolve)
Says = Callable[[Item], str | None]
"""What somebody replies to an item; None is a failed call."""
RED, ABOVE = (10.0, 60.0, 50.0, 90.0), (100.0, 10.0, 120.0, 30.0)
COUNTS, WORDS = (2, 4, 8, 10), ("STOP", "GO", "EXIT", "OPEN")
SIZES = ((0.0, 0.0, 20.0, 40.0), (10.0, 10.0, 50.0, 60.0))
"""800 and 2000 of 20000 pixels: 0.04 and 0.1, both in the first bin; see `BIG` for the last."""
BIG = (0.0, 0.0, 100.0, 80.0)


def made_items() -> list[Item]:
    """Four items of four tasks, each a cluster; the red thing lies left below."""
    found = []
    for n in range(4):
        of = shown(str(n))
        found += [
            localization_item(of, "cup", BIG if n > 1 else SIZES[n]),
            counting_item(of, "apples", COUNTS[n]),
            spatial_item(of, "cup", "towel", RED, ABOVE),
            ocr_item(of, RED, WORDS[n]),
        ]
    return with_chance(found)


def itemset(items: Sequence[Item]) -> ItemSet:
    card = ItemSetCard(
        suite="ava-bench", version="1", source="generated", recipe={}, recipe_hash="", content_hash="",
        items=len(items), counts={},
    )  # fmt: skip
    return ItemSet(Path(), card, tuple(items), MediaFolder(Path()))


def right_on(*numbers: int) -> Says:
    """Right on these images; else the whole image, twice the number, a wrong place, other letters."""

    def says(item: Item) -> str:
        if int(item.cluster_id.rpartition("-")[2]) in numbers:
            return item.view().reply.write(item.answer)
        if item.task == "counting":
            return str(2 * item.answer)
        return {"localization": "[0, 0, 200, 100]", "spatial": "Right above", "ocr": "zzzzzzzz"}[item.task]

    return says


ALL = right_on(0, 1, 2, 3)


def run(
    said: Mapping[tuple[str, str], Says],
    attributes: Mapping[str, dict[str, str]] | None = None,
    made: Sequence[Item] | None = None,
) -> Run:
    items, arms, responses = itemset(made_items() if made is None else made), [], list[Response]()
    for (subject, told), says in said.items():
        (condition,) = parse_conditions(AXES, told)
        arms.append(
            ArmCard(
                subject=subject, fingerprint=subject, settings={}, attributes=(attributes or {}).get(subject, {}),
                condition=str(condition), columns=condition.columns(), repeat=0,
            )
        )  # fmt: skip
        for item in items.items:
            if item.task != "spatial" and condition["boxes"] == "none":
                continue
            text = says(item)
            status, name = "failed" if text is None else "ok", f"{subject}/{condition}/{item.item_id}"
            cells = (item.item_id, item.task, str(condition), 0, status, text, "", item.view().reply, ())
            responses.append(Response(name, subject, subject, *cells))  # type: ignore[arg-type]
    scores = with_python_strings(score(responses, items, SUITE, "strict", {}))
    card = RunCard(suite="ava-bench", version="1", seed=0, limit=None, arms=arms, **UNHASHED)
    rows = with_python_strings(results(scores, items, SUITE, arms))
    return Run(card, SUITE, items, (), {"strict": scores}, rows)


def found(made: Run, *, with_figures: bool = False) -> dict[str, ReportSection]:
    """Figures are drawn in one run of each kind, for drawing takes longest."""
    return by_name(report_sections(made), with_figures=with_figures)


def line(section: ReportSection, name: str, column: str = "subject") -> dict[str, str]:
    (told,) = section.table[section.table[column] == name].to_dict("records")
    return {str(key): str(value) for key, value in told.items()}


def start(cell: str) -> float:
    """The number of a cell, without its interval."""
    return float(cell.split(" ")[0].rstrip(","))


@pytest.fixture(scope="module")
def three() -> dict[str, ReportSection]:
    subjects = {("best", ""): ALL, ("fake:oracle", ""): ALL, ("half", ""): right_on(0, 1), ("none", ""): right_on()}
    return found(run(subjects), with_figures=True)


def test_scores_with_chance(three: dict[str, ReportSection]) -> None:
    told = three["abilities"]
    assert list(told.table["subject"]) == ["best", "half", "none", "fake:oracle", "(chance)"]
    assert list(told.table.columns) == [
        "subject",
        "ocr anls ↑",
        "counting mae_over_gt ↓",
        "localization giou ↑",
        "spatial ↑",
    ]
    half = line(told, "half")
    # Twice the number is an error of 1 on two of four; the whole image has a GIoU of 0.4 with the big box.
    assert half["counting mae_over_gt ↓"].startswith("0.500, too few items")
    assert half["localization giou ↑"].startswith("0.700, too few items")
    assert half["spatial ↑"].startswith("50, too few items")  # Wilson's interval of 2 of 4 is [10, 90]
    assert line(told, "(chance)")["spatial ↑"] == "25.0"


def test_ranks_leave_out_simulated_observers(three: dict[str, ReportSection]) -> None:
    told = three["ranks"]
    assert list(told.table["subject"]) == ["best", "half", "none"]
    assert list(told.table.columns) == ["subject", "average rank", "ocr", "counting", "localization", "spatial"]
    assert [start(cell) for cell in told.table["average rank"]] == [1, 2, 3]
    assert "3 subjects" in told.note


def test_who_was_not_asked_everything_has_no_rank() -> None:
    def mute(item: Item) -> str | None:
        return None if item.task == "ocr" else ALL(item)

    told = found(run({("mute", ""): mute, ("half", ""): right_on(0, 1), ("none", ""): right_on()}), with_figures=True)
    assert list(told["ranks"].table["subject"]) == ["half", "none"]
    assert line(told["abilities"], "mute")["ocr anls ↑"] == "–"
    assert line(told["fingerprints"], "mute")["ocr"] == "–"
    assert "ranks" not in found(run({("mute", ""): mute, ("half", ""): right_on(0, 1)}))


def test_spread(three: dict[str, ReportSection]) -> None:
    told = line(three["spread"], "spatial ↑", "ability")
    # Shares of 1, 1/2 and 0: a standard deviation of 1/2. A perfect score is 75 points above chance: 50 of 75.
    assert (told["spread"], told["best minus worst"], told["% of the way"], told["items"]) == ("50", "100", "66.7", "4")
    assert line(three["spread"], "counting mae_over_gt ↓", "ability")["spread"] == "0.500"


def test_fingerprints(three: dict[str, ReportSection]) -> None:
    assert line(three["fingerprints"], "best") == {
        "subject": "best", "ocr": "100", "counting": "100", "localization": "100", "spatial": "100",
    }  # fmt: skip
    # Half right is 25 of the 75 points above chance, none is 25 below.
    assert line(three["fingerprints"], "half")["spatial"] == "33"
    assert line(three["fingerprints"], "none")["spatial"] == "-33"


def test_references_of_the_two_halves() -> None:
    towers = ("head:google/siglip2-so400m", "head:openai/clip-vit", "head:dinov2-large", "head:sam-vit", "chat:sample")
    made = run({(name, ""): right_on(0) for name in towers})
    assert [tower_of(arm) for arm in main_arms(made)] == ["SigLIP-2", "CLIP", "DINOv2", "SAM", ""]
    figure = found(made)["fingerprints"].figure()
    figure.draw_without_rendering()
    told = [[text.get_text() for text in axes.get_legend().get_texts()] for axes in figure.axes]
    assert [[" ".join(name.split()) for name in panel] for panel in told] == [
        ["head:google/siglip2-so400m", "head:openai/clip-vit", "head:dinov2-large (reference)"],
        ["head:dinov2-large", "head:sam-vit", "head:google/siglip2-so400m (reference)"],
        ["chat:sample"],
    ]


def test_subgroups(three: dict[str, ReportSection]) -> None:
    counts = three["subgroups-counting"]
    assert list(counts.table.columns) == ["subject", "all", "count range 1-5", "count range 6-10"]
    told = line(counts, "half")
    assert [start(told[name]) for name in ("all", "count range 1-5", "count range 6-10")] == [0.5, 0, 1]
    sizes = three["subgroups-localization"]
    assert "Figure 8b" in sizes.title
    assert list(sizes.table.columns[2:]) == ["box size 0-0.1", "box size 0.3-0.5"]
    # The whole image overlaps the small boxes by 0.04 and 0.1, the big one by 0.4.
    assert [start(cell) for cell in list(line(sizes, "none").values())[1:]] == [0.235, 0.07, 0.4]
    assert "subgroups-spatial" not in three  # one place, one source: nothing to split


def composite_run() -> Run:
    """Localization puts a, b, c, d in this order; without boxes so does spatial, with boxes all are right."""
    said: dict[tuple[str, str], Says] = {}
    for name, held in {"d": (3,), "a": (0, 1, 2, 3), "b": (1, 2, 3), "c": (2, 3)}.items():
        bare = right_on(*held)

        def drawn(item: Item, bare: Says = bare) -> str | None:
            return bare(item) if item.task == "localization" else ALL(item)

        said[name, ""], said[name, "boxes=none"] = drawn, bare
    return run(said)


def test_spatial_without_boxes() -> None:
    told = found(composite_run(), with_figures=True)
    table = told["without-boxes"].table
    assert list(table["subject"]) == ["a", "b", "c", "d"]
    assert [start(cell) for cell in table["boxes drawn"]] == [100] * 4
    assert [start(cell) for cell in table["without boxes"]] == [100, 75, 50, 25]
    assert [start(cell) for cell in table["change"]] == [0, -25, -50, -75]
    order = told["without-boxes-order"]
    assert start(line(order, "localization", "ability")["tau-b"]) == 1
    assert line(order, "spatial", "ability")["tau-b"] == "–"  # with boxes all are alike
    assert "without-boxes" not in found(run({("a", ""): ALL, ("b", ""): right_on(0)}))


def test_two_evaluators() -> None:
    towers = {"A": (0, 1, 2, 3), "B": (0, 1, 2), "C": (0, 1), "D": ()}
    said = {(f"head:{size}-{tower}", ""): right_on(*held) for size in ("0.5B", "7B") for tower, held in towers.items()}
    said["head:7B-A", ""] = right_on()  # the larger one has A and D alike, behind the others
    attributes = {f"head:{size}-{t}": {"tower": t, "evaluator": size} for size in ("0.5B", "7B") for t in towers}
    sections = found(run(said, attributes), with_figures=True)
    section, gaps = sections["evaluators"], sections["gaps"]
    told = line(section, "spatial", "ability")
    assert (told["evaluator"], told["other evaluator"], told["encoders"]) == ("0.5B", "7B", "4")
    # Pairs AB, AC, AD, BC, BD, CD: against, against, tied, with, with, with: (3 - 2) / sqrt(6 * 5) = 0.18.
    assert start(told["tau-b"]) == 0.18
    # Ranks 1, 2, 3, 4 and 3.5, 1, 2, 3.5: covariance 0.5 over sqrt(5 * 4.5) = 0.105.
    assert start(told["rho"]) == 0.11
    assert start(line(section, "(average rank)", "ability")["tau-b"]) == 0.18  # every ability has this order
    assert line(section, "(mean of abilities)", "ability")["tau-b"].startswith("0.18")  # it has it, so the mean too
    # Right 4, 3, 2 and 0 of 4 against 0, 3, 2 and 0: 9/16 and 5/16. Counting errs by 1 where it is wrong: 7/16, 11/16.
    rows = {row["ability"].split()[0]: row for row in gaps.table.to_dict("records")}
    cells = {task: [rows[task][name].split()[0] for name in ("score", "other score", "gap")] for task in rows}
    assert (cells["spatial"], cells["counting"]) == (["56", "31", "25"], ["0.438", "0.688", "0.250"])
    assert not {"evaluators", "gaps"} & set(found(run(said)))


def test_the_condition_most_subjects_have() -> None:
    made = run({("a", "prompt=short"): ALL, ("b", "prompt=short"): ALL, ("b", "prompt=minimal"): right_on()})
    assert {arm.condition for arm in main_arms(made)} == {"prompt=short"}
    told = found(made)["ranks"]
    assert [start(cell) for cell in told.table["average rank"]] == [1.5, 1.5]
    assert told.note.endswith("All under prompt=short.")


def test_a_run_without_scores_has_no_pieces() -> None:
    assert found(run({("a", ""): lambda item: None})) == {}
