"""Calls are sized up before they are made: tokens by the model's rule, and the provider's limits."""

from __future__ import annotations

import io
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from snellen.core.errors import SnellenError
from snellen.core.item import Media, Montage
from snellen.core.prompt import Prompt, Reply
from snellen.core.storage.itemset import ItemSet, write_itemset
from snellen.core.storage.media import MediaFolder
from snellen.core.subject import Base, SubjectCard
from snellen.exam.run import run
from snellen.runs.asking import preview
from snellen.runs.asking.preview import Estimate, estimates, limit_faults
from snellen.runs.planning.plan import Plan
from snellen.stimuli.transforms.montage import lay_out
from snellen.subjects.chat import messages
from snellen.suites import SUITES
from tests.helpers.journey import NAMED, arm, item, patch, suite_of


@dataclass(frozen=True)
class Remote(Base):
    """A chat model that answers red; its calls are counted."""

    calls: list[Prompt] = field(default_factory=list)

    async def answer(self, prompt: Prompt, media: MediaFolder, rng: np.random.Generator) -> Reply:
        self.calls.append(prompt)
        return Reply("red")


def remote(model: str, max_images: int | None = None, **settings: Any) -> Remote:
    card = SubjectCard(
        f"chat:{model}", {"model": model, **settings}, max_images=max_images, attributes={"price_in": "1"},
        is_remote=True,
    )  # fmt: skip
    return Remote(card)


def set_of(root: Path, *queries: list[Media]) -> ItemSet:
    """One item per query, whose images are in `root/media`."""
    items = [item(f"{n}", query, "red", "choice", options=NAMED) for n, query in enumerate(queries)]
    return write_itemset(root, items, source="generated", recipe={"seed": 0})


def sized_up(built: ItemSet, subject: Remote, root: Path) -> Estimate:
    (estimate,) = estimates(Plan(built, suite := suite_of(), [arm(subject, suite)]), root / "run")
    return estimate


def bitmap(root: Path, pixels: Any) -> Media:
    buffer = io.BytesIO()
    (image := Image.fromarray(pixels)).save(buffer, "BMP")
    return MediaFolder(root / "media").add(buffer.getvalue(), "image", "bmp", image.size)


def test_tokens_depend_on_the_model_and_the_size_as_sent(tmp_path: Path) -> None:
    image = patch(MediaFolder(tmp_path / "media"), (9, 9, 9), (640, 480))
    built = set_of(tmp_path, [image])
    unknown = sized_up(built, remote("openai-api/my-box/m"), tmp_path)
    words = unknown.tokens_in - 1000  # the rough figure of an unknown model
    assert 0 <= words < 100
    for subject, tokens in (
        (remote("openai/gpt-4o"), 425),
        (remote("vllm/Qwen/Qwen2.5-VL-7B-Instruct"), 391),
        (remote("vllm/Qwen/Qwen2.5-VL-7B-Instruct", max_px=280), 10 * 8),  # 280 x 210: 7.5 rows of patches
    ):
        estimate = sized_up(built, subject, tmp_path)
        assert estimate.tokens_in == words + tokens
        assert estimate.money == pytest.approx(estimate.tokens_in / 1e6)


def test_too_many_images_are_counted_and_declined_calls_are_not(tmp_path: Path) -> None:
    media = MediaFolder(tmp_path / "media")
    images = [patch(media, (9, 9, 9), mark=n) for n in range(6)]
    built = set_of(tmp_path, images, images[:5], images[1:])
    faulty = sized_up(built, remote("groq/m"), tmp_path)
    assert (faulty.calls, faulty.beyond) == (3, 1)
    assert limit_faults([faulty]).startswith(
        "chat:groq/m: a call would have 6 images, at most 5 are accepted (https://"
    )
    assert limit_faults([faulty]).endswith("(1 of 3 calls)")
    assert limit_faults([sized_up(built, remote("openai/gpt-4o"), tmp_path)]) == ""
    declining = sized_up(built, remote("groq/m", max_images=5), tmp_path)
    assert (declining.calls, limit_faults([declining])) == (2, "")


def test_bytes_are_those_of_the_file_as_sent(tmp_path: Path) -> None:
    """A bitmap of 16 MB is sent as a PNG: of few bytes if it is flat, of many if it is noise."""
    noise = np.random.default_rng(0).integers(0, 256, (2000, 1500, 3), np.uint8)
    flat, noisy = bitmap(tmp_path, np.zeros_like(noise)), bitmap(tmp_path, noise)
    assert limit_faults([sized_up(set_of(tmp_path, [flat]), remote("anthropic/claude-x"), tmp_path)]) == ""
    built = set_of(tmp_path, [noisy])
    faults = limit_faults([sized_up(built, remote("anthropic/claude-x"), tmp_path)])
    assert "an image of 8.6 MB, at most 7.5 are accepted" in faults
    assert limit_faults([sized_up(built, remote("anthropic/claude-x", max_px=1000), tmp_path)]) == ""


def test_nothing_is_drawn_or_converted_where_a_bound_suffices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def convert(*arguments: object) -> Media:
        raise AssertionError("not needed")

    monkeypatch.setattr(messages, "sent_form", convert)
    monkeypatch.setattr(preview, "lay_out", convert)
    image = bitmap(tmp_path, np.zeros((60, 80, 3), np.uint8))
    assert limit_faults([sized_up(set_of(tmp_path, [image]), remote("anthropic/claude-x"), tmp_path)]) == ""
    prompt = Prompt(("Which?", Montage((image,) * 4, 2, tuple("abcd"), "All")), ())
    tokens, fault = preview._size_up(prompt, remote("openai/gpt-4o").card, MediaFolder(tmp_path / "media"))
    assert (tokens, fault) == (1 + 85 + 170, None)


@pytest.mark.parametrize("cell_px", [None, (50, 50)])
@pytest.mark.parametrize("labels", [(), tuple("abcde")])
def test_a_sheet_is_not_larger_than_its_bound(
    tmp_path: Path, cell_px: tuple[int, int] | None, labels: tuple[str, ...]
) -> None:
    media = MediaFolder(tmp_path)
    images = [patch(media, (9, 9, 9), (80 - n, 60 + n)) for n in range(5)]
    montage = Montage(tuple(images), 3, labels, "Title" if labels else "", cell_px)
    width, height = preview._sheet_size(montage)
    sheet = lay_out(montage, media)
    assert sheet.width <= width
    assert sheet.height <= height
    if labels:
        assert (sheet.width, sheet.height) == (width, height) or cell_px


def test_a_run_is_refused_before_anything_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(SUITES._loaded, "hard", suite_of())
    media = MediaFolder(tmp_path / "set" / "media")
    built = set_of(tmp_path / "set", [patch(media, (9, 9, 9), mark=n) for n in range(6)])
    subject, root = remote("groq/m"), tmp_path / "run"
    with pytest.raises(SnellenError, match=r"chat:groq/m: .* 6 images, at most 5 .*nothing was asked") as caught:
        run(built, [subject], root, show_progress=False)
    assert "\n" not in str(caught.value)
    assert (subject.calls, root.exists()) == ([], False), "not even a first question"
    run(built, [subject], root, show_progress=False, keep_going=True)
    assert len(subject.calls) == 2, "the first question, and the item"
    assert "6 images, at most 5" in capsys.readouterr().err
