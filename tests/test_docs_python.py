"""Python in the pages: every dotted name can be imported, and every block runs or states why no test runs it."""

from __future__ import annotations

import ast
import importlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from snellen.core.storage.itemset import ItemSet
from snellen.exam.run import run
from tests.helpers.sets import small_set
from tests.test_docs_commands import NOT_RUN, ROOT, TUTORIALS, blocks

PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "design").glob("*.md")),
    *sorted(ROOT.glob("src/snellen/suites/*/README.md")),
    *sorted(ROOT.glob("examples/*/README.md")),
]
NAME = re.compile(r"(?<![\w./-])snellen(?:\.[A-Za-z_]\w*)+")
BLOCKS = [(page, text) for page in PAGES for _, text in blocks(page, ("python",))]
TUTORIAL_PAGES = {ROOT / "docs" / f"{name}.md" for name in TUTORIALS}
SLOW_PAGES = {ROOT / "README.md"}
"""Their blocks build what they need, and run in an empty folder."""


def resolve(name: str) -> None:
    """Import a dotted name: a module, or an attribute of one. Raises ImportError or AttributeError."""
    module, rest = name, list[str]()
    while True:
        try:
            target = importlib.import_module(module)
            break
        except ModuleNotFoundError as error:
            if error.name is None or not module.startswith(error.name) or "." not in module:
                raise
            module, _, last = module.rpartition(".")
            rest.insert(0, last)
    for attribute in rest:
        target = getattr(target, attribute)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_dotted_names_can_be_imported(page: Path) -> None:
    # The wordings of papers and file names such as snellen.toml are not Python names.
    for name in sorted(set(NAME.findall(page.read_text("utf-8")))):
        resolve(name.removesuffix(".py"))


def test_an_unknown_name_is_noticed() -> None:
    resolve("snellen.exam.items.find_items")
    for name in ("snellen.exam.judge_all", "snellen.exams", "snellen.core.item.Item.nothing"):
        with pytest.raises((ImportError, AttributeError)):
            resolve(name)


@pytest.mark.parametrize(("page", "text"), BLOCKS, ids=lambda value: value.name if isinstance(value, Path) else "")
def test_blocks_import_existing_names(page: Path, text: str) -> None:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in ("snellen", "examples"):
            for alias in node.names:
                resolve(f"{node.module}.{alias.name}")


def test_no_page_has_a_block_that_is_never_run() -> None:
    assert [page.name for page, text in BLOCKS if text.startswith(NOT_RUN) and len(text.splitlines()[0]) < 40] == []
    assert len(BLOCKS) > 10


@pytest.fixture(scope="module")
def folder(sets_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an item set `items` and two runs about it, `runs/first` and `runs/second`."""
    items: ItemSet = small_set("combo", sets_folder, seed=0, test_items=4)
    folder = tmp_path_factory.mktemp("pages")
    (folder / "items").symlink_to(items.root)
    for name, subject in (("first", "fake:chance"), ("second", "fake:oracle")):
        run(items, [subject], folder / "runs" / name, show_progress=False)
    return folder


def _run_block(text: str, folder: Path) -> None:
    environment = os.environ | {
        "PYTHONPATH": f"{ROOT / 'src'}:{ROOT / 'packages/sight/src'}:{ROOT}",
        "SNELLEN_HOME": str(folder / "home"),
    }
    done = subprocess.run([sys.executable, "-c", text], cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, f"{text}\n{done.stderr[-2000:]}"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(text, id=page.name)
        for page, text in BLOCKS
        if page not in TUTORIAL_PAGES | SLOW_PAGES and not text.startswith(NOT_RUN)
    ],
)
def test_a_block_runs(text: str, folder: Path) -> None:
    _run_block(text, folder)


@pytest.mark.slow
@pytest.mark.parametrize("page", sorted(SLOW_PAGES), ids=lambda page: page.name)
def test_a_block_runs_in_an_empty_folder(page: Path, tmp_path: Path) -> None:
    for _, text in blocks(page, ("python",)):
        if not text.startswith(NOT_RUN):
            _run_block(text, tmp_path)
