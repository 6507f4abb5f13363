"""VLM2-Bench: linking matching cues across images and video."""

from snellen.core.suite import Suite, read_suite_card
from snellen.suites.vlm2_bench.curated.recipe import Curated
from snellen.suites.vlm2_bench.generated.recipe import Generated
from snellen.suites.vlm2_bench.own.recipe import Own
from snellen.suites.vlm2_bench.published import published
from snellen.suites.vlm2_bench.released.recipe import RELEASED
from snellen.suites.vlm2_bench.report.sections import sections
from snellen.suites.vlm2_bench.tasks import AXES, TASKS, resolve

CARD = read_suite_card(__name__)

SUITE = Suite(
    card=CARD,
    axes=AXES,
    tasks=TASKS,
    recipes={"generated": Generated(), "curated": Curated(), "released": RELEASED, "own": Own()},
    resolve=resolve,
    published=published,
    sections=sections,
)
