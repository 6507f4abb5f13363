"""VFM Bench: Visual Fast Mapping, concepts learned from a few labelled pictures."""

from importlib.resources import files

import yaml

from snellen.core.suite import Suite, SuiteCard
from snellen.presentation.controls import resolve_sheet
from snellen.suites.vfm_bench.curated.recipe import Curated
from snellen.suites.vfm_bench.generated.recipe import Generated
from snellen.suites.vfm_bench.published import published
from snellen.suites.vfm_bench.released.recipe import RELEASED
from snellen.suites.vfm_bench.report.sections import sections
from snellen.suites.vfm_bench.tasks import AXES, TASKS

CARD = SuiteCard.model_validate(yaml.safe_load(files(__name__).joinpath("suite.yaml").read_text("utf-8")))
SUITE = Suite(
    CARD,
    AXES,
    TASKS,
    {"generated": Generated(), "curated": Curated(), "released": RELEASED},
    resolve_sheet,
    published,
    sections,
)
