"""Effects of methods and visual prompts compared with plain questions (section 4, Figure 5), and changed answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, TypeAlias

import pandas as pd

from snellen.analysis.cells import DASH, percent, points
from snellen.analysis.pivot import arms_beside_plain, table_section
from snellen.analysis.run_view import ReportArm, arm_name, examined
from snellen.analysis.section import ReportSection, Run
from snellen.core.item import Item
from snellen.core.response import Response
from snellen.core.seeds import stream
from snellen.core.subject import is_simulated
from snellen.scoring.uncertainty import Paired, paired_difference
from snellen.suites.vlm2_bench.prompts import core
from snellen.suites.vlm2_bench.report import figures
from snellen.suites.vlm2_bench.tasks import TRUE_FALSE

PLAIN = {"method": "vanilla", "visual_prompt": "none"}
"""The axes varied in Figure 5, at their baseline values."""
Units: TypeAlias = Mapping[str, Mapping[ReportArm, pd.DataFrame]]
"""Task -> arm -> its scored units (`run_view.scored_units`)."""
Turn: TypeAlias = Literal["wrong to right", "right to wrong"]
MAX_CASES = 3
"""Maximum units listed per direction, subject and method."""
MAX_LINES = 20
"""A table with more lines is a detail."""


@dataclass(frozen=True)
class MethodChange:
    """One task of one subject, plain and with a method, over the units that both arms have.

    `before` and `after` are means 0..1, `gap` is after minus before. `turned` has the units that were entirely right in
    only one arm, by direction; `p` is the exact two-sided McNemar test of their numbers (None without such units).
    """

    task: str
    method: str
    plain: ReportArm
    changed: ReportArm
    before: float
    after: float
    gap: Paired
    turned: Mapping[Turn, tuple[str, ...]]
    p: float | None


def sections(run: Run, units: Units) -> Iterator[ReportSection]:
    """Sections with differences, units whose answer changed, and some of these with both replies."""
    method_changes = changes(run, units)
    yield from differences(method_changes)
    yield from turned_units(method_changes)
    yield from cases(run, method_changes)


def changes(run: Run, units: Units) -> list[MethodChange]:
    """The comparison, by task, of every arm with a method or visual prompt with the plain arm.

    Simulated observers are left out if other subjects were examined, since methods do not affect them.
    """
    pairs = sorted(arms_beside_plain(run, PLAIN), key=lambda pair: is_simulated(pair[0].subject))
    subjects = examined([plain for plain, _, _ in pairs])
    compared = [
        compare(task, method, plain, changed, arms[plain], arms[changed])
        for plain, changed, method in pairs
        for task, arms in units.items()
        if plain in subjects and plain in arms and changed in arms
    ]
    return [change for change in compared if change.gap.n]


def compare(
    task: str, method: str, plain: ReportArm, changed: ReportArm, before: pd.DataFrame, after: pd.DataFrame
) -> MethodChange:
    """The comparison of two arms on their common units. A unit is right if more than half of its repeats are."""
    from scipy.stats import binomtest

    both = before.join(after[["value", "right"]].add_suffix("_after"), how="inner")
    rng = stream("vlm2-bench", "method", task, *plain, *changed)
    gap = paired_difference(both["value_after"], both["value"], both["cluster"].to_numpy(str), rng)
    was, now = both["right"] > 0.5, both["right_after"] > 0.5
    gained, lost = tuple(map(str, both.index[~was & now])), tuple(map(str, both.index[was & ~now]))
    p = float(binomtest(len(gained), len(gained) + len(lost)).pvalue) if gained or lost else None
    turned: dict[Turn, tuple[str, ...]] = {"wrong to right": gained, "right to wrong": lost}
    means = float(both["value"].mean()), float(both["value_after"].mean())
    return MethodChange(task, method, plain, changed, *means, gap, turned, p)


def _change_cells(change: MethodChange) -> list[str]:
    """Subject, method and task."""
    return [arm_name(*change.plain), change.method, change.task]


def differences(method_changes: Sequence[MethodChange]) -> Iterator[ReportSection]:
    """The table and figure that correspond to Figure 5."""
    lines = []
    for change in method_changes:
        gap = change.gap
        means = percent(change.before, gap.n), percent(change.after, gap.n)
        turned = [len(units) for units in change.turned.values()]
        difference = points(gap.difference, gap.low, gap.high)
        lines.append([*_change_cells(change), gap.n, *means, difference, *turned, _p_cell(change.p)])
    note = (
        "Percent of the task's main metric with the plain question and with a method or visual prompt, on the units "
        "(pairs of statements, or questions) that both have, and the difference in points with its 95 % interval "
        "(paired by unit, clusters resampled; none if all units are in one cluster). Then the numbers of units that "
        "changed from wrong to right and from right to wrong (for cnt: the exact count), and the exact two-sided "
        "McNemar test of these two numbers, which treats units as independent. With many comparisons some differences "
        "are clear by chance alone. Simulated observers are left out if other subjects were examined."
    )
    compared = ["subject", "method", "task", "units", "plain", "with it", "difference"]
    names = [*compared, "wrong to right", "right to wrong", "McNemar p"]
    bars = [(change.plain, change.method, change.task, change.gap) for change in method_changes]
    figure = partial(figures.gains, bars)
    yield from table_section("Effects of methods (Figure 5)", note, names, lines, "methods", figure)


def _p_cell(p: float | None) -> str:
    if p is None:
        return DASH
    return "< 0.001" if p < 0.001 else f"{p:.{3 if p < 0.1 else 2}f}"


def turned_units(method_changes: Sequence[MethodChange]) -> Iterator[ReportSection]:
    """The units whose answer changed, one line per direction."""
    lines = [
        [*_change_cells(change), turn, len(units), ", ".join(units)]
        for change in method_changes
        for turn, units in change.turned.items()
        if units
    ]
    note = (
        "Pairs and questions that were right in only one of the two arms, by id; long lists are cut on this page and "
        "complete in the CSV. `snellen show ITEMSET ITEM` shows one."
    )
    names = ["subject", "method", "task", "turned", "units", "ids"]
    long = len(lines) > MAX_LINES or any(len(str(line[-1])) > 400 for line in lines)
    yield from table_section("Answers changed by a method", note, names, lines, "turned", detail=long)


# Cases


def cases(run: Run, method_changes: Sequence[MethodChange]) -> Iterator[ReportSection]:
    """Both replies for some changed units, at most three per direction, subject and method, drawn by a fixed seed."""
    members: dict[str, list[Item]] = {}
    for item in run.items.items:
        members.setdefault(_unit_of(item), []).append(item)
    responses = {(r.subject, r.condition, r.item_id): r for r in reversed(run.responses)}
    lines = []
    for change, turn, unit in _draw_cases(method_changes):
        for item in members[unit]:
            keys = [(*arm, item.item_id) for arm in (change.plain, change.changed)]
            replies = [responses[key] for key in keys if key in responses]
            if len(replies) < len(keys):
                continue  # a limit may have cut a pair
            texts = [DASH if reply.text is None else shorten(reply.text) for reply in replies]
            images = " ".join(media.sha256[:8] for media in item.query)
            question, name = shorten(core(item.question), 200), f"{item.item_id} ({images})"
            answer = _right_answer(item, replies[0])
            lines.append([", ".join(_change_cells(change)[:2]), turn, name, question, answer, *texts])
    note = (
        f"At most {MAX_CASES} units per direction, subject and method, drawn at random: the question without its "
        "rules, the right answer, and the replies without and with the method (the first repeat; the middle of long "
        "replies is left out). Both statements of a pair are shown, since they count only together. Images are "
        "identified by the beginning of their file names in the item set. Three cases show what errors look like, not "
        "how frequent they are."
    )
    names = ["subject, method", "turned", "item (images)", "question", "right", "plainly", "with it"]
    yield from table_section("Cases: plain and with a method", note, names, lines, "cases", detail=True)


def shorten(text: str, max_length: int = 300) -> str:
    """A reply on one line; the middle of a long one is left out, since answers are at the end."""
    line = " ".join(text.split())
    if len(line) <= max_length:
        return line
    return f"{line[: max_length // 3]} … {line[-(max_length - max_length // 3) :]}"


def _right_answer(item: Item, response: Response) -> str:
    """The right answer in the form offered: `T`, `2`, `C) 1 and 3`."""
    words = {option.key: f") {option.text}" for option in item.options if option.text}
    return response.reply_spec.write(item.answer) + words.get(str(item.answer), "")


def _unit_of(item: Item) -> str:
    return item.group_id if item.task in TRUE_FALSE else item.item_id


def _draw_cases(method_changes: Sequence[MethodChange]) -> Iterator[tuple[MethodChange, Turn, str]]:
    """Up to `MAX_CASES` changed units of each subject, method and direction, over all tasks."""
    pools: dict[tuple[str, ...], list[tuple[MethodChange, Turn, str]]] = {}
    for change in method_changes:
        for turn, units in change.turned.items():
            pool = pools.setdefault((*change.changed, turn), [])
            pool += [(change, turn, unit) for unit in sorted(units)]
    for key, pool in pools.items():
        order = stream("vlm2-bench", "cases", *key).permutation(len(pool))[:MAX_CASES]
        yield from (pool[int(n)] for n in sorted(order))
