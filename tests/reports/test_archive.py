"""The site of many runs: what its pages hold, what is kept apart, and what is named instead of stopping the rest."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from snellen.analysis.changes import changes
from snellen.core.errors import SnellenError
from snellen.core.storage.itemset import read_itemset
from snellen.core.storage.run_digest import read_digest, write_digest
from snellen.exam.run import run
from snellen.reports import archive, load_run
from snellen.reports.archive import Archive, write_archive
from snellen.reports.changes_page import change_lines
from snellen.suites import SUITES
from tests.helpers.sets import undrawn_set
from tests.reports.exam import able, make_suite, suite_of, write_items, write_run
from tests.reports.test_report import Tags

GOOD, BAD = {"naming": 1.0, "finding": 1.0}, {"naming": 0.0, "finding": 1.0}
HOSTILE = "py:<script>alert(1)</script><u>"


def _add_run(folder: Path, name: str, subject: str, skill: dict[str, float], date: str, seed: int = 0) -> Path:
    """A run on the set `items-SEED` of the folder, of the version SEED + 1, with a digest of this date."""
    version = str(seed + 1)
    items_root = folder / f"items-{seed}"
    tasks, suite = ("naming", "finding"), make_suite(version)
    if not items_root.exists():
        write_items(items_root, 24, seed, version, tasks=tasks)
    items = read_itemset(items_root)
    root = write_run(
        folder / name, items, [able(subject, items, skill)], suite=suite, protocols=("strict",), tasks=tasks
    )
    listed = write_digest(root, items_root)
    (root / listed.file).write_text(listed.model_copy(update={"date": f"{date}T12:00:00+00:00"}).model_dump_json())
    return root


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs of three subjects at three depths, on two versions of the suite, and two that cannot be read."""
    root = tmp_path_factory.mktemp("runs")
    _add_run(root, "later", "chat:a/b", BAD, "2026-03-02")
    _add_run(root, "lab/first", "chat:a/b", GOOD, "2026-03-01")
    _add_run(root, "lab/deep/new-version", "chat:a/b", GOOD, "2026-03-03", seed=1)
    _add_run(root, "hostile", HOSTILE, BAD, "2026-03-04")
    shutil.copytree(root / "later", root / "broken")
    (root / "broken" / "scores.strict.parquet").write_bytes(b"<i>nothing</i>")
    shutil.copytree(root / "later", root / "elsewhere")
    card = root / "elsewhere" / "run.json"
    lost = json.loads(card.read_text()) | {"content_hash": "0" * 64, "itemset": "https://example.com/items"}
    card.write_text(json.dumps(lost))
    return root


@pytest.fixture(scope="module")
def site(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Archive:
    return write_archive(folder, tmp_path_factory.mktemp("site") / "pages", suite_of)


def _page(site: Archive, kind: str, word: str) -> Path:
    """The only page of a run or a subject with this word in its name."""
    [page] = site.page.parent.glob(f"{kind}/*{word}*.html")
    return page


def test_subjects_are_in_tables_by_version(site: Archive) -> None:
    text = site.page.read_text("utf-8")
    newer, older = text.index("Shapes, version 2"), text.index("Shapes, version 1")
    assert newer < older
    rows = [text[text.index("<tbody>", start) :].partition("</tbody>")[0] for start in (newer, older)]
    assert [row.count('<th scope="row">') for row in rows] == [1, 2]
    assert "2026-03-03" in rows[0]
    assert "2026-03-02, 2 runs" in rows[1], "the latest run is shown"
    assert "2026-03-01" not in rows[1]


def test_every_number_leads_to_the_items_of_its_run(site: Archive) -> None:
    for page in (site.page, _page(site, "subjects", "chat-a-b"), _page(site, "runs", "lab-first")):
        links = [attrs["href"] for tag, attrs in Tags(page.read_text("utf-8")).elements if tag == "a"]
        for link in filter(None, links):
            address, _, anchor = link.partition("#")
            target = page.parent / address if address else page
            assert target.is_file(), link
            assert not anchor or anchor == "main" or f'id="{anchor}"' in target.read_text("utf-8"), link
    squares = site.page.read_text("utf-8").count("small-square")
    assert (
        site.page.read_text("utf-8").count('#naming">') + site.page.read_text("utf-8").count('#finding">')
        == 6
        <= squares
    )
    items = Tags(_page(site, "runs", "lab-first").read_text("utf-8")).text
    assert all(f"{task}-{number:04d}" in items for task in GOOD for number in range(24))
    assert "What is the shape of the object?" in items


def test_a_history_has_the_changes_that_diff_finds(site: Archive, folder: Path) -> None:
    page = Tags(_page(site, "subjects", "chat-a-b").read_text("utf-8")).text
    assert page.index("2026-03-02") < page.index("2026-03-01"), "later runs come first"
    runs = [load_run(folder / name, suite_of) for name in ("lab/first", "later")]
    compared = changes(*runs)
    assert compared.names("dropped")
    assert f"Dropped: {'; '.join(compared.names('dropped'))}." in page
    [naming] = [line for line in change_lines(compared) if line.name == "naming"]
    assert (naming.before, naming.after) == ("100 %", "29 %"), "a wrong subject guesses among four options"
    assert f"{naming.difference}{naming.span}{naming.p}{naming.n}{naming.detectable}" in "".join(page.split("\n"))
    assert page.count("The first run on these items") == 2, "in each of two versions"
    assert page.count("paired answers") == 1
    assert "48 paired answers" in page


def test_unreadable_runs_are_named_with_the_reason(site: Archive, folder: Path) -> None:
    assert site.runs == ("hostile", "lab/deep/new-version", "lab/first", "later")
    assert set(site.unreadable) == {"broken", "elsewhere"}
    text = Tags(site.page.read_text("utf-8")).text
    assert "broken/scores.strict.parquet" in site.unreadable["broken"]
    assert "put the set into the archive" in site.unreadable["elsewhere"]
    assert all(reason in text for reason in site.unreadable.values())
    assert str(folder) not in site.page.read_text("utf-8")


def test_nothing_foreign_becomes_markup(site: Archive) -> None:
    pages = [page.read_text("utf-8") for page in site.page.parent.rglob("*.html")]
    assert any("<script>alert(1)" in Tags(page).text for page in pages)
    for page in pages:
        elements = Tags(page).elements
        assert not {tag for tag, _ in elements} & {"script", "i", "u"}
        assert not any(name.startswith("on") for _, attrs in elements for name in attrs)
        policies = [attrs["content"] or "" for tag, attrs in elements if "http-equiv" in attrs]
        assert [policy.startswith("default-src 'none'; ") for policy in policies] == [True]


def test_a_digest_is_marked_or_contradicted(folder: Path, site: Archive, tmp_path: Path) -> None:
    digest = read_digest(folder / "later").total
    assert f"✓ digest {digest}" in Tags(_page(site, "runs", "later").read_text("utf-8")).text
    for name in ("later", "items-0"):
        shutil.copytree(folder / name, tmp_path / "runs" / name)
    table = tmp_path / "runs" / "later" / "sent.parquet"
    table.write_bytes(table.read_bytes() + b"\n")
    changed = write_archive(tmp_path / "runs", tmp_path / "site", suite_of)
    text = Tags(_page(changed, "runs", "later").read_text("utf-8")).text
    assert "✗ does not agree with its digest: later/sent.parquet: changed" in text
    assert "✓" not in text


def test_items_of_a_sealed_exam_stay_secret(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("later", "items-0"):
        shutil.copytree(folder / name, tmp_path / "runs" / name)
    monkeypatch.setattr(archive, "SEALED", "seed")  # the key that recipes of unsealed sets have in its place
    site = write_archive(tmp_path / "runs", tmp_path / "site", suite_of)
    text = Tags(_page(site, "runs", "later").read_text("utf-8")).text
    assert "The exam is sealed" in text
    assert "naming-0003" in text
    assert "What is the" not in text
    assert not any(colour in text for colour in ("red", "blue", "yellow", "triangle"))


def test_only_changed_runs_are_read_again(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs, out, reads = tmp_path / "runs", tmp_path / "site", list[str]()
    shutil.copytree(folder, runs)

    def counted(root: Path, *arguments: object, **options: object) -> object:
        reads.append(root.name)
        return load_run(root, *arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(archive, "load_run", counted)
    monkeypatch.setattr(archive, "registered", suite_of)  # as if the suite came with the package
    monkeypatch.setattr(SUITES, "is_packaged", lambda name: True)
    first = write_archive(runs, out, suite_of)
    pages = {path: path.read_bytes() for path in out.rglob("*.html")}
    assert sorted(reads) == ["broken", "first", "hostile", "later", "new-version"]
    reads.clear()
    assert write_archive(runs, out, suite_of) == first
    assert {path: path.read_bytes() for path in out.rglob("*.html")} == pages
    assert reads == ["broken"], "the only one without facts"
    shutil.rmtree(runs / "broken")
    shutil.rmtree(runs / "hostile")
    page = _page(first, "runs", "lab-first")
    page.write_text("edited")
    reads.clear()
    write_archive(runs, out, suite_of)
    assert reads == ["first"]
    assert page.read_bytes() == pages[page]
    assert not list(out.glob("*/*hostile*")), "pages of removed runs are removed"


def test_other_folders_are_refused(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.txt").touch()
    with pytest.raises(SnellenError, match="no site of"):
        write_archive(folder, tmp_path / "full", suite_of)
    with pytest.raises(SnellenError, match="contains no run"):
        write_archive(tmp_path / "full", tmp_path / "site", suite_of)
    assert not (tmp_path / "site").exists()


FAKES = (
    "oracle", "chance", "first-option", "always-true", "says-yes", "knows-names", "compares-images",
    *(f"counts-to={number}" for number in range(1, 7)),
    *(f"misses-image={number}" for number in (1, 2, 3)),
    *(f"prefers-option={name}" for name in "ABCD"),
)  # fmt: skip
MEASURED = """
import resource, sys
from snellen.cli import main
sys.argv = ["snellen", "archive", *sys.argv[1:]]
try:
    main()
finally:
    used = resource.getrusage(resource.RUSAGE_SELF)
    print("measured", used.ru_utime + used.ru_stime, used.ru_maxrss / 1e6)
"""


def _measured(runs: Path, out: Path) -> tuple[float, float, str]:
    """Seconds of processor time and gigabytes of memory of the command, and what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, runs, "--out", out], capture_output=True, text=True, check=True
    )
    _, seconds, memory = done.stdout.splitlines()[-1].split()
    return float(seconds), float(memory), done.stdout


def test_runs_that_are_read_in_parts_make_the_same_site(
    folder: Path, site: Archive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A subject's neighbours in different parts are compared, too."""
    monkeypatch.setattr(archive, "RUNS_PER_WORKER", 1)
    monkeypatch.setattr(archive, "map_shards", lambda read, shards, workers: [read(shard.work) for shard in shards])
    for workers in (2, 4):
        other = write_archive(folder, tmp_path / str(workers), suite_of, workers)
        assert (other.runs, other.unreadable) == (site.runs, site.unreadable)
        for path in site.page.parent.rglob("*.html"):
            assert (other.page.parent / path.relative_to(site.page.parent)).read_bytes() == path.read_bytes()


@pytest.mark.slow
def test_two_hundred_runs(tmp_path: Path) -> None:
    """A new run is added to 199 in 10 s and 1 GB; the first time takes longer, since every run is compared."""
    items = undrawn_set(SUITES.get("combo"), tmp_path / "runs", seed=3, test_items=5)
    dates = [f"2026-01-{day:02d}T12:00:00+00:00" for day in range(1, 11)]
    for number, name in enumerate(FAKES):
        run(items, [f"fake:{name}"], tmp_path / "first", show_progress=False)
        listed = write_digest(tmp_path / "first", items.root)
        for date in dates:
            root = shutil.copytree(tmp_path / "first", tmp_path / "runs" / f"subject-{number}" / date[:10])
            (root / listed.file).write_text(listed.model_copy(update={"date": date}).model_dump_json())
        shutil.rmtree(tmp_path / "first")
    last = (tmp_path / "runs" / "subject-0" / dates[-1][:10]).rename(tmp_path / "last")
    seconds, memory, printed = _measured(tmp_path / "runs", tmp_path / "site")
    print(f"199 new runs: {seconds:.1f} s, {memory:.2f} GB")
    assert "index.html: 199 runs" in printed
    assert memory < 1
    last.rename(tmp_path / "runs" / "subject-0" / dates[-1][:10])
    seconds, memory, printed = _measured(tmp_path / "runs", tmp_path / "site")
    print(f"one new run: {seconds:.1f} s, {memory:.2f} GB")
    assert "index.html: 200 runs" in printed
    assert seconds < 10
    assert memory < 1
