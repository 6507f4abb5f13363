"""Results in other people's formats: valid, complete, and readable again as recorded answers.

`Aggregate` and `Sample` state what the schemas of Every Eval Ever (0.3.0, published in its repository) require, in our
own words: the fields, their types, and that nothing else is there. Hugging Face's files are read by its own library.
"""

from __future__ import annotations

import json
import math
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any, Literal

import pandas as pd
import pytest
from pydantic import BaseModel, ConfigDict, Field, model_validator

from snellen.core.build_options import BuildOptions
from snellen.core.errors import SnellenError
from snellen.core.hashing import sha256
from snellen.core.storage.itemset import ItemSet
from snellen.core.storage.run_digest import RunDigest
from snellen.exam.run import run
from snellen.interop import result_files
from snellen.interop.result_files import _result, _rows, _samples, export_results
from snellen.reports.loading import load_run
from snellen.suites import SUITES
from tests.goldens.golden import assert_golden

Texts = dict[str, str]
Metric = Annotated[float, Field(allow_inf_nan=False)]


class Strict(BaseModel):
    """No other fields, no conversions."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Source(Strict):
    source_name: str
    source_type: Literal["documentation", "evaluation_run"]
    source_organization_name: str
    evaluator_relationship: Literal["first_party", "third_party", "collaborative", "other"]


class Library(Strict):
    name: str
    version: str
    additional_details: Texts


class ModelInfo(Strict):
    name: str
    id: str
    additional_details: Texts

    @model_validator(mode="after")
    def _has_deployment(self) -> ModelInfo:
        assert self.additional_details["deployment_type"] in ("self_deployed", "externally_managed", "unknown")
        assert self.additional_details["model_availability"] in ("open_weights", "closed_weights", "unknown")
        return self


class Interval(Strict):
    lower: Metric
    upper: Metric
    confidence_level: float
    method: str


class Uncertainty(Strict):
    num_samples: int
    confidence_interval: Interval | None = None


class Score(Strict):
    score: Metric
    details: Texts
    uncertainty: Uncertainty


class Config(Strict):
    metric_id: str
    metric_name: str
    metric_unit: str
    lower_is_better: bool
    score_type: Literal["continuous"]
    min_score: float | Literal["-Infinity"]
    max_score: float | Literal["Infinity"]
    additional_details: Texts


class SourceSet(Strict):
    dataset_name: str
    source_type: Literal["other"]
    additional_details: Texts


class Generation(Strict):
    generation_args: dict[str, float | int]
    additional_details: Texts


class Result(Strict):
    evaluation_result_id: str
    evaluation_name: str
    source_data: SourceSet
    metric_config: Config
    score_details: Score
    generation_config: Generation


class Detailed(Strict):
    format: Literal["jsonl"]
    file_path: str = Field(
        pattern=r"^data/[^/]+/[^/]+/[^/]+/[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}_samples\.jsonl$"
    )
    hash_algorithm: Literal["sha256"]
    checksum: str
    total_rows: int


class Aggregate(Strict):
    schema_version: Literal["0.3.0"]
    evaluation_id: str
    evaluation_timestamp: str = ""
    retrieved_timestamp: str = Field(pattern=r"^\d{10}$")
    source_metadata: Source
    eval_library: Library
    model_info: ModelInfo
    evaluation_results: list[Result]
    detailed_evaluation_results: Detailed


class Input(Strict):
    raw: str
    reference: list[str]
    choices: list[str] | None


class Output(Strict):
    raw: list[str]


class Message(Strict):
    turn_idx: int
    role: Literal["user", "assistant"]
    content: str


class Attribution(Strict):
    turn_idx: int
    source: str
    extracted_value: str
    extraction_method: str
    is_terminal: bool


class Evaluation(Strict):
    score: Metric
    is_correct: bool


class Tokens(Strict):
    input_tokens: int
    output_tokens: int
    total_tokens: int


class Performance(Strict):
    latency_ms: float


class Sample(Strict):
    schema_version: Literal["0.3.0"]
    evaluation_id: str
    model_id: str
    evaluation_name: str
    evaluation_result_id: str
    sample_id: str
    interaction_type: Literal["single_turn", "multi_turn"]
    input: Input
    output: Output | None
    messages: list[Message] | None
    answer_attribution: list[Attribution]
    evaluation: Evaluation
    token_usage: Tokens
    performance: Performance
    metadata: Texts

    @model_validator(mode="after")
    def _has_one_form(self) -> Sample:
        is_single = self.interaction_type == "single_turn"
        assert (self.output is not None, self.messages is None) == (is_single, is_single)
        return self


@pytest.fixture(scope="module")
def items(tmp_path_factory: pytest.TempPathFactory) -> ItemSet:
    options = BuildOptions(
        tmp_path_factory.mktemp("items") / "items", seed=1, n=3, tasks=("category-building", "img2text"),
        renderer="toy", size=(120, 90), allow_unmatched=True, show_progress=False,
    )  # fmt: skip
    return SUITES.get("combo").recipes["generated"].build(options)


@pytest.fixture(scope="module")
def root(items: ItemSet) -> Path:
    folder = items.root.parent / "run"
    conditions = ["vanilla", "method=perceive-then-classify"]
    run(items, ["fake:oracle", "fake:chance"], folder, conditions=conditions, repeats=2, show_progress=False)
    return folder


def _read(paths: list[Path]) -> tuple[list[Aggregate], dict[str, list[Sample]]]:
    records = [Aggregate.model_validate_json(path.read_text()) for path in paths if path.suffix == ".json"]
    samples = {
        path.name: [Sample.model_validate_json(line) for line in path.read_text().splitlines()]
        for path in paths
        if path.suffix == ".jsonl"
    }
    return records, samples


def test_a_run_is_valid_and_complete_in_every_eval_ever(root: Path, tmp_path: Path) -> None:
    records, samples = _read(export_results(root, "every-eval-ever", tmp_path / "out"))
    table = load_run(root).results
    rows = table[(table["factor"] == "") & table["value"].notna()]
    assert sum(len(record.evaluation_results) for record in records) == len(rows) > 0
    for record in records:
        of_subject = rows[rows["subject"] == record.model_info.name]
        for result, row in zip(record.evaluation_results, of_subject.to_dict("records"), strict=True):
            details, uncertainty = result.score_details.details, result.score_details.uncertainty
            assert result.score_details.score == row["value"]
            assert uncertainty.num_samples == row["n"]
            if not math.isnan(row["low"]):
                assert uncertainty.confidence_interval is not None
                assert uncertainty.confidence_interval.lower == row["low"]
            assert float(details["chance"]) == pytest.approx(row["chance"], abs=1e-6)
            assert details["condition"] == row["condition"]
            assert details["state"] == row["state"]
            assert result.source_data.additional_details["rows_hash"]
        path = tmp_path / "out" / record.detailed_evaluation_results.file_path
        assert record.detailed_evaluation_results.checksum == sha256(path.read_bytes())
        assert record.detailed_evaluation_results.total_rows == len(samples[path.name])
        assert {sample.evaluation_id for sample in samples[path.name]} == {record.evaluation_id}
    # 3 items of two tasks vanilla, 3 of one in a dialogue, each twice
    assert [len(lines) for lines in samples.values()] == [18, 18]


def test_replies_and_dialogues_are_those_of_the_run(root: Path, items: ItemSet, tmp_path: Path) -> None:
    _, samples = _read(export_results(root, "every-eval-ever", tmp_path / "out"))
    kinds = {"single_turn": 0, "multi_turn": 0}
    for sample in (sample for lines in samples.values() for sample in lines):
        item = items.by_id[sample.sample_id]
        kinds[sample.interaction_type] += 1
        assert sample.input.reference == [item.answer]
        images = json.loads(sample.metadata["images"])
        assert {media.sha256 for media in item.media()} >= {name.split(".")[0] for name in images} != set()
        assert sample.evaluation.is_correct == (sample.answer_attribution[0].extracted_value == item.answer)
        if sample.messages is not None:
            roles = [message.role for message in sample.messages]
            assert roles == [*["user", "assistant"] * (len(roles) // 2)]
            assert sample.answer_attribution[0].turn_idx == sample.messages[-1].turn_idx
            assert len(roles) >= 4
            assert sample.messages[0].content != sample.messages[2].content
    assert kinds["single_turn"] > 0
    assert kinds["multi_turn"] > 0


def test_what_was_written_is_read_again_as_recorded_answers(items: ItemSet, tmp_path: Path) -> None:
    """The same items, replies and scores, by the settings that docs/exports.md gives; with another seed, nothing."""
    run(items, ["fake:chance"], tmp_path / "run", repeats=2, conditions=["order=shuffled"], seed=5, show_progress=False)
    paths = export_results(tmp_path / "run", "every-eval-ever", tmp_path / "out")
    (path,) = (path for path in paths if path.suffix == ".jsonl")
    columns_of = "id=sample_id&column=output.raw.0&model=model_id&condition=metadata.condition&repeat=metadata.repeat"
    spec = f"recorded:{path}?{columns_of}"
    with pytest.raises(SnellenError, match=r"row 1 was asked under order=shuffled with --seed 5, not 0; give --seed 5"):
        run(items, [spec], tmp_path / "other", show_progress=False)
    run(items, [spec], tmp_path / "again", seed=5, show_progress=False)
    tables = [load_run(tmp_path / name).scores["strict"] for name in ("run", "again")]
    columns = ["item_id", "condition", "repeat", "metric", "prediction", "outcome", "value"]
    first, second = (table[columns].sort_values(columns[:4]).reset_index(drop=True) for table in tables)
    assert first.equals(second)


def test_of_several_judges_the_first_counts(root: Path) -> None:
    loaded = load_run(root)

    def by_two(table: pd.DataFrame) -> pd.DataFrame:
        return pd.concat([table.assign(judge="a"), table.assign(judge="b", value=1 - table["value"])])

    scores = {**loaded.scores, "strict": by_two(loaded.scores["strict"])}
    judged = replace(loaded, results=by_two(loaded.results), scores=scores)
    rows = list(_rows(judged, "fake:oracle"))
    assert str([replace(row, judge="") for row in rows]) == str(list(_rows(loaded, "fake:oracle")))  # NaN
    assert {row.judge for row in rows} == {"a"}
    assert list(_samples(judged, "fake:oracle", {})) == list(_samples(loaded, "fake:oracle", {}))


def test_a_reply_without_a_score_is_no_sample(root: Path) -> None:
    """A judge may have scored some replies only."""
    loaded = load_run(root)
    names = [sample["sample_id"] for sample in _samples(loaded, "fake:chance", {})]
    table = loaded.scores["strict"]
    table = table.assign(value=table["value"].mask(table["item_id"] == names[0]))
    partly = replace(loaded, scores={**loaded.scores, "strict": table})
    rest = [sample["sample_id"] for sample in _samples(partly, "fake:chance", {})]
    assert rest == [name for name in names if name != names[0]] != []


def test_files_of_hugging_face_are_read_by_its_library(root: Path, tmp_path: Path) -> None:
    results = pytest.importorskip("huggingface_hub", reason="the extra 'hub' is not installed")
    if not hasattr(results, "parse_eval_result_entries"):
        pytest.skip("this huggingface_hub reads no evaluation files")
    import yaml

    paths = export_results(root, "hf-results", tmp_path / "out", "lab/combo")
    assert len(paths) == 4, "variants of a benchmark are in separate files"
    table = load_run(root).results
    for path in paths:
        assert path.parent.name == ".eval_results"
        entries = results.parse_eval_result_entries(yaml.safe_load(path.read_text()))
        condition = "vanilla" if "_method" not in path.name else "method=perceive-then-classify"
        rows = table[(table["factor"] == "") & (table["condition"] == condition)]
        for entry in entries:
            assert entry.dataset_id == "lab/combo"
            scores = rows[(rows["task"] == entry.task_id) & (rows["metric"] == "accuracy")]["value"]
            assert any(entry.value == pytest.approx(100 * score) for score in scores)
            assert f"condition {condition}" in entry.notes
            assert "chance" in entry.notes


def test_subjects_whose_files_would_have_one_name_are_refused(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = load_run(root)
    names = {"fake:oracle": "Qwen2-VL-7B", "fake:chance": "Qwen2_VL_7B"}
    arms = [arm.model_copy(update={"subject": names[arm.subject]}) for arm in loaded.card.arms]
    results = loaded.results.assign(subject=loaded.results["subject"].map(names))
    alike = replace(loaded, card=loaded.card.model_copy(update={"arms": arms}), results=results)
    monkeypatch.setattr("snellen.interop.result_files.load_run", lambda root: alike)
    with pytest.raises(SnellenError, match=r"two subjects or conditions are both named .*Qwen2_VL_7B"):
        export_results(root, "hf-results", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_folder_in_use_is_refused(root: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SnellenError, match="not empty"):
        export_results(root, "every-eval-ever", tmp_path)


def test_a_result_has_the_settings_of_its_own_condition(items: ItemSet, tmp_path: Path) -> None:
    """A subject may have been asked with other settings under another condition."""
    run(items, ["fake:chance"], tmp_path / "run", show_progress=False)
    loaded = load_run(tmp_path / "run")
    (arm,), row = loaded.card.arms, next(_rows(loaded, "fake:chance"))
    other = arm.model_copy(update={"condition": "other", "settings": {"temperature": 1.0}})
    arms = [other, arm.model_copy(update={"settings": {"temperature": 0.5}})]
    assert _result(loaded, row, arms)["generation_config"]["generation_args"] == {"temperature": 0.5}


def plain(value: Any) -> Any:
    """A value with numbers to ten digits, without durations and what depends on them."""
    if isinstance(value, dict):
        return {name: plain(cell) for name, cell in value.items() if name not in ("latency_ms", "checksum")}
    if isinstance(value, list):
        return [plain(each) for each in value]
    return float(f"{value:.10g}") if isinstance(value, float) else value


@pytest.mark.parametrize("form", ["every-eval-ever", "hf-results"])
def test_files_of_results_are_as_they_were(
    form: str, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the time when the run ended; of the replies the first in one call and the first in several."""
    import yaml

    shutil.copytree(root, tmp_path / "run")
    (tmp_path / "run" / RunDigest.file).write_text(RunDigest(date="2026-11-28T10:00:00+00:00").model_dump_json())
    loaded = load_run(tmp_path / "run")
    loaded = replace(loaded, card=loaded.card.model_copy(update={"versions": {"snellen": "VERSION", "numpy": "2"}}))
    monkeypatch.setattr(result_files, "load_run", lambda root: loaded)
    monkeypatch.setattr(result_files, "time", SimpleNamespace(time=lambda: 1.8e9))
    lines = list[str]()
    for path in export_results(tmp_path / "run", form, tmp_path / "out"):
        contents = [*yaml.safe_load_all(path.read_text("utf-8").replace("\n{", "\n---\n{"))]
        if path.suffix == ".jsonl":
            lines.append(" ".join(f"{sample['sample_id']}:{sample['evaluation']['score']}" for sample in contents))
            contents = list({sample["interaction_type"]: sample for sample in contents[::-1]}.values())
        lines += [f"== {path.relative_to(tmp_path)}", json.dumps(plain(contents), indent=1)]
    assert_golden(f"results-{form}.txt", "\n".join(lines) + "\n")


def test_replies_of_people_who_withhold_their_words_are_not_in_a_file(root: Path, tmp_path: Path) -> None:
    loaded = load_run(root)
    arms = [arm.model_copy(update={"role": "person"}) for arm in loaded.card.arms]
    withheld = replace(loaded, card=loaded.card.model_copy(update={"arms": arms}))
    (path,) = result_files._write_every_eval(withheld, "fake:oracle", tmp_path)
    assert "detailed_evaluation_results" not in json.loads(path.read_text())
