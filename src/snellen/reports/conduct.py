"""Details of a run: item set, arms with their settings, calls, tokens, cost, failures with reasons."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from snellen.analysis.tables.run_view import arm_name
from snellen.analysis.tables.section import Run
from snellen.core.storage import files
from snellen.core.storage.itemset import ItemSet
from snellen.core.storage.run_tables import SENT, read_calls, sent_parts
from snellen.core.storage.runfolder import ArmCard, cost_by_subject, money, price_of, recorded_subjects
from snellen.reports.loading import Exam
from snellen.reports.words import foreign

_COLUMNS = ["key", "digest", "error", "stop", "model", "tokens_in", "tokens_out", "seconds"]


@dataclass(frozen=True)
class ArmSummary:
    """One arm: its subject and settings, calls, tokens, time and cost.

    `forms` counts the forms of boxes and colours in its replies, if some were not given as asked.
    """

    arm: str
    repeats: int
    fingerprint: str
    settings: str
    attributes: str
    axes: str
    calls: int
    tokens_in: int
    tokens_out: int
    seconds: float
    cost: str
    model: str
    stops: str
    forms: str


@dataclass(frozen=True)
class Conduct:
    """One run. `reasons` are (arm, failed or declined, reason, items)."""

    name: str
    facts: tuple[tuple[str, str], ...]
    arms: tuple[ArmSummary, ...]
    reasons: tuple[tuple[str, str, str, int], ...]
    sent: tuple[tuple[str, str], ...]


def conduct(exam: Exam) -> list[Conduct]:
    """The details of every run of an exam."""
    return [_conduct(run) for run in exam.runs]


def set_facts(items: ItemSet) -> tuple[tuple[str, str], ...]:
    """Facts on the item set for the page."""
    card = items.card
    counts = "; ".join(
        f"{task}: " + ", ".join(f"{n:,} {split}" for split, n in count.items()) for task, count in card.counts.items()
    )
    facts = (
        ("suite and version", f"{card.suite} {card.version}"),
        ("remarks", "; ".join(card.notes)),
        ("made by recipe", card.source),
        ("recipe", _plain(card.recipe)),
        ("items", counts),
        ("recipe hash", card.recipe_hash),
        ("content hash", card.content_hash),
        ("made with", _plain(card.provenance)),
        ("blind baselines", items.blind.method if items.blind else "not measured"),
    )
    return tuple((name, foreign(fact, 2000)) for name, fact in facts if fact)


def _conduct(run: Run) -> Conduct:
    card = run.card
    calls = read_calls(run.root, *_COLUMNS).to_pandas(ignore_metadata=True).set_index("key")
    facts = (
        ("seed", str(card.seed)),
        ("limit", "" if card.limit is None else f"the first {card.limit} test items per task"),
        ("transforms", "; ".join(card.transforms)),
        ("made with", _plain(card.versions)),
        ("cost of all calls", _plain({name: f"{cost:.4f}" for name, cost in cost_by_subject(run.root).items()})),
    )
    return Conduct(
        run.root.absolute().name,
        tuple((name, foreign(fact, 2000)) for name, fact in facts if fact),
        tuple(_arms(run, calls)),
        tuple(_reasons(run)),
        tuple(_sent(run)),
    )


def _arms(run: Run, calls: pd.DataFrame) -> Iterator[ArmSummary]:
    used: dict[str, dict[str, None]] = {}
    for response in run.responses:
        used.setdefault(arm_name(response.subject, response.condition), {}).update(dict.fromkeys(response.calls))
    repeats = Counter(arm_name(arm.subject, arm.condition) for arm in run.card.arms)
    arms: set[str] = set()
    for arm in run.card.arms:
        name = arm_name(arm.subject, arm.condition)
        if name not in arms:
            arms.add(name)
            arm_calls = calls[calls.index.isin(used.get(name, {}))]
            yield _arm_summary(arm, name, repeats[name], arm_calls, _forms(run, arm))


def _forms(run: Run, arm: ArmCard) -> str:
    scores = run.scores["strict"] if "strict" in run.scores else pd.DataFrame()
    if "form" not in scores:
        return ""
    of_arm = (scores["subject"] == arm.subject) & (scores["condition"] == arm.condition) & (scores["form"] != "")
    each = scores[of_arm].drop_duplicates(["item_id", "repeat"])
    counts = Counter(zip(each["task"], each["form"], strict=True))
    if {form for _, form in counts} <= {"as asked"}:
        return ""
    return ", ".join(f"{task}: {form} {count}" for (task, form), count in counts.items())


def _arm_summary(arm: ArmCard, name: str, repeats: int, calls: pd.DataFrame, forms: str) -> ArmSummary:
    tokens, answered = int(calls["tokens_in"].sum()), int(calls["tokens_out"].sum())
    cost = money(tokens, answered, price_of(arm.attributes) or (0.0, 0.0))
    stops = calls["stop"].dropna().value_counts()
    return ArmSummary(
        name, repeats, arm.fingerprint, foreign(_plain(arm.settings), 1000), foreign(_plain(arm.attributes), 400),
        _plain(arm.columns), len(calls), tokens, answered, float(calls["seconds"].sum()), f"{cost:.4f}" if cost else "",
        foreign(", ".join(sorted(set(calls["model"].dropna()) - {""})), 200),
        ", ".join(f"{foreign(str(stop), 40)} {count}" for stop, count in stops.items() if stop != "end"), forms,
    )  # fmt: skip


def _reasons(run: Run) -> Iterator[tuple[str, str, str, int]]:
    reasons = Counter(
        (arm_name(r.subject, r.condition), r.status, foreign(r.reason.split("\n")[0], 200))
        for r in run.responses
        if r.status != "ok"
    )
    yield from ((arm, status, reason, count) for (arm, status, reason), count in reasons.most_common(60))


def _sent(run: Run) -> Iterator[tuple[str, str]]:
    """The first prompt of each task, verbatim. Of recorded answers it is not known."""
    prompt_of, tasks = sent_prompts(run.root), set[str]()
    recorded = recorded_subjects(run.card)
    for response in run.responses:
        if response.subject in recorded:
            continue
        if response.task not in tasks and response.calls and (text := prompt_of(response.calls[-1])):
            tasks.add(response.task)
            yield f"{response.task}, {arm_name(response.subject, response.condition)}", text


def sent_prompts(root: Path) -> Callable[[str], str]:
    """Function from the key of a call to its prompt as text; empty if the run did not keep it."""
    sent = files.read_table(root / "sent.parquet", schema=SENT).to_pydict()
    parts_of = dict(zip(sent["digest"], sent["parts"], strict=True))
    calls = read_calls(root, "key", "digest").to_pydict()
    digests = dict(zip(calls["key"], calls["digest"], strict=True))

    @cache
    def prompt(digest: str) -> str:
        return _prompt(sent_parts(root, parts_of[digest])) if digest in parts_of else ""

    return lambda call: prompt(digests.get(call, ""))


def _prompt(parts: list[Any]) -> str:
    lines = []
    for part in parts:
        if isinstance(part, str):
            lines.append(part)
        elif "reply" in part:
            lines.append(f"[earlier reply] {part['reply']}")
        elif "montage" in part:
            lines.append(f"[{len(part['montage'])} images laid out as one]")
        else:
            lines.append("[video]" if str(part.get("media", "")).endswith(".mp4") else "[image]")
    return foreign("\n".join(lines), 6000)


def _plain(fact: Any) -> str:
    """Plain data as `name value` pairs, nested ones as JSON."""
    return ", ".join(
        f"{name} {value if isinstance(value, str | int | float) else json.dumps(value)}" for name, value in fact.items()
    )
