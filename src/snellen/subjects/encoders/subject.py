"""An encoder as a subject: it reads views, looks at their pictures, and answers by the readout that fits.

Which readout that is stands in one place, `EncoderSubject.way`, and is argued for in design/readouts.md.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

import numpy as np

from snellen.core.item import Media, View
from snellen.core.media import MediaFolder
from snellen.core.prompt import Prompt, Reply
from snellen.core.sheet import answer_views
from snellen.core.subject import Subject, SubjectCard, TrainingExample, with_examples
from snellen.subjects.encoders.encoder import Encoder, Floats, TextSide, encode
from snellen.subjects.encoders.linking import LinkLesson, choose, fit_limit, likeness, links
from snellen.subjects.encoders.readouts import (
    Doubles,
    Probe,
    Regression,
    Threshold,
    fit_probe,
    fit_regression,
    fit_threshold,
    knn_scores,
    least_similarity,
    pick,
    prototype_scores,
    unit,
)

Way: TypeAlias = Literal["support", "picture options", "regression", "threshold", "links", "lessons", "text"]
"""How a view is answered: by its support, by its question against pictures to choose from, by a regression on lessons,
by a similarity threshold on two pictures or more, by what such a threshold links, by lessons on the same question, by
its query against the texts of its options."""

READOUTS = ("auto", "prototype", "knn", "probe", "text")
DEFAULT_K = 5
DEFAULT_C = 0.1

Seen: TypeAlias = Mapping[str, Floats]
"""Features (d,) by SHA-256 of the picture."""


class _Declined(Exception):
    """A view that cannot be answered; the message is the reason."""


@dataclass(frozen=True, eq=False)
class FittedReadout:
    """Lessons on one question as features (n, d) with answers, and the probe fitted on them where one is wanted."""

    features: Doubles
    answers: tuple[str, ...]
    probe: Probe | None = None


@dataclass(frozen=True)
class EncoderSubject:
    """A subject made of an encoder and readouts. Learning returns another one; nothing is fitted while answering.

    Looking happens in a thread of its own, so that calls to other subjects go on meanwhile.

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

    def way(self, view: View) -> Way:
        """How this view is answered. Raises with the reason where it cannot be."""
        if any(media.kind != "picture" for media in view.media()):
            raise _Declined("cannot be shown a video")
        in_options = bool(view.options) and all(option.media for option in view.options)
        if not view.query and not in_options:
            raise _Declined("no picture to look at")
        offered = view.reply.offered
        if in_options and not view.query:
            return self._text_way(view, "picture options")
        if supported(view):
            return "support"
        if view.reply.kind == "colour" and self.readout in ("auto", "probe"):
            if view.question not in self.colours:
                raise _Declined("no lessons on this question to tell colours by")
            return "regression"
        if not offered:
            raise _Declined(
                f"asked for an answer of kind {view.reply.kind}, but an encoder can only choose among options"
            )
        if view.reply.kind == "true_false" and len(view.query) > 1 and self._threshold(view) is not None:
            return "threshold"
        if links(view):
            if self._limit(view) is None:
                raise _Declined("no lessons to learn from how alike pictures of the same thing are")
            return "links"
        if self.readout != "text" and (fitted := self.fitted.get(view.question)) is not None:
            if not set(offered) & set(fitted.answers):
                raise _Declined("the lessons for this question never had one of the options offered as their answer")
            return "lessons"
        return self._text_way(view, "text")

    def _text_way(self, view: View, way: Way) -> Way:
        if self.encoder.text is None:
            reason = "this encoder has no text side"
            raise _Declined(reason if way == "picture options" else f"no lessons for this question, and {reason}")
        texts = view.reply.kind == "choice" and not any(option.media for option in view.options)
        if way == "text" and not (texts and len(view.query) == 1):
            raise _Declined("no lessons for this question, and its options are no texts to compare one picture with")
        return way

    def _threshold(self, view: View) -> Threshold | None:
        return self.thresholds.get(view.question, self.thresholds.get(""))

    def _limit(self, view: View) -> float | None:
        return self.limits.get(view.question, self.limits.get(""))

    def declines(self, prompt: Prompt) -> str | None:
        """Why one of the views cannot be answered, or None: a call is answered whole or not at all."""
        for view in prompt.views:
            try:
                self.way(view)
            except _Declined as reason:
                return str(reason)
        return None if prompt.views else "nothing to look at"

    def prepare(self, media: Iterable[Media], folder: MediaFolder) -> None:
        """Compute and keep the features of these pictures in batches, so that answering only looks them up."""
        pictures = [one for one in media if one.kind == "picture"]
        if pictures:
            encode(self.encoder, pictures, folder)

    async def fit(self, examples: Sequence[TrainingExample], media: MediaFolder) -> Subject:
        """The subject with readouts fitted on these lessons, one for each distinct question."""
        return await asyncio.to_thread(self._learned, examples, media) if examples else self

    def _learned(self, examples: Sequence[TrainingExample], media: MediaFolder) -> EncoderSubject:
        fitted = [example for example in examples if _teaches(example.view)]
        seen = self._look([example.view for example in fitted], media, query_only=True)
        pairs = [example for example in fitted if compares(example.view)]
        linking = [example for example in fitted if links(example.view)]
        coloured = [example for example in fitted if example.view.reply.kind == "colour"]
        others = [example for example in fitted if not links(example.view) and example.view.reply.offered]
        return replace(
            self,
            card=with_examples(self.card, examples),
            fitted={q: self._teach(some, seen) for q, some in _by_question(others).items()},
            colours={q: _regression(some, seen) for q, some in _by_question(coloured).items()},
            thresholds=_thresholds(pairs, seen),
            limits=_limits(linking, seen),
        )

    def _teach(self, examples: Sequence[TrainingExample], seen: Seen) -> FittedReadout:
        features = np.stack([_query(example.view, seen) for example in examples])
        answers = tuple(_key(example.answer) for example in examples)
        wanted = self.readout in ("auto", "probe")
        return FittedReadout(features, answers, fit_probe(features, answers, self.c) if wanted else None)

    async def answer(self, prompt: Prompt, media: MediaFolder, rng: np.random.Generator) -> Reply:
        """One call. `numbers`: view after view, each option's score in the order offered, similarities, or a colour."""
        return await asyncio.to_thread(self._reply, prompt, media, rng)

    def _reply(self, prompt: Prompt, media: MediaFolder, rng: np.random.Generator) -> Reply:
        seen = self._look(prompt.views, media)
        numbers: list[float] = []

        def write(view: View) -> str:
            if self.way(view) == "regression":
                told = self.colours[view.question].numbers(_query(view, seen))
                numbers.extend(told.tolist())
                return view.reply.write(np.clip(told, 0, 255))
            key, scores = self._answer(view, seen, rng)
            numbers.extend(scores)
            return view.reply.write(key)

        return Reply(answer_views(prompt.views, write), numbers=tuple(numbers))

    def _answer(self, view: View, seen: Seen, rng: np.random.Generator) -> tuple[str, list[float]]:
        way, keys = self.way(view), view.reply.offered
        if way == "threshold":
            threshold = self._threshold(view)
            assert threshold is not None
            similarity = least_similarity([seen[one.sha256] for one in view.query])
            return ("true" if threshold.says(similarity) else "false"), [similarity]
        if way == "links":
            limit, alike = self._limit(view), likeness([seen[one.sha256] for one in view.query])
            assert limit is not None
            return choose(view, alike, limit, rng), alike.cosines.tolist()
        if way == "support":
            keys = keys or tuple(dict.fromkeys(demo.answer for demo in view.support))
            shown = [demo for demo in view.support if demo.media]
            examples = np.stack([_mean(demo.media, seen) for demo in shown])
            scores = self._nearest(_query(view, seen), examples, [demo.answer for demo in shown], keys)
        elif way == "lessons":
            fitted, query = self.fitted[view.question], _query(view, seen)
            if fitted.probe is not None:
                scores = fitted.probe.scores(query, keys)
            else:
                scores = self._nearest(query, fitted.features, fitted.answers, keys)
        else:
            scores = self._match(view, seen, way)
        return pick(scores, keys, rng), [float(score) for score in scores]

    def _nearest(self, query: Doubles, examples: Doubles, answers: Sequence[str], keys: Sequence[str]) -> Doubles:
        if self.readout == "knn":
            return knn_scores(query, examples, answers, keys, self.k)
        return prototype_scores(query, examples, answers, keys)

    def _match(self, view: View, seen: Seen, way: Way) -> Doubles:
        """Cosines of pictures and texts, one an option in the order offered."""
        side = self.encoder.text
        assert side is not None
        options = {option.key: option for option in view.options}
        if way == "picture options":
            asked = _text_vector(side, view.question)
            return unit([_mean(options[key].media, seen) for key in view.reply.offered]) @ asked
        texts = [side.template.replace("{}", options[key].text or key) for key in view.reply.offered]
        return np.stack([_text_vector(side, text) for text in texts]) @ unit(_query(view, seen))

    def _look(self, views: Sequence[View], media: MediaFolder, *, query_only: bool = False) -> Seen:
        shown = {one.sha256: one for view in views for one in (view.query if query_only else view.media())}
        rows = encode(self.encoder, list(shown.values()), media) if shown else ()
        return dict(zip(shown, rows, strict=True))


def supported(view: View) -> bool:
    """Whether the view has solved examples with pictures."""
    return any(demo.media for demo in view.support)


def compares(view: View) -> bool:
    """Whether the view asks for true or false about two pictures or more."""
    return view.reply.kind == "true_false" and len(view.query) > 1


def _teaches(view: View) -> bool:
    """Whether something can be fitted on this view: pictures, options, and no support that would answer it anyway."""
    pictures = bool(view.query) and all(one.kind == "picture" for one in view.query)
    return pictures and bool(view.reply.offered or view.reply.kind == "colour") and not supported(view)


def _by_question(examples: Iterable[TrainingExample]) -> dict[str, list[TrainingExample]]:
    held: dict[str, list[TrainingExample]] = {}
    for example in examples:
        held.setdefault(example.view.question, []).append(example)
    return held


def _by_varied_question(examples: Iterable[TrainingExample]) -> dict[str, list[TrainingExample]]:
    """As `_by_question`, but only questions whose lessons have different answers."""
    asked = _by_question(examples).items()
    return {q: some for q, some in asked if len({_key(example.answer) for example in some}) > 1}


def _regression(examples: Sequence[TrainingExample], seen: Seen) -> Regression:
    """Of colours: three numbers each."""
    return fit_regression(
        np.stack([_query(example.view, seen) for example in examples]), [one.answer for one in examples]
    )


def _thresholds(pairs: Sequence[TrainingExample], seen: Seen) -> dict[str, Threshold]:
    """One for each question that had both answers, and under the empty name one for all other questions."""

    def fit(examples: Sequence[TrainingExample]) -> Threshold:
        near = [least_similarity([seen[one.sha256] for one in example.view.query]) for example in examples]
        return fit_threshold(near, [_key(example.answer) == "true" for example in examples])

    return {q: fit(some) for q, some in _by_varied_question(pairs).items()} | ({"": fit(pairs)} if pairs else {})


def _limits(examples: Sequence[TrainingExample], seen: Seen) -> dict[str, float]:
    """One for each question that had two answers or more, and under the empty name one for all other questions."""

    def fit(some: Sequence[TrainingExample]) -> float:
        return fit_limit(
            [
                LinkLesson(
                    likeness([seen[one.sha256] for one in example.view.query]),
                    example.view.reply.kind == "integer",
                    _key(example.answer),
                )
                for example in some
            ]
        )

    held = {q: fit(some) for q, some in _by_varied_question(examples).items()}
    return held | ({"": fit(examples)} if examples else {})


def _mean(media: Sequence[Media], seen: Seen) -> Doubles:
    """Features of one picture as they are; of several, the mean of the features scaled to length one."""
    if len(media) == 1:
        return np.asarray(seen[media[0].sha256], dtype=np.float64)
    return np.asarray(unit([seen[one.sha256] for one in media]).mean(0), dtype=np.float64)


def _query(view: View, seen: Seen) -> Doubles:
    return _mean(view.query, seen)


def _key(answer: Any) -> str:
    return str(answer).lower() if isinstance(answer, bool) else str(answer)


@functools.lru_cache(maxsize=4096)
def _text_vector(side: TextSide, text: str) -> Doubles:
    """One text at a time, so that its features never hang on what it was asked with."""
    return unit(side.features([text])[0])
