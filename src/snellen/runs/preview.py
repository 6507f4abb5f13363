"""Calls as they would be sent, for `snellen show` and for estimates before paid calls."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from snellen.core.annotations import Annotations
from snellen.core.condition import Condition
from snellen.core.prompt import Prompt
from snellen.core.storage.itemset import ItemSet
from snellen.core.storage.media import MediaFolder
from snellen.core.storage.runfolder import RunFolder
from snellen.core.subject import Subject, SubjectCard
from snellen.core.suite import Dialogue, Suite, Task, Trial, ViewContext, settle
from snellen.runs.plan import Arm, Plan, is_asked, prices, select_test_items
from snellen.runs.views import lay_out_montages, show_items

IMAGE_TOKENS, CHARACTERS_A_TOKEN = 1000, 4
"""Rough figures for estimates; services count differently, and recorded calls hold the true numbers."""
REPLY_TOKENS, CALL_CPU_S = 50, 0.008
"""For estimates: tokens per reply, and CPU seconds per call in this process (`bench/ask_loop.py --command`)."""


@dataclass(frozen=True)
class Call:
    """One call as it would be sent, its items, and whether further calls depend on its reply (`more`)."""

    task: str
    item_ids: tuple[str, ...]
    prompt: Prompt
    more: bool


def first_calls(
    items: ItemSet,
    suite: Suite,
    condition: Condition,
    card: SubjectCard,
    media: MediaFolder,
    *,
    only: str | None = None,
    seed: int = 0,
    limit: int | None = None,
    annotations: Mapping[str, Annotations] | None = None,
) -> Iterator[Call]:
    """The first calls of every dialogue (or of those about item `only`), with montages drawn into `media`."""
    settled = settle(condition, suite, card)
    for task in suite.tasks.values():
        task_items = items.task(task.id)
        if not task_items or not is_asked(condition, task):
            continue
        tested = select_test_items(task_items, task, settled, limit)
        if only is not None and only not in {item.item_id for item in tested}:
            continue
        views = show_items(tested, ViewContext(settled, task_items, annotations or {}), task, seed, media)
        method = task.method(settled)
        for trial in method.group([views[item.item_id] for item in tested]):
            ids = tuple(view.item_id for view in trial)
            if only is not None and only not in ids:
                continue
            prompts = next(method.run(trial))
            for prompt in prompts:
                yield Call(task.id, ids, lay_out_montages(prompt, media), _has_more_calls(task, prompts))


def _has_more_calls(task: Task, prompts: Sequence[Prompt]) -> bool:
    describes = any(view.reply.kind == "description" for prompt in prompts for view in prompt.views)
    return describes and task.kind != "description"


@dataclass(frozen=True)
class Estimate:
    """Remaining calls of a remote subject, calls `recorded`, tokens to be sent, and cost by the user's prices.

    Of dialogues with several steps only the next one counts, so they are underestimated.
    """

    subject: str
    calls: int
    recorded: int
    tokens_in: int
    money: float | None


def estimates(plan: Plan, root: Path) -> list[Estimate]:
    """An estimate for each remote subject of a plan with calls left; `root` is the run's folder, existing or not."""
    by_subject: dict[str, Estimate] = {}
    for arm, is_recorded, prompt in _remote_calls(plan, root):
        card = arm.subject.card
        before = by_subject.get(card.name, Estimate(card.name, 0, 0, 0, None))
        if is_recorded:
            by_subject[card.name] = replace(before, recorded=before.recorded + 1)
            continue
        tokens = before.tokens_in + sum(
            len(part) // CHARACTERS_A_TOKEN if isinstance(part, str) else IMAGE_TOKENS for part in prompt.parts
        )
        price = card.attributes.get("price_in")
        money = None if price is None else tokens * float(price) / 1e6
        by_subject[card.name] = replace(before, calls=before.calls + 1, tokens_in=tokens, money=money)
    return [estimate for estimate in by_subject.values() if estimate.calls]


def asks_remote(plan: Plan, root: Path, remote: Sequence[Estimate] | None = None) -> bool:
    """True if a remote subject has calls left, and the budget is not spent. `remote`: the `estimates`, if known."""
    if plan.budget is not None and RunFolder(root, plan.items.media).spent(prices(plan)) >= plan.budget:
        return False
    if remote is not None:
        return bool(remote)
    return any(not is_recorded for _, is_recorded, _ in _remote_calls(plan, root))


def _remote_calls(plan: Plan, root: Path) -> Iterator[tuple[Arm, bool, Prompt]]:
    """The calls of remote subjects: of each dialogue the recorded ones, then the next ones, if any."""
    arms = [arm for arm in plan.arms if arm.subject.card.is_remote]
    if not arms:
        return
    run = RunFolder(root, plan.items.media)
    with tempfile.TemporaryDirectory() as folder:
        media = MediaFolder(Path(folder), plan.items.media)
        for arm in arms:
            condition = settle(arm.condition, plan.suite, arm.subject.card)
            for task in plan.suite.tasks.values():
                items = plan.items.task(task.id) if is_asked(arm.condition, task) else []
                tested = select_test_items(items, task, condition, plan.limit)
                context = ViewContext(condition, items, plan.annotations)
                views = show_items(tested, context, task, plan.seed, media)
                method = task.method(condition)
                for group in method.group([views[item.item_id] for item in tested]):
                    key = arm.key(arm.subject.card.fingerprint(), Trial(group).trial_id)
                    for is_recorded, prompt in _calls_of(method.run(group), arm.subject, run, key):
                        yield arm, is_recorded, prompt


def _calls_of(dialogue: Dialogue, subject: Subject, run: RunFolder, key: str) -> Iterator[tuple[bool, Prompt]]:
    """Replay a dialogue as far as it is recorded: (True if there is a reply, prompt) of each call."""
    prompts, step = next(dialogue), 0
    while not any(map(subject.declines, prompts)):
        replies = [
            None if run.is_empty else run.recall(f"{key}/{step + n}", prompt.digest())
            for n, prompt in enumerate(prompts)
        ]
        yield from ((reply is not None, prompt) for reply, prompt in zip(replies, prompts, strict=True))
        received = tuple(reply for reply in replies if reply is not None)
        if len(received) < len(replies):
            return
        try:
            prompts, step = dialogue.send(received), step + len(prompts)
        except StopIteration:
            return
