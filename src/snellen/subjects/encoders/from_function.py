"""A function from images to vectors as an encoder."""

from __future__ import annotations

import inspect
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import index
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, cast

import numpy as np

from snellen.core.errors import SnellenError
from snellen.core.hashing import digest
from snellen.core.seeds import stream
from snellen.core.subject import Subject, SubjectCard
from snellen.subjects.encoders.encoder import Floats, TextSide
from snellen.subjects.encoders.readouts import unit
from snellen.subjects.encoders.subject import DEFAULT_C, DEFAULT_K, EncoderSubject
from snellen.subjects.from_callable import code_digest, location_of

if TYPE_CHECKING:
    from PIL import Image

ImageFunction: TypeAlias = "Callable[[list[Image.Image]], Any]"
"""Maps a list of RGB images to one vector each: an array or tensor of shape (n, d), or a list of n vectors."""
TextFunction: TypeAlias = "Callable[[list[str]], Any]"
"""Maps a list of texts to one vector each, in the space of the images' vectors."""


@dataclass(frozen=True, eq=False)
class FunctionText:
    """The text side of a function encoder."""

    name: str
    function: TextFunction
    template: str

    def features(self, texts: Sequence[str]) -> Floats:
        """Texts -> float32 of shape (n, d). Raises SnellenError if the function fails or returns something else."""
        return _vectors(f"{self.name}, text", self.function, list(texts))


@dataclass(frozen=True, eq=False)
class FunctionEncoder:
    """A function of the user as an encoder. It is called by one thread at a time.

    Its code may change while its name stays, so its features are kept in memory (`computed`) and never on disk.
    """

    name: str
    function: ImageFunction
    text: TextSide | None
    size: tuple[int, int] | None
    batch: int
    computed: dict[str, Floats] = field(default_factory=dict, repr=False)
    failures: dict[str, str] = field(default_factory=dict, repr=False)
    lock: Any = field(default_factory=threading.Lock, repr=False)
    attributes: ClassVar[Mapping[str, str]] = {}

    @property
    def settings(self) -> Mapping[str, Any]:
        """The name, the size to which images are resized, and a digest of the function's code.

        With the digest an edited function is another subject, whose answers are not those of an earlier run.
        """
        size = list(self.size) if self.size else "as stored"
        return {"encoder": self.name, "size": size, "code": code_digest(self.function)}

    def directions(self) -> list[list[float]]:
        """The vectors of two unlike images as units, rounded; empty if the function fails on them."""
        from PIL import Image

        sides = self.size or (640, 480)
        noise = stream("images for a digest").integers(0, 256, (12, 16, 3), dtype=np.uint8)
        images = [Image.fromarray(noise).resize(sides), Image.radial_gradient("L").convert("RGB").resize(sides)]
        try:
            vectors = np.concatenate([self.features([image]) for image in images])
        except SnellenError:
            return []
        return cast("list[list[float]]", np.round(unit(vectors), 3).tolist())

    def features(self, images: Sequence[Image.Image]) -> Floats:
        """Images -> float32 of shape (n, d). Raises SnellenError if the function fails or returns something else."""
        from PIL import Image

        rgb_images = [image.convert("RGB") for image in images]
        if self.size is not None:
            rgb_images = [image.resize(self.size, Image.Resampling.BICUBIC) for image in rgb_images]
        with self.lock:
            vectors = _vectors(self.name, self.function, rgb_images)
        width = next((len(vector) for vector in self.computed.values()), vectors.shape[1])
        if vectors.shape[1] != width:
            raise SnellenError(f"{self.name}: returned vectors of {vectors.shape[1]} numbers, before of {width}")
        return vectors


def _vectors(name: str, function: Callable[[list[Any]], Any], inputs: list[Any]) -> Floats:
    try:
        product = function(inputs)
        if inspect.isawaitable(product):
            raise TypeError("an encoder must be a plain function, not a coroutine function")
        vectors = _as_array(product)
    except Exception as error:  # user code may raise anything
        raise SnellenError(f"{name}: {type(error).__name__}: {error}{location_of(error)}") from error
    if vectors.ndim != 2 or len(vectors) != len(inputs) or not vectors.size:
        raise SnellenError(
            f"{name}: returned an array of shape {vectors.shape} for {len(inputs)} inputs; return one vector each, in "
            f"an array of shape ({len(inputs)}, d)"
        )
    if not np.isfinite(vectors).all():
        raise SnellenError(f"{name}: returned vectors with NaN or infinity; check the size and range of its inputs")
    return vectors


def _as_array(product: Any) -> Floats:
    """Arrays, tensors on any device, and sequences of these as float32."""
    if hasattr(product, "detach"):
        return np.asarray(product.detach().float().cpu().numpy(), np.float32)
    if isinstance(product, list | tuple):
        return np.stack([_as_array(row) for row in product])
    return np.asarray(product, np.float32)


def is_function_encoder(subject: object) -> bool:
    """True for a subject made by `encoder`."""
    return isinstance(subject, EncoderSubject) and isinstance(subject.encoder, FunctionEncoder)


def as_it_is_now(subject: Any) -> Any:
    """A subject made by `encoder` without what was computed before, since its weights may have changed since.

    Its settings get a digest of vectors, so that only answers of equal weights are reused. Others stay as they are.
    """
    if not is_function_encoder(subject):
        return subject
    current = replace(subject.encoder, computed={}, failures={}, lock=threading.Lock())
    if (directions := current.directions()) and directions[0] == directions[1]:
        sys.stderr.write(f"snellen: encoder {current.name} gives two unlike images the same vector; check its inputs\n")
    card = replace(subject.card, settings={**subject.card.settings, "vectors": digest(directions, 12)})
    return replace(subject, encoder=current, card=card)


def _whole(name: str, option: str, given: Any) -> tuple[int, ...]:
    """One or two whole numbers from 1."""
    try:
        numbers = tuple(map(index, given if option == "size" and isinstance(given, tuple) else (given,)))
    except TypeError:
        numbers = ()
    if not numbers or min(numbers) < 1 or (isinstance(given, tuple) and len(numbers) != 2):
        form = "pixels, or (width, height)" if option == "size" else "a whole number from 1"
        raise SnellenError(f"encoder {name}: {option}={given!r} must be {form}")
    return numbers


def encoder(
    function: ImageFunction,
    name: str,
    *,
    text: TextFunction | None = None,
    template: str = "{}",
    size: int | tuple[int, int] | None = None,
    batch_size: int = 32,
) -> Subject:
    """A function from images to vectors as a subject, read out as any encoder (docs/own-model.md).

    Args:
        function: Maps a list of RGB images (Pillow) to one vector each: a numpy array or torch tensor of shape (n, d),
            or a list of n vectors.
        name: The name in reports, as `encoder:NAME`.
        text: Maps a list of texts to vectors in the same space. Without it, questions whose options are texts are
            answered from training examples only.
        template: The text that is compared with images, in which `{}` is replaced by an option.
        size: Images are resized to this width and height in pixels (a number: square). By default they have the size
            at which they are stored, and images of one batch may differ in size.
        batch_size: The most images per call.

    Returns:
        A subject for `examine`.

    """
    if not name or not callable(function):
        raise SnellenError("encoder: give a function and a name, such as snellen.encoder(embed, 'mine')")
    if text is not None and not callable(text):
        raise SnellenError(f"encoder {name}: text={text!r} must be a function from a list of texts to vectors")
    if "{}" not in template:
        raise SnellenError(f"encoder {name}: template={template!r} needs {{}} where the option goes")
    pixels = None if size is None else _whole(name, "size", size)
    sides = None if pixels is None else (pixels[0], pixels[-1])
    (batch,) = _whole(name, "batch_size", batch_size)
    text_side = None if text is None else FunctionText(name, text, template)
    function_encoder = FunctionEncoder(name, function, text_side, sides, batch)
    settings = {"readout": "auto", "k": DEFAULT_K, "C": DEFAULT_C, "readouts": 1}
    card = SubjectCard(
        name=f"encoder:{name}",
        settings={**function_encoder.settings, **({"template": template} if text else {}), **settings},
        accepts=frozenset({"image"}),
        max_concurrency=1,
        is_local=True,
        role="encoder",
    )
    return EncoderSubject(function_encoder, card)
