"""A small study bundle with one page of every kind, written by hand through the models of `snellen.web.plan`."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from PIL import Image, ImageDraw

from snellen.core.errors import SnellenError
from snellen.core.item import AnswerKind
from snellen.web.lock import web_parts
from snellen.web.page import Transport, copy_page, index_page
from snellen.web.plan import Choice, Entry, MediaPart, Page, PageBlock, Question, StudyPlan, TextPart, Texts
from snellen.web.study import as_script

IMAGE = MediaPart(path="media/scene.png", kind="image", width=600, height=400)
TILES = tuple(MediaPart(path=f"media/tile{n}.png", kind="image", width=160, height=160) for n in range(4))
COLOURS = ("#b3400a", "#0067a5", "#1b7a50", "#d9c400")


def question(kind: AnswerKind, name: str = "", **options: object) -> Question:
    """A question of a kind; its item is named after it."""
    return Question.model_validate({"item_id": name or kind, "kind": kind, **options})


def page(name: str, *questions: Question, text: str = "", image: bool = True, **options: object) -> Page:
    """A page with a text, the image and its questions."""
    parts = (*([TextPart(text=text)] if text else []), *([IMAGE] if image else []))
    fields = {"page_id": name, "kind": "question", "parts": parts, "questions": questions, **options}
    return Page.model_validate(fields)


LETTERS = tuple(
    Choice(name=name, text=text) for name, text in (("A", "a red square"), ("B", "a blue disc"), ("C", "a wall"))
)
PAGES = (
    page(
        "practice",
        question("choice", "practice", choices=LETTERS),
        text="Which one is on the left?",
        kind="practice",
        feedback={"practice": "A"},
    ),
    page("choice", question("choice", choices=LETTERS), text="Which one is largest?\nLook closely."),
    page("tiles", question("choice", "tiles", choices=[Choice(name=str(n + 1), media=(TILES[n],)) for n in range(4)])),
    page(
        "sets",
        question("choice", "sets", choices=[Choice(name="1", media=TILES), Choice(name="2", media=TILES[::-1])]),
        text="Which set is better ordered?",
        image=False,
    ),
    page("truth", question("true_false", choices=[Choice(name="T", text="True"), Choice(name="F", text="False")])),
    page("integer", question("integer"), text="How many shapes are there?"),
    page("number", question("number"), text="How long is the side, in metres?"),
    page("text", question("text", reason=True), text="What is written?"),
    page("description", question("description"), text="Describe the image."),
    page("colour", question("colour"), text="Set the colour of the square."),
    page("box", question("box", image=0), text="Draw a box around the disc."),
    page("point", question("point", image=0), text="Click on the middle of the disc."),
    page(
        "several",
        question("integer", "count", text="How many discs are there?"),
        question("choice", "keep", text="Keep the item?", choices=[Choice(name="keep"), Choice(name="drop")]),
    ),
)


def plan(*page_ids: str, texts: Texts | None = None, changes: tuple[Page, ...] = ()) -> StudyPlan:
    """A plan of two like forms, with those pages in order (all by default), under a hash of its own.

    `changes` are pages in place of ours.
    """
    pages = {page.page_id: page for page in (*PAGES, *changes)}
    chosen = page_ids or tuple(pages)
    blocks = (PageBlock(name="first", title="First part", text="Look and answer.", page_ids=chosen),)
    return StudyPlan(
        study="small",
        plan_hash="hash-" + "-".join(chosen),
        texts=texts or Texts(title="A small study", instructions="Please look closely."),
        pages={name: pages[name] for name in chosen},
        forms=(blocks, blocks),
    )


def practice_of(kind: AnswerKind, right: Entry) -> Page:
    """A practice page of a kind, named after it, with its right answer."""
    return page(kind, question(kind, image=0), kind="practice", feedback={kind: right})


def vendor_folder() -> Path:
    """The fetched web parts; skips the test if they are missing."""

    def refuse(package: str, _folder: Path) -> Path:
        raise SnellenError(f"tests fetch nothing, also not {package}")

    try:
        return web_parts(refuse)
    except SnellenError as error:
        pytest.skip(f"{error}; fetch them by `python -m snellen.web.lock`")


def write_bundle(folder: Path, study: StudyPlan, transport: Transport = "folder") -> Path:
    """Write a bundle into the folder; return the path of its `index.html`."""
    folder.mkdir(parents=True, exist_ok=True)
    copy_page(folder)
    shutil.copytree(vendor_folder(), folder / "vendor", dirs_exist_ok=True)
    _draw(folder / "media")
    (folder / "plan.js").write_text(as_script(study.model_dump_json()), encoding="utf-8")
    index = folder / "index.html"
    index.write_text(index_page(study.texts.title, transport), encoding="utf-8")
    return index


def _draw(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    scene = Image.new("RGB", (IMAGE.width, IMAGE.height), "#c9c3b6")
    pen = ImageDraw.Draw(scene)
    pen.rectangle((60, 120, 220, 280), fill=COLOURS[0])
    pen.ellipse((340, 100, 520, 280), fill=COLOURS[1])
    scene.save(folder / "scene.png")
    for part, colour in zip(TILES, COLOURS, strict=True):
        tile = Image.new("RGB", (part.width, part.height), "#dddddd")
        ImageDraw.Draw(tile).ellipse((30, 30, 130, 130), fill=colour)
        tile.save(folder.parent / part.path)
