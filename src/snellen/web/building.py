"""`snellen study build`: from item sets and a design to a study folder with its bundle."""

from __future__ import annotations

import io
import math
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from PIL import Image

from snellen.core.build_options import BuildOptions
from snellen.core.condition import near, parse_conditions
from snellen.core.errors import SnellenError
from snellen.core.hashing import digest
from snellen.core.item import Media
from snellen.core.seeds import stream
from snellen.core.storage import files
from snellen.core.storage.itemset import ItemSet
from snellen.core.storage.media import MediaFolder, open_image
from snellen.core.storage.versions import versions
from snellen.core.suite import Suite, Task
from snellen.scoring.protocols import by_item
from snellen.stimuli.render import render_for_recipe
from snellen.stimuli.render.toy import toy_image
from snellen.suites import suite_of
from snellen.web.dealing import BlockPages, attention_page, deal_forms
from snellen.web.design import CONSENT_FIELDS, BlockDesign, StudyDesign
from snellen.web.pages import PageTrial, as_page, media_part, media_path, page_trials, single_questions
from snellen.web.plan import MediaPart, Page, PageBlock, PageKind, StudyPlan, Term, TextPart
from snellen.web.study import (
    BUNDLE,
    PLAN,
    RESULTS,
    SCRIPT,
    ItemSetPlace,
    PageSource,
    StudyCard,
    as_script,
    plan_hash,
    write_card,
)


@dataclass
class _Pages:
    """The collected pages of all blocks, with their sources and media."""

    pages: dict[str, Page] = field(default_factory=dict)
    sources: dict[str, PageSource] = field(default_factory=dict)
    media: dict[Media, MediaFolder] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def add(
        self, page: Page, source: PageSource, trial: PageTrial | None = None, folder: MediaFolder | None = None
    ) -> str:
        if self.pages.get(page.page_id, page) != page:
            raise SnellenError(f"two different pages would be called {page.page_id}; give a block another name")
        self.pages[page.page_id], self.sources[page.page_id] = page, source
        if trial is not None and folder is not None:
            media = (part for part in trial.prompt.parts if isinstance(part, Media))
            self.media.update(dict.fromkeys(media, folder))
        return page.page_id


def build_study(
    itemsets: Sequence[ItemSet], design: StudyDesign, root: Path, *, name: str = "", seed: int = 0
) -> StudyCard:
    """Write a study folder. An existing one is replaced, unless it has results.

    Raises SnellenError for a block with an unknown item set, task or condition, and for too few items.
    """
    name = name or root.resolve().name
    by_suite = {items.card.suite: items for items in itemsets}
    if len(by_suite) < len(itemsets):
        raise SnellenError("a study takes one item set per suite; build separate studies, or one larger set")
    if (root / RESULTS).exists():
        raise SnellenError(f"{root}: holds people's results; choose another --out")
    collected = _Pages()
    with tempfile.TemporaryDirectory() as folder:
        for_people = design.kind == "study" and design.wording == "people"
        blocks = [list(_block(block, by_suite, collected, Path(folder), seed, for_people)) for block in design.blocks]
        forms = deal_forms(design, blocks, seed)
        dealt = {page_id for form in forms for block in form for page_id in block.page_ids}
        pages = {page_id: page for page_id, page in collected.pages.items() if page_id in dealt}
        plan = StudyPlan(
            study=name, plan_hash="", kind=design.kind, wording=design.wording, minutes=_minutes(forms, pages),
            break_every=design.break_every if design.kind == "study" else 0, calibration=design.calibration,
            texts=design.texts.model_copy(update={"completion_code": "", "completion_url": ""}),
            pages=pages, forms=forms,
        )  # fmt: skip
        plan = plan.model_copy(update={"plan_hash": plan_hash(plan)})
        if count := _write_bundle(root / BUNDLE, plan, collected.media):
            collected.notes.append(f"participants can read the metadata (EXIF: places, cameras) of {count} images")
    card = StudyCard(
        name=name,
        seed=seed,
        design=design,
        itemsets={
            suite: ItemSetPlace(path=str(items.root.resolve()), content_hash=items.card.content_hash)
            for suite, items in by_suite.items()
        },
        plan_hash=plan.plan_hash,
        pages={page_id: source for page_id, source in collected.sources.items() if page_id in dealt},
        versions=versions(),
        notes=(*collected.notes, *_consent_notes(design)),
    )
    write_card(root, card)
    return card


def _block(
    design: BlockDesign, by_suite: Mapping[str, ItemSet], collected: _Pages, folder: Path, seed: int, for_people: bool
) -> Iterator[BlockPages]:
    if not (name := design.items or (next(iter(by_suite)) if len(by_suite) == 1 else "")):
        raise SnellenError(f"block {design.name!r}: name the suite of its items (items: SUITE)")
    if name not in by_suite:
        raise SnellenError(f"block {design.name!r}: no item set of {name!r} was given; {near(name, by_suite)}")
    suite = suite_of(items := by_suite[name])
    media = MediaFolder(folder / name, items.media)
    conditions = [point for text in design.conditions for point in parse_conditions(suite.axes, text)]
    for number, condition in enumerate(conditions):
        by_task: dict[str, list[list[str]]] = {}
        practice: list[str] = []
        for task in _tasks(design, items, suite):
            if missing := condition.moves() - set(task.axes):
                collected.notes.append(f"{design.name}: {task.id} has no axis {min(missing)}, and is left out there")
                continue
            shown_condition = single_questions(condition, suite, task) if design.checks_keys else condition
            trials = page_trials(items, suite, task, shown_condition, media, for_people=for_people)
            alone = task.protocols["strict"].units is by_item
            units: dict[str, list[str]] = {}
            for trial in trials:
                unit = trial.item_ids[0] if alone else items.by_id[trial.item_ids[0]].group_id
                units.setdefault(unit, []).append(_add_page(trial, items, design, collected, media))
            by_task[task.id] = list(units.values())
            if solved := design.examples + design.practice:
                training = page_trials(items, suite, task, condition, media, practice=True, for_people=for_people)
                for place, trial in enumerate(training[:solved]):
                    kind: PageKind = "example" if place < design.examples else "practice"
                    practice.append(_add_page(trial, items, design, collected, media, kind))
        if design.examples + design.practice and not practice:
            collected.notes.append(f"{design.name}: {name} has no training items, so no examples and no practice")
        of_block = [page_id for groups in by_task.values() for group in groups for page_id in group]
        attention = [_add_check(design.name, number, k, of_block, collected, seed) for k in range(design.attention)]
        terms = _terms(suite, items, [*of_block, *practice], collected, media) if for_people else ()
        yield BlockPages(design, str(condition), by_task, practice, attention, terms)


def _terms(
    suite: Suite, items: ItemSet, page_ids: Sequence[str], collected: _Pages, media: MediaFolder
) -> tuple[Term, ...]:
    """The words that occur in questions and choices of these pages, if their items are generated, with images."""
    if suite.terms is None or items.card.source != "generated":
        return ()
    texts = " ".join(_texts(collected.pages[page_id]) for page_id in page_ids)
    scenes = {word: spec for word, spec in suite.terms().items() if re.search(rf"\b{re.escape(word)}s?\b", texts)}
    looks = {name: items.card.recipe[name] for name in ("renderer", "quality") if name in items.card.recipe}
    try:  # as the items look, so that glass looks like glass
        renders, _ = render_for_recipe(list(scenes.values()), BuildOptions(Path(), show_progress=False, **looks))
        images = [media.add_file(*render) for render in renders]
    except SnellenError as error:
        collected.notes.append(f"words are explained by flat images, since nothing can be rendered ({error})")
        images = [media.add_image(Image.fromarray(toy_image(spec.scene, spec.camera))) for spec in scenes.values()]
    collected.media |= dict.fromkeys(images, media)
    return tuple(Term(word=word, image=media_part(image)) for word, image in zip(scenes, images, strict=True))


def _texts(page: Page) -> str:
    texts = [part.text for part in page.parts if isinstance(part, TextPart)]
    choices = [choice for question in page.questions for choice in question.choices]
    return " ".join([*texts, *(choice.text or choice.name for choice in choices)])


def _tasks(design: BlockDesign, items: ItemSet, suite: Suite) -> list[Task]:
    if unknown := next((task for task in design.tasks if task not in suite.tasks), None):
        raise SnellenError(f"block {design.name!r}: {suite.name} has no task {unknown!r}; {near(unknown, suite.tasks)}")
    tasks = [task for task in suite.tasks.values() if not design.tasks or task.id in design.tasks]
    if not (with_items := [task for task in tasks if items.task(task.id)]):
        raise SnellenError(
            f"block {design.name!r}: {items.root} has no items of {', '.join(task.id for task in tasks)}"
        )
    return with_items


def _add_page(
    trial: PageTrial,
    items: ItemSet,
    design: BlockDesign,
    collected: _Pages,
    media: MediaFolder,
    kind: PageKind = "question",
) -> str:
    page = as_page(trial, items.by_id, design.seconds, practice=kind != "question", reason=design.reason)
    page = page.model_copy(update={"page_id": digest([design.name, page.page_id], 12), "kind": kind})
    source = PageSource(
        block=design.name,
        suite=items.card.suite,
        task=trial.task.id,
        condition=str(trial.condition),
        item_ids=trial.item_ids,
    )
    return collected.add(page, source, trial, media)


def _add_check(block: str, point: int, number: int, page_ids: Sequence[str], collected: _Pages, seed: int) -> str:
    """An attention check like the block's own questions with choices; a bare one if it has none."""
    pages = (collected.pages[page_id] for page_id in page_ids)
    alike = [page for page in pages if len(page.questions) == 1 and page.questions[0].choices]
    rng = stream("study attention page", seed, block, point, number)
    template = alike[int(rng.integers(len(alike)))] if alike else None
    page, name = attention_page(f"{block}-{point}" if point else block, number, seed, template)
    return collected.add(page, PageSource(block=block, answers={page.page_id: name}))


SECONDS = {"choice": 9, "true_false": 9, "integer": 15, "number": 15, "box": 12, "point": 6, "colour": 20, "text": 12}
"""Seconds that a question takes by its kind of answer, for the estimate; 40 for a description. A guess of ours."""
SECONDS_AN_IMAGE = 1.5
"""Seconds to look at each further image of a page."""


def _consent_notes(design: StudyDesign) -> list[str]:
    """A warning for consent without its fields."""
    missing = [name for name in CONSENT_FIELDS if not getattr(design.texts, name)]
    if design.kind != "study" or not design.texts.consent or not missing:
        return []
    return [f"the consent page does not state {', '.join(missing)}: add them to texts in the design (docs/people.md)"]


def _minutes(forms: Sequence[Sequence[PageBlock]], pages: Mapping[str, Page]) -> int:
    """The estimated duration of the longest form in minutes, rounded up, with one for the words around it."""
    seconds = [sum(_seconds(pages[page_id]) for block in form for page_id in block.page_ids) for form in forms]
    return 1 + math.ceil(max(seconds) / 60)


def _seconds(page: Page) -> float:
    images = sum(isinstance(part, MediaPart) for part in page.parts)
    images += sum(len(choice.media) for question in page.questions for choice in question.choices)
    return sum(SECONDS.get(question.kind, 40) for question in page.questions) + SECONDS_AN_IMAGE * max(0, images - 1)


def _write_bundle(root: Path, plan: StudyPlan, media: Mapping[Media, MediaFolder]) -> int:
    """Write what participants get; the number of its images with metadata."""
    from snellen.web.lock import copy_parts, web_parts
    from snellen.web.page import copy_page, index_page

    parts = web_parts()
    if root.exists():
        shutil.rmtree(root)
    text = plan.model_dump_json()
    files.write_text(root / PLAN, text)
    files.write_text(root / SCRIPT, as_script(text))
    files.write_text(root / "index.html", index_page(plan.texts.title, "folder"))
    copy_page(root)
    copy_parts(parts, root / "vendor", "study")
    paths = {part.path for page in plan.pages.values() for part in _media_parts(page)}
    paths |= {term.image.path for form in plan.forms for block in form for term in block.terms}
    count = 0
    for image, folder in media.items():
        if media_path(image) in paths:
            files.write_bytes(root / media_path(image), raw := folder.read(image))
            count += image.kind == "image" and bool(open_image(io.BytesIO(raw)).getexif())
    return count


def _media_parts(page: Page) -> Iterator[MediaPart]:
    yield from (part for part in page.parts if isinstance(part, MediaPart))
    for question in page.questions:
        for choice in question.choices:
            yield from choice.media
