"""The registry of suites: one package per benchmark, and those of other packages (entry points of `snellen.suites`)."""

from snellen.core.registry import Registry
from snellen.core.storage.itemset import ItemSet
from snellen.core.suite import Suite

SUITES: Registry[Suite] = Registry(
    "suite",
    {
        "combo": "snellen.suites.combo:SUITE",
        "vlm2-bench": "snellen.suites.vlm2_bench:SUITE",
        "vfm-bench": "snellen.suites.vfm_bench:SUITE",
        "ava-bench": "snellen.suites.ava_bench:SUITE",
        "thresholds": "snellen.suites.thresholds:SUITE",
        "questions": "snellen.suites.questions:SUITE",
        "curation-steps": "snellen.suites.curation_steps:SUITE",
    },
    group="snellen.suites",
    type_=Suite,
)


def suite_of(items: ItemSet) -> Suite:
    """The suite of an item set, with the tasks of this set (`Suite.of_items`)."""
    return SUITES.get(items.card.suite).of_items(items)
