"""`snellen.compare`, and logs of other tools: `FILE`, `FILE:COLUMN` of scores, a folder, and settings after `?`.

Files are read as `recorded:` reads them, but a reply is not needed and a score is. Where tools put it: lmms-eval, in a
metric per column (`save_results_samples`); VLMEvalKit, `hit` or `score` (vlmeval/dataset/utils); EvalScope,
`sample_score.score.value` (evalscope/api/metric/scorer.py); MMMU, `judge` (eval/eval_utils.py); Inspect, by scorer.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from string import ascii_uppercase
from typing import Any, TypeAlias, overload

from snellen.analysis.comparison.changes import changes
from snellen.analysis.comparison.log_changes import LogRanks, log_changes, log_ranks
from snellen.analysis.comparison.logs import Log, LogRow
from snellen.analysis.comparison.verdicts import Comparison
from snellen.analysis.tables.run_view import lines_of, main_metric, of_first_judge, score_rows
from snellen.analysis.tables.section import protocol_of
from snellen.core.condition import refuse_unknown
from snellen.core.errors import SnellenError
from snellen.core.plain_text import short_reason
from snellen.core.storage.item_rows import read_image_names
from snellen.core.storage.runfolder import is_run
from snellen.core.storage.user_files import own_file
from snellen.exam.compare import run_of_subject
from snellen.exam.examination import Examination
from snellen.interop.inspect_import import SCORES, is_log, logged_rows
from snellen.interop.inspect_logs import read_log
from snellen.interop.recorded_answers import COLUMNS, AnswerReader, cell_of, has_cell, model_folder, remedy, stem_of
from snellen.interop.recorded_files import ENDINGS, Row
from snellen.reports.examples import run_replies
from snellen.subjects.joins import AnswerRow, ItemIndex, RecordedAnswer

Side: TypeAlias = str | Path | Examination
SETTINGS = ("name", *COLUMNS, "group", "task", "range")
_GROUPS, _TASKS = ("group", "cluster", "cluster_id", "group_id"), ("task", "task_name")
_SCORES = (*COLUMNS["score"], "judge")
_OTHERS = {name.partition(".")[0] for role, names in COLUMNS.items() if role != "score" for name in names}


def _path_and_settings(address: str) -> tuple[Path, dict[str, str]] | None:
    """The file or folder of an address and its settings; None if there is neither."""
    name, _, query = address.partition("?")
    path, column = Path(name), ""
    if not path.exists():
        path, column = Path(name.rpartition(":")[0] or name), name.rpartition(":")[2]
    if not path.exists():
        return None
    settings = {key: text for key, _, text in (pair.partition("=") for pair in query.split("&")) if key}
    return path, {**settings, "score": column} if column else settings


def read_log_files(address: str) -> Log:
    """The rows of one model in a file or a folder.

    Raises SnellenError for unknown settings, files without ids or scores, and several models without `?name=`.
    """
    path, settings = _path_and_settings(address) or (Path(address), {})
    refuse_unknown(settings, SETTINGS, f"{address} has no setting")
    rows, notes = dict[str, list[LogRow]](), list[str]()
    for each in sorted(_files(path)) if path.is_dir() else [path]:
        try:
            if is_log(each):
                found, columns = _inspect_rows(each, settings)
            else:
                reader = _LogReader(settings, each, path.is_dir())
                reader.read(each)
                found, columns = reader.logs, reader.columns
                for of_model in found.values():
                    keys = {row.number: (row.item, row.task, row.epoch) for row in of_model if row.item}
                    if len(set(keys.values())) < len(keys) and (advice := remedy(str(each), keys)):
                        raise SnellenError(f"{each}: several rows of one item; {advice}")
        except SnellenError as error:
            if each == path:
                raise
            notes.append(f"Not read: {short_reason(str(error), 200)}")
            continue
        for name, rows_of_model in found.items():
            rows.setdefault(name, []).extend(rows_of_model)
        if len(columns) > 1 and "score" not in settings:
            notes.append(f"{each.name}: scores are {columns[0]!r:.60}; also there: {', '.join(columns[1:]):.100}.")
    names = [settings["name"]] if "name" in settings else list(rows)
    refuse_unknown(names, rows, f"{address}: no model")
    if len(names) != 1:
        what = f"several models ({short_reason(', '.join(names), 200)}); write ?name=MODEL" if names else "no rows"
        raise SnellenError(f"{address}: {'. '.join([what, *notes[:3]])}")
    return Log(names[0], rows[names[0]], tuple(notes))


def read_logs(addresses: Sequence[str]) -> list[Log]:
    """The logs, runs among them, under their addresses where models have the same name."""
    logs = [read_log_files(address) if _is_file(address) else run_log(address) for address in addresses]
    names = [log.name for log in logs]
    return [
        replace(log, name=address) if names.count(log.name) > 1 else log
        for address, log in zip(addresses, logs, strict=True)
    ]


def _files(folder: Path) -> Iterator[Path]:
    for path in folder.rglob("*"):
        inner = path.with_suffix("") if path.suffix.lower() == ".gz" else path
        if inner.suffix.lower() in (*ENDINGS, ".eval") and path.is_file():
            yield own_file(folder, path)


def _scaled(cell: Any, settings: Mapping[str, str]) -> float:
    """A score as a share of its range, NaN for none. Raises ValueError for anything else."""
    text = str(cell).strip().casefold()
    worst, _, best = settings.get("range", "0..1").partition("..")
    if text in SCORES:
        return SCORES[text]
    try:
        share = (float(text) - float(worst)) / (float(best) - float(worst))
    except (ValueError, ZeroDivisionError):
        share = math.inf
    if not (math.isnan(share) or -1e-9 <= share <= 1 + 1e-9):
        raise ValueError(
            f"{short_reason(text, 40)!r} is no score from {worst} to {best}; name another column with FILE:COLUMN, or "
            "another range with ?range=WORST..BEST"
        )
    return share


def _log_row(answer_row: AnswerRow, score: float, group: str, task: str) -> LogRow:
    reply, condition = answer_row.answer.reply, answer_row.condition
    options = tuple(zip(ascii_uppercase, answer_row.answer.options, strict=False))
    name = f"{task} [{condition}]" if condition not in ("", "vanilla") else task
    return LogRow(
        answer_row.item, name and short_reason(name, 100),
        answer_row.repeat, answer_row.question, answer_row.images, group, answer_row.target, options,
        reply.text if reply else None, reply.stop if reply else "", answer_row.answer.reason, score,
        answer_row.numbering != "", answer_row.number,
    )  # fmt: skip


class _LogReader(AnswerReader):
    """Reads rows with scores by model into `logs`; the settings `group`, `task` and `range` are its own."""

    def __init__(self, settings: Mapping[str, str], path: Path, in_folder: bool) -> None:
        super().__init__({"name": model_folder(path).name, **settings} if in_folder else settings)
        self.logs: dict[str, list[LogRow]] = {}
        self.columns: Sequence[str] = ()
        self._has_reply, self._in_folder, self._task = False, in_folder, _task_of(path, in_folder)

    def _require(
        self, rows: Sequence[Row], existing: Sequence[str], columns: Mapping[str, Sequence[str]], location: str
    ) -> None:
        self._has_reply = bool(columns["column"])
        own = [self.settings[role] for role in ("group", "task") if role in self.settings]
        refuse_unknown([name for name in own if not has_cell(rows, name)], existing, f"{location}: no column")
        if not any(map(self._score_columns, rows)) and (self._in_folder or not self._has_reply):
            raise SnellenError(f"{location}: no scores; name their column with FILE:COLUMN")

    def _answers(self, row: Row, columns: Mapping[str, Sequence[str]], path: Path) -> Iterator[RecordedAnswer]:
        yield next(super()._answers(row, columns, path)) if self._has_reply else RecordedAnswer(None)

    def _keep(self, name: str, answer_row: AnswerRow, row: Row) -> None:
        self.columns = self.columns or self._score_columns(row)
        score = _scaled(cell_of(row, self.columns[:1]), self.settings)
        group, task = (
            self._text(row, [self.settings[role]] if role in self.settings else names)
            for role, names in (("group", _GROUPS), ("task", _TASKS))
        )
        self.logs.setdefault(name, []).append(_log_row(answer_row, score, group, task or self._task))

    def _score_columns(self, row: Row) -> Sequence[str]:
        """The columns that may have scores, of which the first counts."""
        if "score" in self.settings:
            return [self.settings["score"]]
        values = cell_of(row, ["sample_score.score.value"])
        main = cell_of(row, ["sample_score.score.main_score_name"])
        names = [str(main)] if main else list(values) if isinstance(values, dict) else []
        candidates = dict.fromkeys([*_SCORES, *(f"sample_score.score.value.{name}" for name in names[:1])])
        found = [name for name in candidates if isinstance(cell_of(row, [name]), str | int | float)]
        if not found and not {"resps", "filtered_resps"}.isdisjoint(row):
            metrics = {name: row[name] for name in row if name not in {*_OTHERS, *self.settings.values()}}
            nested = [f"{name}.score" for name, cell in metrics.items() if isinstance(cell, dict) and "score" in cell]
            found = [*nested, *(name for name, cell in metrics.items() if isinstance(cell, int | float))]
        return found


def _task_of(path: Path, in_folder: bool) -> str:
    """The task in the names of files of lmms-eval and VLMEvalKit; else the file of a folder."""
    stem, folder = stem_of(path), model_folder(path).name
    if "_samples_" in stem:
        return stem.rpartition("_samples_")[2]
    return stem.removeprefix(f"{folder}_") if in_folder or stem.startswith(f"{folder}_") else ""


def _inspect_rows(path: Path, settings: Mapping[str, str]) -> tuple[Mapping[str, Sequence[LogRow]], Sequence[str]]:
    """The rows of a log of Inspect by model, and the names of its scorers, of which the first counts."""
    log, rows, scorers = read_log(path), list[LogRow](), dict[str, None]()
    for sample, row, _, _ in logged_rows(log):
        values = {name: score.value for name, score in (sample.record.scores or {}).items()}
        scorers |= dict.fromkeys(values)
        group = cell_of(sample.record.metadata or {}, [settings["group"]] if "group" in settings else _GROUPS)
        task = sample.identity.task if sample.identity else log.header.eval.task
        try:
            score = _scaled(cell_of(values, [settings.get("score") or next(iter(scorers), "")]), settings)
        except ValueError as error:
            raise SnellenError(f"{path}: sample {row.number}: {error}") from error
        rows.append(_log_row(row, score, "" if group is None else str(group)[:1000], task))
    return {short_reason(log.header.eval.model, 200): rows}, list(scorers)


def run_log(address: str) -> Log:
    """A run of one subject (`run_of_subject`) as a log of shares by the main metrics, under the first condition.

    Questions are those of the items, not the prompts that were sent. Items without such a score have NaN.
    """
    run = run_of_subject(address)
    conditions = list(dict.fromkeys(arm.condition for arm in run.card.arms))
    index = ItemIndex(run.items.items, read_image_names(run.items.root))
    replies, scores = run_replies(run), dict[tuple[str, int], float]()
    for task in set(run.scores[protocol_of(run)]["task"]):
        metric = main_metric(run, task)
        if metric.bounds and metric.estimate is None:
            worst, best = metric.bounds if metric.higher_is_better else metric.bounds[::-1]
            rows = score_rows(run, task)
            for row in lines_of(of_first_judge(rows[rows["condition"] == conditions[0]])):
                scores[row.item_id, row.repeat] = (row.value - worst) / (best - worst)
    logged = list[LogRow]()
    for number, response in enumerate(run.responses, 1):
        if response.condition != conditions[0] or response.status == "declined":
            continue
        item = run.items.by_id[response.item_id]
        spec, texts = response.reply_spec, {option.key: option.text for option in item.options}
        offered = spec.offered[:26] if spec.kind in ("choice", "choices", "true_false") else ()
        letters = dict(zip(offered, ascii_uppercase, strict=False))  # in the order shown, as in exports
        named = ((letters[key], spec.name(key), texts.get(key, "")) for key in offered)
        keys = item.answer if isinstance(item.answer, tuple) else (item.answer,)
        row_of_log = LogRow(
            item.item_id, item.task, response.repeat, item.question, tuple(sorted(index.images_of[item.item_id])),
            item.cluster_id, tuple(letters.get(str(key), str(key)) for key in keys),
            tuple((letter, text if text and name == letter else name) for letter, name, text in named),
            replies.get(response.response_id) if response.text is not None else None,
            "length" if response.cut_off else "", response.reason if response.text is None else "",
            scores.get((item.item_id, response.repeat), math.nan), item.item_id.isdecimal(), number, False,
        )  # fmt: skip
        logged.append(row_of_log)
    notes = [f"{address}: only the condition {conditions[0]} is compared."] if conditions[1:] else []
    return Log(run.card.arms[0].subject, logged, tuple(notes))


def _is_file(address: str) -> bool:
    place = _path_and_settings(address)
    return place is not None and not is_run(place[0])


def are_logs(addresses: Sequence[str]) -> bool:
    """True if one of them is a log of another tool: then runs are compared as logs too."""
    return any(map(_is_file, addresses))


@overload
def compare(first_run: Side, second_run: Side, /, *, margin: float | None = None, read: bool = False) -> Comparison: ...
@overload
def compare(first_run: str | Path, second_run: str | Path, /, *more: str | Path, read: bool = False) -> LogRanks: ...
def compare(
    first_run: Side, second_run: Side, /, *more: str | Path, margin: float | None = None, read: bool = False
) -> Comparison | LogRanks:
    """Compare two subjects on the same items: what got better or worse, by task and by ability.

    Args:
        first_run: The subject to compare with: an examination or a run folder with one subject, or `RUN:SUBJECT`; or a
            log of another tool, which is a file, `FILE:COLUMN` of scores, or a folder. A run beside a log is one, too.
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
