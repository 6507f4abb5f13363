"""Checks that every subject must pass, whatever it is made of."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from snellen.core.item import Media, View
from snellen.core.prompt import Prompt, Reply
from snellen.core.seeds import stream
from snellen.core.storage.media import MediaFolder
from snellen.core.subject import Subject, SubjectCard, TrainingExample
from snellen.presentation.presenters import plain


def check_subject(
    make: Callable[[], Subject],
    views: Sequence[View],
    media: MediaFolder,
    *,
    examples: Sequence[TrainingExample] = (),
    change: Callable[[], Subject] | None = None,
) -> list[Reply]:
    """Check a subject on views that it can answer, one by one, and return its replies.

    `make` makes the same subject every time, `change` one with other settings. `media` has the files of the views.
    """
    subject, twin = make(), make()
    _check_card(subject.card, twin.card)
    if change is not None:
        assert change().card.fingerprint() != subject.card.fingerprint(), "other settings, another fingerprint"
    before = subject.card
    fitted = asyncio.run(subject.fit(examples, media))
    assert subject.card == before, "`fit` returns another subject"
    fitted_twin = asyncio.run(twin.fit(examples, media))
    assert fitted.card.fingerprint() == fitted_twin.card.fingerprint(), (
        "the same training examples, the same fingerprint"
    )
    assert fitted.card.name == before.name
    replies = [_check_answer(fitted, fitted_twin, Prompt(plain(view), (view,)), media) for view in views]
    for view in views:
        _check_is_asked_what_is_shown(fitted, view, media)
    return replies


def _check_card(card: SubjectCard, twin: SubjectCard) -> None:
    kind, colon, name = card.name.partition(":")
    assert kind, "a subject is written kind:name"
    assert colon
    assert name
    assert card.max_concurrency >= 1
    assert card.reads in ("parts", "views")
    assert card.accepts <= {"image", "video"}
    assert card.max_images is None or card.max_images >= 0
    assert all(isinstance(text, str) for text in (*card.attributes, *card.attributes.values()))
    assert len(card.fingerprint()) == 12
    assert card.fingerprint() == twin.fingerprint(), "two of the same are the same"
    assert replace(card, name=f"{card.name}x").fingerprint() != card.fingerprint()
    assert replace(card, settings={**card.settings, "one more": 1}).fingerprint() != card.fingerprint()


def _check_answer(subject: Subject, twin: Subject, prompt: Prompt, media: MediaFolder) -> Reply:
    reason = subject.declines(prompt)
    assert reason is None, f"declines a question of this check: {reason}"
    digest = prompt.digest()
    first, second = (
        asyncio.run(candidate.answer(prompt, media, stream("battery", 0))) for candidate in (subject, twin)
    )
    for reply in (first, second):
        assert isinstance(reply, Reply)
        assert isinstance(reply.text, str)
        assert isinstance(reply.numbers, tuple)
        assert reply.tokens_in >= 0
        assert reply.tokens_out >= 0
        assert not math.isnan(reply.seconds)
    assert replace(first, seconds=0.0) == replace(second, seconds=0.0), (
        "the same prompt and random stream, the same reply"
    )
    assert prompt.digest() == digest, "a subject does not change the prompt"
    return first


class _Guarded(MediaFolder):
    """Hands out only shown files, and records requests for others."""

    def __init__(self, media: MediaFolder, allowed: frozenset[str]) -> None:
        super().__init__(media.root, media.behind)
        self.allowed, self.strange = allowed, list[str]()

    def _watch(self, sha256: str) -> None:
        if sha256 not in self.allowed:
            self.strange.append(sha256)

    def find(self, media: Media) -> Path:
        self._watch(media.sha256)
        return super().find(media)

    def read(self, media: Media) -> bytes:
        self._watch(media.sha256)
        return super().read(media)


def _check_is_asked_what_is_shown(subject: Subject, view: View, media: MediaFolder) -> None:
    """With another image behind the same ids, and without images, it opens no file that it is not shown."""
    for variant in (
        view,
        replace(view, query=(), options=tuple(replace(o, media=()) for o in view.options), support=()),
    ):
        prompt = Prompt(plain(variant), (variant,))
        reason = subject.declines(prompt)
        assert reason is None or isinstance(reason, str)
        if reason is not None:
            assert reason.strip(), "a reason in words"
            continue
        guarded = _Guarded(media, frozenset(media_file.sha256 for media_file in variant.media()))
        asyncio.run(subject.answer(prompt, guarded, stream("battery", 1)))
        assert guarded.strange == [], "opened a file that it was not shown"
