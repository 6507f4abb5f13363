"""The registry of suites: one package per benchmark, and those of other packages (entry points of `snellen.suites`)."""

from snellen.core.registry import Registry
from snellen.core.suite import Suite

SUITES: Registry[Suite] = Registry(
    "suite",
    {
        "combo": "snellen.suites.combo:SUITE",
        "vlm2-bench": "snellen.suites.vlm2_bench:SUITE",
        "vfm-bench": "snellen.suites.vfm_bench:SUITE",
        "ava-bench": "snellen.suites.ava_bench:SUITE",
        "curation-steps": "snellen.suites.curation_steps:SUITE",
    },
    group="snellen.suites",
    type_=Suite,
)
