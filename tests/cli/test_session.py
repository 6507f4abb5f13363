"""A session of many commands: what they print, and the files that they write, equal the golden.

With SNELLEN_WRITE_GOLDENS=1 the golden is written anew; do so only where words or numbers are meant to change.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
from PIL import Image

from snellen import __version__
from snellen.core.hashing import sha256
from snellen.web.stand_ins import make_stand_in
from snellen.web.study import read_plan, read_study
from tests.cli.conftest import Command
from tests.goldens.golden import assert_golden
from tests.goldens.house import page_text
from tests.helpers.logs import FORMS, answers, json_lines, table
from tests.helpers.sets import small_set
from tests.helpers.studies import entered

LINES = """\
list
list tasks
list axes
list subjects
list fakes
reproduce
reproduce ava-bench/table-5
build combo --renderer toy --n 2 --workers 1 --plan
build vlm2-bench/gc-mat --renderer toy --size 160x120 --n 2 --workers 1 --verbose --out set
build vlm2-bench/gc-trk --renderer toy --size 160x120 --n 2 --workers 1 --json --out other
verify set --rebuild 2
show set
show VLM2 --condition images=none
run VLM2 -s fake:oracle -s fake:blind-to=colour --condition vanilla --condition images=none --limit 2 --out a
run VLM2 -s fake:chance --limit 2 --seed 5 --repeats 2 --out b
run THRESHOLDS -s fake:threshold=8.5 --until-decided --max-items 20 --out until
score a --protocol published
verify a
verify until
diff a:fake:oracle b --page flips.html
diff a:fake:oracle b --page flips.html --json
diff a:fake:oracle b --page flips.html --fail-on drop
judge a --by fake:constant=0.5
judge a --sample sample.csv
judge b --by fake:constant=A --unread
report a b --full --workers 1 --out pages
report until --workers 1 --json --out thresholds
export a --to hf-results --out hub
blind-baseline own --subject fake:chance --workers 1
build questions --from table --source table=table --workers 1 --out own
run own -s fake:oracle -s fake:chance --out own-run
run own -s recorded:replies.jsonl --out recorded
diff lmms-eval/one lmms-eval/two --page logs.html
diff VLMEvalKit/one VLMEvalKit/two --page logs.html --read
diff EvalScope/reviews/one EvalScope/reviews/two Inspect/one.json --page logs.html
diff Inspect/one.json Inspect/two.json --page logs.html --json
study presets
study build VLM2 --design vlm2 --out study --workers 1
study export study --to folder --out folder
study import study p01.jsonl p02.jsonl p03.jsonl --out people
report people/vlm2-bench a --workers 1 --out beside
study forget study p02 --imported people
sources list
tower list
"""
REPLIES = ("A", "B", "The answer is C", "D.", "a", "not sure", "C)", "D")


@pytest.fixture
def words(sets_folder: Path, tmp_path: Path) -> dict[str, str]:
    """The names that stand for the small sets in the lines, with their folders."""
    suites = {"VLM2": "vlm2-bench", "COMBO": "combo", "THRESHOLDS": "thresholds"}
    return {name: str(small_set(suite, sets_folder).root) for name, suite in suites.items()}


def plain(text: str, words: dict[str, str], folder: Path) -> str:
    """A text without folders, moments, durations, versions and what depends on the processor's last digits."""
    for name, path in (*words.items(), ("HERE", str(folder))):
        text = text.replace(path, name)
    text = re.sub(r'"versions": ?\{[^{}]*\}', "VERSIONS", text.replace(__version__, "VERSION"))
    text = re.sub(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?)?", "DATE", text)
    text = re.sub(r"-?\d+\.\d{9,}", lambda number: f"{float(number[0]):.8g}", text)  # last digits of a processor
    text = re.sub(r"Digest of (\S+): [0-9a-f]{64}", r"Digest of \1: HASH", text)
    return re.sub(r"\b\d+(\.\d+)? (s|min|seconds|minutes)\b", "DURATION", text)


def contents(folder: Path) -> Iterator[tuple[str, str]]:
    """Every file below a folder that holds text or a table, with its content."""
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        name = path.relative_to(folder).as_posix()
        if name.startswith("home/") or path.name in ("stamp.json", "digest.json"):
            continue
        if path.suffix == ".html" and path.name != "explore.html":
            yield name, page_text(path)
        elif path.suffix == ".parquet":
            yield name, pd.read_parquet(path).to_csv(index=False, float_format="%.10g")
        elif path.suffix in (".csv", ".json", ".jsonl", ".html", ".md", ".txt", ".yaml", ".tex", ".bib"):
            yield name, path.read_text("utf-8")


def prepare(folder: Path) -> None:
    """Write a table of questions with images, recorded replies, and logs of other tools."""
    rows = [
        {"image": f"{n}.png", "question": "Which colour?", "A": "red", "B": "green", "answer": "AB"[n % 2], "id": n}
        for n in range(4)
    ]
    table(folder / "table" / "questions.csv", rows)
    for n in range(4):
        Image.new("RGB", (40, 30), ("red", "green")[n % 2]).save(folder / "table" / f"{n}.png")
    json_lines(folder / "replies.jsonl", [{"id": str(n), "response": "A"} for n in range(4)])
    for name, write in FORMS.items():
        for model, scores in (("one", (1, 1, 1, 1, 1, 0, 1, 1)), ("two", (1, 1, 0, 1, 0, 0, 0, 0))):
            write(folder / name, model, answers(REPLIES if model == "one" else REPLIES[::-1], scores))


def answer_study(root: Path, folder: Path) -> None:
    """Three people answer a study as the oracle does, the last one half of it."""
    plan, stand_in = read_plan(root), make_stand_in(read_study(root), "fake:oracle", 3, folder / "asked")
    for person in range(3):
        pages = None if person < 2 else 4
        rows = entered(plan, stand_in, person, pages)
        (folder / f"p0{person + 1}.jsonl").write_text("".join(f"{row.model_dump_json()}\n" for row in rows))


def test_a_session_prints_and_writes_what_it_did(
    words: dict[str, str],
    tmp_path: Path,
    snellen: Command,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SNELLEN_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("COLUMNS", "100")
    prepare(tmp_path)
    printed = []
    for line in LINES.splitlines():
        code, out, err = snellen(*(words.get(word, word) for word in shlex.split(line)))
        printed.append(f"$ snellen {line}\n{out}{err}exit {code}\n")
        if line.startswith("study build"):
            answer_study(tmp_path / "study", tmp_path)
    texts = {name: plain(text, words, tmp_path) for name, text in contents(tmp_path)}
    files = [f"{name} {sha256(text.encode())[:16]}" for name, text in texts.items()]
    assert_golden("session.txt", plain("\n".join([*printed, *files]) + "\n", words, tmp_path))
