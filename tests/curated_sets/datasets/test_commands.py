"""`snellen sources` as typed by a user."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from snellen.cli import main
from snellen.core.hashing import digest
from snellen.curated_sets.commands import _print_inventory
from snellen.curated_sets.datasets import DATASETS
from snellen.curated_sets.datasets.dataset import Inventory, NoteCount, NoteCounter
from snellen.curated_sets.vfm_bench.datasets import ROW_OF_DATASET
from snellen.datasets.sample import Kind, Note
from tests.curated_sets.datasets import annotated_layouts, layouts
from tests.curated_sets.datasets.layouts import write
from tests.goldens.golden import assert_golden

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def sources(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Run a command; return its exit code, output and messages."""

    def give(*words: object) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["snellen", "sources", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            main()
        captured = capsys.readouterr()
        return int(ended.value.code or 0), captured.out, captured.err

    return give


def test_list_prints_the_evidence_for_a_layout(sources: Command) -> None:
    code, out, _ = sources("list", "--json")
    cards = json.loads(out)
    assert (code, list(cards)) == (0, list(DATASETS))
    assert cards["VisA"]["licence"] == "CC BY 4.0"
    assert (cards["VisA"]["verified"], cards["ISP-AD"]["verified"]) == ("listing", "assumed")
    code, out, _ = sources("list")
    assert code == 0
    assert out.count(", layout: ") == len(list(DATASETS))
    assert "    listing: https://github.com/amazon-science/spot-diff/blob/" in out
    assert f"    not confirmed: {cards['ISP-AD']['caveat']}\n" in out


def test_check_reports_present_files_and_the_places_of_missing_ones(sources: Command, tmp_path: Path) -> None:
    write(tmp_path / "NC4K", layouts.LAYOUTS["NC4K"]())
    code, out, _ = sources("check", "--root", tmp_path)
    assert code == 0, "the others were not requested"
    assert "NC4K: whole; 1 records" in out
    assert f"VisA: missing. From https://github.com/amazon-science/spot-diff put into {tmp_path / 'VisA'}" in out
    assert sources("check", "--root", tmp_path, "NC4K")[0] == 0
    code, out, _ = sources("check", "--root", tmp_path, "NC4K", "VisA", "--json")
    inventories = json.loads(out)
    assert code == 2
    assert {name: inventory["state"] for name, inventory in inventories.items()} == {"NC4K": "whole", "VisA": "absent"}
    assert inventories["NC4K"]["labels"] == {"scene": {"camouflaged": 1}}


def test_check_reports_scenes_too(sources: Command, tmp_path: Path) -> None:
    write(tmp_path / "CARPK", annotated_layouts.carpk())
    code, out, _ = sources("check", "--root", tmp_path, "CARPK")
    assert code == 0
    assert "CARPK: whole; " in out
    assert "    things: car " in out
    code, out, _ = sources("check", "--root", tmp_path, "DIOR", "--json")
    assert (code, json.loads(out)["DIOR"]["state"]) == (2, "absent")


def test_check_names_broken_files(sources: Command, tmp_path: Path) -> None:
    root = write(tmp_path / "NC4K", layouts.LAYOUTS["NC4K"]())
    (root / "NC4K" / "Imgs" / "10.jpg").write_bytes(b"broken")
    code, out, _ = sources("check", "--root", tmp_path, "NC4K")
    assert code == 2
    assert "NC4K: broken; 0 records" in out
    assert "unreadable: not a readable image (1): NC4K/Imgs/10.jpg" in out


def test_an_inventory_states_counts_the_first_classes_and_the_first_places_of_notes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    labels = {"": {f"c{n}": n for n in range(20)}, "bottle": {f"c{n}": 1 for n in range(22)}}
    notes = (NoteCount("odd", "twice", 10, tuple("abcdefghij")), NoteCount("missing", "lost", 13, ("x", "y")))
    scenes = Inventory("S", "/data/S", 3, 0, labels, notes[:1])
    _print_inventory(DATASETS.get("CARPK").card, scenes)
    _print_inventory(DATASETS.get("NC4K").card, replace(scenes, labels={}, notes=notes))
    _print_inventory(DATASETS.get("CARPK").card, replace(scenes, labels={}, questions=7, notes=()))
    assert capsys.readouterr().out.splitlines() == [
        "CARPK: whole; 3 scenes",
        f"    things: {', '.join(f'c{n} {n}' for n in range(20))}",
        f"    bottle: {', '.join(f'c{n} 1' for n in range(20))}, and 2 more classes",
        "    odd: twice (10): a; b; c; d; e; f; g; h; i; j",
        f"NC4K: broken; 3 records (Table 5 has {ROW_OF_DATASET['NC4K'].images} images)",
        "    odd: twice (10): a; b; c; d; e; f; g; h; i; j",
        "    missing: lost (13): x; y, and 11 more",
        f"    expected in /data/S: {DATASETS.get('NC4K').card.layout}; from {DATASETS.get('NC4K').card.origin}",
        "CARPK: whole; 3 scenes, 7 questions about them",
    ]


def test_notes_are_counted_by_kind_and_wording_with_ten_places() -> None:
    counter = NoteCounter()
    for n in range(12):
        counter.add(Note("odd", "twice", str(n)))
        counter.add(Note("missing", "twice", "here"))
    counter.expect(("a", "b"), {"b": 1}, "no image of this class")
    assert [(note.kind, note.message, note.count, len(note.locations)) for note in counter.counts()] == [
        ("odd", "twice", 12, 10), ("missing", "twice", 12, 10), ("missing", "no image of this class", 1, 1),
    ]  # fmt: skip
    assert counter.counts()[0].locations == tuple(map(str, range(10)))
    kinds: tuple[Kind, ...] = ("odd", "left out", "missing", "unreadable")
    states = [Inventory("s", "r", 1, notes=(NoteCount(kind, "", 1, ("x",)),)).state for kind in kinds]
    assert states == ["whole", "whole", "broken", "broken"]
    assert [Inventory("s", "r").state, Inventory("s", "r", 1, exists=False).state] == ["broken", "absent"]


def test_sources_yaml_names_another_folder_of_a_dataset(sources: Command, tmp_path: Path) -> None:
    root, other = tmp_path / "root", write(tmp_path / "elsewhere", layouts.LAYOUTS["NC4K"]())
    root.mkdir()
    (root / "sources.yaml").write_text("NC4K: ../elsewhere\n")
    assert sources("check", "--root", root, "NC4K")[0] == 0
    (root / "sources.yaml").write_text(f"NC4K: {other}\nVisa: x\n")
    code, _, error = sources("check", "--root", root)
    assert code == 2
    assert "no source 'Visa'; did you mean 'VisA'?" in error
    (root / "sources.yaml").write_text("- NC4K\n")
    assert "write lines NAME: PATH" in sources("check", "--root", root)[2]


@pytest.mark.parametrize(
    ("words", "message"),
    [(["--root", "nowhere"], "nowhere: no such folder"), (["--root", ".", "Visa"], "did you mean 'VisA'?")],
)
def test_wrong_words_are_refused_in_one_line(sources: Command, words: list[str], message: str) -> None:
    code, _, error = sources("check", *words)
    assert code == 2
    assert error.startswith("snellen: ")
    assert message in error
    assert error.count("\n") == 1


def test_the_list_equals_its_golden(sources: Command) -> None:
    """Of every dataset the first line, and a digest of the card with the facts of the suites that use it."""
    cards, text = json.loads(sources("list", "--json")[1]), sources("list")[1]
    lines = [line for line in text.splitlines() if not line.startswith(" ")]
    lines += [f"{name}: {list(card)} {digest(card, 16)}" for name, card in cards.items()]
    assert_golden("curated/sources.txt", "\n".join(lines) + "\n")
