"""Open-vocabulary detectors through transformers: Grounding DINO, OWL-ViT and OWLv2.

Their boxes are fractions of the image that the model sees. OWLv2 first pads the image to a square, on the right and
at the bottom.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from snellen.core.errors import SnellenError
from snellen.core.hashing import digest
from snellen.subjects.boxes import Detection
from snellen.subjects.checkpoints import load_model, read_config, read_image_processor, read_tokenizer, weights_digest
from snellen.subjects.loading import import_extra

if TYPE_CHECKING:
    from PIL import Image

GROUNDED = ("grounding-dino", "mm-grounding-dino")
OWLS = ("owlvit", "owlv2")
FAMILIES = (*GROUNDED, *OWLS)
"""Supported values of `model_type`."""

Floats: TypeAlias = NDArray[np.float64]


def phrases_of(text: str) -> tuple[str, ...]:
    """The phrases of a question in lower case, separated by full stops as in Grounding DINO's training."""
    phrases = (" ".join(phrase.split()).lower() for phrase in text.split("."))
    return tuple(phrase for phrase in phrases if phrase)


@dataclass(frozen=True)
class ZeroShotDetector:
    """A detector of transformers; `path` is a folder or a hub id.

    A box counts if its best score exceeds `threshold`. A Grounding DINO box is labelled with the phrase of its best
    token: the words of the phrase above `text_threshold` if the phrase is from the question, the whole name if it is
    from the vocabulary. OWL models score whole phrases and have no text threshold. `vocabulary` lists the names to find
    when the question is empty; names that do not fit into one prompt are split over several. Boxes may overlap: there
    is no suppression.
    """

    path: str
    threshold: float
    text_threshold: float | None = None
    vocabulary: tuple[str, ...] = ()
    device: str = "cpu"

    @property
    def who(self) -> str:
        """The subject's kind and name, for messages."""
        return f"detector:hf/{self.path}"

    @property
    def family(self) -> str:
        """The `model_type`. Raises SnellenError if it is not in FAMILIES."""
        model_type = str(read_config(self.who, self.path).model_type)
        if model_type not in FAMILIES:
            raise SnellenError(f"{self.who}: {model_type} is not a supported detector; use {', '.join(FAMILIES)}")
        return model_type

    @property
    def settings(self) -> Mapping[str, Any]:
        """All settings that affect boxes; the weights' digest covers processor and configuration."""
        settings = {"detector": "hf", "version": 1, "weights": weights_digest(self.who, self.path)}
        settings |= {"processor": type(read_image_processor(self.who, self.path)).__name__, "threshold": self.threshold}
        settings |= {} if self.text_threshold is None else {"text_threshold": self.text_threshold}
        settings |= {"vocabulary": digest(list(self.vocabulary), 12)} if self.vocabulary else {}
        return settings | ({} if self.device == "cpu" else {"device": self.device})

    def refuses(self, question: str) -> str | None:
        """The reason for refusal if there is nothing to find or a phrase is too long for the model, else None."""
        phrases = phrases_of(question) or self.vocabulary
        if not phrases:
            return "an empty question finds everything and needs the names in a file, as in ?vocabulary=FILE"
        tokens, room = read_tokenizer(self.who, self.path), self._room()
        for phrase in phrases:
            if len(tokens(phrase if self.family in OWLS else _written([phrase])).input_ids) > room:
                return f"reads at most {room} tokens at once, and {phrase[:60]!r} is longer"
        return None

    def find(self, image: Image.Image, question: str) -> list[Detection]:
        """Detections above the thresholds, in pixels of the image."""
        phrases = phrases_of(question)
        if self.family in OWLS:
            return self._owl(image, phrases or self.vocabulary)
        chunks = self._chunks(phrases or self.vocabulary)
        return [detection for chunk in chunks for detection in self._grounded(image, chunk, whole_phrases=not phrases)]

    def _room(self) -> int:
        config = read_config(self.who, self.path)
        if self.family in OWLS:
            return int(config.text_config.max_position_embeddings)
        return int(config.max_text_len)

    def _chunks(self, phrases: Sequence[str]) -> Iterator[list[str]]:
        """Phrases grouped into prompts, as many per prompt as fit."""
        tokens, room, chunk = read_tokenizer(self.who, self.path), self._room(), list[str]()
        for phrase in phrases:
            if chunk and len(tokens(_written([*chunk, phrase])).input_ids) > room:
                yield chunk
                chunk = []
            chunk.append(phrase)
        yield chunk

    def _grounded(self, image: Image.Image, phrases: Sequence[str], whole_phrases: bool) -> list[Detection]:
        """Detections of Grounding DINO, which scores each box and token of the prompt."""
        tokenizer, text = read_tokenizer(self.who, self.path), _written(phrases)
        tokens = tokenizer(text, return_tensors="pt", return_token_type_ids=True, return_offsets_mapping=True)
        spans = tokens.pop("offset_mapping")[0].tolist()
        owners = _owners(spans, phrases)
        scores, boxes = self._infer(image, tokens)
        detections = []
        for row in np.flatnonzero(scores.max(1) > self.threshold):
            token_scores = np.where(owners >= 0, scores[row, : len(owners)], -1.0)
            phrase = int(owners[token_scores.argmax()])
            assert self.text_threshold is not None
            sure = [spans[index] for index in np.flatnonzero((owners == phrase) & (token_scores > self.text_threshold))]
            label = phrases[phrase] if whole_phrases else _words(text, sure)
            detections.append(_detection(boxes[row], image.size, label, scores[row].max()))
        return detections

    def _owl(self, image: Image.Image, phrases: Sequence[str]) -> list[Detection]:
        """Detections of OWL-ViT and OWLv2, which score each box and phrase."""
        tokenizer = read_tokenizer(self.who, self.path)
        tokens = tokenizer(list(phrases), padding="max_length", max_length=self._room(), return_tensors="pt")
        scores, boxes = self._infer(image, tokens)
        size_seen = (max(image.size),) * 2 if self.family == "owlv2" else image.size
        rows = np.flatnonzero(scores.max(1) > self.threshold)
        return [_detection(boxes[row], size_seen, phrases[scores[row].argmax()], scores[row].max()) for row in rows]

    def _infer(self, image: Image.Image, tokens: Any) -> tuple[Floats, Floats]:
        """Scores (boxes, tokens or phrases) and boxes (boxes, 4) as centre x, centre y, width, height in fractions."""
        torch = import_extra("torch", self.who, "models")
        model = load_model(self.who, "AutoModelForZeroShotObjectDetection", self.path, self.device, "float32")
        pixels = read_image_processor(self.who, self.path)(images=[image], return_tensors="pt")
        words = {key: tokens[key] for key in ("input_ids", "attention_mask", "token_type_ids") if key in tokens}
        if self.family in OWLS:
            words.pop("token_type_ids", None)
        with torch.inference_mode():
            out = model(**pixels.to(self.device), **{key: value.to(self.device) for key, value in words.items()})
        return _array(out.logits[0].float().sigmoid()), _array(out.pred_boxes[0])


def _written(phrases: Sequence[str]) -> str:
    """A prompt in Grounding DINO's training format: lower case, a full stop after each phrase."""
    return " ".join(f"{phrase}." for phrase in phrases)


def _owners(spans: Sequence[tuple[int, int]], phrases: Sequence[str]) -> NDArray[np.intp]:
    """The phrase of each token, given the tokens' (start, end) in the prompt; -1 if none."""
    owners, start = np.full(len(spans), -1, np.intp), 0
    for number, phrase in enumerate(phrases):
        end = start + len(phrase)
        inside = [index for index, (first, last) in enumerate(spans) if start <= first < last <= end]
        owners[inside] = number
        start = end + len(". ")
    return owners


def _words(text: str, spans: Sequence[tuple[int, int]]) -> str:
    """The parts of a text at these spans; adjacent parts form one word."""
    words, before = "", -1
    for first, last in spans:
        words += (" " if words and first != before else "") + text[first:last]
        before = last
    return words


def _detection(box: Floats, size_seen: tuple[int, int], label: str, score: float) -> Detection:
    """A detection in pixels, from a box in fractions of the image of this (width, height)."""
    width, height = size_seen
    x, y, w, h = (float(number) for number in box)
    corners = ((x - w / 2) * width, (y - h / 2) * height, (x + w / 2) * width, (y + h / 2) * height)
    return Detection(corners, label, float(score))


def _array(values: Any) -> Floats:
    return np.asarray(values.float().cpu().numpy(), dtype=np.float64)
