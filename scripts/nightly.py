"""Run the slow tests, and keep when those of each folder were run last and what came of it.

    python scripts/nightly.py [FOLDER...] [--workers 2]

The results are in `docs/measurements/nightly.json`, and as a table in docs/reliability.md. `tests/test_nightly.py`
compares the two. Exit code 1: a test failed, or took longer than `MAX_SECONDS`.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
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


def results_of(junit: str, version: str, date: str, seconds: float) -> dict[str, Result]:
    """The result of each folder by pytest's report (JUnit XML), and of "all" of them.

    `seconds` of a folder is the sum over its tests, of which several run at a time; of "all" it is the given time.
    """
    cases: dict[str, list[ET.Element]] = {"all": []}
    for case in ET.fromstring(junit).iter("testcase"):
        parts = case.get("classname", "").split(".")  # tests.FOLDER.MODULE, or tests.MODULE
        for name in ("all", parts[1] if len(parts) > 2 else "."):
            cases.setdefault(name, []).append(case)
    results = {name: {**_result(part), "date": date, "version": version} for name, part in cases.items()}
    results["all"]["seconds"] = round(seconds)
    return dict(results)


def _result(cases: Sequence[ET.Element]) -> Result:
    """Counts, seconds in all and of the longest test."""
    outcomes = [{part.tag for part in case} for case in cases]
    longest = max(cases, key=_seconds)
    return {
        "tests": len(cases),
        "failed": sum(not outcome.isdisjoint({"failure", "error"}) for outcome in outcomes),
        "skipped": sum("skipped" in outcome for outcome in outcomes),
        "seconds": round(sum(map(_seconds, cases))),
        "longest": longest.get("name", ""),
        "longest_seconds": round(_seconds(longest)),
    }


def _seconds(case: ET.Element) -> float:
    return float(case.get("time", 0))


def table(record: Mapping[str, Result]) -> str:
    """The table of docs/reliability.md: one row per folder that has slow tests, and the last run of all."""
    lines = ["|folder|date|commit|run|failed|skipped|s|longest, s|", "|---|---|---|---|---|---|---|---|"]
    for folder in [*folders(), "all"]:
        if folder not in record:
            lines.append(f"|{folder}|never|||||||")
            continue
        names = ("date", "version", "tests", "failed", "skipped", "seconds", "longest_seconds")
        lines.append(f"|{folder}|{'|'.join(str(record[folder][name]) for name in names)}|")
    return "\n".join(lines)


def with_table(page: str, record: Mapping[str, Result]) -> str:
    """The page with the table of a record."""
    before, rest = page.split(BEGIN)
    return f"{before}{BEGIN}\n{table(record)}\n{END}{rest.split(END, 1)[1]}"


def run(chosen: Sequence[str], workers: int) -> dict[str, Result]:
    """Run the slow tests of folders in one session of pytest, so that no worker waits at the end of each folder."""
    modules = sorted(map(str, (ROOT / "tests").glob("test_*.py"))) if "." in chosen else []
    targets = [*modules, *(f"tests/{folder}" for folder in chosen if folder != ".")]
    parallel = ["-n", str(workers), "--dist", "worksteal"] if workers > 1 else []
    version = subprocess.check_output(["git", "rev-parse", "--short=8", "HEAD"], cwd=ROOT, text=True).strip()
    with tempfile.TemporaryDirectory() as home:
        report, start = Path(home) / "report.xml", time.monotonic()
        command = [sys.executable, "-m", "pytest", "-q", "-m", "slow", *parallel, f"--junitxml={report}", *targets]
        subprocess.run(command, cwd=ROOT, check=False)
        date = time.strftime("%Y-%m-%d", time.gmtime())
        return results_of(report.read_text("utf-8"), version, date, time.monotonic() - start)


def main() -> int:
    """Run the given folders, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="*", choices=[*folders(), []])
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    results = run(options.folder or folders(), options.workers)
    is_bad = results["all"]["failed"] or results["all"]["longest_seconds"] > MAX_SECONDS
    if options.folder:
        del results["all"]  # these were not all
    record = dict(sorted({**read_record(), **results}.items()))
    RECORD.write_text(json.dumps(record, indent=1) + "\n", "utf-8")
    PAGE.write_text(with_table(PAGE.read_text("utf-8"), record), "utf-8")
    return int(bool(is_bad))


if __name__ == "__main__":
    sys.exit(main())
