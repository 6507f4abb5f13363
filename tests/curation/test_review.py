"""Reviews by people: a CSV that is read unambiguously, or refused by file and line."""

from __future__ import annotations

from pathlib import Path

import pytest

from snellen.core.errors import SnellenError
from snellen.core.storage.itemset import ItemSet
from snellen.curation.review import read_lines, read_review
from tests.helpers.journey import colour_set


@pytest.fixture
def built(tmp_path: Path) -> ItemSet:
    return colour_set(tmp_path / "set")


def test_a_review_is_a_csv_with_four_columns(tmp_path: Path, built: ItemSet) -> None:
    path = tmp_path / "review.csv"
    path.write_bytes(
        b'\xef\xbb\xbfitem_id,decision,author,reason\r\n000,keep,Ann,\r\n001,drop,Bob,"blurred, too dark"\r\n'
    )
    read = read_review(path, built).table("screening")
    assert read.author == "Ann, Bob"
    assert read.about == built.card.content_hash
    assert read.rows["001"] == {"decision": "drop", "author": "Bob", "reason": "blurred, too dark"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("item_id,decision,author\n000,keep,Ann\n", "line 2: no reason"),
        ("item_id,decision,author,reason\n000,keep,Ann,\n001,keep\n", "line 3: no author"),
        ("item_id,decision,author,reason\n000,keep,Ann,\n000,drop,Bob,\n", "line 3: item '000' is decided twice"),
        ("item_id,decision,author,reason\n9,keep,Ann,\n", "item '9' is not in"),
    ],
)
def test_a_bad_review_is_named_by_file_and_line(tmp_path: Path, built: ItemSet, text: str, message: str) -> None:
    path = tmp_path / "review.csv"
    path.write_text(text)
    with pytest.raises(SnellenError) as caught:
        read_review(path, built)
    assert str(caught.value).startswith(f"{path}")
    assert message in str(caught.value)


def test_short_lines_are_not_filled(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("item_id,decision" + "," * 1000 + "\n\na\nb,keep\n")
    assert read_lines(tmp_path / "a.csv") == [{"item_id": "a"}, {"item_id": "b", "decision": "keep"}]


def test_a_review_that_is_not_text_is_refused(tmp_path: Path, built: ItemSet) -> None:
    (tmp_path / "review.csv").write_bytes(b"item_id,\xff\n")
    with pytest.raises(SnellenError, match="not a readable CSV"):
        read_review(tmp_path / "review.csv", built)
    with pytest.raises(SnellenError, match="not a readable CSV"):
        read_review(tmp_path / "none.csv", built)
