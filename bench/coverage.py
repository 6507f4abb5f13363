"""How often intervals hold the truth, by the formulas that reports show, over a grid of designs.

    python bench/coverage.py            the whole grid: some ten minutes on one core
    python bench/coverage.py --quick    a tenth of the samples
    python bench/coverage.py --write    put the table into docs/measurements/intervals.md

What is drawn stands in tests/helpers/coverage.py. A cell is one design, one correlation and one kind of truth; its
coverage is taken over the samples for which an interval is shown. Wanted: no cell under .90, and from 20 clusters on
none under .92 and a mean of .94 to .97. More than that is reported and no failure.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from snellen.core.seeds import stream
from tests.helpers.coverage import COUNTS, FAMILIES, SHAPES, Cell, designs

PAGE = Path(__file__).parents[1] / "docs" / "measurements" / "intervals.md"
START, END = "<!-- bench/coverage.py writes from here", "<!-- to here -->"
DRAWS = {"error": 2000, "median error": 2000, "partial credit": 2000, "rank of six": 1000}
USUAL_DRAWS = 4000
SIZES = {"even": SHAPES[:2], "1 to 30": SHAPES[2:3], "one half": SHAPES[3:]}
HEAD = f"| quantity | clusters | {' | '.join(SIZES)} |\n|---|---|---|---|---|"


def cells_of(family: str, quick: bool) -> Iterator[tuple[int, str, Cell]]:
    """(clusters, sizes, what came out) of every cell of a family."""
    draws = DRAWS.get(family, USUAL_DRAWS) // (10 if quick else 1)
    for design in designs(COUNTS, SHAPES, draws):
        for name, sampler in FAMILIES[family].items():
            rng = stream("bench", "coverage", family, name, design.count, design.shape, str(design.correlation))
            yield design.count, design.shape, sampler(design, rng)


def rows(family: str, cells: list[tuple[int, str, Cell]]) -> Iterator[str]:
    """Table rows by number of clusters: even sizes (single units and five each) beside uneven ones."""
    for count in COUNTS:
        entries = [
            entry([cell for clusters, shape, cell in cells if clusters == count and shape in shapes])
            for shapes in SIZES.values()
        ]
        yield f"| {family} | {count} | {' | '.join(entries)} |"


def entry(cells: list[Cell]) -> str:
    """Mean and least coverage and mean width, and the share of samples with an interval unless all have one."""
    shown = [cell for cell in cells if cell.finite > 0]
    if not shown:
        return "–"
    covered, widths = [cell.covered for cell in shown], [cell.width for cell in shown]
    share = f"{100 * float(np.mean([cell.finite for cell in cells])):.0f} %"
    remark = "" if share == "100 %" else f" ({share})"
    return f"{np.mean(covered):.3f}, {min(covered):.3f}, {np.mean(widths):.2f}{remark}"


def main() -> None:
    """Print the table, or write it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    lines, summary = [HEAD], []
    for family in FAMILIES:
        cells = list(cells_of(family, options.quick))
        lines += rows(family, cells)
        many = [cell.covered for count, _, cell in cells if count >= 20 and cell.finite > 0]
        least = min(cell.covered for _, _, cell in cells if cell.finite > 0)
        usual = [cell.covered for count, shape, cell in cells if count >= 20 and shape != "one half"]
        summary.append(
            f"| {family} | {len(cells)} | {least:.3f} | {len(many)} | {min(many):.3f} | {np.mean(many):.3f} | "
            f"{np.mean(usual):.3f} |"
        )
    head = "| quantity | cells | least | cells from 20 clusters on | least | mean | mean without *one half* |\n"
    head += "|---|---|---|---|---|---|---|"
    table = "\n".join([head, *summary, "", *lines])
    print(table)
    if options.write:
        before, rest = PAGE.read_text("utf-8").split(START)
        note, after = rest.split("-->", 1)[0], rest.split(END)[1]
        PAGE.write_text(f"{before}{START}{note}-->\n\n{table}\n\n{END}{after}", "utf-8")


if __name__ == "__main__":
    main()
