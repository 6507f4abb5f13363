"""AVA-Bench: fourteen atomic visual abilities, one asked at a time."""

from snellen.core.suite import Suite, read_suite_card
from snellen.suites.ava_bench.curated.recipe import Curated
from snellen.suites.ava_bench.generated.recipe import Generated
from snellen.suites.ava_bench.own.recipe import Own
from snellen.suites.ava_bench.published import published
from snellen.suites.ava_bench.released.recipe import RELEASED
from snellen.suites.ava_bench.report.sections import sections
from snellen.suites.ava_bench.scenes.terms import term_scenes
from snellen.suites.ava_bench.tasks import AXES, make_tasks, resolve

CARD = read_suite_card(__name__)


def make_suite() -> Suite:
    """The suite of all abilities in the registry (`abilities.ABILITIES`)."""
    return Suite(
        card=CARD,
        axes=AXES,
        tasks=make_tasks(),
        recipes={
            "generated": Generated(),
            "curated": Curated(),
            "released": RELEASED,
            "own": Own(),
        },
        resolve=resolve,
        blind_renderer="toy",
        published=published,
        sections=sections,
        terms=term_scenes,
    )


SUITE = make_suite()
