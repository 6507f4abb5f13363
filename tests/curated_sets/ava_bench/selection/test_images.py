"""Images of candidates: each read once, of the size of its annotations, whole or cut out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from PIL import Image

from snellen.core.item import Media
from snellen.core.storage.media import MediaFolder
from snellen.curated_sets.ava_bench.selection.candidates import Candidate, Origin
from snellen.curated_sets.ava_bench.selection.images import OTHER_SIZE, UNREADABLE, ImageStore, UnusableImage
from snellen.datasets.image_files import ImageFile


def test_images_are_stored_once_and_crops_show_their_part(tmp_path: Path) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (12, 40, 3), np.uint8)
    Image.fromarray(pixels).save(tmp_path / "a.png")
    whole = Origin("KITTI", "a.png", ImageFile(tmp_path / "a.png"), "made", (40, 12))
    narrow, low = replace(whole, record_id="b", size=(39, 12)), replace(whole, source="AID", size=(40, 11))
    absent = replace(whole, record_id="c", image=ImageFile(tmp_path / "c.png"))
    store, counts = ImageStore(MediaFolder(tmp_path / "media")), list[int]()
    store.load([whole, narrow, low, absent, whole], 2, lambda: counts.append(1))
    image = store.get(whole)
    assert isinstance(image, Media)
    assert (len(counts), image.width, image.height, image.format) == (4, 40, 12, "png")
    assert store.media.read(image) == (tmp_path / "a.png").read_bytes()
    assert (store.pixels(image)() == pixels).all()
    assert [store.get(origin) for origin in (narrow, low)] == [
        UnusableImage(OTHER_SIZE, "b: 40 x 12, not 39 x 12"), UnusableImage(OTHER_SIZE, "a.png: 40 x 12, not 40 x 11"),
    ]  # fmt: skip
    missing = store.get(absent)
    assert isinstance(missing, UnusableImage)
    assert (missing.rule, missing.location[:3]) == (UNREADABLE, "c: ")
    boxes = (None, (3.0, 2.0, 27.0, 12.0), (9.0, 0.0, 21.0, 12.0))
    first, *crops = (store.apply_crop(Candidate(whole, "", "", {}, 0.0, box), image) for box in boxes)
    assert first == image
    for media, part in zip(crops, (pixels[2:12, 3:27], pixels[:, 9:21]), strict=True):
        assert (media.width, media.height, media.format) == (part.shape[1], part.shape[0], "png")
        assert (store.pixels(media)() == part).all()
