"""Damaged files of every kind that is read, drawn from a seed, and the commands that read them, in this process."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import re
import shutil
import signal
import sys
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

from snellen.cli import main
from snellen.core.seeds import stream
from snellen.core.storage.itemset_cards import read_card
from snellen.runs.sets.gate import open_items
from tests.helpers.damage import DAMAGES
from tests.helpers.jobs import prepare_relative_run, prepare_results
from tests.helpers.logs import FORMS, answers
from tests.helpers.own_images import boxed_images, write_coco, write_table
from tests.helpers.sets import SMALL_BUILD

MAX_SECONDS, MAX_BYTES, MAX_LINE = 10.0, 10**9, 300
"""CPU seconds of a command, memory that it takes, and characters of a message."""
HANG_SECONDS = 300
OTHER_JSON = (
    *(b"[1]", b"5", b"null", b'"text"', b"{}", b"[]", b"true", b"[[]]", b'{"a": 1}', b"[" * 99_999, b'{"a":' * 9_999),
    *(b"1" * 9_999, b"NaN", b"1e999", b'"\\ud800"', b"\xff\xfe", b"\xef\xbb\xbf{}", b"\0", b"\n"),
)
"""Whole files."""
HOSTILE = (
    *("null", "-1", "0", "1", "1e999", "-1e999", "NaN", "true", "[]", "{}", "[[1]]", '{"a": 1}', '""', '"\\ud800"'),
    *('"\\u0000"', '"../../x"', '"/dev/zero"', '"x\\ny\\u001b[2J"', "9" * 5000, "9" * 30, "2026-99-99", "0.5", "'"),
    *('"' + "x" * 2_000_000 + '"', "2001-01-01", "!!bool x", "!!int ''", "&a", "*a", "0x", '"%s"', "1_0", "12:99:99"),
)
"""What a value in a text is replaced by."""
_VALUE = re.compile(rb'"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*|\w+')
Harm = Callable[[Path, np.random.Generator], str]
Words = Sequence[object]


def harm_bytes(path: Path, rng: np.random.Generator) -> str:
    """Damage to any file."""
    kind = list(DAMAGES)[int(rng.integers(len(DAMAGES) - 1))]  # a file that is gone is no damaged file
    path.write_bytes(DAMAGES[kind](path.read_bytes() or b"x", rng) or b"")
    return kind


def harmed_text(raw: bytes, rng: np.random.Generator) -> tuple[bytes, str]:
    """A text in which one value is replaced."""
    values = list(_VALUE.finditer(raw))
    if not values:
        return raw + b"x", "a letter more"
    value, text = values[int(rng.integers(len(values)))], HOSTILE[int(rng.integers(len(HOSTILE)))]
    return raw[: value.start()] + text.encode() + raw[value.end() :], f"{value[0][:30]!r} -> {text[:30]}"


def harm_text(path: Path, rng: np.random.Generator) -> str:
    """Damage to a text file: bytes, a value, or all of it."""
    choice = rng.random()
    if choice < 0.3:
        return harm_bytes(path, rng)
    if choice < 0.45:
        raw = OTHER_JSON[int(rng.integers(len(OTHER_JSON)))]
        path.write_bytes(raw)
        return f"all of it: {raw[:30]!r}"
    raw, what = harmed_text(path.read_bytes(), rng)
    path.write_bytes(raw)
    return what


def harm_part(path: Path, rng: np.random.Generator) -> str:
    """Damage to a line of a run's record, half of the time with the right checksum."""
    if rng.random() < 0.4:
        return harm_text(path, rng)
    lines = path.read_bytes().split(b"\n")
    number = int(rng.integers(len(lines) - 1))
    before, what = harmed_text(lines[number][:-1].rpartition(b',"crc":')[0], rng)
    lines[number] = before + b',"crc":' + str(zlib.crc32(before)).encode() + b"}"
    path.write_bytes(b"\n".join(lines))
    return f"{what}, right checksum"


def harm_table(path: Path, rng: np.random.Generator) -> str:
    """Damage to a Parquet file: bytes, its metadata, a column or a cell."""
    if rng.random() < 0.4:
        return harm_bytes(path, rng)
    table = pq.read_table(path)
    column = int(rng.integers(table.num_columns))
    name, choice = table.column_names[column], int(rng.integers(6))
    if choice == 0:
        table, what = table.drop_columns([name]), "dropped"
    elif choice == 1:
        table, what = (
            table.rename_columns([*table.column_names[:column], "x", *table.column_names[column + 1 :]]),
            "named x",
        )
    elif choice == 2:
        values = pa.array([int(rng.integers(99))] * len(table))
        table, what = table.set_column(column, name, values), "numbers"
    elif choice == 3:
        table, what = table.set_column(column, name, pa.array(["\ud7ff\x00{"] * len(table))), "odd texts"
    elif choice == 4:
        table, what = table.set_column(column, name, pa.nulls(len(table), table.schema.field(column).type)), "empty"
    else:
        metadata = {key: harmed_text(value, rng)[0] for key, value in (table.schema.metadata or {}).items()}
        table, what = table.replace_schema_metadata(metadata), "metadata"
    pq.write_table(table, path)
    return f"{name}: {what}"


def harm_archive(path: Path, rng: np.random.Generator) -> str:
    """Damage to a ZIP file: bytes, a member's text or its name."""
    if rng.random() < 0.5:
        return harm_bytes(path, rng)
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    name = list(members)[int(rng.integers(len(members)))]
    content, what = harmed_text(members.pop(name), rng)
    if rng.random() < 0.3:
        name = re.sub(r"\d", "9" * int(rng.choice([1, 5000])), name, count=1) if rng.random() < 0.5 else f"../{name}"
    members[name] = content
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for member, content in members.items():
            archive.writestr(member, content)
    return f"{name[:40]}: {what}"


def harm_packed(path: Path, rng: np.random.Generator) -> str:
    """Damage to a gzip file, or to the text in it."""
    if rng.random() < 0.5:
        return harm_bytes(path, rng)
    raw, what = harmed_text(gzip.decompress(path.read_bytes()), rng)
    path.write_bytes(gzip.compress(raw))
    return what


@dataclass(frozen=True)
class Kind:
    """A kind of file: a pattern below the world's folder, damage to it, and the commands that read it.

    `is_cache`: the commands must come to the `product` of an undamaged world all the same.
    """

    pattern: str
    harm: Harm
    commands: tuple[Words, ...]
    is_cache: bool = False


def run_of(file: str) -> Words:
    return "run", "items", "-s", f"recorded:{file}?name=m", "--out", "own-run"


def diff_of(tool: str) -> Words:
    return "diff", f"logs/{tool}", f"logs/{tool}", "--out", "d.html"


LOG_PATHS = {"lmms-eval": "m/*", "VLMEvalKit": "m/*", "EvalScope": "reviews/m/*", "Inspect": "m.json"}
CHECK = ("verify", "items")
LOAD = (("verify", "run"), ("score", "run"), ("diff", "run:fake:oracle", "run:fake:chance", "--out", "d.html"))
STUDY = (("study", "export", "study", "--to", "jatos", "--out", "s.jzip"), ("study", "import", "study", "p01.txt"))
BUILD = ("build", "vlm2-bench/gc-mat", *SMALL_BUILD, "--n", 4, "--out", "again")
FEATURES = ("run", "items", "-s", "encoder:hog", "--condition", "images=grey", "--out", "seen")
OWN = ("build", "questions", "--from", "table", "--source", "table=table", "--out", "own")
BOXED = ("build", "ava-bench/counting", "--from", "own", "--n", 2, "--source", "images=photos", "--out", "boxed")
NEW_REPORT = ("report", "run", "--out", "new-report", "--json")
REPORT = ("report", "run", "--out", "report", "--json")
KINDS: Mapping[str, Kind] = {
    "itemset.json": Kind("items/itemset.json", harm_text, (CHECK, ("show", "items"))),
    "blind.json": Kind("items/blind.json", harm_text, (("show", "items"), *LOAD[2:])),
    "items.parquet": Kind("items/items.parquet", harm_table, (CHECK,)),
    "image": Kind("items/media/*/*", harm_bytes, (CHECK, ("show", "items", "--html", "s.html"))),
    "run.json": Kind("run/run.json", harm_text, LOAD),
    "part": Kind("run/parts/*", harm_part, LOAD),
    "stamp.json": Kind("run/stamp.json", harm_text, (("run", "items", "-s", "fake:oracle", "--out", "run"),)),
    "table of responses": Kind("run/responses.parquet", harm_table, LOAD),
    "table of exchanges": Kind("run/exchanges.parquet", harm_table, (LOAD[1], NEW_REPORT)),
    "table of prompts": Kind("run/sent.parquet", harm_table, (LOAD[1], NEW_REPORT)),
    "table of scores": Kind("run/scores.*.parquet", harm_table, LOAD[::2]),
    "study.json": Kind("study/study.json", harm_text, STUDY),
    "plan.json": Kind("study/bundle/plan.json", harm_text, STUDY),
    "rows": Kind("p01.txt", harm_text, STUDY[1:]),
    "JATOS archive": Kind("p01.zip", harm_archive, (("study", "import", "study", "p01.zip"),)),
    "design": Kind("design.yaml", harm_text, (("study", "build", "items", "--design", "design.yaml", "--out", "s2"),)),
    "answers as JSON lines": Kind("answers.jsonl", harm_text, (run_of("answers.jsonl"),)),
    "answers as JSON": Kind("answers.json", harm_text, (run_of("answers.json"),)),
    "answers as CSV": Kind("answers.csv", harm_text, (run_of("answers.csv"),)),
    "answers as TSV": Kind("answers.tsv", harm_text, (run_of("answers.tsv"),)),
    "answers as XLSX": Kind("answers.xlsx", harm_archive, (run_of("answers.xlsx"),)),
    "answers, packed": Kind("answers.jsonl.gz", harm_packed, (run_of("answers.jsonl.gz"),)),
    "own table": Kind("table/questions.csv", harm_text, (OWN,)),
    "boxes as COCO": Kind("boxes.json", harm_text, ((*BOXED, "--source", "boxes=boxes.json"),)),
    "boxes as CSV": Kind("boxes.csv", harm_text, ((*BOXED, "--source", "boxes=boxes.csv"),)),
    "digest.json": Kind("run/digest.json", harm_text, (("verify", "run", "--digest", "0" * 64),)),
    "seal": Kind("exam.seal", harm_text, (("build", "vlm2-bench", "--sealed", "exam.seal", "--out", "exam"),)),
    "cached render": Kind("home/renders/*/*.png", harm_bytes, (BUILD,), is_cache=True),
    "memory of intact files": Kind("home/verified/*", harm_text, (("show", "items"),), is_cache=True),
    "cached features": Kind("home/features/*/*/*", harm_bytes, (FEATURES,), is_cache=True),
    "index of made images": Kind("seen/media/derived.jsonl", harm_text, (FEATURES,), is_cache=True),
    "stamp of a report": Kind("report/stamp.json", harm_text, (REPORT,), is_cache=True),
    **{f"log of {name}": Kind(f"logs/{name}/{path}", harm_text, (diff_of(name),)) for name, path in LOG_PATHS.items()},
}  # fmt: skip


def write_world(root: Path) -> None:
    """One file of every kind, and an item set and a run that name each other by paths relative to `root`."""
    prepare_relative_run(root)
    prepare_results(root / "people")
    for name in ("study", "p01.txt", "design.yaml"):
        (root / "people" / name).rename(root / name)
    study = json.loads((root / "study" / "study.json").read_text())
    for reference in study["itemsets"].values():
        reference["path"] = "items"
    study["itemsets"] = {
        suite: {**reference, "content_hash": read_card(root / "items").content_hash}
        for suite, reference in study["itemsets"].items()
    }
    (root / "study" / "study.json").write_text(json.dumps(study))
    for name in ("people", "home"):
        shutil.rmtree(root / name, ignore_errors=True)
    with zipfile.ZipFile(root / "p01.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("study_result_1/comp-result_1/data.txt", (root / "p01.txt").read_text())
        archive.writestr("metadata.json", '{"apiVersion": "1.0.0", "data": []}')
    rows = [{"item_id": item.item_id, "model": "m", "reply": "T"} for item in open_items(root / "items").items]
    write_answers(root, rows)
    write_coco(root / "boxes.json", boxes := boxed_images(root / "photos", 8))
    write_table(root / "boxes.csv", boxes)
    for name, write_log in FORMS.items():
        write_log(root / "logs" / name, "m", answers(list("ABCDABCD"), [1.0] * 8))
    (root / "table").mkdir()
    for number in range(3):
        Image.new("RGB", (8, 6), (80 * number, 9, 9)).save(root / "table" / f"{number}.png")
    lines = [f"{n}.png,Which one?,red,blue,{'AB'[n % 2]}" for n in range(3)]
    (root / "table" / "questions.csv").write_text("\n".join(["image,question,A,B,answer", *lines]) + "\n")
    with inside(root):
        seal = ("seal", BUILD[1], "--renderer", "toy", "--n", 4, "--out", "exam.seal")
        for words in (BUILD, FEATURES, REPORT, ("show", "items"), seal):
            code, out, messages = give(words)
            assert code in (0, 1), (words, out, messages)
    (root / "again").rename(root / "built")


def write_answers(root: Path, rows: Sequence[Mapping[str, str]]) -> None:
    """The same recorded answers in every format."""
    text = "".join(f"{json.dumps(row)}\n" for row in rows)
    (root / "answers.jsonl").write_text(text)
    (root / "answers.jsonl.gz").write_bytes(gzip.compress(text.encode()))
    (root / "answers.json").write_text(json.dumps(rows))
    table = [list(rows[0]), *(list(row.values()) for row in rows)]
    for name, delimiter in (("answers.csv", ","), ("answers.tsv", "\t")):
        with (root / name).open("w", newline="") as file:
            csv.writer(file, delimiter=delimiter).writerows(table)
    texts = ["".join(f'<c t="str"><v>{cell}</v></c>' for cell in row) for row in table]
    cells = "".join(f"<row>{text}</row>" for text in texts)
    with zipfile.ZipFile(root / "answers.xlsx", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/worksheets/sheet1.xml", f"<worksheet><sheetData>{cells}</sheetData></worksheet>")


@contextmanager
def inside(root: Path) -> Iterator[None]:
    """Work in a folder, with the home folder in it."""
    before, home = Path.cwd(), os.environ.get("SNELLEN_HOME")
    os.chdir(root)
    os.environ["SNELLEN_HOME"] = str(root / "home")
    try:
        yield
    finally:
        os.chdir(before)
        if home is None:
            del os.environ["SNELLEN_HOME"]
        else:
            os.environ["SNELLEN_HOME"] = home


def give(words: Words) -> tuple[int, str, str]:
    """Run a command here; its exit code, output and messages."""
    out, messages, before = io.StringIO(), io.StringIO(), sys.argv
    sys.argv = ["snellen", *map(str, words)]
    try:
        with redirect_stdout(out), redirect_stderr(messages):
            main()
    except SystemExit as end:
        return int(end.code or 0), out.getvalue(), messages.getvalue()
    finally:
        sys.argv = before
    return 0, out.getvalue(), messages.getvalue()


@dataclass(frozen=True)
class Trial:
    """One damaged file: what was done to it, and the fault of a command that read it, if there is one."""

    kind: str
    what: str
    trouble: str


def product(root: Path, words: Words) -> Any:
    """What a command whose cache is damaged comes to."""
    if words == BUILD:
        return read_card(root / ("again" if (root / "again").exists() else "built")).content_hash
    return None


def try_one(world: Path, trial: Path, name: str, rng: np.random.Generator) -> Trial:
    """Copy the world, damage a file of this kind, and give the commands that read it."""
    kind = KINDS[name]
    shutil.copytree(world, trial)
    paths = sorted(trial.glob(kind.pattern))
    what = kind.harm(paths[int(rng.integers(len(paths)))], rng)
    troubles = []
    with inside(trial):
        for words in kind.commands:
            if trouble := trouble_of(words, is_cache=kind.is_cache):
                troubles.append(f"{' '.join(map(str, words))}: {trouble}")
            elif kind.is_cache and product(trial, words) != product(world, words):
                troubles.append(f"{' '.join(map(str, words))}: another product")
    shutil.rmtree(trial)
    return Trial(name, what, "; ".join(troubles))


def trouble_of(words: Words, *, is_cache: bool) -> str:
    """What is wrong with how a command met a damaged file; empty if nothing is."""

    def give_up(signal_number: int, stack_frame: FrameType | None) -> None:
        raise AssertionError(f"no end after {HANG_SECONDS} s")

    Path("/proc/self/clear_refs").write_text("5")  # the peak counts from here
    memory, start = _memory("VmRSS"), time.process_time()
    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(HANG_SECONDS)
    try:
        code, out, messages = give(words)
    except BaseException as error:  # noqa: BLE001  # whatever comes through is a fault
        return f"raised {error!r:.300}"
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
    seconds, grown = time.process_time() - start, _memory("VmHWM") - memory
    last = messages.rstrip("\n").rpartition("\n")[2]
    if code not in ((0, 1) if is_cache else (0, 1, 2)) or "Traceback" in out + messages:
        return f"{code} {messages[-600:]}"
    if code == 2 and (not last.startswith("snellen: ") or len(last) > MAX_LINE):
        return f"a message of {len(last)} characters: {messages[-400:]}"
    if code == 2 and sum(line.startswith("snellen: ") for line in messages.splitlines()) > 2:
        return f"several lines: {messages[-600:]}"
    if seconds > MAX_SECONDS:
        return f"{seconds:.1f} s"
    return f"{grown} bytes" if grown > MAX_BYTES else ""


def _memory(field: str) -> int:
    """A field of this process's memory in bytes."""
    return 1024 * int(re.search(rf"{field}:\s+(\d+)", Path("/proc/self/status").read_text())[1])  # type: ignore[index]


def fuzz(world: Path, folder: Path, count: int, seed: int) -> list[Trial]:
    """`count` damaged files, of all kinds in turn."""
    names = list(KINDS)
    return [
        try_one(world, folder / str(number), names[number % len(names)], stream("fuzz", seed, number))
        for number in range(count)
    ]
