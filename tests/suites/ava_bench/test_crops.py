"""The inside of a red box alone: whom it is shown to, and which pixels it has."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image

from snellen.core.condition import parse_conditions
from snellen.core.item import View
from snellen.core.media import MediaFolder
from snellen.core.subject import SubjectCard
from snellen.core.suite import Suite, SuiteCard, ViewContext, settle
from snellen.suites.ava_bench.crops import Cut
from snellen.suites.ava_bench.tasks import AXES, resolve
from tests.suites.ava_bench.fixtures import HEIGHT, TASK_BY_NAME, WIDTH, one_of_each

CARD = SuiteCard(name="ava-bench", title="", measures="", paper="", version="1", counts={})
SUITE = Suite(CARD, AXES, TASK_BY_NAME, {}, resolve)

INSIDE = ("object", "colour", "ocr", "emotion")


def views(media: MediaFolder, who: str, told: str = "vanilla") -> dict[str, View]:
    """One view a task; the picture is red from column 10 to 49 and row 20 to 59, the box of most items."""
    pixels = np.full((HEIGHT, WIDTH, 3), (0, 90, 200), np.uint8)
    pixels[20:60, 10:50] = (250, 0, 0)
    (point,) = parse_conditions(AXES, told)
    point, found = settle(point, SUITE, SubjectCard(who)), {}
    for task, item in one_of_each(picture=media.add_picture(Image.fromarray(pixels))).items():
        found[task] = item.view()
        for transform in TASK_BY_NAME[task].transforms(item, ViewContext(point, [item])):
            found[task] = transform(found[task], media, np.random.default_rng(0))
    return found


def test_encoders_look_into_the_box(tmp_path: Path) -> None:
    media = MediaFolder(tmp_path)
    for task, view in views(media, "encoder:x").items():
        pixels = np.asarray(media.open(view.query[0]))
        assert (set(map(tuple, pixels.reshape(-1, 3).tolist())) == {(250, 0, 0)}) == (task in INSIDE), task
        if task in INSIDE:
            assert pixels.shape == (40, 40, 3)
            assert view.query[0].from_stored.box((10, 20, 50, 60)) == (0, 0, 40, 40)


def test_who_reads_sees_the_whole_picture(tmp_path: Path) -> None:
    media = MediaFolder(tmp_path)
    shown = views(media, "chat:x")
    assert all(min(view.query[0].width, view.query[0].height) >= HEIGHT for view in shown.values())
    forced = views(media, "chat:x", "look=box")["colour"]
    assert (forced.query[0].width, forced.query[0].height) == (40, 40)
    whole = views(media, "encoder:x", "look=picture")["colour"]
    assert whole == shown["colour"]


def test_parts_of_pixels_are_kept_whole(tmp_path: Path) -> None:
    media = MediaFolder(tmp_path)
    view = views(media, "chat:x", "pictures=original")["fine-grained"]
    (cut,) = Cut((10.6, 20.2, 12.1, 99.9))(view, media, np.random.default_rng(0)).query
    assert (cut.width, cut.height) == (3, 80)
    assert cut.origin == view.query[0].sha256
