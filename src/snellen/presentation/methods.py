"""Methods turn views into calls. Each is a pure generator, so that a run can be replayed from its record."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from snellen.core.item import Part, ReplySpec, View
from snellen.core.prompt import Prompt
from snellen.core.sheet import read_sheet
from snellen.core.suite import Dialogue
from snellen.presentation.presenters import Present, PresentMany, plain


def one_view_each(views: Sequence[View]) -> list[tuple[View, ...]]:
    """One dialogue per view."""
    return [(view,) for view in views]


@dataclass(frozen=True)
class OneByOne:
    """One prompt per view; the reply is the answer."""

    present: Present = plain
    name: str = "one-by-one"
    version: int = 1

    def group(self, views: Sequence[View]) -> list[tuple[View, ...]]:
        """Every view on its own."""
        return one_view_each(views)

    def run(self, views: tuple[View, ...]) -> Dialogue:
        """One call."""
        (view,) = views
        (reply,) = yield (Prompt(self.present(view), views),)
        return {view.item_id: reply.text}


@dataclass(frozen=True)
class Sheet:
    """All questions about `samples` stimuli in one prompt, answered on one JSON sheet (`core.sheet`).

    With `by_question`, one prompt per question about them.
    """

    samples: int
    present: PresentMany
    by_question: bool = False
    name: str = "sheet"
    version: int = 1

    def group(self, views: Sequence[View]) -> list[tuple[View, ...]]:
        """Stimuli in the order of the task, `samples` at a time, with all their questions."""
        position = {stimulus: n for n, stimulus in enumerate(dict.fromkeys(view.stimulus_id for view in views))}
        pages: dict[tuple[int, str], list[View]] = {}
        for view in views:
            page = position[view.stimulus_id] // self.samples, view.question if self.by_question else ""
            pages.setdefault(page, []).append(view)
        return [tuple(page) for page in pages.values()]

    def run(self, views: tuple[View, ...]) -> Dialogue:
        """One call; a reply without JSON answers nothing, unless the sheet has only one cell."""
        (reply,) = yield (Prompt(self.present(views), views),)
        from snellen.scoring.answers.plain import read_json_objects

        answers = read_sheet(views, read_json_objects(reply.text))
        if len(views) == 1 and answers[views[0].item_id] is None:
            return {views[0].item_id: reply.text}  # a sheet of one cell may be answered without JSON
        return answers


@dataclass(frozen=True)
class PerceiveThenClassify:
    """Describe every image of support and query separately, then answer from the descriptions and the query image.

    `perceive` presents one image; `classify` presents the view, whose demos have captions in place of images, with the
    description of the query.
    """

    perceive: Present
    classify: Callable[[View, str], tuple[Part, ...]]
    question: str
    name: str = "perceive-then-classify"
    version: int = 1

    def group(self, views: Sequence[View]) -> list[tuple[View, ...]]:
        """Every view on its own."""
        return one_view_each(views)

    def run(self, views: tuple[View, ...]) -> Dialogue:
        """One call per image, all at once, then one more."""
        (view,) = views
        images = [*(image for demo in view.support for image in demo.media), *view.query]
        spec = ReplySpec("description")
        image_views = [View(view.item_id, p.sha256, view.task, self.question, (p,), spec) for p in images]
        prompts = tuple(Prompt(self.perceive(image_view), (image_view,)) for image_view in image_views)
        replies = iter((yield prompts) if prompts else ())
        support = tuple(
            replace(demo, media=(), caption="\n".join(next(replies).text for _ in demo.media)) for demo in view.support
        )
        description = "\n".join(reply.text for reply in replies)
        words = replace(view, support=support)
        (reply,) = yield (Prompt(self.classify(words, description), (words,)),)
        return {view.item_id: reply.text}
