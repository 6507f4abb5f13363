"""AVA-Bench: fourteen atomic visual abilities, one asked at a time."""

from functools import partial

from snellen.core.lazy import LazyObjects, lazy_function
from snellen.core.registry import own_entries
from snellen.core.reproduction import read_reproductions
from snellen.core.suite import Suite, read_suite_card
from snellen.suites.ava_bench.published import published
from snellen.suites.ava_bench.scenes.terms import term_scenes
from snellen.suites.ava_bench.tasks import AXES, make_tasks, resolve

CARD = read_suite_card(__name__)


def make_suite() -> Suite:
    """The suite of all abilities in the registry (`abilities.ABILITIES`)."""
    return Suite(
        card=CARD,
        axes=AXES,
        tasks=make_tasks(),
        recipes=LazyObjects(
            generated=f"{__name__}.generated.recipe:Generated",
            **own_entries("snellen.recipes", "ava-bench/"),
            released=f"{__name__}.released.recipe:RELEASED",
        ),
        resolve=resolve,
        blind_renderer="toy",
        published=published,
        sections=lazy_function(f"{__name__}.report.sections:sections"),
        terms=term_scenes,
        reproductions=partial(read_reproductions, __name__),
    )


SUITE = make_suite()
