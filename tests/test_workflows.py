"""Workflows, the action, the issue template and the skill: they are parsed, since they cannot run here.

They also passed check-jsonschema, actionlint and zizmor (CONTRIBUTING.md, Dependencies).
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.test_docs_commands import commands, scripts

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
SKILL = ROOT / "skills" / "examine-a-model" / "SKILL.md"
TEXTS = [*WORKFLOWS, ROOT / "action.yml", *sorted(ROOT.glob("examples/*.y*ml")), SKILL, ROOT / "llms.txt"]


def parsed(path: Path) -> Any:
    return yaml.safe_load(path.read_text("utf-8"))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_jobs_have_a_time_limit_and_no_more_rights_than_they_need(path: Path) -> None:
    workflow = parsed(path)
    assert workflow["permissions"] == {"contents": "read"}
    for name, job in workflow["jobs"].items():
        assert 0 < job["timeout-minutes"] <= 90
        writes = {right for right, value in job.get("permissions", {}).items() if value == "write"}
        assert writes == ({"id-token"} | ({"pages"} if path.stem == "docs" else set()) if name == "publish" else set())
        assert {"name"} == set(job["environment"]) if name == "publish" else "environment" not in job


def test_a_release_is_what_make_dist_tried_and_needs_no_token() -> None:
    path = ROOT / ".github" / "workflows" / "release.yml"
    jobs = parsed(path)["jobs"]
    assert "make dist" in scripts(jobs["build"])
    assert jobs["publish"]["needs"] == "build"
    assert "secrets" not in path.read_text("utf-8")


@pytest.mark.parametrize("path", [*WORKFLOWS, ROOT / "action.yml"], ids=lambda path: path.stem)
def test_no_text_from_outside_is_put_into_a_script(path: Path) -> None:
    """Inputs and names of branches go through the environment: written into a script, they would be run."""
    assert [script for script in scripts(parsed(path)) if "${{" in script] == []


def test_workflows_call_existing_targets() -> None:
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    lines = [script for path in WORKFLOWS for script in scripts(parsed(path))]
    assert {word for line in lines for word in re.findall(r"^make (\w+)", line)} <= targets


def test_inputs_of_the_action_are_declared() -> None:
    action = parsed(ROOT / "action.yml")
    used = re.findall(r"inputs\.([\w-]+)", (ROOT / "action.yml").read_text("utf-8"))
    assert set(used) == set(action["inputs"])


@pytest.mark.parametrize(("name", "key"), [("", "none"), ("MY_KEY", "k-1"), ("OTHER", "none")])
def test_the_action_takes_its_key_from_the_named_variable(name: str, key: str) -> None:
    (guard,) = (step for step in parsed(ROOT / "action.yml")["runs"]["steps"] if step.get("id") == "guard")
    lines = guard["run"].split("echo ")[0] + 'printf "%s" "$GATE_API_KEY"'
    variables = {"PATH": os.environ["PATH"], "URL": "http://a", "KEY_ENV": name, "MY_KEY": "k-1"}
    done = subprocess.run(["bash", "-eo", "pipefail", "-c", lines], env=variables, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, key)


def test_gates_end_a_job_by_their_exit_code() -> None:
    for path in (ROOT / "action.yml", ROOT / "examples" / "gates.pre-commit.yaml"):
        assert any(words[0] == "diff" and "--fail-on" in words for words in commands(path))
        assert any("snellen-sight" in script and "--quick" in script for script in scripts(parsed(path)))


def test_a_report_of_a_fault_has_the_output_of_doctor() -> None:
    fields = {part["id"]: part for part in parsed(ROOT / ".github" / "ISSUE_TEMPLATE" / "fault.yml")["body"]}
    assert fields["doctor"]["validations"]["required"]
    assert "snellen doctor" in fields["doctor"]["attributes"]["label"]


def test_the_skill_is_short_and_says_when_it_is_used() -> None:
    _, head, body = SKILL.read_text("utf-8").split("---\n", 2)
    assert set(yaml.safe_load(head)) == {"name", "description"}
    assert yaml.safe_load(head)["name"] == SKILL.parent.name
    assert body.count("\n") <= 150
    assert {words[0] for words in commands(SKILL)} >= {"doctor", "sight", "run", "diff", "report"}


def test_options_of_snellen_sight_exist() -> None:
    """Where packages/sight is."""
    code = "".join(path.read_text("utf-8") for path in ROOT.glob("packages/sight/**/*.py"))
    if not code:
        pytest.skip("packages/sight is not there")
    calls = [
        call for path in TEXTS for call in re.findall(r"snellen-sight (?:http|\"\$URL).*", path.read_text("utf-8"))
    ]
    assert calls
    assert {option for call in calls for option in re.findall(r"--[a-z-]+", call) if f'"{option}"' not in code} == set()
