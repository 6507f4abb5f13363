"""Servers that behave as those of real models do, asked by the command line: each gives the number or the line."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from snellen.core.box_units import in_unit
from snellen.core.condition import Condition
from snellen.core.hashing import sha256
from snellen.core.item import ReplySpec
from snellen.core.storage.itemset import ItemSet, read_itemset
from snellen.core.storage.media import MediaFolder
from snellen.core.suite import ViewContext
from snellen.runs.asking.views import show_items
from snellen.suites import SUITES
from tests.cli.conftest import Command, Serve
from tests.helpers.sets import small_set
from tests.helpers.stub_server import Answer, ServedRequest, Status, Words

pytestmark = pytest.mark.slow
QWEN_2, QWEN_3, THINKER = (
    f"chat:openai-api/stubbed/{name}"
    for name in ("Qwen/Qwen2.5-VL-7B-Instruct", "Qwen/Qwen3-VL-8B-Instruct", "zai-org/GLM-4.5V")
)
QUOTA = {"message": "You exceeded your current quota, please check your plan.", "type": "insufficient_quota",
         "code": "insufficient_quota"}  # fmt: skip
ONE_IMAGE = {"message": "At most 1 image(s) may be provided in one request.", "type": "BadRequestError", "code": 400}
FIRST_QUESTION = "Reply with the word yes."


def boxes(items: ItemSet, folder: Path) -> dict[str, tuple[ReplySpec, list[float]]]:
    """The form of the reply and the true box of each localization item, by the image that is sent."""
    suite = SUITES.get("ava-bench")
    tested = [item for item in items.task("localization") if item.split == "test"]
    context = ViewContext(Condition(tuple(suite.axes)), items.task("localization"), {})
    views = show_items(tested, context, suite.tasks["localization"], 0, MediaFolder(folder, items.media))
    by_item = {item.item_id: views[item.item_id] for item in tested}
    return {by_item[i.item_id].query[0].sha256: (by_item[i.item_id].reply, list(i.answer)) for i in tested}


def locator(unit: str, known: dict[str, tuple[ReplySpec, list[float]]]) -> Callable[[ServedRequest], Answer]:
    """A server that gives every box exactly, in its own unit and Qwen's own form."""

    def answer(request: ServedRequest) -> Answer:
        if FIRST_QUESTION in request.parts:
            return "yes"
        spec, box = known[sha256(request.images[0])]
        written = in_unit(replace(spec, unit=""), unit).write(box)
        return f'```json\n[{{"bbox_2d": {written}, "label": "it"}}]\n```'

    return answer


def localization(root: Path) -> pd.Series:
    """The row of results of localization of the only run in this report."""
    rows = pd.read_csv(root / "results.csv")
    return rows[(rows["task"] == "localization") & rows["factor"].isna() & (rows["protocol"] == "strict")].iloc[0]


@pytest.mark.parametrize(("subject", "unit"), [(QWEN_2, "pixels"), (QWEN_3, "thousandths")])
def test_a_model_that_locates_perfectly_in_its_own_unit(
    snellen: Command, stub: Serve, tmp_path: Path, subject: str, unit: str
) -> None:
    built, run, out = tmp_path / "set", tmp_path / "run", tmp_path / "report"
    words = ("--from", "generated", "--n", 12, "--renderer", "toy", "--allow-unmatched", "--out", built)
    assert snellen("build", "ava-bench/localization", *words)[0] == 0
    server = stub(locator(unit, boxes(read_itemset(built), tmp_path / "media")))
    code, printed, _ = snellen("run", built, "--subject", subject, "--out", run)
    assert (code, f"boxes in {unit}" in " ".join(printed.split())) == (0, True), printed
    calls = len(server.requests)
    assert snellen("report", run, "--out", out)[0] == 0
    assert f"boxes in {unit}" in (out / "index.html").read_text()
    assert f"score again with --box-unit {unit}" in (out / "index.html").read_text()
    assert (localization(out)["value"], localization(out)["no_answer_rate"]) == (-1.0, 1.0)
    assert snellen("score", run, "--box-unit", unit)[0] == 0
    assert snellen("report", run, "--out", out)[0] == 0
    assert localization(out)["value"] == pytest.approx(1.0, abs=1e-5)
    assert localization(out)["grade"] in ("some", "most", "nearly all right")
    assert len(server.requests) == calls, "nothing was asked again"
    # Asked in its own unit, it needs no second reading.
    code, _, err = snellen("run", built, "--subject", subject, "--condition", "box_unit=own", "--out", tmp_path / "own")
    assert code == 0, err
    assert snellen("report", tmp_path / "own", "--out", tmp_path / "own-report")[0] == 0
    assert localization(tmp_path / "own-report")["value"] == pytest.approx(1.0, abs=1e-5)


def test_a_model_that_thinks_too_long_is_not_called_blind(
    snellen: Command, stub: Serve, tmp_path: Path, sets_folder: Path
) -> None:
    items, run = small_set("vlm2-bench", sets_folder), tmp_path / "run"
    server = stub(lambda request: "yes" if FIRST_QUESTION in request.parts else Words("", "length", tokens=(9, 2048)))
    arguments = ("run", items.root, "--subject", f"{THINKER}?max_tokens=2048&max_concurrency=1", "--out", run)
    code, _, err = snellen(*arguments)
    assert code == 1
    assert "3 of the first 3 replies were cut off at the limit of 2048 tokens" in err
    assert "?max_tokens=8192" in err
    assert len(server.requests) == 4
    code, printed, _ = snellen(*arguments, "--keep-going")
    assert (code, "cut off" in printed, "none" in printed) == (0, True, False), printed
    code, _, err = snellen("report", run, "--out", tmp_path / "report")
    assert code == 0, err
    page = (tmp_path / "report" / "index.html").read_text()
    assert "cut off" in page
    assert "could not be read got the worst score of its metric (0 of " in page, "as cited"
    assert "replies were cut off at the token limit and got the worst score" in page
    assert "could not be read" not in page.partition("<dt>No grade")[0].replace("could not be read got", "")
    before = len(server.requests)
    server.answer = lambda request: "yes" if FIRST_QUESTION in request.parts else "T"
    enough = snellen("run", items.root, "--subject", f"{THINKER}?max_tokens=8192", "--out", run)
    assert (enough[0], "cut off" in enough[1]) == (0, False), enough
    assert len(server.requests) > before, "the replies that were cut off are asked again"
    default = snellen("run", items.root, "--subject", THINKER, "--out", run)
    assert default[0] == 0
    assert server.requests[-1].body["max_tokens"] == 8192, "the default is greater still, and nothing was cut off"


def photographs(root: Path, size: tuple[int, int], suffix: str) -> Path:
    """Own images of two classes, six each, in one format."""
    rng = np.random.default_rng(0)
    for name, rgb in (("red", (200, 30, 30)), ("blue", (30, 30, 200))):
        (root / name).mkdir(parents=True)
        for number in range(6):
            pixels = np.clip(np.array(rgb) + rng.integers(-90, 90, (*size[::-1], 3)), 0, 255).astype(np.uint8)
            Image.fromarray(pixels).save(root / name / f"{number}{suffix}")
    return root


@pytest.mark.parametrize("suffix", [".bmp", ".tiff"])
def test_formats_that_providers_refuse_are_sent_as_png(
    snellen: Command, stub: Serve, tmp_path: Path, suffix: str
) -> None:
    folder, built = photographs(tmp_path / "photos", (64, 48), suffix), tmp_path / "set"
    images = f"images={folder}"
    assert snellen("build", "vfm-bench", "--from", "own", "--source", images, "--n", 2, "--out", built)[0] == 0
    server = stub("A")
    code, _, err = snellen("run", built, "--subject", QWEN_2, "--condition", "shots=1", "--out", tmp_path / "run")
    assert code == 0, err
    sent = {image for request in server.requests for image in request.images}
    assert sent
    assert all(image.startswith(b"\x89PNG") for image in sent)
    stored = {Image.open(path).convert("RGB").tobytes() for path in folder.rglob(f"*{suffix}")}
    assert {Image.open(io.BytesIO(image)).convert("RGB").tobytes() for image in sent} <= stored, "the same pixels"


def test_images_beyond_a_provider_s_limits_are_one_line_before_anything_is_asked(
    snellen: Command, stub: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, built = photographs(tmp_path / "photos", (2200, 1600), ".png"), tmp_path / "set"
    images = f"images={folder}"
    assert snellen("build", "vfm-bench", "--from", "own", "--source", images, "--n", 2, "--out", built)[0] == 0
    server = stub("A")
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    arguments = ("run", built, "--condition", "shots=3", "--out", tmp_path / "run")
    code, printed, err = snellen(*arguments, "--subject", "chat:openai/gpt-4o")
    assert (code, printed, server.requests) == (2, "", []), err
    assert len(err.strip().splitlines()) == 2, "the first names the service"
    assert all(words in err for words in ("MB", "at most", "?max_px=", "fewer examples"))
    code, _, err = snellen(*arguments, "--subject", "chat:openai/gpt-4o?max_px=256")
    assert code == 0, err
    sizes = {Image.open(io.BytesIO(image)).size for request in server.requests for image in request.images}
    assert sizes == {(256, 186)}
    run = json.loads((tmp_path / "run" / "run.json").read_text())
    assert [arm["settings"]["max_px"] for arm in run["arms"]] == [256]
    assert run["arms"][0]["subject"] == "chat:openai/gpt-4o?max_px=256"


def test_a_server_for_one_image_is_named_after_three_refusals(
    snellen: Command, stub: Serve, tmp_path: Path, sets_folder: Path
) -> None:
    def answer(request: ServedRequest) -> Answer:
        return Status(400, error=ONE_IMAGE) if len(request.images) > 1 else "A"

    server = stub(answer)
    items = small_set("vlm2-bench", sets_folder)
    code, _, err = snellen("run", items.root, "--subject", f"{QWEN_2}?max_concurrency=1", "--out", tmp_path / "run")
    assert (code, "?max_images=1" in err) == (1, True), err
    assert len(server.requests) <= 6


def test_an_exhausted_quota_is_one_line_and_nothing_is_rendered(
    snellen: Command, stub: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = stub(Status(429, error=QUOTA))
    monkeypatch.setenv("SNELLEN_HOME", str(tmp_path / "home"))
    code, printed, err = snellen("run", "vlm2-bench", "--subject", QWEN_2, "--out", tmp_path / "run")
    assert (code, printed, len(server.requests)) == (2, "", 1), err
    assert len(err.strip().splitlines()) == 2, "the first names the service"
    assert "quota" in err
    assert not list(tmp_path.glob("home/**/itemset.json"))


@pytest.mark.parametrize(
    ("subject", "words"),
    [("chat:vllm/Qwen/Qwen2.5-VL-7B-Instruct", "VLLM_BASE_URL"), ("chat:anthropic/claude-opus-4-1", "anthropic"),
     ("chat:google/gemini-2.5-pro", "google"), ("chat:openai/gpt-4o", "OPENAI_API_KEY")],
)  # fmt: skip
def test_a_missing_address_package_or_key_is_one_clean_line(
    snellen: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, subject: str, words: str
) -> None:
    for name in ("VLLM_BASE_URL", "ANTHROPIC_API_KEY", "GOOGLE_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SNELLEN_HOME", str(tmp_path / "home"))
    code, printed, err = snellen("run", "vlm2-bench", "--subject", subject, "--out", tmp_path / "run")
    assert (code, printed, len(err.strip().splitlines())) == (2, "", 1), err
    assert words in err
    assert "[bold]" not in err
    assert "attempt" not in err
    assert not (tmp_path / "run").exists()


def test_the_first_line_of_a_run_appears_within_two_seconds(stub: Serve, tmp_path: Path, sets_folder: Path) -> None:
    items = small_set("vlm2-bench", sets_folder)
    server = stub("T")
    command = [sys.executable, "-m", "snellen", "run", str(items.root), "--subject", QWEN_2]
    environment = {**os.environ, "STUBBED_BASE_URL": server.url, "STUBBED_API_KEY": "k"}
    times = []
    for number in range(3):  # the fastest, since other tests may run beside it
        begun = time.monotonic()
        with subprocess.Popen(
            [*command, "--out", str(tmp_path / str(number))], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL,
            env=environment,
        ) as running:  # fmt: skip
            assert running.stderr is not None
            assert running.stderr.read(1)
            times.append(time.monotonic() - begun)
            running.stderr.read()
        assert running.returncode == 0
    assert min(times) < 2.0, times
