"""Claims of a card about its evidence."""

from __future__ import annotations

import pytest

from snellen.curated_sets.datasets.evidence import Evidence, Verification, github, listing, loader, verification_fault
from snellen.curated_sets.datasets.folders import layout_notes

PAGE = listing("https://example.org/data/readme.txt", "Names the folders.")
CODE = loader(github("someone/code", "read.py", "abc"), "Reads them.")
FORK = loader(github("someone/code", "other.py"), "Reads them too.")
OTHER = loader(github("another/code", "read.py"), "Reads them as well.")


@pytest.mark.parametrize(
    ("verified", "evidence", "caveat", "fault"),
    [
        ("listing", (PAGE,), "", ""),
        ("listing", (CODE, OTHER), "", "but none is given"),  # loaders do not count as a listing, however many
        ("loaders", (CODE, OTHER), "", ""),
        ("loaders", (CODE, FORK), "", "from 1 publishers"),  # two files of one repository are one source
        ("loaders", (PAGE, CODE), "", "from 1 publishers"),  # the publisher does not count as a loader
        ("assumed", (), "no page", ""),
        ("assumed", (CODE,), "", "no reason"),
    ],
)
def test_a_claim_needs_its_evidence(
    verified: Verification, evidence: tuple[Evidence, ...], caveat: str, fault: str
) -> None:
    message = verification_fault(verified, evidence, caveat)
    assert fault in message if fault else not message


@pytest.mark.parametrize(
    ("url", "publisher"),
    [
        (github("owner/name", "a/b.py", "0123"), "github.com/owner/name"),
        ("https://huggingface.co/datasets/owner/name/tree/main", "huggingface.co/owner/name"),
        ("https://www.example.org/owner/name", "www.example.org"),
    ],
)
def test_publisher(url: str, publisher: str) -> None:
    assert Evidence("loader", url, "").publisher == publisher


def test_an_item_set_names_its_sources_by_their_evidence() -> None:
    assert layout_notes(["VisA", "ISP-AD", "somebody's own", "MVTec-AD", "ITD"]) == [
        "layout by its publisher's listing: VisA, ITD",
        "layout as read by two or more public loaders: MVTec-AD",
        "layout assumed: ISP-AD",
    ]
    assert layout_notes([]) == []
