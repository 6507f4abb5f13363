"""The released files of VFM Bench: validated records of test.jsonl, and the paths of their images.

Layout and fields follow the released code (xiaoyuanzi914/VisualFastMappingBenchmark: `filter_pipeline.py`,
`run_evalset.py`): one JSON object per line, images in `raw_data/INDUSTRY/DATASET/OBJECT/SPLIT/CLASS/…`. Unverified: no
released data file was available when this was written, and the published test.jsonl is too small to contain demos.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from snellen.core.storage.media import open_image
from snellen.core.storage.user_files import bounded_literal, leads_outside
from snellen.curation.released import read_json_lines, validate_line
from snellen.suites.vfm_bench.items import INDUSTRIES, SHOTS
from snellen.suites.vfm_bench.prompts import DEFINITIONS

FILE = "test.jsonl"
ELEMENT = "element"
"""A level of the released settings that the paper does not have."""
MASKED = ("-mask-s1", "-mask-s2", "-mask-s3")
"""Copies of the query with noise on 100, 50 and 33 percent of its region; more noise shows its edges more reliably."""
IMAGES = {".jpg", ".jpeg", ".png", ".bmp"}
"""File endings of images in the released code."""


class _Fields(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)


class _DataInfo(_Fields):
    id: str | int
    industry: str
    level: str
    source: str


class _Instructions(_Fields):
    clean: str = ""
    cot: str = ""
    detail: str = ""


class _QueryInfo(_Fields):
    img_path: str = Field(min_length=1)
    label: str = Field(min_length=1)
    candidate: list[str] | str
    instruct: _Instructions = _Instructions()
    masked_path: dict[str, str] = {}


class _Shot(_Fields):
    shot_path: str = Field(min_length=1)
    caption: str = ""


class _Line(_Fields):
    data_info: _DataInfo
    query_info: _QueryInfo
    demo_info: dict[str, list[_Shot]] | None = None


@dataclass(frozen=True)
class ReleasedDemo:
    """One released demo: its image and its caption, which is often empty."""

    path: Path
    caption: str = ""


@dataclass(frozen=True)
class QueryRecord:
    """One released query. `location` is its file and line; `demos` has one key per class, or is empty.

    `object` and `scene` are the object of its path and the task of its instruction. `mask` shows the deciding region;
    without it, `masked` (copies of the query with noise there) does.
    """

    location: str
    name: str
    industry: str
    level: str
    source: str
    object: str
    scene: str
    query: Path
    label: str
    names: tuple[str, ...]
    instructions: Mapping[str, str]
    demos: Mapping[str, tuple[ReleasedDemo, ...]] = field(default_factory=dict)
    mask: Path | None = None
    masked: tuple[Path, ...] = ()
    missing_copies: int = 0
    """Number of copies with noise that are named but missing."""


@dataclass
class Tree:
    """The images under a folder, looked up by the paths in records.

    These are paths on the authors' machines; only the part after their raw-data folder is used. It may be relative to
    the folder itself or to one of its subfolders.
    """

    root: Path

    def __post_init__(self) -> None:
        inside = sorted(path for path in self.root.iterdir() if path.is_dir())
        deeper = sorted(path / "raw_data" for path in inside if (path / "raw_data").is_dir())
        self._bases = [self.root, *inside, *deeper]

    def find(self, name: str) -> Path | None:
        """The file of a path in a record, or None. Raises ValueError for a path outside the folder."""
        parts = PurePosixPath(name.replace("\\", "/")).parts
        if ".." in parts:
            raise ValueError(f"{name} leads out of {self.root.name}")
        tail = self.tail(name)
        tails = [tail] if PurePosixPath(name).is_absolute() else [PurePosixPath(name), tail]
        return next((path for base in self._bases for tail in tails if (path := base / tail).is_file()), None)

    @staticmethod
    def tail(name: str) -> PurePosixPath:
        """The part of a path after the raw-data folder, else from the industry on, else the file name."""
        parts = PurePosixPath(name.replace("\\", "/")).parts
        behind = [n + 1 for n, part in enumerate(parts[:-1]) if part.endswith("raw_data")]
        industry = [n for n, part in enumerate(parts) if part.startswith(INDUSTRIES)]
        return PurePosixPath(*parts[[*behind[-1:], *industry, len(parts) - 1][0] :])


def read_records(root: Path, problems: list[str]) -> tuple[list[QueryRecord], int]:
    """All records of test.jsonl in order, and the number of lines that are not queries. Errors go to `problems`.

    Objects without `query_info` are not queries: the pipeline writes an empty one first, and summaries last.
    """
    tree, records, others = Tree(root), list[QueryRecord](), 0
    for location, fields in read_json_lines(root / FILE, FILE, problems):
        if isinstance(fields, dict) and "query_info" not in fields:
            others += bool(fields)
            continue
        try:
            records.append(_record(tree, location, fields))
        except ValueError as error:
            problems.append(f"{location}: {error}")
    return records, others


def _record(tree: Tree, location: str, fields: Any) -> QueryRecord:
    """The record of a line. Raises ValueError with a text that lists all errors."""
    line = validate_line(_Line, fields)
    data, query = line.data_info, line.query_info
    names, missing = _candidates(query.candidate), list[str]()
    wrong = _unknown(line, names)
    image = _image(tree, query.img_path, missing)
    demos = _demos(line.demo_info, names, tree, missing, wrong)
    if missing:
        wrong.append(f"missing: {', '.join(missing)}")
    if wrong or image is None:
        raise ValueError("; ".join(wrong))
    masked = [tree.find(query.masked_path[name]) for name in MASKED if name in query.masked_path]
    imaged = _object(tree.tail(query.img_path))
    return QueryRecord(
        location=location,
        name=str(data.id),
        industry=data.industry,
        level=_level(data),
        source=data.source,
        object=imaged,
        scene=scene_of(query.instruct.clean) or imaged,
        query=image,
        label=query.label,
        names=names,
        instructions={name: text for name, text in query.instruct.model_dump().items() if text},
        demos=demos,
        mask=_mask(image),
        masked=tuple(path for path in masked if path),
        missing_copies=masked.count(None),
    )


def _level(data_info: _DataInfo) -> str:
    return data_info.level.strip().lower()


def _unknown(line: _Line, names: Sequence[str]) -> list[str]:
    """Messages for fields of a line with unknown values."""
    wrong, label, data = [], line.query_info.label, line.data_info
    if label not in names:
        wrong.append(f"query_info.label: {label!r} is not one of the candidates {', '.join(names)}")
    if _level(data) not in (*DEFINITIONS, ELEMENT):
        wrong.append(f"data_info.level: {data.level!r} is not one of {', '.join(DEFINITIONS)}")
    if data.industry not in INDUSTRIES:
        wrong.append(f"data_info.industry: {data.industry!r} is not one of {', '.join(INDUSTRIES)}")
    return wrong


def _candidates(field: list[str] | str) -> tuple[str, ...]:
    """The candidates, given as a list or as text in Python's list notation."""
    names: Any = field
    if isinstance(field, str):
        try:
            names = bounded_literal(field.strip())
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            raise ValueError(f"query_info.candidate: {field[:80]!r} is not a list") from None
    if not isinstance(names, list) or not all(isinstance(name, str) and name.strip() for name in names):
        raise ValueError("query_info.candidate: not a list of names")
    if len(names) < 2 or len(set(names)) < len(names):
        raise ValueError(f"query_info.candidate: fewer than two names, or a repeated name ({', '.join(names)})")
    return tuple(names)


def _image(tree: Tree, name: str, missing: list[str]) -> Path | None:
    """The file of a path; if it does not exist, its tail is added to `missing`."""
    path = tree.find(name)
    if path is None:
        missing.append(str(tree.tail(name)))
    return path


def _demos(
    demo_info: Mapping[str, Sequence[_Shot]] | None,
    names: Sequence[str],
    tree: Tree,
    missing: list[str],
    wrong: list[str],
) -> dict[str, tuple[ReleasedDemo, ...]]:
    """The demos of each class in the order of the candidates; empty if the record has none."""
    if demo_info is None:
        return {}
    if set(demo_info) != set(names):
        wrong.append(f"demo_info: classes {', '.join(demo_info)} are not the candidates {', '.join(names)}")
        return {}
    demos = {}
    for name in names:
        shots = [(_image(tree, shot.shot_path, missing), shot.caption) for shot in demo_info[name][:SHOTS]]
        demos[name] = tuple(ReleasedDemo(path, caption) for path, caption in shots if path)
    return demos


_SCENE = re.compile(r"ready for the task of (.+?)\. You should look")
_CANDIDATES = re.compile(r"\s*The potential categories are\b.*", re.DOTALL)


def scene_of(instruction: str) -> str:
    """The name of the task in a released instruction (`bottleDefeatIdentification`), or empty."""
    match = _SCENE.search(instruction)
    return match[1].strip() if match else ""


def head_of(instruction: str) -> str:
    """The part of a released instruction before its candidates; empty if it does not list them in the usual form."""
    return _CANDIDATES.sub("", instruction) if _CANDIDATES.search(instruction) else ""


def _object(tail: PurePosixPath) -> str:
    """The object in INDUSTRY/DATASET/OBJECT/SPLIT/CLASS/FILE, or the parts before class and file."""
    return tail.parts[2] if len(tail.parts) > 4 else "/".join(tail.parts[1:-2]) or tail.parts[0]


def class_folder(record: QueryRecord, name: str) -> Path | None:
    """The folder of a class next to the query's folder, or None. The query's folder is named after its class."""
    for parent in [] if leads_outside(name) else list(record.query.parents)[:2]:
        if parent.name == record.label and (folder := parent.parent / name).is_dir():
            return folder
    return None


def images_in(folder: Path) -> list[Path]:
    """The images in a folder and its subfolders, sorted by name."""
    return sorted(path for path in folder.rglob("*") if path.suffix.lower() in IMAGES and path.is_file())


def _mask(query: Path) -> Path | None:
    """The mask of a query in the places where the released code looks for it, or None."""
    return next((path for path in _masks(query) if path.is_file()), None)


def _masks(query: Path) -> Iterator[Path]:
    for split, masks in (("image", "mask"), ("test_rgb", "test_gt"), ("test", ""), ("test_public", "")):
        if split not in (parts := query.parts):
            continue
        index = len(parts) - 1 - parts[::-1].index(split)  # the last one, since an object may be called `test`
        folder = Path(*parts[:index], masks or "ground_truth", *parts[index + 1 : -1])
        endings = (".png",) if masks else ("_mask.png", ".png", "/000.png")
        yield from (folder / f"{query.stem}{ending}" for ending in endings)


def region_of(record: QueryRecord) -> tuple[tuple[int, int, int, int] | None, str]:
    """([x1, y1, x2, y2] of the deciding region in pixels of the query, its origin); None if unknown.

    From the mask; an empty one gives no region. Otherwise from the difference to a copy with noise. This is less
    reliable, since the release drew the place of the noise at random for images without a mask.
    """
    from PIL import Image, ImageChops

    with open_image(record.query) as opened:
        query = opened.convert("RGB")
    if record.mask:
        with open_image(record.mask) as opened:
            mask = opened.convert("L").resize(query.size, Image.Resampling.NEAREST)
        return mask.getbbox(), "mask"
    for path in record.masked:
        with open_image(path) as opened:
            copy = opened.convert("RGB")
        if copy.size == query.size and (box := ImageChops.difference(query, copy).getbbox()):
            return box, "copy with noise"
    return None, ""
