"""An encoder with an attentive probe as a subject, fitted to the training examples of a task."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from snellen.core.errors import SnellenError
from snellen.core.item import Media, View
from snellen.core.prompt import Prompt, Reply
from snellen.core.sheet import answer_views
from snellen.core.storage.media import MediaFolder
from snellen.core.subject import Subject, SubjectCard, TrainingExample, with_examples
from snellen.subjects.encoders.encoder import Encoder, PatchEncoder
from snellen.subjects.loading import inference, one_blas_thread
from snellen.towers.probes.answers import Answers, Form, Unanswerable, fit_answers, form_of
from snellen.towers.probes.inputs import Grids, Inputs, ProbeSettings, fit_inputs
from snellen.towers.probes.patches import PatchCache

if TYPE_CHECKING:
    from snellen.towers.probes.training import Network


ATTENTIVE = "attentive"
"""The readout in the name and the settings of a subject with these probes."""


@dataclass(frozen=True, eq=False)
class FittedProbe:
    """A probe for one form of answers."""

    inputs: Inputs
    answers: Answers
    network: Network

    def refusal(self, view: View) -> str | None:
        """The reason why it cannot answer a view of its form, or None."""
        return self.inputs.refusal(view) or self.answers.refusal(view)

    def answer(self, view: View, grids: Grids, rng: np.random.Generator) -> tuple[str, list[float]]:
        """The reply to a view, and the numbers behind it."""
        with inference(), one_blas_thread():
            numbers = self.network.numbers(self.inputs.sample(view, grids))
        return self.answers.answer(view, numbers, rng)


@dataclass(frozen=True)
class AttentiveProbe:
    """A subject made of an encoder's patch features and one probe per form of answers. `fit` returns a new one.

    Encoding and training run in a separate thread, so that calls to other subjects continue.
    """

    patches: PatchCache
    card: SubjectCard
    settings: ProbeSettings = field(default_factory=ProbeSettings)
    probes: Mapping[Form, FittedProbe] = field(default_factory=dict)

    def declines(self, prompt: Prompt) -> str | None:
        """The reason why one of the views cannot be answered, or None: a call is answered completely or not at all."""
        reasons = (self._refusal(view) for view in prompt.views)
        return next(filter(None, reasons), None) if prompt.views else "nothing to look at"

    def _refusal(self, view: View) -> str | None:
        try:
            probe = self.probes.get(form_of(view))
        except Unanswerable as reason:
            return str(reason)
        return "no training examples to fit a probe on" if probe is None else probe.refusal(view)

    def prepare(self, media: Iterable[Media], folder: MediaFolder) -> None:
        """Compute and cache the patch features of these images."""
        self.patches.prepare([image for image in media if image.kind == "image"], folder)

    async def fit(self, examples: Sequence[TrainingExample], media: MediaFolder) -> Subject:
        """The subject with a probe for each form of answers among these examples."""
        return await asyncio.to_thread(self._fit, examples, media) if examples else self

    def _fit(self, examples: Sequence[TrainingExample], media: MediaFolder) -> AttentiveProbe:
        by_form: dict[Form, list[TrainingExample]] = {}
        for example in examples:
            try:
                by_form.setdefault(form_of(example.view), []).append(example)
            except Unanswerable:
                continue
        self.prepare((image for some in by_form.values() for example in some for image in example.view.query), media)
        card = with_examples(self.card, examples)
        probes = {
            form: fit_probe(form, some, self._grids(media), self.settings, card.fingerprint())
            for form, some in by_form.items()
        }
        return replace(self, card=card, probes=probes)

    async def answer(self, prompt: Prompt, media: MediaFolder, rng: np.random.Generator) -> Reply:
        """One call. `numbers`: for each view, the options' probabilities in the offered order, or the prediction."""
        return await asyncio.to_thread(self._reply, prompt, media, rng)

    def _reply(self, prompt: Prompt, media: MediaFolder, rng: np.random.Generator) -> Reply:
        numbers: list[float] = []

        def write(view: View) -> str:
            text, more = self.probes[form_of(view)].answer(view, self._grids(media), rng)
            numbers.extend(more)
            return text

        return Reply(answer_views(prompt.views, write), numbers=tuple(numbers))

    def _grids(self, media: MediaFolder) -> Grids:
        return lambda image: self.patches.read(image, media)


def attentive_probe(encoder: Encoder, card: SubjectCard) -> AttentiveProbe:
    """The encoder with an attentive probe. Raises SnellenError for one without patch features."""
    if not isinstance(encoder, PatchEncoder):
        raise SnellenError(
            f"encoder:{encoder.name} has features only of whole images, not by place; leave out readout={ATTENTIVE}"
        )
    settings = ProbeSettings()
    return AttentiveProbe(
        PatchCache(encoder),
        replace(card, settings={**encoder.patch_settings, "readout": ATTENTIVE, "probe": asdict(settings)}),
        settings,
    )


def fit_probe(
    form: Form, examples: Sequence[TrainingExample], grids: Grids, settings: ProbeSettings, seed: str
) -> FittedProbe:
    """A probe trained on examples of one form; identical bit by bit for the same examples, settings and seed."""
    from snellen.towers.probes.training import fit_network

    answers = fit_answers(form, examples)
    with one_blas_thread():
        inputs = fit_inputs([example.view for example in examples], grids, settings.components)
    return FittedProbe(inputs, answers, fit_network(answers, inputs, examples, grids, settings, seed))
