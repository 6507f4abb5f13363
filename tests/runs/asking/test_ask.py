"""The ask loop with failures, stops, refusals and odd replies."""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from snellen.analysis.tables.unread import unread_sentences
from snellen.core.condition import Axis
from snellen.core.errors import CallFailed, SnellenError
from snellen.core.item import Item, Montage, Part, View
from snellen.core.prompt import Prompt, Reply
from snellen.core.storage.itemset import ItemSet
from snellen.core.storage.media import MediaFolder
from snellen.core.storage.parts import read_exchanges
from snellen.core.storage.run_tables import read_responses
from snellen.core.storage.runfolder import cost_by_subject, read_run_card
from snellen.core.subject import Base, Subject, SubjectCard
from snellen.core.suite import Dialogue, Suite, Transform, Trial, ViewContext, all_trials
from snellen.presentation.methods import OneByOne, PerceiveThenClassify, Sheet
from snellen.runs.asking.ask import ask
from snellen.runs.asking.stopping import BudgetSpent
from snellen.runs.planning.plan import Arm, Plan, run_card
from snellen.runs.scores.score import has_scores, own_scores, read_scores, score, write_scores
from tests.helpers.journey import arm, colour_set, looker, says, suite_of, tabulate, value, watched
from tests.helpers.refusals import assert_refused


@pytest.fixture
def built(tmp_path: Path) -> ItemSet:
    return colour_set(tmp_path / "set")


def calls_of(root: Path, built: ItemSet, suite: Suite, arms: Sequence[Arm], **changes: object) -> list[str]:
    """Run, and return the ids of the items asked, in their order."""
    calls: list[str] = []
    ask(root, replace(Plan(built, suite, watched(arms, lambda p: calls.append(p.views[0].item_id))), **changes))  # type: ignore[arg-type]
    return calls


def test_a_failed_call_is_no_answer_and_is_asked_again(tmp_path: Path, built: ItemSet) -> None:
    suite, down = suite_of(), [True]

    def shaky(prompt: Prompt) -> str:
        if prompt.views[0].item_id == "002" and down[0]:
            raise CallFailed("503 overloaded")
        return str(built.by_id[prompt.views[0].item_id].answer)

    arms = [arm(says("own:shaky", shaky), suite)]
    first = ask(tmp_path / "run", Plan(built, suite, arms))
    assert [(r.status, r.text, r.reason) for r in first][2] == ("failed", None, "503 overloaded")
    table = tabulate(tmp_path / "run", first, built, suite)
    assert table["failure_rate"].to_list() == [1 / 4, 1 / 4]
    assert (table["value"].to_list(), table["n"].to_list()) == ([1, 1], [3, 3])
    down[0] = False
    assert calls_of(tmp_path / "run", built, suite, arms) == ["002"]
    assert {r.status for r in read_responses(tmp_path / "run")} == {"ok"}
    assert calls_of(tmp_path / "run", built, suite, arms) == []


def test_only_the_failed_calls_of_a_chain_are_asked_again(tmp_path: Path, built: ItemSet) -> None:
    calls: list[tuple[str, str]] = []
    down = [True]

    def shaky(prompt: Prompt) -> str:
        (view,) = prompt.views
        calls.append((view.item_id, view.reply.kind))
        if down[0] and view.reply.kind == "choice" and view.item_id in ("001", "003"):
            raise CallFailed("cut off")
        return "red"

    def parts(view: View, description: str = "") -> tuple[Part, ...]:
        return (*view.query, description)

    suite = suite_of(method=lambda c: PerceiveThenClassify(parts, parts, "Describe it."))
    arms = [arm(says("own:shaky", shaky), suite)]
    ask(tmp_path / "run", Plan(built, suite, arms))
    assert len(calls) == 8
    calls.clear()
    down[0] = False
    responses = ask(tmp_path / "run", Plan(built, suite, arms))
    assert calls == [("001", "choice"), ("003", "choice")]
    assert all(len(r.calls) == 2 and r.text == "red" for r in responses)


def test_a_reply_to_another_prompt_is_not_reused(tmp_path: Path, built: ItemSet) -> None:
    def reworded(view: View) -> tuple[Part, ...]:
        return ("Name it." if view.item_id < "002" else view.question, *view.query)

    suites = [
        suite_of(method=lambda c: OneByOne(lambda v: (v.question, *v.query))),
        suite_of(method=lambda c: OneByOne(reworded)),
    ]
    item_ids = [calls_of(tmp_path / "run", built, suite, [arm(looker(built), suite)]) for suite in suites]
    assert item_ids == [["000", "001", "002", "003"], ["000", "001"]]


def test_a_subject_can_be_added_and_the_earlier_rows_stay(tmp_path: Path, built: ItemSet) -> None:
    suite, root = suite_of(Axis("shots", (0, 1))), tmp_path / "run"
    first, second = looker(built, "own:one"), says("own:two", "red")
    ask(root, Plan(built, suite, [arm(first, suite)]))
    before = read_responses(root)
    assert calls_of(root, built, suite, [arm(second, suite)]) == ["000", "001", "002", "003"]
    after = read_responses(root)
    assert after[:4] == before
    assert [r.subject for r in after[4:]] == ["own:two"] * 4
    assert calls_of(root, built, suite, [arm(first, suite, "shots=1"), arm(first, suite)]) == [
        "000",
        "001",
        "002",
        "003",
    ]
    arms = [(a.subject, a.condition) for a in read_run_card(root).arms]
    assert sorted(arms) == [("own:one", "shots=1"), ("own:one", "vanilla"), ("own:two", "vanilla")]
    rows = [(r.subject, r.condition) for r in read_responses(root)]
    assert {name: rows.count(name) for name in arms} == dict.fromkeys(arms, 4)
    assert len(pd.read_parquet(root / "exchanges.parquet")) == 12
    assert set(pd.read_parquet(root / "sent.parquet")["digest"]) == {e.digest for e in read_exchanges(root)}


def test_the_same_name_with_other_settings_replaces_the_old_arm(tmp_path: Path, built: ItemSet) -> None:
    suite, root = suite_of(), tmp_path / "run"
    cold, warm = (looker(built, settings={"temperature": t}) for t in (0, 1))
    ask(root, Plan(built, suite, [arm(cold, suite, repeat=repeat) for repeat in (0, 1)]))
    assert len(calls_of(root, built, suite, [arm(warm, suite)])) == 4
    assert {r.fingerprint for r in read_responses(root)} == {warm.card.fingerprint()}
    assert [card.repeat for card in read_run_card(root).arms] == [0], "an old repeat is no repeat of the new one"
    assert calls_of(root, built, suite, [arm(cold, suite)]) == [], "the replies of the old one are still recorded"


def test_limit_is_the_first_test_items_of_each_task(tmp_path: Path, built: ItemSet) -> None:
    suite = suite_of()
    arms = [arm(looker(built), suite)]
    assert calls_of(tmp_path / "run", built, suite, arms, limit=2) == ["000", "001"]
    with pytest.raises(SnellenError, match="started with --limit 2; with no --limit the sheets contain different"):
        ask(tmp_path / "run", Plan(built, suite, arms))


def test_a_run_belongs_to_one_set_seed_and_suite(tmp_path: Path, built: ItemSet) -> None:
    suite = suite_of()
    arms = [arm(looker(built), suite)]
    ask(tmp_path / "run", Plan(built, suite, arms))
    with pytest.raises(SnellenError, match="started with seed 0, not 1"):
        ask(tmp_path / "run", Plan(built, suite, arms, seed=1))
    with pytest.raises(SnellenError, match="started with content_hash"):
        ask(tmp_path / "run", Plan(colour_set(tmp_path / "other", 5), suite, arms))
    newer = replace(suite, card=suite.card.model_copy(update={"version": "2"}))
    with pytest.raises(SnellenError, match="built by version 1 of hard, this is 2; build it again"):
        ask(tmp_path / "new", Plan(built, newer, arms))
    other = replace(suite, card=suite.card.model_copy(update={"name": "soft"}))
    with pytest.raises(SnellenError, match="a set of suite 'hard', not 'soft'"):
        ask(tmp_path / "new", Plan(built, other, arms))
    assert len(read_responses(tmp_path / "run")) == 4


@dataclass(frozen=True)
class Dear(Base):
    """Every call costs 0.5 for input and 0.25 for output."""

    calls: list[str] = field(default_factory=list)
    tokens_out: int = 100
    is_down: bool = False
    most: list[int] = field(default_factory=lambda: [0, 0])
    """Calls under way, and the most at once."""

    async def answer(self, prompt: Prompt, media: MediaFolder, rng: np.random.Generator) -> Reply:
        self.calls.append(prompt.views[0].item_id)
        self.most[:] = self.most[0] + 1, max(self.most[1], self.most[0] + 1)
        # A tail of latencies: every fifth call ends after many others.
        for _ in range(200 if len(self.calls) % 5 == 0 else 3):
            await asyncio.sleep(0)
        self.most[0] -= 1
        if self.is_down:
            raise CallFailed("503 busy")
        return Reply("red", tokens_in=1000, tokens_out=self.tokens_out)


PRICES = {"price_in": "500", "price_out": "2500"}
"""The estimate of a call before any reply is 1003 tokens in and 50 out, 0.5015 + 0.125 = 0.6265."""


def dear(max_concurrency: int, tokens_out: int = 100, name: str = "chat:dear", *, is_down: bool = False) -> Dear:
    card = SubjectCard(name, attributes=PRICES, max_concurrency=max_concurrency)
    return Dear(card, tokens_out=tokens_out, is_down=is_down)


def test_the_budget_stops_a_run_and_a_larger_one_resumes_it(tmp_path: Path, built: ItemSet) -> None:
    suite, subject = suite_of(), dear(1)
    arms = [arm(subject, suite)]
    # 0.6265 does not fit into 0.6; then a further call of 0.75 has to fit
    for budget, so_far, cost in ((0.6, 0, 0.6265), (1.0, 1, 0.75), (1.0, 1, 0.75), (1.6, 2, 0.75), (2.2, 2, 0.75)):
        spent = f"{0.75 * so_far:.4f} is spent of a budget of {budget:.4f}, and the next call costs about {cost:.3f}"
        with pytest.raises(BudgetSpent, match=spent):
            ask(tmp_path / "run", Plan(built, suite, arms, budget=budget))
        assert len(subject.calls) == so_far
        assert [r.item_id for r in read_responses(tmp_path / "run")] == subject.calls, (
            "the recorded part can be reported"
        )
    assert len(ask(tmp_path / "run", Plan(built, suite, arms, budget=3.0))) == 4
    assert subject.calls == ["000", "001", "002", "003"], "nothing is paid twice"


def test_money_is_reserved_for_calls_under_way(tmp_path: Path) -> None:
    """A budget of 30 is enough for 40 calls of 0.75, and not for a 41st, however many are under way."""
    built, suite, subject = colour_set(tmp_path / "set", 60), suite_of(), dear(16)
    with pytest.raises(BudgetSpent, match=r"30\.0000 is spent of a budget of 30\.0000") as stop:
        ask(tmp_path / "run", Plan(built, suite, [arm(subject, suite)], budget=30.0))
    assert "costs about 0.7500; the same command with a larger budget continues" in str(stop.value)
    assert len(subject.calls) == len(list(read_exchanges(tmp_path / "run"))) == 40
    assert subject.most == [0, 16], "as many at once as allowed, and none under way at the end"
    assert cost_by_subject(tmp_path / "run") == {"chat:dear": 30.0}
    with pytest.raises(BudgetSpent, match=r"33\.0000 is spent of a budget of 33\.5000"):
        ask(tmp_path / "run", Plan(built, suite, [arm(subject, suite)], budget=33.5))
    assert len(subject.calls) == 44, "what the first command spent counts: 3.5 for calls of 0.75"
    other = dear(16, name="chat:other")
    with pytest.raises(BudgetSpent, match=r"33\.0000 is spent of a budget of 33\.5000"):
        ask(tmp_path / "run", Plan(built, suite, [arm(other, suite)], budget=33.5))
    assert other.calls == [], "and so does what other subjects spent in this folder"


def test_an_estimate_risks_a_tenth_of_the_budget(tmp_path: Path) -> None:
    """Replies cost 0.5 + 10 = 10.5 instead of 0.6265: 10 of 100 is risked by 15 calls, 9.3975 as estimated."""
    built, suite, subject = colour_set(tmp_path / "set", 60), suite_of(), dear(50, tokens_out=4000)
    with pytest.raises(BudgetSpent, match=r"157\.5000 is spent of a budget of 100\.0000"):
        ask(tmp_path / "run", Plan(built, suite, [arm(subject, suite)], budget=100.0))
    assert len(subject.calls) == 15, "one more would make 10.024"


def test_calls_without_a_reply_reserve_the_estimate(tmp_path: Path) -> None:
    """30 calls that all fail cost nothing; of 10, a tenth is enough for one at a time."""
    built, suite, subject = colour_set(tmp_path / "set", 30), suite_of(), dear(8, is_down=True)
    responses = ask(tmp_path / "run", Plan(built, suite, [arm(subject, suite)], budget=10.0))
    assert [r.status for r in responses] == ["failed"] * 30
    assert (len(subject.calls), subject.most) == (30, [0, 1])


def test_calls_of_subjects_without_prices_need_no_budget(tmp_path: Path, built: ItemSet) -> None:
    suite, free, local = (
        suite_of(),
        says("own:free", "red", attributes={"price_in": "0", "price_out": "0"}),
        looker(built),
    )
    assert len(ask(tmp_path / "run", Plan(built, suite, [arm(free, suite), arm(local, suite)], budget=0.0))) == 8
    assert cost_by_subject(tmp_path / "run") == {}


@pytest.mark.parametrize(("unread", "first"), [(1, 0), (2, 20), (12, 20)])
def test_unread_replies_are_announced_after_twenty(tmp_path: Path, unread: int, first: int) -> None:
    built, suite, lines = colour_set(tmp_path / "set", 60), suite_of(), list[str]()

    def reply(prompt: Prompt) -> str:
        return "hm" if int(prompt.views[0].item_id) < unread else "red"

    plan = Plan(built, suite, [arm(says("own:vague", reply, max_concurrency=1), suite)], notify=lines.append)
    responses = ask(tmp_path / "run", plan)
    expected = [f"own:vague, {responses[0].task}: {unread} of {first} replies cannot be read, such as 'hm'"]
    assert lines == (expected if first else [])
    lines.clear()
    sentences = unread_sentences([tmp_path / "run"], score(responses, built, suite), responses)
    assert sentences == (
        (
            "20 % of the replies of own:vague cannot be read and count as wrong; fix this before you "
            "compare scores. Such replies: “hm”.",
        )
        if unread == 12
        else ()
    )


def test_empty_replies_beside_reasoning_are_counted(tmp_path: Path) -> None:
    @dataclass(frozen=True)
    class Swallowed(Base):
        async def answer(self, prompt: Prompt, media: MediaFolder, rng: np.random.Generator) -> Reply:
            number = int(prompt.views[0].item_id)
            return Reply("" if number % 2 else "red", "It is red.", stop="length" if number == 1 else "end")

    built, suite = colour_set(tmp_path / "set", 8), suite_of()
    responses = ask(tmp_path / "run", Plan(built, suite, [arm(Swallowed(SubjectCard("own:swallowed")), suite)]))
    first, last = unread_sentences([tmp_path / "run"], score(responses, built, suite), responses)
    assert first.endswith("Such replies: (empty).")
    assert last.startswith("3 replies of own:swallowed are empty beside full reasoning: the server's reasoning parser")


@pytest.mark.parametrize("step", ["transform", "presenter", "sheet", "reply", "subject", "schedule"])
def test_a_bad_item_fails_alone_with_its_reason_and_is_asked_again(tmp_path: Path, built: ItemSet, step: str) -> None:
    broken, calls = [step], list[list[str]]()

    def check(current_step: str, *views: View) -> None:
        if [current_step] == broken and any(view.item_id == "001" for view in views):
            raise KeyError("lost")

    def transform(view: View, media: MediaFolder, rng: np.random.Generator) -> View:
        check("transform", view)
        return view

    def present(*views: View) -> tuple[Part, ...]:
        check("presenter", *views)
        return tuple(view.question for view in views)

    def present_sheet(views: tuple[View, ...]) -> tuple[Part, ...]:
        check("sheet", *views)
        return present(*views)

    class Later(OneByOne):
        def run(self, views: tuple[View, ...]) -> Dialogue:
            texts = yield from super().run(views)
            check("reply", *views)
            return texts

    def reply(prompt: Prompt) -> str:
        calls.append([view.item_id for view in prompt.views])
        check("subject", *prompt.views)
        return "red"

    def in_two(trials: Sequence[Trial]) -> Generator[tuple[Trial, ...], dict[str, float], None]:
        yield tuple(trials[:1])
        check("schedule", *trials[1].views)
        yield tuple(trials[1:])

    method = Sheet(4, present_sheet) if step == "sheet" else Later(present)
    suite = suite_of(transforms=lambda item, context: (transform,), method=lambda condition: method)
    schedule = in_two if step == "schedule" else all_trials
    arms = [arm(says("own:answers", reply), suite, schedule=schedule)]
    responses = ask(tmp_path / "run", Plan(built, suite, arms))
    failed = [response for response in responses if response.status == "failed"]
    assert sorted(r.item_id for r in failed) == (["001", "002", "003"] if step == "schedule" else ["001"])
    assert all(re.match(r"KeyError: 'lost' \(test_ask.py, line \d+\)", response.reason) for response in failed)
    assert len(responses) == 4
    assert step != "sheet" or calls == [["000", "002", "003"]]
    broken.clear()
    assert {response.status for response in ask(tmp_path / "run", Plan(built, suite, arms))} == {"ok"}


def test_a_task_s_own_schedule_waits_for_the_scores_of_each_batch(tmp_path: Path, built: ItemSet) -> None:
    """Also for a remote subject that is asked until decided: batches of other tasks would be under way together."""
    received = list[dict[str, float]]()

    def singly(trials: Sequence[Trial]) -> Generator[tuple[Trial, ...], dict[str, float], None]:
        for trial in trials:
            received.append((yield (trial,)))

    suite = suite_of(schedule=lambda items: singly)
    ask(tmp_path / "run", Plan(built, suite, [replace(arm(says("own:red", "red"), suite), decide="none")]))
    assert received == [{item.item_id: float(item.answer == "red")} for item in built.items]


def test_responses_are_in_order_whatever_the_order_of_arrival(tmp_path: Path, built: ItemSet) -> None:
    @dataclass(frozen=True)
    class Backwards(Base):
        """Answers the last call first if calls may overlap."""

        waiting: list[str] = field(default_factory=lambda: ["000", "001", "002", "003"])

        async def answer(self, prompt: Prompt, media: MediaFolder, rng: np.random.Generator) -> Reply:
            while self.card.max_concurrency > 1 and self.waiting[-1] != prompt.views[0].item_id:
                await asyncio.sleep(0)
            self.waiting.pop()
            return Reply(f"{rng.integers(10**9)}")

    suite = suite_of()
    backwards = Backwards(SubjectCard("own:backwards", max_concurrency=4))
    quick = Backwards(SubjectCard("own:backwards", max_concurrency=1), ["never"] * 12)
    first = ask(tmp_path / "a", Plan(built, suite, [arm(backwards, suite)]))
    assert [e.key.split("/")[3] for e in read_exchanges(tmp_path / "a")] == [
        r.calls[0].split("/")[3] for r in first[::-1]
    ]
    assert [r.item_id for r in first] == ["000", "001", "002", "003"]
    assert first == ask(tmp_path / "b", Plan(built, suite, [arm(quick, suite)])), (
        "random draws depend on the item and arm only"
    )
    assert len({r.text for r in first}) == 4
    other = ask(tmp_path / "c", Plan(built, suite, [arm(quick, suite, repeat=1)], seed=0))
    assert not {r.text for r in first} & {r.text for r in other}
    other = ask(tmp_path / "d", Plan(built, suite, [arm(quick, suite)], seed=1))
    assert not {r.text for r in first} & {r.text for r in other}


def test_a_condition_on_an_axis_that_a_task_lacks_is_not_asked(tmp_path: Path, built: ItemSet) -> None:
    plain, suite = suite_of().tasks["task"], suite_of(Axis("shots", (0, 1)))
    arms = [arm(looker(built), suite, "shots=1")]
    assert len(calls_of(tmp_path / "a", built, suite, arms)) == 4
    assert calls_of(tmp_path / "b", built, replace(suite, tasks={"task": plain}), arms) == []


def test_auto_is_resolved_by_the_subject_and_recorded_separately(tmp_path: Path, built: ItemSet) -> None:
    sizes: list[int | str] = []

    def resolve(condition: object, card: SubjectCard) -> dict[str, str]:
        return {"sheet": "single" if card.max_images == 1 else "separate"}

    axis = Axis("sheet", ("auto", "single", "separate"))

    def transforms(item: Item, context: ViewContext) -> tuple[Transform, ...]:
        sizes.append(context.condition["sheet"])
        return ()

    suite = suite_of(axis, resolve=resolve, transforms=transforms)
    arms = [arm(looker(built, "own:many"), suite), arm(looker(built, "own:one", max_images=1), suite)]
    responses = ask(tmp_path / "run", Plan(built, suite, arms))
    assert {r.condition for r in responses} == {"vanilla"}
    assert [a.columns for a in read_run_card(tmp_path / "run").arms] == [{"sheet": "separate"}, {"sheet": "single"}]
    assert set(sizes) == {"separate", "single"}


ODD = {
    "000": "<html><script>alert('1')</script>\n<b>red</b>",
    "001": "On and on. " * 100_000 + "The answer is green.",
    "002": "blue \ud800 and half a pair \udfff",
    "003": "red\x00\x1b[31m\u202e",
}


def test_odd_replies_survive_parts_tables_and_scoring(tmp_path: Path, built: ItemSet) -> None:
    suite, root = suite_of(), tmp_path / "run"
    arms = [arm(says("own:odd", lambda prompt: ODD[prompt.views[0].item_id]), suite)]
    collected = ask(root, Plan(built, suite, arms))
    assert [e.reply.text for e in read_exchanges(root) if e.reply] == list(ODD.values()), (
        "the parts record the replies unchanged"
    )
    assert calls_of(root, built, suite, arms) == []
    stored = read_responses(root)
    clean = {name: text.encode("utf-8", "backslashreplace").decode() for name, text in ODD.items()}
    assert (
        [r.text for r in stored]
        == list(clean.values())
        == pd.read_parquet(root / "exchanges.parquet")["text"].to_list()
    )
    scores = [score(responses, built, suite) for responses in (collected, stored)]
    assert scores[0]["value"].to_list() == scores[1]["value"].to_list() == [1, 1, 1, 1]
    write_scores(root, scores[0], "strict")
    pd.testing.assert_frame_equal(read_scores(root)["strict"], scores[1], check_dtype=False)
    assert value(tabulate(root, collected, built, suite), protocol="strict") == 1.0
    _refuse_damaged_scores(root, built, suite)


def _refuse_damaged_scores(root: Path, built: ItemSet, suite: Suite) -> None:
    """Damage that no checksum of Parquet covers: notes about the table, and columns and cells of another table."""
    path, arms = root / "scores.strict.parquet", read_run_card(root).arms
    assert has_scores(root)
    whole = pq.read_table(path)
    expected = own_scores(root, built, suite, arms)["strict"]
    pq.write_table(whole.replace_schema_metadata({"pandas": "{"}), path)
    pd.testing.assert_frame_equal(own_scores(root, built, suite, arms)["strict"], expected)
    for name in whole.column_names:
        pq.write_table(whole.drop_columns([name]), path)
        assert not has_scores(root)
        assert_refused(lambda: read_scores(root), name)
    columns = ("item_id", "task", "metric", "protocol", "outcome", "split", "truth", "prediction")
    messages = {name: f"{name} 'odd' does not belong to this run" for name in columns}
    for name, message in {**messages, "subject": "'odd' under", "condition": "under 'odd'"}.items():
        odd = pa.array(["odd"] * len(whole))
        pq.write_table(whole.set_column(whole.column_names.index(name), name, odd), path)
        assert_refused(lambda: own_scores(root, built, suite, arms), message)
    for name, cell in (("prediction", "{}"), ("prediction", "null"), ("prediction", "[true]"), ("truth", "[{}]")):
        pq.write_table(whole.set_column(whole.column_names.index(name), name, pa.array([cell] * len(whole))), path)
        assert_refused(lambda: own_scores(root, built, suite, arms), f"{name} {cell!r} does not belong to this run")
    outside = pa.array([14.0] * len(whole))
    pq.write_table(whole.set_column(whole.column_names.index("value"), "value", outside), path)
    assert_refused(lambda: own_scores(root, built, suite, arms), "outside of 0 to 1, does not belong to this run")
    for name in ("value", "repeat", "task", "chance"):
        kind = pa.int64() if name == "task" else pa.string()
        pq.write_table(whole.set_column(whole.column_names.index(name), name, pa.nulls(len(whole), kind)), path)
        assert_refused(lambda: read_scores(root), f"{name} has cells of another type")
    for name in ("form", "condition", "item_id", "truth"):
        texts = whole[name].to_pylist()
        for column in (
            whole[name].dictionary_encode(),
            pa.array([t.encode() for t in texts]),
            pa.array([[t] for t in texts]),
        ):
            pq.write_table(whole.set_column(whole.column_names.index(name), name, column), path)
            assert_refused(lambda: read_scores(root), f"{name} has cells of another type")


def test_odd_replies_may_be_sent_on(tmp_path: Path, built: ItemSet) -> None:
    """A reply becomes part of the next prompt, and of `sent.parquet`."""

    def parts(view: View, description: str = "") -> tuple[Part, ...]:
        return (*view.query, description)

    suite = suite_of(method=lambda c: PerceiveThenClassify(parts, parts, "Describe it."))
    arms = [arm(says("own:odd", lambda prompt: ODD[prompt.views[0].item_id]), suite)]
    first = ask(tmp_path / "run", Plan(built, suite, arms))
    assert calls_of(tmp_path / "run", built, suite, arms) == []
    assert [r.text for r in first] == list(ODD.values())
    assert len(pd.read_parquet(tmp_path / "run" / "sent.parquet")) == 8


def test_an_error_without_a_message_has_a_name(tmp_path: Path, built: ItemSet) -> None:
    def speechless(prompt: Prompt) -> str:
        raise CallFailed

    suite = suite_of()
    (first, *_) = ask(tmp_path / "run", Plan(built, suite, [arm(says("own:mute", speechless), suite)]))
    assert (first.status, first.reason) == ("failed", "CallFailed")
    (row, *_) = score([first], built, suite).to_dict("records")
    assert (row["outcome"], math.isnan(row["value"]), row["prediction"]) == ("failed", True, "null")


def test_an_unknown_protocol_is_refused_with_the_nearest(tmp_path: Path, built: ItemSet) -> None:
    suite = suite_of()
    responses = ask(tmp_path / "run", Plan(built, suite, [arm(looker(built), suite)]))
    with pytest.raises(SnellenError, match="no protocol 'publish' for task; did you mean 'published'"):
        score(responses, built, suite, "publish")
    with pytest.raises(SnellenError, match="has no scores; run `snellen score"):
        read_scores(tmp_path / "run")


def test_an_altered_image_stops_the_run_when_opened(tmp_path: Path, built: ItemSet) -> None:
    @dataclass(frozen=True)
    class Opens(Base):
        async def answer(self, prompt: Prompt, media: MediaFolder, rng: np.random.Generator) -> Reply:
            media.open(prompt.views[0].query[0])
            return Reply("red")

    (image,) = built.items[1].query
    fresh: Subject = Opens(SubjectCard("own:opens", max_concurrency=1))
    (built.root / "media" / image.path).write_bytes(b"?")
    suite = suite_of()
    unread = replace(built, media=MediaFolder(built.root / "media"))
    with pytest.raises(SnellenError, match="altered"):
        ask(tmp_path / "run", Plan(unread, suite, [arm(fresh, suite)]))


def test_a_resumed_run_keeps_the_prompts_as_sent(tmp_path: Path, built: ItemSet) -> None:
    def paired(view: View) -> tuple[Part, ...]:
        return (Montage((*view.query, *view.query), 2), view.question)

    suite, root = suite_of(method=lambda condition: OneByOne(paired)), tmp_path / "run"
    arms = [arm(says("own:red", "red"), suite)]
    ask(root, Plan(built, suite, arms))
    first = pd.read_parquet(root / "sent.parquet")
    assert not first["parts"].str.contains("montage").any()
    assert first["parts"].str.contains(".png").all()
    (root / "sent.parquet").unlink()
    (root / "responses.parquet").unlink()  # as if killed just before the tables
    assert calls_of(root, built, suite, arms) == []
    assert pd.read_parquet(root / "sent.parquet").equals(first)


def test_progress_ends_at_its_total(tmp_path: Path) -> None:
    """Two arms of four items each: the count ends at the number of items on the card, for every method."""
    built, suite = colour_set(tmp_path / "set"), suite_of()
    arms = [arm(looker(built, name), suite) for name in ("own:one", "own:two")]
    counts: list[int] = []
    plan = Plan(built, suite, arms, count_items=counts.append)
    ask(tmp_path / "run", plan)
    assert sum(counts) == 8 == sum(sum(card.test_items.values()) for card in run_card(plan).arms)
