"""Every subject of the core passes the battery, and the battery catches faulty ones."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from snellen.core.item import Demo, Item, Media, Option, View
from snellen.core.prompt import Prompt, Reply
from snellen.core.storage.media import MediaFolder
from snellen.core.subject import Base, Subject, SubjectCard, TrainingExample, with_examples
from snellen.subjects.from_callable import wrap
from snellen.subjects.registry import make_subject
from tests.contracts.subject_battery import check_subject
from tests.helpers.journey import NAMED, RGB, item, patch
from tests.helpers.stub_server import StubServer


@pytest.fixture
def media(tmp_path: Path) -> MediaFolder:
    return MediaFolder(tmp_path / "media")


@pytest.fixture
def items(media: MediaFolder) -> list[Item]:
    patches = {name: patch(media, rgb) for name, rgb in RGB.items()}
    shows = {image.sha256: {"colour": name} for name, image in patches.items()}
    latent = {"shows": shows, "claims": {name: {"colour": [name]} for name in RGB}}
    support = tuple(Demo((image,), name, 0) for name, image in patches.items())
    imaged = tuple(Option(name, "", (image,)) for name, image in patches.items())
    about = {
        **latent,
        "about": "option",
        "claims": {name: {"colour": ["red"] if name == "red" else ["none"]} for name in RGB},
    }
    red = patches["red"]
    return [
        item("choice", [red], "red", "choice", options=NAMED, latent=latent),
        item("shots", [patches["blue"]], "blue", "choice", options=NAMED, support=support, latent=latent),
        item("images", [], "red", "choice", options=imaged, latent=about),
        item("true", [red, patches["green"]], "false", "true_false", latent={"shows": shows}),
        item("count", [red], 3, "integer", latent={"shows": shows}),
        item("box", [red], (1.0, 2.0, 3.0, 4.0), "box", latent={"shows": shows}),
        item("words", [red], "a red thing", "text", latent={"shows": shows}),
    ]


FAKES = ("oracle", "chance", "first-option", "always-true", "constant=A or B?", "blind-to=colour", "scripted")


@pytest.mark.parametrize("name", FAKES)
def test_fakes_pass(name: str, items: list[Item], media: MediaFolder, tmp_path: Path) -> None:
    def make(text: str = "red") -> Subject:
        (tmp_path / "script.json").write_text(json.dumps({"*": text}))
        return make_subject(f"fake:{name}" + (f"={tmp_path / 'script.json'}" if name == "scripted" else ""), items)

    change = (lambda: make("blue")) if name == "scripted" else None
    replies = check_subject(make, [item.view() for item in items], media, change=change)
    if name == "oracle":
        assert [reply.text for reply in replies] == [
            "red", "blue", "red", "F", "3", "[1.0, 2.0, 3.0, 4.0]", "a red thing",
        ]  # fmt: skip


def test_callables_pass(items: list[Item], media: MediaFolder) -> None:
    def sizes(parts: Sequence[object]) -> str:
        return " ".join(part if isinstance(part, str) else str(getattr(part, "size", "?")) for part in parts)

    async def waits(parts: Sequence[object]) -> str:
        return sizes(parts)

    views = [item.view() for item in items]
    replies = [[reply.text for reply in check_subject(lambda f=f: wrap(f), views, media)] for f in (sizes, waits)]  # type: ignore[misc]
    assert replies[0] == replies[1]
    assert replies[0][0] == "(8, 6) ? red\ngreen\nblue"


@pytest.mark.parametrize("name", ["hog", "colour-histogram"])
def test_encoders_pass(name: str, items: list[Item], media: MediaFolder) -> None:
    shots = [item.view() for item in items if item.item_id == "shots"]
    examples = [
        TrainingExample(replace(shots[0], item_id=f"example {n}", support=()), colour) for n, colour in enumerate(RGB)
    ]

    def make(settings: str = "") -> Subject:
        return make_subject(f"encoder:{name}{settings}")

    replies = check_subject(make, shots, media, examples=examples, change=lambda: make("?readout=knn"))
    assert replies[0].text in RGB


def test_chat_models_pass(items: list[Item], media: MediaFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("httpx", reason="the extra 'chat' is not installed")
    with StubServer("red") as server:
        monkeypatch.setenv("NEARBY_BASE_URL", server.url)
        monkeypatch.setenv("NEARBY_API_KEY", "none")

        def make(settings: str = "") -> Subject:
            return make_subject(f"chat:openai-api/nearby/model{settings}")

        change = partial(make, "?temperature=1")
        replies = check_subject(make, [item.view() for item in items[:3]], media, change=change)
    assert [reply.text for reply in replies] == ["red"] * 3


@dataclass(frozen=True)
class Good(Base):
    """A subject without a fault; each subclass below has one."""

    text: str = "red"

    async def answer(self, prompt: Prompt, media: MediaFolder, rng: np.random.Generator) -> Reply:
        return Reply(self.text)


class Fickle(Good):
    async def answer(self, prompt: Prompt, media: MediaFolder, rng: np.random.Generator) -> Reply:
        return Reply(str(id(object())) + str(np.random.default_rng().random()))


@dataclass(frozen=True)
class Peeks(Good):
    images: tuple[Media, ...] = ()

    async def answer(self, prompt: Prompt, media: MediaFolder, rng: np.random.Generator) -> Reply:
        for image in self.images:
            media.read(image)
        return Reply("red")


@dataclass(frozen=True)
class LearnsInPlace(Good):
    counts: dict[str, int] = field(default_factory=dict)

    async def fit(self, examples: Sequence[TrainingExample], media: MediaFolder) -> Subject:
        object.__setattr__(self, "card", with_examples(self.card, examples))
        return self


class Mute(Good):
    def declines(self, prompt: Prompt) -> str | None:
        return ""


CARD = SubjectCard("own:good")
FAULTS: dict[str, Callable[[Sequence[View]], Subject]] = {
    "fickle": lambda views: Fickle(CARD),
    "opens what it is not shown": lambda views: Peeks(
        CARD, images=tuple(image for view in views for image in view.media())
    ),
    "learns in place": lambda views: LearnsInPlace(CARD),
    "declines without words": lambda views: Mute(CARD),
    "answers with a number": lambda views: Good(CARD, text=3),  # type: ignore[arg-type]
    "nameless": lambda views: Good(replace(CARD, name="good")),
}


def test_a_good_subject_passes(items: list[Item], media: MediaFolder) -> None:
    check_subject(lambda: Good(CARD), [item.view() for item in items], media)


@pytest.mark.parametrize("fault", FAULTS)
def test_the_battery_finds_faults(fault: str, items: list[Item], media: MediaFolder) -> None:
    views = [item.view() for item in items]
    examples = [TrainingExample(views[0], "red")]
    with pytest.raises(AssertionError):
        check_subject(lambda: FAULTS[fault](views), views, media, examples=examples)


def test_settings_that_are_not_in_the_fingerprint_are_found(items: list[Item], media: MediaFolder) -> None:
    with pytest.raises(AssertionError, match="another fingerprint"):
        check_subject(lambda: Good(CARD), [items[0].view()], media, change=lambda: Good(CARD, text="blue"))
