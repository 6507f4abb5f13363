"""`explore.html`: one file with its scripts and data, since browsers forbid pages opened from files to load either.

Only scripts with known digests are allowed, and no `eval`: Vega's expressions are interpreted.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from snellen.core.errors import SnellenError
from snellen.core.storage import files
from snellen.reports.writing import EXPLORER, Companion
from snellen.web.explorer.content import explorer_content
from snellen.web.lock import present_parts, read_lock

if TYPE_CHECKING:
    from jinja2 import Template

    from snellen.reports.loading import Exam

FETCH = "python -m snellen.web.lock"
SCRIPTS = ("vega/build/vega.min.js", "vega-lite/build/vega-lite.min.js", "datatables/js/dataTables.min.js")
INTERPRETER = "vega-interpreter/build/vega-interpreter.js"
INTERPRETER_HEAD = "import { ascending, isString, DisallowedObjectProperties } from 'vega-util';"
INTERPRETER_END = "export { expression as expressionInterpreter };"
Z = 1.959964
"""Standard errors in half a 95 % interval."""


def explorer_writer() -> tuple[Companion | None, str]:
    """The function that writes an explorer next to a report, or None and a line with the reason."""
    parts = present_parts()
    if parts is None:
        return None, f"{EXPLORER} is left out: its parts (web.lock) are missing; `{FETCH}` fetches them"
    return lambda exams, out: write_explorer(exams, out, parts), ""


def write_explorer(exams: Sequence[Exam], out: Path, parts: Path) -> None:
    """Write the explorer of a report in the folder `out`; `parts` is the folder of the web parts."""
    files.write_text(out / EXPLORER, render_explorer(explorer_content(exams, out), parts))


def render_explorer(content: dict[str, Any], parts: Path) -> str:
    """The page as text."""
    here = Path(__file__)
    style = here.with_name("explore.css").read_text("utf-8")
    scripts = [*_part_scripts(parts), here.with_name("explore.js").read_text("utf-8")]
    return _template().render(
        style=style,
        style_digest=_digest(style),
        scripts=scripts,
        script_digests=[_digest(script) for script in scripts],
        content=as_block(content),
        spec=as_block(score_by_measure()),
        licences=_licences(parts),
    )


def _licences(parts: Path) -> list[tuple[str, str]]:
    """For each package in the page its name, version and licence, and the licence's text."""
    return [
        (
            f"{package.name} {package.version} ({package.licence})",
            (parts / package.folder / "LICENSE").read_text("utf-8"),
        )
        for package in read_lock()
        if package.pages == "explorer"
    ]


@cache
def _part_scripts(parts: Path) -> tuple[str, ...]:
    texts = [(parts / path).read_text("utf-8") for path in SCRIPTS]
    texts.insert(2, as_classic((parts / INTERPRETER).read_text("utf-8")))
    # A backslash hides the end of a script from the page's parser, and changes nothing in strings and patterns.
    return tuple(text.replace("</script", "<\\/script").replace("<!--", "<\\!--") for text in texts)


def as_classic(module: str) -> str:
    """Vega's interpreter, published only as a module, as a classic script, since modules do not load from files.

    All its imports are also part of Vega's own script. Raises SnellenError if its imports or exports have changed.
    """
    if module.count(INTERPRETER_HEAD) != 1 or module.count(INTERPRETER_END) != 1:
        raise SnellenError(f"{INTERPRETER}: imports or exports something new; correct web/explorer/page.py")
    head = INTERPRETER_HEAD.replace("import ", "const ").replace("from 'vega-util'", "= vega")
    body = module.replace(INTERPRETER_HEAD, head).replace(INTERPRETER_END, "return expression;")
    return f"const expressionInterpreter = (() => {{\n{body}\n}})();\n"


def as_block(content: Any) -> str:
    """JSON that is safe inside a page: none of its characters begins or ends markup."""
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")


@cache
def _template() -> Template:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent), autoescape=True, undefined=StrictUndefined
    )
    return environment.get_template("explore.html.j2")


def score_by_measure() -> dict[str, Any]:
    """Mean score by a measure of the items, in at most ten bins, with one line per subject.

    Rows have `subject`, `measure` and `score`. Whiskers are Wilson's 95 % intervals of scores from 0 to 1, with items
    taken as independent: an illustration, not a test.
    """
    spread = f"({Z * Z} / datum.items)"
    root = f"sqrt(max(0, datum.score * (1 - datum.score)) / datum.items + {spread} / (4 * datum.items))"
    whisker = f"{Z} * {root}"
    x = {"field": "middle", "type": "quantitative", "title": "measure", "scale": {"zero": False}}
    colour = {"field": "subject", "type": "nominal", "title": None, "legend": {"orient": "top", "columns": 1}}
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "data": {"name": "answers"},
        "width": 600,
        "height": 300,
        "transform": [
            {"bin": {"maxbins": 10}, "field": "measure", "as": ["from", "to"]},
            {"calculate": "(datum.from + datum.to) / 2", "as": "middle"},
            {
                "aggregate": [{"op": "mean", "field": "score", "as": "score"}, {"op": "count", "as": "items"}],
                "groupby": ["subject", "middle"],
            },
            {"calculate": f"(datum.score + {spread} / 2 - {whisker}) / (1 + {spread})", "as": "low"},
            {"calculate": f"(datum.score + {spread} / 2 + {whisker}) / (1 + {spread})", "as": "high"},
        ],
        "encoding": {"x": x, "color": colour},
        "layer": [
            {
                "mark": {"type": "rule", "opacity": 0.5},
                "encoding": {"y": {"field": "low", "type": "quantitative"}, "y2": {"field": "high"}},
            },
            {
                "mark": {"type": "line", "point": {"size": 60}},
                "encoding": {
                    "y": {"field": "score", "type": "quantitative", "title": "mean score"},
                    "tooltip": [
                        {"field": "subject"},
                        {"field": "middle", "title": "measure"},
                        {"field": "score", "format": ".2f"},
                        {"field": "items"},
                    ],
                },
            },
        ],
    }
