"""The tables and figures of docs/measurements/visonlyqa.md.

    python -m examples.visonlyqa.measure CLONE study [--figures docs/images]

`study` is the folder of `tables.py` after its commands. Grades, ranks, intervals, paired tests and Holm's correction
are Snellen's; this script chooses what is compared.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from examples.visonlyqa.published import published_scores, read_published, readings_of
from examples.visonlyqa.tables import PROMPTS, SETS, printed_accuracies, replies
from snellen.analysis.comparison.contrasts import contrast, with_holm
from snellen.analysis.tables.plots import FAINT, INK, MUTED, SERIES, legend_below, plain_axes
from snellen.analysis.tables.rank_table import rank_table
from snellen.analysis.tables.rankings import ScoreMatrix, ranked, spread
from snellen.analysis.tables.run_view import main_arms, score_matrix
from snellen.analysis.tables.section import Run
from snellen.core.item import Item
from snellen.core.response import Response
from snellen.core.seeds import stream
from snellen.core.suite import Ceiling, Suite
from snellen.reports.loading import load_run
from snellen.scoring.permutation import ALPHA
from snellen.scoring.uncertainty import cluster_wilson, wilson
from snellen.suites import SUITES

Values: TypeAlias = "pd.Series[float]"
FAMILIES = (
    ("Qwen2-VL-2B-Instruct", "Qwen2-VL-7B-Instruct", "Qwen2-VL-72B-Instruct"),
    ("InternVL2-4B", "InternVL2-8B", "InternVL2-26B", "InternVL2-40B", "InternVL2-Llama3-76B"),
    ("Llama-3.2-11B-Vision-Instruct", "Llama-3.2-90B-Vision-Instruct"),
    ("molmo-7B-D-0924", "molmo-72B-0924"),
    ("llava_next_llama3", "llava_next_yi_34b"),
    ("gemini-1.5-flash-002", "gemini-1.5-pro-002"),
    ("gpt-4o-mini-2024-07-18", "gpt-4o-2024-08-06"),
)
"""Models of one family, smallest first."""
SHORT = re.compile(r"recorded:|-Instruct|-vision-instruct|-Vision|-Llama3|-0924|-20\d{6}|-20\d\d-\d\d-\d\d|-002")
DIRECT, REASONING = PROMPTS.values()
KEYS = ["subject", "condition", "item_id"]
COUNTED = re.compile(r"\(([a-e])\)|\b([Tt]rue|[Ff]alse)\b")
DEALS = 40
LABELLED = re.compile(r"\(?\b([a-e])[).]\s{0,3}([^\s()][^()\n]{0,40})")


def short(name: str) -> str:
    """A model's name without dates and endings."""
    return {"llava_next_llama3": "LLaVA-NeXT-8B", "llava_next_yi_34b": "LLaVA-NeXT-34B"}.get(
        plain := SHORT.sub("", name), plain
    )


def part_of(task: str) -> str:
    """The set of a task: real or synthetic."""
    return "synthetic" if task.startswith(("3d", "synthetic")) else "real"


# People


def people(clone: Path) -> dict[str, tuple[int, int]]:
    """Right answers of people and all their answers by task of the item set."""
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for path in sorted((clone / "results" / "human_performance").glob("*_human_performance.json")):
        for key, entry in json.loads(path.read_text("utf-8")).items():
            task, annotator = re.findall(r"'([^']*)'|(\d+)", key)
            if annotator[1]:
                right = entry["annotations"]["correct_list"]
                counts[task[0].replace("__", "-").replace("_", "-")][0] += sum(right)
                counts[task[0].replace("__", "-").replace("_", "-")][1] += len(right)
    return {task: (right, count) for task, (right, count) in counts.items()}


def with_people(suite: Suite, counts: Mapping[str, tuple[int, int]]) -> Suite:
    """The suite with people's accuracies as ceilings."""
    source = "results/human_performance of the repository"
    ceilings = [
        Ceiling(task=task, metric="accuracy", value=right / count, source=source)
        for task, (right, count) in counts.items()
    ]
    return Suite(**{**suite.__dict__, "card": suite.card.model_copy(update={"ceilings": ceilings})})


# Readings


def cause(item: Item, response: Response, strict: Any, other: Any) -> str:
    """Why `strict` differs from `published` on a reply, by its form."""
    text = (response.text or "").strip()
    if strict is not None:
        return "both read an answer, but not the same"
    if response.reply_spec.kind == "choices":
        return "several answers, in a form that `strict` does not read"
    if text[-1:].isalnum() or text[-1:] in ",:;-" or len(text) > 1800:
        return "ends in mid-sentence, without an answer"
    texts = {option.key: option.text.strip().lower() for option in item.options}
    labels = LABELLED.findall(text)
    if labels and not texts.get(labels[-1][0], "").startswith(labels[-1][1].strip(" .,*").lower()[:3]):
        return "the letter of one option with another text"
    named = {first or second.lower() for first, second in COUNTED.findall(text)}
    if len(named) > 1:
        return "several options, none declared"
    return "no option named" if not named else "one option named, not declared"


def reading_table(run: Run, published: pd.DataFrame) -> pd.DataFrame:
    """Differences of readings between `strict` and `published` by cause, condition and what read it for the authors."""
    strict = accuracy_rows(run.scores["strict"])
    both = strict.merge(published, on=KEYS, suffixes=("", "_published"))
    both = both[both["prediction"] != both["prediction_published"]]
    responses = {(r.subject, r.condition, r.item_id): r for r in run.responses}
    rows = []
    cells: Any = both.itertuples()
    for row in cells:
        response = responses[row.subject, row.condition, row.item_id]
        by = "rule" if read_published(response.text or "", response.reply_spec) is not None else "GPT-4o"
        values = json.loads(row.prediction), json.loads(row.prediction_published)
        what = cause(run.items.by_id[row.item_id], response, *values)
        right = {(0, 1): "right for the authors only", (1, 0): "right for strict only"}.get(
            (int(row.value), int(row.value_published)), "no change"
        )
        rows.append((what, row.condition, by, short(row.subject), right, row.chance))
    return pd.DataFrame(rows, columns=["cause", "condition", "read by", "model", "score", "chance"])


def printed_agreement(clone: Path, published: pd.DataFrame) -> tuple[Counter[tuple[bool, bool]], int]:
    """Numbers of printed accuracies by (of a tuned model, equal to ours), and those that lack a reply."""
    value = published.set_index(KEYS)["value"].to_dict()
    of_file: dict[tuple[str, ...], list[float]] = defaultdict(list)
    tuned = {}
    for reply in replies(clone):
        task = reply.item_id.rpartition("-")[0]
        tuned[reply.file] = reply.is_finetuned
        score = value[f"recorded:{reply.model}", PROMPTS[reply.prompt], reply.item_id]
        for name in (task, "all"):
            of_file[part_of(task), name, reply.prompt, reply.file].append(score)
    counts: Counter[tuple[bool, bool]] = Counter()
    missing = 0
    for *key, accuracy in printed_accuracies(clone):
        scores = of_file.get(tuple(key))
        missing += scores is None
        if scores:
            counts[tuned[key[3]], abs(float(np.mean(scores)) - accuracy) < 1e-9] += 1
    return counts, missing


# Scores


def accuracy_rows(scores: pd.DataFrame) -> pd.DataFrame:
    """The rows of accuracy."""
    return scores[scores["metric"] == "accuracy"]


class Scores:
    """Right (1) or wrong (0) by subject, condition and item, with clusters, which are images."""

    def __init__(self, *tables: pd.DataFrame) -> None:
        rows = pd.concat(map(accuracy_rows, tables))
        self.values: Values = rows.set_index(KEYS)["value"].sort_index()
        self.cluster = rows.drop_duplicates("item_id").set_index("item_id")["cluster_id"]
        self.task = rows.drop_duplicates("item_id").set_index("item_id")["task"]

    def of(self, model: str, condition: str, *, part: str = "", task: str = "") -> Values:
        """The scores of a model on the items of a set or a task; of all items without either."""
        values: Any = self.values.loc[f"recorded:{model}", condition]
        tasks = self.task[values.index]
        of_tasks: Values = values[[part in ("", part_of(name)) and task in ("", name) for name in tasks]]
        return of_tasks

    def test(self, family: str, name: str, first: Values, second: Values) -> dict[str, Any]:
        """The paired test of first minus second on common items, a row for `with_holm`."""
        pair = pd.concat([first.rename("a"), second.rename("b")], axis=1, join="inner")
        clusters = self.cluster[pair.index].to_numpy(str)
        numbers = contrast(pair["a"].to_numpy(float), pair["b"].to_numpy(float), clusters, family, name)
        return {"family": family, "name": name, "first": pair["a"].mean(), "second": pair["b"].mean(), **numbers}


def size_tests(scores: Scores) -> Iterator[dict[str, Any]]:
    """Largest against smallest of each family, and every step, by set."""
    for models in FAMILIES:
        for part in SETS:
            of = {model: scores.of(model, DIRECT, part=part) for model in models}
            ends = models[-1], models[0]
            yield scores.test("size, ends", f"{short(ends[0])} - {short(ends[1])}, {part}", of[ends[0]], of[ends[1]])
            for small, large in pairwise(models):
                yield scores.test("size, steps", f"{short(large)} - {short(small)}, {part}", of[large], of[small])


def reasoning_tests(scores: Scores, models: Sequence[str], tasks: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Reasoning minus none on the real set: by model, by model and task, and by task for the mean of the models."""
    for model in models:
        arms = [scores.of(model, condition, part="real") for condition in (REASONING, DIRECT)]
        yield scores.test("reasoning, by model", short(model), *arms)
        for task in tasks:
            cell = [arm[scores.task[arm.index] == task] for arm in arms]
            yield scores.test("reasoning, by model and task", f"{short(model)}, {task}", *cell)
    for task in tasks:
        means = []
        for condition in (REASONING, DIRECT):
            of = [scores.of(model, condition, task=task) for model in models]
            means.append(pd.concat(of, axis=1).mean(axis=1))
        yield scores.test("reasoning, by task", task, *means)


def finetuning_tests(scores: Scores, names: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Tuned minus original by model and task; the real set is out of domain."""
    for name in names:
        if name.endswith("-finetuned"):
            base = name.removesuffix("-finetuned")
            tuned = scores.of(name, DIRECT)
            for task in dict.fromkeys(scores.task[tuned.index]):
                pair = [arm[scores.task[arm.index] == task] for arm in (tuned, scores.of(base, DIRECT))]
                yield scores.test(f"fine-tuning, {part_of(task)}", f"{short(base)}, {task}", *pair)


def pair_tests(scores: Scores, models: Sequence[str]) -> Iterator[dict[str, Any]]:
    """All pairs of models on each set, without reasoning."""
    for part in SETS:
        of = {model: scores.of(model, DIRECT, part=part) for model in models}
        for first, second in combinations(models, 2):
            yield scores.test(f"pairs, {part}", f"{short(first)} - {short(second)}", of[first], of[second])


def set_ranks(scores: Scores, models: Sequence[str]) -> pd.DataFrame:
    """Accuracy and rank of the models on all questions of each set, without reasoning, with 95 % intervals."""
    rows = []
    for part in SETS:
        arms = [scores.of(model, DIRECT, part=part) for model in models]
        table = pd.concat(arms, axis=1)
        clusters = scores.cluster[table.index].astype(str)
        matrix = ScoreMatrix(part, table.to_numpy(float).T, tuple(clusters), False)
        for model, arm, rank in zip(models, arms, ranked([matrix])[part], strict=True):
            interval = cluster_wilson(arm.to_numpy(float), clusters.to_numpy(str))
            rows.append((part, short(model), arm.mean(), *interval, *rank))
    columns = ["set", "model", "value", "low", "high", "rank", "rank low", "rank high"]
    return pd.DataFrame(rows, columns=columns).sort_values(["set", "rank"])


def best_tests(scores: Scores, models: Sequence[str], tasks: Sequence[str]) -> Iterator[dict[str, Any]]:
    """The best model of each task minus every other, without reasoning."""
    for task in tasks:
        of = {model: scores.of(model, DIRECT, task=task) for model in models}
        best = max(models, key=lambda model: float(of[model].mean()))
        for model in models:
            if model != best:
                yield scores.test(f"best, {task}", f"{short(best)} - {short(model)}", of[best], of[model])


def flips(scores: Scores, models: Sequence[str]) -> pd.DataFrame:
    """Items of the real set that reasoning turns, by model."""
    rows = []
    for model in models:
        after, before = (scores.of(model, c, part="real") for c in (REASONING, DIRECT))
        rows.append(
            (short(model), int(((before == 1) & (after == 0)).sum()), int(((before == 0) & (after == 1)).sum()))
        )
    return pd.DataFrame(rows, columns=["model", "right to wrong", "wrong to right"])


# Attacks


def best_texts(items: Iterable[Item]) -> pd.DataFrame:
    """By task, the share of items whose answer has the commonest letter, and the commonest text."""
    letters: dict[str, Counter[Any]] = defaultdict(Counter)
    texts: dict[str, Counter[Any]] = defaultdict(Counter)
    for item in items:
        of_key = {option.key: option.text for option in item.options}
        letters[item.task][item.answer] += 1
        texts[item.task][of_key.get(item.answer) or item.answer] += 1
    counted = {task: [max(c.values()) / c.total() for c in (letters[task], texts[task])] for task in letters}
    return pd.DataFrame.from_dict(counted, orient="index", columns=["best letter", "best text"])


def habits(run: Run, floors: Mapping[str, float]) -> pd.DataFrame:
    """By arm and task: score, what its answers would score on average if dealt to items at random, and most given.

    `luck` is the share of `DEALS` such deals whose interval is above the task's floor.
    """
    rows = accuracy_rows(run.scores["strict"])
    rng = stream("visonlyqa", "deals")
    table = []
    for (subject, condition, task), part in rows.groupby(["subject", "condition", "task"], sort=False):
        keys, given = (part[name].value_counts(normalize=True) for name in ("truth", "prediction"))
        dealt = float((keys * given.reindex(keys.index).fillna(0)).sum())
        clusters, truths, answers = (part[name].to_numpy(str) for name in ("cluster_id", "truth", "prediction"))
        low, high = cluster_wilson(part["value"].to_numpy(float), clusters)
        deals = [cluster_wilson(rng.permutation(answers) == truths, clusters)[0] for _ in range(DEALS)]
        luck = float(np.mean(np.array(deals) > floors[str(task)]))
        table.append((subject, condition, task, part["value"].mean(), low, high, dealt, given.iloc[0], luck))
    return pd.DataFrame(
        table, columns=["subject", "condition", "task", "value", "low", "high", "dealt", "most given", "luck"]
    )


def cluster_widening(run: Run) -> dict[str, float]:
    """By set, the mean ratio of interval widths with and without regard to clusters, over models and tasks."""
    ratios: dict[str, list[float]] = defaultdict(list)
    for (_, _, task), part in accuracy_rows(run.scores["strict"]).groupby(["subject", "condition", "task"]):
        low, high = cluster_wilson(part["value"].to_numpy(float), part["cluster_id"].to_numpy(str))
        plain_low, plain_high = wilson(part["value"].sum(), len(part))
        ratios[part_of(str(task))].append((high - low) / (plain_high - plain_low))
    return {part: float(np.mean(values)) for part, values in ratios.items()}


# Figures


def draw_cells(cells: pd.DataFrame, path: Path) -> None:
    """Models by tasks, without reasoning: which scores are above chance, above the blind baseline, and graded."""
    import matplotlib.pyplot as plt
    from matplotlib.colors import ListedColormap
    from matplotlib.patches import Rectangle

    table = cells.pivot(index="model", columns="task", values="level")
    order = table.sum(axis=1).sort_values(ascending=False).index
    table = table.loc[order, sorted(table.columns, key=lambda task: (part_of(task), task))]
    figure, axes = plt.subplots(figsize=(8.2, 5.6), layout="constrained")
    colours = (FAINT, "#f0d9a8", "#9cc4e4", SERIES[0])
    axes.imshow(table.to_numpy(float), cmap=ListedColormap(list(colours)), vmin=-0.5, vmax=3.5, aspect="auto")
    axes.set_xticks(range(len(table.columns)), table.columns, rotation=60, ha="right", fontsize=8)
    axes.set_yticks(range(len(table)), [short(name) for name in table.index], fontsize=8)
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)
    names = ("not above chance", "above chance only", "above the blind baseline", "and grade some or better")
    handles = [Rectangle((0, 0), 1, 1, color=colour) for colour in colours]
    figure.legend(handles, names, loc="outside lower center", ncols=4, fontsize=8, frameon=False)
    save(figure, path)


def draw_ranks(ranks: pd.DataFrame, path: Path) -> None:
    """Ranks by set (`set_ranks`), with 95 % intervals, in the order of the real set."""
    import matplotlib.pyplot as plt

    order = list(ranks[ranks["set"] == "real"].sort_values("value")["model"])
    figure, panels = plt.subplots(1, 2, figsize=(7.6, 4.4), sharey=True, layout="constrained")
    for axes, (part, table) in zip(panels, ranks.groupby("set"), strict=True):
        places = [order.index(model) for model in table["model"]]
        axes.hlines(places, table["rank low"], table["rank high"], color=MUTED, linewidth=1.6)
        axes.plot(table["rank"], places, "o", color=SERIES[0], markersize=5)
        axes.set_title(f"{part} set", fontsize=9, color=INK)
        axes.set_xlabel("rank among 20 models, 1 is best", fontsize=8, color=INK)
        axes.set_yticks(range(len(order)), order, fontsize=8)
        axes.set_xticks((1, 5, 10, 15, 20))
        plain_axes(axes, "x")
    save(figure, path)


def draw_flips(table: pd.DataFrame, path: Path) -> None:
    """Items that reasoning turns from right to wrong and back, by model."""
    import matplotlib.pyplot as plt

    table = table.assign(net=table["wrong to right"] - table["right to wrong"]).sort_values("net")
    figure, axes = plt.subplots(figsize=(6.4, 4.6), layout="constrained")
    places = np.arange(len(table))
    axes.barh(places, table["wrong to right"], color=SERIES[0], height=0.7, label="wrong to right")
    axes.barh(places, -table["right to wrong"], color=SERIES[1], height=0.7, label="right to wrong")
    axes.plot(table["net"], places, "|", color=INK, markersize=9, label="net")
    axes.set_yticks(places, table["model"], fontsize=8)
    axes.set_xlabel("items of 500 that the prompt with reasoning turns", fontsize=8, color=INK)
    plain_axes(axes, "x")
    legend_below(figure, axes)
    save(figure, path)


def save(figure: Any, path: Path) -> None:
    """Write the figure as SVG, the same bytes for the same data."""
    import matplotlib.pyplot as plt

    with plt.rc_context({"svg.hashsalt": "visonlyqa", "svg.fonttype": "none"}):
        figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


# All


def cell_levels(results: pd.DataFrame) -> pd.DataFrame:
    """Rows of whole tasks by accuracy, with `level`: 0 not above chance, 1 above it, 2 above blind, 3 graded so."""
    rows = results[(results["metric"] == "accuracy") & (results["factor"] == "")].copy()
    above_chance = rows["low"] > rows["chance"]
    above_blind = rows["low"] > rows[["chance", "blind"]].max(axis=1)
    graded = above_blind & ~rows["grade"].isin(["", "none"])
    rows["level"] = above_chance.astype(int) + (above_chance & above_blind) + (above_chance & graded)
    return rows.assign(model=rows["subject"])


def against_people(cells: pd.DataFrame, counts: Mapping[str, tuple[int, int]]) -> pd.DataFrame:
    """By task, people and the best arm with their intervals, and the number of arms whose interval reaches people's."""
    rows = []
    for task, part in cells.groupby("task"):
        right, count = counts[str(task)]
        low, high = wilson(right, count)
        best = part.sort_values("value").iloc[-1]
        name = f"{short(best['subject'])}, {best['condition']}"
        reach = int((part["high"] >= low).sum())
        rows.append((task, right / count, low, high, name, best["value"], best["low"], best["high"], reach, len(part)))
    columns = ["task", "people", "low", "high", "best", "value", "from", "to", "reach people", "arms"]
    return pd.DataFrame(rows, columns=columns)


def separation(run: Run) -> pd.DataFrame:
    """By task, without reasoning: best and worst model, spread beyond the draw of items, with its interval."""
    rows = []
    for task in run.suite.tasks:
        arms = main_arms(run)
        matrix = score_matrix(run, task, arms)
        if (estimate := spread(matrix, stream("visonlyqa", task))) is not None:
            means = matrix.values.mean(axis=1)
            rows.append(
                (task, means.min(), means.max(), estimate.observed, estimate.beyond, estimate.low, estimate.high)
            )
    return pd.DataFrame(rows, columns=["task", "worst", "best", "observed", "beyond", "low", "high"])


def main() -> None:
    """Print all tables as Markdown and draw the figures."""
    parser = argparse.ArgumentParser(description="Tables and figures of the page on VisOnlyQA.")
    parser.add_argument("clone", type=Path)
    parser.add_argument("study", type=Path)
    parser.add_argument("--figures", type=Path, help="folder for the figures; default: none are drawn")
    arguments = parser.parse_args()
    clone, study = arguments.clone, arguments.study
    counts = people(clone)
    run, tuned = (
        load_run(study / name, lambda suite: with_people(SUITES.get(suite), counts))
        for name in ("run", "run-finetuned")
    )
    models = [model.removeprefix("recorded:") for model in dict.fromkeys(run.results["subject"])]
    tasks = [task for task in run.suite.tasks if part_of(task) == "real"]
    strict = pd.concat(accuracy_rows(r.scores["strict"]) for r in (run, tuned))
    published, by_rule = (
        accuracy_rows(pd.concat(published_scores(r.responses, r.items, r.suite, readings) for r in (run, tuned)))
        for readings in (readings_of(clone), {})
    )
    by_both = by_rule.merge(strict[[*KEYS, "value"]], on=KEYS, suffixes=("", "_strict"))
    by_both["value"] = by_both["value"].fillna(by_both["value_strict"])
    show("replies by the rule", by_rule["outcome"].value_counts())
    show("printed accuracies (tuned, equal)", printed_agreement(clone, published))
    show("by the rule alone", printed_agreement(clone, by_rule.fillna({"value": 0})))
    show("by the rule, then `strict`", printed_agreement(clone, by_both))
    show("by `strict`", printed_agreement(clone, strict))
    differences = reading_table(run, published)
    show("readings", differences.groupby(["cause", "condition", "read by"]).size().unstack([1, 2], fill_value=0))
    show("readings by model", differences.groupby("cause")["model"].value_counts().unstack(0, fill_value=0))
    show("chance of these questions", differences.groupby("cause")["chance"].mean())
    show("readings by score", differences.groupby(["cause", "score"]).size().unstack(fill_value=0))
    cells = cell_levels(run.results)
    for condition, part in cells.groupby("condition"):
        show(f"levels, {condition}", part.groupby("task")["level"].value_counts().unstack(fill_value=0))
        show(f"grades, {condition}", part["grade"].where(part["grade"] != "", part["state"]).value_counts())
        show(f"levels in all, {condition}", part["level"].value_counts())
        show(f"levels by model, {condition}", part.groupby("model")["level"].value_counts().unstack(fill_value=0))
    show("best model and people", against_people(cells, counts))
    ranks = rank_table(run)
    show("ranks", ranks[ranks["task"] == ""].sort_values("rank"))
    show("ranks that may be 1", ranks[ranks["low"] <= 1].groupby("task").size())
    show("separation", separation(run))
    show("table of the page", page_table(run, counts, ranks))
    scores = Scores(run.scores["strict"], tuned.scores["strict"])
    names = [name.removeprefix("recorded:") for name in dict.fromkeys(tuned.results["subject"])]
    by_set = set_ranks(scores, models)
    show("ranks by set", by_set)
    tests = with_holm(
        pd.DataFrame(
            [
                *size_tests(scores),
                *reasoning_tests(scores, models, tasks),
                *finetuning_tests(scores, names),
                *pair_tests(scores, models),
                *best_tests(scores, models, list(run.suite.tasks)),
            ]
        )
    )
    for family, part in tests.groupby("family", sort=False):
        columns = ["name", "first", "second", "difference", "low", "high", "n", "clusters", "p", "p_holm", "clear"]
        long = part if len(part) < 40 else part[part["p"] < ALPHA]
        show(f"{family}: {int(part['clear'].sum())} clear of {len(part)}", long[columns])
    by_authors = Scores(published)
    again = with_holm(pd.DataFrame([*reasoning_tests(by_authors, models, tasks)]))
    again = again[again["family"] == "reasoning, by model"]
    show(
        "reasoning under `published`",
        again[["name", "first", "second", "difference", "low", "high", "p_holm", "clear"]],
    )
    turned = flips(scores, models)
    show("flips", turned)
    show("flips in all", turned.sum(numeric_only=True))
    of_task = cells.groupby("task")[["blind", "chance"]].first().max(axis=1)
    floors = {str(task): float(floor) for task, floor in of_task.items()}
    table = habits(run, floors)
    table = table.merge(cells[["subject", "condition", "task", "blind", "chance"]], on=["subject", "condition", "task"])
    table["above chance"] = table["low"] > table["chance"]
    table["above blind"] = table["low"] > table[["blind", "chance"]].max(axis=1)
    table["above dealt"] = table["low"] > table["dealt"]
    constants = best_texts(run.items.items)
    table = table.join(constants, on="task")
    best = table[["best letter", "best text"]].max(axis=1)
    table["above all"] = table["above blind"] & table["above dealt"] & (table["low"] > best)
    columns = ["above chance", "above blind", "above dealt", "above all", "luck"]
    show("attacks", table.groupby("condition")[columns].sum())
    show("constants", table.groupby("task")[["chance", "blind", "best letter", "best text"]].first())
    show("most given over 90 %", table[table["most given"] > 0.9][["subject", "condition", "task", "value", "dealt"]])
    show("widening by clusters", cluster_widening(run))
    clusters = accuracy_rows(run.scores["strict"]).drop_duplicates("item_id").groupby("task")["cluster_id"].nunique()
    show("images", clusters)
    for name in SETS:
        right, count = (sum(pair[n] for task, pair in counts.items() if part_of(task) == name) for n in (0, 1))
        show(f"people, {name}", (right, count, right / count, *wilson(right, count)))
    if arguments.figures:
        draw_cells(cells[cells["condition"] == DIRECT], arguments.figures / "visonlyqa-cells.svg")
        draw_ranks(by_set, arguments.figures / "visonlyqa-ranks.svg")
        draw_flips(turned, arguments.figures / "visonlyqa-flips.svg")


def page_table(run: Run, counts: Mapping[str, tuple[int, int]], ranks: pd.DataFrame) -> str:
    """One row per task, without reasoning, in Markdown; shares in percent with 95 % intervals."""
    cells = cell_levels(run.results)
    cells = cells[cells["condition"] == DIRECT]
    spreads = separation(run).set_index("task")
    lines = []
    for task, part in cells.groupby("task"):
        best = part.sort_values("value").iloc[-1]
        above = [int((part["level"] >= level).sum()) for level in (1, 2, 3)]
        may_be_best = int((ranks[ranks["task"] == task]["low"] <= 1).sum())
        beyond = in_percent(*spreads.loc[task, ["beyond", "low", "high"]])
        shares = [f"{100 * best[name]:.0f}" for name in ("chance", "blind")]
        score = in_percent(best["value"], best["low"], best["high"])
        right, count = counts[str(task)]
        row = [f"{best['n']}, {best['clusters']}", *shares, score, *above, may_be_best, beyond]
        lines.append(f"| {task} | {' | '.join(map(str, row))} | {in_percent(right / count, *wilson(right, count))} |")
    return "\n".join(lines)


def in_percent(value: float, low: float, high: float) -> str:
    """A share with its interval, in whole percent."""
    return f"{100 * value:.0f} [{100 * low:.0f}, {100 * high:.0f}]"


def show(title: str, table: Any) -> None:
    """Print a table with its title."""
    print(f"\n## {title}\n")
    with pd.option_context("display.width", 200, "display.max_rows", 500, "display.max_columns", 30):
        print(table.round(3) if isinstance(table, pd.DataFrame) else table)


if __name__ == "__main__":
    main()
