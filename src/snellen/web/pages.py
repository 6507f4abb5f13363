"""Pages of a study: the content of one call to a model, with a widget for each view; and answers as replies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, permutations
from typing import Any

from snellen.core.condition import Condition, parse_conditions
from snellen.core.errors import SnellenError
from snellen.core.hashing import digest
from snellen.core.item import Item, Media, Option, Part, View
from snellen.core.prompt import Prompt
from snellen.core.storage.itemset import ItemSet
from snellen.core.storage.media import MediaFolder
from snellen.core.subject import SubjectCard
from snellen.core.suite import Suite, Task, ViewContext, settle
from snellen.presentation.people import people_parts
from snellen.presentation.presenters import option_lines
from snellen.runs.asking.views import lay_out_montages, show_items
from snellen.web.plan import Choice, Entry, MediaPart, Page, Question, TextPart

PERSON = SubjectCard("human:new", role="person")
"""The subject that pages are for: suites settle `auto` by the kind of subject."""
TRUTHS = {"T": "True", "F": "False"}
"""The words of buttons for statements, by the name that is recorded."""
SINGLE = {"samples": "1", "questions": "one"}
"""Values of axes with which a call asks one question."""
SEED = 0
"""The run seed for people, the default of `snellen run`, so that they see the same media as models."""


@dataclass(frozen=True)
class PageTrial:
    """One page before it is written: the prompt with its items, worded `for_people` or not, the task, the condition."""

    task: Task
    condition: Condition
    prompt: Prompt
    for_people: bool = False

    @property
    def item_ids(self) -> tuple[str, ...]:
        """The items of the page, in order."""
        return tuple(view.item_id for view in self.prompt.views)


def single_questions(condition: Condition, suite: Suite, task: Task) -> Condition:
    """The condition with one question a page, if the task has the axes for it and the condition moves none of them."""
    axes = [axis for axis in SINGLE if axis in task.axes and axis not in condition.moves()]
    text = ",".join([*filter(lambda part: part != "vanilla", [str(condition)]), *(f"{a}={SINGLE[a]}" for a in axes)])
    return parse_conditions(suite.axes, text or "vanilla")[0]


def page_trials(
    items: ItemSet,
    suite: Suite,
    task: Task,
    condition: Condition,
    media: MediaFolder,
    *,
    practice: bool = False,
    for_people: bool = False,
) -> list[PageTrial]:
    """The calls of a task under a condition: on its test items, or for practice on its training items.

    With `for_people` questions have the wording for people, where the task has one and a call asks one question.

    Raises SnellenError for a method whose prompts depend on earlier replies.
    """
    settled, task_items = settle(condition, suite, PERSON), items.task(task.id)
    split = task.train_split if practice else "test"
    asked_items = [item for item in task_items if item.split == split and task.asks(item, settled)]
    views = show_items(asked_items, ViewContext(settled, task_items, {}), task, SEED, media)
    method = task.method(settled)
    trials = []
    for group in method.group([views[item.item_id] for item in asked_items]):
        prompts = next(method.run(group))
        if len(prompts) != 1 or prompts[0].views != group or prompts[0].history:
            raise SnellenError(
                f"{suite.name}/{task.id} under {condition}: asked in several calls that depend on each other; people "
                "are shown one page per question: choose another method"
            )
        prompt, question = prompts[0], task.question_for_people if for_people and len(group) == 1 else None
        if question is not None:
            captions = "demos" in task.axes and settled["demos"] == "caption"
            prompt = replace(prompt, parts=people_parts(group[0], question(group[0]), captions=captions))
        elif (
            for_people
            and len(group) > 1
            and (single := [f"{axis}={SINGLE[axis]}" for axis in SINGLE if axis in task.axes])
        ):
            raise SnellenError(
                f"{suite.name}/{task.id} under {condition}: asks {len(group)} questions on a page, in a form for "
                f"models; add {','.join(single)} to the condition, or set wording: models"
            )
        trials.append(PageTrial(task, condition, lay_out_montages(prompt, media), question is not None))
    return trials


# Pages


def media_path(media: Media) -> str:
    """The path of an image or video in a bundle."""
    return f"media/{media.path}"


def media_part(media: Media) -> MediaPart:
    """The part of a page that shows an image or video."""
    return MediaPart(
        path=media_path(media), kind=media.kind, width=media.width, height=media.height, seconds=media.seconds
    )


def _page_part(part: Part) -> TextPart | MediaPart:
    if isinstance(part, str):
        return TextPart(text=part)
    assert isinstance(part, Media), "montages are laid out before"
    return media_part(part)


def as_page(
    trial: PageTrial, items: Mapping[str, Item], seconds: float | None, *, practice: bool, reason: bool
) -> Page:
    """The page of a call. Right answers are on practice pages only, which have no test items."""
    parts, views = trial.prompt.parts, trial.prompt.views
    feedback: dict[str, Entry] | None = None
    accepted: dict[str, tuple[str, ...]] = {}
    if practice:
        assert all(items[view.item_id].split != "test" for view in views), "no test item is practised on"
        feedback = {view.item_id: as_recorded(view, items[view.item_id].answer) for view in views}
        accepted = {
            view.item_id: texts for view in views if (texts := accepted_texts(view, items[view.item_id].answer))
        }
    sets = [option for view in views for option in view.options if len(option.media) > 1]
    shown_parts = without_sets(parts, views[0]) if sets else without_list(parts, views[0])
    page_parts = [_page_part(part) for part in shown_parts]
    if trial.for_people:  # labels, and at last the question
        for place, part in enumerate(page_parts):
            if isinstance(part, TextPart):
                kind = "is_question" if place == len(page_parts) - 1 else "is_label"
                page_parts[place] = part.model_copy(update={kind: True})
    questions = tuple(_question(view, parts, bool(sets), len(views) > 1, reason) for view in views)
    return Page(
        page_id=digest([trial.task.id, str(trial.condition), list(trial.item_ids), practice], 12),
        kind="practice" if practice else "question",
        parts=tuple(page_parts),
        questions=questions,
        feedback=feedback,
        accepted=accepted,
        tolerance=_tolerance(trial, items) if practice else None,
        seconds=seconds,
    )


def _tolerance(trial: PageTrial, items: Mapping[str, Item]) -> float | None:
    """How far from the key an answer counts as right: for points the smallest radius of a target, in pixels."""
    radii = [items[view.item_id].measures["radius_px"] for view in trial.prompt.views if view.reply.kind == "point"]
    return min(radii) if radii else trial.task.protocols["strict"].threshold


def without_sets(parts: Sequence[Part], view: View) -> list[Part]:
    """Parts without sets of images that are options, and without the names above them: choices show both."""
    images = {media for option in view.options for media in option.media}
    names = {f"{name}{ending}" for name, _ in view.reply.keys for ending in ("", ":")}
    return [part for part in parts if part not in images and not (isinstance(part, str) and part.strip() in names)]


def without_list(parts: Sequence[Part], view: View) -> list[Part]:
    """Parts without a separate list of the options: choices show their names and texts."""
    listed = option_lines(view) if view.reply.kind == "choice" and view.options else ""
    return [part for part in parts if not listed or part != listed]


def _question(view: View, parts: Sequence[Part], with_sets: bool, several: bool, reason: bool) -> Question:
    image = None
    if view.reply.kind in ("box", "point"):
        media = [part for part in parts if isinstance(part, Media)]
        if not view.query or view.query[0] not in media:
            raise SnellenError(
                f"{view.task}: item {view.item_id!r} needs a {view.reply.kind} in an image laid out with others; "
                "choose a condition that shows it separately"
            )
        image = media.index(view.query[0])
    choices = []
    if view.reply.kind in ("choice", "true_false"):
        options = {option.key: option for option in view.options}
        for key in view.reply.offered:
            name, option = view.reply.name(key), options.get(key, Option(key))
            option_media = tuple(map(media_part, option.media)) if with_sets else ()
            text = TRUTHS.get(name, "") if view.reply.kind == "true_false" else option.text
            choices.append(Choice(name=name, text="" if name.endswith(text) else text, media=option_media))
    return Question(
        item_id=view.item_id,
        kind="text" if view.reply.kind == "choices" else view.reply.kind,
        text=view.question if several else "",
        choices=tuple(choices),
        image=image,
        reason=reason,
    )


# Answers


def as_recorded(view: View, answer: Any) -> Entry:
    """An answer in the item's own terms as a page records it; the inverse of `written`."""
    if view.reply.kind in ("choice", "true_false"):
        return view.reply.name(str(answer))
    if view.reply.kind == "box":
        return [round(float(edge), 3) for edge in view.query[0].from_stored.box(answer)]
    if view.reply.kind == "point":
        return [round(float(place), 3) for place in view.query[0].from_stored.point(*answer)]
    if view.reply.kind == "colour":
        return [float(round(channel)) for channel in answer]
    is_text = view.reply.kind == "text" and isinstance(answer, tuple)  # of several right texts the first
    return view.reply.write(answer) if is_text or view.reply.kind == "choices" else str(answer)


def accepted_texts(view: View, answer: Any) -> tuple[str, ...]:
    """Further right texts: those that the item accepts, or the options in any order."""
    if view.reply.kind == "choices":
        return tuple(map(view.reply.write, islice(permutations(answer), 120)))  # all orders of five
    return answer[1:] if view.reply.kind == "text" and isinstance(answer, tuple) else ()


def written(view: View, entry: Entry) -> str:
    """The entry of a page as a reply, by the view's own `ReplySpec`; empty if the time was up.

    Raises SnellenError for an entry that the page could not have recorded.
    """
    if entry is None:
        return ""
    try:
        if view.reply.kind in ("choice", "true_false"):
            return view.reply.write(dict(view.reply.keys)[str(entry)])
        if view.reply.kind == "box" and isinstance(entry, list):
            x1, y1, x2, y2 = entry
            return view.reply.write(view.query[0].from_stored.inverse().box((x1, y1, x2, y2)))
        if view.reply.kind == "point" and isinstance(entry, list):
            x, y = entry
            return view.reply.write(view.query[0].from_stored.inverse().point(x, y))
        if view.reply.kind == "colour":
            return view.reply.write(entry)
    except (KeyError, TypeError, ValueError) as error:
        raise SnellenError(f"{view.item_id}: {entry!r} is not an answer offered by its page") from error
    if isinstance(entry, list) or view.reply.kind in ("box", "point"):
        raise SnellenError(f"{view.item_id}: {entry!r} is not an answer offered by its page")
    return str(entry)
