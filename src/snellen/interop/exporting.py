"""`snellen export`: writes an item set under one condition in the format of another tool and accounts for all items."""

from __future__ import annotations

import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from snellen.core.condition import parse_conditions
from snellen.core.errors import SnellenError
from snellen.core.registry import Registry
from snellen.core.storage import files
from snellen.interop.formats import ExportFormat, export_name
from snellen.interop.questions import Selection, select_questions
from snellen.runs.sets.gate import open_items
from snellen.suites import suite_of

FORMATS: Registry[ExportFormat] = Registry(
    "export format",
    {
        "hf": "snellen.interop.hub_questions:HF",
        "csv": "snellen.interop.tables:CSV",
        "jsonl": "snellen.interop.tables:JSONL",
        "vlmevalkit": "snellen.interop.vlmevalkit:VLMEVALKIT",
        "lmms-eval": "snellen.interop.lmms_eval:LMMS_EVAL",
        "evalscope": "snellen.interop.evalscope:EVALSCOPE",
    },
)


_OTHER_SCORES = (
    "Other tools read replies by their own rules, and do not combine the questions of a `group_id`; `snellen run` on "
    "the set gives our scores."
)
_OUR_SCORES = (
    "Scores of questions, and the means of tasks, equal those of `snellen run` with the same replies, which adds "
    "chance, intervals and subgroups."
)


@dataclass(frozen=True)
class ExportAccount:
    """Numbers of exported questions by task, and of items left out by reason; together all items of the set."""

    format: str
    condition: str
    exported: dict[str, int]
    left_out: dict[str, int]


def export(root: Path, format_name: str, out: Path, condition: str = "vanilla") -> ExportAccount:
    """Write the item set in `root` into the new or empty folder `out`, with a README that accounts for every item.

    Raises SnellenError for an unknown format or condition, a damaged set, a folder in use, or if nothing is left.
    """
    export_format, items = FORMATS.get(format_name), open_items(root)
    if out.exists() and any(out.iterdir()):
        raise SnellenError(f"{out}: not empty; give another --out")
    suite = suite_of(items)
    point, *others = parse_conditions(suite.axes, condition)
    if others:
        raise SnellenError(f"--condition {condition!r} is {1 + len(others)} conditions; an export has only one")
    with tempfile.TemporaryDirectory(prefix="snellen-export-") as folder:
        selection = select_questions(items, suite, point, Path(folder)).without(export_format.fault)
        left_out = Counter[str]()
        for (_, reason), count in selection.left_out.items():
            left_out[reason] += count
        account = ExportAccount(format_name, str(selection.condition), selection.counts(), dict(left_out))
        if not selection.questions:
            reasons = "; ".join(f"{count} {reason}" for reason, count in left_out.items())
            raise SnellenError(f"{root}: nothing can be exported as {format_name} under {point}: {reasons}")
        export_format.write(selection, out)
        files.write_text(out / "README.md", _readme(selection, export_format, account))
    return account


def _readme(selection: Selection, export_format: ExportFormat, account: ExportAccount) -> str:
    card, suite, name = selection.items.card, selection.suite.card, export_name(selection)
    metrics = {question.item.task: question.metric for question in selection.questions}
    counts = "".join(f"| {task} | {n} | {metrics[task]} |\n" for task, n in account.exported.items())
    reasons = "".join(f"| {task} | {n} | {reason} |\n" for (task, reason), n in sorted(selection.left_out.items()))
    table = f":\n\n| task | items | reason |\n|---|---|---|\n{reasons}" if reasons else ".\n"
    return (
        f"{export_format.header(selection)}"
        f"# {card.suite} {card.version} ({card.source}), {account.condition}\n\n"
        f"{suite.title}. {suite.measures}\n\n"
        f"Questions of a Snellen item set, worded by its presenters under the condition `{account.condition}`; "
        f"images unchanged. Content hash `{card.content_hash}`, recipe hash `{card.recipe_hash}`. "
        f"Paper: {suite.paper}\n\n"
        f"{export_format.usage.replace('{name}', name)}\n\n"
        f"| task | questions | metric |\n|---|---|---|\n{counts}\n"
        f"Of {card.items} items {sum(account.left_out.values())} are left out{table}\n"
        f"{_OUR_SCORES if export_format.has_parser else _OTHER_SCORES}\n"
    )
