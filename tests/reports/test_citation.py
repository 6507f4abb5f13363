"""Citations: BibTeX of every suite's paper, and methods paragraphs whose numbers are those of the run."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from snellen.core.build_options import BuildOptions
from snellen.core.storage.run_digest import write_digest
from snellen.exam.run import run
from snellen.exam.sealing import build_sealed, make_seal
from snellen.reports import write_report
from snellen.reports.citation import citation, methods_paragraph, paper_entry
from snellen.reports.loading import gather, load_run
from snellen.subjects.from_callable import wrap
from snellen.suites import SUITES

EXPECTED = {
    "ava-bench": (
        "mai2025avabench",
        "misc",
        {
            "title": "{AVA-Bench}: Atomic Visual Ability Benchmark for Vision Foundation Models",
            "author": "Mai and others",
            "year": "2025",
            "eprint": "2506.09082",
            "archiveprefix": "arXiv",
        },
    ),
    "combo": (
        "fu2024combo",
        "misc",
        {
            "title": "Blocks as Probes: Dissecting Categorization Ability of Large Multimodal Models",
            "author": "Fu and Wan and Li and Wang and Chen",
            "year": "2024",
        },
    ),
    "vfm-bench": (
        "vfmbench",
        "misc",
        {
            "title": "Benchmarking Visual Fast Mapping: Probing {VLMs}' Test-Time Image-Text Alignment",
            "note": "anonymous, under review",
        },
    ),
    "vlm2-bench": (
        "zhang2025vlm2bench",
        "inproceedings",
        {
            "title": "{VLM}$^2$-Bench: A Closer Look at How Well {VLMs} Implicitly Link Explicit Matching Visual Cues",
            "author": "Zhang and Yao and Pi and Liang and Fung",
            "booktitle": "ACL",
            "year": "2025",
        },
    ),
}


def parsed(entry: str) -> tuple[str, str, dict[str, str]]:
    """(key, kind, fields) of an entry, read independently of how it is written; braces must match."""
    head = re.match(r"@(\w+)\{(\w+),\n", entry)
    assert head is not None
    assert entry.count("{") == entry.count("}")
    return head[2], head[1], dict(re.findall(r"^  (\w+) = \{(.*)\},$", entry, re.MULTILINE))


@pytest.mark.parametrize("suite", EXPECTED)
def test_the_entry_of_a_paper_has_the_parts_of_its_reference(suite: str) -> None:
    key, entry = paper_entry(SUITES.get(suite).card)
    assert parsed(entry) == EXPECTED[suite]
    assert key == EXPECTED[suite][0]


@pytest.mark.parametrize("suite", list(SUITES))
def test_every_suite_with_a_paper_has_an_entry_with_its_whole_title(suite: str) -> None:
    """Also of suites that this test does not know: no part of the reference is lost."""
    card = SUITES.get(suite).card
    key, entry = paper_entry(card)
    assert bool(key) == (card.paper.partition(";")[0] != "none")
    if key:
        words = set(re.findall(r"\w{4,}", re.sub(r"arXiv|et al", "", card.paper)))
        assert words <= set(re.findall(r"\w{4,}", entry.replace("$^2$", "²").replace("{", "").replace("}", "")))


def test_a_methods_paragraph_states_the_numbers_of_the_run(tmp_path: Path) -> None:
    """Replies by hand: two of eight cannot be read. The simulated observer is not named as a subject."""
    options = BuildOptions(
        Path(),
        n=4,
        tasks=("category-building",),
        renderer="toy",
        size=(120, 90),
        allow_unmatched=True,
        show_progress=False,
    )
    seal = make_seal(SUITES.get("combo"), options)
    items = build_sealed(seal, BuildOptions(tmp_path / "items", show_progress=False))
    given = iter(["A", "B", "A", "no idea", "B", "A", "none of them", "B"])
    run(
        items,
        [wrap(lambda parts: next(given), "caller"), "fake:chance"],
        tmp_path / "run",
        repeats=2,
        show_progress=False,
    )
    digest = write_digest(tmp_path / "run", tmp_path / "items").total
    (exam,) = gather([load_run(tmp_path / "run")])
    text = methods_paragraph(exam, "fu2024combo")
    for part in (
        "We examined caller (code ",
        "on 4 test items of ComBo (Composite Blocks), version 3 [fu2024combo]: 4 of category-building.",
        f"sealed with the commitment {seal.commitment}",
        "images of 120 x 90 pixels by toy",
        f"rows hash {items.card.rows_hash}",
        "under the condition vanilla, 2 times each.",
        "(2 of 8 replies, 25 %)",
        f"Digest of the run: {digest}.",
    ):
        assert part in text, (part, text)
    assert "fake:chance" not in text
    assert seal.seed not in text
    first, again = citation([exam, exam]).methods
    assert ("We examined caller (code " in first, "We examined caller with Snellen" in again) == (True, True)
    odd_card = exam.joined.items.card.model_copy(update={"provenance": {"render": "x"}})
    odd = replace(exam, joined=replace(exam.joined, items=replace(exam.joined.items, card=odd_card)))
    assert "images of 120 x 90" not in methods_paragraph(odd, "fu2024combo")
    only_fakes = replace(exam.joined, card=exam.joined.card.model_copy(update={"arms": exam.joined.card.arms[2:]}))
    assert "We examined fake:chance" in methods_paragraph(replace(exam, joined=only_fakes))


def test_every_page_of_a_report_can_be_cited(tmp_path: Path) -> None:
    items = SUITES.get("combo").recipes["generated"].build(
        BuildOptions(
            tmp_path / "items", seed=5, n=2, tasks=("img2text",), renderer="toy", size=(120, 90), allow_unmatched=True,
            show_progress=False,
        )
    )  # fmt: skip
    run(items, ["fake:chance"], tmp_path / "run", show_progress=False)
    report = write_report([tmp_path / "run"], tmp_path / "report")
    (exam,) = gather([load_run(tmp_path / "run")])
    cited = citation([exam])
    assert (report.root / "citation.bib").read_text() == cited.bibtex
    assert list(cited.entries) == ["snellen", "fu2024combo"]
    assert "from seed 5" in cited.methods[0]
    for page in report.pages:
        text = page.read_text()
        assert "@misc{fu2024combo," in text, page
        assert "We examined fake:chance with Snellen" in text, page
