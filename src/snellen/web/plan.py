"""Schemas of a study bundle: `plan.json` and records of results, as read by pages and Python.

A page has the content of one call to a model: the same parts in the same order. A bundle has views only; its only right
answers are those of practice items. `design/people.md` describes both files with an example.
"""

from __future__ import annotations

import json
from datetime import datetime
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from snellen.core.item import AnswerKind, MediaKind

Entry: TypeAlias = str | float | list[float] | None
"""A person's answer as recorded by the page.

Choice and true/false: the shown name. Integer and number: the text as typed, with a decimal point. Text and
description: the text. Colour: [red, green, blue], 0 to 255. Box: [x1, y1, x2, y2] in pixels of the shown image. None:
the time was up.
"""


class Frozen(BaseModel):
    """A part of a plan, a record or a design."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class TextPart(Frozen):
    """A text on a page: for people the question (`is_question`), or a label of the media after it (`is_label`).

    Pages with the wording of models do not say which. Short texts next to media are labels there, unless some are long.
    """

    text: str
    is_question: bool = False
    is_label: bool = False


class MediaPart(Frozen):
    """An image or a video on a page: `path` from the bundle's folder, pixels, seconds (0 for an image)."""

    path: str
    kind: MediaKind
    width: int
    height: int
    seconds: float = 0.0


class Choice(Frozen):
    """One choice: the `name` that is recorded, and the text and media shown."""

    name: str
    text: str = ""
    media: tuple[MediaPart, ...] = ()


class Question(Frozen):
    """One question of a page. `text` distinguishes several questions of one page.

    `image` is the number (from 0) of the medium among the page's parts on which a box is drawn or a point set. With
    `reason` a line of text may be added.
    """

    item_id: str
    kind: AnswerKind
    text: str = ""
    choices: tuple[Choice, ...] = ()
    image: int | None = None
    reason: bool = False


PageKind: TypeAlias = Literal["question", "example", "practice", "attention"]


class Page(Frozen):
    """The content of one screen, with the questions that are answered with one button.

    An `example` is shown with its right answer; `practice` is repeated until no answer is wrong, three times at most.
    `feedback` (of these two) has the right answers by item, `accepted` further texts. A text, colour or point is right
    within the `tolerance` (least ANLS, greatest CIEDE2000, greatest distance in pixels; None: equal texts). `seconds`
    is the time limit, None for none.
    """

    page_id: str
    kind: PageKind
    parts: tuple[TextPart | MediaPart, ...]
    questions: tuple[Question, ...]
    feedback: dict[str, Entry] | None = None
    accepted: dict[str, tuple[str, ...]] = {}
    tolerance: float | None = None
    seconds: float | None = None


class Term(Frozen):
    """A word of the questions, with an image that shows what it means."""

    word: str
    image: MediaPart


class PageBlock(Frozen):
    """Pages in the order of one form, after a `text` of instructions and the `terms` of its questions."""

    name: str
    title: str = ""
    text: str = ""
    terms: tuple[Term, ...] = ()
    page_ids: tuple[str, ...]


class Texts(Frozen):
    """Texts around the questions; empty lines separate paragraphs. With an empty `consent`, none is asked.

    `who` does the study, `contact` is where to ask, `approval` that of an ethics board, `storage` what is kept and for
    how long, `withdrawal` how to have one's data deleted. The page of consent shows them. The last page shows the
    `debriefing`, also to those who stop. The completion code and address of a panel are empty in a bundle, which all
    can read: the server sends them after the last page.
    """

    title: str
    consent: str = ""
    who: str = ""
    contact: str = ""
    approval: str = ""
    storage: str = ""
    withdrawal: str = ""
    instructions: str = ""
    thanks: str = "Thank you."
    debriefing: str = ""
    completion_code: str = ""
    completion_url: Annotated[str, Field(pattern=r"^(https?://\S+)?$")] = ""


class StudyPlan(Frozen):
    """`plan.json`. Participant number n (from 0) takes form n modulo the number of forms.

    `minutes` is the estimated duration of the longest form, 0 if it is unknown. A break is offered after `break_every`
    pages, unless it is 0. With `calibration` the page asks for a `Calibration` whenever it is opened, and shows the
    images of questions at native pixels.
    """

    format: Literal[1] = 1
    study: str
    plan_hash: str
    kind: Literal["study", "review"] = "study"
    wording: Literal["people", "models"] = "models"
    minutes: int = 0
    break_every: int = 0
    calibration: bool = False
    texts: Texts
    pages: dict[str, Page]
    forms: tuple[tuple[PageBlock, ...], ...]


# Records: what a transport appends, one JSON object each


def refuse_broken_text(cells: Any) -> Any:
    """The JSON data unchanged. Raises ValueError for half a character (a lone surrogate), which cannot be stored.

    Many fields are refused at once: naming each unknown one is slow.
    """
    for record in (cells, cells.get("record")) if isinstance(cells, dict) else ():
        if isinstance(record, dict) and len(record) > MAX_FIELDS:
            raise ValueError(f"it has more than {MAX_FIELDS} fields")
    try:
        json.dumps(cells, ensure_ascii=False, default=repr).encode()
    except UnicodeEncodeError:
        raise ValueError("a text contains half a character; type it again") from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    return cells


MAX_FIELDS = 50
"""Fields of a record or an opening."""
MAX_LENGTH = 1000
"""Entries of a dictionary or list in a record. More are refused before they are checked one by one, which is slow."""


def few_entries(entries: Any) -> Any:
    """The entries, unless they or lists in them are too many, or they hold other records."""
    if isinstance(entries, dict | list) and len(entries) > MAX_LENGTH:
        raise ValueError(f"more than {MAX_LENGTH} entries")
    for entry in entries.values() if isinstance(entries, dict) else ():
        is_box = isinstance(entry, list) and len(entry) <= BOX_NUMBERS and all(map(_is_number, entry))
        if isinstance(entry, dict | bool) or (isinstance(entry, list) and not is_box):
            raise ValueError("an entry is no text, number or list of four numbers")
    return entries


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


BOX_NUMBERS = 4
"""Numbers of the longest list that is an answer."""


class Start(Frozen):
    """A participant started or returned, with address `parameters`, and the random `code` by which they withdraw."""

    type: Literal["start"]
    participant: str
    form: int
    plan_hash: str
    time: datetime
    code: str = ""
    parameters: Annotated[dict[str, str], BeforeValidator(few_entries)] = Field(default_factory=dict)
    screen: Annotated[dict[str, float], BeforeValidator(few_entries)] = Field(default_factory=dict)
    agent: str = ""


class Consent(Frozen):
    """Consent was given."""

    type: Literal["consent"]
    time: datetime


CARD_CM = 8.56
"""Width of a bank card (ISO/IEC 7810, ID-1: 85.60 mm x 53.98 mm) in centimetres."""


class Calibration(Frozen):
    """The size of pixels on the screen, and the distance of the eyes from it in centimetres.

    `card_px` is the width of a bank card in CSS pixels; None for a person without a card. `pixel_ratio` is the number
    of device pixels in a CSS pixel at that moment (`devicePixelRatio`), which includes the browser's zoom.
    """

    type: Literal["calibration"]
    card_px: float | None = Field(ge=50, le=2000)
    pixel_ratio: float = Field(ge=0.1, le=20)
    distance_cm: float = Field(ge=20, le=200)
    time: datetime

    @property
    def px_per_cm(self) -> float | None:
        """Device pixels per centimetre, which are pixels of images (`StudyPlan.calibration`); None without a card."""
        return None if self.card_px is None else self.card_px * self.pixel_ratio / CARD_CM


class PageAnswers(Frozen):
    """All answers of one page. `position` is its number in the form, from 0.

    `seconds` are from the first painted frame that showed everything to the press of the button, `loading` before that.
    `hidden` are seconds in which the page was paused or out of sight, which are not part of `seconds`. Of a page
    that was practised several times, the first of its `attempts` is recorded; `passed` is False if none was right.
    """

    type: Literal["answers"]
    page_id: str
    position: int
    answers: Annotated[dict[str, Entry], BeforeValidator(few_entries)]
    reasons: Annotated[dict[str, str], BeforeValidator(few_entries)] = Field(default_factory=dict)
    seconds: float
    loading: float = 0.0
    hidden: float = 0.0
    attempts: int = 1
    passed: bool = True
    time: datetime


class Stop(Frozen):
    """The participant stopped for good."""

    type: Literal["stop"]
    time: datetime


class End(Frozen):
    """The last page was answered."""

    type: Literal["end"]
    time: datetime


StudyRecord: TypeAlias = Annotated[
    Start | Consent | Calibration | PageAnswers | Stop | End, Field(discriminator="type")
]


class RecordRow(Frozen):
    """A record with its `sequence` number among a participant's records, from 0, as sent, stored and read back."""

    _texts = model_validator(mode="before")(refuse_broken_text)

    sequence: int
    record: StudyRecord

    def plain(self) -> dict[str, Any]:
        """The row as JSON data."""
        return self.model_dump(mode="json")
