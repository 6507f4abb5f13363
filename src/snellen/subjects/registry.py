"""Subjects by spec: `kind:name?setting=value&…`. Other packages add kinds (entry points of `snellen.subjects`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from urllib.parse import parse_qsl

from snellen.core.condition import near
from snellen.core.errors import SnellenError
from snellen.core.item import Item
from snellen.core.registry import Registry
from snellen.core.subject import Subject

SubjectFactory = Callable[[str, Mapping[str, str], Sequence[Item]], Subject | Sequence[Subject]]
"""`core.subject.SubjectFactory`, or one whose specs stand for several subjects."""

SUBJECTS: Registry[SubjectFactory] = Registry(
    "kind of subject",
    {
        "chat": "snellen.subjects.chat:make_chat",
        "encoder": "snellen.subjects.encoders:make_encoder",
        "fake": "snellen.subjects.fakes:make_fake",
        "py": "snellen.subjects.from_callable:make_python_subject",
    },
    group="snellen.subjects",
)

EXAMPLES: Mapping[str, str] = {
    "chat:openai/gpt-4o": "a hosted model (a bare openai/gpt-4o too); settings after '?', e.g. ?temperature=0.5",
    "chat:openai-api/SERVICE/MODEL": "any OpenAI-compatible server (SERVICE_BASE_URL, SERVICE_API_KEY)",
    "chat:vllm/MODEL": "a model served by vLLM",
    "chat:hf/PATH_OR_ID": "any image-text-to-text model of transformers, run in this process",
    "encoder:efficientnet-lite0": "ImageNet CNN, packaged weights (also efficientnet-lite2)",
    "encoder:efficientnet-lite0?readout=attentive": "an attentive probe on patch features, of any encoder but conse",
    "encoder:conse": "image-text encoder made of two packaged models",
    "encoder:colour-histogram": "colour only",
    "encoder:hog": "outlines only",
    "encoder:hf/PATH_OR_ID": "any transformers vision model",
    "head:DIR": "a vision tower with a language model, trained by `snellen tower fit` (or a folder of such heads)",
    "tower:NAME": "an attentive probe on the tokens that a head's language model would get (`snellen tower list`)",
    "detector:face": "boxes of frontal faces, packaged weights (detector:mediapipe-face needs snellen[faces])",
    "detector:hf/PATH_OR_ID": "boxes of objects that a phrase names: Grounding DINO, OWL-ViT, OWLv2 of transformers",
    "logprob:hf/PATH_OR_ID": "how likely a text is after another: any causal language model of transformers",
    "logprob:openai-api/SERVICE/MODEL": "the same from a server that echoes prompts with log-probabilities (vLLM)",
    "py:MODULE:FACTORY": "your own callable from parts to text",
    "recorded:FILE": "answers in a file, of all models in it: JSONL, CSV, TSV, XLSX, Inspect logs; nobody is asked",
}


def needs_items(spec: str) -> bool:
    """True if the subject of `spec` needs the items when it is created, as only ideal observers do."""
    return spec.startswith("fake:")


def is_service(spec: str) -> bool:
    """True if the subject of `spec` is a chat model of a service, not one run in this process."""
    return spec.startswith("chat:") and not spec.startswith("chat:hf/")


def is_packaged(spec: str) -> bool:
    """True if the subject of `spec` is an encoder whose weights come with a package, or that has none."""
    from snellen.subjects.encoders.factory import ENCODERS

    kind, _, rest = spec.partition(":")
    return kind == "encoder" and rest.partition("?")[0] in ENCODERS


def split_spec(spec: str) -> tuple[str, str, dict[str, str]]:
    """Kind, name and settings of a spec. Raises SnellenError for an unknown kind."""
    kind, colon, rest = spec.partition(":")
    if not colon or "/" in kind:
        if "/" not in spec:
            raise SnellenError(f"{spec!r} is not a subject; write kind:name with a kind of {', '.join(SUBJECTS)}")
        kind, rest = "chat", spec
    if kind not in SUBJECTS:
        raise SnellenError(f"no kind of subject {kind!r} in {spec!r}; {near(kind, SUBJECTS)}")
    if kind == "fake" or "?" not in rest:  # a fake's constant text may contain any character
        return kind, rest, {}
    name, _, query = rest.partition("?")
    if kind == "recorded":
        query = query.replace("+", "%2B")  # it joins columns, as in ?id=task+number, and is no space
    return kind, name, settings_of(spec, query)


def settings_of(spec: str, query: str) -> dict[str, str]:
    """The settings after the `?` of a spec. Raises SnellenError if one is empty or repeated."""
    settings = dict[str, str]()
    for name, text in parse_qsl(query, keep_blank_values=True):
        if not text.strip() or name in settings:
            fault = "is given twice" if name in settings else "has no value"
            raise SnellenError(f"{spec!r:.200}: the setting {name!r:.100} {fault}; write ?setting=value&other=value")
        settings[name] = text
    return settings


def subjects_of(spec: str, items: Sequence[Item] = ()) -> list[Subject]:
    """The subjects of a spec: one, or all models in a file of recorded answers. `items` are used by ideal observers.

    Raises SnellenError for an unknown kind, name or setting.
    """
    kind, name, settings = split_spec(spec)
    made = SUBJECTS.get(kind)(name, settings, items)
    return list(made) if isinstance(made, Sequence) else [made]


def make_subject(spec: str, items: Sequence[Item] = ()) -> Subject:
    """The only subject of a spec. Raises SnellenError as `subjects_of` does, and if there are several."""
    first, *others = subjects_of(spec, items)
    if others:
        names = ", ".join(subject.card.name for subject in (first, *others))
        raise SnellenError(f"{spec!r} stands for {1 + len(others)} subjects; choose one of them: {names:.500}")
    return first
