"""Finished runs: their items and responses, with tables of results, plots and reports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from snellen.analysis.grading.coverage import gaps
from snellen.core.response import Response, Status
from snellen.core.storage.itemset import ItemSet
from snellen.core.storage.run_tables import own_responses
from snellen.core.storage.runfolder import RunCard, is_run, read_run_card
from snellen.core.suite import Suite
from snellen.runs.asking.failures import summarize_failures
from snellen.runs.scores.score import own_scores, score_paths
from snellen.runs.scores.unread import with_judged_reading
from snellen.runs.sets.gate import open_items, open_run_items

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from snellen.reports import Report


@dataclass(frozen=True)
class Examination:
    """A finished run: its folder, suite, items and responses, with tables of results and reports."""

    root: Path
    suite: Suite
    items: ItemSet
    responses: Sequence[Response]
    _results: dict[tuple[Any, ...], pd.DataFrame] = field(default_factory=dict, repr=False, compare=False)

    def __repr__(self) -> str:
        subjects = ", ".join(dict.fromkeys(response.subject for response in self.responses))
        failed = f", {self.failed} failed" if self.failed else ""
        head = f"<Examination of {subjects} by {self.suite.name}: {len(self.responses)} responses{failed}; {self.root}>"
        return "\n".join([head, *self._reasons("failed"), *self._reasons("declined")])

    def _reasons(self, status: Status) -> list[str]:
        """One line per subject and reason."""
        reasons = self.reasons(status).items()
        return [f"{subject} {status}: {reason}" for subject, of_subject in reasons for reason in of_subject]

    def _repr_html_(self) -> str:
        """The table of results and the reasons why calls failed or were declined, for notebooks."""
        from html import escape

        from snellen.reports import print_table

        notes = "".join(f"<p>{escape(line)}</p>" for line in repr(self).splitlines())
        if not self.responses:
            return notes
        return print_table(self.all_results(), suite_of=lambda _: self.suite, unread=self.unread()).html() + notes

    @property
    def failed(self) -> int:
        """Number of items whose calls failed; the same command asks them again."""
        return sum(response.status == "failed" for response in self.responses)

    def reasons(self, status: Status) -> dict[str, list[str]]:
        """The reasons, by subject, why items failed or were declined, each kind with its count.

        Args:
            status: `failed` or `declined`.

        """
        reasons: dict[str, list[str]] = {}
        for response in self.responses:
            if response.status == status:
                reasons.setdefault(response.subject, []).append(response.reason)
        return {subject: summarize_failures(texts) for subject, texts in reasons.items()}

    def unasked(self) -> dict[str, int]:
        """The number of items not asked, by subject, because the run was stopped or the subject failed too often."""
        counts: Counter[str] = Counter()
        for gap in gaps(read_run_card(self.root).arms, self.responses):
            counts[gap.subject] += gap.missing
        return dict(counts)

    def unread(self) -> tuple[str, ...]:
        """Sentences about subjects of whose replies to a task more than a twentieth cannot be read, with examples."""
        from snellen.analysis.tables.unread import unread_sentences

        scores = own_scores(self.root, self.items, with_judged_reading(self.suite), read_run_card(self.root).arms)
        return unread_sentences([self.root], scores["strict"], self.responses)

    def results(self) -> pd.DataFrame:
        """One row per subject, task, condition and metric, for all scored protocols; studies of people first."""
        rows = self.all_results()
        return rows[rows["factor"] == ""].drop(columns=["factor", "level"]).reset_index(drop=True)

    def results_by_factor(self) -> pd.DataFrame:
        """Like `results`, with one row per level of each factor (size, colour …) of the items."""
        rows = self.all_results()
        return rows[rows["factor"] != ""].reset_index(drop=True)

    def grades(self) -> pd.DataFrame:
        """One row per subject and task: score with 95 % interval, chance, blind baseline, and the grade or a state.

        A grade is how far the score is on the way from the best score without the ability to that of people; a state
        says why there is none ("too few items"). docs/reports.md explains both.
        """
        from snellen.reports.rows import GRADED, whole_tasks

        return whole_tasks(self.all_results())[list(GRADED)]

    def plot(self, kind: Literal["strip", "profile"] = "strip") -> Figure:
        """A matplotlib figure: one square per subject and task, coloured by grade, or scores with their intervals.

        Args:
            kind: `strip` for squares, `profile` for one panel per task with chance, blind baseline and people.

        """
        from snellen.reports.figures import as_png, overview, strip, style
        from snellen.reports.loading import load_run

        with style():
            figure = (strip if kind == "strip" else overview)(load_run(self.root, lambda _: self.suite))
        # Notebooks show figures that pyplot did not make only with this method.
        vars(figure)["_repr_png_"] = partial(as_png, figure)
        return figure

    def all_results(self) -> pd.DataFrame:
        """The rows of `results` and `results_by_factor`; `factor` and `level` of the former are empty."""
        # Computed once for the score files as they are: floors alone take seconds.
        files = [self.root / RunCard.file, *score_paths(self.root).values()]
        key = tuple((path.name, path.stat().st_mtime_ns, path.stat().st_size) for path in files)
        if key not in self._results:
            self._results.clear()
            self._results[key] = self._all_results()
        return self._results[key].copy()

    def _all_results(self) -> pd.DataFrame:
        import pandas as pd

        from snellen.analysis.grading.floors import Floors
        from snellen.analysis.grading.results import results
        from snellen.analysis.studies.people import study_results

        card, suite = read_run_card(self.root), with_judged_reading(self.suite)
        scores = own_scores(self.root, self.items, suite, card.arms)
        floors = Floors(self.items, suite)
        tables = [results(rows, self.items, suite, card.arms, floors=floors) for rows in scores.values()]
        studies = study_results(scores, self.items, suite, card.arms)
        return pd.concat([studies, *tables] if len(studies) else tables, ignore_index=True)

    def report(
        self,
        out: str | Path = "report",
        *,
        compare_published: bool = False,
        full: bool = False,
        inputs: Mapping[str, Path] | None = None,
        protocol: str = "",
    ) -> Report:
        """Write the report with the explorer, as `snellen report` does.

        Args:
            out: Folder of the report.
            compare_published: Whether to show the paper's printed tables with own rows, scored by `published`.
            full: Whether to show more examples and every factor.
            inputs: Runs and files by name, for sections of a suite.
            protocol: Protocol whose scores all other tables show; empty for `strict`.

        """
        from snellen.reports import publish_report

        return publish_report(
            [self.root], out, compare_published=compare_published, full=full, inputs=inputs, protocol=protocol
        )


def open_examination(root: Path) -> Examination:
    """Open a run folder, finished or stopped. Raises SnellenError if it has no tables."""
    card, items, suite = open_run_items(root)
    return Examination(root, suite, items, own_responses(root, items, card))


def open(path: str | Path) -> Examination | ItemSet:
    """Open a run or an item set, with all checks.

    Args:
        path: Folder.

    Returns:
        A run as an `Examination`, a set as an `ItemSet`.

    Raises:
        SnellenError: If there is neither, or it is damaged.

    >>> open("runs/first").grades()  # doctest: +SKIP

    """
    root = Path(path)
    return open_examination(root) if is_run(root) else open_items(root)
