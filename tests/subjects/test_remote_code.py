"""Code that comes with a checkpoint is never run, and the user is not asked for permission."""

from __future__ import annotations

import ast
import json
import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import snellen
from tests.helpers.sets import small_set

LOADING = {"from_pretrained", "from_config"}
SECONDS = 120
CODE = """
from pathlib import Path
Path({ran!r}).touch()
from transformers import PretrainedConfig as Config, PreTrainedModel as Model
"""
CONFIG = {"model_type": "strange", "auto_map": {"AutoConfig": "strange_code.Config", "AutoModel": "strange_code.Model"}}
PROCESSOR = {"image_processor_type": "Strange", "auto_map": {"AutoImageProcessor": "strange_code.Config"}}
CASES: Mapping[str, tuple[str, Mapping[str, Mapping[str, Any]]]] = {
    "configuration of an encoder": ("encoder", {"config.json": CONFIG}),
    "configuration of a chat model": ("chat", {"config.json": CONFIG}),
    "image processor": ("encoder", {"config.json": {"model_type": "vit"}, "preprocessor_config.json": PROCESSOR}),
}  # fmt: skip


def test_every_call_that_loads_a_checkpoint_refuses_its_code() -> None:
    silent = []
    for path in Path(snellen.__path__[0]).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in LOADING:
                words = {keyword.arg: ast.unparse(keyword.value) for keyword in node.keywords}
                reads_adapter = ast.unparse(node.func).startswith("peft.")  # a configuration and tensors, no code
                if words.get("trust_remote_code") != "False" and not reads_adapter:
                    silent.append(f"{path}:{node.lineno}: {ast.unparse(node)}")
    assert not silent, "\n".join(silent)


def on_a_terminal(command: list[str], answer: str) -> tuple[int, str]:
    """The exit code and output of a command on a terminal on which `answer` is typed repeatedly."""
    own_end, its_end = pty.openpty()
    with subprocess.Popen(command, stdin=its_end, stdout=its_end, stderr=its_end) as child:
        os.close(its_end)
        output, end = b"", time.monotonic() + SECONDS
        while time.monotonic() < end:
            if select.select([own_end], [], [], 0.5)[0]:
                try:
                    output += os.read(own_end, 65536)
                except OSError:  # the terminal closed with the command
                    break
            elif child.poll() is not None:
                break
            os.write(own_end, f"{answer}\n".encode())
        else:
            child.kill()
    os.close(own_end)
    return child.returncode, output.decode("utf-8", "replace")


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_no_code_runs_on_a_terminal_on_which_y_is_typed(case: str, sets_folder: Path, tmp_path: Path) -> None:
    kind, files = CASES[case]
    folder = tmp_path / "model"
    folder.mkdir()
    code_file, trace = folder / "strange_code.py", tmp_path / "ran"
    code_file.write_text(code := CODE.format(ran=str(trace)))
    exec(code.partition("from transformers")[0], {})
    assert trace.exists(), "the code leaves a trace if it runs"
    trace.unlink()
    for name, content in files.items():
        (folder / name).write_text(json.dumps(content))
    items, out = small_set("combo", sets_folder).root, tmp_path / "run"
    words = ["run", str(items), "--subject", f"{kind}:hf/{folder}", "--out", str(out)]
    exit_code, output = on_a_terminal([sys.executable, "-m", "snellen", *words], "y")
    assert not trace.exists(), output
    assert exit_code == 2, output
    assert "[y/N]" not in output, "the user must not be asked"
