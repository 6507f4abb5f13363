"""Locations of a user's datasets: one folder per dataset, or paths in a file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import yaml

from snellen.core.condition import near, refuse_unknown
from snellen.core.errors import SnellenError
from snellen.core.storage.user_yaml import read_yaml
from snellen.curated_sets.datasets import DATASETS
from snellen.curated_sets.datasets.evidence import Verification

FILE = "sources.yaml"
WORDS: Mapping[Verification, str] = {
    "listing": "by its publisher's listing",
    "loaders": "as read by two or more public loaders",
    "assumed": "assumed",
}
ALL = "data"
"""Name under which recipes accept a folder with one folder per dataset."""


def find_folders(root: Path, names: Iterable[str] = DATASETS) -> dict[str, Path]:
    """The folder of each dataset, existing or not: `root/NAME`, unless `root/sources.yaml` gives another.

    `names` is a subset of `DATASETS`. The file has lines `NAME: PATH`, relative to `root`, for these or other datasets.
    Raises SnellenError if `root` is not a folder, or if the file has another form or names an unknown dataset.
    """
    if not root.is_dir():
        raise SnellenError(f"{root}: no such folder; --root needs a folder with one folder per source")
    folders = {name: root / name for name in names}
    path = root / FILE
    if not path.is_file():
        return folders
    try:
        paths = read_yaml(path)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        reason = " ".join(str(error).split())[:300]
        raise SnellenError(f"{path}: cannot be read as YAML ({reason}); write lines NAME: PATH") from error
    if not isinstance(paths, dict) or not all(isinstance(text, str) for pair in paths.items() for text in pair):
        raise SnellenError(f"{path}: not a mapping of names to paths; write lines NAME: PATH")
    for name, folder in paths.items():
        if name not in folders and name not in DATASETS:
            raise SnellenError(f"{path}: no source {name!r}; {near(name, DATASETS)}")
        if name in folders:
            folders[name] = root / Path(folder).expanduser()
    return folders


def recipe_folders(
    sources: Mapping[str, Path], names: Iterable[str], suite: str, others: Sequence[str] = ()
) -> dict[str, Path]:
    """The folders of the datasets that a recipe `curated` is given, by name, in the order of `names`.

    `names` are the `DATASETS` that the recipe uses, `others` are further allowed sources. Raises SnellenError for
    unknown names, for missing folders in `sources.yaml`, and if there is no dataset at all.
    """
    names = list(names)
    refuse_unknown(sources, [*names, ALL, *others], f"{suite} --from curated: no source")
    folders: dict[str, Path] = {}
    if ALL in sources:
        root, folders = sources[ALL], find_folders(sources[ALL], names)
        if missing := next((name for name, path in folders.items() if path != root / name and not path.is_dir()), None):
            raise SnellenError(
                f"{root / FILE}: {missing}: {folders[missing]} is not a folder; fix the path, or delete the line"
            )
        folders = {name: path for name, path in folders.items() if path.is_dir()}
    folders |= {name: path for name, path in sources.items() if name not in (ALL, *others)}
    if not folders:
        location = f" in {sources[ALL]}" if ALL in sources else ""
        raise SnellenError(
            f"{suite} --from curated: no dataset to build from{location}; give --source NAME=DIR, or --source {ALL}="
            "ROOT with one folder per dataset (`snellen sources list` names them all and describes their layouts)"
        )
    return {name: folders[name] for name in names if name in folders}


def layout_notes(names: Iterable[str]) -> list[str]:
    """One line per kind of verification, with its datasets; unknown names are ignored."""
    cards = [DATASETS.get(name).card for name in DATASETS if name in set(names)]
    return [
        f"layout {words}: {', '.join(card.name for card in cards if card.verified == verified)}"
        for verified, words in WORDS.items()
        if any(card.verified == verified for card in cards)
    ]
