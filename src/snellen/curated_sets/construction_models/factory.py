"""Creates subjects from `detector:` and `logprob:` specs such as `hf/PATH?threshold=0.3`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from snellen.core.condition import near
from snellen.core.errors import SnellenError
from snellen.core.item import Item
from snellen.core.storage.user_files import MAX_YAML_BYTES, read_text
from snellen.core.subject import Subject, SubjectCard
from snellen.curated_sets.construction_models.continuation import CausalModel, LogProbSubject
from snellen.curated_sets.construction_models.detectors import DetectorSubject
from snellen.curated_sets.construction_models.faces import BlazeFaces, CascadeFaces
from snellen.curated_sets.construction_models.served import ServedLogProb
from snellen.curated_sets.construction_models.zero_shot import OWLS, ZeroShotDetector
from snellen.subjects.chat.client import open_connections
from snellen.subjects.chat.settings import DTYPES, Readers, number, one_of, read_values, whole_number

DETECTORS = ("face", "mediapipe-face", "hf/PATH_OR_ID")
LOGPROBS = ("hf/PATH_OR_ID", "openai-api/SERVICE/MODEL")
GROUNDED_THRESHOLD, OWL_THRESHOLD = 0.25, 0.1
"""Defaults of transformers' own post-processing."""
_GROUNDED = ("threshold", "text_threshold")
_CASCADE: Readers = {
    "scale_factor": number(1.01, 4),
    "step_ratio": number(1, 4),
    "min_neighbors": whole_number(1, 1000),
    "smallest": number(0, 1),
}
_BLAZE: Readers = {"threshold": number(0, 1), "model": one_of("short", "full")}
_CAUSAL: Readers = {
    "device": str,
    "dtype": one_of(*DTYPES),
    "paper_off_by_one": lambda written: one_of("0", "1")(written) == "1",
}
_SERVED: Readers = {
    "attempts": whole_number(1, 100),
    "timeout": whole_number(1, 3600),
    "max_concurrency": whole_number(1, 1000),
}


def make_detector(name: str, settings: Mapping[str, str], items: Sequence[Item] = ()) -> Subject:
    """The subject `detector:NAME?SETTINGS`; `items` is not used.

    Raises SnellenError for an unknown name, setting or value, or a missing extra, model or file.
    """
    if name == "face":
        return _detector(name, settings, CascadeFaces(**read_values(f"detector:{name}", settings, _CASCADE)))
    if name == "mediapipe-face":
        return _detector(name, settings, BlazeFaces(**read_values(f"detector:{name}", settings, _BLAZE)))
    if name.startswith("hf/") and name != "hf/":
        return _detector(name, settings, _zero_shot(name.removeprefix("hf/"), settings))
    raise SnellenError(f"no detector {name!r}; {near(name, DETECTORS)}")


def make_logprob(name: str, settings: Mapping[str, str], items: Sequence[Item] = ()) -> Subject:
    """The subject `logprob:NAME?SETTINGS`; `items` is not used.

    Raises SnellenError for an unknown name, setting or value, or a missing extra, model or key.
    """
    who = f"logprob:{name}"
    if name.startswith("hf/") and name != "hf/":
        model = CausalModel(name.removeprefix("hf/"), **read_values(who, settings, _CAUSAL))
        return LogProbSubject(_card(who, settings, model.settings, accepts=frozenset()), model)
    kind, _, served = name.partition("/")
    service, _, model_name = served.partition("/")
    if kind != "openai-api" or not (service and model_name):
        raise SnellenError(f"no log-probabilities from {name!r}; write logprob: and one of {', '.join(LOGPROBS)}")
    if "paper_off_by_one" in settings:
        raise SnellenError(f"{who}: paper_off_by_one omits a token, which servers cannot do; use logprob:hf/")
    numbers = {"attempts": 5, "timeout": 120, "max_concurrency": 4, **read_values(who, settings, _SERVED)}
    connections = open_connections(who, name, numbers["timeout"])
    settings_on_card = {"logprob": "openai-api", "version": 1, "model": name}
    card = _card(who, {}, settings_on_card, accepts=frozenset())
    card = replace(card, max_concurrency=numbers["max_concurrency"], is_local=False)
    return ServedLogProb(card, connections, numbers["attempts"])


def _zero_shot(path: str, settings: Mapping[str, str]) -> ZeroShotDetector:
    owl = ZeroShotDetector(path, 0.0).family in OWLS
    usual = {"threshold": OWL_THRESHOLD} if owl else dict.fromkeys(_GROUNDED, GROUNDED_THRESHOLD)
    readers: Readers = {**dict.fromkeys(usual, number(0, 1)), "vocabulary": _vocabulary, "device": str}
    return ZeroShotDetector(path, **usual | read_values(f"detector:hf/{path}", settings, readers))


def _vocabulary(written: str) -> tuple[str, ...]:
    """The unique names in a file, one per line, in lower case. Raises SnellenError if there are none."""
    path = Path(written)
    try:
        lines = read_text(path, limit=MAX_YAML_BYTES).splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise SnellenError(f"{path}: not a readable vocabulary ({error}); write one name per line") from error
    names = [" ".join(line.split()).lower() for line in lines]
    for line, name in enumerate(names, 1):
        if "." in name:
            raise SnellenError(f"{path}:{line}: names must not contain a full stop; write {name.replace('.', '')!r}")
    if not any(names):
        raise SnellenError(f"{path}: contains no names; write one per line")
    return tuple(dict.fromkeys(name for name in names if name))


def _detector(name: str, settings: Mapping[str, str], detector: Any) -> DetectorSubject:
    who = f"detector:{name}"
    return DetectorSubject(_card(who, settings, detector.settings, accepts=frozenset({"image"})), detector)


def _card(
    who: str, settings: Mapping[str, str], card_settings: Mapping[str, Any], accepts: frozenset[str]
) -> SubjectCard:
    """A card for one call at a time: a large model occupies the whole device."""
    written = [f"{key}={settings[key]}" for key in sorted(settings) if key != "device"]
    name = who + ("?" + "&".join(written) if written else "")
    return SubjectCard(
        name,
        dict(card_settings),
        accepts,
        max_concurrency=1,
        is_local=True,
        reads="views",
        attributes={"family": "tool"},
    )
