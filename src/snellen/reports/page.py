"""Pages: templates filled with what the other modules found. Everything in them is escaped, and no script runs."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from snellen.analysis.results import UNABLE_RULE
from snellen.reports.export import format_cell
from snellen.reports.front_page import Front
from snellen.reports.turning import parts_of
from snellen.reports.words import brief, foreign, rate

if TYPE_CHECKING:
    from jinja2 import Environment

FOLDER = Path(__file__).parent


def render_front(front: Front, explorer: bool) -> str:
    """The front page as text; `explorer` says whether it leads to `explore.html` beside it."""
    return _environment().get_template("front.html.j2").render(front=front, explorer=explorer)


def render_suite(content: dict[str, Any], pages: Sequence[dict[str, Any]]) -> str:
    """The page of a suite as text; `pages` are the contents of all."""
    return _environment().get_template("suite.html.j2").render(s=content, pages=pages)


@cache
def _environment() -> Environment:
    """The pages' templates, each compiled once."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    room = Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    css = (FOLDER / "report.css").read_text("utf-8")
    room.filters.update(foreign=foreign, brief=brief, shown=format_cell, rate=rate, parts=parts_of)
    # Jinja escapes; the style sheet is ours and must stay as it was hashed.
    room.globals.update(css=Markup(css), policy=content_policy(css), unable_rule=UNABLE_RULE)
    return room


def content_policy(css: str) -> str:
    """What a page may load: images beside it, and this style sheet, by its hash. No script, frame, font or form."""
    digest = base64.b64encode(hashlib.sha256(css.encode()).digest()).decode()
    return f"default-src 'none'; img-src 'self' file:; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
