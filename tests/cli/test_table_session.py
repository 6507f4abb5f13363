"""A second session: commands on a table of questions as JSON, with other options, and with what they refuse."""

from __future__ import annotations

import re
import shlex
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from snellen.web.plan import PageAnswers, RecordRow, Stop
from snellen.web.record_lines import line_of
from snellen.web.stand_ins import make_stand_in
from snellen.web.study import read_plan, read_study
from tests.cli.conftest import Command
from tests.cli.test_session import contents, plain
from tests.goldens.golden import assert_golden
from tests.helpers.logs import table
from tests.helpers.studies import NOON, entered

LINES = """\
list suites --json
list fakes --json
list suitse
reproduce ava-bench/table-5 --json
reproduce ava-bench/table-55
build questions --out own
build questions --from table --source table=table --map factors=place --plan
build questions --from table --source table=table --map factors=place --plan --json
build questions --from table --source table=table --map factors=place --workers 1 --json --out own
build questions --from table --source table=table --workers 1 --out own
build questions --from table --source table=table --workers 1
build combo/img2text --renderer toy --size 160x120 --n 3 --workers 1 --plan --json
show own g6 --html shown.html
show own g9
show own b2
show own g6 --condition images=grey,order=shuffled --seed 4
run own BOTH --condition vanilla --condition order=shuffled --seed 3 --limit 3 --json --out a
run own BOTH --condition vanilla --condition order=shuffled --seed 3 --limit 3 --out a
run own -s fake:constant=A -s fake:constant=A --out c
run own -s fake:constant=A --seed 4 --limit 3 --out a
run own -s fake:constant=A --condition image=none --out c
run own own -s fake:constant=A --out c
run own -s fake:chance -s 'fake:constant=I would say B' --repeats 2 --out b
run own -s chat:openai-api/local/m --batch calls.jsonl
run own -s chat:openai-api/local/m --condition order=shuffled --seed 7 --limit 1 --batch some.jsonl
run own -s fake:oracle -s fake:chance --batch none.jsonl
run own -s fake:oracle --batch none.jsonl
score a --protocol stric
score a --box-unit pixels
score a --box-unit pixel
verify own
verify a --items own --digest 00
verify a --commitment 00
report a --compare paper --out pages
report a --input tags=nowhere --out pages
report a --protocol judged --out pages
export own --to jsonl --out jsonl --json
export own --to csv --condition images=none --out csv
export own --to lmms-eval --out lmms
export own --to vlmevalkit --condition order=shuffled --out kit
export own --to jsonl --out jsonl
export own --to xml --out xml
diff a b
diff a:fake:oracle a:fake:constant=A --page flips.html --json
diff a:fake:oracle a:fake:constant=A --page flips.html --fail-on drop --least-drop 5
diff a:fake:constant=A a:fake:oracle --page flips.html --fail-on drop
diff a:fake:oracle a:fake:constant=A --fail-on rise
diff a:fake:oracle a:fake:constant=A --fail-on drop --least-drop 101
diff a:fake:oracle a:fake:nobody
diff a:fake:oracle b:fake:chance --read
judge a
judge a --unread
judge a --by fake:constant=A
judge a --readings none.csv
judge b --readings sheet.csv --seed 2 --json
judge b --readings sheet.csv
blind-baseline own --workers 1
blind-baseline combo
blind-baseline comb
study build own --design design.yaml --seed 4 --name lab --workers 1 --json --out study
study build own --design wrong.yaml --out none
study presets revew
study presets review
study export study --to folder --form 3 --out kiosk
study export study --to jatos --form 1 --out study.jzip
study export study --to usb --out stick
study links study
study import study p1.jsonl p2.jsonl p3.jsonl p4.jsonl --out people
study import study p4.jsonl --out people --json
study import study p1.jsonl p2.jsonl p3.jsonl p4.jsonl --skip p04 --out people --json
study import study p3.jsonl p4.jsonl --skip-bad --out others
study import study p1.jsonl --skip p09 --out others
study decide people/questions --out decisions.txt
study forget study p09
study forget study p01 --imported people --json
study queue
study queue pc-same-person
"""
DESIGN = """\
texts: {title: Seeing <colours>, consent: You may stop., who: A laboratory., thanks: Thanks., completion_code: C0DE}
source: no paper
block_order: balanced
break_every: 3
forms: 3
share_words: true
parameters: [lab]
blocks:
- {name: plain, tasks: [colour], conditions: [vanilla, images=grey], questions: 2, examples: 1, practice: 1,
   seconds: 40}
- {name: rest, tasks: [size, text], assignment: same, order: as stored, attention: 2, reason: true, title: The rest}
- {name: easy, tasks: [colour], questions: 2, assignment: spread, authenticity: {min_accuracy: 0.9, min_items: 2}}
"""
COLOURS = {"red": (220, 20, 20), "green": (20, 200, 20), "blue": (20, 20, 220)}


def write_files(folder: Path) -> None:
    """Write a table of three tasks with unequal counts and sizes of images, and two designs."""
    (folder / "table").mkdir()
    rows = list[dict[str, object]]()
    for n, name in enumerate(("b2", "a1", "c3", "d10", "e7", "f5", "g6", "h4", "i8", "k9", "l11")):
        Image.new("RGB", (40 + 8 * n, 30), list(COLOURS.values())[n % 3]).save(folder / "table" / f"{name}.png")
        task = ("colour", "size", "colour", "text")[n % 4]
        wide = {"question": "Is it wide?", "A": "yes", "B": "no", "C": "", "answer": "AB"[n % 2]}
        colour = {"question": "Which colour?", "A": "red", "B": "green", "C": "blue", "answer": "ABC"[n % 3]}
        text = {"question": "What is the colour's name?", "A": "", "B": "", "C": "", "answer": list(COLOURS)[n % 3]}
        cells = {"colour": colour, "size": wide, "text": text}[task]
        split, distance = ("train" if n in (0, 2, 8) else "test"), ("near", "far")[n % 3 > 0]
        rows.append({"id": name, "image": f"{name}.png", "task": task, "split": split, "place": distance, **cells})
    table(folder / "table" / "questions.csv", rows)
    (folder / "design.yaml").write_text(DESIGN)
    (folder / "wrong.yaml").write_text(DESIGN.replace("questions: 2, exa", "questions: 20, exa"))


def answer_study(folder: Path) -> None:
    """Four people: one is right, one says A, stops and has reasons, one is far too quick, and the last skips a page."""
    plan, card = read_plan(folder / "study"), read_study(folder / "study")
    stand_ins = [make_stand_in(card, name, 4, folder / name[5:8]) for name in ("fake:oracle", "fake:chance")]
    for person in range(4):
        rows = entered(plan, stand_ins[person % 2], person, 7 if person == 1 else None)
        if person == 1:
            rows.append(RecordRow(sequence=len(rows), record=Stop(type="stop", time=NOON + timedelta(minutes=9))))
        for number, row in enumerate(rows):
            record = row.record
            if isinstance(record, PageAnswers):
                questions = plan.pages[record.page_id].questions
                reasons = {
                    question.item_id: f"=look {number}" for question in questions if question.reason and number % 2
                }
                change: dict[str, Any] = {"reasons": reasons, "seconds": 0.5 if person == 2 else 2.0 + number / 4}
                rows[number] = row.model_copy(update={"record": record.model_copy(update=change)})
        if person == 3:
            del rows[6]
        (folder / f"p{person + 1}.jsonl").write_text("".join(map(line_of, rows)))


def test_a_session_on_a_table_prints_and_writes_what_it_did(
    tmp_path: Path, snellen: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("httpx", reason="the extra 'chat' is not installed")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SNELLEN_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("LOCAL_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("LOCAL_API_KEY", "none")
    write_files(tmp_path)
    printed = []
    for line in LINES.splitlines():
        code, out, err = snellen(*shlex.split(line.replace("BOTH", "-s fake:oracle -s fake:constant=A")))
        printed.append(f"$ snellen {line}\n{out}{err}exit {code}\n")
        if line.startswith("study build own") and "--name lab" in line:
            answer_study(tmp_path)
    printed_files = (
        *("shown.html", "sheet.csv", "some.jsonl", "study/study.json", "study/bundle/plan.json", "csv/"),
        *("people/people.csv", "people/trials.csv", "others/refused.csv", "kiosk/index.html"),
    )
    texts = {name: plain(text, {}, tmp_path) for name, text in contents(tmp_path)}
    files = [f"--- {name}\n{text}" for name, text in texts.items() if name.startswith(printed_files)]
    text = plain("\n".join([*printed, *files]) + "\n", {}, tmp_path)
    text = re.sub(r'"versions": ?\{.*?\}', '"versions": {}', text, flags=re.DOTALL)
    text = re.sub(r'(digest"?:? "?)[0-9a-f]{64}', r"\1HASH", text)
    text = re.sub(r"\b\d+\.\d{11,}", lambda number: f"{float(number[0]):.10g}", text)
    assert_golden("table_session.txt", re.sub(r"data:(image/\w+);base64,[\w+/=]+", r"data:\1", text))
