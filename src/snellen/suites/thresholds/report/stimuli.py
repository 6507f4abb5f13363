"""Stimuli at the thresholds of subjects, in true pixels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image

from snellen.analysis.tables.cells import DASH
from snellen.analysis.tables.pivot import table_section
from snellen.analysis.tables.plots import MUTED, two_lines
from snellen.analysis.tables.section import ReportSection
from snellen.core.score import MEASURED, NOT_UNDERSTOOD
from snellen.core.seeds import stream
from snellen.suites.thresholds.measures import MEASURES
from snellen.suites.thresholds.measures.acuity import SPACING
from snellen.suites.thresholds.measures.measure import PITCH, PLACES, Measure, Stimulus
from snellen.suites.thresholds.scoring import estimate_text
from snellen_sight.psychometric import posterior

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LETTER = 5
"""Width of a Landolt ring in gaps."""
REACH_PX, MARGIN_PX, CAPTION_PX, MOST = 62.0, 10.0, 64, 3
"""Half of a patch with its numeral, the ground around a ring, the room for a caption, and the most subjects drawn."""


def at_threshold(by_task: Mapping[str, Sequence[Any]]) -> Iterator[ReportSection]:
    """The section of stimuli at thresholds; a judgement has none."""
    note = (
        "What a subject just sees: the stimulus at its threshold. One pixel of the image is one pixel of this page, "
        "unless it is zoomed. Of nine patches the odd one is shown, and to the left of it another one. A ring, the "
        "letter of this chart, is five gaps wide."
    )
    understood = {task: [t for t in of_task if t.reason != NOT_UNDERSTOOD] for task, of_task in by_task.items()}
    shown = {task: of_task for task, of_task in understood.items() if of_task and not MEASURES[task].is_judgement}
    rows = []
    for task, of_task in shown.items():
        for threshold in of_task:
            side, is_length = threshold.result.side, threshold.reason == MEASURED and MEASURES[task].unit == "px"
            share = f"1/{side / threshold.value:.0f}" if is_length else DASH
            text = estimate_text(threshold, MEASURES[task])
            rows.append([task, threshold.name, f"{side} px", text, letter(threshold) or DASH, share])
    names = ["task", "subject", "canvas", "threshold", "letter", "as a share of the canvas"]
    yield from table_section("Stimuli at threshold", note, names, rows, "at-threshold", partial(true_size, shown))


def best_variant(threshold: Any) -> int:
    """The number of the kind of stimulus that the subject of an `ArmThreshold` sees best; 0 of a single kind."""
    functions, answers = threshold.result.functions, threshold.result.answers
    curves = functions.by_frequency
    return 0 if curves is None else int(np.argmin(curves @ posterior(functions, answers)))


def letter(threshold: Any) -> str:
    """The width of the ring whose gap is the threshold, in words; empty for other tasks."""
    width_px = LETTER * threshold.value
    number = f"{width_px:.0f}" if width_px >= 10 else f"{width_px:.2g}"
    return f"a {number} px letter" if threshold.task.endswith("acuity") else ""


def stimulus_at(measure: Measure, level: float, side: int, variant: str) -> Image.Image:
    """The stimulus at a level, cut out: its rings, or of nine patches the odd one and the one to the left of it."""
    is_odd = measure.answers == PLACES
    answer = len(PLACES) // 2 if is_odd else 1
    drawing = measure.draw(Stimulus(level, answer, side, variant), stream("thresholds", "at-threshold", measure.task))
    x, y = (side / 2 + drawing.measures[name] for name in ("shift_x", "shift_y"))
    rings = LETTER / 2 + SPACING * (measure.task == "crowded-acuity")
    reach, beside = (REACH_PX, PITCH) if is_odd else (rings * level + MARGIN_PX, 0.0)
    box = round(x - beside - reach), round(y - reach), round(x + reach), round(y + reach)
    return drawing.image.convert("RGB").crop(box)


def true_size(by_task: Mapping[str, Sequence[Any]]) -> Figure:
    """A row per task with the stimulus at the threshold of each subject, whose pixels are those of the screen."""
    from matplotlib.figure import Figure

    rows = []
    for task, thresholds in by_task.items():
        measure = MEASURES[task]
        drawn = [(t, t.result.side, measure.variants[best_variant(t)]) for t in thresholds[:MOST]]
        rows.append([(t, stimulus_at(measure, t.value, side, variant)) for t, side, variant in drawn])
    column = 24 + max(240, *(image.width for row in rows for _, image in row))
    heights = [CAPTION_PX + max(image.height for _, image in row) for row in rows]
    width, height = column * max(map(len, rows)), sum(heights)
    figure = Figure(figsize=(width / 96, height / 96), dpi=96)
    axes = figure.add_axes((0, 0, 1, 1))
    for top, row in zip(np.cumsum([0, *heights]), rows, strict=False):
        for number, (threshold, image) in enumerate(row):
            x, measure = number * column, MEASURES[threshold.task]
            end = top + image.height
            axes.imshow(np.asarray(image), extent=(x, x + image.width, end, top), aspect="auto", interpolation="none")
            text = ", ".join(filter(None, (estimate_text(threshold, measure), letter(threshold))))
            axes.text(x, end + 6, f"{threshold.task}: {text}", va="top", fontsize=8.5)
            axes.text(x, end + 22, two_lines(threshold.name, 38), va="top", fontsize=8, color=MUTED)
    axes.set(xlim=(0, width), ylim=(height, 0))
    axes.set_axis_off()
    return figure
