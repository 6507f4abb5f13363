"""Several studies, and people with unequal forms: whose score is a ceiling, what a page's time is, who agrees."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from snellen.analysis.studies import people_tables
from snellen.analysis.studies.people import _study_arms, ceiling_source, with_people_as_ceilings
from snellen.analysis.tables.run_view import lines_of
from snellen.analysis.tables.section import Run
from snellen.core.storage.runfolder import ArmCard
from tests.helpers.guard import run_of
from tests.reports.exam import write_items

KEYS = ("task", "condition", "split", "protocol", "judge", "metric", "factor", "level")
PEOPLE = ("human:x/p1", "human:x/p2", "human:x/p3")


def arm(subject: str, **cells: Any) -> ArmCard:
    usual: dict[str, Any] = {"fingerprint": subject, "settings": {}, "attributes": {}, "condition": "vanilla",
                             "columns": {}, "repeat": 0, "role": "person"}  # fmt: skip
    return ArmCard(subject=subject, **usual | cells)


def test_the_study_with_most_answers_is_the_ceiling_of_its_row_alone() -> None:
    sizes = {"human:a": (10, 0.7), "human:b": (30, 0.9), "human:c": (20, 0.8), "chat:m": (99, 0.4)}
    usual = dict.fromkeys(KEYS, "") | {"condition": "vanilla", "ceiling": 0.5}
    rows = [{**usual, "subject": name, "role": "person" if name[0] == "h" else "model", "n": n, "value": value}
            for name, (n, value) in sizes.items()]  # fmt: skip
    others = [{**rows[-1], name: "other"} for name in KEYS]
    arms = [arm("human:a"), arm("human:b"), arm("human:b", repeat=1), arm("human:c")]
    own, card = SimpleNamespace(card=SimpleNamespace(source="own")), SimpleNamespace(arms=arms)
    run: Any = SimpleNamespace(card=card, results=pd.DataFrame(rows), items=own, _memo={})
    rows_of_all = with_people_as_ceilings(pd.DataFrame([*rows, *others]), run)
    *_, model = ceilings = rows_of_all["ceiling"].tolist()[:4]
    assert (model, [math.isnan(ceiling) for ceiling in ceilings]) == (0.9, [True] * 3 + [False])
    assert rows_of_all["ceiling"].tolist()[4:] == [0.5] * 8, (
        "of another task, condition, split, protocol, judge, and so on"
    )
    assert [ceiling_source(run, row) for row in list(lines_of(rows_of_all))[3:5]] == ["2 people of b", ""]
    alone: Any = SimpleNamespace(card=card, results=pd.DataFrame(rows[:1]), items=own, _memo={})
    (model,) = lines_of(with_people_as_ceilings(pd.DataFrame(rows[-1:]), alone))
    assert ceiling_source(alone, model) == "1 person of a"


def test_the_card_of_a_study_has_what_all_of_its_people_have_in_common() -> None:
    settings: list[dict[str, Any]] = [{"form": 1, "page": n, **({"own": 2} if n else {})} for n in range(3)]
    attributes = [{"words": "shared", "questions": str(n)} for n in range(3)]
    of_people = zip(PEOPLE, settings, attributes, strict=True)
    people = [arm(name, settings=chosen, attributes=about) for name, chosen, about in of_people]
    cards = _study_arms(people, {person.arm_key: n for n, person in enumerate(people)})
    assert [(card.subject, card.repeat, card.settings, card.attributes) for card in cards] == [
        ("human:x", n, {"form": 1}, {"words": "shared"}) for n in range(3)
    ]
    assert len({card.fingerprint for card in cards}) == 1


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Three people on four items of naming: the second is asked three of them, the third two."""
    items = write_items(tmp_path / "items", 4, tasks=("naming",))
    right = run_of(items, lambda item: 1.0, tasks=("naming",))
    scores = right.scores["strict"]
    answers: list[list[str]] = [["a", "a", "null", "b"], ["a", "a", "b"], ["a", "b"]]
    parts = [scores[: len(given)].assign(subject=name, prediction=given, value=[float(x == "a") for x in given])
             for name, given in zip(PEOPLE, answers, strict=True)]  # fmt: skip
    rows = pd.concat(parts)
    rows["outcome"] = rows["prediction"].map(lambda text: "no_answer" if text == "null" else "answered")
    arms = [arm(name, attributes={"questions": "4"}) for name in PEOPLE]
    return replace(right, card=right.card.model_copy(update={"arms": arms}), scores={"strict": rows})


def test_agreement_is_over_items_of_several_people_and_unread_replies_are_an_answer(run: Run) -> None:
    """Pairs: 3 of 3, 1 of 3, 0 of 1; one person alone does not count. Two items have the usual three answers."""
    rows = run.scores["strict"]
    blind = rows.assign(condition="images=none", prediction="c")
    both = replace(run, scores={"strict": pd.concat([blind, rows])})
    alike = people_tables.agreement(both, "naming", "x", "vanilla")
    assert alike.share == pytest.approx((1 + 1 / 3 + 0) / 3)
    assert (alike.items, alike.rated, alike.raters) == (3, 2, 3)


def test_the_time_of_a_page_is_divided_among_its_items(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = [("p",), ("p",), ("q", "r"), ()]
    ids = run.scores["strict"]["item_id"].tolist()[:4]
    key = PEOPLE[0], "vanilla", 0
    replies: Any = [SimpleNamespace(subject=PEOPLE[0], arm_key=key, item_id=name, calls=of_item)
                    for name, of_item in zip(ids, calls, strict=True)]  # fmt: skip
    monkeypatch.setattr(people_tables, "_seconds", lambda run: {"p": 6.0, "q": 1.0, "r": 4.0})
    answers = people_tables.person_answers(replace(run, responses=replies))
    first = answers[answers["subject"] == PEOPLE[0]]
    assert first["seconds"].tolist()[:3] == [3.0, 3.0, 5.0]
    assert first["page"].tolist() == ["p", "p", "q", ""]
    assert (len(answers), answers["seconds"].isna().sum()) == (9, 6)
