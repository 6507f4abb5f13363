"""Printed numbers of the papers: no mismatch is unexplained, docs/fidelity.md is current, and a slip is caught."""

from __future__ import annotations

from collections.abc import MutableMapping
from dataclasses import replace
from typing import Any

import pytest

from snellen.suites import SUITES
from snellen.suites.ava_bench.published import TABLE_5 as AVA_TABLE_5
from snellen.suites.combo.published import TABLE_2 as COMBO_TABLE_2
from snellen.suites.vfm_bench.published import TABLE_1 as VFM_TABLE_1
from snellen.suites.vfm_bench.published import TABLE_8 as VFM_TABLE_8
from snellen.suites.vlm2_bench.published import TABLE_1 as VLM2_TABLE_1
from tests.published.ava_bench import TABLE_2 as AVA_TABLE_2
from tests.published.derived import DerivedNumber, PrintedNumber, verdict_counts
from tests.published.page import COMMAND, NUMBERS, PAGE, page_text, printed, recomputed, title


def numbers_of(name: str) -> list[PrintedNumber]:
    return list(NUMBERS[name]())


def unexplained(name: str) -> list[str]:
    return [
        f"{number.source}: {number.statement}, {number.subject}"
        for number in numbers_of(name)
        if isinstance(number, DerivedNumber) and number.verdict == "unexplained mismatch"
    ]


def test_every_suite_with_printed_numbers_states_which_of_them_follow() -> None:
    assert [name for name in SUITES if SUITES.get(name).published] == list(NUMBERS)


def test_the_page_is_current() -> None:
    assert PAGE.read_text("utf-8") == page_text(), COMMAND


def test_counts_of_verdicts() -> None:
    assert {name: list(verdict_counts(numbers_of(name)).values()) for name in NUMBERS} == {
        "combo": [14, 4, 0, 58],
        "vlm2-bench": [170, 26, 0, 119],
        "vfm-bench": [86, 11, 0, 190],
        "ava-bench": [187, 29, 0, 181],
    }


@pytest.mark.parametrize("name", NUMBERS)
def test_every_mismatch_has_a_reason_and_every_reason_is_needed(name: str) -> None:
    assert unexplained(name) == []
    derived = [number for number in numbers_of(name) if isinstance(number, DerivedNumber)]
    assert [number for number in derived if number.verdict == "match" and number.known_reason] == []
    keys = [(number.source, number.statement, number.subject) for number in derived]
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize("name", NUMBERS)
def test_any_altered_number_that_follows_is_caught(name: str) -> None:
    """One unit of the last digit more (or twice the number's own tolerance), or a bound that is just missed."""
    for number in numbers_of(name):
        if isinstance(number, DerivedNumber) and number.verdict == "match":
            step = 10.0**-number.decimals if number.tolerance is None else 2 * number.tolerance + 1
            other = number.recomputed if number.relation != "=" else number.printed + 2 * step
            assert replace(number, printed=other).verdict == "unexplained mismatch", number


def test_a_slip_in_a_table_is_unexplained(monkeypatch: pytest.MonkeyPatch) -> None:
    """For an average: itself, its distance from people, and the four places that repeat that distance."""
    monkeypatch.setitem(VLM2_TABLE_1, "GPT-4o", VLM2_TABLE_1["GPT-4o"]._replace(average=60.63))
    assert page_text().count("| UNEXPLAINED |") == 6
    assert set(unexplained("vlm2-bench")) == {
        "Table 1: Average: mean of all nine columns, GPT-4o",
        "Table 1: Distance from people: difference of averages, GPT-4o",
        *(
            f"text: GPT-4o behind people (points), {section}"
            for section in ("abstract", "introduction", "finding I", "conclusion")
        ),
    }


def changed(cells: tuple[Any, ...], n: int, step: float) -> tuple[Any, ...]:
    return (*cells[:n], cells[n] + step, *cells[n + 1 :])


def caught(name: str, table: MutableMapping[str, Any], key: str, row: Any) -> bool:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(table, key, row)
        return bool(unexplained(name))


def test_a_slip_in_any_cell_of_a_source_table_is_caught() -> None:
    """A slip of a tenth of a point, one rank, a hundred questions, or one in a count."""
    for key, row in VLM2_TABLE_1.items():
        for n in range(len(row.scores)):
            other = row._replace(scores=changed(row.scores, n, 0.1))
            assert caught("vlm2-bench", VLM2_TABLE_1, key, other), (key, n)
    for key, tower in AVA_TABLE_5.items():
        for n in range(len(tower.ranks)):
            other_ranks = tower._replace(ranks=changed(tower.ranks, n, 1))
            assert (key, n) in WRONG or caught("ava-bench", AVA_TABLE_5, key, other_ranks), (key, n)
    for key, counts in AVA_TABLE_2.items():
        for n in range(2):
            assert caught("ava-bench", AVA_TABLE_2, key, changed(counts, n, 100)), (key, n)
    for key, industry in VFM_TABLE_8.items():
        for n in range(4):
            other_industry = type(industry)(*changed(tuple(industry), n, 1))
            assert (key, n) in WRONG or caught("vfm-bench", VFM_TABLE_8, key, other_industry), (key, n)


WRONG = (("AIMv2", 2), ("RADIOv2.1", 2), ("SigLIP-2", 9), ("InternVL-2.5", 9), ("Medical", 3))
"""Cells that do not follow anyway, by a tie or a slip of the paper: only the page guards them."""


@pytest.mark.parametrize("name", NUMBERS)
def test_a_number_that_never_followed_is_guarded_by_the_page(name: str) -> None:
    page = PAGE.read_text("utf-8")
    wrong = [number for number in numbers_of(name) if isinstance(number, DerivedNumber) and number.verdict != "match"]
    assert wrong
    for number in wrong:
        assert f"| {title(number)} | {printed(number)} | {recomputed(number)} | {number.known_reason} |" in page


def test_slips_in_accuracies_and_claims_are_caught() -> None:
    curve = {**VFM_TABLE_1["GPT-4o"].curve, 1: 0.43}
    assert caught("vfm-bench", VFM_TABLE_1, "GPT-4o", VFM_TABLE_1["GPT-4o"]._replace(curve=curve))
    gemini = (*COMBO_TABLE_2["Gemini-1.5-Pro"][:-1], 43.0)
    assert caught("combo", COMBO_TABLE_2, "Gemini-1.5-Pro", gemini), "no longer the best in contact points"
