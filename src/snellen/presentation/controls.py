"""Controls of every suite (scores without the images), and axes that several suites share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import cycle, islice
from string import ascii_uppercase

import numpy as np
from PIL import Image

from snellen.core.condition import Axis, Condition, Value
from snellen.core.errors import SnellenError
from snellen.core.item import Media, View
from snellen.core.storage.media import MediaFolder
from snellen.core.subject import SubjectCard
from snellen.core.suite import Transform, ViewContext
from snellen.stimuli.transforms.frames import Frames

IMAGES = Axis("images", ("original", "none", "grey", "shuffled"), "what is shown in place of the images", ("shuffled",))
PROMPT = Axis("prompt", ("full", "short", "minimal"), "how much of the wording is used")
LAYOUT = Axis("layout", ("interleaved", "images-first"), "images where the text mentions them, or all before the text")
ORDER = Axis("order", ("stored", "shuffled"), "the order of options and solved examples", ("shuffled",))
SHEET = Axis(
    "sheet", ("auto", "separate", "single"), "images shown separately, or as one for subjects that take one image"
)
FRAMES = Axis("frames", ("auto", "8", "16", "1fps", "native"), "frames of a video that are shown")


def control(value: Value, context: ViewContext) -> tuple[Transform, ...]:
    """The transforms of one value of the axis `images`. They come last, after pixels and reply frame."""
    if value == "none":
        return (Without(),)
    if value == "grey":
        return (Grey(),)
    if value == "shuffled":
        return (Shuffled(context.by_stimulus, context.pool),)
    return ()


def resolve_sheet(condition: Condition, card: SubjectCard) -> Mapping[str, Value]:
    """The value of `sheet=auto`: one laid-out image for subjects that take only one."""
    if condition["sheet"] != "auto":
        return {}
    return {"sheet": "single" if card.max_images == 1 else "separate"}


def resolve_frames(condition: Condition, card: SubjectCard) -> Mapping[str, Value]:
    """The value of `frames=auto`, as in Table 9 of VLM2-Bench.

    A subject may set the attribute `frames`. Otherwise models of the Qwen family get one frame per second, subjects
    that accept fewer than sixteen images get eight, and all others sixteen.
    """
    if condition["frames"] != "auto":
        return {}
    attribute = card.attributes.get("frames", "")
    few = card.max_images is not None and 1 < card.max_images < 16
    default = "1fps" if "qwen" in card.name.lower() else "8" if few else "16"
    return {"frames": attribute if attribute in FRAMES.values[1:] else default}


def map_images(view: View, change: Callable[[Media], Sequence[Media]]) -> View:
    """The view with every image replaced by the result of `change`, without marks drawn in the new ones."""

    def changed(media: tuple[Media, ...]) -> tuple[Media, ...]:
        return tuple(new for old in media for new in change(old))

    return replace(
        view,
        query=changed(view.query),
        options=tuple(replace(option, media=changed(option.media)) for option in view.options),
        support=tuple(replace(demo, media=changed(demo.media)) for demo in view.support),
        marks=(),
    )


@dataclass(frozen=True)
class Without:
    """Removes all images: the score is blind."""

    version: int = 1

    def __call__(self, view: View, media: MediaFolder, rng: np.random.Generator) -> View:
        """The view without images."""
        return map_images(view, lambda image: ())


@dataclass(frozen=True)
class Grey:
    """Replaces every image and every video by one uniform grey image (128, 128, 128) of its size."""

    version: int = 1

    def __call__(self, view: View, media: MediaFolder, rng: np.random.Generator) -> View:
        """The view in grey."""

        def grey(image: Media) -> tuple[Media, ...]:
            size = image.width, image.height
            grey_image = media.derive(["grey", self.version, size], lambda: Image.new("RGB", size, (128, 128, 128)))
            return (replace(grey_image, from_stored=image.from_stored),)

        return map_images(view, grey)


@dataclass(frozen=True)
class Shuffled:
    """Replaces every image by one that its stimulus does not show; equal images of a stimulus by the same one.

    The draw covers all images that the stimulus ever shows, so that it depends neither on the question nor on the
    number of shots. If the task has no other images, none are shown. A video is replaced by another video. Frames of a
    video are replaced by as many frames of another one, from the middles of equal parts: frames per second would change
    the number of images.
    """

    by_stimulus: Mapping[str, Sequence[Media]] = field(repr=False)
    pool: Sequence[Media] = field(repr=False)
    version: int = 1

    def __call__(self, view: View, media: MediaFolder, rng: np.random.Generator) -> View:
        """The view with images of other stimuli."""
        kind_of = {image.sha256: image.kind for image in self.by_stimulus.get(view.stimulus_id, ())}
        for image in view.media():
            kind_of.setdefault(image.stored_sha256, image.kind)
        order, swap = rng.permutation(len(self.pool)), dict[str, Media]()
        for kind in sorted(set(kind_of.values())):
            names = [name for name, media_kind in kind_of.items() if media_kind == kind]
            candidates = (self.pool[int(n)] for n in order)
            strange = (image for image in candidates if image.kind == kind and image.sha256 not in kind_of)
            swap.update(zip(names, cycle(list(islice(strange, len(names)))), strict=False))
        stills = self._stills(view, swap, media)

        def swapped(old: Media) -> tuple[Media, ...]:
            if (new := swap.get(old.stored_sha256)) is None:
                return ()
            return (new,) if new.kind == old.kind else (next(stills[old.stored_sha256]),)

        return map_images(view, swapped)

    def _stills(self, view: View, swap: Mapping[str, Media], media: MediaFolder) -> dict[str, Iterator[Media]]:
        """Replacements for the frames of each video: as many frames of another one."""
        count = Counter(image.stored_sha256 for image in view.media() if image.kind == "image")
        videos = {name: new for name, new in swap.items() if new.kind == "video" and name in count}
        return {name: iter(Frames(str(count[name])).extract(video, media)) for name, video in videos.items()}


@dataclass(frozen=True)
class Reordered:
    """Shuffles options, and the solved examples within each shot, to measure preferences for places."""

    version: int = 1

    def __call__(self, view: View, media: MediaFolder, rng: np.random.Generator) -> View:
        """The view in a new order; the names of the options are reordered too."""
        options = tuple(view.options[int(n)] for n in rng.permutation(len(view.options)))
        position = {option.key: n for n, option in enumerate(options)}
        keys = tuple(sorted(view.reply.keys, key=lambda pair: position.get(pair[1], 0)))
        demos = [view.support[int(n)] for n in rng.permutation(len(view.support))]
        support = tuple(sorted(demos, key=lambda demo: demo.shot))
        return replace(view, options=options, support=support, reply=replace(view.reply, keys=keys))


def order_transforms(value: Value) -> tuple[Transform, ...]:
    """The transforms of one value of the axis `order`. They come first, before letters are given."""
    return (Reordered(),) if value == "shuffled" else ()


@dataclass(frozen=True)
class Lettered:
    """Offers the options by letters A, B, C, …; the letter and the text both count as the answer."""

    version: int = 1

    def __call__(self, view: View, media: MediaFolder, rng: np.random.Generator) -> View:
        """The view with letters."""
        letters = ascii_uppercase[: len(view.options)]
        if len(letters) < len(view.options):
            raise SnellenError(f"item {view.item_id}: more options ({len(view.options)}) than letters")
        keys: list[tuple[str, str]] = []
        for letter, option in zip(letters, view.options, strict=True):
            keys.append((letter, option.key))
            if option.text and option.text.upper() not in letters:  # a text that is a letter would name two options
                keys.append((option.text, option.key))
        return replace(view, reply=replace(view.reply, keys=tuple(keys)))
