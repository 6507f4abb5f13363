"""Items as training examples, and conversations about images in LLaVA's file format: descriptions and questions.

Questions are worded as their suite shows them, and answered as it reads them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from snellen.core.condition import Condition, parse_conditions
from snellen.core.errors import SnellenError
from snellen.core.item import Item, Media
from snellen.core.prompt import Prompt
from snellen.core.seeds import stream
from snellen.core.storage.files import write_text
from snellen.core.storage.itemset import ItemSet
from snellen.core.storage.media import MediaFolder
from snellen.core.storage.schemas import Card, read_card_file
from snellen.core.subject import SubjectCard, TrainingExample
from snellen.core.suite import Suite, Task, ViewContext, settle
from snellen.runs.asking.failures import without_faults
from snellen.runs.asking.views import lay_out_montages, show_items, training_example
from snellen.suites import SUITES

if TYPE_CHECKING:
    from snellen.towers.combo_training.training_items import ObjectView, Renders
    from snellen.towers.heads.llava_files import Record

LEARNER = SubjectCard("head:new", fitted=True)
"""Card of a head to be trained, for settling `auto`."""
CAPTIONS, QUESTIONS, IMAGES, CARD = "captions.json", "questions.json", "images", "conversations.json"


class ConversationCard(Card):
    """`conversations.json`: a summary, and the set (`recipe_hash`) whose tested objects are excluded."""

    file = CARD

    suite: str
    items: str
    seed: int
    captions: int
    questions: dict[str, int]
    objects: int
    images: int
    rendering: dict[str, Any]


def question_records(items: Sequence[Item], suite: Suite, condition: str, media: MediaFolder) -> list[Record]:
    """A conversation of one turn per item of one task; images are stored in `media`, whose paths the records hold.

    Raises SnellenError for a question that does not show exactly one image in one call.
    """
    from snellen.towers.heads.llava_files import question_record

    if not items:
        return []
    task, settled = suite.tasks[items[0].task], learner_condition(suite, condition)
    records = []
    for item, example in zip(items, solved_examples(items, task, settled, items, media), strict=True):
        parts = example.prompt.parts if example.prompt is not None else ()
        images = [part for part in parts if isinstance(part, Media)]
        if len(images) != 1 or images[0].kind != "image":
            raise SnellenError(f"{item.item_id}: shows {len(images)} images per call; LLaVA's files allow only one")
        words = "\n".join(part for part in parts if isinstance(part, str))
        records.append(question_record(item.item_id, images[0].path, words, example.target))
    return records


def write_conversations(
    items: ItemSet, captions: int, questions: int, out: Path, *, seed: int = 0, workers: int = 1
) -> ConversationCard:
    """Descriptions and questions about ComBo objects that the set does not test, in images rendered like the set's.

    Writes `captions.json`, `questions.json` (half on patterns, half on categories), `images/`, and the card last.
    Finished ones are kept. Raises SnellenError if `out` has others, and for more images than exist.
    """
    from snellen.towers.combo_training import training_items as training
    from snellen.towers.combo_training.objects import exclusion_of, rendering_of
    from snellen.towers.heads.llava_files import write_llava

    if (path := out / CARD).is_file():
        card = read_card_file(ConversationCard, path, "malformed", "choose another --out")
        settings = (card.items, card.seed, card.captions, sum(card.questions.values()))
        if settings != (items.card.recipe_hash, seed, captions, questions):
            raise SnellenError(f"{out}: already holds other conversations; choose another --out")
        return card
    suite, exclusion, rendering = SUITES.get(items.card.suite), exclusion_of(items), rendering_of(items, workers)
    counts = training.TrainingCounts(captions, questions - questions // 2, questions // 2)
    plan, media = training.design(items, counts, exclusion, seed), MediaFolder(out / IMAGES)
    renders = training.render_design(plan, exclusion, seed, rendering, media)
    by_task = training.training_items(plan, counts, renders, seed)
    records = [
        record
        for task, task_items in by_task.items()
        for record in question_records(task_items, suite, training.CONDITIONS[task], media)
    ]
    write_llava(out / CAPTIONS, _caption_records(plan.views[:captions], renders, seed))
    write_llava(out / QUESTIONS, records)
    card = ConversationCard(
        suite=suite.name,
        items=items.card.recipe_hash,
        seed=seed,
        captions=captions,
        questions={task: len(task_items) for task, task_items in by_task.items()},
        objects=len({index for index, _ in renders}),
        images=len(renders),
        rendering=rendering.about(),
    )
    write_text(out / CARD, card.model_dump_json(indent=2) + "\n")
    return card


def _caption_records(views: Sequence[ObjectView], renders: Renders, seed: int) -> list[Record]:
    """A description of each image, requested with ComBo's prompt."""
    from snellen.suites.combo.prompts import CAPTION
    from snellen.towers.heads.llava_files import question_record

    records = []
    for index, view in views:
        image, appearance = renders[index, view]
        text = description(appearance, stream("references", seed, "caption", index, view))
        records.append(question_record(f"object-{index:04d}-{view:02d}", image.path, CAPTION, text))
    return records


def description(appearance: Mapping[str, str], rng: np.random.Generator) -> str:
    """All eight dimensions of an object (`factor/part` -> value) as text, in one of several wordings."""
    from snellen.stimuli.scenes import text_name
    from snellen.suites.combo.prompts import DESCRIPTIONS

    anchor, pivot = (text_name("contact-point", appearance[f"contact-point/{end}"]) for end in ("anchor", "pivot"))
    wording = DESCRIPTIONS[int(rng.integers(len(DESCRIPTIONS)))]
    shapes = {part: text_name("shape", appearance[f"shape/{part}"]) for part in ("primary", "secondary")}
    blocks = {part: _block(appearance, part, shape) for part, shape in shapes.items()}
    return wording.format(
        **blocks, **{f"{part}_shape": shape for part, shape in shapes.items()}, anchor=anchor, pivot=pivot
    )


def _block(appearance: Mapping[str, str], part: str, shape: str) -> str:
    """`red rubber cube`, `glass conical frustum`."""
    colour, material = appearance[f"colour/{part}"], appearance[f"material/{part}"]
    return " ".join([*([] if colour == "none" else [colour]), material, shape])


def learner_condition(suite: Suite, written: str = "vanilla") -> Condition:
    """The written condition, settled for a head to be trained."""
    (condition,) = parse_conditions(suite.axes, written)
    return settle(condition, suite, LEARNER)


def solved_examples(
    items: Sequence[Item],
    task: Task,
    condition: Condition,
    task_items: Sequence[Item],
    media: MediaFolder,
    seed: int = 0,
    faults: dict[str, str] | None = None,
) -> list[TrainingExample]:
    """Items of a task as training examples under a settled condition; new images are stored in `media`.

    `task_items` are all items of the task, from which transforms may draw. `faults` is as in `show_items`.
    """
    views = show_items(items, ViewContext(condition, task_items, {}), task, seed, media, faults)
    method = task.method(condition)

    def as_sent(prompt: Prompt) -> Prompt:
        return lay_out_montages(prompt, media)

    def solve(item: Item) -> TrainingExample:
        return training_example(views[item.item_id], item.answer, method, as_sent)

    return [*without_faults(solve, {item.item_id: item for item in items if item.item_id in views}, faults).values()]
