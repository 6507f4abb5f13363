"""The tables of papers with own rows: means, ranks and differences by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from snellen.analysis.tables.cells import DASH
from snellen.analysis.tables.section import Run
from snellen.core.errors import SnellenError
from snellen.core.printed import PrintedColumn, PrintedTable
from snellen.reports import load_run
from snellen.reports.leaderboard import _ranks, leaderboards
from snellen.reports.loading import only, under
from tests.reports.exam import SUITE, able, suite_of, write_items, write_run

SKILLS = {"chat:best": 1.0, "chat:middle": 0.6, "chat:worst": 0.1}
COLUMNS = (
    PrintedColumn("naming", "naming", scale=100, decimals=1),
    PrintedColumn("sizing", "sizing", "mae_over_gt", decimals=3),
)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    root = tmp_path_factory.mktemp("board")
    items = write_items(root / "items", 12, tasks=("naming", "sizing"))
    subjects = [able(name, items, {"naming": skill, "sizing": skill}) for name, skill in SKILLS.items()]
    return load_run(write_run(root / "run", items, subjects, tasks=("naming", "sizing")), suite_of)


def board(run: Run, *tables: PrintedTable) -> Any:
    """The one table (a DataFrame) of the run, whose suite prints these."""
    (section,) = leaderboards(only(replace(run, suite=replace(run.suite, published=lambda: tables)), "published"))
    return section.table


@pytest.mark.parametrize(
    ("values", "sign", "ranks"),
    [
        ([3.0, 1.0, 2.0], 1, [1, 3, 2]),
        ([3.0, 1.0, 2.0], -1, [3, 1, 2]),
        ([2.0, 2.0, 1.0], 1, [1.5, 1.5, 3]),
        ([2.0, float("nan"), 1.0], 1, [1, float("nan"), 2]),
        ([2.0, float("nan")], 1, [float("nan"), float("nan")]),
    ],
)
def test_ranks_average_ties_and_need_two_values(values: list[float], sign: int, ranks: list[float]) -> None:
    assert _ranks(values, sign) == pytest.approx(ranks, nan_ok=True)


def test_columns_of_several_units_are_ranked_one_by_one(run: Run) -> None:
    """Less is better in sizing; printed ranks stay as printed, though the first is wrong."""
    rows, ranks = {"Tower": ["80.25", "0.1"], "Mast": ["81", "0.2"]}, {"Tower": (2, 9), "Mast": (1, 8)}
    table = board(
        run,
        PrintedTable(
            "table-5", "Table 5", COLUMNS, rows, has_mean=False, ranks=ranks, rank_average={"Tower": 5.4, "Mast": 4.5}
        ),
    ).set_index("subject")
    assert list(table.columns) == ["condition", "origin", "naming ↑", "sizing relative error ↓", "mean rank"]
    assert list(table.loc["Tower"].iloc[2:]) == ["80.25 (2)", "0.1 (9)", "5.4"]
    own = table[table["origin"] == "measured here"]
    assert [cell.rpartition(" ")[2] for cell in own.loc[list(SKILLS), "naming ↑"]] == ["(1)", "(2)", "(3)"]
    assert own.loc["chat:best", "sizing relative error ↓"].endswith("(1)")
    assert own.loc["chat:best", "mean rank"] == "1.0"
    assert own.loc["(chance)", "mean rank"] == DASH


def test_own_rows_are_compared_with_printed_people_on_the_papers_images_only(run: Run) -> None:
    printed = PrintedTable("table-1", "Table 1", COLUMNS[:1], {"Model": ["50.0"]}, people=["90.0"])
    for source, gap in (("generated", DASH), ("released", "+10.00")):
        card = run.items.card.model_copy(update={"source": source})
        table = board(replace(run, items=replace(run.items, card=card)), printed).set_index("subject")
        assert table.loc["chat:best", "minus people"] == gap
        assert table.loc["Model", "minus people"] == "-40.00"


def test_people_have_no_rank_among_models(run: Run) -> None:
    arms = [arm.model_copy(update={"role": "person"}) if arm.subject == "chat:best" else arm for arm in run.card.arms]
    with_people = replace(run, card=run.card.model_copy(update={"arms": arms}))
    printed = PrintedTable("table-1", "Table 1", COLUMNS[:1], {"Model": ["50.0"], "Other": ["40.0"]})
    table = board(with_people, printed).set_index("subject")
    assert table.loc[list(SKILLS), "rank"].tolist() == [DASH, "1", "2"]
    means = table["mean"].astype(float)
    gaps = [f"{means[name] - means['chat:best']:+.2f}" for name in ("chat:middle", "chat:worst")]
    assert table.loc[list(SKILLS), "minus people"].tolist() == [DASH, *gaps], "each row has its own difference"


def test_columns_of_one_axis_share_a_row(run: Run) -> None:
    """The arms of a subject at both values of an axis fill one row; other conditions have their own."""
    columns = tuple(PrintedColumn(f"{k} samples", "naming", setting="samples", level=str(k)) for k in (10, 1))
    table = board(run, PrintedTable("table-1", "Table 1", columns, {})).set_index("subject")
    assert table.loc["chat:best", "10 samples"].startswith("1.00 [")
    assert table.loc["chat:best", "1 samples"] == DASH
    assert table.loc["chat:best", "mean"] == DASH


def test_a_table_without_own_scores_is_left_out(run: Run) -> None:
    other = PrintedTable("table-9", "Table 9", (PrintedColumn("building", "building"),), {"Model": ["1"]})
    assert not list(leaderboards(replace(run, suite=replace(run.suite, published=lambda: [other]))))


def test_one_protocol_is_shown_alone_or_refused(run: Run, tmp_path: Path) -> None:
    alone = under(run, "published")
    assert (set(alone.scores), set(alone.results["protocol"])) == ({"published"}, {"published"})
    assert list(under(run, "published", "strict").scores) == ["published", "strict"]
    with pytest.raises(SnellenError, match=r"protocol manual: shapes/naming has strict, published, .*only"):
        under(run, "manual")
    assert SUITE.name == run.suite.name
