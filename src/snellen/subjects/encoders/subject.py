"""An encoder as a subject: it encodes the images of a view and answers with the readout that fits.

`EncoderSubject.readout_kind` alone chooses the readout; design/readouts.md gives the reasons.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

import numpy as np

from snellen.core.errors import CallFailed, SnellenError
from snellen.core.grouping import lists_by_key
from snellen.core.item import Media, View
from snellen.core.prompt import Prompt, Reply
from snellen.core.sheet import answer_views
from snellen.core.storage.media import MediaFolder
from snellen.core.subject import Base, Subject, SubjectCard, TrainingExample, with_examples
from snellen.subjects.encoders.clustering import (
    ClusteringExample,
    asks_clustering,
    choose,
    fit_limit,
    pairwise_similarity,
)
from snellen.subjects.encoders.encoder import (
    Encoder,
    Floats,
    PatchEncoder,
    TextSide,
    UnsavedEncoder,
    encode,
    encode_possible,
)
from snellen.subjects.encoders.readouts import (
    Doubles,
    Probe,
    Regression,
    Threshold,
    fit_probe,
    fit_regression,
    fit_threshold,
    key_of,
    knn_scores,
    least_similarity,
    pick,
    prototype_scores,
    unit,
)

ReadoutKind: TypeAlias = Literal[
    "support", "image options", "regression", "threshold", "clustering", "training examples", "text"
]
"""The way a view is answered: from its support, by matching its question to image options, by a regression, by a
similarity threshold on two or more images, by the clusters under such a threshold, from training examples of the same
question, or by matching its query to the texts of its options."""

READOUTS = ("auto", "prototype", "knn", "probe", "text")
DEFAULT_K = 5
DEFAULT_C = 0.1

FeaturesByHash: TypeAlias = Mapping[str, Floats]
"""Features (d,) by SHA-256 of the image."""


class _Declined(Exception):
    """Raised for a view that cannot be answered; the message is the reason."""


@dataclass(frozen=True, eq=False)
class FittedReadout:
    """Training examples of one question as features (n, d) with answers, and the probe fitted to them, if any."""

    features: Doubles
    answers: tuple[str, ...]
    probe: Probe | None = None


@dataclass(frozen=True)
class EncoderSubject:
    """A subject made of an encoder and readouts. `fit` returns a new one; answering fits nothing.

    Encoding runs in a separate thread, so that calls to other subjects continue.

    `readout` is one of READOUTS, `k` the neighbours of `knn`, `c` the inverse strength of the probe's penalty.
    """

    encoder: Encoder
    card: SubjectCard
    readout: str = "auto"
    k: int = DEFAULT_K
    c: float = DEFAULT_C
    fitted: Mapping[str, FittedReadout] = field(default_factory=dict)
    colours: Mapping[str, Regression] = field(default_factory=dict)
    thresholds: Mapping[str, Threshold] = field(default_factory=dict)
    limits: Mapping[str, float] = field(default_factory=dict)

    def readout_kind(self, view: View) -> ReadoutKind:
        """The way this view is answered. Raises with the reason if it cannot be."""
        if any(media.kind != "image" for media in view.media()):
            raise _Declined("cannot be shown a video")
        in_options = bool(view.options) and all(option.media for option in view.options)
        if not view.query and not in_options:
            raise _Declined("no image to look at")
        offered = view.reply.offered
        if in_options and not view.query:
            return self._text_readout(view, "image options")
        if supported(view):
            return "support"
        if view.reply.kind == "colour" and self.readout in ("auto", "probe"):
            if view.question not in self.colours:
                raise _Declined("no training examples of this question to fit colours with")
            return "regression"
        if view.reply.kind == "point":
            raise _Declined("encoders have no readout for points")
        if not offered:
            raise _Declined(f"this readout cannot answer with boxes, numbers or words{self._other_readout()}")
        if view.reply.kind == "true_false" and len(view.query) > 1 and self._threshold(view) is not None:
            return "threshold"
        if asks_clustering(view):
            if self._limit(view) is None:
                raise _Declined("no training examples to fit a similarity threshold to")
            return "clustering"
        if self.readout != "text" and (fitted := self.fitted.get(view.question)) is not None:
            if not set(offered) & set(fitted.answers):
                raise _Declined("no training example of this question has one of the offered options as its answer")
            return "training examples"
        return self._text_readout(view, "text")

    def _other_readout(self) -> str:
        """How to ask an encoder with features by place for boxes, numbers and words."""
        name = self.card.name.partition("?")[0]
        return f"; {name}?readout=attentive can" if isinstance(self.encoder, PatchEncoder) else ""

    def _text_readout(self, view: View, readout_kind: ReadoutKind) -> ReadoutKind:
        if self.encoder.text is None:
            reason = "this encoder has no text side"
            raise _Declined(
                reason if readout_kind == "image options" else f"no training examples of this question, and {reason}"
            )
        texts = view.reply.kind == "choice" and not any(option.media for option in view.options)
        if readout_kind == "text" and not (texts and len(view.query) == 1):
            raise _Declined("no training examples of this question, and its options are not texts")
        return readout_kind

    def _threshold(self, view: View) -> Threshold | None:
        return self.thresholds.get(view.question, self.thresholds.get(""))

    def _limit(self, view: View) -> float | None:
        return self.limits.get(view.question, self.limits.get(""))

    def declines(self, prompt: Prompt) -> str | None:
        """The reason why one of the views cannot be answered, or None: a call is answered completely or not at all."""
        for view in prompt.views:
            try:
                self.readout_kind(view)
            except _Declined as reason:
                return str(reason)
        return None if prompt.views else "nothing to look at"

    def prepare(self, media: Iterable[Media], folder: MediaFolder) -> None:
        """Compute and cache the features of these images in batches."""
        images = [image for image in media if image.kind == "image"]
        if images:
            encode_possible(self.encoder, images, folder)

    async def fit(self, examples: Sequence[TrainingExample], media: MediaFolder) -> Subject:
        """The subject with readouts fitted to these examples, one per question."""
        try:
            return await asyncio.to_thread(self._fit, examples, media) if examples else self
        except CallFailed as error:
            return _Unfit(self.card, f"a training image cannot be encoded: {error}")

    def _fit(self, examples: Sequence[TrainingExample], media: MediaFolder) -> EncoderSubject:
        usable = [example for example in examples if _is_fittable(example.view)]
        features = self._encode([example.view for example in usable], media, query_only=True)
        pairs = [example for example in usable if compares(example.view)]
        clustered = [example for example in usable if asks_clustering(example.view)]
        coloured = [example for example in usable if example.view.reply.kind == "colour"]
        others = [example for example in usable if not asks_clustering(example.view) and example.view.reply.offered]
        return replace(
            self,
            card=with_examples(self.card, examples),
            fitted={q: self._fit_readout(some, features) for q, some in _by_question(others).items()},
            colours={q: _regression(some, features) for q, some in _by_question(coloured).items()},
            thresholds=_thresholds(pairs, features),
            limits=_limits(clustered, features),
        )

    def _fit_readout(self, examples: Sequence[TrainingExample], image_features: FeaturesByHash) -> FittedReadout:
        queries = np.stack([_query(example.view, image_features) for example in examples])
        answers = tuple(key_of(example.answer) for example in examples)
        probe = fit_probe(queries, answers, self.c) if self.readout in ("auto", "probe") else None
        return FittedReadout(queries, answers, probe)

    async def answer(self, prompt: Prompt, media: MediaFolder, rng: np.random.Generator) -> Reply:
        """One call. `numbers`: for each view, the options' scores in the offered order, similarities, or a colour."""
        return await asyncio.to_thread(self._reply, prompt, media, rng)

    def _reply(self, prompt: Prompt, media: MediaFolder, rng: np.random.Generator) -> Reply:
        features = self._encode(prompt.views, media)
        numbers: list[float] = []

        def write(view: View) -> str:
            if self.readout_kind(view) == "regression":
                colour = self.colours[view.question].numbers(_query(view, features))
                numbers.extend(colour.tolist())
                return view.reply.write(np.clip(colour, 0, 255))
            key, scores = self._answer(view, features, rng)
            numbers.extend(scores)
            return view.reply.write(key)

        return Reply(answer_views(prompt.views, write), numbers=tuple(numbers))

    def _answer(self, view: View, features: FeaturesByHash, rng: np.random.Generator) -> tuple[str, list[float]]:
        readout_kind, keys = self.readout_kind(view), view.reply.offered
        if readout_kind == "threshold":
            threshold = self._threshold(view)
            assert threshold is not None
            lowest = least_similarity([features[image.sha256] for image in view.query])
            return ("true" if threshold.says(lowest) else "false"), [lowest]
        if readout_kind == "clustering":
            limit, similarity = (
                self._limit(view),
                pairwise_similarity([features[image.sha256] for image in view.query]),
            )
            assert limit is not None
            return choose(view, similarity, limit, rng), similarity.cosines.tolist()
        if readout_kind == "support":
            keys = keys or tuple(dict.fromkeys(demo.answer for demo in view.support))
            demos = [demo for demo in view.support if demo.media]
            examples = np.stack([_mean(demo.media, features) for demo in demos])
            scores = self._nearest(_query(view, features), examples, [demo.answer for demo in demos], keys)
        elif readout_kind == "training examples":
            fitted, query = self.fitted[view.question], _query(view, features)
            if fitted.probe is not None:
                scores = fitted.probe.scores(query, keys)
            else:
                scores = self._nearest(query, fitted.features, fitted.answers, keys)
        else:
            scores = self._match(view, features, readout_kind)
        return pick(scores, keys, rng), [float(score) for score in scores]

    def _nearest(self, query: Doubles, examples: Doubles, answers: Sequence[str], keys: Sequence[str]) -> Doubles:
        if self.readout == "knn":
            return knn_scores(query, examples, answers, keys, self.k)
        return prototype_scores(query, examples, answers, keys)

    def _match(self, view: View, features: FeaturesByHash, readout_kind: ReadoutKind) -> Doubles:
        """Cosines of images and texts, one per option in the offered order."""
        side = self.encoder.text
        assert side is not None
        options = {option.key: option for option in view.options}
        if readout_kind == "image options":
            texts, images = [view.question], unit([_mean(options[key].media, features) for key in view.reply.offered])
        else:
            texts = [side.template.replace("{}", options[key].text or key) for key in view.reply.offered]
            images = unit(_query(view, features))
        vectors = np.stack([_text_vector(side, text) for text in texts])
        if vectors.shape[-1] != images.shape[-1]:
            widths = f"texts have vectors of {vectors.shape[-1]} numbers, images of {images.shape[-1]}"
            raise SnellenError(f"{self.encoder.name}: {widths}; they must be of one space")
        return images @ vectors[0] if readout_kind == "image options" else vectors @ images

    def _encode(self, views: Sequence[View], media: MediaFolder, *, query_only: bool = False) -> FeaturesByHash:
        images = {image.sha256: image for view in views for image in (view.query if query_only else view.media())}
        if isinstance(self.encoder, UnsavedEncoder):
            for sha in images:
                if failure := self.encoder.failures.get(sha):
                    raise CallFailed(failure)
        rows = encode(self.encoder, list(images.values()), media) if images else ()
        return dict(zip(images, rows, strict=True))


@dataclass(frozen=True)
class _Unfit(Base):
    """A subject whose training examples cannot be read: all its calls fail, and other subjects go on."""

    reason: str

    async def answer(self, prompt: Prompt, media: MediaFolder, rng: np.random.Generator) -> Reply:
        raise CallFailed(self.reason, is_lasting=True)


def supported(view: View) -> bool:
    """True if the view has solved examples with images."""
    return any(demo.media for demo in view.support)


def compares(view: View) -> bool:
    """True if the view asks for true or false about two or more images."""
    return view.reply.kind == "true_false" and len(view.query) > 1


def _is_fittable(view: View) -> bool:
    """True if a readout can be fitted to this view: it has images, options, and no support, which would be used."""
    images = bool(view.query) and all(image.kind == "image" for image in view.query)
    return images and bool(view.reply.offered or view.reply.kind == "colour") and not supported(view)


def _by_question(examples: Iterable[TrainingExample]) -> dict[str, list[TrainingExample]]:
    return lists_by_key((example.view.question, example) for example in examples)


def _by_varied_question(examples: Iterable[TrainingExample]) -> dict[str, list[TrainingExample]]:
    """As `_by_question`, but only questions whose training examples have different answers."""
    groups = _by_question(examples).items()
    return {q: some for q, some in groups if len({key_of(example.answer) for example in some}) > 1}


def _regression(examples: Sequence[TrainingExample], features: FeaturesByHash) -> Regression:
    """A regression of colours, three numbers each."""
    return fit_regression(
        np.stack([_query(example.view, features) for example in examples]), [example.answer for example in examples]
    )


def _thresholds(train_examples: Sequence[TrainingExample], features: FeaturesByHash) -> dict[str, Threshold]:
    """A threshold per question that had both answers, and under the empty name one for all other questions."""

    def fit(examples: Sequence[TrainingExample]) -> Threshold:
        near = [least_similarity([features[image.sha256] for image in example.view.query]) for example in examples]
        return fit_threshold(near, [key_of(example.answer) == "true" for example in examples])

    return {q: fit(some) for q, some in _by_varied_question(train_examples).items()} | (
        {"": fit(train_examples)} if train_examples else {}
    )


def _limits(examples: Sequence[TrainingExample], features: FeaturesByHash) -> dict[str, float]:
    """A limit per question that had two or more answers, and under the empty name one for all other questions."""

    def fit(some: Sequence[TrainingExample]) -> float:
        return fit_limit(
            [
                ClusteringExample(
                    pairwise_similarity([features[image.sha256] for image in example.view.query]),
                    example.view.reply.kind == "integer",
                    key_of(example.answer),
                )
                for example in some
            ]
        )

    limits = {q: fit(some) for q, some in _by_varied_question(examples).items()}
    return limits | ({"": fit(examples)} if examples else {})


def _mean(media: Sequence[Media], features: FeaturesByHash) -> Doubles:
    """Features of one image unchanged; for several, the mean of the features scaled to length one."""
    if len(media) == 1:
        return np.asarray(features[media[0].sha256], dtype=np.float64)
    return np.asarray(unit([features[image.sha256] for image in media]).mean(0), dtype=np.float64)


def _query(view: View, features: FeaturesByHash) -> Doubles:
    return _mean(view.query, features)


@functools.lru_cache(maxsize=4096)
def _text_vector(side: TextSide, text: str) -> Doubles:
    """The vector of a text, computed alone so that it never depends on a batch."""
    return unit(side.features([text])[0])
