"""A guess without looking learns from other clusters only."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from snellen.analysis.blind import guesses_by_folds
from snellen.core.storage.media import MediaFolder
from tests.reports.exam import SUITE, Album, naming


def test_a_guess_is_the_most_frequent_answer_of_other_clusters(tmp_path: Path) -> None:
    """All answers except those of one cluster are the first option, so that it is guessed everywhere, there too."""
    items = naming(Album(MediaFolder(tmp_path), 0), 16)
    odd = items[0].cluster_id
    items = [replace(item, answer="o3" if item.cluster_id == odd else "o0") for item in items]
    guesses = guesses_by_folds(items, SUITE)
    assert set(guesses) == {item.item_id for item in items}
    assert set(guesses.values()) == {"o0"}


def test_a_single_cluster_gives_no_guess_for_itself(tmp_path: Path) -> None:
    items = [replace(item, cluster_id="c") for item in naming(Album(MediaFolder(tmp_path), 0), 4)]
    assert guesses_by_folds(items, SUITE) == {}
