"""The page of a study: template, style and scripts, which are copied into a bundle.

`index.html` is the only file of a bundle that depends on the transport. Scripts are classic scripts with one global,
`Snellen`, so that a bundle can be opened from a file.
"""

from __future__ import annotations

import shutil
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from pathlib import Path
from typing import Literal, TypeAlias

Transport: TypeAlias = Literal["folder", "local", "jatos"]
"""Storage of answers: in the browser until they are downloaded, by `snellen study serve`, or by JATOS."""

SCRIPTS = tuple(
    f"{name}.js"
    for name in "dom transports shell media parts judging fields choices box point plugin calibration study".split()  # noqa: SIM905
)
"""Scripts in the order in which `index.html` loads them."""
STYLE = "study.css"


def index_page(plan_title: str, transport: Transport, form: int | None = None, *, redirects: bool = False) -> str:
    """`index.html` of a bundle for one transport; `form` is that of the first participant of a folder.

    `redirects` says that JATOS leads participants to another address at the end.
    """
    from jinja2 import Environment, StrictUndefined

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string(files(__name__).joinpath("index.html.j2").read_text("utf-8"))
    try:
        release = version("snellen")
    except PackageNotFoundError:
        release = "unreleased"
    return template.render(
        title=plan_title,
        transport=transport,
        version=release,
        scripts=SCRIPTS,
        style=STYLE,
        form=form,
        redirects=redirects,
    )


def copy_page(folder: Path) -> None:
    """Copy scripts and style to `page/` in a bundle's folder."""
    target = folder / "page"
    target.mkdir(parents=True, exist_ok=True)
    for name in (*SCRIPTS, STYLE):
        shutil.copyfile(Path(str(files(__name__).joinpath(name))), target / name)
