"""The run of one subject, to be compared with another."""

from __future__ import annotations

from pathlib import Path

from snellen.analysis.tables.run_view import simulated_subjects
from snellen.analysis.tables.section import Run
from snellen.core.condition import near
from snellen.core.errors import SnellenError
from snellen.core.storage.runfolder import is_run
from snellen.exam.rescoring import recover
from snellen.reports.loading import load_run, of_subject


def run_of_subject(text: str) -> Run:
    """The run of one subject: `RUN`, or `RUN:SUBJECT` if it holds several.

    Without a name, the only subject is meant, or the only one that is not simulated. Raises SnellenError if there is no
    such run or subject, or several.
    """
    root, name = _root_and_subject(text)
    recover(root)
    run = load_run(root)
    subjects = list(dict.fromkeys(arm.subject for arm in run.card.arms))
    examined = [subject for subject in subjects if subject not in simulated_subjects(run)]
    if name and name not in subjects:
        raise SnellenError(f"{root}: holds no subject {name!r}; {near(name, subjects)}")
    if not name and len(subjects) > 1 and len(examined) != 1:
        raise SnellenError(f"{root}: contains several subjects ({', '.join(subjects)}); write {root}:SUBJECT")
    return of_subject(run, name or (subjects if len(subjects) == 1 else examined)[0])


def _root_and_subject(text: str) -> tuple[Path, str]:
    """The run folder and the subject's name after it, which may contain colons too."""
    colons = [n for n, sign in enumerate(text) if sign == ":"]
    for end in (len(text), *colons):
        if is_run(Path(text[:end])):
            return Path(text[:end]), text[end + 1 :]
    raise SnellenError(f"{text}: is neither a run nor a log; give a run folder, or RUN:SUBJECT")
