from __future__ import annotations

import asyncio
import json
from collections import Counter
from pathlib import Path

import pytest

from snellen.core.errors import CallFailed, SnellenError
from snellen.core.item import Option, View
from snellen.core.prompt import Prompt
from snellen.core.seeds import stream
from snellen.core.storage.media import MediaFolder
from snellen.core.subject import Subject
from snellen.presentation.controls import Lettered
from snellen.subjects.registry import make_subject
from tests.helpers.journey import item

OPTIONS = tuple(Option(key, f"text {key}") for key in ("p", "q", "r"))
ITEMS = [
    *(item(f"choice{n}", [], "p", "choice", options=OPTIONS) for n in range(3)),
    item("true", [], "false", "true_false"),
    *(item(f"count{n}", [], 10 * n, "integer") for n in range(4)),
    item("elsewhere", [], 99, "integer", task="other"),
    item("lonely", [], "alone", "text"),
]
VIEWS = {task_item.item_id: task_item.view() for task_item in ITEMS}
NOWHERE = MediaFolder(Path("nowhere"))


def reply_text(subject: Subject, *views: View, seed: int = 0) -> str:
    return asyncio.run(subject.answer(Prompt(("?",), views), NOWHERE, stream("fake", seed))).text


def fake(name: str) -> Subject:
    return make_subject(f"fake:{name}", ITEMS)


def test_chance_draws_uniformly_from_the_options() -> None:
    view = Lettered()(VIEWS["choice0"], NOWHERE, stream("letters"))
    count = Counter(reply_text(fake("chance"), view, seed=n) for n in range(900))
    assert set(count) == {"A", "B", "C"}, "two names of an option count as one option"
    assert max(abs(n - 300) for n in count.values()) < 60
    assert Counter(reply_text(fake("chance"), VIEWS["true"], seed=n) for n in range(200)).keys() == {"T", "F"}


def test_chance_answers_free_questions_with_the_truth_of_another_item_of_the_task() -> None:
    count = Counter(reply_text(fake("chance"), VIEWS["count1"], seed=n) for n in range(300))
    assert set(count) == {"0", "20", "30"}
    assert min(count.values()) > 70
    assert reply_text(fake("chance"), VIEWS["lonely"]) == ""


def test_simple_fakes_reply_according_to_their_name() -> None:
    assert reply_text(fake("first-option"), VIEWS["choice0"]) == "text p"
    assert reply_text(fake("first-option"), VIEWS["count0"]) == ""
    assert reply_text(fake("always-true"), VIEWS["true"]) == "True"
    assert reply_text(fake("constant=a=b?c"), VIEWS["choice0"]) == "a=b?c"


def test_counts_to_is_right_up_to_its_number() -> None:
    assert [reply_text(fake("counts-to=4"), VIEWS[f"count{n}"]) for n in range(4)] == ["0", "4", "4", "4"]
    assert [reply_text(fake("counts-to=20"), VIEWS[f"count{n}"]) for n in range(4)] == ["0", "10", "20", "20"]
    assert reply_text(fake("counts-to=4"), VIEWS["choice0"]) == "text p"
    assert reply_text(fake("counts-to=4"), VIEWS["lonely"]) == "alone"


def test_says_yes_agrees_only_with_statements() -> None:
    assert reply_text(fake("says-yes"), VIEWS["true"]) == "T"
    assert reply_text(fake("oracle"), VIEWS["true"]) == "F"
    assert [reply_text(fake("says-yes"), VIEWS[name]) for name in ("choice0", "count1")] == ["text p", "10"]


def test_prefers_option_chooses_its_option_half_of_the_time_if_offered() -> None:
    """p, shown as A, is right: only an observer that prefers B is ever wrong."""
    view = Lettered()(VIEWS["choice0"], NOWHERE, stream("letters"))
    count = Counter(reply_text(fake("prefers-option=B"), view, seed=n) for n in range(400))
    assert set(count) == {"A", "B"}
    assert abs(count["B"] - 200) < 50  # five standard deviations of 10
    assert {reply_text(fake("prefers-option=A"), view, seed=n) for n in range(20)} == {"A"}
    assert {reply_text(fake("prefers-option=B"), VIEWS["choice0"], seed=n) for n in range(20)} == {"text p"}


def test_every_cell_of_a_sheet_is_filled() -> None:
    rows = json.loads(reply_text(fake("constant=42"), VIEWS["choice0"], VIEWS["count1"]))
    assert rows == [{"sample": 1, "q1": "42"}, {"sample": 2, "q1": "42"}]


def test_a_script_has_a_reply_for_each_item(tmp_path: Path) -> None:
    (tmp_path / "s.json").write_text(json.dumps({"choice0": "text q", "*": "so"}))
    scripted = fake(f"scripted={tmp_path / 's.json'}")
    assert [reply_text(scripted, VIEWS[name]) for name in ("choice0", "count1")] == ["text q", "so"]
    first = scripted.card.fingerprint()
    (tmp_path / "s.json").write_text(json.dumps({"choice0": "text q"}))
    silent = fake(f"scripted={tmp_path / 's.json'}")
    assert silent.card.fingerprint() != first, "another script is another subject"
    with pytest.raises(CallFailed, match="no line for item count1"):
        reply_text(silent, VIEWS["count1"])


@pytest.mark.parametrize("text", ["{", "[]", '{"a": 1}', None])
def test_a_bad_script_is_named(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / "s.json").write_text(text)
    with pytest.raises(SnellenError, match=rf"^{tmp_path}/s\.json: "):
        fake(f"scripted={tmp_path / 's.json'}")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("orakel", "no subject fake:orakel; did you mean 'oracle'?"),
        ("constant", "fake:constant needs a value, as in fake:constant=…"),
        ("oracle=3", "fake:oracle takes no value: fake:oracle"),
        ("", "no subject fake:"),
    ],
)
def test_a_wrong_name_is_answered_with_the_right_one(name: str, message: str) -> None:
    with pytest.raises(SnellenError) as caught:
        fake(name)
    assert message in str(caught.value)


def test_fakes_are_distinguished_by_name() -> None:
    names = ["oracle", "chance", "first-option", "always-true", "constant=a", "constant=b"]
    assert len({fake(name).card.fingerprint() for name in names}) == len(names)
    assert all(fake(name).card.name == f"fake:{name}" for name in names)
    assert {fake(name).card.attributes["family"] for name in names} == {"fake"}
