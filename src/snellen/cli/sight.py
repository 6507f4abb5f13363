"""`snellen sight`: checks what of an image reaches a subject, and prints one line per check."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from snellen.cli.asking import name_services
from snellen.cli.output import print_json
from snellen.core.plain_text import printable
from snellen.core.storage.sight import read_sight
from snellen_sight.command import print_line, print_result, show_count
from snellen_sight.results import FINE_CODE, SightLine, exit_code_of


def sight(spec: str, out: Path | None, seed: int, as_json: bool) -> int:
    """Check a subject, write `sight.json`, and print the lines. Returns the exit code."""
    name_services([spec])
    from snellen.exam.sight import sight as do
    from snellen.exam.sight.asking import default_folder, the_subject

    subject = the_subject(spec)
    folder = out or default_folder(subject)
    card = do(subject, folder, seed=seed, after_call=None if as_json else show_count)
    if as_json:
        print_json({**card.model_dump(exclude={"calls"}), "calls": len(card.calls), "file": str(folder / card.file)})
    else:
        print_result(card.subject, card.date, len(card.calls), card.lines)
        print(f"Result: {folder / card.file}")
    # How an encoder is built is no fault of a server.
    return FINE_CODE if subject.card.role == "encoder" else exit_code_of(card.lines)


def print_changes(former: Path, current: Path, as_json: bool) -> None:
    """Print the checks in which two results of `snellen sight` differ."""
    before, after = read_sight(former), read_sight(current)
    lines = {line.check: line for line in before.lines}, {line.check: line for line in after.lines}
    checks = dict.fromkeys([*lines[0], *lines[1]])
    differing = [check for check in checks if not _agrees(*(side.get(check) for side in lines))]
    if as_json:
        print_json({check: [asdict(side[check]) if check in side else None for side in lines] for check in differing})
        return
    print(f"before: {printable(before.subject)}, {before.date[:10]}")
    print(f"after:  {printable(after.subject)}, {after.date[:10]}")
    for check in differing:
        print(f"\n{check}")
        for side in lines:
            print_line(side.get(check) or SightLine(check=check, verdict="cannot tell", text="not checked"))
    if not differing:
        is_known = any(line.verdict != "cannot tell" for line in (*before.lines, *after.lines))
        print("No check has another result." if is_known else "No check could tell anything in either result.")


def _agrees(former_line: SightLine | None, line: SightLine | None) -> bool:
    """True if both have the same verdict, and a fault the same text; other texts hold numbers that vary."""
    if former_line is None or line is None or former_line.verdict != line.verdict:
        return False
    return line.verdict != "not so" or former_line.text == line.text or line.check == "resolution"
