"""Commands and the Python API on URLs: the same as on folders, and records kept after failures."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

import snellen as package
from snellen.core.errors import SnellenError
from snellen.core.storage.parts import read_exchanges
from snellen.core.storage.runfolder import read_run_card
from snellen.remote import ITEMSET, fetched, published, record_folder, writers
from snellen.remote.mirror import Mirror
from snellen.remote.store import ObjectStore
from snellen.reports import load_run, write_report
from tests.cli.conftest import Command, snellen
from tests.helpers.sets import small_set
from tests.reports.exam import leave_out_figures

__all__ = ["snellen"]
SET, RUN, REPORT = "memory://bucket/sets/v", "memory://bucket/runs/first", "memory://bucket/report"


@pytest.fixture
def uploaded(url: str, sets_folder: Path) -> Path:
    """A small set in a folder, and a copy of it at `SET`."""
    items = small_set("vlm2-bench", sets_folder)
    with published(SET, card=ITEMSET) as root:
        shutil.copytree(items.root, root, dirs_exist_ok=True)
    return items.root


def other_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SNELLEN_HOME", str(tmp_path / "other-home"))


def test_a_run_on_urls_equals_one_on_folders(
    uploaded: Path, snellen: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["--subject", "fake:chance", "--limit", 2, "--json"]
    code, out, errors = snellen("run", SET, *words, "--out", RUN)
    assert (code, errors) == (0, "")
    assert json.loads(out)["runs"][0]["run"] == RUN
    assert snellen("run", uploaded, *words, "--out", tmp_path / "run")[0] == 0
    other_machine(monkeypatch, tmp_path)
    root, local = fetched(RUN), tmp_path / "run"
    assert read_run_card(root).itemset == SET
    for table in ("responses", "exchanges", "scores.strict"):
        expected, rows = (pd.read_parquet(folder / f"{table}.parquet") for folder in (local, root))
        pd.testing.assert_frame_equal(rows, expected)
    assert {path.name for path in root.iterdir()} == {path.name for path in local.iterdir()} - {"lock"}
    code, out, _ = snellen("verify", RUN)
    assert code == 0
    assert out.startswith(f"{RUN}: whole; ")
    assert out.splitlines()[0].endswith(f"about {SET}")


def test_two_sets_of_one_suite_are_not_asked_in_one_run(uploaded: Path, snellen: Command) -> None:
    code, out, errors = snellen("run", SET, uploaded, "--subject", "fake:chance", "--out", RUN)
    assert (code, out) == (2, "")
    assert (
        errors
        == f"snellen: --out {RUN}: two of the sets are of the same suite; use a separate command and --out for each\n"
    )
    assert ObjectStore(RUN).list() == {}


@pytest.mark.slow
def test_score_and_diff_of_urls(
    uploaded: Path, snellen: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    subjects = ["--subject", "fake:oracle", "--subject", "fake:chance"]
    assert snellen("run", SET, *subjects, "--limit", 1, "--json", "--out", RUN)[0] == 0
    other_machine(monkeypatch, tmp_path)
    code, out, _ = snellen("score", RUN, "--protocol", "published")
    assert (code, out.partition(":")[2].partition(": ")[0]) == (0, "//bucket/runs/first/scores.published.parquet")
    assert "scores.published.parquet" in ObjectStore(RUN).list()
    page = tmp_path / "diff.html"
    assert snellen("diff", f"{RUN}:fake:oracle", f"{RUN}:fake:chance", "--out", page, "--json")[0] == 0
    for name in ("fake:nobody", "chat:openai/nobody?temperature=1"):
        code, _, errors = snellen("diff", f"{RUN}:{name}", RUN, "--out", page)
        assert (code, errors.count("\n")) == (2, 1)
        assert errors.startswith(f"snellen: {RUN}: holds no subject {name!r}")
    code, _, errors = snellen("diff", "memory://bucket/none?signature=abcdef", RUN, "--out", page)
    assert (code, errors) == (2, "snellen: memory://bucket/none: contains no run; give a run folder, or RUN:SUBJECT\n")


@pytest.mark.slow
def test_a_report_at_a_url(uploaded: Path, snellen: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert snellen("run", SET, "--subject", "fake:chance", "--limit", 1, "--json", "--out", RUN)[0] == 0
    other_machine(monkeypatch, tmp_path)
    leave_out_figures(monkeypatch)
    code, out, _ = snellen("report", RUN, "--out", REPORT)
    assert (code, out.splitlines()[0]) == (0, f"{REPORT}/index.html")
    store = ObjectStore(REPORT)
    assert {"index.html", "results.csv", "stamp.json", "vlm2-bench.html"} <= set(store.list())
    texts = [store.read(name).decode() for name in store.list() if name.endswith((".html", ".csv", ".json"))]
    assert not [text for text in texts if "other-home" in text], "pages name URLs, not local copies"


@pytest.mark.slow
def test_the_python_api_takes_urls(uploaded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    examination = package.examine("fake:chance", SET, out=RUN, limit=1, show_progress=False)
    assert repr(examination).endswith(f"; {RUN}>")
    other_machine(monkeypatch, tmp_path)
    assert len(load_run(RUN).responses) == len(examination.responses)
    leave_out_figures(monkeypatch)
    examination.report(REPORT)
    with published(f"{REPORT}2") as folder:
        write_report([fetched(RUN)], folder)
    assert {name for name in ObjectStore(REPORT).list() if not name.startswith("writers/")} == {
        name for name in ObjectStore(f"{REPORT}2").list() if not name.startswith("writers/")
    }


@pytest.mark.slow
def test_build_makes_a_set_once_and_uploads_it_when_complete(
    url: str, snellen: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    build = ["build", "vlm2-bench/gc-mat", "--from", "generated", "--n", 1, "--renderer", "toy", "--size", "160x120"]
    build += ["--json", "--out", url]
    upload = ObjectStore.upload

    def gone(self: ObjectStore, sources: dict[str, Path]) -> None:
        if "items.parquet" in sources:
            raise SnellenError(f"{self.url}: the network is gone; fix that")
        upload(self, sources)

    with monkeypatch.context() as patch:
        patch.setattr(ObjectStore, "upload", gone)
        code, out, errors = snellen(*build)
    assert (code, out, errors.count("\n")) == (2, "", 1)
    assert "all finished work is kept in" in errors
    assert ITEMSET not in ObjectStore(url).list()
    assert snellen("verify", url)[0] == 2
    code, out, _ = snellen(*build)
    assert (code, json.loads(out)["itemset"]) == (0, url)
    assert snellen("verify", url)[1].startswith(f"{url}: whole")
    code, _, errors = snellen(*build)
    assert code == 2
    assert errors.startswith(f"snellen: {url}: already contains an item set")


@pytest.fixture
def quick_beats(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writers, "BEAT_SECONDS", 0.005)


def wait_for(condition: Callable[[], object]) -> None:
    for _ in range(2000):
        if condition():
            return
        threading.Event().wait(0.005)
    raise AssertionError("never came")


@pytest.mark.usefixtures("quick_beats")
def test_records_are_uploaded_before_the_end(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that dies leaves its uploads to others, which resume from there."""
    line = '{"key":"a/b/c","digest":"d","reply":{"text":"A"}}\n'
    with record_folder(url) as folder:
        (folder.root / "parts").mkdir()
        part = folder.root / "parts" / "0000.jsonl"
        part.write_text(line + '{"key":"torn')
        (folder.root / "run.json").write_text("{}")
        wait_for(lambda: "run.json" in ObjectStore(url).list())
        folder.after_call()
        other_machine(monkeypatch, tmp_path)
        assert [exchange.key for exchange in read_exchanges(fetched(url))] == ["a/b/c"]
    assert "parts/0000.jsonl" in ObjectStore(url).list()


@pytest.mark.usefixtures("quick_beats")
def test_a_network_that_fails_and_returns_does_not_stop_a_run(
    url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    messages: list[str] = []

    def printed() -> str:
        messages.append(capsys.readouterr().err)
        return "".join(messages)

    with record_folder(url) as folder:
        (folder.root / "run.json").write_text("{}")
        with monkeypatch.context() as patch:
            patch.setattr(ObjectStore, "list", _gone)
            wait_for(printed)
            folder.after_call()
        wait_for(lambda: "run.json" in ObjectStore(url).list())
    assert printed() == (
        f"snellen: {url}: no route to host; the record stays in the local copy, and uploads are tried again\n"
    )


def test_a_network_that_stays_away_leaves_everything_in_the_local_copy(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    roots: list[Path] = []

    def write() -> None:
        with record_folder(url) as folder:
            roots.append(folder.root)
            (folder.root / "run.json").write_text("{}")
            monkeypatch.setattr(ObjectStore, "list", _gone)

    with pytest.raises(SnellenError, match="all finished work is kept in") as refused:
        write()
    assert "\n" not in str(refused.value)
    assert (roots[0] / "run.json").is_file()


def _gone(self: ObjectStore, folder: str = "") -> dict[str, object]:
    raise SnellenError(f"{self.url}: no route to host")


@pytest.mark.usefixtures("quick_beats")
def test_a_writer_that_is_replaced_stops_uploading(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    def write() -> None:
        with record_folder(url) as folder:
            ObjectStore(url).write("writers/000002.json", b"{}")
            (folder.root / "run.json").write_text("{}")
            wait_for(lambda: "took over" in capsys.readouterr().err)
            folder.after_call()

    with pytest.raises(SnellenError, match="another process took over"):
        write()
    assert "run.json" not in ObjectStore(url).list()


@pytest.mark.usefixtures("quick_beats")
def test_a_long_upload_gives_signs_of_life(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    upload = ObjectStore.upload

    def slow(self: ObjectStore, sources: dict[str, Path]) -> None:
        before = self.read("writers/000001.json")
        wait_for(lambda: self.read("writers/000001.json") != before)
        upload(self, sources)

    monkeypatch.setattr(ObjectStore, "upload", slow)
    with published(f"{url}/report") as root:
        (root / "index.html").write_text("page")
    with record_folder(f"{url}/run") as folder:
        (folder.root / "run.json").write_text("{}")
    assert {"report/index.html", "run/run.json"} <= set(ObjectStore(url).list())


def test_a_writer_that_is_replaced_during_an_upload_stops_it(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    upload = ObjectStore.upload

    def freeze(self: ObjectStore, sources: dict[str, Path]) -> None:
        upload(self, sources)
        self.write("writers/000002.json", b"{}")

    def write() -> None:
        with published(url) as root:
            for name in ("results.csv", "index.html"):
                (root / name).write_text(name)
            monkeypatch.setattr(ObjectStore, "upload", freeze)

    with pytest.raises(SnellenError, match="another process took over"):
        write()
    assert set(ObjectStore(url).list()) == {"results.csv", "writers/000001.json", "writers/000002.json"}


def test_two_processes_of_this_machine_are_kept_apart(url: str) -> None:
    with record_folder(url):
        second = record_folder(url)
        with pytest.raises(SnellenError, match="another process is writing there"):
            second.__enter__()


def test_after_an_error_a_run_is_uploaded_and_a_report_is_not(url: str) -> None:
    def stop(root: Path) -> None:
        (root / "run.json").write_text("{}")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), record_folder(f"{url}/run") as folder:
        stop(folder.root)
    with pytest.raises(KeyboardInterrupt), published(f"{url}/report") as root:
        stop(root)
    assert "run.json" in ObjectStore(f"{url}/run").list()
    assert "run.json" not in ObjectStore(f"{url}/report").list()


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("memory://bucket/nothing", "contains neither an item set nor a run"),
        ("nosuch://bucket/set", "Protocol not known"),
        ("s3://user:secret99@bucket/set", "may hold no user, key or query"),
    ],
)
@pytest.mark.usefixtures("url")
def test_unreadable_addresses_are_refused_in_one_line(snellen: Command, address: str, reason: str) -> None:
    for words in (["verify", address], ["show", address], ["report", address, "--out", "unused"]):
        code, out, errors = snellen(*words)
        assert (code, out, errors.count("\n")) == (2, "", 1)
        assert reason in errors
        assert "secret99" not in errors


def test_a_missing_package_is_named_with_its_extra(url: str, snellen: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    import fsspec.core

    def missing(address: str, **options: object) -> None:
        raise ImportError("Install s3fs to access S3")

    monkeypatch.setattr(fsspec.core, "url_to_fs", missing)
    code, _, errors = snellen("verify", "s3://bucket/set")
    assert (code, errors.count("\n")) == (2, 1)
    assert "Install s3fs to access S3; for s3:// that is pip install" in errors
    assert "[remote]'" in errors


def test_keys_of_the_environment_are_not_printed(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wJalrXUtnFEMI-K7MDENG-bPxRfiCYEXAMPLEKEY")
    mirror = Mirror(url)

    def refuse(path: str) -> None:
        raise PermissionError("signature of wJalrXUtnFEMI-K7MDENG-bPxRfiCYEXAMPLEKEY\ndoes not match")

    monkeypatch.setattr(mirror.store._files, "cat_file", refuse)
    with pytest.raises(SnellenError, match="does not match; ask for permission") as refused:
        mirror.store.read("run.json")
    assert "wJalr" not in str(refused.value)
    assert "\n" not in str(refused.value)
