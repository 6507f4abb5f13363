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


def test_tasks_sources_and_rules_are_counted_apart_and_joined_by_rule() -> None:
    ledger = Ledger()
    for task, source, rule, example, count in [
        ("colour", "LVIS", "too small", "a", 2), ("colour", "COCO", "too small", "b", 3),
        ("count", "COCO", "dark", "c", 1), ("colour", "COCO", "too small", "d", 4), ("colour", "COCO", "dark", "e", 1),
    ]:  # fmt: skip
        ledger.drop(task, source, rule, example, count)
    for task, source, count in (
        ("colour", "COCO", 5),
        ("shape", "LVIS", 6),
        ("colour", "COCO", 1),
        ("colour", "LVIS", 2),
    ):
        ledger.keep(task, source, count)
    assert ledger.notes("images") == ["9 images left out, too small: a, b, d, …", "2 images left out, dark: c, e"]
    assert ledger.task_note("colour", "images") == (
        "colour: 8 of 18 images kept; 9 dropped, too small (a, b, d, …); 1 dropped, dark (e)"
    )
    assert ledger.as_card() == {
        "colour": {
            "COCO": {"kept": 6, "dropped": {
                "dark": {"count": 1, "examples": ["e"]}, "too small": {"count": 7, "examples": ["b", "d"]}
            }},
            "LVIS": {"kept": 2, "dropped": {"too small": {"count": 2, "examples": ["a"]}}},
        },
        "count": {"COCO": {"kept": 0, "dropped": {"dark": {"count": 1, "examples": ["c"]}}}},
        "shape": {"LVIS": {"kept": 6, "dropped": {}}},
    }  # fmt: skip
    assert ledger.table().to_numpy().tolist() == [
        ["colour", "COCO", "dark", 1, "e"], ["colour", "COCO", "kept", 6, ""],
        ["colour", "COCO", "too small", 7, "b; d"], ["colour", "LVIS", "kept", 2, ""],
        ["colour", "LVIS", "too small", 2, "a"], ["count", "COCO", "dark", 1, "c"], ["shape", "LVIS", "kept", 6, ""],
    ]  # fmt: skip
