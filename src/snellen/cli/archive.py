"""`snellen archive`: a site of many runs."""

from __future__ import annotations

from pathlib import Path

from snellen.cli.options import cores
from snellen.cli.output import print_json
from snellen.core.plain_text import printable
from snellen.reports.archive import write_archive


def archive(folder: Path, out: Path, as_json: bool) -> None:
    """Write the site, and print its first page and the runs that could not be read."""
    site = write_archive(folder, out, workers=cores(None))
    if as_json:
        print_json({"page": str(site.page), "runs": list(site.runs), "unreadable": dict(site.unreadable)})
        return
    print(f"{site.page}: {len(site.runs)} {'run' if len(site.runs) == 1 else 'runs'}")
    for name, reason in site.unreadable.items():
        print(f"Not readable: {name}: {printable(reason)}")
