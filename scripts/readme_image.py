"""Take the README's image from the report of a checkup: `python scripts/readme_image.py [checkup/report]`.

The image carries a digest of what it shows: the page's templates and style, and the suites' versions. A test compares
it with theirs, and so finds an image of an earlier page.
"""

from __future__ import annotations

import hashlib
import io
import sys
from pathlib import Path

from PIL import Image, PngImagePlugin

ROOT = Path(__file__).resolve().parents[1]
IMAGE = ROOT / "docs" / "images" / "report.png"
SOURCES = ("front.html.j2", "macros.html.j2", "page.html.j2", "report.css")
KEY = "sources"
WIDTH_PX, LAST_ROW = 1240, "> li:last-child"


def digest() -> str:
    """SHA-256 of the templates, the style and the suites' versions."""
    from snellen.suites import SUITES

    hashed = hashlib.sha256()
    for name in SOURCES:
        hashed.update((ROOT / "src" / "snellen" / "reports" / name).read_bytes())
    for name in sorted(SUITES):
        if SUITES.is_packaged(name):
            hashed.update(f"{name} {SUITES.get(name).card.version}".encode())
    return hashed.hexdigest()


def stored_digest() -> str:
    """The digest that the image carries; empty if it has none."""
    with Image.open(IMAGE) as image:
        return str(image.info.get(KEY, ""))


def main(report: Path) -> None:
    """Take the first screen of the report: everything down to the last subject."""
    from snellen.web.chromium import open_browser

    with open_browser() as browser:
        page = browser.new_page(viewport={"width": WIDTH_PX, "height": 900})
        page.goto((report / "index.html").resolve().as_uri())
        box = page.locator(f".strips {LAST_ROW}").bounding_box()
        assert box is not None, f"{report}: the front page shows no subjects"
        clip = {"x": 0.0, "y": 0.0, "width": float(WIDTH_PX), "height": box["y"] + box["height"] + 10}
        shot = page.screenshot(clip=clip, full_page=True)
    info = PngImagePlugin.PngInfo()
    info.add_text(KEY, digest())
    with Image.open(io.BytesIO(shot)) as image:
        image.convert("RGB").quantize(256, dither=Image.Dither.NONE).save(IMAGE, optimize=True, pnginfo=info)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "checkup" / "report"))
