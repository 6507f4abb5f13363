"""Where the datasets of a user lie: one folder a dataset, or a file that says otherwise."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import yaml

from snellen.core.condition import near, refuse_unknown
from snellen.core.errors import SnellenError
from snellen.core.storage.user_yaml import read_yaml
from snellen.datasets import DATASETS

FILE = "sources.yaml"
ALL = "data"
"""What recipes call a source that is a folder of datasets, one folder each."""


def find_folders(root: Path, names: Iterable[str] = DATASETS) -> dict[str, Path]:
    """The folder of every one of the datasets, there or not: `root/NAME`, or what `root/sources.yaml` says instead.

    `names` are those of `DATASETS` that are wanted. The file holds lines `NAME: PATH`, relative to `root`, of these and
    of others. Raises SnellenError where `root` is no folder, or the file is of another form or names no known dataset.
    """
    if not root.is_dir():
        raise SnellenError(f"{root}: no such folder; --root takes the folder that holds one folder a source")
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
    """The folder of every dataset that a recipe `curated` is given, by the name of its source, in the order of `names`.

    `names` are those of `DATASETS` that the recipe reads, `others` may be given besides. Raises SnellenError for names
    that are neither, for folders that `sources.yaml` names in vain, and where there is no dataset at all.
    """
    names = list(names)
    refuse_unknown(sources, [*names, ALL, *others], f"{suite} --from curated: no source")
    folders: dict[str, Path] = {}
    if ALL in sources:
        root, folders = sources[ALL], find_folders(sources[ALL], names)
        if missing := next((name for name, path in folders.items() if path != root / name and not path.is_dir()), None):
            raise SnellenError(
                f"{root / FILE}: {missing}: {folders[missing]} is no folder; mend the path, or delete the line"
            )
        folders = {name: path for name, path in folders.items() if path.is_dir()}
    folders |= {name: path for name, path in sources.items() if name not in (ALL, *others)}
    if not folders:
        location = f" in {sources[ALL]}" if ALL in sources else ""
        raise SnellenError(
            f"{suite} --from curated: no dataset to build from{location}; give --source NAME=DIR, or --source {ALL}="
            "ROOT with one folder a dataset (`snellen sources list` names them all, and says how their folders look)"
        )
    return {name: folders[name] for name in names if name in folders}
