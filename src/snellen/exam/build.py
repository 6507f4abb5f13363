"""Building item sets from Python."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from snellen.compute import cores
from snellen.core.build_options import BuildOptions
from snellen.core.errors import SnellenError
from snellen.core.storage.itemset import ItemSet
from snellen.exam.items import build as build_items
from snellen.suites import SUITES


def build(
    suite: str,
    out: str | Path,
    *,
    recipe: str = "generated",
    n: int | None = None,
    seed: int = 0,
    tasks: Sequence[str] = (),
    renderer: str = "mitsuba",
    quality: str = "good",
    size: tuple[int, int] | None = None,
    show_progress: bool = True,
    **options: Any,
) -> ItemSet:
    """Build an item set, as `snellen build` does.

    Args:
        suite: Name of a suite, e.g. `combo`.
        out: Folder of the new set.
        recipe: `generated` (rendered here), `curated`, `released`, or another recipe of the suite.
        n: Test items per task; training items are added. Default: the size of a checkup.
        seed: Random seed.
        tasks: Names of tasks. Default: all.
        renderer: `mitsuba`, or `toy` (flat shading, needs no renderer).
        quality: Rendering quality of mitsuba: `fast`, `good` or `reference`.
        size: Width and height of generated images in pixels. Default: 640 by 480.
        show_progress: Whether to show progress on standard error.
        options: Further fields of `snellen.core.build_options.BuildOptions`, such as `sources`.

    Returns:
        The set. In a notebook it shows its first items with their images.

    Raises:
        SnellenError: For unknown names, an existing folder, or missing packages.

    """
    try:
        build_options = BuildOptions(
            Path(out), n=n, seed=seed, tasks=tuple(tasks), renderer=renderer, quality=quality, size=size,
            show_progress=show_progress, **{"workers": cores(), **options},
        )  # fmt: skip
    except TypeError as error:
        raise SnellenError(f"build: {error}; see snellen.core.build_options.BuildOptions") from error
    return build_items(SUITES.get(suite), recipe, build_options)
