"""The workflow that verifies submitted runs: its script accepts an honest run and names what is wrong with another."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from snellen.core.build_options import BuildOptions
from snellen.core.storage.run_digest import write_digest
from snellen.exam.run import run
from snellen.exam.sealing import build_sealed, make_seal, reveal
from snellen.suites import SUITES

ROOT = Path(__file__).parents[2]
WORKFLOW = ROOT / "examples" / "verify-submissions.yml"


def _script() -> str:
    """The shell script of the step that verifies."""
    (job,) = yaml.safe_load(WORKFLOW.read_text())["jobs"].values()
    (script,) = (step["run"] for step in job["steps"] if step.get("name") == "verify")
    return str(script)


def test_the_workflow_reads_only_and_verifies_every_submission() -> None:
    workflow = yaml.safe_load(WORKFLOW.read_text())
    assert workflow["permissions"] == {"contents": "read"}, "it runs on files of strangers"
    assert workflow[True] == {"pull_request": {"paths": ["submissions/**"]}}, "YAML reads the key on as true"
    assert "--digest" in _script()


@pytest.mark.slow
def test_the_script_accepts_an_honest_run_and_refuses_a_changed_one(tmp_path: Path) -> None:
    options = BuildOptions(
        Path(), n=2, tasks=("category-building",), renderer="toy", size=(120, 90), allow_unmatched=True,
        show_progress=False,
    )  # fmt: skip
    seal = make_seal(SUITES.get("combo"), options)
    honest = tmp_path / "submissions" / "an honest one"
    items = build_sealed(seal, BuildOptions(honest / "items", show_progress=False))
    run(items, ["fake:oracle"], honest / "run", show_progress=False)
    (honest / "digest.txt").write_text(write_digest(honest / "run", honest / "items").total + "\n")
    reveal(seal, honest / "run")
    shim = tmp_path / "bin" / "snellen"
    shim.parent.mkdir()
    shim.write_text(f'#!/bin/sh\nexec {sys.executable} -m snellen "$@"\n')
    shim.chmod(0o755)
    environment = os.environ | {
        "PATH": f"{shim.parent}:{os.environ['PATH']}",
        "PYTHONPATH": f"{ROOT / 'src'}:{ROOT / 'packages/sight/src'}",
    }

    def verify() -> subprocess.CompletedProcess[str]:  # a text
        command = ["bash", "-e", "-c", _script()]  # as GitHub runs it
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)

    done = verify()
    assert (done.returncode, done.stderr) == (0, "")
    assert "accepted: submissions/an honest one/" in done.stdout
    shutil.copytree(honest, tmp_path / "submissions" / "changed")
    card = tmp_path / "submissions" / "changed" / "run" / "run.json"
    card.write_text(card.read_text().replace('"limit": null', '"limit": 3'))
    done = verify()
    assert done.returncode == 1
    assert "accepted: submissions/an honest one/" in done.stdout
    assert "refused: submissions/changed/" in done.stdout
    assert "changed/run/run.json: changed, added or removed since the digest" in done.stderr
