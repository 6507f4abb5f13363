"""EvalScope itself over its export: it loads both files, sends our images unchanged, and its accuracy is ours."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

import snellen
from snellen.core.condition import parse_conditions
from snellen.exam.run import run
from snellen.interop.exporting import export
from snellen.interop.formats import LETTERS, not_a_choice
from snellen.interop.questions import select_questions
from snellen.suites import SUITES
from tests.helpers.sets import small_set

SCRIPT = """
import base64, hashlib, http.server, json, sys, threading

sent = []


class Stub(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        parts = [
            part["text"] if part["type"] == "text"
            else {"sha256": hashlib.sha256(base64.b64decode(part["image_url"]["url"].partition(",")[2])).hexdigest()}
            for part in body["messages"][-1]["content"]
        ]
        text = "".join(part for part in parts if isinstance(part, str))
        reply = "ANSWER: " + "AB"[sum(text.encode()) % 2] if "ANSWER:" in text else "T"
        sent.append([parts, reply])
        choice = {"index": 0, "message": {"role": "assistant", "content": reply}, "finish_reason": "stop"}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        answer = {"id": "1", "object": "chat.completion", "created": 0, "model": "stub", "choices": [choice]}
        raw = json.dumps({**answer, "usage": usage}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Stub)
threading.Thread(target=server.serve_forever, daemon=True).start()
from evalscope import TaskConfig, run_task

name, out = sys.argv[1:]
files = {"general_vmcq": "mcq", "general_vqa": "vqa"}
run_task(TaskConfig(
    model="stub", api_url=f"http://127.0.0.1:{server.server_port}/v1", api_key="none", eval_type="openai_api",
    datasets=list(files), dataset_args={k: {"local_path": v, "subset_list": [name]} for k, v in files.items()},
    generation_config={"stream": False}, work_dir=out,
))
json.dump(sent, open(f"{out}/sent.json", "w"))
"""


@pytest.mark.slow
def test_evalscope_loads_both_files_and_gives_our_accuracy(sets_folder: Path, tmp_path: Path) -> None:
    """With the Python of an environment that has EvalScope in EVALSCOPE_PYTHON (docs/exports.md)."""
    python = os.environ.get("EVALSCOPE_PYTHON")
    if not python:
        pytest.skip("EVALSCOPE_PYTHON is not set")
    items, suite = small_set("vlm2-bench", sets_folder), SUITES.get("vlm2-bench")
    (vanilla,) = parse_conditions(suite.axes, "vanilla")
    questions = select_questions(items, suite, vanilla, tmp_path / "media").questions
    export(items.root, "evalscope", folder := tmp_path / "export")
    path = min((folder / "mcq").glob("*.jsonl"))
    questions = tuple(question for question in questions if question.item.task == path.stem)
    environment = {"HOME": str(tmp_path), "PATH": "/usr/bin"}
    ended = subprocess.run(
        [python, "-c", SCRIPT, path.stem, str(tmp_path / "work")],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 0, ended.stderr[-3000:]
    sent = json.loads((tmp_path / "work" / "sent.json").read_text())
    open_calls = [parts for parts, reply in sent if not reply.startswith("ANSWER")]
    expected = [
        [part if isinstance(part, str) else {"sha256": part.sha256} for part in question.parts]
        for question in questions
    ]
    assert sorted(map(json.dumps, open_calls)) == sorted(map(json.dumps, expected))  # words and bytes, in their order
    (reviews,) = (tmp_path / "work").glob("*/reviews/stub/general_vmcq_*.jsonl")
    choices = [question for question in questions if not_a_choice(question) is None]
    rows = [json.loads(line) for line in reviews.read_text("utf-8").splitlines()]
    assert sorted(row["index"] for row in rows) == list(range(len(choices)))
    values = set()
    for row in rows:
        question, score = choices[row["index"]], row["sample_score"]["score"]
        letter = LETTERS.index(score["prediction"].removeprefix("ANSWER: "))
        assert score["value"]["accuracy"] == question.score(question.option_names[letter])[1]
        values.add(score["value"]["accuracy"])
    assert values == {0.0, 1.0}
    done = run(items, [f"recorded:{reviews}"], tmp_path / "run", show_progress=False)
    assert {response.item_id for response in done.responses} == {question.item.item_id for question in choices}
    log = reviews.rename(reviews.with_name("reviews.jsonl"))
    result = snellen.compare(tmp_path / "run", log)
    assert (result.pairs, result.flips.empty) == (len(choices), True)
