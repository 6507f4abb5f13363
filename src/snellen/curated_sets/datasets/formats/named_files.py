"""Images with class and box in tables (CUB-200-2011, FGVC-Aircraft), or in their own names (CURE-OR, Kylberg)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from snellen.core.storage.user_files import leads_outside
from snellen.curated_sets.datasets.formats.lists import rows
from snellen.datasets.fitting import annotated_file
from snellen.datasets.formats.file_tree import images_below, layout_folder, name_below
from snellen.datasets.image_files import ImageFile
from snellen.datasets.sample import Annotation, AttributeValue, Note, RawSample, labelled_image

BACKGROUNDS = ("white", "2D living room", "2D kitchen", "3D living room", "3D office")
DEVICES = ("iPhone 6s", "HTC One X", "LG Leon", "Logitech C920", "Nikon D80")
ORIENTATIONS = ("front", "left", "back", "right", "top")


def read_table(path: Path, root: Path, columns: int) -> tuple[dict[str, list[str]], list[Note]]:
    """Lines by their first column, the other columns as values (the last takes the rest), and notes on problems."""
    table: dict[str, list[str]] = {}
    notes: list[Note] = []
    for row in rows(path, root):
        if isinstance(row, Note):
            notes.append(row)
            continue
        cells = [*row[1][: columns - 1], " ".join(row[1][columns - 1 :])]
        if len(row[1]) < columns:
            notes.append(Note("unreadable", "line with too few columns", row[0]))
        elif cells[0] in table:
            notes.append(Note("odd", "line of a list twice; the first counts", row[0]))
        else:
            table[cells[0]] = cells[1:]
    return table, notes


@dataclass(frozen=True)
class Cub200:
    """Settings of the layout: README of CUB_200_2011. Boxes are x, y, width, height in pixels."""

    def scan(self, root: Path) -> Iterator[RawSample | Note]:
        """See `Reader`. Images by the number in their line."""
        base = layout_folder(root, ("images.txt",), "list")
        tables: dict[str, dict[str, list[str]]] = {}
        for name, columns in (("images", 2), ("image_class_labels", 2), ("classes", 2), ("bounding_boxes", 5),
                              ("train_test_split", 2)):  # fmt: skip
            tables[name], notes = read_table(base / f"{name}.txt", root, columns)
            yield from notes
        for number, (name,) in tables["images"].items():
            kind = tables["classes"].get(tables["image_class_labels"].get(number, [""])[0], [""])[0]
            if not kind or leads_outside(name):
                yield Note("unreadable", "image without class", name)
                continue
            box = None
            try:
                x, y, width, height = (float(side) for side in tables["bounding_boxes"].get(number, []))
                box = (x, y, x + width, y + height)
            except ValueError:
                yield Note("unreadable", "image without box", name)
            split = {"1": "train", "0": "test"}.get(tables["train_test_split"].get(number, [""])[0], "")
            attributes = {"split": split} if split else {}
            path = base / "images" / name
            yield from annotated_file(name_below(path, root), path, (Annotation(kind, box),), attributes=attributes)


@dataclass(frozen=True)
class Aircraft:
    """Settings of the layout: README of fgvc-aircraft-2013b. Boxes xmin, ymin, xmax, ymax count pixels from 1."""

    def scan(self, root: Path) -> Iterator[RawSample | Note]:
        """See `Reader`. Splits as declared, lines in file order."""
        splits = ("train", "val", "test")
        names = tuple(f"data/images_variant_{split}.txt" for split in splits)
        base = layout_folder(root, names, "list")
        boxes, notes = read_table(base / "data/images_box.txt", root, 5)
        yield from notes
        for split, name in zip(splits, names, strict=True):
            kinds, notes = read_table(base / name, root, 2)
            yield from notes
            for number, (kind,) in kinds.items():
                box = None
                try:
                    x1, y1, x2, y2 = (float(side) for side in boxes.get(number, []))
                    box = (x1 - 1, y1 - 1, x2, y2)
                except ValueError:
                    yield Note("unreadable", "image without box", number)
                path = base / "data/images" / f"{Path(number).name}.jpg"
                attributes = {"split": split}
                yield from annotated_file(name_below(path, root), path, (Annotation(kind, box),), attributes=attributes)


@dataclass(frozen=True)
class CureOr:
    """Settings of the layout: names BACKGROUND_DEVICE_ORIENTATION_OBJECT_CHALLENGE_LEVEL.jpg, numbers from 1.

    github.com/olivesgatech/mini-CURE-OR, "File Name Format". The label is the object's number: no page lists the
    `names` of the hundred objects as text, and only those of ten in the small version, which renumbers them.
    """

    def scan(self, root: Path) -> Iterator[RawSample | Note]:
        """See `Reader`. Images by name."""
        paths = list(images_below(root))
        if not paths:
            yield Note("missing", "no image", str(root))
        for path in paths:
            cells = path.stem.split("_")
            numbers = [int(cell) for cell in cells if cell.isdecimal()]
            limits = (len(BACKGROUNDS), len(DEVICES), len(ORIENTATIONS), 100, 18)
            fits = len(numbers) == len(cells) == 6 and all(
                1 <= number <= limit for number, limit in zip(numbers, limits, strict=False)
            )
            if not fits:
                yield Note("odd", "image name of another form", name_below(path, root))
                continue
            background, device, orientation, object, challenge, level = numbers
            extra = {"orientation": ORIENTATIONS[orientation - 1]}
            attributes: dict[str, AttributeValue] = {
                "background": BACKGROUNDS[background - 1],
                "device": DEVICES[device - 1],
                "challenge": float(challenge),
                "level": float(level),
            }
            yield RawSample(
                record_id=name_below(path, root),
                image=ImageFile(path),
                annotations=(Annotation(f"{object:03}", None, None, extra),),
                attributes=attributes,
            )


@dataclass(frozen=True)
class Kylberg:
    """Settings of the layout: names TEXTURE-SAMPLE-PATCH.png such as blanket1-a-p001.png, in any folders.

    There is one archive per texture or one of all, so folders mean nothing. Rotated patches (with a fourth part: r30 …)
    and the photographs that patches were cut from (without a third part) are left out, since the patch itself exists.
    """

    def scan(self, root: Path) -> Iterator[RawSample | Note]:
        """See `Reader`. Images by name."""
        paths = list(images_below(root))
        if not paths:
            yield Note("missing", "no image", str(root))
        for path in paths:
            texture, *parts = path.stem.split("-")
            kinds = [part[:1] for part in parts[1:]]
            if not texture or kinds not in ([], ["p"], ["p", "r"]) or not parts:
                yield Note("odd", "image name of another form", name_below(path, root))
            elif kinds == ["p"]:
                yield labelled_image(name_below(path, root), ImageFile(path), texture, "")
            else:
                yield Note("left out", "rotated patch" if kinds else "uncut photograph", name_below(path, root))
