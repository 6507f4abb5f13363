"""Building item sets from Python."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

from snellen.compute import cores
from snellen.core.build_options import BuildOptions
from snellen.core.options import taking
from snellen.core.storage.itemset import ItemSet
from snellen.exam.items import build as build_items
from snellen.exam.items import check_options, find_recipe
from snellen.suites import SUITES


@dataclass(frozen=True)
class CallOptions(BuildOptions):
    """Options of a build from Python, with all cores."""

    workers: int = field(default_factory=cores)


@taking(CallOptions)
def build(suite: str, out: str | Path, options: CallOptions) -> ItemSet:
    """Build an item set, as `snellen build` does.

    Args:
        suite: Name of a suite, e.g. `combo`.
        out: Folder of the new set.
        options: Those of `snellen build`.
        tasks: Names of tasks. Default: all.
        workers: Number of processes. Default: one per core.
        quick: Whether to make a small set of small images.
        instalment_tasks: Tasks of later instalments. Default: all.
        planned_looks: Numbers of instalments after which scores are planned to be looked at (docs/deciding.md).
        test_only: Whether to leave out training items, where a recipe can.
        show_progress: Whether to show progress on standard error.

    Returns:
        The set. In a notebook it shows its first items with their images.

    Raises:
        SnellenError: For unknown names, an existing folder, or missing packages.

    >>> build("combo", "items", n=12, tasks=("img2text",), renderer="toy")  # doctest: +SKIP

    """
    recipe = options.recipe or "generated"
    check_options(find_recipe(SUITES.get(suite), recipe), options, f"{suite} --from {recipe}")
    return build_items(SUITES.get(suite), recipe, replace(options, out=Path(out), tasks=tuple(options.tasks)))
