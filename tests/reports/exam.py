"""A small suite of drawn shapes, and runs about it, for tests of the report layer."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image, ImageDraw

from snellen.core.condition import Axis, Condition, Value
from snellen.core.item import Demo, Item, Media, Option
from snellen.core.printed import PrintedColumn, PrintedTable
from snellen.core.prompt import Prompt, Reply
from snellen.core.score import Metric
from snellen.core.seeds import stream
from snellen.core.sheet import answer_views
from snellen.core.storage.itemset import ItemSet, write_itemset
from snellen.core.storage.media import MediaFolder
from snellen.core.storage.runfolder import kind_by_name
from snellen.core.subject import Base, Subject, SubjectCard
from snellen.core.suite import Ceiling, Suite, SuiteCard, Task, Transform, ViewContext
from snellen.presentation.controls import IMAGES, control
from snellen.presentation.methods import OneByOne
from snellen.runs.asking.ask import ask
from snellen.runs.planning.plan import Arm, Plan
from snellen.runs.scores.score import score, write_scores
from snellen.scoring.protocols import ACCURACY, strict
from snellen.subjects.fakes.make import make_fake

COLOURS = {"red": "#c43c2e", "green": "#3b8f4e", "blue": "#3563b0", "yellow": "#d8a723"}
SHAPES = ("disc", "square", "triangle", "bar")
SAMPLES = Axis("samples", (10, 1), "a column of whole numbers")
SHEET = Axis("sheet", ("auto", 4, "none"), "a column of words and numbers")


def image(shape: str, colour: str, size: tuple[int, int] = (320, 240)) -> Image.Image:
    """One shape on a grey floor."""
    canvas = Image.new("RGB", size, "#b9bec2")
    pen, (w, h) = ImageDraw.Draw(canvas), size
    box = (w * 0.3, h * 0.25, w * 0.7, h * 0.8)
    if shape == "disc":
        pen.ellipse(box, COLOURS[colour])
    elif shape == "square":
        pen.rectangle((w * 0.32, h * 0.25, w * 0.68, h * 0.75), COLOURS[colour])
    elif shape == "triangle":
        pen.polygon([(w * 0.5, h * 0.2), (w * 0.25, h * 0.8), (w * 0.75, h * 0.8)], COLOURS[colour])
    else:
        pen.rectangle((w * 0.2, h * 0.42, w * 0.8, h * 0.6), COLOURS[colour])
    return canvas


class Album:
    """Images by their content; a little noise, the same along a row, makes each unique."""

    def __init__(self, media: MediaFolder, seed: int) -> None:
        self.media, self.rng, self.shows = media, stream("album", seed), dict[str, dict[str, str]]()

    def shot(self, shape: str, colour: str) -> Media:
        pixels = np.asarray(image(shape, colour)).astype(int) + self.rng.integers(-6, 7, (240, 1, 1))
        media = self.media.add_image(Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8)))
        self.shows[media.sha256] = {"shape": shape, "colour": colour}
        return media

    def latent(self, media: Sequence[Media], claims: Mapping[str, Any], **more: Any) -> dict[str, Any]:
        return {"shows": {image.sha256: self.shows[image.sha256] for image in media}, "claims": dict(claims), **more}


def _common(task: str, number: int, **cells: Any) -> dict[str, Any]:
    name = f"{task}-{number:04d}"
    return {
        "item_id": name,
        "suite": "shapes",
        "task": task,
        "stimulus_id": name,
        "group_id": name,
        "cluster_id": name,
    } | cells


def naming(album: Album, n: int) -> list[Item]:
    """Name the shape or the colour of one image; two questions per image."""
    items = []
    for number, (shape, colour) in enumerate(itertools.islice(itertools.cycle(itertools.product(SHAPES, COLOURS)), n)):
        shot = album.shot(shape, colour)
        queried, names, answer = (("shape", SHAPES, shape), ("colour", tuple(COLOURS), colour))[number % 2]
        options = tuple(Option(f"o{index}", name) for index, name in enumerate(names))
        key = f"o{names.index(answer)}"
        claims = {option.key: {queried: [option.text]} for option in options}
        cells = _common(
            "naming", number, cluster_id=f"image-{number // 2}", options=options, answer=key, answer_kind="choice"
        )
        provenance = {"construction_subjects": ["encoder:sharp"]} if number % 5 == 0 else {}
        items.append(
            Item(
                question=f"What is the {queried} of the object?",
                query=(shot,),
                factors={"question": queried},
                requires=(queried,),
                latent=album.latent([shot], claims),
                provenance=provenance,
                **cells,
            )
        )
    return items


def finding(album: Album, n: int) -> list[Item]:
    """Find the image that fits some words among three."""
    items, rng = [], stream("finding", n)
    for number in range(n):
        names = rng.permutation([f"{s} {c}" for s in SHAPES for c in COLOURS])[:3]
        objects = [str(name).split() for name in names]
        shots = [album.shot(shape, colour) for shape, colour in objects]
        options = tuple(Option(key, "", (shot,)) for key, shot in zip("xyz", shots, strict=True))
        (shape, colour), answer = objects[number % 3], "xyz"[number % 3]
        claims = {key: {"shape": [shape], "colour": [colour]} for key in "xyz"}
        cells = _common("finding", number, options=options, answer=answer, answer_kind="choice")
        latent = album.latent(shots, claims, about="option")
        items.append(Item(question=f"Which image shows a {colour} {shape}?", query=(), latent=latent, **cells))
    return items


def building(album: Album, n: int) -> list[Item]:
    """Two categories of four examples each, and one more object to put into one of them."""
    items = []
    for number in range(n):
        level = ("easy", "hard")[number % 2]
        (first, second), other = (("red", "blue"), ("green", "yellow"))[number % 4 // 2], SHAPES
        support = [
            Demo((album.shot(other[shot_number], colour),), key, shot_number)
            for key, colour in (("1", first), ("2", second))
            for shot_number in range(4)
        ]
        answer = "12"[number % 3 % 2]
        shot = album.shot(SHAPES[number % 4], first if answer == "1" else second)
        media = [image for demo in support for image in demo.media] + [shot]
        claims = {"1": {"colour": [first]}, "2": {"colour": [second]}}
        cells = _common("building", number, support=tuple(support), answer=answer, answer_kind="choice")
        cells["options"] = (Option("1", "category 1"), Option("2", "category 2"))
        items.append(
            Item(question="To which category does the last object belong?", query=(shot,), requires=("colour",),
                 factors={"difficulty": level}, latent=album.latent(media, claims, learned=True), **cells)
        )  # fmt: skip
    return items


def sizing(album: Album, n: int) -> list[Item]:
    """The size as a number: a metric that is not a share, and lower is better."""
    items = []
    for number in range(n):
        shot = album.shot("disc", "red")
        cells = _common("sizing", number, answer=2 + number % 5, answer_kind="number")
        items.append(Item(question="How many centimetres wide is the disc?", query=(shot,), **cells))
    return items


def _error(item: Item, answer: Any) -> float:
    return abs(float(answer) - float(item.answer)) / float(item.answer)


def _controls(item: Item, context: ViewContext) -> tuple[Transform, ...]:
    return control(context.condition["images"], context)


def _task(
    name: str, *axes: Axis, metric: Metric = ACCURACY, split_by: tuple[str, ...] = (), kind: Any = "choice"
) -> Task:
    rough = Metric("accuracy_rough", metric.score, chance=metric.chance)
    protocols = {"strict": strict(metric, *([rough] if metric is ACCURACY else [])), "published": strict(metric)}
    names = tuple(axis.name for axis in (IMAGES, *axes))
    return Task(name, kind, names, _controls, lambda condition: OneByOne(), protocols, split_by=split_by)


def published() -> list[PrintedTable]:
    """A table with people, chance and an average, of two levels of a factor."""
    columns = tuple(
        PrintedColumn(level, "naming", factor="question", level=level, scale=100, decimals=1)
        for level in ("shape", "colour")
    )
    rows = {"GPT-4V": ["64.0", "92.5", "78.3"], "LLaVA": ["50.0", "", "50.0"]}
    people, chance = ["97.0", "98.0", "97.5"], ["33.3", "25.0", "29.2"]
    return [PrintedTable("table-2", "Table 2", columns, rows, people, chance, ("average",), note="By hand.")]


def make_suite(version: str = "1", card: Mapping[str, str] = MappingProxyType({}), axes: Sequence[str] = ()) -> Suite:
    """The suite in a version, with changes of its card, or with some of its axes."""
    suite_card = SuiteCard(
        name="shapes",
        title="Shapes",
        measures="Whether a subject can name, find and sort flat shapes by their outline and colour.",
        paper="Somebody, Shapes in Plain Sight, https://example.org/shapes",
        version=version,
        counts={"naming": 16},
        ceilings=[Ceiling(task="naming", metric="accuracy", value=0.97, source="Table 1")],
        deviations=["Shapes are flat."],
    ).model_copy(update=dict(card))
    error = Metric(
        "mae_over_gt",
        _error,
        worst=1.0,
        higher_is_better=False,
        chance=lambda item: 0.55,
        share=False,
        bounds=None,
        title="relative error",
    )
    tasks = [
        _task("naming", SAMPLES, SHEET, split_by=("question",)),
        _task("finding"),
        _task("building", SHEET, split_by=("difficulty",)),
        _task("sizing", metric=error, kind="number"),
    ]
    chosen_axes = tuple(axis for axis in (IMAGES, SAMPLES, SHEET) if not axes or axis.name in axes)
    return Suite(suite_card, chosen_axes, {task.id: task for task in tasks}, {}, _resolve, published)


def _resolve(condition: Condition, card: SubjectCard) -> Mapping[str, Value]:
    if condition.columns().get("sheet") != "auto":
        return {}
    return {"sheet": 4 if card.max_images == 1 else "none"}


SUITE = make_suite()


def suite_of(name: str) -> Suite:
    """The only suite, whatever its version."""
    assert name == SUITE.name
    return SUITE


def write_items(
    root: Path,
    n: int,
    seed: int = 0,
    version: str = "1",
    suite: str = "shapes",
    group: bool = False,
    tasks: Sequence[str] = ("naming", "finding", "building", "sizing"),
) -> ItemSet:
    """An item set with n items per task; two questions of `naming` may be scored together."""
    album = Album(MediaFolder(root / "media"), seed)
    recipes = {"naming": naming, "finding": finding, "building": building, "sizing": sizing}
    items = [item for task in tasks for item in recipes[task](album, n)]
    items = [replace(item, version=version, suite=suite) for item in items]
    if group:
        items = [replace(item, group_id=item.cluster_id) for item in items]
    provenance = {"renderer": "PIL"}
    return write_itemset(root, items, source="generated", recipe={"seed": seed, "n": n}, provenance=provenance)


@dataclass(frozen=True)
class Able(Base):
    """Right with some probability, otherwise guessing; may decline a task and wrap its answer in words."""

    items: Mapping[str, Item] = field(default_factory=dict, repr=False)
    skill: Mapping[str, float] = field(default_factory=dict)
    refuses: str = ""
    words: str = "{}"

    def declines(self, prompt: Prompt) -> str | None:
        if self.refuses in {view.task for view in prompt.views}:
            return "has no words to compare images with"
        return super().declines(prompt)

    async def answer(self, prompt: Prompt, media: MediaFolder, rng: np.random.Generator) -> Reply:
        def say(view: Any) -> str:
            item = self.items[view.item_id]
            if rng.random() < self.skill.get(view.task, 0.4):
                return self.words.format(view.reply.write(item.answer))
            others = view.reply.offered or [2, 3, 4, 5, 6]
            return self.words.format(view.reply.write(others[int(rng.integers(len(others)))]))

        return Reply(answer_views(prompt.views, say), tokens_in=120, tokens_out=9, seconds=0.25, model="able-2")


def able(
    name: str, items: ItemSet, skill: Mapping[str, float], words: str = "{}", refuses: str = "", **settings: Any
) -> Able:
    # Prices are attributes of real cards; they stay in the settings too, since these determine the simulated replies.
    prices = {setting: f"{value:g}" for setting, value in settings.items() if setting.startswith("price_")}
    card = SubjectCard(name, settings, attributes={"family": name.split(":")[0], **prices}, **kind_by_name(name))
    return Able(card, items.by_id, skill, refuses, words)


def subjects(items: ItemSet) -> list[Subject]:
    """Five subjects with skills and three fakes."""
    high = {"naming": 0.9, "finding": 0.8, "building": 0.7, "sizing": 0.8}
    middle = {"naming": 0.55, "finding": 0.5, "building": 0.3, "sizing": 0.4}
    low = {"naming": 0.2, "finding": 0.1, "building": 0.05, "sizing": 0.0}
    able_subjects = [
        able(
            "chat:openai/gpt-4o",
            items,
            high,
            "I look closely at it. The answer is {}.",
            temperature=0,
            price_in=2.5,
            price_out=10.0,
        ),
        able("encoder:sharp", items, middle, refuses="sizing"),
        able("encoder:dull", items, low, refuses="finding"),
        able("chat:vllm/some-very-long-organisation/and-a-model-with-a-long-name-7B-instruct", items, middle, "{}"),
        able("encoder:colour-histogram", items, {**low, "naming": 0.4}),
    ]
    return [*able_subjects, *(make_fake(name, {}, items.items) for name in ("oracle", "chance", "blind-to=colour"))]


def write_run(
    root: Path,
    items: ItemSet,
    subjects_: Sequence[Subject],
    conditions: Sequence[Condition] = (),
    suite: Suite = SUITE,
    protocols: Sequence[str] = ("strict", "published"),
    tasks: Sequence[str] | None = None,
) -> Path:
    """Ask and score a run under vanilla and other conditions, about some tasks."""
    chosen = suite if tasks is None else replace(suite, tasks={name: suite.tasks[name] for name in tasks})
    arms = [Arm(subject, condition) for subject in subjects_ for condition in (Condition(suite.axes), *conditions)]
    responses = ask(root, Plan(items, chosen, arms, versions={"snellen": "0.1.0"}))
    for protocol in protocols:
        write_scores(root, score(responses, items, suite, protocol), protocol)
    return root


def leave_out_figures(patch: pytest.MonkeyPatch) -> None:
    """From now on figures of reports are not laid out, and their files are placeholders."""

    def save(figure: Figure, folder: Path, name: str, *, formats: Sequence[str]) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.svg").write_text("<svg/>", "utf-8")

    patch.setattr("snellen.reports.figures.save", save)
    patch.setattr("snellen.reports.figures._panels", lambda *arguments, **options: Figure())
