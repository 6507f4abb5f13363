"""The page: a template filled with what the other modules found. Everything in it is escaped."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from snellen.analysis.results import UNABLE_RULE
from snellen.reports.export import format_cell
from snellen.reports.words import brief, foreign, rate

if TYPE_CHECKING:
    from jinja2 import Template


def render(sections: Sequence[dict[str, Any]], *, explorer: bool = False) -> str:
    """The whole page as text; `explorer` says whether it leads to `explore.html` beside it."""
    return _template().render(sections=sections, unable_rule=UNABLE_RULE, explorer=explorer)


@cache
def _template() -> Template:
    """The page's template, compiled once."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    room = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    room.filters.update(foreign=foreign, brief=brief, shown=format_cell, rate=rate)
    return room.get_template("report.html.j2")
