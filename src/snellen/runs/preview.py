"""What would be sent, without sending it: for `snellen show`, and for estimates before paid calls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from snellen.core.annotations import Annotations
from snellen.core.condition import Condition
from snellen.core.itemset import ItemSet
from snellen.core.media import MediaFolder
from snellen.core.prompt import Prompt
from snellen.core.subject import SubjectCard
from snellen.core.suite import Suite, Task, ViewContext, settle
from snellen.runs.ask import Plan, lay_out_montages, show_items

PICTURE_TOKENS, CHARACTERS_A_TOKEN = 1000, 4
"""Rough figures for estimates; services count otherwise, and recorded calls hold the true numbers."""


@dataclass(frozen=True)
class Call:
    """One call as it would go out, the items it is about, and whether further calls hang on its reply."""

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
    """The first calls of every talk (of the talks about item `only`, where given), montages laid out into `media`."""
    settled = settle(condition, suite, card)
    for task in suite.tasks.values():
        task_items = items.task(task.id)
        if not task_items or not condition.moves() <= set(task.axes):
            continue
        tested = [item for item in task_items if item.split == "test" and task.asks(item, settled)][:limit]
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
                yield Call(task.id, ids, lay_out_montages(prompt, media), _goes_on(task, settled, prompts))


def _goes_on(task: Task, condition: Condition, prompts: Sequence[Prompt]) -> bool:
    return (
        any(view.reply.kind == "description" for prompt in prompts for view in prompt.views)
        and task.kind != "description"
    )


@dataclass(frozen=True)
class Estimate:
    """What a run would take at most, resuming not counted: calls, tokens sent, money by the prices told."""

    subject: str
    calls: int
    tokens_in: int
    money: float | None


def estimates(plan: Plan, media: MediaFolder) -> list[Estimate]:
    """One for each chat subject of a plan; the first step of each talk counts, so chains come out low."""
    by_subject: dict[str, Estimate] = {}
    for arm in plan.arms:
        card = arm.subject.card
        if not card.name.startswith("chat:"):
            continue
        calls = tokens = 0
        for call in first_calls(
            plan.items,
            plan.suite,
            arm.condition,
            card,
            media,
            seed=plan.seed,
            limit=plan.limit,
            annotations=plan.annotations,
        ):
            calls += 1
            tokens += sum(
                len(part) // CHARACTERS_A_TOKEN if isinstance(part, str) else PICTURE_TOKENS
                for part in call.prompt.parts
            )
        before = by_subject.get(card.name, Estimate(card.name, 0, 0, None))
        price = card.attributes.get("price_in")
        total = before.tokens_in + tokens
        by_subject[card.name] = Estimate(
            card.name, before.calls + calls, total, None if price is None else total * float(price) / 1e6
        )
    return list(by_subject.values())
