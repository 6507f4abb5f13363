"""Examining from Python: in a script, in a notebook (where an event loop runs already) and awaited."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import snellen
from snellen.core.storage.itemset import ItemSet
from snellen.core.storage.parts import read_exchanges
from snellen.reports import load_run, write_report
from tests.helpers.sets import small_set
from tests.reports.exam import leave_out_figures

QUIET: dict[str, Any] = {"limit": 1, "show_progress": False}


@pytest.fixture(scope="module")
def combo(sets_folder: Path) -> ItemSet:
    return small_set("combo", sets_folder)


def test_the_package_lists_its_api() -> None:
    assert set(dir(snellen)) == {
        "Examination", "SnellenError", "__version__", "aexamine", "checkpoint_exam", "exam_callback", "examine",
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
