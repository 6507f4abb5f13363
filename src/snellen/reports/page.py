"""Pages: templates filled with the content from other modules. Everything is escaped; one script sorts tables."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from snellen.analysis.grading.grades import FALSE_MOST
from snellen.analysis.grading.meanings import GRADE_MEANINGS, STATE_MEANINGS
from snellen.analysis.grading.rows import Grade
from snellen.reports.citation import Citation
from snellen.reports.export import format_cell
from snellen.reports.front_page import Front
from snellen.reports.matrix import MATRIX, alarms, commands, matrix
from snellen.reports.wide_tables import parts_of
from snellen.reports.words import BEYOND, HARDLY, brief, foreign, grade_text, rate

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

FOLDER = Path(__file__).parent


def render_placeholder(waiting: Sequence[str]) -> str:
    """The page before the first results."""
    return _environment().get_template("placeholder.html.j2").render(waiting=waiting)


def render_front(front: Front, citation: Citation, explorer: bool, waiting: Sequence[str] = ()) -> str:
    """The front page as text; with `explorer` it links to `explore.html` next to it. `waiting` are suites to come."""
    pages = [(part.page, part.title) for part, _ in front.abilities]
    false_most = f"{100 * FALSE_MOST:g}"
    template, table = _environment().get_template("front.html.j2"), matrix(front)
    return template.render(
        front=front,
        matrix=table,
        alarms=alarms(front, table.lines[0]),
        commands=commands(front, table.lines[0]),
        words=(HARDLY, BEYOND),
        observers=matrix(front, simulated=True) if table.lines[0].kind != "simulated" else None,
        matrix_file=MATRIX,
        citation=citation,
        pages=pages,
        explorer=explorer,
        waiting=waiting,
        false_most=false_most,
        grade_meanings=GRADE_MEANINGS,
        state_meanings={grade_text(Grade("", *key)): meaning for key, meaning in STATE_MEANINGS.items()},
    )


def render_suite(content: dict[str, Any], pages: Sequence[tuple[str, str]], explorer: bool) -> str:
    """The page of a suite as text; `pages` are the addresses and titles of all suites' pages."""
    return (
        _environment()
        .get_template("suite.html.j2")
        .render(s=content, citation=content["citation"], pages=pages, explorer=explorer)
    )


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
    css, script = ((FOLDER / name).read_text("utf-8") for name in ("report.css", "sort.js"))
    environment.filters.update(
        foreign=foreign, brief=brief, shown=format_cell, rate=rate, parts=parts_of, breakable=_breakable
    )
    # Style sheet and script are ours, and must not be escaped, since their hashes are in the policy.
    environment.globals.update(css=Markup(css), script=Markup(script), policy=content_policy(css, script))
    return environment


def _breakable(name: str) -> Markup:
    """The name of a subject, which may be broken after its kind instead of inside a word."""
    from markupsafe import Markup, escape

    return escape(name).replace(":", Markup(":<wbr>"))


def content_policy(css: str, script: str) -> str:
    """The policy of a page: images next to it, this style sheet and this script by their hashes, and nothing else."""
    style, code = (base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (css, script))
    return (
        f"default-src 'none'; img-src 'self' file:; style-src 'sha256-{style}'; script-src 'sha256-{code}'; "
        "base-uri 'none'; form-action 'none'"
    )
