"""VLM2-Bench: linking matching cues across pictures and video."""

from importlib.resources import files

import yaml

from snellen.core.suite import Suite, SuiteCard
from snellen.suites.vlm2_bench.curated.recipe import Curated
from snellen.suites.vlm2_bench.generated.recipe import Generated
from snellen.suites.vlm2_bench.published import published
from snellen.suites.vlm2_bench.released.recipe import RELEASED
from snellen.suites.vlm2_bench.report.sections import sections
from snellen.suites.vlm2_bench.tasks import AXES, TASKS, resolve

CARD = SuiteCard.model_validate(yaml.safe_load(files(__name__).joinpath("suite.yaml").read_text("utf-8")))

SUITE = Suite(
    CARD,
    AXES,
    TASKS,
    {"generated": Generated(), "curated": Curated(), "released": RELEASED},
    resolve,
    published,
    sections,
)
