"""Run the slow tests folder by folder, and keep when each folder was run last and what came of it.

    python scripts/nightly.py [FOLDER...] [--workers 2]

The results are in `docs/measurements/nightly.json`, and as a table in docs/reliability.md. `tests/test_nightly.py`
compares the two. Exit code 1: a test failed, or took longer than `MAX_SECONDS`.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RECORD, PAGE = ROOT / "docs/measurements/nightly.json", ROOT / "docs/reliability.md"
BEGIN, END = "<!-- scripts/nightly.py writes from here: do not edit -->", "<!-- to the end of the table -->"
MAX_SECONDS = 300
"""The longest that a test may take."""
Result = Mapping[str, Any]


def folders() -> list[str]:
    """The folders of tests that have slow ones, "." for the modules beside them."""
    modules = [path.relative_to(ROOT / "tests") for path in (ROOT / "tests").rglob("test_*.py")]
    slow = [path for path in modules if "mark.slow" in (ROOT / "tests" / path).read_text("utf-8")]
    return sorted({path.parts[0] if len(path.parts) > 1 else "." for path in slow})


def read_record() -> dict[str, Result]:
    """The last result of each folder."""
    return dict(json.loads(RECORD.read_text("utf-8"))) if RECORD.is_file() else {}


def result_of(junit: str, version: str, date: str, seconds: float, cpu_seconds: float) -> Result:
    """The result of a folder by pytest's report (JUnit XML): counts; seconds in all and of the longest test."""
    cases = list(ET.fromstring(junit).iter("testcase"))
    outcomes = [{part.tag for part in case} for case in cases]
    longest = max(cases, key=lambda case: float(case.get("time", 0)), default=None)
    return {
        "date": date,
        "version": version,
        "tests": len(cases),
        "failed": sum(not outcome.isdisjoint({"failure", "error"}) for outcome in outcomes),
        "skipped": sum("skipped" in outcome for outcome in outcomes),
        "seconds": round(seconds),
        "cpu_seconds": round(cpu_seconds),
        "longest": longest.get("name", "") if longest is not None else "",
        "longest_seconds": round(float(longest.get("time", 0))) if longest is not None else 0,
    }


def table(record: Mapping[str, Result]) -> str:
    """The table of docs/reliability.md: one row per folder that has slow tests."""
    lines = ["|folder|date|commit|run|failed|skipped|s|CPU s|longest, s|", "|---|---|---|---|---|---|---|---|---|"]
    for folder in folders():
        if folder not in record:
            lines.append(f"|{folder}|never||||||||")
            continue
        result = record[folder]
        names = ("date", "version", "tests", "failed", "skipped", "seconds", "cpu_seconds", "longest_seconds")
        lines.append(f"|{folder}|{'|'.join(str(result.get(name, '')) for name in names)}|")
    return "\n".join(lines)


def with_table(page: str, record: Mapping[str, Result]) -> str:
    """The page with the table of a record."""
    before, rest = page.split(BEGIN)
    return f"{before}{BEGIN}\n{table(record)}\n{END}{rest.split(END, 1)[1]}"


def run(folder: str, workers: int) -> Result:
    """Run the slow tests of a folder."""
    targets = sorted(map(str, (ROOT / "tests").glob("test_*.py"))) if folder == "." else [f"tests/{folder}"]
    parallel = ["-n", str(workers), "--dist", "worksteal"] if workers > 1 else []
    version = subprocess.check_output(["git", "rev-parse", "--short=8", "HEAD"], cwd=ROOT, text=True).strip()
    with tempfile.TemporaryDirectory() as home:
        report, start, before = Path(home) / "report.xml", time.monotonic(), os.times()
        command = [sys.executable, "-m", "pytest", "-q", "-m", "slow", *parallel, f"--junitxml={report}", *targets]
        subprocess.run(command, cwd=ROOT, check=False)
        seconds, after = time.monotonic() - start, os.times()
        cpu_seconds = sum(after[2:4]) - sum(before[2:4])  # of pytest and its workers
        date = time.strftime("%Y-%m-%d", time.gmtime())
        return result_of(report.read_text("utf-8"), version, date, seconds, cpu_seconds)


def main() -> int:
    """Run the given folders, or all; each result is kept at once."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="*", choices=[*folders(), []])
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    is_bad = False
    for folder in options.folder or folders():
        result = run(folder, options.workers)
        record = {**read_record(), folder: result}
        RECORD.write_text(json.dumps(dict(sorted(record.items())), indent=1) + "\n", "utf-8")
        PAGE.write_text(with_table(PAGE.read_text("utf-8"), record), "utf-8")
        is_bad |= bool(result["failed"]) or result["longest_seconds"] > MAX_SECONDS
    return int(is_bad)


if __name__ == "__main__":
    sys.exit(main())
