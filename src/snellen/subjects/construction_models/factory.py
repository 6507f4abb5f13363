"""Creates subjects from `detector:` and `logprob:` specs such as `hf/PATH?threshold=0.3`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from snellen.core.condition import near, refuse_unknown
from snellen.core.errors import SnellenError
from snellen.core.item import Item
from snellen.core.storage.user_files import MAX_YAML_BYTES, read_text
from snellen.core.subject import Subject, SubjectCard
from snellen.subjects.construction_models.boxes import DetectorSubject
from snellen.subjects.construction_models.continuation import DTYPES, CausalModel, LogProbSubject
from snellen.subjects.construction_models.faces import BlazeFaces, CascadeFaces
from snellen.subjects.construction_models.served import ServedLogProb, open_client
from snellen.subjects.construction_models.zero_shot import OWLS, ZeroShotDetector

DETECTORS = ("face", "mediapipe-face", "hf/PATH_OR_ID")
LOGPROBS = ("hf/PATH_OR_ID", "openai-api/SERVICE/MODEL")
GROUNDED_THRESHOLD, OWL_THRESHOLD = 0.25, 0.1
"""Defaults of transformers' own post-processing."""


def make_detector(name: str, settings: Mapping[str, str], items: Sequence[Item] = ()) -> Subject:
    """The subject `detector:NAME?SETTINGS`; `items` is not used.

    Raises SnellenError for an unknown name, setting or value, or a missing extra, model or file.
    """
    if name == "face":
        return _detector(name, settings, _cascade(settings))
    if name == "mediapipe-face":
        return _detector(name, settings, _blaze(settings))
    if name.startswith("hf/") and name != "hf/":
        return _detector(name, settings, _zero_shot(name.removeprefix("hf/"), settings))
    raise SnellenError(f"no detector {name!r}; {near(name, DETECTORS)}")


def make_logprob(name: str, settings: Mapping[str, str], items: Sequence[Item] = ()) -> Subject:
    """The subject `logprob:NAME?SETTINGS`; `items` is not used.

    Raises SnellenError for an unknown name, setting or value, or a missing extra, model or key.
    """
    who = f"logprob:{name}"
    if name.startswith("hf/") and name != "hf/":
        read = _Settings(who, settings, ("device", "dtype", "paper_off_by_one"))
        dtype = read.one_of("dtype", DTYPES, "float32")
        off = read.one_of("paper_off_by_one", ("0", "1"), "0") == "1"
        model = CausalModel(name.removeprefix("hf/"), settings.get("device", "cpu"), dtype, off)
        return LogProbSubject(_card(who, settings, model.settings, accepts=frozenset()), model)
    kind, _, served = name.partition("/")
    service, _, model_name = served.partition("/")
    if kind != "openai-api" or not (service and model_name):
        raise SnellenError(f"no log-probabilities from {name!r}; write logprob: and one of {', '.join(LOGPROBS)}")
    if "paper_off_by_one" in settings:
        raise SnellenError(f"{who}: paper_off_by_one omits a token, which servers cannot do; use logprob:hf/")
    read = _Settings(who, settings, ("attempts", "timeout", "max_concurrency"))
    attempts, max_concurrency = read.integer("attempts", 1, 100, 5), read.integer("max_concurrency", 1, 1000, 4)
    client = open_client(who, service, read.integer("timeout", 1, 3600, 120))
    settings_on_card = {"logprob": "openai-api", "version": 1, "model": name}
    card = replace(
        _card(who, {}, settings_on_card, accepts=frozenset()), max_concurrency=max_concurrency, is_local=False
    )
    return ServedLogProb(card, client, model_name, attempts)


def _cascade(settings: Mapping[str, str]) -> CascadeFaces:
    read = _Settings("detector:face", settings, ("scale_factor", "step_ratio", "min_neighbors", "smallest"))
    usual = CascadeFaces()
    return CascadeFaces(
        read.number("scale_factor", 1.01, 4.0, usual.scale_factor),
        read.number("step_ratio", 1.0, 4.0, usual.step_ratio),
        read.integer("min_neighbors", 1, 1000, usual.min_neighbors),
        read.number("smallest", 0.0, 1.0, usual.smallest),
    )


def _blaze(settings: Mapping[str, str]) -> BlazeFaces:
    read = _Settings("detector:mediapipe-face", settings, ("threshold", "model"))
    usual = BlazeFaces()
    return BlazeFaces(
        read.number("threshold", 0.0, 1.0, usual.threshold), read.one_of("model", ("short", "full"), usual.model)
    )


def _zero_shot(path: str, settings: Mapping[str, str]) -> ZeroShotDetector:
    owl = ZeroShotDetector(path, 0.0).family in OWLS
    names = ("threshold", "vocabulary", "device") if owl else ("threshold", "text_threshold", "vocabulary", "device")
    read = _Settings(f"detector:hf/{path}", settings, names)
    return ZeroShotDetector(
        path,
        read.number("threshold", 0.0, 1.0, OWL_THRESHOLD if owl else GROUNDED_THRESHOLD),
        None if owl else read.number("text_threshold", 0.0, 1.0, GROUNDED_THRESHOLD),
        _vocabulary(Path(settings["vocabulary"])) if "vocabulary" in settings else (),
        settings.get("device", "cpu"),
    )


def _vocabulary(path: Path) -> tuple[str, ...]:
    """The unique names in a file, one per line, in lower case. Raises SnellenError if there are none."""
    try:
        lines = read_text(path, limit=MAX_YAML_BYTES).splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise SnellenError(f"{path}: not a readable vocabulary ({error}); write one name per line") from error
    names = [" ".join(line.split()).lower() for line in lines]
    for number, name in enumerate(names, 1):
        if "." in name:
            raise SnellenError(f"{path}:{number}: names must not contain a full stop; write {name.replace('.', '')!r}")
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


class _Settings:
    """Parses settings one by one. Raises SnellenError for unknown names and invalid values."""

    def __init__(self, who: str, written: Mapping[str, str], names: Sequence[str]) -> None:
        self.who, self.written = who, written
        refuse_unknown(written, names, f"{who} has no setting")

    def number(self, name: str, low: float, high: float, usual: float, kind: str = "number") -> float:
        """A number from low to high."""
        if name not in self.written:
            return usual
        try:
            value = float(self.written[name])
        except ValueError:
            value = float("nan")
        if not low <= value <= high or (kind == "whole number" and value != int(value)):
            raise self._wrong(name, f"a {kind} from {low:g} to {high:g}")
        return value

    def integer(self, name: str, low: int, high: int, usual: int) -> int:
        """A whole number from low to high."""
        return int(self.number(name, low, high, usual, "whole number"))

    def one_of(self, name: str, choices: Sequence[str], usual: str) -> str:
        """One of the given choices."""
        value = self.written.get(name, usual)
        if value not in choices:
            raise self._wrong(name, f"one of {', '.join(choices)}")
        return value

    def _wrong(self, name: str, expected: str) -> SnellenError:
        return SnellenError(f"{self.who}: {name} must be {expected}, not {self.written[name]!r}")
