"""Build small sets in `FOLDER` and print their hashes: `python -m tests.helpers.hashes FOLDER WORKERS SUITE...`."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

from snellen.exam.items import build
from snellen.suites import SUITES
from tests.helpers.sets import small_options


def main() -> None:
    """Build the small set of each suite named."""
    folder, workers, *names = sys.argv[1:]
    for name in names:
        options = replace(small_options(Path(folder) / name), workers=int(workers))
        card = build(SUITES.get(name), "generated", options).card
        print(name, card.recipe_hash, card.content_hash)


if __name__ == "__main__":
    main()
