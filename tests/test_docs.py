"""The pages match the code: every field has its line, every link its file."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

from snellen.core.item import Media
from snellen.core.storage.itemset import SCHEMA
from snellen.core.storage.itemset_cards import ItemSetCard
from snellen.core.storage.run_tables import EXCHANGES, RESPONSES, SENT
from snellen.core.storage.runfolder import ArmCard, RunCard
from snellen.suites import SUITES

ROOT = Path(__file__).parent.parent
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs" / "measurements").glob("*.md")),
    *sorted((ROOT / "design").glob("*.md")),
    *sorted((ROOT / "skills").glob("*/SKILL.md")),
    ROOT / "llms.txt",
]
FIELDS = {
    "itemset.json": {field.alias or name for name, field in ItemSetCard.model_fields.items()},
    "items.parquet": set(SCHEMA.names),
    "Media": set(Media.__dataclass_fields__) - {"from_stored", "origin"},  # of shown images only
    "run.json": set(RunCard.model_fields) | set(ArmCard.model_fields),
    "exchanges.parquet": set(EXCHANGES.names),
    "responses.parquet": set(RESPONSES.names),
    "sent.parquet": set(SENT.names),
}


def section(page: str, title: str) -> str:
    """The text under the heading that begins with `title`, up to the next one."""
    match = re.search(rf"^###? `?{re.escape(title)}.*?$(.*?)(?=^##|\Z)", page, re.MULTILINE | re.DOTALL)
    assert match, title
    return match[1]


@pytest.mark.parametrize("title", FIELDS)
def test_schema_page_names_every_field(title: str) -> None:
    lines = section((ROOT / "docs" / "data-schema.md").read_text("utf-8"), title).splitlines()
    names = {name for line in lines if line.startswith("| `") for name in re.findall(r"`(\w+)`", line)}
    assert FIELDS[title] <= names


def test_schema_page_names_only_existing_item_fields() -> None:
    lines = section((ROOT / "docs" / "data-schema.md").read_text("utf-8"), "items.parquet").splitlines()
    first = {name for line in lines if line.startswith("| `") for name in re.findall(r"`(\w+)`", line.split("|")[1])}
    assert first == set(SCHEMA.names)


@pytest.mark.parametrize("name", ["data-schema.md", "reports.md"])
def test_columns_grades_and_states_are_those_of_the_code(name: str) -> None:
    """`python scripts/meanings.py --write` fixes it."""
    page = runpy.run_path(str(ROOT / "scripts" / "meanings.py"))["page"]
    assert page(name) == (ROOT / "docs" / name).read_text("utf-8")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_have_targets(page: Path) -> None:
    text = re.sub(r"<!--.*?-->", "", page.read_text("utf-8"), flags=re.DOTALL)
    links = [link.split("#")[0] for link in re.findall(r"\]\(([^)\s]+)\)", text) if "://" not in link]
    assert [link for link in links if link and not (page.parent / link).exists()] == []


COVERAGE = (ROOT / "docs" / "coverage.md").read_text("utf-8")
IN_NO_ROW = "Tasks of ours in no row"
TASK_NAME = re.compile(r"`([\w-]+/[\w-]+)`")


def table_cells(page: str) -> list[list[str]]:
    """The cells of every line of a table, without rules."""
    lines = [line for line in page.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]


def test_coverage_page_names_exactly_the_existing_tasks() -> None:
    """Each task of the benchmarks is in a row or among those without one, not both; and no cell names other tasks."""
    tasks_by_suite = {name: {f"{name}/{task}" for task in SUITES.get(name).tasks} for name in SUITES}
    named = {name for cells in table_cells(COVERAGE) for cell in cells for name in TASK_NAME.findall(cell)}
    tools = tasks_by_suite.pop("curation-steps")
    assert set[str]().union(*tasks_by_suite.values()) == named - tools
    in_rows, in_no_row = (set(TASK_NAME.findall(part)) for part in COVERAGE.split(f"## {IN_NO_ROW}"))
    assert in_rows & in_no_row == set()


def test_coverage_page_gives_every_row_a_mapping_and_a_source() -> None:
    rows = [cells for cells in table_cells(COVERAGE) if cells[-1].startswith("[")]
    assert len(rows) == 10 + 14 + 4 + 20 + 16  # PerceptionBench, BLINK, CV-Bench, VisFactor, the Kit
    for *_, ours, mapping, source in rows:
        assert re.match(r"(same|part|none)\b", mapping), mapping
        assert mapping.startswith("none") == (ours == "–"), mapping
        references = re.findall(r"\[[^]]+\]\[([\w-]+)\]", source)
        assert references, source
        assert [name for name in references if f"\n[{name}]: https://" not in COVERAGE] == []


def test_every_page_is_on_the_site() -> None:
    """Otherwise `make docs` would fail minutes later."""
    chapters = runpy.run_path(str(ROOT / "docs" / "site" / "conf.py"))["CHAPTERS"].values()
    placed = [name for names in chapters for name in names]
    docs = ROOT / "docs"
    pages = [*docs.glob("*.md"), *docs.glob("measurements/*.md")]
    assert sorted([*placed, "index"]) == sorted(str(page.relative_to(docs).with_suffix("")) for page in pages)
