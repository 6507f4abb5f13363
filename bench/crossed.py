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
    abilities = {**dict(zip(ABILITIES, ABILITIES, strict=True)), "": "unbounded error"}
    print(
        f"| participants | items per participant | {' | '.join(abilities.values())} |\n{'|---' * (2 + len(abilities))}|"
    )
    for people in PEOPLE:
        for form in FORMS:
            entries = []
            for ability in abilities:
                rng = stream("bench", "crossed", people, form, ability)
                covered, width, shown = coverage(Panel(people, ITEMS, form, ability), samples, rng)
                share = f"{100 * shown:.0f} %"
                entries.append(f"{covered:.3f}, {width:.2f}" + ("" if share == "100 %" else f" ({share})"))
            print(f"| {people} | {form} | {' | '.join(entries)} |", flush=True)


if __name__ == "__main__":
    main()
