"""VLM2-Bench: linking matching cues across images and video."""

from functools import partial

from snellen.core.lazy import LazyObjects, lazy_function
from snellen.core.registry import own_entries
from snellen.core.reproduction import read_reproductions
from snellen.core.suite import Suite, read_suite_card
from snellen.suites.vlm2_bench.published import published
from snellen.suites.vlm2_bench.tasks import AXES, TASKS, resolve

CARD = read_suite_card(__name__)

SUITE = Suite(
    card=CARD,
    axes=AXES,
    tasks=TASKS,
    recipes=LazyObjects(
        generated=f"{__name__}.generated.recipe:Generated",
        **own_entries("snellen.recipes", "vlm2-bench/"),
        released=f"{__name__}.released.recipe:RELEASED",
        own=f"{__name__}.own.recipe:Own",
    ),
    resolve=resolve,
    published=published,
    sections=lazy_function(f"{__name__}.report.sections:sections"),
    reproductions=partial(read_reproductions, __name__),
)
