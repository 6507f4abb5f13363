"""Addresses: URLs, refused ones, and names of local copies."""

from __future__ import annotations

from pathlib import Path

import pytest

from snellen.core.errors import SnellenError
from snellen.remote import address_of, is_url, joined, name_of, with_urls
from snellen.remote.addresses import copy_folder, plain_url
from snellen.remote.mirror import Mirror


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("s3://bucket/run", True),
        ("GS://b/r", True),
        ("runs/first", False),
        ("a:b//c", False),
        (Path("s3://b/r"), False),
    ],
)
def test_a_url_has_a_scheme_and_is_text(address: str | Path, expected: bool) -> None:
    assert is_url(address) is expected


@pytest.mark.parametrize("secret", ["key:pass4word@", "token0123@", "key:pass4/word@"])
def test_credentials_in_a_url_are_refused_and_not_repeated(secret: str) -> None:
    with pytest.raises(SnellenError, match="may hold no user, key or query") as refused:
        plain_url(f"sftp://{secret}host/runs/first")
    assert not [word for word in ("key:", "pass4", "token0123") if word in str(refused.value)]


@pytest.mark.parametrize("address", ["sftp://host:22/run", "http://[fe80:1]:80/run", "s3://bucket/a@b:c", "memory://b"])
def test_ports_and_signs_in_names_are_not_credentials(address: str) -> None:
    assert plain_url(f"{address}/") == address


@pytest.mark.parametrize("address", ["https://host/run?X-Amz-Signature=abcdef", "https://host/run#part"])
def test_signed_urls_are_refused_and_not_repeated(address: str) -> None:
    with pytest.raises(SnellenError) as refused:
        plain_url(address)
    assert "abcdef" not in str(refused.value)


@pytest.mark.parametrize("address", ["simplecache::s3://bucket/run", "s3://bucket/../other", "s3://", "s3:///"])
def test_addresses_that_are_not_folders_are_refused(address: str) -> None:
    with pytest.raises(SnellenError, match="write"):
        plain_url(address)


def test_local_copies_are_named_by_their_url(url: str, home: Path) -> None:
    root = Mirror(f"{url}/").root
    assert root.parent == copy_folder(url)
    assert address_of(root) == url
    assert address_of(root / "judgements" / "items") == f"{url}/judgements/items"
    assert name_of(root) == "folder"
    assert with_urls(f"{root / 'run.json'}: malformed; see {root}, {root}.") == (
        f"{url}/run.json: malformed; see {url}, {root}."
    )


def test_other_folders_keep_their_names(tmp_path: Path, home: Path) -> None:
    stranger = home / "remote" / ("0" * 16) / "files"
    for folder in (tmp_path / "runs" / "first", Path("runs/first"), stranger, home / "remote" / "x"):
        assert address_of(folder) == str(folder)
        assert with_urls(f"{folder}: gone") == f"{folder}: gone"


def test_folders_inside_an_address() -> None:
    assert joined("s3://bucket/runs/", "combo") == "s3://bucket/runs/combo"
    assert joined("runs", "combo") == joined(Path("runs"), "combo") == Path("runs/combo")
