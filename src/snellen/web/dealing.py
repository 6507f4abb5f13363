"""Forms of a study: the pages of each participant and their order, drawn by the study's seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from snellen.core.errors import SnellenError
from snellen.core.seeds import stream
from snellen.web.design import BlockDesign, StudyDesign
from snellen.web.pages import TRUTHS
from snellen.web.plan import Choice, Page, PageBlock, Question, Term, TextPart

CHECK_NAMES = ("A", "B", "C", "D")
MAX_PAGES = 1_000_000
"""Pages of all forms together, each with its name in the plan."""


@dataclass(frozen=True)
class BlockPages:
    """The pages of a block under one of its conditions: by task, for practice, and attention checks; and its terms.

    Pages that are scored together (a pair of statements) form a group and are dealt together.
    """

    design: BlockDesign
    point: str
    by_task: Mapping[str, Sequence[Sequence[str]]]
    practice: Sequence[str] = ()
    attention: Sequence[str] = field(default=())
    terms: tuple[Term, ...] = ()

    @property
    def name(self) -> str:
        """The block's name, with the condition unless it is vanilla."""
        return self.design.name if self.point == "vanilla" else f"{self.design.name} [{self.point}]"


def deal_forms(
    design: StudyDesign, blocks: Sequence[Sequence[BlockPages]], seed: int
) -> tuple[tuple[PageBlock, ...], ...]:
    """The forms of a design. `blocks` are the blocks in order, each with its conditions, which stay together.

    Raises SnellenError if a block has fewer pages than a participant is to see.
    """
    forms, pages = list[tuple[PageBlock, ...]](), 0
    for form in range(len(design.reviewers) or design.forms):
        order = _block_order(design, len(blocks), form, seed)
        forms.append(tuple(_deal(point, form, seed) for place in order for point in blocks[place]))
        pages += sum(len(block.page_ids) for block in forms[-1])
        if pages > MAX_PAGES:
            raise SnellenError(
                f"more than {MAX_PAGES} pages in all forms; ask for fewer forms, conditions or questions"
            )
    return tuple(forms)


def _block_order(design: StudyDesign, blocks: int, form: int, seed: int) -> list[int]:
    if design.block_order == "balanced":
        return [(form + place) % blocks for place in range(blocks)]
    if design.block_order == "random":
        return [int(place) for place in stream("study blocks", seed, form).permutation(blocks)]
    return list(range(blocks))


def _deal(block: BlockPages, form: int, seed: int) -> PageBlock:
    dealt = [page for task, groups in block.by_task.items() for page in _sample(block.design, task, groups, form, seed)]
    rng = stream("study order", seed, block.name, form)
    if block.design.order == "random":
        dealt = [dealt[place] for place in rng.permutation(len(dealt))]
    for page in block.attention:
        dealt.insert(int(rng.integers(1, len(dealt) + 1)), page)
    design = block.design
    page_ids = (*block.practice, *dealt)
    return PageBlock(name=block.name, title=design.title, text=design.text, terms=block.terms, page_ids=page_ids)


def _sample(design: BlockDesign, task: str, page_groups: Sequence[Sequence[str]], form: int, seed: int) -> list[str]:
    """The pages of one task. The draw does not depend on the condition, so all conditions show the same items."""
    count = len(page_groups) if design.questions is None else design.questions
    if design.checks_keys:
        count = min(count, len(page_groups))
    if count > len(page_groups):
        raise SnellenError(
            f"block {design.name!r}: {count} questions of {task} are needed, but there are only {len(page_groups)}; "
            "build a larger item set, or ask for fewer"
        )
    if design.assignment == "sample":
        places: np.ndarray = stream("study sample", seed, design.name, task, form).permutation(len(page_groups))[:count]
    else:
        shuffled = stream("study sample", seed, design.name, task).permutation(len(page_groups))
        first = form * count if design.assignment == "spread" else 0
        places = shuffled[np.arange(first, first + count) % len(page_groups)]
    return [page for place in sorted(places) for page in page_groups[place]]


def attention_page(block: str, number: int, seed: int, template: Page | None = None) -> tuple[Page, str]:
    """A page whose text names the choice to make, and this choice.

    It looks like `template`, a page with one question with choices, if there is one.
    """
    rng = stream("study attention", seed, block, number)
    page_id = f"check-{number}-{block}".replace(" ", "-")
    if template is None:
        name = CHECK_NAMES[int(rng.integers(len(CHECK_NAMES)))]
        question = Question(item_id=page_id, kind="choice", choices=tuple(Choice(name=n) for n in CHECK_NAMES))
        text = f"This question checks that questions are read. Please choose {name}."
        return Page(page_id=page_id, kind="attention", parts=(TextPart(text=text),), questions=(question,)), name
    question = template.questions[0].model_copy(update={"item_id": page_id})
    choice = question.choices[int(rng.integers(len(question.choices)))]
    words = choice.text if choice.text in TRUTHS.values() else " ".join(filter(None, (choice.name, choice.text)))
    text = f"This time, please choose “{words}”, whatever the images show."
    parts = list(template.parts)
    last = parts[-1]
    if isinstance(last, TextPart) and last.is_question:
        parts[-1] = last.model_copy(update={"text": f"{last.text} {text}"})
    else:
        parts.append(TextPart(text=text, is_question=True))
    page = Page(page_id=page_id, kind="attention", parts=tuple(parts), questions=(question,), seconds=template.seconds)
    return page, choice.name
