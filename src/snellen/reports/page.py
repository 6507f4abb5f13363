"""Pages: templates filled with the content from other modules. Everything is escaped, and no script runs."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from snellen.analysis.grades import FALSE_MOST
from snellen.reports.export import format_cell
from snellen.reports.front_page import Front
from snellen.reports.turning import parts_of
from snellen.reports.words import brief, foreign, rate

if TYPE_CHECKING:
    from jinja2 import Environment

FOLDER = Path(__file__).parent


def render_front(front: Front, explorer: bool) -> str:
    """The front page as text; with `explorer` it links to `explore.html` next to it."""
    false_most = f"{100 * FALSE_MOST:g}"
    template = _environment().get_template("front.html.j2")
    return template.render(front=front, explorer=explorer, false_most=false_most)


def render_suite(content: dict[str, Any], pages: Sequence[dict[str, Any]]) -> str:
    """The page of a suite as text; `pages` are the contents of all suites."""
    return _environment().get_template("suite.html.j2").render(s=content, pages=pages)


@cache
def _environment() -> Environment:
    """The environment of the templates, which are compiled once."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    css = (FOLDER / "report.css").read_text("utf-8")
    environment.filters.update(foreign=foreign, brief=brief, shown=format_cell, rate=rate, parts=parts_of)
    # The style sheet is ours, and must not be escaped, since its hash is in the policy.
    environment.globals.update(css=Markup(css), policy=content_policy(css))
    return environment


def content_policy(css: str) -> str:
    """The policy of a page: images next to it, and this style sheet by its hash; no script, frame, font or form."""
    digest = base64.b64encode(hashlib.sha256(css.encode()).digest()).decode()
    return f"default-src 'none'; img-src 'self' file:; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
