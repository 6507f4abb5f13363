"""`recorded:FILE`: the models of a file of answers as subjects, whatever tool wrote it.

Columns are known by the names that tools give them. lmms-eval writes `doc_id`, `resps`, `filtered_resps` and `input`
per sample (`save_results_samples` in lmms_eval/loggers/evaluation_tracker.py), VLMEvalKit `index`, `question` and
`prediction` (docs/en/Development.md), EvalScope `index`, `messages`, `model` and `model_output` in predictions,
`sample_score` in reviews (evalscope/api/evaluator/cache.py), OpenAI's and vLLM's batches `custom_id` and
`response.body` (https://developers.openai.com/api/docs/guides/batch), Anthropic's `result`, LLaVA `text` and
`answer_id`, ms-swift `messages`, `images` and `response`; docs/recorded-answers.md has the dates of their sources. Only
EvalScope's were tried on files of the tool (tests/interop/test_evalscope.py); the rest is unverified. `doc_id` and the
`index` of EvalScope are positions from 0, and a `doc` is not written any more by lmms-eval.
"""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from itertools import chain, islice, takewhile
from pathlib import Path
from string import ascii_uppercase
from typing import Any

from snellen.core.condition import refuse_unknown
from snellen.core.errors import SnellenError
from snellen.core.hashing import sha256
from snellen.core.item import Item
from snellen.core.plain_text import short_reason
from snellen.core.prompt import Reply
from snellen.core.storage.user_files import own_file
from snellen.core.subject import Subject, SubjectCard
from snellen.interop import recorded_files
from snellen.interop.inspect_import import MAX_MODEL, is_log, log_recordings, score_of
from snellen.interop.recorded_files import Row
from snellen.scoring.answers import read_label
from snellen.subjects.chat.settings import DESCRIPTIVE, description_of, read_settings
from snellen.subjects.joins import NUMBER, POSITION, AnswerRow, RecordedAnswer, answers_digest, image_name
from snellen.subjects.recorded import Recording
from snellen.suites.questions.lists import as_list, options_in
from snellen_sight.completions import split_thought
from snellen_sight.retry import reported_failure

PREFIX = "recorded:"
_NAMES = {
    "id": "custom_id sample_score.sample_metadata.item_id id question_id qid sample_id doc.id doc.question_id "
    "sample_score.group_id index doc_id",
    "column": "reply response.body.choices.0.message.content response prediction "
    "model_output.choices.0.message.content sample_score.score.prediction resps filtered_resps model_response output "
    "completion generated_text",
    "model": "model model_name model_id response.body.model result.message.model",
    "question": "question doc.question query problem input messages",
    "image": "image_sha256 sha256 image_path image_file image_name image images doc.image_path doc.image input_media "
    "messages",
    "condition": "",
    "seed": "metadata.seed",
    "repeat": "repeat epoch sample_score.generation_index",
    "reasoning_column": "reasoning_content reasoning thinking model_output.choices.0.message.reasoning "
    "response.body.choices.0.message.reasoning_content response.body.choices.0.message.reasoning",
    "stop_column": "finish_reason stop_reason stop model_output.choices.0.stop_reason result.message.stop_reason "
    "response.body.incomplete_details.reason",
    "error": "error.message error model_output.error response.body.error.message result.error.error.message",
    "options": "options choices doc.options doc.choices",
    "target": "target ground_truth gt_answer gt doc.answer",
    "score": "exact_match score hit correct is_correct acc accuracy sample_score.score.value.acc",
}
COLUMNS = {role: names.split() for role, names in _NAMES.items()}
"""Names of columns by role, which is the setting that gives another. Dots lead into objects and lists."""
_ALL_ROWS = ("id", "column", "model", "repeat")
"""Roles whose column is the first that the first rows of a file have; for others, each row may have another."""
SETTINGS = ("name", *COLUMNS, *DESCRIPTIVE)
_STOPS = {
    **dict.fromkeys(("length", "max_tokens", "max_output_tokens", "model_length"), "length"),
    **dict.fromkeys(("content_filter", "safety", "refusal"), "filter"),
    **dict.fromkeys(("", "stop", "end", "end_turn", "eos", "stop_sequence", "eos_token"), "end"),
}
COMPARED = ("question", "image", "options", "target", "score")
"""Roles that may be `none`."""
FAILURES = ("[LMMS_EVAL_REQUEST_FAILED", "Failed to obtain answer via API.", "Failed to obtain answer: <class ")
"""How lmms-eval and VLMEvalKit begin what they write in place of a reply."""
NO_TEXTS = ("nan", "NaN", "#N/A", "#NAME?", "#VALUE!", "#REF!", "#DIV/0!", "#NUM!", "#NULL!")
"""What pandas and spreadsheets write for a missing text, or one that they took for a formula."""
MAX_CELL = 32_767
"""Characters of a cell of XLSX; writers cut longer texts."""
_BATCH_REPLIES = ("response.body.choices.0.message.content", "response.body.output", "result.message.content")
"""Where batches of OpenAI and vLLM, and of Anthropic have the reply."""
_MESSAGE = ".message.content"
"""Behind the path of a choice, which also says why the reply ended, and what failed."""
FIRST_ROWS = 100
"""Rows of a file that tell its columns, and its model where a failed row has none."""
_SHA256 = re.compile(r"[0-9a-f]{64}(?![0-9a-z])")
_IMAGE_PARTS = ("bytes", "path", "image", "image_url.url", "image_url", "content")
"""Where an image is in a cell of Hugging Face, in a part of a message, or in a message."""
MAX_MODELS = MAX_REPEATS = 1000


def make_recorded(name: str, settings: Mapping[str, str], items: Sequence[Item]) -> Sequence[Subject]:
    """The models of the files `name`, a path or a pattern such as `replies/*.jsonl`.

    Raises SnellenError, in one line, for unknown settings and models, and for files without replies.
    """
    refuse_unknown(settings, SETTINGS, f"{PREFIX}{name} has no setting")
    path, paths = Path(name), list[Path]()
    with suppress(ValueError, OSError):  # neither a name nor a pattern
        paths = [path] if path.exists() else sorted(Path(path.anchor or ".").glob(str(path.relative_to(path.anchor))))
    paths = [found if found == path else own_file(found.parent, found) for found in paths]
    if not paths or not all(path.is_file() for path in paths):
        what = "not a file" if paths else "no such file"
        raise SnellenError(f"{PREFIX}{name}: {what}; write recorded:FILE, or a pattern of files in quotes")
    states = tuple((path, path.stat().st_mtime_ns, path.stat().st_size) for path in paths)
    attributes = description_of(read_settings({key: settings[key] for key in DESCRIPTIVE if key in settings}))
    recordings = _read(states, tuple(sorted(settings.items())))
    if model := settings.get("name"):
        by_model = {recording.card.name.partition(":")[2]: recording for recording in recordings}
        refuse_unknown([model], by_model, f"{PREFIX}{name}: no model")
        recordings = (by_model[model],)
    cards = [replace(entry.card, attributes={**entry.card.attributes, **attributes}) for entry in recordings]
    return [replace(entry, card=card) for entry, card in zip(recordings, cards, strict=True)]


@lru_cache(maxsize=2)
def _read(states: Sequence[tuple[Path, int, int]], settings: Sequence[tuple[str, str]]) -> tuple[Recording, ...]:
    """The models of some files. `states` are paths with time and size, so that a changed file is read again."""
    logs = [path for path, _, _ in states if is_log(path)]
    if logs:
        refuse_unknown(dict(settings), ("name", *DESCRIPTIVE), f"{logs[0]}: logs of Inspect have no setting")
    reader = AnswerReader(dict(settings))
    for path in (path for path, _, _ in states if path not in logs):
        reader.read(path)
    if unknown := sorted(reader.conditions.keys() - reader.values):
        known = short_reason(", ".join(map(repr, sorted(reader.values))), 200)
        raise SnellenError(f"?condition={dict(settings)['condition']}: no row has {unknown[0]!r:.60}, but {known}")
    recordings = log_recordings(logs)
    for model, rows in reader.rows.items():
        card = SubjectCard(PREFIX + model, {"answers": answers_digest(rows)}, reads="views", source="recorded")
        recordings.append(Recording(card, rows=rows, read_label=read_label, remedy=remedy))
    if not recordings:
        raise SnellenError(f"{states[0][0]}: no answers in it")
    return tuple(recordings)


class AnswerReader:
    """Reads files by settings into `rows` by model; equal texts and answers become one object each.

    `conditions` are those of `?condition=` by value, `values` the values that rows have.
    """

    def __init__(self, settings: Mapping[str, str]) -> None:
        written = settings.get("condition", "")
        column, _, pairs = written.partition(":")
        self.settings = {**settings, "condition": column} if column else settings
        self.rows: dict[str, list[AnswerRow]] = {}
        self.conditions, self.values = dict[str, str](), set[str]()
        for pair in pairs.split("+") if pairs else ():
            value, arrow, condition = (word.strip() for word in pair.partition(">"))
            if not arrow:
                raise SnellenError(f"?condition={written}: write COLUMN:VALUE>CONDITION+VALUE>CONDITION")
            self.conditions[value] = condition
        self._repeats: dict[str, dict[tuple[str, int], int]] = {}
        self._shared: dict[Any, Any] = {}

    def read(self, path: Path) -> None:
        """Add the answers of a file. Those of a condition that the setting leaves out are not used."""
        location, rows = str(path), recorded_files.read_rows(path)
        first_rows = list(islice(rows, FIRST_ROWS))
        columns = self._columns([row for _, row in first_rows], location) if first_rows else {}
        models = {self._text(row, columns["model"]) for _, row in first_rows if columns["model"]} - {""}
        name = (self.settings.get("name") or _model_of(path)) if not models else "".join(models) * (len(models) == 1)
        for number, row in chain(first_rows, rows):
            try:
                has_model = cell_of(row, columns["model"]) not in (None, "")
                model = self._text(row, columns["model"]) if has_model else name
                if not 0 < len(model) <= MAX_MODEL or not model.isprintable():
                    raise ValueError(f"{model!r:.60} is no name of a model")
                self.values.add(condition := self._text(row, columns["condition"]))
                if self.conditions and condition not in self.conditions:
                    continue
                item = self._share("/".join(self._text(row, [column]) for column in columns["id"]))
                question = self._text(row, columns["question"])
                images = self._share(tuple(_images(cell_of(row, columns["image"]))))
                condition = self.conditions.get(condition, condition)
                target = self._share(tuple(_texts(cell_of(row, columns["target"]))))
                options = self._share(tuple(_options(row, columns["options"], question)))
                place = location, number, target, "".join(columns["numbering"]), self._text(row, columns["seed"])
                repeats = self._repeats.setdefault(model, {})
                for n, answer in enumerate(self._answers(row, columns, path)):
                    repeat = repeats.setdefault((self._text(row, columns["repeat"]), n), len(repeats))
                    own = self._share(replace(answer, options=options)) if options else answer
                    self._keep(model, AnswerRow(item, question, images, condition, repeat, own, *place), row)
                if len(self.rows) > MAX_MODELS or len(repeats) > MAX_REPEATS:
                    raise ValueError(f"more than {MAX_MODELS} models or repeats; give ?model=COLUMN, ?repeat=COLUMN")
            except (ValueError, RecursionError) as error:
                raise SnellenError(f"{location} row {number}: {short_reason(str(error), 300)}") from error

    def _columns(self, rows: Sequence[Row], location: str) -> dict[str, Sequence[str]]:
        """The columns of each role: alternatives, but parts of an id."""
        columns: dict[str, Sequence[str]] = {}
        existing = list(dict.fromkeys(name for row in rows for name in row))
        for role, names in COLUMNS.items():
            if role == "id":  # lmms-eval keeps what our export returns of each metric
                objects = dict.fromkeys(name for row in rows for name, cell in row.items() if isinstance(cell, dict))
                names = ["item_id", *(f"{name}.item_id" for name in objects), *names]
            columns[role] = [name for name in names if has_cell(rows, name)][:1] if role in _ALL_ROWS else names
            if role == "column" and "custom_id" in existing:  # a batch, whose rows may have failed
                batch = [name for name in _BATCH_REPLIES if name.partition(".")[0] in existing]
                columns[role] = batch or columns[role]
            if role in ("column", "question") and "answer_id" in existing:  # LLaVA, whose texts are replies
                columns[role] = [*columns[role], "text" if role == "column" else "prompt"]
            if role in COMPARED and self.settings.get(role) == "none":
                columns[role] = []
            elif role in self.settings:
                columns[role] = self.settings[role].split("+") if role == "id" else [self.settings[role]]
                missing = [name for name in columns[role] if not has_cell(rows, name)]
                refuse_unknown(missing, existing, f"{location}: no column")
        if columns["column"] == ["prediction"] and "target" not in self.settings:  # else it may be what was read
            columns["target"] = [*columns["target"], "answer"]
        is_evalscope = "model_output" in existing or "sample_score" in existing
        if columns["id"] in (["doc_id"], ["sample_score.group_id"], ["index"] if is_evalscope else None):
            columns["numbering"] = [POSITION]
        else:
            is_named = "id" in self.settings or "".join(columns["id"]).endswith("item_id")
            columns["numbering"] = [] if is_named else [NUMBER]
        columns["choice"] = [name.removesuffix(_MESSAGE) for name in columns["column"] if name.endswith(_MESSAGE)]
        columns["stop_column"] = [*columns["stop_column"], *(f"{name}.finish_reason" for name in columns["choice"])]
        self._require(rows, existing, columns, location)
        return columns

    def _require(
        self, rows: Sequence[Row], existing: Sequence[str], columns: Mapping[str, Sequence[str]], location: str
    ) -> None:
        """Raise SnellenError for a file without replies, or without what tells items apart."""
        if not columns["column"] or not (columns["id"] or any(has_cell(rows, name) for name in columns["question"])):
            what = "an id, ?id=COLUMN" if columns["column"] else "replies, ?column=COLUMN"
            names = short_reason(", ".join(existing), 200)
            raise SnellenError(f"{location}: name the column of {what}; it has {names}")

    def _keep(self, name: str, answer_row: AnswerRow, row: Row) -> None:
        self.rows.setdefault(name, []).append(answer_row)

    def _text(self, row: Row, columns: Sequence[str]) -> str:
        """The cell of the first of these columns that the row has; empty if it is neither text nor a number.

        Of a list of messages it is the text of the user's last.
        """
        cell = cell_of(row, columns)
        if isinstance(cell, list):
            turns = [turn.get("content") for turn in cell if isinstance(turn, dict) and turn.get("role") == "user"]
            with suppress(ValueError):  # of another form
                texts = [text for text, _ in _replies(turns[-1]) if text] if turns else []
                cell = "\n".join(text.replace("<image>", "") for text in texts)
        return str(self._share(str(cell).strip())) if isinstance(cell, str | int | float) and cell == cell else ""

    def _answers(self, row: Row, columns: Mapping[str, Sequence[str]], path: Path) -> Iterator[RecordedAnswer]:
        stop = self._text(row, columns["stop_column"])
        error, thoughts = self._text(row, columns["error"]), self._text(row, columns["reasoning_column"])
        replies = list(_replies(cell_of(row, columns["column"])))
        score = score_of(cell_of(row, columns["score"])) if len(replies) == 1 else math.nan
        error = "" if error in NO_TEXTS else error
        choice = cell_of(row, columns["choice"])
        ending = {**(choice if isinstance(choice, dict) else {}), "finish_reason": stop}
        failure = reported_failure({"choices": [ending]})
        max_cell = 0 if {".json", ".jsonl", ".ndjson"} & set(path.suffixes) else MAX_CELL
        if replies == [(None, "")] and (refusal := self._text(ending, ["message.refusal"])):
            replies = [(refusal, "")]
        for text, reasoning in replies:
            is_reason = text is not None and text.startswith(FAILURES)
            if text is None or text in NO_TEXTS or (error and not text) or is_reason or failure:
                reason = (is_reason and text) or error or (failure.reason if failure else "no reply in the file")
                yield self._share(RecordedAnswer(None, short_reason(reason)))
                continue
            end = "length" if len(text) == max_cell else _STOPS.get(stop.casefold(), stop)
            text, thought = split_thought(text)
            reasoning = "\n".join(dict.fromkeys(filter(None, (thoughts, reasoning, thought))))
            reply = Reply(text, reasoning, stop=end)
            if fault := reply.fault():
                raise ValueError(fault)
            yield self._share(RecordedAnswer(reply, score=score))

    def _share(self, value: Any) -> Any:
        return self._shared.setdefault(value, value)


def remedy(path: str, keys: Mapping[int, Hashable]) -> str:
    """What tells rows of a file with equal keys apart, and how to choose among them; empty if nothing does."""
    name, values = recorded_files.telling_column(Path(path), keys, set(chain(*COLUMNS.values())))
    if not name:
        return ""
    choice = f"?condition={name}:{values[0]}>vanilla takes those of one, ?repeat={name} all as repeats"
    return f"they differ in {name!r} ({short_reason(', '.join(map(repr, values)), 200)}): {choice}"


def has_cell(rows: Sequence[Row], column: str) -> bool:
    """True if one of the rows has a column, whose name may lead into its cells."""
    return any(column in row or cell_of(row, [column]) is not None for row in rows)


def cell_of(row: Row, columns: Sequence[str]) -> Any:
    """The cell of the first of these columns that has one; else None."""
    for column in columns:
        cell: Any = row.get(column)
        if cell is None and "." in column:
            cell = row
            for key in column.split("."):
                if isinstance(cell, list):
                    cell = cell[int(key)] if key.isdecimal() and len(key) < 9 and int(key) < len(cell) else None
                else:
                    cell = cell.get(key) if isinstance(cell, dict) else None
        if cell is not None:
            return cell
    return None


def _replies(cell: Any) -> Iterator[tuple[str | None, str]]:
    """Text and reasoning of each reply in a cell: a text, the parts of a message, or lists of replies (lmms-eval)."""
    if cell is None or isinstance(cell, str):
        yield cell, ""
    elif isinstance(cell, int | float):
        yield str(cell), ""
    elif cell == []:
        yield None, ""
    elif isinstance(cell, list) and all(isinstance(part, dict) for part in cell):
        contents = (part["content"] if isinstance(part.get("content"), list) else [part] for part in cell)
        parts = [recorded_files.json_object(part) for content in contents for part in content]  # as OpenAI's responses
        texts = [str(part.get("text") or part["refusal"]) for part in parts if part.get("text") or part.get("refusal")]
        yield "\n".join(texts), "\n".join(str(part["reasoning"]) for part in parts if part.get("reasoning"))
    elif isinstance(cell, list) and all(isinstance(part, str | list | None) for part in cell):
        for part in cell:
            yield from _replies(part)
    else:
        raise ValueError(f"the reply is a {type(cell).__name__} without texts; name another with ?column=COLUMN")


def _texts(cell: Any) -> Iterator[str]:
    for part in cell if isinstance(cell, list) else [cell]:
        if isinstance(part, str | int | float) and str(part).strip() not in ("", *NO_TEXTS):
            yield str(part).strip()


def _options(row: Row, columns: Sequence[str], question: str) -> Iterator[str]:
    """The texts of the options in order: a list, an object by letter, the columns A, B, C …, or as the question has."""
    cell = cell_of(row, columns)
    if isinstance(cell, dict):
        cell = list(cell.values())
    elif columns and not isinstance(cell, list):
        in_columns = list(takewhile(lambda text: text not in ("", None), map(row.get, ascii_uppercase)))
        cell = as_list(str(cell)) or in_columns or [text for _, text in options_in(question)]
    return _texts(cell)


def _images(cell: Any) -> Iterator[str]:
    """File names, and SHA-256 as given, in names, or of images in base64; also those in parts of a user's messages."""
    for part in cell if isinstance(cell, list) else [cell]:
        if isinstance(part, dict) and part.get("role") in (None, "user"):
            yield from _images(cell_of(part, _IMAGE_PARTS))
        elif isinstance(part, bytes):
            yield sha256(part)
        elif not isinstance(part, str):
            continue
        elif (name := image_name(part)) or _SHA256.fullmatch(part.lower()):
            digest = _SHA256.match((name or part).lower())
            yield from filter(None, (digest and digest[0], name))
        elif len(part) > 64:
            with suppress(ValueError):  # no base64
                yield sha256(base64.b64decode(part.rpartition(",")[2], validate=True))


def stem_of(path: Path) -> str:
    """The name of a file without its ending; names of models have dots too."""
    return Path(path.name.removesuffix(".gz")).stem


def model_folder(path: Path) -> Path:
    """The folder that tools name after the model: the file's, or the first in VLMEvalKit's MODEL/RUN/MODEL_DATA.tsv."""
    folder = path.resolve().parent
    return folder.parent if stem_of(path).startswith(f"{folder.parent.name}_") else folder


def _model_of(path: Path) -> str:
    """The name of the model by the path: tools name the folder after it, and VLMEvalKit begins file names with it."""
    folder, stem = model_folder(path), stem_of(path)
    is_named = "_samples_" in stem or stem.startswith(f"{folder.name}_")
    return folder.name if is_named or folder.parent.name in ("predictions", "reviews") else stem
