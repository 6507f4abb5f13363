"""Progress messages, with a faked clock."""

from __future__ import annotations

import asyncio
import io
import threading
from pathlib import Path

import pytest

from snellen.compute import Progress, progress
from snellen.compute.event_loop import run_to_end
from snellen.compute.progress import counting_into, duration


def test_a_line_has_totals_pace_and_time_left() -> None:
    now = [100.0]
    counter = Progress("asking", unit="items", clock=lambda: now[0])
    counter.expect(300)
    assert counter.line() == "asking: 0 of 300 items"
    now[0] += 10
    counter.advance(20)  # 2 per second: 280 more take 140 s
    assert counter.line() == "asking: 20 of 300 items, 2.0 per second, 2 min left"
    now[0] += 90
    counter.advance(5)  # 25 in 100 s
    assert counter.line() == "asking: 25 of 300 items, 15.0 per minute, 18 min left"
    counter.advance(275)
    assert counter.line() == "asking: 300 of 300 items, 3.0 per second"


def test_the_pace_forgets_a_burst_soon() -> None:
    """1000 recorded items are replayed in the first second, then one comes every ten seconds: 100 take 17 min."""
    now = [0.0]
    counter = Progress("asking", unit="items", clock=lambda: now[0])
    counter.expect(1107)
    now[0] += 1
    counter.advance(1000)
    for _ in range(7):
        now[0] += 10
        counter.advance()
        line = counter.line()
    assert line == "asking: 1007 of 1107 items, 6.0 per minute, 17 min left"


def test_an_unknown_total_is_left_out() -> None:
    counter = Progress("training", clock=lambda: 0.0)
    counter.advance(3)
    assert counter.line() == "training: 3"


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.4, "0 s"), (89, "89 s"), (90, "2 min"), (5399, "90 min"), (5400, "1.5 h"), (9e4, "25.0 h")]
)
def test_durations_are_given_in_one_unit(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_without_a_terminal_progress_is_printed_as_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every hundredth of a second here; the work ends after the second line."""
    came = threading.Event()

    class Log(io.StringIO):
        def write(self, text: str) -> int:
            written = super().write(text)
            if self.getvalue().count("\n") >= 2:
                came.set()
            return written

    log = Log()
    monkeypatch.setattr(progress, "LINE_SECONDS", 0.01)
    monkeypatch.setattr("sys.stderr", log)
    with Progress("rendering", unit="images") as counter:
        counter.expect(8)
        counter.advance(2)
        came.wait()
    assert "rendering: 2 of 8 images" in log.getvalue()


def test_progress_can_be_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[object] = []
    monkeypatch.setattr(threading.Thread, "start", started.append)
    with Progress("x", visible=False) as counter:
        counter.advance()
    assert (counter.done, started) == (1, [])


def test_a_terminal_gets_a_bar_with_the_pace(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr("sys.stderr", terminal)
    with Progress("asking", unit="items") as counter:
        counter.expect(4)
        counter.advance(4)
    assert "4/4" in terminal.getvalue()
    assert "asking (items)" in terminal.getvalue()
    assert "/min" in terminal.getvalue() or "/s" in terminal.getvalue()


def test_a_counter_that_restarts_measures_its_pace_anew() -> None:
    now = [0.0]
    counter = Progress("asking", clock=lambda: now[0])
    counter.expect(10)
    counter.advance(10)
    now[0] = 100.0
    counter.restart()
    counter.expect(6)
    now[0] = 101.0
    counter.advance(2)
    assert counter.line() == "asking: 2 of 6, 2.0 per second, 2 s left"


def test_a_coroutine_ends_with_and_without_a_loop() -> None:
    """In a notebook a loop is running in this thread: then another thread has its own."""

    async def thread() -> int:
        return threading.get_ident()

    async def notebook() -> int:
        return run_to_end(thread())

    assert run_to_end(thread()) == threading.get_ident() != asyncio.run(notebook())


def test_steps_are_written_for_another_process_once_a_second_and_at_the_end(tmp_path: Path) -> None:
    now, inner, outer = [0.0], tmp_path / "inner", tmp_path / "outer"
    texts = list[str]()
    with counting_into(outer), counting_into(inner):
        counter = Progress("asking", visible=False, clock=lambda: now[0])
        counter.expect(5)
        for seconds, steps in ((0.5, 1), (1.0, 1), (1.9, 1), (1.95, 2)):
            now[0] = seconds
            counter.advance(steps)
            texts.append(inner.read_text())
    assert texts == ["0 5", "2 5", "2 5", "5 5"]
    assert not outer.exists()
    counter.advance()
    assert inner.read_text() == "5 5", "only within the block"
    with counting_into(tmp_path / "missing" / "file"):
        counter.advance(4)
