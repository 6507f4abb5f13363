"""Creates subjects from specs such as `efficientnet-lite0?readout=knn`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from snellen.core.condition import refuse_unknown
from snellen.core.errors import SnellenError
from snellen.core.item import Item
from snellen.core.registry import Registry
from snellen.core.subject import Subject, SubjectCard
from snellen.subjects.encoders.conse import ConSE
from snellen.subjects.encoders.efficientnet import EfficientNetLite
from snellen.subjects.encoders.encoder import Encoder
from snellen.subjects.encoders.hf import HfEncoder
from snellen.subjects.encoders.plain import ColourHistogram, Hog
from snellen.subjects.encoders.subject import DEFAULT_C, DEFAULT_K, READOUTS, EncoderSubject

T = TypeVar("T", int, float)

ENCODERS = ("efficientnet-lite0", "efficientnet-lite2", "colour-histogram", "hog", "conse")
"""Names after `encoder:`, in addition to `hf/PATH_OR_ID`, any vision model of transformers."""

PROBES: Registry[Callable[[Encoder, SubjectCard], Subject]] = Registry("readout", {}, group="snellen.readouts")
"""Readouts of patch features, such as `attentive`; those of `READOUTS` use one vector per image."""
READOUT_SETTINGS = ("readout", "k", "C")
"""Settings of every encoder that affect answers."""
SUPERVISION = "supervision"
"""A setting of `hf/` that affects no answers: the encoder's training data, for comparisons in reports."""


def load_encoder(name: str, settings: Mapping[str, str] | None = None) -> Encoder:
    """The encoder of that name; settings `batch`, `device` (torch), `layer` and `processor` (hf/) are parsed.

    Raises SnellenError for an unknown name or setting, or a missing extra.
    """
    given_settings = dict(settings or {})
    refuse_unknown(given_settings, _encoder_settings(name), f"encoder:{name} has no setting")
    more: dict[str, Any] = {
        key: given_settings[key] for key in ("device", "layer", "processor") if key in given_settings
    }
    if "batch" in given_settings:
        more["batch"] = _number(name, "batch", given_settings["batch"], int)
    if name == "colour-histogram":
        return ColourHistogram(**more)
    if name == "hog":
        return Hog(**more)
    if name == "conse":
        return ConSE(**more)
    if name.startswith("hf/"):
        return HfEncoder(name.removeprefix("hf/"), **more)
    return EfficientNetLite(name, **more)


def make_encoder(name: str, settings: Mapping[str, str], items: Sequence[Item]) -> Subject:
    """The subject `encoder:NAME?readout=...&k=...&C=...` with the encoder's own settings. `items` is not used.

    Raises SnellenError for an unknown name, setting or value.
    """
    names = (*READOUT_SETTINGS, *_encoder_settings(name), *([SUPERVISION] if name.startswith("hf/") else []))
    refuse_unknown(settings, names, f"encoder:{name} has no setting")
    readout = settings.get("readout", "auto")
    if readout not in READOUTS:
        refuse_unknown([readout], (*READOUTS, *PROBES), f"encoder:{name}: no readout")
    k = _number(name, "k", settings.get("k", str(DEFAULT_K)), int)
    c = _number(name, "C", settings.get("C", str(DEFAULT_C)), float)
    other_settings = (*READOUT_SETTINGS, SUPERVISION)
    encoder = load_encoder(name, {key: value for key, value in settings.items() if key not in other_settings})
    description = {SUPERVISION: settings[SUPERVISION]} if SUPERVISION in settings else {}
    card = SubjectCard(
        name=f"encoder:{name}{_suffix(settings)}",
        settings={**encoder.settings, "readout": readout, "k": k, "C": c, "readouts": 1},
        accepts=frozenset({"image"}),
        attributes={**encoder.attributes, **description},
        max_concurrency=1,
        is_local=True,
        role="encoder",
    )
    return EncoderSubject(encoder, card, readout, k, c) if readout in READOUTS else PROBES.get(readout)(encoder, card)


def _encoder_settings(name: str) -> tuple[str, ...]:
    if name.startswith("hf/") and name != "hf/":
        return ("batch", "device", "layer", "processor")
    refuse_unknown([name] if name not in ENCODERS else [], (*ENCODERS, "hf/PATH_OR_ID"), "no encoder")
    return ("batch",) if name in ("colour-histogram", "hog") else ("batch", "device")


def _suffix(settings: Mapping[str, str]) -> str:
    """The part of a subject's name that distinguishes settings of one encoder: `?layer=...&readout=...`."""
    written = [f"{key}={settings[key]}" for key in sorted(settings) if key not in ("batch", "device", SUPERVISION)]
    return "?" + "&".join(written) if written else ""


def _number(name: str, setting: str, written: str, parse: Callable[[str], T]) -> T:
    try:
        value = parse(written)
    except ValueError:
        value = parse("0")
    if not value > 0:
        raise SnellenError(f"encoder:{name}: {setting} must be a number above 0, not {written!r}")
    return value
