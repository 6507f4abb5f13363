"""Outcomes of hostile replies and item sets: each is recorded and read, or refused in one line."""

from __future__ import annotations

import json
import shutil
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from snellen.core.errors import SnellenError
from snellen.core.item import AnswerKind, ReplySpec
from snellen.core.storage.itemset import write_itemset
from snellen.core.storage.media import MediaFolder
from snellen.core.storage.run_tables import read_responses
from snellen.curation.steps import copy_media
from snellen.exam.run import run
from snellen.runs.asking.ask import ask
from snellen.runs.planning.plan import Plan
from snellen.runs.scores.score import score, write_scores
from snellen.runs.sets.gate import open_items
from snellen.scoring.answers import read_answer, read_exactly
from tests.helpers.hostile import hostile_reply, make_hostile
from tests.helpers.journey import RGB, arm, colour_set, says, suite_of
from tests.helpers.sets import small_set
from tests.helpers.trials import Tally

KEYS = tuple((name, f"key {name}") for name in ("A", "B", "C", "red", "Left above", "粉红色"))
KINDS: Sequence[AnswerKind] = (
    "choice",
    "true_false",
    "integer",
    "number",
    "box",
    "point",
    "colour",
    "text",
    "description",
)
SPECS = tuple(ReplySpec(kind, KEYS if kind == "choice" else ()) for kind in KINDS)
BATCH = 500
"""Replies per run."""


def is_possible(answer: Any, spec: ReplySpec) -> bool:
    """True if `answer` is a valid answer of this kind, or None."""
    if answer is None:
        return True
    if spec.kind == "choice":
        return answer in spec.offered
    if spec.kind == "true_false":
        return answer in ("true", "false")
    if spec.kind in ("integer", "number"):
        return isinstance(answer, int | float) and abs(answer) < float("inf")
    if spec.kind == "box":
        return len(answer) == 4 and answer[0] <= answer[2] and answer[1] <= answer[3]
    if spec.kind == "point":
        return len(answer) == 2 and all(abs(part) < float("inf") for part in answer)
    if spec.kind == "colour":
        return len(answer) == 3 and all(0 <= part <= 255 for part in answer)
    return isinstance(answer, str) and bool(answer.encode())


def hostile_replies(work: Path, count: int, seed: int) -> Tally:
    """Every reply is read as a choice and as another kind, recorded, scored, and read back from tables."""
    tally = Tally()
    for first in range(0, count, BATCH):
        texts = [hostile_reply(seed, number) for number in range(first, min(first + BATCH, count))]
        for position, text in enumerate(texts):
            tally.add(Counter(["reply"]), _reading_trouble(text, first + position))
        tally.troubles += _run_troubles(work / str(first), texts, f"replies from {first} on")
        shutil.rmtree(work / str(first))
    return tally


def _reading_trouble(text: str, number: int) -> str:
    for spec in (SPECS[0], SPECS[1 + number % (len(SPECS) - 1)]):
        try:
            answers = read_answer(text, spec), read_exactly(text, spec)
        except Exception as error:  # noqa: BLE001  # whatever it is, it is a trouble
            return f"reply {number} as {spec.kind}: {error!r:.200}"
        if not all(is_possible(answer, spec) for answer in answers):
            return f"reply {number} as {spec.kind}: read as {answers!r:.200}"
    return ""


def _run_troubles(root: Path, texts: Sequence[str], name: str) -> list[str]:
    """Faults with replies that a subject gave to items in turn, also after it was asked again."""
    items, suite = colour_set(root / "set", len(texts)), suite_of()
    by_item = dict(zip((item.item_id for item in items.items), texts, strict=True))
    item_ids = list[str]()

    def answer(prompt: Any) -> str:
        item_ids.append(prompt.views[0].item_id)
        return by_item[prompt.views[0].item_id]

    plan = Plan(items, suite, [arm(says("own:hostile", answer), suite)], keep_going=True)
    responses = ask(root / "run", plan)
    scores = score(responses, items, suite)
    write_scores(root / "run", scores, "strict")
    written = [replace(r, text=(r.text or "").encode("utf-8", "backslashreplace").decode()) for r in responses]
    again = ask(root / "run", plan)
    checks = {
        "a reply is missing": len(responses) == len(texts) and {r.status for r in responses} == {"ok"},
        "a reply is another": [r.text for r in responses] == [_whole(text) for text in texts],
        "the tables hold others": read_responses(root / "run") == written,
        "an outcome is neither": set(scores["outcome"]) <= {"answered", "no_answer"},
        "an answer that nobody offered": set(scores["prediction"]) <= {"null", *(f'"{colour}"' for colour in RGB)},
        "the same command asks or gives others": len(item_ids) == len(texts) and again == responses,
    }
    return [f"{name}: {trouble}" for trouble, holds in checks.items() if not holds]


def _whole(text: str) -> str:
    """Two surrogates that are one character in JSON become one."""
    whole: str = json.loads(json.dumps(text))
    return whole


def good_sets(folder: Path, sets_folder: Path) -> list[Path]:
    """Two small sets with every kind of answer: questions of ComBo about one image, and one of each of AVA-Bench."""
    roots = [folder / "combo", folder / "ava-bench"]
    for root in roots:
        whole = small_set(root.name, sets_folder)
        test = [item for item in whole.items if item.split == "test"]
        first = {item.task: item for item in reversed(test)}
        items = (
            [item for item in test if item.task == "pattern-perception"][:6]
            if root.name == "combo"
            else [*first.values()]
        )
        copy_media(items, whole.media, MediaFolder(root / "media"))
        write_itemset(root, items, source="generated", recipe={"seed": 0})
    return roots


def hostile_sets(work: Path, goods: Sequence[Path], count: int, seed: int) -> tuple[Tally, Counter[str]]:
    """Each set is refused in one line, or two fakes answer it and are scored. Also the number of each outcome."""
    tally, outcomes = Tally(), Counter[str]()
    for number in range(count):
        root = work / str(number)
        name = make_hostile(goods[number % len(goods)], root / "set", seed, number)
        outcome, trouble = _meet(root)
        outcomes[outcome] += 1
        tally.add(Counter(["set"]), trouble and f"set {number} ({name}): {trouble}")
        shutil.rmtree(root)
    return tally, outcomes


def _meet(root: Path) -> tuple[str, str]:
    try:
        items = open_items(root / "set")
        examination = run(items, ["fake:oracle", "fake:chance"], root / "run", show_progress=False)
        table = examination.all_results()
    except SnellenError as error:
        text = str(error)
        controls = [character for character in text if unicodedata.category(character) == "Cc"]
        return "refused", "" if not controls and len(text) < 1200 else f"no short plain line: {text[:300]!r}"
    except Exception as error:  # noqa: BLE001  # whatever it is, it is a trouble
        return "broken", f"{error!r:.300}"
    test_items = sum(item.split == "test" for item in items.items)
    if len(examination.responses) != 2 * test_items or (test_items and table.empty):
        return "broken", f"{len(examination.responses)} responses to {test_items} items"
    return "examined", ""
