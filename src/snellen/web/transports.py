"""Results from whatever transport: the local server's database, JATOS archives, files that participants saved."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from snellen.web.plan import RecordRow
from snellen.web.study import read_study


def read_results_of(study: Path, paths: Sequence[Path]) -> Iterator[tuple[str, Sequence[RecordRow]]]:
    """Participants and their rows: of the files and folders given, else what `snellen study serve` recorded."""
    from snellen.web.jatos import read_archive, read_folder
    from snellen.web.store import read_results

    plan_hash = read_study(study).plan_hash
    if not paths:
        yield from read_results(study)
    files = [path for path in paths if path.suffix != ".zip" and path.suffix != ".jrzip"]
    for path in paths:
        if path not in files:
            yield from read_archive(path, plan_hash)
    if files:
        yield from read_folder(files, plan_hash)
