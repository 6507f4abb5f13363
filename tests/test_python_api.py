"""Examining from Python: in a script, in a notebook (where an event loop runs already) and awaited."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import inspect
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import snellen
import snellen.extend
from snellen.core.errors import SnellenError
from snellen.core.storage.itemset import ItemSet
from snellen.core.storage.parts import read_exchanges
from snellen.exam.items import find_items
from snellen.reports import load_run, write_report
from tests.helpers.sets import small_set
from tests.reports.exam import leave_out_figures

ROOT = Path(__file__).parents[1]
QUIET: dict[str, Any] = {"limit": 1, "show_progress": False}


@pytest.fixture(scope="module")
def combo(sets_folder: Path) -> ItemSet:
    return small_set("combo", sets_folder)


def _public_functions() -> Iterator[tuple[str, Any]]:
    for name in snellen.__all__:
        entry = getattr(snellen, name)
        if inspect.isclass(entry):
            methods = inspect.getmembers(entry, inspect.isfunction)
            yield from ((f"{name}.{method}", function) for method, function in methods if not method.startswith("_"))
        elif callable(entry):
            yield name, entry
    yield from (("write_report", write_report), ("find_items", find_items))


@pytest.mark.parametrize(("name", "function"), list(_public_functions()))
def test_every_parameter_is_documented(name: str, function: Any) -> None:
    text = inspect.getdoc(function) or ""
    parameters = [parameter for parameter in inspect.signature(function).parameters if parameter != "self"]
    assert [parameter for parameter in parameters if not re.search(rf"^ +{parameter}: \S", text, re.M)] == [], name


def test_examples_import_only_what_the_reference_lists() -> None:
    """Imported are the package itself, names in the reference, and names of packages that lead to such a name."""
    listed = (ROOT / "docs" / "site" / "reference.md").read_text("utf-8")
    listed += " ".join(f"snellen.extend.{name}" for name in snellen.extend.__all__)
    pages = [ROOT / "README.md", *ROOT.glob("docs/*.md"), *ROOT.glob("examples/*.py"), *ROOT.glob("examples/*.ipynb")]
    unlisted = set()
    for page in pages:
        for module, names in re.findall(r"from (snellen(?:\.\w+)+) import ([\w, ]+)", page.read_text("utf-8")):
            for name in names.split(", "):
                entry = getattr(importlib.import_module(module), name)
                names_of_entry = {f"{module}.{name}", f"{getattr(entry, '__module__', module)}.{name}"}
                if not any(name_of_entry in listed for name_of_entry in names_of_entry):
                    unlisted.add(f"{page.name}: {module}.{name}")
    assert not unlisted


def test_the_package_lists_its_api() -> None:
    assert set(dir(snellen)) == {
        "Examination", "SnellenError", "__version__", "aexamine", "build", "checkpoint_exam", "compare", "encoder",
        "exam_callback", "examine", "judge", "open", "run", "sight",
    }  # fmt: skip
    assert all(getattr(snellen, name) for name in dir(snellen))
    assert not hasattr(snellen, "axamine")


def test_a_running_loop_changes_nothing(combo: ItemSet, tmp_path: Path) -> None:
    def answer(parts: list[Any]) -> str:
        return "A"

    async def cell() -> snellen.Examination:
        return snellen.examine(answer, combo.root, out=tmp_path / "notebook", **QUIET)

    script = snellen.examine(answer, combo.root, out=tmp_path / "script", **QUIET)
    assert script.responses
    pd.testing.assert_frame_equal(asyncio.run(cell()).results(), script.results())


def test_an_error_is_raised_from_the_thread_of_a_notebook(combo: ItemSet, tmp_path: Path) -> None:
    def stop() -> None:
        raise ZeroDivisionError

    async def cell() -> snellen.Examination:
        return snellen.examine("fake:chance", combo.root, out=tmp_path / "run", after_call=stop, **QUIET)

    with pytest.raises(ZeroDivisionError):
        asyncio.run(cell())


def test_awaiting_leaves_the_loop_free_and_calls_coroutines_in_it(combo: ItemSet, tmp_path: Path) -> None:
    """The answer waits for an event that only other work of the same loop sets: a blocked loop would never end."""

    async def cell() -> tuple[snellen.Examination, set[asyncio.AbstractEventLoop], asyncio.AbstractEventLoop]:
        signs, loops = asyncio.Event(), set[asyncio.AbstractEventLoop]()

        async def answer(parts: list[Any]) -> str:
            loops.add(asyncio.get_running_loop())
            await signs.wait()
            return "A"

        async def other() -> None:
            while not loops:
                await asyncio.sleep(0)
            signs.set()

        examination, _ = await asyncio.gather(
            snellen.aexamine(answer, combo.root, out=tmp_path / "run", **QUIET), other()
        )
        return examination, loops, asyncio.get_running_loop()

    examination, loops, main_loop = asyncio.run(cell())
    assert loops == {main_loop}
    assert {response.status for response in examination.responses} == {"ok"}
    assert {response.text for response in examination.responses} == {"A"}


def test_after_a_cancel_no_more_calls_are_made_and_answers_are_kept(combo: ItemSet, tmp_path: Path) -> None:
    calls = 0

    async def answer(parts: list[Any]) -> str:
        nonlocal calls
        calls += 1
        await asyncio.sleep(0)
        return "A"

    async def cell(root: Path, cancel: bool) -> None:
        work = asyncio.create_task(snellen.aexamine(answer, combo.root, out=root, show_progress=False))
        while cancel and not calls:
            await asyncio.sleep(0)
        if cancel:
            work.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await work
        assert work.cancelled() == cancel

    asyncio.run(cell(tmp_path / "cut", True))
    cut, calls = calls, 0
    assert len(list(read_exchanges(tmp_path / "cut"))) == cut
    asyncio.run(cell(tmp_path / "whole", False))
    assert 1 <= cut <= 8 < calls, "at most those in flight (four for a callable), and as many admitted before"


def test_representations_are_short(combo: ItemSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    leave_out_figures(monkeypatch)
    root = tmp_path / "run"
    examination = snellen.examine("fake:chance", combo.root, out=root, **QUIET)
    report = write_report([root], tmp_path / "report")
    printed = [repr(value) for value in (examination, examination.items, examination.suite, load_run(root), report)]
    assert max(map(len, printed)) < 150 + len(str(combo.root)) + len(str(root))
    assert printed[0] == f"<Examination of fake:chance by combo: {len(examination.responses)} responses; {root}>"


def test_a_failure_names_the_line_of_the_callable(combo: ItemSet, tmp_path: Path) -> None:
    module = tmp_path / "my_model.py"
    module.write_text("import json\n\n\ndef load(text):\n    return json.loads(text)\n\n\ndef answer(parts):\n")
    with module.open("a") as file:
        file.write("    return load('no json')\n")
    namespace: dict[str, Any] = {}
    exec(compile(module.read_text(), str(module), "exec"), namespace)
    examination = snellen.examine(namespace["answer"], combo.root, out=tmp_path / "run", **QUIET)
    assert examination.failed == len(examination.responses) > 0
    (reason,) = {response.reason for response in examination.responses}
    assert reason == (
        "JSONDecodeError: Expecting value: line 1 column 1 (char 0) (my_model.py, line 5: return json.loads(text))"
    )
    assert reason[:40] in repr(examination)


def mean_colour(images: list[Any]) -> np.ndarray:
    """A function from images to vectors: their mean colours."""
    return np.stack([np.asarray(image, float).reshape(-1, 3).mean(axis=0) for image in images])


@pytest.mark.slow
def test_several_subjects_and_their_tables(combo: ItemSet, tmp_path: Path) -> None:
    def answer(parts: list[Any]) -> str:
        return "A"

    subjects: list[Any] = [answer, "fake:chance", snellen.encoder(mean_colour, "mean colour", size=32)]
    done = snellen.examine(subjects, combo.root, out=tmp_path / "run", show_progress=False)
    names = ["py:tests.test_python_api:test_several_subjects_and_their_tables.<locals>.answer", "fake:chance"]
    names.append("encoder:mean colour")
    grades = done.grades()
    assert set(grades["subject"]) == set(names)
    assert not grades.duplicated(["subject", "task"]).any()
    assert {"grade", "state", "n", "low", "high", "blind"} <= set(grades.columns)
    whole, parts = done.results(), done.results_by_factor()
    assert "factor" not in whole.columns
    assert (parts["factor"] != "").all()
    assert len(whole) + len(parts) == len(done.all_results())
    figure = done.plot()
    assert figure._repr_png_().startswith(b"\x89PNG")  # type: ignore[attr-defined]
    squares = figure.axes[0]
    tasks = [label.get_text() for label in squares.get_xticklabels()]
    assert tasks == [task for task in done.suite.tasks if task in set(grades["task"])]
    assert len(squares.patches) == len(grades)
    assert len(done.plot("profile").axes) >= len(tasks)


def test_two_subjects_of_one_name_are_refused(combo: ItemSet, tmp_path: Path) -> None:
    with pytest.raises(SnellenError, match="given twice"):
        snellen.examine(["fake:chance", "fake:chance"], combo.root, out=tmp_path / "run", **QUIET)


def test_building_and_showing_a_set(tmp_path: Path) -> None:
    items = snellen.build(
        "combo", tmp_path / "items", n=2, tasks=("img2text",), renderer="toy", size=(120, 90), show_progress=False
    )
    assert {item.task for item in items.items} == {"img2text"}
    page = items._repr_html_()
    assert page.count("data:image/png;base64,") == 2
    assert all(item.question in page for item in items.items)
    with pytest.raises(TypeError, match="colours"):
        snellen.build("combo", tmp_path / "other", colours=3)  # type: ignore[call-arg]


def test_running_and_opening(combo: ItemSet, tmp_path: Path) -> None:
    done = snellen.run(["fake:oracle", lambda parts: "A"], combo, tmp_path / "run", limit=1, show_progress=False)
    opened = snellen.open(tmp_path / "run")
    assert isinstance(opened, snellen.Examination)
    assert opened.responses == done.responses
    items = snellen.open(combo.root)
    assert isinstance(items, ItemSet)
    assert items.card == combo.card
    with pytest.raises(SnellenError, match="no response is scored by a judge"):
        snellen.judge(done, "fake:chance", show_progress=False)
    with pytest.raises(TypeError, match="limt"):
        snellen.run("fake:chance", combo, limt=1)  # type: ignore[call-arg]


def test_comparing_two_examinations(combo: ItemSet, tmp_path: Path) -> None:
    oracle = snellen.examine("fake:oracle", combo.root, out=tmp_path / "oracle", show_progress=False)
    both = snellen.examine(["fake:oracle", "fake:chance"], combo.root, out=tmp_path / "both", show_progress=False)
    changed = snellen.compare(oracle, f"{both.root}:fake:chance")
    assert set(changed.table["verdict"]) <= {"dropped", "no clear change", "too few clusters"}
    assert (changed.table["before"] == 1).all()
    assert repr(changed).startswith("<Changes from fake:oracle to fake:chance:")
    assert "verdict" in changed._repr_html_()


def test_versions_of_a_callable_have_separate_runs(
    combo: ItemSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By default each call has a folder of its own; with `out`, an edited function does not get earlier answers."""
    monkeypatch.chdir(tmp_path)
    for letter in "AB":
        namespace: dict[str, Any] = {"__name__": "mine"}
        exec(f"def answer(parts):\n    return {letter!r}", namespace)
        done = snellen.examine(namespace["answer"], combo.root, **QUIET)
        runs = [
            load_run(done.root),
            load_run(snellen.examine(namespace["answer"], combo.root, out="one", **QUIET).root),
        ]
        assert [{response.text for response in run.responses} for run in runs] == [{letter}, {letter}]
    assert [folder.name[-2:] == "-2" for folder in sorted(Path("runs").iterdir())] == [False, True]


def test_a_script_needs_no_guard(tmp_path: Path) -> None:
    """Rendering in several processes must not import the script again, which would examine once more in each."""
    script = tmp_path / "script.py"
    script.write_text(
        "import snellen\n"
        "print('started')\n"
        "items = snellen.build('combo', 'items', n=2, tasks=('img2text',), renderer='toy', size=(120, 90), workers=2)\n"
        "snellen.examine(lambda parts: 'A', 'items', out='run').report('report')\n"
    )
    done = subprocess.run([sys.executable, script], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.count("started") == 1
    assert (tmp_path / "report" / "index.html").exists()
