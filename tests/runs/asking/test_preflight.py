"""Bad input is refused before anything is rendered, and a first question is paid and counted."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from snellen.core.errors import CallFailed, SnellenError
from snellen.core.prompt import Prompt, Reply
from snellen.core.storage.itemset import ItemSet
from snellen.core.storage.media import MediaFolder
from snellen.core.storage.parts import read_exchanges
from snellen.core.storage.run_tables import read_responses
from snellen.core.subject import Base, SubjectCard
from snellen.runs.asking.ask import ask
from snellen.runs.asking.preflight import FIRST_PROMPT, STEP, Preflight, make_subjects, refuse_unpriced
from snellen.runs.asking.preview import asks_remote, estimates
from snellen.runs.asking.stopping import BudgetSpent
from snellen.runs.planning.plan import Plan
from snellen.runs.sets.generated_sets import generated_options, itemset_folder
from tests.helpers.journey import arm, colour_set, says, suite_of
from tests.helpers.sets import small_options, small_set


class Remote(Base):
    """Answers red, or fails with the given error; each call costs 0.5."""

    def __init__(self, failure: CallFailed | None = None, name: str = "own:remote") -> None:
        card = SubjectCard(name, attributes={"price_in": "500", "price_out": "0"}, max_concurrency=1, is_remote=True)
        super().__init__(card)
        object.__setattr__(self, "failure", failure)
        object.__setattr__(self, "prompts", [])

    prompts: list[Prompt]
    failure: CallFailed | None

    async def answer(self, prompt: Prompt, media: MediaFolder, rng: np.random.Generator) -> Reply:
        self.prompts.append(prompt)
        if self.failure:
            raise self.failure
        return Reply("red", tokens_in=1000)


@pytest.fixture
def built(tmp_path: Path) -> ItemSet:
    return colour_set(tmp_path / "set")


def test_subjects_that_refuse_every_call_are_named_and_busy_ones_are_not() -> None:
    refused = [
        Remote(CallFailed(f"{status} No: key (attempt 1)", is_lasting=True), f"own:{status}") for status in (401, 404)
    ]
    busy = Remote(CallFailed("503 busy"), "own:busy")
    with pytest.raises(SnellenError, match=r"own:401: 401 No.*; own:404: 404 No.*; nothing was asked") as refusal:
        Preflight().check([*refused, busy, "fake:oracle"])
    assert "busy" not in str(refusal.value)
    going = Preflight(keep_going=True)
    going.check([*refused, busy])
    going.check([*refused, busy])
    assert [len(subject.prompts) for subject in (*refused, busy)] == [2, 2, 2], "once per command"
    assert going.take(subject.card.fingerprint() for subject in refused) == ()


def test_a_first_question_is_paid_recorded_once_and_not_a_response(tmp_path: Path, built: ItemSet) -> None:
    suite, subject, preflight = suite_of(), Remote(), Preflight()
    preflight.check([subject])
    assert subject.prompts == [FIRST_PROMPT]
    exchanges = preflight.take([subject.card.fingerprint()])
    assert [exchange.key for exchange in exchanges] == [f"{subject.card.fingerprint()}/{STEP}"]
    assert preflight.take([subject.card.fingerprint()]) == ()
    # 0.5 for the first question and 0.5 per item: at 1.5 the third call has been paid
    plan = Plan(built, suite, [arm(subject, suite)], budget=1.5, preflight=exchanges)
    with pytest.raises(BudgetSpent, match=r"1\.5000 is spent"):
        ask(tmp_path / "run", plan)
    assert len(subject.prompts) == 3
    assert len(list(read_exchanges(tmp_path / "run"))) == 3
    assert [r.item_id for r in read_responses(tmp_path / "run")] == ["000", "001"]


def test_an_estimate_covers_the_remaining_calls(tmp_path: Path, built: ItemSet) -> None:
    suite, subject = suite_of(), Remote()
    plan = Plan(built, suite, [arm(subject, suite, repeat=repeat) for repeat in range(2)])
    (whole,) = estimates(plan, tmp_path / "run")
    assert (whole.calls, whole.recorded) == (8, 0)
    with pytest.raises(BudgetSpent):
        ask(tmp_path / "run", Plan(built, suite, plan.arms, budget=1.5))
    (rest,) = estimates(plan, tmp_path / "run")
    assert (rest.calls, rest.recorded) == (5, 3)
    assert (rest.tokens_in, rest.money) == (whole.tokens_in * 5 // 8, rest.tokens_in * 500 / 1e6)
    assert not asks_remote(replace(plan, budget=1.5), tmp_path / "run", [rest]), "no money, no question"
    assert not asks_remote(replace(plan, budget=1.9), tmp_path / "run", [rest]), "1.5 is spent, and a call costs 0.5"
    assert asks_remote(replace(plan, budget=2.0), tmp_path / "run", [rest])
    assert not asks_remote(replace(plan, budget=0.5), tmp_path / "other", [whole]), "2.006 for 4 calls is estimated"
    assert asks_remote(plan, tmp_path / "run", [rest])
    ask(tmp_path / "run", plan)
    assert estimates(plan, tmp_path / "run") == []
    assert not asks_remote(plan, tmp_path / "run", [])


def test_a_budget_needs_prices_of_remote_subjects() -> None:
    priced, first, second = Remote(), *(says(f"own:{name}", "red", is_remote=True) for name in ("first", "second"))
    half = says("own:half", "red", is_remote=True, attributes={"price_in": "2.5"})
    local = says("own:local", "red", is_local=True)
    refuse_unpriced([priced, first, second], None)
    refuse_unpriced([priced, local, "fake:oracle"], 0.1)
    with pytest.raises(SnellenError) as refusal:
        refuse_unpriced([first, priced, local, half, second], 0.1)
    needed = "--budget needs prices: ?price_in=…&price_out=… (per million tokens)"
    assert str(refusal.value) == f"own:first, own:half, own:second: {needed}"


def test_subjects_are_made_before_items() -> None:
    spec, subject = make_subjects(["fake:oracle", "encoder:colour-histogram"])
    assert spec == "fake:oracle"
    assert not isinstance(subject, str)
    for name in ("fake:oracel", "encoder:hogg", "nobody"):
        with pytest.raises(SnellenError):
            make_subjects([name])


def test_a_limit_has_its_own_set_and_a_large_limit_the_whole_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SNELLEN_HOME", str(tmp_path))
    for suite in ("combo", "ava-bench", "vlm2-bench", "vfm-bench"):
        folders = [itemset_folder(suite, limit) for limit in (None, 1, 2, 10**6)]
        assert folders[0] == folders[3]
        assert len(set(folders)) == 3
        allowed = [generated_options(suite, limit).allow_unmatched for limit in (None, 1, 10**6)]
        assert allowed == [False, True, True]


def test_the_folder_of_a_set_is_named_after_its_whole_recipe(
    tmp_path: Path, sets_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the card of a set built by that recipe says."""
    monkeypatch.setenv("SNELLEN_HOME", str(tmp_path))
    monkeypatch.setattr(
        "snellen.runs.sets.generated_sets.generated_options", lambda suite, limit, test_only: small_options(Path())
    )
    for suite in ("combo", "vfm-bench"):
        card = small_set(suite, sets_folder).card
        assert itemset_folder(suite) == tmp_path / "itemsets" / f"{suite}-{card.version}-{card.recipe_hash[:12]}"
