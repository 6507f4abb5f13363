"""Golden outputs of every suite: hashes of items, tables of results, text of reports.

`python -m tests.goldens.house --write` writes the goldens anew; do so only where numbers are meant to change, and say
why in the commit. `test_house.py` compares.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path

import pandas as pd

from snellen import __version__
from snellen.compute.dispatch import dispatch
from snellen.core.condition import parse_conditions
from snellen.core.errors import SnellenError
from snellen.core.hashing import digest, sha256
from snellen.core.storage.itemset import ItemSet
from snellen.core.storage.media import MediaFolder
from snellen.core.subject import SubjectCard
from snellen.exam.run import run
from snellen.interop.exporting import FORMATS, export
from snellen.reports import write_report
from snellen.runs.asking.preview import Call, first_calls
from snellen.suites import suite_of
from tests.helpers.sets import SEED, small_set

FOLDER = Path(__file__).parent / "house"
BLIND_OBSERVERS = {
    "combo": "fake:blind-to=colour",
    "vlm2-bench": "fake:blind-to=colour",
    "vfm-bench": "fake:blind-to=colour",
    "ava-bench": "fake:blind-to=colour",
    "thresholds": "fake:threshold=8.5",
}
"""The blind observer asked in each suite, or one with planted thresholds, in addition to the others."""


ATTRIBUTES = ("x1", "x2", "alt", "aria-label", "title", "href", "datetime", "data-sort")
"""Attributes that a reader sees or follows: ends of drawn lines, words on images, links, what a column is sorted by."""


class _Text(HTMLParser):
    """The words of a page, one line per run of text or tag with words of its own, without styles and scripts."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self.hidden = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.hidden += tag in ("style", "script")
        names = (*ATTRIBUTES, "class") if tag == "line" else ATTRIBUTES
        words = [f"{name}={' '.join(value.split())[:300]}" for name, value in attrs if value and name in names]
        if words and not self.hidden:
            self.lines.append(" ".join(words))

    def handle_endtag(self, tag: str) -> None:
        self.hidden -= tag in ("style", "script")

    def handle_data(self, data: str) -> None:
        if not self.hidden and (line := " ".join(data.split())):
            self.lines.append(line)


def page_text(path: Path) -> str:
    """The text of a report's page, without hashes (some depend on names) and versions."""
    parser = _Text()
    parser.feed(path.read_text("utf-8"))
    text = re.sub(r"\bversion = \{[\w.]+\}", "version = {VERSION}", "\n".join(parser.lines))
    lines = re.sub(r"\b[0-9a-f]{12,}\b", "HASH", text).split("\n")
    return "".join(f"{line}\n" for line in lines if not line.startswith("python 3."))


def rounded_csv(path: Path) -> str:
    """A table with numbers of twelve significant digits: further digits depend on the processor."""
    return pd.read_csv(path, dtype_backend="pyarrow").to_csv(index=False, float_format="%.12g", lineterminator="\n")


def outputs(items: ItemSet, folder: Path) -> dict[str, str]:
    """File name to text: the hashes of a suite's small set, its results and its report."""
    subjects = ["fake:oracle", BLIND_OBSERVERS[items.card.suite], "fake:chance", "encoder:colour-histogram"]
    examination = run(items, subjects, folder / "run", seed=SEED, show_progress=False)
    report = write_report([examination.root], folder / "report")  # without a link to an explorer
    return hashes(items) | {
        "results.csv": rounded_csv(report.root / "results.csv"),
        "report.txt": "".join(map(page_text, report.pages)),
        "calls.txt": calls_text(items, folder / "shown"),
        "exports.txt": exports_text(items, folder / "exports"),
    }


def calls_text(items: ItemSet, folder: Path, settings: Sequence[str] = ()) -> str:
    """What is sent first under every setting, or under these: per task the number of calls and the digest of all, and
    the first one's words."""
    suite, media, sections = suite_of(items), MediaFolder(folder, items.media), list[str]()
    every = ("vanilla", *(f"{axis.name}={value}" for axis in suite.axes for value in axis.values[1:]))
    for setting in settings or every:
        (condition,), by_task = parse_conditions(suite.axes, setting), dict[str, list[Call]]()
        try:
            for call in first_calls(items, suite, condition, SubjectCard("someone"), media, seed=SEED):
                by_task.setdefault(call.task, []).append(call)
        except SnellenError as error:
            sections.append(f"== {setting}: {error}")
        for task, calls in by_task.items():
            sections.append(f"== {setting} {task}: {len(calls)} {digest([c.prompt.digest() for c in calls], 16)}")
            parts = calls[0].prompt.record()
            sections += [f"images and montages: {sum(not isinstance(part, str) for part in parts)}"]
            sections += [json.dumps(part, ensure_ascii=False) for part in parts if isinstance(part, str)]
    return "\n".join(sections) + "\n"


def exports_text(items: ItemSet, folder: Path) -> str:
    """The digests of the texts of every export, and of the names of its other files, which follow from the calls."""
    lines = []
    for name in FORMATS:
        root, others = folder / name, list[str]()
        try:
            export(items.root, name, root)
        except SnellenError as error:
            lines.append(f"{name}: {str(error).replace(str(items.root), 'SET')}")
        for path in sorted(path for path in root.rglob("*") if path.is_file()):
            if path.suffix in (".csv", ".jsonl", ".json", ".md", ".py", ".tsv", ".yaml"):
                text = path.read_text("utf-8").replace(__version__, "VERSION")
                lines.append(f"{path.relative_to(folder)} {sha256(text.encode())[:16]}")
            else:
                others.append(str(path.relative_to(root)))
        lines.append(f"{name}: {len(others)} others {digest(others, 16)}")
    return "\n".join(lines) + "\n"


def hashes(items: ItemSet) -> dict[str, str]:
    """The part of `outputs` that needs no subject."""
    return {"hashes.txt": f"rows {items.card.rows_hash}\ncontent {items.card.content_hash}\n"}


def main() -> None:
    """Write or compare the goldens of the suites named, or of all; exit code 1 where one differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("suites", nargs="*", default=list(BLIND_OBSERVERS))
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--hashes", action="store_true", help="compare hashes of item sets alone")
    options = parser.parse_args()
    print(dispatch())
    differ = False
    for name in options.suites:
        with tempfile.TemporaryDirectory() as folder:
            items = small_set(name, Path(folder))
            texts = hashes(items) if options.hashes else outputs(items, Path(folder) / "outputs")
            for file, text in texts.items():
                golden = FOLDER / name / file
                if options.write:
                    golden.parent.mkdir(parents=True, exist_ok=True)
                    golden.write_text(text, "utf-8")
                else:
                    equal = golden.read_text("utf-8") == text
                    differ |= not equal
                    print(name, file, "equal" if equal else "DIFFERENT")
    sys.exit(differ)


if __name__ == "__main__":
    main()
