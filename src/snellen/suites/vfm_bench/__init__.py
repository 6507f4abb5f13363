"""VFM Bench: Visual Fast Mapping, concepts learned from a few labelled images."""

from functools import partial

from snellen.core.lazy import LazyObjects, lazy_function
from snellen.core.registry import own_entries
from snellen.core.reproduction import read_reproductions
from snellen.core.suite import Suite, read_suite_card
from snellen.presentation.controls import resolve_sheet
from snellen.suites.vfm_bench.published import published
from snellen.suites.vfm_bench.tasks import AXES, TASKS

CARD = read_suite_card(__name__)
SUITE = Suite(
    card=CARD,
    axes=AXES,
    tasks=TASKS,
    recipes=LazyObjects(
        generated=f"{__name__}.generated.recipe:Generated",
        **own_entries("snellen.recipes", "vfm-bench/"),
        released=f"{__name__}.released.recipe:RELEASED",
        own=f"{__name__}.own.recipe:Own",
    ),
    resolve=resolve_sheet,
    published=published,
    sections=lazy_function(f"{__name__}.report.sections:sections"),
    reproductions=partial(read_reproductions, __name__),
)
