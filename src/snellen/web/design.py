"""Designs of studies as YAML, and presets that follow the papers' own studies of people."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Literal

import yaml
from pydantic import Field, ValidationError, model_validator

from snellen.core.condition import near
from snellen.core.errors import SnellenError
from snellen.core.storage.user_files import MAX_YAML_BYTES, read_text
from snellen.core.storage.user_yaml import parse_yaml
from snellen.web.authenticity import AuthenticityRule
from snellen.web.plan import Frozen, Texts

PRESETS = "presets"
CONSENT_FIELDS = "who", "contact", "approval", "storage", "withdrawal"
"""Fields of `Texts` without which a page of consent is incomplete."""


class BlockDesign(Frozen):
    """A block of pages: its items, their conditions and their distribution over participants.

    `items` is the suite of one of the item sets; without `tasks`, all are used. Each of the `conditions` is a separate
    block, shown in this order. `questions` is the number of scored units (a question, or several that are scored
    together) per participant, task and condition; None: all. `assignment`: each form has a random `sample`; forms go
    through the items so that all are shown equally often (`spread`); or all forms have the `same` random items.
    First come, of training items of each task, `examples` with their right answers, then `practice` pages, which are
    repeated until the answer is right; `attention` pages are spread among the others.
    `seconds` is the time limit per page. `authenticity` makes the block a check of participants, with items that people
    pass and models fail; its verdict is a column and excludes no one. `checks_keys` makes it a check of the keys: each
    question has a page of its own, of tasks with fewer questions all are asked, and the import prints how often answers
    agree with the keys (`web.reviewing`).
    """

    name: str
    items: str = ""
    tasks: tuple[str, ...] = ()
    conditions: tuple[str, ...] = Field(default=("vanilla",), max_length=100)
    questions: int | None = Field(default=None, ge=1)
    assignment: Literal["sample", "spread", "same"] = "sample"
    order: Literal["random", "as stored"] = "random"
    examples: int = Field(default=0, ge=0)
    practice: int = Field(default=0, ge=0)
    attention: int = Field(default=0, ge=0, le=100)
    seconds: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    reason: bool = False
    title: str = ""
    text: str = ""
    authenticity: AuthenticityRule | None = None
    checks_keys: bool = False


class StudyDesign(Frozen):
    """A study. `forms` is the number of prepared orders and samples; participant n takes form n modulo this number.

    `wording`: questions as for people, without the form of a reply, or the prompts of models, word for word.

    `block_order`: `fixed`, `random` for each form, or `balanced`: every block is equally often in every place (a cyclic
    Latin square). After `break_every` pages people are told to take a break (0: never). `reviewers` are the aliases of
    a review, one form each. `parameters` are the address parameters that are recorded. With `calibration` people first
    match a rectangle to a bank card and state their distance from the screen, and images have native pixels. Reports
    and exports have people's words only with `share_words`: ask for it on the page of consent.
    """

    kind: Literal["study", "review"] = "study"
    wording: Literal["people", "models"] = "people"
    texts: Texts
    blocks: tuple[BlockDesign, ...] = Field(min_length=1)
    block_order: Literal["fixed", "random", "balanced"] = "fixed"
    break_every: int = Field(default=50, ge=0)
    calibration: bool = False
    share_words: bool = False
    forms: int = Field(default=20, ge=1, le=1000)
    reviewers: tuple[str, ...] = Field(default=(), max_length=1000)
    parameters: tuple[str, ...] = ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID")
    source: str = ""

    @model_validator(mode="after")
    def _check(self) -> StudyDesign:
        names = [block.name for block in self.blocks]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise ValueError(f"block {twice!r} is listed twice; name each block once")
        if sum(block.authenticity is not None for block in self.blocks) > 1:
            raise ValueError("two blocks have an authenticity rule; give one, and put all its tasks there")
        if self.kind == "review" and not self.reviewers:
            raise ValueError("a review needs reviewers; give reviewers: [alias, alias]")
        return self


def preset_names() -> list[str]:
    """Names of the packaged designs."""
    names = (path.name for path in files(__package__).joinpath(PRESETS).iterdir())
    return sorted(name.removesuffix(".yaml") for name in names if name.endswith(".yaml"))


def preset_text(name: str) -> str:
    """The YAML of a packaged design. Raises SnellenError for an unknown name."""
    if name not in preset_names():
        raise SnellenError(f"no preset {name!r}; {near(name, preset_names())}")
    return files(__package__).joinpath(PRESETS, f"{name}.yaml").read_text("utf-8")


def read_design(source: str) -> StudyDesign:
    """A design from a YAML file or a preset's name. Raises SnellenError that names the field and the remedy."""
    path = Path(source)
    if path.is_file():
        try:
            text, place = read_text(path, limit=MAX_YAML_BYTES), str(path)
        except (OSError, UnicodeDecodeError) as error:
            raise SnellenError(f"{path}: not readable as text in UTF-8 ({error})") from error
    elif source in preset_names():
        text, place = preset_text(source), f"preset {source}"
    else:
        raise SnellenError(f"--design {source}: no such file, and no preset; {near(source, preset_names())}")
    try:
        return StudyDesign.model_validate(parse_yaml(text))
    except yaml.YAMLError as error:
        raise SnellenError(f"{place}: not readable as YAML ({' '.join(str(error).split())[:300]})") from error
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"])) or "the design"
        raise SnellenError(f"{place}: {field}: {first['msg']}; see docs/people.md for the fields") from error
