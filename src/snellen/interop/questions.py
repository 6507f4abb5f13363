"""The questions of an item set that fit into one call each, as formats of other tools require."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeAlias

from snellen.core.condition import Condition
from snellen.core.item import Item, Media, View
from snellen.core.prompt import Prompt, Reply
from snellen.core.score import Protocol
from snellen.core.storage.itemset import ItemSet
from snellen.core.storage.media import MediaFolder
from snellen.core.subject import SubjectCard
from snellen.core.suite import Method, Suite, Task, ViewContext, settle
from snellen.presentation.presenters import apply_layout
from snellen.runs.asking.views import lay_out_montages, show_items
from snellen.runs.planning.plan import is_asked, select_test_items

NOT_TEST, NOT_ASKED, ON_A_SHEET = "no test item", "not asked under this condition", "asked with others in one call"
SEVERAL_CALLS, VIDEO, NO_KEY = "asked in several calls", "shows a video", "described freely, for a judge"
Words: TypeAlias = str | Media


@dataclass(frozen=True)
class ModelQuestion:
    """One item as one call: the parts sent to a chat model, with montages laid out, and the scoring of its reply."""

    item: Item
    view: View
    parts: tuple[Words, ...]
    method: Method
    protocol: Protocol

    @property
    def key(self) -> str:
        """The right reply in the form that this view asks for."""
        return self.view.reply.write(self.item.answer)

    @property
    def metric(self) -> str:
        """The name of the main metric of the protocol `strict`."""
        return self.protocol.metrics[0].name

    @cached_property
    def images(self) -> tuple[Media, ...]:
        """The images among the parts, repeated if shown repeatedly."""
        return tuple(part for part in self.parts if not isinstance(part, str))

    @property
    def option_names(self) -> tuple[str, ...]:
        """The names of the options in the order shown: `A`, or a word if options have no letters."""
        return tuple(self.view.reply.name(key) for key in self.view.reply.offered)

    @property
    def option_texts(self) -> tuple[str, ...]:
        """The texts of the options, or their names if they have none."""
        texts = {option.key: option.text for option in self.view.options}
        return tuple(
            texts.get(key) or name for key, name in zip(self.view.reply.offered, self.option_names, strict=True)
        )

    @property
    def answer_index(self) -> int:
        """The index of the right option, from 0. Raises ValueError if nothing is offered."""
        return self.view.reply.offered.index(str(self.item.answer))

    def text(self, mark: str = "<image {}>") -> str:
        """The parts as one text, with numbered placeholders for images."""
        numbers = iter(range(1, len(self.images) + 1))
        return "\n".join(part if isinstance(part, str) else mark.format(next(numbers)) for part in self.parts)

    def text_after_images(self) -> str:
        """The words for models that get all images first: `[image 2]` in place of the second of several."""
        return "\n".join(part for part in apply_layout(self.parts, "images-first") if isinstance(part, str))

    def score(self, reply: str) -> tuple[str, float]:
        """(`answered` or `no_answer`, the main metric) of a reply, read by our parser."""
        dialogue, text = self.method.run((self.view,)), None
        next(dialogue)
        try:
            dialogue.send((Reply(reply),))
        except StopIteration as end:
            text = end.value[self.item.item_id]
        prediction = None if text is None else self.protocol.read(text, self.view.reply)
        value = self.protocol.values(self.item, prediction)[self.metric]
        return ("no_answer" if prediction is None else "answered"), value


@dataclass(frozen=True)
class Selection:
    """The questions of an item set under a condition, and the number of items left out, by task and reason."""

    items: ItemSet
    suite: Suite
    condition: Condition
    media: MediaFolder
    questions: tuple[ModelQuestion, ...]
    left_out: Mapping[tuple[str, str], int]

    def without(self, fault: Callable[[ModelQuestion], str | None]) -> Selection:
        """The selection without questions that have a fault, which are counted."""
        left_out, questions = Counter(self.left_out), list[ModelQuestion]()
        for question in self.questions:
            if reason := fault(question):
                left_out[question.item.task, reason] += 1
            else:
                questions.append(question)
        return Selection(self.items, self.suite, self.condition, self.media, tuple(questions), left_out)

    def counts(self) -> dict[str, int]:
        """The number of questions per task."""
        return dict(Counter(question.item.task for question in self.questions))


def select_questions(items: ItemSet, suite: Suite, condition: Condition, folder: Path, seed: int = 0) -> Selection:
    """Every item as one call, or counted with a reason; derived images are stored in `folder`."""
    media, questions, left_out = MediaFolder(folder, items.media), list[ModelQuestion](), Counter[tuple[str, str]]()
    settled = settle(condition, suite, SubjectCard("someone"))
    for task in suite.tasks.values():
        of_task = items.task(task.id)
        tested = select_test_items(of_task, task, settled, None) if is_asked(condition, task) else []
        left_out[task.id, NOT_TEST] += (not_test := sum(item.split != "test" for item in of_task))
        left_out[task.id, NOT_ASKED] += len(of_task) - not_test - len(tested)
        views = show_items(tested, ViewContext(settled, of_task), task, seed, media)
        for question, reason in _questions(tested, views, task, settled, media):
            if question is None:
                left_out[task.id, reason] += 1
            else:
                questions.append(question)
    return Selection(items, suite, condition, media, tuple(questions), +left_out)


def _questions(
    tested: Sequence[Item], views: Mapping[str, View], task: Task, condition: Condition, media: MediaFolder
) -> Iterator[tuple[ModelQuestion | None, str]]:
    method, by_id = task.method(condition), {item.item_id: item for item in tested}
    for trial in method.group([views[item.item_id] for item in tested]):
        if len(trial) > 1:
            yield from ((None, ON_A_SHEET) for _ in trial)
            continue
        item, prompt = by_id[trial[0].item_id], _only_prompt(method, trial)
        if prompt is None:
            yield None, SEVERAL_CALLS
        elif item.answer is None or task.protocols["strict"].judge is not None:
            yield None, NO_KEY
        elif any(shown_media.kind == "video" for shown_media in prompt.media()):
            yield None, VIDEO
        else:
            parts = tuple(part for part in lay_out_montages(prompt, media).parts if isinstance(part, (str, Media)))
            yield ModelQuestion(item, trial[0], parts, method, task.protocols["strict"]), ""


def _only_prompt(method: Method, trial: tuple[View, ...]) -> Prompt | None:
    """The only call of a dialogue without earlier turns; None for another dialogue."""
    dialogue = method.run(trial)
    prompts = next(dialogue)
    if len(prompts) != 1 or prompts[0].history:
        return None
    try:
        dialogue.send((Reply(""),))
    except StopIteration:
        return prompts[0]
    return None
