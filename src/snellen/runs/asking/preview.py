"""Calls as they would be sent, for `snellen show` and for estimates before paid calls."""

from __future__ import annotations

import tempfile
from collections import Counter, defaultdict
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING

from snellen.analysis.grading.deciding import turns
from snellen.core.annotations import Annotations
from snellen.core.box_units import sent_size
from snellen.core.condition import Condition
from snellen.core.errors import SnellenError
from snellen.core.item import Media, Montage
from snellen.core.prompt import Prompt
from snellen.core.storage.itemset import ItemSet
from snellen.core.storage.media import MediaFolder
from snellen.core.storage.runfolder import RunFolder, money
from snellen.core.subject import Subject, SubjectCard
from snellen.core.suite import Dialogue, Suite, Task, Trial, ViewContext, settle
from snellen.runs.asking.stopping import Budget
from snellen.runs.asking.views import lay_out_montages, show_items
from snellen.runs.planning.deciding import batches
from snellen.runs.planning.plan import Arm, Plan, is_asked, prices, select_test_items
from snellen.stimuli.transforms.montage import lay_out

if TYPE_CHECKING:
    from snellen.subjects.chat.limits import ImageSize, Limits

CHARACTERS_A_TOKEN = 4
"""A rough figure for estimates; services count differently, and recorded calls hold the true numbers."""
REPLY_TOKENS = 50
"""For estimates: tokens per reply."""


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
    annotations: Mapping[str, Annotations] | None = None,
) -> Iterator[Call]:
    """The first calls of every dialogue (or of those about item `only`), with montages drawn into `media`."""
    settled, faults, is_empty = settle(condition, suite, card), dict[str, str](), True
    for task in suite.tasks.values():
        task_items = items.task(task.id)
        if not task_items or not is_asked(condition, task):
            continue
        tested = select_test_items(task_items, task, settled, None)
        if only is not None and only not in {item.item_id for item in tested}:
            continue
        method = task.method(settled)
        views = show_items(tested, ViewContext(settled, task_items, annotations or {}), task, seed, media, faults)
        for trial in method.group([*views.values()]):
            ids = tuple(view.item_id for view in trial)
            if only is not None and only not in ids:
                continue
            prompts = next(method.run(trial))
            for prompt in prompts:
                yield Call(task.id, ids, lay_out_montages(prompt, media), _has_more_calls(task, prompts))
                is_empty = False
    if faults and is_empty:
        raise SnellenError(faults.get(only or "", next(iter(faults.values()))))


def _has_more_calls(task: Task, prompts: Sequence[Prompt]) -> bool:
    describes = any(view.reply.kind == "description" for prompt in prompts for view in prompt.views)
    return describes and task.kind != "description"


@dataclass(frozen=True)
class Estimate:
    """Remaining calls of a remote subject, calls `recorded`, tokens to be sent, and cost by the user's prices.

    Of tasks that are asked until decided these are the most (`is_most`). Of dialogues with several steps only the next
    one counts, so they are underestimated. `beyond` calls exceed the provider's limits, the first of them by `fault`.
    """

    subject: str
    calls: int
    recorded: int
    tokens_in: int
    money: float | None
    beyond: int = 0
    fault: str = ""
    is_most: bool = False


def estimates(plan: Plan, root: Path) -> list[Estimate]:
    """An estimate for each remote subject of a plan with calls left; `root` is the run's folder, existing or not."""
    counts, faults, cards = defaultdict[str, Counter[str]](Counter), dict[str, str](), dict[str, SubjectCard]()
    for arm, is_most, is_recorded, prompt, media in _remote_calls(plan, root):
        card = arm.subject.card
        cards[card.name], count = card, counts[card.name]
        if is_recorded:
            count["recorded"] += 1
            continue
        tokens, fault = _size_up(prompt, card, media)
        count["calls"] += 1
        count["tokens_in"] += tokens
        count["is_most"] |= is_most
        if fault:
            count["beyond"] += 1
            faults.setdefault(card.name, fault)
    return [_estimate(cards[name], count, faults.get(name, "")) for name, count in counts.items() if count["calls"]]


def _estimate(card: SubjectCard, count: Counter[str], fault: str) -> Estimate:
    tokens, price = count["tokens_in"], card.attributes.get("price_in")
    cost = None if price is None else tokens * float(price) / 1e6
    is_most = bool(count["is_most"])
    return Estimate(card.name, count["calls"], count["recorded"], tokens, cost, count["beyond"], fault, is_most)


def limit_faults(remote: Iterable[Estimate]) -> str:
    """The subjects of which calls exceed the provider's limits, with the numbers and the ways out; else empty."""
    return "; ".join(
        f"{estimate.subject}: a call would have {estimate.fault} ({estimate.beyond} of {estimate.calls} calls)"
        for estimate in remote
        if estimate.beyond
    )


def asks_remote(plan: Plan, root: Path, remote: Sequence[Estimate]) -> bool:
    """True if a remote subject has calls left by its estimate, and the budget is enough for one."""
    if not remote or plan.budget is None:
        return bool(remote)
    costs = {estimate.subject: (estimate.money or 0.0) / estimate.calls for estimate in remote}
    first_costs = {
        card.fingerprint(): costs[card.name] for arm in plan.arms if (card := arm.subject.card).name in costs
    }
    budget = Budget(plan.budget, RunFolder(root, plan.items.media), prices(plan, root), first_costs)
    return any(map(budget.is_enough, first_costs))


def expected_cost(prompt: Prompt, card: SubjectCard, media: MediaFolder, price: tuple[float, float]) -> float:
    """Estimated cost of a call by the size of its prompt and a short reply."""
    return money(_size_up(prompt, card, media)[0], REPLY_TOKENS, price)


def _size_up(prompt: Prompt, card: SubjectCard, media: MediaFolder) -> tuple[int, str | None]:
    """Tokens of a call, and what it exceeds of the provider's limits."""
    from snellen.subjects.chat import limits as providers

    model, max_px = str(card.settings.get("model", "")), card.settings.get("max_px")
    limits, parts = providers.limits_of(model), [part for turn in prompt.history for part in (*turn.parts, turn.reply)]
    parts += prompt.parts
    texts = [part for part in parts if isinstance(part, str)]
    videos = [part for part in parts if isinstance(part, Media) and part.kind == "video"]
    images = [part for part in parts if not isinstance(part, str) and part not in videos]
    other_bytes = sum(len(text.encode("utf-8", "replace")) for text in texts)
    other_bytes += sum(media.find(video).stat().st_size * 4 // 3 for video in videos)
    sizes, fault = list[providers.ImageSize](), None
    with suppress(Exception):  # the call will fail
        for is_exact in (False, True):
            sizes = [_image_size(image, media, limits, max_px, is_exact) for image in images]
            if (fault := providers.limit_fault(limits, sizes, other_bytes)) is None:
                break
    tokens = sum(len(text) // CHARACTERS_A_TOKEN for text in texts)
    tokens += sum(providers.image_tokens(model, size.width, size.height) for size in sizes)
    return tokens + round(sum(providers.VIDEO_TOKENS_PER_S * video.seconds for video in videos)), fault


@lru_cache(maxsize=100_000)
def _image_size(
    prompt_image: Media | Montage, media: MediaFolder, limits: Limits, max_px: int | None, is_exact: bool
) -> ImageSize:
    """The size of an image as sent; if not `is_exact`, at most this one, so that nothing is opened or drawn."""
    from snellen.subjects.chat.limits import ImageSize
    from snellen.subjects.chat.messages import sent_form

    image = lay_out(prompt_image, media) if isinstance(prompt_image, Montage) and is_exact else prompt_image
    width, height = sent_size(_sheet_size(image) if isinstance(image, Montage) else (image.width, image.height), max_px)
    if isinstance(image, Montage) or not is_exact:
        return ImageSize(4 * width * height + 1000, width, height)
    return ImageSize(media.find(sent_form(image, media, limits, max_px)).stat().st_size, width, height)


def _sheet_size(montage: Montage) -> tuple[int, int]:
    """(width, height) in pixels of a montage with labels and a title."""
    cell = montage.cell_px or (10**9, 10**9)
    width = min(cell[0], max(image.width for image in montage.images))
    height = min(cell[1], max(image.height for image in montage.images))
    columns = max(1, min(montage.columns, len(montage.images)))
    return columns * (width + 8) + 8, -(-len(montage.images) // columns) * (height + 36) + 36


def _remote_calls(plan: Plan, root: Path) -> Iterator[tuple[Arm, bool, bool, Prompt, MediaFolder]]:
    """The calls of remote subjects, with their media: of each dialogue the recorded ones, then the next ones.

    (arm, True if the task may end with fewer, True if recorded, prompt, media).
    """
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
                faults, method = dict[str, str](), task.method(condition)
                views = show_items(tested, context, task, plan.seed, media, faults)
                trials = [Trial(group) for group in method.group([*views.values()])]
                tested = [item for item in tested if item.item_id not in faults]
                if task.schedule is None and arm.decide and items:
                    order = turns(plan.items, task, plan.max_items)
                    trials = [t for batch in batches(plan.items, task, trials, order, plan.max_items) for t in batch]
                elif task.schedule is not None:
                    trials = scheduled(arm.schedule_of(task, tested)(trials))
                for trial in trials:
                    key = arm.key(arm.subject.card.fingerprint(), trial.trial_id)
                    with suppress(Exception):  # a fault of the items, which the run reports
                        for is_recorded, prompt in _calls_of(method.run(trial.views), arm.subject, run, key):
                            yield arm, bool(arm.decide) or arm.is_adaptive(task), is_recorded, prompt, media
                for trial in _not_drawn(plan, trials) if arm.decide else ():
                    yield from ((arm, True, False, prompt, media) for prompt in next(method.run(trial.views)))


def _not_drawn(plan: Plan, trials: Sequence[Trial]) -> Iterator[Trial]:
    """Trials that stand for those of instalments not drawn yet, which are like those of the others."""
    card, drawn = plan.items.card, sum(len(trial.views) for trial in trials)
    growth = 1 + card.instalments_left / len(card.instalments) if card.instalments_left else 1
    most = max(drawn, min(plan.max_items, drawn * growth))
    for trial in cycle(trials):
        if drawn + len(trial.views) > most:
            return
        drawn += len(trial.views)
        yield trial


def scheduled(schedule: Generator[tuple[Trial, ...], dict[str, float], None]) -> list[Trial]:
    """The trials of a schedule that learns nothing: as many as it asks at most."""
    trials = list(next(schedule, ()))
    while True:
        try:
            trials += schedule.send({})
        except StopIteration:
            return trials


def _calls_of(dialogue: Dialogue, subject: Subject, run: RunFolder, key: str) -> Iterator[tuple[bool, Prompt]]:
    """Replay a dialogue as far as it is recorded: (True if there is a reply, prompt) of each call."""
    prompts, step = next(dialogue), 0
    while not any(map(subject.declines, prompts)):
        replies = [
            None if run.is_empty else run.recall(f"{key}/{step + n}", prompt.digest(), subject.card.token_limit)
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
