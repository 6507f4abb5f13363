"""`snellen.compare`: two runs, two logs, or more logs."""

from __future__ import annotations

from pathlib import Path
from typing import overload

from snellen.analysis.comparison.changes import changes
from snellen.analysis.comparison.log_changes import LogRanks, log_changes, log_ranks
from snellen.analysis.comparison.table import Comparison
from snellen.core.errors import SnellenError
from snellen.exam.compare import run_of_subject
from snellen.exam.examination import Examination
from snellen.interop.log_files import log_path, read_logs
from snellen.remote import RUN


def are_logs(addresses: list[str]) -> bool:
    """True if all are files or folders of logs, False if none is. Raises SnellenError for logs and runs together."""
    places = [log_path(address) for address in addresses]
    kinds = {place is not None and not (place[0] / RUN).is_file() for place in places}
    if len(kinds) > 1:
        raise SnellenError(f"{', '.join(addresses)}: compare runs with runs, and logs of other tools with logs")
    return kinds == {True}


@overload
def compare(
    first_run: str | Path | Examination,
    second_run: str | Path | Examination,
    /,
    *,
    margin: float | None = None,
    read: bool = False,
) -> Comparison: ...
@overload
def compare(first_run: str | Path, second_run: str | Path, /, *more: str | Path, read: bool = False) -> LogRanks: ...
def compare(
    first_run: str | Path | Examination,
    second_run: str | Path | Examination,
    /,
    *more: str | Path,
    margin: float | None = None,
    read: bool = False,
) -> Comparison | LogRanks:
    """Compare two subjects on the same items: what got better or worse, by task and by ability.

    Args:
        first_run: The subject to compare with: an examination or a run folder with one subject, or `RUN:SUBJECT`; or a
            log of another tool, which is a file, `FILE:COLUMN` of scores, or a folder.
        second_run: The other subject, given in the same way.
        more: Further logs; then the result has all pairs and ranks.
        margin: The drop that must be detectable, as a share of a metric's range. By default 0.2 for your own
            images, and none for other sets.
        read: Score the replies of logs with Snellen's parser, where the options and targets are in a log.

    Returns:
        The comparison; `table` has one row per task and ability, `flips` the items whose answers changed.

    Raises:
        SnellenError: For different items, or several subjects without a name.

    """
    addresses = [str(side.root if isinstance(side, Examination) else side) for side in (first_run, second_run, *more)]
    if not are_logs(addresses):
        if more:
            raise SnellenError(f"{addresses[2]}: only logs of other tools can be compared three at a time")
        return changes(*map(run_of_subject, addresses), margin=margin)
    logs = read_logs(addresses)
    return log_ranks(logs, read=read) if more else log_changes(logs[0], logs[1], margin=margin, read=read)
