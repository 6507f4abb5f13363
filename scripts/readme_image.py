"""Take the images of report pages in README and docs from a checkup: `python scripts/readme_image.py [checkup]`.

Each image carries a digest of what it shows: the page's templates and style, and the suites' versions. A test compares
it with theirs, and so finds an image of an earlier page.
"""

from __future__ import annotations

import hashlib
import io
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from PIL import Image, PngImagePlugin

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "images"
REPORTS, EXPLORER, PAGE = "src/snellen/reports/", "src/snellen/web/explorer/", "src/snellen/web/page/"
EVERY_PAGE = (f"{REPORTS}macros.html.j2", f"{REPORTS}page.html.j2", f"{REPORTS}report.css")
SOURCES: dict[str, tuple[str, ...]] = {
    "report": (f"{REPORTS}front.html.j2", *EVERY_PAGE),
    "gallery-suite": (f"{REPORTS}suite.html.j2", *EVERY_PAGE),
    "gallery-right-and-wrong": (f"{REPORTS}suite.html.j2", *EVERY_PAGE),
    "gallery-explorer": tuple(EXPLORER + name for name in ("explore.html.j2", "explore.css", "explore.js")),
    "gallery-study": tuple(PAGE + name for name in ("index.html.j2", "study.css", "plugin.js", "box.js")),
}
"""The images, with the files that decide how they look."""
KEY = "sources"
WIDTH_PX, HEIGHT_PX = 1240, 860
BLOCK = {"name": "example", "items": "ava-bench", "tasks": ["localization"], "questions": 1}
STUDY = {"texts": {"title": "An eye exam"}, "forms": 1, "blocks": [BLOCK]}


def digest(name: str) -> str:
    """SHA-256 of the files that decide how an image looks, and of the suites' versions."""
    from snellen.suites import SUITES

    hashed = hashlib.sha256()
    for source in SOURCES[name]:
        hashed.update((ROOT / source).read_bytes())
    for suite in sorted(SUITES):
        if SUITES.is_packaged(suite):
            hashed.update(f"{suite} {SUITES.get(suite).card.version}".encode())
    return hashed.hexdigest()


def stored_digest(name: str) -> str:
    """The digest that an image carries; empty if it has none."""
    with Image.open(FOLDER / f"{name}.png") as image:
        return str(image.info.get(KEY, ""))


def shots(browser: Any, checkup: Path, study: Path) -> Iterator[tuple[str, bytes]]:
    """Every image by its name."""

    def opened(page_path: Path) -> Any:
        page = browser.new_page(viewport={"width": WIDTH_PX, "height": HEIGHT_PX})
        page.goto(page_path.resolve().as_uri())
        return page

    page = opened(checkup / "report" / "index.html")
    box = page.locator("table.questions").first.bounding_box()
    assert box is not None, f"{checkup}: the front page shows no subjects"
    clip = {"x": 0.0, "y": 0.0, "width": float(WIDTH_PX), "height": box["y"] + box["height"] + 10}
    yield "report", page.screenshot(clip=clip, full_page=True)
    page = opened(checkup / "report" / "ava-bench.html")
    yield "gallery-suite", page.screenshot()
    top = page.evaluate("document.getElementById('ava-bench-examples').getBoundingClientRect().top")
    clip = {"x": 0.0, "y": top - 10, "width": float(WIDTH_PX), "height": float(HEIGHT_PX)}
    yield "gallery-right-and-wrong", page.screenshot(clip=clip, full_page=True)
    page = opened(checkup / "report" / "explore.html")
    page.click("a[href='#items']")
    page.wait_for_selector("#table tbody tr")
    yield "gallery-explorer", page.screenshot()
    page = opened(study / "bundle" / "index.html")
    page.click("#start")
    page.wait_for_selector("#continue")
    page.click("#continue")
    page.wait_for_selector("section.page[data-ready]")
    yield "gallery-study", page.screenshot()


@contextmanager
def study_of(itemset: Path) -> Iterator[Path]:
    """The folder of a study with one question."""
    from snellen.exam.items import find_items
    from snellen.web.building import build_study
    from snellen.web.design import StudyDesign

    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "study"
        build_study([find_items(itemset)], StudyDesign.model_validate(STUDY), root)
        yield root


def main(checkup: Path) -> None:
    """Take all images."""
    from snellen.web.chromium import open_browser

    with open_browser() as browser, study_of(checkup / "items" / "ava-bench") as study:
        for name, shot in shots(browser, checkup, study):
            info = PngImagePlugin.PngInfo()
            info.add_text(KEY, digest(name))
            with Image.open(io.BytesIO(shot)) as image:
                small = image.convert("RGB").quantize(256, dither=Image.Dither.NONE)
                small.save(FOLDER / f"{name}.png", optimize=True, pnginfo=info)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "checkup"))
