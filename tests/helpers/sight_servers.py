"""Servers with a known fault in front of an observer that reads pixels, for `snellen sight`.

python -m tests.helpers.sight_servers [--clean 200]     prints the table of docs/measurements/sight.md
"""

from __future__ import annotations

import argparse
import io
import random
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageFilter, ImageOps

from snellen.core.item import Media
from snellen.core.prompt import Prompt, Reply
from snellen.core.storage.media import MediaFolder
from snellen.core.storage.sight import SightCard
from snellen.core.subject import Base, SubjectCard
from snellen.exam.sight import sight
from snellen.stimuli.video.reading import frames_at, uniform_times
from snellen_sight import drawing
from snellen_sight.checks.compression import QUARTERS
from snellen_sight.checks.order import LETTERS
from snellen_sight.checks.orientation import EDGES
from snellen_sight.checks.sequence import TEXT as SEQUENCE_TEXT
from snellen_sight.checks.shades import NAMES
from snellen_sight.directions import DIRECTIONS
from snellen_sight.psychometric import weibull

Images = list[Image.Image]
FAINT = 0.3
"""Contrast of a gap in a ring that is not seen any more, as behind a blur."""
VISIBLE = 3.0
"""Least amplitude of stripes that an observer sees, in levels of red minus green."""


def flat(image: Image.Image, ground: tuple[int, int, int] = (255, 255, 255)) -> Image.Image:
    """The image as a good server passes it on: upright, and opaque on a ground."""
    upright = ImageOps.exif_transpose(image)
    if upright.mode != "RGBA":
        return upright.convert("RGB")
    return Image.alpha_composite(Image.new("RGBA", upright.size, (*ground, 255)), upright).convert("RGB")


def _fit(long_edge: int, short_edge: int = 10**6) -> Callable[[Image.Image], Image.Image]:
    def resize(image: Image.Image) -> Image.Image:
        scale = min(1.0, long_edge / max(image.size), short_edge / min(image.size))
        size = tuple(max(1, round(edge * scale)) for edge in image.size)
        return image if scale == 1.0 else image.resize((size[0], size[1]), Image.Resampling.LANCZOS)

    return resize


def _jpeg(quality: int) -> Callable[[Image.Image], Image.Image]:
    def compress(image: Image.Image) -> Image.Image:
        buffer = io.BytesIO()
        image.save(buffer, "JPEG", quality=quality)
        return Image.open(buffer).convert("RGB")

    return compress


def _exchanged(image: Image.Image) -> Image.Image:
    red, green, blue = image.split()
    return Image.merge("RGB", (blue, green, red))


def _square(image: Image.Image) -> Image.Image:
    return ImageOps.fit(image, (min(image.size), min(image.size)))


def _turned_again(image: Image.Image) -> Image.Image:
    flag = int(image.getexif().get(drawing.ORIENTATION, 1))
    upright = ImageOps.exif_transpose(image)
    turn = {3: Image.Transpose.ROTATE_180, 6: Image.Transpose.ROTATE_270, 8: Image.Transpose.ROTATE_90}.get(flag)
    return upright if turn is None else upright.transpose(turn)


def _nearest(image: Image.Image, long_edge: int) -> Image.Image:
    scale = min(1.0, long_edge / max(image.size))
    return image.resize((round(image.width * scale), round(image.height * scale)), Image.Resampling.NEAREST)


def _middle(image: Image.Image, share: float) -> Image.Image:
    width, height = round(image.width * share), round(image.height * share)
    left, top = (image.width - width) // 2, (image.height - height) // 2
    return image.crop((left, top, left + width, top + height))


def _squashed(image: Image.Image) -> Image.Image:
    side = max(image.size)
    return image.resize((side, side), Image.Resampling.BICUBIC)


@dataclass(frozen=True)
class Server:
    """What a server does to images (`change`, after `open`), to their list, and to a video (`frames` of it)."""

    check: str = ""
    """The check that must find the fault; empty for a clean server."""
    change: Callable[[Image.Image], Image.Image] = lambda image: image
    open: Callable[[Image.Image], Image.Image] = flat
    order: Callable[[Images], Images] = lambda images: images
    frames: int = 0
    tile: int = 0
    stale: str = ""
    """Which other image a call gets: `before` (of the call before), `cached` (of the first call with these words),
    `first` (of the first call), `mixed` (of a call at the same time), `turn` (of an earlier turn)."""
    frame: Callable[[float, float, tuple[int, int]], tuple[float, float]] = lambda x, y, size: (
        1000 * x / size[0],
        1000 * y / size[1],
    )
    """How the model states a point of the image that it sees, of this size."""
    point: str = "({0:.0f}, {1:.0f})"
    """How it writes these two numbers."""


FAULTS = {
    **{f"long edge of {edge} px": Server("resolution", _fit(edge)) for edge in (336, 448, 672, 896)},
    "JPEG at quality 30": Server("compression", _jpeg(30)),
    "red and blue exchanged": Server("colours", _exchanged),
    "grey": Server("colours", lambda image: image.convert("L").convert("RGB")),
    "inverted": Server("colours", ImageOps.invert),
    "second image dropped": Server("several images", order=lambda images: images[:1] + images[2:]),
    "order reversed": Server("several images", order=lambda images: images[::-1]),
    "only the first image": Server("several images", order=lambda images: images[:1]),
    "only the last image": Server("several images", order=lambda images: images[-1:]),
    "square from the middle": Server("crop", _square),
    "squashed to a square": Server("aspect", _squashed),
    "tiles without overview": Server("whole", tile=448),
    "transparent on black": Server("transparency", open=lambda image: flat(image, (0, 0, 0))),
    "alpha removed": Server("transparency", open=lambda image: ImageOps.exif_transpose(image).convert("RGB")),
    "orientation ignored": Server("orientation", open=lambda image: flat(Image.fromarray(np.asarray(image)))),
    "no image": Server("image", order=lambda images: []),
    "four frames of a video": Server("video", frames=4),
}
NEW_FAULTS = {
    "image of the call before": Server("image", stale="before"),
    "image of the first call": Server("image", stale="first"),
    "replies cached by words": Server("sequence", stale="cached"),
    "calls at once mixed up": Server("sequence", stale="mixed"),
    "image of an earlier turn": Server("sequence", stale="turn"),
    "last two images exchanged": Server("several images", order=lambda images: [*images[:-2], *images[:-3:-1]]),
    "third and later images dropped": Server("several images", order=lambda images: images[:2]),
    "fourth image dropped": Server("several images", order=lambda images: images[:3] + images[4:]),
    "first image repeated": Server("several images", order=lambda images: [images[0], *images[:-1]]),
    "fifth image shows the fourth": Server(
        "several images", order=lambda images: [*images[:4], *images[3:4], *images[5:]]
    ),
    "even images first": Server("several images", order=lambda images: images[1::2] + images[::2]),
    "random order": Server("several images", order=lambda images: random.sample(images, len(images))),
    "mirrored": Server("orientation", ImageOps.mirror),
    "upside down": Server("orientation", ImageOps.flip),
    "turned by 180 degrees": Server("orientation", lambda image: image.rotate(180)),
    "orientation applied twice": Server("orientation", open=lambda image: flat(_turned_again(image))),
    "channels rotated": Server("colours", lambda image: Image.merge("RGB", image.split()[1:] + image.split()[:1])),
    "nearest neighbour to 672 px": Server("resolution", lambda image: _nearest(image, 672)),
    "crop of 87.5 %": Server("crop", lambda image: _middle(image, 0.875)),
    "JPEG at quality 10": Server("compression", _jpeg(10)),
    "16 colours": Server("shades", lambda image: image.quantize(16).convert("RGB")),
    "halved contrast": Server("shades", lambda image: image.point(lambda level: 64 + level // 2)),
    "gamma twice": Server("shades", lambda image: image.point(lambda level: round(255 * (level / 255) ** 2.2))),
    "blur of 3 px": Server("resolution", lambda image: image.filter(ImageFilter.GaussianBlur(3))),
}
"""Faults that an outside check tried, with the check that is closest to each."""
CLEAN = Server()
PROVIDERS = {
    "a long edge of 1,568 px (Claude)": Server("resolution", _fit(1568)),
    "a short side of 768 px (GPT-4o and others of OpenAI)": Server("resolution", _fit(2048, 768)),
}


def _patches_of_28(image: Image.Image) -> Image.Image:
    return image.resize((round(image.width / 28) * 28, round(image.height / 28) * 28), Image.Resampling.BICUBIC)


AGENTS = {
    "pixels of an image with a longer side of at most 1,56": Server(
        change=_fit(1568), frame=lambda x, y, size: (x, y),
        point='{{"action": "left_click", "coordinate": [{0:.0f}, {1:.0f}]}}',
    ),
    "thousandths of width and height, y first": Server(
        frame=lambda x, y, size: (1000 * y / size[1], 1000 * x / size[0]),
        point='[{{"point": [{0:.0f}, {1:.0f}], "label": "red disc"}}]',
    ),
    "pixels of the image as sent": Server(
        change=_patches_of_28, frame=lambda x, y, size: (x, y), point="click(start_box='({0:.0f},{1:.0f})')"
    ),
}  # fmt: skip
"""By the frame that is found: servers as those of agents with Claude, Gemini and UI-TARS, by their published forms."""


@dataclass(frozen=True)
class Observer(Base):
    """An observer behind a server. `gap_px` is the gap of a ring of which half are recognised, `lapse` a share."""

    card: SubjectCard
    server: Server = CLEAN
    gap_px: float = 2.0
    lapse: float = 0.0
    seed: int = 0
    counts_tokens: bool = True
    slope: float = 3.0
    habit: Callable[[list[str], np.random.Generator], list[str]] = lambda answers, rng: answers
    """How it replaces its answers."""
    calls: list[str] = field(default_factory=list)
    earlier: dict[str, Images] = field(default_factory=dict)

    async def answer(self, prompt: Prompt, media: MediaFolder, rng: np.random.Generator) -> Reply:
        """Look at what the server passes on, and answer by what the pixels show."""
        rng = np.random.default_rng([self.seed, len(self.calls)])
        self.calls.append(prompt.digest())
        text = str(prompt.parts[-1])
        images = self._served(
            prompt, list(self._images([p for p in prompt.parts if isinstance(p, Media)], media)), media
        )
        tokens = sum(-(-image.width // 28) * -(-image.height // 28) for image in images) if self.counts_tokens else 0
        arriving = images if "video" in text and self.server.check != "image" else self.server.order(images)
        answers, words = self._answers(text, arriving, rng)
        replaced = [str(rng.choice(words)) if rng.random() < self.lapse else answer for answer in answers]
        return Reply(", ".join(self.habit(replaced, rng)), tokens_in=tokens and tokens + 50)

    def _served(self, prompt: Prompt, images: Images, media: MediaFolder) -> Images:
        """The images that the model gets in place of those of this call, if the server keeps others."""
        text, stale = str(prompt.parts[-1]), self.server.stale
        self.earlier.setdefault("first", images)
        self.earlier.setdefault(text, images)
        before, self.earlier["before"] = self.earlier.get("before", images), images
        if stale == "turn" and prompt.history:
            return list(self._images([part for part in prompt.history[0].parts if isinstance(part, Media)], media))
        if stale == "mixed" and text == SEQUENCE_TEXT and len(self.calls) > 10:
            return before
        return {"before": before, "first": self.earlier["first"], "cached": self.earlier[text]}.get(stale, images)

    def _images(self, sent: Sequence[Media], media: MediaFolder) -> Iterator[Image.Image]:
        for part in sent:
            if part.kind == "video":
                times = uniform_times(part.seconds, self.server.frames or 2 * round(part.seconds))
                yield from (image.convert("RGB") for _, image in frames_at(media.read(part), times))
            else:
                yield self.server.change(self.server.open(media.open(part)))

    def _answers(self, text: str, images: Images, rng: np.random.Generator) -> tuple[list[str], Sequence[str]]:
        if "capital letter" in text:
            letters = [_letter(image) for image in images]
            if "video" in text:
                letters = [letter for n, letter in enumerate(letters) if n == 0 or letter != letters[n - 1]]
            return letters or list(rng.choice(LETTERS, 3)), LETTERS
        image = images[0] if images else None
        if "red disc" in text:
            return [_point(image, self.server) if image else "(1, 1)"], ("(500, 500)", "(1, 999)")
        if "twelve rings" in text:
            return self._rings(image, rng), DIRECTIONS
        words, answer = (
            next((words, see(image, text)) for key, words, see in SIGHTS if key in text) if image else ((), "")
        )
        if "ring with a gap" in text:
            words = DIRECTIONS
            answer = self._ring(np.asarray(image.convert("L"), np.float64), rng, (0, 0)) if image else ""
        if "stripes" in text:
            words, answer = QUARTERS, self._stripes(image) if image else ""
        if image is None:
            words = next(words for key, words, _ in SIGHTS if key in text)
        return [answer or str(rng.choice(words))], words

    def _stripes(self, image: Image.Image) -> str:
        """The quarter whose stripes are visible after the observer's own blur."""
        blurred = np.asarray(image.filter(ImageFilter.GaussianBlur(0.4 * self.gap_px)), np.float64)
        colour = blurred[..., 0] - blurred[..., 1]
        height, width = (side // 2 for side in colour.shape)
        margin = width // 8
        spreads = [
            float(colour[y + margin : y + height - margin, x + margin : x + width - margin].std())
            for y in (0, height) for x in (0, width)
        ]  # fmt: skip
        return QUARTERS[int(np.argmax(spreads))] if max(spreads) > VISIBLE else ""

    def _rings(self, image: Image.Image | None, rng: np.random.Generator) -> list[str]:
        if image is None:
            return [str(direction) for direction in rng.choice(DIRECTIONS, 12)]
        grey = np.asarray(image.convert("L"), np.float64)
        rows, columns = (
            np.linspace(0, side, parts + 1).round().astype(int) for side, parts in zip(grey.shape, (3, 4), strict=True)
        )
        return [
            self._ring(grey[rows[n // 4] : rows[n // 4 + 1], columns[n % 4] : columns[n % 4 + 1]], rng,
                       (int(rows[n // 4]), int(columns[n % 4])))
            for n in range(12)
        ]  # fmt: skip

    def _ring(self, grey: NDArray[np.float64], rng: np.random.Generator, corner: tuple[int, int]) -> str:
        """The direction of the gap of the only ring in a region: the sector of the ring with the least ink."""
        ink = np.median(grey) - grey if np.median(grey) > 128 else grey - np.median(grey)
        ink = np.where(ink > 0.15 * ink.max(), ink, 0.0)
        y, x = np.nonzero(ink)
        if not len(y):
            return str(rng.choice(DIRECTIONS))
        top, bottom, left, right = y.min(), y.max() + 1, x.min(), x.max() + 1
        gap = max(bottom - top, right - left) / 5
        is_cut = self.server.tile and any(
            (low + edge) // self.server.tile != (low + end - 1) // self.server.tile
            for low, edge, end in ((corner[0], top, bottom), (corner[1], left, right))
        )
        chance = float(weibull(np.log10(gap), np.log10(self.gap_px), self.slope, 0.0, 0.0))
        if is_cut or rng.random() > chance:
            return str(rng.choice(DIRECTIONS))
        angle = np.arctan2((top + bottom - 1) / 2 - y, x - (left + right - 1) / 2)
        sector = np.rint(angle / (np.pi / 4)).astype(int) % 8
        sums = np.bincount(sector, ink[y, x], 8)
        contrast = (np.median(sums) - sums.min()) / (255 * np.pi / 2 * gap**2)  # of the gap, in an eighth of the ring
        return DIRECTIONS[int(np.argmin(sums))] if contrast > FAINT else str(rng.choice(DIRECTIONS))


@cache
def _templates() -> NDArray[np.float64]:
    return np.stack(
        [np.asarray(drawing.letter(letter).convert("L").resize((32, 32)), np.float64) for letter in LETTERS]
    )


def _letter(image: Image.Image) -> str:
    pixels = np.asarray(image.convert("L").resize((32, 32)), np.float64)
    if pixels[0, 0] < 128:
        pixels = 255 - pixels
    return LETTERS[int(np.argmin(((_templates() - pixels) ** 2).sum((1, 2))))]


def _named(image: Image.Image, x: float, y: float) -> str:
    """The name of the colour at a place, given in shares of the image."""
    pixel = np.asarray(image)[int(y * (image.height - 1)), int(x * (image.width - 1))].astype(float)
    return min(drawing.RGB, key=lambda name: float(((np.array(drawing.RGB[name]) - pixel) ** 2).sum()))


def _point(image: Image.Image, server: Server) -> str:
    red, green, _ = np.asarray(image, np.int64).transpose(2, 0, 1)
    rows, columns = np.nonzero(red - green > 120)
    if not len(rows):
        return "(0, 0)"
    return server.point.format(*server.frame(float(columns.mean()), float(rows.mean()), image.size))


def _edge(image: Image.Image, text: str) -> str:
    name = next(edge for edge in EDGES if f"the {edge} edge" in text)
    places = {"top": (0.5, 0.05), "bottom": (0.5, 0.95), "left": (0.05, 0.5), "right": (0.95, 0.5)}
    return _named(image, *places[name])


def _end(image: Image.Image, text: str) -> str:
    name = next(edge for edge in EDGES if f"the {edge} end" in text)
    places = {"top": (0.5, 0.02), "bottom": (0.5, 0.98), "left": (0.02, 0.5), "right": (0.98, 0.5)}
    return _named(image, *places[name])


def _shape(image: Image.Image, text: str) -> str:
    grey = np.asarray(image.convert("L"))
    y, x = np.nonzero(grey < 128 if grey[0, 0] > 128 else grey > 128)
    ratio = (x.max() - x.min() + 1) / (y.max() - y.min() + 1)
    return "wide" if ratio > 1.5 else "tall" if ratio < 1 / 1.5 else "circle"


def _shade(image: Image.Image) -> str:
    return NAMES[
        int(np.argmin(np.abs(np.array([250, 189, 128, 68, 8]) - float(np.asarray(image.convert("L")).mean()))))
    ]


def _smooth(image: Image.Image) -> str:
    """The quarter whose largest step between neighbouring columns is least, if it is too small to be seen."""
    grey = np.asarray(image.convert("L"), np.float64)
    height, width = (side // 2 for side in grey.shape)
    margin = width // 8
    steps = [
        float(np.abs(np.diff(grey[y + margin : y + height - margin, x + margin : x + width - margin].mean(0))).max())
        for y in (0, height) for x in (0, width)
    ]  # fmt: skip
    return QUARTERS[int(np.argmin(steps))] if min(steps) < VISIBLE < max(steps) else ""


_SOME = ("green", "magenta", "white", "black")
SIGHTS: Sequence[tuple[str, Sequence[str], Callable[[Image.Image, str], str]]] = (
    ("fills the whole image", tuple(drawing.RGB), lambda image, text: _named(image, 0.5, 0.5)),
    ("edge of the image", _SOME, _edge),
    ("grey disc", _SOME, lambda image, text: _named(image, 0.05, 0.05)),
    ("bands of colour", _SOME, _end),
    ("black shape", ("circle", "wide", "tall"), _shape),
    ("ring with a gap", DIRECTIONS, lambda image, text: ""),
    ("stripes", QUARTERS, lambda image, text: ""),
    ("is plain", NAMES, lambda image, text: _shade(image)),
    ("is smooth", QUARTERS, lambda image, text: _smooth(image)),
)


def observer(server: Server, gap_px: float = 2.0, lapse: float = 0.0, seed: int = 0) -> Observer:
    """An observer behind a server. Its name is the same for all seeds."""
    accepts = frozenset({"image", "video"})
    return Observer(SubjectCard("planted", {"seed": seed}, accepts), server, gap_px, lapse, seed)


def _dichromat(image: Image.Image) -> Image.Image:
    red, green, blue = np.asarray(image, np.float64).transpose(2, 0, 1)
    return Image.fromarray(np.rint(np.stack([(red + green) / 2, (red + green) / 2, blue], -1)).astype(np.uint8))


def _tunnel(image: Image.Image) -> Image.Image:
    """Nothing but a blur outside the middle, of 60 % of the width and height."""
    inside, (width, height) = _middle(image, 0.6), image.size
    outside = image.filter(ImageFilter.GaussianBlur(min(image.size) / 12))
    outside.paste(inside, ((width - inside.width) // 2, (height - inside.height) // 2))
    return outside


def _confused(answers: list[str], rng: np.random.Generator) -> list[str]:
    """Left and right exchanged in half of the answers."""
    other = {"left": "right", "right": "left"}
    return [
        " ".join(other.get(word, word) for word in answer.split()) if rng.random() < 0.5 else answer
        for answer in answers
    ]


def weak(kind: str, seed: int) -> Observer:
    """A weak observer behind a clean server, of a kind of `WEAK`. Acuity and lapses vary with the seed."""
    subject = observer(CLEAN, (2.0, 8.0)[seed % 2], (0.0, 0.05, 0.1)[seed % 3], seed)
    eyes = {"dichromat": _dichromat, "tunnel vision": _tunnel}
    if kind in eyes:
        return replace(subject, server=Server(change=eyes[kind]))
    if kind == "blurred":
        return replace(
            subject, server=Server(change=lambda image: image.filter(ImageFilter.GaussianBlur(4 + seed % 9)))
        )
    if kind == "lapsing":
        return replace(subject, lapse=(0.3, 0.4, 0.5)[seed % 3])
    if kind == "letters sorted":
        return replace(subject, habit=lambda answers, rng: sorted(answers) if len(answers) < 9 else answers)
    if kind == "left and right confused":
        return replace(subject, habit=_confused)
    if kind == "grey shades confused":
        shades = {"light grey": "grey", "dark grey": "grey", "grey": "dark grey"}
        return replace(subject, habit=lambda answers, rng: [shades.get(answer, answer) for answer in answers])
    return replace(subject, habit=lambda answers, rng: ["green"])


WEAK = (
    "dichromat", "tunnel vision", "lapsing", "left and right confused", "letters sorted", "blurred",
    "grey shades confused", "always green",
)  # fmt: skip


def accusations(card: SightCard) -> list[str]:
    """The faults that a result names, but that a model always answers the same."""
    return [text for text in card.faults() if not text.startswith("the model always answers")]


def checked(subject: Observer) -> SightCard:
    """The result of `sight` on an observer."""
    with tempfile.TemporaryDirectory() as folder:
        return sight(subject, Path(folder), seed=subject.seed)


def outcome(server: Server, card: SightCard) -> str:
    """`found`, `cannot tell`, `missed` (the check says fine), or the checks that found another fault."""
    faults = {line.check for line in card.lines if line.verdict == "not so"}
    if others := faults - {server.check}:
        return f"other: {', '.join(sorted(others))}"
    if not server.check:
        return "no fault"
    if server.check in faults:
        return "found"
    return (
        "cannot tell"
        if any(line.check == server.check and line.verdict == "cannot tell" for line in card.lines)
        else "missed"
    )


def scale_errors(count: int) -> NDArray[np.float64]:
    """By what factor the scale of an image of 2,048 px is wrong, in exams behind changes of size of many amounts."""
    errors = []
    for number in range(count):
        edge = round(2048 * 2 ** -(number % 12 / 6))
        card = checked(observer(Server("resolution", _fit(edge)), (2.0, 3.0, 4.0)[number % 3], 0.03, 500 + number))
        true = min(1.0, edge / 2048)
        errors.append(max(card.scales[2048][0] / true, true / card.scales[2048][0]))
    return np.array(errors)


def main() -> None:
    """Print the table of faults and observers, and the false alarms of clean servers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clean", type=int, default=200)
    parser.add_argument("--faults", nargs="*", default=[*FAULTS, *NEW_FAULTS])
    arguments = parser.parse_args()
    observers = [(gap, lapse) for gap in (2.0, 8.0) for lapse in (0.0, 0.05, 0.1)]
    print("| fault | " + " | ".join(f"{gap:g} px, {lapse:.0%}" for gap, lapse in observers) + " |")
    print("|---" * (1 + len(observers)) + "|")
    for name, server in [(name, {**FAULTS, **NEW_FAULTS}[name]) for name in arguments.faults]:
        outcomes = [outcome(server, checked(observer(server, gap, lapse, 1))) for gap, lapse in observers]
        print(f"| {name} | {' | '.join(outcomes)} |", flush=True)
    alarms = Counter(
        outcome(CLEAN, checked(observer(CLEAN, (2.0, 8.0)[n % 2], (0.0, 0.05, 0.1)[n % 3], 100 + n)))
        for n in range(arguments.clean)
    )
    print(f"\n{arguments.clean} clean servers: {dict(alarms)}")


if __name__ == "__main__":
    main()
