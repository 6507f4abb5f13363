"""Controls every suite has: how much is scored without the images, and axes that several suites share."""

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

IMAGES = Axis("images", ("original", "none", "grey", "shuffled"), "what is shown in place of the images")
PROMPT = Axis("prompt", ("full", "short", "minimal"), "how much of the wording is said")
LAYOUT = Axis("layout", ("interleaved", "images-first"), "images where they are spoken of, or all before the words")
ORDER = Axis("order", ("stored", "shuffled"), "the order of options and solved examples")
SHEET = Axis(
    "sheet", ("auto", "separate", "single"), "images apart, or laid out as one for subjects that take one image"
)


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
    """`sheet=auto` means one laid-out image for subjects that take only one."""
    if condition["sheet"] != "auto":
        return {}
    return {"sheet": "single" if card.max_images == 1 else "separate"}


def map_images(view: View, change: Callable[[Media], Sequence[Media]]) -> View:
    """The view with every image replaced by what `change` gives for it; nothing is drawn in the new ones."""

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
    """No images at all: what is scored now is scored blind."""

    version: int = 1

    def __call__(self, view: View, media: MediaFolder, rng: np.random.Generator) -> View:
        """The view without images."""
        return map_images(view, lambda image: ())


@dataclass(frozen=True)
class Grey:
    """Every image, and every video, as one even grey image (128, 128, 128) of its size."""

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
    """Every image replaced by one that its stimulus does not show; the same image of a stimulus by the same one.

    Drawn for all that the stimulus ever shows, so that neither the question nor the number of shots moves the draw.
    Where the task shows nothing else there is nothing to show. A video gives way to another video. Frames made of a
    video give way to as many of another one, from the middles of equal parts: the number of images stays the same,
    which at so many frames a second it would not.
    """

    by_stimulus: Mapping[str, Sequence[Media]] = field(repr=False)
    pool: Sequence[Media] = field(repr=False)
    version: int = 1

    def __call__(self, view: View, media: MediaFolder, rng: np.random.Generator) -> View:
        """The view of somebody else's images."""
        kind_of = {image.sha256: image.kind for image in self.by_stimulus.get(view.stimulus_id, ())}
        for image in view.media():
            kind_of.setdefault(image.stored_sha256, image.kind)
        order, swap = rng.permutation(len(self.pool)), dict[str, Media]()
        for kind in sorted(set(kind_of.values())):
            names = [name for name, what in kind_of.items() if what == kind]
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
        """What stands in for the frames of a video, by that video: as many frames of another one."""
        count = Counter(image.stored_sha256 for image in view.media() if image.kind == "image")
        videos = {name: new for name, new in swap.items() if new.kind == "video" and name in count}
        return {name: iter(Frames(str(count[name])).extract(video, media)) for name, video in videos.items()}


@dataclass(frozen=True)
class Reordered:
    """Options, and the solved examples within each shot, in a random order: what a liking for places is worth."""

    version: int = 1

    def __call__(self, view: View, media: MediaFolder, rng: np.random.Generator) -> View:
        """The same view, other places. The names that stand for the options are put in the new order too."""
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
    """Offer the options by letters A, B, C, …; the letter and the text both count as the answer."""

    version: int = 1

    def __call__(self, view: View, media: MediaFolder, rng: np.random.Generator) -> View:
        """The view with letters."""
        letters = ascii_uppercase[: len(view.options)]
        if len(letters) < len(view.options):
            raise SnellenError(f"item {view.item_id}: {len(view.options)} options are more than there are letters")
        keys: list[tuple[str, str]] = []
        for letter, option in zip(letters, view.options, strict=True):
            keys.append((letter, option.key))
            if option.text and option.text.upper() not in letters:  # a text that is a letter would name two options
                keys.append((option.text, option.key))
        return replace(view, reply=replace(view.reply, keys=tuple(keys)))
