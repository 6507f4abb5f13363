"""The ideal detector: it knows the boxes of the image that it is shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from snellen.core.errors import SnellenError
from snellen.core.item import Affine, Item
from snellen.core.prompt import Prompt
from snellen.core.storage.media import MediaFolder
from snellen.core.subject import Subject
from snellen.subjects.registry import make_subject
from tests.contracts.subject_battery import check_subject
from tests.helpers.detector_replies import ask, rows
from tests.helpers.journey import item, patch


@pytest.fixture
def media(tmp_path: Path) -> MediaFolder:
    return MediaFolder(tmp_path / "media")


def boxed(media: MediaFolder, item_id: str, rgb: Sequence[int], boxes: list[Any], question: str = "cat") -> Item:
    boxed_item = item(item_id, [patch(media, rgb)], "", "text", regions={"boxes": boxes})
    return replace(boxed_item, question=question)


def test_the_ideal_detector_knows_the_image_that_it_is_shown(media: MediaFolder) -> None:
    cat = boxed(media, "cat", (255, 0, 0), [{"box": [1, 2, 3, 4], "label": "cat"}, {"box": [0, 0, 5, 5]}])
    none = boxed(media, "none", (0, 255, 0), [])
    face = boxed(media, "face", (255, 0, 0), [{"box": [2, 2, 4, 3], "label": "face"}], "face")
    blue = patch(media, (0, 0, 255))
    by_image = item("named", [blue, blue], "", "text", regions={"boxes": {blue.sha256: [0, 0, 1, 1]}})
    items = [cat, none, face, by_image, item("bare", [blue], "", "text")]
    views = {view_item.item_id: view_item.view() for view_item in items}

    def make() -> Subject:
        return make_subject("fake:exact-boxes", items)

    replies = check_subject(make, [views[name] for name in ("cat", "none", "face")], media)
    assert replies[0].text == (
        '{"boxes": [{"box": [0.0, 0.0, 5.0, 5.0], "label": "", "score": 1.0}, '
        '{"box": [1.0, 2.0, 3.0, 4.0], "label": "cat", "score": 1.0}]}'
    )
    assert replies[0].numbers == (1.0, 1.0)
    assert replies[1].text == '{"boxes": []}'
    assert rows(replies[2])[0]["box"] == [2.0, 2.0, 4.0, 3.0]
    enlarged = replace(cat.query[0], sha256="f" * 64, origin=cat.query[0].sha256, from_stored=Affine(a=2, e=2))
    for image, text in (
        (enlarged, replies[0].text),  # the same image, enlarged: boxes are those of the stored one
        (none.query[0], '{"boxes": []}'),  # another image: what is in that one
        (patch(media, (9, 9, 9)), '{"boxes": []}'),  # grey: nothing is known
    ):
        assert ask(make(), media, replace(views["cat"], query=(image,))).text == text
    assert make().declines(Prompt((), (views["bare"],))) == "this item has no regions with boxes"
    assert make().declines(Prompt((), (replace(views["cat"], query=()),))) is not None


def test_the_ideal_detector_refuses_contradicting_items(media: MediaFolder) -> None:
    first, other = (boxed(media, name, (1, 2, 3), [{"box": [n, 0, 5, 5]}]) for n, name in enumerate(("one", "other")))
    with pytest.raises(SnellenError, match="item other: another item has different boxes"):
        make_subject("fake:exact-boxes", [first, other])
    with pytest.raises(SnellenError, match="item two: boxes of 2 images"):
        make_subject("fake:exact-boxes", [replace(first, item_id="two", query=first.query * 2)])
