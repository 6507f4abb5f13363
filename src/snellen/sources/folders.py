"""Where the datasets of a user lie: one folder a source, or a file that says otherwise."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import yaml

from snellen.core.condition import near
from snellen.core.errors import SnellenError
from snellen.sources import SCENES, SOURCES

FILE = "sources.yaml"


def find_folders(root: Path, names: Iterable[str] = SOURCES) -> dict[str, Path]:
    """The folder of every one of the sources, there or not: `root/NAME`, or what `root/sources.yaml` says instead.

    `names` are those of `SOURCES` or of `SCENES`; one `root` may hold both. The file holds lines `NAME: PATH`, relative
    to `root`. Raises SnellenError where `root` is no folder, or the file is of another form or names an unknown source.
    """
    if not root.is_dir():
        raise SnellenError(f"{root}: no such folder; --root takes the folder that holds one folder a source")
    folders = {name: root / name for name in names}
    path = root / FILE
    if not path.is_file():
        return folders
    try:
        told = yaml.safe_load(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise SnellenError(f"{path}: cannot be read as YAML; write lines NAME: PATH") from error
    if not isinstance(told, dict) or not all(isinstance(one, str) for pair in told.items() for one in pair):
        raise SnellenError(f"{path}: not a mapping of names to paths; write lines NAME: PATH")
    for name, place in told.items():
        if name not in folders and name not in SOURCES and name not in SCENES:
            raise SnellenError(f"{path}: no source {name!r}; {near(name, [*SOURCES, *SCENES])}")
        if name in folders:
            folders[name] = root / Path(place).expanduser()
    return folders
