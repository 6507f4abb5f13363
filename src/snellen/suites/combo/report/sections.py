"""What a report shows of ComBo beyond what every suite gets: the paper's tables and figures, made from our results.

Printed numbers stand beside ours where a report is asked to compare (`published.py`), never in these tables.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from snellen.analysis.cells import DASH, cell, percent, spanned
from snellen.analysis.section import ReportSection, Run, fakes_last, protocol_of
from snellen.core.runfolder import ArmCard
from snellen.core.seeds import stream
from snellen.scoring.uncertainty import Paired, cluster_wilson, paired_difference
from snellen.stimuli.scenes import DIMENSIONS
from snellen.suites.combo import alignment, categories, perception
from snellen.suites.combo.difficulty import LEVELS
from snellen.suites.combo.published import TABLE_2_QUESTIONS
from snellen.suites.combo.report import figures
from snellen.suites.combo.report.confusions import confusions
from snellen.suites.combo.report.perceived import Seen, deciding, seen

SPOKEN = {question: question.replace("-", " ") for question in perception.QUESTIONS}
PLACE = ("subject", "condition", "repeat", "item_id")


def sections(run: Run) -> Iterator[ReportSection]:
    """Whatever of the paper's tables and figures the run has the numbers for."""
    for make in (table_2, table_3, figure_6, figure_7):
        yield from make(run)
    if described := seen(run):
        yield given_perception(run, described)
        yield perceived_dimensions(described)
    yield from positions(run)
    yield from confusions(run.items, _scores(run, perception.TASK))


# Results


def _results(run: Run, task: str, factor: str = "", metric: str = "accuracy") -> pd.DataFrame:
    """One row an arm (and level), heard ones only: simulated observers last, else in the order of the run."""
    rows = run.results
    rows = rows[(rows["task"] == task) & (rows["metric"] == metric) & (rows["factor"] == factor) & (rows["n"] > 0)]
    protocols = list(dict.fromkeys(rows["protocol"]))
    rows = rows[rows["protocol"] == ("strict" if "strict" in protocols or not protocols else protocols[0])]
    return fakes_last(rows)


def _arms(rows: pd.DataFrame) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """(subject, condition, level -> row) of each arm."""
    for (subject, condition), part in rows.groupby(["subject", "condition"], sort=False):
        yield str(subject), str(condition), {str(row.level): row for row in part.itertuples()}


def _cards(run: Run) -> dict[tuple[str, str], ArmCard]:
    return {(arm.subject, arm.condition): arm for arm in run.card.arms}


def _chances(rows: pd.DataFrame, levels: Sequence[str]) -> list[str]:
    """Chance at each level: one number, or the range where arms were asked different items."""
    told = []
    for level in levels:
        found = sorted(set((100 * rows.loc[rows["level"] == level, "chance"]).round(1)))
        told.append(DASH if not found else "–".join(dict.fromkeys(f"{x:g}" for x in (found[0], found[-1]))))
    return told


def _share(values: Sequence[float], clusters: Sequence[str]) -> str:
    """The mean of values 0..1 in percent with its interval."""
    if not len(values):
        return DASH
    low, high = cluster_wilson(np.asarray(values, float), np.asarray(clusters, str))
    return spanned(float(np.mean(values)), low, high, len(set(clusters)))


# Tables 2 and 3


def table_2(run: Run) -> Iterator[ReportSection]:
    """Subjects by questions, as Table 2; the pivot where it was asked."""
    rows = _results(run, perception.TASK, "question")
    arms = [one for one in _arms(rows) if set(TABLE_2_QUESTIONS) <= set(one[2])]
    if not arms:
        return
    asked = [question for question in perception.QUESTIONS if any(question in levels for _, _, levels in arms)]
    lines = []
    for subject, condition, levels in arms:
        mean = float(np.mean([levels[question].value for question in TABLE_2_QUESTIONS]))
        lines.append([subject, condition, *(cell(levels.get(question)) for question in asked), f"{100 * mean:.1f}"])
    conditions = {(subject, condition) for subject, condition, _ in arms}
    whole = rows[[(s, c) in conditions for s, c in zip(rows["subject"], rows["condition"], strict=True)]]
    lines.append(["(chance)", "", *_chances(whole, asked), ""])
    names = [SPOKEN[question] for question in asked]
    note = (
        "Percent right with 95 % interval. Chance is that of a guess among the options offered; for contact points "
        "these are the points of the shape in question. The mean is that of the seven questions of the paper's Table 2."
    )
    frame = pd.DataFrame(lines, columns=["subject", "condition", *names, "mean of seven"])
    yield ReportSection("Pattern Perception, question by question (Table 2)", note, frame, None, "table-2")


def table_3(run: Run) -> Iterator[ReportSection]:
    """Img2Text, Text2Img and their mean, as Table 3."""
    tasks = (alignment.IMG2TEXT, alignment.TEXT2IMG)
    rows = pd.concat([_results(run, task).assign(level=task) for task in tasks])
    if rows.empty:
        return
    lines, chances = [], _chances(rows, tasks)
    for subject, condition, levels in _arms(rows):
        first, second = (levels.get(task) for task in tasks)
        both = _mean_of_two(first, second) if first is not None and second is not None else DASH
        lines.append([subject, condition, cell(first), cell(second), both])
    lines.append(["(chance)", "", *chances, chances[0] if chances[0] == chances[1] else ""])
    note = "Percent right of four options, with 95 % interval. The paper's values stand only in a picture."
    frame = pd.DataFrame(lines, columns=["subject", "condition", "Img2Text", "Text2Img", "mean"])
    yield ReportSection("Abstraction Alignment (Table 3)", note, frame, None, "table-3")


def _mean_of_two(first: Any, second: Any) -> str:
    """The mean of two independent shares with an interval made of theirs (Zou and Donner 2008, Statist. Med. 27)."""
    value = (first.value + second.value) / 2
    low = value - np.hypot(first.value - first.low, second.value - second.low) / 2
    high = value + np.hypot(first.high - first.value, second.high - second.value) / 2
    return spanned(value, low, high, first.n + second.n)


# Figure 6: solved examples against none


def figure_6(run: Run) -> Iterator[ReportSection]:
    """Contact point and materials with solved examples against none, on the items that both arms have."""
    lines, found = [], []
    for without, shown in _with_and_without(run):
        for question in perception.IN_CONTEXT:
            compared = _compare(run, without, shown, question)
            if compared is None:
                continue
            before, after, gap = compared
            found.append((without, SPOKEN[question], before, after))
            apart = f"{100 * gap.difference:+.1f} [{100 * gap.low:+.1f}, {100 * gap.high:+.1f}]"
            shares = percent(before, gap.n), percent(after, gap.n)
            lines.append([without.subject, without.condition, SPOKEN[question], gap.n, *shares, apart])
    if not lines:
        return
    note = (
        "Percent right without and with solved examples on the same items, and the difference in points with its 95 % "
        "interval (paired by item, objects drawn again). Spheres are left out of the anchor question, as in the paper: "
        "with one option there is nothing to ask."
    )
    names = ["subject", "condition", "question", "items", "none", "in context", "difference"]
    frame = pd.DataFrame(lines, columns=names)
    yield ReportSection(
        "Solved examples against none (Figure 6)", note, frame, partial(figures.before_after, found), "figure-6"
    )


def _with_and_without(run: Run) -> Iterator[tuple[ArmCard, ArmCard]]:
    """Arms of one subject that differ in nothing but `demos`, once a repeat."""
    arms = [arm for arm in run.card.arms if arm.repeat == 0]

    def rest(arm: ArmCard) -> tuple[Any, ...]:
        return arm.subject, tuple((name, value) for name, value in arm.columns.items() if name != "demos")

    plain = {rest(arm): arm for arm in arms if arm.columns.get("demos") == "none"}
    for arm in arms:
        if arm.columns.get("demos") == "in-context" and rest(arm) in plain:
            yield plain[rest(arm)], arm


def _compare(run: Run, without: ArmCard, shown: ArmCard, question: str) -> tuple[float, float, Paired] | None:
    """Accuracy of both arms on the items that both have, and their paired difference; repeats averaged first."""
    scores = _scores(run, perception.TASK)
    scores = scores[[run.items.by_id[name].factors["question"] == question for name in scores["item_id"]]]
    held = []
    for arm in (without, shown):
        mine = scores[(scores["subject"] == arm.subject) & (scores["condition"] == arm.condition)]
        held.append(mine.groupby("item_id").agg(value=("value", "mean"), cluster=("cluster_id", "first")))
    both = held[0].join(held[1]["value"].rename("value_shown"), how="inner").dropna()
    if both.empty:
        return None
    before, after = both["value"].to_numpy(float), both["value_shown"].to_numpy(float)
    rng = stream("combo", "figure 6", shown.subject, shown.condition, question)
    gap = paired_difference(after, before, both["cluster"].to_numpy(str), rng)
    return float(before.mean()), float(after.mean()), gap


def _scores(run: Run, task: str, metric: str = "accuracy") -> pd.DataFrame:
    scores = run.scores[protocol_of(run)]
    return fakes_last(scores[(scores["task"] == task) & (scores["metric"] == metric)])


# Figure 7 and Table 4: difficulty


def figure_7(run: Run) -> Iterator[ReportSection]:
    """Accuracy by difficulty, as Figure 7 and Table 4."""
    rows = _results(run, categories.TASK, "difficulty")
    if rows.empty:
        return
    whole = {(s, c): levels[""] for s, c, levels in _arms(_results(run, categories.TASK))}
    pairs = {(s, c): levels[""] for s, c, levels in _arms(_results(run, categories.TASK, metric="all_correct"))}
    lines, drawn, cards = [], [], _cards(run)
    for subject, condition, levels in _arms(rows):
        arm, cells = (subject, condition), [cell(levels.get(level)) for level in LEVELS]
        how = _how(subject, cards.get(arm))
        lines.append([subject, condition, how, *cells, cell(whole.get(arm)), cell(pairs.get(arm))])
        drawn.append((subject, condition, [levels.get(level) for level in LEVELS]))
    chances = _chances(rows, LEVELS)
    both = rows, _results(run, categories.TASK, metric="all_correct")
    overall = [percent(float(held["chance"].mean()), 0) for held in both]
    lines.append(["(chance)", "", "", *chances, *overall])
    note = (
        "Percent right with 95 % interval, by the distance between the two categories. 'All of a pair': share of pairs "
        "of categories of which every test object is placed right. 'Clustering & retrieval' is the nearest mean of the "
        "examples' features (appendix E)."
    )
    frame = pd.DataFrame(lines, columns=["subject", "condition", "method", *LEVELS, "all", "all of a pair"])
    figure = partial(figures.by_difficulty, drawn, LEVELS)
    yield ReportSection("Category Building by difficulty (Figure 7, Table 4)", note, frame, figure, "figure-7")


def _how(subject: str, card: ArmCard | None) -> str:
    """The method as Table 4 calls it."""
    if subject.startswith("encoder:"):
        return "clustering & retrieval"
    if subject.startswith("fake:"):
        return "simulated"
    method = str(card.columns.get("method", "vanilla")) if card else "vanilla"
    return "question answering" if method == "vanilla" else method


# Accuracy given correct perception


def given_perception(run: Run, described: Sequence[Seen]) -> ReportSection:
    """Category Building on items whose pictures were all seen right in what decides, and on the others."""
    lines = []
    for (subject, condition), answers in _answers_by_sight(run, described):
        cells = []
        for wanted in (None, True, False):
            held = [(value, cluster) for value, cluster, right in answers if wanted is None or right == wanted]
            cells += [len(held), _share([value for value, _ in held], [cluster for _, cluster in held])]
        lines.append([subject, condition, *cells])
    note = (
        "Category Building by those who first describe every picture: percent right over all items, over items of "
        "which all nine pictures were described right in every dimension in which the two rules contradict each other, "
        "and over the others. Chance is 50. What is missing in 'right then' was wrongly concluded, not wrongly seen."
    )
    names = ["subject", "condition", "items", "right", "items seen right", "right then", "other items", "right there"]
    frame = pd.DataFrame(lines, columns=names)
    return ReportSection("Accuracy given correct perception", note, frame, None, "given-perception")


def _answers_by_sight(
    run: Run, described: Sequence[Seen]
) -> Iterator[tuple[tuple[str, str], list[tuple[float, str, bool]]]]:
    """By arm: (value, cluster, whether every picture was described right in what decides) of each answer."""
    pictures: dict[tuple[str, str, int, str], list[Seen]] = {}
    for one in described:
        pictures.setdefault((one.subject, one.condition, one.repeat, one.item_id), []).append(one)
    answers: dict[tuple[str, str], list[tuple[float, str, bool]]] = {}
    for row in _scores(run, categories.TASK).dropna(subset="value").itertuples():
        held = pictures.get((row.subject, row.condition, row.repeat, row.item_id), [])  # type: ignore[arg-type]
        item = run.items.by_id[str(row.item_id)]
        if held and len(held) == sum(1 for _ in item.media()):
            right = all(one.right(deciding(item)) for one in held)
            place = str(row.subject), str(row.condition)
            answers.setdefault(place, []).append((float(row.value), str(row.cluster_id), right))  # type: ignore[arg-type]
    yield from answers.items()


def perceived_dimensions(described: Sequence[Seen]) -> ReportSection:
    """How often each dimension of a described picture is said as it is."""
    by_arm: dict[tuple[str, str], list[Seen]] = {}
    for one in described:
        by_arm.setdefault((one.subject, one.condition), []).append(one)
    lines = []
    for (subject, condition), mine in by_arm.items():
        clusters = [one.cluster_id for one in mine]
        cells = [_share([float(one.right([d])) for one in mine], clusters) for d in DIMENSIONS]
        lines.append([subject, condition, len(mine), *cells])
    note = (
        "Of the pictures described before classifying: percent described right, dimension by dimension, with 95 % "
        "interval (pairs of categories drawn again). What holds no readable value counts as wrong."
    )
    names = [dimension.replace("-", " ").replace("/", ", ") for dimension in DIMENSIONS]
    frame = pd.DataFrame(lines, columns=["subject", "condition", "pictures", *names])
    return ReportSection("What is perceived before classifying", note, frame, None, "perceived")


# What is said, whatever is right


def positions(run: Run) -> Iterator[ReportSection]:
    """How often each letter is chosen, whatever is right."""
    offered = {
        tuple(getattr(r, name) for name in PLACE): r.reply_spec.offered
        for r in run.responses
        if r.task in (alignment.IMG2TEXT, alignment.TEXT2IMG, categories.TASK)
    }
    lines = []
    for task, letters in ((alignment.IMG2TEXT, "ABCD"), (alignment.TEXT2IMG, "ABCD"), (categories.TASK, "AB")):
        for (subject, condition), part in _scores(run, task).groupby(["subject", "condition"], sort=False):
            heard = part[part["outcome"] == "answered"]
            keys = [offered[place] for place in zip(*(heard[name] for name in PLACE), strict=True)]
            if heard.empty:
                continue
            said = [at.index(json.loads(answer)) for at, answer in zip(keys, heard["prediction"], strict=True)]
            right = [at.index(json.loads(truth)) for at, truth in zip(keys, heard["truth"], strict=True)]
            clusters = list(heard["cluster_id"])
            cells = [_said_and_right(said, right, n, clusters) if n < len(letters) else "" for n in range(4)]
            lines.append([subject, condition, task, len(heard), *cells])
    if not lines:
        return
    note = (
        "How often each letter was chosen, in percent with 95 % interval, and in parentheses how often it was right. "
        "Who always says A has 100 in the first column, and is right half the time in Category Building."
    )
    frame = pd.DataFrame(lines, columns=["subject", "condition", "task", "answers", *"ABCD"])
    yield ReportSection("Which letters are chosen", note, frame, None, "letters")


def _said_and_right(said: Sequence[int], right: Sequence[int], place: int, clusters: Sequence[str]) -> str:
    chosen = _share([float(n == place) for n in said], clusters)
    return f"{chosen} ({percent(float(np.mean([n == place for n in right])), len(right))})"
