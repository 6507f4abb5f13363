"""How often intervals over people and items hold the truth, by the functions that reports show.

    python bench/crossed.py            some eight minutes on one core
    python bench/crossed.py --quick    a tenth of the samples

What is drawn stands in tests/helpers/crossed.py. The table of docs/measurements/intervals.md is this program's output.
"""

from __future__ import annotations

import argparse

from snellen.core.seeds import stream
from tests.helpers.crossed import ABILITIES, FORMS, Panel, coverage

SAMPLES = 2000
PEOPLE = (5, 8, 20)
ITEMS = 40


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    samples = SAMPLES // (10 if parser.parse_args().quick else 1)
    print(
        "| participants | items per participant | answers | coverage | width | shown |\n|---|---|---|---|---|---|",
        flush=True,
    )
    for people in PEOPLE:
        for form in FORMS:
            for ability in (*ABILITIES, ""):
                rng = stream("bench", "crossed", people, form, ability)
                covered, width, told = coverage(Panel(people, ITEMS, form, ability), samples, rng)
                name = ability or "unbounded error"
                print(f"| {people} | {form} | {name} | {covered:.3f} | {width:.2f} | {100 * told:.0f} % |", flush=True)


if __name__ == "__main__":
    main()
