"""From replies to scores under `strict` and `published`, and the wordings of the prompts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import pytest

from snellen.analysis.grading.results import results
from snellen.core.item import Item, Media, Option, ReplySpec
from snellen.core.response import Response
from snellen.core.storage.itemset import write_itemset
from snellen.runs.scores.score import score
from snellen.scoring.answers import read_answer
from snellen.suites.vfm_bench import prompts
from snellen.suites.vfm_bench.scoring import PROTOCOLS, read_named
from tests.helpers.journey import suite_of, task

NAMES = {"c0": "good", "c1": "crack", "c2": "not_good"}
SPEC = ReplySpec("choice", tuple((name, key) for key, name in NAMES.items()))


@pytest.mark.parametrize(
    ("reply", "named", "chosen"),
    [
        ("crack", ("c1",), "c1"),
        ("Crack", (), "c1"),
        ("not_good", ("c0", "c2"), "c2"),
        ("good or crack, I cannot tell", ("c0", "c1"), None),
        ("It is not a crack.", ("c1",), None),
        ("", (), None),
        ("bent", (), None),
        ("1. I see a crack. 4. <answer> good <answer>", ("c0",), "c0"),
        ("<answer> xxxx <answer> is the form: <answer>good<answer>", (), "c0"),
        ("<answer>good</answer> though a crack shows", ("c0", "c1"), "c0"),
        ("<think>a crack?</think>good", ("c0",), "c0"),
        ("a crack</thinking> no <thinking>crack</thinking> good", ("c0",), "c0"),
        ("A crack shows.\n### Final Answer\ngood", ("c0",), "c0"),
        ("An error in the weave, <answer> crack <answer>", None, "c1"),
        ("Error in reference, ConnectionError", None, None),
        ("There is an error in the weave. Final Answer: crack", ("c1",), "c1"),
        ("Please provide the image.", None, None),
        ("I provide: <answer>crack<answer>", ("c1",), "c1"),
        ("The terrorbird; crack", None, "c1"),
    ],
)
def test_the_released_scorer_and_our_parser_read_replies(
    reply: str, named: tuple[str, ...] | None, chosen: str | None
) -> None:
    assert read_named(reply, SPEC) == named
    assert read_answer(reply, SPEC) == chosen


def test_the_names_shown_are_read_not_the_names_of_the_class() -> None:
    spec = ReplySpec("choice", (("xwnee", "c0"), ("qinhw", "c1")))
    assert read_named("good crack qinhw", spec) == ("c1",)
    with_letter = ReplySpec("choice", (("xwnee", "c0"), ("A", "c0"), ("qinhw", "c1")))
    assert read_named("A", with_letter) == (), "only the name itself counts, not other names of the class"


def item(item_id: str, answer: str, names: Sequence[str]) -> Item:
    image = Media("0" * 64, "image", "png", 8, 6)
    options = tuple(Option(f"c{n}", name) for n, name in enumerate(names))
    fields = {"stimulus_id": item_id, "group_id": item_id, "cluster_id": item_id, "options": options}
    return Item(item_id, "hard", "task", "?", (image,), answer, "choice", **fields)  # type: ignore[arg-type]


def test_from_replies_to_results(tmp_path: Path) -> None:
    replies = [
        ("c1", "crack"), ("c1", "good, crack"), ("c0", "not_good"), ("c0", "an error"), ("c2", "bent"), ("c2", ""),
    ]  # fmt: skip
    items = [
        item(f"{n}", answer, ["good", "crack", "not_good"][: 2 if n == 0 else 3])
        for n, (answer, _) in enumerate(replies)
    ]
    responses = [
        Response(
            f"r{item.item_id}", "own:x", "f", item.item_id, "task", "vanilla", 0, "ok", text, "", item.view().reply, ()
        )
        for item, (_, text) in zip(items, replies, strict=True)
    ]
    built = write_itemset(tmp_path, items, source="released", recipe={})
    suite = suite_of(tasks=[task(protocols=PROTOCOLS)])
    tables = pd.concat([results(score(responses, built, suite, name), built, suite, []) for name in PROTOCOLS])
    rows = tables.set_index("protocol")
    # strict: only the first is read and right; two names, an error, another word and an empty reply are no answers.
    assert rows.loc["strict", "value"] == pytest.approx(1 / 6)
    assert rows.loc["strict", "no_answer_rate"] == pytest.approx(4 / 6)
    # published: the first three name the true class, the fourth is left out, the last two are wrong.
    assert rows.loc["published", "value"] == pytest.approx(3 / 5)
    assert (rows.loc["strict", "n"], rows.loc["published", "n"]) == (6, 5)
    # The random policy: one over the number of classes, item by item.
    assert rows.loc["strict", "chance"] == pytest.approx((1 / 2 + 5 * 1 / 3) / 6)
    assert rows.loc["published", "chance"] == pytest.approx((1 / 2 + 4 * 1 / 3) / 5)


def test_the_instruction_is_exactly_the_released_one() -> None:
    head = prompts.head("Manufacture", "bottleDefeatIdentification", "detail")
    definition = prompts.DEFINITIONS["detail"]
    assert prompts.instruction(head, ["good", "crack"]) == (
        "## Role\n You are an expert in Manufacture industry and ready for the task of bottleDefeatIdentification. You "
        f"should look carefully the Detail level information, noted as {definition}. \n ## Task \n You task is "
        "obsearving the image and determine whether it could be classified as one of the candidate categorie . The "
        "potential categories are ['good', 'crack'], \n##Constrain\n Just give me the final aswer and no other explain"
    )
    assert "good" not in head, "candidates are written when shown, since names may change"
    assert prompts.instruction(head, ["a"], prompts.COT, "- a: one").endswith(f", \n- a: one\n{prompts.COT}")
    assert prompts.COT.endswith("4. write your answer following <answer> xxxx <answer> format.")
    assert "expert in visual inspection industry" in prompts.head("Generated", "x", "style")
    with pytest.raises(KeyError):
        prompts.head("Medical", "x", "taste")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("- good: whole\n- crack: a line", {"good": "whole", "crack": "a line"}),
        (
            "1. **crack:** a line\n   through it\n2. **good** - whole\nNow answer.",
            {"good": "whole", "crack": "a line through it"},
        ),
        ("good: whole\n\ncrack: a line\n# End", {"good": "whole", "crack": "a line"}),
        ("- good: whole", None),
        ("- good: whole\n- crack:", None),
        ("- good: whole\n- crack: a line\n- good: again", None),
        ("- very good: whole\n- crack: a line", None),
        ("", None),
    ],
)  # fmt: skip
def test_descriptions_are_split_for_all_classes_or_not_at_all(text: str, expected: dict[str, str] | None) -> None:
    assert prompts.split_descriptions(text, ["good", "crack"]) == expected


def test_names_with_any_characters_are_split() -> None:
    names = ["a+b (1)", "a+b", "[x]"]
    lines = prompts.DESCRIPTIONS.format(lines="\n".join(f"- {name}: of {name}" for name in names))
    assert prompts.split_descriptions(lines, names) == {name: f"of {name}" for name in names}
