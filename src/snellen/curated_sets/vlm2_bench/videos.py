"""Videos made from the user's clips of two people: one after the other, and then the first again (section 2.3)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from snellen.compute import Progress
from snellen.core.build_options import BuildOptions
from snellen.core.errors import SnellenError
from snellen.core.hashing import digest, sha256
from snellen.core.item import Item, Media
from snellen.core.storage.media import MediaFolder
from snellen.stimuli.video import VIDEO_ENDINGS, JoinedVideo, add_video, frames_at, join_clips
from snellen.suites.vlm2_bench.folders import CuratedItems, folders_in, source_folder
from snellen.suites.vlm2_bench.items import Pattern, video_item

TASKS = ("pc-vid",)
LAYOUT = "give a folder ACTIVITY/PAIR/ with the videos p.mp4 and q.mp4 of two different people"
FRAMES_PER_SECOND = 24
"""Frame rate of all videos made, since clips may have different rates, and rates like 23.976 are not whole numbers."""
DESCRIPTIONS: dict[Pattern, str] = {
    "PQ": "Two different individuals appear: the first person, and then another person.",
    "PQP": (
        "Two different individuals appear: the first person, then another person, and at the end the first person "
        "again: the last individual is the same as the first."
    ),
}
"""Full descriptions of who is who; the other content of the videos is unknown."""


@dataclass(frozen=True)
class Clips:
    """Two clips of different people in the same activity, numbered in the order of the folders."""

    number: int
    activity: str
    folder: Path
    p: Path
    q: Path


def read_clips(root: Path) -> tuple[Clips, ...]:
    """All pairs in a folder ACTIVITY/PAIR/{p,q}.mp4 (or another of `VIDEO_ENDINGS`).

    Raises SnellenError naming the folder if a clip is missing, or if several have the same name.
    """
    folders = [(activity.name, folder) for activity in folders_in(root) for folder in folders_in(activity)]
    if not folders:
        raise SnellenError(f"{root}: no pairs of clips; {LAYOUT}")
    return tuple(
        Clips(number, activity, folder, _clip(folder, "p"), _clip(folder, "q"))
        for number, (activity, folder) in enumerate(folders, 1)
    )


def _clip(folder: Path, name: str) -> Path:
    videos = [path for path in sorted(folder.iterdir()) if path.stem == name and path.suffix.lower() in VIDEO_ENDINGS]
    if len(videos) != 1:
        raise SnellenError(f"{folder}: {len(videos)} videos named {name}, but one is needed; {LAYOUT}")
    return videos[0]


def curate_videos(tasks: Sequence[str], options: BuildOptions, media: MediaFolder) -> CuratedItems:
    """The items of `pc-vid`: for each pair of clips one video P, Q and one P, Q, P, with parts of equal length."""
    pairs = read_clips(source_folder(options, "vid", tasks[0], LAYOUT))
    changed: list[str] = []
    items: list[Item] = []
    with Progress("joining", unit="videos", visible=options.show_progress) as progress:
        progress.expect(len(DESCRIPTIONS) * len(pairs))
        for pair in pairs:
            items += _items(pair, options.seed, media, changed)
            progress.advance(len(DESCRIPTIONS))
    activities = len({pair.activity for pair in pairs})
    notes = [f"pc-vid: {len(items)} videos of {len(pairs)} pairs of clips in {activities} activities (the paper: 200)"]
    if changed:
        notes.append(f"pc-vid: {len(changed)} videos whose parts were cut or converted to fit (see provenance)")
    return CuratedItems(tuple(items), tuple(notes))


def _items(clips: Clips, seed: int, media: MediaFolder, changes: list[str]) -> Iterator[Item]:
    if sha256(clips.p.read_bytes()) == sha256(clips.q.read_bytes()):
        raise SnellenError(f"{clips.folder}: {clips.p.name} and {clips.q.name} are the same video; {LAYOUT}")
    for pattern, answer in DESCRIPTIONS.items():
        handle = digest(["pc-vid", clips.activity, clips.folder.name, pattern], 10)
        video, joining = _join([clips.p, clips.q, clips.p][: len(pattern)], media)
        changes += [handle] if joining.changed else []
        yield video_item(
            "pc",
            handle,
            video,
            pattern,
            answer=answer,
            cluster=f"clips-{clips.number:03d}",
            factors={"activity": clips.activity},
            provenance={"seed": seed, "part_seconds": joining.part_seconds, "changed": list(joining.changed)},
        )


def _join(parts: Sequence[Path], media: MediaFolder) -> tuple[Media, JoinedVideo]:
    """One video with the size of its first part, rounded down to even numbers for the codec."""
    ((_, first),) = frames_at(parts[0], [0.0])
    size = first.width - first.width % 2, first.height - first.height % 2
    with TemporaryDirectory() as folder:
        path = Path(folder) / "video.mp4"
        joining = join_clips(parts, path, fps=FRAMES_PER_SECOND, size=size)
        return add_video(media, path), joining


def plan_videos(tasks: Sequence[str], options: BuildOptions) -> dict[str, int]:
    """The number of items per task: two videos per pair of clips."""
    return {task: 2 * len(read_clips(source_folder(options, "vid", task, LAYOUT))) for task in tasks}
