"""The ledger: counts, first examples, and their lines on a card."""

from __future__ import annotations

from snellen.curation.ledger import ANY_SOURCE, Ledger


def test_notes_count_all_and_name_the_first_three() -> None:
    ledger = Ledger()
    for n in range(4):
        ledger.drop("items", ANY_SOURCE, "too dark", f"i{n}")
    ledger.drop("items", ANY_SOURCE, "too small", "i9")
    assert ledger.notes("items") == ["4 items left out, too dark: i0, i1, i2, …", "1 items left out, too small: i9"]
    ledger.keep("items", ANY_SOURCE, 5)
    assert ledger.task_note("items", "pairs") == (
        "items: 5 of 10 pairs kept; 4 dropped, too dark (i0, i1, i2, …); 1 dropped, too small (i9)"
    )
    assert ledger.task_note("others", "pairs") == "others: 0 of 0 pairs kept"


def test_the_card_lists_notes_by_task_and_source() -> None:
    ledger = Ledger()
    ledger.drop("colour", "LVIS", "too small", "a", 7)
    ledger.keep("colour", "LVIS")
    rules = {"too small": {"count": 7, "examples": ["a"]}}
    assert ledger.as_card() == {"colour": {"LVIS": {"kept": 1, "dropped": rules}}}
    assert ledger.table()["count"].tolist() == [1, 7]
