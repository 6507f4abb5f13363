"""Folders and files by name: where a layout is found, and which paths lead into a folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from snellen.datasets.formats.file_tree import files_below, folders_holding, layout_folder, name_below
from snellen.datasets.own_images import path_within
from snellen.datasets.sample import MissingFiles, Note


def write_empty(root: Path, *names: str) -> Path:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()
    return root


def test_a_layout_is_found_in_the_root_or_at_most_three_folders_below_it(tmp_path: Path) -> None:
    lists = ("b/list.txt", "b/in/list.txt", "a/x/y/list.txt", "c/x/y/z/list.txt", ".d/list.txt", "__MACOSX/list.txt")
    write_empty(tmp_path, *lists, "a/x/y/a.txt", "a/x/y/._b.txt", "a/x/y/B/c.txt", "a/x/y/A/d.txt", "a/x/y/e.csv")
    folders = [name_below(folder, tmp_path) for folder in folders_holding(tmp_path, ("other.txt", "list.txt"))]
    assert folders == ["a/x/y", "b"]
    assert layout_folder(tmp_path, ("list.txt",), "list") == tmp_path / "a/x/y"
    below = [name_below(path, tmp_path / "a/x/y") for path in files_below(tmp_path / "a/x/y", (".txt",))]
    assert below == ["a.txt", "list.txt", "A/d.txt", "B/c.txt"]
    with pytest.raises(MissingFiles) as caught:
        layout_folder(tmp_path, ("none.txt", "no.csv"), "list")
    assert caught.value.note == Note("missing", "no list none.txt or no.csv", str(tmp_path))


@pytest.mark.parametrize(
    ("name", "path"),
    [("sub/../a.png", "a.png"), ("sub\\a.png", "sub/a.png"), ("../x/a.png", ""), ("", ""), (".", ""), ("a\0", ""),
     ("{root}/sub/a.png", "sub/a.png"), ("/a.png", ""), ("none.png", "none.png")],
)  # fmt: skip
def test_a_path_leads_into_the_folder_or_nowhere(name: str, path: str, tmp_path: Path) -> None:
    write_empty(tmp_path, "a.png", "sub/a.png")
    assert path_within(tmp_path, name.format(root=tmp_path)) == path
