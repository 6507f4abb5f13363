"""`snellen estimate`: numbers from recipes and pilots, and no files left behind."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from snellen.core.suite import BuildOptions
from snellen.suites import SUITES


@pytest.mark.slow
@pytest.mark.parametrize("stated", [False, True])
def test_a_suite_is_estimated_without_leaving_files(snellen: Any, snellen_home: Path, stated: bool) -> None:
    before = sorted(snellen_home.rglob("*"))
    words = ["--n", "12", "--size", "120x90", "--renderer", "toy", "-s", "fake:oracle", "--workers", "2", "--json"]
    code, out, _ = snellen("estimate", "vfm-bench", *words, *(["--stated"] if stated else []))
    plan = json.loads(out)
    steps = {step["kind"]: step for step in plan["steps"]}
    recipe = SUITES.get("vfm-bench").recipes["generated"]
    planned = recipe.plan(BuildOptions(Path(), n=12, size=(120, 90), renderer="toy"))
    assert code == 0
    assert (steps["draw"]["count"], steps["build"]["count"]) == (planned["images"], 12)
    assert set(steps) == ({"draw", "build"} if stated else {"draw", "build", "ask"})
    if stated:
        assert steps["draw"]["cpu_s"] == pytest.approx(planned["seconds"], abs=1)
        assert steps["draw"]["bytes"] == 2 * planned["bytes"]
    else:
        assert steps["ask"]["count"] == 12
        assert steps["ask"]["bytes"] > 0
    assert all(step["cpu_s"] >= 0 for step in plan["steps"])
    assert sorted(snellen_home.rglob("*")) == before
    assert os.environ["SNELLEN_HOME"] == str(snellen_home)


@pytest.mark.slow
def test_the_table_is_80_columns_wide(snellen: Any) -> None:
    subjects = ["-s", "chat:openai/a-model-with-a-rather-long-name?max_concurrency=4", "--price", "2.5,10"]
    code, out, _ = snellen("estimate", "vfm-bench", "--n", "4", "--renderer", "toy", "--stated", *subjects)
    assert code == 0
    assert max(map(len, out.splitlines())) <= 80
    assert "Longest: " in out
    assert "Assumed:" in out
    code, _, err = snellen("estimate", "vfm-bench", "--n", "4", "--price", "2.5")
    assert (code, "IN,OUT" in err) == (2, True)
