"""Attention rollout: against the plain product of attention matrices, what it keeps in memory, and where parts lie."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from examples.attention import rollout
from examples.attention.rollout import (
    Rollout,
    attention_of,
    role_shares,
    span_shares,
    top_tokens,
    visual_shares,
)
from examples.attention.rollout_files import heat, overlay, write_attention
from examples.attention.spans import Span, Tile
from snellen.core.errors import SnellenError
from snellen.core.item import Demo, Media, Option, ReplySpec, View
from snellen.core.prompt import Prompt, Turn
from snellen.core.storage.media import MediaFolder
from snellen.subjects.chat import TransformersChat, make_chat
from tests.subjects.chat import tiny_models

torch, transformers = tiny_models.torch, tiny_models.transformers

FAMILIES = {
    "llava": tiny_models.llava,
    "idefics3": tiny_models.idefics3,
    "qwen2_vl": tiny_models.qwen2_vl,
    "gemma3": tiny_models.gemma3,
}


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, TransformersChat]:
    return {name: chat(make(tmp_path_factory.mktemp(name))) for name, make in FAMILIES.items()}


@pytest.fixture
def media(tmp_path: Path) -> MediaFolder:
    return MediaFolder(tmp_path / "media")


def chat(folder: Path) -> TransformersChat:
    made = make_chat(f"hf/{folder}", {"dtype": "float32", "device": "cpu", "max_new_tokens": "6"})
    assert isinstance(made, TransformersChat)
    return made


def noise(media: MediaFolder, mark: int, width: int = 40, height: int = 20) -> Media:
    pixels = np.random.default_rng(mark).integers(0, 256, (height, width, 3), dtype=np.uint8)
    return media.add_image(Image.fromarray(pixels))


def episode(media: MediaFolder) -> Prompt:
    """Two solved examples and a query, after an earlier turn."""
    demos, query = [noise(media, 1), noise(media, 2, 20, 20)], noise(media, 3, 16, 24)
    support = tuple(Demo((one,), "a", shot) for shot, one in enumerate(demos))
    view = View("v", "s", "t", "Q?", (query,), ReplySpec("choice", (("A", "a"),)), (Option("a", "A"),), support)
    return Prompt((demos[0], "good", demos[1], "bad", query, " Which? "), (view,), (Turn(("user",), "s"),))


def plain_product(who: TransformersChat, prompt: Prompt, media: MediaFolder, reply: str) -> Any:
    """Appendix D in numpy, all matrices at once: rows of the last position, (layers, n)."""
    processor = who.checkpoint.processor
    blocks = [
        {"type": "text", "text": part} if isinstance(part, str) else {"type": "image", "image": media.open(part)}
        for part in prompt.parts
        if isinstance(part, str | Media)
    ]
    history = [
        {"role": role, "content": [{"type": "text", "text": text}]}
        for turn in prompt.history
        for role, text in (("user", str(turn.parts[0])), ("assistant", turn.reply))
    ]
    text = processor.apply_chat_template([*history, {"role": "user", "content": blocks}], add_generation_prompt=True)
    images = [[block["image"] for block in blocks if "image" in block]]
    inputs = processor(text=[text + reply], images=images, return_tensors="pt", add_special_tokens=False)
    path = who.checkpoint.path
    model = transformers.AutoModelForImageTextToText.from_pretrained(path, attn_implementation="eager").eval()
    with torch.inference_mode():
        matrices = model(**inputs, output_attentions=True).attentions
    product, rows = np.eye(inputs["input_ids"].shape[1]), []
    for matrix in matrices:
        step = matrix[0].double().numpy().mean(0) + np.eye(len(product))
        product = step / step.sum(1, keepdims=True) @ product
        rows.append(product[-1])
    return np.stack(rows)


@pytest.mark.parametrize("family", FAMILIES)
def test_rollout_is_the_plain_product(models: dict[str, TransformersChat], media: MediaFolder, family: str) -> None:
    who, prompt = models[family], episode(media)
    before = who.checkpoint.model.get_decoder().config._attn_implementation
    told = attention_of(who, prompt, media, "bad", reply="so bad")
    expected = plain_product(who, prompt, media, "so ")
    assert told.rows.shape == (2, len(told.token_texts))
    assert np.allclose(told.rows, expected, atol=1e-6)
    assert (told.token, told.reply, told.token_texts[-3:]) == ("b", "so bad", ("s", "o", " "))
    assert before != "eager"
    assert who.checkpoint.model.get_decoder().config._attn_implementation == before
    first = attention_of(who, prompt, media, reply="so bad")
    assert np.allclose(first.rows, plain_product(who, prompt, media, ""), atol=1e-6)


def test_never_more_than_one_layer_is_in_memory(
    tmp_path: Path, media: MediaFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of every layer's matrices only their storage is watched: when the next layer is folded in, it must be gone."""
    from torch.multiprocessing.reductions import StorageWeakRef

    layers = 5
    who = chat(tiny_models.llava(tmp_path / "model", num_hidden_layers=layers))
    seen: list[Any] = []
    alive: list[int] = []
    softmax = torch.nn.functional.softmax

    def watched(values: Any, *args: Any, **kwargs: Any) -> Any:
        made = softmax(values, *args, **kwargs)
        if made.shape[1] == tiny_models.TEXT["num_attention_heads"] and made.shape[-1] == made.shape[-2] > 17:
            alive.append(sum(not one.expired() for one in seen))
            seen.append(StorageWeakRef(made.untyped_storage()))  # type: ignore[no-untyped-call]  # torch's
        return made

    monkeypatch.setattr(torch.nn.functional, "softmax", watched)
    told = attention_of(who, episode(media), media, reply="A")
    assert len(told.rows) == layers
    assert alive == [0] * layers
    alive.clear()
    inputs = who.checkpoint.processor(text=["<s>what is it? a red cup"], return_tensors="pt")
    who.checkpoint.model.set_attn_implementation("eager")
    kept = who.checkpoint.model(**inputs, output_attentions=True).attentions  # the watch does see those that stay
    assert alive == list(range(len(kept)))


def words(rollout: Rollout, span: Span) -> str:
    return "".join(rollout.token_texts[span.start : span.stop])


def test_spans_of_a_whole_prompt(models: dict[str, TransformersChat], media: MediaFolder) -> None:
    told = attention_of(models["llava"], episode(media), media, 2, reply="abc")
    image = "<image>" * 16
    assert [(span.name, span.role, words(told, span)) for span in told.spans] == [
        ("template", "", "<s>[user]"),
        ("text 0", "", "user"),  # not the template's own
        ("template", "", "<end>[assistant]"),
        ("text 1", "", "s"),
        ("template", "", "<end>[user]"),
        ("image 2", "first demo", image),
        ("text 3", "", "good"),
        ("image 4", "demo", image),
        ("text 5", "", "bad"),
        ("image 6", "query", image),
        ("text 7", "", " Which? "),
        ("template", "", "<end>[assistant]"),
        ("reply", "", "ab"),
    ]
    assert [span.start for span in told.spans[1:]] == [span.stop for span in told.spans[:-1]]
    assert told.spans[-1].stop == len(told.token_texts)


@pytest.mark.parametrize(
    ("family", "tokens", "tiles"),
    [
        # cut from the middle: 20 by 20 of 40 by 20 pixels
        ("llava", 16, [Tile(0, 4, 4, (10, 0, 30, 20))]),
        # one row of two tiles and the whole: two marks before the tokens of each, two line breaks, one mark behind
        (
            "idefics3",
            2 * 6 + 2 + 6 + 1,
            [Tile(0, 2, 2, (0, 0, 20, 20)), Tile(4, 2, 2, (20, 0, 40, 20)), Tile(8, 2, 2, (0, 0, 40, 20))],
        ),
        # resized to 40 by 16 pixels, 8 by 8 a token
        ("qwen2_vl", 10, [Tile(0, 2, 5, (0, 0, 40, 20))]),
        # made square; a mark and two line breaks on either side
        ("gemma3", 3 + 4 + 3, [Tile(0, 2, 2, (0, 0, 40, 20))]),
    ],
)
def test_which_pixels_tokens_stand_for(
    models: dict[str, TransformersChat], media: MediaFolder, family: str, tokens: int, tiles: Sequence[Tile]
) -> None:
    told = attention_of(models[family], Prompt((noise(media, 1), "What?"), ()), media, reply="A")
    (span,) = told.images
    assert span.stop - span.start == tokens
    assert span.tiles == tuple(tiles)
    assert len(span.visual_tokens) == sum(tile.rows * tile.columns for tile in tiles)
    token = models[family].checkpoint.config.image_token_id
    assert {told.token_texts[seen] for seen in span.visual_tokens} == {
        models[family].checkpoint.processor.tokenizer.decode([token])
    }


def rollout_by_hand(media: MediaFolder) -> Rollout:
    """By hand: one layer, an image of four tokens, a word, an image of one token."""
    one, two = noise(media, 1, 6, 4), noise(media, 2, 2, 2)
    box = (1.0, 0.0, 5.0, 4.0)
    spans = (
        Span("image", 0, 5, 0, one, "first demo", (0, 1, 2, 3), (Tile(0, 2, 2, box),)),
        Span("text", 5, 6, 1),
        Span("image", 6, 7, 2, two, "query", (6,)),
    )
    rows = np.array([[0.1, 0.2, 0.0, 0.1, 0.05, 0.35, 0.2]], dtype=np.float32)
    return Rollout("A", "A", rows, tuple("abcdefg"), spans)


def test_shares_and_tops(media: MediaFolder) -> None:
    told = rollout_by_hand(media)
    assert np.allclose(span_shares(told), [[0.45, 0.35, 0.2]])
    assert np.allclose(visual_shares(told), [[2 / 3, 1 / 3]])
    assert np.allclose(role_shares(told, "query"), [1 / 3])
    assert np.allclose(role_shares(told, "first demo"), [2 / 3])
    assert top_tokens(told, 3).tolist() == [[5, 1, 6]]
    assert top_tokens(told, 30, visual=True).tolist() == [[1, 6, 0, 3, 2]]


def test_heat_lies_on_the_pixels_that_were_seen(media: MediaFolder) -> None:
    told = rollout_by_hand(media)
    span = told.images[0]
    expected = np.array([[0, 1, 1, 2, 2, 0], [0, 1, 1, 2, 2, 0], [0, 0, 0, 1, 1, 0], [0, 0, 0, 1, 1, 0]]) / 40
    assert np.allclose(heat(told, span), expected)
    twice = replace(span, tiles=(Tile(0, 1, 2, (0, 0, 6, 4)), Tile(2, 1, 2, (0, 0, 6, 4))))  # shares 0.1 0.2, 0.0 0.1
    assert np.allclose(heat(told, twice), np.tile([0.1 / 12] * 3 + [0.3 / 12] * 3, (4, 1)))
    with pytest.raises(ValueError, match="image 2: which pixels"):
        heat(told, told.images[1])
    lit = np.asarray(overlay(Image.new("RGB", (6, 4), "grey"), heat(told, span))).sum(2)
    assert lit[0, 3] > lit[0, 1] > lit[0, 0]


def test_files(models: dict[str, TransformersChat], media: MediaFolder, tmp_path: Path) -> None:
    told = attention_of(models["idefics3"], episode(media), media)
    paths = write_attention(told, media, tmp_path / "out")
    names = ["shares.csv", "top.csv", "image-2.png", "image-4.png", "image-6.png"]
    assert [path.name for path in paths] == names
    assert Image.open(paths[4]).size == (16, 24)
    shares = [*csv.DictReader(paths[0].open())]
    assert len(shares) == 2 * len(told.spans)
    last = [row for row in shares if row["layer"] == "1"]
    assert sum(float(row["share"]) for row in last) == pytest.approx(1, abs=1e-5)
    query = next(row for row in last if row["role"] == "query")
    assert float(query["share_of_visual"]) == pytest.approx(role_shares(told, "query")[1], abs=1e-6)
    top = [*csv.DictReader(paths[1].open())]
    assert {row["among"] for row in top} == {"all", "visual"}
    best = next(row for row in top if (row["among"], row["layer"], row["rank"]) == ("visual", "0", "1"))
    assert best["token"] == "<image>"
    assert float(best["share"]) == pytest.approx(told.rows[0, told.visual].max(), abs=1e-6)


def test_the_reply_is_the_models_own(models: dict[str, TransformersChat], media: MediaFolder) -> None:
    who, prompt = models["qwen2_vl"], episode(media)
    own = attention_of(who, prompt, media, 3)
    said = who.checkpoint.processor.tokenizer
    assert len(said(own.reply, add_special_tokens=False).input_ids) >= 3
    forced = attention_of(who, prompt, media, 0)
    assert own.token_texts[: len(forced.token_texts)] == forced.token_texts
    assert len(own.token_texts) == len(forced.token_texts) + 3


@pytest.mark.parametrize(
    ("token", "message"),
    [("good", "'so bad' does not hold 'good'"), ("", "does not hold ''"), (6, "tokens 0 to 5, not 6")],
)
def test_a_token_that_is_not_there(
    models: dict[str, TransformersChat], media: MediaFolder, token: str | int, message: str
) -> None:
    with pytest.raises(SnellenError, match=message):
        attention_of(models["llava"], episode(media), media, token, reply="so bad")


def test_what_cannot_be_rolled_out(
    models: dict[str, TransformersChat], media: MediaFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    who = models["llava"]
    with pytest.raises(SnellenError, match="declines this prompt: the words hold '<image>'"):
        attention_of(who, Prompt(("<image>?",), ()), media)
    shouting = tiny_models.llava(tmp_path / "shouting")
    template = shouting / "chat_template.jinja"
    template.write_text(template.read_text().replace("block['text']", "block['text'] | upper"))
    with pytest.raises(SnellenError, match="changes the words it is given"):
        attention_of(chat(shouting), Prompt(("is it?",), ()), media)
    trimming = tiny_models.llava(tmp_path / "trimming")
    template = trimming / "chat_template.jinja"
    template.write_text(template.read_text().replace("block['text']", "block['text'] | trim"))
    told = attention_of(chat(trimming), Prompt((" is it? ",), ()), media)
    assert [words(told, span) for span in told.spans if span.kind == "text"] == ["is it?"]
    monkeypatch.setattr(rollout, "_attention", lambda layer: layer.mlp)
    with pytest.raises(SnellenError, match="no attention matrix over the whole prompt"):
        attention_of(who, episode(media), media)
    assert not any(layer.mlp._forward_hooks for layer in who.checkpoint.model.get_decoder().layers)
