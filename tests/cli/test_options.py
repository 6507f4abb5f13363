"""What is written on the command line reaches the function that does the work."""

from __future__ import annotations

import inspect
import operator
import pkgutil
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner

from snellen.cli.app import app
from tests.helpers.extras import need

need("peft", "heads")

ASKING = "run items --subject fake:oracle -s fake:chance"
SERVED = {"site.host": "0.0.0.0", "site.port": 8123, "site.public_url": "https://a.example"}
TUNED = {"plan.stage.rate": 0.5, "plan.stage.epochs": 4, "plan.base": Path("b"), "plan.compiled": True}
TRAINED = "tower train-llava --base b --items items --out o"
Case = tuple[str, str, Mapping[str, Any]]
CASES: tuple[Case, ...] = (
    ("study build items other --design vpt --out o --name n --seed 5 --workers 3", "web.building:build_study",
     {"itemsets": ["set items 3", "set other 3"], "design": "design vpt", "root": Path("o"), "name": "n", "seed": 5}),
    ("study serve s --host 0.0.0.0 --port 8123 --public-url https://a.example --framed-by https://b.example "
     "--max-participants 7", "web.server:serve",
     {"root": Path("s"), **SERVED, "site.framed_by": "https://b.example", "limits.participants": 7}),
    ("study links s --renew --person p02 --url https://a.example/", "web.store:addresses",
     {"root": Path("s"), "base": "https://a.example", "participant": "p02", "renew": True}),
    ("study import s a.jsonl b.zip --out o --skip x --skip y --skip-bad", "web.importing:import_study",
     {"root": Path("s"), "submissions": "results s a.jsonl b.zip", "out": Path("o"), "skip": ["x", "y"],
      "skip_bad": True}),
    ("study forget s code --imported a --imported b", "web.forgetting:forget",
     {"root": Path("s"), "participant": "code", "folders": [Path("a"), Path("b")]}),
    ("study simulate s -s fake:chance --people 3 --out o --phone", "web.simulation:simulate",
     {"root": Path("s"), "subject": "fake:chance", "people": 3, "out": Path("o"), "phone": True}),
    ("study decide a b --out o --third t --reviewer kim --design d", "web.reviewing:third_study",
     {"panel": "panel a b o", "runs": [Path("a"), Path("b")], "design": "design d", "out": Path("t"),
      "reviewer": "kim"}),
    ("study queue words set --out o", "curation.queues:write_queue",
     {"name": "words", "items": "stored set", "out": Path("o")}),
    ("diff a b c --fail-on drop --least-drop 3 --read --page p --json", "cli.diff:diff",
     {"former": "a", "current": "b", "more": ["c"], "fail_on": "drop", "margin": 3.0, "read": True, "out": Path("p"),
      "as_json": True}),
    ("judge r --by fake:judge --unread --protocol manual --json", "exam.judge:judge",
     {"examination": Path("r"), "by": "fake:judge", "unread": True, "protocol": "manual", "show_progress": False}),
    ("judge r --sample f.csv --each 3 --seed 5", "runs.scores.judgements:write_sample",
     {"path": Path("f.csv"), "judged_items": "texts strict", "verdicts": "verdicts r", "each": 3, "seed": 5}),
    ("judge r --sample f --each 3 --seed 5", "runs.scores.judgements:write_sample_items",
     {"root": Path("f"), "judged_items": "texts strict", "verdicts": "verdicts r", "each": 3, "seed": 5,
      "media": "images"}),
    ("judge r --agreement f --protocol manual", "runs.scores.judgements:read_agreement",
     {"path": Path("f"), "judged_items": "texts manual", "suite": "suite", "protocol": "manual"}),
    ("checkup -s fake:a -s fake:b --workers 3 --quick --fresh --more --quality good --out o", "exam.checkup:checkup",
     {"subjects": ["fake:a", "fake:b"], "options.workers": 3, "options.quick": True, "options.fresh": True,
      "options.more": True, "options.quality": "good", "options.out": Path("o")}),
    ("build combo/matching --out o --workers 3 --seed 5 --n 6 --json --from released", "cli.building:build",
     {"suite_and_task": "combo/matching", "out": "o", "plan": False, "as_json": True, "verbose": False, "sealed": None,
      "options.seed": 5, "options.n": 6, "options.recipe": "released", "options.workers": 3,
      "options.show_progress": False}),
    ("build combo --plan --verbose --sealed s", "cli.building:build",
     {"out": None, "plan": True, "as_json": False, "verbose": True, "sealed": Path("s"),
      "options.show_progress": True}),
    ("seal combo/matching --out o --n 6 --json", "cli.sealing:seal",
     {"suite_and_task": "combo/matching", "out": Path("o"), "options.n": 6, "as_json": True}),
    ("reveal s r", "cli.sealing:reveal", {"seal_file": Path("s"), "address": "r"}),
    ("verify r --rebuild 2 --items i --digest d --commitment c", "cli.verification:verify",
     {"address": "r", "rebuild": 2, "itemset": "i", "digest": "d", "commitment": "c"}),
    ("show set item --condition images=none --html p --seed 5", "cli.preview:show",
     {"itemset": "set", "item_id": "item", "condition": "images=none", "html": Path("p"), "seed": 5}),
    (f"{ASKING} --repeats 2 --until-decided --max-items 4 --limit 6 --budget 7 --keep-going --seed 5 --json",
     "cli.asking:run",
     {"itemsets": ["items"], "subjects": ["fake:oracle", "fake:chance"], "options.repeats": 2, "options.seed": 5,
      "options.until_decided": True, "options.max_items": 4, "options.limit": 6, "options.budget": 7.0,
      "options.keep_going": True, "as_json": True}),
    (f"{ASKING} --batch f", "cli.asking:write_requests",
     {"itemsets": ["items"], "subjects": ["fake:oracle", "fake:chance"], "path": Path("f")}),
    ("score r --box-unit pixels --subject s", "exam.rescoring:score_boxes_in",
     {"root": Path("r"), "unit": "pixels", "subject": "s"}),
    ("score r --protocol p", "exam.rescoring:rescore", {"root": Path("r"), "suite": "suite", "protocol": "p"}),
    ("report a b --out o --compare published --full --protocol p --workers 3", "reports:publish_report",
     {"runs": "recovered a b", "out": "o", "compare_published": True, "full": True, "protocol": "p", "workers": 3}),
    ("export s --to hf-results --out o --condition images=none --dataset me/it --json", "cli.interop:export",
     {"folder": Path("s"), "format_name": "hf-results", "out": Path("o"), "condition": "images=none",
      "dataset": "me/it", "as_json": True}),
    ("sight fake:oracle --out o --seed 5 --json", "cli.sight:sight",
     {"spec": "fake:oracle", "out": Path("o"), "seed": 5, "as_json": True}),
    ("blind-baseline set --subject fake:chance --n 6 --out o --workers 3", "cli.blind_baseline:blind",
     {"name": "set", "subject": "fake:chance", "n": 6, "out": Path("o"), "workers": 3}),
    ("doctor --no-trials --json", "cli.doctor:doctor", {"trials": False, "as_json": True}),
    ("tower convert radio-h f --out o", "towers.heads.conversion:convert",
     {"name": "radio-h", "checkpoint": Path("f"), "out": Path("o")}),
    ("tower pretrain --data a --data b --images i --tower tiny/x --out o --rate .5 --epochs 4 --compile --skip-missing "
     "--micro-batch 2", "towers.commands.tower:train_stage",
     {**TUNED, "plan.base": None, "plan.stage.name": "pretrain", "plan.tower": "tiny/x",
      "paths": [Path("a"), Path("b")], "images": Path("i"), "out": Path("o"),
      "skip_missing": True, "plan.micro_batch": 2, "plan.recompute": False}),
    ("tower tune --data a --images i --tower tiny/x --out o --base b --rate .5 --epochs 4 --scope lora --compile "
     "--recompute --offload --language-model m", "towers.commands.tower:train_stage",
     {**TUNED, "plan.stage.name": "tune", "plan.stage.scope": "lora", "plan.recompute": True, "plan.offload": True,
      "plan.language_model": "m", "skip_missing": False}),
    ("tower fit localization --items items --tower tiny/x --out o --base b --rate .5 --epochs 4 --compile",
     "towers.sweep:fit_ability", {**TUNED, "items": "set items None", "ability": "localization", "out": Path("o")}),
    ("tower train-classifier --model m --items items --out o --objects 5 --views 2 --seed 6 --leak --workers 3",
     "towers.combo_training.objects:auxiliary_classes",
     {"items": "set items None", "objects": 5, "views": 2, "seed": 6, "leak": True, "workers": 3}),
    ("tower write-conversations --items items --out o --captions 5 --questions 6 --seed 7 --workers 3",
     "towers.conversations:write_conversations",
     {"items": "set items None", "captions": 5, "questions": 6, "out": Path("o"), "seed": 7, "workers": 3}),
    (f"{TRAINED} --captions 5 --questions 6 --seed 7 --workers 3", "towers.conversations:write_conversations",
     {"items": "set items None", "captions": 5, "questions": 6, "out": Path("o/conversations"), "seed": 7,
      "workers": 3}),
    (f"{TRAINED} --rate .5 --epochs 4 --seed 7 --micro-batch 2 --device meta",
     "towers.commands.head_training:train_stage",
     {"plan.base": Path("b"), "plan.stage.name": "tune", "plan.stage.scope": "lora", "plan.stage.rate": 0.5,
      "plan.stage.epochs": 4, "plan.stage.seed": 7, "plan.micro_batch": 2, "plan.device": "meta", "out": Path("o"),
      "paths": [Path("o/conversations/captions.json"), Path("o/conversations/questions.json")],
      "images": Path("o/conversations/images")}),
)  # fmt: skip
STANDINS: Mapping[str, Callable[..., Any]] = {
    "exam.items:find_items": lambda name, *, workers=None, show_progress=True: f"set {name} {workers}",
    "web.design:read_design": lambda name: f"design {name}",
    "web.importing:read_results_of": lambda root, paths: " ".join(map(str, ["results", root, *paths])),
    "web.reviewing:decide_review": lambda roots, out: (" ".join(map(str, ["panel", *roots, out])), None),
    "core.storage.itemset:read_itemset": lambda root: f"stored {root}",
    "runs.sets.gate:open_run_items": lambda root: (None, SimpleNamespace(media="images"), "suite"),
    "core.storage.runfolder:read_run_card": lambda root: SimpleNamespace(arms=[]),
    "core.storage.run_tables:read_responses": lambda root: "responses",
    "runs.scores.judgements:judgement_items": lambda responses, items, suite, protocol: f"texts {protocol}",
    "runs.scores.judgements:read_verdicts": lambda root, judged_items: f"verdicts {root}",
    "exam.rescoring:recover": lambda root: None,
    "exam.rescoring:recovered": lambda roots: " ".join(["recovered", *roots]),
    "towers.sweep:train_items": lambda items, ability: [],
    "towers.conversations:write_conversations": lambda *arguments, seed, workers: None,
    "towers.heads.llava_tuning:llava_checkpoint": lambda base: None,
    "web.explorer:explorer_writer": lambda: (None, ""),
}
"""What commands call before, here without work."""


class Called(Exception):
    """Carries the arguments of a call."""


def _find(target: str) -> tuple[Any, str]:
    module, _, name = target.partition(":")
    return pkgutil.resolve_name(f"snellen.{module}"), name


@pytest.fixture(autouse=True, scope="module")
def _modules() -> Iterator[None]:
    """What stands in for a function stays in no module, since all are imported before."""
    for target in [*STANDINS, *(case[1] for case in CASES), "exam.session:", "cli.finished:"]:
        _find(target)
    yield
    for name, module in [pair for pair in sys.modules.items() if pair[0].startswith("snellen")]:
        strays = [key for key, value in vars(module).items() if getattr(value, "__module__", "") == __name__]
        assert not strays, (name, strays)


@pytest.mark.parametrize(("line", "target", "expected"), CASES, ids=[case[0].partition(" --")[0] for case in CASES])
def test_options_arrive(line: str, target: str, expected: Mapping[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    for standin, function in STANDINS.items():
        if standin != target:
            monkeypatch.setattr(*_find(standin), function)
    module, name = _find(target)
    signature = inspect.signature(getattr(module, name))

    def record(*arguments: Any, **named: Any) -> None:
        raise Called(signature.bind(*arguments, **named).arguments)

    monkeypatch.setattr(module, name, record)
    outcome = CliRunner().invoke(app, line.split())
    assert isinstance(outcome.exception, Called), outcome.output
    arguments = SimpleNamespace(**outcome.exception.args[0])
    for path, value in expected.items():
        assert operator.attrgetter(path)(arguments) == value, path
