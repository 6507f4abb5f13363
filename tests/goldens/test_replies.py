"""What is read in every reply of the parser's tables, also as an answer to other questions, equals the goldens."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml

from snellen.core.box_units import in_unit
from snellen.core.item import Affine, ReplySpec
from snellen.scoring.answers import answer_form, read_answer, read_cut_off
from snellen.scoring.answers.texts import unwrap
from tests.goldens.descriptions import line
from tests.goldens.golden import assert_golden

FOLDER = Path(__file__).parents[1] / "scoring"
CASES, KINDS = (
    yaml.load((FOLDER / f"{name}.yaml").read_bytes(), yaml.CSafeLoader) for name in ("answer_cases", "reply_kinds")
)
PARTS = 8


def reply_spec(kind: Any, keys: Any = (), frame: Any = None) -> ReplySpec:
    return ReplySpec(kind, tuple(map(tuple, keys)), Affine(*frame) if frame else None)


SPECS = {
    f"{table}: {name}": reply_spec(**spec)
    for table, sheet in (("cases", CASES), ("kinds", KINDS))
    for name, spec in sheet["specs"].items()
}
REPLIES: dict[str, list[str]] = {name: [] for name in SPECS}
for case in CASES["cases"]:
    REPLIES[f"cases: {case['spec']}"].append(case["text"])
for name, rows in (*KINDS["plain"].items(), *KINDS["hard"].items()):
    REPLIES[f"kinds: {name}"] += [row[0] for row in rows]
FRACTIONS = ReplySpec("point", frame=Affine(1 / 640, 0, 0, 0, 1 / 480, 0))
OTHERS = {name: SPECS[f"cases: {name}"] for name in ("colours", "tf", "yes_no", "sides", "bins", "integer", "number")}
OTHERS |= {name: SPECS[f"cases: {name}"] for name in ("box", "norm_box", "colour")}
OTHERS |= {"several": SPECS["kinds: several"], "point": ReplySpec("point"), "share": FRACTIONS}
NAMES = sorted({name.lower() for spec in SPECS.values() for name, _ in spec.keys if len(name) > 2})
OTHERS["many"] = reply_spec("choice", [(name, name) for name in NAMES])
OTHERS |= {f"box in {unit}": in_unit(SPECS["cases: norm_box"], unit) for unit in ("thousandths", "thousandths-y-first")}
"""Questions that every reply is read for, besides its own."""


@pytest.mark.parametrize("part", range(PARTS))
def test_replies_are_read_as_they_were(part: int) -> None:
    lines = []
    for name in list(SPECS)[part::PARTS]:
        lines.append(f"== {name}")
        for reply, following in pairwise([*REPLIES[name], ""]):
            readings: dict[str, Any] = {"alone": read_answer(reply, SPECS[name])}
            readings["cut off"] = read_cut_off(reply, SPECS[name])
            readings["with the next"] = read_answer(f"{reply} {following}", SPECS[name])
            readings["before the next"] = read_answer(f"{reply}\n\n{following}", SPECS[name])
            readings |= {other: read_answer(reply, spec) for other, spec in OTHERS.items() if spec != SPECS[name]}
            readings["text"] = text if (text := unwrap(reply)) != reply.strip() else None
            for kind in ("", "norm_box", "colour"):
                form = answer_form(reply, OTHERS.get(kind, SPECS[name]))
                readings[f"form {kind}"] = None if form in ("none", "as asked") else form
            texts = ", ".join(f"{key} {line([value])}" for key, value in readings.items() if value is not None)
            lines.append(f"{json.dumps(reply[:60], ensure_ascii=False)}: {texts}")
    assert_golden(f"replies/{part}.txt", "\n".join(lines) + "\n")
