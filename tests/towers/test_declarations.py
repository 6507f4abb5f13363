"""Towers, stages, commands' options and what they print equal their goldens."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_args

import numpy as np
import pytest
from typer.models import ParameterInfo

from snellen import examine
from snellen.core.errors import SnellenError
from snellen.core.seeds import stream
from snellen.stimuli.scenes import all_composites
from snellen.towers.commands.head_training import HeadOptions, head_plan, print_card
from snellen.towers.commands.tower import _print_ranks, app
from snellen.towers.conversations import description
from snellen.towers.heads.stages import PRINTED, STAGES, TABLE_3, printed, stages
from snellen.towers.heads.subject import _card
from snellen.towers.heads.table_6 import TABLE_6
from snellen.towers.heads.towers import PAPER_COMPAT, TOWERS, find_tower
from snellen.towers.linear_probe import linear_probes
from snellen.towers.sweep import JobOutcome, _job_rows
from tests.cli.conftest import snellen  # noqa: F401
from tests.goldens.descriptions import line
from tests.goldens.golden import assert_golden
from tests.helpers.extras import need
from tests.helpers.sets import small_set

need("torch", "models")


def test_towers_and_stages_equal_their_golden() -> None:
    names = [*TOWERS, *(f"{name}-compat" for name in PAPER_COMPAT)]
    names += [f"tiny/{name}" for name, tower in TOWERS.items() if tower.model]
    names += ["clip-l?side=224&layer=-1", "siglip-1?model=dir", "tiny/sam-h?seed=3"]
    lines = [
        line({field.name: getattr(find_tower(name), field.name) for field in fields(find_tower(name))})
        for name in names
    ]
    lines += [*map(line, STAGES.values()), line(TABLE_6), *map(line, stages(STAGES["fit"]).items())]
    lines += [line([key, [printed(setting, *key) for setting in TABLE_3]]) for key in (*PRINTED, ("ocr", "sam-h"))]
    assert_golden("towers/declarations.txt", "\n".join(lines) + "\n")


def test_options_of_all_commands_equal_their_golden() -> None:
    """Names, defaults and bounds, without their help."""
    lines = []
    for command in app.registered_commands:
        assert command.callback is not None
        lines.append(command.name or command.callback.__name__)
        for parameter in inspect.signature(command.callback).parameters.values():
            (declared,) = (part for part in get_args(parameter.annotation) if isinstance(part, ParameterInfo))
            flags = [word for word in (declared.default, *(declared.param_decls or ())) if isinstance(word, str)]
            default = "required" if parameter.default is inspect.Parameter.empty else parameter.default
            lines.append(f"  {line([parameter.name, flags, default, declared.min, declared.max])}")
    assert_golden("towers/options.txt", "\n".join(lines) + "\n")


def test_lists_of_towers_equal_their_golden(snellen: Callable[..., tuple[int, str, str]]) -> None:  # noqa: F811
    listed = [snellen("tower", "list", *more) for more in ((), ("--training",))]
    assert [(code, err) for code, _, err in listed] == [(0, ""), (0, "")]
    assert_golden("towers/lists.txt", "".join(out for _, out, _ in listed))


def test_options_reach_the_plan_of_a_stage() -> None:
    """The plans by default equal their stage; then each option changed."""
    changed = HeadOptions(
        base=Path("base"), language_model="lm", scope="connector", rate=0.5, epochs=7, micro_batch=3, device="cuda",
        compiled=True, recompute=True, offload=True, compat=True,
    )  # fmt: skip
    for name, stage in STAGES.items():
        plan = head_plan(name, "radio-h", HeadOptions())
        assert (plan.tower, plan.language_model, plan.stage, plan.base) == ("radio-h", "Qwen/Qwen2-0.5B", stage, None)
        assert (plan.device, plan.micro_batch, plan.compiled, plan.recompute, plan.offload) == ("cpu", 16, *[False] * 3)
        plan = head_plan(name, "radio-h", changed)
        assert plan.stage == replace(stage, scope="connector", rate=0.5, epochs=7)
        assert (plan.tower, plan.language_model, plan.base) == ("radio-h-compat", "lm", Path("base"))
        assert (plan.device, plan.micro_batch, plan.compiled, plan.recompute, plan.offload) == ("cuda", 3, *[True] * 3)
    assert head_plan("fit", "clip-l", changed).tower == "clip-l"
    with pytest.raises(SnellenError, match="--scope 'lore'; did you mean 'lora'"):
        head_plan("fit", "clip-l", HeadOptions(scope="lore"))


def test_what_came_of_a_training_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    card: Any = SimpleNamespace(
        steps=60, conversations=32, first_loss=2.34567, last_loss=0.12345, samples_per_second=12.345, seconds=4.0,
        device_hours=0.0123456, device="cpu", features="live", file="head.json",
    )  # fmt: skip
    print_card(card, Path("out"))
    assert capsys.readouterr().out == (
        "60 steps on 32 conversations: loss 2.346 to 0.123; 12.3 samples/s, 0.0123 hours on cpu, features live\n"
        f"{Path('out/head.json')}\n"
    )
    done, failed = _job_rows([JobOutcome("t", "a", "done", card=card), JobOutcome("t", "b", "failed", "why")])
    assert done == {
        "tower": "t", "ability": "a", "status": "done", "conversations": 32, "steps": 60, "seconds": 4.0,
        "samples_per_second": 12.345, "device": "cpu", "device_hours": 0.0123456, "features": "live",
        "last_loss": 0.12345, "reason": "",
    }  # fmt: skip
    assert failed == dict.fromkeys(done, "") | {"tower": "t", "ability": "b", "status": "failed", "reason": "why"}


def test_printed_tables_have_scores_of_zero_and_no_missing_ones(
    sets_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    values, items = {"fake:chance": 0.0, "fake:oracle": 1.0, "fake:first-option": None}, small_set("combo", sets_folder)
    rows = examine(list(values), items.root, out=tmp_path / "run", show_progress=False).all_results()
    rows["value"] = rows["subject"].map(values)
    done: Any = SimpleNamespace(all_results=lambda: rows)
    _print_ranks(done, rows[:0])
    printed = capsys.readouterr().out
    assert [name in printed for name in values] == [True, True, False]


def test_the_card_of_heads_names_what_differs_from_the_default() -> None:
    head = partial(SimpleNamespace, tower="tiny/clip-l", language_model="lm")
    heads: Any = {"b": head(weights="w1", fingerprint="f1"), "a": head(weights="w2", fingerprint="f2")}
    usual, changed = (
        _card("dir", heads, *more)
        for more in (("cpu", {"batch": 8, "max_new_tokens": 64}), ("cuda", {"batch": 3, "max_new_tokens": 65}))
    )
    assert (usual.name, changed.name) == ("head:dir", "head:dir?max_new_tokens=65")
    settings = {"head": 1, "heads": {"a": "w2", "b": "w1"}, "fingerprints": {"a": "f2", "b": "f1"}}
    assert usual.settings == {**settings, "max_new_tokens": 64}
    assert changed.settings == {**settings, "max_new_tokens": 65, "device": "cuda"}
    assert (usual.max_concurrency, changed.max_concurrency) == (16, 6)
    assert (usual.accepts, usual.is_local, usual.fitted) == (frozenset({"image"}), True, True)
    made_of = {"tower": "tiny/clip-l", "language_model": "lm", "evaluator": "lm"}
    assert usual.attributes == {**find_tower("tiny/clip-l").attributes, **made_of}


def test_descriptions_of_objects_equal_their_golden() -> None:
    rng, objects = stream("test", "descriptions"), all_composites()[::311]
    texts = [description(each.dimensions(), rng) for each in objects]
    assert_golden("towers/descriptions.txt", "\n".join(texts) + "\n")


def test_a_table_of_linear_probes_equals_its_golden() -> None:
    """Thirty items in nine clusters of unequal size, four classes of which one is only tested."""
    rng = np.random.default_rng(2)
    labels, truth = [f"c{n % 3 % 2 + n % 3}" for n in range(24)], [f"c{n % 4}" for n in range(30)]

    def rows(names: list[str], width: int, signal: float) -> Any:
        classes = np.array([int(name[1:]) for name in names])
        return (rng.normal(size=(len(names), width)) + signal * np.eye(4, width)[classes]).astype(np.float32)

    places = {"before": (6, 4.0), "within": (5, 2.0), "behind": (4, 1.0)}
    train, test = ({key: rows(names, *how) for key, how in places.items()} for names in (labels, truth))
    clusters = [f"{int(n**0.62)}" for n in range(30)]
    table = linear_probes(train, labels, test, truth, clusters)
    assert_golden("towers/linear-probes.txt", table.round(6).to_csv(index=False, sep="|"))
